//! The overview of a log: what a listing shows, counted and collected from all kept lines.
//! For `Replay` only. It follows no paths and takes no time from the file system.

use std::collections::BTreeMap;

use super::json::{self, Fields};
use super::log::{Entry, Log};
use super::path::current_leaf;
use super::time;
use crate::model::{Format, MAX_REPORTS, Overview, Stats};

/// What the log looks like from outside.
pub(super) fn overview(log: &Log) -> Overview {
    let header = &log.header;
    let wide = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    Overview {
        format: log.format,
        session_id: header.session_id.clone(),
        cwd: header.cwd.clone(),
        created: header.created,
        parent: header.parent.clone(),
        name: name(log),
        leaf: current_leaf(log).map(str::to_owned),
        lanes: log.mutations.lanes.clone(),
        labels: labels(log),
        open_operations: log.mutations.open_operations(),
        stats: stats(log),
        entries: wide(log.entries.ids()),
        records: wide(log.records.ids()),
        lines: log.lines,
        bytes: log.bytes,
        kinds: log.kinds.clone(),
        updated: updated(log),
        first_message: messages(log).find_map(|message| first_text(log.format, &message)),
        reports: log.reports.iter().take(MAX_REPORTS).cloned().collect(),
        report_count: wide(log.reports.len()),
    }
}

/// The session's name: the latest in the file.
pub(super) fn name(log: &Log) -> Option<String> {
    let mut lines = log.entries.all.iter().rev();
    let info = lines.find(|entry| entry.acts_as("session_info"));
    match log.format {
        Format::CodebotV3 => {
            let named = match info {
                Some(entry) => Fields::of(entry.fields().get("data").unwrap_or_default())
                    .string("name")
                    .map(String::from),
                None => log.header.name.clone(),
            };
            named.filter(|name| !name.is_empty())
        }
        Format::PiV1 | Format::PiV2 | Format::PiV3 => {
            let line = info?.fields();
            let name = line.string("name")?;
            Some(name.trim().to_owned()).filter(|name| !name.is_empty())
        }
        Format::PiV4 => log.mutations.name.clone(),
    }
}

fn labels(log: &Log) -> BTreeMap<String, String> {
    let mut labels = log.mutations.labels.clone();
    if !matches!(log.format, Format::PiV1 | Format::PiV2 | Format::PiV3) {
        return labels;
    }
    for entry in log
        .entries
        .all
        .iter()
        .filter(|entry| entry.acts_as("label"))
    {
        let line = entry.fields();
        let target = line.string("targetId").unwrap_or_default().into_owned();
        match line.string("label").filter(|label| !label.is_empty()) {
            Some(label) => labels.insert(target, label.into_owned()),
            None => labels.remove(&target),
        };
    }
    labels
}

fn stats(log: &Log) -> Stats {
    let messages = log
        .entries
        .winning()
        .filter(|entry| entry.kind == "message");
    let mut stats = Stats {
        message_count: u64::try_from(messages.count()).unwrap_or(u64::MAX),
        ..Stats::default()
    };
    for record in log
        .records
        .winning()
        .filter(|record| record.acts_as("usage"))
    {
        let line = record.fields();
        let usage = Fields::of(line.get("usage").unwrap_or_default());
        let cost = Fields::of(usage.get("cost").unwrap_or_default());
        let add = |sum: i64, key: &str| sum.saturating_add(tokens(&usage, key));
        stats.cached_tokens = add(stats.cached_tokens, "cacheRead");
        stats.uncached_tokens = add(stats.uncached_tokens, "input");
        stats.uncached_tokens = add(stats.uncached_tokens, "cacheWrite");
        stats.total_tokens = add(stats.total_tokens, "totalTokens");
        stats.cost_total += finite(&cost, "total").unwrap_or(0.0);
    }
    stats
}

fn tokens(usage: &Fields<'_>, key: &str) -> i64 {
    // Plain digits are read as they are: a float would lose the last of very long ones.
    let plain = usage.get(key).and_then(|raw| raw.parse().ok());
    plain
        .or_else(|| finite(usage, key).map(json::cut))
        .unwrap_or(0)
}

fn finite(fields: &Fields<'_>, key: &str) -> Option<f64> {
    let number = fields.get(key).and_then(json::number);
    number.filter(|number| number.is_finite())
}

/// A message of the file and the time of its entry.
struct Message<'a> {
    fields: Fields<'a>,
    time: Option<i64>,
}

/// The messages of the file in file order.
fn messages(log: &Log) -> impl Iterator<Item = Message<'_>> {
    let key = match log.format {
        Format::CodebotV3 => "data",
        Format::PiV1 | Format::PiV2 | Format::PiV3 | Format::PiV4 => "message",
    };
    let lines = log.entries.all.iter();
    lines
        .filter(|entry| entry.acts_as("message"))
        .map(move |entry| Message {
            fields: Fields::of(entry.fields().get(key).unwrap_or_default()),
            time: entry.time,
        })
}

/// The newest time that counts as activity.
fn updated(log: &Log) -> Option<i64> {
    let times = |entries: &[Entry]| entries.iter().filter_map(|entry| entry.time).max();
    match log.format {
        Format::CodebotV3 => times(&log.entries.all),
        Format::PiV1 | Format::PiV2 | Format::PiV3 => {
            messages(log).filter_map(|message| spoken(&message)).max()
        }
        Format::PiV4 => times(&log.entries.all).max(times(&log.records.all)),
    }
    .or(match log.format {
        Format::CodebotV3 => None,
        _ => log.header.created,
    })
}

/// When a user or assistant message was made.
fn spoken(message: &Message<'_>) -> Option<i64> {
    let role = message.fields.string("role");
    if !matches!(role.as_deref(), Some("user" | "assistant")) {
        return None;
    }
    let own = message.fields.get("timestamp").and_then(time::millis);
    own.or(message.time)
}

/// The text by which a listing shows a session, if this user message has any.
fn first_text(format: Format, message: &Message<'_>) -> Option<String> {
    let fields = &message.fields;
    if !fields.is("role", "user") {
        return None;
    }
    let content = fields.get("content")?;
    let blocks = json::elements(content);
    let mut texts = blocks.into_iter().filter_map(block_text);
    let text = if format == Format::CodebotV3 {
        let metadata = Fields::of(fields.get("metadata").unwrap_or_default());
        if metadata.get("injected") == Some("true") {
            return None;
        }
        texts.rfind(|text| !text.is_empty())?
    } else {
        match json::string(content) {
            Some(text) => text.into_owned(),
            None => texts.collect::<Vec<_>>().join(" "),
        }
    };
    (!text.is_empty()).then(|| shortened(&text))
}

fn block_text(block: &str) -> Option<String> {
    let block = Fields::of(block);
    let text = block.string("text").filter(|_| block.is("type", "text"))?;
    Some(text.into_owned())
}

/// The text cut to 80 characters, the last three points where it was longer.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 80;
    if text.chars().nth(LONGEST).is_none() {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(LONGEST - 3).collect();
    short.push_str("...");
    short
}
