//! The writing half of a session: one append after the other under one lock, by the rules that all
//! stores share, and an index that follows them in the background. An answer that has something to
//! catch up with waits for the append under way; nothing else does.

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
use crate::error::{Code, Error, Result};
use crate::format::{Line, interpret, now_nanos};
use crate::json::Document;
use crate::log::{Appender, Tail, judge};
use crate::model::Format;

/// Bytes that are appended before the index follows on its own.
const FOLLOW_BYTES: u64 = 8 << 20;

/// The writing half of a session.
pub(super) struct Writer {
    pub(super) pen: Mutex<Pen>,
    /// Bytes of the log that are acknowledged.
    written: AtomicU64,
    /// The thread that brings the index up to date.
    upkeep: Mutex<Option<JoinHandle<()>>>,
    is_following: AtomicBool,
}

/// What an append needs, under one lock.
pub(super) struct Pen {
    pub(super) log: Output,
    pub(super) format: Format,
    pub(super) durable: bool,
    pub(super) head: Head,
    pub(super) line: Line,
    pub(super) recent: Recent,
    /// The file came to be, or was cut, and is to be indexed anew.
    pub(super) changed: bool,
    /// Appends since the sidecar last followed.
    pub(super) unflushed: u64,
    /// The length of the log when it did.
    pub(super) flushed: u64,
}

/// The ids that were written and are not indexed yet, as hashes: whoever finds one here asks the
/// index once it has caught up. A set is only made of them when somebody looks.
#[derive(Default)]
pub(super) struct Recent {
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
    pub(super) fn add(&mut self, id: &str) {
        self.list.push(self.hasher.hash_one(id));
    }

    pub(super) fn may_have(&mut self, id: &str) -> bool {
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
            disk: options.disk.clone(),
            stranded: false,
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
        let flushed = log.len();
        let written = AtomicU64::new(flushed);
        Ok(Self {
            pen: Mutex::new(Pen {
                log,
                format,
                durable: durability == Durability::Disk,
                head,
                line: Line::default(),
                recent: Recent::default(),
                changed: false,
                unflushed: 0,
                flushed,
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
            only_main: true,
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
        only_main: false,
    })
}

/// A state that was read anew, standing where the session does. In formats without lanes no line
/// says that the session was moved.
fn standing(pen: &Pen, state: State) -> State {
    if pen.format.has_lanes() {
        return state;
    }
    match pen.head.lane("main") {
        Ok(main) => state.standing_on(main.lane.leaf.as_deref()),
        Err(_) => state,
    }
}

impl Pen {
    /// Writes the line that was made, and returns where it starts. All that may be refused was
    /// looked at before, so that what is refused leaves a torn last line too.
    pub(super) fn write(&mut self) -> Result<u64> {
        self.write_at(now_nanos())
    }

    /// The same at a time that was just asked for, in nanoseconds since 1970.
    pub(super) fn write_at(&mut self, now: u64) -> Result<u64> {
        self.changed |= self.log.mend_tail()?;
        let (start, appeared) = self.log.append(self.line.bytes(), self.durable, now)?;
        self.unflushed += 1;
        self.changed |= appeared;
        Ok(start)
    }

    pub(super) fn stored(&self, new: Stored, nanos: u64, offset: u64) -> Entry {
        Entry {
            id: new.id,
            parent: new.parent,
            kind: new.kind,
            time: i64::try_from(nanos / 1_000_000).ok(),
            lane: new.lane,
            seq: Some(self.head.seq),
            offset: Some(offset),
            bytes: self.line.object().to_vec(),
        }
    }
}

/// What an entry or a record that was just written says.
pub(super) struct Stored {
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) parent: Option<String>,
    pub(super) lane: Option<String>,
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
    pub(super) fn write<T>(self: &Arc<Self>, run: impl FnOnce(&mut Pen) -> Result<T>) -> Result<T> {
        let writer = self.writer()?;
        let mut pen = writer.pen.lock();
        self.check_open()?;
        let result = run(&mut pen).map_err(|error| error.at_path(&self.path));
        if std::mem::take(&mut pen.changed) {
            // The index of before is of bytes that are gone, or of a file that was not there.
            let _turn = self.renewing.lock();
            match State::open_to(&self.path, &self.options, pen.log.len()) {
                Ok(state) => *self.state.write() = Arc::new(standing(&pen, state)),
                // The line is written all the same; the next write tries again.
                Err(_) => pen.changed = true,
            }
        }
        writer.written.store(pen.log.len(), Ordering::Release);
        pen.log.ended(now_nanos());
        let behind = pen.log.len().saturating_sub(pen.flushed);
        let is_time =
            pen.unflushed >= FOLLOW_SLOTS.max(pen.head.seq / 32) || behind >= FOLLOW_BYTES;
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
            self.take_in_pending(&pen)?;
            len
        };
        self.grow_to(target)?;
        let mut pen = writer.pen.lock();
        let indexed = self.state().log.len();
        pen.recent.left(indexed);
        Ok(())
    }

    /// Indexes a session that has no file yet, with the pen in hand. False if it has one.
    pub(super) fn take_in_pending(&self, pen: &Pen) -> Result<bool> {
        let Some(state) = pen.log.pending_state(&self.options) else {
            return Ok(false);
        };
        let _turn = self.renewing.lock();
        *self.state.write() = Arc::new(standing(pen, state?));
        Ok(true)
    }

    /// Indexes the log up to a length that it has. Who holds the pen may call this; nobody waits
    /// for the pen while it runs.
    pub(super) fn grow_to(&self, len: u64) -> Result<()> {
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
        if let Some(writer) = &self.writer {
            let mut pen = writer.pen.lock();
            pen.unflushed = 0;
            pen.flushed = pen.log.len();
        }
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
        let mut pen = writer.pen.lock();
        // Who waited for the pen may have waited for the end.
        self.check_open()?;
        pen.log.sync()?;
        drop(pen);
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
}
