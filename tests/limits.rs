//! What happens at the limits that `docs/limits.md` states and that no other test has a room for:
//! names as long as a file system takes, and more open files than the system allows.

#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::Command;

use leaflog::{
    Code, CreateOptions, Format, IndexMode, OpenOptions, ReportCode, Repository, Session,
    SessionStorage, pi,
};

const ALWAYS: fn() -> OpenOptions = || OpenOptions::new().index(IndexMode::Always);
const SAID: &str = r#"{"role":"user","content":"hi"}"#;

fn made(path: &Path) -> Session {
    let session = ALWAYS()
        .create(path, &CreateOptions::in_folder("/w"))
        .expect("a session");
    session
        .append_entry(pi::message(SAID), "main")
        .expect("appended");
    session
}

/// A name of so many bytes.
fn name(len: usize) -> String {
    format!("{}.jsonl", "n".repeat(len - 6))
}

#[test]
fn a_log_whose_name_leaves_no_room_for_a_sidecars_is_read_and_written() {
    let folder = tempfile::tempdir().expect("a folder");
    for len in [240, 246, 247, 251, 252, 255] {
        let path = folder.path().join(name(len));
        let session = made(&path);
        session.close().expect("closed");
        let session = ALWAYS().open(&path).expect("a session");
        assert_eq!(
            session
                .snapshot(leaflog::At::Current)
                .expect("a snapshot")
                .messages
                .len(),
            1
        );
        drop(session);
        // Whatever belongs to it stands beside it or nowhere in this folder.
        for item in fs::read_dir(folder.path()).expect("a folder") {
            let found = item.expect("an item").file_name();
            assert!(
                found.to_string_lossy().starts_with(&name(len)[..len - 6]),
                "{found:?}"
            );
        }
        let torn = format!("{}{{\"torn", fs::read_to_string(&path).expect("the log"));
        fs::write(&path, &torn).expect("written");
        let session = ALWAYS().write(true).open(&path).expect("a session");
        match session.append_entry(pi::message(SAID), "main") {
            Ok(_) => assert!(len < 250),
            // The torn line cannot be kept beside the log, so it is not cut off.
            Err(error) => {
                assert!(len > 240);
                assert_eq!(error.code(), Code::Storage, "{error}");
                assert_eq!(fs::read_to_string(&path).expect("the log"), torn);
            }
        }
        drop(session);
        for item in fs::read_dir(folder.path()).expect("a folder") {
            fs::remove_file(item.expect("an item").path()).expect("removed");
        }
    }
    let error = OpenOptions::new()
        .create(
            folder.path().join(name(256)),
            &CreateOptions::in_folder("/w"),
        )
        .expect_err("no name");
    assert_eq!(error.code(), Code::Storage, "{error}");
}

#[test]
fn an_id_of_a_session_has_200_characters_at_the_most() {
    let folder = tempfile::tempdir().expect("a folder");
    let repository = Repository::new(folder.path());
    for format in [Format::CodebotV3, Format::PiV3, Format::PiV4] {
        for (len, fits) in [(1, true), (200, true), (201, false)] {
            let options = CreateOptions {
                id: Some("i".repeat(len)),
                format: Some(format),
                ..CreateOptions::in_folder("/w")
            };
            let made = repository.create(&options);
            let code = made.as_ref().err().map(leaflog::Error::code);
            assert_eq!(
                code,
                (!fits).then_some(Code::InvalidPayload),
                "{format} {len}"
            );
            drop(made);
            repository.delete(&"i".repeat(len)).expect("deleted");
        }
    }
}

#[test]
fn a_sequence_number_beyond_what_javascript_counts_to_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s.jsonl");
    let log = |seq: &str| {
        format!(
            "{{\"kind\":\"header\",\"version\":4,\"id\":\"s\",\"createdAt\":1,\"cwd\":\"/\"}}\n\
             {{\"kind\":\"fact\",\"seq\":{seq},\"fact\":\"name\",\"name\":\"n\"}}\n"
        )
    };
    let codes = |seq: &str| -> Vec<ReportCode> {
        fs::write(&path, log(seq)).expect("written");
        let session = OpenOptions::new().open(&path).expect("a session");
        let overview = session.overview().expect("an overview");
        assert_eq!(overview.name.as_deref(), Some("n"));
        overview.reports.iter().map(|report| report.code).collect()
    };
    assert_eq!(codes("1"), []);
    for seq in [
        "9007199254740991",
        "9007199254740992",
        "1e300",
        "0",
        "-1",
        "1.5",
        "\"1\"",
    ] {
        assert_eq!(codes(seq), [ReportCode::Seq], "{seq}");
    }
}

#[test]
fn of_many_problems_the_first_hundred_are_told_and_all_are_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s.jsonl");
    let mut log = String::from(
        "{\"kind\":\"header\",\"version\":4,\"id\":\"s\",\"createdAt\":1,\"cwd\":\"/\"}\n",
    );
    for seq in 1..=150 {
        log.push_str(&format!(
            "{{\"kind\":\"entry\",\"type\":\"custom\",\"id\":\"e{seq}\",\"customType\":\"x\",\"parentId\":\"lost{seq}\",\"seq\":{seq},\"timestamp\":1}}\n"
        ));
    }
    fs::write(&path, log).expect("written");
    let found = OpenOptions::new().verify(&path).expect("verified");
    assert_eq!((found.problems.len(), found.problem_count), (100, 150));
    assert_eq!((found.reports.len(), found.report_count), (100, 150));
}

#[test]
fn leaves_that_share_a_circle_are_followed_once_and_told_of_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s.jsonl");
    let mut log = String::from(
        "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-07-14T09:00:00Z\",\"cwd\":\"/\"}\n",
    );
    let mut entry = |id: &str, parent: &str| {
        log.push_str(&format!(
            "{{\"type\":\"custom\",\"id\":\"{id}\",\"parentId\":\"{parent}\",\"timestamp\":\"2026-07-14T09:00:00Z\",\"customType\":\"x\"}}\n"
        ));
    };
    entry("a", "b");
    entry("b", "a");
    // A long way to the circle, with many leaves at its end.
    for number in 0..20_000 {
        let parent = match number {
            0 => "a".to_owned(),
            number => format!("c{}", number - 1),
        };
        entry(&format!("c{number}"), &parent);
    }
    for number in 0..20_000 {
        entry(&format!("l{number}"), "c19999");
    }
    fs::write(&path, log).expect("written");
    let found = OpenOptions::new().verify(&path).expect("verified");
    assert_eq!((found.leaves, found.problem_count), (20_000, 1));
}

/// Runs in a process of its own, which may have few files open.
#[test]
fn a_child_that_opens_many_sessions() {
    let Some(folder) = std::env::var_os("LEAFLOG_TEST_MANY_SESSIONS") else {
        return;
    };
    let folder = Path::new(&folder);
    let mut open = Vec::new();
    let error = loop {
        let path = folder.join(format!("{}.jsonl", open.len()));
        match ALWAYS().create(&path, &CreateOptions::in_folder("/w")) {
            Ok(session) => open.push(session),
            Err(error) => break error,
        }
        assert!(open.len() < 1_000, "no limit is in force");
    };
    assert_eq!(error.code(), Code::Storage, "{error}");
    assert!(error.to_string().contains("open files"), "{error}");
    assert!(open.len() > 5, "{}", open.len());
    // Nothing was left of the one that failed, and what is open goes on.
    for session in &open {
        session
            .append_entry(pi::message(SAID), "main")
            .expect("appended");
    }
    let first = open.remove(0);
    first.close().expect("closed");
    drop(first);
    let read = OpenOptions::new()
        .open(folder.join("0.jsonl"))
        .expect("a session");
    assert_eq!(
        read.snapshot(leaflog::At::Current)
            .expect("a snapshot")
            .messages
            .len(),
        1
    );
    println!("done");
}

#[test]
fn more_sessions_than_files_may_be_open_are_refused_and_the_others_go_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = std::env::current_exe().expect("this program");
    let output = Command::new("sh")
        .arg("-c")
        .arg("ulimit -n 64; exec \"$0\" --exact a_child_that_opens_many_sessions --nocapture")
        .arg(program)
        .env("LEAFLOG_TEST_MANY_SESSIONS", folder.path())
        .output()
        .expect("a shell");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(said.contains("done"), "{said}");
    let drafts = fs::read_dir(folder.path())
        .expect("a folder")
        .filter(|item| {
            let name = item.as_ref().expect("an item").file_name();
            name.to_string_lossy().contains("draft")
        });
    assert_eq!(drafts.count(), 0);
    for item in fs::read_dir(folder.path()).expect("a folder") {
        let path = item.expect("an item").path();
        if path.extension().is_some_and(|it| it == "jsonl") {
            assert!(
                OpenOptions::new()
                    .verify(&path)
                    .expect("verified")
                    .is_clean()
            );
        }
    }
}
