//! Sessions whose mutations are kept as rows: what such a backend must do, and what all of them
//! share, written once. pi v4 only. Knows no database; [`memory`] and [`sqlite`] do.
//!
//! A backend keeps rows and brings them back ([`Rows`]), and keeps sessions by their ids
//! ([`Place`]). Everything else is here: the contract of a session over rows (`session`), of a
//! repository over places (`repository`), the context of a path (`snapshot`), and what a fork takes
//! along (`fork`). Backends that speak SQL share their statements (`sql`).

mod fork;
mod memory;
mod repository;
mod row;
mod session;
mod snapshot;

#[cfg(feature = "sqlite")]
mod guard;
#[cfg(feature = "sqlite")]
mod sql;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(feature = "sqlite")]
mod statement;
#[cfg(feature = "sqlite")]
mod tables;

pub use memory::MemoryRepository;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteRepository;

use ahash::AHashMap;

use super::SessionInfo;
use super::entry::Entry;
use super::rules::Head;
use crate::contract::{Metadata, Order};
use crate::error::Result;
use crate::model::Stats;
use row::{Class, Row, Standing};

/// The totals of a session after its last row.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Totals {
    name: Option<String>,
    stats: Stats,
    /// Bytes that the session would have as a log.
    bytes: u64,
    /// The newest time that counts as activity.
    updated: Option<i64>,
    /// The first user message, as a title.
    first_message: Option<String>,
}

/// Where a session stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Now {
    head: Head,
    totals: Totals,
}

/// Which rows are wanted: those that match everything that is given.
#[derive(Clone, Copy, Debug, Default)]
struct Filter<'f> {
    class: Option<Class>,
    kind: Option<&'f str>,
    custom: Option<&'f str>,
    lane: Option<&'f str>,
    run: Option<&'f str>,
    operation: Option<&'f str>,
    /// Only numbers above this one.
    above: Option<u64>,
    /// Only numbers below this one.
    below: Option<u64>,
    order: Order,
    limit: Option<usize>,
}

/// A walk along a path, from an entry toward its root.
#[derive(Clone, Copy, Debug, Default)]
struct Walk<'w> {
    /// Which entries of the path are wanted.
    filter: Filter<'w>,
    stop_at_kind: Option<&'w str>,
    stop_at_id: Option<&'w str>,
    /// Entries with lower numbers are not walked to.
    floor: Option<u64>,
}

/// The rows of one session. Whoever opened them for writing holds the session's writer lock as long
/// as they are there.
///
/// What is read is never changed by a later write, and a read sees every write that returned before.
trait Rows: Send + Sync {
    /// What is known of the session beside its rows.
    fn metadata(&self) -> Result<Metadata>;

    /// Where the session stands.
    fn now(&self) -> Result<Now>;

    /// The label of an entry.
    fn label(&self, target: &str) -> Result<Option<String>>;

    /// The labels of all entries that have one.
    fn labels(&self) -> Result<AHashMap<String, String>>;

    /// Whether an entry or a record has an id.
    fn is_used(&self, id: &str) -> Result<bool>;

    /// The entry or record with an id.
    fn find(&self, class: Class, id: &str) -> Result<Option<Entry>>;

    /// Where an entry stands in the tree.
    fn standing(&self, id: &str) -> Result<Option<Standing>>;

    /// The rows that match, in the order that the filter asks for. Rows that are no entries or
    /// records come as such too, as their columns say.
    fn scan(&self, filter: &Filter<'_>) -> Result<Vec<(Class, Entry)>>;

    /// The matching entries of the path that ends at an entry. Newest first walks toward the root
    /// and ends with the entry that matches a bound; oldest first starts at the root and ends with
    /// the first one that does.
    fn walk(&self, from: Standing, walk: &Walk<'_>) -> Result<Vec<Entry>>;

    /// Adds one row with all that it changes, or nothing.
    fn insert(&self, row: &Row, totals: &Totals) -> Result<()>;

    /// From now on reads see the session as it is now.
    fn freeze(&self) -> Result<()>;

    /// Puts on the disk what was written.
    fn sync(&self) -> Result<()>;
}

/// A session in the making: what is known of it, and its first rows.
struct NewSession {
    metadata: Metadata,
    rows: Vec<Row>,
    now: Now,
}

/// Sessions by their ids.
trait Place: Send + Sync {
    type Rows: Rows + 'static;

    /// Keeps a new session, whole or not at all, and opens it for writing. `already_exists` for an
    /// id in use.
    fn create(&self, new: NewSession) -> Result<Self::Rows>;

    /// Opens a session. `not_found`; `locked` if it is to be written and another writer has it.
    fn open(&self, id: &str, write: bool) -> Result<Self::Rows>;

    /// All sessions, in any order.
    fn list(&self) -> Result<Vec<SessionInfo>>;

    /// Removes a session, if it is there. `locked` if a writer has it.
    fn delete(&self, id: &str) -> Result<()>;
}

impl Now {
    /// Takes in a row that comes next.
    fn take(&mut self, row: &Row) {
        row.change(&mut self.head);
        self.totals.take(row);
    }
}

impl Totals {
    /// Adds what a row says.
    fn take(&mut self, row: &Row) {
        self.bytes = self.bytes.saturating_add(row.line_bytes());
        let gain = &row.gain;
        let stats = &mut self.stats;
        stats.message_count += u64::from(gain.is_message);
        if let Some(usage) = gain.usage {
            stats.cached_tokens = stats.cached_tokens.saturating_add(usage.cached);
            stats.uncached_tokens = stats.uncached_tokens.saturating_add(usage.uncached);
            stats.total_tokens = stats.total_tokens.saturating_add(usage.total);
            stats.cost_total += usage.cost;
        }
        self.updated = self.updated.max(gain.activity);
        if self.first_message.is_none() {
            self.first_message.clone_from(&gain.first_text);
        }
        if let row::Effect::Name(name) = &row.effect {
            self.name.clone_from(name);
        }
    }
}

impl Filter<'_> {
    /// Whether a row is wanted. The limit is not looked at.
    fn matches(&self, row: &Row) -> bool {
        let is = |wanted: Option<&str>, found: Option<&str>| wanted.is_none() || wanted == found;
        self.class.is_none_or(|class| class == row.class)
            && is(self.kind, Some(&row.kind))
            && is(self.custom, row.custom.as_deref())
            && is(self.lane, row.lane.as_deref())
            && is(self.run, row.run.as_deref())
            && is(self.operation, row.operation.as_deref())
            && self.above.is_none_or(|above| row.seq > above)
            && self.below.is_none_or(|below| row.seq < below)
    }
}
