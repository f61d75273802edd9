//! What a line means: which format a log is in, and what each of its lines says, one file a format.
//! Sees one parsed object at a time; knows no files and no other lines.

mod codebot;
mod detect;
mod expect;
mod kind;
mod line;
mod meaning;
mod mint;
mod pi_v3;
mod pi_v4;
mod splice;
mod time;
mod write;

pub(crate) use detect::{Header, by_shape, claims_header, detect};
pub(crate) use expect::Step;
pub(crate) use kind::{Kind, Role, State};
pub(crate) use line::Line;
pub(crate) use meaning::{Entry, Fact, Meaning, Mutation, Place, Record, Sequence, Usage, title};
pub(crate) use mint::{hex_id, is_hex_id, now_nanos, uuid_v7, uuid_v7_at};
pub(crate) use pi_v4::record_kind;
pub(crate) use splice::{renumbered, reparented};
#[cfg(feature = "fuzzing")]
pub(crate) use time::format_nanos;
pub use time::format_time;
pub(crate) use write::{
    Envelope, entry_line, header_line, label_line, lane_line, name_line, record_line, target_of,
};

use crate::json::{Document, Grammar, Json, Node};
use crate::log::Finding;
use crate::model::{Format, ReportCode};

/// What one object of a log in a known format means. `first_text` says whether the text that a
/// listing would show is wanted, which costs an allocation.
pub(crate) fn interpret<'a, V: Json<'a>>(
    format: Format,
    object: V,
    first_text: bool,
) -> Meaning<'a> {
    match format {
        Format::CodebotV3 => codebot::interpret(object, first_text),
        Format::PiV1 | Format::PiV2 | Format::PiV3 => pi_v3::interpret(object, format, first_text),
        Format::PiV4 => pi_v4::interpret(object, first_text),
    }
}

/// Whether an object has the payload of a kind of entry, as [`interpret`] reads it: in codebot the
/// `data`, in pi the fields beside those of every entry.
fn has_payload<'a, V: Json<'a>>(format: Format, kind: Kind, object: V) -> bool {
    let entry = &mut Entry::default();
    let message = || object.field(payload_key(format));
    match format {
        Format::CodebotV3 => {
            object.is_object() && codebot::read_payload(kind, object, false, entry)
        }
        Format::PiV1 | Format::PiV2 | Format::PiV3 if kind == Kind::Message => {
            pi_v3::read_message(message(), false, entry)
        }
        Format::PiV1 | Format::PiV2 | Format::PiV3 => pi_v3::read_payload(kind, object, entry),
        Format::PiV4 => pi_v4::read_payload(kind, object, message(), false, entry),
    }
}

/// A kind by the name that it has in the lines of a format.
pub(crate) struct Named {
    pub(crate) kind: Kind,
    /// Whether every line with this kind has this name.
    pub(crate) is_only_name: bool,
}

/// The kind of entry that has a name in a format; `Other` if none has.
pub(crate) fn kind_by_name(format: Format, name: &str) -> Named {
    let kind = match format {
        Format::CodebotV3 => codebot::kind_by_name(name),
        Format::PiV1 | Format::PiV2 | Format::PiV3 => pi_v3::kind_by_name(name),
        Format::PiV4 => pi_v4::entry_kind(name),
    };
    let has_several = format == Format::CodebotV3 && kind == Some(Kind::EffortChange);
    Named {
        kind: kind.unwrap_or(Kind::Other),
        is_only_name: kind.is_some() && !has_several,
    }
}

/// The names of the kinds of entries that a format has, but for codebot's header.
pub(crate) fn entry_kinds(format: Format) -> Vec<&'static str> {
    let kinds = Kind::ALL.into_iter();
    let mut names: Vec<_> = kinds.filter_map(|kind| name_of(format, kind)).collect();
    if format == Format::CodebotV3 {
        names.push("reasoning_effort_change");
    }
    names
}

/// The name that every entry of a kind has in the lines of a format; none if there are several, or
/// if it is no entry.
pub(crate) fn name_of(format: Format, kind: Kind) -> Option<&'static str> {
    let name = match kind {
        Kind::Message => "message",
        Kind::ModelChange => "model_change",
        Kind::EffortChange if format == Format::CodebotV3 => return None,
        Kind::EffortChange => "thinking_level_change",
        Kind::Compaction => "compaction",
        Kind::SessionInfo => "session_info",
        Kind::PlanState => "plan_state",
        Kind::GoalState => "goal_state",
        Kind::LlmCall => "llm_call",
        Kind::BranchSummary => "branch_summary",
        Kind::Custom => "custom",
        Kind::CustomMessage => "custom_message",
        Kind::ContextEdit => "context_edit",
        Kind::Label => "label",
        Kind::Usage => "usage",
        Kind::ActiveTools => "active_tools_change",
        _ => return None,
    };
    let named = kind_by_name(format, name);
    (named.kind == kind && named.is_only_name).then_some(name)
}

/// The key of the field that holds the payload of a message.
pub(crate) fn payload_key(format: Format) -> &'static str {
    if format == Format::CodebotV3 {
        "data"
    } else {
        "message"
    }
}

/// The key of the field that names the parent.
pub(crate) fn parent_key(format: Format) -> &'static str {
    if format == Format::CodebotV3 {
        "parent_id"
    } else {
        "parentId"
    }
}

/// The parent that the line of an entry names, and its number in the sequence, where both show without
/// parsing it.
pub(crate) fn plain_ending(format: Format, object: &[u8]) -> Option<(&str, u64)> {
    match format {
        Format::PiV4 => pi_v4::ending(object),
        // Here other fields follow, which may name another one.
        _ => None,
    }
}

/// The key of the field that names the kind of an entry or a record.
pub(crate) fn kind_key(format: Format) -> &'static str {
    if format == Format::CodebotV3 {
        "kind"
    } else {
        "type"
    }
}

/// The time of an entry in milliseconds, from its line.
pub(crate) fn entry_time(format: Format, object: Node<'_>) -> Option<i64> {
    let value = object.field("timestamp")?;
    match format {
        Format::CodebotV3 => time::rfc_value(value),
        Format::PiV4 => time::millis_value(value),
        _ => time::iso_value(value),
    }
}

/// Whether a value is a string, null or absent: what the payload tables call a text.
pub(crate) fn is_text<'a, V: Json<'a>>(value: Option<V>) -> bool {
    value.is_none_or(|value| value.is_null() || value.is_text())
}

/// The text of a string value; none for null and absent ones.
pub(crate) fn text_of<'a, V: Json<'a>>(value: Option<V>) -> Option<std::borrow::Cow<'a, str>> {
    value.and_then(Json::text)
}

/// A value that is there and not null.
pub(crate) fn present<'a, V: Json<'a>>(value: Option<V>) -> Option<V> {
    value.filter(|value| !value.is_null())
}

/// Whether a value is an array of objects, null or absent.
pub(crate) fn is_list_of_objects<'a, V: Json<'a>>(value: Option<V>) -> bool {
    present(value).is_none_or(|list| list.is_array() && list.items().all(Json::is_object))
}

/// Whether a content block is of a type.
pub(crate) fn is_block<'a, V: Json<'a>>(block: V, name: &str) -> bool {
    block.field("type").is_some_and(|kind| kind.says(name))
}

/// Reads an id: the text, or why the line cannot be kept.
fn id_of<'a, V: Json<'a>>(value: Option<V>) -> Result<std::borrow::Cow<'a, str>, Finding> {
    match present(value) {
        None => Err(Finding::skipped(
            ReportCode::MissingId,
            "expected an `id`, found none",
        )),
        Some(value) => match value.text() {
            Some(text) if text.is_empty() => Err(Finding::skipped(
                ReportCode::MissingId,
                "expected an `id`, found an empty one",
            )),
            Some(text) => Ok(text),
            None => Err(Finding::skipped(
                ReportCode::BadField,
                "expected `id` to be a string, found another type",
            )),
        },
    }
}

/// Reads a parent id; none for a root. A wrong type is reported and read as none.
fn parent_of<'a, V: Json<'a>>(
    key: &str,
    value: Option<V>,
    findings: &mut Vec<Finding>,
) -> Option<std::borrow::Cow<'a, str>> {
    let value = present(value)?;
    match value.text() {
        Some(text) => Some(text).filter(|text| !text.is_empty()),
        None => {
            findings.push(Finding::kept(
                ReportCode::BadField,
                format!(
                    "expected `{key}` to be a string or null, found another type; read as no parent"
                ),
            ));
            None
        }
    }
}

/// Reads the name of a kind. A wrong type is reported and read as the unknown kind "".
fn kind_of<'a, V: Json<'a>>(
    key: &str,
    value: Option<V>,
    findings: &mut Vec<Finding>,
) -> std::borrow::Cow<'a, str> {
    match value.and_then(Json::text) {
        Some(text) => text,
        None => {
            findings.push(Finding::kept(
                ReportCode::BadField,
                format!("expected `{key}` to be a string; kept as an unknown kind"),
            ));
            std::borrow::Cow::Borrowed("")
        }
    }
}

/// Notes a time that is none.
fn checked_time(time: Option<i64>, expected: &str, findings: &mut Vec<Finding>) -> Option<i64> {
    if time.is_none() {
        findings.push(Finding::kept(
            ReportCode::BadTimestamp,
            format!("expected `timestamp` to be {expected}"),
        ));
    }
    time
}

/// Notes a payload that does not decode.
fn bad_payload(kind: &str, findings: &mut Vec<Finding>) {
    findings.push(Finding::kept(
        ReportCode::BadPayload,
        format!("the payload does not have the shape of `{kind}`; the entry contributes nothing"),
    ));
}

/// Provider and model that an entry which sets the model names.
pub(crate) fn model_of(format: Format, object: &[u8]) -> Option<(Option<String>, Option<String>)> {
    let document = Grammar::parse(object).ok()?;
    match interpret(format, document.root(), false).mutation? {
        Mutation::Entry(Entry {
            model: Some((provider, model)),
            ..
        }) => Some((
            provider.map(std::borrow::Cow::into_owned),
            model.map(std::borrow::Cow::into_owned),
        )),
        _ => None,
    }
}
