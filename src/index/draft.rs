//! The lines of a log as they are collected, before ids are looked up: phase one of a build. One
//! element a slot in each array; what needs the whole file waits for phase two (`links`).

use ahash::AHashMap;

use super::columns::{Flags, LOOK8, LOOK16, pack_time};
use super::summary::{LaneRow, Summary};
use super::view::{Slot, made_up_id};
use crate::format::{Entry, Fact, Kind, Meaning, Mutation, Record, Sequence, State, Usage};
use crate::log::Finding;
use crate::model::{Format, MAX_REPORTS, Report, ReportCode};

/// Who the parent of a new entry is, as far as its line tells: nobody, the slot right before it, or
/// else a place in [`Draft::names`]. A number, since there are as many as there are lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ParentRef(pub(super) u32);

impl ParentRef {
    pub(super) const NOBODY: Self = Self(u32::MAX);
    pub(super) const BEFORE: Self = Self(u32::MAX - 1);
}

/// Where a line stands, for reports.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    pub(super) line: u64,
    pub(super) offset: u64,
}

/// Where an object stands, and what of it is to be remembered.
#[derive(Clone, Copy, Debug)]
pub(super) struct ObjectPlace {
    pub(super) start: u64,
    pub(super) len: u64,
    /// Start of the id's text in the object, if the text stands there as it is.
    pub(super) id_at: Option<usize>,
    /// The message payload in the object.
    pub(super) payload: Option<(usize, usize)>,
}

/// Texts one after the other in one allocation.
#[derive(Debug, Default)]
pub(super) struct Arena {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Arena {
    pub(super) fn push(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
        self.ends.push(self.bytes.len());
    }

    pub(super) fn get(&self, number: usize) -> &[u8] {
        let end = self.ends.get(number).copied().unwrap_or(0);
        let start = number
            .checked_sub(1)
            .and_then(|before| self.ends.get(before))
            .copied()
            .unwrap_or(0);
        self.bytes.get(start..end).unwrap_or_default()
    }

    pub(super) fn text(&self, number: usize) -> String {
        String::from_utf8_lossy(self.get(number)).into_owned()
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }
}

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

/// Everything collected so far.
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
    /// Line starts of objects that do not stand at their line's start.
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
    pub(super) names: Arena,
    /// New slots that set the model, ascending, with the number of the model's name.
    pub(super) models: Vec<(usize, u32)>,
    pub(super) model_names: Models,
    pub(super) usages: Vec<(usize, Usage)>,
    pub(super) seq: Vec<(Slot, u64)>,
    /// Entries whose parent is not their lane's leaf: reported if the parent exists.
    pub(super) strays: Vec<(usize, String)>,
    pub(super) wanted: Vec<Wanted>,
    pub(super) summary: Summary,
    pub(super) reports: Reports,
    lanes: Vec<(String, LaneLeaf)>,
    lane_numbers: AHashMap<String, usize>,
    name_numbers: AHashMap<String, u16>,
    kinds: AHashMap<String, u64>,
    /// The same for records, without the `record/` before their names.
    record_kinds: AHashMap<String, u64>,
    /// The lane of the line before: its name, its place among the lanes, the number of its name.
    last_lane: Option<(String, usize, u16)>,
    next_seq_of_run: u64,
}

/// Reports of new lines: all counted, the first kept.
#[derive(Debug, Default)]
pub(super) struct Reports {
    pub(super) kept: Vec<Report>,
    pub(super) counts: [u64; 16],
}

impl Reports {
    /// Adds a report. Those of one call site must come in the order of lines, so that the first
    /// ones are kept.
    pub(super) fn add(&mut self, at: At, finding: Finding, kept_so_far: &mut usize) {
        let place = usize::from(super::summary::number_of(finding.code));
        if let Some(count) = self.counts.get_mut(place) {
            *count += 1;
        }
        // Reports are ordered within a line later: one line may go over the limit.
        let same_line = self.kept.last().is_some_and(|last| last.line == at.line);
        if *kept_so_far < MAX_REPORTS || (same_line && *kept_so_far < 10 * MAX_REPORTS) {
            *kept_so_far += 1;
            self.kept.push(Report {
                line: at.line,
                offset: at.offset,
                code: finding.code,
                skipped: finding.skipped,
                detail: finding.detail,
            });
        }
    }
}

/// Model names as numbers, so that equal ones are seen without comparing texts twice.
#[derive(Debug, Default)]
pub(super) struct Models {
    numbers: AHashMap<(Option<String>, Option<String>), u32>,
    last: Option<(Option<String>, Option<String>, u32)>,
}

impl Models {
    pub(super) fn number(&mut self, provider: Option<&str>, model: Option<&str>) -> u32 {
        if let Some((last_provider, last_model, number)) = &self.last
            && last_provider.as_deref() == provider
            && last_model.as_deref() == model
        {
            return *number;
        }
        let next = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        let key = (provider.map(str::to_owned), model.map(str::to_owned));
        let number = *self.numbers.entry(key.clone()).or_insert(next);
        self.last = Some((key.0, key.1, number));
        number
    }
}

impl Draft {
    /// A draft that goes on where a summary ends.
    pub(super) fn new(format: Format, base: Slot, before: Option<&Summary>) -> Self {
        let summary = before.cloned().unwrap_or_default();
        let mut draft = Self {
            format,
            base,
            start: Vec::new(),
            len: Vec::new(),
            long: Vec::new(),
            line: Vec::new(),
            line_starts: AHashMap::new(),
            first_line: before.map_or(0, |summary| summary.lines),
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
            names: Arena::default(),
            models: Vec::new(),
            model_names: Models::default(),
            usages: Vec::new(),
            seq: Vec::new(),
            strays: Vec::new(),
            wanted: Vec::new(),
            reports: Reports::default(),
            lanes: Vec::new(),
            lane_numbers: AHashMap::new(),
            name_numbers: AHashMap::new(),
            kinds: AHashMap::new(),
            record_kinds: AHashMap::new(),
            last_lane: None,
            next_seq_of_run: u64::MAX,
            summary,
        };
        draft.kinds.extend(std::mem::take(&mut draft.summary.kinds));
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
        let line = self.first_line + u64::from(*self.line.get(number)?);
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

    /// Takes in what an object means.
    pub(super) fn add(
        &mut self,
        meaning: &mut Meaning<'_>,
        place: ObjectPlace,
        at: At,
        kept: &mut usize,
    ) {
        for finding in meaning.findings.drain(..) {
            self.reports.add(at, finding, kept);
        }
        let Some(mutation) = &mut meaning.mutation else {
            return;
        };
        let seq = self.sequence(meaning.sequence, at, kept);
        match mutation {
            Mutation::Entry(entry) => self.entry(entry, place, at, seq, kept),
            Mutation::Record(record) => self.record(record, place, at, seq, kept),
            Mutation::Lane { lane, leaf } => {
                self.count("lane");
                if let Some(leaf) = leaf {
                    let detail =
                        format!("lane `{lane}` is put on `{leaf}`, which no entry has as its id");
                    self.want(leaf, at, detail);
                }
                let leaf = leaf.take().map(std::borrow::Cow::into_owned);
                self.set_lane(lane, leaf.map_or(LaneLeaf::None, LaneLeaf::Id));
            }
            Mutation::Fact(fact) => {
                match fact {
                    Fact::Name(_) => self.count("fact/name"),
                    Fact::Label { .. } => self.count("fact/label"),
                    Fact::Other { name } => self.count_owned(format!("fact/{name}")),
                }
                if let Fact::Label { target, .. } = fact {
                    let detail =
                        format!("a label is put on `{target}`, which no entry has as its id");
                    self.want(target, at, detail);
                }
                let fact = std::mem::replace(fact, Fact::Name(None));
                self.fact(fact);
            }
            Mutation::Other { kind } => self.count(kind),
        }
    }

    fn want(&mut self, id: &str, at: At, detail: String) {
        self.wanted.push(Wanted {
            id: id.to_owned(),
            at,
            detail,
        });
    }

    /// Checks a sequence number, and returns what it counts as.
    fn sequence(&mut self, sequence: Sequence, at: At, kept: &mut usize) -> u64 {
        let expected = self.summary.last_seq + 1;
        let (found, counts_as) = match sequence {
            Sequence::None => return 0,
            Sequence::Number(number) => (number.to_string(), number),
            Sequence::Bad => ("no such number".to_owned(), expected),
        };
        if sequence != Sequence::Number(expected) {
            let detail = format!("expected `seq` to be {expected}, found {found}");
            self.reports
                .add(at, Finding::kept(ReportCode::Seq, detail), kept);
        }
        self.summary.last_seq = counts_as;
        counts_as
    }

    fn count(&mut self, kind: &str) {
        match self.kinds.get_mut(kind) {
            Some(count) => *count += 1,
            None => self.count_owned(kind.to_owned()),
        }
    }

    fn count_owned(&mut self, kind: String) {
        *self.kinds.entry(kind).or_insert(0) += 1;
    }

    fn fact(&mut self, fact: Fact<'_>) {
        match fact {
            Fact::Name(name) => {
                self.summary.name = name;
                self.summary.named = true;
            }
            Fact::Label {
                target,
                label: Some(label),
            } => {
                self.summary
                    .labels
                    .insert(target.into_owned(), label.into_owned());
            }
            Fact::Label {
                target,
                label: None,
            } => {
                self.summary.labels.remove(&*target);
            }
            Fact::Other { .. } => {}
        }
    }

    fn entry(
        &mut self,
        entry: &mut Entry<'_>,
        place: ObjectPlace,
        at: At,
        seq: u64,
        kept: &mut usize,
    ) {
        self.count(&entry.kind_name);
        let number = self.slots();
        let kind = entry.kind();
        let mut flags = Flags::default();
        flags.set_role(entry.role);
        flags.set(Flags::INERT, entry.inert);
        flags.set(Flags::CALLS_TOOLS, entry.calls_tools);
        flags.set(Flags::DEFERRED, entry.deferred);
        flags.set(Flags::NO_CONTENT, entry.no_content);
        let parent = self.parent_ref(entry.parent.as_deref());
        if let Some(lane) = &entry.lane {
            self.advance(lane, parent, entry.parent.as_deref(), at, kept);
        }
        let lane = entry
            .lane
            .as_deref()
            .map_or(LOOK16, |lane| self.name_number(lane));
        if !entry.inert {
            if let Some((provider, model)) = &entry.model {
                flags.set(Flags::SETS_MODEL, true);
                let model = self
                    .model_names
                    .number(provider.as_deref(), model.as_deref());
                self.models.push((number, model));
            }
            if self.summary.first_message.is_none() {
                self.summary.first_message = entry.first_text.take();
            }
            if let Some(fact) = entry.fact.take() {
                self.fact(fact);
            }
        }
        self.summary.updated = self.summary.updated.max(entry.activity);
        self.sets.push(entry.sets.filter(|_| !entry.inert));
        self.parent.push(parent);
        self.slot(
            entry.id.as_deref(),
            kind,
            flags,
            entry.time,
            lane,
            place,
            at,
            seq,
        );
    }

    fn record(
        &mut self,
        record: &Record<'_>,
        place: ObjectPlace,
        at: At,
        seq: u64,
        kept: &mut usize,
    ) {
        match self.record_kinds.get_mut(&*record.kind_name) {
            Some(count) => *count += 1,
            None => {
                self.record_kinds
                    .insert(record.kind_name.clone().into_owned(), 1);
            }
        }
        let number = self.slots();
        let known = record
            .lane
            .as_deref()
            .is_some_and(|lane| self.lane_place(lane).is_some());
        if !known {
            let detail = match &record.lane {
                Some(lane) => format!("the record names lane `{lane}`, which was never created"),
                None => "the record names no lane".to_owned(),
            };
            self.reports
                .add(at, Finding::kept(ReportCode::MissingLane, detail), kept);
        }
        if let Some(lane) = record.lane.as_deref().filter(|_| known) {
            match (record.kind, &record.run) {
                (Kind::OperationStarted, _) => {
                    let open = self.summary.open.entry(lane.to_owned()).or_default();
                    if open.iter().all(|id| *id != record.id) {
                        open.push(record.id.clone().into_owned());
                    }
                }
                (Kind::OperationFinished, Some(run)) => {
                    if let Some(open) = self.summary.open.get_mut(lane) {
                        open.retain(|id| id != run);
                        if open.is_empty() {
                            self.summary.open.remove(lane);
                        }
                    }
                }
                _ => {}
            }
        }
        if let Some(usage) = record.usage {
            self.usages.push((number, usage));
        }
        self.summary.updated = self.summary.updated.max(record.time);
        let lane = record
            .lane
            .as_deref()
            .map_or(LOOK16, |lane| self.name_number(lane));
        let run = record
            .run
            .as_deref()
            .filter(|_| record.kind != Kind::OperationStarted);
        let parent = match run {
            None => ParentRef::NOBODY,
            Some(run) => self.named(run),
        };
        self.sets.push(None);
        self.parent.push(parent);
        self.slot(
            Some(&record.id),
            record.kind,
            Flags::default(),
            record.time,
            lane,
            place,
            at,
            seq,
        );
    }

    #[expect(clippy::too_many_arguments, reason = "one a column")]
    fn slot(
        &mut self,
        id: Option<&str>,
        kind: Kind,
        mut flags: Flags,
        time: Option<i64>,
        lane: u16,
        place: ObjectPlace,
        at: At,
        seq: u64,
    ) {
        let id = id.unwrap_or_default();
        let id_at = place
            .id_at
            .and_then(|at| u16::try_from(at).ok())
            .filter(|&at| at != LOOK16);
        let id_len = u8::try_from(id.len()).ok().filter(|&len| len != LOOK8);
        flags.set(Flags::ODD_ID, id_at.is_none() || id_len.is_none());
        self.ids.push(id);
        self.id_at.push(id_at.unwrap_or(0));
        self.id_len.push(id_len.unwrap_or(0));
        let payload = place.payload.and_then(|(start, tail)| {
            let start = u16::try_from(start).ok().filter(|&start| start != LOOK16)?;
            let tail = u8::try_from(tail).ok().filter(|&tail| tail != LOOK8)?;
            Some((start, tail))
        });
        let (payload_at, payload_tail) = payload.unwrap_or((0, 0));
        self.payload_at.push(payload_at);
        self.payload_tail.push(payload_tail);
        if self.format.has_lanes() {
            if seq != self.next_seq_of_run {
                let slot = self
                    .base
                    .saturating_add(u32::try_from(self.slots()).unwrap_or(u32::MAX));
                self.seq.push((slot, seq));
            }
            self.next_seq_of_run = seq + 1;
            self.lane.push(lane);
        }
        let number = self.slots();
        let len = u32::try_from(place.len).unwrap_or(u32::MAX);
        if len == u32::MAX {
            self.long.push((number, place.len));
        }
        if place.start != at.offset {
            self.line_starts.insert(number, at.offset);
        }
        let line = at.line.saturating_sub(self.first_line);
        self.line.push(u32::try_from(line).unwrap_or(u32::MAX));
        self.start.push(place.start);
        self.len.push(len);
        self.kind.push(kind.number());
        self.flags.push(flags.0);
        let (low, high) = pack_time(time);
        self.time_low.push(low);
        self.time_high.push(high);
    }

    fn parent_ref(&mut self, parent: Option<&str>) -> ParentRef {
        if self.format == Format::PiV1 {
            return if self.slots() == 0 && self.base == 0 {
                ParentRef::NOBODY
            } else {
                ParentRef::BEFORE
            };
        }
        let Some(parent) = parent else {
            return ParentRef::NOBODY;
        };
        let before = self.slots().checked_sub(1);
        let is_before = before.is_some_and(|before| {
            self.ids.get(before) == parent.as_bytes() && !self.is_record(before)
        });
        if is_before {
            ParentRef::BEFORE
        } else {
            self.named(parent)
        }
    }

    fn named(&mut self, id: &str) -> ParentRef {
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(id);
        ParentRef(number)
    }

    /// The place of a lane among the lanes, if it exists.
    fn lane_place(&self, lane: &str) -> Option<usize> {
        match &self.last_lane {
            Some((name, place, _)) if name == lane => Some(*place),
            _ => self.lane_numbers.get(lane).copied(),
        }
    }

    /// The number of a lane's name for the lane column.
    fn name_number(&mut self, lane: &str) -> u16 {
        if let Some((name, _, number)) = &self.last_lane
            && name == lane
        {
            return *number;
        }
        let number = self.new_name_number(lane);
        if let Some(&place) = self.lane_numbers.get(lane) {
            self.last_lane = Some((lane.to_owned(), place, number));
        }
        number
    }

    fn new_name_number(&mut self, lane: &str) -> u16 {
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

    /// Moves a lane to the entry that is being added, and checks that it goes on from the leaf.
    fn advance(
        &mut self,
        lane: &str,
        parent: ParentRef,
        parent_id: Option<&str>,
        at: At,
        kept: &mut usize,
    ) {
        let number = self.slots();
        let leaf = self
            .lane_place(lane)
            .and_then(|lane| self.lanes.get_mut(lane));
        let Some((_, leaf)) = leaf else {
            let detail = format!(
                "the entry names lane `{lane}`, which was never created; it exists from here on"
            );
            self.reports
                .add(at, Finding::kept(ReportCode::MissingLane, detail), kept);
            self.set_lane(lane, LaneLeaf::New(number));
            return;
        };
        let was = std::mem::replace(leaf, LaneLeaf::New(number));
        let goes_on = match &was {
            LaneLeaf::None => parent_id.is_none(),
            LaneLeaf::New(leaf) => {
                // The common case needs no comparison of texts.
                (parent == ParentRef::BEFORE && leaf + 1 == number)
                    || parent_id.is_some_and(|parent| self.ids.get(*leaf) == parent.as_bytes())
            }
            LaneLeaf::Id(leaf) => parent_id == Some(leaf.as_str()),
        };
        if !goes_on {
            let leaf = self.leaf_id(&was).unwrap_or_else(|| "nothing".to_owned());
            let parent = parent_id.unwrap_or("nothing");
            self.strays.push((
                number,
                format!("the entry's parent is `{parent}`, but lane `{lane}` stood on `{leaf}`"),
            ));
        }
    }

    fn leaf_id(&self, leaf: &LaneLeaf) -> Option<String> {
        match leaf {
            LaneLeaf::None => None,
            LaneLeaf::New(number) => Some(self.ids.text(*number)),
            LaneLeaf::Id(id) => Some(id.clone()),
        }
    }

    /// Writes what was kept aside back into the summary.
    pub(super) fn finish_summary(&mut self) {
        let lanes = std::mem::take(&mut self.lanes);
        self.summary.lanes = lanes
            .into_iter()
            .map(|(name, leaf)| LaneRow {
                leaf: self.leaf_id(&leaf),
                name,
            })
            .collect();
        for (kind, count) in std::mem::take(&mut self.record_kinds) {
            *self.kinds.entry(format!("record/{kind}")).or_insert(0) += count;
        }
        self.summary.kinds = std::mem::take(&mut self.kinds).into_iter().collect();
        let last = (0..self.slots()).rev().find(|&n| !self.is_record(n));
        if let Some(last) = last {
            self.summary.last_entry = Some(if self.format == Format::PiV1 {
                made_up_id(
                    self.base
                        .saturating_add(u32::try_from(last).unwrap_or(u32::MAX)),
                )
            } else {
                self.ids.text(last)
            });
        }
    }
}
