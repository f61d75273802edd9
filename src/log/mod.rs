//! The JSONL file: opening it, mapping it, handing out its lines, judging what a damaged line still
//! holds. Knows no formats; never writes a log.

mod file;
mod judge;
mod lines;
mod map;

pub(crate) use file::{Identity, LogFile, open_regular, read_exact_at};
pub(crate) use judge::{Finding, judge};
pub(crate) use lines::{Line, Lines, Piece, Pieces};
pub(crate) use map::Map;

pub use file::Reading;
