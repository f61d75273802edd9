//! Answers as JSON texts. What stands in a log goes into them as it stands there, without being read
//! once more.

use std::fmt::Write;
use std::path::Path;

use leaflog::{Entry, Format, Lane, Listing, LogItem, Metadata, SessionInfo, Snapshot};
use leaflog::{Result, Verification};
use serde::Serialize;

use crate::failure::unanswerable;
use crate::header::{Header, modified};

/// Anything that serializes.
pub(crate) fn json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| unanswerable(&error))
}

/// A JSON array of what is written one by one.
pub(crate) fn list<T>(
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut String, T) -> Result<()>,
) -> Result<String> {
    let mut text = String::from("[");
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        write(&mut text, item)?;
    }
    text.push(']');
    Ok(text)
}

/// An entry or a record as it is stored. Those of pi v1 have no ids of their own and get those that
/// were made for them.
pub(crate) fn entry(text: &mut String, format: Format, entry: &Entry) -> Result<()> {
    let stored = String::from_utf8_lossy(&entry.bytes);
    match stored.trim_start().strip_prefix('{') {
        Some(rest) if format == Format::PiV1 => {
            let (id, parent) = (json(&entry.id)?, json(&entry.parent)?);
            let comma = if rest.trim_start().starts_with('}') {
                ""
            } else {
                ","
            };
            // A `String` takes whatever is written.
            let _ = write!(text, r#"{{"id":{id},"parentId":{parent}{comma}{rest}"#);
        }
        _ => text.push_str(&stored),
    }
    Ok(())
}

/// The entry alone, or `null`.
pub(crate) fn one(format: Format, stored: Option<&Entry>) -> Result<String> {
    let mut text = String::new();
    match stored {
        Some(stored) => entry(&mut text, format, stored)?,
        None => text.push_str("null"),
    }
    Ok(text)
}

pub(crate) fn entries(format: Format, found: &[Entry]) -> Result<String> {
    list(found, |text, stored| entry(text, format, stored))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Pointer<'l> {
    lane: &'l str,
    leaf_id: Option<&'l str>,
}

pub(crate) fn lanes(lanes: &[Lane]) -> Result<String> {
    let pointers: Vec<_> = lanes
        .iter()
        .map(|lane| Pointer {
            lane: &lane.name,
            leaf_id: lane.leaf.as_deref(),
        })
        .collect();
    json(&pointers)
}

#[derive(Serialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
enum Plain<'i> {
    Lane {
        seq: u64,
        lane: &'i str,
        leaf_id: Option<&'i str>,
    },
    Fact {
        seq: u64,
        fact: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<&'i str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        target_id: Option<&'i str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<&'i str>,
    },
    Other {
        seq: u64,
        r#type: &'i str,
    },
}

pub(crate) fn log(format: Format, items: &[LogItem]) -> Result<String> {
    list(items, |text, item| {
        let mut plain = |plain: Plain<'_>| json(&plain).map(|item| text.push_str(&item));
        let (kind, stored) = match item {
            LogItem::Lane { seq, lane, leaf } => {
                let (seq, leaf_id) = (*seq, leaf.as_deref());
                return plain(Plain::Lane { seq, lane, leaf_id });
            }
            LogItem::Name { seq, name } => {
                return plain(Plain::Fact {
                    seq: *seq,
                    fact: "name",
                    name: name.as_deref(),
                    target_id: None,
                    label: None,
                });
            }
            LogItem::Label { seq, target, label } => {
                return plain(Plain::Fact {
                    seq: *seq,
                    fact: "label",
                    name: None,
                    target_id: Some(target),
                    label: label.as_deref(),
                });
            }
            LogItem::Entry(stored) => ("entry", stored),
            LogItem::Record(stored) => ("record", stored),
            other => {
                let r#type = match other {
                    LogItem::Other { kind, .. } => kind,
                    _ => "",
                };
                return plain(Plain::Other {
                    seq: other.seq(),
                    r#type,
                });
            }
        };
        let seq = item.seq();
        let _ = write!(text, r#"{{"kind":"{kind}","seq":{seq},"{kind}":"#);
        entry(text, format, stored)?;
        text.push('}');
        Ok(())
    })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Totals {
    message_count: u64,
    cached_tokens: i64,
    uncached_tokens: i64,
    total_tokens: i64,
    cost_total: f64,
}

impl From<leaflog::Stats> for Totals {
    fn from(stats: leaflog::Stats) -> Self {
        Self {
            message_count: stats.message_count,
            cached_tokens: stats.cached_tokens,
            uncached_tokens: stats.uncached_tokens,
            total_tokens: stats.total_tokens,
            cost_total: stats.cost_total,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Context<'s> {
    format: Format,
    session_id: &'s str,
    lane: Option<&'s str>,
    leaf_id: Option<&'s str>,
    name: Option<&'s str>,
    thinking_level: Option<&'s str>,
    model: Option<&'s leaflog::Model>,
    active_tool_names: Option<&'s [String]>,
    path_entries: u64,
    plan: Option<Plan<'s>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Plan<'p> {
    phase: Option<&'p str>,
    slug: Option<&'p str>,
    pre_mode: Option<&'p str>,
}

pub(crate) fn snapshot(taken: &Snapshot) -> Result<String> {
    let mut text = json(&Context {
        format: taken.format,
        session_id: &taken.session_id,
        lane: taken.lane.as_deref(),
        leaf_id: taken.leaf.as_deref(),
        name: taken.name.as_deref(),
        thinking_level: taken.reasoning_effort.as_deref(),
        model: taken.model.as_ref(),
        active_tool_names: taken.active_tools.as_deref(),
        path_entries: taken.path_entries,
        plan: taken.plan.as_ref().map(|plan| Plan {
            phase: plan.phase.as_deref(),
            slug: plan.slug.as_deref(),
            pre_mode: plan.pre_mode.as_deref(),
        }),
    })?;
    text.reserve(taken.messages.bytes() + taken.messages.len() + 64);
    // The brace that ends the object comes last.
    text.pop();
    text.push_str(r#","goal":"#);
    text.push_str(taken.goal.as_deref().unwrap_or("null"));
    text.push_str(r#","messages":["#);
    for (at, message) in taken.messages.iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        text.push_str(message);
    }
    text.push_str("]}");
    Ok(text)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Known<'m> {
    id: &'m str,
    created: Option<i64>,
    cwd: Option<&'m str>,
    parent: Option<&'m str>,
    format: Format,
    path: Option<String>,
    modified: Option<f64>,
    header: Header,
}

/// What is known of a session beside its lines. A database is no file of one session: what its own file
/// says of itself is nothing of the session.
pub(crate) fn metadata(known: &Metadata, is_file: bool) -> Result<String> {
    let file = known.path.as_deref().filter(|_| is_file);
    json(&Known {
        id: &known.id,
        created: known.created,
        cwd: known.cwd.as_deref(),
        parent: known.parent.as_deref(),
        format: known.format,
        path: known.path.as_deref().map(shown),
        modified: file.and_then(modified),
        header: match file {
            Some(file) => Header::of_file(file),
            None => Header::of_metadata(known.metadata.clone()),
        },
    })
}

/// The same of a session in a file that is not open.
pub(crate) fn header(info: &SessionInfo) -> Result<String> {
    let file = info.path.as_deref();
    json(&Known {
        id: &info.id,
        created: info.created,
        cwd: info.cwd.as_deref(),
        parent: info.parent.as_deref(),
        format: info.format,
        path: file.map(shown),
        modified: file.and_then(modified),
        header: file.map(Header::of_file).unwrap_or_default(),
    })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Info<'i> {
    id: &'i str,
    path: Option<String>,
    format: Format,
    cwd: Option<&'i str>,
    name: Option<&'i str>,
    title: Option<&'i str>,
    parent: Option<&'i str>,
    created: Option<i64>,
    updated: Option<i64>,
    message_count: u64,
    bytes: u64,
    damaged: bool,
}

impl<'i> From<&'i SessionInfo> for Info<'i> {
    fn from(info: &'i SessionInfo) -> Self {
        Self {
            id: &info.id,
            path: info.path.as_deref().map(shown),
            format: info.format,
            cwd: info.cwd.as_deref(),
            name: info.name.as_deref(),
            title: info.title.as_deref(),
            parent: info.parent.as_deref(),
            created: info.created,
            updated: info.updated,
            message_count: info.message_count,
            bytes: info.bytes,
            damaged: info.damaged,
        }
    }
}

#[derive(Serialize)]
struct Shown<'l> {
    sessions: Vec<Info<'l>>,
    warnings: Vec<String>,
}

/// What a listing shows.
pub(crate) fn listing(listing: &Listing) -> Result<String> {
    json(&Shown {
        sessions: listing.sessions.iter().map(Info::from).collect(),
        warnings: listing.warnings.iter().map(ToString::to_string).collect(),
    })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Verified<'v> {
    clean: bool,
    lines: u64,
    bytes: u64,
    entries: u64,
    leaves: u64,
    index_checked: bool,
    reports: &'v [leaflog::Report],
    report_count: u64,
    problems: &'v [leaflog::Problem],
    problem_count: u64,
}

pub(crate) fn verification(found: &Verification) -> Result<String> {
    json(&Verified {
        clean: found.is_clean(),
        lines: found.lines,
        bytes: found.bytes,
        entries: found.entries,
        leaves: found.leaves,
        index_checked: found.index_checked,
        reports: &found.reports,
        report_count: found.report_count,
        problems: &found.problems,
        problem_count: found.problem_count,
    })
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
