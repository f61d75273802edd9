//! The same things said in each format, so that a case is written once.

use crate::contract::{NewEntry, codebot, pi};
use crate::model::Format;

/// How a format says things.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dialect(pub(super) Format);

impl Dialect {
    fn is_codebot(self) -> bool {
        self.0 == Format::CodebotV3
    }

    /// The JSON of a message with a text.
    pub(super) fn message_json(self, role: &str, text: &str) -> String {
        let text = serde_json::Value::from(text);
        match (role, self.is_codebot()) {
            (_, true) => format!(
                r#"{{"role":"{role}","content":[{{"type":"text","text":{text}}}],"timestamp":"2026-07-14T09:00:00Z"}}"#
            ),
            ("assistant", false) => format!(
                r#"{{"role":"assistant","content":[{{"type":"text","text":{text}}}],"provider":"anthropic","model":"claude-sonnet-4-5","stopReason":"stop","timestamp":1}}"#
            ),
            (_, false) => format!(
                r#"{{"role":"{role}","content":[{{"type":"text","text":{text}}}],"timestamp":1}}"#
            ),
        }
    }

    /// An entry with a message.
    pub(super) fn message(self, json: &str) -> NewEntry {
        if self.is_codebot() {
            codebot::message(json)
        } else {
            pi::message(json)
        }
    }

    /// An assistant's message whose last block is a tool call with an id.
    pub(super) fn calls_a_tool(self, id: &str) -> NewEntry {
        let block = if self.is_codebot() {
            format!(
                r#"{{"type":"toolCall","tool_call":{{"id":"{id}","name":"read","args":{{}}}}}}"#
            )
        } else {
            format!(r#"{{"type":"toolCall","id":"{id}","name":"read","arguments":{{}}}}"#)
        };
        self.message(&format!(r#"{{"role":"assistant","content":[{block}]}}"#))
    }

    pub(super) fn user(self, text: &str) -> NewEntry {
        self.message(&self.message_json("user", text))
    }

    pub(super) fn assistant(self, text: &str) -> NewEntry {
        self.message(&self.message_json("assistant", text))
    }

    /// The kind of [`note`](Self::note).
    pub(super) fn note_kind(self) -> &'static str {
        if self.is_codebot() {
            "goal_state"
        } else {
            "custom"
        }
    }

    /// An entry that is no message, with JSON of one's own.
    pub(super) fn note(self, json: &str) -> NewEntry {
        if self.is_codebot() {
            codebot::goal_state(&format!("{{\"note\":{json}}}"))
        } else {
            pi::custom("note", Some(json))
        }
    }

    /// A compaction that keeps nothing of what came before.
    pub(super) fn compaction(self, summary: &str) -> NewEntry {
        match self.0 {
            Format::CodebotV3 => codebot::compaction(summary, None),
            Format::PiV4 => pi::compaction(summary, "[]", 10, &pi::More::default()),
            _ => pi::compaction_v3(summary, "none", 10, &pi::More::default()),
        }
    }

    pub(super) fn model(self, provider: &str, model: &str) -> NewEntry {
        if self.is_codebot() {
            codebot::model_change(provider, model)
        } else {
            pi::model_change(provider, model)
        }
    }

    pub(super) fn effort(self, level: &str) -> NewEntry {
        if self.is_codebot() {
            codebot::reasoning_effort_change(level)
        } else {
            pi::thinking_level_change(level)
        }
    }

    /// Entries that the format refuses, each with what is wrong.
    pub(super) fn bad(self) -> Vec<(&'static str, NewEntry)> {
        let (message, model) = if self.is_codebot() {
            ("[]", r#"{"provider":1,"model":"m"}"#)
        } else {
            (r#"{"message":[]}"#, r#"{"provider":1,"modelId":"m"}"#)
        };
        vec![
            (
                "fields that are no JSON",
                NewEntry::new("message", "{\"message\":"),
            ),
            ("fields that are no object", NewEntry::new("message", "[1]")),
            ("fields that are empty", NewEntry::new("message", "")),
            ("a bare word", self.note("undefined")),
            ("a number that is none", self.note("NaN")),
            ("a number with a suffix", self.note("1n")),
            ("a comma too many", self.note("[1,]")),
            ("an unfinished string", self.note("\"a")),
            ("a raw line break in a string", self.note("\"a\nb\"")),
            ("a second object", NewEntry::new("message", "{} {}")),
            (
                "a message of the wrong type",
                NewEntry::new("message", message),
            ),
            (
                "a model of the wrong type",
                NewEntry::new("model_change", model),
            ),
            (
                "a kind that there is not",
                NewEntry::new("no_such_kind", "{}"),
            ),
            ("a kind that is empty", NewEntry::new("", "{}")),
            ("a header", NewEntry::new("header", "{}")),
        ]
    }
}
