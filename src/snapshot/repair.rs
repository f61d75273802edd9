//! codebot's message repair: every tool call has an answer, every answer a call.

use std::borrow::Cow;

use ahash::AHashSet;

use crate::format::{Role, block_type};
use crate::json::{Document, Grammar, Json, lossy};
use crate::model::Messages;

/// A message of the list, and what is known of it without parsing.
#[derive(Debug)]
pub(super) struct Item<'l> {
    pub(super) json: Cow<'l, [u8]>,
    pub(super) role: Role,
    /// Whether it may have tool calls.
    pub(super) calls_tools: bool,
}

/// A tool call: its id, and as it is spelled.
struct Call {
    id: String,
    raw: String,
}

/// The messages with missing tool results added and stray ones dropped.
pub(super) fn repair(items: &[Item<'_>]) -> Messages {
    let bytes = items.iter().map(|item| item.json.len()).sum();
    let mut messages = Messages::with_capacity(items.len(), bytes);
    let calls: Vec<Vec<Call>> = items.iter().map(calls_of).collect();
    let known: AHashSet<&str> = calls
        .iter()
        .flatten()
        .map(|call| call.id.as_str())
        .collect();
    // The answers of the run of tool messages that is being looked at, and where that run ends.
    for (number, item) in items.iter().enumerate() {
        if item.role == Role::Tool
            && answer_of(item).is_some_and(|answer| !known.contains(answer.as_str()))
        {
            continue;
        }
        messages.push(&lossy(&item.json));
        let Some(calls) = calls.get(number).filter(|calls| !calls.is_empty()) else {
            continue;
        };
        let run = items
            .iter()
            .skip(number + 1)
            .take_while(|next| next.role == Role::Tool);
        let mut answered: AHashSet<String> = run.filter_map(answer_of).collect();
        for call in calls {
            // A call that comes twice is answered once.
            if answered.insert(call.id.clone()) {
                messages.push(&missing_result(&call.raw));
            }
        }
    }
    messages
}

fn missing_result(id: &str) -> String {
    format!(
        "{{\"role\":\"tool\",\"content\":[{{\"type\":\"text\",\"text\":\"\\\"Tool result missing (conversation was truncated or interrupted).\\\"\"}}],\
         \"metadata\":{{\"tool_call_id\":{id},\"is_error\":true}}}}"
    )
}

fn calls_of(item: &Item<'_>) -> Vec<Call> {
    if item.role != Role::Assistant || !item.calls_tools {
        return Vec::new();
    }
    let Ok(document) = Grammar::parse(&item.json) else {
        return Vec::new();
    };
    let Some(content) = document.root().field("content") else {
        return Vec::new();
    };
    content
        .items()
        .filter(|block| block_type(*block).as_deref() == Some("toolCall"))
        .filter_map(|block| block.field("tool_call")?.field("id"))
        .filter_map(|id| {
            let text = id.text().filter(|text| !text.is_empty())?;
            Some(Call {
                id: text.into_owned(),
                raw: lossy(id.raw()).into_owned(),
            })
        })
        .collect()
}

fn answer_of(item: &Item<'_>) -> Option<String> {
    let document = Grammar::parse(&item.json).ok()?;
    let answer = document
        .root()
        .field("metadata")?
        .field("tool_call_id")?
        .text()?;
    Some(answer.into_owned()).filter(|answer| !answer.is_empty())
}
