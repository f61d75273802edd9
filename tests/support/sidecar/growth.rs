//! Logs that grow: by unfinished lines, by lines that change what is known of earlier ones, by many
//! small pieces, and by all of that in any order.

use std::fs;

use leaflog::generate::Shape;
use leaflog::{At, Format, IndexState, Reading};
use proptest::prelude::*;

use super::support::disk::{Disk, always, assert_right, done, sidecar_of};
use super::support::steps;
use super::{chain, leaf, lines, log_of, message};

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
