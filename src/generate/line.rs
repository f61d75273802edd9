//! The lines of each format: header, entries of all kinds, pi v4's records, lanes and facts.
//! For the generator only. Which line comes next is decided elsewhere.

use std::io;

use super::message::{Call, LEVELS, Usage, model};
use super::pen::Pen;
use super::text::Look;
use crate::Format;

/// Where an entry stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The entry's number, from 1.
    pub(super) number: u32,
    /// Its parent's number; none for a root.
    pub(super) parent: Option<u32>,
    /// 0 for `main`, else the number of a side lane.
    pub(super) lane: u8,
}

/// What an entry holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part<'a> {
    User,
    Assistant { model: u8, calls: &'a [Call] },
    Result(Call),
    LlmCall { model: u8, usage: Usage },
    Model(u8),
    Effort,
    Plan,
    Goal,
    Tools,
    Name,
    Label { target: u32, clear: bool },
    Custom,
    CustomMessage,
    BranchSummary { from: u32 },
    Compaction { model: u8, kept: u32, tokens: u64 },
}

/// An operation of pi v4.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    number: u64,
    lane: u8,
}

const NAMES: &[&str] = &[
    "Rework the parser",
    "Faster start",
    "Fix the flaky test",
    "Déjà vu: caching",
    "Read old files again",
];

const MARKS: &[&str] = &[
    "checkpoint",
    "before the rewrite",
    "works",
    "à revoir",
    "v2",
];

impl<W: io::Write> Pen<'_, W> {
    pub(super) fn header(&mut self, seed: u64) -> io::Result<()> {
        let id = self.ids.wide(!seed);
        match self.format {
            Format::CodebotV3 => {
                self.put("{\"kind\":\"header\",\"id\":\"h0\",\"timestamp\":");
                self.time();
                self.put(",\"data\":{\"version\":3,\"session_id\":\"");
                self.hex(id, 8);
                self.put("\",\"cwd\":\"/home/dev/app\",\"created\":");
                self.time();
                self.put("}}");
            }
            Format::PiV4 => {
                self.put("{\"kind\":\"header\",\"version\":4,\"id\":\"");
                self.session_id(id);
                self.put("\",\"createdAt\":");
                self.millis();
                self.put(",\"cwd\":\"/home/dev/app\"}");
            }
            format => {
                self.put("{\"type\":\"session\",");
                self.put(match format {
                    Format::PiV1 => "",
                    Format::PiV2 => "\"version\":2,",
                    _ => "\"version\":3,",
                });
                self.put("\"id\":\"");
                self.session_id(id);
                self.put("\",\"timestamp\":");
                self.time();
                self.put(",\"cwd\":\"/home/dev/app\"");
                if format == Format::PiV1 {
                    let [provider, _, name] = model(0);
                    self.put(",\"provider\":\"");
                    self.put(provider);
                    self.put("\",\"modelId\":\"");
                    self.put(name);
                    self.put("\",\"thinkingLevel\":\"off\"");
                }
                self.put("}");
            }
        }
        self.end_line()
    }

    /// A time-ordered UUID of the session's start.
    fn session_id(&mut self, id: u64) {
        self.put("019f5ffc-a380-7");
        self.hex(id >> 48, 3);
        self.put("-8");
        self.hex(id >> 36, 3);
        self.put("-");
        self.hex(id, 12);
    }

    /// One entry. Gives what it cost if it is an assistant's message.
    pub(super) fn entry(&mut self, place: Place, part: Part<'_>) -> io::Result<Usage> {
        self.advance(match part {
            Part::User => 90_000,
            Part::Assistant { .. } | Part::Result(_) => 8000,
            _ => 20,
        });
        let codebot = self.format == Format::CodebotV3;
        let kind = part.kind(self.format);
        match self.format {
            Format::CodebotV3 => {
                self.put("{\"kind\":\"");
                self.put(kind);
                self.put("\",\"id\":");
                self.entry_id(place.number);
                self.put(",\"parent_id\":");
                match place.parent {
                    Some(parent) => self.entry_id(parent),
                    None => self.put("\"h0\""),
                }
                self.put(",\"timestamp\":");
                self.time();
                self.put(",\"data\":");
            }
            Format::PiV4 => {
                self.put("{\"kind\":\"entry\",\"lane\":");
                self.lane_name(place.lane);
                self.put(",\"type\":\"");
                self.put(kind);
                self.put("\",\"id\":");
                self.entry_id(place.number);
            }
            format => {
                self.put("{\"type\":\"");
                self.put(kind);
                self.put("\"");
                if format != Format::PiV1 {
                    self.put(",\"id\":");
                    self.entry_id(place.number);
                    self.put(",\"parentId\":");
                    self.entry_id_or_null(place.parent);
                }
                self.put(",\"timestamp\":");
                self.time();
            }
        }
        let usage = if codebot {
            self.codebot_data(part)
        } else {
            self.pi_fields(part)
        };
        if self.format == Format::PiV4 {
            self.put(",\"parentId\":");
            self.entry_id_or_null(place.parent);
            self.put(",\"seq\":");
            self.next_seq();
            self.put(",\"timestamp\":");
            self.time();
        }
        self.put("}");
        self.end_line()?;
        Ok(usage)
    }

    fn entry_id_or_null(&mut self, number: Option<u32>) {
        match number {
            Some(number) => self.entry_id(number),
            None => self.put("null"),
        }
    }

    fn lane_name(&mut self, lane: u8) {
        if lane == 0 {
            self.put("\"main\"");
        } else {
            self.put("\"side-");
            self.number(u64::from(lane));
            self.put("\"");
        }
    }

    /// A field whose value is a name from a list, `,"field":"value"`.
    fn named(&mut self, field: &str, list: &[&'static str]) {
        self.put(field);
        self.put("\"");
        let value = self.random.pick(list);
        self.put(value);
        self.put("\"");
    }

    /// A field with some words, `,"field":"words"`.
    fn worded(&mut self, field: &str, len: u64) {
        self.put(field);
        self.put("\"");
        self.text(Look::Prose, len);
        self.put("\"");
    }

    fn codebot_data(&mut self, part: Part<'_>) -> Usage {
        let mut usage = Usage::default();
        match part {
            Part::User => self.user_message(),
            Part::Assistant { model, calls } => usage = self.assistant_message(model, calls),
            Part::Result(call) => self.result_message(call),
            Part::LlmCall { model, usage } => {
                self.put("{");
                self.codebot_call(model, usage);
                self.put("}");
            }
            Part::Model(at) => {
                let [provider, _, name] = model(at);
                self.put("{\"provider\":\"");
                self.put(provider);
                self.put("\",\"model\":\"");
                self.put(name);
                self.put("\"}");
            }
            Part::Effort => {
                self.named("{\"level\":", LEVELS);
                self.put("}");
            }
            Part::Plan => {
                self.named("{\"phase\":", &["planning", "executing", "done"]);
                self.named(",\"slug\":", &["calm-river", "red-door", "tall-oak"]);
                self.put(",\"pre_mode\":\"balanced\"}");
            }
            Part::Goal => {
                self.worded("{\"text\":", 40);
                self.named(",\"status\":", &["active", "paused", "reached"]);
                self.put("}");
            }
            Part::Compaction { model, .. } => {
                self.worded("{\"summary\":", 400);
                self.put(",\"messages\":[");
                self.kept_messages(model);
                self.put("]}");
            }
            _ => {
                self.named("{\"name\":", NAMES);
                self.put("}");
            }
        }
        usage
    }

    fn pi_fields(&mut self, part: Part<'_>) -> Usage {
        let mut usage = Usage::default();
        match part {
            Part::User => {
                self.put(",\"message\":");
                self.user_message();
            }
            Part::Assistant { model, calls } => {
                self.put(",\"message\":");
                usage = self.assistant_message(model, calls);
            }
            Part::Result(call) => {
                self.put(",\"message\":");
                self.result_message(call);
            }
            Part::Model(at) => {
                let [provider, _, name] = model(at);
                self.put(",\"provider\":\"");
                self.put(provider);
                self.put("\",\"modelId\":\"");
                self.put(name);
                self.put("\"");
            }
            Part::Effort => self.named(",\"thinkingLevel\":", LEVELS),
            Part::Tools => {
                self.put(",\"activeToolNames\":[\"read\",\"bash\"");
                if self.random.one_in(2) {
                    self.put(",\"edit\",\"write\"");
                }
                self.put("]");
            }
            Part::Label { target, clear } => {
                self.put(",\"targetId\":");
                self.entry_id(target);
                if !clear {
                    self.named(",\"label\":", MARKS);
                }
            }
            Part::Custom => {
                self.put(",\"customType\":\"todo\",\"data\":{\"open\":");
                let open = self.random.below(20);
                self.number(open);
                self.put("}");
            }
            Part::CustomMessage if self.format == Format::PiV2 => {
                self.worded(
                    ",\"message\":{\"role\":\"hookMessage\",\"customType\":\"todo\",\"content\":",
                    60,
                );
                self.put(",\"display\":true,\"timestamp\":");
                self.millis();
                self.put("}");
            }
            Part::CustomMessage => {
                self.worded(",\"customType\":\"todo\",\"content\":", 60);
                self.put(",\"display\":true");
            }
            Part::BranchSummary { from } => {
                self.put(",\"fromId\":");
                self.entry_id(from);
                self.worded(",\"summary\":", 120);
            }
            Part::Compaction {
                model,
                kept,
                tokens,
            } => {
                self.worded(",\"summary\":", 400);
                match self.format {
                    Format::PiV4 => {
                        self.put(",\"retainedTail\":[");
                        self.kept_messages(model);
                        self.put("]");
                    }
                    Format::PiV1 => {
                        self.put(",\"firstKeptEntryIndex\":");
                        self.number(u64::from(kept));
                    }
                    _ => {
                        self.put(",\"firstKeptEntryId\":");
                        self.entry_id(kept);
                    }
                }
                self.put(",\"tokensBefore\":");
                self.number(tokens);
            }
            _ => self.named(",\"name\":", NAMES),
        }
        usage
    }

    /// Opens an operation on a lane whose leaf is `leaf`.
    pub(super) fn start(
        &mut self,
        intent: &str,
        lane: u8,
        leaf: Option<u32>,
    ) -> io::Result<Operation> {
        let number = self.fresh_number();
        self.record("operation_started", "op_", number, lane);
        self.put(",\"sourceLeafId\":");
        self.entry_id_or_null(leaf);
        self.put(",\"intent\":{\"kind\":\"");
        self.put(intent);
        self.put(if intent == "run" {
            "\",\"originalPrompt\":[],\"initialMessages\":[]}}"
        } else {
            "\"}}"
        });
        self.end_line()?;
        Ok(Operation { number, lane })
    }

    /// Closes an operation.
    pub(super) fn end(&mut self, operation: Operation, outcome: &str) -> io::Result<()> {
        let number = self.fresh_number();
        self.record("operation_finished", "rec_", number, operation.lane);
        self.put(",\"runId\":");
        self.wide_id("op_", operation.number);
        self.put(",\"outcome\":\"");
        self.put(outcome);
        self.put("\"}");
        self.end_line()
    }

    /// What a run cost.
    pub(super) fn usage_record(&mut self, lane: u8, usage: Usage) -> io::Result<()> {
        let number = self.fresh_number();
        self.record("usage", "rec_", number, lane);
        self.put(",\"cause\":\"run\",\"usage\":");
        self.pi_usage(usage);
        self.put("}");
        self.end_line()
    }

    /// The beginning of a record, up to its time.
    fn record(&mut self, kind: &str, prefix: &str, number: u64, lane: u8) {
        self.advance(5);
        self.put("{\"kind\":\"record\",\"type\":\"");
        self.put(kind);
        self.put("\",\"id\":");
        self.wide_id(prefix, number);
        self.put(",\"lane\":");
        self.lane_name(lane);
        self.put(",\"seq\":");
        self.next_seq();
        self.put(",\"timestamp\":");
        self.time();
    }

    /// Creates a lane or moves it.
    pub(super) fn lane(&mut self, lane: u8, leaf: u32) -> io::Result<()> {
        self.put("{\"kind\":\"lane\",\"seq\":");
        self.next_seq();
        self.put(",\"lane\":");
        self.lane_name(lane);
        self.put(",\"leafId\":");
        self.entry_id(leaf);
        self.put("}");
        self.end_line()
    }

    pub(super) fn name_fact(&mut self) -> io::Result<()> {
        self.put("{\"kind\":\"fact\",\"seq\":");
        self.next_seq();
        self.named(",\"fact\":\"name\",\"name\":", NAMES);
        self.put("}");
        self.end_line()
    }

    pub(super) fn label_fact(&mut self, target: u32, clear: bool) -> io::Result<()> {
        self.put("{\"kind\":\"fact\",\"seq\":");
        self.next_seq();
        self.put(",\"fact\":\"label\",\"targetId\":");
        self.entry_id(target);
        if !clear {
            self.named(",\"label\":", MARKS);
        }
        self.put("}");
        self.end_line()
    }
}

impl Part<'_> {
    /// The name of its kind or type.
    fn kind(self, format: Format) -> &'static str {
        let codebot = format == Format::CodebotV3;
        match self {
            Part::User | Part::Assistant { .. } | Part::Result(_) => "message",
            Part::LlmCall { .. } => "llm_call",
            Part::Model(_) => "model_change",
            Part::Effort if codebot => "reasoning_effort_change",
            Part::Effort => "thinking_level_change",
            Part::Plan => "plan_state",
            Part::Goal => "goal_state",
            Part::Tools => "active_tools_change",
            Part::Name => "session_info",
            Part::Label { .. } => "label",
            Part::Custom => "custom",
            Part::CustomMessage if format == Format::PiV2 => "message",
            Part::CustomMessage => "custom_message",
            Part::BranchSummary { .. } => "branch_summary",
            Part::Compaction { .. } => "compaction",
        }
    }
}
