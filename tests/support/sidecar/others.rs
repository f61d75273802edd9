//! Others at the same files while a session is open: writers, replacers, threads, other readers.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

use leaflog::generate::Shape;
use leaflog::{At, Code, Format, IndexState, Reading, Session};

use super::support::disk::{Disk, always, assert_right, done};
use super::{chain, leaf, log_of, message, part_in_the_middle};

/// Reads all that needs the log's bytes.
fn questions(session: &Session, id: &str) -> [(&'static str, leaflog::Result<()>); 8] {
    [
        ("snapshot", session.snapshot(At::Current).map(drop)),
        ("salvage", session.salvage(At::Current).map(drop)),
        ("path", session.path(At::Current).map(drop)),
        ("entry", session.entry(id).map(drop)),
        ("record", session.record(id).map(drop)),
        ("tree", session.tree().map(drop)),
        ("branches", session.branches().map(drop)),
        ("overview", session.overview().map(drop)),
    ]
}

#[test]
fn a_log_truncated_under_an_open_session_is_an_error_and_no_crash() {
    let log = chain(500);
    let id = leaf(&log);
    for reading in [Reading::Map, Reading::Read] {
        for len in [0, 1, 5000, log.len() - 1] {
            let disk = Disk::new(&log);
            let session = always().reading(reading).open(disk.path());
            let session = session.expect("a session");
            disk.truncate(len as u64);
            for (question, answer) in questions(&session, &id) {
                let error = answer.expect_err(question);
                assert_eq!(error.code(), Code::InvalidEntry, "{question}: {error}");
                assert!(error.message().contains("truncated"), "{question}: {error}");
                assert_eq!(error.path(), Some(disk.path()), "{question}");
            }
            // What is left is a session or not.
            match session.refresh() {
                Ok(changed) => {
                    assert!(changed);
                    assert_right(&session, &log[..len]);
                }
                Err(error) => {
                    assert!(len < 2, "{error}");
                    assert_eq!(error.code(), Code::InvalidEntry);
                }
            }
            // Once its bytes are back it can be read again.
            disk.rewrite(&log);
            session.refresh().expect("refreshed");
            assert_right(&session, &log);
        }
    }
}

#[test]
fn a_log_removed_under_an_open_session_is_read_on_until_it_is_refreshed() {
    let log = chain(100);
    for reading in [Reading::Map, Reading::Read] {
        let disk = Disk::new(&log);
        let session = always().reading(reading).open(disk.path());
        let session = session.expect("a session");
        fs::remove_file(disk.path()).expect("removed");
        fs::remove_file(disk.sidecar()).expect("removed");
        assert_right(&session, &log);
        for _ in 0..2 {
            let error = session.refresh().expect_err("nothing there");
            assert_eq!(error.code(), Code::NotFound);
            assert_right(&session, &log);
        }
        let lines = session.mutations().expect("the opened log").count();
        assert_eq!(lines, 100);
        let other = chain(30);
        fs::write(disk.path(), &other).expect("written");
        assert!(session.refresh().expect("refreshed"));
        assert_right(&session, &other);
    }
}

#[test]
fn a_log_replaced_under_an_open_session_is_taken_in_by_a_refresh() {
    let log = chain(100);
    let mut differs = log.clone();
    part_in_the_middle(&mut differs);
    let others = [
        chain(30),
        chain(300),
        differs,
        log_of(Shape::new(Format::PiV4, 50)),
    ];
    for reading in [Reading::Map, Reading::Read] {
        for other in &others {
            let disk = Disk::new(&log);
            let session = always().reading(reading).open(disk.path());
            let session = session.expect("a session");
            disk.replace(other);
            assert_right(&session, &log);
            assert!(session.refresh().expect("refreshed"));
            assert_right(&session, other);
            assert_eq!(
                session.format(),
                session.overview().expect("an overview").format
            );
        }
    }
}

#[test]
fn a_log_changed_in_place_under_an_open_session_is_taken_in_by_a_refresh() {
    let log = chain(200);
    let mut other = log.clone();
    part_in_the_middle(&mut other);
    for reading in [Reading::Map, Reading::Read] {
        let disk = Disk::new(&log);
        let session = always().reading(reading).open(disk.path());
        let session = session.expect("a session");
        for log in [&other, &log, &chain(250), &chain(20)] {
            disk.rewrite(log);
            assert!(session.refresh().expect("refreshed"));
            assert_right(&session, log);
        }
    }
}

#[test]
fn a_damaged_sidecar_is_written_anew_when_a_question_meets_the_damage() {
    let log = log_of(Shape::new(Format::CodebotV3, 400).branches(10));
    let disk = Disk::new(&log);
    disk.touch();
    drop(disk.open());
    let good = fs::read(disk.sidecar()).expect("a sidecar");
    let mut met = 0;
    for at in (256..good.len() - 256).step_by(good.len() / 40) {
        let mut bad = good.clone();
        bad[at] ^= 1;
        fs::write(disk.sidecar(), &bad).expect("written");
        let session = disk.open();
        let opened = session.index_status().state;
        assert_right(&session, &log);
        if opened == IndexState::Fresh && session.index_status().state == IndexState::Rebuilt {
            met += 1;
            assert!(session.index_status().reason.is_some());
            assert_eq!(done(&disk.open()), (IndexState::Fresh, 0));
        }
    }
    assert!(met > 10, "only {met} times");
}

#[test]
fn many_threads_may_meet_the_damage_of_a_sidecar_at_once() {
    let log = log_of(Shape::new(Format::PiV4, 300).branches(10).payload(40));
    let disk = Disk::new(&log);
    disk.touch();
    drop(disk.open());
    let good = fs::read(disk.sidecar()).expect("a sidecar");
    let significant: Vec<usize> = (0..good.len()).filter(|&at| good[at] != 0).collect();
    for &at in significant.iter().step_by(significant.len() / 30) {
        let mut bad = good.clone();
        bad[at] ^= 1;
        fs::remove_file(disk.sidecar()).expect("removed");
        fs::write(disk.sidecar(), bad).expect("written");
        let session = disk.open();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert_right(&session, &log));
            }
        });
    }
}

/// Appends lines one by one while threads read; each line only when somebody has read since.
fn append_among_readers(
    lines: &[&[u8]],
    disk: &Disk,
    written: &AtomicU64,
    readers: usize,
    read: impl Fn(usize) + Sync,
) {
    let rounds = AtomicU64::new(0);
    let last = written.load(Ordering::SeqCst) + lines.len() as u64;
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..readers)
            .map(|number| {
                let (rounds, read) = (&rounds, &read);
                scope.spawn(move || {
                    let mut known = 0;
                    while known < last {
                        known = written.load(Ordering::SeqCst);
                        read(number);
                        rounds.fetch_add(1, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        for line in lines {
            let before = rounds.load(Ordering::SeqCst);
            disk.append(line);
            written.fetch_add(1, Ordering::SeqCst);
            // A reader that failed has ended, and will end the test.
            while rounds.load(Ordering::SeqCst) == before
                && !readers.iter().any(|reader| reader.is_finished())
            {
                std::thread::yield_now();
            }
        }
    });
}

#[test]
fn many_threads_share_a_session_while_the_log_grows() {
    let whole = chain(500);
    let tree = Disk::new(&whole).open().tree().expect("a tree");
    let ids: Vec<String> = tree.into_iter().map(|node| node.id).collect();
    let all: Vec<&[u8]> = whole.split_inclusive(|&byte| byte == b'\n').collect();
    for reading in [Reading::Map, Reading::Read] {
        let disk = Disk::new(&all[..100].concat());
        let session = always().reading(reading).open(disk.path());
        let session = session.expect("a session");
        let written = AtomicU64::new(100);
        append_among_readers(&all[100..], &disk, &written, 4, |_| {
            session.refresh().expect("refreshed");
            let path = session.path(At::Current).expect("a path");
            assert_eq!(path, ids[..path.len()]);
            let snapshot = session.snapshot(At::Current).expect("a snapshot");
            assert!(snapshot.path_entries >= 99);
            assert!(session.entry(&path[50]).expect("an answer").is_some());
        });
        session.refresh().expect("refreshed");
        assert_right(&session, &whole);
    }
}

#[test]
fn a_refresh_never_takes_a_session_back_behind_what_another_one_found() {
    let whole = chain(1000);
    let all: Vec<&[u8]> = whole.split_inclusive(|&byte| byte == b'\n').collect();
    let disk = Disk::new(&all[..100].concat());
    let session = disk.open();
    let written = AtomicU64::new(100);
    let went_back = AtomicU64::new(0);
    append_among_readers(&all[100..], &disk, &written, 6, |_| {
        let known = written.load(Ordering::SeqCst);
        session.refresh().expect("refreshed");
        for _ in 0..3 {
            if session.overview().expect("an overview").lines < known {
                went_back.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
    assert_eq!(went_back.load(Ordering::SeqCst), 0);
}

#[test]
fn a_refresh_never_takes_a_session_back_to_a_log_that_was_replaced() {
    // Logs tell by their ids which is the newer one; every other is longer.
    let numbered = |number: u64| {
        let header = r#""version":3,"timestamp":"2026-07-14T09:00:00Z","cwd":"/"}"#;
        let mut log = format!("{{\"type\":\"session\",\"id\":\"{number}\",{header}\n").into_bytes();
        for entry in 0..if number.is_multiple_of(2) { 200 } else { 5 } {
            log.extend(message(&entry.to_string(), "nobody"));
        }
        log
    };
    const LAST: u64 = 400;
    let disk = Disk::in_memory(&numbered(0));
    let session = Session::open(disk.path()).expect("a session");
    let (newest, rounds, went_back) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let mut known = 0;
                while known < LAST {
                    known = newest.load(Ordering::SeqCst);
                    let refreshed = session.refresh();
                    let id: u64 = session.session_id().parse().expect("a number");
                    if refreshed.is_err() || id < known {
                        went_back.fetch_add(1, Ordering::SeqCst);
                    }
                    rounds.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        for number in 1..=LAST {
            let before = rounds.load(Ordering::SeqCst);
            disk.replace(&numbered(number));
            newest.store(number, Ordering::SeqCst);
            while number < LAST && rounds.load(Ordering::SeqCst) < before + 2 {
                std::thread::yield_now();
            }
        }
    });
    assert_eq!(went_back.load(Ordering::SeqCst), 0);
}

#[test]
fn many_openings_at_once_leave_a_good_sidecar() {
    let whole = chain(300);
    let all: Vec<&[u8]> = whole.split_inclusive(|&byte| byte == b'\n').collect();
    let disk = Disk::new(&all[..100].concat());
    let written = AtomicU64::new(100);
    append_among_readers(&all[100..], &disk, &written, 4, |number| {
        let known = written.load(Ordering::SeqCst);
        let reading = [Reading::Map, Reading::Read][number % 2];
        let session = always().reading(reading).open(disk.path());
        let session = session.expect("a session");
        let overview = session.overview().expect("an overview");
        assert!(overview.lines >= known, "{} of {known}", overview.lines);
        let path = session.path(At::Current).expect("a path");
        // A line may be seen half, as an unfinished last one.
        let torn = u64::from(overview.report_count > 0);
        assert_eq!(path.len() as u64, overview.entries);
        assert_eq!(overview.entries + 1 + torn, overview.lines);
    });
    assert_right(&disk.open(), &whole);
    assert_eq!(done(&disk.open()), (IndexState::Fresh, 0));
    let found = always().verify(disk.path()).expect("verified");
    assert!(found.is_clean(), "{found:?}");
    let files = fs::read_dir(disk.folder()).expect("the folder").count();
    assert_eq!(files, 2);
}
