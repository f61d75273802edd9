//! The sidecar beside a log that grows, changes, is replaced and is read by others meanwhile: what
//! is done with it, and that the answers are right all the same.

mod support;

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use leaflog::generate::Shape;
use leaflog::naive::{ReadOptions, Replay};
use leaflog::{At, Code, Format, IndexMode, IndexState, OpenOptions, Reading, Session};
use proptest::prelude::*;
use support::disk::{Disk, always, assert_right, beside, done, sidecar_of};
use support::{logs, steps};

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

// What is done with it.

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

// What stands in its place.

/// A log is answered right, and gets a sidecar, whatever `put` puts into the sidecar's place.
#[track_caller]
fn is_written_over(put: impl Fn(&Path)) {
    for reading in [Reading::Map, Reading::Read] {
        let log = chain(50);
        let disk = Disk::new(&log);
        put(&disk.sidecar());
        for (options, state) in [
            (always(), IndexState::Rebuilt),
            (OpenOptions::new(), IndexState::Fresh),
        ] {
            let session = options.reading(reading).open(disk.path());
            let session = session.expect("a session");
            assert_eq!(session.index_status().state, state);
            assert_eq!(session.index_status().path, Some(disk.sidecar()));
            assert_right(&session, &log);
            assert_eq!(disk.bytes(), log);
        }
        let file = fs::symlink_metadata(disk.sidecar()).expect("a sidecar");
        assert!(file.is_file());
    }
}

#[test]
fn a_sidecar_of_another_log_is_written_over() {
    let other = sidecar_of(&chain(60)).expect("a sidecar");
    is_written_over(|path| fs::write(path, &other).expect("written"));
    // A part of the same log with another end.
    let mut log = chain(45);
    log.extend(message("new", "nobody"));
    let other = sidecar_of(&log).expect("a sidecar");
    is_written_over(|path| fs::write(path, &other).expect("written"));
    for (_, log) in logs::corpus() {
        if let Some(other) = sidecar_of(&log) {
            is_written_over(|path| fs::write(path, &other).expect("written"));
        }
    }
}

#[test]
fn a_sidecar_of_another_version_is_written_over() {
    let good = sidecar_of(&chain(50)).expect("a sidecar");
    let version = u32::from_le_bytes([good[8], good[9], good[10], good[11]]);
    let mut newer = good.clone();
    newer[8..12].copy_from_slice(&(version + 1).to_le_bytes());
    is_written_over(|path| fs::write(path, &newer).expect("written"));
    let mut other_settings = good;
    other_settings[12] ^= 0xFF;
    is_written_over(|path| fs::write(path, &other_settings).expect("written"));
}

#[test]
fn junk_in_its_place_is_written_over() {
    is_written_over(|path| fs::write(path, b"").expect("written"));
    is_written_over(|path| fs::write(path, b"leaflogI").expect("written"));
    is_written_over(|path| fs::write(path, chain(50)).expect("written"));
    is_written_over(|path| fs::write(path, vec![0; 1 << 20]).expect("written"));
    is_written_over(|path| fs::write(path, vec![0xFF; 4096]).expect("written"));
}

#[cfg(unix)]
#[test]
fn a_link_or_a_pipe_in_its_place_is_written_over() {
    use std::os::unix::fs::symlink;
    is_written_over(|path| symlink("nowhere/at/all", path).expect("linked"));
    is_written_over(|path| symlink(path, path).expect("linked"));
    // The log itself under a second name is left alone.
    is_written_over(|path| symlink("session.jsonl", path).expect("linked"));
    is_written_over(|path| fs::hard_link(path.with_extension(""), path).expect("linked"));
    is_written_over(|path| {
        let made = Command::new("mkfifo").arg(path).status().expect("mkfifo");
        assert!(made.success());
    });
}

#[test]
fn bytes_behind_the_last_frame_do_no_harm() {
    let mut log = chain(50);
    let disk = Disk::new(&log);
    drop(disk.open());
    let mut sidecar = fs::read(disk.sidecar()).expect("a sidecar");
    let whole = sidecar.len();
    for junk in [&sidecar.clone()[..300], &[0; 1000], b"leaflogI"] {
        sidecar.truncate(whole);
        sidecar.extend_from_slice(junk);
        fs::write(disk.sidecar(), &sidecar).expect("written");
        let session = disk.open();
        assert_eq!(done(&session), (IndexState::Fresh, 0));
        assert_right(&session, &log);
    }
    // Whoever writes next leaves them out.
    let new = message("new", "nobody");
    disk.append(&new);
    log.extend(new);
    assert_eq!(done(&disk.open()), (IndexState::Extended, 1));
    let session = disk.open();
    assert_eq!(done(&session), (IndexState::Fresh, 0));
    assert_right(&session, &log);
}

/// Runs a test of this program in a process of its own, whose cache folder is one in `folder`;
/// `None` in that process itself.
fn with_own_cache(test: &str) -> Option<()> {
    const MARK: &str = "LEAFLOG_TEST_HAS_ITS_OWN_CACHE";
    if std::env::var_os(MARK).is_some() {
        return None;
    }
    let home = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    for variable in ["XDG_CACHE_HOME", "HOME", "LOCALAPPDATA"] {
        command.env(variable, home.path());
    }
    let output = command
        .env(MARK, "1")
        .args(["--exact", test, "--nocapture"])
        .output()
        .expect("a process");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
    assert!(text.contains("1 passed"), "{text}\n{errors}");
    // What the process wants to say.
    print!("{}", errors);
    Some(())
}

#[test]
fn a_folder_in_its_place_sends_it_to_the_cache_folder() {
    if with_own_cache("a_folder_in_its_place_sends_it_to_the_cache_folder").is_some() {
        return;
    }
    let log = chain(50);
    let disk = Disk::new(&log);
    fs::create_dir(disk.sidecar()).expect("a folder");
    fs::write(disk.sidecar().join("file"), b"x").expect("a file");
    goes_to_the_cache_folder(&disk, log);
}

/// A log whose sidecar cannot stand beside it gets one in the cache folder, used from then on.
#[track_caller]
fn goes_to_the_cache_folder(disk: &Disk, mut log: Vec<u8>) {
    let session = disk.open();
    assert_eq!(done(&session), (IndexState::Rebuilt, lines(&log)));
    let path = session.index_status().path.expect("a sidecar");
    assert!(!path.starts_with(disk.folder()), "{}", path.display());
    assert!(path.is_file());
    assert_right(&session, &log);
    let session = disk.open();
    assert_eq!(done(&session), (IndexState::Fresh, 0));
    assert_eq!(session.index_status().path, Some(path));
    let new = message("new", "nobody");
    disk.append(&new);
    log.extend(new);
    let session = disk.open();
    assert_eq!(done(&session), (IndexState::Extended, 1));
    assert_right(&session, &log);
    assert_eq!(done(&disk.open()), (IndexState::Fresh, 0));
    let damaged = disk.open().index_status().path.expect("a sidecar");
    fs::write(damaged, b"junk").expect("written");
    let session = disk.open();
    assert_eq!(session.index_status().state, IndexState::Rebuilt);
    assert_right(&session, &log);
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_sends_it_to_the_cache_folder() {
    use std::os::unix::fs::PermissionsExt;
    if with_own_cache("a_folder_that_cannot_be_written_sends_it_to_the_cache_folder").is_some() {
        return;
    }
    let log = chain(50);
    let disk = Disk::new(&log);
    let mode = |mode| fs::set_permissions(disk.folder(), fs::Permissions::from_mode(mode));
    mode(0o500).expect("a mode");
    if fs::write(disk.folder().join("file"), b"x").is_ok() {
        eprintln!("not tested: this user may write where nobody may");
    } else {
        goes_to_the_cache_folder(&disk, log);
    }
    mode(0o700).expect("a mode");
}

#[cfg(unix)]
#[test]
fn a_sidecar_that_cannot_be_read_is_written_over() {
    use std::os::unix::fs::PermissionsExt;
    let good = sidecar_of(&chain(50)).expect("a sidecar");
    let unreadable = |path: &Path| {
        fs::write(path, &good).expect("written");
        fs::set_permissions(path, fs::Permissions::from_mode(0o000)).expect("a mode");
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("file");
    unreadable(&path);
    if fs::read(&path).is_ok() {
        eprintln!("not tested: this user may read what nobody may");
        return;
    }
    is_written_over(unreadable);
}

#[test]
fn a_folder_for_sidecars_is_used_in_place_of_the_logs_own() {
    let disk = Disk::new(&chain(50));
    // Two logs of one name in two folders do not get into each other's way.
    let other = Disk::new(&chain(60));
    let folder = disk.folder().join("made/when/needed");
    let options = always().index_dir(&folder);
    for state in [IndexState::Rebuilt, IndexState::Fresh] {
        for disk in [&disk, &other] {
            let session = options.open(disk.path()).expect("a session");
            assert_eq!(session.index_status().state, state);
            let path = session.index_status().path.expect("a sidecar");
            assert!(path.starts_with(&folder), "{}", path.display());
            assert_right(&session, &disk.bytes());
            assert!(!disk.sidecar().exists());
        }
    }
    assert_eq!(fs::read_dir(&folder).expect("the folder").count(), 2);
}

#[test]
fn without_any_place_for_a_sidecar_the_log_is_read_whole_each_time() {
    let log = chain(50);
    let disk = Disk::new(&log);
    let file = disk.folder().join("file");
    fs::write(&file, b"no folder").expect("written");
    for _ in 0..2 {
        let session = always().index_dir(&file).open(disk.path());
        let session = session.expect("a session");
        assert_eq!(done(&session), (IndexState::None, lines(&log)));
        assert_eq!(session.index_status().path, None);
        assert!(session.index_status().reason.is_some());
        assert_right(&session, &log);
    }
    assert_eq!(fs::read(&file).expect("the file"), b"no folder");
}

#[test]
fn verify_tells_a_good_sidecar_from_a_bad_one() {
    let log = chain(200);
    let disk = Disk::new(&log);
    drop(disk.open());
    let found = always().verify(disk.path()).expect("verified");
    assert!(found.is_clean() && found.index_checked, "{found:?}");
    assert_eq!((found.lines, found.bytes), (lines(&log), log.len() as u64));
    assert_eq!((found.entries, found.leaves), (200, 1));
    let good = fs::read(disk.sidecar()).expect("a sidecar");
    let significant: Vec<usize> = (0..good.len()).filter(|&at| good[at] != 0).collect();
    for &at in significant.iter().step_by(significant.len() / 50) {
        let mut bad = good.clone();
        bad[at] ^= 1;
        fs::remove_file(disk.sidecar()).expect("removed");
        fs::write(disk.sidecar(), bad).expect("written");
        let found = always().verify(disk.path()).expect("verified");
        assert_eq!(found.report_count, 0);
        assert!(found.problem_count > 0, "byte {at}: {found:?}");
    }
    fs::remove_file(disk.sidecar()).expect("removed");
    let found = always().verify(disk.path()).expect("verified");
    assert!(found.is_clean() && !found.index_checked, "{found:?}");
}

// The unfinished last line.

/// Appends pieces one after the other, and asks after each: a session opened anew, one that is
/// refreshed, and before that the same one for what it knew.
#[track_caller]
fn grows_by(log: &[u8], pieces: &[&[u8]]) {
    for reading in [Reading::Map, Reading::Read] {
        let mut log = log.to_vec();
        let disk = Disk::new(&log);
        let options = always().reading(reading);
        let kept = options.open(disk.path()).expect("a session");
        for piece in pieces {
            disk.append(piece);
            assert_right(&kept, &log);
            log.extend_from_slice(piece);
            let session = options.open(disk.path()).expect("a session");
            assert_right(&session, &log);
            assert!(kept.refresh().expect("refreshed"));
            assert_right(&kept, &log);
            assert!(!kept.refresh().expect("refreshed"));
            assert_right(&kept, &log);
        }
        assert_eq!(disk.bytes(), log);
    }
}

#[test]
fn an_unfinished_last_line_is_read_anew_when_it_goes_on() {
    let log = chain(20);
    let parent = leaf(&log);
    let line = message("new", &parent);
    let newline = line.len() - 1;
    // Torn within.
    grows_by(&log, &[&line[..20], &line[20..90], &line[90..]]);
    // Torn right before the newline, and right behind it.
    grows_by(&log, &[&line[..newline], b"\n", &message("newer", "new")]);
    // White space, NUL bytes or another object where the newline should be.
    grows_by(&log, &[&line[..newline], b" ", b"\n"]);
    grows_by(&log, &[&line[..newline], b"\0\0\0", b"\n"]);
    grows_by(
        &log,
        &[&line[..newline], &message("newer", "new"), b"{", b"}\n"],
    );
    // Never finished, and followed by a whole one.
    grows_by(&log, &[&line[..60], &message("newer", &parent), b"\n"]);
    // Blank.
    grows_by(&log, &[b" ", b"\t", b"\n", b"\n"]);
}

#[test]
fn a_finished_last_line_costs_one_line() {
    let mut log = chain(20);
    let line = message("new", &leaf(&log));
    log.extend_from_slice(&line[..line.len() - 1]);
    let disk = Disk::new(&log);
    assert_eq!(disk.open().index_status().state, IndexState::Rebuilt);
    // Whole lines are covered; the last one is read each time, and not counted.
    let session = disk.open();
    assert_eq!(done(&session), (IndexState::Fresh, 0));
    assert_eq!(
        session.overview().expect("an overview").leaf.as_deref(),
        Some("new")
    );
    disk.append(b"\n");
    assert_eq!(done(&disk.open()), (IndexState::Extended, 1));
    assert_eq!(done(&disk.open()), (IndexState::Fresh, 0));
    log.push(b'\n');
    assert_right(&disk.open(), &log);
}

#[test]
fn an_unfinished_last_line_with_an_earlier_id_counts_as_long_as_it_stands() {
    let log = chain(20);
    let parent = leaf(&log);
    let line = message(&parent, "nobody");
    let newline = line.len() - 1;
    grows_by(&log, &[&line[..newline], b"\n"]);
    grows_by(&log, &[&line[..newline], b"x\n", &message("new", &parent)]);
    // The id of the very first line that has one.
    let first = Disk::new(&log).open().tree().expect("a tree")[0].id.clone();
    let line = message(&first, &parent);
    grows_by(&log, &[&line[..newline], b"x", b"\n"]);
    grows_by(&log, &[&line[..newline], b"\n", &message("new", &first)]);
}

#[test]
fn an_unfinished_last_line_may_be_the_parent_that_an_orphan_waits_for() {
    let mut log = chain(20);
    let parent = leaf(&log);
    log.extend(message("orphan", "late"));
    log.extend(message("child", "orphan"));
    let line = message("late", &parent);
    let newline = line.len() - 1;
    grows_by(&log, &[&line[..newline], b"\n", &message("new", "child")]);
    grows_by(&log, &[&line[..newline], b"x\n", &line]);
    // It closes a cycle.
    let line = message("late", "child");
    let newline = line.len() - 1;
    grows_by(&log, &[&line[..newline], b"\n", &message("new", "child")]);
}

#[test]
fn a_log_of_nothing_but_an_unfinished_header_grows_into_a_session() {
    let log = chain(5);
    let header = log
        .iter()
        .position(|&byte| byte == b'\n')
        .expect("a header");
    grows_by(&log[..header], &[b"\n", &log[header + 1..]]);
    let disk = Disk::new(&log[..header]);
    let session = disk.open();
    assert_eq!(session.index_status().path, None);
    disk.append(&log[header..]);
    let session = disk.open();
    assert_eq!(session.index_status().path, Some(disk.sidecar()));
    assert_right(&session, &log);
}

// Lines that change what is known of earlier ones.

#[test]
fn an_appended_id_that_was_used_before_changes_earlier_lines() {
    let log = chain(50);
    let tree = Disk::new(&log).open().tree().expect("a tree");
    let (first, middle, last) = (&tree[0].id, &tree[25].id, &tree[49].id);
    for id in [first, middle, last] {
        grows_by(&log, &[&message(id, "nobody"), &message("new", id)]);
        grows_by(&log, &[&message(id, last), &message("new", last)]);
    }
    grows_by(
        &log,
        &[&[message("new", last), message("new", first)].concat()],
    );
    let disk = Disk::new(&log);
    drop(disk.open());
    disk.append(&message(middle, first));
    assert_eq!(disk.open().index_status().state, IndexState::Rebuilt);
    assert_eq!(done(&disk.open()), (IndexState::Fresh, 0));
}

#[test]
fn an_appended_parent_takes_in_the_orphans_that_wait_for_it() {
    let mut log = chain(20);
    let parent = leaf(&log);
    log.extend(message("one", "late"));
    log.extend(message("two", "late"));
    log.extend(message("three", "later"));
    grows_by(
        &log,
        &[
            &message("later", "late"),
            &message("late", &parent),
            &message("new", "three"),
        ],
    );
    // Both at once, the child first, and as a cycle.
    grows_by(
        &log,
        &[&[message("late", "later"), message("later", &parent)].concat()],
    );
    grows_by(
        &log,
        &[&[message("late", "later"), message("later", "late")].concat()],
    );
}

#[test]
fn appended_lines_reach_what_facts_lanes_and_records_waited_for() {
    let mut log = log_of(Shape::new(Format::PiV4, 30).payload(20));
    let mut seq = lines(&log);
    let mut line = |text: &str| {
        let line = text.replace("SEQ", &seq.to_string());
        seq += 1;
        format!("{line},\"timestamp\":1784019700000}}\n").into_bytes()
    };
    log.extend(line(
        r#"{"kind":"fact","seq":SEQ,"fact":"label","targetId":"late","label":"waits""#,
    ));
    log.extend(line(
        r#"{"kind":"lane","seq":SEQ,"lane":"side","leafId":"late""#,
    ));
    log.extend(line(
        r#"{"kind":"record","type":"operation_finished","id":"end","lane":"main","runId":"run","seq":SEQ"#,
    ));
    let pieces = [
        line(
            r#"{"kind":"entry","type":"message","lane":"main","id":"late","parentId":null,"seq":SEQ,"message":{"role":"user","content":"x"}"#,
        ),
        line(r#"{"kind":"record","type":"operation_started","id":"run","lane":"main","seq":SEQ"#),
        line(
            r#"{"kind":"entry","type":"message","lane":"side","id":"new","parentId":"late","seq":SEQ,"message":{"role":"user","content":"x"}"#,
        ),
        line(
            r#"{"kind":"record","type":"usage","id":"run","lane":"main","seq":SEQ,"usage":{"totalTokens":1}"#,
        ),
        line(
            r#"{"kind":"record","type":"usage","id":"new","lane":"main","seq":SEQ,"usage":{"totalTokens":1}"#,
        ),
    ];
    let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
    grows_by(&log, &pieces);
    grows_by(&log, &[&pieces.concat()]);
}

// Growth in small pieces.

#[test]
fn a_sidecar_that_grows_line_by_line_stays_small_and_readable() {
    let whole = chain(1000);
    let start = whole.len() / 2;
    let start = start
        + whole[start..]
            .iter()
            .position(|&b| b == b'\n')
            .expect("a line")
        + 1;
    let new: Vec<&[u8]> = whole[start..].split_inclusive(|&b| b == b'\n').collect();
    assert!(new.len() > 400);
    for natural in [true, false] {
        let mut log = whole[..start].to_vec();
        let disk = Disk::new(&log);
        drop(disk.open());
        let mut largest = 0;
        for line in &new {
            disk.append(line);
            log.extend_from_slice(line);
            if !natural {
                // Old enough that its time of change proves something.
                disk.touch();
            }
            let session = disk.open();
            assert_eq!(done(&session), (IndexState::Extended, 1));
            assert_eq!(session.overview().expect("an overview").lines, lines(&log));
            let size = fs::metadata(disk.sidecar()).expect("a sidecar").len();
            largest = largest.max(size);
        }
        assert_right(&disk.open(), &whole);
        let fresh = sidecar_of(&whole).expect("a sidecar").len() as u64;
        // Up to 32 frames of 12 KiB and more stand in the row before they are merged.
        let most = 2 * fresh + (512 << 10);
        assert!(largest < most, "{largest} bytes, fresh {fresh}");
        let session = disk.open();
        assert_eq!(done(&session), (IndexState::Fresh, 0));
        assert!(always().verify(disk.path()).expect("verified").is_clean());
    }
}

#[test]
fn a_session_that_is_refreshed_after_each_of_many_lines_keeps_a_small_index() {
    let whole = chain(1500);
    let mut log: Vec<&[u8]> = whole.split_inclusive(|&byte| byte == b'\n').collect();
    let new = log.split_off(10);
    let disk = Disk::new(&log.concat());
    let session = disk.open();
    for line in &new {
        disk.append(line);
        assert!(session.refresh().expect("refreshed"));
    }
    assert_eq!(session.path(At::Current).expect("a path").len(), 1500);
    let fresh = sidecar_of(&whole).expect("a sidecar").len() as u64;
    let bytes = session.index_status().bytes;
    assert!(bytes < 4 * fresh, "{bytes} bytes, fresh {fresh}");
    assert_right(&session, &whole);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases.max(256),
        max_shrink_iters: 500,
        ..ProptestConfig::default()
    })]

    #[test]
    fn whatever_happens_to_log_and_sidecar_the_answers_are_right(story in steps::story()) {
        story.take().map_err(TestCaseError::fail)?;
    }
}

// Others at the same files.

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
        let error = session.log().map(drop).expect_err("nothing there");
        assert_eq!(error.code(), Code::NotFound);
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
