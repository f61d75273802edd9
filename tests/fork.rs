//! A fork holds what it should, reads cleanly, and shows the context that its source has.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use leaflog::generate::Shape;
use leaflog::naive::{ReadOptions, Replay};
use leaflog::{
    At, Code, CreateOptions, ForkScope, Format, IndexMode, OpenOptions, Position, Session, Snapshot,
};
use proptest::prelude::*;
use support::logs;

const FORKABLE: [Format; 3] = [Format::PiV4, Format::PiV3, Format::CodebotV3];

/// A log in a folder of its own, and the session that reads it.
struct Source {
    folder: tempfile::TempDir,
    path: PathBuf,
    bytes: Vec<u8>,
    session: Session,
}

impl Source {
    fn open(log: &[u8]) -> leaflog::Result<Self> {
        // Forks wait for the disk; thousands of them need not wait for a real one.
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() {
            tempfile::tempdir_in(memory)
        } else {
            tempfile::tempdir()
        };
        let folder = folder.expect("a folder");
        let path = folder.path().join("source.jsonl");
        fs::write(&path, log).expect("written");
        let session = OpenOptions::new().index(IndexMode::Memory).open(&path)?;
        Ok(Self {
            path,
            bytes: log.to_vec(),
            session,
            folder,
        })
    }

    fn of(log: &[u8]) -> Self {
        Self::open(log).expect("a session")
    }

    fn fork(&self, scope: &ForkScope) -> leaflog::Result<Fork> {
        self.fork_with(scope, false)
    }

    fn fork_with(&self, scope: &ForkScope, salvage: bool) -> leaflog::Result<Fork> {
        let path = self.folder.path().join("fork.jsonl");
        let _ = fs::remove_file(&path);
        let options = CreateOptions::default();
        let forked = if salvage {
            self.session.salvage_to(&path, scope, &options)
        } else {
            self.session.fork_to(&path, scope, &options)
        };
        assert!(fs::read(&self.path).expect("the source") == self.bytes);
        let names = fs::read_dir(self.folder.path()).expect("a folder").count();
        assert_eq!(names, 1 + usize::from(forked.is_ok()), "a draft was left");
        let forked = forked?;
        let bytes = fs::read(&path).expect("the fork");
        assert_eq!(forked.bytes, bytes.len() as u64);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(Fork {
            replay: Replay::from_bytes(&bytes, ReadOptions::default()).expect("the fork reads"),
            id: forked.session_id,
            bytes,
            text,
        })
    }
}

struct Fork {
    replay: Replay,
    id: String,
    bytes: Vec<u8>,
    text: String,
}

impl Fork {
    fn lines(&self) -> Vec<&str> {
        self.text.lines().collect()
    }

    fn strict(&self) -> leaflog::Result<()> {
        let strict = ReadOptions {
            strict: true,
            salvage: false,
        };
        Replay::from_bytes(&self.bytes, strict).map(drop)
    }
}

/// What a context is made of, less what tells sessions apart.
fn context(snapshot: Snapshot) -> impl PartialEq + std::fmt::Debug {
    (
        snapshot.messages,
        snapshot.model,
        snapshot.reasoning_effort,
        (snapshot.plan, snapshot.goal, snapshot.active_tools),
    )
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, one: T, other: T) -> Result<(), String> {
    if one == other {
        return Ok(());
    }
    Err(format!("{what}:\n  source {one:?}\n  fork   {other:?}"))
}

/// The objects of a log by the ids of their entries.
fn objects(session: &Session) -> std::collections::BTreeMap<String, Vec<u8>> {
    let tree = session.tree().expect("a tree");
    tree.iter()
        .map(|node| {
            let entry = session.entry(&node.id).expect("read").expect("an entry");
            (node.id.clone(), entry.bytes)
        })
        .collect()
}

/// An object with the fields that a fork may change taken away, as a value.
fn core(bytes: &[u8]) -> Option<serde_json::Value> {
    let mut value: serde_json::Value = serde_json::from_slice(bytes).ok()?;
    let object = value.as_object_mut()?;
    for key in ["lane", "seq", "parentId", "firstKeptEntryId"] {
        object.remove(key);
    }
    Some(value)
}

/// Checks the forks of a log at each message and of its tree; `clean` logs must give clean forks.
fn check(log: &[u8], clean: bool) -> Result<(), String> {
    let Ok(source) = Source::open(log) else {
        return Ok(());
    };
    let replay = Replay::from_bytes(log, ReadOptions::default()).map_err(|e| e.to_string())?;
    let format = source.session.format();
    if !FORKABLE.contains(&format) {
        let refused = source.fork(&ForkScope::Tree).err().map(|e| e.code());
        return same("refused", Some(Code::Unsupported), refused);
    }
    let all = objects(&source.session);
    let tree = source.session.tree().map_err(|e| e.to_string())?;
    for node in &tree {
        let id = &node.id;
        let fork = source.fork(&ForkScope::at(id));
        if !node.is_message {
            same(
                id,
                Some(Code::InvalidForkTarget),
                fork.err().map(|e| e.code()),
            )?;
            continue;
        }
        let wanted = replay.snapshot(At::Leaf(id), false);
        let fork = match (fork, wanted) {
            (Err(error), Err(wanted)) => {
                same(id, wanted.code(), error.code())?;
                let saved = match source.fork_with(&ForkScope::at(id), true) {
                    Err(error) if is_false_header(&error) => continue,
                    saved => saved.map_err(|e| e.to_string())?,
                };
                let wanted = replay
                    .snapshot(At::Leaf(id), true)
                    .map_err(|e| e.to_string())?;
                let found = saved
                    .replay
                    .snapshot(At::Current, false)
                    .map_err(|e| format!("salvaged {id}: {e}"))?;
                same(&format!("salvaged {id}"), context(wanted), context(found))?;
                continue;
            }
            (fork, wanted) => {
                let fork = fork.map_err(|e| format!("{id}: {e}"))?;
                let wanted = wanted.map_err(|e| format!("forked {id}, but {e}"))?;
                let at = if format == Format::PiV3 {
                    At::Leaf(id)
                } else {
                    At::Current
                };
                let found = fork.replay.snapshot(at, false).map_err(|e| e.to_string())?;
                same("id", &fork.id, &found.session_id)?;
                same("leaf", &wanted.leaf, &found.leaf)?;
                if format != Format::PiV3 {
                    same("name", &wanted.name, &found.name)?;
                    same("path", wanted.path_entries, found.path_entries)?;
                }
                same(id, context(wanted), context(found))?;
                fork
            }
        };
        compare_bytes(&fork, &all, format)?;
        if clean {
            fork.strict().map_err(|e| format!("{id}: {e}"))?;
        }
        let before = source
            .fork(&ForkScope::before(id))
            .map_err(|e| e.to_string())?;
        let path = replay.path(At::Leaf(id)).map_err(|e| e.to_string())?;
        let kept = |path: &[String]| path.iter().filter(|id| all.contains_key(*id)).count();
        let found = before.replay.entry_ids();
        let is_label = |id: &String| {
            let entry = source.session.entry(id).expect("read");
            entry.is_some_and(|entry| entry.kind == "label")
        };
        let labels = path.iter().filter(|id| is_label(id)).count();
        if format != Format::PiV3 {
            same("before", kept(&path[..path.len() - 1]), found.len())?;
        } else if labels == 0 && replay.overview().labels.is_empty() {
            same("before", path.len() - 1, found.len())?;
        }
    }
    check_tree(&source, &replay, &all, clean)
}

/// Whether an entry with the id of codebot's header cannot be copied.
fn is_false_header(error: &leaflog::Error) -> bool {
    error.code() == Code::InvalidEntry && error.message().contains("`h0`")
}

/// Entries keep their bytes: all of them in codebot, all but the fields that change in pi.
fn compare_bytes(
    fork: &Fork,
    all: &std::collections::BTreeMap<String, Vec<u8>>,
    format: Format,
) -> Result<(), String> {
    let forked = Source::of(&fork.bytes);
    for (id, bytes) in objects(&forked.session) {
        let Some(old) = all.get(&id) else {
            continue; // a new label of pi v3
        };
        if format == Format::CodebotV3 {
            // What hung on another line that says it is the header hangs on the fork's own.
            let value: Option<serde_json::Value> = serde_json::from_slice(old).ok();
            let parent = value.and_then(|value| Some(value.get("parent_id")?.as_str()?.to_owned()));
            let parent = parent.and_then(|parent| all.get(&parent));
            let hung_on_header = parent.is_some_and(|parent| {
                let parent = serde_json::from_slice::<serde_json::Value>(parent);
                parent.is_ok_and(|parent| parent.get("kind").is_some_and(|kind| kind == "header"))
            });
            if id != "h0" && *old != bytes && !hung_on_header {
                return Err(format!("{id} changed"));
            }
        } else {
            // Numbers and surrogates out of range are no values; the contexts compare their bytes.
            if let (Some(old), Some(new)) = (core(old), core(&bytes)) {
                same(&id, old, new)?;
            }
        }
    }
    Ok(())
}

fn check_tree(
    source: &Source,
    replay: &Replay,
    all: &std::collections::BTreeMap<String, Vec<u8>>,
    clean: bool,
) -> Result<(), String> {
    let format = source.session.format();
    let fork = match source.fork(&ForkScope::Tree) {
        Ok(fork) => fork,
        Err(error) if clean => return Err(error.to_string()),
        Err(error) => {
            same("tree", Code::InvalidEntry, error.code())?;
            match source.fork_with(&ForkScope::Tree, true) {
                Err(error) if is_false_header(&error) => return Ok(()),
                saved => saved.map_err(|e| e.to_string())?,
            }
        }
    };
    if clean {
        fork.strict().map_err(|e| format!("tree: {e}"))?;
        compare_bytes(&fork, all, format)?;
        let (one, other) = (replay.overview(), fork.replay.overview());
        same("labels", one.labels, other.labels)?;
        same("name", one.name, other.name)?;
        same("lanes", one.lanes, other.lanes)?;
        same("leaf", one.leaf, other.leaf)?;
        same("entries", one.entries, other.entries)?;
    }
    for id in replay.entry_ids() {
        if format == Format::CodebotV3 && fork.replay.path(At::Leaf(&id)).is_err() {
            continue; // another line that says it is the header
        }
        let wanted = replay
            .snapshot(At::Leaf(&id), true)
            .map_err(|e| e.to_string())?;
        let found = fork
            .replay
            .snapshot(At::Leaf(&id), false)
            .map_err(|e| format!("tree {id}: {e}"))?;
        if !wanted.salvaged {
            same(&format!("tree {id}"), context(wanted), context(found))?;
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

fn generated(format: Format) -> Vec<u8> {
    let mut log = Vec::new();
    let shape = Shape::new(format, 300).branches(6).compact_every(50);
    shape.write_to(&mut log).expect("written");
    log
}

#[test]
fn forks_of_generated_sessions_show_the_context_of_their_source() {
    for format in FORKABLE {
        check(&generated(format), true).unwrap_or_else(|e| panic!("{format}: {e}"));
    }
}

#[test]
fn forks_of_the_handed_cases_show_the_context_of_their_source() {
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
fn what_hangs_on_a_second_header_hangs_on_the_header_of_the_fork() {
    let log = concat!(
        "{\"kind\":\"header\",\"id\":\"h0\",\"timestamp\":\"2026-07-14T09:00:00Z\",\"data\":{\"version\":3,\"session_id\":\"a1b2c3d4\",\"cwd\":\"/w\",\"created\":\"2026-07-14T09:00:00Z\"}}\n",
        "{\"kind\":\"header\",\"id\":\"00000001\",\"parent_id\":null,\"timestamp\":\"2026-07-14T09:00:02Z\",\"data\":\"a\"}\n",
        "{\"kind\":\"message\",\"id\":\"00000002\",\"parent_id\":\"00000001\",\"timestamp\":\"2026-07-14T09:00:03Z\",\"data\":{\"role\":\"user\",\"content\":[],\"timestamp\":\"2026-07-14T09:00:01Z\"}}\n",
    );
    check(log.as_bytes(), false).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn forks_of_the_corpus_show_the_context_of_their_source() {
    for (name, log) in logs::corpus() {
        check(&log, false).unwrap_or_else(|e| panic!("{name}:\n{}\n{e}", logs::show(&log)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(400), max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_clean_log_forks_cleanly(log in logs::clean_log()) {
        checked(&log, true)?;
    }

    #[test]
    fn a_quirky_log_forks_alike(log in logs::quirky_log()) {
        checked(&log, false)?;
    }

    #[test]
    fn any_log_forks_alike_or_says_why_not(log in logs::any_log()) {
        checked(&log, false)?;
    }
}

const V3: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-07-14T09:00:00.000Z","cwd":"/w"}
{"type":"message","id":"a","parentId":null,"timestamp":"2026-07-14T09:00:01.000Z","message":{"role":"user","content":"1"}}
{"type":"label","id":"l1","parentId":"a","timestamp":"2026-07-14T09:00:02.000Z","targetId":"a","label":"first"}
{"type":"message","id":"b","parentId":"l1","timestamp":"2026-07-14T09:00:03.000Z","message":{"role":"assistant","content":[]}}
{"type":"compaction","id":"c","parentId":"b","timestamp":"2026-07-14T09:00:04.000Z","summary":"s","firstKeptEntryId":"l1","tokensBefore":1}
{"type":"message","id":"d","parentId":"c","timestamp":"2026-07-14T09:00:05.000Z","message":{"role":"user","content":"2"}}
"#;

#[test]
fn a_branch_of_pi_v3_is_chained_anew_over_its_labels() {
    let source = Source::of(V3.as_bytes());
    let fork = source.fork(&ForkScope::at("d")).expect("a fork");
    let (old, new): (Vec<&str>, Vec<&str>) = (V3.lines().collect(), fork.lines());
    assert!(
        new[0].contains(r#""cwd":"/w","parentSession":"/"#),
        "{}",
        new[0]
    );
    assert_eq!(new[1], old[1]);
    assert_eq!(
        new[2],
        old[3].replace(r#""parentId":"l1""#, r#""parentId":"a""#)
    );
    assert_eq!(
        new[3],
        old[4].replace(r#""firstKeptEntryId":"l1""#, r#""firstKeptEntryId":"b""#)
    );
    assert_eq!(new[4], old[5]);
    assert!(
        new[5].starts_with(r#"{"type":"label","id":""#),
        "{}",
        new[5]
    );
    assert!(
        new[5].ends_with(
            r#"","parentId":"d","timestamp":"2026-07-14T09:00:02.000Z","targetId":"a","label":"first"}"#
        ),
        "{}",
        new[5]
    );
    assert_eq!(new.len(), 6);
    fork.strict().expect("clean");
    let tree = source.fork(&ForkScope::Tree).expect("a fork");
    assert_eq!(tree.lines()[1..], old[1..]);
}

const V4: &str = r#"{"kind":"header","version":4,"id":"s","createdAt":1784019600000,"cwd":"/w"}
{"kind":"entry","lane":"main","type":"message","id":"a","message":{"role":"user","content":"1"},"parentId":null,"seq":1,"timestamp":1784019600001}
{"kind":"record","type":"usage","id":"r","lane":"main","cause":"x","usage":{"totalTokens":5},"seq":2,"timestamp":1784019600002}
{"kind":"entry","lane":"main","type":"message","id":"b","message":{"role":"user","content":"\"lane\""},"parentId":"a","seq":3,"timestamp":1784019600003}
{"kind":"lane","seq":4,"lane":"side","leafId":"a"}
{"kind":"entry","lane":"side","type":"custom","id":"c","customType":"n","parentId":"a","seq":5,"timestamp":1784019600004}
{"kind":"fact","seq":6,"fact":"name","name":"named"}
{"kind":"fact","seq":7,"fact":"label","targetId":"c","label":"C"}
{"kind":"fact","seq":8,"fact":"label","targetId":"a","label":"A"}
"#;

#[test]
fn a_branch_of_pi_v4_has_one_lane_the_name_and_the_labels_of_its_entries() {
    let source = Source::of(V4.as_bytes());
    let fork = source.fork(&ForkScope::default()).expect("a fork");
    let lines = fork.lines();
    assert!(lines[0].contains(r#""cwd":"/w","parentSessionId":"s""#));
    assert_eq!(
        lines[1..],
        [
            r#"{"kind":"entry","type":"message","id":"a","message":{"role":"user","content":"1"},"parentId":null,"seq":1,"timestamp":1784019600001}"#,
            r#"{"kind":"entry","type":"message","id":"b","message":{"role":"user","content":"\"lane\""},"parentId":"a","seq":2,"timestamp":1784019600003}"#,
            r#"{"kind":"lane","seq":3,"lane":"main","leafId":"b"}"#,
            r#"{"kind":"fact","seq":4,"fact":"name","name":"named"}"#,
            r#"{"kind":"fact","seq":5,"fact":"label","targetId":"a","label":"A"}"#,
        ]
    );
    let before = source.fork(&ForkScope::before("a")).expect("a fork");
    assert_eq!(
        before.lines()[1],
        r#"{"kind":"lane","seq":1,"lane":"main","leafId":null}"#
    );
    let by_id = ForkScope::Branch {
        entry: Some("b".to_owned()),
        position: None,
    };
    assert_eq!(
        source.fork(&by_id).expect("a fork").replay.entry_ids(),
        ["a"]
    );
    let parent = ForkScope::Branch {
        entry: None,
        position: Some(Position::Before),
    };
    assert_eq!(
        source.fork(&parent).expect("a fork").replay.entry_ids(),
        ["a"]
    );
    for bad in ["c", "r", "no such"] {
        let error = source.fork(&ForkScope::at(bad)).err().expect("refused");
        assert_eq!(error.code(), Code::InvalidForkTarget, "{bad}");
    }
    let empty = Source::of(V4.lines().next().expect("a header").as_bytes());
    let fork = empty.fork(&ForkScope::default()).expect("a fork");
    assert_eq!(
        fork.lines()[1..],
        [r#"{"kind":"lane","seq":1,"lane":"main","leafId":null}"#]
    );
}

#[test]
fn a_tree_of_pi_v4_has_all_lanes_and_labels_and_counts_anew() {
    let source = Source::of(V4.as_bytes());
    let fork = source.fork(&ForkScope::Tree).expect("a fork");
    assert_eq!(
        fork.lines()[3..],
        [
            r#"{"kind":"entry","type":"custom","id":"c","customType":"n","parentId":"a","seq":3,"timestamp":1784019600004}"#,
            r#"{"kind":"lane","seq":4,"lane":"main","leafId":"b"}"#,
            r#"{"kind":"lane","seq":5,"lane":"side","leafId":"c"}"#,
            r#"{"kind":"fact","seq":6,"fact":"name","name":"named"}"#,
            r#"{"kind":"fact","seq":7,"fact":"label","targetId":"a","label":"A"}"#,
            r#"{"kind":"fact","seq":8,"fact":"label","targetId":"c","label":"C"}"#,
        ]
    );
    fork.strict().expect("clean");
    assert_eq!(fork.replay.overview().stats.total_tokens, 0);
}

#[test]
fn an_existing_file_is_never_written_over_and_other_ids_are_refused() {
    let source = Source::of(V4.as_bytes());
    let scope = ForkScope::default();
    let error = source
        .session
        .fork_to(&source.path, &scope, &CreateOptions::default());
    assert_eq!(error.expect_err("refused").code(), Code::AlreadyExists);
    for id in ["../x", "/x", "", "a\0b", "-a"] {
        let options = CreateOptions {
            id: Some(id.to_owned()),
            ..CreateOptions::default()
        };
        let error = source
            .session
            .fork_to(Path::new("unused"), &scope, &options);
        assert_eq!(
            error.expect_err("refused").code(),
            Code::InvalidPayload,
            "{id}"
        );
    }
    let other = CreateOptions {
        format: Some(Format::PiV3),
        ..CreateOptions::default()
    };
    let error = source.session.fork_to(Path::new("unused"), &scope, &other);
    assert_eq!(error.expect_err("refused").code(), Code::Unsupported);
}

#[test]
fn a_header_in_the_middle_of_codebot_stays_an_entry_and_one_without_a_parent_is_replaced() {
    let header = |id: &str, parent: &str| {
        format!(
            r#"{{"kind":"header","id":"{id}",{parent}"timestamp":"2026-07-14T09:00:00Z","data":{{"version":3,"session_id":"s","name":"N","cwd":"/w"}}}}"#
        )
    };
    let message = |id: &str, parent: &str| {
        format!(
            r#"{{"kind":"message","id":"{id}","parent_id":"{parent}","timestamp":"2026-07-14T09:00:01Z","data":{{"role":"user","content":[]}}}}"#
        )
    };
    let lines = [
        header("x", ""),
        message("a", "x"),
        header("y", r#""parent_id":"a","#),
        message("b", "y"),
    ];
    let source = Source::of(lines.join("\n").as_bytes());
    for scope in [ForkScope::at("b"), ForkScope::Tree] {
        let fork = source.fork(&scope).expect("a fork");
        let new = fork.lines();
        assert!(new[0].contains(r#""id":"h0""#) && new[0].contains(r#","name":"N","cwd":"/w","#));
        assert_eq!(new[1], message("a", "h0"));
        assert_eq!(new[2..], lines[2..]);
    }
}
