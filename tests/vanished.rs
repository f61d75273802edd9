//! Other programs remove, replace and cut the files of a session that is open: it gives the right
//! answer or says what happened, and writes nothing into nowhere.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use leaflog::generate::Shape;
use leaflog::{
    At, Code, Durability, EntryQuery, Error, Format, IndexMode, IndexState, OpenOptions, Reading,
    Session, SessionStorage, pi,
};
use tempfile::TempDir;

/// What another program does to a log.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Deed {
    Removed,
    Replaced,
    Halved,
    Emptied,
    FolderRemoved,
    FolderMoved,
}

const DEEDS: [Deed; 6] = [
    Deed::Removed,
    Deed::Replaced,
    Deed::Halved,
    Deed::Emptied,
    Deed::FolderRemoved,
    Deed::FolderMoved,
];

fn log(format: Format, entries: u64, seed: u64) -> Vec<u8> {
    let mut log = Vec::new();
    let shape = Shape::new(format, entries).payload(300).seed(seed);
    shape.write_to(&mut log).expect("written");
    log
}

/// A log in a folder of its own within another one.
struct Place {
    base: TempDir,
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Place {
    fn new(format: Format) -> Self {
        let base = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let base = base.expect("a folder");
        let folder = base.path().join("sessions");
        fs::create_dir(&folder).expect("a folder");
        let path = folder.join("s.jsonl");
        let bytes = log(format, 60, 1);
        fs::write(&path, &bytes).expect("written");
        Self { base, path, bytes }
    }

    fn folder(&self) -> PathBuf {
        self.base.path().join("sessions")
    }

    fn cut(&self, len: usize) {
        let file = File::options().write(true).open(&self.path);
        let len = u64::try_from(len).expect("small");
        file.and_then(|file| file.set_len(len)).expect("cut");
    }

    fn suffer(&self, deed: Deed) {
        match deed {
            Deed::Removed => fs::remove_file(&self.path).expect("removed"),
            Deed::Replaced => {
                let other = self.base.path().join("other");
                fs::write(&other, log(Format::PiV4, 70, 2)).expect("written");
                fs::rename(other, &self.path).expect("renamed");
            }
            Deed::Halved => self.cut(self.bytes.len() / 2),
            Deed::Emptied => self.cut(0),
            Deed::FolderRemoved => fs::remove_dir_all(self.folder()).expect("removed"),
            Deed::FolderMoved => {
                fs::rename(self.folder(), self.base.path().join("moved")).expect("moved");
            }
        }
    }

    /// All files below the place with their bytes, sidecars left out.
    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        let mut folders = vec![self.base.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for item in fs::read_dir(folder).expect("a folder") {
                let path = item.expect("an item").path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_none_or(|end| end != "idx") {
                    let bytes = fs::read(&path).expect("bytes");
                    files.push((path, bytes));
                }
            }
        }
        files.sort();
        files
    }
}

type Question = fn(&Session) -> Result<String, Error>;

/// All kinds of questions, their answers as text.
const QUESTIONS: [Question; 8] = [
    |session| session.overview().map(|it| format!("{it:?}")),
    |session| session.snapshot(At::Current).map(|it| format!("{it:?}")),
    |session| session.path(At::Current).map(|it| format!("{it:?}")),
    |session| session.tree().map(|it| format!("{it:?}")),
    |session| session.entry("0000002a").map(|it| format!("{it:?}")),
    |session| session.log(None, None).map(|it| format!("{it:?}")),
    |session| session.lanes().map(|it| format!("{it:?}")),
    |session| {
        let all = EntryQuery::default();
        session.find_entries(&all).map(|it| format!("{it:?}"))
    },
];

fn answers(session: &Session) -> Vec<Result<String, Error>> {
    QUESTIONS.iter().map(|ask| ask(session)).collect()
}

/// Each answer is the one of before, or says that the log was cut.
fn right_or_cut(session: &Session, before: &[Result<String, Error>], tell: &str) -> usize {
    let mut cut = 0;
    for (now, then) in answers(session).into_iter().zip(before) {
        match (now, then) {
            (Ok(now), Ok(then)) => assert_eq!(now, *then, "{tell}"),
            (Err(error), _) => {
                assert_eq!(error.code(), Code::InvalidEntry, "{tell}: {error}");
                assert!(error.message().contains("log truncated"), "{tell}: {error}");
                cut += 1;
            }
            (Ok(_), Err(error)) => panic!("{tell}: {error}"),
        }
    }
    cut
}

fn reading(reading: Reading, index: &IndexMode) -> OpenOptions {
    OpenOptions::new().reading(reading).index(index.clone())
}

#[test]
fn a_reader_answers_on_or_says_that_its_log_was_cut() {
    for deed in DEEDS {
        for mode in [Reading::Map, Reading::Read] {
            for index in [IndexMode::Always, IndexMode::Memory] {
                let tell = format!("{deed:?}, {mode:?}, {index:?}");
                let place = Place::new(Format::PiV4);
                let session = reading(mode, &index).open(&place.path).expect("opens");
                let before = answers(&session);
                place.suffer(deed);
                let files = place.files();
                let cut = right_or_cut(&session, &before, &tell);
                let is_cut = matches!(deed, Deed::Halved | Deed::Emptied);
                assert_eq!(cut > 0, is_cut, "{tell}");

                let refreshed = session.refresh();
                match deed {
                    Deed::Removed | Deed::FolderRemoved | Deed::FolderMoved => {
                        assert_eq!(refreshed.expect_err(&tell).code(), Code::NotFound);
                        assert_eq!(right_or_cut(&session, &before, &tell), 0);
                    }
                    Deed::Emptied => {
                        assert_eq!(refreshed.expect_err(&tell).code(), Code::InvalidEntry);
                    }
                    Deed::Replaced | Deed::Halved => {
                        assert!(refreshed.expect(&tell), "{tell}");
                        let fresh = Session::open(&place.path).expect("opens");
                        for (own, other) in answers(&session).into_iter().zip(answers(&fresh)) {
                            assert_eq!(own.expect(&tell), other.expect(&tell), "{tell}");
                        }
                    }
                }
                drop(session);
                assert_eq!(place.files(), files, "{tell}");
            }
        }
    }
}

#[test]
fn a_writer_says_what_happened_to_its_log_and_writes_nothing() {
    for deed in DEEDS {
        for durability in [Durability::Process, Durability::Disk] {
            let tell = format!("{deed:?}, {durability:?}");
            let place = Place::new(Format::PiV4);
            let options = reading(Reading::Map, &IndexMode::Always);
            let options = options.write(true).durability(durability);
            let session = options.open(&place.path).expect("opens");
            let note = || pi::custom("note", Some("1"));
            session.append_entry(note(), "main").expect("appends");
            place.suffer(deed);
            let files = place.files();

            let code = match deed {
                Deed::Replaced => Code::Storage,
                Deed::Halved | Deed::Emptied => Code::InvalidEntry,
                _ => Code::NotFound,
            };
            let told = |error: Error| {
                assert_eq!(error.code(), code, "{tell}: {error}");
                assert!(error.message().contains("since it was opened"), "{tell}");
            };
            // Appends that follow each other closely are not preceded by a look each.
            std::thread::sleep(std::time::Duration::from_millis(2));
            told(session.append_entry(note(), "main").expect_err(&tell));
            told(session.set_name(Some("x")).expect_err(&tell));
            told(session.sync().expect_err(&tell));
            let _ = session.close();
            drop(session);
            assert_eq!(place.files(), files, "{tell}");
            assert_eq!(
                place.folder().exists(),
                deed != Deed::FolderRemoved && deed != Deed::FolderMoved
            );
            if deed == Deed::Removed {
                let sidecars: Vec<_> = fs::read_dir(place.folder()).expect("a folder").collect();
                assert!(sidecars.len() <= 1, "{sidecars:?}");
            }
        }
    }
}

#[test]
fn a_log_that_was_removed_or_moved_gets_no_sidecar_when_its_writer_ends() {
    for deed in [Deed::Removed, Deed::FolderRemoved, Deed::FolderMoved] {
        let place = Place::new(Format::PiV4);
        let options = OpenOptions::new();
        let session = options.clone().write(true).index(IndexMode::Always);
        let sidecar = place.path.with_extension("jsonl.idx");
        let session = session.open(&place.path).expect("opens");
        let _ = fs::remove_file(&sidecar);
        session
            .append_entry(pi::custom("note", None), "main")
            .expect("appends");
        place.suffer(deed);
        session.close().expect("closes");
        assert!(!sidecar.exists(), "{deed:?}");
        assert!(!place.path.exists(), "{deed:?}");
    }
}

#[test]
fn a_follower_says_what_happened_to_its_log() {
    for deed in DEEDS {
        for mode in [Reading::Map, Reading::Read] {
            let tell = format!("{deed:?}, {mode:?}");
            let place = Place::new(Format::PiV4);
            let session = reading(mode, &IndexMode::Memory).open(&place.path);
            let session = session.expect("opens");
            let mut lines = session.follow().expect("follows");
            for _ in 0..20 {
                lines.next().expect("a line").expect("a good line");
            }
            place.suffer(deed);
            // What was read ahead may still come, then the end or an error.
            let mut told = lines.by_ref().take(100).find_map(Result::err);
            if told.is_none() {
                told = lines.refresh().err();
            }
            let code = match deed {
                Deed::Replaced => Code::Storage,
                Deed::Halved | Deed::Emptied => Code::InvalidEntry,
                _ => Code::NotFound,
            };
            let told = told.unwrap_or_else(|| panic!("{tell}: nothing was said"));
            assert_eq!(told.code(), code, "{tell}: {told}");
        }
    }
}

fn cut_file(path: &Path, len: u64) {
    let file = File::options().write(true).open(path).expect("opens");
    file.set_len(len).expect("cut");
}

#[test]
fn a_sidecar_that_is_cut_where_it_is_mapped_is_rebuilt() {
    let place = Place::new(Format::PiV4);
    fs::write(&place.path, log(Format::PiV4, 1200, 3)).expect("written");
    let sidecar = place.path.with_extension("jsonl.idx");
    let options = reading(Reading::Map, &IndexMode::Always);
    // A log this young is hashed at each open, and its sidecar written anew then.
    std::thread::sleep(std::time::Duration::from_millis(60));
    let before = answers(&options.open(&place.path).expect("opens"));
    let cuts: [fn(u64) -> u64; 8] = [
        |_| 0,
        |_| 1,
        |_| 4096,
        |_| 4097,
        |_| 8192,
        |len| len / 2,
        |len| len - 4096,
        |len| len - 1,
    ];
    for (nth, cut) in cuts.iter().enumerate() {
        let now = || cut(fs::metadata(&sidecar).expect("a sidecar").len());
        for (ask, then) in QUESTIONS.iter().zip(&before) {
            let session = options.open(&place.path).expect("opens");
            assert_eq!(session.index_status().state, IndexState::Fresh);
            cut_file(&sidecar, now());
            let now = ask(&session).expect("an answer");
            assert_eq!(now, *then.as_ref().expect("an answer"), "cut {nth}");
            // The questions that the index has no part in leave it cut; the next one mends it.
            assert_eq!(right_or_cut(&session, &before, "cut"), 0);
            assert_eq!(session.index_status().state, IndexState::Rebuilt);
        }
        // The same for one that only looks for what is new.
        let session = options.open(&place.path).expect("opens");
        cut_file(&sidecar, now());
        assert!(!session.refresh().expect("refreshes"));
        assert_eq!(right_or_cut(&session, &before, "cut"), 0);
    }
}

#[test]
fn a_writer_whose_sidecar_is_cut_goes_on() {
    let place = Place::new(Format::PiV4);
    fs::write(&place.path, log(Format::PiV4, 1200, 3)).expect("written");
    let sidecar = place.path.with_extension("jsonl.idx");
    let options = reading(Reading::Map, &IndexMode::Always).write(true);
    drop(options.open(&place.path).expect("opens"));
    let len = fs::metadata(&sidecar).expect("a sidecar").len();
    for (nth, cut) in [0, 4096, len / 2, len - 1].into_iter().enumerate() {
        let id = |what: &str| format!("{what}-{nth}");
        let append = |session: &Session, what: &str| {
            let new = pi::custom("note", None).with_id(id(what));
            session.append_entry(new, "main").expect("appends")
        };
        let session = options.open(&place.path).expect("opens");
        append(&session, "before");
        cut_file(&sidecar, cut);
        append(&session, "after");
        let taken = pi::custom("note", None).with_id(id("before"));
        let error = session.append_entry(taken, "main").expect_err("taken");
        assert_eq!(error.code(), Code::AlreadyExists);
        cut_file(&sidecar, cut);
        session.sync().expect("syncs");
        append(&session, "last");
        cut_file(&sidecar, cut.min(8192));
        session.close().expect("closes");

        let session = options.open(&place.path).expect("opens");
        for what in ["before", "after", "last"] {
            assert!(session.entry(&id(what)).expect("answers").is_some());
        }
        session.close().expect("closes");
        let found = OpenOptions::new().verify(&place.path).expect("verifies");
        assert!(found.is_clean(), "{found:?}");
    }
}

#[test]
fn a_log_that_is_read_and_not_mapped_may_be_cut_at_any_point() {
    for format in [Format::PiV4, Format::PiV3, Format::CodebotV3] {
        let place = Place::new(format);
        let options = reading(Reading::Read, &IndexMode::Memory);
        let mut cuts = 0;
        for at in (0..place.bytes.len()).step_by(307) {
            fs::write(&place.path, &place.bytes).expect("written");
            let session = options.open(&place.path).expect("opens");
            let before = answers(&session);
            let mut lines = session.follow().expect("follows");
            let first = lines.next().expect("a line").expect("a good line");
            place.cut(at);
            cuts += right_or_cut(&session, &before, &format!("{format}, {at}"));
            for line in lines.by_ref() {
                match line {
                    Ok(line) => assert!(line.offset > first.offset),
                    Err(error) => assert_eq!(error.code(), Code::InvalidEntry, "{error}"),
                }
            }
            // What was read up to there may be what is left.
            match lines.refresh() {
                Err(error) => assert_eq!(error.code(), Code::InvalidEntry, "{error}"),
                Ok(_) => assert!(lines.offset() <= u64::try_from(at).expect("small")),
            }
        }
        assert!(cuts > 300, "only {cuts}");
    }
}

#[test]
fn a_log_that_is_read_and_not_mapped_may_be_cut_while_it_answers() {
    let place = Place::new(Format::PiV4);
    let bytes = log(Format::PiV4, 200, 5);
    fs::write(&place.path, &bytes).expect("written");
    let options = reading(Reading::Read, &IndexMode::Always);
    let session = options.open(&place.path).expect("opens");
    let before = answers(&session);
    let is_over = AtomicBool::new(false);
    let (mut cut, mut right) = (0, 0);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let file = File::options().write(true).open(&place.path);
            let file = file.expect("opens");
            let mut at = 1;
            while !is_over.load(Ordering::Relaxed) {
                at = (at * 7919 + 12_345) % bytes.len();
                file.set_len(u64::try_from(at).expect("small"))
                    .expect("cut");
                std::thread::yield_now();
                // The bytes come back from the front, so that there is never another one among them.
                let rest = bytes.get(at..).expect("a rest");
                let at = u64::try_from(at).expect("small");
                #[cfg(unix)]
                std::os::unix::fs::FileExt::write_all_at(&file, rest, at).expect("written");
                #[cfg(windows)]
                std::os::windows::fs::FileExt::seek_write(&file, rest, at).expect("written");
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
        });
        for round in 0..10_000 {
            let met = right_or_cut(&session, &before, "while it answers");
            cut += met;
            right += QUESTIONS.len() - met;
            if met > 0 {
                std::thread::sleep(std::time::Duration::from_micros(100));
            }
            if round >= 100 && cut > 20 && right > 20 {
                break;
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    println!("{cut} answers met a cut, {right} did not");
    assert!(cut > 0 && right > 0, "{cut} met a cut, {right} did not");
    assert_eq!(right_or_cut(&session, &before, "in the end"), 0);
}
