use super::{Envelope, entry_line};
use crate::contract::NewEntry;
use crate::format::entry_kinds;
use crate::format::expect::Expected;
use crate::format::line::Line;
use crate::json::{Document, Grammar};
use crate::model::Format;

const FORMATS: [Format; 3] = [Format::CodebotV3, Format::PiV3, Format::PiV4];

/// Fields that are a JSON object, good for some kinds and not for others.
const FIELDS: &[&str] = &[
    "{}",
    " { } ",
    "[]",
    "1",
    r#"{"message":{"role":"user","content":"x"}}"#,
    r#"{"message":1,"message":{"role":"assistant"}}"#,
    r#"{"message":{"role":"assistant"},"message":1}"#,
    r#"{"message":{},"id":"other"}"#,
    r#"{"message":{},"\u0069d":"other"}"#,
    r#"{"message":{},"parentId":null}"#,
    r#"{"message":{},"parent_id":"a"}"#,
    r#"{"message":{"id":1,"seq":2}}"#,
    r#"{"role":"user","content":[{"type":"text","text":"\ud800"}]}"#,
    r#"{"role":"user","content":["x"]}"#,
    r#"{"role":7,"content":[]}"#,
    r#"{"provider":"p","modelId":"m"}"#,
    r#"{"provider":"p","model":"m","modelId":1e999}"#,
    r#"{"thinkingLevel":"high","level":"high"}"#,
    r#"{"thinkingLevel":1,"level":null}"#,
    r#"{"activeToolNames":["a","b"]}"#,
    r#"{"activeToolNames":["a",1]}"#,
    r#"{"summary":"s","retainedTail":[{}],"fromId":"a"}"#,
    r#"{"summary":"s","retainedTail":[1],"messages":[{"role":"user"}]}"#,
    r#"{"summary":null,"messages":{}}"#,
    r#"{"customType":"note","data":{"a":[1,2]}}"#,
    r#"{"customType":null}"#,
    r#"{"targetId":"a","label":"x"}"#,
    r#"{"targetId":"a","replacement":{"content":"x"}}"#,
    r#"{"targetId":1,"replacement":null}"#,
    r#"{"name":"n","usage":{}}"#,
    r#"{"phase":"p","slug":1,"pre_mode":null}"#,
    "{\"customType\":\n\"several lines\"}",
];

#[test]
fn an_entry_passes_by_its_fields_where_its_line_passes() {
    let mut passed = 0;
    for format in FORMATS {
        let kinds = entry_kinds(format)
            .into_iter()
            .chain(["", "nothing", "header", "session"]);
        for kind in kinds {
            for fields in FIELDS {
                for id in ["b", ""] {
                    let new = NewEntry::new(kind, *fields);
                    let envelope = Envelope {
                        id,
                        parent: Some("a\"b"),
                        lane: "main",
                        seq: 7,
                        nanos: 1_784_019_600_000_000_000,
                    };
                    let mut line = Line::default();
                    let written = entry_line(&mut line, format, &new, &envelope);
                    let tell = format!("{format} {kind} {fields} {written:?}");
                    let expected = Expected::Entry {
                        format,
                        new: &new,
                        id,
                    };
                    let by_line = !line.object().is_empty() && line.check_whole(&expected).is_ok();
                    let document = Grammar::parse(fields.as_bytes()).unwrap();
                    assert_eq!(expected.is_met_by(document.root()), by_line, "{tell}");
                    assert_eq!(written.is_ok(), by_line, "{tell}");
                    passed += usize::from(by_line);
                }
            }
        }
    }
    assert!(passed > 100, "{passed}");
}

#[test]
fn fields_are_as_deep_as_they_may_be_with_the_levels_above_them() {
    for format in FORMATS {
        let deep = |levels: usize| {
            let inner = levels - 1;
            let lists = "[".repeat(inner) + &"]".repeat(inner);
            let fields = match format {
                Format::CodebotV3 => format!("{{\"goal\":{lists}}}"),
                _ => format!("{{\"customType\":\"x\",\"data\":{lists}}}"),
            };
            let kind = if format == Format::CodebotV3 {
                "goal_state"
            } else {
                "custom"
            };
            let new = NewEntry::new(kind, fields);
            let envelope = Envelope {
                id: "b",
                parent: None,
                lane: "main",
                seq: 1,
                nanos: 1,
            };
            entry_line(&mut Line::default(), format, &new, &envelope)
        };
        let most = 1024 - usize::from(format == Format::CodebotV3);
        assert!(deep(most).is_ok(), "{format}");
        assert!(deep(most + 1).is_err(), "{format}");
    }
}

#[test]
fn a_fault_in_the_fields_is_placed_in_the_text_that_the_caller_gave() {
    use crate::contract::pi;
    let more = pi::More {
        usage: Some("{\"a\":[1,]}"),
        ..pi::More::default()
    };
    for (format, new, place) in [
        (
            Format::PiV4,
            pi::message("{nonsense"),
            "byte 1 of `message`, byte 12 of the fields",
        ),
        (
            Format::PiV3,
            pi::message(" {\"a\":\"\\\"{,\",1"),
            "byte 13 of `message`",
        ),
        (Format::PiV4, pi::message(""), "byte 0 of `message`"),
        (
            Format::PiV4,
            pi::compaction("a \"b\": {", "[]", 1, &more),
            "byte 8 of `usage`",
        ),
        (
            Format::PiV4,
            NewEntry::new("custom", "{nonsense}"),
            "at byte 1 of the fields",
        ),
        (
            Format::PiV4,
            NewEntry::new("custom", "{\"a\":{}}}"),
            "at byte 8 of the fields",
        ),
        (
            Format::CodebotV3,
            NewEntry::new("message", "{\"role\":x}"),
            "byte 0 of `role`, byte 8",
        ),
    ] {
        let envelope = Envelope {
            id: "0000c0de",
            parent: None,
            lane: "main",
            seq: 1,
            nanos: 0,
        };
        let error = entry_line(&mut Line::default(), format, &new, &envelope).unwrap_err();
        assert!(error.message().contains(place), "{new:?}: {error}");
    }
}
