//! Reading pi v1 to v3: what a line's object is, and whether its payload has the shape of its type.
//! For the reading loop only. v1 entries get ids by position; the file is never rewritten.

use super::envelope::{self, object, string, texts, unexpected};
use super::json::{self, Fields};
use super::log::{Entry, Finding, Log, Place, Reports};
use super::time;
use crate::model::Format;

/// Why the object cannot be kept, or its id, which is `None` in v1.
pub(super) fn identify(format: Format, fields: &Fields<'_>) -> Result<Option<String>, Finding> {
    if fields.is("type", "session") {
        let detail = "expected an entry, found a second session header";
        return Err(Finding::bad_field(detail));
    }
    if format == Format::PiV1 {
        string(fields, "type").map_err(Finding::bad_field)?;
        return Ok(None);
    }
    envelope::id(fields).map(Some)
}

/// The id of the n-th kept entry of a v1 file.
pub(super) fn id_of_position(position: i64) -> String {
    format!("{position:08x}")
}

/// Takes one object behind the header.
pub(super) fn take(log: &mut Log, object: String, place: Place, reports: &mut Reports) {
    let fields = Fields::of(&object);
    let id = match identify(log.format, &fields) {
        Ok(id) => id,
        Err(finding) => return reports.skipped(place, finding),
    };
    let kind = envelope::kind(&fields, "type", place, reports);
    let (id, parent) = if let Some(id) = id {
        log.report_duplicate(&id, place, reports);
        (id, envelope::parent(&fields, "parentId", place, reports))
    } else {
        let position = i64::try_from(log.entries.all.len()).unwrap_or(i64::MAX);
        let before = log.entries.all.last().map(|entry| entry.id.clone());
        (id_of_position(position.saturating_add(1)), before)
    };
    let expected = "a time by ISO 8601 or a number of milliseconds";
    let time = envelope::time(&fields, time::iso8601_or_millis, expected, place, reports);
    let good = envelope::good(payload(&kind, &fields), place, reports);
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

fn payload(kind: &str, fields: &Fields<'_>) -> Result<(), String> {
    match kind {
        "message" => object(fields, "message").map(drop),
        "model_change" => texts(fields, &["provider", "modelId"]),
        "thinking_level_change" => string(fields, "thinkingLevel").map(drop),
        "compaction" => {
            texts(fields, &["summary", "firstKeptEntryId"])?;
            match fields.some("systemMessage") {
                None => Ok(()),
                Some(_) => object(fields, "systemMessage").map(drop),
            }
        }
        "branch_summary" => texts(fields, &["summary"]),
        "context_edit" => {
            string(fields, "targetId")?;
            replacement(fields)
        }
        "label" => {
            string(fields, "targetId")?;
            texts(fields, &["label"])
        }
        "session_info" => texts(fields, &["name"]),
        _ => Ok(()),
    }
}

/// `null` says something here: absent is another thing.
fn replacement(fields: &Fields<'_>) -> Result<(), String> {
    let raw = fields.get("replacement");
    let fits = raw.is_some_and(|raw| {
        json::is_null(raw) || (json::is_object(raw) && Fields::of(raw).some("content").is_some())
    });
    if fits {
        return Ok(());
    }
    let expected = "null or an object with content";
    Err(unexpected("replacement", expected, raw))
}
