//! The model with one thing wrong: what a suite must notice.

use leaflog::conformance::{Capabilities, Factory, Fixture, Model, ModelFactory};
use leaflog::{
    At, BranchBounds, Code, CreateOptions, EntryQuery, ForkScope, Lane, Listing, LogItem, Metadata,
    NewEntry, NewRecord, Order, RecordQuery, Result, SessionRepository, SessionStorage, Snapshot,
    Stats, pi,
};

type Entry = leaflog::Entry;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// A lane says that it stands where it stood before.
    LeafForgotten,
    /// An entry on another lane is put on `main`.
    LaneIgnored,
    /// An id in use is replaced by another one.
    DuplicateAccepted,
    /// Labels stay when they are cleared.
    LabelClearingIgnored,
    /// A fork loses the name.
    NameLostInForks,
    /// Oldest first is newest first.
    WrongOrder,
    /// A cursor gives its own entry again.
    CursorInclusive,
    /// The entry that stops a branch is left out.
    BoundExclusive,
    /// Limits of 0 give nothing.
    EmptyLimitAccepted,
    /// The limit is ignored.
    LimitIgnored,
    /// A refused entry leaves something behind.
    FailedCallWrites,
    /// An operation stays open.
    FinishIgnored,
    /// Another operation may start.
    SecondStartAccepted,
    /// Every snapshot is one of `main`.
    SnapshotOfMain,
    /// Costs are rounded.
    StatsRounded,
    /// A closed session still answers.
    CloseIgnored,
    /// A fork changes its source.
    ForkWritesToSource,
    /// A fork at any entry is allowed.
    ForkOfAnything,
    /// Deleting does nothing.
    DeleteIgnored,
    /// The latest comes last.
    ListTurned,
    /// A reader does not see the last thing.
    ReaderIsBehind,
    /// The name is gone when it is opened again.
    ReopenedNameless,
}

impl Fault {
    pub const ALL: [Self; 22] = [
        Self::LeafForgotten,
        Self::LaneIgnored,
        Self::DuplicateAccepted,
        Self::LabelClearingIgnored,
        Self::NameLostInForks,
        Self::WrongOrder,
        Self::CursorInclusive,
        Self::BoundExclusive,
        Self::EmptyLimitAccepted,
        Self::LimitIgnored,
        Self::FailedCallWrites,
        Self::FinishIgnored,
        Self::SecondStartAccepted,
        Self::SnapshotOfMain,
        Self::StatsRounded,
        Self::CloseIgnored,
        Self::ForkWritesToSource,
        Self::ForkOfAnything,
        Self::DeleteIgnored,
        Self::ListTurned,
        Self::ReaderIsBehind,
        Self::ReopenedNameless,
    ];
}

pub struct BrokenFactory(pub Fault);

impl Factory for BrokenFactory {
    fn capabilities(&self) -> Capabilities {
        ModelFactory::default().capabilities()
    }

    fn fixture(&self) -> Result<Box<dyn Fixture>> {
        Ok(Box::new(Broken {
            model: Model::default(),
            fault: self.0,
        }))
    }
}

#[derive(Clone)]
struct Broken {
    model: Model,
    fault: Fault,
}

impl Fixture for Broken {
    fn repository(&self) -> Result<Box<dyn SessionRepository>> {
        Ok(Box::new(self.clone()))
    }
}

impl Broken {
    fn wrap(
        &self,
        inner: Box<dyn SessionStorage>,
        reader: bool,
        reopened: bool,
    ) -> Box<dyn SessionStorage> {
        Box::new(BrokenSession {
            inner,
            fault: self.fault,
            reader,
            reopened,
        })
    }
}

impl SessionRepository for Broken {
    fn create(&self, options: &CreateOptions) -> Result<Box<dyn SessionStorage>> {
        Ok(self.wrap(self.model.create(options)?, false, false))
    }

    fn open(&self, id: &str) -> Result<Box<dyn SessionStorage>> {
        Ok(self.wrap(self.model.open(id)?, false, true))
    }

    fn open_read_only(&self, id: &str) -> Result<Box<dyn SessionStorage>> {
        Ok(self.wrap(self.model.open_read_only(id)?, true, false))
    }

    fn most_recent(&self) -> Result<Option<Box<dyn SessionStorage>>> {
        let session = self.model.most_recent()?;
        Ok(session.map(|session| self.wrap(session, false, true)))
    }

    fn list(&self) -> Result<Listing> {
        let mut listing = self.model.list()?;
        if self.fault == Fault::ListTurned {
            listing.sessions.reverse();
        }
        Ok(listing)
    }

    fn fork(
        &self,
        source: &str,
        scope: &ForkScope,
        options: &CreateOptions,
    ) -> Result<Box<dyn SessionStorage>> {
        let mut fork = self.model.fork(source, scope, options);
        if self.fault == Fault::ForkOfAnything && fork.is_err() {
            fork = self.model.fork(source, &ForkScope::Tree, options);
        }
        let fork = fork?;
        if self.fault == Fault::NameLostInForks {
            fork.set_name(None)?;
        }
        if self.fault == Fault::ForkWritesToSource
            && let Ok(writer) = self.model.open(source)
        {
            writer.set_name(Some("forked"))?;
        }
        Ok(self.wrap(fork, false, false))
    }

    fn delete(&self, id: &str) -> Result<()> {
        if self.fault == Fault::DeleteIgnored {
            return Ok(());
        }
        self.model.delete(id)
    }
}

struct BrokenSession {
    inner: Box<dyn SessionStorage>,
    fault: Fault,
    reader: bool,
    reopened: bool,
}

impl BrokenSession {
    fn query(&self, query: &EntryQuery) -> EntryQuery {
        let mut query = query.clone();
        match self.fault {
            Fault::WrongOrder => query.order = Order::NewestFirst,
            Fault::LimitIgnored => query.limit = query.limit.filter(|limit| *limit == 0),
            Fault::EmptyLimitAccepted => query.limit = query.limit.filter(|limit| *limit > 0),
            Fault::CursorInclusive => {
                query.after_seq = match query.order {
                    Order::NewestFirst => query.after_seq.map(|after| after.saturating_add(1)),
                    Order::OldestFirst => query.after_seq.map(|after| after.saturating_sub(1)),
                }
            }
            _ => {}
        }
        query
    }
}

impl SessionStorage for BrokenSession {
    fn metadata(&self) -> Result<Metadata> {
        self.inner.metadata()
    }

    fn lanes(&self) -> Result<Vec<Lane>> {
        let mut lanes = self.inner.lanes()?;
        if self.fault == Fault::LeafForgotten {
            for lane in &mut lanes {
                let Some(leaf) = &lane.leaf else { continue };
                lane.leaf = self.inner.entry(leaf)?.and_then(|entry| entry.parent);
            }
        }
        Ok(lanes)
    }

    fn create_lane(&self, name: &str, at: Option<&str>) -> Result<()> {
        self.inner.create_lane(name, at)
    }

    fn move_lane(&self, name: &str, to: Option<&str>) -> Result<()> {
        self.inner.move_lane(name, to)
    }

    fn append_entry(&self, new: NewEntry, lane: &str) -> Result<Entry> {
        let lane = match self.inner.lanes() {
            Ok(lanes) if lanes.iter().any(|known| known.name == lane) => match self.fault {
                Fault::LaneIgnored => "main",
                _ => lane,
            },
            _ => lane,
        };
        let result = self.inner.append_entry(new.clone(), lane);
        match (&result, self.fault) {
            (Err(error), Fault::DuplicateAccepted) if error.code() == Code::AlreadyExists => self
                .inner
                .append_entry(NewEntry::new(new.kind(), new.fields()), lane),
            (Err(_), Fault::FailedCallWrites) if !self.reader => {
                let _ = self
                    .inner
                    .append_entry(pi::custom("left behind", None), "main");
                result
            }
            _ => result,
        }
    }

    fn append_record(&self, new: NewRecord) -> Result<Entry> {
        let finishes = new.kind() == "operation_finished";
        let new = match self.fault {
            Fault::FinishIgnored if finishes && new.fields().contains("\"runId\":\"") => {
                let fields = new.fields().replace("\"runId\":\"", "\"runId\":\"not ");
                let id = new.id().map(str::to_owned);
                let other = NewRecord::new(new.kind(), new.lane(), fields);
                match id {
                    Some(id) => other.with_id(id),
                    None => other,
                }
            }
            _ => new,
        };
        let result = self.inner.append_record(new.clone());
        match &result {
            Err(error)
                if self.fault == Fault::SecondStartAccepted && error.code() == Code::Storage =>
            {
                let open = self.inner.find_open_operations(new.lane(), None)?;
                for open in open {
                    let finish = pi::operation_finished(new.lane(), &open.id, "completed", None);
                    self.inner.append_record(finish)?;
                }
                self.inner.append_record(new)
            }
            _ => result,
        }
    }

    fn entry(&self, id: &str) -> Result<Option<Entry>> {
        self.inner.entry(id)
    }

    fn find_entries(&self, query: &EntryQuery) -> Result<Vec<Entry>> {
        self.inner.find_entries(&self.query(query))
    }

    fn find_entries_on_branch(
        &self,
        query: &EntryQuery,
        bounds: &BranchBounds,
    ) -> Result<Vec<Entry>> {
        let mut found = self
            .inner
            .find_entries_on_branch(&self.query(query), bounds)?;
        if self.fault == Fault::BoundExclusive {
            let stops = |entry: &Entry| {
                bounds.stop_at_id.as_ref() == Some(&entry.id)
                    || bounds.stop_at_kind.as_ref() == Some(&entry.kind)
            };
            found.retain(|entry| !stops(entry));
        }
        Ok(found)
    }

    fn find_records(&self, query: &RecordQuery) -> Result<Vec<Entry>> {
        let mut query = query.clone();
        if self.fault == Fault::WrongOrder {
            query.order = Order::NewestFirst;
        }
        self.inner.find_records(&query)
    }

    fn find_open_operations(&self, lane: &str, limit: Option<usize>) -> Result<Vec<Entry>> {
        self.inner.find_open_operations(lane, limit)
    }

    fn log(&self, after_seq: Option<u64>, limit: Option<usize>) -> Result<Vec<LogItem>> {
        let mut log = self.inner.log(after_seq, limit)?;
        if self.fault == Fault::ReaderIsBehind && self.reader {
            log.pop();
        }
        Ok(log)
    }

    fn name(&self) -> Result<Option<String>> {
        if self.fault == Fault::ReopenedNameless && self.reopened {
            return Ok(None);
        }
        self.inner.name()
    }

    fn set_name(&self, name: Option<&str>) -> Result<()> {
        self.inner.set_name(name)
    }

    fn label(&self, id: &str) -> Result<Option<String>> {
        self.inner.label(id)
    }

    fn set_label(&self, id: &str, label: Option<&str>) -> Result<()> {
        if self.fault == Fault::LabelClearingIgnored
            && label.is_none()
            && let Some(kept) = self.inner.label(id)?
        {
            return self.inner.set_label(id, Some(&kept));
        }
        self.inner.set_label(id, label)
    }

    fn stats(&self) -> Result<Stats> {
        let mut stats = self.inner.stats()?;
        if self.fault == Fault::StatsRounded {
            stats.cost_total = stats.cost_total.ceil();
        }
        Ok(stats)
    }

    fn snapshot(&self, at: At<'_>) -> Result<Snapshot> {
        if self.fault == Fault::SnapshotOfMain && self.inner.snapshot(at).is_ok() {
            return self.inner.snapshot(At::Lane("main"));
        }
        self.inner.snapshot(at)
    }

    fn sync(&self) -> Result<()> {
        self.inner.sync()
    }

    fn close(&self) -> Result<()> {
        if self.fault == Fault::CloseIgnored {
            return Ok(());
        }
        self.inner.close()
    }
}
