//! P6: a session is opened after another program appended to it.

use std::io::Write;

use leaflog::{IndexMode, OpenOptions, Session, Snapshot};

use crate::scene::Scene;
use crate::support;
use crate::support::figures::Series;
use crate::support::report::{Goal, Target, size, time};
use crate::support::writing::{HEADER, raw};

pub fn run(scene: &mut Scene) -> Target {
    let log = scene.take_large();
    let mut target = Target::new(
        "P6",
        format!(
            "open and snapshot after another program appended 1 MB to {}",
            size(log.bytes)
        ),
    );
    let (first, _) = support::resume(&log.path);
    let session = Session::open(&log.path).expect("opens");
    let (tail, leaf) = megabyte(&session, &first);
    drop(session);
    // The same megabyte as a session of its own, to scan.
    let alone = scene.file("alone.jsonl");
    std::fs::write(&alone, [HEADER.as_bytes(), &tail].concat()).expect("written");
    let (mut scans, mut resumes, mut opens) =
        (Series::default(), Series::default(), Series::default());
    // Before the log is touched: afterwards its time says that it may have been changed in place.
    for _ in 0..101 {
        resumes.time(|| support::resume(&log.path));
    }
    let sidecar = support::index(&log.path);
    let as_it_was = std::fs::read(&sidecar).expect("readable");
    for _ in 0..101 {
        let in_memory = OpenOptions::new().index(IndexMode::Memory);
        scans.time(|| in_memory.open(&alone).expect("a session"));
        let mut file = raw(&log.path);
        file.write_all(&tail).expect("written");
        let found = opens.time(|| {
            let session = Session::open(&log.path).expect("a session");
            session.snapshot(leaflog::At::Current).expect("a snapshot")
        });
        assert_eq!(found.leaf.as_deref(), Some(&*leaf));
        file.set_len(log.bytes).expect("cut");
        // In a small session 1 MB is enough to be written down.
        if std::fs::metadata(&sidecar).expect("a sidecar").len() != as_it_was.len() as u64 {
            std::fs::write(&sidecar, &as_it_was).expect("written");
        }
    }
    target.find(
        opens.over(&scans.plus(&resumes)),
        "times indexing that 1 MB alone and a resume",
        format!(
            "{}, {} and {}",
            time(opens.median()),
            time(scans.median()),
            time(resumes.median())
        ),
        Goal::AtMost(1.5),
    );
    target
}

/// Lines that go on from where a session stands, and the id of the last.
fn megabyte(session: &Session, snapshot: &Snapshot) -> (Vec<u8>, String) {
    let overview = session.overview().expect("an overview");
    let mut number = overview.entries + overview.records + 1_000_000;
    let mut parent = snapshot.leaf.clone().expect("a leaf");
    let text = "x".repeat(800);
    let mut tail = Vec::new();
    while tail.len() < 1_000_000 {
        number += 1;
        let id = format!("new-{number}");
        let line = format!(
            "{{\"kind\":\"entry\",\"lane\":\"main\",\"type\":\"message\",\"id\":\"{id}\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}},\"parentId\":\"{parent}\",\"seq\":{number},\"timestamp\":1784019600000}}\n"
        );
        tail.extend_from_slice(line.as_bytes());
        parent = id;
    }
    (tail, parent)
}
