//! What a sidecar knows of the session as a whole. The summary is decoded at open and small; the
//! details grow with labels and reports, and are decoded when someone asks. Those of the last
//! segment speak for all before it.

use std::collections::BTreeMap;

use rkyv::{Archive, Deserialize, Serialize};

use crate::format::Header;
use crate::model::{MAX_REPORTS, Report, ReportCode, Stats};

/// A lane and its leaf.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub(crate) struct LaneRow {
    pub(crate) name: String,
    pub(crate) leaf: Option<String>,
}

/// A report as it is archived.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReportRow {
    pub(crate) line: u64,
    pub(crate) offset: u64,
    pub(crate) code: u8,
    pub(crate) skipped: bool,
    pub(crate) detail: String,
}

/// The state of a session after all lines that are covered.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub(crate) struct Summary {
    pub(crate) session_id: String,
    pub(crate) cwd: Option<String>,
    pub(crate) created: Option<i64>,
    pub(crate) parent: Option<String>,
    pub(crate) header_name: Option<String>,
    /// The id of the last entry in the file.
    pub(crate) last_entry: Option<String>,
    /// The latest name that a line gives, and whether any line does.
    pub(crate) name: Option<String>,
    pub(crate) named: bool,
    pub(crate) lanes: Vec<LaneRow>,
    /// The names that the lane column numbers.
    pub(crate) lane_names: Vec<String>,
    pub(crate) message_count: u64,
    pub(crate) cached_tokens: i64,
    pub(crate) uncached_tokens: i64,
    pub(crate) total_tokens: i64,
    pub(crate) cost_total: f64,
    pub(crate) entries: u64,
    pub(crate) records: u64,
    /// Newlines in the range covered.
    pub(crate) lines: u64,
    pub(crate) last_seq: u64,
    pub(crate) updated: Option<i64>,
    pub(crate) first_message: Option<String>,
    /// How many there are of each code, in the order of `ReportCode::ALL`.
    pub(crate) report_counts: Vec<u64>,
}

impl Summary {
    pub(crate) fn set_header(&mut self, header: Header) {
        self.session_id = header.session_id;
        self.cwd = header.cwd;
        self.created = header.created;
        self.parent = header.parent;
        self.header_name = header.name;
    }

    pub(crate) fn stats(&self) -> Stats {
        Stats {
            message_count: self.message_count,
            cached_tokens: self.cached_tokens,
            uncached_tokens: self.uncached_tokens,
            total_tokens: self.total_tokens,
            cost_total: self.cost_total,
        }
    }

    pub(crate) fn report_count(&self) -> u64 {
        self.report_counts
            .iter()
            .fold(0, |sum, count| sum.saturating_add(*count))
    }

    pub(crate) fn count_of(&self, code: ReportCode) -> u64 {
        let place = ReportCode::ALL.iter().position(|&other| other == code);
        place
            .and_then(|place| self.report_counts.get(place))
            .copied()
            .unwrap_or(0)
    }

    /// Counts reports.
    pub(crate) fn count_reports(&mut self, counted: &[u64; 16]) {
        self.report_counts.resize(ReportCode::ALL.len(), 0);
        for (count, more) in self.report_counts.iter_mut().zip(counted) {
            *count = count.saturating_add(*more);
        }
    }
}

/// The part of it that few ask for.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub(crate) struct Details {
    pub(crate) labels: BTreeMap<String, String>,
    /// Operations that are open, by lane.
    pub(crate) open: BTreeMap<String, Vec<String>>,
    pub(crate) kinds: BTreeMap<String, u64>,
    /// The first reports, by line.
    reports: Vec<ReportRow>,
}

impl Details {
    pub(crate) fn reports(&self) -> Vec<Report> {
        let code = |number: u8| ReportCode::ALL.get(usize::from(number)).copied();
        self.reports
            .iter()
            .filter_map(|row| {
                Some(Report {
                    line: row.line,
                    offset: row.offset,
                    code: code(row.code)?,
                    skipped: row.skipped,
                    detail: row.detail.clone(),
                })
            })
            .collect()
    }

    /// Adds reports of new lines; the first ones by line are kept.
    pub(crate) fn add_reports(&mut self, mut new: Vec<Report>) {
        new.sort_by_key(|report| (report.line, report.code));
        let room = MAX_REPORTS.saturating_sub(self.reports.len());
        self.reports
            .extend(new.into_iter().take(room).map(|report| ReportRow {
                line: report.line,
                offset: report.offset,
                code: number_of(report.code),
                skipped: report.skipped,
                detail: report.detail,
            }));
    }
}

/// The number of a report code in a sidecar.
pub(crate) fn number_of(code: ReportCode) -> u8 {
    let place = ReportCode::ALL.iter().position(|&other| other == code);
    place
        .and_then(|place| u8::try_from(place).ok())
        .unwrap_or(0)
}
