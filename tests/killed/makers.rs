//! Processes that are killed while they make a file: a fork, a converted session, a sidecar. It is there
//! whole or not at all, its source is as it was, and the next one who makes one tidies up.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use leaflog::generate::Shape;
use leaflog::{
    CreateOptions, ForkScope, Format, IndexMode, IndexState, OpenOptions, Session, SessionStorage,
    convert,
};

use super::{HEADER, Said, check, killed, message, options, program};

/// What makes a new file of a log.
type Make = fn(&Path, &Path) -> leaflog::Result<()>;

/// All that make a new session, and the format of their source.
const MAKERS: [(&str, Format, Make); 2] = [
    ("fork", Format::PiV4, |source, target| {
        let session = Session::open(source)?;
        let forked = session.fork_to(target, &ForkScope::Tree, &CreateOptions::default());
        forked.map(|_| ())
    }),
    ("convert", Format::PiV3, |source, target| {
        convert(source, target, Format::PiV4, &OpenOptions::new()).map(|_| ())
    }),
];

/// The child of the tests below: does one thing without end, and says each time that it is done. Does
/// nothing when it is run as a test.
#[test]
fn a_child_that_makes() {
    let (Ok(path), Ok(what)) = (
        std::env::var("LEAFLOG_TEST_LOG"),
        std::env::var("LEAFLOG_TEST_MAKE"),
    ) else {
        return;
    };
    let path = PathBuf::from(path);
    let mut out = std::io::stdout();
    let mut say = |line: String| out.write_all(line.as_bytes()).expect("said");
    let make = MAKERS.iter().find(|maker| maker.0 == what);
    let session = (what == "merge").then(|| options().open(&path).expect("opens"));
    for number in 0_u32.. {
        let name = format!("{}-{number}.jsonl", std::process::id());
        match (make, &session) {
            (Some(maker), _) => {
                maker.2(&path, &path.with_file_name(&name)).expect("made");
                say(format!("made {name}\n"));
            }
            (None, Some(session)) => {
                // Each flush adds a frame, so that they are merged again and again.
                let new = message("merged");
                let entry = session.append_entry(new, "main").expect("appends");
                say(format!("entry {}\n", entry.id));
                session.sync().expect("syncs");
            }
            (None, None) => {
                fs::remove_file(path.with_extension("jsonl.idx")).expect("removed");
                let always = OpenOptions::new().index(IndexMode::Always);
                let session = always.open(&path).expect("opens");
                assert_eq!(session.index_status().state, IndexState::Rebuilt);
                say("built\n".to_owned());
            }
        }
    }
}

/// Runs the child for some time that depends on the round; what it said.
fn run(path: &Path, what: &str, round: u64, longest: u64) -> Vec<String> {
    let mut command = program("makers::a_child_that_makes", path);
    command.env("LEAFLOG_TEST_MAKE", what);
    let time = Duration::from_micros(round * 7919 % longest);
    killed(command.spawn().expect("a child"), time)
}

fn source(path: &Path, format: Format, entries: u64) -> Vec<u8> {
    let mut log = Vec::new();
    let shape = Shape::new(format, entries).branches(20).payload(200);
    shape.write_to(&mut log).expect("written");
    fs::write(path, &log).expect("written");
    log
}

fn names(folder: &Path) -> Vec<String> {
    let items = fs::read_dir(folder).expect("a folder");
    items
        .map(|item| item.expect("an item").file_name())
        .map(|name| name.into_string().expect("a name"))
        .collect()
}

/// The lines behind the header, which names the time when the file was made.
fn rest(path: &Path) -> Vec<u8> {
    let mut bytes = fs::read(path).expect("bytes");
    let header = bytes.iter().position(|byte| *byte == b'\n');
    bytes.split_off(header.expect("a line"))
}

#[test]
fn a_killed_maker_leaves_a_whole_session_or_none() {
    for (what, format, make) in MAKERS {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("source");
        let log = source(&path, format, 4_000);
        let whole = folder.path().join("whole.jsonl");
        make(&path, &whole).expect("made");
        let expected = rest(&whole);
        fs::remove_file(&whole).expect("removed");
        let (mut made, mut drafts) = (0, 0);
        for round in 0..60 {
            let said = run(&path, what, round, 60_000);
            let names = names(folder.path());
            for name in said.iter().filter_map(|line| line.strip_prefix("made ")) {
                assert!(names.iter().any(|own| own == name), "{name} is gone");
            }
            drafts += names.iter().filter(|name| name.ends_with(".draft")).count();
            for name in names.iter().filter(|name| name.ends_with(".jsonl")) {
                let file = folder.path().join(name);
                assert!(rest(&file) == expected, "{name} is not whole");
                fs::remove_file(file).expect("removed");
                made += 1;
            }
            assert!(fs::read(&path).expect("bytes") == log, "the source changed");
        }
        println!("{what}: {made} files, and {drafts} drafts that were left");
        assert!(made > 0 && drafts > 0, "{made} files, {drafts} drafts");
        make(&path, &whole).expect("made");
        let left = names(folder.path());
        assert!(
            left.iter().all(|name| !name.ends_with(".draft")),
            "{left:?}"
        );
        let found = OpenOptions::new().verify(&whole).expect("verifies");
        assert!(found.is_clean(), "{found:?}");
    }
}

#[test]
fn a_killed_builder_of_a_sidecar_leaves_a_right_one_or_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s.jsonl");
    let log = source(&path, Format::PiV4, 20_000);
    let always = OpenOptions::new().index(IndexMode::Always);
    let first = always.open(&path).expect("opens");
    let overview = first.overview().expect("an overview");
    let leaf = overview.leaf.as_deref();
    let (mut built, mut left, mut missing) = (0, 0, 0);
    for round in 0..60 {
        let said = run(&path, "build", round, 90_000);
        built += said.iter().filter(|line| *line == "built").count();
        let names = names(folder.path());
        let temporary = names.iter().filter(|name| name.ends_with(".tmp")).count();
        assert!(temporary <= 1, "{names:?}");
        left += temporary;
        missing += usize::from(!path.with_extension("jsonl.idx").exists());
        let session = always.open(&path).expect("opens");
        assert_eq!(session.overview().expect("an overview"), overview);
        assert_eq!(
            session
                .path(leaflog::At::Current)
                .expect("a path")
                .last()
                .map(String::as_str),
            leaf
        );
    }
    println!("{built} sidecars, {missing} times none, {left} half ones beside");
    assert!(built > 0 && missing > 0, "{built} built, {missing} missing");
    fs::remove_file(path.with_extension("jsonl.idx")).expect("removed");
    drop(always.open(&path).expect("opens"));
    let names = names(folder.path());
    assert!(
        names.iter().all(|name| !name.ends_with(".tmp")),
        "{names:?}"
    );
    assert!(fs::read(&path).expect("bytes") == log, "the log changed");
    let found = always.verify(&path).expect("verifies");
    assert!(found.is_clean() && found.index_checked, "{found:?}");
}

#[test]
fn a_writer_that_is_killed_while_segments_are_merged_loses_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s.jsonl");
    fs::write(&path, HEADER).expect("written");
    let mut said = Said::default();
    for round in 0..80 {
        said.hear(run(&path, "merge", round, 40_000).into_iter());
        if round % 8 == 0 {
            check(&path, &said);
        }
    }
    check(&path, &said);
    assert!(said.ids.len() > 100, "only {} appends", said.ids.len());
}
