//! Sessions in memory: gone with the process, and the same in every answer as those that stay. For
//! tests, and for sessions that nobody wants to keep.

use std::fmt;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use ahash::AHashMap;
use parking_lot::{Mutex, RwLock};

use super::repository::{self, existing_session, unknown_session};
use super::row::{Class, Effect, Row, Standing};
use super::{Filter, NewSession, Now, Place, Rows, Totals, Walk};
use crate::contract::{
    CreateOptions, ForkScope, Metadata, Order, SessionRepository, SessionStorage,
};
use crate::error::{Code, Error, Result};
use crate::store::entry::Entry;
use crate::store::{Listing, SessionInfo};

/// Sessions in memory. Clones share them.
///
/// ```
/// use leaflog::{At, CreateOptions, MemoryRepository, NewEntry, SessionRepository};
///
/// let repository = MemoryRepository::new();
/// let session = repository.create(&CreateOptions::in_folder("/work"))?;
/// session.append_entry(NewEntry::new("message", r#"{"message":{"role":"user","content":"hi"}}"#), "main")?;
/// assert_eq!(session.snapshot(At::Current)?.messages.len(), 1);
/// assert_eq!(repository.list()?.sessions.len(), 1);
/// # Ok::<(), leaflog::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct MemoryRepository {
    sessions: Arc<Sessions>,
}

impl MemoryRepository {
    /// A place without sessions.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl fmt::Debug for MemoryRepository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.sessions.by_id.lock().len();
        f.debug_struct("MemoryRepository")
            .field("sessions", &count)
            .finish_non_exhaustive()
    }
}

impl SessionRepository for MemoryRepository {
    fn create(&self, options: &CreateOptions) -> Result<Box<dyn SessionStorage>> {
        repository::create(&*self.sessions, options)
    }

    fn open(&self, id: &str) -> Result<Box<dyn SessionStorage>> {
        repository::open(&*self.sessions, id, true)
    }

    fn open_read_only(&self, id: &str) -> Result<Box<dyn SessionStorage>> {
        repository::open(&*self.sessions, id, false)
    }

    fn most_recent(&self) -> Result<Option<Box<dyn SessionStorage>>> {
        repository::most_recent(&*self.sessions)
    }

    fn list(&self) -> Result<Listing> {
        repository::list(&*self.sessions)
    }

    fn fork(
        &self,
        source: &str,
        scope: &ForkScope,
        options: &CreateOptions,
    ) -> Result<Box<dyn SessionStorage>> {
        repository::fork(&*self.sessions, source, scope, options)
    }

    fn delete(&self, id: &str) -> Result<()> {
        self.sessions.delete(id)
    }
}

#[derive(Default)]
struct Sessions {
    by_id: Mutex<AHashMap<String, Arc<Shared>>>,
}

/// A session, for all who have it open.
struct Shared {
    metadata: Metadata,
    state: RwLock<State>,
    /// Whether a writer has it.
    written: AtomicBool,
}

/// Clones share the rows, which never change.
#[derive(Clone, Default)]
struct State {
    now: Now,
    /// The row with number n stands at n - 1.
    rows: Vec<Arc<Row>>,
    /// Entries and records, by where they stand.
    by_id: AHashMap<String, usize>,
    labels: AHashMap<String, String>,
}

impl Place for Sessions {
    type Rows = MemoryRows;

    fn create(&self, new: NewSession) -> Result<MemoryRows> {
        let id = new.metadata.id.clone();
        let mut state = State::default();
        for row in &new.rows {
            state.add(row);
        }
        state.now = new.now;
        let shared = Arc::new(Shared {
            metadata: new.metadata,
            state: RwLock::new(state),
            written: AtomicBool::new(false),
        });
        let mut by_id = self.by_id.lock();
        if by_id.contains_key(&id) {
            return Err(existing_session(&id));
        }
        let rows = MemoryRows::of(&shared, true)?;
        by_id.insert(id, shared);
        Ok(rows)
    }

    fn open(&self, id: &str, write: bool) -> Result<MemoryRows> {
        let by_id = self.by_id.lock();
        MemoryRows::of(by_id.get(id).ok_or_else(|| unknown_session(id))?, write)
    }

    fn list(&self) -> Result<Vec<SessionInfo>> {
        let by_id = self.by_id.lock();
        let info = |shared: &Arc<Shared>| {
            let totals = shared.state.read().now.totals.clone();
            repository::info(shared.metadata.clone(), totals)
        };
        Ok(by_id.values().map(info).collect())
    }

    fn delete(&self, id: &str) -> Result<()> {
        let mut by_id = self.by_id.lock();
        if let Some(shared) = by_id.get(id) {
            let _writer = Writing::of(shared)?;
            by_id.remove(id);
        }
        Ok(())
    }
}

/// The writer's lock of a session, which dropping it gives back.
struct Writing(Arc<Shared>);

impl Writing {
    fn of(shared: &Arc<Shared>) -> Result<Self> {
        if shared.written.swap(true, Ordering::AcqRel) {
            let id = &shared.metadata.id;
            return Err(Error::new(
                Code::Locked,
                format!(
                    "the session `{id}` is open for writing in this process; close it there, or open it for reading"
                ),
            ));
        }
        Ok(Self(Arc::clone(shared)))
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        self.0.written.store(false, Ordering::Release);
    }
}

/// A session that is open.
struct MemoryRows {
    shared: Arc<Shared>,
    frozen: OnceLock<State>,
    _writing: Option<Writing>,
}

impl MemoryRows {
    fn of(shared: &Arc<Shared>, write: bool) -> Result<Self> {
        let writing = write.then(|| Writing::of(shared)).transpose()?;
        Ok(Self {
            shared: Arc::clone(shared),
            frozen: OnceLock::new(),
            _writing: writing,
        })
    }

    fn read<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        match self.frozen.get() {
            Some(frozen) => read(frozen),
            None => read(&self.shared.state.read()),
        }
    }
}

impl State {
    /// Adds a row, totals and lanes aside.
    fn add(&mut self, row: &Row) {
        if let Some(id) = &row.id {
            self.by_id.insert(id.clone(), self.rows.len());
        }
        if let (Effect::Label(label), Some(target)) = (&row.effect, &row.parent) {
            match label {
                Some(label) => self.labels.insert(target.clone(), label.clone()),
                None => self.labels.remove(target),
            };
        }
        self.rows.push(Arc::new(row.clone()));
    }

    fn find(&self, class: Class, id: &str) -> Option<&Row> {
        let row = self.rows.get(*self.by_id.get(id)?)?;
        Some(&**row).filter(|row| row.class == class)
    }

    fn at(&self, seq: u64) -> Option<&Row> {
        let place = usize::try_from(seq.checked_sub(1)?).ok()?;
        self.rows.get(place).map(|row| &**row)
    }

    /// The rows between the filter's bounds.
    fn between(&self, filter: &Filter<'_>) -> &[Arc<Row>] {
        let place = |seq: u64| usize::try_from(seq).unwrap_or(usize::MAX);
        let from = place(filter.above.unwrap_or(0)).min(self.rows.len());
        let to = place(filter.below.unwrap_or(u64::MAX).saturating_sub(1)).min(self.rows.len());
        self.rows.get(from..to).unwrap_or_default()
    }

    /// The path from an entry to its root.
    fn path(&self, from: Standing, floor: Option<u64>) -> impl Iterator<Item = &Row> {
        let mut next = self.at(from.seq);
        std::iter::from_fn(move || {
            let row = next?;
            next = row
                .standing
                .and_then(|standing| standing.up)
                .filter(|&up| floor.is_none_or(|floor| up >= floor))
                .and_then(|up| self.at(up));
            Some(row)
        })
    }
}

impl Rows for MemoryRows {
    fn metadata(&self) -> Result<Metadata> {
        Ok(self.shared.metadata.clone())
    }

    fn now(&self) -> Result<Now> {
        Ok(self.read(|state| state.now.clone()))
    }

    fn label(&self, target: &str) -> Result<Option<String>> {
        Ok(self.read(|state| state.labels.get(target).cloned()))
    }

    fn labels(&self) -> Result<AHashMap<String, String>> {
        Ok(self.read(|state| state.labels.clone()))
    }

    fn is_used(&self, id: &str) -> Result<bool> {
        Ok(self.read(|state| state.by_id.contains_key(id)))
    }

    fn find(&self, class: Class, id: &str) -> Result<Option<Entry>> {
        Ok(self.read(|state| state.find(class, id).map(Row::entry)))
    }

    fn standing(&self, id: &str) -> Result<Option<Standing>> {
        Ok(self.read(|state| state.find(Class::Entry, id)?.standing))
    }

    fn scan(&self, filter: &Filter<'_>) -> Result<Vec<(Class, Entry)>> {
        let limit = filter.limit.unwrap_or(usize::MAX);
        let take = |row: &Arc<Row>| filter.matches(row).then(|| (row.class, row.entry()));
        Ok(self.read(|state| {
            let rows = state.between(filter).iter();
            match filter.order {
                Order::OldestFirst => rows.filter_map(take).take(limit).collect(),
                Order::NewestFirst => rows.rev().filter_map(take).take(limit).collect(),
            }
        }))
    }

    fn walk(&self, from: Standing, walk: &Walk<'_>) -> Result<Vec<Entry>> {
        let limit = walk.filter.limit.unwrap_or(usize::MAX);
        let stops = |row: &Row| {
            walk.stop_at_kind.is_some_and(|kind| kind == row.kind)
                || walk
                    .stop_at_id
                    .is_some_and(|id| row.id.as_deref() == Some(id))
        };
        let collect = |rows: &mut dyn Iterator<Item = &Row>| {
            let mut found = Vec::new();
            for row in rows {
                if walk.filter.matches(row) {
                    found.push(row.entry());
                }
                if found.len() >= limit || stops(row) {
                    break;
                }
            }
            found
        };
        Ok(self.read(|state| {
            let mut path = state.path(from, walk.floor);
            match walk.filter.order {
                Order::NewestFirst => collect(&mut path),
                Order::OldestFirst => {
                    let path: Vec<&Row> = path.collect();
                    collect(&mut path.into_iter().rev())
                }
            }
        }))
    }

    fn insert(&self, row: &Row, totals: &Totals) -> Result<()> {
        let mut state = self.shared.state.write();
        state.add(row);
        row.change(&mut state.now.head);
        state.now.totals.clone_from(totals);
        Ok(())
    }

    fn freeze(&self) -> Result<()> {
        let state = self.shared.state.read().clone();
        let _ = self.frozen.set(state);
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }
}
