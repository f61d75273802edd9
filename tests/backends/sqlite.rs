//! What is SQLite's own: locks across processes, other connections, databases of other programs.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use leaflog::{
    At, BranchBounds, Code, Durability, EntryQuery, Order, SessionRepository, SqliteRepository,
};

use super::{code, message, named};

#[test]
fn other_connections_see_what_was_written_and_respect_the_writer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let one = SqliteRepository::open_with(&path, Durability::Disk).unwrap();
    let other = SqliteRepository::open(&path).unwrap();
    let writer = one.create(&named("s1")).unwrap();
    let reader = other.open_read_only("s1").unwrap();
    for number in 1..=3 {
        let id = number.to_string();
        writer
            .append_entry(message(&id, "user", "hi"), "main")
            .unwrap();
        assert_eq!(reader.entry(&id).unwrap().unwrap().seq, Some(number));
        assert_eq!(reader.snapshot(At::Current).unwrap().path_entries, number);
    }
    writer.sync().unwrap();
    let error = other.open("s1").err().unwrap();
    assert_eq!(error.code(), Code::Locked);
    assert!(error.message().contains("this process"), "{error}");
    drop(writer);
    other.open("s1").unwrap();
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read_a_new_database() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/s.db");
    let repository = SqliteRepository::open(&path).unwrap();
    let _session = repository.create(&named("s1")).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    for file in ["s.db", "s.db-wal", "s.db-shm", "s.db-locks/1"] {
        assert_eq!(mode(&path.with_file_name(file)), 0o600, "{file}");
    }
}

#[test]
fn a_path_that_a_damaged_row_leads_back_into_itself_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let repository = SqliteRepository::open(&path).unwrap();
    let session = repository.create(&named("s1")).unwrap();
    for number in 1..=20 {
        let entry = message(&number.to_string(), "user", "hi");
        session.append_entry(entry, "main").unwrap();
    }
    for up in ["seq", "15"] {
        let database = rusqlite::Connection::open(&path).unwrap();
        let damage = format!("UPDATE node SET up = {up} WHERE seq = 10");
        assert_eq!(database.execute(&damage, []).unwrap(), 1);
        // Whether that is an answer or an error: it comes.
        let _ = session.snapshot(At::Current);
        let bounds = BranchBounds::from("20");
        for order in [Order::OldestFirst, Order::NewestFirst] {
            let query = EntryQuery {
                order,
                ..EntryQuery::default()
            };
            let found = session.find_entries_on_branch(&query, &bounds);
            assert!(found.is_err() || found.is_ok_and(|found| found.len() <= 20));
        }
    }
}

#[test]
fn databases_of_later_versions_and_other_programs_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    drop(SqliteRepository::open(file("later.db")).unwrap());
    let change = |name: &str, sql: &str| {
        let database = rusqlite::Connection::open(file(name)).unwrap();
        database.execute_batch(sql).unwrap();
    };
    change("later.db", "PRAGMA user_version = 99");
    change("foreign.db", "CREATE TABLE t (x)");
    std::fs::write(
        file("text.db"),
        "no database at all, but long enough to be looked at".repeat(9),
    )
    .unwrap();
    let refusal = |name: &str| SqliteRepository::open(file(name)).err().unwrap();
    let later = refusal("later.db");
    assert_eq!(later.code(), Code::Unsupported);
    assert!(later.message().contains("99"), "{later}");
    assert_eq!(refusal("foreign.db").code(), Code::Unsupported);
    assert_eq!(refusal("text.db").code(), Code::Storage);
    assert!(!file("foreign.db-locks").exists());
}

#[test]
fn a_database_that_many_open_at_once_is_made_once() {
    for _ in 0..10 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        std::thread::scope(|scope| {
            for number in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    let repository = SqliteRepository::open(path).unwrap();
                    let session = repository.create(&named(&format!("s{number}"))).unwrap();
                    let hello = message("a", "user", "hi");
                    session.append_entry(hello, "main").unwrap();
                });
            }
        });
        let repository = SqliteRepository::open(&path).unwrap();
        assert_eq!(repository.list().unwrap().sessions.len(), 8);
    }
}

const CHILD: &str = "LEAFLOG_TEST_DATABASE";

/// Opens the database of its environment for writing, says so, and waits for its end.
#[test]
fn child_that_holds_a_session() {
    let Some(path) = std::env::var_os(CHILD) else {
        return;
    };
    let session = SqliteRepository::open(path).unwrap().open("s1").unwrap();
    session
        .append_entry(message("from-child", "user", "hi"), "main")
        .unwrap();
    // Behind the words of the test harness, on a line of its own.
    print!("\nholding\n");
    std::io::stdout().flush().unwrap();
    std::thread::sleep(std::time::Duration::from_secs(60));
}

#[test]
fn a_killed_writer_leaves_its_writes_and_no_lock() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let repository = SqliteRepository::open(&path).unwrap();
    drop(repository.create(&named("s1")).unwrap());
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "sqlite::child_that_holds_a_session",
            "--nocapture",
        ])
        .env(CHILD, &path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut lines = lines.map(Result::unwrap);
    assert!(lines.any(|line| line == "holding"));

    let error = repository.open("s1").err().unwrap();
    assert_eq!(error.code(), Code::Locked);
    assert!(error.message().contains(&child.id().to_string()), "{error}");
    assert_eq!(code(repository.delete("s1")), Code::Locked);

    child.kill().unwrap();
    child.wait().unwrap();
    let session = repository.open("s1").unwrap();
    assert!(session.entry("from-child").unwrap().is_some());
    session
        .append_entry(message("next", "user", "hi"), "main")
        .unwrap();
}
