//! What the histories found, each by name.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::check::told;
use super::faulty::{BROKEN, Fault, Faulty, Op};
use super::histories::said;
use crate::disk::DiskRef;
use crate::{
    Code, CreateOptions, Durability, Format, IndexMode, IndexState, OpenOptions, Repository,
    Session, SessionStorage,
};

/// Options whose disk fails at a call, and the disk.
fn failing(plan: Option<(usize, Fault)>) -> (OpenOptions, Arc<Faulty>) {
    let disk = Arc::new(Faulty::planned(plan));
    let options = OpenOptions::new()
        .index(IndexMode::Memory)
        .disk(DiskRef::new(disk.clone()));
    (options, disk)
}

fn repository(folder: &Path, plan: Option<(usize, Fault)>) -> (Repository, Arc<Faulty>) {
    let (options, disk) = failing(plan);
    (Repository::new(folder).with_options(options), disk)
}

fn new(id: &str) -> CreateOptions {
    CreateOptions {
        id: Some(id.to_owned()),
        ..CreateOptions::in_folder("/work")
    }
}

fn append(session: &Session, text: &str) -> crate::Result<()> {
    let new = said(session.format(), text);
    session.append_entry(new, "main").map(|_| ())
}

#[test]
fn a_sidecar_whose_details_are_damaged_is_rebuilt_for_a_writer_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let options = OpenOptions::new().index(IndexMode::Always);
    let session = options.create(&path, &new("s")).unwrap();
    append(&session, "one").unwrap();
    session.close().unwrap();
    let sidecar = folder.path().join("s.jsonl.idx");
    let mut bytes = fs::read(&sidecar).unwrap();
    // The details stand last in a frame, before the zeros that fill it up.
    let last = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes[last] ^= 1;
    fs::write(&sidecar, bytes).unwrap();

    let session = options.write(true).open(&path).unwrap();
    assert_eq!(session.index_status().state, IndexState::Rebuilt);
    append(&session, "two").unwrap();
    assert_eq!(told(&session).unwrap().len(), 2);
}

#[test]
fn a_session_whose_name_does_not_reach_the_disk_is_taken_back() {
    let base = tempfile::tempdir().unwrap();
    let folder = base.path().join("sessions");
    let (sessions, disk) = repository(&folder, None);
    sessions.create(&new("s")).unwrap();
    let flushed = disk.trace().iter().rposition(|op| *op == Op::SyncFolder);
    fs::remove_dir_all(&folder).unwrap();

    let plan = flushed.map(|at| (at, Fault::Error(BROKEN)));
    let (sessions, _) = repository(&folder, plan);
    let error = sessions.create(&new("s")).unwrap_err();
    assert_eq!(error.code(), Code::Storage);
    assert_eq!(sessions.open("s").unwrap_err().code(), Code::NotFound);
    assert!(sessions.list().unwrap().sessions.is_empty());
    sessions.create(&new("s")).unwrap();
}

#[test]
fn a_session_that_could_not_be_deleted_whole_can_be_deleted_again() {
    let folder = tempfile::tempdir().unwrap();
    let (sessions, _) = repository(folder.path(), None);
    let session = sessions.create(&new("s")).unwrap();
    let path = session.log_path().to_owned();
    drop(session);
    let torn = path.with_extension("jsonl.torn-9");
    fs::write(&torn, b"{").unwrap();

    let (failing, _) = repository(folder.path(), Some((1, Fault::Error(BROKEN))));
    failing.delete("s").unwrap_err();
    assert!(path.exists());
    failing.delete("s").unwrap();
    assert!(!path.exists() && !torn.exists());
}

#[test]
fn a_durable_append_flushes_the_name_of_a_log_that_it_did_not_make() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let (options, _) = failing(None);
    drop(options.create(&path, &new("s")).unwrap());

    let (options, disk) = failing(None);
    let session = options.write(true).durability(Durability::Disk).open(&path);
    let session = session.unwrap();
    append(&session, "one").unwrap();
    append(&session, "two").unwrap();
    let expected = [
        Op::SyncFolder,
        Op::Write,
        Op::SyncData,
        Op::Write,
        Op::SyncData,
    ];
    assert_eq!(disk.trace(), expected);
}

#[test]
fn a_line_that_could_not_be_taken_back_is_none_of_the_session_that_failed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let (options, _) = failing(None);
    drop(options.create(&path, &new("s")).unwrap());
    let mut log = fs::read(&path).unwrap();
    log.extend_from_slice(b"{\"kind\":\"entry\",\"torn");
    fs::write(&path, log).unwrap();

    // The torn tail is kept and cut; then the flush fails, and cutting the line off as well.
    let find = |disk: &Faulty| disk.trace().iter().rposition(|op| *op == Op::SyncData);
    let open = |plan| {
        let (options, disk) = failing(plan);
        let options = options.write(true).durability(Durability::Disk);
        (options.open(&path).unwrap(), disk)
    };
    let copy = fs::read(&path).unwrap();
    let (session, disk) = open(None);
    append(&session, "one").unwrap();
    let at = find(&disk).unwrap();
    drop(session);
    fs::write(&path, &copy).unwrap();
    let kept = copy.iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    fs::remove_file(path.with_extension(format!("jsonl.torn-{kept}"))).unwrap();

    let (session, disk) = open(Some((at, Fault::Twice(BROKEN))));
    append(&session, "one").unwrap_err();
    assert!(disk.is_stuck());
    assert_eq!(told(&session).unwrap(), Vec::<String>::new());
    let error = append(&session, "two").unwrap_err();
    assert!(error.message().contains("takes no more writes"), "{error}");
}

#[test]
fn a_new_pi_v3_session_whose_file_could_not_be_taken_back_takes_no_more_writes() {
    let folder = tempfile::tempdir().unwrap();
    let options = CreateOptions {
        format: Some(Format::PiV3),
        ..new("s")
    };
    let path = folder.path().join("s.jsonl");
    let (opening, disk) = failing(None);
    append(&opening.create(&path, &options).unwrap(), "one").unwrap();
    let at = disk.trace().iter().rposition(|op| *op == Op::SyncFolder);
    fs::remove_file(&path).unwrap();

    let plan = at.map(|at| (at, Fault::Twice(BROKEN)));
    let (opening, _) = failing(plan);
    let session = opening.create(&path, &options).unwrap();
    append(&session, "one").unwrap_err();
    let error = session.set_name(Some("lost")).unwrap_err();
    assert!(error.message().contains("takes no more writes"), "{error}");
    assert!(told(&session).unwrap().is_empty());
    assert_eq!(told(&Session::open(&path).unwrap()).unwrap().len(), 1);
}

#[test]
fn whatever_fails_while_a_catalog_is_written_the_folder_is_listed() {
    let base = tempfile::tempdir().unwrap();
    let folder = base.path().join("sessions");
    let (sessions, _) = repository(&folder, None);
    for id in ["a", "b"] {
        sessions.create(&new(id)).unwrap().close().unwrap();
    }
    let expected = sessions.list().unwrap().sessions;
    // What is as new as a catalog is not remembered in it.
    let tick = || {
        let made = tempfile::tempfile_in(&folder).unwrap().metadata();
        made.unwrap().modified().unwrap()
    };
    let begun = tick();
    while tick() <= begun {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let listed = |plan| {
        // A folder with so little in it gets one only where there is one.
        fs::write(folder.join(".leaflog-catalog"), b"none").unwrap();
        let (options, disk) = failing(plan);
        let options = options.index(IndexMode::Auto);
        let sessions = Repository::new(&folder).with_options(options);
        assert_eq!(sessions.list().unwrap().sessions, expected);
        disk
    };
    let trace = listed(None).trace();
    assert_eq!(trace, [Op::Create, Op::Write, Op::Rename]);
    for (at, op) in trace.iter().enumerate() {
        for &fault in Fault::of(*op) {
            let disk = listed(Some((at, fault)));
            assert!(disk.has_tripped(), "{op:?} {fault:?} was not met");
            listed(None);
        }
    }
}
