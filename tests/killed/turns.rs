//! Processes that fight for the writer's lock: each waits until it gets it, writes some and gives it
//! back. All that was acknowledged is there, in one sequence.

use std::fs;
use std::io::Write;
use std::process::Child;

use leaflog::{Code, LogItem, OpenOptions, Session, SessionStorage};

use super::{HEADER, heard, message, options, program};

/// Lines that each of them writes.
const LINES: usize = 120;

/// The child of the test below. Does nothing when it is run as a test.
#[test]
fn a_child_that_waits_for_its_turn() {
    let (Ok(path), Ok(name)) = (
        std::env::var("LEAFLOG_TEST_LOG"),
        std::env::var("LEAFLOG_TEST_NAME"),
    ) else {
        return;
    };
    let mut out = std::io::stdout();
    let (mut written, mut refused) = (0, 0);
    while written < LINES {
        let session = match options().open(&path) {
            Err(error) if error.code() == Code::Locked => {
                refused += 1;
                std::thread::yield_now();
                continue;
            }
            session => session.expect("opens"),
        };
        // Some end without a word, some are closed.
        for _ in 0..=written % 4 {
            let id = format!("{name}-{written}");
            let new = message(&"z".repeat(written * 37 % 6000)).with_id(&id);
            session.append_entry(new, "main").expect("appends");
            writeln!(out, "entry {id}").expect("said");
            written += 1;
        }
        if written % 3 == 0 {
            session.close().expect("closes");
        }
    }
    writeln!(out, "refused {refused}").expect("said");
}

#[test]
fn processes_that_take_turns_write_one_sequence() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s.jsonl");
    fs::write(&path, HEADER).expect("written");
    let children: Vec<Child> = ["a", "b", "c"]
        .into_iter()
        .map(|name| {
            let mut command = program("turns::a_child_that_waits_for_its_turn", &path);
            command.env("LEAFLOG_TEST_NAME", name);
            command.spawn().expect("a child")
        })
        .collect();
    let threads: Vec<_> = children
        .into_iter()
        .map(|mut child| {
            std::thread::spawn(move || {
                let said = heard(child.stdout.take().expect("a pipe"));
                assert!(child.wait().expect("waited").success());
                said
            })
        })
        .collect();
    let reader = Session::open(&path).expect("opens");
    while !threads.iter().all(std::thread::JoinHandle::is_finished) {
        reader.refresh().expect("refreshes");
        let log = reader.log(None, None).expect("a log");
        let numbers = log.iter().map(LogItem::seq);
        assert!(numbers.eq(1..=u64::try_from(log.len()).expect("few")));
    }
    let said: Vec<String> = threads
        .into_iter()
        .flat_map(|thread| thread.join().expect("joined"))
        .collect();
    let ids: Vec<&str> = said
        .iter()
        .filter_map(|line| line.strip_prefix("entry "))
        .collect();
    let refused: u32 = said
        .iter()
        .filter_map(|line| line.strip_prefix("refused ")?.parse::<u32>().ok())
        .sum();
    println!("{} lines, {refused} times refused", ids.len());
    assert!(ids.len() >= 3 * LINES && refused > 0);

    let session = Session::open(&path).expect("opens");
    for id in &ids {
        assert!(
            session.entry(id).expect("answers").is_some(),
            "{id} is gone"
        );
    }
    let log = session.log(None, None).expect("a log");
    assert_eq!(log.len(), ids.len());
    let found = OpenOptions::new().verify(&path).expect("verifies");
    assert!(found.is_clean(), "{found:?}");
    // All of them on one path: each went on from the leaf of the one before.
    let path = session.path(leaflog::At::Current).expect("a path");
    assert_eq!(path.len(), ids.len());
    for item in fs::read_dir(folder.path()).expect("a folder") {
        let name = item.expect("an item").file_name();
        let name = name.to_str().expect("a name");
        assert!(
            !name.contains(".torn-") && !name.ends_with(".tmp"),
            "{name}"
        );
    }
}
