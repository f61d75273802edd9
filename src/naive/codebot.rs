//! codebot v3: what each line is, and what a path of entries amounts to: messages after compaction
//! and repair, model, effort, plan, goal, name. For the reading loop and `Replay::snapshot` only.
//! Messages stay as they are spelled; only whole ones are added or dropped.

use std::collections::HashSet;

use super::envelope::{self, object, objects, texts};
use super::json::{self, Fields};
use super::log::{Entry, Finding, Header, Log, Place, Reports};
use super::time;
use crate::model::{Model, Plan, Snapshot};

/// Why the object cannot be kept, or its id.
pub(super) fn identify(fields: &Fields<'_>) -> Result<String, Finding> {
    envelope::id(fields)
}

/// Takes one object of the file, the header too.
pub(super) fn take(log: &mut Log, object: String, place: Place, reports: &mut Reports) {
    let fields = Fields::of(&object);
    let id = match identify(&fields) {
        Ok(id) => id,
        Err(finding) => return reports.skipped(place, finding),
    };
    let kind = envelope::kind(&fields, "kind", place, reports);
    let parent = envelope::parent(&fields, "parent_id", place, reports);
    let expected = "a time by RFC 3339";
    let time = envelope::time(&fields, time::rfc3339, expected, place, reports);
    let good = envelope::good(payload(&kind, &fields), place, reports);
    log.report_duplicate(&id, place, reports);
    log.count(kind.clone());
    log.entries.add(Entry {
        id,
        parent,
        kind,
        time,
        good,
        place,
        object,
    });
}

/// Whether an entry sets the reasoning effort: the kind has an older name.
fn sets_effort(kind: &str) -> bool {
    matches!(kind, "reasoning_effort_change" | "thinking_change")
}

fn payload(kind: &str, fields: &Fields<'_>) -> Result<(), String> {
    let data = || object(fields, "data").map(Fields::of);
    match kind {
        "header" | "goal_state" | "llm_call" => data().map(drop),
        "message" => message(&data()?),
        "model_change" => texts(&data()?, &["provider", "model"]),
        _ if sets_effort(kind) => texts(&data()?, &["level"]),
        "compaction" => {
            let data = data()?;
            texts(&data, &["summary"])?;
            objects(&data, "messages")?
                .into_iter()
                .try_for_each(|kept| message(&Fields::of(kept)))
        }
        "session_info" => texts(&data()?, &["name"]),
        "plan_state" => texts(&data()?, &["phase", "slug", "pre_mode"]),
        _ => Ok(()),
    }
}

fn message(message: &Fields<'_>) -> Result<(), String> {
    texts(message, &["role"])?;
    objects(message, "content").map(drop)
}

/// Fills a snapshot from a path, root first.
pub(super) fn fill(header: &Header, path: &[&Entry], snapshot: &mut Snapshot) {
    let mut messages = Vec::new();
    let mut name = header.name.clone();
    for entry in path.iter().filter(|entry| entry.good) {
        let line = entry.fields();
        let raw = line.get("data").unwrap_or_default();
        let data = Fields::of(raw);
        let text = |key: &str| data.string(key).map(String::from);
        match entry.kind.as_str() {
            "message" => messages.push(raw.to_owned()),
            "compaction" => messages = compacted(&line, &data),
            "model_change" => {
                snapshot.model = Some(Model {
                    provider: text("provider"),
                    model: text("model"),
                });
            }
            "plan_state" => {
                snapshot.plan = Some(Plan {
                    phase: text("phase"),
                    slug: text("slug"),
                    pre_mode: text("pre_mode"),
                });
            }
            "goal_state" => snapshot.goal = Some(raw.to_owned()),
            "session_info" => name = text("name"),
            kind if sets_effort(kind) => snapshot.reasoning_effort = text("level"),
            _ => {}
        }
    }
    snapshot.name = name.filter(|name| !name.is_empty());
    for message in repaired(&messages) {
        snapshot.messages.push(&message);
    }
}

/// The messages that a compaction leaves.
fn compacted(line: &Fields<'_>, data: &Fields<'_>) -> Vec<String> {
    let mut messages = Vec::new();
    let summary = data.get("summary").unwrap_or("null");
    if json::string(summary).is_some_and(|text| !text.is_empty()) {
        let timestamp = line.get("timestamp").filter(|raw| json::is_string(raw));
        let timestamp = timestamp.map_or(String::new(), |raw| format!(",\"timestamp\":{raw}"));
        messages.push(format!(
            "{{\"role\":\"user\",\"content\":[{{\"type\":\"text\",\"text\":{summary}}}]{timestamp}}}"
        ));
    }
    let kept = json::elements(data.get("messages").unwrap_or("null"));
    messages.extend(kept.into_iter().map(str::to_owned));
    messages
}

/// A message as the repair sees it.
struct Message<'a> {
    raw: &'a str,
    is_tool: bool,
    /// Ids of tool calls, decoded and as spelled, each once; only assistants have any.
    calls: Vec<(String, &'a str)>,
    /// The call that a tool message answers.
    answer: Option<String>,
}

impl<'a> Message<'a> {
    fn of(raw: &'a str) -> Self {
        let fields = Fields::of(raw);
        let is_tool = fields.is("role", "tool");
        let mut calls = Vec::new();
        if fields.is("role", "assistant") {
            let mut known = HashSet::new();
            for block in json::elements(fields.get("content").unwrap_or("null")) {
                calls.extend(call(block).filter(|(id, _)| known.insert(id.clone())));
            }
        }
        let answer = || {
            let metadata = Fields::of(fields.get("metadata")?);
            let id = metadata.string("tool_call_id")?;
            (!id.is_empty()).then(|| id.into_owned())
        };
        Self {
            raw,
            is_tool,
            calls,
            answer: if is_tool { answer() } else { None },
        }
    }
}

/// The id of the tool call that a block is, decoded and as spelled.
fn call(block: &str) -> Option<(String, &str)> {
    let block = Fields::of(block);
    if !block.is("type", "toolCall") {
        return None;
    }
    let raw = Fields::of(block.get("tool_call")?).get("id")?;
    let id = json::string(raw)?;
    (!id.is_empty()).then(|| (id.into_owned(), raw))
}

/// The messages with an answer for every call, and without answers to calls that nobody made:
/// providers refuse a conversation otherwise.
fn repaired(messages: &[String]) -> Vec<String> {
    let messages: Vec<_> = messages.iter().map(|raw| Message::of(raw)).collect();
    let calls = messages.iter().flat_map(|message| &message.calls);
    let made: HashSet<_> = calls.map(|(id, _)| id.as_str()).collect();
    let mut repaired = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let stray = |answer: &String| !made.contains(answer.as_str());
        if message.answer.as_ref().is_some_and(stray) {
            continue;
        }
        repaired.push(message.raw.to_owned());
        if message.calls.is_empty() {
            continue;
        }
        let behind = messages.get(index + 1..).unwrap_or_default();
        let run = behind.iter().take_while(|message| message.is_tool);
        let answered: HashSet<_> = run.filter_map(|tool| tool.answer.as_deref()).collect();
        for (id, raw) in &message.calls {
            if !answered.contains(id.as_str()) {
                repaired.push(missing_result(raw));
            }
        }
    }
    repaired
}

/// The tool message that stands in for an answer that is not there.
fn missing_result(id: &str) -> String {
    let text = r#""\"Tool result missing (conversation was truncated or interrupted).\"""#;
    format!(
        "{{\"role\":\"tool\",\"content\":[{{\"type\":\"text\",\"text\":{text}}}],\
         \"metadata\":{{\"tool_call_id\":{id},\"is_error\":true}}}}"
    )
}
