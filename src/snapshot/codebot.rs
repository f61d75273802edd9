//! codebot's context: messages after the newest compaction, repaired, and the state of the path.

use std::borrow::Cow;

use super::repair::{Item, repair};
use super::{Source, Trail, raw, setter, text_field};
use crate::format::{Kind, Role, State};
use crate::index::{Answer, Flags};
use crate::json::{Json, Node, lossy};
use crate::model::{Model, Plan, Snapshot};

pub(super) fn fill(source: Source<'_>, trail: &Trail, snapshot: &mut Snapshot) -> Answer<()> {
    let index = source.index;
    let mut items = Vec::with_capacity(trail.live.len());
    if let Some(compaction) = trail.compaction {
        let kept = source.with_object(compaction, |object| Some(kept_messages(object)))?;
        items.extend(kept);
    }
    for &slot in &trail.live {
        let (kind, flags) = index.kind_and_flags(slot)?;
        if kind != Kind::Message || flags.has(Flags::INERT) {
            continue;
        }
        items.push(Item {
            json: raw::payload(source, slot)?,
            role: flags.role(),
            calls_tools: flags.has(Flags::CALLS_TOOLS),
        });
    }
    snapshot.messages = repair(&items);
    fill_state(source, trail, snapshot)
}

/// The summary as a user message, if there is one, and the messages that a compaction keeps.
fn kept_messages(object: Node<'_>) -> Vec<Item<'static>> {
    let mut items = Vec::new();
    let Some(data) = object.field("data") else {
        return items;
    };
    let summary = data
        .field("summary")
        .filter(|summary| summary.text().is_some_and(|text| !text.is_empty()));
    if let Some(summary) = summary {
        let mut made = raw::Made::role("user");
        made.raw(
            "content",
            &format!("[{{\"type\":\"text\",\"text\":{}}}]", lossy(summary.raw())),
        );
        if let Some(timestamp) = object
            .field("timestamp")
            .filter(|time| time.text().is_some())
        {
            made.raw("timestamp", &lossy(timestamp.raw()));
        }
        items.push(Item {
            json: Cow::Owned(made.finish().into_bytes()),
            role: Role::User,
            calls_tools: false,
        });
    }
    for message in data.field("messages").into_iter().flat_map(Json::items) {
        let role = text_field(message, "role").map_or(Role::None, |role| Role::of(&role));
        items.push(Item {
            json: Cow::Owned(message.raw().to_vec()),
            role,
            calls_tools: role == Role::Assistant,
        });
    }
    items
}

fn fill_state(source: Source<'_>, trail: &Trail, snapshot: &mut Snapshot) -> Answer<()> {
    let data = |state, read: fn(Node<'_>) -> _| -> Answer<Option<_>> {
        let Some(slot) = setter(trail, state) else {
            return Ok(None);
        };
        source
            .with_object(slot, |object| object.field("data").map(read))
            .map(Some)
    };
    snapshot.reasoning_effort = data(State::Effort, |data| text_field(data, "level"))?.flatten();
    snapshot.name = match data(State::Name, |data| text_field(data, "name"))? {
        Some(name) => name,
        None => source.index.summary.header_name.clone(),
    }
    .filter(|name| !name.is_empty());
    snapshot.goal = data(State::Goal, |data| Some(lossy(data.raw()).into_owned()))?.flatten();
    if let Some(slot) = setter(trail, State::Model) {
        snapshot.model = source.with_object(slot, |object| {
            let data = object.field("data")?;
            Some(Some(Model {
                provider: text_field(data, "provider"),
                model: text_field(data, "model"),
            }))
        })?;
    }
    if let Some(slot) = setter(trail, State::Plan) {
        snapshot.plan = source.with_object(slot, |object| {
            let data = object.field("data")?;
            Some(Some(Plan {
                phase: text_field(data, "phase"),
                slug: text_field(data, "slug"),
                pre_mode: text_field(data, "pre_mode"),
            }))
        })?;
    }
    Ok(())
}
