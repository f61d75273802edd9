//! What the benchmarks share: files to measure on, and the full replay that resuming is compared with.

#![allow(dead_code, reason = "each benchmark uses a part of it")]

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use leaflog::Format;
use leaflog::generate::Shape;
use simd_json::OwnedValue;
use simd_json::prelude::*;

/// How many entries to measure with; prints what every figure depends on.
pub fn entries() -> u64 {
    let entries = std::env::var("LEAFLOG_BENCH_ENTRIES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(1_000_000);
    println!(
        "entries {entries}, {} cores, warm page cache",
        std::thread::available_parallelism().map_or(1, usize::from)
    );
    entries
}

/// A folder that is removed with everything in it.
pub struct Scratch(tempfile::TempDir);

impl Scratch {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// A pi v4 session whose live path has about 200 messages of about 1 KB.
pub fn session(path: &Path, entries: u64) -> u64 {
    session_of(path, entries, 770)
}

/// The same with lines of about 1 KB, which the records make shorter than messages.
pub fn kilobyte_lines(path: &Path, entries: u64) -> u64 {
    session_of(path, entries, 850)
}

fn session_of(path: &Path, entries: u64, payload: usize) -> u64 {
    let file = File::create(path).expect("a new file");
    let shape = Shape::new(Format::PiV4, entries)
        .compact_every(400)
        .payload(payload);
    shape
        .write_to(&mut BufWriter::new(file))
        .expect("written")
        .bytes
}

/// Many short lines: entries of some 400 bytes.
pub fn small(path: &Path, entries: u64) -> u64 {
    let file = File::create(path).expect("a new file");
    let shape = Shape::new(Format::CodebotV3, entries).payload(120);
    shape
        .write_to(&mut BufWriter::new(file))
        .expect("written")
        .bytes
}

/// What real sessions look like: mostly 300 B to 4 KB, one line in twenty of 20 to 200 KB with many
/// escapes, now and then a picture of some MB.
pub fn real(path: &Path, entries: u64) -> u64 {
    let mut out = BufWriter::new(File::create(path).expect("a new file"));
    let mut bytes = 0;
    let mut put = |line: &str| {
        out.write_all(line.as_bytes()).expect("written");
        bytes += line.len() as u64;
    };
    put(
        "{\"type\":\"session\",\"version\":3,\"id\":\"bench\",\"timestamp\":\"2026-07-14T09:00:00.000Z\",\"cwd\":\"/home/dev/app\"}\n",
    );
    let mut parent = "null".to_owned();
    let mut state = 7_u64;
    let mut random = move |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for number in 1..=entries {
        let id = format!("\"{number:08x}\"");
        let (piece, len) = match random(4000) {
            0 => (
                "iVBORw0KGgoAAAANSUhEUgAABAAAAAQACAYAAAB",
                1_500_000 + random(2_000_000),
            ),
            1..200 => ("\\tlet x = \\\"a\\\\n\\\";\\n", 20_000 + random(180_000)),
            _ => (
                "the quick brown fox jumps over the lazy dog, and then ",
                200 + random(3_600),
            ),
        };
        let text = piece.repeat(usize::try_from(len).unwrap_or(0) / piece.len() + 1);
        let role = if number % 2 == 1 { "user" } else { "assistant" };
        put(&format!(
            "{{\"type\":\"message\",\"id\":{id},\"parentId\":{parent},\"timestamp\":\"2026-07-14T09:00:00.000Z\",\
             \"message\":{{\"role\":\"{role}\",\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}],\"timestamp\":1784019600000}}}}\n"
        ));
        parent = id;
    }
    out.flush().expect("written");
    bytes
}

/// The algorithm of the programs that leaflog reads for, with simd-json: parse every line, put every
/// entry into a map, walk from the leaf to the root, build the context. For pi v4.
pub fn full_replay(path: &Path) -> Vec<OwnedValue> {
    let mut log = std::fs::read(path).expect("readable");
    let mut entries: Vec<OwnedValue> = Vec::new();
    let mut by_id: HashMap<String, usize> = HashMap::new();
    let mut leaf: Option<String> = None;
    for line in log
        .split_mut(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let value = simd_json::to_owned_value(line).expect("a valid line");
        match value.get_str("kind") {
            Some("entry") => {
                let id = value.get_str("id").expect("an id").to_owned();
                if value.get_str("lane") == Some("main") {
                    leaf = Some(id.clone());
                }
                by_id.insert(id, entries.len());
                entries.push(value);
            }
            Some("lane") if value.get_str("lane") == Some("main") => {
                leaf = value.get_str("leafId").map(str::to_owned);
            }
            _ => {}
        }
    }
    let mut path = Vec::new();
    let mut at = leaf.as_deref();
    while let Some(entry) = at
        .and_then(|id| by_id.get(id))
        .and_then(|&number| entries.get(number))
    {
        path.push(entry);
        if entry.get_str("type") == Some("compaction") {
            break;
        }
        at = entry.get_str("parentId");
    }
    let mut messages = Vec::new();
    for entry in path.into_iter().rev() {
        match entry.get_str("type") {
            Some("message") => messages.extend(entry.get("message").cloned()),
            Some("compaction") => {
                let mut summary = OwnedValue::object();
                summary
                    .insert("role", "compactionSummary")
                    .expect("an object");
                for key in ["summary", "tokensBefore", "timestamp"] {
                    summary
                        .insert(key, entry.get(key).cloned().unwrap_or_default())
                        .expect("an object");
                }
                messages.push(summary);
                messages.extend(
                    entry
                        .get_array("retainedTail")
                        .into_iter()
                        .flatten()
                        .cloned(),
                );
            }
            _ => {}
        }
    }
    messages
}

/// Fails unless a snapshot has exactly these messages.
pub fn assert_same(snapshot: &leaflog::Snapshot, messages: &[OwnedValue]) {
    assert_eq!(snapshot.messages.len(), messages.len(), "as many messages");
    for (ours, theirs) in snapshot.messages.iter().zip(messages) {
        let mut ours = ours.as_bytes().to_vec();
        assert_eq!(
            &simd_json::to_owned_value(&mut ours).expect("valid"),
            theirs
        );
    }
}
