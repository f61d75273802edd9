//! The context of a path, read from its newest compaction on and not from its root: the few lines
//! that count are put together as a small log, which the rules for files then read.

use std::path::Path;

use super::row::{Class, Standing};
use super::session::lost;
use super::{Filter, Rows, Walk};
use crate::contract::{CreateOptions, Order};
use crate::error::{Code, Error, Result};
use crate::format::{Line, header_line, reparented};
use crate::index::{How, Trouble, build};
use crate::log::LogFile;
use crate::model::{At, Format, Snapshot};
use crate::snapshot::{Source, take as take_from_log};
use crate::store::entry::Entry;
use crate::store::rules::unknown_entry;

/// Takes the snapshot of a path.
pub(super) fn take<R: Rows>(rows: &R, at: At<'_>) -> Result<Snapshot> {
    let now = rows.now()?;
    let lane = match at {
        At::Current => Some("main"),
        At::Lane(lane) => Some(lane),
        At::Leaf(_) => None,
    };
    let leaf = match (at, lane) {
        (At::Leaf(id), _) => Some(id),
        (_, Some(lane)) => now.head.lane(lane)?.lane.leaf.as_deref(),
        _ => None,
    };
    let standing = match leaf {
        None => None,
        Some(id) => match (rows.standing(id)?, at) {
            (Some(standing), _) => Some(standing),
            (None, At::Leaf(_)) => return Err(unknown_entry(id)),
            (None, _) => return Err(lost(id)),
        },
    };
    let metadata = rows.metadata()?;
    let mut log = header(&metadata.id)?;
    if let Some(standing) = standing {
        add_lines(&mut log, rows, standing)?;
    }
    let path = metadata.path.as_deref().unwrap_or(Path::new(""));
    let mut snapshot = read(LogFile::in_memory(path, log), leaf)?;
    snapshot.lane = lane.map(str::to_owned);
    snapshot.name = now.totals.name;
    snapshot.path_entries = standing.map_or(0, |standing| standing.depth);
    Ok(snapshot)
}

/// The header of the small log.
fn header(session: &str) -> Result<Vec<u8>> {
    let mut line = Line::default();
    let options = CreateOptions::default();
    header_line(&mut line, Format::PiV4, session, 0, &options)?;
    Ok(line.bytes().to_vec())
}

/// Adds the lines of a path that count: what sets the state before the newest compaction, that
/// compaction, and what follows it. Without a compaction that is the whole path.
fn add_lines<R: Rows>(log: &mut Vec<u8>, rows: &R, standing: Standing) -> Result<()> {
    let mut setters = vec![standing.model, standing.effort, standing.tools];
    setters.retain(|&setter| setter.is_some() && setter < standing.compaction);
    setters.sort_unstable();
    setters.dedup();
    // Between these lines others are left out: each is put on the one before it.
    let mut above: Option<String> = None;
    for setter in setters.into_iter().flatten() {
        let entry = at_number(rows, setter)?;
        add(
            log,
            &reparented(&entry.bytes, above.as_deref()).ok_or_else(|| lost(&entry.id))?,
        );
        above = Some(entry.id);
    }
    let path = rows.walk(
        standing,
        &Walk {
            filter: Filter {
                class: Some(Class::Entry),
                order: Order::OldestFirst,
                ..Filter::default()
            },
            floor: standing.compaction,
            ..Walk::default()
        },
    )?;
    let mut path = path.iter();
    if let Some(first) = path.next() {
        check_start(first, standing)?;
        let moved = standing
            .compaction
            .and_then(|_| reparented(&first.bytes, above.as_deref()));
        add(log, moved.as_ref().unwrap_or(&first.bytes));
    }
    path.for_each(|entry| add(log, &entry.bytes));
    Ok(())
}

/// Whether a path starts where it should: with the compaction, or with a root.
fn check_start(first: &Entry, standing: Standing) -> Result<()> {
    let whole = match standing.compaction {
        Some(compaction) => first.seq == Some(compaction),
        None => first.parent.is_none(),
    };
    if whole {
        return Ok(());
    }
    Err(lost(first.parent.as_deref().unwrap_or(&first.id)))
}

fn at_number<R: Rows>(rows: &R, seq: u64) -> Result<Entry> {
    let found = rows.scan(&Filter {
        class: Some(Class::Entry),
        above: seq.checked_sub(1),
        below: seq.checked_add(1),
        ..Filter::default()
    })?;
    let entry = found.into_iter().next().map(|(_, entry)| entry);
    entry.ok_or_else(|| lost(&format!("number {seq}")))
}

fn add(log: &mut Vec<u8>, object: &[u8]) {
    log.extend_from_slice(object);
    log.push(b'\n');
}

fn read(log: LogFile, leaf: Option<&str>) -> Result<Snapshot> {
    let how = How {
        own: false,
        salvage: false,
        strict: false,
        progress: None,
    };
    let built = build(&log, how)?;
    let source = Source {
        index: &built.index,
        log: &log,
    };
    take_from_log(source, leaf.map_or(At::Current, At::Leaf), false).map_err(|trouble| {
        match trouble {
            Trouble::Log(error) => error,
            Trouble::Index => Error::new(
                Code::InvalidEntry,
                "the lines of the path do not say what the store says of them; it was damaged by something else",
            )
            .at_path(log.path()),
        }
    })
}
