//! Tests of the naive replay: every shared case here, the rules that no case covers in the modules below.
//! They read from memory, write no files and compare whole answers.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops where it fails"
)]

mod codebot;
mod damage;
mod detection;
mod pi;
mod times;
mod v4;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::json::{Fields, elements, string};
use super::{ReadOptions, Replay};
use crate::error::{Code, Error};
use crate::model::{At, ReportCode, Snapshot};

const STRICT: ReadOptions = ReadOptions {
    strict: true,
    salvage: false,
};
const SALVAGE: ReadOptions = ReadOptions {
    strict: false,
    salvage: true,
};

fn read(log: impl AsRef<[u8]>) -> Replay {
    Replay::from_bytes(log.as_ref(), ReadOptions::default()).unwrap()
}

fn refused(log: impl AsRef<[u8]>, options: ReadOptions) -> Error {
    match Replay::from_bytes(log.as_ref(), options) {
        Ok(_) => panic!("expected an error, found a session"),
        Err(error) => error,
    }
}

/// The lines joined to a file, each with its newline.
fn file(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn reports(replay: &Replay) -> Vec<(u64, ReportCode, bool)> {
    let reports = replay.overview().reports;
    reports
        .iter()
        .map(|report| (report.line, report.code, report.skipped))
        .collect()
}

fn snapshot(replay: &Replay) -> Snapshot {
    replay.snapshot(At::Current, false).unwrap()
}

fn messages(replay: &Replay) -> Vec<String> {
    let snapshot = snapshot(replay);
    snapshot.messages.iter().map(str::to_owned).collect()
}

fn first_texts(snapshot: &Snapshot) -> Value {
    snapshot.messages.iter().map(first_text).collect()
}

/// The role of a message and its first text, whatever its format.
fn first_text(message: &str) -> Value {
    let fields = Fields::of(message);
    let text = |raw: Option<&str>| raw.and_then(string).map(String::from);
    let first = if let Some(summary) = fields.get("summary") {
        text(Some(summary))
    } else {
        let content = fields.get("content").unwrap_or("null");
        let mut blocks = elements(content).into_iter().map(Fields::of);
        let block = blocks.find(|block| block.is("type", "text"));
        text(Some(content)).or_else(|| text(block?.get("text")))
    };
    json!([text(fields.get("role")), first])
}

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    let mut cases: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .collect();
    cases.sort();
    cases
}

#[test]
fn every_case_gives_its_answer() {
    let cases = cases();
    assert!(cases.len() > 40, "found {} cases", cases.len());
    for path in cases {
        let expected = fs::read_to_string(path.with_extension("json")).unwrap();
        let expected: Value = serde_json::from_str(&expected).unwrap();
        check_case(&path, &expected);
    }
}

fn check_case(path: &Path, expected: &Value) {
    let name = path.file_stem().unwrap().to_string_lossy();
    let opened = Replay::open(path, ReadOptions::default());
    if expected["open"] == "error" {
        let error = opened.err().unwrap();
        assert_eq!(expected["code"], error.code().as_str(), "{name}: code");
        assert_eq!(error.path(), Some(path), "{name}: path of the error");
        return;
    }
    let replay = opened.unwrap_or_else(|error| panic!("{name}: {error}"));
    check_overview(&name, &replay, expected);
    if expected.get("snapshot_error").is_some() {
        return check_broken(&name, &replay, expected);
    }
    let snapshot = snapshot(&replay);
    assert_eq!(
        first_texts(&snapshot),
        expected["messages"],
        "{name}: messages"
    );
    let goal = snapshot.goal.as_deref();
    let got = [
        ("model", json!(snapshot.model)),
        ("reasoning_effort", json!(snapshot.reasoning_effort)),
        ("plan", json!(snapshot.plan)),
        (
            "goal",
            goal.map_or(Value::Null, |goal| serde_json::from_str(goal).unwrap()),
        ),
        ("active_tools", json!(snapshot.active_tools)),
        ("name", json!(snapshot.name)),
        ("path", json!(replay.path(At::Current).unwrap())),
    ];
    for (key, value) in got {
        if let Some(wanted) = expected.get(key) {
            assert_eq!(&value, wanted, "{name}: {key}");
        }
    }
    for (lane, wanted) in expected["lane_messages"].as_object().into_iter().flatten() {
        let other = replay.snapshot(At::Lane(lane), false).unwrap();
        assert_eq!(&first_texts(&other), wanted, "{name}: lane {lane}");
        assert_eq!(other.lane.as_deref(), Some(lane.as_str()), "{name}");
    }
}

fn check_overview(name: &str, replay: &Replay, expected: &Value) {
    let overview = replay.overview();
    assert_eq!(
        expected["format"],
        overview.format.as_str(),
        "{name}: format"
    );
    if expected.get("leaf_any").is_none() {
        assert_eq!(json!(overview.leaf), expected["leaf"], "{name}: leaf");
    }
    let lanes: Value = overview
        .lanes
        .iter()
        .map(|(lane, leaf)| (lane.clone(), json!(leaf)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let got = [
        ("lanes", lanes),
        ("labels", json!(overview.labels)),
        ("open_operations", json!(overview.open_operations)),
    ];
    for (key, value) in got {
        if let Some(wanted) = expected.get(key) {
            assert_eq!(&value, wanted, "{name}: {key}");
        }
    }
    for (key, wanted) in expected["stats"].as_object().into_iter().flatten() {
        let stats = json!(overview.stats);
        let (got, wanted) = (stats[key].as_f64(), wanted.as_f64());
        assert_eq!(got, wanted, "{name}: {key}");
    }
    let lines = |skipped: bool| -> Vec<u64> {
        let reports = overview.reports.iter();
        let mut lines: Vec<_> = reports
            .filter(|report| report.skipped == skipped)
            .map(|report| report.line)
            .collect();
        lines.dedup();
        lines
    };
    let wanted = expected.get("skipped_lines").cloned().unwrap_or(json!([]));
    assert_eq!(json!(lines(true)), wanted, "{name}: skipped lines");
    for line in expected["reported_lines"].as_array().into_iter().flatten() {
        let line = line.as_u64().unwrap();
        let reported = lines(true).contains(&line) || lines(false).contains(&line);
        assert!(reported, "{name}: line {line} reported");
    }
}

fn check_broken(name: &str, replay: &Replay, expected: &Value) {
    let error = replay.snapshot(At::Current, false).unwrap_err();
    assert_eq!(expected["snapshot_error"], error.code().as_str(), "{name}");
    assert!(
        error.line().is_some() && error.path().is_some(),
        "{name}: {error}"
    );
    for word in expected["names"].as_array().into_iter().flatten() {
        let named = error.message().contains(word.as_str().unwrap());
        assert!(named, "{name}: {error} names {word}");
    }
    if let Some(wanted) = expected.get("salvaged") {
        let salvaged = replay.snapshot(At::Current, true).unwrap();
        assert_eq!(&first_texts(&salvaged), wanted, "{name}: salvaged");
        assert!(salvaged.salvaged, "{name}: salvaged flag");
    }
}

#[test]
fn the_header_cases_open_with_salvage() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let open = |name: &str| Replay::open(&folder.join(name), SALVAGE).unwrap();
    let pi = open("header-broken-pi-v3.jsonl");
    assert_eq!(pi.overview().format.as_str(), "pi-v3");
    assert_eq!(pi.overview().session_id, "");
    assert_eq!(messages(&pi).len(), 4);
    let codebot = open("header-missing-codebot.jsonl");
    assert_eq!(codebot.overview().format.as_str(), "codebot-v3");
    let error = codebot.snapshot(At::Current, false).unwrap_err();
    assert!(error.message().contains("h0"), "{error}");
    let salvaged = codebot.snapshot(At::Current, true).unwrap();
    assert_eq!((salvaged.messages.len(), salvaged.salvaged), (4, true));
}

#[test]
fn only_regular_files_are_opened() {
    let open = |path: &str| {
        Replay::open(Path::new(path), ReadOptions::default())
            .err()
            .unwrap()
    };
    let folder = open(env!("CARGO_MANIFEST_DIR"));
    assert_eq!(folder.code(), Code::Storage);
    assert!(folder.to_string().contains("directory"), "{folder}");
    let missing = open("no/such/session.jsonl");
    assert_eq!(missing.code(), Code::NotFound);
    assert!(
        missing.to_string().contains("no/such/session.jsonl"),
        "{missing}"
    );
    #[cfg(unix)]
    assert_eq!(open("/dev/zero").code(), Code::Storage);
}

/// Damages every case in many ways; the seed is fixed so that a failure comes again.
#[test]
fn no_damage_makes_it_panic() {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % u64::try_from(below.max(1)).unwrap()).unwrap()
    };
    let bytes = b"{}[]\",:\\\0\n\xFF\xC3 0u-e";
    for path in cases() {
        let whole = fs::read(&path).unwrap();
        let whole = &whole[..whole.len().min(4_000)];
        for _ in 0..60 {
            let mut log = whole.to_vec();
            for _ in 0..=random(4) {
                let at = random(log.len());
                match random(4) {
                    0 => log.truncate(at),
                    1 => log.insert(at.min(log.len()), bytes[random(bytes.len())]),
                    2 if at < log.len() => log[at] = bytes[random(bytes.len())],
                    _ => drop(log.drain(at..(at + random(40)).min(log.len()).max(at))),
                }
            }
            ask_everything(&log);
        }
    }
}

fn ask_everything(log: &[u8]) {
    for options in [ReadOptions::default(), STRICT, SALVAGE] {
        let Ok(replay) = Replay::from_bytes(log, options) else {
            continue;
        };
        let overview = replay.overview();
        assert!(!options.strict || reports(&replay).iter().all(|report| !report.2));
        assert_eq!(
            overview.entries,
            u64::try_from(replay.entry_ids().len()).unwrap()
        );
        for id in replay.entry_ids() {
            replay.path(At::Leaf(&id)).ok();
            let salvaged = replay.snapshot(At::Leaf(&id), true).unwrap();
            assert_eq!(salvaged.leaf, Some(id));
            serde_json::to_string(&salvaged.messages).unwrap();
        }
        for (lane, _) in &overview.lanes {
            replay.snapshot(At::Lane(lane), true).unwrap();
        }
        replay.snapshot(At::Current, true).unwrap();
    }
}

/// Files that say they are empty and are not never end, some of them.
#[cfg(target_os = "linux")]
#[test]
fn of_a_file_no_more_is_read_than_it_had_when_it_was_opened() {
    let path = std::path::Path::new("/proc/version");
    let error = Replay::open(path, ReadOptions::default()).unwrap_err();
    assert_eq!(error.code(), Code::InvalidEntry);
    assert!(error.message().contains("an empty file"), "{error}");
}
