//! What a stretch of lines says by itself, before anything before it is known: the part of a build
//! that several threads can do. `draft` joins the stretches in order.

use ahash::AHashMap;

use super::columns::{Flags, LOOK8, LOOK16, NONE, pack_time};
use super::ids;
use crate::format::{Entry, Fact, Kind, Meaning, Mutation, Record, Sequence, State, Usage};
use crate::log::Finding;
use crate::model::{Format, MAX_REPORTS, Report};

/// Who the parent of an entry is, as far as its stretch tells: nobody, the slot right before it, or
/// else a place among the names. A number, since there are as many as there are lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ParentRef(pub(super) u32);

impl ParentRef {
    pub(super) const NOBODY: Self = Self(u32::MAX);
    pub(super) const BEFORE: Self = Self(u32::MAX - 1);
}

/// Where a line stands, for reports.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    /// From 1; in a chunk counted from the chunk's first line.
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
    /// The message payload in the object: its start, and the bytes behind its end.
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

    /// Adds all texts of another arena.
    pub(super) fn append(&mut self, other: &Self) {
        let shift = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        self.ends.extend(other.ends.iter().map(|end| end + shift));
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

/// Reports: all counted, the first kept.
#[derive(Debug, Default)]
pub(super) struct Reports {
    pub(super) kept: Vec<Report>,
    pub(super) counts: [u64; 16],
}

impl Reports {
    /// Adds a report. Those of one stream must come in the order of lines, so that the first ones
    /// are kept; `kept_so_far` counts those of the stream.
    pub(super) fn add(&mut self, at: At, finding: Finding, kept_so_far: &mut usize) {
        let place = usize::from(super::summary::number_of(finding.code));
        if let Some(count) = self.counts.get_mut(place) {
            *count += 1;
        }
        self.keep(
            Report {
                line: at.line,
                offset: at.offset,
                code: finding.code,
                skipped: finding.skipped,
                detail: finding.detail,
            },
            kept_so_far,
        );
    }

    pub(super) fn keep(&mut self, report: Report, kept_so_far: &mut usize) {
        // Reports are ordered within a line later: one line may go over the limit.
        let same_line = self
            .kept
            .last()
            .is_some_and(|last| last.line == report.line);
        if *kept_so_far < MAX_REPORTS || (same_line && *kept_so_far < 10 * MAX_REPORTS) {
            *kept_so_far += 1;
            self.kept.push(report);
        }
    }
}

/// A provider and a model.
pub(super) type ModelName = (Option<String>, Option<String>);

/// Model names as numbers, so that equal ones are seen without comparing texts twice.
#[derive(Debug, Default)]
pub(super) struct Models {
    numbers: AHashMap<ModelName, u32>,
    names: Vec<ModelName>,
    last: u32,
}

impl Models {
    pub(super) fn number(&mut self, provider: Option<&str>, model: Option<&str>) -> u32 {
        let same = |(p, m): &ModelName| p.as_deref() == provider && m.as_deref() == model;
        if usize::try_from(self.last)
            .ok()
            .and_then(|last| self.names.get(last))
            .is_some_and(same)
        {
            return self.last;
        }
        let next = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        let key = (provider.map(str::to_owned), model.map(str::to_owned));
        let number = *self.numbers.entry(key.clone()).or_insert(next);
        if number == next {
            self.names.push(key);
        }
        self.last = number;
        number
    }

    pub(super) fn names(&self) -> &[ModelName] {
        &self.names
    }
}

/// A mutation in its place in the sequence (pi v4).
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) seq: Sequence,
    /// The entry or record that it is, by its number in the chunk, or none.
    pub(super) slot: u32,
    /// The event that it is, by its number in the chunk, or none.
    pub(super) event: u32,
    pub(super) at: At,
}

/// Something that concerns the session and no entry.
#[derive(Debug)]
pub(super) enum Event {
    Lane {
        lane: String,
        leaf: Option<String>,
    },
    Name(Option<String>),
    Label {
        target: String,
        label: Option<String>,
    },
}

/// A stretch of lines, collected.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) format: Format,
    /// Lines in it.
    pub(super) lines: u64,
    pub(super) start: Vec<u64>,
    /// All ones: in `long`.
    pub(super) len: Vec<u32>,
    pub(super) long: Vec<(usize, u64)>,
    pub(super) line: Vec<u32>,
    /// Line starts of objects that do not stand at their line's start.
    pub(super) line_starts: Vec<(usize, u64)>,
    pub(super) kind: Vec<u8>,
    pub(super) flags: Vec<u16>,
    pub(super) time_low: Vec<u32>,
    pub(super) time_high: Vec<u16>,
    pub(super) id_at: Vec<u16>,
    pub(super) id_len: Vec<u8>,
    pub(super) payload_at: Vec<u16>,
    pub(super) payload_tail: Vec<u8>,
    pub(super) sets: Vec<Option<State>>,
    pub(super) parent: Vec<ParentRef>,
    pub(super) ids: Arena,
    /// Of each id; not in pi v1, which has none.
    pub(super) hashes: Vec<u64>,
    seed: u64,
    pub(super) names: Arena,
    /// The lane of each slot by its number in `lane_names`, or none (pi v4).
    pub(super) lane: Vec<u32>,
    pub(super) lane_names: Vec<String>,
    lane_numbers: AHashMap<String, u32>,
    last_lane: u32,
    /// Slots that set the model, ascending, with the number of the model's name.
    pub(super) models: Vec<(usize, u32)>,
    pub(super) model_names: Models,
    pub(super) usages: Vec<(usize, Usage)>,
    pub(super) steps: Vec<Step>,
    pub(super) events: Vec<Event>,
    pub(super) reports: Reports,
    kept: usize,
    pub(super) kinds: AHashMap<String, u64>,
    /// The same for records, without the `record/` before their names.
    pub(super) record_kinds: AHashMap<String, u64>,
    pub(super) first_message: Option<String>,
    /// A first message of an earlier stretch is not known.
    seeks_title: bool,
    pub(super) updated: Option<i64>,
}

impl Chunk {
    /// An empty one for lines of a format, with the seed of the hashes of ids.
    pub(super) fn new(format: Format, seed: u64) -> Self {
        Self {
            format,
            lines: 0,
            start: Vec::new(),
            len: Vec::new(),
            long: Vec::new(),
            line: Vec::new(),
            line_starts: Vec::new(),
            kind: Vec::new(),
            flags: Vec::new(),
            time_low: Vec::new(),
            time_high: Vec::new(),
            id_at: Vec::new(),
            id_len: Vec::new(),
            payload_at: Vec::new(),
            payload_tail: Vec::new(),
            sets: Vec::new(),
            parent: Vec::new(),
            ids: Arena::default(),
            hashes: Vec::new(),
            seed,
            names: Arena::default(),
            lane: Vec::new(),
            lane_names: Vec::new(),
            lane_numbers: AHashMap::new(),
            last_lane: NONE,
            models: Vec::new(),
            model_names: Models::default(),
            usages: Vec::new(),
            steps: Vec::new(),
            events: Vec::new(),
            reports: Reports::default(),
            kept: 0,
            kinds: AHashMap::new(),
            record_kinds: AHashMap::new(),
            first_message: None,
            seeks_title: true,
            updated: None,
        }
    }

    /// Empties it for the next stretch, which may hold the first message that a listing shows. The allocations stay, and so do the names, which repeat.
    pub(super) fn clear(&mut self, seeks_title: bool) {
        self.lines = 0;
        self.start.clear();
        self.len.clear();
        self.long.clear();
        self.line.clear();
        self.line_starts.clear();
        self.kind.clear();
        self.flags.clear();
        self.time_low.clear();
        self.time_high.clear();
        self.id_at.clear();
        self.id_len.clear();
        self.payload_at.clear();
        self.payload_tail.clear();
        self.sets.clear();
        self.parent.clear();
        self.ids.clear();
        self.hashes.clear();
        self.names.clear();
        self.lane.clear();
        self.models.clear();
        self.usages.clear();
        self.steps.clear();
        self.events.clear();
        self.reports = Reports::default();
        self.kept = 0;
        self.kinds.values_mut().for_each(|count| *count = 0);
        self.record_kinds.values_mut().for_each(|count| *count = 0);
        self.first_message = None;
        self.seeks_title = seeks_title;
        self.updated = None;
    }

    /// Whether the text that a listing would show of the next message is wanted.
    pub(super) fn wants_title(&self) -> bool {
        self.seeks_title && self.first_message.is_none()
    }

    pub(super) fn slots(&self) -> usize {
        self.start.len()
    }

    pub(super) fn is_record(&self, number: usize) -> bool {
        self.kind
            .get(number)
            .is_some_and(|&kind| kind >= Kind::OtherRecord.number())
    }

    pub(super) fn report(&mut self, at: At, finding: Finding) {
        self.reports.add(at, finding, &mut self.kept);
    }

    /// Takes in what an object means.
    pub(super) fn add(&mut self, meaning: &mut Meaning<'_>, place: ObjectPlace, at: At) {
        for finding in meaning.findings.drain(..) {
            self.report(at, finding);
        }
        let Some(mutation) = &mut meaning.mutation else {
            return;
        };
        let mut step = Step {
            seq: meaning.sequence,
            slot: NONE,
            event: NONE,
            at,
        };
        match mutation {
            Mutation::Entry(entry) => {
                step.slot = narrow(self.slots());
                self.entry(entry, place, at);
            }
            Mutation::Record(record) => {
                step.slot = narrow(self.slots());
                self.record(record, place, at);
            }
            Mutation::Lane { lane, leaf } => {
                self.count("lane");
                step.event = self.event(Event::Lane {
                    lane: lane.clone().into_owned(),
                    leaf: leaf.take().map(std::borrow::Cow::into_owned),
                });
            }
            Mutation::Fact(fact) => {
                match fact {
                    Fact::Name(_) => self.count("fact/name"),
                    Fact::Label { .. } => self.count("fact/label"),
                    Fact::Other { name } => {
                        let kind = format!("fact/{name}");
                        self.count(&kind);
                    }
                }
                step.event = self.fact(fact);
            }
            Mutation::Other { kind } => self.count(kind),
        }
        if self.format.has_lanes() {
            self.steps.push(step);
        }
    }

    fn event(&mut self, event: Event) -> u32 {
        self.events.push(event);
        narrow(self.events.len() - 1)
    }

    fn fact(&mut self, fact: &mut Fact<'_>) -> u32 {
        match fact {
            Fact::Name(name) => self.event(Event::Name(name.take())),
            Fact::Label { target, label } => self.event(Event::Label {
                target: target.clone().into_owned(),
                label: label.take().map(std::borrow::Cow::into_owned),
            }),
            Fact::Other { .. } => NONE,
        }
    }

    fn count(&mut self, kind: &str) {
        count(&mut self.kinds, kind);
    }

    fn entry(&mut self, entry: &mut Entry<'_>, place: ObjectPlace, at: At) {
        self.count(&entry.kind_name);
        let number = self.slots();
        let mut flags = Flags::default();
        flags.set_role(entry.role);
        flags.set(Flags::INERT, entry.inert);
        flags.set(Flags::CALLS_TOOLS, entry.calls_tools);
        flags.set(Flags::DEFERRED, entry.deferred);
        flags.set(Flags::NO_CONTENT, entry.no_content);
        if !entry.inert {
            if let Some((provider, model)) = &entry.model {
                flags.set(Flags::SETS_MODEL, true);
                let model = self
                    .model_names
                    .number(provider.as_deref(), model.as_deref());
                self.models.push((number, model));
            }
            if self.first_message.is_none() {
                self.first_message = entry.first_text.take();
            }
            if let Some(fact) = &mut entry.fact {
                self.fact(fact);
            }
        }
        self.updated = self.updated.max(entry.activity);
        self.sets.push(entry.sets.filter(|_| !entry.inert));
        let parent = self.parent_ref(entry.parent.as_deref());
        self.parent.push(parent);
        self.lane_of(entry.lane.as_deref());
        self.slot(
            entry.id.as_deref(),
            entry.kind(),
            flags,
            entry.time,
            place,
            at,
        );
    }

    fn record(&mut self, record: &Record<'_>, place: ObjectPlace, at: At) {
        count(&mut self.record_kinds, &record.kind_name);
        if let Some(usage) = record.usage {
            self.usages.push((self.slots(), usage));
        }
        self.updated = self.updated.max(record.time);
        let run = record
            .run
            .as_deref()
            .filter(|_| record.kind != Kind::OperationStarted);
        let parent = run.map_or(ParentRef::NOBODY, |run| self.named(run));
        self.parent.push(parent);
        self.sets.push(None);
        self.lane_of(record.lane.as_deref());
        self.slot(
            Some(&record.id),
            record.kind,
            Flags::default(),
            record.time,
            place,
            at,
        );
    }

    fn slot(
        &mut self,
        id: Option<&str>,
        kind: Kind,
        mut flags: Flags,
        time: Option<i64>,
        place: ObjectPlace,
        at: At,
    ) {
        let id = id.unwrap_or_default();
        let id_at = place
            .id_at
            .and_then(|at| u16::try_from(at).ok())
            .filter(|&at| at != LOOK16);
        let id_len = u8::try_from(id.len()).ok().filter(|&len| len != LOOK8);
        flags.set(Flags::ODD_ID, id_at.is_none() || id_len.is_none());
        self.ids.push(id);
        if self.format != Format::PiV1 {
            self.hashes.push(ids::hash(id.as_bytes(), self.seed));
        }
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
        let number = self.slots();
        let len = u32::try_from(place.len).unwrap_or(u32::MAX);
        if len == u32::MAX {
            self.long.push((number, place.len));
        }
        if place.start != at.offset {
            self.line_starts.push((number, at.offset));
        }
        self.line.push(u32::try_from(at.line).unwrap_or(u32::MAX));
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
            return ParentRef::BEFORE;
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
        let number = narrow(self.names.len());
        self.names.push(id);
        ParentRef(number)
    }

    fn lane_of(&mut self, lane: Option<&str>) {
        if !self.format.has_lanes() {
            return;
        }
        let Some(lane) = lane else {
            self.lane.push(NONE);
            return;
        };
        let last = usize::try_from(self.last_lane)
            .ok()
            .and_then(|last| self.lane_names.get(last));
        if last.is_none_or(|last| last != lane) {
            self.last_lane = match self.lane_numbers.get(lane) {
                Some(&number) => number,
                None => {
                    let number = narrow(self.lane_names.len());
                    self.lane_names.push(lane.to_owned());
                    self.lane_numbers.insert(lane.to_owned(), number);
                    number
                }
            };
        }
        self.lane.push(self.last_lane);
    }
}

fn count(kinds: &mut AHashMap<String, u64>, kind: &str) {
    match kinds.get_mut(kind) {
        Some(count) => *count += 1,
        None => {
            kinds.insert(kind.to_owned(), 1);
        }
    }
}

fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(NONE)
}
