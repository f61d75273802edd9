//! A folder of sessions on a disk that may fail, and what is known to be in it.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::contract::{CreateOptions, ForkScope, NewEntry, SessionStorage, codebot, pi};
use crate::disk::SharedDisk;
use crate::error::{Code, Result};
use crate::model::{At, Format};
use crate::naive::{ReadOptions, Replay};
use crate::store::{Durability, IndexMode, OpenOptions, Repository, Session, convert};

pub(super) struct World {
    folder: tempfile::TempDir,
    pub(super) format: Format,
    repository: Repository,
    options: OpenOptions,
    session: Option<Session>,
    /// The ids of entries that were appended to the session, as far as that was acknowledged.
    pub(super) acknowledged: Vec<String>,
    /// What is in each log, as far as it was acknowledged.
    known: BTreeMap<PathBuf, Vec<u8>>,
    /// Whether somebody else left half a line at the end of the session's log.
    torn: bool,
}

/// A folder in memory, where there is one.
pub(super) fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    folder.unwrap()
}

impl World {
    pub(super) fn new(format: Format, durability: Durability, disk: SharedDisk) -> Self {
        let folder = folder();
        let options = OpenOptions::new()
            .index(IndexMode::Always)
            .durability(durability)
            .on_disk(disk);
        let repository = Repository::new(folder.path().join("sessions"));
        Self {
            repository: repository.with_options(options.clone()),
            folder,
            format,
            options,
            session: None,
            acknowledged: Vec::new(),
            known: BTreeMap::new(),
            torn: false,
        }
    }

    /// The session, opened for writing if it is not open.
    pub(super) fn session(&mut self) -> Result<&Session> {
        if self.session.is_none() {
            self.session = Some(self.repository.open("s")?);
        }
        Ok(self.session.as_ref().unwrap())
    }

    pub(super) fn create(&mut self) -> Result<()> {
        let options = CreateOptions {
            id: Some("s".to_owned()),
            format: Some(self.format),
            ..CreateOptions::in_folder("/w")
        };
        self.session = Some(self.repository.create(&options)?);
        Ok(())
    }

    pub(super) fn append(&mut self, new: NewEntry, lane: &str) -> Result<()> {
        let id = self.session()?.append_entry(new, lane)?.id;
        self.acknowledged.push(id);
        Ok(())
    }

    pub(super) fn close(&mut self) -> Result<()> {
        match self.session.take() {
            Some(session) => session.close(),
            None => Ok(()),
        }
    }

    /// Reading never fails for what happens to an index.
    pub(super) fn read(&mut self) -> Result<()> {
        let Some(path) = self.known.keys().find(|path| is_main(path)).cloned() else {
            return Ok(());
        };
        let session = self.options.clone().write(false).open(&path).unwrap();
        assert_right(&session, &path, &self.acknowledged);
        if let Some(session) = &self.session
            && !self.torn
        {
            assert_right(session, &path, &self.acknowledged);
        }
        Ok(())
    }

    pub(super) fn fork(&mut self) -> Result<()> {
        let Some(last) = self.acknowledged.last() else {
            return Ok(());
        };
        let scope = ForkScope::at(last);
        self.fork_of(&scope)
    }

    pub(super) fn fork_tree(&mut self) -> Result<()> {
        self.fork_of(&ForkScope::Tree)
    }

    fn fork_of(&mut self, scope: &ForkScope) -> Result<()> {
        let options = CreateOptions {
            id: Some("f".to_owned()),
            ..CreateOptions::default()
        };
        let made = self.repository.fork("s", scope, &options);
        made.map(drop)
    }

    pub(super) fn delete_fork(&mut self) -> Result<()> {
        self.repository.delete("f")
    }

    pub(super) fn convert(&mut self) -> Result<()> {
        let Some(path) = self.known.keys().find(|path| is_main(path)) else {
            return Ok(());
        };
        let target = path.with_file_name("converted.jsonl");
        convert(path, target, Format::PiV4, &self.options).map(drop)
    }

    /// Another program dies in the middle of a line.
    pub(super) fn tear(&mut self) -> Result<()> {
        self.leave("{\"kind\":\"entry\",\"type\":\"mess")
    }

    /// Another program leaves the last line without its newline.
    pub(super) fn leave_no_newline(&mut self) -> Result<()> {
        self.leave("")
    }

    fn leave(&mut self, rest: &str) -> Result<()> {
        self.session = None;
        let Some(path) = self.known.keys().find(|path| is_main(path)).cloned() else {
            return Ok(());
        };
        let mut bytes = fs::read(&path).unwrap();
        if !bytes.ends_with(b"\n") {
            // Who goes on with somebody else's line harms that line, and no store can help it.
            return Ok(());
        }
        if rest.is_empty() {
            bytes.pop();
            fs::write(&path, &bytes).unwrap();
            self.known.insert(path, bytes);
        } else {
            let mut file = fs::File::options().append(true).open(&path).unwrap();
            file.write_all(rest.as_bytes()).unwrap();
            self.torn = true;
        }
        Ok(())
    }

    fn logs(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut open = vec![self.folder.path().to_owned()];
        while let Some(folder) = open.pop() {
            for item in fs::read_dir(folder).unwrap() {
                let path = item.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else if path.extension().is_some_and(|it| it == "jsonl") {
                    let bytes = fs::read(&path).unwrap();
                    found.insert(path, bytes);
                }
            }
        }
        found
    }

    /// After a call: what was acknowledged is as it was, and a call that failed added nothing. `gone`:
    /// nothing works any more, so that what a call had begun could not be taken back.
    pub(super) fn check(&mut self, outcome: &Result<()>, gone: bool, what: impl Fn() -> String) {
        let now = self.logs();
        if let Err(error) = outcome {
            let known = [
                Code::Storage,
                Code::NotFound,
                Code::AlreadyExists,
                Code::InvalidLane,
                Code::InvalidEntry,
                Code::InvalidForkTarget,
                Code::InvalidPayload,
            ];
            assert!(known.contains(&error.code()), "{}: {error}", what());
            // A session that failed is opened again by the next call.
            self.session = None;
        }
        for (path, known) in &self.known {
            let Some(bytes) = now.get(path) else {
                assert!(is_fork(path), "{}: {path:?} is gone", what());
                continue;
            };
            let Some(rest) = bytes.strip_prefix(known.as_slice()) else {
                panic!("{}: {path:?} is not what it was", what());
            };
            if outcome.is_err() {
                let lines = rest.iter().filter(|&&byte| byte == b'\n').count();
                let most = usize::from(gone) + usize::from(!known.ends_with(b"\n"));
                assert!(
                    lines <= most,
                    "{}: {:?}: {}",
                    what(),
                    outcome,
                    String::from_utf8_lossy(rest)
                );
            }
        }
        for (path, bytes) in &now {
            if outcome.is_err() && !self.known.contains_key(path) {
                assert!(gone, "{}: {path:?} came to be", what());
                assert!(bytes.ends_with(b"\n"), "{}: {path:?} is half", what());
            }
        }
        // What another program tore, or a fault left, is no part of what is known.
        self.known = now
            .into_iter()
            .map(|(path, mut bytes)| {
                let old = self.known.get(&path);
                let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |last| last + 1);
                if old.is_none_or(|old| old.len() <= whole) {
                    bytes.truncate(whole);
                } else if let Some(old) = old {
                    bytes.truncate(old.len());
                }
                (path, bytes)
            })
            .collect();
        if outcome.is_ok() && self.session.is_some() {
            self.torn = false;
        }
    }

    /// Opens everything again on a disk that works.
    pub(super) fn finish(mut self, what: &str) {
        self.session = None;
        let healthy = OpenOptions::new().index(IndexMode::Always);
        for (path, known) in self.logs() {
            let expected: &[String] = if is_main(&path) {
                &self.acknowledged
            } else {
                &[]
            };
            let session = healthy.open(&path).unwrap();
            assert_right(&session, &path, expected);
            drop(session);
            let session = healthy.clone().write(true).open(&path).unwrap();
            let new = if session.format() == Format::CodebotV3 {
                codebot::model_change("p", "last")
            } else {
                pi::model_change("p", "last")
            };
            session.append_entry(new, "main").unwrap();
            session.close().unwrap();
            let bytes = fs::read(&path).unwrap();
            let known = known.strip_suffix(b"\n").unwrap_or(&known);
            let whole = memchr::memrchr(b'\n', known).map_or(0, |last| last + 1);
            assert!(bytes.starts_with(&known[..whole]), "{what}: {path:?}");
            let session = healthy.open(&path).unwrap();
            assert_right(&session, &path, expected);
            let model = session.snapshot(At::Current).unwrap().model.unwrap();
            assert_eq!(model.model.as_deref(), Some("last"), "{what}");
        }
    }
}

/// Whether a file is the log of the session, by its name.
fn is_main(path: &Path) -> bool {
    path.file_stem().is_some_and(|stem| {
        let stem = stem.to_string_lossy();
        stem.ends_with("_s")
    })
}

fn is_fork(path: &Path) -> bool {
    path.file_stem()
        .is_some_and(|stem| stem.to_string_lossy().ends_with("_f"))
}

/// A session says what a reader without an index says, and has what was acknowledged.
#[track_caller]
pub(super) fn assert_right(session: &Session, path: &Path, acknowledged: &[String]) {
    let replay = Replay::open(path, ReadOptions::default()).unwrap();
    let ids = replay.entry_ids();
    for id in acknowledged {
        assert!(ids.contains(id), "{id} is lost");
        assert!(session.entry(id).unwrap().is_some(), "{id} is not found");
    }
    let (now, expected) = (session.overview().unwrap(), replay.overview());
    assert_eq!(
        (
            now.entries,
            now.records,
            now.report_count,
            now.name,
            now.lanes,
            now.labels
        ),
        (
            expected.entries,
            expected.records,
            expected.report_count,
            expected.name,
            expected.lanes,
            expected.labels
        )
    );
    // Where the conversation of a session stands that is open for writing is its own.
    if let Some(last) = ids.last() {
        let at = At::Leaf(last);
        assert_eq!(
            session.snapshot(at).map_err(|e| e.code()),
            replay.snapshot(at, false).map_err(|e| e.code())
        );
    }
}
