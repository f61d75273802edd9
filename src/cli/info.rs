//! `leaflog info`: what a session looks like from outside: header, lanes, labels, totals, index,
//! damage. Prints no messages.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use leaflog::{Format, IndexState, IndexStatus, Overview, Report, Stats};
use serde::ser::{Serialize, Serializer};

use super::Exit;
use super::args::{Opening, Salvage};
use super::facts;
use super::failure::Failure;
use super::open::Source;
use super::out::Out;

/// Print what a session looks like: header, lanes, labels, totals, branches, index, damage
///
/// For people the place of the sidecar and the first 10 reports of damaged lines are shown, with
/// --json the first 100 reports; all are counted. Times are UTC, in JSON as RFC 3339; sizes are
/// bytes. Tokens and cost are the sums of the `usage` records of pi-v4; what the messages of the other
/// formats say of their own usage is not summed up, and their sums are 0 in JSON and not shown to people.
/// With --json {format, session_id, cwd, created, parent, name, leaf, lanes, labels, open_operations, stats, entries, records, lines,
/// bytes, index: {state, reason, bytes}, reports: [{line, offset, code, skipped, detail}],
/// report_count}.
#[derive(Debug, Args)]
pub(crate) struct Info {
    /// The log
    file: PathBuf,
    #[command(flatten)]
    salvage: Salvage,
    #[command(flatten)]
    pub(crate) opening: Opening,
}

impl Info {
    pub(crate) fn run(self, out: &mut Out) -> Result<Exit, Failure> {
        let source = self.opening.source(&self.file, self.salvage.salvage)?;
        let overview = source.overview()?;
        let index = source.index();
        if out.json() {
            out.object(&Object::of(&overview, &index))?;
        } else {
            facts::print(&self.file, &overview, &index, branches(&source)?, out)?;
        }
        Ok(Exit::Done)
    }
}

/// How many entries have more than one child; not known of a replayed log.
fn branches(source: &Source) -> leaflog::Result<Option<u64>> {
    match source {
        Source::Indexed(session) => session.branches().map(Some),
        Source::Replayed(_) => Ok(None),
    }
}

/// What was done with the index.
#[derive(serde::Serialize)]
struct IndexObject<'a> {
    state: IndexState,
    reason: Option<&'a str>,
    bytes: u64,
}

/// An overview as JSON.
#[derive(serde::Serialize)]
struct Object<'a> {
    format: Format,
    session_id: &'a str,
    cwd: Option<&'a str>,
    created: Option<String>,
    parent: Option<&'a str>,
    name: Option<&'a str>,
    leaf: Option<&'a str>,
    lanes: Lanes<'a>,
    labels: &'a BTreeMap<String, String>,
    open_operations: &'a BTreeMap<String, Vec<String>>,
    stats: Stats,
    entries: u64,
    records: u64,
    lines: u64,
    bytes: u64,
    index: IndexObject<'a>,
    reports: &'a [Report],
    report_count: u64,
}

impl<'a> Object<'a> {
    fn of(overview: &'a Overview, index: &'a IndexStatus) -> Self {
        Self {
            format: overview.format,
            session_id: &overview.session_id,
            cwd: overview.cwd.as_deref(),
            created: overview.created.map(leaflog::format_time),
            parent: overview.parent.as_deref(),
            name: overview.name.as_deref(),
            leaf: overview.leaf.as_deref(),
            lanes: Lanes(&overview.lanes),
            labels: &overview.labels,
            open_operations: &overview.open_operations,
            stats: overview.stats,
            entries: overview.entries,
            records: overview.records,
            lines: overview.lines,
            bytes: overview.bytes,
            index: IndexObject {
                state: index.state,
                reason: index.reason.as_deref(),
                bytes: index.bytes,
            },
            reports: &overview.reports,
            report_count: overview.report_count,
        }
    }
}

/// Lanes as an object, in the order in which they were made.
struct Lanes<'a>(&'a [(String, Option<String>)]);

impl Serialize for Lanes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, leaf)| (name, leaf)))
    }
}
