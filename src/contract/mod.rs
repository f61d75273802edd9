//! What a session store can be asked: two traits, the values that go in and out of them, and the
//! view of one lane. Every backend implements the traits; nothing here knows how one does it.

pub mod codebot;
mod fields;
mod lane;
mod make;
pub mod pi;
mod query;
mod repository;
mod storage;

pub use lane::LaneView;
pub(crate) use lane::unknown_lane;
pub use make::{CreateOptions, ForkScope, NewEntry, NewRecord, Position};
pub(crate) use query::check_limit;
pub use query::{BranchBounds, EntryQuery, Order, RecordQuery};
pub use repository::SessionRepository;
pub use storage::{Lane, LogItem, Metadata, SessionStorage};
