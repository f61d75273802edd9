//! The power goes at each moment of a session that flushes its appends. Whatever the disk kept then: what
//! was acknowledged is there, at most what was under way beside it, and one can go on.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::check::{read, told};
use super::faulty::Faulty;
use super::histories::said;
use super::images::{Choice, Image, Left};
use super::record::{Event, Recorder};
use crate::disk::{Disk, DiskRef};
use crate::{
    CreateOptions, Durability, ForkScope, Format, IndexMode, IndexState, OpenOptions, Repository,
    Session, SessionStorage, pi,
};

/// As many states of one moment are all looked at.
const ALL: f64 = 1024.0;
/// So many of the index are, at the least.
const SOME: u64 = 60;

/// The record of a history.
struct Record {
    base: tempfile::TempDir,
    disk: Arc<Recorder>,
    repository: Repository,
}

impl Record {
    fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let base = if memory.is_dir() {
            tempfile::tempdir_in(memory)
        } else {
            tempfile::tempdir()
        };
        let base = base.unwrap();
        let vault = base.path().join("vault");
        fs::create_dir(&vault).unwrap();
        let disk = Arc::new(Recorder::new(vault));
        let options = OpenOptions::new()
            .index(IndexMode::Always)
            .durability(Durability::Disk)
            .disk(DiskRef::new(disk.clone()));
        let repository = Repository::new(base.path().join("home/sessions")).with_options(options);
        fs::create_dir(base.path().join("home")).unwrap();
        Self {
            base,
            disk,
            repository,
        }
    }

    fn home(&self) -> PathBuf {
        self.base.path().join("home")
    }

    fn create(&self, format: Format) -> Session {
        let options = CreateOptions {
            id: Some("s1".to_owned()),
            format: Some(format),
            ..CreateOptions::in_folder("/work")
        };
        let session = self.repository.create(&options).unwrap();
        if session.log_path().exists() {
            self.say(&session);
        }
        session
    }

    /// A call was acknowledged.
    fn say(&self, session: &Session) {
        let items = told(session).unwrap();
        self.disk.say(session.log_path(), Some(items));
    }

    fn entry(&self, session: &Session, len: usize) {
        let text = "z".repeat(len);
        session
            .append_entry(said(session.format(), &text), "main")
            .unwrap();
        if session.log_path().exists() {
            self.say(session);
        }
    }

    /// Long enough that the time of the last change says something to the sidecar that comes then.
    fn sync(&self, session: &Session) {
        std::thread::sleep(Duration::from_millis(60));
        session.sync().unwrap();
    }

    /// What a program leaves that died while it wrote; then the session is opened again.
    fn tear(&self, session: Session) -> Session {
        let path = session.log_path().to_owned();
        session.close().unwrap();
        drop(session);
        self.disk
            .write_by_others(&path, b"{\"type\":\"message\",\"id\":\"torn");
        self.repository.open_path(&path).unwrap()
    }

    fn fork(&self, session: &Session) -> Session {
        let options = CreateOptions {
            id: Some("f1".to_owned()),
            ..CreateOptions::default()
        };
        let id = session.session_id();
        let fork = self.repository.fork(&id, &ForkScope::Tree, &options);
        let fork = fork.unwrap();
        self.say(&fork);
        fork
    }

    fn delete(&self, session: Session) {
        let path = session.log_path().to_owned();
        let id = session.session_id();
        drop(session);
        self.repository.delete(&id).unwrap();
        self.disk.say(&path, None);
    }
}

fn v4(record: &Record) {
    let session = record.create(Format::PiV4);
    record.entry(&session, 10);
    record.entry(&session, 700);
    record.sync(&session);
    session.set_name(Some("name")).unwrap();
    record.say(&session);
    let usage = pi::usage("main", "adjustment", r#"{"totalTokens":1}"#, None);
    session.append_record(usage).unwrap();
    record.say(&session);
    record.entry(&session, 9000);
    record.sync(&session);
    record.entry(&session, 3);
    let session = record.tear(session);
    record.entry(&session, 2000);
    record.entry(&session, 20_000);
    session.create_lane("side", None).unwrap();
    record.say(&session);
    record.sync(&session);
    let fork = record.fork(&session);
    record.entry(&fork, 20);
    record.delete(session);
}

fn v3(record: &Record) {
    let session = record.create(Format::PiV3);
    record.entry(&session, 10);
    session.set_name(Some("name")).unwrap();
    record.say(&session);
    record.sync(&session);
    record.entry(&session, 5000);
    record.entry(&session, 18_000);
    record.sync(&session);
    let session = record.tear(session);
    record.entry(&session, 300);
    record.delete(session);
}

fn codebot(record: &Record) {
    let session = record.create(Format::CodebotV3);
    record.entry(&session, 1500);
    record.sync(&session);
    record.entry(&session, 17_000);
    record.entry(&session, 2500);
    record.sync(&session);
    let session = record.tear(session);
    record.entry(&session, 10);
    let fork = record.fork(&session);
    record.entry(&fork, 100);
}

/// A session whose maker died before its name was on the disk.
fn unnamed(record: &Record) {
    let path = record.home().join("s.jsonl");
    let file = record.disk.create(&path).unwrap();
    let header = br#"{"kind":"header","version":4,"id":"s","createdAt":1,"cwd":"/w"}"#;
    record
        .disk
        .write_by_others(&path, &[header, &b"\n"[..]].concat());
    drop(file);
    let session = record.repository.open_path(&path).unwrap();
    record.entry(&session, 5);
    // Before a line of it was acknowledged the file was nobody's to look for.
    record.disk.begin();
    record.entry(&session, 600);
}

/// What sessions hold, by their files.
type Said = BTreeMap<PathBuf, Vec<String>>;

fn say(said: &mut Said, event: &Event) -> bool {
    match event {
        Event::Said(path, Some(items)) => {
            said.insert(path.clone(), items.clone());
        }
        Event::Said(path, None) => {
            said.remove(path);
        }
        _ => return false,
    }
    true
}

/// Looks at what the disk may have kept at each moment; at how many states, and in how many sidecars
/// that were believed.
fn power_cuts(history: fn(&Record), block: usize, samples: u64) -> (usize, usize) {
    let record = Record::new();
    history(&record);
    let events = record.disk.events();
    let mut left = Left::in_folder(&record.home());
    let mut acknowledged = Said::new();
    let mut seen = HashSet::new();
    let hasher = RandomState::new();
    let (mut all, mut believed) = (0, 0);
    for at in 0..=events.len() {
        if let Some(event) = at.checked_sub(1).map(|before| &events[before]) {
            left.take(event);
            say(&mut acknowledged, event);
        }
        // The call that is under way may have come to its end.
        let mut under_way = acknowledged.clone();
        let _ = events[at..].iter().any(|event| say(&mut under_way, event));

        if events[at..]
            .iter()
            .any(|event| matches!(event, Event::Begin))
        {
            continue;
        }
        let states = left.states(block);
        let is_all = states <= ALL;
        let count = if is_all { states as u64 } else { samples };
        for nth in 0..count.max(SOME) {
            let seed = 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(nth + 1) ^ (at as u64) << 32 | 1;
            // Of the sidecar most did arrive, or all, or some.
            let mut dice = match nth % 3 {
                0 => Choice::Late(seed, u64::MAX),
                1 => Choice::Late(seed, 20),
                _ => Choice::Dice(seed),
            };
            let mut choice = match (is_all, nth) {
                (true, _) | (false, 0) => Choice::Count(nth % count),
                _ => Choice::Dice(seed.rotate_left(17) | 1),
            };
            let image = left.image(block, &mut choice, &mut dice);
            if seen.insert(hasher.hash_one((&image, &acknowledged))) {
                all += 1;
                let tell = format!("after {at} of {} changes, state {nth}", events.len());
                lay_out(&image, record.base.path());
                believed += look(&record.home(), &acknowledged, &under_way)
                    .unwrap_or_else(|e| panic!("{tell}: {e}"));
            }
        }
    }
    (all, believed)
}

/// Puts a state in the place of what is there, each file the same as it was.
fn lay_out(image: &Image, base: &Path) {
    let home = base.join("home");
    fs::remove_dir_all(&home).unwrap();
    fs::create_dir(&home).unwrap();
    for folder in &image.folders {
        fs::create_dir(folder).unwrap();
    }
    for (path, (number, bytes, modified)) in &image.files {
        let file = base.join("vault").join(number.to_string());
        fs::write(&file, bytes).unwrap();
        let open = File::options().write(true).open(&file).unwrap();
        open.set_modified(*modified).unwrap();
        fs::hard_link(&file, path).unwrap();
    }
}

/// The sessions that a folder shows.
fn shown(home: &Path) -> Vec<PathBuf> {
    let mut shown = Vec::new();
    let mut folders = vec![home.to_owned()];
    while let Some(folder) = folders.pop() {
        for item in fs::read_dir(folder).unwrap() {
            let path = item.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "jsonl") {
                shown.push(path);
            }
        }
    }
    shown.sort();
    shown
}

/// Looks at what is left as readers see it, then writes to each session that is there. How many
/// sidecars were of use.
fn look(home: &Path, acknowledged: &Said, under_way: &Said) -> Result<usize, String> {
    let shown = shown(home);
    let mut believed = 0;
    for path in acknowledged.keys() {
        if under_way.contains_key(path) && !shown.contains(path) {
            return Err(format!("{} is gone", path.display()));
        }
    }
    for path in shown {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let told = |e: String| format!("{name}: {e}");
        let found = read(&path).map_err(told)?;
        let expected = [acknowledged.get(&path), under_way.get(&path)];
        if !expected.contains(&Some(&found)) {
            return Err(format!("{name} has {found:?}, expected {expected:?}"));
        }
        let write = || -> crate::Result<bool> {
            let options = OpenOptions::new()
                .index(IndexMode::Always)
                .disk(DiskRef::new(Arc::new(Faulty::planned(None))))
                .write(true);
            let session = options.open(&path)?;
            let state = session.index_status().state;
            let is_of_use = matches!(state, IndexState::Fresh | IndexState::Extended);
            session.append_entry(said(session.format(), "mark-99."), "main")?;
            session.close()?;
            Ok(is_of_use)
        };
        believed += usize::from(write().map_err(|e| format!("{name}: {e}"))?);
        let mut after = read(&path).map_err(told)?;
        let last = after.pop().unwrap_or_default();
        if after != found || !last.ends_with("mark-99") {
            return Err(format!("{name} has {after:?} and {last}, had {found:?}"));
        }
    }
    Ok(believed)
}

fn check(name: &str, history: fn(&Record), samples: u64, least: usize) {
    let mut all = 0;
    for block in [512, 4096] {
        let (states, sidecars) = power_cuts(history, block, samples);
        println!(
            "{name}: {states} states in blocks of {block} bytes, with {sidecars} sidecars of use"
        );
        assert!(sidecars > 100, "only {sidecars} sidecars of use");
        all += states;
    }
    assert!(all > least, "only {all} states");
}

#[test]
fn a_power_cut_leaves_a_file_whose_maker_died_before_its_name_was_flushed() {
    let (states, _) = power_cuts(unnamed, 512, 700);
    assert!(states > 50, "only {states} states");
}

#[test]
fn a_power_cut_in_a_pi_v4_session_leaves_what_was_acknowledged() {
    check("pi v4", v4, 700, 5000);
}

#[test]
fn a_power_cut_in_a_pi_v3_session_leaves_what_was_acknowledged() {
    check("pi v3", v3, 700, 2000);
}

#[test]
fn a_power_cut_in_a_codebot_session_leaves_what_was_acknowledged() {
    check("codebot", codebot, 700, 2000);
}
