//! Repairs a log and checks what must hold of every repair, whatever the damage was. The copy is read
//! with the naive replay too, which shares no code with what wrote it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use leaflog::naive::{ReadOptions, Replay};
use leaflog::{At, Code, FixKind, Format, IndexMode, OpenOptions, Orphans, Repaired, Snapshot};
use serde_json::value::RawValue;
use tempfile::TempDir;

/// A repaired log.
pub struct Copy {
    pub done: Repaired,
    /// The bytes of the copy.
    pub log: Vec<u8>,
    /// What could not be kept in it.
    pub dropped: Vec<u8>,
}

impl Copy {
    pub fn actions(&self) -> BTreeSet<FixKind> {
        self.done.fixes.iter().map(|fix| fix.action).collect()
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.log.clone()).expect("UTF-8")
    }
}

/// A folder in memory where there is one: thousands of repairs need not wait for a disk.
pub fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() {
        tempfile::tempdir_in(memory)
    } else {
        tempfile::tempdir()
    };
    folder.expect("a folder")
}

/// Repairs a log; the source must be as it was, and a failure leave nothing.
pub fn repair(log: &[u8], orphans: Orphans) -> leaflog::Result<Copy> {
    let folder = folder();
    let path = folder.path().join("source.jsonl");
    let target = folder.path().join("source.jsonl.repaired");
    fs::write(&path, log).expect("written");
    let done = leaflog::repair(&path, &target, orphans, &OpenOptions::new());
    assert!(fs::read(&path).expect("the source") == log);
    let mut names: Vec<PathBuf> = fs::read_dir(folder.path())
        .expect("a folder")
        .map(|item| item.expect("a file").path())
        .collect();
    names.retain(|name| *name != path && *name != target);
    let done = match done {
        Ok(done) => done,
        Err(error) => {
            assert!(names.is_empty() && !target.exists(), "{names:?}");
            return Err(error);
        }
    };
    assert_eq!(names, Vec::from_iter(done.dropped_path.clone()));
    let dropped = match &done.dropped_path {
        Some(path) => fs::read(path).expect("what was dropped"),
        None => Vec::new(),
    };
    let log = fs::read(&target).expect("the copy");
    let options = OpenOptions::new().index(IndexMode::Memory);
    let found = options.verify(&target).expect("a session");
    assert!(
        found.is_clean(),
        "{:?} {:?}\n{}",
        found.reports,
        found.problems,
        log.escape_ascii().to_string().replace("\\n", "\n")
    );
    Ok(Copy { done, log, dropped })
}

/// Repairs a log in both ways and checks the copies. Gives the first, if the log is a session.
pub fn check(log: &[u8]) -> Result<Option<Copy>, String> {
    let salvage = ReadOptions {
        strict: false,
        salvage: true,
    };
    let source = Replay::from_bytes(log, salvage);
    let copy = match (repair(log, Orphans::Cut), &source) {
        (Ok(copy), _) => copy,
        (Err(error), Err(naive)) if error.code() == naive.code() => return Ok(None),
        (Err(error), _) => return Err(format!("refused: {error}")),
    };
    check_copy(log, &copy)?;
    if let Ok(source) = &source {
        check_context(source, &copy)?;
    }
    let linked = repair(log, Orphans::Relink).map_err(|e| e.to_string())?;
    check_copy(log, &linked)?;
    if copy.done.fix_count == 0 && linked.log != log {
        return Err("a whole log was changed".to_owned());
    }
    Ok(Some(copy))
}

/// What holds of a copy by itself, and beside its source.
fn check_copy(log: &[u8], copy: &Copy) -> Result<(), String> {
    let replay = Replay::from_bytes(
        &copy.log,
        ReadOptions {
            strict: true,
            salvage: false,
        },
    );
    let replay = replay.map_err(|e| format!("the copy: {e}"))?;
    let overview = replay.overview();
    same("reports", overview.report_count, 0)?;
    same("format", overview.format, copy.done.format)?;
    same("id", &overview.session_id, &copy.done.session_id)?;
    for id in replay.entry_ids() {
        replay
            .snapshot(At::Leaf(&id), false)
            .map_err(|e| format!("{id} in the copy: {e}"))?;
    }
    let lines = copy.log.iter().filter(|&&byte| byte == b'\n').count() as u64;
    let done = &copy.done;
    same("lines", done.kept + done.changed + done.added, lines)?;
    same("bytes", done.bytes, copy.log.len() as u64)?;
    let newlines = log.iter().filter(|&&byte| byte == b'\n').count() as u64;
    let has_tail = log.last().is_some_and(|&byte| byte != b'\n');
    same("lines read", done.lines, newlines + u64::from(has_tail))?;
    if done.fix_count == 0 && copy.log != log {
        return Err("a copy that nothing was mended in is another".to_owned());
    }
    check_bytes(log, copy)?;
    let again = repair(&copy.log, Orphans::Cut).map_err(|e| e.to_string())?;
    same("fixes of the copy", again.done.fixes, Vec::new())?;
    if again.log != copy.log {
        return Err("the copy of the copy is another".to_owned());
    }
    Ok(())
}

/// Every run of bytes of the source that holds something stands in the copy or beside it.
fn check_bytes(log: &[u8], copy: &Copy) -> Result<(), String> {
    let log = log.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(log);
    let both = [&copy.log[..], b"\n", &copy.dropped].concat();
    let has_numbers = copy.done.format == Format::PiV4;
    let mut known: HashSet<Vec<u8>> = HashSet::new();
    for line in both.split(|&byte| byte == b'\n' || byte == 0) {
        known.insert(line.to_vec());
        known.insert(blank_trimmed(line).to_vec());
        if has_numbers {
            known.insert(unnumbered(blank_trimmed(line)));
        }
    }
    for line in log.split(|&byte| byte == b'\n') {
        for run in line.split(|&byte| byte == 0) {
            let run = blank_trimmed(run);
            if run.is_empty() || known.contains(run) {
                continue;
            }
            if both.windows(run.len()).any(|window| window == run) {
                continue;
            }
            if !parts_known(run, &known, has_numbers) {
                return Err(format!("lost: {}", run.escape_ascii()));
            }
        }
    }
    Ok(())
}

/// Whether a run is made of objects, and maybe something that is none, which are all known.
fn parts_known(run: &[u8], known: &HashSet<Vec<u8>>, has_numbers: bool) -> bool {
    let mut rest = run;
    while !known.contains(blank_trimmed(rest)) {
        let mut values =
            serde_json::Deserializer::from_slice(rest).into_iter::<serde::de::IgnoredAny>();
        let end = match values.next() {
            Some(Ok(_)) => values.byte_offset(),
            _ => rest.len(),
        };
        let (part, after) = rest.split_at(end);
        let part = blank_trimmed(part);
        let is_known = known.contains(part) || (has_numbers && known.contains(&unnumbered(part)));
        if !is_known {
            // A torn object and a whole one behind it: each stands somewhere.
            return (1..rest.len()).filter(|&at| rest[at] == b'{').any(|at| {
                let (torn, whole) = rest.split_at(at);
                let is_known = |part: &[u8]| {
                    known.contains(blank_trimmed(part))
                        || (has_numbers && known.contains(&unnumbered(blank_trimmed(part))))
                };
                is_known(torn) && is_known(whole)
            });
        }
        rest = after;
    }
    true
}

/// An object less the numbers of its place in the sequence, for comparing.
pub fn unnumbered(line: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(line).into_owned();
    // Raw values, since strings may hold what does not decode.
    let Ok(mut fields) = serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(&text) else {
        // A key can hold what does not decode either: then a number was added at the end.
        return match text.rsplit_once(",\"seq\":") {
            Some((before, after)) => {
                let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
                format!("{before}{rest}").into_bytes()
            }
            None => line.to_vec(),
        };
    };
    fields.remove("seq");
    let fields = fields.iter().map(|(key, value)| format!("{key:?}:{value}"));
    fields.collect::<Vec<_>>().join(",").into_bytes()
}

pub fn blank_trimmed(bytes: &[u8]) -> &[u8] {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r');
    let start = bytes.iter().position(|byte| !is_blank(byte));
    let end = bytes.iter().rposition(|byte| !is_blank(byte));
    match (start, end) {
        (Some(start), Some(end)) => &bytes[start..=end],
        _ => &[],
    }
}

/// What changes what a context is made of: more was recovered, or what there was is read otherwise.
const TELLING: [FixKind; 13] = [
    FixKind::LinesJoined,
    FixKind::ControlsEscaped,
    FixKind::NulsRemoved,
    FixKind::ObjectsParted,
    FixKind::PrefixDropped,
    FixKind::RestDropped,
    FixKind::TimeReplaced,
    FixKind::DuplicateFolded,
    FixKind::DuplicateDropped,
    FixKind::ParentReplaced,
    FixKind::HeaderMade,
    FixKind::HeaderMoved,
    FixKind::LineMoved,
];

/// The salvaged context of each entry of the source is that of the copy.
fn check_context(source: &Replay, copy: &Copy) -> Result<(), String> {
    let overview = source.overview();
    let actions = copy.actions();
    if overview.format != copy.done.format
        || copy.done.fix_count > 100
        || TELLING.iter().any(|kind| actions.contains(kind))
    {
        return Ok(());
    }
    let replay =
        Replay::from_bytes(&copy.log, ReadOptions::default()).map_err(|e| e.to_string())?;
    // A stand-in can be what a compaction keeps its messages from: then more is known.
    if actions.contains(&FixKind::StandInMade) && has_kept(source) {
        return Ok(());
    }
    for id in source.entry_ids() {
        let of = |replay: &Replay| context(replay.snapshot(At::Leaf(&id), true));
        same(&format!("context of {id}"), of(source), of(&replay))?;
    }
    let of = |replay: &Replay| context(replay.snapshot(At::Current, true));
    same("current context", of(source), of(&replay))
}

/// Whether a compaction may say from where on entries are kept.
fn has_kept(source: &Replay) -> bool {
    let overview = source.overview();
    overview.format != Format::PiV4
        && overview.format != Format::CodebotV3
        && overview.kinds.contains_key("compaction")
}

/// What a harness goes on with. The path of a stand-in ends at the header, whose name it then has.
fn context(snapshot: leaflog::Result<Snapshot>) -> Result<impl PartialEq + std::fmt::Debug, Code> {
    let snapshot = snapshot.map_err(|e| e.code())?;
    Ok((
        snapshot.messages,
        snapshot.model,
        snapshot.reasoning_effort,
        snapshot.plan,
        snapshot.goal,
        snapshot.active_tools,
    ))
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, one: T, other: T) -> Result<(), String> {
    if one == other {
        return Ok(());
    }
    Err(format!("{what}:\n  source {one:?}\n  copy   {other:?}"))
}
