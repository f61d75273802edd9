//! What the model accepts: the shapes of payloads, asked of the naive replay and of a plain list of
//! required fields, one at a time.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::lines;
use crate::contract::{CreateOptions, NewEntry, NewRecord};
use crate::error::{Code, Error, Result};
use crate::model::Format;
use crate::naive::{ReadOptions, Replay};

/// The fields of an object, each as it is spelled.
pub(in crate::conformance) type Raw = BTreeMap<String, Box<RawValue>>;

fn bad(what: impl Into<String>) -> Error {
    Error::new(Code::InvalidPayload, what)
}

/// The fields of an object.
pub(in crate::conformance) fn raw(object: &str) -> Result<Raw> {
    serde_json::from_str(object).map_err(|error| bad(format!("no JSON object: {error}")))
}

/// A field that is a string.
pub(in crate::conformance) fn string(raw: &Raw, key: &str) -> Option<String> {
    serde_json::from_str(raw.get(key)?.get()).ok()
}

/// How deep a JSON text is nested.
fn depth(json: &str) -> usize {
    let (mut now, mut deepest, mut quoted, mut escaped) = (0_usize, 0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' | b'[' => now += 1,
            b'}' | b']' => now = now.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(now);
    }
    deepest
}

/// Refuses own fields that are no object, too deep, or name what the store gives.
fn own(fields: &str, reserved: &[&str]) -> Result<Raw> {
    let raw = raw(fields)?;
    if depth(fields) >= 1024 {
        return Err(bad("nested too deep"));
    }
    match reserved.iter().find(|key| raw.contains_key(**key)) {
        Some(key) => Err(bad(format!("`{key}` is given by the store"))),
        None => Ok(raw),
    }
}

/// Refuses a line that the naive replay would report.
fn strictly(format: Format, line: &str) -> Result<()> {
    let header = lines::header(format, "s", 0, &CreateOptions::default());
    let log = format!("{header}{line}");
    let strict = ReadOptions {
        strict: true,
        ..ReadOptions::default()
    };
    match Replay::from_bytes(log.as_bytes(), strict) {
        Ok(_) => Ok(()),
        Err(error) => Err(bad(error.message())),
    }
}

/// Refuses an entry that its format cannot hold.
pub(super) fn entry(format: Format, new: &NewEntry) -> Result<()> {
    let (kind, fields) = (new.kind(), new.fields());
    let codebot = format == Format::CodebotV3;
    let reserved: &[&str] = match format {
        Format::CodebotV3 => &[],
        Format::PiV4 => &["kind", "lane", "type", "id", "parentId", "seq", "timestamp"],
        _ => &["type", "id", "parentId", "timestamp"],
    };
    let raw = own(fields, reserved)?;
    let known: &[&str] = match format {
        Format::CodebotV3 => &[
            "message",
            "model_change",
            "reasoning_effort_change",
            "thinking_change",
            "compaction",
            "session_info",
            "plan_state",
            "goal_state",
            "llm_call",
        ],
        Format::PiV4 => &[
            "message",
            "model_change",
            "thinking_level_change",
            "active_tools_change",
            "compaction",
            "branch_summary",
            "custom",
        ],
        _ => &[
            "message",
            "model_change",
            "thinking_level_change",
            "compaction",
            "branch_summary",
            "custom",
            "custom_message",
            "context_edit",
            "label",
            "session_info",
            "usage",
        ],
    };
    if !known.contains(&kind) {
        return Err(bad(format!("{format} has no kind `{kind}`")));
    }
    let texts: &[&str] = match kind {
        _ if codebot => &[],
        "model_change" => &["provider", "modelId"],
        "custom" | "custom_message" => &["customType"],
        "compaction" => &["summary"],
        "branch_summary" => &["summary", "fromId"],
        _ => &[],
    };
    if let Some(key) = texts.iter().find(|key| string(&raw, key).is_none()) {
        return Err(bad(format!("`{key}` is no string")));
    }
    let list = match kind {
        "compaction" if format == Format::PiV4 => Some("retainedTail"),
        "active_tools_change" => Some("activeToolNames"),
        _ => None,
    };
    let is_list = |key: &str| raw.get(key).is_some_and(|raw| raw.get().starts_with('['));
    if list.is_some_and(|key| !is_list(key)) {
        return Err(bad("a list is missing"));
    }
    let id = new.id().unwrap_or("00000001");
    let parent = codebot.then_some("h0");
    strictly(format, &lines::entry(format, new, id, parent, None, 1, 0))
}

/// Refuses a record that pi v4 cannot hold.
pub(super) fn record(new: &NewRecord) -> Result<()> {
    let reserved = ["kind", "type", "id", "lane", "seq", "timestamp"];
    let raw = own(new.fields(), &reserved)?;
    let good = match new.kind() {
        "operation_started" => {
            let intent = raw
                .get("intent")
                .and_then(|intent| self::raw(intent.get()).ok());
            let kind = intent.and_then(|intent| string(&intent, "kind"));
            matches!(kind.as_deref(), Some("run" | "compaction" | "navigation"))
        }
        "operation_finished" => string(&raw, "runId").is_some(),
        "abort_requested" | "step_attempt" | "tool_started" | "queue_enqueued"
        | "queue_cancelled" | "write_deferred" | "usage" => true,
        _ => false,
    };
    if !good {
        return Err(bad(format!("no good `{}`", new.kind())));
    }
    let id = new.id().unwrap_or("r");
    let line = lines::record(new, id, 1, 0);
    // The lane is checked elsewhere.
    strictly(
        Format::PiV4,
        &line.replacen(
            &lines::lane_field(new.lane()),
            &lines::lane_field("main"),
            1,
        ),
    )
}

/// Refuses an id that the format has not the shape of.
pub(super) fn entry_id(format: Format, id: &str) -> Result<()> {
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if format == Format::PiV4 || (id.len() == 8 && id.bytes().all(hex)) {
        return Ok(());
    }
    let what = format!("{format} has ids of 8 lower-case hex digits, not {id:?}");
    Err(Error::new(Code::Unsupported, what))
}

pub(super) fn session_id(id: &str) -> Result<()> {
    let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let inner = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let good = ends(id.chars().next()) && ends(id.chars().last()) && id.chars().all(inner);
    if good && id.len() <= 200 {
        return Ok(());
    }
    Err(bad(format!("{id:?} cannot name a session")))
}

pub(super) fn metadata(metadata: Option<&str>) -> Result<()> {
    match metadata {
        Some(metadata) => raw(metadata).map(drop),
        None => Ok(()),
    }
}
