//! The contract of one session.

use std::path::PathBuf;

use super::{BranchBounds, EntryQuery, NewEntry, NewRecord, RecordQuery};
use crate::error::Result;
use crate::model::{At, Format, Snapshot, Stats};
use crate::store::Entry;

/// What is known of a session beside its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// The session's id.
    pub id: String,
    /// When it was made, in milliseconds since 1970; none if its header does not say.
    pub created: Option<i64>,
    /// The working directory that it belongs to.
    pub cwd: Option<String>,
    /// The parent session: an id (pi v4) or a path (pi v3, older parents).
    pub parent: Option<String>,
    /// The format of its lines.
    pub format: Format,
    /// The log, or the database; none for a session in memory.
    pub path: Option<PathBuf>,
    /// The JSON object that its maker gave it (pi v4).
    pub metadata: Option<String>,
}

/// A lane: a name, and the entry that it stands on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// The name, which is the lane's for good.
    pub name: String,
    /// The entry that the next one goes on from; none for a new root.
    pub leaf: Option<String>,
}

/// One mutation of a session, by its number in the sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogItem {
    /// An entry was appended.
    Entry(Entry),
    /// An execution record was appended (pi v4).
    Record(Entry),
    /// A lane was made or moved (pi v4).
    Lane {
        /// The number in the sequence.
        seq: u64,
        /// The lane.
        lane: String,
        /// What it stands on now.
        leaf: Option<String>,
    },
    /// The session was named (pi v4).
    Name {
        /// The number in the sequence.
        seq: u64,
        /// The name; none clears it.
        name: Option<String>,
    },
    /// An entry was labelled (pi v4).
    Label {
        /// The number in the sequence.
        seq: u64,
        /// The entry.
        target: String,
        /// The label; none clears it.
        label: Option<String>,
    },
    /// A line of a kind that this version does not know (pi v4).
    Other {
        /// The number in the sequence.
        seq: u64,
        /// The kind.
        kind: String,
    },
}

impl LogItem {
    /// The number in the sequence. In formats without one: the place among the kept lines.
    #[must_use]
    pub fn seq(&self) -> u64 {
        match self {
            Self::Entry(entry) | Self::Record(entry) => entry.seq.unwrap_or(0),
            Self::Lane { seq, .. }
            | Self::Name { seq, .. }
            | Self::Label { seq, .. }
            | Self::Other { seq, .. } => *seq,
        }
    }
}

/// One session in a store. Writes are linearized: the order in which calls return is the order
/// of the sequence. A failed call changes nothing.
///
/// Every call on a closed session answers `closed`, every write to one that was opened for reading
/// `unsupported`; these are not repeated below.
///
/// Formats without lanes (codebot, pi v1 to v3) have the one lane `main`, whose leaf is where the
/// open session stands; moving it is not recorded in the file until the next append. Where a
/// format cannot hold something, the answer is the error `unsupported`.
///
/// The conformance suite (feature `conformance`) checks a backend of one's own against this contract.
pub trait SessionStorage: Send + Sync {
    /// What is known of the session beside its lines.
    ///
    /// # Errors
    ///
    /// `closed`, and what reading may meet.
    fn metadata(&self) -> Result<Metadata>;

    /// The lanes in the order they were made.
    ///
    /// # Errors
    ///
    /// `closed`, and what reading may meet.
    fn lanes(&self) -> Result<Vec<Lane>>;

    /// Makes a lane that stands on an entry, or on nothing.
    ///
    /// # Errors
    ///
    /// `already_exists` for a name in use, `invalid_lane` for an empty one, `not_found` for an
    /// unknown entry, `unsupported` in a format without lanes.
    fn create_lane(&self, name: &str, at: Option<&str>) -> Result<()>;

    /// Puts a lane on another entry, or on nothing.
    ///
    /// # Errors
    ///
    /// `invalid_lane` for an unknown lane, `not_found` for an unknown entry.
    fn move_lane(&self, name: &str, to: Option<&str>) -> Result<()>;

    /// Appends an entry on the leaf of a lane, and moves the lane to it. The entry as it is
    /// stored comes back.
    ///
    /// # Errors
    ///
    /// `invalid_lane` for an unknown lane, `already_exists` for an id in use (among entries and
    /// records), `invalid_payload` for fields that are no object of the kind's shape, `unsupported`
    /// for an id that the format cannot have, `not_found` for an unknown target of a label or a
    /// context edit (pi v3), `storage` if it cannot be written.
    fn append_entry(&self, new: NewEntry, lane: &str) -> Result<Entry>;

    /// Appends an execution record. The record as it is stored comes back.
    ///
    /// # Errors
    ///
    /// As [`append_entry`](Self::append_entry); `storage` for a second open operation on a lane;
    /// `unsupported` in a format without records.
    fn append_record(&self, new: NewRecord) -> Result<Entry>;

    /// The entry with an id.
    ///
    /// # Errors
    ///
    /// `closed`, and what reading may meet.
    fn entry(&self, id: &str) -> Result<Option<Entry>>;

    /// The entries that a query asks for.
    ///
    /// # Errors
    ///
    /// `invalid_query`, before anything is read.
    fn find_entries(&self, query: &EntryQuery) -> Result<Vec<Entry>>;

    /// The entries of a path that a query asks for.
    ///
    /// # Errors
    ///
    /// `invalid_query`, before anything is read; `not_found` for an unknown start;
    /// `invalid_entry` for a path that is broken before a bound is reached.
    fn find_entries_on_branch(
        &self,
        query: &EntryQuery,
        bounds: &BranchBounds,
    ) -> Result<Vec<Entry>>;

    /// The execution records that a query asks for.
    ///
    /// # Errors
    ///
    /// `invalid_query`, before anything is read.
    fn find_records(&self, query: &RecordQuery) -> Result<Vec<Entry>>;

    /// The operations of a lane that were started and not finished, the latest first. None for an
    /// unknown lane.
    ///
    /// # Errors
    ///
    /// `invalid_query` for a limit of 0.
    fn find_open_operations(&self, lane: &str, limit: Option<usize>) -> Result<Vec<Entry>>;

    /// What happened above a number of the sequence, in order.
    ///
    /// # Errors
    ///
    /// `invalid_query` for a limit of 0.
    fn log(&self, after_seq: Option<u64>, limit: Option<usize>) -> Result<Vec<LogItem>>;

    /// The session's name.
    ///
    /// # Errors
    ///
    /// `closed`, and what reading may meet.
    fn name(&self) -> Result<Option<String>>;

    /// Names the session; none clears the name.
    ///
    /// # Errors
    ///
    /// `closed`, and what writing may meet.
    fn set_name(&self, name: Option<&str>) -> Result<()>;

    /// The label of an entry.
    ///
    /// # Errors
    ///
    /// `closed`, and what reading may meet.
    fn label(&self, id: &str) -> Result<Option<String>>;

    /// Labels an entry; none clears the label.
    ///
    /// # Errors
    ///
    /// `not_found` for an unknown entry; `unsupported` in a format without labels.
    fn set_label(&self, id: &str, label: Option<&str>) -> Result<()>;

    /// Totals over the session.
    ///
    /// # Errors
    ///
    /// `closed`, and what reading may meet.
    fn stats(&self) -> Result<Stats>;

    /// The context that a harness resumes with.
    ///
    /// # Errors
    ///
    /// `not_found` for an unknown leaf, `invalid_lane` for an unknown lane, `invalid_entry` for a
    /// path that is broken.
    fn snapshot(&self, at: At<'_>) -> Result<Snapshot>;

    /// Everything that was acknowledged is on the disk when this returns. A file session of pi v3 has
    /// nothing there before its first user or assistant message.
    ///
    /// # Errors
    ///
    /// `storage` if the system cannot promise it.
    fn sync(&self) -> Result<()>;

    /// Brings derived data up to date and gives the writer's lock back. Every later call answers
    /// `closed`; closing again does nothing.
    ///
    /// # Errors
    ///
    /// `storage` if something could not be written; the session is closed all the same.
    fn close(&self) -> Result<()>;
}
