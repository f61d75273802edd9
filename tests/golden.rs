//! Old bytes are kept: `tests/golden` has a sidecar of each layout there ever was, which today's
//! code answers from, or notices and makes anew. Each was written by `leaflog index` of its time:
//! that of codebot v3 at once, that of pi v4 before and after its last four lines were added.

#[path = "support/agree.rs"]
#[allow(dead_code, reason = "one comparison of several is used here")]
mod agree;
#[path = "support/disk.rs"]
mod disk;

use std::fs;
use std::path::{Path, PathBuf};

use disk::{Disk, always, assert_right, done};
use leaflog::naive::{ReadOptions, Replay};
use leaflog::{IndexState, OpenOptions, Reading};

/// The logs that have golden sidecars, each with a line that may follow.
const LOGS: [(&str, &str); 2] = [
    (
        "codebot-v3",
        r#"{"kind":"message","id":"00000007","parent_id":"00000006","timestamp":"2026-07-14T12:00:08Z","data":{"role":"user","content":"more"}}"#,
    ),
    (
        "pi-v4",
        r#"{"kind":"entry","lane":"main","type":"message","id":"more","message":{"role":"user","content":"more","timestamp":1784020206000},"parentId":"leaf","seq":48,"timestamp":1784020206000}"#,
    ),
];

/// The layout that today's code writes.
const NOW: u32 = 2;

fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

fn log_of(name: &str) -> Vec<u8> {
    fs::read(place(&format!("{name}.jsonl"))).expect("a golden log")
}

fn sidecar_of(name: &str, layout: u32) -> Vec<u8> {
    let place = place(&format!("{name}.layout-{layout}.idx"));
    fs::read(&place).unwrap_or_else(|error| panic!("{}: {error}", place.display()))
}

/// The layout that a sidecar says it has.
fn layout_of(sidecar: &[u8]) -> u32 {
    u32::from_le_bytes(sidecar[8..12].try_into().expect("four bytes"))
}

/// A golden log with a golden sidecar beside it.
fn with_sidecar(name: &str, layout: u32) -> Disk {
    let disk = Disk::new(&log_of(name));
    fs::write(disk.sidecar(), sidecar_of(name, layout)).expect("written");
    disk
}

#[test]
fn each_layout_that_the_design_lists_has_golden_sidecars() {
    let design = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/design.md");
    let design = fs::read_to_string(design).expect("the design");
    let table = design
        .split("## Versions of the layout")
        .nth(1)
        .expect("the section");
    let layouts: Vec<u32> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(' ').next()?.parse().ok())
        .collect();
    assert_eq!(layouts, (1..=NOW).collect::<Vec<_>>());
    for (name, _) in LOGS {
        for &layout in &layouts {
            assert_eq!(layout_of(&sidecar_of(name, layout)), layout, "{name}");
        }
        // And `NOW` is what is written today.
        let disk = Disk::new(&log_of(name));
        drop(disk.open());
        assert_eq!(layout_of(&fs::read(disk.sidecar()).expect("one")), NOW);
    }
}

#[test]
fn a_golden_sidecar_of_this_layout_is_answered_from() {
    for (name, _) in LOGS {
        for reading in [Reading::Map, Reading::Read] {
            let disk = with_sidecar(name, NOW);
            let session = OpenOptions::new().reading(reading).open(disk.path());
            let session = session.expect("a session");
            assert_eq!(done(&session), (IndexState::Fresh, 0), "{name}");
            assert_right(&session, &log_of(name));
        }
    }
}

#[test]
fn a_golden_sidecar_of_this_layout_is_extended_by_what_follows() {
    for (name, line) in LOGS {
        let disk = with_sidecar(name, NOW);
        let line = format!("{line}\n");
        disk.append(line.as_bytes());
        let log = [log_of(name), line.into_bytes()].concat();
        let session = disk.open();
        assert_eq!(done(&session), (IndexState::Extended, 1), "{name}");
        assert_right(&session, &log);
        assert_eq!(done(&disk.open()), (IndexState::Fresh, 0), "{name}");
    }
}

#[test]
fn golden_sidecars_of_older_layouts_are_noticed_and_made_anew() {
    for (name, _) in LOGS {
        for layout in 1..NOW {
            for reading in [Reading::Map, Reading::Read] {
                let disk = with_sidecar(name, layout);
                let log = log_of(name);
                let session = always().reading(reading).open(disk.path());
                let session = session.expect("a session");
                let status = session.index_status();
                assert_eq!(status.state, IndexState::Rebuilt, "{name} {layout}");
                let reason = status.reason.expect("a reason");
                assert!(reason.contains("another version"), "{reason}");
                assert_right(&session, &log);
                let sidecar = fs::read(disk.sidecar()).expect("a sidecar");
                assert_eq!(layout_of(&sidecar), NOW, "{name} {layout}");
                assert_eq!(done(&disk.open()), (IndexState::Fresh, 0));
            }
        }
    }
}

#[test]
fn golden_logs_hold_what_is_hard_to_index() {
    let replay = |name| Replay::from_bytes(&log_of(name), ReadOptions::default()).expect("one");
    let codes = |name| -> Vec<String> {
        let overview = replay(name).overview();
        let codes = overview.reports.iter().map(|it| it.code.to_string());
        codes.collect()
    };
    assert_eq!(
        codes("codebot-v3"),
        [
            "not_json",
            "bad_timestamp",
            "duplicate_id",
            "missing_parent"
        ]
    );
    assert_eq!(codes("pi-v4"), ["missing_parent", "seq"]);
}
