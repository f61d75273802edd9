//! The sidecar beside a log that grows, changes, is replaced and is read by others meanwhile: what
//! is done with it, and that the answers are right all the same.

#[path = "support/sidecar/growth.rs"]
mod growth;
#[path = "support/sidecar/others.rs"]
mod others;
#[path = "support/sidecar/places.rs"]
mod places;
mod support;

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use leaflog::generate::Shape;
use leaflog::naive::{ReadOptions, Replay};
use leaflog::{At, Format, IndexMode, IndexState, OpenOptions, Reading, Session};
use support::disk::{Disk, always, assert_right, beside, done};

/// A log of pi v3 in a straight line, of some 400 bytes an entry.
fn chain(entries: u64) -> Vec<u8> {
    log_of(Shape::new(Format::PiV3, entries).payload(40))
}

fn log_of(shape: Shape) -> Vec<u8> {
    let mut log = Vec::new();
    shape.write_to(&mut log).expect("written");
    log
}

/// The number of lines of a log that ends with a newline.
fn lines(log: &[u8]) -> u64 {
    log.iter().filter(|&&byte| byte == b'\n').count() as u64
}

/// A message of pi v3 with a newline behind it.
fn message(id: &str, parent: &str) -> Vec<u8> {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":"{parent}","timestamp":"2026-07-14T09:00:01.000Z","message":{{"role":"user","content":"{id}","timestamp":1784019601000}}}}
"#
    )
    .into_bytes()
}

/// The entry that a log's conversation stands at.
fn leaf(log: &[u8]) -> String {
    Disk::new(log)
        .open()
        .overview()
        .expect("an overview")
        .leaf
        .expect("a leaf")
}

/// Changes a character in the id of a parent, in the middle of a log.
fn part_in_the_middle(log: &mut [u8]) {
    let key = b"\"parentId\":\"";
    let half = log.len() / 2;
    let found = log[half..].windows(key.len()).position(|it| it == key);
    log[half + found.expect("a parent") + key.len()] = b'x';
}

#[test]
fn a_small_log_gets_no_sidecar_by_itself() {
    let log = chain(20);
    let disk = Disk::new(&log);
    let session = Session::open(disk.path()).expect("a session");
    assert_eq!(done(&session), (IndexState::None, lines(&log)));
    assert_eq!(session.index_status().path, None);
    assert!(session.index_status().reason.is_some());
    assert!(!disk.sidecar().exists());
    assert_right(&session, &log);
}

#[test]
fn a_log_of_over_one_mebibyte_gets_a_sidecar_by_itself() {
    let log = chain(3000);
    assert!(log.len() > 1 << 20);
    let disk = Disk::new(&log);
    let session = Session::open(disk.path()).expect("a session");
    assert_eq!(done(&session), (IndexState::Rebuilt, lines(&log)));
    assert_eq!(session.index_status().path, Some(disk.sidecar()));
    let again = Session::open(disk.path()).expect("a session");
    assert_eq!(done(&again), (IndexState::Fresh, 0));
    assert_eq!(again.index_status().reason, None);
    assert_eq!(again.path(At::Current).expect("a path").len(), 3000);
}

#[test]
fn a_sidecar_is_written_when_asked_for_and_used_from_then_on() {
    let log = chain(20);
    let disk = Disk::new(&log);
    assert_eq!(done(&disk.open()), (IndexState::Rebuilt, lines(&log)));
    let whole = fs::read(disk.sidecar()).expect("a sidecar");
    for options in [OpenOptions::new(), always()] {
        for reading in [Reading::Map, Reading::Read] {
            let session = options.clone().reading(reading).open(disk.path());
            let session = session.expect("a session");
            assert_eq!(done(&session), (IndexState::Fresh, 0));
            assert_eq!(session.index_status().path, Some(disk.sidecar()));
            assert_eq!(session.index_status().bytes, whole.len() as u64);
            assert_right(&session, &log);
        }
    }
    let memory = OpenOptions::new().index(IndexMode::Memory);
    let session = memory.open(disk.path()).expect("a session");
    assert_eq!(done(&session), (IndexState::None, lines(&log)));
}

#[test]
fn nothing_but_the_sidecar_is_left_in_the_folder_and_it_is_private() {
    let disk = Disk::new(&chain(20));
    for _ in 0..3 {
        disk.append(&message("again", "nobody"));
        drop(disk.open());
    }
    let files = fs::read_dir(disk.folder()).expect("the folder").count();
    assert_eq!(files, 2);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(disk.sidecar())
            .expect("a sidecar")
            .permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
    }
}

#[test]
fn only_appended_lines_are_read() {
    let mut log = chain(100);
    let disk = Disk::new(&log);
    drop(disk.open());
    let mut parent = leaf(&log);
    for (round, count) in [1, 2, 3, 50].into_iter().enumerate() {
        let mut new = Vec::new();
        for number in 0..count {
            let id = format!("{round}-{number}");
            new.extend(message(&id, &parent));
            parent = id;
        }
        disk.append(&new);
        log.extend(new);
        let session = disk.open();
        assert_eq!(done(&session), (IndexState::Extended, count));
        assert!(session.index_status().reason.is_some());
        assert_right(&session, &log);
        assert_eq!(done(&disk.open()), (IndexState::Fresh, 0));
    }
    let odd = b"\n\n{\"type\":\"mess\n[]\n";
    disk.append(odd);
    log.extend(odd);
    let session = disk.open();
    assert_eq!(done(&session), (IndexState::Extended, 4));
    assert_right(&session, &log);
}

#[test]
fn what_a_reader_does_not_write_the_next_one_reads_again() {
    let mut log = chain(1000);
    let disk = Disk::new(&log);
    disk.touch();
    drop(disk.open());
    for number in 1..4 {
        let new = message(&format!("new-{number}"), "nobody");
        disk.append(&new);
        disk.touch();
        log.extend(new);
        let session = Session::open(disk.path()).expect("a session");
        assert_eq!(session.index_status().state, IndexState::Extended);
        assert!((1..=number).contains(&session.index_status().lines_read));
        assert_eq!(session.overview().expect("an overview").lines, lines(&log));
    }
    // Asked for a sidecar it writes what there is.
    drop(disk.open());
    let session = Session::open(disk.path()).expect("a session");
    assert_eq!(done(&session), (IndexState::Fresh, 0));
    assert_right(&session, &log);
}

/// A log of 200 entries with a fresh sidecar, changed by `change`, is indexed anew.
#[track_caller]
fn is_indexed_anew_after(change: impl Fn(&Disk, Vec<u8>)) {
    let before = chain(200);
    assert!(before.len() > 3 * 4096, "anchors would cover all of it");
    for reading in [Reading::Map, Reading::Read] {
        let disk = Disk::new(&before);
        disk.touch();
        drop(disk.open());
        assert_eq!(done(&disk.open()), (IndexState::Fresh, 0));
        change(&disk, before.clone());
        let log = disk.bytes();
        let session = always().reading(reading).open(disk.path());
        let session = session.expect("a session");
        assert_eq!(session.index_status().state, IndexState::Rebuilt);
        assert!(session.index_status().reason.is_some());
        assert_right(&session, &log);
        assert_eq!(done(&disk.open()), (IndexState::Fresh, 0));
    }
}

#[test]
fn a_truncated_log_is_indexed_anew() {
    is_indexed_anew_after(|disk, log| disk.truncate(log.len() as u64 / 2));
    is_indexed_anew_after(|disk, log| disk.truncate(log.len() as u64 - 1));
}

#[test]
fn another_log_in_its_place_is_indexed_anew() {
    is_indexed_anew_after(|disk, _| disk.replace(&chain(300)));
    is_indexed_anew_after(|disk, _| disk.replace(&log_of(Shape::new(Format::CodebotV3, 60))));
}

#[test]
fn a_shorter_log_in_its_place_is_indexed_anew() {
    is_indexed_anew_after(|disk, _| disk.replace(&chain(30)));
    is_indexed_anew_after(|disk, _| disk.rewrite(&chain(30)));
}

#[test]
fn a_log_in_its_place_that_differs_in_the_middle_only_is_indexed_anew() {
    is_indexed_anew_after(|disk, mut log| {
        part_in_the_middle(&mut log);
        disk.replace(&log);
    });
    // Also if it is longer.
    is_indexed_anew_after(|disk, mut log| {
        part_in_the_middle(&mut log);
        log.extend(message("new", "nobody"));
        disk.replace(&log);
    });
}

#[test]
fn a_change_in_place_is_noticed_wherever_it_is() {
    let end = chain(200).len();
    for at in [40, 4095, 4096, end / 2, end - 4097, end - 4096, end - 3] {
        is_indexed_anew_after(|disk, mut log| {
            log[at] ^= 1;
            disk.rewrite(&log);
        });
    }
    is_indexed_anew_after(|disk, mut log| {
        part_in_the_middle(&mut log);
        disk.rewrite(&log);
    });
}

#[test]
fn a_change_in_place_is_noticed_though_lines_were_appended_too() {
    is_indexed_anew_after(|disk, mut log| {
        part_in_the_middle(&mut log);
        disk.rewrite(&log);
        disk.append(&message("new", "nobody"));
    });
}

#[test]
fn a_large_log_that_was_cut_back_and_went_on_otherwise_is_indexed_anew() {
    let before = chain(12_000);
    assert!(before.len() > 4 << 20, "it would be looked at whole");
    let disk = Disk::new(&before);
    drop(disk.open());
    let mut log = before[..before.len() - 1000].to_vec();
    log.truncate(1 + log.iter().rposition(|&byte| byte == b'\n').expect("a line"));
    for number in 0..10 {
        log.extend(message(&format!("new-{number}"), "nobody"));
    }
    assert!(log.len() > before.len());
    disk.rewrite(&log);
    let session = disk.open();
    assert_eq!(session.index_status().state, IndexState::Rebuilt);
    let replay = Replay::from_bytes(&log, ReadOptions::default()).expect("a session");
    assert_eq!(
        session.overview().expect("an overview").entries,
        replay.overview().entries
    );
    assert_eq!(
        session.path(At::Current).expect("a path"),
        replay.path(At::Current).expect("a path")
    );
}

#[test]
fn a_change_in_place_right_after_indexing_is_noticed_though_the_time_stays() {
    for _ in 0..20 {
        let mut log = chain(200);
        let disk = Disk::new(&log);
        drop(disk.open());
        let file = File::options().write(true).open(disk.path());
        let file = file.expect("the log");
        let time = file
            .metadata()
            .and_then(|it| it.modified())
            .expect("a time");
        part_in_the_middle(&mut log);
        disk.rewrite(&log);
        file.set_modified(time).expect("a time");
        assert_right(&disk.open(), &log);
    }
}

/// The sidecar has vouched for the time by then; that anything about the file changed later gives it away.
#[cfg(unix)]
#[test]
fn a_change_in_place_of_a_small_log_is_noticed_though_its_time_is_set_back() {
    let mut log = chain(200);
    let disk = Disk::new(&log);
    let file = File::options().write(true).open(disk.path());
    let file = file.expect("the log");
    let time = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    file.set_modified(time).expect("a time");
    drop(disk.open());
    assert_eq!(disk.open().index_status().state, IndexState::Fresh);
    // Past the step in which the file system counts.
    std::thread::sleep(std::time::Duration::from_millis(30));
    part_in_the_middle(&mut log);
    disk.rewrite(&log);
    file.set_modified(time).expect("a time");
    let session = disk.open();
    assert_eq!(session.index_status().state, IndexState::Rebuilt);
    assert_right(&session, &log);
    drop(session);
    // Rights alone cost a look and change nothing.
    let mut rights = file.metadata().expect("rights").permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut rights, 0o600);
    file.set_permissions(rights).expect("set");
    assert_eq!(disk.open().index_status().state, IndexState::Fresh);
}

#[test]
fn a_change_in_place_before_an_unfinished_last_line_is_noticed() {
    let mut log = chain(200);
    log.extend_from_slice(b"{\"type\":\"mess");
    let disk = Disk::new(&log);
    disk.touch();
    drop(disk.open());
    part_in_the_middle(&mut log);
    disk.rewrite(&log);
    assert_right(&disk.open(), &log);
}

#[test]
fn a_touched_log_keeps_its_sidecar() {
    let log = chain(200);
    let disk = Disk::new(&log);
    drop(disk.open());
    for _ in 0..3 {
        disk.touch();
        let session = disk.open();
        assert_eq!(done(&session), (IndexState::Fresh, 0));
        assert_right(&session, &log);
    }
    // A log that was written anew with the same bytes is as good.
    disk.rewrite(&log);
    assert_eq!(done(&disk.open()), (IndexState::Fresh, 0));
    disk.replace(&log);
    assert_eq!(done(&disk.open()), (IndexState::Fresh, 0));
}

#[test]
fn a_copied_log_is_served_by_its_copied_sidecar() {
    let mut log = chain(200);
    let disk = Disk::new(&log);
    drop(disk.open());
    let copy = disk.folder().join("copy.jsonl");
    fs::copy(disk.path(), &copy).expect("copied");
    fs::copy(disk.sidecar(), beside(&copy)).expect("copied");
    for _ in 0..2 {
        let session = Session::open(&copy).expect("a session");
        assert_eq!(done(&session), (IndexState::Fresh, 0));
        assert_right(&session, &log);
    }
    let new = message("new", "nobody");
    log.extend(&new);
    fs::write(&copy, &log).expect("written");
    let session = Session::open(&copy).expect("a session");
    assert_eq!(done(&session), (IndexState::Extended, 1));
    assert_right(&session, &log);
}

#[test]
fn a_log_with_a_time_of_change_yet_to_come_is_answered_right() {
    let mut log = chain(200);
    let disk = Disk::new(&log);
    let file = File::options().write(true).open(disk.path());
    let file = file.expect("the log");
    let to_come = SystemTime::now() + Duration::from_secs(86_400);
    file.set_modified(to_come).expect("a time");
    drop(disk.open());
    assert_eq!(done(&disk.open()), (IndexState::Fresh, 0));
    part_in_the_middle(&mut log);
    disk.rewrite(&log);
    file.set_modified(to_come).expect("a time");
    assert_right(&disk.open(), &log);
}

#[test]
fn a_damaged_sidecar_keeps_no_writer_out() {
    for format in [Format::PiV4, Format::PiV3, Format::CodebotV3] {
        let log = log_of(Shape::new(format, 20).payload(8));
        let disk = Disk::in_memory(&log);
        drop(disk.open());
        let whole = fs::read(disk.sidecar()).expect("a sidecar");
        let mut tried = 0;
        for at in (0..whole.len()).filter(|&at| whole[at] != 0).step_by(5) {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(disk.sidecar(), &damaged).expect("written");
            let session = always().write(true).open(disk.path());
            let session = session.unwrap_or_else(|error| panic!("{format}, byte {at}: {error}"));
            assert_right(&session, &log);
            tried += 1;
        }
        assert!(tried > 100, "{tried}");
    }
}
