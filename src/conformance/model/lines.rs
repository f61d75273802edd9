//! The lines that the model writes, spelled out once more: it shares no writer with the backends.

use crate::contract::{CreateOptions, NewEntry, NewRecord};
use crate::format::format_time;
use crate::model::Format;

/// A text as a JSON string.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A text as a JSON string, or `null`.
fn nullable(text: Option<&str>) -> String {
    text.map_or_else(|| "null".to_owned(), quoted)
}

/// The field that names a lane.
pub(super) fn lane_field(lane: &str) -> String {
    format!(",\"lane\":{}", quoted(lane))
}

/// An object on one line: as it is, or without white space between tokens.
fn one_line(object: &str) -> String {
    if !object.contains(['\n', '\r']) {
        return object.trim().to_owned();
    }
    let (mut text, mut inside, mut escaped) = (String::new(), false, false);
    for c in object.chars() {
        let is_quote = c == '"' && !escaped;
        escaped = inside && c == '\\' && !escaped;
        inside ^= is_quote;
        if inside || !c.is_ascii_whitespace() {
            text.push(c);
        }
    }
    text
}

/// What stands between the braces, with a comma before it.
fn inner(object: &str) -> String {
    let object = one_line(object);
    let inner = object
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        .unwrap_or_default()
        .trim();
    if inner.is_empty() {
        String::new()
    } else {
        format!(",{inner}")
    }
}

/// codebot's data, with thinking of more than 200 characters cut.
fn data(new: &NewEntry) -> String {
    let mut data = one_line(new.fields());
    let Ok(value) = serde_json::from_str::<serde_json::Value>(&data) else {
        return data;
    };
    let blocks = value.get("content").and_then(|content| content.as_array());
    for block in blocks.into_iter().flatten() {
        let thinking = block.get("thinking").and_then(|text| text.as_str());
        let Some(long) = thinking.filter(|text| text.chars().count() > 200) else {
            continue;
        };
        let mut cut: String = long.chars().take(199).collect();
        cut.push('…');
        data = data.replace(&quoted(long), &quoted(&cut));
    }
    data
}

/// An entry. Forked ones of pi v4 have no lane.
pub(super) fn entry(
    format: Format,
    new: &NewEntry,
    id: &str,
    parent: Option<&str>,
    lane: Option<&str>,
    seq: u64,
    time: i64,
) -> String {
    let (kind, id) = (quoted(new.kind()), quoted(id));
    match format {
        Format::CodebotV3 => {
            let parent = parent.map_or_else(String::new, |parent| {
                format!(",\"parent_id\":{}", quoted(parent))
            });
            let (time, data) = (format_time(time), data(new));
            format!(
                "{{\"kind\":{kind},\"id\":{id}{parent},\"timestamp\":\"{time}\",\"data\":{data}}}\n"
            )
        }
        Format::PiV4 => {
            let lane = lane.map_or_else(String::new, lane_field);
            let (own, parent) = (inner(new.fields()), nullable(parent));
            format!(
                "{{\"kind\":\"entry\"{lane},\"type\":{kind},\"id\":{id}{own},\"parentId\":{parent},\"seq\":{seq},\"timestamp\":{time}}}\n"
            )
        }
        _ => {
            let (own, parent, time) = (inner(new.fields()), nullable(parent), format_time(time));
            format!(
                "{{\"type\":{kind},\"id\":{id},\"parentId\":{parent},\"timestamp\":\"{time}\"{own}}}\n"
            )
        }
    }
}

pub(super) fn record(new: &NewRecord, id: &str, seq: u64, time: i64) -> String {
    let (kind, id, lane) = (quoted(new.kind()), quoted(id), lane_field(new.lane()));
    let own = inner(new.fields());
    format!(
        "{{\"kind\":\"record\",\"type\":{kind},\"id\":{id}{lane}{own},\"seq\":{seq},\"timestamp\":{time}}}\n"
    )
}

pub(super) fn lane(seq: u64, lane: &str, leaf: Option<&str>) -> String {
    let (lane, leaf) = (lane_field(lane), nullable(leaf));
    format!("{{\"kind\":\"lane\",\"seq\":{seq}{lane},\"leafId\":{leaf}}}\n")
}

pub(super) fn name(seq: u64, name: Option<&str>) -> String {
    let name = name.map_or_else(String::new, |name| format!(",\"name\":{}", quoted(name)));
    format!("{{\"kind\":\"fact\",\"seq\":{seq},\"fact\":\"name\"{name}}}\n")
}

pub(super) fn label(seq: u64, target: &str, label: Option<&str>) -> String {
    let target = quoted(target);
    let label = label.map_or_else(String::new, |label| format!(",\"label\":{}", quoted(label)));
    format!("{{\"kind\":\"fact\",\"seq\":{seq},\"fact\":\"label\",\"targetId\":{target}{label}}}\n")
}

pub(super) fn header(format: Format, id: &str, time: i64, options: &CreateOptions) -> String {
    let (id, cwd) = (quoted(id), quoted(&options.cwd));
    let parent = |key: &str| {
        let parent = options.parent.as_deref();
        parent.map_or_else(String::new, |parent| {
            format!(",\"{key}\":{}", quoted(parent))
        })
    };
    match format {
        Format::CodebotV3 => {
            let time = format_time(time);
            format!(
                "{{\"kind\":\"header\",\"id\":\"h0\",\"timestamp\":\"{time}\",\"data\":{{\"version\":3,\"session_id\":{id},\"cwd\":{cwd},\"created\":\"{time}\"}}}}\n"
            )
        }
        Format::PiV4 => {
            let metadata = options
                .metadata
                .as_deref()
                .map_or_else(String::new, |metadata| {
                    format!(",\"metadata\":{}", one_line(metadata))
                });
            let parent = parent("parentSessionId");
            format!(
                "{{\"kind\":\"header\",\"version\":4,\"id\":{id},\"createdAt\":{time},\"cwd\":{cwd}{parent}{metadata}}}\n"
            )
        }
        _ => {
            let (time, parent) = (format_time(time), parent("parentSession"));
            format!(
                "{{\"type\":\"session\",\"version\":3,\"id\":{id},\"timestamp\":\"{time}\",\"cwd\":{cwd}{parent}}}\n"
            )
        }
    }
}
