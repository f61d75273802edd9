//! codebot's message repair: every tool call has an answer, every answer a call.

use std::borrow::Cow;

use ahash::AHashSet;

use crate::format::{Role, is_block};
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

/// What a message has to do with tools.
enum Part {
    Nothing,
    Calls(Vec<Call>),
    /// A tool message: the call that it answers, if it names one.
    Answer(Option<String>),
}

/// The messages with missing tool results added and stray ones dropped.
pub(super) fn repair(items: &[Item<'_>]) -> Messages {
    let bytes = items.iter().map(|item| item.json.len()).sum();
    let mut messages = Messages::with_capacity(items.len(), bytes);
    let parts: Vec<Part> = items.iter().map(part_of).collect();
    let known: AHashSet<&str> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Calls(calls) => Some(calls),
            _ => None,
        })
        .flatten()
        .map(|call| call.id.as_str())
        .collect();
    for (number, (item, part)) in items.iter().zip(&parts).enumerate() {
        if let Part::Answer(Some(answer)) = part
            && !known.contains(answer.as_str())
        {
            continue;
        }
        messages.push(&lossy(&item.json));
        let Part::Calls(calls) = part else {
            continue;
        };
        // The run of tool messages right behind the calls.
        let run = parts.iter().skip(number + 1).map_while(|next| match next {
            Part::Answer(answer) => Some(answer.as_deref()),
            _ => None,
        });
        let mut answered: AHashSet<&str> = run.flatten().collect();
        for call in calls {
            // A call that comes twice is answered once.
            if answered.insert(&call.id) {
                messages.push(&missing_result(&call.raw));
            }
        }
    }
    messages
}

fn part_of(item: &Item<'_>) -> Part {
    match item.role {
        Role::Tool => Part::Answer(answer_of(item)),
        Role::Assistant if item.calls_tools => Part::Calls(calls_of(item)),
        _ => Part::Nothing,
    }
}

fn missing_result(id: &str) -> String {
    format!(
        "{{\"role\":\"tool\",\"content\":[{{\"type\":\"text\",\"text\":\"\\\"Tool result missing (conversation was truncated or interrupted).\\\"\"}}],\
         \"metadata\":{{\"tool_call_id\":{id},\"is_error\":true}}}}"
    )
}

fn calls_of(item: &Item<'_>) -> Vec<Call> {
    let Ok(document) = Grammar::parse(&item.json) else {
        return Vec::new();
    };
    let Some(content) = document.root().field("content") else {
        return Vec::new();
    };
    content
        .items()
        .filter(|block| is_block(*block, "toolCall"))
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
