//! Makes segments from a log: reads its lines once, then links them, then lays them out.

use std::sync::Arc;

use rkyv::util::AlignedVec;
use xxhash_rust::xxh3::xxh3_64;

use super::columns::{Columns, NONE};
use super::draft::Draft;
use super::frame::{ANCHOR, FrameHeader, IRREGULAR, SALVAGED, TAIL, format_number};
use super::ids;
use super::links::{Before, Links, Stop, link};
use super::pages::{Grid, Slots};
use super::scan::{Scanned, Until, scan};
use super::segment::{Backing, Damaged, Segment, len64};
use super::sidecar::vouched_identity;
use super::view::{Answer, Index, Trouble, too_many};
use crate::error::{Code, Error, Result};
use crate::log::LogFile;

/// Called now and then with how many bytes of the log were read.
pub(crate) type Progress<'p> = &'p (dyn Fn(u64) + Sync);

/// What a build needs beside the log.
#[derive(Clone, Copy)]
pub(crate) struct How<'p> {
    /// Read files without a header by the shape of their entries.
    pub(crate) salvage: bool,
    /// Where there is no header, tell of what was found in its place first. Other damage is the
    /// caller's to refuse.
    pub(crate) strict: bool,
    pub(crate) progress: Option<Progress<'p>>,
    /// What is new was written by this process, which saw to it that no id comes again. It is read
    /// by one thread, since the other one writes.
    pub(crate) own: bool,
}

/// A freshly made index.
#[derive(Debug)]
pub(crate) struct Built {
    /// All segments, the unfinished last line included.
    pub(crate) index: Index,
    /// How many of the segments may be written: all but that of the last line.
    pub(crate) whole: usize,
    /// Complete lines that were read.
    pub(crate) lines: u64,
}

/// Indexes a whole log.
pub(crate) fn build(log: &LogFile, how: How<'_>) -> Result<Built> {
    build_seeded(log, how, ids::random_seed())
}

/// The same with the seed of the hashes of ids given: all that is written follows from it and the
/// log.
pub(crate) fn build_seeded(log: &LogFile, how: How<'_>, seed: u64) -> Result<Built> {
    match grow(log, None, how, seed) {
        Ok(Some(built)) => Ok(built),
        // What a build from nothing meets as damage of an index can only be the log changing.
        Ok(None) | Err(Trouble::Index) => Err(changed(log)),
        Err(Trouble::Log(error)) => Err(error),
    }
}

/// Indexes what came after an index. None if all has to be done again.
pub(crate) fn extend(log: &LogFile, index: &Index, how: How<'_>) -> Answer<Option<Built>> {
    grow(log, Some(index), how, index.seed())
}

fn changed(log: &LogFile) -> Error {
    Error::new(
        Code::Storage,
        "the log changed while it was read; try again",
    )
    .at_path(log.path())
}

fn grow(log: &LogFile, index: Option<&Index>, how: How<'_>, seed: u64) -> Answer<Option<Built>> {
    if let Some(index) = index
        && index.log_end() == log.len()
    {
        let whole = index.segments.len();
        return Ok(Some(Built {
            index: index.clone(),
            whole,
            lines: 0,
        }));
    }
    let scanned = scan(log, index, Until::LastNewline, how, seed)?;
    let (lines, has_tail) = (scanned.lines, scanned.has_tail);
    if scanned.draft.is_none() && has_tail {
        // Nothing but an unfinished last line: the header may be in there.
        let index = jointly(log, how, seed)?;
        return Ok(Some(Built {
            index,
            whole: 0,
            lines,
        }));
    }
    let whole = match finish(scanned, log, index, 0, how.own) {
        Ok(whole) => whole,
        Err(Stop::Conflict) => return Ok(None),
        Err(Stop::Trouble(trouble)) => return Err(trouble),
    };
    // What was read without its header is not what a reader that wants one would see.
    let count = if whole.is_salvaged() {
        0
    } else {
        whole.segments.len()
    };
    if !has_tail {
        return Ok(Some(Built {
            index: whole,
            whole: count,
            lines,
        }));
    }
    let tail = scan(log, Some(&whole), Until::End, how, seed)?;
    match finish(tail, log, Some(&whole), TAIL, false) {
        Ok(index) => Ok(Some(Built {
            index,
            whole: count,
            lines,
        })),
        // The last line changes what is known of earlier ones: read all together, for now.
        Err(Stop::Conflict) => {
            let index = jointly(log, how, seed)?;
            Ok(Some(Built {
                index,
                whole: 0,
                lines,
            }))
        }
        Err(Stop::Trouble(trouble)) => Err(trouble),
    }
}

/// Indexes a log with its unfinished last line as one.
fn jointly(log: &LogFile, how: How<'_>, seed: u64) -> Answer<Index> {
    let scanned = scan(log, None, Until::End, how, seed)?;
    finish(scanned, log, None, TAIL, false).map_err(|stop| match stop {
        Stop::Conflict => Trouble::Index,
        Stop::Trouble(trouble) => trouble,
    })
}

/// Links what was read and makes segments of it, behind those of before.
fn finish(
    scanned: Scanned,
    log: &LogFile,
    old: Option<&Index>,
    flags: u32,
    own: bool,
) -> std::result::Result<Index, Stop> {
    let Scanned {
        draft,
        salvaged,
        start,
        end,
        hash,
        seed,
        ..
    } = scanned;
    let mut segments = old.map(|index| index.segments.clone()).unwrap_or_default();
    if end == start
        && let Some(old) = old
    {
        return Ok(old.clone());
    }
    let Some(mut draft) = draft else {
        return Err(Stop::Trouble(Trouble::Log(no_object(log))));
    };
    if len64(draft.slots()) + u64::from(draft.base) >= u64::from(NONE) {
        return Err(Stop::Trouble(Trouble::Log(too_many(log))));
    }
    let before = old.map(|index| Before { index, log, own });
    let mut links = link(&mut draft, before, seed)?;
    draft.finish_summary();
    let reports = std::mem::take(&mut draft.reports);
    draft.summary.count_reports(&reports.counts);
    draft.details.add_reports(reports.kept);
    let mut header = FrameHeader {
        flags,
        format: format_number(draft.format),
        seed,
        first_row: u64::from(old.map_or(0, Index::row_count)),
        ..FrameHeader::default()
    };
    header.flags |= if links.irregular { IRREGULAR } else { 0 };
    header.flags |= if salvaged || old.is_some_and(Index::is_salvaged) {
        SALVAGED
    } else {
        0
    };
    header.set_identity(vouched_identity(log), log.len());
    (header.head_hash, header.tail_hash) =
        anchors(log, end).map_err(|e| Stop::Trouble(e.into()))?;
    header.before = segments.last().map_or(0, |last| last.header_hash);
    let mut layout = Layout {
        draft: &mut draft,
        links: &mut links,
        start,
        end,
        log_hash: hash,
    };
    segments.extend(layout.frames(header)?);
    let summary = std::mem::take(&mut draft.summary);
    Ok(Index::new(draft.format, segments, summary))
}

fn no_object(log: &LogFile) -> Error {
    let found = if log.len() == 0 {
        "the file is empty".to_owned()
    } else {
        "no line holds one".to_owned()
    };
    Error::new(
        Code::InvalidEntry,
        format!(
            "not a session: expected a header, a JSON object on a line of its own, but {found}"
        ),
    )
    .at_path(log.path())
}

/// The hashes of the log's first bytes and of the last ones before an offset.
pub(crate) fn anchors(log: &LogFile, end: u64) -> Result<(u64, u64)> {
    let len = end.min(ANCHOR);
    let size = usize::try_from(len).unwrap_or(0);
    let gone = || changed(log);
    let head = xxh3_64(&log.read(0, size)?.ok_or_else(gone)?);
    let tail = xxh3_64(&log.read(end - len, size)?.ok_or_else(gone)?);
    Ok((head, tail))
}

/// The columns of the new slots, cut into segments.
struct Layout<'d> {
    draft: &'d mut Draft,
    links: &'d mut Links,
    start: u64,
    end: u64,
    log_hash: u64,
}

impl Layout<'_> {
    fn frames(&mut self, mut header: FrameHeader) -> Result<Vec<Arc<Segment>>, Stop> {
        let mut frames = Vec::new();
        let slots = self.draft.slots();
        let mut from = 0;
        let mut rows_done = 0;
        let mut log_start = self.base_of(0, self.start);
        loop {
            let to = self.cut(from, log_start);
            let last = to == slots;
            let next_start = self.draft.start.get(to).copied().unwrap_or(self.end);
            let mut columns = self.columns(from..to, log_start).ok_or(Damaged)?;
            // A slot makes one row at the most, so there is room for as many as there are slots.
            let rows = self.links.rows.get(rows_done..).unwrap_or_default();
            let rows = if last {
                rows
            } else {
                rows.get(..to - from).unwrap_or(rows)
            };
            columns.rows = rows.as_flattened().to_vec();
            header.first_row += header.rows;
            header.rows = len64(rows.len());
            rows_done += rows.len();
            if last {
                columns.wanted = std::mem::take(&mut self.links.wanted);
                columns.hash_end.push(self.end);
                columns.hash.push(self.log_hash);
            }
            let mut part = header;
            part.log_start = log_start;
            part.first_slot = u64::from(self.draft.base) + len64(from);
            part.slots = len64(to - from);
            part.log_end = if last { self.end } else { next_start };
            let about = last.then_some((&self.draft.summary, &self.draft.details));
            let bytes = Segment::encode(part, &columns, about).ok_or(Damaged)?;
            let segment = segment_of(bytes)?;
            header.before = segment.header_hash;
            frames.push(Arc::new(segment));
            if last {
                return Ok(frames);
            }
            from = to;
            log_start = self.base_of(from, next_start);
        }
    }

    /// What the starts of a segment's objects are counted from: where its range of the log starts,
    /// or its first object if that is too far behind.
    fn base_of(&self, from: usize, range_start: u64) -> u64 {
        match self.draft.start.get(from) {
            Some(&first) if first - range_start > u64::from(u32::MAX) => first,
            _ => range_start,
        }
    }

    /// Up to where a segment can go: so many slots, and starts that fit 32 bits.
    fn cut(&self, from: usize, log_start: u64) -> usize {
        let most = self.draft.slots().min(from + ids::MOST_SLOTS);
        let starts = self.draft.start.get(from..most).unwrap_or_default();
        let fitting = starts.partition_point(|start| start - log_start <= u64::from(u32::MAX));
        from + fitting
    }

    fn columns(&mut self, range: std::ops::Range<usize>, log_start: u64) -> Option<Columns> {
        let first = self.draft.base.saturating_add(narrow(range.start));
        let mut columns = Columns::default();
        for &(number, len) in self
            .draft
            .long
            .iter()
            .filter(|(number, _)| range.contains(number))
        {
            columns
                .long_slot
                .push(self.draft.base.saturating_add(narrow(number)));
            columns.long_len.push(len);
        }
        self.sequence(&mut columns, first, narrow(range.len()));
        let starts = self.draft.start.get(range.clone()).unwrap_or_default();
        let start = starts
            .iter()
            .map(|start| u32::try_from(start - log_start).unwrap_or(u32::MAX))
            .collect();
        let (draft, links) = (&mut *self.draft, &mut *self.links);
        // That of the linking is the segment's, where that is all of it and no place was taken twice.
        let is_whole = range.len() == draft.start.len() && !links.is_table_mixed;
        let places = Some(&links.table).filter(|places| is_whole && !places.is_empty());
        let table = places.and_then(|places| ids::table_of_places(places));
        let mut slots = Slots {
            start,
            len: part(&mut draft.len, &range),
            parent: part(&mut links.parent, &range),
            row: part(&mut links.row, &range),
            depth: part(&mut links.depth, &range),
            tag: part(&mut links.tag, &range),
            time_low: part(&mut draft.time_low, &range),
            time_high: part(&mut draft.time_high, &range),
            id_at: part(&mut draft.id_at, &range),
            payload_at: part(&mut draft.payload_at, &range),
            flags: part(&mut draft.flags, &range),
            lane: part(&mut draft.lane, &range),
            kind: part(&mut draft.kind, &range),
            id_len: part(&mut draft.id_len, &range),
            payload_tail: part(&mut draft.payload_tail, &range),
        };
        slots.tag.resize(range.len(), 0);
        columns.table = match table {
            Some(table) => table,
            None => ids::table_of(&slots, draft.format)?,
        };
        columns.pages = slots.to_pages(Grid::new(draft.format.has_lanes()));
        Some(columns)
    }

    /// The runs of the sequence in a range, the first one starting with the range.
    fn sequence(&self, columns: &mut Columns, first: u32, slots: u32) {
        let runs = &self.draft.seq;
        let after = runs.partition_point(|&(slot, _)| slot <= first);
        if let Some(&(slot, seq)) = after.checked_sub(1).and_then(|at| runs.get(at))
            && slots > 0
        {
            columns.seq_slot.push(first);
            columns.seq.push(seq + u64::from(first - slot));
        }
        for &(slot, seq) in runs.get(after..).unwrap_or_default() {
            if slot - first >= slots {
                break;
            }
            columns.seq_slot.push(slot);
            columns.seq.push(seq);
        }
    }
}

/// A segment in memory, read back as it would be from a file.
pub(super) fn segment_of(bytes: AlignedVec) -> Result<Segment, Damaged> {
    Segment::decode(Backing::Owned(Arc::new(bytes)), 0).ok_or(Damaged)
}

/// A part of a column; the column itself, without copying it, where that is all of it.
fn part<T: Clone>(column: &mut Vec<T>, range: &std::ops::Range<usize>) -> Vec<T> {
    if range.start == 0 && range.end == column.len() {
        return std::mem::take(column);
    }
    column.get(range.clone()).unwrap_or_default().to_vec()
}

fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(NONE)
}

#[cfg(all(test, unix))]
#[path = "build_tests.rs"]
mod tests;
