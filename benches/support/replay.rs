//! Full replay, as the programs do it that leaflog reads for: parse every line, put every entry into
//! a map, walk from the leaf to the root, build the context. For pi v4, with two parsers.

use std::collections::HashMap;
use std::path::Path;

use leaflog::Snapshot;
use simd_json::prelude::*;

/// A parsed value.
pub trait Value: Clone + PartialEq + std::fmt::Debug {
    /// Parses a line, which is the parser's from then on.
    fn parsed(line: &mut [u8]) -> Self;
    fn object(fields: Vec<(&str, Self)>) -> Self;
    fn string(text: &str) -> Self;
    fn field(&self, key: &str) -> Option<&Self>;
    fn text(&self) -> Option<&str>;
    fn items(&self) -> &[Self];

    fn field_text(&self, key: &str) -> Option<&str> {
        self.field(key)?.text()
    }
}

impl Value for simd_json::OwnedValue {
    fn parsed(line: &mut [u8]) -> Self {
        simd_json::to_owned_value(line).expect("a valid line")
    }

    fn object(fields: Vec<(&str, Self)>) -> Self {
        let fields = fields
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value));
        fields.collect::<simd_json::owned::Object>().into()
    }

    fn string(text: &str) -> Self {
        text.into()
    }

    fn field(&self, key: &str) -> Option<&Self> {
        self.get(key)
    }

    fn text(&self) -> Option<&str> {
        self.as_str()
    }

    fn items(&self) -> &[Self] {
        self.as_array().map_or(&[], Vec::as_slice)
    }
}

impl Value for serde_json::Value {
    fn parsed(line: &mut [u8]) -> Self {
        serde_json::from_slice(line).expect("a valid line")
    }

    fn object(fields: Vec<(&str, Self)>) -> Self {
        fields
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect()
    }

    fn string(text: &str) -> Self {
        text.into()
    }

    fn field(&self, key: &str) -> Option<&Self> {
        self.get(key)
    }

    fn text(&self) -> Option<&str> {
        self.as_str()
    }

    fn items(&self) -> &[Self] {
        self.as_array().map_or(&[], Vec::as_slice)
    }
}

/// A session as such a program holds it.
pub struct Replay<V> {
    entries: Vec<V>,
    by_id: HashMap<String, usize>,
    /// The context.
    pub messages: Vec<V>,
}

impl<V: Value> Replay<V> {
    pub fn of(path: &Path) -> Self {
        let mut log = std::fs::read(path).expect("readable");
        let mut replay = Self {
            entries: Vec::new(),
            by_id: HashMap::new(),
            messages: Vec::new(),
        };
        let mut leaf: Option<String> = None;
        for line in log
            .split_mut(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            let value = V::parsed(line);
            match value.field_text("kind") {
                Some("entry") => {
                    let id = value.field_text("id").expect("an id").to_owned();
                    if value.field_text("lane") == Some("main") {
                        leaf = Some(id.clone());
                    }
                    replay.by_id.insert(id, replay.entries.len());
                    replay.entries.push(value);
                }
                Some("lane") if value.field_text("lane") == Some("main") => {
                    leaf = value.field_text("leafId").map(str::to_owned);
                }
                _ => {}
            }
        }
        replay.messages = replay.context(leaf.as_deref());
        replay
    }

    fn context(&self, leaf: Option<&str>) -> Vec<V> {
        let mut path = Vec::new();
        let mut at = leaf;
        while let Some(entry) = at
            .and_then(|id| self.by_id.get(id))
            .and_then(|&number| self.entries.get(number))
        {
            path.push(entry);
            if entry.field_text("type") == Some("compaction") {
                break;
            }
            at = entry.field_text("parentId");
        }
        let mut messages = Vec::new();
        for entry in path.into_iter().rev() {
            let field = |key| entry.field(key).cloned().expect("a field of a compaction");
            match entry.field_text("type") {
                Some("message") => messages.extend(entry.field("message").cloned()),
                Some("compaction") => {
                    messages.push(V::object(vec![
                        ("role", V::string("compactionSummary")),
                        ("summary", field("summary")),
                        ("tokensBefore", field("tokensBefore")),
                        ("timestamp", field("timestamp")),
                    ]));
                    let tail = entry.field("retainedTail");
                    messages.extend_from_slice(tail.map_or(&[], Value::items));
                }
                _ => {}
            }
        }
        messages
    }
}

/// Fails unless a snapshot has exactly these messages.
pub fn assert_same<V: Value>(snapshot: &Snapshot, messages: &[V]) {
    assert_eq!(snapshot.messages.len(), messages.len(), "as many messages");
    for (ours, theirs) in snapshot.messages.iter().zip(messages) {
        let mut ours = ours.as_bytes().to_vec();
        assert_eq!(&V::parsed(&mut ours), theirs);
    }
}

/// Whether all of a log can be held parsed: at most about five times its length was seen.
pub fn fits(bytes: u64) -> bool {
    super::system::free_memory().is_none_or(|free| free > bytes * 6)
}
