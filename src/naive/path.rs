//! Paths: from the leaf that a caller asks for to the root, and what breaks them.
//! For `Replay` only. It decides nothing about what the entries on a path mean.

use std::collections::HashSet;

use super::json;
use super::log::{Entry, Log};
use super::v4::MAIN;
use crate::error::{Code, Error, Result};
use crate::model::{At, Format};

/// A path, root first.
pub(super) struct Walk<'a> {
    pub(super) entries: Vec<&'a Entry>,
    /// Whether it was cut at a break.
    pub(super) salvaged: bool,
}

/// The id of the leaf where the conversation stands, which need not be in the file.
pub(super) fn current_leaf(log: &Log) -> Option<&str> {
    if log.format.has_lanes() {
        return log.mutations.leaf(MAIN).flatten();
    }
    log.entries.all.last().map(|entry| entry.id.as_str())
}

/// The path to the leaf that is asked for. A break is an error, or with `salvage` where the path is cut.
pub(super) fn walk<'a>(log: &'a Log, at: At<'_>, salvage: bool) -> Result<Walk<'a>> {
    let leaf = match at {
        At::Current => current_leaf(log),
        At::Lane(lane) => lane_leaf(log, lane)?,
        At::Leaf(id) => return walk_from(log, asked_for(log, id)?, salvage),
    };
    let mut empty = Walk {
        entries: Vec::new(),
        salvaged: false,
    };
    let Some(id) = leaf else {
        return Ok(empty);
    };
    match log.entries.get(id) {
        Some(entry) => walk_from(log, entry, salvage),
        None if salvage => {
            empty.salvaged = true;
            Ok(empty)
        }
        None => {
            let message = format!(
                "expected the leaf \"{id}\" to be an entry, found none of that id in the file; \
                 ask for another leaf, or for salvage"
            );
            Err(Error::new(Code::InvalidEntry, message))
        }
    }
}

fn asked_for<'a>(log: &'a Log, id: &str) -> Result<&'a Entry> {
    log.entries.get(id).ok_or_else(|| {
        let message = format!("expected an entry \"{id}\", found none of that id in the file");
        Error::new(Code::NotFound, message)
    })
}

fn lane_leaf<'a>(log: &'a Log, lane: &str) -> Result<Option<&'a str>> {
    if !log.format.has_lanes() {
        let format = log.format;
        let message = format!("expected a format with lanes for lane \"{lane}\", found {format}");
        return Err(Error::new(Code::Unsupported, message));
    }
    log.mutations.leaf(lane).ok_or_else(|| {
        let names: Vec<_> = log
            .mutations
            .lanes
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        let names = json::excerpt(&names.join(", "));
        let message = format!("expected one of the lanes {names}; found no lane \"{lane}\"");
        Error::new(Code::InvalidLane, message)
    })
}

fn walk_from<'a>(log: &'a Log, leaf: &'a Entry, salvage: bool) -> Result<Walk<'a>> {
    let mut entries = Vec::new();
    let mut seen = HashSet::new();
    let mut entry = leaf;
    let end = loop {
        entries.push(entry);
        seen.insert(entry.id.as_str());
        let Some(parent) = entry.parent.as_deref() else {
            break root(log.format, entry);
        };
        let Some(above) = log.entries.get(parent) else {
            break orphan(log.format, entry, parent);
        };
        if seen.contains(parent) {
            let message = format!(
                "expected a path to a root, found a cycle: \"{parent}\" is its own ancestor"
            );
            break Err(broken(above, &message));
        }
        entry = above;
    };
    let salvaged = end.is_err();
    if !salvage {
        end?;
    }
    entries.reverse();
    Ok(Walk { entries, salvaged })
}

/// The end of a walk at an entry without a parent.
fn root(format: Format, entry: &Entry) -> Result<()> {
    if format != Format::CodebotV3 || entry.kind == "header" {
        return Ok(());
    }
    let id = &entry.id;
    let message =
        format!("expected the path to end at the header h0, found \"{id}\" without a parent");
    Err(broken(entry, &message))
}

/// The end of a walk at an entry whose parent is not in the file.
fn orphan(format: Format, entry: &Entry, parent: &str) -> Result<()> {
    match format {
        Format::PiV1 | Format::PiV2 | Format::PiV3 => Ok(()),
        Format::CodebotV3 | Format::PiV4 => {
            let id = &entry.id;
            let message = format!(
                "expected the parent \"{parent}\" of \"{id}\", found no entry of that id in the file"
            );
            Err(broken(entry, &message))
        }
    }
}

fn broken(entry: &Entry, message: &str) -> Error {
    let message = format!("{message}; salvage cuts the path here");
    Error::new(Code::InvalidEntry, message).at_line(entry.place.line, entry.place.offset)
}
