//! Which format a log is in, by its first object, and what its header says.

use super::{present, text_of, time};
use crate::error::{Code, Error, Result};
use crate::json::{Json, Node, lossy};
use crate::model::Format;

/// What a header says of the session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) session_id: String,
    pub(crate) cwd: Option<String>,
    pub(crate) created: Option<i64>,
    pub(crate) parent: Option<String>,
    /// The name that codebot's header gives.
    pub(crate) name: Option<String>,
}

/// The format that the first object of a log declares.
pub(crate) fn detect(object: Node<'_>) -> Result<(Format, Header)> {
    let kind = text_of(object.field("kind"));
    if kind.as_deref() == Some("header") {
        return if is_codebot_header(object) {
            codebot(object)
        } else {
            pi_v4(object)
        };
    }
    if text_of(object.field("type")).as_deref() == Some("session") {
        return pi(object);
    }
    Err(Error::new(
        Code::InvalidEntry,
        format!(
            "not a session: the first object should be a header (codebot: {{\"kind\":\"header\",\"data\":{{…}}}}, \
             pi: {{\"type\":\"session\",…}} or {{\"kind\":\"header\",\"version\":4,…}}), found {}; \
             if the header was lost, salvage (`--salvage`) reads the file without it",
            excerpt(object)
        ),
    ))
}

/// Whether an object says of itself that it is a header, of whatever version.
pub(crate) fn claims_header(object: Node<'_>) -> bool {
    text_of(object.field("kind")).as_deref() == Some("header")
        || text_of(object.field("type")).as_deref() == Some("session")
}

/// The format by the shape of the first object, for files whose header is lost or broken.
pub(crate) fn by_shape(object: Node<'_>) -> Option<Format> {
    if let Some(kind) = text_of(object.field("kind")) {
        return Some(match &*kind {
            "entry" | "record" | "lane" | "fact" => Format::PiV4,
            "header" if !is_codebot_header(object) => Format::PiV4,
            _ => Format::CodebotV3,
        });
    }
    let kind = text_of(object.field("type"))?;
    Some(match (&*kind, present(object.field("version"))) {
        ("session", Some(version)) => version_of(version, &PI).unwrap_or(Format::PiV3),
        _ if text_of(object.field("id")).is_some() => Format::PiV3,
        _ => Format::PiV1,
    })
}

/// The versions of the files of pi's command line.
const PI: [(i64, Format); 3] = [(1, Format::PiV1), (2, Format::PiV2), (3, Format::PiV3)];

fn is_codebot_header(object: Node<'_>) -> bool {
    object.field("data").is_some_and(Json::is_object)
        || text_of(object.field("id")).as_deref() == Some("h0")
}

fn codebot(object: Node<'_>) -> Result<(Format, Header)> {
    let data = object.field("data").filter(|data| data.is_object());
    let field = |key| data.and_then(|data| data.field(key));
    version("codebot", field("version"), &[(3, Format::CodebotV3)]).map(|format| {
        let created = field("created").and_then(time::rfc_value);
        (
            format,
            Header {
                session_id: owned(field("session_id")).unwrap_or_default(),
                cwd: owned(field("cwd")),
                created: created.or_else(|| object.field("timestamp").and_then(time::rfc_value)),
                parent: None,
                name: owned(field("name")),
            },
        )
    })
}

fn pi_v4(object: Node<'_>) -> Result<(Format, Header)> {
    let format = version(
        "pi (durable harness)",
        object.field("version"),
        &[(4, Format::PiV4)],
    )?;
    Ok((
        format,
        Header {
            session_id: session_id(object)?,
            cwd: owned(object.field("cwd")),
            created: object.field("createdAt").and_then(time::millis_value),
            parent: owned(object.field("parentSessionId"))
                .or_else(|| owned(object.field("legacyParentSessionPath"))),
            name: None,
        },
    ))
}

fn pi(object: Node<'_>) -> Result<(Format, Header)> {
    let format = match present(object.field("version")) {
        None => Format::PiV1,
        given => version("pi", given, &PI)?,
    };
    Ok((
        format,
        Header {
            session_id: session_id(object)?,
            cwd: owned(object.field("cwd")),
            created: object.field("timestamp").and_then(time::iso_value),
            parent: owned(object.field("parentSession")),
            name: None,
        },
    ))
}

fn session_id(header: Node<'_>) -> Result<String> {
    owned(header.field("id"))
        .filter(|id| !id.is_empty())
        .ok_or_else(|| {
            Error::new(
                Code::InvalidEntry,
                format!(
                    "the header should have the session's `id`, a string, found {}",
                    excerpt(header)
                ),
            )
        })
}

/// The format of a version number, or an error that names it and the known ones.
fn version(system: &str, given: Option<Node<'_>>, known: &[(i64, Format)]) -> Result<Format> {
    let given = present(given).ok_or_else(|| {
        Error::new(
            Code::InvalidEntry,
            format!("the header of a {system} session should have a `version`, found none"),
        )
    })?;
    if let Some(format) = version_of(given, known) {
        return Ok(format);
    }
    let versions: Vec<_> = known
        .iter()
        .map(|(version, _)| version.to_string())
        .collect();
    Err(Error::new(
        Code::Unsupported,
        format!(
            "version {} of {system} sessions is not known, only {}; a newer leaflog may read it",
            excerpt(given),
            versions.join(", ")
        ),
    ))
}

fn owned(value: Option<Node<'_>>) -> Option<String> {
    text_of(value).map(std::borrow::Cow::into_owned)
}

/// The beginning of a value, for a message.
fn excerpt(value: Node<'_>) -> String {
    let text = lossy(value.raw());
    let mut short: String = text.chars().take(80).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

fn version_of(given: Node<'_>, known: &[(i64, Format)]) -> Option<Format> {
    let number = given.number()?.real();
    #[expect(clippy::cast_precision_loss, reason = "versions are small")]
    let found = known.iter().find(|(version, _)| number == *version as f64);
    found.map(|(_, format)| *format)
}
