//! Reads everything and compares: the log with its format's rules, the sidecar with the log. Writes
//! nothing. Beside the index that it builds it needs a byte an entry and what two summaries take.

use std::path::Path;

use serde::Serialize;

use super::entry::counts;
use super::state::{how, refuse_damage, with_progress};
use super::{IndexMode, OpenOptions};
use crate::error::Result;
use crate::index::{
    Answer, Built, Class, Flags, Index, ROW_WIDTH, Sidecar, Slot, Summary, Trouble, Why, build,
    class_of, extend, same_bytes,
};
use crate::log::LogFile;
use crate::model::Report;
use crate::snapshot::{Source, Trail, is_broken_at};

/// How many problems are listed; all are counted.
const MOST_PROBLEMS: usize = 100;

/// Something that is wrong beside damaged lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Problem {
    /// Where it lies: `index`, `path`, or `rule` for a rule of the format that no line breaks alone.
    pub place: &'static str,
    /// What it is, in a sentence.
    pub detail: String,
}

/// What a full reading found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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
    // All damage is looked at before strict reading refuses the first of it.
    let tolerant = options.clone().strict(false);
    let built = with_progress(&tolerant, log.len(), |how| build(&log, how))?;
    if options.strict {
        refuse_damage(&built.index, path)?;
    }
    let options = &tolerant;
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
    settle(check_operations(source, &mut found), "rule", &mut found)?;
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
            let slots = check_index(source, &loaded.index, &mut found);
            settle(slots, "index", &mut found)?;
            let session = check_session(&built, &loaded.index, &log, options, &mut found);
            settle(session, "index", &mut found)?;
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
    let mut breaks = Breaks::default();
    for slot in 0..index.slots() {
        let parent_of_some = usize::try_from(slot)
            .ok()
            .and_then(|slot| has_child.get(slot))
            .copied();
        if parent_of_some == Some(true) || !is_node(source, slot)? {
            continue;
        }
        found.leaves += 1;
        if !breaks.is_new(source, slot)? {
            continue;
        }
        // Where a break stands is looked for only as long as it will be listed.
        if found.problems.len() == MOST_PROBLEMS {
            found.problem_count += 1;
            continue;
        }
        match Trail::check(source, slot) {
            Err(Trouble::Log(error)) => found.add("path", error.to_string()),
            outcome => outcome?,
        }
    }
    Ok(())
}

/// What is wrong with the paths that were followed so far: leaves that share a break are told of once,
/// and no stretch of a path is followed twice.
#[derive(Default)]
struct Breaks {
    roots: ahash::AHashSet<Slot>,
    /// Entries that run into a circle, by the leaf that they were met from.
    cyclic: ahash::AHashMap<Slot, Slot>,
}

impl Breaks {
    /// Whether the path to a leaf has a break that no path before it had.
    fn is_new(&mut self, source: Source<'_>, leaf: Slot) -> Answer<bool> {
        if let Some(root) = Trail::root(source, leaf)? {
            return Ok(is_broken_at(source, root)? && self.roots.insert(root));
        }
        let mut at = leaf;
        loop {
            if let Some(&from) = self.cyclic.get(&at) {
                return Ok(from == leaf);
            }
            self.cyclic.insert(at, leaf);
            match source.index.parent(at)? {
                Some(parent) => at = parent,
                None => return Ok(false),
            }
        }
    }
}

fn is_node(source: Source<'_>, slot: Slot) -> Answer<bool> {
    Ok(class_of(source.index.kind(slot)?) == Class::Entry && counts(source, slot)?)
}

/// A lane has one open operation at the most; a harness takes more for corruption and stops.
fn check_operations(source: Source<'_>, found: &mut Verification) -> Answer<()> {
    for (lane, open) in &source.index.details()?.open {
        if open.len() > 1 {
            found.add(
                "rule",
                format!(
                    "the lane `{lane}` has {} open operations, expected one at the most: {}",
                    open.len(),
                    open.join(", ")
                ),
            );
        }
    }
    Ok(())
}

/// Compares what a sidecar says of the session as a whole, brought up to the log's end.
fn check_session(
    built: &Built,
    loaded: &Index,
    log: &LogFile,
    options: &OpenOptions,
    found: &mut Verification,
) -> Answer<()> {
    // None: what came since changes what was known, and whoever opens the log builds it again.
    let Some(now) = extend(log, loaded, how(options, None))? else {
        return Ok(());
    };
    let same = |name: &str, is_same: bool, found: &mut Verification| {
        if !is_same {
            let detail = format!("the sidecar's {name} are not what the lines of the log come to");
            found.add("index", detail);
        }
    };
    let (one, other) = (&now.index.summary, &built.index.summary);
    same("facts, lanes and totals", is_same(one, other), found);
    let (one, other) = (now.index.details()?, built.index.details()?);
    same(
        "labels, open operations, counts and reports",
        one == other,
        found,
    );
    Ok(())
}

/// Whether two summaries say the same. Costs may have been added up in another order.
fn is_same(one: &Summary, other: &Summary) -> bool {
    let room = 1e-9 * one.cost_total.abs().max(other.cost_total.abs());
    let close = (one.cost_total - other.cost_total).abs() <= room;
    let mut one = one.clone();
    one.cost_total = other.cost_total;
    close && one == *other
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

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::{Verification, check_operations, check_session};
    use crate::OpenOptions;
    use crate::index::{Index, build};
    use crate::log::LogFile;
    use crate::snapshot::Source;
    use crate::store::state::how;

    const LOG: &str = concat!(
        r#"{"kind":"header","version":4,"id":"s","createdAt":1,"cwd":"/"}"#,
        "\n",
        r#"{"kind":"record","type":"operation_started","id":"a","lane":"main","seq":1,"timestamp":1}"#,
        "\n",
        r#"{"kind":"record","type":"operation_started","id":"b","lane":"main","seq":2,"timestamp":2}"#,
        "\n",
        r#"{"kind":"fact","seq":3,"fact":"name","name":"n"}"#,
        "\n",
    );

    /// What is found of a log when its sidecar says what `change` makes of the truth.
    fn problems(change: impl Fn(&mut Index)) -> Vec<String> {
        let options = OpenOptions::new();
        let log = LogFile::in_memory(Path::new("log"), LOG.into());
        let built = build(&log, how(&options, None)).unwrap();
        let mut loaded = built.index.clone();
        change(&mut loaded);
        let mut found = Verification::default();
        check_session(&built, &loaded, &log, &options, &mut found).unwrap();
        found.problems.into_iter().map(|it| it.detail).collect()
    }

    #[test]
    fn a_sidecar_that_says_another_name_or_other_totals_is_found_out() {
        assert!(problems(|_| ()).is_empty());
        let changed = problems(|index| Arc::make_mut(&mut index.summary).name = None);
        assert!(
            changed[0].contains("facts, lanes and totals"),
            "{changed:?}"
        );
        let dearer = |index: &mut Index| Arc::make_mut(&mut index.summary).cost_total += 1.0;
        assert_eq!(problems(dearer), changed);
    }

    #[test]
    fn two_open_operations_of_a_lane_break_a_rule() {
        let options = OpenOptions::new();
        let log = LogFile::in_memory(Path::new("log"), LOG.into());
        let built = build(&log, how(&options, None)).unwrap();
        let source = Source {
            index: &built.index,
            log: &log,
        };
        let mut found = Verification::default();
        check_operations(source, &mut found).unwrap();
        assert_eq!((found.problem_count, found.problems[0].place), (1, "rule"));
        assert!(found.problems[0].detail.contains("a, b"), "{found:?}");
    }
}
