//! The JSONL file: opening it, mapping it, handing out its lines, judging what a damaged line still
//! holds, appending whole lines to it. Knows no formats.

mod append;
mod file;
mod judge;
mod lines;
mod lock;
mod looks;
mod map;

pub(crate) use append::{Appender, Tail};

#[cfg(unix)]
pub(crate) use file::nanos;
pub(crate) use file::{Identity, LogFile, open_regular, read_exact_at, stands_at};
pub(crate) use judge::{Finding, judge, last_object};
pub(crate) use lines::{Line, Lines, Piece, Pieces};
pub(crate) use lock::remove_abandoned;
pub(crate) use looks::Looks;
pub(crate) use map::Map;

pub use file::Reading;
