//! Makes calls of a repository whose disk may fail, keeps the list of those that were acknowledged, and
//! looks after each failure whether anything else is there: for the session itself, and for others.

mod calls;

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

use super::check::{Change, Model, read, told};
use super::faulty::{Fault, Faulty, Op};
use crate::disk::DiskRef;
use crate::{
    CreateOptions, Durability, Error, ForkScope, Format, IndexMode, OpenOptions, Reading,
    Repository, Session, SessionStorage,
};

/// A session that calls are made of.
pub(super) struct Known {
    pub(super) id: String,
    path: PathBuf,
    model: Model,
    /// The ids that the test gave, by place.
    ids: HashMap<usize, String>,
    /// A call that failed and could not be undone may count.
    maybe: Option<Change>,
    /// Whether it has a file.
    saved: bool,
}

/// One run of a history.
pub(super) struct Run {
    pub(super) format: Format,
    folder: TempDir,
    disk: Arc<Faulty>,
    plan: Option<(usize, Fault)>,
    options: OpenOptions,
    repository: Repository,
    /// The same place on a disk that does not fail and does nothing.
    others: Repository,
    known: Vec<Known>,
    session: Option<Session>,
    /// Which of those that are known is open.
    now: usize,
    made: usize,
    pub(super) calls: usize,
}

impl Run {
    pub(super) fn new(
        format: Format,
        durability: Durability,
        plan: Option<(usize, Fault)>,
    ) -> Self {
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() {
            tempfile::tempdir_in(memory)
        } else {
            tempfile::tempdir()
        };
        let folder = folder.unwrap();
        let disk = Arc::new(Faulty::planned(plan));
        let options = OpenOptions::new()
            .index(IndexMode::Always)
            .durability(durability);
        let place = folder.path().join("sessions");
        let faulty = options.clone().disk(DiskRef::new(disk.clone()));
        Self {
            format,
            repository: Repository::new(&place).with_options(faulty.clone()),
            options: faulty,
            others: Repository::new(&place).with_options(options.disk(Faulty::dead())),
            folder,
            disk,
            plan,
            known: Vec::new(),
            session: None,
            now: 0,
            made: 0,
            calls: 0,
        }
    }

    pub(super) fn trace(&self) -> Vec<Op> {
        self.disk.trace()
    }

    pub(super) fn has_tripped(&self) -> bool {
        self.disk.has_tripped()
    }

    fn known(&mut self) -> &mut Known {
        &mut self.known[self.now]
    }

    /// A word that comes once.
    pub(super) fn mark(&mut self) -> String {
        self.made += 1;
        format!("mark-{}.", self.made)
    }

    /// An id that was not used, as the format wants it.
    fn new_id(&mut self) -> String {
        self.made += 1;
        format!(
            "{:08x}",
            0xE000_0000_u32 + u32::try_from(self.made).unwrap()
        )
    }

    /// An error is only for a fault, and says something.
    fn expect_fault(&self, doing: &str, error: &Error) {
        let plan = self.plan;
        assert!(
            self.has_tripped(),
            "{doing} failed without a fault: {error} ({plan:?})"
        );
        assert!(!error.message().is_empty());
    }

    /// Looks at all sessions as others see them, and at the one that is open as it sees itself.
    pub(super) fn look(&mut self, doing: &str) {
        let tell = format!("{doing}, {:?}", self.plan);
        for known in &self.known {
            if !known.saved {
                assert!(!known.path.exists(), "{tell}: {} has a file", known.id);
                continue;
            }
            let found = read(&known.path).unwrap_or_else(|e| panic!("{tell}: {}: {e}", known.id));
            let maybe = known.maybe.as_ref().map(|change| known.model.with(change));
            assert!(
                found == known.model.items || maybe.is_some_and(|maybe| found == maybe.items),
                "{tell}: {} has\n{found:#?}\nbut should have\n{:#?}",
                known.id,
                known.model.items
            );
        }
        if let Some(session) = &self.session {
            let own = told(session).unwrap_or_else(|e| panic!("{tell}: own: {e}"));
            let known = &self.known[self.now];
            assert_eq!(own, known.model.items, "{tell}: of its own");
            if known.saved && known.maybe.is_none() {
                let other = OpenOptions::new().disk(Faulty::dead()).open(&known.path);
                let lanes = other.and_then(|other| other.lanes()).unwrap();
                assert_eq!(session.lanes().unwrap(), lanes, "{tell}");
            }
        }
    }

    /// Makes a session and goes on with it.
    pub(super) fn create(&mut self) {
        for _ in 0..3 {
            self.calls += 1;
            let id = format!("s{}", self.new_id());
            let options = CreateOptions {
                id: Some(id.clone()),
                format: Some(self.format),
                ..CreateOptions::in_folder("/work")
            };
            self.session = None;
            match self.repository.create(&options) {
                Ok(session) => {
                    let mut model = Model::default();
                    if self.format == Format::CodebotV3 {
                        // Its header is an entry, the one that all others go on from.
                        model
                            .items
                            .push("entry header on main behind - ".to_owned());
                    }
                    return self.add(session, model);
                }
                Err(error) => {
                    self.expect_fault("create", &error);
                    self.expect_none(&id);
                    self.look("create failed");
                }
            }
            if self.disk.is_dead() {
                return;
            }
        }
        panic!("create failed three times: {:?}", self.plan);
    }

    fn add(&mut self, session: Session, model: Model) {
        self.now = self.known.len();
        self.known.push(Known {
            id: session.session_id(),
            path: session.log_path().to_owned(),
            saved: session.log_path().exists(),
            model,
            ids: HashMap::new(),
            maybe: None,
        });
        self.session = Some(session);
    }

    /// A session whose making failed is not there; where it could not be taken back it is whole.
    fn expect_none(&self, id: &str) {
        let plan = self.plan;
        match self.others.open_read_only(id) {
            Err(error) => assert_eq!(error.code(), crate::Code::NotFound, "{plan:?}: {error}"),
            Ok(session) => {
                assert!(self.disk.is_stuck(), "{id} came to be: {plan:?}");
                read(session.log_path()).unwrap_or_else(|e| panic!("{id}: {plan:?}: {e}"));
            }
        }
    }

    /// Ends the session that is open, without a word.
    pub(super) fn close(&mut self) {
        self.calls += 1;
        let Some(session) = self.session.take() else {
            return;
        };
        let closed = session.close();
        assert!(closed.is_ok(), "{closed:?} ({:?})", self.plan);
        self.calls += 1;
        assert!(session.log(None, None).is_err());
    }

    /// Opens one that was closed, and finds what it has.
    pub(super) fn open(&mut self, nth: usize) {
        self.calls += 1;
        if nth >= self.known.len() || !self.known[nth].saved {
            return;
        }
        self.session = None;
        self.now = nth;
        let path = self.known().path.clone();
        let session = self.repository.open_path(&path);
        let session = session.unwrap_or_else(|e| panic!("{e} ({:?})", self.plan));
        let found = told(&session).unwrap();
        let known = self.known();
        if let Some(change) = known.maybe.take() {
            let with = known.model.with(&change);
            if found == with.items {
                known.model = with;
            }
        }
        let plan = self.plan;
        assert_eq!(found, self.known().model.items, "{plan:?}");
        self.session = Some(session);
    }

    /// Flushes log and index.
    pub(super) fn sync(&mut self) {
        for _ in 0..3 {
            self.calls += 1;
            let Some(session) = &self.session else { return };
            let Err(error) = session.sync() else { return };
            self.expect_fault("sync", &error);
            self.look("sync");
            if self.disk.is_dead() {
                return;
            }
            self.open(self.now);
        }
        panic!("sync failed three times: {:?}", self.plan);
    }

    /// Ends the session, adds half a line to its log as a dying program would, and opens it again.
    pub(super) fn tear(&mut self) {
        self.close();
        let now = self.now;
        if !self.known.get(now).is_some_and(|known| known.saved) {
            return;
        }
        if self.disk.is_dead() {
            return;
        }
        let mut log = std::fs::File::options();
        let mut log = log.append(true).open(&self.known().path).unwrap();
        log.write_all(b"{\"kind\":\"entry\",\"type\":\"message\",\"id\":\"torn")
            .unwrap();
        self.open(now);
    }

    /// Makes a fork of the session that is open, and goes on with the fork.
    pub(super) fn fork(&mut self) {
        self.copy("fork", |run, id| {
            let options = CreateOptions {
                id: Some(id.to_owned()),
                ..CreateOptions::default()
            };
            let source = run.known[run.now].id.clone();
            run.repository.fork(&source, &ForkScope::Tree, &options)
        });
    }

    /// Makes a session of pi v4 of the one that is open, and goes on with that.
    pub(super) fn convert(&mut self) {
        self.copy("convert", |run, id| {
            let source = run.known[run.now].path.clone();
            let target = run.folder.path().join(format!("{id}.jsonl"));
            let options = run.options.clone();
            crate::convert(&source, &target, Format::PiV4, &options)?;
            options.write(true).open(&target)
        });
    }

    fn copy(&mut self, doing: &str, make: impl Fn(&Self, &str) -> crate::Result<Session>) {
        for _ in 0..3 {
            self.calls += 1;
            let Some(session) = &self.session else { return };
            let messages = session.snapshot(crate::At::Current).unwrap().messages;
            let id = format!("f{}", self.new_id());
            match make(self, &id) {
                Ok(copy) => {
                    let own = copy.snapshot(crate::At::Current).unwrap().messages;
                    assert_eq!(own, messages, "{doing}: {:?}", self.plan);
                    let items = read(copy.log_path()).unwrap();
                    let mut model = Model {
                        items,
                        ..Model::default()
                    };
                    let leaf = model
                        .items
                        .iter()
                        .rposition(|item| item.starts_with("entry"));
                    model.lanes.insert("main".to_owned(), leaf);
                    self.session = None;
                    return self.add(copy, model);
                }
                Err(error) => {
                    self.expect_fault(doing, &error);
                    self.expect_none(&id);
                    self.look(doing);
                }
            }
            if self.disk.is_dead() {
                return;
            }
        }
        panic!("{doing} failed three times: {:?}", self.plan);
    }

    /// Removes the session that is open.
    pub(super) fn delete(&mut self) {
        if self.known.is_empty() || !self.known().saved {
            return;
        }
        self.session = None;
        let (id, path) = (self.known().id.clone(), self.known().path.clone());
        for _ in 0..3 {
            self.calls += 1;
            let deleted = self.repository.delete(&id);
            if let Err(error) = &deleted {
                self.expect_fault("delete", error);
            }
            if !path.exists() {
                // If it was an error, only the flush of the folder is missing.
                let rest = names(path.parent().unwrap(), path.file_name().unwrap());
                assert_eq!(rest, Vec::<String>::new(), "{:?}", self.plan);
                self.known.remove(self.now);
                self.now = 0;
                self.look("delete");
                return;
            }
            assert!(deleted.is_err());
            self.look("delete failed");
            if self.disk.is_dead() {
                return;
            }
        }
        panic!("delete failed three times: {:?}", self.plan);
    }

    /// Everything with a disk that is well again: what was acknowledged is there and can be gone on
    /// with, and nothing half is left lying about.
    pub(super) fn end(mut self) {
        if let Some(session) = self.session.take() {
            // A session that met a fault at its end loses its index, not its lines.
            let _ = session.close();
        }
        self.look("at the end");
        let options = OpenOptions::new().index(IndexMode::Always);
        let repository =
            Repository::new(self.folder.path().join("sessions")).with_options(options.clone());
        for known in self.known.iter().filter(|known| known.saved) {
            let tell = format!("{} after {:?}", known.id, self.plan);
            let session = repository
                .open_path(&known.path)
                .unwrap_or_else(|e| panic!("{tell}: {e}"));
            let mut items = told(&session).unwrap();
            session.set_name(Some("after")).unwrap();
            session.close().unwrap();
            let found = options
                .clone()
                .reading(Reading::Read)
                .verify(&known.path)
                .unwrap();
            assert!(found.is_clean(), "{tell}: {found:?}");
            let mut after = read(&known.path).unwrap_or_else(|e| panic!("{tell}: {e}"));
            after.pop();
            if let Some(with) = known.maybe.as_ref().map(|change| known.model.with(change))
                && items == with.items
            {
                items.pop();
                after.pop();
            }
            assert_eq!(items, known.model.items, "{tell}");
            assert_eq!(after, known.model.items, "{tell}");
        }
        let options = CreateOptions {
            id: Some("last".to_owned()),
            format: Some(self.format),
            ..CreateOptions::in_folder("/work")
        };
        let last = repository.create(&options).unwrap();
        last.append_entry(super::histories::said(self.format, "mark-0."), "main")
            .unwrap();
        let folder = last.log_path().parent().unwrap();
        let drafts = names(folder, std::ffi::OsStr::new(".leaflog-"));
        assert_eq!(drafts, Vec::<String>::new(), "{:?}", self.plan);
    }
}

/// The names in a folder that begin like one.
fn names(folder: &Path, start: &std::ffi::OsStr) -> Vec<String> {
    let start = start.to_str().unwrap();
    let items = std::fs::read_dir(folder).unwrap();
    items
        .map(|item| item.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with(start))
        .collect()
}
