//! Lines of small logs, written by hand as their formats' programs write them, and what tests ask of a
//! repair of them.

use leaflog::naive::{ReadOptions, Replay};
use leaflog::{At, FixKind};

use super::check::{Copy, check};

pub const PI: &str =
    r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-07-14T09:00:00.000Z","cwd":"/w"}"#;
pub const V1: &str =
    r#"{"type":"session","id":"s1","timestamp":"2026-07-14T09:00:00.000Z","cwd":"/w"}"#;
pub const CODEBOT: &str = r#"{"kind":"header","id":"h0","timestamp":"2026-07-14T09:00:00Z","data":{"version":3,"session_id":"s1","cwd":"/w","created":"2026-07-14T09:00:00Z"}}"#;
pub const V4: &str =
    r#"{"kind":"header","version":4,"id":"s1","createdAt":1784019600000,"cwd":"/w"}"#;

/// A message of pi v3.
pub fn pi(id: &str, parent: &str, text: &str) -> String {
    let parent = match parent {
        "" => "null".to_owned(),
        id => format!("{id:?}"),
    };
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-07-14T09:00:01.000Z","message":{{"role":"user","content":"{text}"}}}}"#
    )
}

pub fn codebot(id: &str, parent: &str) -> String {
    format!(
        r#"{{"kind":"message","id":"{id}","parent_id":"{parent}","timestamp":"2026-07-14T09:00:01Z","data":{{"role":"user","content":[{{"type":"text","text":"{id}"}}]}}}}"#
    )
}

/// A message of pi v4 on the lane `main`.
pub fn v4(id: &str, parent: &str, seq: u64) -> String {
    on_lane("main", id, parent, seq)
}

pub fn on_lane(lane: &str, id: &str, parent: &str, seq: u64) -> String {
    let parent = match parent {
        "" => "null".to_owned(),
        id => format!("{id:?}"),
    };
    format!(
        r#"{{"kind":"entry","lane":"{lane}","type":"message","id":"{id}","message":{{"role":"user","content":"{id}"}},"parentId":{parent},"seq":{seq},"timestamp":1784019601000}}"#
    )
}

pub fn record(kind: &str, id: &str, lane: &str, seq: u64, more: &str) -> String {
    format!(
        r#"{{"kind":"record","type":"{kind}","id":"{id}","lane":"{lane}","seq":{seq},"timestamp":1784019601000{more}}}"#
    )
}

pub fn log(lines: &[&str]) -> Vec<u8> {
    lines
        .iter()
        .flat_map(|line| [line, "\n"])
        .collect::<String>()
        .into_bytes()
}

/// Repairs, checks everything that can be checked of any repair, and gives the copy.
pub fn mended(log: &[u8]) -> Copy {
    check(log)
        .unwrap_or_else(|error| panic!("{error}"))
        .expect("a session")
}

/// The actions in the order of the report.
pub fn actions(copy: &Copy) -> Vec<FixKind> {
    copy.done.fixes.iter().map(|fix| fix.action).collect()
}

pub fn context(log: &[u8]) -> Vec<String> {
    let replay = Replay::from_bytes(log, ReadOptions::default()).expect("a session");
    let snapshot = replay.snapshot(At::Current, false).expect("a context");
    snapshot.messages.iter().map(str::to_owned).collect()
}
