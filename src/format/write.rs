//! The lines that a store writes, in the order of fields that each format's own writer uses, each
//! checked before it is handed out. Knows no files and no other lines.

use std::borrow::Cow;

use super::expect::{Expected, Said, bad, refused};
use super::line::Line;
use super::text_of;
use super::time::{format_nanos, format_time};
use crate::contract::{CreateOptions, NewEntry, NewRecord};
use crate::error::Result;
use crate::json::{Document, Grammar, Json, compact};
use crate::model::Format;

/// What a store gives an entry or a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Envelope<'a> {
    pub(crate) id: &'a str,
    pub(crate) parent: Option<&'a str>,
    /// The lane (pi v4).
    pub(crate) lane: &'a str,
    /// The number in the sequence (pi v4).
    pub(crate) seq: u64,
    /// Nanoseconds since 1970.
    pub(crate) nanos: u64,
}

impl Envelope<'_> {
    fn millis(&self) -> i64 {
        i64::try_from(self.nanos / 1_000_000).unwrap_or(i64::MAX)
    }
}

/// Writes the line of an entry, newline included, and checks it.
pub(crate) fn entry_line(
    line: &mut Line,
    format: Format,
    new: &NewEntry,
    envelope: &Envelope<'_>,
) -> Result<()> {
    let fields = own_fields(&new.fields)?;
    line.start();
    match format {
        Format::CodebotV3 => {
            let data = trimmed_thinking(&new.kind, &new.fields);
            line.text("{\"kind\":", &new.kind);
            line.text(",\"id\":", envelope.id);
            if let Some(parent) = envelope.parent {
                line.text(",\"parent_id\":", parent);
            }
            line.raw(",\"timestamp\":\"");
            line.raw(&format_nanos(envelope.nanos));
            line.raw("\",\"data\":");
            line.raw(&one_line(&data));
            line.raw("}");
        }
        Format::PiV4 => {
            line.text("{\"kind\":\"entry\",\"lane\":", envelope.lane);
            line.text(",\"type\":", &new.kind);
            line.text(",\"id\":", envelope.id);
            line.fields(&fields);
            line.nullable(",\"parentId\":", envelope.parent);
            line.numbered(envelope);
        }
        Format::PiV1 | Format::PiV2 | Format::PiV3 => {
            // pi's writer puts the fields of an extension's entries first.
            let fields_first = matches!(&*new.kind, "custom" | "custom_message");
            line.text("{\"type\":", &new.kind);
            if fields_first {
                line.fields(&fields);
            }
            line.text(",\"id\":", envelope.id);
            line.nullable(",\"parentId\":", envelope.parent);
            line.raw(",\"timestamp\":\"");
            line.raw(&format_time(envelope.millis()));
            line.raw("\"");
            if !fields_first {
                line.fields(&fields);
            }
            line.raw("}");
        }
    }
    line.end();
    let id = envelope.id;
    let levels_above = usize::from(format == Format::CodebotV3);
    let expected = Expected::Entry { format, new, id };
    line.check(&expected, &new.fields, levels_above).map(|_| ())
}

/// Writes the line of a record (pi v4), newline included, and checks it. The run that it belongs
/// to comes back too.
pub(crate) fn record_line(
    line: &mut Line,
    new: &NewRecord,
    envelope: &Envelope<'_>,
) -> Result<Said> {
    let fields = own_fields(&new.fields)?;
    line.start();
    line.text("{\"kind\":\"record\",\"type\":", &new.kind);
    line.text(",\"id\":", envelope.id);
    line.text(",\"lane\":", envelope.lane);
    line.fields(&fields);
    line.numbered(envelope);
    line.end();
    let id = envelope.id;
    line.check_whole(&Expected::Record { new, id })
        .map_err(|error| refused(&new.fields, error))
}

/// Writes the line that makes or moves a lane (pi v4).
pub(crate) fn lane_line(line: &mut Line, seq: u64, lane: &str, leaf: Option<&str>) {
    line.start();
    line.raw("{\"kind\":\"lane\",\"seq\":");
    line.number(seq);
    line.text(",\"lane\":", lane);
    line.nullable(",\"leafId\":", leaf);
    line.raw("}");
    line.end();
}

/// Writes the line that names the session (pi v4).
pub(crate) fn name_line(line: &mut Line, seq: u64, name: Option<&str>) {
    line.start();
    line.raw("{\"kind\":\"fact\",\"seq\":");
    line.number(seq);
    line.raw(",\"fact\":\"name\"");
    if let Some(name) = name {
        line.text(",\"name\":", name);
    }
    line.raw("}");
    line.end();
}

/// Writes the line that labels an entry (pi v4).
pub(crate) fn label_line(line: &mut Line, seq: u64, target: &str, label: Option<&str>) {
    line.start();
    line.raw("{\"kind\":\"fact\",\"seq\":");
    line.number(seq);
    line.text(",\"fact\":\"label\",\"targetId\":", target);
    if let Some(label) = label {
        line.text(",\"label\":", label);
    }
    line.raw("}");
    line.end();
}

/// Writes the header of a new session. `parent` replaces the one of the options.
pub(crate) fn header_line(
    line: &mut Line,
    format: Format,
    id: &str,
    nanos: u64,
    options: &CreateOptions,
) -> Result<()> {
    let millis = i64::try_from(nanos / 1_000_000).unwrap_or(i64::MAX);
    line.start();
    match format {
        Format::CodebotV3 => {
            let time = format_nanos(nanos);
            line.text("{\"kind\":\"header\",\"id\":\"h0\",\"timestamp\":", &time);
            line.text(",\"data\":{\"version\":3,\"session_id\":", id);
            line.text(",\"cwd\":", &options.cwd);
            line.text(",\"created\":", &time);
            line.raw("}}");
        }
        Format::PiV4 => {
            line.text("{\"kind\":\"header\",\"version\":4,\"id\":", id);
            line.raw(",\"createdAt\":");
            line.raw(&millis.to_string());
            line.text(",\"cwd\":", &options.cwd);
            if let Some(parent) = &options.parent {
                line.text(",\"parentSessionId\":", parent);
            }
            if let Some(metadata) = &options.metadata {
                line.raw(",\"metadata\":");
                line.raw(&one_line(metadata));
            }
            line.raw("}");
        }
        Format::PiV1 | Format::PiV2 | Format::PiV3 => {
            line.text("{\"type\":\"session\",\"version\":3,\"id\":", id);
            line.text(",\"timestamp\":", &format_time(millis));
            line.text(",\"cwd\":", &options.cwd);
            if let Some(parent) = &options.parent {
                line.text(",\"parentSession\":", parent);
            }
            line.raw("}");
        }
    }
    line.end();
    line.check_whole(&Expected::Header { format }).map(|_| ())
}

/// The entry that an entry of pi v3 speaks of.
pub(crate) fn target_of(object: &[u8]) -> Option<String> {
    let document = Grammar::parse(object).ok()?;
    text_of(document.root().field("targetId")).map(Cow::into_owned)
}

/// What stands between the braces of an object, on one line. That it is no more than that shows
/// when the whole line is checked.
fn own_fields(fields: &str) -> Result<Cow<'_, str>> {
    let inner = fields
        .trim_ascii()
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        .ok_or_else(|| bad("expected the fields to be a JSON object, `{…}`"))?;
    Ok(one_line(inner.trim_ascii()))
}

/// A JSON text without line breaks: as it is if it has none, else without any white space
/// between its tokens.
fn one_line(text: &str) -> Cow<'_, str> {
    if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(compact(text))
}

/// codebot keeps so many characters of a thinking block.
const THINKING: usize = 200;

/// The data of a codebot message with long thinking blocks cut.
fn trimmed_thinking<'t>(kind: &str, data: &'t str) -> Cow<'t, str> {
    if kind != "message" || !data.contains("thinking") {
        return Cow::Borrowed(data);
    }
    let Ok(document) = Grammar::parse(data.as_bytes()) else {
        return Cow::Borrowed(data);
    };
    let mut out = String::new();
    let mut done = 0;
    let blocks = document.root().field("content");
    for block in blocks.into_iter().flat_map(Json::items) {
        let is_thinking = super::is_block(block, "thinking");
        let Some(thinking) = block.field("thinking").filter(|_| is_thinking) else {
            continue;
        };
        let text = thinking.text().unwrap_or_default();
        if text.chars().nth(THINKING).is_none() {
            continue;
        }
        let cut: String = text.chars().take(THINKING - 1).chain(['…']).collect();
        let span = thinking.span();
        out.push_str(data.get(done..span.start).unwrap_or_default());
        out.push_str(&serde_json::Value::String(cut).to_string());
        done = span.end;
    }
    if done == 0 {
        return Cow::Borrowed(data);
    }
    out.push_str(data.get(done..).unwrap_or_default());
    Cow::Owned(out)
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
