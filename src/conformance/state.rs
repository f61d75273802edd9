//! All that can be seen of a session, to be compared with what it was or with another backend's.
//! Byte offsets are left out: stores without a log have none.

use std::collections::BTreeMap;

use super::failure::{Outcome, ensure, same};
use crate::contract::{Lane, LogItem, Metadata, SessionStorage};
use crate::error::{Code, Result};
use crate::model::{At, Snapshot, Stats};
use crate::store::Entry;

/// A snapshot, or the code of the error.
type Seen = Result<Snapshot, Code>;

/// All that can be seen of a session.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct State {
    pub(super) metadata: Metadata,
    pub(super) log: Vec<LogItem>,
    pub(super) lanes: Vec<Lane>,
    pub(super) name: Option<String>,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) stats: Stats,
    pub(super) open: BTreeMap<String, Vec<String>>,
    pub(super) snapshots: BTreeMap<String, Seen>,
}

impl State {
    pub(super) fn of(session: &dyn SessionStorage) -> Result<Self> {
        let mut log = session.log(None, None)?;
        let mut labels = BTreeMap::new();
        for item in &mut log {
            if let LogItem::Entry(entry) | LogItem::Record(entry) = item {
                entry.offset = None;
            }
            if let LogItem::Entry(entry) = item
                && let Some(label) = session.label(&entry.id)?
            {
                labels.insert(entry.id.clone(), label);
            }
        }
        let lanes = session.lanes()?;
        let has_lanes = session.metadata()?.format.has_lanes();
        let mut open = BTreeMap::new();
        let mut snapshots = BTreeMap::new();
        let mut look = |what: String, at: At<'_>| {
            let seen = session.snapshot(at).map_err(|error| error.code());
            snapshots.insert(what, seen);
        };
        look("where it stands".to_owned(), At::Current);
        for lane in &lanes {
            let ids = session.find_open_operations(&lane.name, None)?;
            open.insert(
                lane.name.clone(),
                ids.into_iter().map(|entry| entry.id).collect(),
            );
            if has_lanes {
                look(format!("lane {}", lane.name), At::Lane(&lane.name));
            }
            if let Some(leaf) = &lane.leaf {
                look(format!("entry {leaf}"), At::Leaf(leaf));
            }
        }
        Ok(Self {
            metadata: session.metadata()?,
            log,
            lanes,
            name: session.name()?,
            labels,
            stats: session.stats()?,
            open,
            snapshots,
        })
    }

    /// What a session of a format without lanes is when it is opened again: it stands on its
    /// last entry.
    pub(super) fn on_its_last_entry(&mut self) {
        let last = self.log.iter().rev().find_map(|item| match item {
            LogItem::Entry(entry) => Some(entry.id.clone()),
            _ => None,
        });
        for lane in &mut self.lanes {
            if lane.leaf != last {
                lane.leaf.clone_from(&last);
                self.snapshots.clear();
            }
        }
    }

    /// Whether neither the user nor the assistant has said anything.
    pub(super) fn is_silent(&self) -> bool {
        !self.log.iter().any(|item| {
            let LogItem::Entry(entry) = item else {
                return false;
            };
            let text = entry.text();
            entry.kind == "message"
                && ["user", "assistant"]
                    .iter()
                    .any(|role| text.contains(&format!("\"role\":\"{role}\"")))
        })
    }

    /// Requires all of this to be as it was.
    pub(super) fn same_as(&self, expected: &Self) -> Outcome {
        let meta = |metadata: &Metadata| Metadata {
            path: None,
            ..metadata.clone()
        };
        same("metadata", meta(&self.metadata), meta(&expected.metadata))?;
        same_log(&self.log, &expected.log)?;
        same("lanes", &self.lanes, &expected.lanes)?;
        same("name", &self.name, &expected.name)?;
        same("labels", &self.labels, &expected.labels)?;
        same("open operations", &self.open, &expected.open)?;
        same_stats(&self.stats, &expected.stats)?;
        if self.snapshots.is_empty() || expected.snapshots.is_empty() {
            return Ok(());
        }
        for (what, wanted) in &expected.snapshots {
            let found = self.snapshots.get(what);
            let what = format!("snapshot of {what}");
            same(&what, found, Some(wanted))?;
        }
        Ok(())
    }
}

fn same_stats(found: &Stats, expected: &Stats) -> Outcome {
    // Sums of costs may be taken in another order.
    let near = (found.cost_total - expected.cost_total).abs() < 1e-9;
    let without = |stats: &Stats| Stats {
        cost_total: 0.0,
        ..*stats
    };
    ensure(near && without(found) == without(expected), || {
        format!("stats: expected {expected:?}, found {found:?}")
    })
}

fn same_log(found: &[LogItem], expected: &[LogItem]) -> Outcome {
    for (found, expected) in found.iter().zip(expected) {
        ensure(found == expected, || {
            format!("log: expected {}, found {}", show(expected), show(found))
        })?;
    }
    let extra = |longer: &[LogItem], shorter: &[LogItem]| {
        let extra: Vec<String> = longer.iter().skip(shorter.len()).map(show).collect();
        extra.join("\n  ")
    };
    ensure(found.len() == expected.len(), || {
        format!(
            "log: expected {} items, found {}; missing: [{}], not expected: [{}]",
            expected.len(),
            found.len(),
            extra(expected, found),
            extra(found, expected)
        )
    })
}

/// An item of the log to read.
pub(super) fn show(item: &LogItem) -> String {
    match item {
        LogItem::Entry(entry) | LogItem::Record(entry) => show_entry(entry),
        other => format!("{other:?}"),
    }
}

/// An entry to read.
pub(super) fn show_entry(entry: &Entry) -> String {
    format!(
        "{} `{}` (parent {:?}, lane {:?}, seq {:?}, time {:?}): {}",
        entry.kind,
        entry.id,
        entry.parent,
        entry.lane,
        entry.seq,
        entry.time,
        entry.text()
    )
}

/// The same without what only some stores know.
pub(super) fn plain(mut entry: Entry) -> Entry {
    entry.offset = None;
    entry
}

/// The same for several.
pub(super) fn plain_all(entries: Vec<Entry>) -> Vec<Entry> {
    entries.into_iter().map(plain).collect()
}
