//! Which format a log has: its first object decides, as a header or, in salvage, by its shape.
//! For the reading loop only. It looks at no file name and at no second object.

use super::json::{self, Fields};
use super::log::Header;
use super::time;
use crate::error::{Code, Error, Result};
use crate::model::Format;

const WANTED: &str = "expected the header of a session: codebot (\"kind\":\"header\" with \"data\"), \
    pi v1 to v3 (\"type\":\"session\") or pi v4 (\"kind\":\"header\" with \"version\")";

/// The families of formats that a header can be told apart by.
#[derive(Clone, Copy)]
enum Family {
    Codebot,
    Pi,
    PiV4,
}

/// Whether the object can be the first of a log.
pub(super) fn can_begin(object: &str, salvage: bool) -> bool {
    let fields = Fields::of(object);
    family(&fields).is_some() || (salvage && shape(&fields).is_some())
}

/// What the first object says of the log, and whether the object is the header. A file of an
/// unknown version is refused in salvage too: its entries may mean anything.
pub(super) fn begin(object: &str, salvage: bool) -> Result<(Format, Option<Header>)> {
    let fields = Fields::of(object);
    let error = match header(&fields) {
        Ok((format, header)) => return Ok((format, Some(header))),
        Err(error) => error,
    };
    match shape(&fields) {
        Some(format) if salvage && error.code() != Code::Unsupported => Ok((format, None)),
        _ => Err(error),
    }
}

/// The error for a file without any object.
pub(super) fn no_object(bytes: u64, lines: u64) -> Error {
    let found = if bytes == 0 {
        "an empty file".to_owned()
    } else {
        format!("no JSON object in {lines} lines ({bytes} bytes)")
    };
    Error::new(Code::InvalidEntry, format!("{WANTED}; found {found}"))
}

fn family(fields: &Fields<'_>) -> Option<Family> {
    if fields.is("kind", "header") {
        let codebot = fields.get("data").is_some_and(json::is_object) || fields.is("id", "h0");
        return Some(if codebot {
            Family::Codebot
        } else {
            Family::PiV4
        });
    }
    fields.is("type", "session").then_some(Family::Pi)
}

fn header(fields: &Fields<'_>) -> Result<(Format, Header)> {
    match family(fields) {
        Some(Family::Codebot) => codebot(fields),
        Some(Family::Pi) => pi(fields),
        Some(Family::PiV4) => pi_v4(fields),
        None => {
            let keys: Vec<_> = fields.keys().take(8).collect();
            let keys = json::excerpt(&keys.join(", "));
            let found = format!("{WANTED}; found an object with the keys: {keys}");
            Err(Error::new(Code::InvalidEntry, found))
        }
    }
}

fn codebot(fields: &Fields<'_>) -> Result<(Format, Header)> {
    let data = Fields::of(fields.get("data").unwrap_or_default());
    let version = data.some("version");
    if version.and_then(json::whole) != Some(3) {
        return Err(other_version("codebot", "\"data.version\"", version, "3"));
    }
    let created = data.get("created").and_then(time::rfc3339);
    let written = || fields.get("timestamp").and_then(time::rfc3339);
    let header = Header {
        session_id: text(&data, "session_id").unwrap_or_default(),
        cwd: text(&data, "cwd"),
        created: created.or_else(written),
        parent: None,
        name: text(&data, "name"),
    };
    Ok((Format::CodebotV3, header))
}

fn pi(fields: &Fields<'_>) -> Result<(Format, Header)> {
    let version = fields.some("version");
    let format = match version.map(json::whole) {
        None | Some(Some(1)) => Format::PiV1,
        Some(Some(2)) => Format::PiV2,
        Some(Some(3)) => Format::PiV3,
        _ => return Err(other_version("pi", "\"version\"", version, "1, 2, 3 and 4")),
    };
    let header = Header {
        session_id: session_id(fields)?,
        cwd: text(fields, "cwd"),
        created: fields.get("timestamp").and_then(time::iso8601_or_millis),
        parent: text(fields, "parentSession"),
        name: None,
    };
    Ok((format, header))
}

fn pi_v4(fields: &Fields<'_>) -> Result<(Format, Header)> {
    let version = fields.some("version");
    if version.and_then(json::whole) != Some(4) {
        return Err(other_version("pi v4", "\"version\"", version, "4"));
    }
    let legacy = || text(fields, "legacyParentSessionPath");
    let header = Header {
        session_id: session_id(fields)?,
        cwd: text(fields, "cwd"),
        created: fields.get("createdAt").and_then(time::millis),
        parent: text(fields, "parentSessionId").or_else(legacy),
        name: None,
    };
    Ok((Format::PiV4, header))
}

/// The error for a header that names another version, or none.
fn other_version(format: &str, field: &str, found: Option<&str>, known: &str) -> Error {
    let Some(version) = found.map(json::excerpt) else {
        let message = format!("expected {field} in the {format} header to be {known}, found none");
        return Error::new(Code::InvalidEntry, message);
    };
    let message = format!(
        "expected a {format} session of version {known}, found version {version}; \
         a reader that knows that version is needed"
    );
    Error::new(Code::Unsupported, message)
}

fn session_id(fields: &Fields<'_>) -> Result<String> {
    text(fields, "id")
        .filter(|id| !id.is_empty())
        .ok_or_else(|| {
            let found = json::found(fields.get("id"));
            let message = format!(
                "expected \"id\" in the session header to be a string with text, found {found}"
            );
            Error::new(Code::InvalidEntry, message)
        })
}

fn text(fields: &Fields<'_>, key: &str) -> Option<String> {
    fields.string(key).map(String::from)
}

/// The format that an object is a line of, for files without a header.
fn shape(fields: &Fields<'_>) -> Option<Format> {
    if let Some(kind) = fields.string("kind") {
        let mutation = matches!(kind.as_ref(), "entry" | "record" | "lane" | "fact");
        let v4_header = matches!(family(fields), Some(Family::PiV4));
        return Some(if mutation || v4_header {
            Format::PiV4
        } else {
            Format::CodebotV3
        });
    }
    let kind = fields.string("type")?;
    let version = fields.some("version").map(json::whole);
    Some(match (kind.as_ref(), version, fields.string("id")) {
        ("session", Some(Some(1)), _) => Format::PiV1,
        ("session", Some(Some(2)), _) => Format::PiV2,
        ("session", Some(_), _) | (_, _, Some(_)) => Format::PiV3,
        _ => Format::PiV1,
    })
}
