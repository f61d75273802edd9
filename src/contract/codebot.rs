//! The entries of codebot's format, one function a kind, fields in the order of codebot's writer.
//! They only put texts together: payloads are checked when the entry is appended.
//!
//! ```
//! use leaflog::codebot::{self, LlmCall, Plan};
//!
//! let entries = [
//!     codebot::message(r#"{"role":"user","content":[{"type":"text","text":"hi"}]}"#),
//!     codebot::model_change("anthropic", "claude-sonnet-4-5"),
//!     codebot::reasoning_effort_change("high"),
//!     codebot::compaction("What was said.", Some("[]")),
//!     codebot::session_info("A name"),
//!     codebot::plan_state(&Plan { phase: "planning", slug: Some("port"), pre_mode: None }),
//!     codebot::goal_state(r#"{"goal":"port it"}"#),
//!     codebot::llm_call(&LlmCall { provider: "anthropic", model: "claude-sonnet-4-5", ..LlmCall::default() }),
//! ];
//! assert_eq!(entries[1].fields(), r#"{"provider":"anthropic","model":"claude-sonnet-4-5"}"#);
//! assert_eq!(entries[5].fields(), r#"{"phase":"planning","slug":"port"}"#);
//! ```

use super::NewEntry;
use super::fields::Fields;

/// A message: the whole object as JSON. Thinking blocks of more than 200 characters are cut when
/// it is stored.
#[must_use]
pub fn message(message: &str) -> NewEntry {
    NewEntry::new("message", message)
}

/// The model changes.
#[must_use]
pub fn model_change(provider: &str, model: &str) -> NewEntry {
    let fields = Fields::new()
        .text("provider", provider)
        .text("model", model);
    NewEntry::new("model_change", fields.end())
}

/// The reasoning effort changes.
#[must_use]
pub fn reasoning_effort_change(level: &str) -> NewEntry {
    let fields = Fields::new().text("level", level);
    NewEntry::new("reasoning_effort_change", fields.end())
}

/// A summary takes the place of all messages so far. `messages` is the JSON array of those that
/// are kept behind it.
#[must_use]
pub fn compaction(summary: &str, messages: Option<&str>) -> NewEntry {
    let fields = Fields::new()
        .text("summary", summary)
        .json_if("messages", messages);
    NewEntry::new("compaction", fields.end())
}

/// The session's name from here on.
#[must_use]
pub fn session_info(name: &str) -> NewEntry {
    NewEntry::new("session_info", Fields::new().text("name", name).end())
}

/// What [`plan_state`] takes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plan<'a> {
    /// The phase.
    pub phase: &'a str,
    /// The plan's short name.
    pub slug: Option<&'a str>,
    /// The mode to return to.
    pub pre_mode: Option<&'a str>,
}

/// The plan, whole: what it leaves out is not set any more.
#[must_use]
pub fn plan_state(plan: &Plan<'_>) -> NewEntry {
    let fields = Fields::new()
        .text("phase", plan.phase)
        .text_if("slug", plan.slug)
        .text_if("pre_mode", plan.pre_mode);
    NewEntry::new("plan_state", fields.end())
}

/// The goal: any JSON object.
#[must_use]
pub fn goal_state(goal: &str) -> NewEntry {
    NewEntry::new("goal_state", goal)
}

/// What [`llm_call`] takes: counts in tokens, the time in milliseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct LlmCall<'a> {
    /// Who serves the model.
    pub provider: &'a str,
    /// The model.
    pub model: &'a str,
    /// Sent.
    pub input_tokens: u64,
    /// Received.
    pub output_tokens: u64,
    /// Of those sent, read from a cache.
    pub cache_read_tokens: Option<u64>,
    /// Of those sent, written to a cache.
    pub cache_creation_tokens: Option<u64>,
    /// All together.
    pub total_tokens: Option<u64>,
    /// How long it took.
    pub latency_ms: Option<u64>,
    /// Why it ended.
    pub stop_reason: Option<&'a str>,
    /// Why the cache was missed, as JSON.
    pub cache_break: Option<&'a str>,
}

/// A call of a model, for the record: it is no part of the context.
#[must_use]
pub fn llm_call(call: &LlmCall<'_>) -> NewEntry {
    let fields = Fields::new()
        .text("provider", call.provider)
        .text("model", call.model)
        .plain("input_tokens", call.input_tokens)
        .plain("output_tokens", call.output_tokens)
        .plain_if("cache_read_tokens", call.cache_read_tokens)
        .plain_if("cache_creation_tokens", call.cache_creation_tokens)
        .plain_if("total_tokens", call.total_tokens)
        .plain_if("latency_ms", call.latency_ms)
        .text_if("stop_reason", call.stop_reason)
        .json_if("cache_break", call.cache_break);
    NewEntry::new("llm_call", fields.end())
}
