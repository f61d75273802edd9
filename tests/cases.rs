//! Every handed case is answered as it says, whatever state the index is in.

#[path = "support/agree.rs"]
#[allow(dead_code, reason = "only a part of it is used here")]
mod agree;
#[path = "support/disk.rs"]
mod disk;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use disk::{Disk, always, sidecar_of};
use leaflog::{At, IndexMode, Messages, OpenOptions, Overview, Reading, Session};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

const FOLDER: &str = "tests/cases";
/// A case that opens, for a sidecar that belongs to another log than any other case's.
const FOREIGN: &str = "branch-codebot";

struct Case {
    name: String,
    log: Vec<u8>,
    expected: Map<String, Value>,
}

fn cases() -> Vec<Case> {
    let mut paths: Vec<PathBuf> = fs::read_dir(FOLDER)
        .expect("cases")
        .map(|item| item.expect("a case").path())
        .filter(|path| path.extension().is_some_and(|it| it == "json"))
        .collect();
    paths.sort();
    let cases: Vec<Case> = paths.iter().map(|path| case(path)).collect();
    assert!(cases.len() >= 56, "only {} cases", cases.len());
    cases
}

fn case(expected: &Path) -> Case {
    let text = fs::read(expected).expect("readable");
    Case {
        name: expected.file_stem().expect("a name").display().to_string(),
        log: fs::read(expected.with_extension("jsonl")).expect("a log beside"),
        expected: serde_json::from_slice(&text).expect("an object"),
    }
}

/// The differences that a session shows in one state of the index.
struct Differences<'c> {
    case: &'c Case,
    state: &'c str,
    list: Vec<String>,
}

impl Differences<'_> {
    fn want(&mut self, what: &str, got: Value, expected: &Value) {
        let (got, expected) = (plain(got), plain(expected.clone()));
        if got != expected {
            let (name, state) = (&self.case.name, self.state);
            self.list.push(format!(
                "{name} [{state}] {what}: got {got}, want {expected}"
            ));
        }
    }

    fn of_open(&mut self, options: &OpenOptions, path: &Path) {
        let expected = &self.case.expected;
        let opened = options.open(path);
        if expected["open"] == "error" {
            let code = opened
                .as_ref()
                .err()
                .map(|error| error.code().as_str().to_owned());
            return self.want("open error", json!(code), &expected["code"]);
        }
        match opened {
            Err(error) => self.want("open", json!(error.to_string()), &json!("no error")),
            Ok(session) => {
                self.of_overview(&session.overview().expect("an overview"));
                self.of_snapshots(options, path, &session);
            }
        }
    }

    fn of_overview(&mut self, overview: &Overview) {
        let expected = &self.case.expected;
        self.want("format", json!(overview.format), &expected["format"]);
        if expected.get("leaf_any").is_none() {
            self.want("leaf", json!(overview.leaf), &expected["leaf"]);
        }
        let lanes: Map<String, Value> = overview
            .lanes
            .iter()
            .map(|(lane, leaf)| (lane.clone(), json!(leaf)))
            .collect();
        for (key, got) in [
            ("lanes", json!(lanes)),
            ("labels", json!(overview.labels)),
            ("open_operations", json!(overview.open_operations)),
            ("stats", json!(overview.stats)),
        ] {
            if let Some(expected) = expected.get(key) {
                self.want(key, got, expected);
            }
        }
        let skipped: BTreeSet<u64> = (overview.reports.iter())
            .filter(|report| report.skipped)
            .map(|report| report.line)
            .collect();
        let none = json!([]);
        let wanted = expected.get("skipped_lines").unwrap_or(&none);
        self.want("skipped lines", json!(skipped), wanted);
        let reported: BTreeSet<u64> = overview.reports.iter().map(|report| report.line).collect();
        for line in expected
            .get("reported_lines")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let found = line.as_u64().is_some_and(|line| reported.contains(&line));
            self.want(&format!("line {line} reported"), json!(found), &json!(true));
        }
    }

    fn of_snapshots(&mut self, options: &OpenOptions, path: &Path, session: &Session) {
        let expected = &self.case.expected;
        let snapshot = session.snapshot(At::Current);
        if let Some(code) = expected.get("snapshot_error") {
            let error = snapshot.as_ref().err();
            let got = error.map(|error| error.code().as_str());
            self.want("snapshot error", json!(got), code);
            let message = error.map(ToString::to_string).unwrap_or_default();
            for word in expected
                .get("names")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                let named = word.as_str().is_some_and(|word| message.contains(word));
                self.want(
                    &format!("the error names {word}"),
                    json!(named),
                    &json!(true),
                );
            }
            if let Some(salvaged) = expected.get("salvaged") {
                self.of_salvage(options, path, salvaged);
            }
            return;
        }
        let snapshot = match snapshot {
            Ok(snapshot) => snapshot,
            Err(error) => {
                return self.want("snapshot", json!(error.to_string()), &json!("no error"));
            }
        };
        self.want("messages", texts(&snapshot.messages), &expected["messages"]);
        let goal: Option<Value> = snapshot
            .goal
            .as_deref()
            .map(|goal| serde_json::from_str(goal).expect("a goal"));
        for (key, got) in [
            ("model", json!(snapshot.model)),
            ("reasoning_effort", json!(snapshot.reasoning_effort)),
            ("plan", json!(snapshot.plan)),
            ("goal", json!(goal)),
            ("active_tools", json!(snapshot.active_tools)),
            ("name", json!(snapshot.name)),
        ] {
            if let Some(expected) = expected.get(key) {
                self.want(key, got, expected);
            }
        }
        for (lane, messages) in expected
            .get("lane_messages")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let got = session.snapshot(At::Lane(lane));
            let got = got.map_or_else(|e| json!(e.to_string()), |s| texts(&s.messages));
            self.want(&format!("messages of lane {lane}"), got, messages);
        }
        if let Some(expected) = expected.get("path") {
            let got = session.path(At::Current).map_err(|e| e.to_string());
            self.want("path", json!(got.ok()), expected);
        }
    }

    fn of_salvage(&mut self, options: &OpenOptions, path: &Path, expected: &Value) {
        let opened = options.clone().salvage(true).open(path);
        match opened.and_then(|session| session.salvage(At::Current)) {
            Ok(snapshot) => {
                self.want("salvaged messages", texts(&snapshot.messages), expected);
                self.want("salvaged", json!(snapshot.salvaged), &json!(true));
            }
            Err(error) => self.want("salvage", json!(error.to_string()), &json!("no error")),
        }
    }
}

/// A value with all numbers as floating ones, so that 10 is 10.0.
fn plain(value: Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(list) => list.into_iter().map(plain).collect(),
        Value::Object(map) => map
            .into_iter()
            .map(|(key, value)| (key, plain(value)))
            .collect(),
        other => other,
    }
}

/// `[role, first text]` of each message.
fn texts(messages: &Messages) -> Value {
    messages.iter().map(first_text).collect()
}

/// `[role, first text]` of a message of any of the formats. Values stay raw until they are wanted,
/// so that neither depth nor large numbers matter.
fn first_text(message: &str) -> Value {
    let message = paired(message);
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(&message).expect("an object");
    let text = |value: Option<&&RawValue>| -> Value {
        value.map_or(Value::Null, |value| {
            serde_json::from_str(value.get()).expect("a value")
        })
    };
    let role = text(fields.get("role"));
    if fields.contains_key("summary") {
        return json!([role, text(fields.get("summary"))]);
    }
    let content = fields.get("content").map_or("null", |raw| raw.get());
    if content.starts_with('"') {
        return json!([role, text(fields.get("content"))]);
    }
    let blocks: Option<Vec<BTreeMap<String, &RawValue>>> =
        serde_json::from_str(content).expect("blocks");
    let first = blocks.into_iter().flatten().find(|block| {
        block
            .get("type")
            .is_some_and(|kind| kind.get() == "\"text\"")
    });
    json!([role, first.map(|block| text(block.get("text")))])
}

/// JSON with each `\uD800` to `\uDFFF` that is no half of a pair as `\uFFFD`.
fn paired(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    let unit = |text: &str| -> Option<u16> {
        let digits = text.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let second = escape.get(6..).and_then(unit);
        let (len, text) = match (unit(escape), second) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => (12, &escape[..12]),
            (Some(0xD800..=0xDFFF), _) => (6, "\\uFFFD"),
            (Some(_), _) => (6, &escape[..6]),
            (None, _) => (2, &escape[..2]),
        };
        out.push_str(text);
        rest = &escape[len..];
    }
    out.push_str(rest);
    out
}

/// Checks one case in a state of the index that `prepare` makes before each opening.
fn check(
    case: &Case,
    disk: &Disk,
    state: &str,
    options: &[OpenOptions],
    prepare: &dyn Fn(),
) -> Vec<String> {
    let mut differences = Differences {
        case,
        state,
        list: Vec::new(),
    };
    for options in options {
        prepare();
        differences.of_open(options, disk.path());
    }
    if disk.bytes() != case.log {
        let name = &case.name;
        differences
            .list
            .push(format!("{name} [{state}]: the log was changed"));
    }
    differences.list
}

fn by_both_readings(options: &OpenOptions) -> [OpenOptions; 2] {
    [Reading::Map, Reading::Read].map(|reading| options.clone().reading(reading))
}

/// Checks all cases; `check` returns the differences of one.
#[track_caller]
fn check_all(check: impl Fn(&Case, &Disk) -> Vec<String>) {
    let cases = cases();
    let differences: Vec<String> = cases
        .iter()
        .flat_map(|case| check(case, &Disk::new(&case.log)))
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn each_log_has_its_answers_beside_it() {
    let logs = fs::read_dir(FOLDER)
        .expect("cases")
        .filter(|item| {
            item.as_ref()
                .is_ok_and(|it| it.path().extension().is_some_and(|it| it == "jsonl"))
        })
        .count();
    assert_eq!(cases().len(), logs);
}

#[test]
fn an_index_in_memory_answers_every_case_and_leaves_no_file() {
    let memory = OpenOptions::new().index(IndexMode::Memory);
    check_all(|case, disk| {
        let options = by_both_readings(&memory);
        let mut list = check(case, disk, "memory", &options, &|| {});
        let files = fs::read_dir(disk.folder()).expect("the folder").count();
        if files != 1 {
            list.push(format!("{}: {files} files in the folder", case.name));
        }
        list
    });
}

#[test]
fn a_small_log_answers_every_case_without_a_sidecar() {
    check_all(|case, disk| {
        let options = by_both_readings(&OpenOptions::new());
        let mut list = check(case, disk, "automatic", &options, &|| {});
        if disk.sidecar().exists() {
            list.push(format!("{}: a sidecar was written", case.name));
        }
        list
    });
}

#[test]
fn a_sidecar_answers_every_case_when_it_is_written_and_when_it_is_fresh() {
    check_all(|case, disk| {
        let options = by_both_readings(&always());
        let remove = || drop(fs::remove_file(disk.sidecar()));
        let mut list = check(case, disk, "written", &options, &remove);
        list.extend(check(case, disk, "fresh", &options, &|| {}));
        let automatic = by_both_readings(&OpenOptions::new());
        list.extend(check(case, disk, "fresh, automatic", &automatic, &|| {}));
        list
    });
}

#[test]
fn a_damaged_sidecar_answers_every_case() {
    check_all(|case, disk| {
        let mut list = Vec::new();
        drop(always().open(disk.path()));
        // A log that does not open has no sidecar: then another log's is damaged.
        let whole = fs::read(disk.sidecar()).unwrap_or_else(|_| foreign());
        let last = whole.len() - 1;
        let mut states = vec![
            ("whole".to_owned(), whole.clone()),
            ("cut to half".to_owned(), whole[..whole.len() / 2].to_vec()),
            ("empty".to_owned(), Vec::new()),
        ];
        for at in [0, whole.len() / 3, whole.len() / 2, last] {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x5A;
            states.push((format!("byte {at} flipped"), flipped));
        }
        for (state, sidecar) in states {
            let write = || fs::write(disk.sidecar(), &sidecar).expect("written");
            for options in [always(), OpenOptions::new()] {
                let options = by_both_readings(&options);
                list.extend(check(case, disk, &state, &options, &write));
            }
        }
        list
    });
}

fn foreign() -> Vec<u8> {
    let case = case(&Path::new(FOLDER).join(format!("{FOREIGN}.json")));
    sidecar_of(&case.log).expect("a sidecar")
}

#[test]
fn a_sidecar_of_another_log_answers_every_case() {
    let sidecars: Vec<Vec<u8>> = cases()
        .iter()
        .filter(|case| case.expected["open"] == "ok")
        .map(|case| sidecar_of(&case.log).expect("a sidecar"))
        .collect();
    check_all(|case, disk| {
        let mut list = Vec::new();
        for sidecar in &sidecars {
            let write = || fs::write(disk.sidecar(), sidecar).expect("written");
            let options = [OpenOptions::new()];
            list.extend(check(case, disk, "another log's", &options, &write));
        }
        list
    });
}
