//! Logs picked by hand, each nasty in a way of its own.
//! For tests that want the same few every time. What the right answer is, the tests say.

use leaflog::Format;

use super::render::header;

const CODEBOT: Format = Format::CodebotV3;
const V1: Format = Format::PiV1;
const V2: Format = Format::PiV2;
const V3: Format = Format::PiV3;
const V4: Format = Format::PiV4;

/// codebot: a user's message.
fn said(id: &str, parent: &str) -> String {
    format!(
        r#"{{"kind":"message","id":"{id}","parent_id":"{parent}","timestamp":"2026-07-14T09:00:01Z","data":{{"role":"user","content":[{{"type":"text","text":"{id}"}}]}}}}"#
    )
}

/// codebot: any kind.
fn kind(kind: &str, id: &str, parent: &str, data: &str) -> String {
    format!(
        r#"{{"kind":"{kind}","id":"{id}","parent_id":"{parent}","timestamp":"2026-07-14T09:00:02Z","data":{data}}}"#
    )
}

/// pi v3: any type with its own fields; a parent of `-` is null.
fn typed(kind: &str, id: &str, parent: &str, own: &str) -> String {
    let parent = match parent {
        "-" => "null".to_owned(),
        parent => format!("\"{parent}\""),
    };
    format!(
        r#"{{"type":"{kind}","id":"{id}","parentId":{parent},"timestamp":"2026-07-14T09:00:01.000Z",{own}}}"#
    )
}

/// pi: a user's message as a field.
fn asked(text: &str) -> String {
    format!(r#""message":{{"role":"user","content":"{text}","timestamp":1784019601000}}"#)
}

/// pi v4: an entry of `main`.
fn on_main(kind: &str, id: &str, parent: &str, seq: u64, own: &str) -> String {
    let parent = match parent {
        "-" => "null".to_owned(),
        parent => format!("\"{parent}\""),
    };
    format!(
        r#"{{"kind":"entry","lane":"main","type":"{kind}","id":"{id}",{own},"parentId":{parent},"seq":{seq},"timestamp":1784019601000}}"#
    )
}

/// pi v4: a record of `main`.
fn record(kind: &str, id: &str, seq: u64, own: &str) -> String {
    format!(
        r#"{{"kind":"record","type":"{kind}","id":"{id}","lane":"main","seq":{seq},"timestamp":1784019601000,{own}}}"#
    )
}

/// A header and lines after it, a newline after each.
fn log<const N: usize>(format: Format, lines: [String; N]) -> Vec<u8> {
    let mut text = header(format);
    for line in lines {
        text.push('\n');
        text.push_str(&line);
    }
    text.push('\n');
    text.into_bytes()
}

/// Some forty logs with names.
#[expect(clippy::too_many_lines, reason = "a list")]
pub fn corpus() -> Vec<(&'static str, Vec<u8>)> {
    let three = || log(CODEBOT, [said("a", "h0"), said("b", "a"), said("c", "b")]);
    let mut list = vec![
        ("empty", Vec::new()),
        ("one newline", b"\n".to_vec()),
        ("blank lines only", b"\n \t\r\n\n".to_vec()),
        ("only NUL bytes", vec![0; 4096]),
        ("only a byte order mark", b"\xef\xbb\xbf".to_vec()),
        ("not a session", b"{\"hello\":\"world\"}\n".to_vec()),
        ("an array", b"[{\"kind\":\"header\"}]\n".to_vec()),
        ("half a header", b"{\"type\":\"session\",\"version\":3,\"id\":\"s".to_vec()),
        ("a header without newline", header(V4).into_bytes()),
        (
            "two byte order marks",
            [b"\xef\xbb\xbf\xef\xbb\xbf".to_vec(), three()].concat(),
        ),
        (
            "a byte order mark on the second line",
            log(V3, [format!("\u{feff}{}", typed("message", "a", "-", &asked("x")))]),
        ),
        (
            "junk before the header",
            [b"junk\n\0\0\n[]\n".to_vec(), three()].concat(),
        ),
        (
            "an object before the header",
            [b"{\"x\":1}\n".to_vec(), three()].concat(),
        ),
        (
            "header repeated in other formats",
            log(V3, [header(V4), header(CODEBOT), header(V1), typed("message", "a", "-", &asked("x"))]),
        ),
        (
            "header and first entry on one line",
            format!("{}{}\n", header(CODEBOT), said("a", "h0")).into_bytes(),
        ),
        (
            "a torn header before the whole one",
            format!("{{\"kind\":\"header\",\"id{}\n{}\n", header(CODEBOT), said("a", "h0")).into_bytes(),
        ),
        (
            "an entry is its own parent",
            log(CODEBOT, [said("a", "h0"), said("b", "b"), said("c", "b")]),
        ),
        (
            "a cycle by a duplicate id",
            log(CODEBOT, [said("a", "h0"), said("b", "a"), said("c", "b"), said("a", "c")]),
        ),
        (
            "a cycle that the leaf only leads into",
            log(V3, [
                typed("message", "a", "c", &asked("a")),
                typed("message", "b", "a", &asked("b")),
                typed("message", "c", "b", &asked("c")),
                typed("message", "d", "a", &asked("d")),
            ]),
        ),
        (
            "a duplicate of the header's id",
            log(CODEBOT, [said("a", "h0"), said("h0", "a"), said("b", "h0")]),
        ),
        (
            "children before parents all the way",
            log(V3, [
                typed("message", "d", "c", &asked("d")),
                typed("message", "c", "b", &asked("c")),
                typed("message", "b", "a", &asked("b")),
                typed("message", "a", "-", &asked("a")),
            ]),
        ),
        (
            "a later duplicate of another kind",
            log(CODEBOT, [
                said("a", "h0"),
                kind("compaction", "b", "a", r#"{"summary":"s"}"#),
                said("c", "b"),
                kind("session_info", "b", "h0", r#"{"name":"n"}"#),
            ]),
        ),
        (
            "compactions that keep each other",
            log(V3, [
                typed("message", "a", "-", &asked("a")),
                typed("compaction", "b", "a", r#""summary":"one","firstKeptEntryId":"a","tokensBefore":1"#),
                typed("message", "c", "b", &asked("c")),
                typed("compaction", "d", "c", r#""summary":"two","firstKeptEntryId":"b","tokensBefore":2"#),
                typed("compaction", "e", "d", r#""summary":"","firstKeptEntryId":"d","tokensBefore":1e400"#),
            ]),
        ),
        (
            "a compaction that keeps itself, one that keeps what is missing, one that keeps a child",
            log(V3, [
                typed("message", "a", "-", &asked("a")),
                typed("compaction", "b", "a", r#""summary":"s","firstKeptEntryId":"b""#),
                typed("compaction", "c", "b", r#""summary":"s","firstKeptEntryId":"zz""#),
                typed("compaction", "d", "c", r#""summary":"s","firstKeptEntryId":"e""#),
                typed("message", "e", "d", &asked("e")),
            ]),
        ),
        (
            "a system message inside the kept range",
            log(V3, [
                typed("message", "a", "-", r#""message":{"role":"system","content":null}"#),
                typed("message", "b", "a", r#""message":{"role":"assistant"}"#),
                typed(
                    "compaction",
                    "c",
                    "b",
                    r#""summary":"s","firstKeptEntryId":"a","systemMessage":{"role":"system"}"#,
                ),
            ]),
        ),
        (
            "edits of edits, of nothing, of themselves, after a removal",
            log(V3, [
                typed("message", "a", "-", &asked("a")),
                typed("context_edit", "b", "a", r#""targetId":"a","replacement":null"#),
                typed("context_edit", "c", "b", r#""targetId":"a","replacement":{"content":"back"}"#),
                typed("context_edit", "d", "c", r#""targetId":"c","replacement":{"content":[]}"#),
                typed("context_edit", "e", "d", r#""targetId":"zz","replacement":null"#),
                typed("context_edit", "f", "e", r#""targetId":"a""#),
                typed("context_edit", "g", "f", r#""targetId":"a","replacement":{"content":null}"#),
            ]),
        ),
        (
            "content twice in a message that is edited",
            log(V3, [
                typed(
                    "message",
                    "a",
                    "-",
                    r#""message":{"content":1,"role":"assistant","content":"x","c\u006fntent":null}"#,
                ),
                typed("context_edit", "b", "a", r#""targetId":"a","replacement":{"content":"new"}"#),
            ]),
        ),
        (
            "fields twice, the last one counts",
            log(V3, [
                r#"{"id":"a","type":"label","id":"b","type":"message","message":1,"parentId":"zz","message":{"role":"user"},"parentId":null,"timestamp":0,"timestamp":"2026-07-14T09:00:00Z","id":"c"}"#.to_owned(),
                r#"{"\u0069d":"d","type":"message","message":{"role":"user"},"parent\u0049d":"\u0063","timestamp":"2026-07-14T09:00:00Z","id":"\u0065"}"#.to_owned(),
            ]),
        ),
        (
            "labels put, taken away, put on what is missing",
            log(V3, [
                typed("message", "a", "-", &asked("a")),
                typed("label", "b", "a", r#""targetId":"a","label":"one""#),
                typed("label", "c", "b", r#""targetId":"a","label":"""#),
                typed("label", "d", "c", r#""targetId":"zz","label":"two""#),
                typed("label", "e", "d", r#""targetId":"b","label":" ""#),
                typed("session_info", "f", "e", r#""name":" \n ""#),
            ]),
        ),
        (
            "old roles in an old file",
            log(V2, [
                typed("message", "a", "-", r#""message":{"role":"hookMessage","content":"x"}"#),
                typed("message", "b", "a", r#""message":{"role":"hook\u004dessage","role":"user"}"#),
                typed("message", "c", "b", r#""message":{"role":"user","role":"hookMessage"}"#),
            ]),
        ),
        (
            "positions in a file without ids",
            log(V1, [
                r#"{"type":"message","timestamp":"2026-07-14T09:00:00Z","message":{"role":"user"}}"#.to_owned(),
                String::new(),
                "broken".to_owned(),
                r#"{"type":"message","id":"00000009","timestamp":1,"message":{"role":"user","content":"2"}}"#.to_owned(),
                r#"{"type":"compaction","timestamp":2,"summary":"s","firstKeptEntryIndex":2}"#.to_owned(),
                r#"{"type":"compaction","timestamp":3,"summary":"s","firstKeptEntryIndex":-1}"#.to_owned(),
                r#"{"type":"compaction","timestamp":3,"summary":"s","firstKeptEntryIndex":1.5,"firstKeptEntryId":"00000001"}"#.to_owned(),
            ]),
        ),
        (
            "calls answered twice, by others, never",
            log(CODEBOT, [
                kind("message", "a", "h0", r#"{"role":"assistant","content":[{"type":"toolCall","tool_call":{"id":"x"}},{"type":"toolCall","tool_call":{"id":"\u0078"}},{"type":"toolCall","tool_call":{"id":"y\ud800"}}]}"#),
                kind("message", "b", "a", r#"{"role":"tool","content":[],"metadata":{"tool_call_id":"x"}}"#),
                kind("message", "c", "b", r#"{"role":"tool","content":[],"metadata":{"tool_call_id":"x"}}"#),
                kind("message", "d", "c", r#"{"role":"tool","metadata":{"tool_call_id":"z"}}"#),
                kind("message", "e", "d", r#"{"role":"tool","metadata":{"tool_call_id":7}}"#),
                kind("message", "f", "e", r#"{"role":"user"}"#),
                kind("message", "g", "f", r#"{"role":"tool","metadata":{"tool_call_id":"y\ud800"}}"#),
            ]),
        ),
        (
            "lanes that do not exist, that move to nothing, that disagree",
            log(V4, [
                on_main("message", "a", "-", 1, &asked("a")),
                r#"{"kind":"entry","lane":"ghost","type":"message","id":"b","message":{"role":"user"},"parentId":"a","seq":2,"timestamp":1}"#.to_owned(),
                r#"{"kind":"lane","seq":3,"lane":"main","leafId":"zz"}"#.to_owned(),
                on_main("message", "c", "a", 4, &asked("c")),
                r#"{"kind":"lane","seq":5,"lane":"other"}"#.to_owned(),
                r#"{"kind":"lane","seq":6,"lane":"main","leafId":null}"#.to_owned(),
                r#"{"kind":"lane","seq":7,"lane":7,"leafId":"a"}"#.to_owned(),
            ]),
        ),
        (
            "a lane that ends on what is missing",
            log(V4, [
                on_main("message", "a", "-", 1, &asked("a")),
                r#"{"kind":"lane","seq":2,"lane":"main","leafId":"zz"}"#.to_owned(),
            ]),
        ),
        (
            "operations opened twice, closed early, closed elsewhere",
            log(V4, [
                record("operation_finished", "r1", 1, r#""runId":"r2""#),
                record("operation_started", "r2", 2, r#""intent":{"kind":"run"}"#),
                record("operation_started", "r3", 3, r#""intent":null"#),
                record("operation_started", "r2", 4, r#""intent":{}"#),
                record("operation_finished", "r4", 5, r#""runId":"r3""#),
                record("operation_finished", "r5", 6, r#""runId":7"#),
            ]),
        ),
        (
            "sequence numbers of every kind",
            log(V4, [
                on_main("message", "a", "-", 7, &asked("a")),
                on_main("message", "b", "a", 8, &asked("b")),
                on_main("message", "c", "b", 8, &asked("c")),
                on_main("message", "d", "c", 9_007_199_254_740_991, &asked("d")),
                on_main("message", "e", "d", u64::MAX, &asked("e")),
                r#"{"kind":"note","seq":1e1}"#.to_owned(),
                r#"{"kind":"note","seq":-1}"#.to_owned(),
                r#"{"kind":"note","seq":"12"}"#.to_owned(),
                r#"{"kind":"note"}"#.to_owned(),
            ]),
        ),
        (
            "usage that does not add up",
            log(V4, [
                record("usage", "r1", 1, r#""usage":{"cacheRead":-7,"input":1.9,"cacheWrite":"x","totalTokens":1e300,"cost":{"total":1e400}}"#),
                record("usage", "r2", 2, r#""usage":{"totalTokens":9223372036854775807,"cost":{"total":-0.1}}"#),
                record("usage", "r1", 3, r#""usage":{"totalTokens":1,"totalTokens":-5,"cost":[]}"#),
                record("usage", "r3", 4, r#""usage":null"#),
            ]),
        ),
        (
            "one id for an entry and a record",
            log(V4, [
                record("operation_started", "a", 1, r#""intent":{"kind":"run"}"#),
                on_main("message", "a", "-", 2, &asked("a")),
                on_main("message", "b", "a", 3, &asked("b")),
                record("operation_finished", "b", 4, r#""runId":"a""#),
            ]),
        ),
        (
            "ids with everything in them",
            log(CODEBOT, [
                said("", "h0"),
                said(" ", "h0"),
                said("\\u0000", " "),
                said("\\ud800", "\\u0000"),
                said("\\ufffd", "\\ud800"),
                said("\u{fffd}x\\\"", "\\ufffd"),
                said(&"long".repeat(20_000), "\u{fffd}x\\\""),
            ]),
        ),
        (
            "text that only looks like newlines",
            log(CODEBOT, [kind("message", "a", "h0", "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"\u{2028}\u{2029}\u{85}\\n\"}]}")]),
        ),
        (
            "brackets two thousand deep",
            log(V3, [typed(
                "message",
                "a",
                "-",
                &format!("\"message\":{{\"role\":\"user\",\"content\":{}{}}}", "[".repeat(2000), "]".repeat(2000)),
            )]),
        ),
    ];

    let mut spliced = three();
    spliced.extend_from_slice(b"{\"kind\":\"message\",\"id\":\"d\",\"data\":{\"x\":\"{\\\"");
    spliced.extend_from_slice(said("e", "c").as_bytes());
    spliced.extend_from_slice(b"\n");
    list.push(("a torn line inside a string before a whole one", spliced));

    let mut nuls = three();
    nuls.extend_from_slice(b"\0\0");
    nuls.extend_from_slice(said("d", "c").as_bytes());
    nuls.extend_from_slice(b"\0 \0");
    nuls.extend_from_slice(said("e", "d").as_bytes());
    nuls.extend_from_slice(&[0; 700]);
    list.push(("NUL bytes around two objects at the end", nuls));

    let mut bytes = three();
    bytes.extend_from_slice(b"{\"kind\":\"message\",\"id\":\"\xff\",\"parent_id\":\"c\",\"data\":{\"r\xc3\":\"\xed\xa0\x80\"}}\n");
    bytes.extend_from_slice(said("d", "\u{fffd}").as_bytes());
    bytes.extend_from_slice(b"\n\xff{}\n{}\xfe\n");
    list.push(("bytes that are not UTF-8 in ids and keys", bytes));

    let mut newline = three();
    newline
        .extend_from_slice(b"{\"kind\":\"message\",\"id\":\"d\",\"data\":{\"a\":\"one\ntwo\"}}\n");
    list.push(("a raw newline inside a string", newline));

    let mut torn = three();
    torn.extend_from_slice(b"{\"kind\":\"message\",\"id\":\"d\",\"par");
    list.push(("a torn tail", torn));

    let mut whole = three();
    whole.extend_from_slice(said("d", "c").as_bytes());
    list.push(("a whole object without a newline at the end", whole));
    list
}
