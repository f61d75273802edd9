//! Queries over a log through its index: columns say which entries may be meant, and only those
//! are read.

use super::Entry;
use super::entry::{counts, number};
use crate::contract::{BranchBounds, EntryQuery, Order, RecordQuery};
use crate::format::{kind_by_name, record_kind};
use crate::index::{Answer, Class, Slot, class_of};
use crate::json::{Document, Grammar, Json};
use crate::model::ReportCode;
use crate::snapshot::{Source, break_at, whole_path};

/// The entries that a query asks for.
pub(super) fn entries(source: Source<'_>, query: &EntryQuery) -> Answer<Vec<Entry>> {
    let limit = query.limit.unwrap_or(usize::MAX);
    let mut found = Vec::new();
    for slot in slots(source, query.order, query.after_seq)? {
        if found.len() >= limit {
            break;
        }
        found.extend(entry(source, slot, query)?);
    }
    Ok(found)
}

/// The entries of a path that a query asks for. None if there is no such start.
pub(super) fn on_branch(
    source: Source<'_>,
    query: &EntryQuery,
    bounds: &BranchBounds,
) -> Answer<Option<Vec<Entry>>> {
    let Some(start) = source
        .index
        .slot_of(source.log, &bounds.start, Class::Entry)?
    else {
        return Ok(None);
    };
    let stop_at = match &bounds.stop_at_id {
        Some(id) => source.index.slot_of(source.log, id, Class::Entry)?,
        None => None,
    };
    let is_bound = |slot: Slot| -> Answer<bool> {
        if Some(slot) == stop_at {
            return Ok(true);
        }
        match &bounds.stop_at_kind {
            Some(kind) => has_kind(source, slot, kind),
            None => Ok(false),
        }
    };
    let limit = query.limit.unwrap_or(usize::MAX);
    let mut found = Vec::new();
    if query.order == Order::OldestFirst {
        for slot in whole_path(source, start, false)? {
            if found.len() >= limit {
                break;
            }
            found.extend(in_range(source, slot, query)?);
            if is_bound(slot)? {
                break;
            }
        }
        return Ok(Some(found));
    }
    // Only a path that may come back to an entry needs to be looked at as a whole.
    if source.index.is_irregular() {
        whole_path(source, start, false)?;
    }
    let mut at = Some(start);
    while let Some(slot) = at.filter(|_| found.len() < limit) {
        found.extend(in_range(source, slot, query)?);
        if is_bound(slot)? {
            break;
        }
        at = source.index.parent(slot)?;
        if at.is_none()
            && found.len() < limit
            && let Some(error) = break_at(source, slot)?
        {
            return Err(error.into());
        }
    }
    Ok(Some(found))
}

/// The records that a query asks for.
pub(super) fn records(source: Source<'_>, query: &RecordQuery) -> Answer<Vec<Entry>> {
    let limit = query.limit.unwrap_or(usize::MAX);
    let mut found = Vec::new();
    let above = |slot| {
        Ok::<_, crate::index::Trouble>(match query.after_seq {
            Some(after) => number(source.index, slot)? > after,
            None => true,
        })
    };
    for slot in slots(source, query.order, None)? {
        if found.len() >= limit {
            break;
        }
        if class_of(source.index.kind(slot)?) != Class::Record || !above(slot)? {
            continue;
        }
        if let Some(kind) = &query.kind
            && source.index.kind(slot)? != record_kind(kind)
        {
            continue;
        }
        if let Some(lane) = &query.lane
            && source.index.lane(slot)?.is_some_and(|name| name != lane)
        {
            continue;
        }
        if !counts(source, slot)? {
            continue;
        }
        let record = Entry::read(source, slot)?;
        let is_run = |run: &String| match &*record.kind {
            "operation_started" => record.id == *run,
            _ => record.parent.as_ref() == Some(run),
        };
        let is_it = query.kind.as_ref().is_none_or(|kind| record.kind == *kind)
            && query
                .lane
                .as_ref()
                .is_none_or(|lane| record.lane.as_ref() == Some(lane))
            && query.run_id.as_ref().is_none_or(is_run)
            && query
                .operation_kind
                .as_ref()
                .is_none_or(|kind| operation_kind(&record.bytes).as_ref() == Some(kind));
        if is_it {
            found.push(record);
        }
    }
    Ok(found)
}

/// The kind of operation that a record starts.
fn operation_kind(object: &[u8]) -> Option<String> {
    let document = Grammar::parse(object).ok()?;
    let kind = document.root().field("intent")?.field("kind")?.text()?;
    Some(kind.into_owned())
}

/// The slots behind a cursor, in an order.
fn slots(
    source: Source<'_>,
    order: Order,
    after: Option<u64>,
) -> Answer<Box<dyn Iterator<Item = Slot>>> {
    let all = 0..source.index.slots();
    let range = match after {
        None => all,
        Some(after) if source.index.summary.count_of(ReportCode::Seq) > 0 => {
            // Numbers that do not simply count on are looked at one by one.
            let mut kept = Vec::new();
            for slot in all {
                let seq = number(source.index, slot)?;
                if (order == Order::OldestFirst && seq > after)
                    || (order == Order::NewestFirst && seq < after)
                {
                    kept.push(slot);
                }
            }
            return Ok(match order {
                Order::OldestFirst => Box::new(kept.into_iter()),
                Order::NewestFirst => Box::new(kept.into_iter().rev()),
            });
        }
        Some(after) if order == Order::OldestFirst => first_above(source, after)?..all.end,
        Some(after) => 0..first_above(source, after.saturating_sub(1))?,
    };
    Ok(match order {
        Order::OldestFirst => Box::new(range),
        Order::NewestFirst => Box::new(range.rev()),
    })
}

/// The first slot with a larger number, where numbers grow with slots.
pub(super) fn first_above(source: Source<'_>, seq: u64) -> Answer<Slot> {
    let (mut low, mut high) = (0, source.index.slots());
    while low < high {
        let middle = low + (high - low) / 2;
        if number(source.index, middle)? > seq {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Ok(low)
}

/// An entry of a path, if a query asks for it; the cursor is looked at too.
fn in_range(source: Source<'_>, slot: Slot, query: &EntryQuery) -> Answer<Option<Entry>> {
    if let Some(after) = query.after_seq {
        let seq = number(source.index, slot)?;
        let is_behind = match query.order {
            Order::OldestFirst => seq > after,
            Order::NewestFirst => seq < after,
        };
        if !is_behind {
            return Ok(None);
        }
    }
    entry(source, slot, query)
}

/// An entry, if its kind and its custom type are those that a query asks for.
fn entry(source: Source<'_>, slot: Slot, query: &EntryQuery) -> Answer<Option<Entry>> {
    let index = source.index;
    if class_of(index.kind(slot)?) != Class::Entry || !counts(source, slot)? {
        return Ok(None);
    }
    if let Some(kind) = &query.kind
        && !has_kind(source, slot, kind)?
    {
        return Ok(None);
    }
    if query.custom_type.is_some()
        && !has_kind(source, slot, "custom")?
        && !has_kind(source, slot, "custom_message")?
    {
        return Ok(None);
    }
    let entry = Entry::read(source, slot)?;
    let is_it = query.custom_type.as_ref().is_none_or(|custom| {
        let document = Grammar::parse(&entry.bytes).ok();
        let field = document
            .as_ref()
            .and_then(|document| document.root().field("customType"));
        field.and_then(Json::text).as_deref() == Some(custom)
    });
    Ok(is_it.then_some(entry))
}

/// Whether an entry is of a kind, by the name that it has in its line.
fn has_kind(source: Source<'_>, slot: Slot, name: &str) -> Answer<bool> {
    let known = kind_by_name(source.index.format, name);
    if source.index.kind(slot)? != known.kind {
        return Ok(false);
    }
    if known.is_only_name {
        return Ok(true);
    }
    Ok(Entry::read(source, slot)?.kind == name)
}

/// Operations by their ids, the latest first.
pub(super) fn operations(
    source: Source<'_>,
    ids: &[String],
    limit: Option<usize>,
) -> Answer<Vec<Entry>> {
    let limit = limit.unwrap_or(usize::MAX);
    let mut found = Vec::new();
    for id in ids.iter().rev().take(limit) {
        if let Some(slot) = source.index.slot_of(source.log, id, Class::Record)? {
            found.push(Entry::read(source, slot)?);
        }
    }
    Ok(found)
}
