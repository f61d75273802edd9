//! What a path of pi entries amounts to: messages after compaction and edits, model, thinking level, tools.
//! For `Replay::snapshot` only. Raw values are never respelled; v4 shares state and made-up messages with v1 to v3.

use std::collections::HashMap;

use super::json::{self, Fields};
use super::log::Entry;
use super::pi::id_of_position;
use super::v4::tool_names;
use crate::model::{Format, Model, Snapshot};

/// Fills a snapshot from a path of pi v1 to v3, root first.
pub(super) fn fill(format: Format, path: &[&Entry], snapshot: &mut Snapshot) {
    fill_state(path, snapshot);
    let context = Context::of(format, path);
    let mut made = context.messages(format);
    edit(&mut made, &context.edits());
    for message in made {
        snapshot.messages.push(&message.text);
    }
}

/// Fills a snapshot from a path of pi v4, root first. Custom entries give nothing: what they mean
/// only their writer knows.
pub(super) fn fill_v4(path: &[&Entry], snapshot: &mut Snapshot) {
    fill_state(path, snapshot);
    let mut tools = path
        .iter()
        .rev()
        .filter(|entry| entry.acts_as("active_tools_change"));
    snapshot.active_tools = tools
        .next()
        .and_then(|entry| tool_names(&entry.fields()).ok());

    let last = path.iter().rposition(|entry| entry.acts_as("compaction"));
    let context = path.get(last.unwrap_or(0)..).unwrap_or_default();
    for entry in context.iter().filter(|entry| entry.good) {
        let line = entry.fields();
        // The entry's own spelling, where it is a time at all.
        let time = entry.time.and(line.get("timestamp")).unwrap_or("null");
        match entry.kind.as_str() {
            "compaction" => {
                snapshot.messages.push(&compaction_summary(&line, time));
                for message in json::elements(line.get("retainedTail").unwrap_or("null")) {
                    snapshot.messages.push(message);
                }
            }
            "branch_summary" => {
                if let Some(message) = branch_summary(&line, time) {
                    snapshot.messages.push(&message);
                }
            }
            "message" => {
                let raw = line.get("message").unwrap_or("{}");
                if !is_deferred(raw) {
                    snapshot.messages.push(raw);
                }
            }
            _ => {}
        }
    }
}

/// Whether a message is a place held for an answer that comes later.
fn is_deferred(message: &str) -> bool {
    let fields = Fields::of(message);
    fields.is("role", "assistant") && fields.is("stopReason", "deferred")
}

/// Fills model and thinking level, which a compaction does not end.
fn fill_state(path: &[&Entry], snapshot: &mut Snapshot) {
    let mut level = "off".to_owned();
    for entry in path.iter().filter(|entry| entry.good) {
        let line = entry.fields();
        match entry.kind.as_str() {
            "model_change" => {
                snapshot.model = Some(Model {
                    provider: line.string("provider").map(String::from),
                    model: line.string("modelId").map(String::from),
                });
            }
            "thinking_level_change" => {
                level = line
                    .string("thinkingLevel")
                    .unwrap_or_default()
                    .into_owned();
            }
            "message" => {
                if let Some(model) = model_of(&Fields::of(line.get("message").unwrap_or_default()))
                {
                    snapshot.model = Some(model);
                }
            }
            _ => {}
        }
    }
    snapshot.reasoning_effort = Some(level);
}

fn model_of(message: &Fields<'_>) -> Option<Model> {
    if !message.is("role", "assistant") {
        return None;
    }
    let provider = message.string("provider").map(String::from);
    let model = message.string("model").map(String::from);
    (provider.is_some() || model.is_some()).then_some(Model { provider, model })
}

/// The entries of a path that make up the context.
struct Context<'p, 'a> {
    compaction: Option<&'a Entry>,
    /// Those before the compaction that it keeps.
    kept: &'p [&'a Entry],
    after: &'p [&'a Entry],
}

impl<'p, 'a> Context<'p, 'a> {
    fn of(format: Format, path: &'p [&'a Entry]) -> Self {
        let last = path.iter().rposition(|entry| entry.acts_as("compaction"));
        let split = last.and_then(|at| path.split_at_checked(at));
        let Some((before, [compaction, after @ ..])) = split else {
            return Self {
                compaction: None,
                kept: &[],
                after: path,
            };
        };
        let first = first_kept(format, &compaction.fields());
        let first = before
            .iter()
            .position(|entry| Some(&entry.id) == first.as_ref());
        Self {
            compaction: Some(compaction),
            kept: first.and_then(|at| before.get(at..)).unwrap_or_default(),
            after,
        }
    }

    fn messages(&self, format: Format) -> Vec<Made<'a>> {
        let mut made = Vec::new();
        if let Some(entry) = self.compaction {
            let line = entry.fields();
            let mut push = |text: String| {
                made.push(Made {
                    of: &entry.id,
                    text,
                });
            };
            if let Some(system) = line.some("systemMessage") {
                push(system.to_owned());
            }
            push(compaction_summary(&line, &time_of(entry)));
        }
        for entry in self.kept {
            made.extend(message_of(format, entry).filter(|message| !message.has_role("system")));
        }
        for entry in self.after {
            made.extend(message_of(format, entry));
        }
        made
    }

    /// The latest edit of each target.
    fn edits(&self) -> HashMap<String, Edit<'a>> {
        let mut edits = HashMap::new();
        for entry in self.kept.iter().chain(self.after) {
            if entry.acts_as("context_edit") {
                let line = entry.fields();
                let target = line.string("targetId").unwrap_or_default().into_owned();
                let content = line
                    .some("replacement")
                    .and_then(|raw| Fields::of(raw).get("content"));
                edits.insert(target, content.map_or(Edit::Remove, Edit::Content));
            }
        }
        edits
    }
}

/// The id that a compaction keeps from. v1 names a line, counted from the header.
fn first_kept(format: Format, line: &Fields<'_>) -> Option<String> {
    let index = line.get("firstKeptEntryIndex").and_then(json::whole);
    match index {
        Some(index) if format == Format::PiV1 && index >= 0 => Some(id_of_position(index)),
        _ => line.string("firstKeptEntryId").map(String::from),
    }
}

/// A message of the context and the entry that it comes from.
struct Made<'a> {
    of: &'a str,
    text: String,
}

impl Made<'_> {
    fn has_role(&self, role: &str) -> bool {
        Fields::of(&self.text).is("role", role)
    }
}

/// What an edit does to the messages of its target.
#[derive(Clone, Copy)]
enum Edit<'a> {
    Remove,
    Content(&'a str),
}

fn edit(made: &mut Vec<Made<'_>>, edits: &HashMap<String, Edit<'_>>) {
    made.retain(|message| !matches!(edits.get(message.of), Some(Edit::Remove)));
    for message in made {
        if let Some(Edit::Content(content)) = edits.get(message.of) {
            let role = Fields::of(&message.text).string("role").map(String::from);
            let text = match role.as_deref() {
                Some("assistant" | "toolResult") if json::is_string(content) => {
                    format!("[{{\"type\":\"text\",\"text\":{content}}}]")
                }
                Some("user" | "assistant" | "toolResult" | "custom") => (*content).to_owned(),
                _ => continue,
            };
            message.text = json::with_field(&message.text, "content", &text);
        }
    }
}

/// The message that an entry gives; compactions are not asked.
fn message_of(format: Format, entry: &Entry) -> Option<Made<'_>> {
    if !entry.good {
        return None;
    }
    let line = entry.fields();
    let text = match entry.kind.as_str() {
        "message" => message(format, line.get("message")?),
        "branch_summary" => branch_summary(&line, &time_of(entry))?,
        "custom_message" => custom_message(&line, &time_of(entry)),
        _ => return None,
    };
    Some(Made {
        of: &entry.id,
        text,
    })
}

fn message(format: Format, raw: &str) -> String {
    let fields = Fields::of(raw);
    let role = fields.string("role");
    match role.as_deref() {
        Some("hookMessage") if format != Format::PiV3 => {
            json::with_field(raw, "role", "\"custom\"")
        }
        Some("system") if fields.some("content").is_none() => {
            json::with_field(raw, "content", "\"\"")
        }
        Some("user" | "assistant" | "toolResult") if fields.some("content").is_none() => {
            json::with_field(raw, "content", "[]")
        }
        _ => raw.to_owned(),
    }
}

fn custom_message(line: &Fields<'_>, time: &str) -> String {
    built(
        "custom",
        &[
            ("customType", line.get("customType")),
            ("content", Some(line.some("content").unwrap_or("[]"))),
            ("display", line.get("display")),
            ("details", line.get("details")),
            ("timestamp", Some(time)),
        ],
    )
}

/// The message that tells what a compaction replaced.
fn compaction_summary(line: &Fields<'_>, time: &str) -> String {
    built(
        "compactionSummary",
        &[
            ("summary", line.get("summary")),
            ("tokensBefore", line.get("tokensBefore")),
            ("timestamp", Some(time)),
        ],
    )
}

/// The message that tells what another branch came to, if anything.
fn branch_summary(line: &Fields<'_>, time: &str) -> Option<String> {
    line.string("summary")
        .filter(|summary| !summary.is_empty())?;
    Some(built(
        "branchSummary",
        &[
            ("summary", line.get("summary")),
            ("fromId", line.get("fromId")),
            ("timestamp", Some(time)),
        ],
    ))
}

/// A message from raw values; those that are not there are left out.
fn built(role: &str, values: &[(&str, Option<&str>)]) -> String {
    let mut message = format!("{{\"role\":\"{role}\"");
    for (key, value) in values {
        if let Some(value) = value {
            for part in [",\"", key, "\":", value] {
                message.push_str(part);
            }
        }
    }
    message.push('}');
    message
}

/// An entry's time as a made-up message gives it.
fn time_of(entry: &Entry) -> String {
    entry
        .time
        .map_or("null".to_owned(), |millis| millis.to_string())
}
