//! The writing half of a session: one append after the other under one lock, by the rules that all
//! stores share, and an index that follows them in the background. Readers of the same session
//! never wait for an append, only for the index to catch up with it.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use ahash::{AHashSet, RandomState};
use parking_lot::Mutex;

use super::output::{Claim, Output};
use super::rules::{self, Head, OpenLane};
use super::session::Inner;
use super::state::{FOLLOW_SLOTS, State};
use super::{Durability, Entry, OpenOptions};
use crate::contract::{NewEntry, NewRecord};
use crate::error::{Code, Error, Result};
use crate::format::{
    Envelope, Line, entry_line, hex_id, interpret, is_hex_id, label_line, lane_line, name_line,
    now_nanos, record_line, uuid_v7,
};
use crate::index::Class;
use crate::json::Document;
use crate::log::{Appender, Tail, judge};
use crate::model::Format;

/// Bytes that are appended before the index follows on its own.
const FOLLOW_BYTES: u64 = 8 << 20;

/// The writing half of a session.
pub(super) struct Writer {
    pen: Mutex<Pen>,
    /// Bytes of the log that are acknowledged.
    written: AtomicU64,
    /// The thread that brings the index up to date.
    upkeep: Mutex<Option<JoinHandle<()>>>,
    is_following: AtomicBool,
}

/// What an append needs, under one lock.
struct Pen {
    log: Output,
    format: Format,
    durable: bool,
    head: Head,
    line: Line,
    recent: Recent,
    /// The file came to be, or its torn last line was cut off: what is indexed is another log.
    is_other: bool,
    /// Appends since the index last followed.
    unindexed: u64,
    /// Where the index was when it last followed.
    indexed: u64,
}

/// The ids that were written and are not indexed yet, as hashes: whoever finds one here asks the
/// index once it has caught up. A set is only made of them when somebody looks.
#[derive(Default)]
struct Recent {
    hasher: RandomState,
    list: Vec<u64>,
    /// Those of the list up to `in_set`, and those that the index is about to take in.
    set: AHashSet<u64>,
    in_set: usize,
    /// The index is about to take in so many of the list.
    leaving: usize,
    /// The length of the log up to which those stand.
    leaving_to: u64,
}

impl Recent {
    fn add(&mut self, id: &str) {
        self.list.push(self.hasher.hash_one(id));
    }

    fn may_have(&mut self, id: &str) -> bool {
        let new = self.list.get(self.in_set..).unwrap_or_default();
        self.set.extend(new);
        self.in_set = self.list.len();
        self.set.contains(&self.hasher.hash_one(id))
    }

    /// The index takes in all that there are, up to a length of the log.
    fn leave(&mut self, log_len: u64) {
        self.leaving = self.list.len();
        self.leaving_to = log_len;
    }

    /// Forgets those that the index has taken in, if it has come so far.
    fn left(&mut self, indexed: u64) {
        if indexed >= self.leaving_to {
            self.list.drain(..self.leaving.min(self.list.len()));
            self.leaving = 0;
            self.set = AHashSet::new();
            self.in_set = 0;
        }
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("written", &self.written)
            .finish_non_exhaustive()
    }
}

impl Writer {
    /// The writing half of a session whose log was locked before its state was read.
    pub(super) fn start(mut log: Appender, state: &State, durability: Durability) -> Result<Self> {
        let format = state.index.format;
        if matches!(format, Format::PiV1 | Format::PiV2) {
            return Err(Error::new(
                Code::Unsupported,
                format!(
                    "a {format} session is read only; `leaflog convert FILE --to pi-v4 -o OUT` makes one that can be written"
                ),
            )
            .at_path(state.log.path()));
        }
        if let Some(tail) = tail_of(state)? {
            log.set_tail(tail);
        }
        Self::of(Output::File(log), state, durability)
    }

    /// The writing half of a new session, whose file appears with its first message.
    pub(super) fn pending(
        path: &Path,
        header: &[u8],
        options: &OpenOptions,
        claim: Claim,
    ) -> Result<(Self, State)> {
        let mut output = Output::Pending {
            path: path.to_owned(),
            format: Format::PiV3,
            bytes: header.to_vec(),
            claim,
        };
        let state = output
            .pending_state(options)
            .unwrap_or_else(|| State::open(path, options, None))?;
        if let Output::Pending { format, .. } = &mut output {
            *format = state.index.format;
        }
        Ok((Self::of(output, &state, options.durability)?, state))
    }

    fn of(log: Output, state: &State, durability: Durability) -> Result<Self> {
        let format = state.index.format;
        let head = head_of(state)?;
        let indexed = log.len();
        let written = AtomicU64::new(indexed);
        Ok(Self {
            pen: Mutex::new(Pen {
                log,
                format,
                durable: durability == Durability::Disk,
                head,
                line: Line::default(),
                recent: Recent::default(),
                is_other: false,
                unindexed: 0,
                indexed,
            }),
            written,
            upkeep: Mutex::new(None),
            is_following: AtomicBool::new(false),
        })
    }
}

/// What is to be done about a last line without a newline.
fn tail_of(state: &State) -> Result<Option<Tail>> {
    let log = &state.log;
    let start = log.last_line_start()?;
    let len = usize::try_from(log.len() - start).unwrap_or(usize::MAX);
    if len == 0 {
        return Ok(None);
    }
    if start == 0 {
        // The header, which was read.
        return Ok(Some(Tail::Whole));
    }
    let Some(line) = log.read(start, len)? else {
        return Ok(None);
    };
    let format = state.index.format;
    let judged = judge(&line, false, |document| {
        interpret(format, document.root(), false).mutation.is_some()
    });
    let is_blank = judged.objects.is_empty() && judged.findings.is_empty();
    Ok(Some(if judged.objects.is_empty() && !is_blank {
        Tail::Torn(start)
    } else {
        Tail::Whole
    }))
}

/// Where a session stands by its index.
fn head_of(state: &State) -> Result<Head> {
    let summary = &state.index.summary;
    if !state.index.format.has_lanes() {
        return Ok(Head {
            seq: u64::from(state.index.slots()),
            lanes: vec![OpenLane::new("main", summary.last_entry.clone())],
        });
    }
    let damaged = || {
        Error::new(
            Code::Storage,
            "the sidecar is damaged; remove it and open the session again",
        )
        .at_path(state.log.path())
    };
    let details = state.index.details().map_err(|_| damaged())?;
    let lanes = summary.lanes.iter().map(|row| {
        let mut lane = OpenLane::new(&row.name, row.leaf.clone());
        lane.open = details.open.get(&row.name).cloned().unwrap_or_default();
        lane
    });
    Ok(Head {
        seq: summary.last_seq,
        lanes: lanes.collect(),
    })
}

impl Pen {
    /// Writes the line that was made, and returns where it starts. All that may be refused was
    /// looked at before, so that what is refused leaves a torn last line too.
    fn write(&mut self) -> Result<u64> {
        self.is_other |= self.log.mend_tail()?;
        let (start, appeared) = self.log.append(self.line.bytes(), self.durable)?;
        self.unindexed += 1;
        self.is_other |= appeared;
        Ok(start)
    }

    fn stored(&self, id: &str, new: Stored<'_>, nanos: u64, offset: u64) -> Entry {
        Entry {
            id: id.to_owned(),
            parent: new.parent,
            kind: new.kind.to_owned(),
            time: i64::try_from(nanos / 1_000_000).ok(),
            lane: new.lane,
            seq: Some(self.head.seq),
            offset: Some(offset),
            bytes: self.line.object().to_vec(),
        }
    }
}

/// What an entry or a record that was just written says beside its id.
struct Stored<'s> {
    kind: &'s str,
    parent: Option<String>,
    lane: Option<String>,
}

impl Inner {
    /// The writing half, if the session was opened for writing and is still open.
    fn writer(&self) -> Result<&Writer> {
        self.check_open()?;
        self.writer
            .as_ref()
            .ok_or_else(|| rules::read_only().at_path(&self.path))
    }

    /// Runs one write with the pen in hand, and has the index follow if it is time.
    fn write<T>(self: &Arc<Self>, run: impl FnOnce(&mut Pen) -> Result<T>) -> Result<T> {
        let writer = self.writer()?;
        let mut pen = writer.pen.lock();
        self.check_open()?;
        let result = run(&mut pen).map_err(|error| error.at_path(&self.path));
        if std::mem::take(&mut pen.is_other) {
            pen.indexed = pen.log.len();
            let _turn = self.renewing.lock();
            let state = State::open(&self.path, &self.options, None)?;
            *self.state.write() = Arc::new(state);
        }
        writer.written.store(pen.log.len(), Ordering::Release);
        let behind = pen.log.len().saturating_sub(pen.indexed);
        let is_time =
            pen.unindexed >= FOLLOW_SLOTS.max(pen.head.seq / 32) || behind >= FOLLOW_BYTES;
        drop(pen);
        if is_time && !writer.is_following.swap(true, Ordering::AcqRel) {
            self.follow(writer);
        }
        result
    }

    /// Brings the index up to date in a thread of its own.
    fn follow(self: &Arc<Self>, writer: &Writer) {
        let mut upkeep = writer.upkeep.lock();
        if self.closed.load(Ordering::Acquire) {
            // Nobody would wait for the thread: the sidecar would change behind the end.
            writer.is_following.store(false, Ordering::Release);
            return;
        }
        let inner = Arc::clone(self);
        let thread = std::thread::Builder::new()
            .name("leaflog-index".to_owned())
            .spawn(move || {
                // What fails here is met again, and told, by the next one who asks the index.
                let _ = inner.flush();
                if let Some(writer) = &inner.writer {
                    writer.is_following.store(false, Ordering::Release);
                }
            });
        match thread {
            // The one before is done: it said so.
            Ok(thread) => *upkeep = Some(thread),
            Err(_) => writer.is_following.store(false, Ordering::Release),
        }
    }

    /// Has the index take in what this session wrote.
    pub(super) fn catch_up(&self) -> Result<()> {
        let Some(writer) = &self.writer else {
            return Ok(());
        };
        if self.state().log.len() >= writer.written.load(Ordering::Acquire) {
            return Ok(());
        }
        let target = {
            let mut pen = writer.pen.lock();
            let len = pen.log.len();
            pen.recent.leave(len);
            pen.unindexed = 0;
            pen.indexed = len;
            if let Some(state) = pen.log.pending_state(&self.options) {
                let _turn = self.renewing.lock();
                *self.state.write() = Arc::new(state?);
            }
            len
        };
        self.grow_to(target)?;
        let mut pen = writer.pen.lock();
        let indexed = self.state().log.len();
        pen.recent.left(indexed);
        Ok(())
    }

    /// Indexes the log up to a length that it has. Who holds the pen may call this; nobody waits
    /// for the pen while it runs.
    fn grow_to(&self, len: u64) -> Result<()> {
        let _turn = self.renewing.lock();
        let state = self.state();
        if state.log.len() < len {
            let state = state.grown(len, &self.options);
            *self.state.write() = Arc::new(state.map_err(|error| error.at_path(&self.path))?);
        }
        Ok(())
    }

    /// Brings index and sidecar up to date.
    fn flush(&self) -> Result<()> {
        self.catch_up()?;
        let _turn = self.renewing.lock();
        let state = self.state();
        if state.is_ahead()
            && let Some(written) = state.written(&self.path, &self.options)
        {
            *self.state.write() = Arc::new(written);
        }
        Ok(())
    }

    /// All that was acknowledged is on the disk, and the index up to date.
    pub(super) fn sync(&self) -> Result<()> {
        let writer = self.writer()?;
        writer.pen.lock().log.sync()?;
        self.flush()
    }

    /// Ends the session.
    pub(super) fn close(&self) -> Result<()> {
        let Some(writer) = &self.writer else {
            self.closed.store(true, Ordering::Release);
            return Ok(());
        };
        if self.closed.load(Ordering::Acquire) {
            return Ok(());
        }
        // No append is under way behind this.
        let pen = writer.pen.lock();
        let was_closed = self.closed.swap(true, Ordering::AcqRel);
        drop(pen);
        if was_closed {
            return Ok(());
        }
        let upkeep = writer.upkeep.lock().take();
        if let Some(thread) = upkeep {
            // A thread that ended badly left the index behind; it is brought up to date here.
            let _ = thread.join();
        }
        let flushed = self.flush();
        let unlocked = writer.pen.lock().log.unlock();
        flushed.and(unlocked)
    }

    pub(super) fn append_entry(self: &Arc<Self>, new: &NewEntry, lane: &str) -> Result<Entry> {
        self.write(|pen| {
            let format = pen.format;
            // The fields are looked at first, wherever the entry is to go.
            let parent = pen.head.lane(lane).ok();
            let parent = parent.and_then(|open| open.lane.leaf.clone());
            let id = match (&new.id, format) {
                (None, Format::PiV4) => uuid_v7(),
                (None, _) => self.unused_hex_id(pen)?,
                (Some(id), _) => {
                    if format != Format::PiV4 && !is_hex_id(id) {
                        return Err(Error::new(
                            Code::Unsupported,
                            format!("an id in {format} is 8 lower-case hexadecimal digits, found `{id}`; leave it out to get one"),
                        ));
                    }
                    id.clone()
                }
            };
            let nanos = now_nanos();
            let envelope = Envelope {
                id: &id,
                parent: parent.as_deref(),
                lane,
                seq: pen.head.next(),
                nanos,
            };
            entry_line(&mut pen.line, format, new, &envelope)?;
            pen.head.lane(lane)?;
            if new.id.is_some() {
                self.check_unused(pen, &id)?;
                if self.ask(|source| Ok(source.index.lacks(&id)?))? {
                    return Err(rules::awaited(&id));
                }
            }
            self.check_targets(pen, new)?;
            let offset = pen.write()?;
            pen.head.wrote_entry(lane, &id);
            pen.recent.add(&id);
            let lane = format.has_lanes().then(|| lane.to_owned());
            let kind = &new.kind;
            Ok(pen.stored(&id, Stored { kind, parent, lane }, nanos, offset))
        })
    }

    pub(super) fn append_record(self: &Arc<Self>, new: &NewRecord) -> Result<Entry> {
        self.write(|pen| {
            if !pen.format.has_lanes() {
                return Err(rules::cannot_hold(pen.format, "execution records"));
            }
            let id = new.id.clone().unwrap_or_else(uuid_v7);
            let nanos = now_nanos();
            let envelope = Envelope {
                id: &id,
                parent: None,
                lane: &new.lane,
                seq: pen.head.next(),
                nanos,
            };
            let (step, run) = record_line(&mut pen.line, new, &envelope)?;
            pen.head.lane(&new.lane)?;
            if new.id.is_some() {
                self.check_unused(pen, &id)?;
            }
            pen.head.check_step(&new.lane, &step)?;
            let offset = pen.write()?;
            pen.head.wrote_record(&new.lane, &id, step);
            pen.recent.add(&id);
            let stored = Stored {
                kind: &new.kind,
                parent: run,
                lane: Some(new.lane.clone()),
            };
            Ok(pen.stored(&id, stored, nanos, offset))
        })
    }

    pub(super) fn create_lane(self: &Arc<Self>, name: &str, at: Option<&str>) -> Result<()> {
        self.write(|pen| {
            if !pen.format.has_lanes() {
                return Err(rules::cannot_hold(pen.format, "lanes beside `main`"));
            }
            pen.head.check_new_lane(name)?;
            self.check_entry(pen, at)?;
            lane_line(&mut pen.line, pen.head.next(), name, at);
            pen.write()?;
            pen.head.wrote_lane(name, at);
            Ok(())
        })
    }

    pub(super) fn move_lane(self: &Arc<Self>, name: &str, to: Option<&str>) -> Result<()> {
        self.write(|pen| {
            pen.head.lane(name)?;
            self.check_entry(pen, to)?;
            if !pen.format.has_lanes() {
                // Nothing in the file says where the leaf is; the next entry will.
                let to = to.or((pen.format == Format::CodebotV3).then_some("h0"));
                pen.head.stand_on(name, to);
                // Answers stand there too, until the next entry.
                self.settle(pen)?;
                let _turn = self.renewing.lock();
                let state = self.state().standing_on(to, &self.options)?;
                *self.state.write() = Arc::new(state);
                return Ok(());
            }
            lane_line(&mut pen.line, pen.head.next(), name, to);
            pen.write()?;
            pen.head.wrote_lane(name, to);
            Ok(())
        })
    }

    /// Names a pi v4 session.
    pub(super) fn write_name(self: &Arc<Self>, name: Option<&str>) -> Result<()> {
        self.write(|pen| {
            name_line(&mut pen.line, pen.head.next(), name);
            pen.write()?;
            pen.head.wrote_fact();
            Ok(())
        })
    }

    /// Labels an entry of a pi v4 session.
    pub(super) fn write_label(self: &Arc<Self>, id: &str, label: Option<&str>) -> Result<()> {
        self.write(|pen| {
            self.check_entry(pen, Some(id))?;
            label_line(&mut pen.line, pen.head.next(), id, label);
            pen.write()?;
            pen.head.wrote_fact();
            Ok(())
        })
    }

    /// Where a session that is open for writing stands; none if it is open for reading.
    pub(super) fn head(&self) -> Option<Head> {
        let writer = self.writer.as_ref()?;
        Some(writer.pen.lock().head.clone())
    }

    fn check_entry(&self, pen: &mut Pen, id: Option<&str>) -> Result<()> {
        match id {
            Some(id) if !self.has(pen, id, &[Class::Entry])? => Err(rules::unknown_entry(id)),
            _ => Ok(()),
        }
    }

    fn check_unused(&self, pen: &mut Pen, id: &str) -> Result<()> {
        if self.has(pen, id, &[Class::Entry, Class::Record])? {
            return Err(rules::taken(id));
        }
        Ok(())
    }

    /// Checks that the entry that a pi v3 entry speaks of is there.
    fn check_targets(&self, pen: &mut Pen, new: &NewEntry) -> Result<()> {
        if pen.format != Format::PiV3 || !matches!(&*new.kind, "label" | "context_edit") {
            return Ok(());
        }
        let target = crate::format::target_of(pen.line.object());
        self.check_entry(pen, target.as_deref())
    }

    /// Whether an entry or a record has an id.
    fn has(&self, pen: &mut Pen, id: &str, classes: &[Class]) -> Result<bool> {
        if pen.recent.may_have(id) {
            self.settle(pen)?;
        }
        self.ask(|source| {
            for &class in classes {
                if source.index.slot_of(source.log, id, class)?.is_some() {
                    return Ok(true);
                }
            }
            Ok(false)
        })
    }

    /// Has the index take in all that was written, with the pen in hand.
    fn settle(&self, pen: &Pen) -> Result<()> {
        match pen.log.pending_state(&self.options) {
            Some(state) => {
                let _turn = self.renewing.lock();
                *self.state.write() = Arc::new(state?);
                Ok(())
            }
            None => self.grow_to(pen.log.len()),
        }
    }

    fn unused_hex_id(&self, pen: &mut Pen) -> Result<String> {
        loop {
            let id = hex_id();
            if !self.has(pen, &id, &[Class::Entry])?
                && !self.ask(|source| Ok(source.index.lacks(&id)?))?
            {
                return Ok(id);
            }
        }
    }
}
