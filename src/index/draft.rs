//! The lines of a log as they are joined in order, before ids are looked up: phase one of a build.
//! One element a slot in each array; what needs the whole file waits for phase two (`links`).

use ahash::AHashMap;

use super::chunk::{Arena, At, Chunk, Event, Models, ParentRef, Reports, Step};
use super::columns::{Flags, LOOK16, NONE};
use super::operations::Operations;
use super::summary::{Details, LaneRow, Summary};
use super::view::{Slot, made_up_id};
use crate::format::{Kind, Sequence, State, Usage};
use crate::log::Finding;
use crate::model::{Format, ReportCode};

/// The leaf of a lane while lines are collected.
#[derive(Debug, Clone)]
enum LaneLeaf {
    None,
    /// A new entry, by its number in the draft.
    New(usize),
    Id(String),
}

/// Something that was named and must be found in the whole file, or is to be reported.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) id: String,
    pub(super) at: At,
    pub(super) detail: String,
}

/// Everything joined so far.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) format: Format,
    pub(super) base: Slot,
    pub(super) start: Vec<u64>,
    /// All ones: in `long`.
    pub(super) len: Vec<u32>,
    pub(super) long: Vec<(usize, u64)>,
    /// Lines counted from the one before the draft's first.
    line: Vec<u32>,
    line_starts: AHashMap<usize, u64>,
    first_line: u64,
    pub(super) kind: Vec<u8>,
    pub(super) flags: Vec<u16>,
    pub(super) time_low: Vec<u32>,
    pub(super) time_high: Vec<u16>,
    pub(super) lane: Vec<u16>,
    pub(super) id_at: Vec<u16>,
    pub(super) id_len: Vec<u8>,
    pub(super) payload_at: Vec<u16>,
    pub(super) payload_tail: Vec<u8>,
    pub(super) sets: Vec<Option<State>>,
    pub(super) parent: Vec<ParentRef>,
    pub(super) ids: Arena,
    /// Of each id; not in pi v1, which has none.
    pub(super) hashes: Vec<u64>,
    pub(super) names: Arena,
    /// New slots that set the model, ascending, with the number of the model's name.
    pub(super) models: Vec<(usize, u32)>,
    pub(super) model_names: Models,
    pub(super) usages: Vec<(usize, Usage)>,
    /// Where the sequence does not simply count on.
    pub(super) seq: Vec<(Slot, u64)>,
    /// Entries whose parent is not their lane's leaf: reported if the parent exists.
    pub(super) strays: Vec<(usize, String)>,
    pub(super) wanted: Vec<Wanted>,
    /// `lines` counts on while chunks are joined.
    pub(super) summary: Summary,
    pub(super) details: Details,
    pub(super) reports: Reports,
    kept: usize,
    lanes: Vec<(String, LaneLeaf)>,
    lane_numbers: AHashMap<String, usize>,
    operations: Operations,
    name_numbers: AHashMap<String, u16>,
    kinds: AHashMap<String, u64>,
    next_seq_of_run: u64,
}

impl Draft {
    /// A draft that goes on where a summary ends.
    pub(super) fn new(format: Format, base: Slot, before: Option<(&Summary, Details)>) -> Self {
        let (summary, details) = before
            .map(|(summary, details)| (summary.clone(), details))
            .unwrap_or_default();
        let mut draft = Self {
            format,
            base,
            start: Vec::new(),
            len: Vec::new(),
            long: Vec::new(),
            line: Vec::new(),
            line_starts: AHashMap::new(),
            first_line: summary.lines,
            kind: Vec::new(),
            flags: Vec::new(),
            time_low: Vec::new(),
            time_high: Vec::new(),
            lane: Vec::new(),
            id_at: Vec::new(),
            id_len: Vec::new(),
            payload_at: Vec::new(),
            payload_tail: Vec::new(),
            sets: Vec::new(),
            parent: Vec::new(),
            ids: Arena::default(),
            hashes: Vec::new(),
            names: Arena::default(),
            models: Vec::new(),
            model_names: Models::default(),
            usages: Vec::new(),
            seq: Vec::new(),
            strays: Vec::new(),
            wanted: Vec::new(),
            reports: Reports::default(),
            kept: 0,
            lanes: Vec::new(),
            lane_numbers: AHashMap::new(),
            operations: Operations::default(),
            name_numbers: AHashMap::new(),
            kinds: AHashMap::new(),
            next_seq_of_run: u64::MAX,
            summary,
            details,
        };
        draft.kinds.extend(std::mem::take(&mut draft.details.kinds));
        draft.operations = Operations::of(std::mem::take(&mut draft.details.open));
        for row in std::mem::take(&mut draft.summary.lanes) {
            draft.set_lane(&row.name, row.leaf.map_or(LaneLeaf::None, LaneLeaf::Id));
        }
        for (number, name) in draft.summary.lane_names.iter().enumerate() {
            draft
                .name_numbers
                .insert(name.clone(), u16::try_from(number).unwrap_or(LOOK16));
        }
        if format.has_lanes() && draft.lanes.is_empty() {
            draft.set_lane("main", LaneLeaf::None);
        }
        draft
    }

    /// Where the line of a new slot stands.
    pub(super) fn at(&self, number: usize) -> Option<At> {
        let line = self
            .first_line
            .saturating_add(u64::from(*self.line.get(number)?));
        let offset = match self.line_starts.get(&number) {
            Some(&start) => start,
            None => *self.start.get(number)?,
        };
        Some(At { line, offset })
    }

    /// Whether a new slot is a record or an entry.
    pub(super) fn is_record(&self, number: usize) -> bool {
        self.kind
            .get(number)
            .is_some_and(|&kind| kind >= Kind::OtherRecord.number())
    }

    pub(super) fn has_flag(&self, number: usize, flag: Flags) -> bool {
        self.flags
            .get(number)
            .is_some_and(|&flags| Flags(flags).has(flag))
    }

    pub(super) fn set_flag(&mut self, number: usize, flag: Flags) {
        if let Some(flags) = self.flags.get_mut(number) {
            *flags |= flag.0;
        }
    }

    /// New entries and records.
    pub(super) fn slots(&self) -> usize {
        self.start.len()
    }

    /// Adds the next stretch of lines.
    pub(super) fn absorb(&mut self, chunk: &mut Chunk) {
        let first = self.slots();
        let lines_before = self.summary.lines;
        let line_shift = u32::try_from(lines_before - self.first_line).unwrap_or(u32::MAX);
        self.reports_of(chunk, lines_before);
        for (kind, &count) in chunk.kinds.iter().filter(|(_, count)| **count > 0) {
            add_to(&mut self.kinds, kind, count);
        }
        for (kind, &count) in chunk.record_kinds.iter().filter(|(_, count)| **count > 0) {
            add_to(&mut self.kinds, &format!("record/{kind}"), count);
        }
        if self.summary.first_message.is_none() {
            self.summary.first_message = chunk.first_message.take();
        }
        self.summary.updated = self.summary.updated.max(chunk.updated);
        self.parents_of(chunk, first);
        self.models_of(chunk, first);
        self.usages.extend(
            chunk
                .usages
                .iter()
                .map(|&(number, usage)| (first + number, usage)),
        );
        self.long.extend(
            chunk
                .long
                .iter()
                .map(|&(number, len)| (first + number, len)),
        );
        self.line_starts.extend(
            chunk
                .line_starts
                .iter()
                .map(|&(number, start)| (first + number, start)),
        );
        self.line.extend(
            chunk
                .line
                .iter()
                .map(|line| line.saturating_add(line_shift)),
        );
        self.ids.append(&chunk.ids);
        self.hashes.extend_from_slice(&chunk.hashes);
        self.start.extend_from_slice(&chunk.start);
        self.len.extend_from_slice(&chunk.len);
        self.kind.extend_from_slice(&chunk.kind);
        self.flags.extend_from_slice(&chunk.flags);
        self.time_low.extend_from_slice(&chunk.time_low);
        self.time_high.extend_from_slice(&chunk.time_high);
        self.id_at.extend_from_slice(&chunk.id_at);
        self.id_len.extend_from_slice(&chunk.id_len);
        self.payload_at.extend_from_slice(&chunk.payload_at);
        self.payload_tail.extend_from_slice(&chunk.payload_tail);
        self.sets.extend_from_slice(&chunk.sets);
        if self.format.has_lanes() {
            self.steps_of(chunk, first, lines_before);
        } else {
            // Without a sequence only the order of the events counts.
            for event in std::mem::take(&mut chunk.events) {
                self.event(event, None);
            }
        }
        // Sums go on from those of a sidecar, whose numbers need not be what any log has.
        self.summary.lines = self.summary.lines.saturating_add(chunk.lines);
    }

    fn reports_of(&mut self, chunk: &mut Chunk, lines_before: u64) {
        for (count, more) in self.reports.counts.iter_mut().zip(chunk.reports.counts) {
            *count += more;
        }
        for mut report in chunk.reports.kept.drain(..) {
            report.line = report.line.saturating_add(lines_before);
            self.reports.keep(report, &mut self.kept);
        }
    }

    fn parents_of(&mut self, chunk: &Chunk, first: usize) {
        let shift = u32::try_from(self.names.len()).unwrap_or(NONE);
        self.names.append(&chunk.names);
        for (number, &parent) in chunk.parent.iter().enumerate() {
            self.parent.push(match parent {
                ParentRef::BEFORE if first + number == 0 && self.base == 0 => ParentRef::NOBODY,
                ParentRef::NOBODY | ParentRef::BEFORE => parent,
                ParentRef(name) => {
                    let before = first
                        .checked_sub(1)
                        .filter(|_| number == 0 && !chunk.is_record(0));
                    let goes_on = before.is_some_and(|before| {
                        let name = usize::try_from(name).unwrap_or(usize::MAX);
                        !self.is_record(before) && self.ids.get(before) == chunk.names.get(name)
                    });
                    if goes_on {
                        ParentRef::BEFORE
                    } else {
                        ParentRef(name.saturating_add(shift))
                    }
                }
            });
        }
    }

    fn models_of(&mut self, chunk: &Chunk, first: usize) {
        if chunk.models.is_empty() {
            return;
        }
        let names = chunk.model_names.names().iter();
        let numbers: Vec<u32> = names
            .map(|(provider, model)| {
                self.model_names
                    .number(provider.as_deref(), model.as_deref())
            })
            .collect();
        for &(number, model) in &chunk.models {
            let model = usize::try_from(model)
                .ok()
                .and_then(|model| numbers.get(model));
            self.models
                .push((first + number, model.copied().unwrap_or(NONE)));
        }
    }

    /// Goes through the mutations of a chunk in sequence (pi v4).
    fn steps_of(&mut self, chunk: &mut Chunk, first: usize, lines_before: u64) {
        let mut lanes = ChunkLanes {
            of: vec![(None, None); chunk.lane_names.len()],
        };
        let mut events: Vec<Option<Event>> = chunk.events.drain(..).map(Some).collect();
        for step in std::mem::take(&mut chunk.steps) {
            let mut at = step.at;
            at.line = at.line.saturating_add(lines_before);
            let seq = self.sequence(step, at);
            if let Some(number) = usize::try_from(step.slot)
                .ok()
                .filter(|_| step.slot != NONE)
            {
                self.slot_of_step(chunk, number, first + number, seq, at, &mut lanes);
            }
            let event = usize::try_from(step.event)
                .ok()
                .and_then(|event| events.get_mut(event)?.take());
            if let Some(event) = event {
                self.event(event, Some(at));
            }
        }
    }

    fn slot_of_step(
        &mut self,
        chunk: &Chunk,
        in_chunk: usize,
        number: usize,
        seq: u64,
        at: At,
        lanes: &mut ChunkLanes,
    ) {
        if seq != self.next_seq_of_run {
            let slot = self
                .base
                .saturating_add(u32::try_from(number).unwrap_or(NONE));
            self.seq.push((slot, seq));
        }
        self.next_seq_of_run = seq.saturating_add(1);
        let lane = chunk
            .lane
            .get(in_chunk)
            .copied()
            .filter(|&lane| lane != NONE);
        let lane = lane.and_then(|lane| usize::try_from(lane).ok());
        let name = lane.and_then(|lane| chunk.lane_names.get(lane));
        let (Some(lane), Some(name)) = (lane, name) else {
            self.lane.push(LOOK16);
            if chunk.is_record(in_chunk) {
                let finding = Finding::kept(ReportCode::MissingLane, "the record names no lane");
                self.reports.add(at, finding, &mut self.kept);
            }
            return;
        };
        let place = lanes.place(lane, name, &self.lane_numbers);
        if chunk.is_record(in_chunk) {
            match place {
                Some(_) => self.operate(chunk, in_chunk, name),
                None => {
                    let detail = format!("the record names lane `{name}`, which was never created");
                    self.reports.add(
                        at,
                        Finding::kept(ReportCode::MissingLane, detail),
                        &mut self.kept,
                    );
                }
            }
        } else {
            self.advance(chunk, in_chunk, number, name, place, at);
        }
        let column = lanes.column(lane, || self.name_number(name));
        self.lane.push(column);
    }

    /// Checks a sequence number, and returns what it counts as.
    fn sequence(&mut self, step: Step, at: At) -> u64 {
        let expected = self.summary.last_seq.saturating_add(1);
        let (found, counts_as) = match step.seq {
            Sequence::Number(number) if number == expected => {
                self.summary.last_seq = number;
                return number;
            }
            Sequence::Number(number) => (number.to_string(), number),
            Sequence::None | Sequence::Bad => ("no such number".to_owned(), expected),
        };
        let detail = format!("expected `seq` to be {expected}, found {found}");
        self.reports
            .add(at, Finding::kept(ReportCode::Seq, detail), &mut self.kept);
        self.summary.last_seq = counts_as;
        counts_as
    }

    /// An event; with its place if what it names is to be looked for (pi v4).
    fn event(&mut self, event: Event, at: Option<At>) {
        match event {
            Event::Lane { lane, leaf } => {
                if let (Some(leaf), Some(at)) = (&leaf, at) {
                    let detail =
                        format!("lane `{lane}` is put on `{leaf}`, which no entry has as its id");
                    self.wanted.push(Wanted {
                        id: leaf.clone(),
                        at,
                        detail,
                    });
                }
                self.set_lane(&lane, leaf.map_or(LaneLeaf::None, LaneLeaf::Id));
            }
            Event::Name(name) => {
                self.summary.name = name;
                self.summary.named = true;
            }
            Event::Label { target, label } => {
                if let Some(at) = at {
                    let detail =
                        format!("a label is put on `{target}`, which no entry has as its id");
                    self.wanted.push(Wanted {
                        id: target.clone(),
                        at,
                        detail,
                    });
                }
                match label {
                    Some(label) => self.details.labels.insert(target, label),
                    None => self.details.labels.remove(&target),
                };
            }
        }
    }

    /// Opens or closes an operation of a lane.
    fn operate(&mut self, chunk: &Chunk, number: usize, lane: &str) {
        let kind = chunk.kind.get(number).copied().unwrap_or(0);
        if kind == Kind::OperationStarted.number() {
            self.operations.start(lane, chunk.ids.text(number));
        } else if kind == Kind::OperationFinished.number()
            && let Some(&ParentRef(name)) = chunk.parent.get(number)
            && ParentRef(name) != ParentRef::NOBODY
        {
            let run = usize::try_from(name)
                .map(|name| chunk.names.text(name))
                .unwrap_or_default();
            self.operations.finish(lane, &run);
        }
    }

    /// The number of a lane's name for the lane column.
    fn name_number(&mut self, lane: &str) -> u16 {
        if let Some(&number) = self.name_numbers.get(lane) {
            return number;
        }
        let number = u16::try_from(self.summary.lane_names.len()).unwrap_or(LOOK16);
        if number != LOOK16 {
            self.summary.lane_names.push(lane.to_owned());
            self.name_numbers.insert(lane.to_owned(), number);
        }
        number
    }

    fn set_lane(&mut self, lane: &str, leaf: LaneLeaf) {
        if let Some(&number) = self.lane_numbers.get(lane) {
            if let Some((_, place)) = self.lanes.get_mut(number) {
                *place = leaf;
            }
            return;
        }
        self.lane_numbers.insert(lane.to_owned(), self.lanes.len());
        self.lanes.push((lane.to_owned(), leaf));
    }

    /// Moves a lane to an entry, and checks that the entry goes on from the leaf.
    fn advance(
        &mut self,
        chunk: &Chunk,
        in_chunk: usize,
        number: usize,
        lane: &str,
        place: Option<usize>,
        at: At,
    ) {
        let Some((_, leaf)) = place.and_then(|place| self.lanes.get_mut(place)) else {
            let detail = format!(
                "the entry names lane `{lane}`, which was never created; it exists from here on"
            );
            self.reports.add(
                at,
                Finding::kept(ReportCode::MissingLane, detail),
                &mut self.kept,
            );
            self.set_lane(lane, LaneLeaf::New(number));
            return;
        };
        let was = std::mem::replace(leaf, LaneLeaf::New(number));
        let parent = self
            .parent
            .get(number)
            .copied()
            .unwrap_or(ParentRef::NOBODY);
        // The common case needs no comparison of texts.
        if let LaneLeaf::New(leaf) = &was
            && parent == ParentRef::BEFORE
            && leaf + 1 == number
        {
            return;
        }
        let parent_id = match chunk
            .parent
            .get(in_chunk)
            .copied()
            .unwrap_or(ParentRef::NOBODY)
        {
            ParentRef::NOBODY => None,
            ParentRef::BEFORE => number.checked_sub(1).map(|before| self.ids.get(before)),
            ParentRef(name) => usize::try_from(name).ok().map(|name| chunk.names.get(name)),
        };
        let leaf_id = match &was {
            LaneLeaf::None => None,
            LaneLeaf::New(leaf) => Some(self.ids.get(*leaf)),
            LaneLeaf::Id(id) => Some(id.as_bytes()),
        };
        if parent_id != leaf_id {
            let name = |id: Option<&[u8]>| {
                id.map_or("nothing".into(), String::from_utf8_lossy)
                    .into_owned()
            };
            let (parent, leaf) = (name(parent_id), name(leaf_id));
            self.strays.push((
                number,
                format!("the entry's parent is `{parent}`, but lane `{lane}` stood on `{leaf}`"),
            ));
        }
    }

    /// Writes what was kept aside back into the summary.
    pub(super) fn finish_summary(&mut self) {
        let lanes = std::mem::take(&mut self.lanes);
        self.summary.lanes = lanes
            .into_iter()
            .map(|(name, leaf)| {
                let leaf = match leaf {
                    LaneLeaf::None => None,
                    LaneLeaf::New(number) => Some(self.ids.text(number)),
                    LaneLeaf::Id(id) => Some(id),
                };
                LaneRow { name, leaf }
            })
            .collect();
        self.details.open = std::mem::take(&mut self.operations).into_open();
        self.details.kinds = std::mem::take(&mut self.kinds).into_iter().collect();
        if let Some(last) = (0..self.slots())
            .rev()
            .find(|&number| !self.is_record(number))
        {
            self.summary.last_entry = Some(if self.format == Format::PiV1 {
                made_up_id(
                    self.base
                        .saturating_add(u32::try_from(last).unwrap_or(NONE)),
                )
            } else {
                self.ids.text(last)
            });
        }
    }
}

/// What is known of the lanes that a chunk names, by their numbers there.
struct ChunkLanes {
    /// The place among the lanes, once the lane exists; the number in the lane column, once it has one.
    of: Vec<(Option<usize>, Option<u16>)>,
}

impl ChunkLanes {
    fn place(&mut self, lane: usize, name: &str, lanes: &AHashMap<String, usize>) -> Option<usize> {
        let (place, _) = self.of.get_mut(lane)?;
        if place.is_none() {
            *place = lanes.get(name).copied();
        }
        *place
    }

    fn column(&mut self, lane: usize, number: impl FnOnce() -> u16) -> u16 {
        match self.of.get_mut(lane) {
            Some((_, column)) => *column.get_or_insert_with(number),
            None => LOOK16,
        }
    }
}

fn add_to(kinds: &mut AHashMap<String, u64>, kind: &str, count: u64) {
    match kinds.get_mut(kind) {
        Some(sum) => *sum = sum.saturating_add(count),
        None => {
            kinds.insert(kind.to_owned(), count);
        }
    }
}
