//! What a line that is written must turn out to be when it is read: the store's own fields once, the
//! payload in the shape of its kind. Sees parsed objects; writes nothing.

use super::{Kind, Mutation, has_payload, interpret, kind_by_name, text_of};
use crate::contract::{NewEntry, NewRecord};
use crate::error::{Code, Error, Result};
use crate::json::{Grammar, Json, Node, lossy};
use crate::model::Format;

/// Payloads nested deeper than this would not be decoded again.
pub(super) const DEEPEST: usize = 1024;

/// What a record says that the rules of a session need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Starts an operation.
    Started,
    /// Finishes the operation with this id.
    Finished(String),
    /// Neither.
    Other,
}

/// What a record says that its store must know: its step, and the run that it belongs to.
pub(super) type Said = (Step, Option<String>);

/// What a line must turn out to be when it is read.
pub(super) enum Expected<'e> {
    Entry {
        format: Format,
        new: &'e NewEntry,
        id: &'e str,
    },
    Record {
        new: &'e NewRecord,
        id: &'e str,
    },
    Header {
        format: Format,
    },
}

impl Expected<'_> {
    /// Checks the object of a line.
    pub(super) fn at<'a, V: Json<'a>>(&self, object: V) -> Result<Said> {
        each_once(object, self.keys(), self.has_no_others())?;
        self.said(object)
    }

    /// Whether the line of an entry is sure to say what it should, by the caller's object alone: the
    /// store's own fields stand in it once, since the caller gives none of them, and the object has
    /// the shape of its kind. Where this is false the whole line tells.
    pub(super) fn is_met_by(&self, own: Node<'_>) -> bool {
        let Self::Entry { format, new, id } = *self else {
            return false;
        };
        let kind = kind_by_name(format, &new.kind).kind;
        !matches!(kind, Kind::Other | Kind::Header)
            && !id.is_empty()
            && own.is_object()
            && (self.has_no_others() || self.gives_none(own))
            && has_payload(format, kind, own)
            && has_all(format, kind, own)
    }

    /// Whether none of the fields that the store gives is among the caller's.
    fn gives_none(&self, own: Node<'_>) -> bool {
        let keys = self.keys();
        own.members()
            .all(|(name, _)| !keys.iter().any(|key| name.says(key)))
    }

    fn said<'a, V: Json<'a>>(&self, object: V) -> Result<Said> {
        match *self {
            Self::Entry { format, new, id } => {
                entry_says(format, new, id, object).map(|()| (Step::Other, None))
            }
            Self::Record { new, id } => record_says(new, id, object),
            Self::Header { .. } => header_says(object).map(|()| (Step::Other, None)),
        }
    }

    /// The fields that the store gives, or that stand apart from the own ones.
    fn keys(&self) -> &'static [&'static str] {
        use Format::{CodebotV3, PiV4};
        match *self {
            Self::Entry { format, .. } => match format {
                CodebotV3 => &["kind", "id", "parent_id", "timestamp", "data"],
                PiV4 => &["kind", "lane", "type", "id", "parentId", "seq", "timestamp"],
                _ => &["type", "id", "parentId", "timestamp"],
            },
            Self::Record { .. } => &["kind", "type", "id", "lane", "seq", "timestamp"],
            Self::Header { format } => match format {
                CodebotV3 => &["kind", "id", "timestamp", "data"],
                PiV4 => &["kind", "version", "id", "createdAt", "cwd"],
                _ => &["type", "version", "id", "timestamp", "cwd"],
            },
        }
    }

    /// Whether there are no fields beside those.
    fn has_no_others(&self) -> bool {
        matches!(self, Self::Entry { format, .. } | Self::Header { format } if *format == Format::CodebotV3)
    }
}

fn no_id() -> Error {
    bad("expected an id that is not empty; leave it out to have one made")
}

fn entry_says<'a, V: Json<'a>>(format: Format, new: &NewEntry, id: &str, object: V) -> Result<()> {
    if id.is_empty() {
        return Err(no_id());
    }
    let meaning = interpret(format, object, false);
    let Some(Mutation::Entry(entry)) = &meaning.mutation else {
        return Err(not_of(format, &new.kind));
    };
    if matches!(entry.kind, None | Some(Kind::Header)) {
        if format == Format::PiV4
            && let Some(function) = function_for(&new.kind)
        {
            return Err(bad(&format!(
                "expected a kind of entry that {format} has, found `{}`, which is none there: \
                 `{function}` of the library writes it",
                new.kind
            )));
        }
        return Err(bad(&format!(
            "expected a kind of entry that {format} has, found `{}`; it has {}",
            new.kind,
            super::entry_kinds(format).join(", ")
        )));
    }
    let is_right = has_all(format, entry.kind(), object)
        && meaning.findings.is_empty()
        && entry.id.as_deref() == Some(id);
    if !is_right {
        return Err(not_of(format, &new.kind));
    }
    Ok(())
}

/// What writes that which is an entry in other formats, and a line of its own in pi v4.
fn function_for(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "label" => "set_label",
        "name" | "session_info" => "set_name",
        "fact" => "set_name` or `set_label",
        "lane" => "create_lane` or `move_lane` (at the prompt `leaflog branch`)",
        _ => return None,
    })
}

/// Whether the fields of a kind are there that a reader could do without.
fn has_all<'a, V: Json<'a>>(format: Format, kind: Kind, object: V) -> bool {
    let own = |key| text_of(object.field(key)).is_some();
    match (format, kind) {
        (Format::CodebotV3, Kind::ModelChange | Kind::EffortChange | Kind::SessionInfo) => true,
        (_, Kind::ModelChange) => own("provider") && own("modelId"),
        (Format::PiV4, Kind::Custom) => own("customType"),
        (Format::PiV1 | Format::PiV2 | Format::PiV3, Kind::Custom | Kind::CustomMessage) => {
            own("customType")
        }
        (Format::PiV4, Kind::Compaction) => {
            own("summary") && object.field("retainedTail").is_some_and(Json::is_array)
        }
        (Format::PiV4, Kind::ActiveTools) => {
            object.field("activeToolNames").is_some_and(Json::is_array)
        }
        (Format::PiV1 | Format::PiV2 | Format::PiV3, Kind::Compaction) => own("summary"),
        (_, Kind::BranchSummary) => own("summary") && own("fromId"),
        _ => true,
    }
}

fn record_says<'a, V: Json<'a>>(new: &NewRecord, id: &str, object: V) -> Result<Said> {
    if id.is_empty() {
        return Err(no_id());
    }
    let meaning = interpret(Format::PiV4, object, false);
    let record = match &meaning.mutation {
        Some(Mutation::Record(record)) if meaning.findings.is_empty() && record.id == id => record,
        _ => return Err(not_of(Format::PiV4, &new.kind)),
    };
    let intent = object
        .field("intent")
        .and_then(|intent| intent.field("kind"));
    let intent = text_of(intent).unwrap_or_default();
    let run = record.run.as_ref().map(|run| run.clone().into_owned());
    let step = match (record.kind, &run) {
        (Kind::OtherRecord, _) => {
            return Err(bad(&format!(
                "expected a type of record that pi-v4 has, found `{}`",
                new.kind
            )));
        }
        (Kind::OperationStarted, _) if !matches!(&*intent, "run" | "compaction" | "navigation") => {
            return Err(bad(&format!(
                "expected `intent.kind` to be `run`, `compaction` or `navigation`, found {}",
                if intent.is_empty() { "none" } else { &*intent }
            )));
        }
        (Kind::OperationStarted, _) => Step::Started,
        (Kind::OperationFinished, Some(run)) => Step::Finished(run.clone()),
        (Kind::OperationFinished, None) => {
            return Err(bad("expected `runId` to be a string, found none"));
        }
        _ => Step::Other,
    };
    Ok((step, run))
}

fn header_says<'a, V: Json<'a>>(object: V) -> Result<()> {
    let metadata = object.field("metadata");
    if metadata.is_some_and(|metadata| !metadata.is_object()) {
        return Err(bad("expected the metadata to be a JSON object"));
    }
    Ok(())
}

/// Checks that the store's own fields stand once at the most, and nothing beside them if that is `all`.
fn each_once<'a, V: Json<'a>>(object: V, keys: &[&str], all: bool) -> Result<()> {
    let mut seen = 0u32;
    for (key, _) in object.fields() {
        let Some(place) = keys.iter().position(|own| *own.as_bytes() == *key) else {
            if all {
                let key = lossy(&key);
                return Err(bad(&format!(
                    "the fields go on with `{key}` behind their end"
                )));
            }
            continue;
        };
        if seen & (1 << place) != 0 {
            let key = lossy(&key);
            return Err(bad(&format!(
                "`{key}` is given by the store; leave it out of the fields"
            )));
        }
        seen |= 1 << place;
    }
    Ok(())
}

fn not_of(format: Format, kind: &str) -> Error {
    match shape_of(format, kind) {
        Some(shape) => bad(&format!(
            "expected {shape}, in the fields of `{kind}`; nothing was written"
        )),
        None => bad(&format!(
            "the fields do not have the shape of `{kind}`; nothing was written"
        )),
    }
}

/// What the fields of a kind must have.
fn shape_of(format: Format, kind: &str) -> Option<&'static str> {
    let codebot = format == Format::CodebotV3;
    Some(match kind {
        "message" if codebot => "`role`, a text, and `content`, a list of objects",
        "message" => "`message`, an object",
        "model_change" if codebot => "`provider` and `model`, texts",
        "model_change" => "`provider` and `modelId`, texts",
        "reasoning_effort_change" | "thinking_change" => "`level`, a text",
        "thinking_level_change" => "`thinkingLevel`, a text",
        "active_tools_change" => "`activeToolNames`, a list of texts",
        "compaction" if codebot => "`summary`, a text, and `messages`, a list of messages",
        "compaction" if format == Format::PiV4 => {
            "`summary`, a text, and `retainedTail`, a list of messages"
        }
        "compaction" => "`summary`, a text",
        "branch_summary" => "`fromId` and `summary`, texts",
        "custom" | "custom_message" => "`customType`, a text",
        "context_edit" => "`targetId`, a text, and `replacement`, null or an object with `content`",
        "label" => "`targetId`, a text, and maybe `label`, a text",
        "session_info" => "`name`, a text",
        "plan_state" => "`phase`, `slug` and `pre_mode`, texts",
        "usage" => "`usage`, an object",
        _ => return None,
    })
}

/// The error of a check, or that the caller's fields are no JSON, if that is what is behind it.
pub(super) fn refused(fields: &str, error: Error) -> Error {
    let Err(syntax) = Grammar::parse(fields.as_bytes()) else {
        return error;
    };
    let expected = syntax.expected;
    let of_all = format!("byte {} of the fields", syntax.at);
    let place = match field_at(fields.as_bytes(), syntax.at) {
        // Callers hand in values and have the object around them made.
        Some((key, start)) => format!("byte {} of `{key}`, {of_all}", syntax.at - start),
        None => of_all,
    };
    bad(&format!(
        "expected the fields to be a JSON object, found no JSON: expected {expected} at {place}"
    ))
}

/// The field of an object whose value holds a byte, and where that value starts. The object must be
/// well-formed up to there.
fn field_at(object: &[u8], at: usize) -> Option<(String, usize)> {
    let mut levels = 0u32;
    // Where the text starts that is being read, and where the latest on the first level stands.
    let (mut opened, mut key) = (None, 0..0);
    let mut is_escaped = false;
    let mut found = None;
    for (place, byte) in object.iter().enumerate().take(at) {
        if let Some(start) = opened {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => {
                    key = start..place;
                    opened = None;
                }
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => opened = Some(place + 1),
            b'{' | b'[' => levels += 1,
            b'}' | b']' => levels = levels.saturating_sub(1),
            b':' if levels == 1 => found = Some((key.clone(), place + 1)),
            b',' if levels == 1 => found = None,
            _ => {}
        }
    }
    let (key, start) = found.filter(|_| levels > 0)?;
    Some((lossy(object.get(key)?).into_owned(), start))
}

pub(super) fn bad(what: &str) -> Error {
    Error::new(Code::InvalidPayload, what)
}
