//! Writing to logs that others damaged, and reading them from a number on.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;

use leaflog::{
    Code, Entry, EntryQuery, Format, LogItem, NewRecord, OpenOptions, Order, RecordQuery, Session,
    SessionStorage,
};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, TestRunner};

use super::user;
use crate::support::disk::{Disk, always, right};
use crate::support::logs;

type Checked = Result<(), String>;

fn text(error: leaflog::Error) -> String {
    error.to_string()
}

/// Every id that stands in a log, of what is there and of what is not.
fn named(log: &[u8]) -> BTreeSet<String> {
    let lines = log.split(|&byte| byte == b'\n');
    let objects = lines.filter_map(|line| serde_json::from_slice::<serde_json::Value>(line).ok());
    let ids = |object: serde_json::Value| {
        let keys = ["parentId", "parent_id", "id", "leafId", "targetId"];
        keys.map(|key| object.get(key)?.as_str().map(str::to_owned))
    };
    objects.flat_map(ids).flatten().collect()
}

/// Whatever is asked from a number on is what is asked as a whole and looked through.
fn from_numbers_on(session: &Session) -> Checked {
    let whole = session.log(None, None).map_err(text)?;
    let last = whole.iter().map(LogItem::seq).max().unwrap_or(0);
    let numbers = (0..last.min(70) + 3).chain([u64::MAX]);
    for (after, order) in numbers.flat_map(|n| [(n, Order::NewestFirst), (n, Order::OldestFirst)]) {
        let found = session.log(Some(after), None).map_err(text)?;
        if !found
            .iter()
            .eq(whole.iter().filter(|item| item.seq() > after))
        {
            return Err(format!("the log after {after}: {found:?} of {whole:?}"));
        }
        let entries = |after_seq| {
            let query = EntryQuery {
                order,
                after_seq,
                ..EntryQuery::default()
            };
            session.find_entries(&query).map_err(text)
        };
        let is_behind = |entry: &&Entry| match order {
            Order::OldestFirst => entry.seq > Some(after),
            Order::NewestFirst => entry.seq < Some(after),
        };
        if !entries(Some(after))?
            .iter()
            .eq(entries(None)?.iter().filter(is_behind))
        {
            return Err(format!("entries after {after}, {order:?}"));
        }
        let records = |after_seq| {
            let query = RecordQuery {
                order,
                after_seq,
                ..RecordQuery::default()
            };
            session.find_records(&query).map_err(text)
        };
        let is_above = |record: &&Entry| record.seq > Some(after);
        if !records(Some(after))?
            .iter()
            .eq(records(None)?.iter().filter(is_above))
        {
            return Err(format!("records after {after}, {order:?}"));
        }
    }
    Ok(())
}

/// Makes every kind of write, with ids that the log has and with ids that it misses. What is refused
/// is said and changes nothing.
fn write_all_kinds(session: &Session, log: &[u8], dice: u64) -> String {
    let format = session.format();
    let mut said = String::new();
    let mut say = |what: &str, result: leaflog::Result<()>| {
        let _ = writeln!(said, "{what}: {:?}", result.map_err(|error| error.code()));
    };
    let entry = |lane: &str| session.append_entry(user(format, "x"), lane).map(drop);
    say("entry", entry("main"));
    for id in named(log).into_iter().take(6) {
        let own = user(format, "own").with_id(&*id);
        say(&id, session.append_entry(own, "main").map(drop));
        if dice & 1 == 0 {
            say("label", session.set_label(&id, Some("l")));
        }
        if dice & 2 == 0 && format.has_lanes() {
            say("lane", session.move_lane("main", Some(&id)));
        }
    }
    if dice & 4 == 0 {
        say("sync", session.sync());
    }
    say("name", session.set_name(Some(" a\nb ")));
    if format.has_lanes() {
        say("new lane", session.create_lane("fresh", None));
        for lane in ["fresh", "main"] {
            let start = r#"{"sourceLeafId":null,"intent":{"kind":"run"}}"#;
            let started = session.append_record(NewRecord::new("operation_started", lane, start));
            say(
                "start",
                started
                    .as_ref()
                    .map(drop)
                    .map_err(|error| leaflog::Error::new(error.code(), error.message())),
            );
            if let Ok(started) = started {
                let end = format!(r#"{{"runId":"{}","outcome":"completed"}}"#, started.id);
                let record = NewRecord::new("operation_finished", lane, end);
                say("finish", session.append_record(record).map(drop));
            }
        }
        say("entry on the new lane", entry("fresh"));
    }
    say("last entry", entry("main"));
    said
}

fn check(log: &[u8], dice: u64) -> Checked {
    let disk = Disk::in_memory(log);
    let options = if dice & 8 == 0 {
        always()
    } else {
        OpenOptions::new()
    };
    let writing = options.clone().write(true);
    let Ok(reader) = options.open(disk.path()) else {
        return match writing.open(disk.path()) {
            Err(_) if disk.bytes() == log => Ok(()),
            _ => Err("what cannot be read is opened for writing".to_owned()),
        };
    };
    from_numbers_on(&reader)?;
    let was_sound = options.clone().strict(true).open(disk.path()).is_ok();
    let session = match writing.open(disk.path()) {
        Err(error) if error.code() == Code::Unsupported => return Ok(()),
        session => session.map_err(text)?,
    };
    let said = write_all_kinds(&session, log, dice);
    let took = |line: &str| line.ends_with("Ok(())") && !line.starts_with("sync");
    if !said.lines().any(took) {
        // A sequence at its last number, say: what takes no writes stays as it is.
        return if disk.bytes() == log {
            Ok(())
        } else {
            Err(format!("changed without a write\n{said}"))
        };
    }
    let told = |what: &'static str| move |error: String| format!("{what}: {error}");
    let compare = || {
        let now = disk.bytes();
        let kept = log
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |at| at + 1);
        if !now.starts_with(&log[..kept]) || !now.ends_with(b"\n") {
            return Err("not what was there, or no whole lines".to_owned());
        }
        right(&session, &now).map_err(told("the writer"))?;
        from_numbers_on(&session).map_err(told("the writer"))?;
        let (lanes, items) = (session.lanes().map_err(text)?, session.log(None, None));
        session.close().map_err(text)?;
        let fresh = options.open(disk.path()).map_err(text)?;
        right(&fresh, &now).map_err(told("a new reader"))?;
        let next = writing.open(disk.path()).map_err(text)?;
        if fresh.lanes().map_err(text)? != lanes
            || next.lanes().map_err(text)? != lanes
            || fresh.log(None, None).map_err(text)? != items.map_err(text)?
        {
            return Err("lanes or lines are others when opened again".to_owned());
        }
        if was_sound {
            let strict = options.clone().strict(true).open(disk.path());
            strict.map_err(text).map_err(told("strict"))?;
        }
        reader.refresh().map_err(text)?;
        right(&reader, &now).map_err(told("a refreshed reader"))
    };
    compare().map_err(|error| format!("{error}\n{said}"))
}

#[test]
fn damaged_logs_are_written_to_and_stay_what_the_replay_reads() {
    let cases = fs::read_dir("tests/cases").expect("the cases");
    let paths = cases.map(|item| item.expect("a case").path());
    let logs = paths.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    let cases = logs.map(|path| (path.display().to_string(), fs::read(&path).expect("a log")));
    let corpus = logs::corpus().into_iter();
    let corpus = corpus.map(|(name, log)| (name.to_owned(), log));
    for (name, log) in corpus.chain(cases) {
        for dice in [0, 15] {
            check(&log, dice).unwrap_or_else(|error| panic!("{name}, {dice}: {error}"));
        }
    }
}

#[test]
fn random_logs_are_written_to_and_stay_what_the_replay_reads() {
    let mut runner = TestRunner::new(Config::default());
    for dice in 0..160 {
        let log = logs::any_log()
            .new_tree(&mut runner)
            .expect("a log")
            .current();
        if check(&log, dice).is_err() {
            let least = logs::fewest_lines(&log, |log| check(log, dice).is_err());
            panic!("{:?}\n{}", check(&least, dice), logs::show(&least));
        }
    }
}

const V3: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s3\",\"timestamp\":\"2026-07-14T09:00:00.000Z\",\"cwd\":\"/w\"}";
const ORPHAN: &str = "{\"type\":\"message\",\"id\":\"0000000b\",\"parentId\":\"0000000a\",\"timestamp\":\"2026-07-14T09:00:01.000Z\",\"message\":{\"role\":\"user\",\"content\":\"b\"}}";

#[test]
fn an_id_that_an_orphan_waits_for_is_not_given_to_an_entry_below_it() {
    let disk = Disk::new(format!("{V3}\n{ORPHAN}\n").as_bytes());
    let session = always().write(true).open(disk.path()).expect("opens");
    let new = user(Format::PiV3, "a").with_id("0000000a");
    let refused = session.append_entry(new, "main").expect_err("a cycle");
    assert_eq!(refused.code(), Code::AlreadyExists);
    session
        .append_entry(user(Format::PiV3, "c"), "main")
        .expect("appends");
    right(&session, &disk.bytes()).expect("right");
    always()
        .strict(true)
        .open(disk.path())
        .expect("a sound log");
}

#[test]
fn lines_behind_a_header_that_follows_a_torn_one_are_all_read() {
    let torn = V3.strip_suffix("\"/w\"}").expect("a header");
    let disk = Disk::new(format!("{torn}{V3}\n{ORPHAN}\n").as_bytes());
    let items = disk.open().log(None, None).expect("the log");
    assert_eq!(items.iter().map(LogItem::seq).collect::<Vec<_>>(), [1]);
    assert_eq!(disk.open().log(Some(1), None).expect("the log"), []);
}
