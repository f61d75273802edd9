//! The files that targets share, made when the first one asks.

use std::path::{Path, PathBuf};

use crate::support::sqlite::{Store, Synchronous};
use crate::support::{self, Scratch, logs};

/// A log and its length.
#[derive(Clone)]
pub struct Log {
    pub path: PathBuf,
    pub bytes: u64,
}

pub struct Scene {
    /// How many entries to measure with.
    pub entries: u64,
    scratch: Scratch,
    large: Option<Log>,
    store: Option<Store>,
}

impl Scene {
    pub fn new(entries: u64) -> Self {
        Self {
            entries,
            scratch: Scratch::new(),
            large: None,
            store: None,
        }
    }

    /// A place for a file.
    pub fn file(&self, name: &str) -> PathBuf {
        self.scratch.file(name)
    }

    /// A new log.
    pub fn make(&self, name: &str, make: fn(&Path, u64) -> u64, entries: u64) -> Log {
        let path = self.file(name);
        let bytes = make(&path, entries);
        Log { path, bytes }
    }

    /// The long session, with its sidecar.
    pub fn large(&mut self) -> Log {
        if self.large.is_none() {
            let log = self.make("large.jsonl", logs::session, self.entries);
            support::index(&log.path);
            self.large = Some(log);
        }
        self.large.clone().expect("made")
    }

    /// The long session for one that changes it: the next to ask gets a new one.
    pub fn take_large(&mut self) -> Log {
        let log = self.large();
        self.large = None;
        log
    }

    /// The long session in SQLite.
    pub fn store(&mut self) -> &Store {
        if self.store.is_none() {
            let log = self.large();
            let mut store = Store::open(&self.store_path(), Synchronous::Off);
            store.fill(&log.path);
            self.store = Some(store);
        }
        self.store.as_ref().expect("made")
    }

    pub fn store_path(&self) -> PathBuf {
        self.file("store.db")
    }
}
