//! leaflog: an indexed store for the sessions of AI coding agents.
//!
//! A session is an append-only JSON Lines file whose lines form a tree; the current conversation is
//! the path from a leaf to the root. leaflog keeps that file as the truth and a sidecar index
//! beside it, so that resuming a very long session reads only the path that still counts.
//!
//! ```
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("session.jsonl");
//! # std::fs::write(&path, concat!(
//! #   "{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"timestamp\":\"2026-07-14T09:00:00Z\",\"cwd\":\"/\"}\n",
//! #   "{\"type\":\"message\",\"id\":\"00000001\",\"parentId\":null,\"timestamp\":\"2026-07-14T09:00:01Z\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n")).unwrap();
//! use leaflog::{At, Session};
//!
//! let session = Session::open(&path)?;
//! for message in session.snapshot(At::Current)?.messages.iter() {
//!     println!("{message}");
//! }
//! # Ok::<(), leaflog::Error>(())
//! ```
//!
//! Start with [`Session`] for one file and [`Repository`] for a folder. [`MemoryRepository`] and, with
//! the feature `sqlite`, `SqliteRepository` keep sessions without files. [`naive`] is the plain
//! reader that the indexed one is compared with.

#![deny(unsafe_code)]
#![warn(missing_docs)]
// What a log or a sidecar says must never bring a process down.
#![cfg_attr(
    not(test),
    warn(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )
)]

#[cfg(feature = "conformance")]
pub mod conformance;
mod contract;
mod error;
mod format;
pub mod generate;
mod index;
mod json;
mod log;
mod model;
pub mod naive;
mod snapshot;
mod store;

pub use contract::{
    BranchBounds, CreateOptions, EntryQuery, ForkScope, Lane, LaneView, LogItem, Metadata,
    NewEntry, NewRecord, Order, Position, RecordQuery, SessionRepository, SessionStorage,
};
pub use contract::{codebot, pi};
pub use error::{Code, Error, Result};
pub use format::format_time;
pub use log::Reading;
pub use model::{
    At, Format, MAX_REPORTS, Messages, Model, Overview, Plan, Report, ReportCode, Snapshot, Stats,
};
#[cfg(feature = "sqlite")]
pub use store::SqliteRepository;
pub use store::{
    BytesRead, Change, ChangeKind, Conversion, Durability, Entry, Follow, Forked, IndexMode,
    IndexState, IndexStatus, Listing, MemoryRepository, Mutation, Mutations, OpenOptions, Problem,
    Repository, Session, SessionInfo, TreeNode, Verification, convert,
};
