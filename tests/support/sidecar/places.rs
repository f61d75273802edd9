//! What may stand in a sidecar's place, and where it goes if it cannot stand there.

use std::fs;
use std::path::Path;
use std::process::Command;

use leaflog::{IndexState, OpenOptions, Reading};

use super::support::disk::{Disk, always, assert_right, done, sidecar_of};
use super::support::logs;
use super::{chain, lines, message};

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

#[cfg(unix)]
#[test]
fn a_link_to_a_good_sidecar_is_not_followed_and_what_it_leads_to_stays() {
    use std::os::unix::fs::symlink;
    let elsewhere = tempfile::tempdir().expect("a folder");
    let kept = elsewhere.path().join("kept");
    let log = chain(50);
    let good = sidecar_of(&log).expect("a sidecar");
    fs::write(&kept, &good).expect("written");
    is_written_over(|path| symlink(&kept, path).expect("linked"));
    assert_eq!(fs::read(&kept).expect("the file"), good);
    // Also when the link takes the sidecar's place while a session is open.
    let disk = Disk::new(&log);
    let session = disk.open();
    fs::rename(disk.sidecar(), &kept).expect("moved");
    symlink(&kept, disk.sidecar()).expect("linked");
    let good = fs::read(&kept).expect("the file");
    let mut longer = log.clone();
    longer.extend(message("new", "nobody"));
    disk.append(&message("new", "nobody"));
    session.refresh().expect("refreshed");
    assert_right(&session, &longer);
    drop(session);
    assert_right(&disk.open(), &longer);
    assert_eq!(fs::read(&kept).expect("the file"), good);
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
    if with_own_cache("places::a_folder_in_its_place_sends_it_to_the_cache_folder").is_some() {
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
    if with_own_cache("places::a_folder_that_cannot_be_written_sends_it_to_the_cache_folder")
        .is_some()
    {
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
