//! The messages of a session, in codebot's shape and in pi's: user, assistant, tool result.
//! For the generator only. Writes the message object and nothing around it.

use std::io;

use super::pen::Pen;
use super::text::Look;
use crate::Format;

/// A model: who serves it, over which interface, its name.
pub(super) const MODELS: &[[&str; 3]] = &[
    ["anthropic", "anthropic-messages", "claude-sonnet-4-5"],
    ["openai", "openai-responses", "gpt-5.1-codex"],
    ["google", "google-generative-ai", "gemini-3-pro"],
];

/// Efforts by rank.
pub(super) const LEVELS: &[&str] = &["off", "minimal", "low", "medium", "high"];

const TOOLS: &[&str] = &["read", "bash", "grep", "edit", "write"];

const FOLDERS: &[&str] = &[
    "src",
    "tests",
    "docs",
    "benches",
    "packages/core/src",
    "app/lib",
];
const FILES: &[&str] = &[
    "main.rs",
    "lib.rs",
    "index.ts",
    "parser.rs",
    "cache.go",
    "README.md",
    "session.ts",
    "größe.md",
];

/// One of [`MODELS`].
pub(super) fn model(at: u8) -> [&'static str; 3] {
    MODELS
        .get(usize::from(at))
        .copied()
        .unwrap_or(["local", "openai-completions", "small"])
}

/// A tool call that waits for its result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    number: u64,
    tool: &'static str,
}

impl Call {
    pub(super) fn new<W: io::Write>(pen: &mut Pen<'_, W>) -> Self {
        Self {
            number: pen.fresh_number(),
            tool: pen.random.pick(TOOLS),
        }
    }

    /// Whether its arguments hold text and not just a name or two.
    fn is_long(self) -> bool {
        matches!(self.tool, "bash" | "edit" | "write")
    }
}

/// Tokens of one or more requests.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

impl Usage {
    fn new<W: io::Write>(pen: &mut Pen<'_, W>) -> Self {
        Self {
            input: pen.random.between(1, 3000),
            output: pen.random.between(20, 2500),
            cache_read: pen.random.below(150_000),
            cache_write: pen.random.below(9000),
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
    }

    fn total(self) -> u64 {
        self.input + self.output + self.cache_read + self.cache_write
    }
}

impl<W: io::Write> Pen<'_, W> {
    fn is_codebot(&self) -> bool {
        self.format == Format::CodebotV3
    }

    /// The look of a text; now and then it is not plain ASCII.
    fn look(&mut self, usual: Look) -> Look {
        if self.random.one_in(16) {
            Look::Foreign
        } else {
            usual
        }
    }

    fn text_block(&mut self, look: Look, len: u64) {
        self.put("{\"type\":\"text\",\"text\":\"");
        self.text(look, len);
        self.put("\"}");
    }

    /// The end of a message: when it was made.
    fn message_time(&mut self) {
        self.put(",\"timestamp\":");
        if self.is_codebot() {
            self.time();
        } else {
            self.millis();
        }
        self.put("}");
    }

    pub(super) fn user_message(&mut self) {
        let len = self.message_len();
        let look = self.look(Look::Prose);
        // pi also stores a plain string where there is only text.
        if !self.is_codebot() && self.random.one_in(8) {
            self.put("{\"role\":\"user\",\"content\":\"");
            self.text(look, len);
            self.put("\"");
        } else {
            self.put("{\"role\":\"user\",\"content\":[");
            self.text_block(look, len);
            self.put("]");
        }
        self.message_time();
    }

    /// An assistant's answer, with the calls it makes. Gives what it cost.
    pub(super) fn assistant_message(&mut self, model_at: u8, calls: &[Call]) -> Usage {
        let mut left = self.message_len();
        self.put("{\"role\":\"assistant\",\"content\":[");
        if self.random.one_in(5) {
            // codebot cuts a thinking block at 200 characters, so none is longer.
            let len = (left / 4).min(150);
            left -= len;
            let name = "{\"type\":\"thinking\",\"thinking\":\"";
            self.put(name);
            self.text(Look::Prose, len);
            self.put("\"},");
        }
        let mut long = 0;
        for call in calls {
            long += u64::from(call.is_long());
        }
        let spoken = if long > 0 { left / 3 } else { left };
        let look = self.look(Look::Prose);
        self.text_block(look, spoken);
        for &call in calls {
            let len = (left - spoken).checked_div(long).unwrap_or(0);
            self.call_block(call, len);
        }
        self.put("]");
        let usage = Usage::new(self);
        let [provider, api, name] = model(model_at);
        if self.is_codebot() {
            self.put(",\"stop_reason\":\"");
            self.put(if calls.is_empty() {
                "end_turn"
            } else {
                "tool_use"
            });
            self.put("\",\"usage\":{\"input_tokens\":");
            self.number(usage.input);
            self.put(",\"output_tokens\":");
            self.number(usage.output);
            self.put("}");
        } else {
            self.put(",\"api\":\"");
            self.put(api);
            self.put("\",\"provider\":\"");
            self.put(provider);
            self.put("\",\"model\":\"");
            self.put(name);
            self.put("\",\"usage\":");
            self.pi_usage(usage);
            self.put(",\"stopReason\":\"");
            self.put(if calls.is_empty() { "stop" } else { "toolUse" });
            self.put("\"");
        }
        self.message_time();
        usage
    }

    fn call_block(&mut self, call: Call, len: u64) {
        let arguments = if self.is_codebot() {
            self.put(",{\"type\":\"toolCall\",\"tool_call\":{\"id\":");
            "\",\"args\":{"
        } else {
            self.put(",{\"type\":\"toolCall\",\"id\":");
            "\",\"arguments\":{"
        };
        self.wide_id("call_", call.number);
        self.put(",\"name\":\"");
        self.put(call.tool);
        self.put(arguments);
        match call.tool {
            "bash" => {
                self.put("\"command\":\"");
                self.text(Look::Code, len);
                self.put("\"");
            }
            "grep" => {
                self.put("\"pattern\":\"");
                self.text(Look::Prose, 4);
                self.put("\",");
                self.path_argument();
            }
            "edit" => {
                self.path_argument();
                self.put(",\"oldText\":\"");
                self.text(Look::Code, len / 2);
                self.put("\",\"newText\":\"");
                self.text(Look::Code, len / 2);
                self.put("\"");
            }
            "write" => {
                self.path_argument();
                self.put(",\"content\":\"");
                self.text(Look::Code, len);
                self.put("\"");
            }
            _ => self.path_argument(),
        }
        self.put(if self.is_codebot() { "}}}" } else { "}}" });
    }

    fn path_argument(&mut self) {
        self.put("\"path\":\"");
        let folder = self.random.pick(FOLDERS);
        self.put(folder);
        self.put("/");
        let file = self.random.pick(FILES);
        self.put(file);
        self.put("\"");
    }

    pub(super) fn result_message(&mut self, call: Call) {
        let len = self.message_len();
        let look = self.look(match call.tool {
            "read" => Look::Code,
            "edit" | "write" => Look::Prose,
            _ => Look::Output,
        });
        let failed = if self.random.one_in(15) {
            "true"
        } else {
            "false"
        };
        if self.is_codebot() {
            self.put("{\"role\":\"tool\",\"content\":[");
            self.text_block(look, len);
            self.put("],\"metadata\":{\"tool_call_id\":");
            self.wide_id("call_", call.number);
            self.put(",\"is_error\":");
            self.put(failed);
            self.put("}");
        } else {
            self.put("{\"role\":\"toolResult\",\"toolCallId\":");
            self.wide_id("call_", call.number);
            self.put(",\"toolName\":\"");
            self.put(call.tool);
            self.put("\",\"content\":[");
            self.text_block(look, len);
            self.put("],\"isError\":");
            self.put(failed);
        }
        self.message_time();
    }

    /// The messages that a compaction keeps, as the elements of an array: two or three, no call without
    /// its result.
    pub(super) fn kept_messages(&mut self, model_at: u8) {
        self.user_message();
        self.put(",");
        if self.random.one_in(2) {
            self.assistant_message(model_at, &[]);
        } else {
            let call = Call::new(self);
            self.assistant_message(model_at, &[call]);
            self.put(",");
            self.result_message(call);
        }
    }

    /// pi's usage object.
    pub(super) fn pi_usage(&mut self, usage: Usage) {
        // Prices of one token, in billionths.
        let cost = [
            usage.input * 3000,
            usage.output * 15_000,
            usage.cache_read * 300,
            usage.cache_write * 3750,
        ];
        let counts = [
            usage.input,
            usage.output,
            usage.cache_read,
            usage.cache_write,
        ];
        let names = [
            "{\"input\":",
            ",\"output\":",
            ",\"cacheRead\":",
            ",\"cacheWrite\":",
        ];
        for (name, count) in names.into_iter().zip(counts) {
            self.put(name);
            self.number(count);
        }
        if self.format != Format::PiV1 {
            self.put(",\"totalTokens\":");
            self.number(usage.total());
        }
        self.put(",\"cost\":");
        for (name, count) in names.into_iter().zip(cost) {
            self.put(name);
            self.money(count);
        }
        self.put(",\"total\":");
        self.money(cost.iter().sum());
        self.put("}}");
    }

    /// The data of codebot's `llm_call`.
    pub(super) fn codebot_call(&mut self, model_at: u8, usage: Usage) {
        let [provider, _, name] = model(model_at);
        self.put("\"provider\":\"");
        self.put(provider);
        self.put("\",\"model\":\"");
        self.put(name);
        self.put("\"");
        for (field, count) in [
            (",\"input_tokens\":", usage.input),
            (",\"output_tokens\":", usage.output),
            (",\"cache_read_tokens\":", usage.cache_read),
            (",\"cache_creation_tokens\":", usage.cache_write),
            (",\"total_tokens\":", usage.total()),
            (",\"latency_ms\":", 200 + usage.output * 9),
        ] {
            self.put(field);
            self.number(count);
        }
    }
}
