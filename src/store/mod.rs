//! Sessions as files: opening one through its index, and finding them in folders. The only room
//! that joins log, index, format and snapshot.

mod convert;
mod entry;
mod fork;
mod fresh;
mod mutations;
mod options;
mod publish;
mod repository;
mod rules;
mod session;
mod tree;
mod verify;

pub use convert::{Change, ChangeKind, Conversion, convert};
pub use entry::Entry;
pub use fork::Forked;
pub use mutations::{Mutation, Mutations};
pub use options::{Durability, IndexMode, OpenOptions};
pub use repository::{Listing, Repository, SessionInfo};
pub use session::{BytesRead, IndexState, IndexStatus, Session};
pub use tree::TreeNode;
pub use verify::{Problem, Verification};
