//! A converted session shows the context of its source on every path, or the conversion says where not.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use leaflog::generate::Shape;
use leaflog::naive::{ReadOptions, Replay};
use leaflog::{At, ChangeKind, Code, Conversion, Format, IndexMode, OpenOptions, Snapshot};
use proptest::prelude::*;
use support::logs;

const CONVERTIBLE: [Format; 3] = [Format::PiV3, Format::PiV2, Format::PiV1];

/// Converts a log; the source must be as it was, and a failure leave nothing.
fn convert(log: &[u8], salvage: bool) -> leaflog::Result<(Conversion, Vec<u8>)> {
    // Conversions wait for the disk; thousands of them need not wait for a real one.
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() {
        tempfile::tempdir_in(memory)
    } else {
        tempfile::tempdir()
    };
    let folder = folder.expect("a folder");
    let path = folder.path().join("source.jsonl");
    let target = folder.path().join("target.jsonl");
    fs::write(&path, log).expect("written");
    let options = OpenOptions::new().index(IndexMode::Memory).salvage(salvage);
    let done = leaflog::convert(&path, &target, Format::PiV4, &options);
    assert!(fs::read(&path).expect("the source") == log);
    let names = fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(names, 1 + usize::from(done.is_ok()), "a draft was left");
    let done = done?;
    let bytes = fs::read(&target).expect("the target");
    assert_eq!(done.bytes, bytes.len() as u64);
    Ok((done, bytes))
}

/// What a context is made of, less what tells sessions apart.
fn context(snapshot: Snapshot) -> impl PartialEq + std::fmt::Debug {
    (
        snapshot.messages,
        snapshot.model,
        snapshot.reasoning_effort,
        snapshot.name,
    )
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, one: T, other: T) -> Result<(), String> {
    if one == other {
        return Ok(());
    }
    Err(format!("{what}:\n  source {one:?}\n  target {other:?}"))
}

/// Checks the conversion of a log; that of a `clean` one must be clean.
fn check(log: &[u8], clean: bool) -> Result<(), String> {
    let Ok(replay) = Replay::from_bytes(log, ReadOptions::default()) else {
        return Ok(());
    };
    let format = replay.overview().format;
    let done = convert(log, false);
    if !CONVERTIBLE.contains(&format) {
        return same(
            "refused",
            Some(Code::Unsupported),
            done.err().map(|e| e.code()),
        );
    }
    let ids = replay.entry_ids();
    let is_cyclic = ids.iter().any(|id| replay.path(At::Leaf(id)).is_err());
    if is_cyclic {
        same(
            "cycle",
            Some(Code::InvalidEntry),
            done.err().map(|e| e.code()),
        )?;
        convert(log, true).map_err(|e| e.to_string())?;
        return Ok(());
    }
    let (done, bytes) = done.map_err(|e| e.to_string())?;
    let target = Replay::from_bytes(&bytes, ReadOptions::default()).map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&bytes);
    let changed: BTreeSet<_> = done
        .changes
        .iter()
        .map(|change| change.kind as u8)
        .collect();
    // Only the first changes are listed: of one that is not, nothing is known where there are more.
    let is_cut = done.change_count > done.changes.len() as u64;
    let has = |kind: ChangeKind| is_cut || changed.contains(&(kind as u8));
    let (one, other) = (replay.overview(), target.overview());
    same("id", &one.session_id, &other.session_id)?;
    same("name", &one.name, &other.name)?;
    same(
        "messages",
        one.cwd.unwrap_or_default(),
        other.cwd.unwrap_or_default(),
    )?;
    same("entries", done.entries, other.entries)?;
    if !has(ChangeKind::Label) {
        same("labels", one.labels, other.labels)?;
    }
    if clean {
        let strict = ReadOptions {
            strict: true,
            salvage: false,
        };
        Replay::from_bytes(&bytes, strict).map_err(|e| format!("{e}\n{text}"))?;
    }
    let leaf = replay.overview().leaf;
    let wanted = replay
        .snapshot(At::Current, false)
        .map_err(|e| e.to_string())?;
    let found = target
        .snapshot(At::Current, false)
        .map_err(|e| e.to_string())?;
    let is_moved = has(ChangeKind::Moved);
    let in_order = |messages: &leaflog::Messages| {
        let mut list: Vec<String> = messages.iter().map(str::to_owned).collect();
        if is_moved {
            list.sort();
        }
        list
    };
    // The branch that the session stands on has the say, so that it differs only where an answer was
    // put off or a summary was to go, which the conversion has said then.
    let mut differing = done
        .changes
        .iter()
        .filter(|change| change.kind == ChangeKind::Context);
    let may_differ =
        differing.any(|change| change.entry == leaf || change.detail.contains("deferred"));
    if !may_differ {
        let (one, other) = (in_order(&wanted.messages), in_order(&found.messages));
        same(&format!("messages\n{text}"), one, other)?;
    }
    let state = |snapshot: Snapshot| (snapshot.model, snapshot.reasoning_effort, snapshot.name);
    same(&format!("state\n{text}"), state(wanted), state(found))?;
    if is_moved || has(ChangeKind::Context) {
        return Ok(());
    }
    // Inside of a path an edit behind the end is seen too.
    if has(ChangeKind::Edited)
        || has(ChangeKind::Removed)
        || String::from_utf8_lossy(log).contains("context_edit")
    {
        return Ok(());
    }
    let converted: BTreeSet<_> = target.entry_ids().into_iter().collect();
    for id in &ids {
        if converted.contains(id) {
            let at = At::Leaf(id);
            let wanted = replay.snapshot(at, false).map_err(|e| e.to_string())?;
            let found = target.snapshot(at, false).map_err(|e| e.to_string())?;
            same(&format!("{id}\n{text}"), context(wanted), context(found))?;
        }
    }
    Ok(())
}

fn checked(log: &[u8], clean: bool) -> Result<(), TestCaseError> {
    check(log, clean).map_err(|difference| {
        let smallest = logs::fewest_lines(log, |log| check(log, clean).is_err());
        let difference = check(&smallest, clean).err().unwrap_or(difference);
        TestCaseError::fail(format!("{}\n{difference}", logs::show(&smallest)))
    })
}

#[test]
fn generated_sessions_keep_their_contexts() {
    for format in CONVERTIBLE {
        let branches = if format == Format::PiV1 { 0 } else { 6 };
        let mut log = Vec::new();
        let shape = Shape::new(format, 300).branches(branches).compact_every(50);
        shape.write_to(&mut log).expect("written");
        check(&log, true).unwrap_or_else(|e| panic!("{format}: {e}"));
    }
}

#[test]
fn the_handed_cases_keep_their_contexts() {
    for file in fs::read_dir("tests/cases").expect("cases") {
        let path = file.expect("case").path();
        if path
            .extension()
            .is_some_and(|extension| extension == "jsonl")
        {
            let log = fs::read(&path).expect("readable");
            check(&log, false).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        }
    }
}

#[test]
fn the_corpus_keeps_its_contexts() {
    for (name, log) in logs::corpus() {
        check(&log, false).unwrap_or_else(|e| panic!("{name}:\n{}\n{e}", logs::show(&log)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(400), max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_clean_log_keeps_its_contexts(log in logs::clean_log()) {
        checked(&log, true)?;
    }

    #[test]
    fn a_quirky_log_keeps_its_contexts(log in logs::quirky_log()) {
        checked(&log, false)?;
    }

    #[test]
    fn any_log_keeps_its_contexts_or_says_why_not(log in logs::any_log()) {
        checked(&log, false)?;
    }
}

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-07-14T09:00:00.000Z","cwd":"/w"}"#;
const TIME: &str = "1784019600000";

/// Converts entries of pi v3, each without its time; the lines behind the header, and the changes.
fn lines(entries: &[&str]) -> (Vec<String>, Vec<(ChangeKind, Option<String>)>) {
    let mut log = format!("{HEADER}\n");
    for entry in entries {
        let inner = entry.strip_suffix('}').expect("an object");
        log.push_str(&format!(
            "{inner},\"timestamp\":\"2026-07-14T09:00:00.000Z\"}}\n"
        ));
    }
    let (done, bytes) = convert(log.as_bytes(), false).expect("converted");
    let text = String::from_utf8(bytes).expect("text");
    let lines = text.lines().skip(1).map(|line| line.replace(TIME, "T"));
    let changes = done
        .changes
        .into_iter()
        .map(|change| (change.kind, change.entry));
    (lines.collect(), changes.collect())
}

#[test]
fn labels_and_names_become_facts_and_the_tree_closes_over_them() {
    let (lines, changes) = lines(&[
        r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"1"}}"#,
        r#"{"type":"label","id":"b","parentId":"a","targetId":"a","label":"L"}"#,
        r#"{"type":"session_info","id":"c","parentId":"b","name":" named "}"#,
        r#"{"type":"custom_message","customType":"x","content":null,"display":true,"id":"d","parentId":"c"}"#,
        r#"{"type":"usage","id":"e","parentId":"d","kind":"k","usage":{}}"#,
        r#"{"type":"new_thing","id":"f","parentId":"e","seq":4}"#,
        r#"{"type":"label","id":"g","parentId":"f","targetId":"b","label":"lost"}"#,
    ]);
    assert_eq!(
        lines,
        [
            r#"{"kind":"entry","type":"message","id":"a","message":{"role":"user","content":"1"},"parentId":null,"seq":1,"timestamp":T}"#,
            r#"{"kind":"entry","type":"message","id":"d","message":{"role":"custom","customType":"x","content":[],"display":true,"timestamp":T},"parentId":"a","seq":2,"timestamp":T}"#,
            r#"{"kind":"entry","type":"custom","id":"e","customType":"usage","data":{"kind":"k","usage":{}},"parentId":"d","seq":3,"timestamp":T}"#,
            r#"{"kind":"entry","type":"custom","id":"f","customType":"new_thing","data":{"seq":4},"parentId":"e","seq":4,"timestamp":T}"#,
            r#"{"kind":"lane","seq":5,"lane":"main","leafId":"f"}"#,
            r#"{"kind":"fact","seq":6,"fact":"name","name":"named"}"#,
            r#"{"kind":"fact","seq":7,"fact":"label","targetId":"a","label":"L"}"#,
        ]
    );
    let f = Some("f".to_owned());
    assert_eq!(
        changes,
        [(ChangeKind::Custom, f), (ChangeKind::Label, None)]
    );
}

#[test]
fn edits_go_into_tails_and_live_messages() {
    let (lines, changes) = lines(&[
        r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"1"}}"#,
        r#"{"type":"context_edit","id":"b","parentId":"a","targetId":"a","replacement":{"content":"one"}}"#,
        r#"{"type":"compaction","id":"c","parentId":"b","summary":"s","firstKeptEntryId":"a","tokensBefore":1,"systemMessage":{"role":"system","content":"S"}}"#,
        r#"{"type":"message","id":"d","parentId":"c","message":{"role":"user","content":"2"}}"#,
        r#"{"type":"message","id":"e","parentId":"d","message":{"role":"assistant","content":[],"provider":"p","model":"m"}}"#,
        r#"{"type":"context_edit","id":"f","parentId":"e","targetId":"d","replacement":{"content":"two"}}"#,
        r#"{"type":"context_edit","id":"g","parentId":"f","targetId":"e","replacement":null}"#,
    ]);
    assert_eq!(
        lines[0],
        r#"{"kind":"entry","type":"message","id":"a","message":{"role":"user","content":"one"},"parentId":null,"seq":1,"timestamp":T}"#
    );
    assert_eq!(
        lines[2..5],
        [
            r#"{"kind":"entry","type":"compaction","id":"c","summary":"s","tokensBefore":1,"retainedTail":[{"role":"system","content":"S"},{"role":"user","content":"one"}],"parentId":"b","seq":3,"timestamp":T}"#,
            r#"{"kind":"entry","type":"message","id":"d","message":{"role":"user","content":"two"},"parentId":"c","seq":4,"timestamp":T}"#,
            r#"{"kind":"entry","type":"model_change","id":"e","provider":"p","modelId":"m","message":{"role":"assistant","content":[],"provider":"p","model":"m"},"parentId":"d","seq":5,"timestamp":T}"#,
        ]
    );
    let kinds: Vec<_> = changes
        .iter()
        .map(|(kind, id)| (*kind, id.as_deref()))
        .collect();
    assert_eq!(
        kinds,
        [
            (ChangeKind::Edited, Some("a")),
            (ChangeKind::Moved, Some("c")),
            (ChangeKind::Edited, Some("d")),
            (ChangeKind::Removed, Some("e")),
        ]
    );
}

#[test]
fn one_branch_has_the_say_where_two_want_different_messages() {
    let (lines, changes) = lines(&[
        r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"1"}}"#,
        r#"{"type":"context_edit","id":"b","parentId":"a","targetId":"a","replacement":{"content":"one"}}"#,
        r#"{"type":"message","id":"c","parentId":"a","message":{"role":"user","content":"2"}}"#,
    ]);
    assert!(lines[0].contains(r#""content":"1""#), "{}", lines[0]);
    assert_eq!(changes, [(ChangeKind::Context, Some("b".to_owned()))]);
}

#[test]
fn the_parent_is_named_by_its_id_where_its_file_can_be_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| -> PathBuf { folder.path().join(name) };
    fs::write(path("parent.jsonl"), format!("{HEADER}\n")).expect("written");
    let there = path("parent.jsonl").display().to_string();
    for (parent, wanted) in [
        (there.as_str(), r#","parentSessionId":"s"}"#),
        ("parent.jsonl", r#","parentSessionId":"s"}"#),
        ("/no/such", r#","legacyParentSessionPath":"/no/such"}"#),
    ] {
        let header = HEADER.replace("}", &format!(",\"parentSession\":{parent:?}}}\n"));
        fs::write(path("child.jsonl"), header).expect("written");
        let _ = fs::remove_file(path("out.jsonl"));
        let options = OpenOptions::new();
        leaflog::convert(
            path("child.jsonl"),
            path("out.jsonl"),
            Format::PiV4,
            &options,
        )
        .expect("converted");
        let text = fs::read_to_string(path("out.jsonl")).expect("text");
        let header = text.lines().next().expect("a header");
        assert!(header.ends_with(wanted), "{header}");
        assert!(
            header.contains(r#""createdAt":1784019600000,"cwd":"/w""#),
            "{header}"
        );
        let again = leaflog::convert(
            path("child.jsonl"),
            path("out.jsonl"),
            Format::PiV4,
            &options,
        );
        assert_eq!(again.expect_err("refused").code(), Code::AlreadyExists);
    }
    let options = OpenOptions::new();
    for to in [Format::PiV3, Format::CodebotV3] {
        let refused = leaflog::convert(path("child.jsonl"), path("x.jsonl"), to, &options);
        assert_eq!(refused.expect_err("refused").code(), Code::Unsupported);
    }
    assert!(!path("x.jsonl").exists());
}
