//! The contract of a session over rows: one lock for everything that is written, the check of a
//! line, the rules, then one row. Reads go to the rows and take no lock here.

use std::borrow::Cow;

use parking_lot::{MappedRwLockReadGuard, Mutex, RwLock, RwLockReadGuard};

use super::row::{Class, Effect, Row, Standing};
use super::{Filter, Now, Rows, Walk, snapshot};
use crate::contract::{
    BranchBounds, EntryQuery, Lane, LogItem, Metadata, NewEntry, NewRecord, Order, RecordQuery,
    SessionStorage, check_limit,
};
use crate::error::{Code, Error, Result};
use crate::format::{
    Envelope, Line, entry_line, label_line, lane_line, name_line, now_nanos, record_line, uuid_v7,
};
use crate::model::{At, Format, Snapshot, Stats};
use crate::store::entry::Entry;
use crate::store::rules::{closed, read_only, taken, unknown_entry};

/// A session over rows.
pub(super) struct RowSession<R> {
    /// None once it is closed, which gives the rows and their lock back.
    rows: RwLock<Option<R>>,
    /// None in a session that is read only.
    writer: Option<Mutex<Writer>>,
}

/// What a writer keeps from one write to the next.
#[derive(Default)]
struct Writer {
    /// Known, since nobody else writes; asked again after a write that failed half way.
    now: Option<Now>,
    line: Line,
    /// The entry that was written last, which is most often the next one's parent.
    last: Option<(String, Standing)>,
}

/// One write in the making.
struct Turn<'t, R> {
    rows: &'t R,
    now: &'t Now,
    line: &'t mut Line,
    last: Option<&'t (String, Standing)>,
}

impl<R: Rows> RowSession<R> {
    pub(super) fn new(rows: R, write: bool) -> Self {
        Self {
            rows: RwLock::new(Some(rows)),
            writer: write.then(Mutex::default),
        }
    }

    fn rows(&self) -> Result<MappedRwLockReadGuard<'_, R>> {
        RwLockReadGuard::try_map(self.rows.read(), Option::as_ref).map_err(|_| closed())
    }

    /// Writes the row that a closure makes, in its turn.
    fn write(&self, make: impl FnOnce(&mut Turn<'_, R>) -> Result<Row>) -> Result<Row> {
        let Some(writer) = &self.writer else {
            let _ = self.rows()?;
            return Err(read_only());
        };
        let mut writer = writer.lock();
        let rows = self.rows()?;
        let Writer { now, line, last } = &mut *writer;
        let before = match now.take() {
            Some(now) => now,
            None => rows.now()?,
        };
        let row = make(&mut Turn {
            rows: &rows,
            now: &before,
            line,
            last: last.as_ref(),
        });
        let row = match row {
            Ok(row) => row,
            Err(error) => {
                *now = Some(before);
                return Err(error);
            }
        };
        let mut after = before;
        after.take(&row);
        rows.insert(&row, &after.totals)?;
        *now = Some(after);
        if let (Some(id), Some(standing)) = (&row.id, row.standing) {
            *last = Some((id.clone(), standing));
        }
        Ok(row)
    }
}

impl<R: Rows> Turn<'_, R> {
    fn standing(&self, id: &str) -> Result<Option<Standing>> {
        match self.last {
            Some((last, standing)) if last == id => Ok(Some(*standing)),
            _ => self.rows.standing(id),
        }
    }

    /// Refuses an entry that does not exist.
    fn check_target(&self, id: Option<&str>) -> Result<()> {
        match id {
            Some(id) if self.standing(id)?.is_none() => Err(unknown_entry(id)),
            _ => Ok(()),
        }
    }

    /// Refuses an id of the caller's that is in use. Made ones are new.
    fn check_id(&self, id: Option<&str>) -> Result<()> {
        match id {
            Some(id) if self.rows.is_used(id)? => Err(taken(id)),
            _ => Ok(()),
        }
    }

    /// The row of the line that was just written.
    fn row(&self) -> Result<Row> {
        Row::of(self.line.object()).ok_or_else(|| {
            Error::new(
                Code::InvalidPayload,
                "the fields do not make a line of pi-v4; check them against its format",
            )
        })
    }

    fn entry(&mut self, new: &NewEntry, lane: &str) -> Result<Row> {
        let open = self.now.head.lane(lane);
        let parent = open
            .as_ref()
            .ok()
            .and_then(|open| open.lane.leaf.as_deref());
        let id = id_or_new(new.id());
        let envelope = Envelope {
            id: &id,
            parent,
            lane,
            seq: self.now.head.next()?,
            nanos: now_nanos(),
        };
        // The payload is checked before the lane is looked at, as pi does.
        entry_line(self.line, Format::PiV4, new, &envelope)?;
        open?;
        self.check_id(new.id())?;
        let above = match parent {
            None => None,
            Some(parent) => Some(self.standing(parent)?.ok_or_else(|| lost(parent))?),
        };
        let mut row = self.row()?;
        row.stand_on(above);
        Ok(row)
    }

    fn record(&mut self, new: &NewRecord) -> Result<Row> {
        let id = id_or_new(new.id());
        let envelope = Envelope {
            id: &id,
            parent: None,
            lane: new.lane(),
            seq: self.now.head.next()?,
            nanos: now_nanos(),
        };
        let (step, _) = record_line(self.line, new, &envelope)?;
        self.now.head.lane(new.lane())?;
        self.check_id(new.id())?;
        self.now.head.check_step(new.lane(), &step)?;
        self.row()
    }
}

/// The id of the caller's, or a new one.
fn id_or_new(id: Option<&str>) -> Cow<'_, str> {
    id.map_or_else(|| Cow::Owned(uuid_v7()), Cow::Borrowed)
}

/// The error for an entry that something stands on and that is not there.
pub(super) fn lost(id: &str) -> Error {
    Error::new(
        Code::InvalidEntry,
        format!(
            "a lane or an entry stands on `{id}`, which the store does not have; it was damaged by something else"
        ),
    )
}

impl<R: Rows> SessionStorage for RowSession<R> {
    fn metadata(&self) -> Result<Metadata> {
        self.rows()?.metadata()
    }

    fn lanes(&self) -> Result<Vec<Lane>> {
        Ok(self.rows()?.now()?.head.lanes())
    }

    fn create_lane(&self, name: &str, at: Option<&str>) -> Result<()> {
        self.write(|turn| {
            turn.now.head.check_new_lane(name)?;
            turn.check_target(at)?;
            lane_line(turn.line, turn.now.head.next()?, name, at);
            turn.row()
        })
        .map(drop)
    }

    fn move_lane(&self, name: &str, to: Option<&str>) -> Result<()> {
        self.write(|turn| {
            turn.now.head.lane(name)?;
            turn.check_target(to)?;
            lane_line(turn.line, turn.now.head.next()?, name, to);
            turn.row()
        })
        .map(drop)
    }

    fn append_entry(&self, new: NewEntry, lane: &str) -> Result<Entry> {
        self.write(|turn| turn.entry(&new, lane))
            .map(Row::into_entry)
    }

    fn append_record(&self, new: NewRecord) -> Result<Entry> {
        self.write(|turn| turn.record(&new)).map(Row::into_entry)
    }

    fn entry(&self, id: &str) -> Result<Option<Entry>> {
        self.rows()?.find(Class::Entry, id)
    }

    fn find_entries(&self, query: &EntryQuery) -> Result<Vec<Entry>> {
        query.check()?;
        let found = self.rows()?.scan(&wanted(query))?;
        Ok(found.into_iter().map(|(_, entry)| entry).collect())
    }

    fn find_entries_on_branch(
        &self,
        query: &EntryQuery,
        bounds: &BranchBounds,
    ) -> Result<Vec<Entry>> {
        query.check()?;
        let rows = self.rows()?;
        let start = rows.standing(&bounds.start)?;
        let start = start.ok_or_else(|| unknown_entry(&bounds.start))?;
        rows.walk(
            start,
            &Walk {
                filter: wanted(query),
                stop_at_kind: bounds.stop_at_kind.as_deref(),
                stop_at_id: bounds.stop_at_id.as_deref(),
                floor: None,
            },
        )
    }

    fn find_records(&self, query: &RecordQuery) -> Result<Vec<Entry>> {
        query.check()?;
        let found = self.rows()?.scan(&Filter {
            class: Some(Class::Record),
            kind: query.kind.as_deref(),
            lane: query.lane.as_deref(),
            run: query.run_id.as_deref(),
            operation: query.operation_kind.as_deref(),
            above: query.after_seq,
            order: query.order,
            limit: query.limit,
            ..Filter::default()
        })?;
        Ok(found.into_iter().map(|(_, record)| record).collect())
    }

    fn find_open_operations(&self, lane: &str, limit: Option<usize>) -> Result<Vec<Entry>> {
        check_limit(limit)?;
        let rows = self.rows()?;
        let head = rows.now()?.head;
        let Ok(lane) = head.lane(lane) else {
            return Ok(Vec::new());
        };
        let latest = lane.open.iter().rev().take(limit.unwrap_or(usize::MAX));
        latest
            .map(|id| rows.find(Class::Record, id)?.ok_or_else(|| lost(id)))
            .collect()
    }

    fn log(&self, after_seq: Option<u64>, limit: Option<usize>) -> Result<Vec<LogItem>> {
        check_limit(limit)?;
        let found = self.rows()?.scan(&Filter {
            above: after_seq,
            order: Order::OldestFirst,
            limit,
            ..Filter::default()
        })?;
        Ok(found.into_iter().map(item).collect())
    }

    fn name(&self) -> Result<Option<String>> {
        Ok(self.rows()?.now()?.totals.name)
    }

    fn set_name(&self, name: Option<&str>) -> Result<()> {
        self.write(|turn| {
            name_line(turn.line, turn.now.head.next()?, name);
            turn.row()
        })
        .map(drop)
    }

    fn label(&self, id: &str) -> Result<Option<String>> {
        self.rows()?.label(id)
    }

    fn set_label(&self, id: &str, label: Option<&str>) -> Result<()> {
        self.write(|turn| {
            turn.check_target(Some(id))?;
            label_line(turn.line, turn.now.head.next()?, id, label);
            turn.row()
        })
        .map(drop)
    }

    fn stats(&self) -> Result<Stats> {
        Ok(self.rows()?.now()?.totals.stats)
    }

    fn snapshot(&self, at: At<'_>) -> Result<Snapshot> {
        snapshot::take(&*self.rows()?, at)
    }

    fn sync(&self) -> Result<()> {
        self.rows()?.sync()
    }

    fn close(&self) -> Result<()> {
        // Waits for the calls that are under way: when it returns the lock is free.
        self.rows.write().take();
        Ok(())
    }
}

/// The filter of a query for entries.
fn wanted(query: &EntryQuery) -> Filter<'_> {
    let (above, below) = match query.order {
        Order::OldestFirst => (query.after_seq, None),
        Order::NewestFirst => (None, query.after_seq),
    };
    Filter {
        class: Some(Class::Entry),
        kind: query.kind.as_deref(),
        custom: query.custom_type.as_deref(),
        above,
        below,
        order: query.order,
        limit: query.limit,
        ..Filter::default()
    }
}

fn item((class, row): (Class, Entry)) -> LogItem {
    let seq = row.seq.unwrap_or(0);
    match class {
        Class::Entry => LogItem::Entry(row),
        Class::Record => LogItem::Record(row),
        Class::Lane => LogItem::Lane {
            seq,
            lane: row.lane.unwrap_or_default(),
            leaf: row.parent,
        },
        Class::Fact => match Row::of(&row.bytes).map(|row| row.effect) {
            Some(Effect::Name(name)) => LogItem::Name { seq, name },
            Some(Effect::Label(label)) => LogItem::Label {
                seq,
                target: row.parent.unwrap_or_default(),
                label,
            },
            _ => LogItem::Other {
                seq,
                kind: row.kind,
            },
        },
    }
}
