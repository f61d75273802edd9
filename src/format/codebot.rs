//! codebot v3: `{"kind","id","parent_id","timestamp","data"}`.

use std::borrow::Cow;

use super::{
    Entry, Fact, Kind, Meaning, Mutation, Place, Role, Sequence, State, bad_payload, checked_time,
    id_of, is_block, is_list_of_objects, is_text, kind_of, parent_of, present, text_of, time,
    title,
};
use crate::json::Json;

pub(super) fn interpret<'a, V: Json<'a>>(object: V, first_text: bool) -> Meaning<'a> {
    let mut findings = Vec::new();
    let (mut id, mut parent, mut kind, mut timestamp, mut data) = (None, None, None, None, None);
    for (key, value) in object.fields() {
        match &*key {
            b"id" => id = Some(value),
            b"parent_id" => parent = Some(value),
            b"kind" => kind = Some(value),
            b"timestamp" => timestamp = Some(value),
            b"data" => data = Some(value),
            _ => {}
        }
    }
    let (id_place, payload_place) = (Place::of(id), Place::of(data));
    let id = match id_of(id) {
        Ok(id) => id,
        Err(finding) => {
            findings.push(finding);
            return Meaning {
                findings,
                ..Meaning::default()
            };
        }
    };
    let kind_name = kind_of("kind", kind, &mut findings);
    let mut entry = Entry {
        id: Some(id),
        parent: parent_of("parent_id", parent, &mut findings),
        kind: kind_by_name(&kind_name),
        time: checked_time(
            timestamp.and_then(time::rfc_value),
            "an RFC 3339 time",
            &mut findings,
        ),
        ..Entry::default()
    };
    entry.activity = entry.time;
    if let Some(kind) = entry.kind {
        match data.filter(|data| data.is_object()) {
            Some(data) if read_payload(kind, data, first_text, &mut entry) => {}
            _ => {
                entry.inert = true;
                bad_payload(&kind_name, &mut findings);
            }
        }
    }
    entry.kind_name = kind_name;
    Meaning {
        mutation: Some(Mutation::Entry(entry)),
        sequence: Sequence::None,
        findings,
        id_place,
        payload_place,
    }
}

pub(super) fn kind_by_name(name: &str) -> Option<Kind> {
    Some(match name {
        "header" => Kind::Header,
        "message" => Kind::Message,
        "model_change" => Kind::ModelChange,
        "reasoning_effort_change" | "thinking_change" => Kind::EffortChange,
        "compaction" => Kind::Compaction,
        "session_info" => Kind::SessionInfo,
        "plan_state" => Kind::PlanState,
        "goal_state" => Kind::GoalState,
        "llm_call" => Kind::LlmCall,
        _ => return None,
    })
}

/// Takes from the payload what the index remembers; false if it does not have the kind's shape.
pub(super) fn read_payload<'a, V: Json<'a>>(
    kind: Kind,
    data: V,
    first_text: bool,
    entry: &mut Entry<'a>,
) -> bool {
    match kind {
        Kind::Message => {
            let message = Message::of(data);
            if !message.is_one() {
                return false;
            }
            message.read(first_text, entry);
        }
        Kind::ModelChange => {
            let (provider, model) = (data.field("provider"), data.field("model"));
            if !is_text(provider) || !is_text(model) {
                return false;
            }
            entry.model = Some((text_of(provider), text_of(model)));
        }
        Kind::EffortChange => {
            if !is_text(data.field("level")) {
                return false;
            }
            entry.sets = Some(State::Effort);
        }
        Kind::Compaction => {
            let messages = present(data.field("messages"));
            let is_list = messages
                .is_none_or(|list| list.is_array() && list.items().all(|item| is_message(item)));
            if !is_text(data.field("summary")) || !is_list {
                return false;
            }
            entry.sets = Some(State::Compaction);
        }
        Kind::SessionInfo => {
            let name = data.field("name");
            if !is_text(name) {
                return false;
            }
            entry.sets = Some(State::Name);
            let name = text_of(name)
                .map(Cow::into_owned)
                .filter(|name| !name.is_empty());
            entry.fact = Some(Fact::Name(name));
        }
        Kind::PlanState => {
            if !["phase", "slug", "pre_mode"]
                .iter()
                .all(|key| is_text(data.field(key)))
            {
                return false;
            }
            entry.sets = Some(State::Plan);
        }
        Kind::GoalState => entry.sets = Some(State::Goal),
        _ => {}
    }
    true
}

/// Whether an object has the shape of a message.
pub(super) fn is_message<'a, V: Json<'a>>(message: V) -> bool {
    message.is_object() && Message::of(message).is_one()
}

/// The fields of a message that say what it is.
struct Message<V> {
    role: Option<V>,
    content: Option<V>,
    metadata: Option<V>,
}

impl<'a, V: Json<'a>> Message<V> {
    fn of(object: V) -> Self {
        let (mut role, mut content, mut metadata) = (None, None, None);
        for (key, value) in object.fields() {
            match &*key {
                b"role" => role = Some(value),
                b"content" => content = Some(value),
                b"metadata" => metadata = Some(value),
                _ => {}
            }
        }
        Self {
            role,
            content,
            metadata,
        }
    }

    fn is_one(&self) -> bool {
        is_text(self.role) && is_list_of_objects(self.content)
    }

    fn read(&self, first_text: bool, entry: &mut Entry<'a>) {
        entry.role = text_of(self.role).map_or(Role::None, |role| match &*role {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "system" => Role::System,
            "tool" => Role::Tool,
            _ => Role::Other,
        });
        let mut blocks = self.content.into_iter().flat_map(Json::items);
        match entry.role {
            Role::Assistant => {
                entry.calls_tools = blocks.any(|block| is_block(block, "toolCall"));
            }
            Role::User if first_text => {
                let injected = self
                    .metadata
                    .and_then(|metadata| metadata.field("injected"));
                if injected.and_then(Json::boolean) != Some(true) {
                    let texts = blocks.filter(|block| is_block(*block, "text"));
                    let last = texts
                        .filter_map(|block| text_of(block.field("text")))
                        .filter(|text| !text.is_empty())
                        .last();
                    entry.first_text = last.map(|text| title(&text));
                }
            }
            _ => {}
        }
    }
}
