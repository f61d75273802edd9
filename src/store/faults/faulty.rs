//! A disk that counts its calls and fails where it is told to. What does not fail is done by the
//! system, less the flushes, which nothing here can tell from none.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::disk::{Disk, DiskRef, System};

/// The calls of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Create,
    Write,
    Cut,
    SyncData,
    SyncAll,
    SyncFolder,
    Rename,
    Link,
    Remove,
    MakeFolder,
}

/// No space left on the device.
pub(super) const FULL: i32 = 28;
/// Input/output error.
pub(super) const BROKEN: i32 = 5;
/// Operation not permitted: what file systems without hard links say.
pub(super) const REFUSED: i32 = 1;

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// With this number of the system's, once.
    Error(i32),
    /// The same, and the next call, which may be there to undo something, fails too.
    Twice(i32),
    /// All calls from here on fail.
    Dead,
    /// It was interrupted before anything was written.
    Interrupted,
    /// Nothing is written, and no reason given.
    Nothing,
    /// Half is written.
    Short,
    /// Half is written, and the rest cannot be.
    ShortThen(i32),
    /// The same, and the call behind that fails too.
    ShortStuck(i32),
}

impl Fault {
    /// What can go wrong with a call.
    pub(super) fn of(op: Op) -> &'static [Self] {
        match op {
            Op::Write => &[
                Self::Error(FULL),
                Self::Error(BROKEN),
                Self::Dead,
                Self::Interrupted,
                Self::Nothing,
                Self::Short,
                Self::ShortThen(FULL),
                Self::ShortStuck(BROKEN),
            ],
            Op::Link => &[
                Self::Error(REFUSED),
                Self::Error(FULL),
                Self::Twice(REFUSED),
                Self::Dead,
            ],
            Op::Cut | Op::Remove => &[Self::Error(BROKEN), Self::Twice(BROKEN), Self::Dead],
            _ => &[
                Self::Error(FULL),
                Self::Error(BROKEN),
                Self::Twice(BROKEN),
                Self::Dead,
            ],
        }
    }
}

#[derive(Debug, Default)]
struct Inner {
    trace: Vec<Op>,
    plan: Option<(usize, Fault)>,
    /// What the next calls answer.
    next: Vec<Answer>,
    dead: bool,
    tripped: bool,
    /// Whether a call that undoes another one failed.
    stuck: bool,
}

#[derive(Clone, Copy, Debug)]
enum Answer {
    Do,
    Half,
    Nothing,
    Fail(io::ErrorKind, i32),
}

/// The disk.
#[derive(Debug, Default)]
pub(super) struct Faulty {
    inner: Mutex<Inner>,
}

impl Faulty {
    /// A disk that fails at one of its calls.
    pub(super) fn planned(plan: Option<(usize, Fault)>) -> Self {
        let disk = Self::default();
        disk.lock().plan = plan;
        disk
    }

    /// A disk that does nothing at all, for readers.
    pub(super) fn dead() -> DiskRef {
        let disk = Self::default();
        disk.lock().dead = true;
        DiskRef::new(std::sync::Arc::new(disk))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn trace(&self) -> Vec<Op> {
        self.lock().trace.clone()
    }

    pub(super) fn has_tripped(&self) -> bool {
        self.lock().tripped
    }

    pub(super) fn is_dead(&self) -> bool {
        self.lock().dead
    }

    /// Whether a call failed that was there to undo another one.
    pub(super) fn is_stuck(&self) -> bool {
        let inner = self.lock();
        inner.stuck || inner.dead
    }

    fn answer(&self, op: Op) -> Answer {
        let mut inner = self.lock();
        let number = inner.trace.len();
        inner.trace.push(op);
        let fail = |code| Answer::Fail(io::ErrorKind::Other, code);
        if inner.dead {
            return fail(BROKEN);
        }
        if let Some(next) = inner.next.pop() {
            if matches!(next, Answer::Fail(..)) && matches!(op, Op::Cut | Op::Remove) {
                inner.stuck = true;
            }
            return next;
        }
        match inner.plan {
            Some((at, fault)) if at == number => {
                inner.tripped = true;
                match fault {
                    Fault::Error(code) => fail(code),
                    Fault::Twice(code) => {
                        inner.next = vec![fail(code)];
                        fail(code)
                    }
                    Fault::Dead => {
                        inner.dead = true;
                        fail(BROKEN)
                    }
                    Fault::Interrupted => Answer::Fail(io::ErrorKind::Interrupted, 0),
                    Fault::Nothing => Answer::Nothing,
                    Fault::Short => Answer::Half,
                    Fault::ShortThen(code) => {
                        inner.next = vec![fail(code)];
                        Answer::Half
                    }
                    Fault::ShortStuck(code) => {
                        inner.next = vec![fail(code), fail(code)];
                        Answer::Half
                    }
                }
            }
            _ => Answer::Do,
        }
    }

    fn ask<T>(&self, op: Op, run: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match self.answer(op) {
            Answer::Fail(kind, code) => Err(failure(kind, code)),
            _ => run(),
        }
    }
}

fn failure(kind: io::ErrorKind, code: i32) -> io::Error {
    if code == 0 {
        kind.into()
    } else {
        io::Error::from_raw_os_error(code)
    }
}

impl Disk for Faulty {
    fn create(&self, path: &Path) -> io::Result<File> {
        self.ask(Op::Create, || System.create(path))
    }

    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<usize> {
        match self.answer(Op::Write) {
            Answer::Fail(kind, code) => Err(failure(kind, code)),
            Answer::Nothing => Ok(0),
            Answer::Half => System.write(file, &bytes[..bytes.len().div_ceil(2)]),
            Answer::Do => System.write(file, bytes),
        }
    }

    fn cut(&self, file: &File, len: u64) -> io::Result<()> {
        self.ask(Op::Cut, || System.cut(file, len))
    }

    fn sync_data(&self, _: &File) -> io::Result<()> {
        self.ask(Op::SyncData, || Ok(()))
    }

    fn sync_all(&self, _: &File) -> io::Result<()> {
        self.ask(Op::SyncAll, || Ok(()))
    }

    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        self.ask(Op::SyncFolder, || Ok(()))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.ask(Op::Rename, || System.rename(from, to))
    }

    fn link(&self, file: &Path, name: &Path) -> io::Result<()> {
        self.ask(Op::Link, || System.link(file, name))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.ask(Op::Remove, || System.remove(path))
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        self.ask(Op::MakeFolder, || System.make_folder(path))
    }
}
