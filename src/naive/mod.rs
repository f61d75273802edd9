//! The naive full replay: a second, plain reader of session logs that reads every byte every time.
//! Tests and fuzzing compare the indexed reader with it; who doubts an answer may ask it too.
//! It shares no code with the indexed reader, keeps nothing on disk, and never changes a log.

mod codebot;
mod detect;
mod envelope;
mod json;
mod lines;
mod listing;
mod log;
mod path;
mod pi;
mod pi_snapshot;
mod reading;
mod time;
mod v4;

#[cfg(test)]
mod tests;

use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use self::log::Log;
use self::path::Walk;
use crate::error::{Code, Error, Result};
use crate::model::{At, Format, Messages, Overview, Snapshot};

/// How the naive replay reads.
///
/// ```
/// let tolerant = leaflog::naive::ReadOptions::default();
/// assert!(!tolerant.strict && !tolerant.salvage);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadOptions {
    /// Refuses the file at its first report instead of reading around the damage.
    pub strict: bool,
    /// Opens a file without a usable header too; its first object then decides the format.
    pub salvage: bool,
}

/// A log that was read whole.
///
/// ```
/// use leaflog::At;
/// use leaflog::naive::{ReadOptions, Replay};
///
/// let log = br#"{"type":"session","version":3,"id":"s1","timestamp":"2026-07-14T09:00:00Z","cwd":"/"}
/// {"type":"message","id":"00000001","parentId":null,"timestamp":"2026-07-14T09:00:01Z","message":{"role":"user","content":"hi"}}
/// "#;
/// let replay = Replay::from_bytes(log, ReadOptions::default())?;
/// assert_eq!(replay.overview().session_id, "s1");
/// assert_eq!(replay.entry_ids(), ["00000001"]);
/// assert_eq!(replay.path(At::Current)?, ["00000001"]);
/// assert_eq!(replay.snapshot(At::Current, false)?.messages.len(), 1);
/// # Ok::<(), leaflog::Error>(())
/// ```
pub struct Replay {
    log: Log,
    /// The file it was read from, for errors.
    path: Option<PathBuf>,
}

impl Replay {
    /// Reads a log from memory.
    ///
    /// # Errors
    ///
    /// `invalid_entry` if no object of the file is a header, or with [`ReadOptions::strict`] for
    /// the first report; `unsupported` for a version that this reader does not know.
    pub fn from_bytes(log: &[u8], options: ReadOptions) -> Result<Self> {
        Ok(Self {
            log: reading::read(log, options)?,
            path: None,
        })
    }

    /// Reads a file, whole.
    ///
    /// # Errors
    ///
    /// Those of [`from_bytes`](Self::from_bytes); `not_found` and `storage` where the file cannot
    /// be read, and `storage` for anything but a regular file.
    pub fn open(path: &Path, options: ReadOptions) -> Result<Self> {
        let failed = |source: io::Error| Error::io("read the log", path, source);
        // A pipe would block the open itself until somebody writes.
        let kind = fs::metadata(path).map_err(failed)?.file_type();
        if !kind.is_file() {
            let found = if kind.is_dir() {
                "a directory"
            } else {
                "a pipe, socket or device"
            };
            let message = format!("expected a regular file, found {found}");
            return Err(Error::new(Code::Storage, message).at_path(path));
        }
        let bytes = read_opened(path).map_err(failed)?;
        let log = reading::read(&bytes, options).map_err(|error| error.at_path(path))?;
        Ok(Self {
            log,
            path: Some(path.to_owned()),
        })
    }

    /// What the session looks like from outside.
    #[must_use]
    pub fn overview(&self) -> Overview {
        listing::overview(&self.log)
    }

    /// The ids of all entries, each once, in the file order of the line that wins.
    #[must_use]
    pub fn entry_ids(&self) -> Vec<String> {
        let winning = self.log.entries.winning();
        winning.map(|entry| entry.id.clone()).collect()
    }

    /// The ids from the root to a leaf.
    ///
    /// # Errors
    ///
    /// `not_found`, `invalid_lane` or `unsupported` for a leaf or lane that is not there;
    /// `invalid_entry` for a path that is broken.
    pub fn path(&self, at: At<'_>) -> Result<Vec<String>> {
        let walk = self.walk(at, false)?;
        Ok(walk.entries.iter().map(|entry| entry.id.clone()).collect())
    }

    /// As [`path`](Self::path), but a broken path is cut at its break.
    ///
    /// # Errors
    ///
    /// As [`path`](Self::path), less `invalid_entry`.
    pub fn salvage_path(&self, at: At<'_>) -> Result<Vec<String>> {
        let walk = self.walk(at, true)?;
        Ok(walk.entries.iter().map(|entry| entry.id.clone()).collect())
    }

    /// The context at a leaf. With `salvage` a broken path is cut at the break.
    ///
    /// # Errors
    ///
    /// As [`path`](Self::path); with `salvage` no `invalid_entry`.
    pub fn snapshot(&self, at: At<'_>, salvage: bool) -> Result<Snapshot> {
        let walk = self.walk(at, salvage)?;
        let lane = match at {
            At::Lane(lane) => Some(lane),
            At::Current => Some(v4::MAIN),
            At::Leaf(_) => None,
        };
        let mut snapshot = Snapshot {
            format: self.log.format,
            session_id: self.log.header.session_id.clone(),
            lane: lane
                .filter(|_| self.log.format.has_lanes())
                .map(str::to_owned),
            leaf: walk.entries.last().map(|entry| entry.id.clone()),
            name: listing::name(&self.log),
            messages: Messages::default(),
            model: None,
            reasoning_effort: None,
            plan: None,
            goal: None,
            active_tools: None,
            path_entries: u64::try_from(walk.entries.len()).unwrap_or(u64::MAX),
            salvaged: walk.salvaged,
        };
        let (log, path) = (&self.log, walk.entries.as_slice());
        match log.format {
            Format::CodebotV3 => codebot::fill(&log.header, path, &mut snapshot),
            Format::PiV1 | Format::PiV2 | Format::PiV3 => {
                pi_snapshot::fill(log.format, path, &mut snapshot);
            }
            Format::PiV4 => pi_snapshot::fill_v4(path, &mut snapshot),
        }
        Ok(snapshot)
    }

    fn walk(&self, at: At<'_>, salvage: bool) -> Result<Walk<'_>> {
        path::walk(&self.log, at, salvage).map_err(|error| match &self.path {
            Some(path) => error.at_path(path),
            None => error,
        })
    }
}

/// What the file held when it was opened: one that goes on growing would never be read whole.
fn read_opened(path: &Path) -> io::Result<Vec<u8>> {
    let file = fs::File::open(path)?;
    let size = file.metadata()?.len();
    let mut bytes = Vec::new();
    file.take(size).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay")
            .field("path", &self.path)
            .field("format", &self.log.format)
            .field("session_id", &self.log.header.session_id)
            .field("entries", &self.log.entries.ids())
            .finish_non_exhaustive()
    }
}
