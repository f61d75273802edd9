//! pi v1 to v3: `{"type","id","parentId","timestamp",…}`; v1 has neither ids nor parents.

use std::borrow::Cow;

use super::{
    Entry, Fact, Kind, Meaning, Mutation, Place, Role, Sequence, State, bad_payload, checked_time,
    id_of, is_block, is_text, kind_of, parent_of, present, text_of, time, title,
};
use crate::json::Json;
use crate::log::Finding;
use crate::model::{Format, ReportCode};

pub(super) fn interpret<'a, V: Json<'a>>(
    object: V,
    format: Format,
    first_text: bool,
) -> Meaning<'a> {
    let mut findings = Vec::new();
    let skip = |finding| Meaning {
        findings: vec![finding],
        ..Meaning::default()
    };
    let (mut id, mut parent, mut kind, mut timestamp, mut message) = (None, None, None, None, None);
    for (key, value) in object.fields() {
        match &*key {
            b"id" => id = Some(value),
            b"parentId" => parent = Some(value),
            b"type" => kind = Some(value),
            b"timestamp" => timestamp = Some(value),
            b"message" => message = Some(value),
            _ => {}
        }
    }
    if kind.is_some_and(|kind| kind.says("session")) {
        return skip(Finding::skipped(
            ReportCode::BadField,
            "a second header; only the first one counts",
        ));
    }
    let mut entry = Entry::default();
    if format == Format::PiV1 {
        if !kind.is_some_and(Json::is_text) {
            return skip(Finding::skipped(
                ReportCode::BadField,
                "expected `type` to be a string, found none",
            ));
        }
    } else {
        match id_of(id) {
            Ok(id) => entry.id = Some(id),
            Err(finding) => return skip(finding),
        }
        entry.parent = parent_of("parentId", parent, &mut findings);
    }
    let kind_name = kind_of("type", kind, &mut findings);
    entry.kind = kind_by_name(&kind_name);
    entry.time = checked_time(
        timestamp.and_then(time::iso_value),
        "an ISO 8601 time",
        &mut findings,
    );
    if let Some(kind) = entry.kind {
        let good = if kind == Kind::Message {
            read_message(message, first_text, &mut entry)
        } else {
            read_payload(kind, object, &mut entry)
        };
        if !good {
            entry.inert = true;
            bad_payload(&kind_name, &mut findings);
        }
    }
    entry.kind_name = kind_name;
    Meaning {
        mutation: Some(Mutation::Entry(entry)),
        sequence: Sequence::None,
        findings,
        id_place: Place::of(id),
        payload_place: Place::of(message),
    }
}

pub(super) fn kind_by_name(name: &str) -> Option<Kind> {
    Some(match name {
        "message" => Kind::Message,
        "model_change" => Kind::ModelChange,
        "thinking_level_change" => Kind::EffortChange,
        "compaction" => Kind::Compaction,
        "branch_summary" => Kind::BranchSummary,
        "custom" => Kind::Custom,
        "custom_message" => Kind::CustomMessage,
        "context_edit" => Kind::ContextEdit,
        "label" => Kind::Label,
        "session_info" => Kind::SessionInfo,
        "usage" => Kind::Usage,
        _ => return None,
    })
}

/// Takes from an entry what the index remembers; false if it does not have the kind's shape.
pub(super) fn read_payload<'a, V: Json<'a>>(kind: Kind, object: V, entry: &mut Entry<'a>) -> bool {
    match kind {
        Kind::ModelChange => read_model_change(object, entry),
        Kind::EffortChange => read_effort_change(object, entry),
        Kind::Compaction => {
            entry.sets = Some(State::Compaction);
            is_text(object.field("summary"))
                && is_text(object.field("firstKeptEntryId"))
                && present(object.field("systemMessage")).is_none_or(Json::is_object)
        }
        Kind::BranchSummary => is_text(object.field("summary")),
        Kind::ContextEdit => {
            let replacement = object.field("replacement");
            let good = replacement.is_some_and(|value| {
                value.is_null() || (value.is_object() && present(value.field("content")).is_some())
            });
            good && object.field("targetId").is_some_and(Json::is_text)
        }
        Kind::Label => {
            let label = object.field("label");
            let Some(target) = text_of(object.field("targetId")).filter(|_| is_text(label)) else {
                return false;
            };
            let label = text_of(label).filter(|label| !label.is_empty());
            entry.fact = Some(Fact::Label { target, label });
            true
        }
        Kind::SessionInfo => {
            let name = object.field("name");
            if !is_text(name) {
                return false;
            }
            let name = text_of(name).map(|name| name.trim().to_owned());
            entry.fact = Some(Fact::Name(name.filter(|name| !name.is_empty())));
            true
        }
        _ => true,
    }
}

/// `model_change` of pi v3 and v4.
pub(super) fn read_model_change<'a, V: Json<'a>>(object: V, entry: &mut Entry<'a>) -> bool {
    let (provider, model) = (object.field("provider"), object.field("modelId"));
    entry.model = Some((text_of(provider), text_of(model)));
    is_text(provider) && is_text(model)
}

/// `thinking_level_change` of pi v3 and v4.
pub(super) fn read_effort_change<'a, V: Json<'a>>(object: V, entry: &mut Entry<'a>) -> bool {
    entry.sets = Some(State::Effort);
    object.field("thinkingLevel").is_some_and(Json::is_text)
}

/// The message of an entry of pi v1 to v4; false if it is no object.
pub(super) fn read_message<'a, V: Json<'a>>(
    message: Option<V>,
    first_text: bool,
    entry: &mut Entry<'a>,
) -> bool {
    let Some(message) = message.filter(|message| message.is_object()) else {
        return false;
    };
    let (mut role, mut content, mut timestamp) = (None, None, None);
    let (mut provider, mut model, mut stop_reason) = (None, None, None);
    for (key, value) in message.fields() {
        match &*key {
            b"role" => role = Some(value),
            b"content" => content = Some(value),
            b"timestamp" => timestamp = Some(value),
            b"provider" => provider = Some(value),
            b"model" => model = Some(value),
            b"stopReason" => stop_reason = Some(value),
            _ => {}
        }
    }
    entry.role = text_of(role).map_or(Role::None, |role| Role::of(&role));
    entry.no_content = present(content).is_none();
    match entry.role {
        Role::Assistant => {
            let model = (text_of(provider), text_of(model));
            if model.0.is_some() || model.1.is_some() {
                entry.model = Some(model);
            }
            entry.deferred = stop_reason.is_some_and(|reason| reason.says("deferred"));
        }
        Role::User if first_text => {
            entry.first_text = content.and_then(message_text).map(|text| title(&text));
        }
        _ => {}
    }
    if matches!(entry.role, Role::User | Role::Assistant) {
        entry.activity = timestamp.and_then(time::millis_value).or(entry.time);
    }
    true
}

/// The text of a message's content: the string itself, or its text blocks with spaces between.
fn message_text<'a, V: Json<'a>>(content: V) -> Option<String> {
    let text = match content.text() {
        Some(text) => text.into_owned(),
        None => {
            let texts: Vec<Cow<'_, str>> = content
                .items()
                .filter(|block| is_block(*block, "text"))
                .filter_map(|block| text_of(block.field("text")))
                .collect();
            texts.join(" ")
        }
    };
    Some(text).filter(|text| !text.is_empty())
}
