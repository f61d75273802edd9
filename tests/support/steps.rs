//! What may happen to a log and its sidecar between two readings, as steps that a property test
//! strings together. Each step ends with the question whether the answers are still right.

use std::cell::RefCell;
use std::fmt;
use std::fs;

use leaflog::naive::{ReadOptions, Replay};
use leaflog::{Reading, Session};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::disk::{Disk, always, right, sidecar_of};
use super::{agree, logs};

/// Something that happens to the log, to the sidecar, or to a session that is kept open.
#[derive(Clone)]
pub enum Step {
    /// Bytes are appended, a whole line or not.
    Append(Vec<u8>),
    /// The next line that belongs to the session is appended.
    Next,
    /// A line of the log is appended once more.
    Repeat(Index),
    /// The log is cut.
    Truncate(Index),
    /// Another log takes its place by a rename.
    Replace(Vec<u8>),
    /// Another log is written over it.
    Rewrite(Vec<u8>),
    /// Some bytes change in place.
    Change(Index, Vec<u8>),
    /// The sidecar is damaged: in place, or by another file in its place.
    Sidecar(Harm, bool),
    /// The session that is kept open takes in what is there now.
    Refresh,
    /// The session that is kept open is opened anew.
    Reopen(Reading),
}

/// Damage to a sidecar.
#[derive(Clone)]
pub enum Harm {
    Flip(Index, u8),
    Cut(Index),
    Garbage(Vec<u8>),
    Delete,
    Empty,
    OfAnother(Vec<u8>),
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Append(bytes) => write!(f, "append {}", bytes.escape_ascii()),
            Self::Next => write!(f, "append the next line"),
            Self::Repeat(which) => write!(f, "repeat line {which:?}"),
            Self::Truncate(at) => write!(f, "truncate at {at:?}"),
            Self::Replace(log) => write!(f, "replace by\n{}", logs::show(log)),
            Self::Rewrite(log) => write!(f, "rewrite as\n{}", logs::show(log)),
            Self::Change(at, bytes) => write!(f, "write {} at {at:?}", bytes.escape_ascii()),
            Self::Sidecar(harm, in_place) => write!(f, "sidecar: {harm:?}, in place: {in_place}"),
            Self::Refresh => write!(f, "refresh"),
            Self::Reopen(reading) => write!(f, "reopen by {reading:?}"),
        }
    }
}

impl fmt::Debug for Harm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flip(at, bits) => write!(f, "flip {bits:#x} at {at:?}"),
            Self::Cut(at) => write!(f, "cut at {at:?}"),
            Self::Garbage(bytes) => write!(f, "append {}", bytes.escape_ascii()),
            Self::Delete => write!(f, "delete"),
            Self::Empty => write!(f, "empty"),
            Self::OfAnother(log) => write!(f, "that of\n{}", logs::show(log)),
        }
    }
}

/// A log to start with, lines that would follow, and up to eight steps.
#[derive(Clone)]
pub struct Story {
    log: Vec<u8>,
    next: Vec<Vec<u8>>,
    steps: Vec<Step>,
}

impl fmt::Debug for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", logs::show(&self.log))?;
        for line in &self.next {
            write!(f, "\nnext: {}", line.escape_ascii())?;
        }
        for step in &self.steps {
            write!(f, "\nstep: {step:?}")?;
        }
        Ok(())
    }
}

/// Any story.
pub fn story() -> impl Strategy<Value = Story> {
    let clean = (logs::clean_lines(), any::<Index>()).prop_map(|((_, mut lines), at)| {
        let rest = lines.split_off(1 + at.index(lines.len()));
        let with_newline = |line: Vec<u8>| [line, b"\n".to_vec()].concat();
        let log: Vec<Vec<u8>> = lines.into_iter().map(with_newline).collect();
        (log.concat(), rest.into_iter().map(with_newline).collect())
    });
    let start = prop_oneof![clean, logs::any_log().prop_map(|log| (log, Vec::new())),];
    (start, vec(step(), 1..=8)).prop_map(|((log, next), steps)| Story { log, next, steps })
}

fn step() -> impl Strategy<Value = Step> {
    let line = (
        logs::any_line(),
        prop_oneof![3 => Just("\n"), 1 => Just("")],
    )
        .prop_map(|(line, end)| [line.as_slice(), end.as_bytes()].concat());
    let bytes = vec(any::<u8>(), 1..40);
    let reading = prop_oneof![Just(Reading::Map), Just(Reading::Read)];
    prop_oneof![
        6 => Just(Step::Next),
        3 => Just(Step::Refresh),
        3 => line.prop_map(Step::Append),
        1 => bytes.clone().prop_map(Step::Append),
        2 => any::<Index>().prop_map(Step::Repeat),
        2 => any::<Index>().prop_map(Step::Truncate),
        1 => logs::any_log().prop_map(Step::Replace),
        1 => logs::any_log().prop_map(Step::Rewrite),
        2 => (any::<Index>(), change()).prop_map(|(at, bytes)| Step::Change(at, bytes)),
        4 => (harm(), any::<bool>()).prop_map(|(harm, in_place)| Step::Sidecar(harm, in_place)),
        1 => reading.prop_map(Step::Reopen),
    ]
}

/// Bytes that may turn one id, number or line into another.
fn change() -> impl Strategy<Value = Vec<u8>> {
    let one = prop_oneof![Just(b'0'), Just(b'1'), Just(b'"'), Just(b'\n'), any::<u8>()];
    vec(one, 1..4)
}

fn harm() -> impl Strategy<Value = Harm> {
    prop_oneof![
        (any::<Index>(), 1_u8..).prop_map(|(at, bits)| Harm::Flip(at, bits)),
        any::<Index>().prop_map(Harm::Cut),
        vec(any::<u8>(), 1..400).prop_map(Harm::Garbage),
        Just(Harm::Delete),
        Just(Harm::Empty),
        logs::any_log().prop_map(Harm::OfAnother),
    ]
}

impl Story {
    /// Takes the steps one after the other; the first difference ends it.
    pub fn take(&self) -> Result<(), String> {
        let state = State {
            disk: Disk::in_memory(&self.log),
            next: RefCell::new(self.next.clone()),
            kept: RefCell::new(None),
        };
        state.compare(0).map_err(|e| format!("at first: {e}"))?;
        state.reopen(Reading::Map);
        for (number, step) in self.steps.iter().enumerate() {
            state
                .take(step)
                .and_then(|()| state.compare(number))
                .map_err(|e| format!("step {number}, {step:?}:\n{e}"))?;
        }
        Ok(())
    }
}

struct State {
    disk: Disk,
    next: RefCell<Vec<Vec<u8>>>,
    /// The session that is kept open, and how it reads.
    kept: RefCell<Option<(Session, Reading)>>,
}

impl State {
    fn take(&self, step: &Step) -> Result<(), String> {
        let disk = &self.disk;
        let mut log = disk.bytes();
        match step {
            Step::Append(bytes) => disk.append(bytes),
            Step::Next => {
                let mut next = self.next.borrow_mut();
                if !next.is_empty() {
                    disk.append(&next.remove(0));
                }
            }
            Step::Repeat(which) => {
                let lines: Vec<&[u8]> = log.split_inclusive(|&byte| byte == b'\n').collect();
                if !lines.is_empty() {
                    disk.append(lines[which.index(lines.len())]);
                }
            }
            Step::Truncate(at) => disk.truncate(at.index(log.len() + 1) as u64),
            Step::Replace(log) => disk.replace(log),
            Step::Rewrite(log) => disk.rewrite(log),
            Step::Change(at, bytes) => {
                let at = at.index(log.len() + 1);
                let end = log.len().min(at + bytes.len());
                log[at..end].copy_from_slice(&bytes[..end - at]);
                disk.rewrite(&log);
            }
            Step::Sidecar(harm, in_place) => self.harm(harm, *in_place),
            Step::Refresh => return self.refresh(),
            Step::Reopen(reading) => self.reopen(*reading),
        }
        Ok(())
    }

    fn harm(&self, harm: &Harm, in_place: bool) {
        let path = self.disk.sidecar();
        let Ok(mut sidecar) = fs::read(&path) else {
            return;
        };
        match harm {
            Harm::Flip(at, bits) => {
                if !sidecar.is_empty() {
                    let at = at.index(sidecar.len());
                    sidecar[at] ^= bits;
                }
            }
            Harm::Cut(at) => sidecar.truncate(at.index(sidecar.len() + 1)),
            Harm::Garbage(bytes) => sidecar.extend_from_slice(bytes),
            Harm::Empty => sidecar.clear(),
            Harm::Delete => return fs::remove_file(&path).expect("removed"),
            Harm::OfAnother(log) => {
                sidecar = sidecar_of(log).unwrap_or(sidecar);
            }
        }
        // Who has it mapped would see its bytes change or vanish.
        let mapped = matches!(*self.kept.borrow(), Some((_, Reading::Map)));
        if in_place && !mapped {
            return fs::write(&path, sidecar).expect("written");
        }
        let new = self.disk.folder().join("new.idx");
        fs::write(&new, sidecar).expect("written");
        fs::rename(&new, &path).expect("renamed");
    }

    fn reopen(&self, reading: Reading) {
        let session = always().reading(reading).open(self.disk.path());
        *self.kept.borrow_mut() = session.ok().map(|session| (session, reading));
    }

    /// The session that is kept open, after a refresh, says what stands in the log now.
    fn refresh(&self) -> Result<(), String> {
        let kept = self.kept.borrow();
        let Some((session, _)) = &*kept else {
            return Ok(());
        };
        let log = self.disk.bytes();
        let code = |error: leaflog::Error| error.code();
        let naive = Replay::from_bytes(&log, ReadOptions::default()).map_err(code);
        match (naive, session.refresh().map_err(code)) {
            (Ok(replay), Ok(_)) => agree::compare_answers(&replay, session)
                .map_err(|e| format!("the session kept open: {e}")),
            (Err(one), Err(other)) if one == other => Ok(()),
            (one, other) => Err(format!(
                "refresh: naive {:?}, indexed {other:?}",
                one.map(|_| ())
            )),
        }
    }

    /// Opens the log both ways and compares all answers; the log stays as it is.
    fn compare(&self, number: usize) -> Result<(), String> {
        let reading = [Reading::Map, Reading::Read][number % 2];
        let before = self.disk.bytes();
        let options = always().reading(reading);
        agree::compare(self.disk.path(), &options, false)?;
        // What was just written or found is used again.
        if let Ok(session) = options.open(self.disk.path()) {
            right(&session, &before)?;
        }
        if self.disk.bytes() != before {
            return Err("the log was changed".to_owned());
        }
        Ok(())
    }
}
