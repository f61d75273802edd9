//! What a call answered, as lines to compare: the same for all backends that agree. Left out is what
//! each store has of its own: times of making, offsets, paths, the order of an object's keys.

use crate::conformance::model::raw;
use crate::conformance::state::State;
use crate::contract::LogItem;
use crate::error::{Code, Result};
use crate::model::{Format, Snapshot};
use crate::store::Entry;

/// The lines of an answer, or the code of an error.
pub(super) type Answer = std::result::Result<Vec<String>, Code>;

/// The answer that a result is.
pub(super) fn answer<T>(result: Result<T>, lines: impl FnOnce(T) -> Vec<String>) -> Answer {
    result.map(lines).map_err(|error| error.code())
}

pub(super) fn entry(entry: &Entry) -> String {
    if entry.kind == "header" {
        return format!("the header, seq {:?}", entry.seq);
    }
    format!(
        "{} `{}` on {:?}, lane {:?}, seq {:?}, time {:?}: {}",
        entry.kind,
        entry.id,
        entry.parent,
        entry.lane,
        entry.seq,
        entry.time,
        fields(&entry.text())
    )
}

pub(super) fn entries(list: &[Entry]) -> Vec<String> {
    list.iter().map(entry).collect()
}

/// The fields by name, each as it is spelled; the time stands beside them.
fn fields(object: &str) -> String {
    let Ok(mut raw) = raw(object) else {
        return object.to_owned();
    };
    raw.remove("timestamp");
    let fields: Vec<String> = raw
        .iter()
        .map(|(key, value)| format!("{key}: {value}"))
        .collect();
    fields.join(", ")
}

pub(super) fn items(list: &[LogItem]) -> Vec<String> {
    let line = |item: &LogItem| match item {
        LogItem::Entry(one) => format!("entry {}", entry(one)),
        LogItem::Record(one) => format!("record {}", entry(one)),
        other => format!("{other:?}"),
    };
    list.iter().map(line).collect()
}

pub(super) fn snapshot(snapshot: &Snapshot) -> Vec<String> {
    let Snapshot { messages, .. } = snapshot;
    let rest = Snapshot {
        messages: crate::Messages::default(),
        ..snapshot.clone()
    };
    let mut lines = vec![format!("{rest:?}")];
    for message in messages.iter() {
        // A summary of codebot's carries the time of its entry to the nanosecond.
        lines.push(match snapshot.format {
            Format::CodebotV3 => fields(message),
            _ => message.to_owned(),
        });
    }
    lines
}

pub(super) fn state(mut state: State) -> Vec<String> {
    state.metadata.created = None;
    state.metadata.path = None;
    if state.metadata.format != Format::PiV4 {
        // The path of a file.
        state.metadata.parent = None;
    }
    let mut lines = vec![format!("{:?}", state.metadata)];
    lines.extend(items(&state.log));
    lines.push(format!("{:?}", state.lanes));
    lines.push(format!("name {:?}, labels {:?}", state.name, state.labels));
    lines.push(format!("open {:?}", state.open));
    let stats = state.stats;
    lines.push(format!(
        "{} messages; tokens {}, {}, {}; cost {:.6}",
        stats.message_count,
        stats.cached_tokens,
        stats.uncached_tokens,
        stats.total_tokens,
        stats.cost_total
    ));
    for (what, seen) in &state.snapshots {
        lines.push(format!("snapshot of {what}:"));
        match seen {
            Ok(seen) => lines.extend(snapshot(seen)),
            Err(code) => lines.push(code.to_string()),
        }
    }
    lines
}

/// Where two answers part.
pub(super) fn difference(backend: &Answer, model: &Answer) -> String {
    let (backend, model) = match (backend, model) {
        (Ok(backend), Ok(model)) => (backend, model),
        (backend, model) => {
            let say = |answer: &Answer| match answer {
                Ok(lines) => format!("succeeded with {} lines", lines.len()),
                Err(code) => format!("answered `{code}`"),
            };
            return format!("the backend {}, the model {}", say(backend), say(model));
        }
    };
    let parts = backend.iter().zip(model).find(|(one, other)| one != other);
    match parts {
        Some((backend, model)) => {
            format!("the backend has\n    {backend}\n  where the model has\n    {model}")
        }
        None => {
            let (longer, shorter, who) = if backend.len() > model.len() {
                (backend, model, "backend")
            } else {
                (model, backend, "model")
            };
            let more: Vec<&str> = longer
                .iter()
                .skip(shorter.len())
                .map(|line| &**line)
                .collect();
            format!("the {who} has more:\n    {}", more.join("\n    "))
        }
    }
}
