//! A log on disk that tests grow, rewrite and damage, each change with a time of its own, so that
//! the file system's clock never hides one.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use leaflog::naive::{ReadOptions, Replay};
use leaflog::{IndexMode, IndexState, OpenOptions, Session};
use tempfile::TempDir;

use super::agree;

/// A log in a folder of its own, which goes away with it.
pub struct Disk {
    folder: TempDir,
    path: PathBuf,
    changes: AtomicU64,
}

impl Disk {
    /// A folder with one log in it.
    pub fn new(log: &[u8]) -> Self {
        Self::within(tempfile::tempdir().expect("a folder"), log)
    }

    /// The same on a file system in memory, where there is one: for tests that write so many small
    /// files that a disk would be the slowest part of it.
    pub fn in_memory(log: &[u8]) -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Self::within(folder.expect("a folder"), log)
    }

    fn within(folder: TempDir, log: &[u8]) -> Self {
        let path = folder.path().join("session.jsonl");
        fs::write(&path, log).expect("written");
        Self {
            folder,
            path,
            changes: AtomicU64::new(0),
        }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the sidecar stands when it is beside the log.
    pub fn sidecar(&self) -> PathBuf {
        beside(&self.path)
    }

    pub fn bytes(&self) -> Vec<u8> {
        fs::read(&self.path).expect("the log")
    }

    /// Opens the log with a sidecar, however small it is.
    pub fn open(&self) -> Session {
        always().open(&self.path).expect("a session")
    }

    /// Writes behind the end, as a writer of sessions does.
    pub fn append(&self, bytes: &[u8]) {
        let mut file = File::options()
            .append(true)
            .open(&self.path)
            .expect("the log");
        file.write_all(bytes).expect("appended");
    }

    /// Cuts the log.
    pub fn truncate(&self, len: u64) {
        let file = File::options()
            .write(true)
            .open(&self.path)
            .expect("the log");
        file.set_len(len).expect("cut");
        self.touch();
    }

    /// Writes over the log without making it another file.
    pub fn rewrite(&self, log: &[u8]) {
        let mut file = File::options()
            .write(true)
            .open(&self.path)
            .expect("the log");
        file.write_all(log).expect("rewritten");
        file.set_len(u64::try_from(log.len()).expect("a length"))
            .expect("cut");
        self.touch();
    }

    /// Puts another file in the log's place by a rename.
    pub fn replace(&self, log: &[u8]) {
        let new = self.folder().join("new");
        fs::write(&new, log).expect("written");
        fs::rename(&new, &self.path).expect("renamed");
        self.touch();
    }

    /// Gives the log a time of change that it never had before.
    pub fn touch(&self) {
        let changes = self.changes.fetch_add(1, Ordering::Relaxed);
        let time = UNIX_EPOCH + Duration::from_secs(1_700_000_000 + changes);
        let file = File::options()
            .write(true)
            .open(&self.path)
            .expect("the log");
        file.set_modified(time).expect("a new time");
    }
}

/// The sidecar's place beside a log.
pub fn beside(log: &Path) -> PathBuf {
    let mut path = log.as_os_str().to_owned();
    path.push(".idx");
    PathBuf::from(path)
}

/// Options that want a sidecar for small logs too.
pub fn always() -> OpenOptions {
    OpenOptions::new().index(IndexMode::Always)
}

/// The bytes of the sidecar of a log, if it is one that gets any.
pub fn sidecar_of(log: &[u8]) -> Option<Vec<u8>> {
    let disk = Disk::new(log);
    drop(always().open(disk.path()).ok()?);
    fs::read(disk.sidecar()).ok()
}

/// What was done with the index, and how many lines were read for it.
pub fn done(session: &Session) -> (IndexState, u64) {
    let status = session.index_status();
    (status.state, status.lines_read)
}

/// Compares all of a session's answers with the naive replay of what the log should hold.
pub fn right(session: &Session, log: &[u8]) -> Result<(), String> {
    let replay = Replay::from_bytes(log, ReadOptions::default()).map_err(|e| e.to_string())?;
    agree::compare_answers(&replay, session)
}

/// Fails the test if a session does not answer as the naive replay does.
#[track_caller]
pub fn assert_right(session: &Session, log: &[u8]) {
    if let Err(difference) = right(session, log) {
        panic!("{difference}");
    }
}
