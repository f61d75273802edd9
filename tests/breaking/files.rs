//! What happens to the files of a session while it is written.

use std::fs;

use leaflog::{
    At, Code, CreateOptions, Format, IndexState, OpenOptions, Repository, Session, SessionStorage,
};
use tempfile::TempDir;

use super::user;
use crate::support::disk::{always, beside, right};

const V4: Format = Format::PiV4;

fn begun(folder: &TempDir) -> Session {
    let path = folder.path().join("s.jsonl");
    let session = always().create(path, &CreateOptions::in_folder("/w"));
    let session = session.expect("a session");
    session
        .append_entry(user(V4, "first").with_id("first"), "main")
        .expect("appends");
    session.sync().expect("syncs");
    session
}

fn assert_right(session: &Session) {
    let log = fs::read(session.log_path()).expect("the log");
    right(session, &log).expect("the answers of the replay");
}

#[test]
fn a_sidecar_that_is_harmed_under_a_writer_costs_time_and_no_answer() {
    type Harm = fn(&[u8], &[u8]) -> Option<Vec<u8>>;
    let harms: [Harm; 6] = [
        |_, _| None,
        |_, _| Some(b"garbage".to_vec()),
        |older, _| Some(older.to_vec()),
        |_, newer| Some(newer[..newer.len() - 5000].to_vec()),
        |_, newer| Some([newer, newer].concat()),
        |_, newer| Some(newer.iter().map(|byte| byte ^ 0x5a).collect()),
    ];
    for harm in harms {
        let folder = TempDir::new().expect("a folder");
        let session = begun(&folder);
        let sidecar = beside(session.log_path());
        let older = fs::read(&sidecar).expect("a sidecar");
        let append = || {
            session
                .append_entry(user(V4, "x"), "main")
                .expect("appends")
        };
        (0..20).for_each(|_| drop(append()));
        session.sync().expect("syncs");
        let newer = fs::read(&sidecar).expect("a sidecar");
        // Never in place: the session has it mapped.
        fs::remove_file(&sidecar).expect("removed");
        if let Some(bytes) = harm(&older, &newer) {
            fs::write(&sidecar, bytes).expect("written");
        }
        (0..20).for_each(|_| drop(append()));
        session.sync().expect("syncs");
        assert_right(&session);
        append();
        session.close().expect("closes");
        assert_right(&always().open(session.log_path()).expect("opens"));
    }
}

#[test]
fn what_has_no_slot_is_in_the_sidecar_after_the_end_of_a_session_too() {
    let folder = TempDir::new().expect("a folder");
    let session = begun(&folder);
    session.set_label("first", Some("label")).expect("labelled");
    session.set_name(Some("name")).expect("named");
    session.create_lane("lane", None).expect("a lane");
    session.close().expect("closes");
    let again = OpenOptions::new().open(session.log_path()).expect("opens");
    assert_eq!(again.index_status().state, IndexState::Fresh);
    assert_right(&again);
}

#[test]
fn a_log_that_is_put_aside_is_not_written_to_and_its_successor_not_read() {
    let folder = TempDir::new().expect("a folder");
    let session = begun(&folder);
    let path = session.log_path();
    fs::rename(path, folder.path().join("aside")).expect("renamed");
    let other = always()
        .create(path, &CreateOptions::in_folder("/w"))
        .expect("another");
    other
        .append_entry(user(V4, "x").with_id("other"), "main")
        .expect("appends");
    let refused = session
        .append_entry(user(V4, "x"), "main")
        .expect_err("refused");
    assert_eq!(refused.code(), Code::Storage);
    assert_eq!(session.entry("other").expect("read"), None);
    assert!(session.entry("first").expect("read").is_some());
    session.close().expect("closes");
    assert_right(&other);
    other.close().expect("closes");
    assert_right(&always().open(path).expect("opens"));
}

#[test]
fn a_log_that_is_cut_is_an_error_for_all_who_have_it_and_none_for_the_next() {
    let folder = TempDir::new().expect("a folder");
    let session = begun(&folder);
    let reader = always().open(session.log_path()).expect("opens");
    let file = fs::File::options().write(true).open(session.log_path());
    let len = fs::metadata(session.log_path()).expect("a log").len();
    file.and_then(|file| file.set_len(len - 10)).expect("cut");
    let refused = session
        .append_entry(user(V4, "x"), "main")
        .expect_err("refused");
    assert_eq!(refused.code(), Code::InvalidEntry);
    for cut in [&session, &reader] {
        let refused = cut.snapshot(At::Current).expect_err("refused");
        assert_eq!(refused.code(), Code::InvalidEntry);
    }
    session.close().expect("closes");
    let next = always()
        .write(true)
        .open(session.log_path())
        .expect("opens");
    next.append_entry(user(V4, "x"), "main").expect("appends");
    assert_right(&next);
    reader.refresh().expect("refreshes");
    assert_right(&reader);
}

#[test]
fn a_write_that_is_refused_leaves_a_torn_last_line_where_it_is() {
    let folder = TempDir::new().expect("a folder");
    let session = begun(&folder);
    session.close().expect("closes");
    let path = session.log_path();
    let torn = [&fs::read(path).expect("the log"), &b"{torn"[..]].concat();
    fs::write(path, &torn).expect("torn");
    let next = always().write(true).open(path).expect("opens");
    let refused = [
        next.append_entry(user(V4, "x").with_id("first"), "main"),
        next.append_entry(user(V4, "x"), "no lane"),
        next.append_entry(user(V4, "\""), "main"),
    ];
    assert!(refused.iter().all(Result::is_err));
    assert!(next.set_label("nobody", None).is_err() && next.move_lane("no lane", None).is_err());
    assert_eq!(fs::read(path).expect("the log"), torn);
    let stored = next.append_entry(user(V4, "x"), "main").expect("appends");
    assert_eq!(stored.parent.as_deref(), Some("first"));
    assert_right(&next);
}

#[test]
fn all_copies_of_torn_lines_go_with_their_session() {
    let folder = TempDir::new().expect("a folder");
    let repository = Repository::new(folder.path());
    let options = CreateOptions {
        id: Some("s1".to_owned()),
        ..CreateOptions::in_folder("/w")
    };
    let session = repository.create(&options).expect("a session");
    let path = session.log_path().to_owned();
    let header = fs::read(&path).expect("the header");
    session.close().expect("closes");
    for _ in 0..3 {
        fs::write(&path, [header.as_slice(), b"{torn"].concat()).expect("torn");
        let session = repository.open("s1").expect("opens");
        session
            .append_entry(user(V4, "x"), "main")
            .expect("appends");
    }
    repository.delete("s1").expect("deleted");
    let left = fs::read_dir(path.parent().expect("a folder"))
        .expect("listed")
        .count();
    assert_eq!(left, 0);
}

#[cfg(unix)]
mod unix {
    use std::path::Path;
    use std::process::Command;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    fn make_pipe(path: &Path) {
        let made = Command::new("mkfifo").arg(path).status().expect("a pipe");
        assert!(made.success());
    }

    /// Runs what must not wait for anybody.
    fn at_once(run: impl FnOnce() + Send + 'static) {
        let (done, is_done) = mpsc::channel();
        std::thread::spawn(move || {
            run();
            done.send(()).expect("somebody waits");
        });
        is_done
            .recv_timeout(Duration::from_secs(20))
            .expect("an end");
    }

    #[test]
    fn pipes_in_the_place_of_sessions_and_sidecars_are_not_waited_for() {
        let folder = TempDir::new().expect("a folder");
        let pipe = folder.path().join("2026-07-14_p1.jsonl");
        make_pipe(&pipe);
        let repository = Repository::new(folder.path());
        at_once(move || {
            assert_eq!(repository.list().expect("listed").warnings.len(), 1);
            assert_eq!(
                repository.open("p1").expect_err("none").code(),
                Code::NotFound
            );
            let refused = repository.open_path(&pipe).expect_err("no file");
            assert_eq!(refused.code(), Code::Storage);
            repository.delete("p1").expect("no session");
            assert!(pipe.exists());
        });
        let session = begun(&folder);
        let sidecar = beside(session.log_path());
        fs::remove_file(&sidecar).expect("removed");
        make_pipe(&sidecar);
        at_once(move || {
            session
                .append_entry(user(V4, "x"), "main")
                .expect("appends");
            session.sync().expect("syncs");
            assert_right(&session);
        });
        assert!(fs::metadata(&sidecar).expect("a sidecar").is_file());
    }

    /// The child of the test below: writes until there is no more room.
    #[test]
    fn a_child_that_runs_out_of_room() {
        let Some(folder) = std::env::var_os("LEAFLOG_TEST_FULL") else {
            return;
        };
        let path = Path::new(&folder).join("s.jsonl");
        let session = always()
            .create(&path, &CreateOptions::in_folder("/w"))
            .expect("made");
        for size in [7000, 50, 5] {
            let new = user(V4, &"x".repeat(size));
            let refused = std::iter::repeat_with(|| session.append_entry(new.clone(), "main"));
            let refused = refused.take(1000).find_map(Result::err).expect("no room");
            assert_eq!(refused.code(), Code::Storage);
            assert!(fs::read(&path).expect("the log").ends_with(b"}\n"));
            assert_right(&session);
        }
        session.sync().expect("what there is");
        let target = path.with_file_name("fork.jsonl");
        let options = CreateOptions::in_folder("w".repeat(9000));
        let refused = session.fork_to(&target, &leaflog::ForkScope::Tree, &options);
        assert_eq!(refused.expect_err("no room").code(), Code::Storage);
        session.close().expect("closes");
        assert!(fs::read_dir(&folder).expect("listed").all(|item| {
            let name = item.expect("a file").file_name();
            name == "s.jsonl" || name == "s.jsonl.idx"
        }));
    }

    #[test]
    fn without_room_a_log_ends_with_its_last_whole_line_and_goes_on_with_room() {
        // The smaller one has no room for a sidecar, which then goes to the user's cache.
        for kibibytes in [20, 137] {
            let folder = TempDir::new().expect("a folder");
            let child = std::env::current_exe().expect("this program");
            let test = "files::unix::a_child_that_runs_out_of_room";
            let run = format!("trap '' XFSZ; ulimit -f {kibibytes}; exec \"$0\" --exact {test}");
            let mut command = Command::new("bash");
            command.args(["-c", &run]).arg(child);
            command.env("LEAFLOG_TEST_FULL", folder.path());
            let done = command.env("XDG_CACHE_HOME", folder.path().join("s.jsonl"));
            let done = done.output().expect("a child");
            assert!(
                done.status.success(),
                "{}",
                String::from_utf8_lossy(&done.stdout)
            );
            let path = folder.path().join("s.jsonl");
            let session = always().write(true).open(&path).expect("opens");
            session
                .append_entry(user(V4, "x"), "main")
                .expect("appends");
            assert_right(&session);
        }
    }
}

#[cfg(feature = "sqlite")]
#[test]
fn a_database_that_is_gone_takes_no_writes() {
    use leaflog::{SessionRepository, SqliteRepository};
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("s.db");
    let repository = SqliteRepository::open(&path).expect("a database");
    let session = repository
        .create(&CreateOptions::in_folder("/w"))
        .expect("a session");
    session
        .append_entry(user(V4, "x"), "main")
        .expect("appends");
    fs::rename(&path, folder.path().join("aside")).expect("renamed");
    let refused = session
        .append_entry(user(V4, "x"), "main")
        .expect_err("gone");
    assert_eq!(refused.code(), Code::Storage);
    fs::write(&path, b"").expect("another file");
    let refused = session
        .append_entry(user(V4, "x"), "main")
        .expect_err("replaced");
    assert_eq!(refused.code(), Code::Storage);
}
