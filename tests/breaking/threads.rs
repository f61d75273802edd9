//! Threads that use one session in every way at once, up to its end and beyond.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use leaflog::{
    At, Code, CreateOptions, EntryQuery, Format, IndexMode, LogItem, OpenOptions, SessionStorage,
};

use super::user;
use crate::support::disk::{always, right};

/// A call may meet the end of the session and nothing else.
fn unless_closed<T>(result: leaflog::Result<T>) -> Option<T> {
    result
        .map_err(|error| assert_eq!(error.code(), Code::Closed, "{error}"))
        .ok()
}

fn round(format: Format, index: IndexMode, number: u64) {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let folder = folder.expect("a folder");
    let path = folder.path().join("s.jsonl");
    let options = CreateOptions {
        format: Some(format),
        ..CreateOptions::in_folder("/w")
    };
    let session = OpenOptions::new()
        .index(index)
        .create(&path, &options)
        .expect("a session");
    let closes = number.is_multiple_of(2);
    // Enough for the index to follow on its own, or few.
    let appends = if closes { 5000 } else { 150 };
    let (is_done, written) = (AtomicBool::new(false), AtomicU64::new(0));
    let ids = EntryQuery {
        limit: Some(3),
        ..EntryQuery::default()
    };
    let again_and_again = |run: &dyn Fn(u64)| {
        (0..)
            .take_while(|_| !is_done.load(Ordering::SeqCst))
            .for_each(run);
    };
    std::thread::scope(|scope| {
        for thread in 0..2_u64 {
            let (session, is_done, written) = (&session, &is_done, &written);
            scope.spawn(move || {
                let mut last = None;
                for count in 0..appends {
                    let mut new = user(format, "x");
                    if count % 3 == 0 {
                        new = new.with_id(format!("{:08x}", (thread << 28) | count));
                    }
                    let Some(entry) = unless_closed(session.append_entry(new, "main")) else {
                        break;
                    };
                    assert!(entry.seq > last);
                    last = entry.seq;
                    written.fetch_add(1, Ordering::SeqCst);
                    if count % 41 == 0
                        && let Some(found) = unless_closed(session.entry(&entry.id))
                    {
                        assert_eq!(found, Some(entry));
                    }
                }
                is_done.store(true, Ordering::SeqCst);
            });
        }
        let (session, written, again_and_again) = (&session, &written, &again_and_again);
        scope.spawn(move || {
            again_and_again(&|_| {
                unless_closed(session.snapshot(At::Current));
                unless_closed(session.find_entries(&ids));
                unless_closed(session.refresh());
                unless_closed(session.overview());
            });
        });
        scope.spawn(move || {
            again_and_again(&|count| {
                unless_closed(session.sync());
                unless_closed(session.log(Some(count), Some(5)));
                unless_closed(session.set_name(Some("x")));
                if format.has_lanes() {
                    unless_closed(session.create_lane(&format!("lane {count}"), None));
                }
            });
        });
        let path = &path;
        scope.spawn(move || {
            again_and_again(&|_| match always().open(path) {
                Ok(reader) => {
                    reader.snapshot(At::Current).expect("a snapshot");
                    reader.refresh().expect("what is new");
                    reader.snapshot(At::Current).expect("a snapshot");
                }
                Err(error) => assert_eq!(error.code(), Code::NotFound, "{error}"),
            });
        });
        if closes {
            scope.spawn(move || {
                // In the middle of it all; the file of pi v3 is there by then.
                while written.load(Ordering::SeqCst) < 100 * number + 1 {
                    std::thread::yield_now();
                }
                session.close().expect("closes");
                // The lock is free when that returns.
                let next = OpenOptions::new().write(true).open(path).expect("opens");
                next.append_entry(user(format, "x"), "main")
                    .expect("appends");
            });
        }
    });
    drop(session);
    let log = std::fs::read(&path).expect("the log");
    let fresh = always().strict(true).open(&path).expect("a sound log");
    if !closes {
        right(&fresh, &log).expect("the answers of the replay");
    }
    let items = fresh.log(None, None).expect("the log");
    let is_message =
        |item: &&LogItem| matches!(item, LogItem::Entry(entry) if entry.kind == "message");
    let messages = items.iter().filter(is_message).count() as u64;
    assert_eq!(messages, written.load(Ordering::SeqCst) + u64::from(closes));
}

#[test]
fn nothing_waits_for_ever_and_nothing_is_lost_when_all_is_done_at_once() {
    for number in 0..6 {
        for format in [Format::PiV4, Format::PiV3, Format::CodebotV3] {
            let index = match number % 3 {
                0 => IndexMode::Always,
                1 => IndexMode::Auto,
                _ => IndexMode::Memory,
            };
            let (done, is_done) = mpsc::channel();
            let thread = std::thread::spawn(move || {
                round(format, index, number);
                let _ = done.send(());
            });
            // Far longer than it takes: only a deadlock waits so long.
            if is_done.recv_timeout(Duration::from_secs(60)) == Err(mpsc::RecvTimeoutError::Timeout)
            {
                panic!("{format}, round {number}: somebody waits for ever");
            }
            thread.join().expect("no failure");
        }
    }
}
