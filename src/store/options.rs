//! How a session is opened.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Session, Verification, verify};
use crate::disk::DiskRef;
use crate::error::Result;
use crate::log::Reading;

/// Where the index of a session lives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum IndexMode {
    /// In a sidecar file, `<log>.idx`, or in the user's cache folder where the log's folder cannot
    /// be written. Logs of less than 1 MiB get a sidecar only if they have one already.
    #[default]
    Auto,
    /// In a sidecar file, for small logs too.
    Always,
    /// In memory only: no sidecar is read or written, nor what a listing remembers of a folder.
    Memory,
}

/// When an append is safe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// When it returns it is with the operating system: it survives the end of the process, not
    /// that of the machine.
    #[default]
    Process,
    /// When it returns it is on the disk, as far as the disk can be believed.
    Disk,
}

type ProgressFn = Arc<dyn Fn(u64, u64) + Send + Sync>;

/// Options for opening a session.
///
/// ```
/// use leaflog::{IndexMode, OpenOptions};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("s.jsonl");
/// # std::fs::write(&path, "{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"timestamp\":\"2026-07-14T09:00:00Z\",\"cwd\":\"/\"}\n").unwrap();
/// let session = OpenOptions::new().strict(true).index(IndexMode::Memory).open(&path)?;
/// assert_eq!(session.session_id(), "s1");
/// # Ok::<(), leaflog::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct OpenOptions {
    pub(super) strict: bool,
    pub(super) salvage: bool,
    pub(super) index: IndexMode,
    pub(super) index_dir: Option<PathBuf>,
    pub(super) reading: Reading,
    pub(super) write: bool,
    pub(super) durability: Durability,
    pub(super) progress: Option<ProgressFn>,
    /// What writes go through.
    pub(super) disk: DiskRef,
}

impl fmt::Debug for OpenOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenOptions")
            .field("strict", &self.strict)
            .field("salvage", &self.salvage)
            .field("index", &self.index)
            .field("index_dir", &self.index_dir)
            .field("reading", &self.reading)
            .field("write", &self.write)
            .field("durability", &self.durability)
            .finish_non_exhaustive()
    }
}

impl OpenOptions {
    /// Tolerant reading, index in a sidecar, log mapped.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether a file with any damage is refused, naming the first line that has some.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Whether a file without a usable header is opened too, by the shape of its entries. Such a
    /// session gets no sidecar.
    #[must_use]
    pub fn salvage(mut self, salvage: bool) -> Self {
        self.salvage = salvage;
        self
    }

    /// Where the index lives.
    #[must_use]
    pub fn index(mut self, mode: IndexMode) -> Self {
        self.index = mode;
        self
    }

    /// A folder for sidecars and catalogs of folders, used in place of the log's own.
    #[must_use]
    pub fn index_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.index_dir = Some(folder.into());
        self
    }

    /// How the log's bytes are read.
    #[must_use]
    pub fn reading(mut self, reading: Reading) -> Self {
        self.reading = reading;
        self
    }

    /// Whether the session is opened for writing, which takes the writer's lock of the log.
    #[must_use]
    pub fn write(mut self, write: bool) -> Self {
        self.write = write;
        self
    }

    /// When an append is safe, for sessions that are opened for writing.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Another disk than that of the system.
    #[cfg(test)]
    pub(crate) fn disk(mut self, disk: DiskRef) -> Self {
        self.disk = disk;
        self
    }

    /// Called during long work with the bytes of the log that are done, and all there are; while a
    /// folder is listed those of all logs that must be read, by more than one thread.
    #[must_use]
    pub fn progress(mut self, call: impl Fn(u64, u64) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(call));
        self
    }

    /// Opens a session: for reading, or for writing if [`write`](Self::write) says so.
    ///
    /// # Errors
    ///
    /// `not_found` if there is no such file, `storage` if it cannot be read or is no regular file,
    /// `invalid_entry` if it is no session or, when strict, has any damage, `unsupported` if its
    /// version is not known. For writing also `locked` if another writer has it, `unsupported` for
    /// pi v1 and v2, which `convert` brings to v4.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Session> {
        let mut options = self.clone();
        // A file without a header is read only.
        options.salvage &= !options.write;
        Session::open_with(path.as_ref(), options)
    }

    /// Reads everything: every line, the rules of the format, the sidecar against the log, the path of
    /// every leaf. Repairs and writes nothing. Takes the memory of an index of the log and of its
    /// longest line, however long the log is otherwise.
    ///
    /// ```
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("s.jsonl");
    /// # std::fs::write(&path, "{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"timestamp\":\"2026-07-14T09:00:00Z\",\"cwd\":\"/\"}\n{torn\n").unwrap();
    /// let found = leaflog::OpenOptions::new().verify(&path)?;
    /// assert_eq!(found.reports[0].line, 2);
    /// assert!(!found.is_clean());
    /// # Ok::<(), leaflog::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open): unless strict reading is asked for, damage is no error.
    pub fn verify(&self, path: impl AsRef<Path>) -> Result<Verification> {
        verify::run(path.as_ref(), self)
    }
}
