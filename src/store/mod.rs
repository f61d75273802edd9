//! Sessions as files: opening one through its index, and finding them in folders. The only room
//! that joins log, index, format and snapshot.

mod convert;
mod cwd;
mod entry;
#[cfg(test)]
mod faults;
mod find;
mod follow;
mod fork;
mod mutations;
mod options;
mod output;
mod publish;
mod repair;
mod repository;
mod rows;
mod rules;
mod session;
mod state;
mod storage;
mod tree;
mod verify;
mod writer;
mod writes;

pub use convert::{Change, ChangeKind, Conversion, convert};
pub use entry::Entry;
pub use follow::Follow;
pub use fork::Forked;
pub use mutations::{Mutation, Mutations};
pub use options::{Durability, IndexMode, OpenOptions};
pub use repair::{Fix, FixKind, Orphans, Repaired, repair};
pub use repository::{Listing, Repository, SessionInfo};
#[cfg(feature = "fuzzing")]
pub(crate) use repository::{sealed as sealed_catalog, told as told_by_catalog};
pub use rows::MemoryRepository;
#[cfg(feature = "sqlite")]
pub use rows::SqliteRepository;
pub use session::{BytesRead, IndexState, IndexStatus, Session};
pub use tree::TreeNode;
pub use verify::{Problem, Verification};
