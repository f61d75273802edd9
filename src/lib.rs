//! leaflog: an indexed store for the sessions of AI coding agents.
//!
//! A session is an append-only JSON Lines file whose lines form a tree; the current conversation is
//! the path from a leaf to the root. leaflog keeps that file as the truth and a sidecar index
//! beside it, so that resuming a very long session reads only the path that still counts, and an
//! append is one write of one line.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # fn place() -> std::path::PathBuf {
//! #     std::env::temp_dir().join(format!("leaflog-example-{}", std::process::id()))
//! # }
//! use leaflog::{At, Code, CreateOptions, ForkScope, Repository, SessionStorage, pi};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let folder = std::path::Path::new("sessions");
//! #   let folder = &place().join(folder);
//!     let sessions = Repository::new(folder);
//!     let session = match sessions.open("talk") {
//!         Err(error) if error.code() == Code::NotFound => sessions.create(&CreateOptions {
//!             id: Some("talk".to_owned()),
//!             ..CreateOptions::in_folder("/work")
//!         }),
//!         session => session,
//!     }?;
//!
//!     // A turn. Parent, sequence number and time are given by the store.
//!     let text = r#"{"role":"user","content":"Is it done?"}"#;
//!     let asked = session.append_entry(pi::message(text), "main")?;
//!     let text = r#"{"role":"assistant","content":[{"type":"text","text":"Yes."}]}"#;
//!     session.append_entry(pi::message(text), "main")?;
//!
//!     // What the next request to a model is made of: these two, behind those of earlier runs.
//!     let context = session.snapshot(At::Current)?;
//!     for message in &context.messages {
//!         println!("{message}");
//!     }
//!     assert_eq!(context.messages.iter().last(), Some(text));
//!
//!     // Back to the question, and on from there; the first answer stays in the tree.
//!     session.move_lane("main", Some(&asked.id))?;
//!     let text = r#"{"role":"assistant","content":[{"type":"text","text":"Not yet."}]}"#;
//!     let answered = session.append_entry(pi::message(text), "main")?;
//!     assert_eq!(answered.parent, Some(asked.id));
//!
//!     // The same path as a session of its own.
//!     let fork = sessions.fork("talk", &ForkScope::at(&answered.id), &CreateOptions::default())?;
//!     assert_eq!(fork.snapshot(At::Current)?.messages, session.snapshot(At::Current)?.messages);
//!     session.close()?;
//!     Ok(())
//! }
//! # // It may be run again and again.
//! # main()?;
//! # main()?;
//! # Ok(std::fs::remove_dir_all(place())?)
//! # }
//! ```
//!
//! Start with [`Session`] for one file and [`Repository`] for a folder of them. What a session can be
//! asked and told is [`SessionStorage`], a place with many [`SessionRepository`]; [`MemoryRepository`]
//! and, with the feature `sqlite`, `SqliteRepository` implement the same contract without files, and
//! the feature `conformance` has the suite for a backend of one's own. The modules [`pi`] and
//! [`codebot`] make the entries of their formats. [`naive`] is the plain reader that the indexed one is
//! compared with, [`generate`] makes synthetic sessions.

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
        clippy::cast_precision_loss,
        // What stands on disk is little-endian, whatever machine writes it.
        clippy::host_endian_bytes
    )
)]

#[cfg(feature = "conformance")]
pub mod conformance;
mod contract;
mod disk;
mod error;
mod format;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
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
    At, Format, MAX_REPORTS, Messages, MessagesIter, Model, Overview, Plan, Report, ReportCode,
    Snapshot, Stats,
};
#[cfg(feature = "sqlite")]
pub use store::SqliteRepository;
pub use store::{
    BytesRead, Change, ChangeKind, Conversion, Durability, Entry, Fix, FixKind, Follow, Forked,
    IndexMode, IndexState, IndexStatus, Listing, MemoryRepository, Mutation, Mutations,
    OpenOptions, Orphans, Problem, Repaired, Repository, Session, SessionInfo, TreeNode,
    Verification, convert, repair,
};
