//! Logs that are large in one way: many entries, a huge line, deep nesting, endless damage.

#[path = "support/agree.rs"]
#[allow(dead_code, reason = "only a part of it is used here")]
mod agree;
#[path = "support/disk.rs"]
mod disk;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use disk::{Disk, always, assert_right, done};
use leaflog::generate::Shape;
use leaflog::naive::{ReadOptions, Replay};
use leaflog::{
    At, Format, IndexState, MAX_REPORTS, OpenOptions, Overview, Reading, ReportCode, Session,
};
use tempfile::TempDir;

/// Entries of the chain and of the generated session.
const ENTRIES: u64 = 1_000_000;
/// Bytes of the long lines.
const LONG: usize = 300 << 20;

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-07-14T09:00:00Z","cwd":"/"}"#;

/// Those who need much memory take turns.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A log of what `write` writes, in a folder that lives as long as the first of the two.
fn log(write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>) -> (TempDir, PathBuf, u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session.jsonl");
    let mut file = BufWriter::with_capacity(1 << 20, File::create(&path).expect("a file"));
    write(&mut file).expect("written");
    let file = file.into_inner().expect("written");
    let len = file.metadata().expect("a length").len();
    (folder, path, len)
}

/// The overview without the wording of its reports.
fn plain(mut overview: Overview) -> Overview {
    for report in &mut overview.reports {
        report.detail.clear();
    }
    overview
}

/// Opens a log twice, the second time through the sidecar that the first one left.
fn opened_and_reopened(path: &PathBuf, lines: u64) -> Session {
    let first = always().open(path).expect("a session");
    assert_eq!(done(&first), (IndexState::Rebuilt, lines));
    let again = OpenOptions::new().open(path).expect("a session");
    assert_eq!(done(&again), (IndexState::Fresh, 0));
    assert_eq!(
        first.overview().expect("an overview"),
        again.overview().expect("an overview")
    );
    again
}

#[test]
fn a_chain_of_a_million_entries_is_resumed_through_its_sidecar() {
    let _turn = turn();
    let (_folder, path, _) = log(|file| {
        writeln!(
            file,
            r#"{{"kind":"header","id":"h0","timestamp":"2026-07-14T09:00:00Z","data":{{"version":3,"session_id":"s"}}}}"#
        )?;
        let mut parent = "h0".to_owned();
        for number in 1..=ENTRIES {
            let id = format!("{number:x}");
            writeln!(
                file,
                r#"{{"kind":"message","id":"{id}","parent_id":"{parent}","timestamp":"2026-07-14T09:00:01Z","data":{{"role":"user","content":[]}}}}"#
            )?;
            parent = id;
        }
        Ok(())
    });
    let session = opened_and_reopened(&path, ENTRIES + 1);
    let ids = session.path(At::Current).expect("a path");
    assert_eq!(ids.len() as u64, ENTRIES + 1);
    assert_eq!(ids.first().map(String::as_str), Some("h0"));
    let last = format!("{ENTRIES:x}");
    assert_eq!(ids.last(), Some(&last));
    drop(ids);
    let half = format!("{:x}", ENTRIES / 2);
    let entry = session.entry(&half).expect("an answer").expect("an entry");
    assert_eq!(entry.parent, Some(format!("{:x}", ENTRIES / 2 - 1)));
    let snapshot = session.snapshot(At::Current).expect("a snapshot");
    assert_eq!(snapshot.path_entries, ENTRIES + 1);
    assert_eq!(snapshot.messages.len() as u64, ENTRIES);
    let replay = Replay::open(&path, ReadOptions::default()).expect("a session");
    assert!(replay.snapshot(At::Current, false).expect("a snapshot") == snapshot);
    assert_eq!(replay.overview(), session.overview().expect("an overview"));
}

#[test]
fn a_long_generated_session_is_resumed_through_its_sidecar() {
    let _turn = turn();
    let mut written = None;
    let (_folder, path, len) = log(|file| {
        let shape = Shape::new(Format::PiV4, ENTRIES).payload(16);
        written = Some(shape.branches(1000).compact_every(300).write_to(file)?);
        Ok(())
    });
    let written = written.expect("written");
    assert_eq!(written.bytes, len);
    let session = opened_and_reopened(&path, written.lines);
    let snapshot = session.snapshot(At::Current).expect("a snapshot");
    assert_eq!(snapshot.leaf.as_deref(), Some(&*written.leaf));
    let ids = session.path(At::Current).expect("a path");
    assert_eq!(ids.len() as u64, snapshot.path_entries);
    assert!((ids.len() as u64) < ENTRIES, "branches are dead ends");
    let replay = Replay::open(&path, ReadOptions::default()).expect("a session");
    assert_eq!(replay.path(At::Current).expect("a path"), ids);
    assert!(replay.snapshot(At::Current, false).expect("a snapshot") == snapshot);
    assert_eq!(replay.overview(), session.overview().expect("an overview"));
}

/// A message whose text is `piece` over and over, until it has `len` bytes: indexed, and given back
/// byte for byte. A line before and one behind it are none the worse.
fn a_long_text(piece: &str, len: usize) {
    let _turn = turn();
    let pieces = len.div_ceil(piece.len());
    let before = r#"{"role":"user","content":""#;
    let after = r#"","timestamp":1784019601000}"#;
    let short = |id: &str, parent: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-07-14T09:00:01Z","message":{{"role":"user","content":"{id}"}}}}"#
        )
    };
    let (_folder, path, bytes) = log(|file| {
        writeln!(file, "{HEADER}")?;
        writeln!(file, "{}", short("one", "null"))?;
        write!(
            file,
            r#"{{"type":"message","id":"two","parentId":"one","timestamp":"2026-07-14T09:00:02Z","message":{before}"#
        )?;
        for _ in 0..pieces {
            file.write_all(piece.as_bytes())?;
        }
        writeln!(file, "{after}}}")?;
        writeln!(file, "{}", short("three", r#""two""#))
    });
    assert!(bytes > len as u64);
    let session = opened_and_reopened(&path, 4);
    assert_eq!(session.overview().expect("an overview").report_count, 0);
    assert_eq!(
        session.path(At::Current).expect("a path"),
        ["one", "two", "three"]
    );
    for reading in [Reading::Map, Reading::Read] {
        let session = OpenOptions::new().reading(reading).open(&path);
        let session = session.expect("a session");
        assert_eq!(done(&session), (IndexState::Fresh, 0));
        let snapshot = session.snapshot(At::Current).expect("a snapshot");
        assert_eq!(snapshot.messages.len(), 3);
        let message = snapshot.messages.get(1).expect("the long message");
        let text = message
            .strip_prefix(before)
            .and_then(|rest| rest.strip_suffix(after))
            .expect("a message");
        assert_eq!(text.len(), pieces * piece.len());
        let all = text.as_bytes().chunks(piece.len());
        assert!(all.into_iter().all(|chunk| chunk == piece.as_bytes()));
        let last = r#"{"role":"user","content":"three"}"#;
        assert_eq!(snapshot.messages.get(2), Some(last));
    }
}

#[test]
fn a_line_of_300_mebibytes_of_text_comes_back_byte_for_byte() {
    a_long_text("some text, ", LONG);
}

#[test]
fn a_line_of_nothing_but_escapes_comes_back_byte_for_byte() {
    a_long_text(r#"\"\u00e9\n\\\ud83d\u0000{é"#, LONG);
}

/// A message with so many levels of nesting in it.
fn nested(levels: usize) {
    let (_folder, path, _) = log(|file| {
        writeln!(file, "{HEADER}")?;
        for (id, open, close) in [("one", r#"{"a":"#, "}"), ("two", "[", "]")] {
            write!(
                file,
                r#"{{"type":"message","id":"{id}","parentId":null,"timestamp":"2026-07-14T09:00:01Z","message":{{"role":"user","content":"x","deep":"#
            )?;
            for _ in 0..levels {
                file.write_all(open.as_bytes())?;
            }
            file.write_all(b"1")?;
            for _ in 0..levels {
                file.write_all(close.as_bytes())?;
            }
            writeln!(file, "}}}}")?;
        }
        Ok(())
    });
    let session = opened_and_reopened(&path, 3);
    let replay = Replay::open(&path, ReadOptions::default()).expect("a session");
    assert_eq!(
        plain(replay.overview()),
        plain(session.overview().expect("an overview"))
    );
    assert_eq!(session.overview().expect("an overview").report_count, 0);
    for (id, width) in [("one", 6), ("two", 2)] {
        let snapshot = session.snapshot(At::Leaf(id)).expect("a snapshot");
        let naive = replay.snapshot(At::Leaf(id), false).expect("a snapshot");
        assert!(naive == snapshot);
        let frame = r#"{"role":"user","content":"x","deep":1}"#.len();
        assert_eq!(snapshot.messages.bytes(), frame + width * levels);
        let entry = session.entry(id).expect("an answer").expect("an entry");
        assert!(entry.decode::<serde_json::Value>().is_err());
    }
}

#[test]
fn a_hundred_thousand_levels_of_nesting_are_read_around() {
    nested(100_000);
}

#[test]
fn a_million_levels_of_nesting_are_read_around() {
    nested(1_000_000);
}

#[test]
fn a_million_tiny_lines_are_counted() {
    let (_folder, path, _) = log(|file| {
        writeln!(file, "{HEADER}")?;
        for _ in 0..ENTRIES / 4 {
            file.write_all(b"{}\n\n \t\n\r\n")?;
        }
        Ok(())
    });
    let session = opened_and_reopened(&path, ENTRIES + 1);
    let overview = session.overview().expect("an overview");
    assert_eq!(overview.lines, ENTRIES + 1);
    assert_eq!(overview.entries, 0);
    assert_eq!(overview.report_count, ENTRIES / 4);
    let replay = Replay::open(&path, ReadOptions::default()).expect("a session");
    assert_eq!(plain(replay.overview()), plain(overview));
}

#[test]
fn damage_on_every_line_is_counted_and_the_first_of_it_told() {
    const LINES: u64 = 100_000;
    let (_folder, path, _) = log(|file| {
        writeln!(file, "{HEADER}")?;
        for number in 0..LINES {
            match number % 5 {
                0 => writeln!(file, r#"{{"type":"message","id":"{number}","#)?,
                1 => file.write_all(b"\0\0\0\0\n")?,
                2 => file.write_all(b"[1,2]\n")?,
                3 => file.write_all(b"\xff\xfe\n")?,
                _ => writeln!(file, r#"{{"type":"message","id":{number}}}"#)?,
            }
        }
        Ok(())
    });
    let session = opened_and_reopened(&path, LINES + 1);
    let overview = session.overview().expect("an overview");
    assert_eq!(overview.report_count, LINES);
    assert_eq!(overview.reports.len(), MAX_REPORTS);
    let told: Vec<u64> = overview.reports.iter().map(|report| report.line).collect();
    let first: Vec<u64> = (2..).take(MAX_REPORTS).collect();
    assert_eq!(told, first);
    let codes: Vec<ReportCode> = overview.reports.iter().map(|it| it.code).take(5).collect();
    assert_eq!(
        codes,
        [
            ReportCode::NotJson,
            ReportCode::NulBytes,
            ReportCode::NotObject,
            ReportCode::NotJson,
            ReportCode::BadField
        ]
    );
    let replay = Replay::open(&path, ReadOptions::default()).expect("a session");
    assert_eq!(plain(replay.overview()), plain(overview));
    assert_eq!(session.snapshot(At::Current).expect("empty").leaf, None);
}

#[test]
fn many_reports_of_one_line_are_cut_like_all_others() {
    // 5,000 objects on one line, each with something to report, behind 99 reports before it.
    let (_folder, path, _) = log(|file| {
        writeln!(file, "{HEADER}")?;
        for _ in 0..99 {
            file.write_all(b"[]\n")?;
        }
        for _ in 0..5000 {
            file.write_all(br#"{"type":"label","id":"x","parentId":"y","timestamp":"soon"}"#)?;
        }
        file.write_all(b"\n{}\n")
    });
    let session = opened_and_reopened(&path, 102);
    let replay = Replay::open(&path, ReadOptions::default()).expect("a session");
    assert_eq!(
        plain(replay.overview()),
        plain(session.overview().expect("an overview"))
    );
}

/// A message whose id and payload stand where the index has no room to say so.
#[test]
fn fields_too_long_or_too_far_for_their_columns_read_as_others() {
    let lengths = [
        1, 253, 254, 255, 256, 257, 65_533, 65_534, 65_535, 65_536, 65_537, 70_000,
    ];
    let message = r#"{"role":"user","content":"x"}"#;
    let rest = r#""parentId":null,"timestamp":"2026-07-14T09:00:01Z""#;
    let mut log = format!("{HEADER}\n");
    for (number, len) in lengths.into_iter().enumerate() {
        let fill = "x".repeat(len);
        // A long id; one far in the line; a payload far in the line; much behind the payload.
        for line in [
            format!(r#""id":"{fill}{number}",{rest},"message":{message}"#),
            format!(r#""x":"{fill}","id":"far-{number}",{rest},"message":{message}"#),
            format!(r#""id":"payload-{number}",{rest},"x":"{fill}","message":{message}"#),
            format!(r#""id":"behind-{number}",{rest},"message":{message},"x":"{fill}""#),
        ] {
            log.push_str(&format!("{{\"type\":\"message\",{line}}}\n"));
        }
    }
    let log = log.into_bytes();
    let disk = Disk::new(&log);
    for _ in 0..2 {
        assert_right(&disk.open(), &log);
    }
    assert_eq!(disk.open().tree().expect("a tree").len(), 4 * lengths.len());
}

#[test]
fn more_lanes_than_a_column_can_number_read_alike() {
    const LANES: u64 = 70_000;
    let (_folder, path, _) = log(|file| {
        writeln!(
            file,
            r#"{{"kind":"header","version":4,"id":"s","createdAt":1784019600000,"cwd":"/"}}"#
        )?;
        for lane in 1..=LANES {
            writeln!(
                file,
                r#"{{"kind":"lane","seq":{},"lane":"lane {lane}","leafId":null}}"#,
                2 * lane - 1
            )?;
            writeln!(
                file,
                r#"{{"kind":"entry","lane":"lane {lane}","type":"message","id":"{lane:x}","parentId":null,"seq":{},"timestamp":1784019600000,"message":{{"role":"user","content":"x"}}}}"#,
                2 * lane
            )?;
        }
        Ok(())
    });
    let session = opened_and_reopened(&path, 2 * LANES + 1);
    let replay = Replay::open(&path, ReadOptions::default()).expect("a session");
    assert!(replay.overview() == session.overview().expect("an overview"));
    for lane in [1, 2, 65_533, 65_534, 65_535, 65_536, 65_537, LANES] {
        let name = format!("lane {lane}");
        let snapshot = session.snapshot(At::Lane(&name)).expect("a snapshot");
        let naive = replay.snapshot(At::Lane(&name), false).expect("a snapshot");
        assert_eq!(snapshot, naive);
        let entry = session.entry(&format!("{lane:x}")).expect("an answer");
        assert_eq!(entry.expect("an entry").lane, Some(name));
    }
}
