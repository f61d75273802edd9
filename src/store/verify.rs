//! Reads everything and compares: the log with its format's rules, the sidecar with the log.

use std::path::Path;

use serde::Serialize;

use super::entry::counts;
use super::state::with_progress;
use super::{IndexMode, OpenOptions};
use crate::error::Result;
use crate::index::{
    Answer, Class, Flags, Index, ROW_WIDTH, Sidecar, Slot, Trouble, Why, build, class_of,
    same_bytes,
};
use crate::log::LogFile;
use crate::model::Report;
use crate::snapshot::{Source, Trail};

/// How many problems are listed; all are counted.
const MOST_PROBLEMS: usize = 100;

/// Something that is wrong beside damaged lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Problem {
    /// Where it lies: `index` or `path`.
    pub place: &'static str,
    /// What it is, in a sentence.
    pub detail: String,
}

/// What a full reading found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Verification {
    /// Lines read.
    pub lines: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Entries and records found.
    pub entries: u64,
    /// Leaves whose paths were followed to the root.
    pub leaves: u64,
    /// Whether there was a sidecar to compare with the log.
    pub index_checked: bool,
    /// The first damaged lines.
    pub reports: Vec<Report>,
    /// How many reports there are.
    pub report_count: u64,
    /// The first things that are wrong beside them.
    pub problems: Vec<Problem>,
    /// How many there are.
    pub problem_count: u64,
}

impl Verification {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.report_count == 0 && self.problem_count == 0
    }

    fn add(&mut self, place: &'static str, detail: String) {
        self.problem_count += 1;
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(Problem { place, detail });
        }
    }
}

pub(super) fn run(path: &Path, options: &OpenOptions) -> Result<Verification> {
    let log = LogFile::open(path, options.reading)?;
    let built = with_progress(options, log.len(), |how| build(&log, how))?;
    let summary = &built.index.summary;
    let mut found = Verification {
        lines: summary.lines,
        bytes: log.len(),
        entries: u64::from(built.index.slots()),
        leaves: 0,
        index_checked: false,
        reports: built.index.details().unwrap_or_default().reports(),
        report_count: summary.report_count(),
        problems: Vec::new(),
        problem_count: 0,
    };
    let source = Source {
        index: &built.index,
        log: &log,
    };
    settle(check_paths(source, &mut found), "path", &mut found)?;
    if options.index == IndexMode::Memory {
        return Ok(found);
    }
    let sidecar = Sidecar::of(path, options.index_dir.as_deref());
    match sidecar.load(&log, options.reading)? {
        Err(Why::Missing) => {}
        Err(Why::Unusable(reason)) => {
            found.index_checked = true;
            found.add(
                "index",
                format!("the sidecar is not usable: {reason}; opening the session rebuilds it"),
            );
        }
        Ok(loaded) => {
            found.index_checked = true;
            if !matches!(same_bytes(&loaded.index, &log)?, Ok(true)) {
                found.add(
                    "index",
                    "the log's bytes are not those that were indexed".to_owned(),
                );
            }
            settle(
                check_index(source, &loaded.index, &mut found),
                "index",
                &mut found,
            )?;
        }
    }
    Ok(found)
}

/// Damage that ends a comparison is one more problem; trouble with the log is an error.
fn settle(result: Answer<()>, place: &'static str, found: &mut Verification) -> Result<()> {
    match result {
        Ok(()) => Ok(()),
        Err(Trouble::Index) => {
            found.add(
                place,
                "the index contradicts itself or its checksums".to_owned(),
            );
            Ok(())
        }
        Err(Trouble::Log(error)) => Err(error),
    }
}

/// Follows the path of every leaf.
fn check_paths(source: Source<'_>, found: &mut Verification) -> Answer<()> {
    let index = source.index;
    let slots = usize::try_from(index.slots()).unwrap_or(0);
    let mut has_child = vec![false; slots];
    for slot in 0..index.slots() {
        if is_node(source, slot)?
            && let Some(parent) = index.parent(slot)?
            && let Some(mark) = usize::try_from(parent)
                .ok()
                .and_then(|parent| has_child.get_mut(parent))
        {
            *mark = true;
        }
    }
    // Leaves that share a root share its break, which is told once.
    let mut told = ahash::AHashSet::new();
    for slot in 0..index.slots() {
        let parent_of_some = usize::try_from(slot)
            .ok()
            .and_then(|slot| has_child.get(slot))
            .copied();
        if parent_of_some == Some(true) || !is_node(source, slot)? {
            continue;
        }
        found.leaves += 1;
        match Trail::check(source, slot) {
            Ok(()) => {}
            Err(Trouble::Log(error)) if told.insert(error.to_string()) => {
                found.add("path", error.to_string())
            }
            Err(Trouble::Log(_)) => {}
            Err(trouble) => return Err(trouble),
        }
    }
    Ok(())
}

fn is_node(source: Source<'_>, slot: Slot) -> Answer<bool> {
    Ok(class_of(source.index.kind(slot)?) == Class::Entry && counts(source, slot)?)
}

/// Compares a sidecar, entry by entry, with what the log says now.
fn check_index(source: Source<'_>, loaded: &Index, found: &mut Verification) -> Answer<()> {
    let built = source.index;
    if loaded.format != built.format || loaded.slots() > built.slots() {
        found.add(
            "index",
            "the sidecar has another format or more entries than the log".to_owned(),
        );
        return Ok(());
    }
    for segment in &loaded.segments {
        segment.check_all()?;
    }
    for slot in 0..loaded.slots() {
        let id = loaded.id(source.log, slot)?;
        let class = class_of(loaded.kind(slot)?);
        let is_found = loaded.flags(slot)?.has(Flags::OVERRIDDEN)
            || loaded.slot_of(source.log, &id, class)? == Some(slot);
        let same = loaded.place(slot)? == built.place(slot)?
            && loaded.kind(slot)? == built.kind(slot)?
            && loaded.flags(slot)? == built.flags(slot)?
            && loaded.parent(slot)? == built.parent(slot)?
            && loaded.depth(slot)? == built.depth(slot)?
            && loaded.time(slot)? == built.time(slot)?
            && loaded.lane(slot)? == built.lane(slot)?
            && loaded.seq(slot)? == built.seq(slot)?
            && state(loaded, slot)? == state(built, slot)?
            && id == built.id(source.log, slot)?;
        if !same || !is_found {
            found.add(
                "index",
                format!("the sidecar does not say of `{id}` what its line says"),
            );
        }
    }
    Ok(())
}

fn state(index: &Index, slot: Slot) -> Answer<Option<[u32; ROW_WIDTH]>> {
    match index.row_number(slot)? {
        crate::index::NONE => Ok(None),
        number => Ok(Some(index.row(number)?)),
    }
}
