//! What entries and records can be asked for, and which questions no session can answer.

use crate::error::{Code, Error, Result};

/// The order of results by their number in the sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// The latest first.
    #[default]
    NewestFirst,
    /// The first written first.
    OldestFirst,
}

/// Which entries are wanted. The default wants all, newest first.
///
/// ```
/// use leaflog::{EntryQuery, Order};
///
/// let notes = EntryQuery {
///     custom_type: Some("note".to_owned()),
///     order: Order::OldestFirst,
///     ..EntryQuery::default()
/// };
/// assert!(notes.check().is_ok());
/// assert!(EntryQuery { limit: Some(0), ..notes }.check().is_err());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryQuery {
    /// Only entries of this kind or type.
    pub kind: Option<String>,
    /// Only `custom` entries of this custom type (pi; also `custom_message` in pi v1 to v3).
    pub custom_type: Option<String>,
    /// The order of the results.
    pub order: Order,
    /// How many at the most; 0 is refused.
    pub limit: Option<usize>,
    /// Go on behind this number: below it newest first, above it oldest first.
    pub after_seq: Option<u64>,
}

impl EntryQuery {
    /// Whether any session can answer this.
    ///
    /// # Errors
    ///
    /// `invalid_query` for a limit of 0.
    pub fn check(&self) -> Result<()> {
        check_limit(self.limit)
    }
}

/// Which part of a path is wanted: from `start` toward the root, up to and with the first entry
/// that matches a bound. Oldest first starts at the root instead and goes toward `start`, and
/// stops at the first match from there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchBounds {
    /// The entry that the path ends at.
    pub start: String,
    /// Stop at an entry of this kind.
    pub stop_at_kind: Option<String>,
    /// Stop at this entry.
    pub stop_at_id: Option<String>,
}

impl BranchBounds {
    /// The whole path of an entry.
    #[must_use]
    pub fn from(start: impl Into<String>) -> Self {
        Self {
            start: start.into(),
            ..Self::default()
        }
    }
}

/// Which execution records are wanted. The default wants all, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordQuery {
    /// Only records of this lane.
    pub lane: Option<String>,
    /// Only records of this type.
    pub kind: Option<String>,
    /// Only records of this run: its `operation_started` by its own id, others by their `runId`.
    pub run_id: Option<String>,
    /// Only operations of this kind (`run`, `compaction`, `navigation`); needs the type
    /// `operation_started`.
    pub operation_kind: Option<String>,
    /// Only records above this number, in either order.
    pub after_seq: Option<u64>,
    /// The order of the results.
    pub order: Order,
    /// How many at the most; 0 is refused.
    pub limit: Option<usize>,
}

impl RecordQuery {
    /// Whether any session can answer this.
    ///
    /// # Errors
    ///
    /// `invalid_query` for a limit of 0, or an operation kind without its type.
    pub fn check(&self) -> Result<()> {
        check_limit(self.limit)?;
        if self.operation_kind.is_some() && self.kind.as_deref() != Some("operation_started") {
            let found = self.kind.as_deref().unwrap_or("no type");
            return Err(Error::new(
                Code::InvalidQuery,
                format!(
                    "an operation kind needs the type `operation_started`, found {found}; \
                     leave the operation kind out or set the type"
                ),
            ));
        }
        Ok(())
    }
}

/// Refuses a limit of 0, which no caller means.
pub(crate) fn check_limit(limit: Option<usize>) -> Result<()> {
    if limit == Some(0) {
        return Err(Error::new(
            Code::InvalidQuery,
            "expected a limit of at least 1, found 0; leave the limit out to get all",
        ));
    }
    Ok(())
}
