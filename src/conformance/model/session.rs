//! The contract of one session, answered by the model: every call takes the one lock, refuses what
//! it must, and scans.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use super::stored::Stored;
use super::{Capabilities, Place, check, lock, now};
use crate::contract::{
    BranchBounds, EntryQuery, Lane, LogItem, Metadata, NewEntry, NewRecord, Order, RecordQuery,
    SessionStorage, check_limit, codebot, pi, unknown_lane,
};
use crate::error::{Code, Error, Result};
use crate::model::{At, Format, Snapshot, Stats};
use crate::store::Entry;

/// A session that somebody has open.
pub(super) struct ModelSession {
    place: Arc<Mutex<Place>>,
    id: String,
    read_only: bool,
    closed: AtomicBool,
}

/// The locked place, with the session that was asked for in it.
struct Held<'p> {
    place: MutexGuard<'p, Place>,
    id: &'p str,
}

impl Held<'_> {
    fn stored(&mut self) -> Result<&mut Stored> {
        self.place.find(self.id)
    }

    /// The id and time of the next thing: another backend's, the caller's, or made here.
    fn given(&mut self, own: Option<&str>) -> (String, i64) {
        let next = self.place.next();
        match (self.place.hint.take(), own) {
            (Some(hint), own) => (own.map_or(hint.id, str::to_owned), hint.time),
            (None, Some(own)) => (own.to_owned(), now()),
            (None, None) => (format!("{next:08x}"), now()),
        }
    }

    fn add(&mut self, new: &NewEntry, lane: &str) -> Result<Entry> {
        let (id, time) = self.given(new.id());
        let stored = self.stored()?;
        let lanes = stored.lanes()?;
        let found = lanes.into_iter().find(|found| found.name == lane);
        let leaf = found.ok_or_else(|| unknown_lane(lane))?.leaf;
        Ok(stored.add_entry(new, &id, leaf.as_deref(), Some(lane), time))
    }
}

impl ModelSession {
    pub(super) fn new(place: Arc<Mutex<Place>>, id: &str, read_only: bool) -> Self {
        Self {
            place,
            id: id.to_owned(),
            read_only,
            closed: AtomicBool::new(false),
        }
    }

    fn read(&self) -> Result<Held<'_>> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(Error::new(Code::Closed, "closed"));
        }
        Ok(Held {
            place: lock(&self.place),
            id: &self.id,
        })
    }

    fn write(&self) -> Result<Held<'_>> {
        let held = self.read()?;
        if self.read_only {
            return Err(Error::new(Code::Unsupported, "opened for reading"));
        }
        Ok(held)
    }
}

fn not_found(id: &str) -> Error {
    Error::new(Code::NotFound, format!("there is no entry `{id}`"))
}

fn lacks(stored: &Stored, what: &str) -> Error {
    Error::new(Code::Unsupported, format!("{}: no {what}", stored.format))
}

fn can(stored: &Stored) -> Capabilities {
    Capabilities::of(stored.format)
}

fn check_target(stored: &Stored, id: Option<&str>) -> Result<()> {
    match id {
        Some(id) if stored.entry(id).is_none() => Err(not_found(id)),
        _ => Ok(()),
    }
}

fn check_lane(stored: &mut Stored, lane: &str) -> Result<()> {
    let known = stored.lanes()?.iter().any(|known| known.name == lane);
    if known {
        Ok(())
    } else {
        Err(unknown_lane(lane))
    }
}

fn check_unused(stored: &Stored, id: Option<&str>) -> Result<()> {
    let mut used = stored.entries().chain(stored.records());
    match id {
        Some(id) if used.any(|one| one.id == id) => {
            Err(Error::new(Code::AlreadyExists, format!("`{id}` is in use")))
        }
        _ => Ok(()),
    }
}

fn matches(format: Format, entry: &Entry, query: &EntryQuery) -> bool {
    let custom = |wanted: &String| {
        let typed = match format {
            Format::CodebotV3 => false,
            Format::PiV4 => entry.kind == "custom",
            _ => matches!(&*entry.kind, "custom" | "custom_message"),
        };
        let fields = check::raw(&entry.text()).ok();
        typed
            && fields
                .and_then(|fields| check::string(&fields, "customType"))
                .as_ref()
                == Some(wanted)
    };
    let seq = entry.seq.unwrap_or(0);
    let behind = query.after_seq.is_none_or(|after| match query.order {
        Order::NewestFirst => seq < after,
        Order::OldestFirst => seq > after,
    });
    behind
        && query.kind.as_ref().is_none_or(|kind| *kind == entry.kind)
        && query.custom_type.as_ref().is_none_or(custom)
}

fn matches_record(record: &Entry, query: &RecordQuery) -> bool {
    let is_start = record.kind == "operation_started";
    let of_run = |run: &String| {
        if is_start {
            record.id == *run
        } else {
            record.parent.as_ref() == Some(run)
        }
    };
    let of_kind = |kind: &String| {
        let fields = check::raw(&record.text()).ok();
        let intent = fields.and_then(|fields| check::raw(fields.get("intent")?.get()).ok());
        let found = intent.and_then(|intent| check::string(&intent, "kind"));
        is_start && found.as_ref() == Some(kind)
    };
    (query.lane.is_none() || record.lane == query.lane)
        && query.kind.as_ref().is_none_or(|kind| *kind == record.kind)
        && query.run_id.as_ref().is_none_or(of_run)
        && query.operation_kind.as_ref().is_none_or(of_kind)
        && query
            .after_seq
            .is_none_or(|after| record.seq.unwrap_or(0) > after)
}

/// In an order, and no more than asked for.
fn page(mut found: Vec<Entry>, order: Order, limit: Option<usize>) -> Vec<Entry> {
    if order == Order::NewestFirst {
        found.reverse();
    }
    found.truncate(limit.unwrap_or(usize::MAX));
    found
}

impl SessionStorage for ModelSession {
    fn metadata(&self) -> Result<Metadata> {
        let mut held = self.read()?;
        let stored = held.stored()?;
        Ok(Metadata {
            id: stored.id.clone(),
            created: Some(stored.created),
            cwd: Some(stored.options.cwd.clone()),
            parent: stored.options.parent.clone(),
            format: stored.format,
            path: None,
            metadata: stored.options.metadata.clone(),
        })
    }

    fn lanes(&self) -> Result<Vec<Lane>> {
        let mut held = self.read()?;
        let stored = held.stored()?;
        let mut lanes = stored.lanes()?;
        if self.read_only && !can(stored).lanes {
            // Where the writer has moved to is not written down.
            for lane in &mut lanes {
                lane.leaf = stored.last();
            }
        }
        Ok(lanes)
    }

    fn create_lane(&self, name: &str, at: Option<&str>) -> Result<()> {
        let mut held = self.write()?;
        let stored = held.stored()?;
        if !can(stored).lanes {
            return Err(lacks(stored, "lanes"));
        }
        if name.is_empty() {
            return Err(Error::new(Code::InvalidLane, "a lane needs a name"));
        }
        if stored.lanes()?.iter().any(|lane| lane.name == name) {
            return Err(Error::new(Code::AlreadyExists, format!("`{name}` exists")));
        }
        check_target(stored, at)?;
        stored.add_lane(name, at);
        Ok(())
    }

    fn move_lane(&self, name: &str, to: Option<&str>) -> Result<()> {
        let mut held = self.write()?;
        let stored = held.stored()?;
        check_lane(stored, name)?;
        check_target(stored, to)?;
        if can(stored).lanes {
            stored.add_lane(name, to);
        } else {
            let header = (stored.format == Format::CodebotV3).then_some("h0");
            stored.leaf = to.or(header).map(str::to_owned);
        }
        Ok(())
    }

    fn append_entry(&self, new: NewEntry, lane: &str) -> Result<Entry> {
        let mut held = self.write()?;
        let stored = held.stored()?;
        check_lane(stored, lane)?;
        check_unused(stored, new.id())?;
        if let Some(id) = new.id() {
            check::entry_id(stored.format, id)?;
        }
        check::entry(stored.format, &new)?;
        held.add(&new, lane)
    }

    fn append_record(&self, new: NewRecord) -> Result<Entry> {
        let mut held = self.write()?;
        let stored = held.stored()?;
        if !can(stored).records {
            return Err(lacks(stored, "records"));
        }
        check_lane(stored, new.lane())?;
        check_unused(stored, new.id())?;
        check::record(&new)?;
        let open = &stored.overview()?.open_operations;
        if new.kind() == "operation_started" && open.contains_key(new.lane()) {
            return Err(Error::new(Code::Storage, "an operation is open"));
        }
        let (id, time) = held.given(new.id());
        Ok(held.stored()?.add_record(&new, &id, time))
    }

    fn entry(&self, id: &str) -> Result<Option<Entry>> {
        Ok(self.read()?.stored()?.entry(id).cloned())
    }

    fn find_entries(&self, query: &EntryQuery) -> Result<Vec<Entry>> {
        let mut held = self.read()?;
        query.check()?;
        let stored = held.stored()?;
        let entries = stored.entries();
        let found = entries.filter(|entry| matches(stored.format, entry, query));
        Ok(page(found.cloned().collect(), query.order, query.limit))
    }

    fn find_entries_on_branch(
        &self,
        query: &EntryQuery,
        bounds: &BranchBounds,
    ) -> Result<Vec<Entry>> {
        let mut held = self.read()?;
        query.check()?;
        let stored = held.stored()?;
        check_target(stored, Some(&bounds.start))?;
        let mut path = stored.path(&bounds.start);
        if query.order == Order::OldestFirst {
            path.reverse();
        }
        let mut found = Vec::new();
        for entry in path {
            if matches(stored.format, entry, query) {
                found.push(entry.clone());
            }
            let stops = bounds.stop_at_kind.as_ref() == Some(&entry.kind)
                || bounds.stop_at_id.as_ref() == Some(&entry.id);
            if stops || Some(found.len()) == query.limit {
                break;
            }
        }
        Ok(found)
    }

    fn find_records(&self, query: &RecordQuery) -> Result<Vec<Entry>> {
        let mut held = self.read()?;
        query.check()?;
        let records = held.stored()?.records();
        let found = records.filter(|record| matches_record(record, query));
        Ok(page(found.cloned().collect(), query.order, query.limit))
    }

    fn find_open_operations(&self, lane: &str, limit: Option<usize>) -> Result<Vec<Entry>> {
        let mut held = self.read()?;
        check_limit(limit)?;
        let stored = held.stored()?;
        let open = &stored.overview()?.open_operations;
        let open = open.get(lane).cloned().unwrap_or_default();
        let is_open = |record: &&Entry| open.contains(&record.id);
        let found = stored.records().filter(is_open).cloned().collect();
        Ok(page(found, Order::NewestFirst, limit))
    }

    fn log(&self, after_seq: Option<u64>, limit: Option<usize>) -> Result<Vec<LogItem>> {
        let mut held = self.read()?;
        check_limit(limit)?;
        let items = held.stored()?.items.iter();
        let above = items.filter(|item| after_seq.is_none_or(|after| item.seq() > after));
        Ok(above.take(limit.unwrap_or(usize::MAX)).cloned().collect())
    }

    fn name(&self) -> Result<Option<String>> {
        Ok(self.read()?.stored()?.overview()?.name.clone())
    }

    fn set_name(&self, name: Option<&str>) -> Result<()> {
        let mut held = self.write()?;
        let stored = held.stored()?;
        let new = match stored.format {
            Format::PiV4 => {
                stored.add_name(name);
                return Ok(());
            }
            Format::CodebotV3 => codebot::session_info(name.unwrap_or_default()),
            _ => pi::session_info(name.unwrap_or_default()),
        };
        held.add(&new, "main").map(drop)
    }

    fn label(&self, id: &str) -> Result<Option<String>> {
        let mut held = self.read()?;
        Ok(held.stored()?.overview()?.labels.get(id).cloned())
    }

    fn set_label(&self, id: &str, label: Option<&str>) -> Result<()> {
        let mut held = self.write()?;
        let stored = held.stored()?;
        if !can(stored).labels {
            return Err(lacks(stored, "labels"));
        }
        check_target(stored, Some(id))?;
        if stored.format == Format::PiV4 {
            stored.add_label(id, label);
            return Ok(());
        }
        held.add(&pi::label(id, label), "main").map(drop)
    }

    fn stats(&self) -> Result<Stats> {
        Ok(self.read()?.stored()?.overview()?.stats)
    }

    fn snapshot(&self, at: At<'_>) -> Result<Snapshot> {
        let mut held = self.read()?;
        let stored = held.stored()?;
        if can(stored).lanes || !matches!(at, At::Current | At::Lane("main")) {
            return stored.replay()?.snapshot(at, false);
        }
        // The one lane stands where this session put it; a reader sees what is written.
        let leaf = if self.read_only {
            stored.last()
        } else {
            stored.leaf.clone()
        };
        match leaf {
            Some(leaf) => stored.replay()?.snapshot(At::Leaf(&leaf), false),
            None => {
                let name = stored.replay()?.snapshot(At::Current, false)?.name;
                let empty = stored.header_alone()?.snapshot(At::Current, false)?;
                Ok(Snapshot { name, ..empty })
            }
        }
    }

    fn sync(&self) -> Result<()> {
        self.read().map(drop)
    }

    fn close(&self) -> Result<()> {
        let was_closed = self.closed.swap(true, Ordering::SeqCst);
        if !was_closed
            && !self.read_only
            && let Ok(stored) = lock(&self.place).find(&self.id)
        {
            stored.written_to = false;
        }
        Ok(())
    }
}

impl Drop for ModelSession {
    fn drop(&mut self) {
        // Closing the model cannot fail.
        let _ = self.close();
    }
}
