//! Where a writing session's lines go: to the end of its log, or, until the first message of a new
//! pi v3 session, to memory, so that a session without a conversation leaves no file.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::OpenOptions;
use super::publish::publish_held;
use super::state::State;
use crate::disk::DiskRef;
use crate::error::{Code, Error, Result};
use crate::format::{Mutation, Role, interpret};
use crate::json::{Document, Grammar};
use crate::log::{Appender, LogFile};
use crate::model::Format;

/// Where lines go.
pub(super) enum Output {
    File(Appender),
    Pending {
        path: PathBuf,
        format: Format,
        bytes: Vec<u8>,
        claim: Claim,
        disk: DiskRef,
        /// Its file came to be though its flush failed, and is not this session's to go on with.
        stranded: bool,
    },
}

/// Asked right before a new file gets its name: whether it may. What it gives is held until then.
pub(super) type Claim = Box<dyn Fn() -> Result<Option<File>> + Send>;

impl Output {
    /// Bytes of the log.
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::File(log) => log.len(),
            Self::Pending { bytes, .. } => u64::try_from(bytes.len()).unwrap_or(u64::MAX),
        }
    }

    /// The file that a torn last line was kept in when it was cut off.
    pub(super) fn torn(&self) -> Option<PathBuf> {
        match self {
            Self::File(log) => log.torn().map(Path::to_owned),
            Self::Pending { .. } => None,
        }
    }

    /// Deals with an unfinished last line. True if the log was cut.
    pub(super) fn mend_tail(&mut self) -> Result<bool> {
        match self {
            Self::File(log) => log.mend_tail(),
            Self::Pending { .. } => Ok(false),
        }
    }

    /// Appends a line, and returns where it starts and whether the file appeared with it.
    pub(super) fn append(&mut self, line: &[u8], durable: bool, now: u64) -> Result<(u64, bool)> {
        let start = self.len();
        let (path, format, bytes, claim, disk, stranded) = match self {
            Self::File(log) => return Ok((log.append(line, durable, now)?, false)),
            Self::Pending {
                path,
                format,
                bytes,
                claim,
                disk,
                stranded,
            } => (path, *format, bytes, claim, disk, stranded),
        };
        if *stranded {
            return Err(Error::new(
                Code::Storage,
                "the session takes no more writes, because its new file could not be taken back when an earlier flush failed; open it again",
            )
            .at_path(path));
        }
        if !starts_conversation(line, format) {
            bytes.extend_from_slice(line);
            return Ok((start, false));
        }
        let published = publish_held::<_, _, Error>(
            disk,
            path,
            |out| {
                out.put(bytes)?;
                out.put(line)
            },
            claim,
        );
        let file = match published {
            Ok(((), file)) => file,
            Err(error) => {
                let is_others = error.code() == Code::AlreadyExists;
                *stranded = !is_others && path.symlink_metadata().is_ok();
                return Err(error);
            }
        };
        let log = Appender::held(file, path, disk)?;
        *self = Self::File(log);
        Ok((start, true))
    }

    /// A write ended at this time.
    pub(super) fn ended(&self, now: u64) {
        if let Self::File(log) = self {
            log.ended(now);
        }
    }

    /// All that was appended is on the disk when this returns.
    pub(super) fn sync(&mut self) -> Result<()> {
        match self {
            Self::File(log) => log.sync(),
            Self::Pending { .. } => Ok(()),
        }
    }

    /// Gives the writer's lock back.
    pub(super) fn unlock(&mut self) -> Result<()> {
        match self {
            Self::File(log) => log.unlock(),
            Self::Pending { .. } => Ok(()),
        }
    }

    /// The state of a session that has no file yet; none if it has one.
    pub(super) fn pending_state(&self, options: &OpenOptions) -> Option<Result<State>> {
        match self {
            Self::File(_) => None,
            Self::Pending { path, bytes, .. } => Some(State::of_memory(path, bytes, options)),
        }
    }
}

/// Whether a line holds a message of the user or the assistant.
fn starts_conversation(line: &[u8], format: Format) -> bool {
    let object = line.strip_suffix(b"\n").unwrap_or(line);
    let Ok(document) = Grammar::parse(object) else {
        return false;
    };
    match interpret(format, document.root(), false).mutation {
        Some(Mutation::Entry(entry)) => matches!(entry.role, Role::User | Role::Assistant),
        _ => false,
    }
}

impl State {
    /// The state of a log that is in memory.
    fn of_memory(path: &Path, bytes: &[u8], options: &OpenOptions) -> Result<Self> {
        let log = LogFile::in_memory(path, bytes.to_vec());
        Self::built(log, options, "the session has no file yet").map_err(|e: Error| e.at_path(path))
    }
}
