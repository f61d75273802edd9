//! A disk that fails at a call of one's choice, for tests.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::{Disk, SharedDisk, System};

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Half of the bytes are written, which is no error; the rest is for the next call.
    Short,
    /// The call is interrupted before it did anything.
    Interrupted,
    /// Nothing is done, for want of room.
    NoRoom,
    /// Nothing is done, for want of luck.
    Broken,
    /// Half of the bytes are written, and then there is no more room.
    Half,
    /// As [`Half`](Self::Half), and what was written cannot be cut off again.
    HalfAndStuck,
    /// Nothing works from here on.
    AllGone,
}

impl Fault {
    pub(crate) const ALL: [Self; 7] = [
        Self::Short,
        Self::Interrupted,
        Self::NoRoom,
        Self::Broken,
        Self::Half,
        Self::HalfAndStuck,
        Self::AllGone,
    ];
}

/// A disk that counts its calls and fails at one of them.
#[derive(Debug)]
pub(crate) struct Faulty {
    fault: Fault,
    at: usize,
    calls: AtomicUsize,
    is_full: AtomicBool,
    is_stuck: AtomicBool,
    has_failed: AtomicBool,
}

impl Faulty {
    /// Fails at the call of this number, counted from 0.
    pub(crate) fn at(at: usize, fault: Fault) -> std::sync::Arc<Self> {
        std::sync::Arc::new(Self {
            fault,
            at,
            calls: AtomicUsize::new(0),
            is_full: AtomicBool::new(false),
            is_stuck: AtomicBool::new(false),
            has_failed: AtomicBool::new(false),
        })
    }

    pub(crate) fn shared(self: &std::sync::Arc<Self>) -> SharedDisk {
        SharedDisk(self.clone())
    }

    /// How many calls there were.
    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    /// Whether it came to the fault.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::SeqCst)
    }

    /// The fault of this call, if it is to have one.
    fn next(&self) -> Option<Fault> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        let is_it = call == self.at || (call > self.at && self.fault == Fault::AllGone);
        is_it.then(|| {
            self.has_failed.store(true, Ordering::SeqCst);
            self.fault
        })
    }

    /// A call that is done whole or not at all.
    fn whole<T>(&self, run: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match self.next() {
            None => run(),
            Some(Fault::Interrupted) => Err(io::ErrorKind::Interrupted.into()),
            Some(Fault::Short | Fault::Half | Fault::HalfAndStuck | Fault::NoRoom) => {
                Err(io::ErrorKind::StorageFull.into())
            }
            Some(Fault::Broken | Fault::AllGone) => Err(io::Error::other("the disk is broken")),
        }
    }
}

impl Disk for Faulty {
    fn create(&self, path: &Path) -> io::Result<File> {
        self.whole(|| System.create(path))
    }

    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        self.whole(|| System.make_folder(folder))
    }

    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<usize> {
        let half = || bytes.get(..bytes.len() / 2).unwrap_or_default();
        if self.is_full.swap(false, Ordering::SeqCst) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        match self.next() {
            Some(fault @ (Fault::Short | Fault::Half | Fault::HalfAndStuck)) if bytes.len() > 1 => {
                self.is_full.store(fault != Fault::Short, Ordering::SeqCst);
                self.is_stuck
                    .store(fault == Fault::HalfAndStuck, Ordering::SeqCst);
                System.write(file, half())
            }
            Some(Fault::Short | Fault::Half | Fault::HalfAndStuck) | None => {
                System.write(file, bytes)
            }
            Some(Fault::Interrupted) => Err(io::ErrorKind::Interrupted.into()),
            Some(Fault::NoRoom) => Err(io::ErrorKind::StorageFull.into()),
            Some(Fault::Broken | Fault::AllGone) => Err(io::Error::other("the disk is broken")),
        }
    }

    fn cut(&self, file: &File, len: u64) -> io::Result<()> {
        if self.is_stuck.swap(false, Ordering::SeqCst) {
            return Err(io::Error::other("the disk is stuck"));
        }
        self.whole(|| System.cut(file, len))
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.whole(|| System.sync(file))
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.whole(|| System.sync_folder(folder))
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.whole(|| System.link(from, to))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.whole(|| System.rename(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.whole(|| System.remove(path))
    }
}
