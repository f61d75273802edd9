//! Whether generated sessions are what they claim: the same bytes each time, valid, of the stated shape.

use std::collections::{HashMap, HashSet};
use std::io;

use serde_json::Value;

use super::Shape;
use crate::Format;

const FORMATS: [Format; 5] = [
    Format::PiV1,
    Format::PiV2,
    Format::PiV3,
    Format::PiV4,
    Format::CodebotV3,
];

fn bytes(shape: &Shape) -> Vec<u8> {
    let mut out = Vec::new();
    let written = shape.write_to(&mut out).unwrap();
    assert_eq!(written.bytes, out.len() as u64);
    assert_eq!(
        written.lines,
        out.iter().filter(|&&byte| byte == b'\n').count() as u64
    );
    out
}

/// An entry as the checks see it.
struct Entry {
    id: String,
    parent: Option<String>,
    lane: Option<String>,
    kind: String,
    line: Value,
}

/// What the log holds, checked line by line on the way.
struct Log {
    entries: Vec<Entry>,
    by_id: HashMap<String, usize>,
    lanes: HashMap<String, Option<String>>,
    main_moves: u64,
    kinds: HashMap<String, u64>,
}

impl Log {
    fn read(format: Format, bytes: &[u8]) -> Self {
        let text = std::str::from_utf8(bytes).unwrap();
        assert!(text.ends_with('\n'));
        let mut log = Self {
            entries: Vec::new(),
            by_id: HashMap::new(),
            lanes: HashMap::from([("main".to_owned(), None)]),
            main_moves: 0,
            kinds: HashMap::new(),
        };
        let mut records = HashSet::new();
        let mut open: HashMap<String, Vec<String>> = HashMap::new();
        let mut time = String::new();
        let mut seq = 0;
        for (at, line) in text[..text.len() - 1].split('\n').enumerate() {
            let value: Value = serde_json::from_str(line).expect(line);
            if at == 0 {
                check_header(format, &value);
                continue;
            }
            let string = |name: &str| value[name].as_str().map(str::to_owned);
            if format == Format::PiV4 {
                seq += 1;
                assert_eq!(value["seq"], seq);
            }
            let kind = match (format, string("kind").as_deref()) {
                (Format::CodebotV3, Some(kind)) => kind.to_owned(),
                (Format::PiV4, Some("entry")) => string("type").unwrap(),
                (Format::PiV4, Some("record")) => {
                    let (id, lane) = (string("id").unwrap(), string("lane").unwrap());
                    assert!(!log.by_id.contains_key(&id));
                    assert!(records.insert(id.clone()));
                    assert!(log.lanes.contains_key(&lane));
                    assert!(value["timestamp"].is_u64());
                    let open = open.entry(lane).or_default();
                    match string("type").unwrap().as_str() {
                        "operation_started" => {
                            assert_eq!(open.len(), 0);
                            open.push(id);
                        }
                        "operation_finished" => assert_eq!(open.pop(), string("runId")),
                        kind => assert_eq!(kind, "usage"),
                    }
                    continue;
                }
                (Format::PiV4, Some("lane")) => {
                    let (lane, leaf) = (string("lane").unwrap(), string("leafId").unwrap());
                    assert!(log.by_id.contains_key(&leaf));
                    log.main_moves += u64::from(lane == "main");
                    log.lanes.insert(lane, Some(leaf));
                    continue;
                }
                (Format::PiV4, Some("fact")) => {
                    match string("fact").unwrap().as_str() {
                        "name" => assert!(value["name"].is_string()),
                        fact => {
                            assert_eq!(fact, "label");
                            assert!(log.by_id.contains_key(&string("targetId").unwrap()));
                        }
                    }
                    continue;
                }
                _ => string("type").unwrap(),
            };
            let id = match format {
                Format::PiV1 => format!("{at:08x}"),
                _ => string("id").unwrap(),
            };
            assert!(id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit()));
            let parent = match format {
                Format::PiV1 => log.entries.last().map(|entry| entry.id.clone()),
                Format::CodebotV3 => string("parent_id").filter(|id| id != "h0"),
                _ => string("parentId"),
            };
            if let Some(parent) = &parent {
                assert!(log.by_id.contains_key(parent), "{line}");
            } else {
                assert_eq!(log.entries.len(), 0, "one root: {line}");
            }
            let now = match format {
                Format::PiV4 => format!("{:020}", value["timestamp"].as_u64().unwrap()),
                Format::CodebotV3 => {
                    let time = string("timestamp").unwrap();
                    assert!(time.ends_with("+02:00"), "{time}");
                    time.trim_end_matches("+02:00").to_owned()
                }
                _ => string("timestamp").unwrap(),
            };
            assert!(now > time || format == Format::PiV1, "{time} {now}");
            time = now;
            let lane = string("lane");
            if let Some(lane) = &lane {
                assert_eq!(log.lanes[lane], parent);
                log.lanes.insert(lane.clone(), Some(id.clone()));
            }
            assert_eq!(log.by_id.insert(id.clone(), log.entries.len()), None);
            *log.kinds.entry(kind.clone()).or_default() += 1;
            log.entries.push(Entry {
                id,
                parent,
                lane,
                kind,
                line: value,
            });
        }
        assert!(open.values().all(Vec::is_empty));
        log
    }

    /// The entries from the root to an entry.
    fn path(&self, leaf: &str) -> Vec<&Entry> {
        let mut path = Vec::new();
        let mut at = self.by_id.get(leaf);
        while let Some(&slot) = at {
            path.push(&self.entries[slot]);
            let parent = self.entries[slot].parent.as_ref();
            at = parent.map(|parent| &self.by_id[parent]);
        }
        path.reverse();
        path
    }
}

fn check_header(format: Format, value: &Value) {
    match format {
        Format::CodebotV3 => {
            assert_eq!(value["id"], "h0");
            assert_eq!(value["data"]["version"], 3);
            assert!(!value["data"]["session_id"].as_str().unwrap().is_empty());
        }
        Format::PiV4 => {
            assert_eq!(value["kind"], "header");
            assert_eq!(value["version"], 4);
        }
        Format::PiV1 => {
            assert_eq!(value["type"], "session");
            assert_eq!(value.get("version"), None);
        }
        Format::PiV2 => assert_eq!(value["version"], 2),
        Format::PiV3 => assert_eq!(value["version"], 3),
    }
}

/// The shapes that payloads must have, by the table of the format's document.
fn check_payload(format: Format, entry: &Entry) {
    let data = match format {
        Format::CodebotV3 => &entry.line["data"],
        _ => &entry.line,
    };
    assert!(data.is_object());
    let needed: &[&str] = match (format, entry.kind.as_str()) {
        (Format::CodebotV3, "message") => &["role", "content", "timestamp"],
        (_, "message") => &["message"],
        (Format::CodebotV3, "model_change") => &["provider", "model"],
        (_, "model_change") => &["provider", "modelId"],
        (_, "reasoning_effort_change") => &["level"],
        (_, "thinking_level_change") => &["thinkingLevel"],
        (_, "plan_state") => &["phase", "slug", "pre_mode"],
        (_, "goal_state") => &["text", "status"],
        (_, "llm_call") => &["provider", "model", "input_tokens", "output_tokens"],
        (_, "active_tools_change") => &["activeToolNames"],
        (_, "session_info") => &["name"],
        (_, "label") => &["targetId"],
        (_, "custom") => &["customType", "data"],
        (_, "custom_message") => &["customType", "content", "display"],
        (_, "branch_summary") => &["fromId", "summary"],
        (Format::CodebotV3, "compaction") => &["summary", "messages"],
        (Format::PiV4, "compaction") => &["summary", "retainedTail", "tokensBefore"],
        (Format::PiV1, "compaction") => &["summary", "firstKeptEntryIndex", "tokensBefore"],
        (_, "compaction") => &["summary", "firstKeptEntryId", "tokensBefore"],
        (_, kind) => panic!("unknown kind {kind}"),
    };
    for name in needed {
        assert!(!data[name].is_null(), "{name} in {data}");
    }
}

/// The messages that codebot's snapshot has before it repairs them.
fn codebot_messages<'a>(path: &[&'a Entry]) -> Vec<&'a Value> {
    let mut messages = Vec::new();
    for entry in path {
        match entry.kind.as_str() {
            "message" => messages.push(&entry.line["data"]),
            "compaction" => {
                messages.clear();
                messages.extend(entry.line["data"]["messages"].as_array().unwrap());
            }
            _ => {}
        }
    }
    messages
}

/// Every call is answered directly behind it, and every answer has its call.
fn check_calls(messages: &[&Value]) {
    let mut waiting: Vec<String> = Vec::new();
    for message in messages {
        if message["role"] == "tool" {
            let id = message["metadata"]["tool_call_id"].as_str().unwrap();
            assert_eq!(waiting.remove(0), id);
            continue;
        }
        assert!(waiting.is_empty(), "{message}");
        for block in message["content"].as_array().unwrap() {
            if block["type"] == "toolCall" {
                waiting.push(block["tool_call"]["id"].as_str().unwrap().to_owned());
            }
        }
    }
    assert!(waiting.is_empty());
}

fn check(shape: &Shape) {
    let mut out = Vec::new();
    let written = shape.write_to(&mut out).unwrap();
    let log = Log::read(shape.format, &out);
    assert_eq!(log.entries.len() as u64, shape.entries, "{shape:?}");
    for entry in &log.entries {
        check_payload(shape.format, entry);
    }

    let leaf = match shape.format {
        Format::PiV4 => log.lanes["main"].clone(),
        _ => log.entries.last().map(|entry| entry.id.clone()),
    };
    let none = match shape.format {
        Format::CodebotV3 => "h0",
        _ => "",
    };
    assert_eq!(written.leaf, leaf.unwrap_or_else(|| none.to_owned()));

    let branches = match shape.format {
        Format::PiV1 => 0,
        _ => shape.branches.min(shape.entries / 4),
    };
    let mut turns_back = 0;
    let on_main = |entry: &&Entry| entry.lane.as_deref().is_none_or(|lane| lane == "main");
    let main: Vec<&Entry> = log.entries.iter().filter(on_main).collect();
    for pair in main.windows(2) {
        turns_back += u64::from(pair[1].parent.as_ref() != Some(&pair[0].id));
    }
    assert_eq!(turns_back, branches, "{shape:?}");
    if shape.format == Format::PiV4 {
        assert_eq!(log.main_moves, branches);
    }

    let path = log.path(&written.leaf);
    let mut distance = 0;
    for (at, entry) in path.iter().enumerate() {
        distance += 1;
        if entry.kind != "compaction" {
            continue;
        }
        let first = !path[..at].iter().any(|entry| entry.kind == "compaction");
        if first && shape.compact_every > 2 {
            assert_eq!(distance, shape.compact_every.div_ceil(2), "{shape:?}");
        } else if !first {
            assert_eq!(distance, shape.compact_every.max(2), "{shape:?}");
        }
        distance = 0;
        let kept = match shape.format {
            Format::PiV1 => format!(
                "{:08x}",
                entry.line["firstKeptEntryIndex"].as_u64().unwrap()
            ),
            _ => entry.line["firstKeptEntryId"]
                .as_str()
                .unwrap_or(&entry.id)
                .to_owned(),
        };
        let since = path[..=at].iter().rev().position(|entry| entry.id == kept);
        assert!(since.unwrap() <= 30, "{shape:?}");
    }
    if shape.compact_every == 0 {
        assert_eq!(log.kinds.get("compaction"), None);
    } else {
        assert!(distance < shape.compact_every.max(2));
    }

    if shape.format == Format::CodebotV3 {
        // The last turn may end with the file, but not between a call and its result.
        check_calls(&codebot_messages(&path));
    }
}

#[test]
fn sessions_of_all_small_sizes_are_valid() {
    for format in FORMATS {
        for entries in 0..40 {
            for branches in [0, 1, 3, 1000] {
                for compact_every in [0, 2, 3, 7, 20] {
                    check(
                        &Shape::new(format, entries)
                            .branches(branches)
                            .compact_every(compact_every)
                            .payload(30)
                            .seed(entries),
                    );
                }
            }
        }
    }
}

#[test]
fn long_sessions_are_valid() {
    for format in FORMATS {
        for (branches, compact_every) in [(0, 0), (0, 100), (60, 0), (60, 25), (900, 12)] {
            for seed in [0, u64::MAX] {
                check(
                    &Shape::new(format, 2000)
                        .branches(branches)
                        .compact_every(compact_every)
                        .payload(50)
                        .seed(seed),
                );
            }
        }
    }
}

#[test]
fn a_session_has_all_kinds_of_entries() {
    for (format, kinds) in [
        (Format::PiV1, 4),
        (Format::PiV2, 8),
        (Format::PiV3, 9),
        (Format::PiV4, 7),
        (Format::CodebotV3, 8),
    ] {
        let shape = Shape::new(format, 10_000)
            .branches(50)
            .compact_every(200)
            .payload(10);
        let log = Log::read(format, &bytes(&shape));
        assert_eq!(log.kinds.len(), kinds, "{format} {:?}", log.kinds);
        let messages = log.kinds["message"];
        assert!((6000..10_000).contains(&messages), "{format} {messages}");
        if format == Format::PiV4 {
            assert_eq!(log.lanes.len(), 5, "{:?}", log.lanes);
        }
    }
}

#[test]
fn a_round_number_of_entries_ends_between_two_compactions() {
    for format in FORMATS {
        let shape = Shape::new(format, 1000).compact_every(100).payload(10);
        let log = Log::read(format, &bytes(&shape));
        let last = log
            .entries
            .iter()
            .rposition(|entry| entry.kind == "compaction");
        assert_eq!(last, Some(949));
        assert_eq!(log.kinds["compaction"], 10);
    }
}

/// All text of a message: what stands in strings of content blocks.
fn text_len(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(text_len).sum(),
        Value::Object(map) => map
            .iter()
            .filter(|(name, _)| !matches!(name.as_str(), "type" | "id" | "name" | "path"))
            .map(|(_, value)| text_len(value))
            .sum(),
        _ => 0,
    }
}

#[test]
fn messages_have_about_as_much_text_as_asked_for() {
    for format in FORMATS {
        for payload in [400, 1000] {
            let out = bytes(&Shape::new(format, 5000).payload(payload));
            let log = Log::read(format, &out);
            let (mut count, mut total, mut least, mut most) = (0, 0, usize::MAX, 0);
            for entry in log.entries.iter().filter(|entry| entry.kind == "message") {
                let message = match format {
                    Format::CodebotV3 => &entry.line["data"],
                    _ => &entry.line["message"],
                };
                if message["role"] == "hookMessage" {
                    continue;
                }
                let len = text_len(&message["content"]);
                (count, total) = (count + 1, total + len);
                (least, most) = (least.min(len), most.max(len));
            }
            let average = total / count;
            let (low, high) = (payload * 9 / 10, payload * 11 / 10);
            assert!(
                (low..high).contains(&average),
                "{format} {payload}: {average}"
            );
            assert!(least > payload / 5, "{format} {payload}: {least}");
            assert!(most < payload * 9 / 4, "{format} {payload}: {most}");
            let lines = out.iter().filter(|&&byte| byte == b'\n').count();
            let line = out.len() / lines;
            let (low, high) = (payload * 7 / 10, payload + 500);
            assert!(
                (low..high).contains(&line),
                "{format} {payload}: {line} a line"
            );
        }
    }
}

#[test]
fn a_small_share_of_lines_goes_beyond_ascii() {
    for format in FORMATS {
        let out = bytes(&Shape::new(format, 5000));
        let text = String::from_utf8(out).unwrap();
        let lines = text.lines().count();
        let foreign = text.lines().filter(|line| !line.is_ascii()).count();
        let escaped = text.lines().filter(|line| line.contains('\\')).count();
        assert!(
            (lines / 50..lines / 5).contains(&foreign),
            "{format} {foreign}"
        );
        assert!((lines / 4..lines).contains(&escaped), "{format} {escaped}");
    }
}

#[test]
fn payloads_of_any_size_work() {
    for format in FORMATS {
        for payload in [0, 1, 2, 13, 300_000] {
            check(&Shape::new(format, 30).payload(payload).compact_every(10));
        }
    }
}

#[test]
fn the_same_shape_gives_the_same_bytes() {
    for format in FORMATS {
        let shape = Shape::new(format, 300)
            .branches(5)
            .compact_every(50)
            .seed(9);
        assert_eq!(bytes(&shape), bytes(&shape.clone()));
        assert_ne!(bytes(&shape), bytes(&shape.clone().seed(10)));
    }
}

/// FNV-1a.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, &byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[test]
fn the_bytes_are_those_of_earlier_versions() {
    let found = FORMATS.map(|format| {
        let shape = Shape::new(format, 2000)
            .branches(20)
            .compact_every(150)
            .seed(42);
        let out = bytes(&shape);
        (format.as_str(), out.len(), checksum(&out))
    });
    assert_eq!(
        found,
        [
            ("pi-v1", 1_501_376, 0xc196_41d8_1a8a_0699),
            ("pi-v2", 1_579_271, 0x913d_4a11_d192_d033),
            ("pi-v3", 1_579_167, 0x0532_375c_0406_2852),
            ("pi-v4", 1_833_865, 0xc5f7_c357_dfcd_0a26),
            ("codebot-v3", 1_247_674, 0xfea4_a6f2_5c6d_932a),
        ]
    );
}

#[test]
fn more_entries_than_ids_are_refused() {
    let shape = Shape::new(Format::PiV3, u64::from(u32::MAX) + 1);
    let error = shape.write_to(&mut io::sink()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    assert!(error.to_string().contains("4294967295"));
}

#[test]
fn a_failing_writer_is_reported() {
    struct Full;
    impl io::Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let error = Shape::default().write_to(&mut Full).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}
