//! The payloads of entries: which fields a kind has in which format.
//! For the strategies only.

use leaflog::Format;

use super::ops::{Edit, Op, Ref, Tail, Time, Value, What};
use super::render::Writer;
use super::texts::{
    Fields, ODD, UNKNOWN, add, add_some, array, needed, nth, object, quoted, text, usage,
};

impl Writer {
    /// The kind with its quotes, and the fields of the payload.
    pub(super) fn payload(&self, op: &Op) -> (String, Fields) {
        let mut own = Fields::new();
        let codebot = self.is_codebot();
        let kind = match &op.what {
            What::Message(message) => {
                let message = self.message(message, op.time);
                if codebot {
                    return (quoted("message"), vec![("data".to_owned(), message)]);
                }
                add(&mut own, "message", message);
                "message"
            }
            What::Model { provider, model } => {
                add_some(&mut own, "provider", text(*provider));
                add_some(
                    &mut own,
                    if codebot { "model" } else { "modelId" },
                    text(*model),
                );
                "model_change"
            }
            What::Effort(level) | What::OldEffort(level) if codebot => {
                add_some(&mut own, "level", text(*level));
                match op.what {
                    What::Effort(_) => "reasoning_effort_change",
                    _ => "thinking_change",
                }
            }
            What::Effort(level) | What::OldEffort(level) => {
                add_some(&mut own, "thinkingLevel", needed(*level));
                "thinking_level_change"
            }
            What::Name(name) => {
                add_some(&mut own, "name", text(*name));
                "session_info"
            }
            What::Plan { phase, slug } => {
                add_some(&mut own, "phase", text(*phase));
                add_some(&mut own, "slug", text(*slug));
                add(&mut own, "pre_mode", quoted("balanced"));
                "plan_state"
            }
            What::Goal(goal) => {
                add_some(&mut own, "text", text(*goal));
                "goal_state"
            }
            What::LlmCall => {
                add(&mut own, "provider", quoted("p"));
                add(&mut own, "input_tokens", "10");
                "llm_call"
            }
            What::Tools(name) => {
                let names = match name {
                    Value::Odd(odd) => nth(ODD, *odd).to_owned(),
                    Value::Empty => "[]".to_owned(),
                    name => format!("[{}]", needed(*name).unwrap_or_default()),
                };
                add(&mut own, "activeToolNames", names);
                "active_tools_change"
            }
            What::Compaction {
                summary,
                kept,
                tail,
            } => {
                add_some(&mut own, "summary", text(*summary));
                self.compaction(&mut own, *kept, tail, op.time);
                "compaction"
            }
            What::BranchSummary { from, summary } => {
                add_some(&mut own, "fromId", self.reference(*from));
                add_some(&mut own, "summary", text(*summary));
                "branch_summary"
            }
            What::Custom => {
                add(&mut own, "customType", quoted("ext"));
                add(&mut own, "data", "{\"n\":1}");
                // codebot's payload is `data` itself.
                if codebot {
                    return (quoted("custom"), vec![("data".to_owned(), object(&own))]);
                }
                "custom"
            }
            What::CustomMessage(content) => {
                add(&mut own, "customType", quoted("ext"));
                add_some(&mut own, "content", text(*content));
                add(&mut own, "display", "true");
                if !matches!(op.time, Time::Good(_, 0)) {
                    add(&mut own, "details", "{\"k\":[1,2]}");
                }
                "custom_message"
            }
            What::ContextEdit { target, content } => {
                add_some(&mut own, "targetId", self.reference(*target));
                self.edit(&mut own, content);
                "context_edit"
            }
            What::Label { target, label } => {
                add_some(&mut own, "targetId", self.reference(*target));
                add_some(&mut own, "label", text(*label));
                "label"
            }
            What::UsageEntry => {
                add(&mut own, "usage", usage(0));
                "usage"
            }
            What::Unknown(kind) => {
                add(&mut own, "what", "[{\"ever\":null}]");
                nth(UNKNOWN, *kind)
            }
            What::WrongPayload { kind, payload } => return self.wrong(*kind, *payload),
            What::MoveLane { lane, .. } => {
                add(&mut own, "lane", lane.to_string());
                "lane"
            }
            What::Record(_) => "record",
            What::NameFact(name) | What::LabelFact { label: name, .. } => {
                add_some(&mut own, "name", text(*name));
                "fact"
            }
            What::OtherFact => "fact",
        };
        if codebot {
            own = vec![("data".to_owned(), object(&own))];
        }
        (quoted(kind), own)
    }

    /// A known kind with a payload of any type, or a kind that is no string.
    fn wrong(&self, kind: u8, payload: Value) -> (String, Fields) {
        let kind = match kind {
            0 => "\"message\"",
            1 => "\"compaction\"",
            2 => "\"model_change\"",
            3 => "\"session_info\"",
            4 => "\"goal_state\"",
            5 => "\"plan_state\"",
            6 => "\"llm_call\"",
            7 => "\"context_edit\"",
            8 => "\"label\"",
            9 => "\"branch_summary\"",
            10 => "\"active_tools_change\"",
            11 => "\"header\"",
            12 => "\"\"",
            13 => "7",
            14 => "null",
            _ => "{\"kind\":\"message\"}",
        };
        let key = if self.is_codebot() { "data" } else { "message" };
        let mut own = Fields::new();
        add_some(&mut own, key, text(payload));
        (kind.to_owned(), own)
    }

    fn compaction(&self, own: &mut Fields, kept: Ref, tail: &Tail, time: Time) {
        let messages = match tail {
            Tail::Messages(messages) => {
                let messages = messages.iter().map(|message| self.message(message, time));
                Some(array(messages))
            }
            Tail::Null => Some("null".to_owned()),
            Tail::Absent => None,
            Tail::Odd(odd) => Some(nth(ODD, *odd).to_owned()),
        };
        match self.format {
            Format::CodebotV3 => return add_some(own, "messages", messages),
            Format::PiV4 => add_some(own, "retainedTail", messages),
            _ => {
                match (self.format, kept) {
                    (Format::PiV1, Ref::Back(back)) => {
                        // Lines are numbered, the header being 0.
                        let own_line = self.lines.len() as u64;
                        let line = own_line.saturating_sub(1 + u64::from(back));
                        add(own, "firstKeptEntryIndex", line.to_string());
                    }
                    (Format::PiV1, Ref::Missing) => add(own, "firstKeptEntryIndex", "9999"),
                    (Format::PiV1, Ref::Own) => {
                        add(own, "firstKeptEntryIndex", self.lines.len().to_string());
                    }
                    (Format::PiV1, Ref::Odd(odd)) => {
                        add(own, "firstKeptEntryIndex", nth(ODD, odd));
                    }
                    _ => add_some(own, "firstKeptEntryId", self.reference(kept)),
                }
                match tail {
                    Tail::Messages(messages) => {
                        let system = messages.first();
                        add_some(
                            own,
                            "systemMessage",
                            system.map(|message| self.message(message, time)),
                        );
                    }
                    _ => add_some(own, "systemMessage", messages),
                }
            }
        }
        match time {
            Time::Good(_, 3) => {}
            _ => add(own, "tokensBefore", "900"),
        }
    }

    fn edit(&self, own: &mut Fields, content: &Edit) {
        match content {
            Edit::Remove => add(own, "replacement", "null"),
            Edit::Content(content) => {
                let content = self.content(content).unwrap_or("[]".to_owned());
                add(own, "replacement", format!("{{\"content\":{content}}}"));
            }
            Edit::Odd(0) => {}
            Edit::Odd(1) => add(own, "replacement", "{\"content\":null}"),
            Edit::Odd(2) => add(own, "replacement", "{\"content\":7}"),
            Edit::Odd(odd) => add(own, "replacement", nth(ODD, *odd)),
        }
    }
}
