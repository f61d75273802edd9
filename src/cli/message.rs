//! What a message or a line says, in a few words for people. Takes raw JSON of any depth, keeps no
//! structure, and never fails: what cannot be understood is shown as it stands.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::text::{cut, first_line};

/// Fields of a line that say where it stands, not what it says.
const ENVELOPE: [&str; 9] = [
    "kind",
    "type",
    "id",
    "parent",
    "parentId",
    "parent_id",
    "seq",
    "timestamp",
    "lane",
];

/// `role: first line of the text`, cut to so many characters.
pub(crate) fn message_line(json: &str, columns: usize) -> String {
    match Fields::of(json) {
        Some(fields) => fields.message_line(columns),
        None => cut(json, columns),
    }
}

/// A line of the log, without what the columns beside it tell.
pub(crate) fn entry_line(json: &str, columns: usize) -> String {
    let Some(fields) = Fields::of(json) else {
        return cut(json, columns);
    };
    for key in ["message", "data"] {
        let inner = fields.get(key).and_then(|inner| Fields::of(inner.get()));
        if let Some(inner) = inner.filter(|inner| inner.get("role").is_some()) {
            return inner.message_line(columns);
        }
    }
    let mut line = String::new();
    for (key, value) in &fields.list {
        if line.chars().take(columns).count() >= columns {
            break;
        }
        if !ENVELOPE.contains(&key.as_ref()) {
            let space = if line.is_empty() { "" } else { " " };
            line.push_str(&format!("{space}{key}={}", cut(value.get(), columns)));
        }
    }
    cut(&line, columns)
}

/// The members of an object in order, as they stand.
struct Fields<'a> {
    list: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl<'a> Fields<'a> {
    fn of(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    /// The last value of a name counts.
    fn get(&self, key: &str) -> Option<&'a RawValue> {
        let found = self.list.iter().rev().find(|(name, _)| name == key);
        found.map(|(_, value)| *value)
    }

    fn text(&self, key: &str) -> Option<String> {
        self.get(key).and_then(|value| string(value.get()))
    }

    fn message_line(&self, columns: usize) -> String {
        let role = self.text("role").unwrap_or_else(|| "?".to_owned());
        let said = self.said();
        cut(&format!("{role}: {}", first_line(&said, columns)), columns)
    }

    /// The text of a message; of one without any, the kinds of its blocks.
    fn said(&self) -> String {
        if let Some(summary) = self.text("summary") {
            return summary;
        }
        let Some(content) = self.get("content") else {
            return String::new();
        };
        if let Some(text) = string(content.get()) {
            return text;
        }
        let blocks: Vec<&RawValue> = serde_json::from_str(content.get()).unwrap_or_default();
        let mut kinds = Vec::new();
        for block in blocks.iter().filter_map(|block| Fields::of(block.get())) {
            let kind = block.text("type").unwrap_or_default();
            match block.text("text") {
                Some(text) if kind == "text" && !text.trim().is_empty() => return text,
                _ => kinds.push(match block.text("name") {
                    Some(name) => format!("({kind} {name})"),
                    None => format!("({kind})"),
                }),
            }
        }
        kinds.join(" ")
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut list = Vec::new();
                // Keys are taken raw as well, since they may hold lone surrogates.
                while let Some((key, value)) = map.next_entry::<&RawValue, &RawValue>()? {
                    list.push((name(key.get()), value));
                }
                Ok(Fields { list })
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// A key: mostly the very text between its quotes.
fn name(raw: &str) -> Cow<'_, str> {
    let inner = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"'));
    match inner {
        Some(inner) if !inner.contains('\\') => Cow::Borrowed(inner),
        _ => Cow::Owned(string(raw).unwrap_or_default()),
    }
}

/// A JSON string decoded, a lone surrogate as U+FFFD; none for other values.
fn string(raw: &str) -> Option<String> {
    struct Bytes;
    impl Visitor<'_> for Bytes {
        type Value = String;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }

        fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<String, E> {
            let mut text = String::with_capacity(bytes.len());
            for chunk in bytes.utf8_chunks() {
                text.push_str(chunk.valid());
                // A surrogate comes as three bytes, the first of which is no continuation.
                if chunk.invalid().first().is_some_and(|byte| *byte >= 0xc0) {
                    text.push(char::REPLACEMENT_CHARACTER);
                }
            }
            Ok(text)
        }
    }
    raw.starts_with('"').then_some(())?;
    serde_json::Deserializer::from_str(raw)
        .deserialize_bytes(Bytes)
        .ok()
}

#[cfg(test)]
mod tests {
    use super::{entry_line, message_line, string};

    #[test]
    fn a_message_shows_its_role_and_the_first_line_of_its_text() {
        for (json, line) in [
            (r#"{"role":"user","content":"hi\nthere"}"#, "user: hi"),
            (
                r#"{"role":"user","content":[{"type":"text","text":"x\u001b[1m"}]}"#,
                "user: x[1m",
            ),
            (
                r#"{"role":"assistant","content":[{"type":"toolCall","name":"ls"}]}"#,
                "assistant: (toolCall ls)",
            ),
            (
                r#"{"role":"compactionSummary","summary":"so far"}"#,
                "compactionSummary: so far",
            ),
            (r#"{"role":"user","role":"tool","content":null}"#, "tool: "),
            (r#"{"role":"user","content":"\ud800!"}"#, "user: \u{fffd}!"),
            ("[1", "[1"),
        ] {
            assert_eq!(message_line(json, 80), line, "{json}");
        }
    }

    #[test]
    fn deep_and_odd_messages_are_no_trouble() {
        let deep = format!(
            r#"{{"role":"user","\ud800":1,"content":{}{}}}"#,
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        assert_eq!(message_line(&deep, 80), "user: ");
    }

    #[test]
    fn a_line_shows_what_is_not_in_its_envelope() {
        assert_eq!(
            entry_line(
                r#"{"type":"model_change","id":"1","provider":"p","modelId":"m"}"#,
                80
            ),
            r#"provider="p" modelId="m""#
        );
        assert_eq!(
            entry_line(
                r#"{"kind":"message","data":{"role":"user","content":"hi"}}"#,
                80
            ),
            "user: hi"
        );
        assert_eq!(entry_line(r#"{"a":"0123456789"}"#, 6), r#"a="01…"#);
    }

    #[test]
    fn strings_decode_and_other_values_are_none() {
        assert_eq!(
            string(r#""a\u00e9\udc00b""#).as_deref(),
            Some("aé\u{fffd}b")
        );
        assert_eq!(string("1"), None);
    }
}
