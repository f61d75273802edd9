//! Processes that write a session and are killed at any moment, and processes that get in each
//! other's way: what was acknowledged is there, and the next one goes on.

#![cfg(unix)]

#[path = "killed/makers.rs"]
mod makers;
#[path = "killed/turns.rs"]
mod turns;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use leaflog::{
    At, Code, Durability, IndexMode, LogItem, NewEntry, NewRecord, OpenOptions, ReportCode,
    Session, SessionStorage,
};

const HEADER: &str = "{\"kind\":\"header\",\"version\":4,\"id\":\"s4\",\"createdAt\":1784019600000,\"cwd\":\"/w\"}\n";

fn message(text: &str) -> NewEntry {
    NewEntry::new(
        "message",
        format!("{{\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}"),
    )
}

fn options() -> OpenOptions {
    OpenOptions::new().write(true).index(IndexMode::Always)
}

/// The child of the tests below: appends without end, and says each id once it has it. Does
/// nothing when it is run as a test.
#[test]
fn a_child_that_writes() {
    let Ok(path) = std::env::var("LEAFLOG_TEST_LOG") else {
        return;
    };
    let durable = std::env::var_os("LEAFLOG_TEST_DISK").is_some();
    let options = options().durability(if durable {
        Durability::Disk
    } else {
        Durability::Process
    });
    let mut out = std::io::stdout();
    let mut say = |line: String| out.write_all(line.as_bytes()).expect("said");
    let session = match options.open(&path) {
        Ok(session) => session,
        Err(error) => return say(format!("error {}\n", error.code())),
    };
    say("open\n".to_owned());
    for number in 0_u64.. {
        let (id, what) = match number % 7 {
            3 => {
                let usage = r#"{"cause":"adjustment","usage":{"totalTokens":1}}"#;
                let new = NewRecord::new("usage", "main", usage);
                (session.append_record(new).expect("appends").id, "record")
            }
            5 => {
                session.set_name(Some(&number.to_string())).expect("named");
                (number.to_string(), "name")
            }
            _ => {
                // Some are larger than a page, so that a kill may part them.
                let text = "z".repeat(usize::try_from(number * 7919 % 20_000).expect("small"));
                let entry = session
                    .append_entry(message(&text), "main")
                    .expect("appends");
                (entry.id, "entry")
            }
        };
        say(format!("{what} {id}\n"));
        if number % 50 == 49 {
            // Flushing the index is killed too.
            session.sync().expect("syncs");
        }
    }
}

/// This program, to be run as one of the tests that are children.
fn program(test: &str, path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command
        .args(["--exact", test, "--nocapture", "--quiet"])
        .env("LEAFLOG_TEST_LOG", path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

fn child(path: &Path, durable: bool) -> Child {
    let mut command = program("a_child_that_writes", path);
    if durable {
        command.env("LEAFLOG_TEST_DISK", "1");
    }
    command.spawn().expect("a child")
}

/// What children said before they were killed.
#[derive(Default)]
struct Said {
    ids: Vec<String>,
    name: Option<String>,
}

impl Said {
    fn hear(&mut self, lines: impl Iterator<Item = String>) {
        for line in lines {
            match line.split_once(' ') {
                Some(("entry" | "record", id)) => self.ids.push(id.to_owned()),
                Some(("name", name)) => self.name = Some(name.to_owned()),
                _ => {}
            }
        }
    }
}

/// Runs a child for some time, kills it, and hears it out.
fn run_and_kill(path: &Path, durable: bool, time: Duration, said: &mut Said) {
    said.hear(killed(child(path, durable), time).into_iter());
}

/// What a child says until it is killed, some time after its first line, which the frame of the tests
/// says before it runs any.
fn killed(mut child: Child, time: Duration) -> Vec<String> {
    let mut stdout = child.stdout.take().expect("a pipe");
    let (begun, begins) = mpsc::channel();
    let killer = std::thread::spawn(move || {
        begins.recv().expect("a first line");
        std::thread::sleep(time);
        child.kill().expect("killed");
        child.wait().expect("waited");
    });
    let mut first = [0];
    stdout.read_exact(&mut first).expect("a first line");
    begun.send(()).expect("told");
    let said = heard(stdout);
    killer.join().expect("joined");
    said
}

/// The lines that a child says until it ends. One that a kill cut off was not said.
fn heard(stdout: impl Read) -> Vec<String> {
    let mut lines = BufReader::new(stdout);
    let mut said = Vec::new();
    let mut line = String::new();
    while lines.read_line(&mut line).is_ok_and(|count| count > 0) {
        if line.ends_with('\n') {
            said.push(line.trim_end().to_owned());
        }
        line.clear();
    }
    said
}

#[test]
fn a_killed_writer_loses_nothing_that_it_acknowledged() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut said = Said::default();
    let mut kills = 0;
    for log in 0..4 {
        let path = folder.path().join(format!("{log}.jsonl"));
        fs::write(&path, HEADER).expect("written");
        said = Said::default();
        for round in 0..50_u64 {
            // Opening takes some milliseconds; the kills fall into and behind that.
            let time = Duration::from_micros((round * 7919 + log * 1_733) % 30_000);
            run_and_kill(&path, log == 3, time, &mut said);
            kills += 1;
            if round % 5 == 0 {
                check(&path, &said);
            }
        }
        check(&path, &said);
        assert!(said.ids.len() > 100, "only {} appends", said.ids.len());
    }
    assert_eq!(kills, 200);
    assert!(said.name.is_some());
}

/// The log holds what was said, at most what was in flight beside it, and can be written.
fn check(path: &Path, said: &Said) {
    let before = Session::open(path).expect("opens");
    let overview = before.overview().expect("an overview");
    let torn = |code| code == ReportCode::TornTail;
    assert!(
        overview.reports.iter().all(|report| torn(report.code)),
        "{overview:?}"
    );
    drop(before);

    let session = options().open(path).expect("opens for writing");
    let entry = session
        .append_entry(message("after"), "main")
        .expect("appends");
    assert_eq!(session.overview().expect("an overview").report_count, 0);
    for id in &said.ids {
        let found = session.entry(id).expect("answers").is_some()
            || session.record(id).expect("answers").is_some();
        assert!(found, "{id} was acknowledged and is gone");
    }
    let log = session.log(None, None).expect("a log");
    let numbers: Vec<u64> = log.iter().map(LogItem::seq).collect();
    let all: Vec<u64> = (1..=u64::try_from(numbers.len()).expect("few")).collect();
    assert_eq!(numbers, all);
    assert_eq!(
        session.snapshot(At::Current).expect("some").leaf,
        Some(entry.id)
    );
    session.close().expect("closes");
    let found = OpenOptions::new().verify(path).expect("verifies");
    assert!(found.is_clean() && found.index_checked, "{found:?}");
}

#[test]
fn a_second_process_is_refused_and_told_who_writes_while_reads_go_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s.jsonl");
    fs::write(&path, HEADER).expect("written");
    let mut writer = child(&path, false);
    let mut lines = BufReader::new(writer.stdout.take().expect("a pipe")).lines();
    let heard = lines.find(|line| line.as_deref().is_ok_and(|line| line == "open"));
    assert!(heard.is_some());

    let error = options().open(&path).expect_err("locked");
    assert_eq!(error.code(), Code::Locked);
    if cfg!(target_os = "linux") {
        let process = format!("process {}", writer.id());
        assert!(error.message().contains(&process), "{error}");
    }
    let mut other = child(&path, false);
    let said = BufReader::new(other.stdout.take().expect("a pipe"))
        .lines()
        .map_while(Result::ok)
        .find(|line| line.starts_with("error"));
    assert_eq!(said.as_deref(), Some("error locked"));
    other.wait().expect("waited");

    // A reader follows, and sees whole lines only.
    let reader = Session::open(&path).expect("opens");
    let mut last = 0;
    for _ in 0..50 {
        let _ = lines.next();
        reader.refresh().expect("refreshes");
        let overview = reader.overview().expect("an overview");
        assert!(
            overview
                .reports
                .iter()
                .all(|report| report.code == ReportCode::TornTail),
            "{overview:?}"
        );
        assert!(overview.entries >= last);
        last = overview.entries;
        reader.snapshot(At::Current).expect("a snapshot");
    }
    assert!(last > 0);
    writer.kill().expect("killed");
    writer.wait().expect("waited");
    let session = options()
        .open(&path)
        .expect("the lock went with its process");
    session.append_entry(message("x"), "main").expect("appends");
}
