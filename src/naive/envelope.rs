//! The envelope of a line and the shapes of payloads: the checks that the formats have in common.
//! For the readers of the formats. They say what is wrong; what follows from it the reader decides.

use std::borrow::Cow;

use super::json::{self, Fields};
use super::log::{Finding, Place, Reports};
use crate::model::ReportCode;

/// The id of a line; without one the line cannot be kept.
pub(super) fn id(fields: &Fields<'_>) -> Result<String, Finding> {
    let raw = fields.get("id");
    let text = raw.and_then(json::string);
    if let Some(id) = text.as_deref().filter(|id| !id.is_empty()) {
        return Ok(id.to_owned());
    }
    let code = if text.is_some() || raw.is_none_or(json::is_null) {
        ReportCode::MissingId
    } else {
        ReportCode::BadField
    };
    let detail = format!(
        "expected \"id\" to be a string with text, found {}",
        json::found(raw)
    );
    Err(Finding::new(code, detail))
}

/// A kind or type, `""` where it is no string.
pub(super) fn kind(fields: &Fields<'_>, key: &str, place: Place, reports: &mut Reports) -> String {
    match string(fields, key) {
        Ok(kind) => kind.into_owned(),
        Err(detail) => {
            reports.kept(place, Finding::bad_field(detail));
            String::new()
        }
    }
}

/// A parent id; `null`, `""` and what is no string are no parent.
pub(super) fn parent(
    fields: &Fields<'_>,
    key: &str,
    place: Place,
    reports: &mut Reports,
) -> Option<String> {
    let id = match text(fields, key) {
        Ok(id) => id?,
        Err(detail) => {
            reports.kept(place, Finding::bad_field(detail));
            return None;
        }
    };
    (!id.is_empty()).then(|| id.into_owned())
}

/// The time in `timestamp`, as the format writes it.
pub(super) fn time(
    fields: &Fields<'_>,
    read: fn(&str) -> Option<i64>,
    expected: &str,
    place: Place,
    reports: &mut Reports,
) -> Option<i64> {
    let raw = fields.get("timestamp");
    let time = raw.and_then(read);
    if time.is_none() {
        let detail = format!(
            "expected \"timestamp\" to be {expected}, found {}",
            json::found(raw)
        );
        reports.kept(place, Finding::new(ReportCode::BadTimestamp, detail));
    }
    time
}

/// Whether a payload is good; reports it where it is not.
pub(super) fn good(shape: Result<(), String>, place: Place, reports: &mut Reports) -> bool {
    match shape {
        Ok(()) => true,
        Err(detail) => {
            reports.kept(place, Finding::new(ReportCode::BadPayload, detail));
            false
        }
    }
}

/// A field that must be a string.
pub(super) fn string<'a>(fields: &Fields<'a>, key: &str) -> Result<Cow<'a, str>, String> {
    let raw = fields.get(key);
    raw.and_then(json::string)
        .ok_or_else(|| unexpected(key, "a string", raw))
}

/// A field that may be a string, `null` or absent.
pub(super) fn text<'a>(fields: &Fields<'a>, key: &str) -> Result<Option<Cow<'a, str>>, String> {
    match fields.some(key) {
        None => Ok(None),
        Some(_) => string(fields, key).map(Some),
    }
}

/// Fields that may each be a string, `null` or absent.
pub(super) fn texts(fields: &Fields<'_>, keys: &[&str]) -> Result<(), String> {
    keys.iter().try_for_each(|key| text(fields, key).map(drop))
}

/// A field that must be an object.
pub(super) fn object<'a>(fields: &Fields<'a>, key: &str) -> Result<&'a str, String> {
    let raw = fields.get(key);
    raw.filter(|raw| json::is_object(raw))
        .ok_or_else(|| unexpected(key, "an object", raw))
}

/// A field that must be an array of objects, `null` or absent: its elements.
pub(super) fn objects<'a>(fields: &Fields<'a>, key: &str) -> Result<Vec<&'a str>, String> {
    let Some(raw) = fields.some(key) else {
        return Ok(Vec::new());
    };
    let expected = "an array of objects";
    if !json::is_array(raw) {
        return Err(unexpected(key, expected, Some(raw)));
    }
    let elements = json::elements(raw);
    match elements.iter().find(|element| !json::is_object(element)) {
        None => Ok(elements),
        Some(element) => Err(unexpected(key, expected, Some(element))),
    }
}

/// The sentence for a field that is not what it must be.
pub(super) fn unexpected(key: &str, expected: &str, raw: Option<&str>) -> String {
    let found = json::found(raw);
    format!("expected \"{key}\" to be {expected}, found {found}")
}
