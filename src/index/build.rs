//! Makes segments from a log: reads its lines once, then links them, then lays them out.

use std::sync::Arc;

use rkyv::util::AlignedVec;
use xxhash_rust::xxh3::xxh3_64;

use super::columns::{Columns, NONE};
use super::draft::{At, Draft, ObjectPlace};
use super::frame::{ANCHOR, FrameHeader, IRREGULAR, SALVAGED, TAIL, format_number};
use super::ids;
use super::links::{Before, Links, Stop, link};
use super::segment::{Backing, Damaged, Segment, len64};
use super::sidecar::vouched_identity;
use super::view::{Answer, Index, Trouble, too_many};
use crate::error::{Code, Error, Result};
use crate::format::{Meaning, by_shape, claims_header, detect, interpret, payload_key};
use crate::json::{Document, FastParser, Grammar};
use crate::log::{Finding, Line, Lines, LogFile, judge};
use crate::model::Format;

/// Slots a segment has at the most, so that its archive stays far below the 2 GiB that its
/// pointers span.
const MOST_SLOTS: usize = 1 << 23;

/// Called now and then with how many bytes of the log were read.
pub(crate) type Progress<'p> = &'p (dyn Fn(u64) + Sync);

/// What a build needs beside the log.
#[derive(Clone, Copy)]
pub(crate) struct How<'p> {
    /// Read files without a header by the shape of their entries.
    pub(crate) salvage: bool,
    pub(crate) progress: Option<Progress<'p>>,
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
    match grow(log, None, how) {
        Ok(Some(built)) => Ok(built),
        // What a build from nothing meets as damage of an index can only be the log changing.
        Ok(None) | Err(Trouble::Index) => Err(changed(log)),
        Err(Trouble::Log(error)) => Err(error),
    }
}

/// Indexes what came after an index. None if all has to be done again.
pub(crate) fn extend(log: &LogFile, index: &Index, how: How<'_>) -> Answer<Option<Built>> {
    grow(log, Some(index), how)
}

fn changed(log: &LogFile) -> Error {
    Error::new(
        Code::Storage,
        "the log changed while it was read; try again",
    )
    .at_path(log.path())
}

fn grow(log: &LogFile, index: Option<&Index>, how: How<'_>) -> Answer<Option<Built>> {
    let seed = index.map_or_else(ids::random_seed, Index::seed);
    let before = index.map(|index| Before { index, log });
    let mut scan = Scan::new(log, before, how);
    scan.read(Until::LastNewline)?;
    let lines = scan.lines_read;
    let tail = scan.tail;
    let whole = match (scan.finish(seed), tail) {
        (Ok(whole), _) => whole,
        (Err(Stop::Conflict), _) => return Ok(None),
        (Err(Stop::Trouble(trouble)), None) => return Err(trouble),
        // Nothing but an unfinished last line: the header may be in there.
        (Err(Stop::Trouble(trouble)), Some(_)) if index.is_some() => return Err(trouble),
        (Err(Stop::Trouble(_)), Some(_)) => {
            let index = jointly(log, how, seed)?;
            return Ok(Some(Built {
                index,
                whole: 0,
                lines,
            }));
        }
    };
    let count = whole.segments.len();
    // What was read without its header is not what a reader that wants one would see.
    let count = if has_flag(&whole, SALVAGED) { 0 } else { count };
    if tail.is_none() {
        return Ok(Some(Built {
            index: whole,
            whole: count,
            lines,
        }));
    }
    let mut scan = Scan::new(log, Some(Before { index: &whole, log }), how);
    scan.read(Until::End)?;
    match scan.finish(seed) {
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
    let mut scan = Scan::new(log, None, how);
    scan.read(Until::End)?;
    scan.finish(seed).map_err(|stop| match stop {
        Stop::Conflict => Trouble::Index,
        Stop::Trouble(trouble) => trouble,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    LastNewline,
    End,
}

/// One reading of a log from where an index ends.
struct Scan<'l, 'i, 'p> {
    log: &'l LogFile,
    before: Option<Before<'i>>,
    how: How<'p>,
    draft: Option<Draft>,
    /// Findings of lines before the format is known.
    early: Vec<(At, Finding)>,
    kept: usize,
    /// Newlines before the next line, through the whole log.
    lines: u64,
    lines_read: u64,
    salvaged: bool,
    tail: Option<Line>,
    end: u64,
    start: u64,
    log_hash: u64,
}

impl<'l, 'i, 'p> Scan<'l, 'i, 'p> {
    fn new(log: &'l LogFile, before: Option<Before<'i>>, how: How<'p>) -> Self {
        let index = before.map(|before| before.index);
        let start = index.map_or(0, Index::log_end);
        Self {
            log,
            before,
            how,
            draft: index.map(|index| Draft::new(index.format, index.slots(), Some(&index.summary))),
            early: Vec::new(),
            kept: 0,
            lines: index.map_or(0, |index| index.summary.lines),
            lines_read: 0,
            salvaged: false,
            tail: None,
            end: start,
            start,
            log_hash: 0,
        }
    }

    fn read(&mut self, until: Until) -> Result<()> {
        let mut lines = Lines::from(self.log, self.start);
        let mut parser = FastParser::new();
        let mut told = 0;
        while let Some(line) = lines.next()? {
            if !line.terminated {
                self.tail = Some(line);
                if until == Until::LastNewline {
                    break;
                }
            }
            self.line(&mut lines, line, &mut parser)?;
            self.lines += 1;
            self.lines_read += 1;
            if let Some(progress) = self.how.progress
                && line.offset - told >= 1 << 22
            {
                told = line.offset;
                progress(line.offset);
            }
        }
        let (hash, end) = lines.covered();
        self.log_hash = hash;
        self.end = if until == Until::End {
            self.log.len()
        } else {
            end
        };
        Ok(())
    }

    fn line(&mut self, lines: &mut Lines<'_>, line: Line, parser: &mut FastParser) -> Result<()> {
        let at = At {
            line: self.lines + 1,
            offset: line.offset,
        };
        let mut intact = true;
        if let Some(draft) = &mut self.draft {
            let bytes = lines.bytes(line);
            // Most lines are an object from their first byte to their last; others are looked at closely.
            if bytes.first() == Some(&b'{') && bytes.last() == Some(&b'}') {
                let format = draft.format;
                let first_text = draft.summary.first_message.is_none();
                let kept = &mut self.kept;
                let done = parser.parse(lines.padded(line), line.len, |document| {
                    let mut meaning = interpret(format, document.root(), first_text);
                    let place = place_of(document, &meaning, format, line.offset, line.len);
                    draft.add(&mut meaning, place, at, kept);
                });
                if done.is_some() {
                    return Ok(());
                }
                intact = false;
            }
        }
        let bytes = if intact {
            lines.bytes(line).to_vec()
        } else {
            lines.again(line)?
        };
        self.odd_line(&bytes, line, at)
    }

    /// A line that is no plain object, or one before the format is known.
    fn odd_line(&mut self, bytes: &[u8], line: Line, at: At) -> Result<()> {
        const MARK: &[u8] = b"\xEF\xBB\xBF";
        let skip = if line.offset == 0 && bytes.starts_with(MARK) {
            MARK.len()
        } else {
            0
        };
        let text = bytes.get(skip..).unwrap_or_default();
        let format = self.draft.as_ref().map(|draft| draft.format);
        let salvage = self.how.salvage;
        let judged = judge(text, line.terminated, |document| match format {
            Some(format) => interpret(format, document.root(), false).mutation.is_some(),
            None => {
                claims_header(document.root()) || (salvage && by_shape(document.root()).is_some())
            }
        });
        for finding in judged.findings {
            match &mut self.draft {
                Some(draft) => draft.reports.add(at, finding, &mut self.kept),
                None => self.early.push((at, finding)),
            }
        }
        for object in judged.objects {
            let start = line.offset + len64(skip + object.start);
            let object = text.get(object).unwrap_or_default();
            let Ok(document) = Grammar::parse(object) else {
                continue;
            };
            if self.draft.is_none() && self.open(&document, at)? {
                continue;
            }
            if let Some(draft) = &mut self.draft {
                let mut meaning = interpret(
                    draft.format,
                    document.root(),
                    draft.summary.first_message.is_none(),
                );
                let place = place_of(&document, &meaning, draft.format, start, object.len());
                draft.add(&mut meaning, place, at, &mut self.kept);
            }
        }
        Ok(())
    }

    /// Learns the format from the first object. True if that was all there is to it: a header that
    /// is no entry.
    fn open(&mut self, document: &Grammar<'_>, at: At) -> Result<bool> {
        let (format, header) = match detect(document.root()) {
            Ok((format, header)) => (format, Some(header)),
            Err(error) => match by_shape(document.root())
                .filter(|_| self.how.salvage && error.code() != Code::Unsupported)
            {
                Some(format) => (format, None),
                None => return Err(error.at_line(at.line, at.offset).at_path(self.log.path())),
            },
        };
        let mut draft = Draft::new(format, 0, None);
        for (at, finding) in self.early.drain(..) {
            draft.reports.add(at, finding, &mut self.kept);
        }
        self.salvaged = header.is_none();
        let is_entry = header.is_none() || format == Format::CodebotV3;
        if let Some(header) = header {
            draft.summary.set_header(header);
        }
        self.draft = Some(draft);
        Ok(!is_entry)
    }

    /// Links what was read and makes segments of it, behind those of before.
    fn finish(self, seed: u64) -> Result<Index, Stop> {
        let Self {
            log,
            before,
            lines,
            salvaged,
            end,
            start,
            log_hash,
            tail,
            ..
        } = self;
        let old = before.map(|before| before.index);
        let mut segments = old.map(|index| index.segments.clone()).unwrap_or_default();
        if end == start
            && let Some(old) = old
        {
            return Ok(old.clone());
        }
        let Some(mut draft) = self.draft else {
            return Err(Stop::Trouble(Trouble::Log(no_object(log))));
        };
        if len64(draft.slots()) + u64::from(draft.base) >= u64::from(NONE) {
            return Err(Stop::Trouble(Trouble::Log(too_many(log))));
        }
        draft.summary.lines = lines;
        let mut links = link(&mut draft, before, seed)?;
        draft.finish_summary();
        let reports = std::mem::take(&mut draft.reports);
        draft.summary.add_reports(reports.kept, &reports.counts);
        let mut header = FrameHeader {
            format: format_number(draft.format),
            seed,
            first_row: u64::from(old.map_or(0, Index::row_count)),
            ..FrameHeader::default()
        };
        header.flags |= if links.irregular { IRREGULAR } else { 0 };
        header.flags |= if tail.is_some() { TAIL } else { 0 };
        header.flags |= if salvaged || old.is_some_and(|old| has_flag(old, SALVAGED)) {
            SALVAGED
        } else {
            0
        };
        header.set_identity(vouched_identity(log));
        (header.head_hash, header.tail_hash) =
            anchors(log, end).map_err(|e| Stop::Trouble(e.into()))?;
        header.before = segments.last().map_or(0, |last| last.header_hash);
        let mut layout = Layout {
            draft: &mut draft,
            links: &mut links,
            start,
            end,
            log_hash,
        };
        for frame in layout.frames(header)? {
            segments.push(frame);
        }
        let summary = Arc::new(std::mem::take(&mut draft.summary));
        Ok(Index {
            format: draft.format,
            segments,
            summary,
        })
    }
}

fn has_flag(index: &Index, flag: u32) -> bool {
    index
        .segments
        .last()
        .is_some_and(|segment| segment.header.has(flag))
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

/// Where an object stands, and where in it its id and message payload do.
fn place_of(
    document: &impl Document,
    meaning: &Meaning<'_>,
    format: Format,
    start: u64,
    len: usize,
) -> ObjectPlace {
    use crate::format::{Kind, Mutation};
    let mut place = ObjectPlace {
        start,
        len: len64(len),
        id_at: None,
        payload: None,
    };
    let (id, is_message) = match &meaning.mutation {
        Some(Mutation::Entry(entry)) => (
            entry.id.as_deref(),
            entry.kind == Some(Kind::Message) && !entry.inert,
        ),
        Some(Mutation::Record(record)) => (Some(&*record.id), false),
        _ => return place,
    };
    if let Some(id) = id
        && let Some(span) = document.span("id")
        && span.len() == id.len() + 2
    {
        // As long as its decoded text: written without escapes.
        place.id_at = Some(span.start + 1);
    }
    if is_message && let Some(span) = document.span(payload_key(format)) {
        place.payload = Some((span.start, len - span.end));
    }
    place
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
        let mut log_start = self.start;
        loop {
            let to = self.cut(from, log_start);
            let last = to == slots;
            let next_start = self.draft.start.get(to).copied().unwrap_or(self.end);
            let mut columns = self.columns(from..to, log_start);
            if from == 0 {
                columns.rows = self.links.rows.as_flattened().to_vec();
                header.rows = len64(self.links.rows.len());
            } else {
                header.first_row += header.rows;
                header.rows = 0;
            }
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
            let summary = last.then_some(&self.draft.summary);
            let bytes = Segment::encode(part, &columns, summary).ok_or(Damaged)?;
            let segment = segment_of(bytes)?;
            header.before = segment.header_hash;
            frames.push(Arc::new(segment));
            if last {
                return Ok(frames);
            }
            from = to;
            log_start = next_start;
        }
    }

    /// Up to where a segment can go: so many slots, and starts that fit 32 bits.
    fn cut(&self, from: usize, log_start: u64) -> usize {
        let most = self.draft.slots().min(from + MOST_SLOTS);
        let starts = self.draft.start.get(from..most).unwrap_or_default();
        let fitting = starts.partition_point(|start| start - log_start <= u64::from(u32::MAX));
        // Also a first object that starts late has to go somewhere: log_start is then its own.
        from + fitting.max(usize::from(!starts.is_empty()))
    }

    fn columns(&mut self, range: std::ops::Range<usize>, log_start: u64) -> Columns {
        let first = self.draft.base.saturating_add(narrow(range.start));
        let mut columns = Columns::default();
        columns.table = vec![NONE; ids::table_len(range.len())];
        columns.start.reserve(range.len());
        for number in range.clone() {
            let start = self.draft.start.get(number).copied().unwrap_or(0) - log_start;
            columns.start.push(u32::try_from(start).unwrap_or(u32::MAX));
            if !self
                .draft
                .has_flag(number, super::columns::Flags::OVERRIDDEN)
                && let Some(&tag) = self.links.tag.get(number)
            {
                ids::insert(&mut columns.table, tag, narrow(number - range.start));
            }
        }
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
        let (draft, links) = (&mut *self.draft, &mut *self.links);
        columns.tag = part(&mut links.tag, &range);
        columns.tag.resize(range.len(), 0);
        columns.parent = part(&mut links.parent, &range);
        columns.row = part(&mut links.row, &range);
        columns.depth = part(&mut links.depth, &range);
        columns.len = part(&mut draft.len, &range);
        columns.time_low = part(&mut draft.time_low, &range);
        columns.time_high = part(&mut draft.time_high, &range);
        columns.kind = part(&mut draft.kind, &range);
        columns.flags = part(&mut draft.flags, &range);
        columns.id_at = part(&mut draft.id_at, &range);
        columns.payload_at = part(&mut draft.payload_at, &range);
        columns.lane = part(&mut draft.lane, &range);
        columns.id_len = part(&mut draft.id_len, &range);
        columns.payload_tail = part(&mut draft.payload_tail, &range);
        columns
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
