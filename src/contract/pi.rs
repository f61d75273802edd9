//! The entries and records of pi's formats, one function a type, fields in the order of pi's
//! writers. They only put texts together: payloads are checked when the line is written.
//!
//! ```
//! use leaflog::pi::{self, More};
//!
//! let user = r#"{"role":"user","content":"hi","timestamp":1}"#;
//! let usage = r#"{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"total":0.1}}"#;
//! let both = [
//!     pi::message(user),
//!     pi::model_change("anthropic", "claude-sonnet-4-5"),
//!     pi::thinking_level_change("high"),
//!     pi::branch_summary("e1", "What was tried.", &More::default()),
//!     pi::custom("note", Some("1")),
//! ];
//! assert_eq!(both[4].fields(), r#"{"customType":"note","data":1}"#);
//! let v4 = [
//!     pi::tool_result(user, true),
//!     pi::active_tools_change(&["read", "write"]),
//!     pi::compaction("What was said.", "[]", 1200, &More { usage: Some(usage), ..More::default() }),
//! ];
//! assert_eq!(v4[1].fields(), r#"{"activeToolNames":["read","write"]}"#);
//! let v3 = [
//!     pi::compaction_v3("What was said.", "e1", 1200, &More::default()),
//!     pi::custom_message("note", "\"text\"", true, None),
//!     pi::context_edit("e1", None),
//!     pi::label("e1", Some("start")),
//!     pi::session_info(" A\nname "),
//!     pi::usage_entry("title", "anthropic", "claude-sonnet-4-5", usage, None),
//! ];
//! assert_eq!(v3[4].fields(), r#"{"name":"A name"}"#);
//! ```

use super::fields::{Fields, strings};
use super::{NewEntry, NewRecord};

/// What some entries may have beside what they must have.
#[derive(Clone, Copy, Debug, Default)]
pub struct More<'a> {
    /// Anything, as JSON.
    pub details: Option<&'a str>,
    /// What making the summary used, as a JSON object.
    pub usage: Option<&'a str>,
    /// Whether an extension made it (pi v3; left out of [`compaction`]).
    pub from_hook: Option<bool>,
    /// The system message to go on with, as a JSON object ([`compaction_v3`] only).
    pub system_message: Option<&'a str>,
}

/// A message, as a JSON object.
#[must_use]
pub fn message(message: &str) -> NewEntry {
    NewEntry::new("message", Fields::new().json("message", message).end())
}

/// A message with a tool's result, and whether the run ends with it (pi v4).
#[must_use]
pub fn tool_result(message: &str, terminate: bool) -> NewEntry {
    let fields = Fields::new()
        .json("message", message)
        .plain_if("terminate", terminate.then_some(true));
    NewEntry::new("message", fields.end())
}

/// The model changes.
#[must_use]
pub fn model_change(provider: &str, model: &str) -> NewEntry {
    let fields = Fields::new()
        .text("provider", provider)
        .text("modelId", model);
    NewEntry::new("model_change", fields.end())
}

/// The thinking level changes.
#[must_use]
pub fn thinking_level_change(level: &str) -> NewEntry {
    let fields = Fields::new().text("thinkingLevel", level);
    NewEntry::new("thinking_level_change", fields.end())
}

/// The active tools change (pi v4).
#[must_use]
pub fn active_tools_change(names: &[&str]) -> NewEntry {
    let fields = Fields::new().json("activeToolNames", &strings(names));
    NewEntry::new("active_tools_change", fields.end())
}

/// A summary and a JSON array of kept messages take the place of what came before (pi v4).
#[must_use]
pub fn compaction(summary: &str, retained: &str, tokens_before: u64, more: &More<'_>) -> NewEntry {
    let fields = Fields::new()
        .text("summary", summary)
        .json("retainedTail", retained)
        .plain("tokensBefore", tokens_before)
        .json_if("details", more.details)
        .json_if("usage", more.usage);
    NewEntry::new("compaction", fields.end())
}

/// A summary takes the place of what came before an entry (pi v3).
#[must_use]
pub fn compaction_v3(
    summary: &str,
    first_kept: &str,
    tokens_before: u64,
    more: &More<'_>,
) -> NewEntry {
    let fields = Fields::new()
        .text("summary", summary)
        .text("firstKeptEntryId", first_kept)
        .plain("tokensBefore", tokens_before)
        .json_if("details", more.details)
        .json_if("usage", more.usage)
        .plain_if("fromHook", more.from_hook)
        .json_if("systemMessage", more.system_message);
    NewEntry::new("compaction", fields.end())
}

/// What was done on the branch that ends with an entry.
#[must_use]
pub fn branch_summary(from: &str, summary: &str, more: &More<'_>) -> NewEntry {
    let fields = Fields::new()
        .text("fromId", from)
        .text("summary", summary)
        .json_if("details", more.details)
        .json_if("usage", more.usage)
        .plain_if("fromHook", more.from_hook);
    NewEntry::new("branch_summary", fields.end())
}

/// An extension's entry, which is no part of the context, with any JSON.
#[must_use]
pub fn custom(custom_type: &str, data: Option<&str>) -> NewEntry {
    let fields = Fields::new()
        .text("customType", custom_type)
        .json_if("data", data);
    NewEntry::new("custom", fields.end())
}

/// An extension's message (pi v3): content (a string or an array of blocks) and details as JSON.
#[must_use]
pub fn custom_message(
    custom_type: &str,
    content: &str,
    display: bool,
    details: Option<&str>,
) -> NewEntry {
    let fields = Fields::new()
        .text("customType", custom_type)
        .json("content", content)
        .plain("display", display)
        .json_if("details", details);
    NewEntry::new("custom_message", fields.end())
}

/// Another content, as JSON, for an earlier message; none takes it out of the context (pi v3).
#[must_use]
pub fn context_edit(target: &str, content: Option<&str>) -> NewEntry {
    let replacement = content.map(|content| Fields::new().json("content", content).end());
    let fields = Fields::new()
        .text("targetId", target)
        .json("replacement", replacement.as_deref().unwrap_or("null"));
    NewEntry::new("context_edit", fields.end())
}

/// A label for an entry; none clears it (pi v3; a fact in pi v4).
#[must_use]
pub fn label(target: &str, label: Option<&str>) -> NewEntry {
    let fields = Fields::new()
        .text("targetId", target)
        .text_if("label", label);
    NewEntry::new("label", fields.end())
}

/// The session's name, line breaks as spaces and trimmed; an empty one clears it (pi v3; a fact
/// in pi v4).
#[must_use]
pub fn session_info(name: &str) -> NewEntry {
    let lines: Vec<&str> = name
        .trim()
        .split(['\r', '\n'])
        .filter(|line| !line.is_empty())
        .collect();
    let fields = Fields::new().text("name", lines.join(" ").trim());
    NewEntry::new("session_info", fields.end())
}

/// What a call beside the conversation used, as a JSON object (pi v3).
#[must_use]
pub fn usage_entry(
    kind: &str,
    provider: &str,
    model: &str,
    usage: &str,
    note: Option<&str>,
) -> NewEntry {
    let fields = Fields::new()
        .text("kind", kind)
        .text("provider", provider)
        .text("model", model)
        .json("usage", usage)
        .text_if("note", note);
    NewEntry::new("usage", fields.end())
}

/// An operation starts (pi v4). `intent` is a JSON object whose `kind` is `run`, `compaction` or
/// `navigation`.
///
/// ```
/// use leaflog::pi;
///
/// let records = [
///     pi::operation_started("main", None, r#"{"kind":"run","originalPrompt":[],"initialMessages":[]}"#),
///     pi::abort_requested("main", "r1"),
///     pi::operation_finished("main", "r1", "aborted", None),
///     pi::queue_enqueued("main", "nextRun", None, r#"{"type":"message","id":"q1"}"#),
///     pi::queue_cancelled("main", None, "q1"),
///     pi::write_deferred("main", "r1", r#"{"type":"message","id":"q2"}"#),
///     pi::usage("main", "adjustment", "{}", None),
/// ];
/// assert_eq!(records[1].fields(), r#"{"runId":"r1"}"#);
/// assert_eq!(records[4].fields(), r#"{"entryId":"q1"}"#);
/// ```
#[must_use]
pub fn operation_started(lane: &str, source_leaf: Option<&str>, intent: &str) -> NewRecord {
    let fields = match source_leaf {
        Some(leaf) => Fields::new().text("sourceLeafId", leaf),
        None => Fields::new().json("sourceLeafId", "null"),
    };
    let fields = fields.json("intent", intent);
    NewRecord::new("operation_started", lane, fields.end())
}

/// Somebody asked for a run to stop (pi v4).
#[must_use]
pub fn abort_requested(lane: &str, run: &str) -> NewRecord {
    NewRecord::new(
        "abort_requested",
        lane,
        Fields::new().text("runId", run).end(),
    )
}

/// An operation ends (pi v4): `completed`, `aborted`, `failed` or `declined`, with the error as a
/// JSON object.
#[must_use]
pub fn operation_finished(lane: &str, run: &str, outcome: &str, error: Option<&str>) -> NewRecord {
    let fields = Fields::new()
        .text("runId", run)
        .text("outcome", outcome)
        .json_if("error", error);
    NewRecord::new("operation_finished", lane, fields.end())
}

/// What [`step_attempt`] takes.
///
/// ```
/// use leaflog::pi::{StepAttempt, step_attempt};
///
/// let step = StepAttempt { run: "r1", step: "assistant", attempt: 1, result_entry: "e2", ..StepAttempt::default() };
/// assert_eq!(
///     step_attempt("main", &step).fields(),
///     r#"{"runId":"r1","step":"assistant","attempt":1,"resultEntryId":"e2"}"#,
/// );
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct StepAttempt<'a> {
    /// The operation.
    pub run: &'a str,
    /// `assistant`, `branch_summary` or `compaction`.
    pub step: &'a str,
    /// Counted from 1.
    pub attempt: u64,
    /// The id that the entry will have.
    pub result_entry: &'a str,
    /// Why a compaction began: `manual`, `threshold` or `overflow`.
    pub compaction_reason: Option<&'a str>,
}

/// A step of a run is tried (pi v4).
#[must_use]
pub fn step_attempt(lane: &str, step: &StepAttempt<'_>) -> NewRecord {
    let fields = Fields::new()
        .text("runId", step.run)
        .text("step", step.step)
        .plain("attempt", step.attempt)
        .text("resultEntryId", step.result_entry)
        .text_if("compactionReason", step.compaction_reason);
    NewRecord::new("step_attempt", lane, fields.end())
}

/// What [`tool_started`] takes.
///
/// ```
/// use leaflog::pi::{ToolStarted, tool_started};
///
/// let tool = ToolStarted {
///     run: "r1", assistant_entry: "e2", tool_index: 0, tool_call: "c1", tool_name: "read",
///     effective_args: "{}", result_entry: "e3", replay: "safe",
/// };
/// assert!(tool_started("main", &tool).fields().ends_with(r#""resultEntryId":"e3","replay":"safe"}"#));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ToolStarted<'a> {
    /// The operation.
    pub run: &'a str,
    /// The entry that called the tool.
    pub assistant_entry: &'a str,
    /// Which of its calls, counted from 0.
    pub tool_index: u64,
    /// The id of the call.
    pub tool_call: &'a str,
    /// The tool.
    pub tool_name: &'a str,
    /// What it is run with, as a JSON object.
    pub effective_args: &'a str,
    /// The id that the result will have.
    pub result_entry: &'a str,
    /// `never` or `safe`: whether it may be run again after a crash.
    pub replay: &'a str,
}

/// A tool starts (pi v4).
#[must_use]
pub fn tool_started(lane: &str, tool: &ToolStarted<'_>) -> NewRecord {
    let fields = Fields::new()
        .text("runId", tool.run)
        .text("assistantEntryId", tool.assistant_entry)
        .plain("toolIndex", tool.tool_index)
        .text("toolCallId", tool.tool_call)
        .text("toolName", tool.tool_name)
        .json("effectiveArgs", tool.effective_args)
        .text("resultEntryId", tool.result_entry)
        .text("replay", tool.replay);
    NewRecord::new("tool_started", lane, fields.end())
}

/// An entry (a JSON object) waits in a queue (pi v4): `steer`, `followUp` or `nextRun`.
#[must_use]
pub fn queue_enqueued(lane: &str, queue: &str, run: Option<&str>, target: &str) -> NewRecord {
    let fields = Fields::new()
        .text("queue", queue)
        .text_if("runId", run)
        .json("target", target);
    NewRecord::new("queue_enqueued", lane, fields.end())
}

/// An entry that waited in a queue will not be appended (pi v4).
#[must_use]
pub fn queue_cancelled(lane: &str, run: Option<&str>, entry: &str) -> NewRecord {
    let fields = Fields::new().text_if("runId", run).text("entryId", entry);
    NewRecord::new("queue_cancelled", lane, fields.end())
}

/// An entry (a JSON object) is to be appended when the run allows it (pi v4).
#[must_use]
pub fn write_deferred(lane: &str, run: &str, target: &str) -> NewRecord {
    let fields = Fields::new().text("runId", run).json("target", target);
    NewRecord::new("write_deferred", lane, fields.end())
}

/// What something used, as a JSON object (pi v4). `more` is a JSON object of the fields that the
/// cause asks for, such as `{"runId":"r1","entryId":"e2"}`.
#[must_use]
pub fn usage(lane: &str, cause: &str, usage: &str, more: Option<&str>) -> NewRecord {
    let mut fields = Fields::new()
        .text("cause", cause)
        .json("usage", usage)
        .end();
    // What is no object stays as it is, and is refused when the record is written.
    let inner = more.map(str::trim).map(|more| {
        let inner = more
            .strip_prefix('{')
            .and_then(|more| more.strip_suffix('}'));
        inner.unwrap_or(more).trim()
    });
    let inner = inner.filter(|inner| !inner.is_empty());
    if let Some(inner) = inner {
        fields.pop();
        fields.push(',');
        fields.push_str(inner);
        fields.push('}');
    }
    NewRecord::new("usage", lane, fields)
}
