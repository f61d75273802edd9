//! What reading gathers: the kept lines, who wins among lines of one id, and all reports.
//! The readers of each format fill it, snapshots and the overview look into it. It never interprets payloads.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::json::Fields;
use super::v4::Mutations;
use crate::error::{Code, Error};
use crate::model::{Format, Report, ReportCode};

/// Where a line stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Counted from 1.
    pub(super) line: u64,
    /// The byte offset of the line's start.
    pub(super) offset: u64,
}

/// What is to be said of a line, before it is known which line.
pub(super) struct Finding {
    pub(super) code: ReportCode,
    pub(super) detail: String,
}

impl Finding {
    pub(super) fn new(code: ReportCode, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self { code, detail }
    }

    /// A field of the envelope that is not what it must be.
    pub(super) fn bad_field(detail: impl Into<String>) -> Self {
        Self::new(ReportCode::BadField, detail)
    }
}

/// The reports so far.
#[derive(Default)]
pub(super) struct Reports {
    list: Vec<Report>,
}

impl Reports {
    /// Reports something about a line that is kept, or that held nothing to keep.
    pub(super) fn kept(&mut self, place: Place, finding: Finding) {
        self.add(place, finding, false);
    }

    /// Reports a line that is skipped.
    pub(super) fn skipped(&mut self, place: Place, finding: Finding) {
        self.add(place, finding, true);
    }

    fn add(&mut self, place: Place, finding: Finding, skipped: bool) {
        self.list.push(Report {
            line: place.line,
            offset: place.offset,
            code: finding.code,
            skipped,
            detail: finding.detail,
        });
    }

    /// All reports, by line and then by code: some are only known when the whole file is read.
    pub(super) fn sorted(mut self) -> Vec<Report> {
        self.list.sort_by_key(|report| (report.line, report.code));
        self.list
    }
}

/// The refusal that a strict reader makes of its first report, if there is one that counts.
pub(super) fn refusal(format: Option<Format>, reports: &[Report]) -> Option<Error> {
    let orphans_are_roots = matches!(
        format,
        Some(Format::PiV1 | Format::PiV2 | Format::PiV3) // no damage by the rules of these
    );
    reports
        .iter()
        .find(|report| report.code != ReportCode::MissingParent || !orphans_are_roots)
        .map(|report| {
            let message = format!("strict reading: {}: {}", report.code, report.detail);
            Error::new(Code::InvalidEntry, message).at_line(report.line, report.offset)
        })
}

/// What the header says of the session; empty where a salvaged file has none.
#[derive(Default)]
pub(super) struct Header {
    pub(super) session_id: String,
    pub(super) cwd: Option<String>,
    pub(super) created: Option<i64>,
    pub(super) parent: Option<String>,
    pub(super) name: Option<String>,
}

/// A kept line that is a node of the tree or a record, overridden or not.
pub(super) struct Entry {
    pub(super) id: String,
    /// Always `None` for a record.
    pub(super) parent: Option<String>,
    /// codebot's kind, pi's type.
    pub(super) kind: String,
    /// In milliseconds since 1970, where it is good.
    pub(super) time: Option<i64>,
    /// Whether the payload has the shape of its kind. One that has not does nothing.
    pub(super) good: bool,
    pub(super) place: Place,
    /// The line's object as it stands in the log.
    pub(super) object: String,
}

impl Entry {
    /// Whether this is an entry of the kind that does what the kind does.
    pub(super) fn acts_as(&self, kind: &str) -> bool {
        self.good && self.kind == kind
    }

    pub(super) fn fields(&self) -> Fields<'_> {
        Fields::of(&self.object)
    }
}

/// Lines with ids: all of them in file order, and the one that wins for each id.
#[derive(Default)]
pub(super) struct Nodes {
    pub(super) all: Vec<Entry>,
    winners: HashMap<String, usize>,
}

impl Nodes {
    pub(super) fn add(&mut self, entry: Entry) {
        self.winners.insert(entry.id.clone(), self.all.len());
        self.all.push(entry);
    }

    pub(super) fn has(&self, id: &str) -> bool {
        self.winners.contains_key(id)
    }

    /// The latest line with the id.
    pub(super) fn get(&self, id: &str) -> Option<&Entry> {
        self.index(id).and_then(|index| self.all.get(index))
    }

    fn index(&self, id: &str) -> Option<usize> {
        self.winners.get(id).copied()
    }

    /// How many ids there are.
    pub(super) fn ids(&self) -> usize {
        self.winners.len()
    }

    /// Each id's latest line, in file order.
    pub(super) fn winning(&self) -> impl Iterator<Item = &Entry> {
        let wins = |index: usize, entry: &Entry| self.index(&entry.id) == Some(index);
        (self.all.iter().enumerate())
            .filter(move |(index, entry)| wins(*index, entry))
            .map(|(_, entry)| entry)
    }
}

/// A log that was read.
pub(super) struct Log {
    pub(super) format: Format,
    pub(super) header: Header,
    pub(super) entries: Nodes,
    pub(super) records: Nodes,
    /// What pi v4 keeps beside the tree; nothing for other formats.
    pub(super) mutations: Mutations,
    pub(super) kinds: BTreeMap<String, u64>,
    pub(super) lines: u64,
    pub(super) bytes: u64,
    pub(super) reports: Vec<Report>,
}

impl Log {
    pub(super) fn new(format: Format, header: Header) -> Self {
        Self {
            format,
            header,
            entries: Nodes::default(),
            records: Nodes::default(),
            mutations: Mutations::default(),
            kinds: BTreeMap::new(),
            lines: 0,
            bytes: 0,
            reports: Vec::new(),
        }
    }

    /// Counts a kept line.
    pub(super) fn count(&mut self, kind: String) {
        *self.kinds.entry(kind).or_default() += 1;
    }

    /// Reports an id that an earlier line has. Entries and records share their ids.
    pub(super) fn report_duplicate(&self, id: &str, place: Place, reports: &mut Reports) {
        let earlier = self.entries.get(id).or_else(|| self.records.get(id));
        if let Some(earlier) = earlier {
            let detail = format!(
                "expected a new id, found \"{id}\", which line {} has too",
                earlier.place.line
            );
            reports.kept(place, Finding::new(ReportCode::DuplicateId, detail));
        }
    }

    /// Reports the parents that no entry has. Only a finished file can tell.
    pub(super) fn report_missing_parents(&self, reports: &mut Reports) {
        for entry in self.entries.winning() {
            if let Some(parent) = &entry.parent
                && !self.entries.has(parent)
            {
                let detail = format!(
                    "expected the parent of \"{}\" in the file, found no entry \"{parent}\"",
                    entry.id
                );
                reports.kept(entry.place, Finding::new(ReportCode::MissingParent, detail));
            }
        }
    }

    /// Reports the entries that are their own ancestors. Every entry is walked over once.
    pub(super) fn report_cycles(&self, reports: &mut Reports) {
        let mut done = HashSet::new();
        for start in self.entries.winning() {
            let mut walk = Vec::new();
            let mut steps = HashMap::new();
            let mut next = Some(start);
            while let Some(entry) = next {
                let id = entry.id.as_str();
                if !done.insert(id) {
                    break;
                }
                steps.insert(id, walk.len());
                walk.push(entry);
                next = self.parent_of(entry);
            }
            // A walk that ends at an entry of its own went round.
            let met = next.and_then(|entry| steps.get(entry.id.as_str()));
            for entry in met.and_then(|step| walk.get(*step..)).unwrap_or_default() {
                let detail = format!("\"{}\" is its own ancestor", entry.id);
                reports.kept(entry.place, Finding::new(ReportCode::Cycle, detail));
            }
        }
    }

    fn parent_of(&self, entry: &Entry) -> Option<&Entry> {
        entry.parent.as_deref().and_then(|id| self.entries.get(id))
    }
}
