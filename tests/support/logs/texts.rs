//! The texts and odd values that lines are made of, and how fields become an object.
//! For the strategies only.

use super::ops::{Style, Value};

/// Texts as they stand in JSON.
pub(super) const TEXTS: &[&str] = &[
    "a",
    "b",
    "hello there",
    "line\\nbreak",
    "a \\\"quote\\\" and C:\\\\temp",
    "é 漢字 👍",
    "\\ud83d\\ude00 \\u00e9\\/",
    "  padded \\r\\n text ",
    "row\u{2028}row\u{85}",
    "control \\u0000\\u001b[31m",
    "curly {\\\"id\\\":\\\"00000001\\\"} [",
    "some text that is long enough to be cut in a listing, which has room for eighty characters and no more",
    "é long text in two-byte characters: ééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé",
];

/// Texts that not every parser takes.
pub(super) const STRANGE: &[&str] = &[
    "\\ud83d",
    "\\udc00\\ud800",
    "x\\ud83d\\n\\ud83dy",
    "\\uD83Dé\\uDE00",
    "\u{fffd}\\ufffd\\uffff",
    "\u{feff}",
];

/// Values that are no strings.
pub(super) const ODD: &[&str] = &[
    "7",
    "null",
    "{}",
    "[]",
    "true",
    "[null]",
    "{\"a\":{\"b\":[1,2]}}",
    "-0.0e-9",
    "1e999",
    "123456789012345678901234567890",
    "[\"a\"]",
    "[1,{}]",
];

/// Times that are odd in one format at least.
pub(super) const ODD_TIMES: &[&str] = &[
    "",
    "null",
    "\"\"",
    "\"soon\"",
    "true",
    "{}",
    "[1784019600000]",
    "0",
    "-0",
    "-1",
    "1784019600000",
    "1784019600000.9",
    "1.7840196e12",
    "17840196E5",
    "8.64e15",
    "8640000000000000",
    "8640000000000001",
    "8.640000000000001e15",
    "-8640000000000000",
    "-8640000000000001",
    "1e308",
    "1e400",
    "-1e400",
    "99999999999999999999999999",
    "\"1784019600000\"",
    "\"2026-07-14\"",
    "\"2026-07-14T09:00Z\"",
    "\"2026-07-14T09:00\"",
    "\"2026-07-14T09:00:00\"",
    "\"2026-07-14T09:00:60Z\"",
    "\"2026-07-14T09:00:61Z\"",
    "\"2026-07-14T24:00:00Z\"",
    "\"2026-07-14T09:60:00Z\"",
    "\"2026-07-14 09:00:00Z\"",
    "\"2026-07-14t09:00:00z\"",
    "\"2026-07-14T09:00:00.Z\"",
    "\"2026-07-14T09:00:00.5\"",
    "\"2026-07-14T09:00:00.999999999999Z\"",
    "\"2026-07-14T09:00:00,5Z\"",
    "\"2026-07-14T09:00:00+25:00\"",
    "\"2026-07-14T09:00:00+23:59\"",
    "\"2026-07-14T09:00:00-00:00\"",
    "\"2026-07-14T09:00:00+0200\"",
    "\"2026-07-14T09:00:00+02\"",
    "\"2026-07-14T09:00:00+02:60\"",
    "\"2026-07-14T09:00:00ZZ\"",
    "\"2026-02-29T00:00:00Z\"",
    "\"2028-02-29T00:00:00Z\"",
    "\"2100-02-29T00:00:00Z\"",
    "\"2026-00-10T00:00:00Z\"",
    "\"2026-13-10T00:00:00Z\"",
    "\"2026-01-00T00:00:00Z\"",
    "\"2026-04-31T00:00:00Z\"",
    "\"0000-01-01T00:00:00Z\"",
    "\"0000-01-01T00:00:00+23:00\"",
    "\"9999-12-31T23:59:59.999Z\"",
    "\"9999-12-31T23:59:59-23:00\"",
    "\"1969-12-31T23:59:59.999Z\"",
    "\"1969-12-31T23:59:59.9999Z\"",
    "\"+002026-07-14T09:00:00Z\"",
    "\"-0001-07-14T09:00:00Z\"",
    "\"2026-7-4T9:00:00Z\"",
    "\" 2026-07-14T09:00:00Z\"",
    "\"2026-07-14T09:00:00Z \"",
    "\"20260714T090000Z\"",
    "\"2026-195T09:00:00Z\"",
    "\"\\u0032026-07-14T09:00:00Z\"",
    "\"２026-07-14T09:00:00Z\"",
    "\"2026-07-14T09:00:00\\u005a\"",
    "\"2026-07-14T09:00:00.000Z\\ud800\"",
];

/// Kinds that no format knows, and some that only others know.
pub(super) const UNKNOWN: &[&str] = &[
    "note",
    "Message",
    "user",
    "message ",
    "\\u00e9",
    "custom/entry",
    "lane_change",
    "record_usage",
];

/// A call's id, as spelled; the fourth is the first with an escape, the last counts as none.
pub(super) const CALLS: [&str; 5] = ["c0", "c1", "c2", "\\u00630", ""];

pub(super) fn nth<'a>(list: &[&'a str], at: u8) -> &'a str {
    list[usize::from(at) % list.len()]
}

pub(super) fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

/// The fields of an object: keys without quotes, values as they stand.
pub(super) type Fields = Vec<(String, String)>;

pub(super) fn add(fields: &mut Fields, key: &str, value: impl Into<String>) {
    fields.push((key.to_owned(), value.into()));
}

/// Adds a field unless the value is absent.
pub(super) fn add_some(fields: &mut Fields, key: &str, value: Option<String>) {
    if let Some(value) = value {
        add(fields, key, value);
    }
}

pub(super) fn object(fields: &[(String, String)]) -> String {
    let inner: Vec<String> = fields
        .iter()
        .map(|(key, value)| format!("\"{key}\":{value}"))
        .collect();
    format!("{{{}}}", inner.join(","))
}

pub(super) fn array(items: impl IntoIterator<Item = String>) -> String {
    let items: Vec<String> = items.into_iter().collect();
    format!("[{}]", items.join(","))
}

/// Usage objects; from 5 on with a number out of range, from 6 on values that are none.
pub(super) fn usage(at: u8) -> &'static str {
    match at {
        0 => {
            r#"{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":10,"cost":{"input":0.5,"total":0.75}}"#
        }
        1 => r#"{"input":-5,"cacheRead":-1,"totalTokens":-6,"cost":{"total":-0.5}}"#,
        2 => r#"{"cost":null}"#,
        3 => "{}",
        4 => r#"{"input":1,"input":2,"totalTokens":9007199254740993,"cost":{"total":0.1}}"#,
        5 => r#"{"input":1.9,"cacheRead":"3","totalTokens":1e3,"cost":{"total":1e400}}"#,
        6 => "null",
        7 => "[]",
        8 => "7",
        9 => "\"usage\"",
        10 => "true",
        _ => "1e999",
    }
}

/// The value of a field that may be absent.
pub(super) fn text(value: Value) -> Option<String> {
    match value {
        Value::Text(at) => Some(quoted(nth(TEXTS, at))),
        Value::Strange(at) => Some(quoted(nth(STRANGE, at))),
        Value::Empty => Some("\"\"".to_owned()),
        Value::Null => Some("null".to_owned()),
        Value::Absent => None,
        Value::Odd(at) => Some(nth(ODD, at).to_owned()),
    }
}

/// The value of a field that must be a string.
pub(super) fn needed(value: Value) -> Option<String> {
    match value {
        Value::Null | Value::Absent => Some(quoted("high")),
        value => text(value),
    }
}

/// Writes a line's fields, spelled as the style says.
pub(super) fn styled(mut fields: Fields, style: &[Style]) -> String {
    let mut space = "";
    // Repeated keys come last, so that the value that counts stays behind the other one.
    let (repeated, others): (Vec<Style>, Vec<Style>) = style
        .iter()
        .partition(|style| matches!(style, Style::RepeatedKey(..)));
    for style in others.into_iter().chain(repeated) {
        let count = fields.len();
        let place = |at: u8| usize::from(at) % count;
        match style {
            Style::EscapedKey(at) => {
                let (key, _) = &mut fields[place(at)];
                *key = escape_first(key);
            }
            Style::EscapedValue(at) => {
                let (_, value) = &mut fields[place(at)];
                if let Some(inner) = value
                    .strip_prefix('"')
                    .and_then(|rest| rest.strip_suffix('"'))
                {
                    *value = quoted(&escape_first(inner));
                }
            }
            Style::RepeatedKey(at, other) => {
                let key = fields[place(at)].0.clone();
                fields.insert(0, (key, nth(ODD, other).to_owned()));
            }
            Style::Rotated(by) => fields.rotate_left(place(by)),
            Style::Spaced(at) => space = [" ", "\t", "  ", " \r "][usize::from(at) % 4],
            Style::Extra(at) => {
                let value = match at {
                    0 => "1e999".to_owned(),
                    1 => "-123456789012345678901234567890.5e-400".to_owned(),
                    2 => format!("{}{}", "[".repeat(100), "]".repeat(100)),
                    3 => format!("{}1{}", "{\"a\":".repeat(1100), "}".repeat(1100)),
                    4 => format!("{}{}", "[".repeat(3000), "]".repeat(3000)),
                    5 => "\"\\ud800\"".to_owned(),
                    6 => "\"\u{2028}\u{2029}\u{85}\"".to_owned(),
                    7 => format!("\"{}\"", "\\\\".repeat(70)),
                    8 => format!("\"{}\"", "x".repeat(200)),
                    9 => "{\"id\":\"00000001\",\"parentId\":null,\"type\":\"message\"}".to_owned(),
                    10 => "\"}{\\\"id\\\":\\\"00000001\\\"}\"".to_owned(),
                    _ => "[true,false,null,-0,0.1E+5,\"\"]".to_owned(),
                };
                let at = usize::from(at) % (count + 1);
                fields.insert(at, ("extra".to_owned(), value));
            }
        }
    }
    if space.is_empty() {
        return object(&fields);
    }
    let mut line = String::from("{");
    for (at, (key, value)) in fields.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        line.push_str(&format!(
            "{space}{comma}{space}\"{key}\"{space}:{space}{value}"
        ));
    }
    line.push_str(&format!("{space}}}"));
    line
}

/// The same text with its first character as an escape, if it is a plain ASCII one.
pub(super) fn escape_first(text: &str) -> String {
    match text.chars().next() {
        Some(first) if first.is_ascii_alphanumeric() => {
            format!("\\u{:04x}{}", u32::from(first), &text[1..])
        }
        _ => text.to_owned(),
    }
}
