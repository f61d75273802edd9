//! A new session out of a part of another one, at about the speed of copying its bytes: lines keep
//! theirs, only what must change is spliced. Reads the source through its index; never writes it.

mod codebot;
mod pi_v3;
mod pi_v4;
mod plan;
mod splice;

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;

pub(super) use splice::{Splices, exact};

use super::Session;
use super::publish::{Out, give_back, publish_held};
use crate::contract::{CreateOptions, ForkScope};
use crate::error::{Code, Error, Result};
use crate::format::{hex_id, now_nanos, uuid_v7};
use crate::index::{Answer, Slot, Trouble};
use crate::model::Format;
use crate::snapshot::Source;

/// What a fork wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Forked {
    /// The id of the new session.
    pub session_id: String,
    /// Entries that were copied.
    pub entries: u64,
    /// Bytes of the new log.
    pub bytes: u64,
}

/// What a fork is to be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'w> {
    pub(super) scope: &'w ForkScope,
    /// Working directory, parent and metadata of the new session; the parent is the source if none
    /// is named, the working directory that of the source if it is empty.
    pub(super) options: &'w CreateOptions,
    pub(super) id: &'w str,
    /// Nanoseconds since 1970.
    pub(super) nanos: u64,
    /// Whether a broken path is cut at its break.
    pub(super) salvage: bool,
}

impl Session {
    /// Writes a part of the session into a new file, as a session of its own and of the same
    /// format. An empty working directory in the options stands for that of this session; the parent is
    /// this session unless the options name one.
    ///
    /// This session stays as it is. The file appears whole or not at all.
    ///
    /// ```
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let (path, target) = (folder.path().join("s.jsonl"), folder.path().join("fork.jsonl"));
    /// # std::fs::write(&path, concat!(
    /// #   "{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"timestamp\":\"2026-07-14T09:00:00Z\",\"cwd\":\"/\"}\n",
    /// #   "{\"type\":\"message\",\"id\":\"00000001\",\"parentId\":null,\"timestamp\":\"2026-07-14T09:00:01Z\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n")).unwrap();
    /// use leaflog::{At, CreateOptions, ForkScope, Session};
    ///
    /// let session = Session::open(&path)?;
    /// let forked = session.fork_to(&target, &ForkScope::at("00000001"), &CreateOptions::default())?;
    /// assert_eq!(forked.entries, 1);
    /// let fork = Session::open(&target)?;
    /// assert_eq!(fork.snapshot(At::Current)?.messages, session.snapshot(At::Current)?.messages);
    /// # Ok::<(), leaflog::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `already_exists` if there is such a file, `invalid_fork_target` if the entry is unknown or no
    /// message, `invalid_entry` if what is to be copied has a broken path, `invalid_payload` for an id
    /// that cannot name a session, `unsupported` for pi v1 and v2 and for another format than the
    /// source's, `storage`.
    pub fn fork_to(
        &self,
        target: impl AsRef<Path>,
        scope: &ForkScope,
        options: &CreateOptions,
    ) -> Result<Forked> {
        to_file(self, target.as_ref(), scope, options, false)
    }

    /// As [`fork_to`](Self::fork_to), but a broken path is cut at its break: what would hang in the
    /// air becomes a root.
    ///
    /// # Errors
    ///
    /// As there, less the broken paths.
    pub fn salvage_to(
        &self,
        target: impl AsRef<Path>,
        scope: &ForkScope,
        options: &CreateOptions,
    ) -> Result<Forked> {
        to_file(self, target.as_ref(), scope, options, true)
    }
}

fn to_file(
    source: &Session,
    target: &Path,
    scope: &ForkScope,
    options: &CreateOptions,
    salvage: bool,
) -> Result<Forked> {
    let nanos = now_nanos();
    let id = new_id(source.format(), options)?;
    let wanted = Wanted {
        scope,
        options,
        id: &id,
        nanos,
        salvage,
    };
    let (forked, file) = fork(source, target, wanted, || Ok(()))?;
    give_back(&file);
    Ok(forked)
}

/// The id that is asked for, or a new one of the format's kind.
pub(super) fn new_id(format: Format, options: &CreateOptions) -> Result<String> {
    match &options.id {
        Some(id) => super::rules::check_session_id(id).map(|()| id.clone()),
        None if format == Format::CodebotV3 => Ok(hex_id()),
        None => Ok(uuid_v7()),
    }
}

/// Writes a fork; `claim` and what comes back as in [`publish_held`].
pub(super) fn fork<G>(
    source: &Session,
    target: &Path,
    wanted: Wanted<'_>,
    claim: impl Fn() -> Result<G>,
) -> Result<(Forked, File)> {
    let format = source.format();
    if wanted.options.format.is_some_and(|other| other != format) {
        return Err(Error::new(
            Code::Unsupported,
            format!(
                "a fork keeps the format of its source, {format}; `convert` makes a session of another"
            ),
        ));
    }
    let disk = &source.inner.options.disk;
    source.answer(|source| publish_held(disk, target, |out| write(source, wanted, out), &claim))
}

fn write(source: Source<'_>, wanted: Wanted<'_>, out: &mut Out) -> Answer<Forked> {
    let mut options = wanted.options.clone();
    if options.cwd.is_empty() {
        options.cwd = source.index.summary.cwd.clone().unwrap_or_default();
    }
    let entries = match source.index.format {
        Format::PiV4 => pi_v4::write(source, wanted, options, out)?,
        Format::PiV3 => pi_v3::write(source, wanted, options, out)?,
        Format::CodebotV3 => codebot::write(source, wanted, options, out)?,
        format => {
            return Err(Error::new(
                Code::Unsupported,
                format!("{format} sessions are only read; `convert` makes a pi-v4 session, which can be forked"),
            )
            .into());
        }
    };
    Ok(Forked {
        session_id: wanted.id.to_owned(),
        entries,
        bytes: out.bytes(),
    })
}

/// All entries that count, each behind its parent, and whether it becomes a root: for pi v1 to v3,
/// where that happens on cycles only. Those are an error, unless salvage was asked for.
pub(super) fn tree_pieces(source: Source<'_>, salvage: bool) -> Answer<Vec<(Slot, bool)>> {
    let mut pieces = plan::tree(source, salvage)?;
    if source.index.is_irregular() {
        pieces = plan::parents_first(source, &pieces)?;
    }
    Ok(pieces
        .into_iter()
        .map(|piece| (piece.slot, piece.uproot))
        .collect())
}

/// How much of the log is asked for ahead of the entries.
const AHEAD: usize = 1 << 18;
/// A byte that comes in less than this came from memory.
const IN_MEMORY: Duration = Duration::from_micros(20);
/// So much is copied in one go at the most.
const LONGEST_RUN: u64 = 1 << 22;

/// Reads entries in the order that they are copied in, and writes those that do not change together
/// with their neighbours.
struct Copier<'s, 'o> {
    source: Source<'s>,
    out: &'o mut Out,
    scratch: Vec<u8>,
    /// What was asked for ahead.
    ahead: std::ops::Range<u64>,
    /// Whole unchanged lines that were not written yet, without the last newline.
    run: std::ops::Range<u64>,
}

impl<'s, 'o> Copier<'s, 'o> {
    fn new(source: Source<'s>, out: &'o mut Out) -> Self {
        Self {
            source,
            out,
            scratch: Vec::new(),
            ahead: 0..0,
            run: 0..0,
        }
    }

    /// The object of an entry, once its id was found to be right.
    fn object(&mut self, slot: Slot) -> Answer<std::borrow::Cow<'s, [u8]>> {
        Ok(self.placed(slot)?.1)
    }

    /// The same, and where it starts.
    fn placed(&mut self, slot: Slot) -> Answer<(u64, std::borrow::Cow<'s, [u8]>)> {
        let (start, len) = self.source.index.place(slot)?;
        let end = start.saturating_add(len).min(self.source.log.len());
        if !self.ahead.contains(&start) {
            self.ahead = start..start;
        }
        while self.ahead.end < end {
            self.fetch()?;
        }
        Ok((start, self.source.index.object(self.source.log, slot)?))
    }

    /// Has the system fetch the next stretch of the log in one step. A mapped file is read page by page
    /// as it is touched, which takes a disk far longer than reading it in pieces; what is in memory
    /// already, as the time for its first byte tells, needs no reading.
    fn fetch(&mut self) -> Result<()> {
        let log = self.source.log;
        let from = self.ahead.end;
        let left = log.len().saturating_sub(from);
        let step = usize::try_from(left).unwrap_or(AHEAD).min(AHEAD);
        self.ahead.end = from + u64::try_from(step).unwrap_or(0);
        let begun = Instant::now();
        log.fill(&mut [0], from)?;
        if begun.elapsed() < IN_MEMORY {
            return Ok(());
        }
        self.scratch.resize(step, 0);
        log.fill(&mut self.scratch, from)
    }

    /// Copies the line of an entry.
    fn copy(&mut self, slot: Slot) -> Answer<()> {
        // Looks at the object even though its bytes go with the run.
        let (start, object) = self.placed(slot)?;
        let len = u64::try_from(object.len()).unwrap_or(u64::MAX);
        let is_next = self.run.end + 1 == start
            && self.run.end - self.run.start < LONGEST_RUN
            && self.source.log.read(self.run.end, 1)?.as_deref() == Some(b"\n");
        if !is_next || self.run.is_empty() {
            self.flush()?;
            self.run.start = start;
        }
        self.run.end = start + len;
        Ok(())
    }

    /// Writes what was put off.
    fn flush(&mut self) -> Answer<()> {
        if self.run.is_empty() {
            return Ok(());
        }
        let len = usize::try_from(self.run.end - self.run.start).unwrap_or(usize::MAX);
        let bytes = self.source.log.read(self.run.start, len)?;
        self.out.put(&bytes.ok_or(Trouble::Index)?)?;
        self.out.put(b"\n")?;
        self.run = 0..0;
        Ok(())
    }

    /// Writes an object with its splices.
    fn splice(&mut self, object: &[u8], splices: &splice::Splices) -> Answer<()> {
        self.flush()?;
        Ok(splice::write(self.out, object, splices)?)
    }

    /// Writes a line of its own.
    fn line(&mut self, line: &[u8]) -> Answer<()> {
        self.flush()?;
        Ok(self.out.put(line)?)
    }
}

/// A text as a JSON string.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
