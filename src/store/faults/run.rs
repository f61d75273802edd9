//! Makes calls of a repository whose disk may fail, keeps the list of those that were acknowledged, and
//! looks after each failure whether anything else is there: for the session itself, and for others.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

use super::check::{Change, Model, place, read, told};
use super::faulty::{Fault, Faulty, Op};
use crate::disk::DiskRef;
use crate::{
    CreateOptions, Durability, Error, ForkScope, Format, IndexMode, NewEntry, NewRecord,
    OpenOptions, Reading, Repository, Session, SessionStorage,
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

    /// Makes a call that changes the session that is open, again if it fails.
    fn change(
        &mut self,
        doing: &str,
        change: &Change,
        call: impl Fn(&Session) -> crate::Result<()>,
    ) {
        for _ in 0..3 {
            self.calls += 1;
            let Some(session) = &self.session else { return };
            match call(session) {
                Ok(()) => {
                    let known = self.known();
                    known.model = known.model.with(change);
                    known.saved |= known.path.exists();
                    return;
                }
                Err(error) => {
                    self.expect_fault(doing, &error);
                    let is_stuck = self.disk.is_stuck();
                    let known = self.known();
                    if known.path.exists() && (is_stuck || known.saved) {
                        // A new file that could not be taken back is there, whole.
                        known.saved = true;
                        if is_stuck && known.maybe.is_none() {
                            known.maybe = Some(change.clone());
                        }
                    }
                    self.look(doing);
                    if self.disk.is_dead() {
                        return;
                    }
                    let takes_more = error.message().contains("takes no more writes");
                    if takes_more || is_stuck {
                        let had = self.known().model.items.len();
                        self.open(self.now);
                        if self.known().model.items.len() > had {
                            return;
                        }
                    }
                }
            }
        }
        panic!("{doing} failed three times: {:?}", self.plan);
    }

    /// Appends an entry; its place in the session.
    pub(super) fn entry(&mut self, lane: &str, of: impl Fn(&str) -> NewEntry) -> usize {
        if self.session.is_none() {
            return 0;
        }
        let (id, mark) = (self.new_id(), self.mark());
        let new = of(&mark);
        let told = told_mark(new.fields(), &mark);
        let parent = place(self.known().model.leaf(lane));
        let change = Change {
            item: format!("entry {} on {lane} behind {parent} {}", new.kind(), told),
            lane: Some(lane.to_owned()),
            leaf: None,
        };
        let at = self.known().model.items.len();
        self.known().ids.insert(at, id.clone());
        self.change("entry", &change, |session| {
            let new = new.clone().with_id(&id);
            session.append_entry(new, lane).map(|_| ())
        });
        at
    }

    /// Appends a record; its place.
    pub(super) fn record(&mut self, lane: &str, of: impl Fn(&str) -> NewRecord) -> usize {
        if self.session.is_none() {
            return 0;
        }
        let (id, mark) = (self.new_id(), self.mark());
        let new = of(&mark);
        let told = told_mark(new.fields(), &mark);
        let change = Change {
            item: format!("record {} on {lane} {}", new.kind(), told),
            lane: None,
            leaf: None,
        };
        let at = self.known().model.items.len();
        self.known().ids.insert(at, id.clone());
        self.change("record", &change, |session| {
            let new = new.clone().with_id(&id);
            session.append_record(new).map(|_| ())
        });
        at
    }

    /// The id of a line that the test gave one.
    pub(super) fn id(&mut self, at: usize) -> String {
        let ids = self.known.get(self.now).map(|known| &known.ids);
        ids.and_then(|ids| ids.get(&at))
            .cloned()
            .unwrap_or_default()
    }

    pub(super) fn lane(&mut self, name: &str, at: Option<usize>, is_new: bool) {
        if self.session.is_none() {
            return;
        }
        let id = at.map(|at| self.id(at));
        let change = Change {
            item: format!("lane {name} at {}", place(at)),
            lane: Some(name.to_owned()),
            leaf: Some(at),
        };
        self.change("lane", &change, |session| {
            if is_new {
                session.create_lane(name, id.as_deref())
            } else {
                session.move_lane(name, id.as_deref())
            }
        });
    }

    pub(super) fn name(&mut self, name: Option<&str>) {
        if self.session.is_none() {
            return;
        }
        let change = if self.format.has_lanes() {
            Change {
                item: format!("name {name:?}"),
                lane: None,
                leaf: None,
            }
        } else {
            let parent = place(self.known().model.leaf("main"));
            Change {
                item: format!("entry session_info on main behind {parent} "),
                lane: Some("main".to_owned()),
                leaf: None,
            }
        };
        self.change("name", &change, |session| session.set_name(name));
    }

    pub(super) fn label(&mut self, at: usize, label: Option<&str>) {
        if self.session.is_none() {
            return;
        }
        let id = self.id(at);
        let change = if self.format.has_lanes() {
            Change {
                item: format!("label #{at} {label:?}"),
                lane: None,
                leaf: None,
            }
        } else {
            let parent = place(self.known().model.leaf("main"));
            Change {
                item: format!("entry label on main behind {parent} "),
                lane: Some("main".to_owned()),
                leaf: None,
            }
        };
        self.change("label", &change, |session| session.set_label(&id, label));
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

/// A mark as it is told of a payload that may have it.
fn told_mark<'m>(fields: &str, mark: &'m str) -> &'m str {
    if fields.contains(mark) {
        mark.trim_end_matches('.')
    } else {
        ""
    }
}
