//! What has to be known of a whole source before its first line can be written: which lines count,
//! who is named and missing, where parents run in a circle. Columns of numbers, as an index has.

use ahash::{AHashMap, AHashSet};
use std::borrow::Cow;
use xxhash_rust::xxh3::xxh3_128_with_seed;

use super::lines::{Keeps, Object, Reader, What};
use super::opening::Opening;
use super::report::Place;
use crate::error::{Code, Error, Result};
use crate::format::{Fact, Kind, Meaning, Mutation, Sequence, interpret};
use crate::index::random_seed;
use crate::json::Document;
use crate::log::LogFile;
use crate::model::Format;

/// No slot, no name.
pub(super) const NONE: u32 = u32::MAX;

/// What an object that the format keeps is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Entry,
    Record,
    Lane,
    Label,
    Other,
}

/// What becomes of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Keep,
    /// Kept, but its parents lead back to it: it gets another one.
    Uproot,
    /// Stands in the copy already.
    Fold,
    /// Another object with its id counts.
    Drop,
}

impl Fate {
    pub(super) fn is_kept(self) -> bool {
        matches!(self, Self::Keep | Self::Uproot)
    }
}

/// An object as far as other lines matter to it.
#[derive(Debug)]
pub(super) struct Item<'d> {
    pub(super) class: Class,
    pub(super) kind: Kind,
    pub(super) id: Option<Cow<'d, str>>,
    /// The parent of an entry, the leaf of a lane, the target of a label.
    pub(super) refers: Option<Cow<'d, str>>,
    pub(super) lane: Option<Cow<'d, str>>,
    /// The number in the sequence; 0 for none.
    pub(super) seq: u64,
    pub(super) time: Option<i64>,
    /// The operation that a record belongs to.
    pub(super) run: Option<Cow<'d, str>>,
    /// Whether reading reports something of the object itself.
    pub(super) is_damaged: bool,
}

impl<'d> Item<'d> {
    /// The item of an object; or, if the format does not keep it, why.
    pub(super) fn of(
        format: Format,
        object: &Object<'d>,
        is_header: bool,
    ) -> std::result::Result<Self, String> {
        let meaning = interpret(format, object.document.root(), false);
        if is_header && meaning.mutation.is_none() {
            // codebot's header without its id.
            return Ok(Self {
                is_damaged: true,
                ..Self::header("h0".into())
            });
        }
        let mut item = Self::of_meaning(meaning)?;
        if is_header {
            item.is_damaged |= item.refers.take().is_some();
        }
        Ok(item)
    }

    fn header(id: Cow<'d, str>) -> Self {
        Self {
            class: Class::Entry,
            kind: Kind::Header,
            id: Some(id),
            refers: None,
            lane: None,
            seq: 0,
            time: None,
            run: None,
            is_damaged: false,
        }
    }

    fn of_meaning(meaning: Meaning<'d>) -> std::result::Result<Self, String> {
        let is_damaged = !meaning.findings.is_empty();
        let seq = match meaning.sequence {
            Sequence::Number(number) => number,
            Sequence::None | Sequence::Bad => 0,
        };
        let bare = |class, refers, lane| Self {
            class,
            kind: Kind::Other,
            id: None,
            refers,
            lane,
            seq,
            time: None,
            run: None,
            is_damaged,
        };
        let Some(mutation) = meaning.mutation else {
            let why = meaning.findings.into_iter().next();
            return Err(why.map_or_else(String::new, |finding| finding.detail));
        };
        Ok(match mutation {
            Mutation::Entry(entry) => Self {
                class: Class::Entry,
                kind: entry.kind(),
                id: entry.id,
                time: entry.time,
                ..bare(Class::Entry, entry.parent, entry.lane)
            },
            Mutation::Record(record) => Self {
                kind: record.kind,
                id: Some(record.id),
                time: record.time,
                run: record.run,
                ..bare(Class::Record, None, record.lane)
            },
            Mutation::Lane { lane, leaf } => {
                // No entry can have an empty id: such a lane stands nowhere, such a label on nothing.
                let is_nothing = leaf.as_deref() == Some("");
                Self {
                    is_damaged: is_damaged || is_nothing,
                    ..bare(Class::Lane, leaf.filter(|_| !is_nothing), Some(lane))
                }
            }
            Mutation::Fact(Fact::Label { target, .. }) if target.is_empty() => {
                return Err("a label on an entry with an empty id, which none can have".to_owned());
            }
            Mutation::Fact(Fact::Label { target, .. }) => bare(Class::Label, Some(target), None),
            Mutation::Fact(_) | Mutation::Other { .. } => bare(Class::Other, None, None),
        })
    }
}

/// Texts as numbers.
#[derive(Debug, Default)]
pub(super) struct Names(AHashMap<Box<str>, u32>);

impl Names {
    fn number(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.0.get(text) {
            return number;
        }
        let number = u32::try_from(self.0.len()).unwrap_or(NONE);
        self.0.insert(text.into(), number);
        number
    }

    pub(super) fn find(&self, text: &str) -> Option<u32> {
        self.0.get(text).copied()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// The objects of a source that its format keeps, each a slot, in the order of the file.
#[derive(Debug)]
pub(super) struct Survey {
    pub(super) names: Names,
    /// The slots with a name as their id that count.
    entry_of: Vec<u32>,
    record_of: Vec<u32>,
    /// Names that some line says of an entry (pi v4).
    is_wanted: Vec<bool>,
    pub(super) class: Vec<Class>,
    pub(super) fate: Vec<Fate>,
    id: Vec<u32>,
    refers: Vec<u32>,
    /// Objects that a reader would not keep.
    weak: Vec<bool>,
    /// The hash of each object, by which those that come again are told.
    hash: Vec<u128>,
    /// pi v4 only: numbers, lanes, and where to read an object again.
    pub(super) seq: Vec<u64>,
    pub(super) lane: Vec<u32>,
    pub(super) lanes: Names,
    place: Vec<Place>,
    number: Vec<u16>,
    /// Hashes of lines without an id (pi v4).
    bare: AHashSet<u128>,
    /// The slot of codebot's header.
    pub(super) header: Option<u32>,
    /// The first good time.
    pub(super) first_time: Option<i64>,
    /// Lines of the source, and a hash of them.
    pub(super) lines: u64,
    pub(super) log_hash: u64,
    seed: u64,
    has_sequence: bool,
    has_ids: bool,
}

impl Survey {
    /// Reads a source once.
    pub(super) fn of(log: &LogFile, opening: &Opening, progress: &dyn Fn(u64)) -> Result<Self> {
        let format = opening.format;
        let mut survey = Self {
            names: Names::default(),
            entry_of: Vec::new(),
            record_of: Vec::new(),
            is_wanted: Vec::new(),
            class: Vec::new(),
            fate: Vec::new(),
            id: Vec::new(),
            refers: Vec::new(),
            weak: Vec::new(),
            hash: Vec::new(),
            seq: Vec::new(),
            lane: Vec::new(),
            lanes: Names::default(),
            place: Vec::new(),
            number: Vec::new(),
            bare: AHashSet::new(),
            header: None,
            first_time: None,
            lines: 0,
            log_hash: 0,
            seed: random_seed(),
            has_sequence: format.has_lanes(),
            has_ids: format != Format::PiV1,
        };
        survey.lanes.number("main");
        if let Some(id) = opening.made_root() {
            // The header that is going to be made is an entry too.
            survey.header = Some(0);
            survey.add(&Item::header(id.into()), 0, false, Place::default(), 0);
        }
        let mut reader = Reader::new(log);
        let mut told = 0;
        loop {
            let more = reader.read(Keeps::Format(format), |found| {
                let What::Object(object) = &found.what else {
                    return Ok(());
                };
                let is_header = opening.is_header(object);
                if opening.is_no_slot(object) {
                    return Ok(());
                }
                let Ok(item) = Item::of(format, object, is_header) else {
                    return Ok(());
                };
                let hash = xxh3_128_with_seed(object.text, survey.seed);
                if is_header {
                    survey.header = Some(survey.len());
                }
                survey.add(&item, hash, object.is_recovered, found.at, object.number);
                if survey.class.len() >= usize::try_from(NONE).unwrap_or(usize::MAX) - 1 {
                    return Err(Error::new(
                        Code::Unsupported,
                        "expected fewer than 4,294,967,294 entries, found more",
                    )
                    .at_path(log.path()));
                }
                Ok(())
            })?;
            if !more {
                break;
            }
            if reader.offset() >= told + (1 << 20) {
                told = reader.offset();
                progress(told);
            }
        }
        survey.lines = reader.count();
        survey.log_hash = reader.hash();
        // They were needed to tell repeated objects, and are large.
        survey.hash = Vec::new();
        survey.weak = Vec::new();
        survey.bare = AHashSet::new();
        survey.uproot_cycles();
        if survey.has_sequence {
            survey.find_wanted();
        }
        Ok(survey)
    }

    /// How many slots there are.
    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.class.len()).unwrap_or(NONE)
    }

    fn add(&mut self, item: &Item<'_>, hash: u128, is_weak: bool, place: Place, number: u16) {
        let slot = self.len();
        let id = item.id.as_deref().map_or(NONE, |id| self.name(id));
        let refers = item.refers.as_deref().map_or(NONE, |id| self.name(id));
        let fate = self.fate_of(item, slot, id, hash, is_weak);
        self.class.push(item.class);
        self.fate.push(fate);
        self.id.push(id);
        self.refers.push(refers);
        self.hash.push(hash);
        self.weak.push(is_weak);
        if self.has_sequence {
            let lane = item
                .lane
                .as_deref()
                .map_or(NONE, |lane| self.lanes.number(lane));
            self.seq.push(item.seq);
            self.lane.push(lane);
            self.place.push(place);
            self.number.push(number);
        }
        if self.first_time.is_none() {
            self.first_time = item.time;
        }
    }

    fn name(&mut self, id: &str) -> u32 {
        let name = self.names.number(id);
        if self.entry_of.len() < self.names.len() {
            self.entry_of.resize(self.names.len(), NONE);
            self.record_of.resize(self.names.len(), NONE);
        }
        name
    }

    /// Whether a new object counts, and what of an earlier one with its id.
    fn fate_of(&mut self, item: &Item<'_>, slot: u32, id: u32, hash: u128, is_weak: bool) -> Fate {
        let table = match item.class {
            Class::Entry => &mut self.entry_of,
            Class::Record => &mut self.record_of,
            _ => {
                // Without an id, but with a number: the same number and the same text again.
                let is_again = self.has_sequence && item.seq > 0 && !self.bare.insert(hash);
                return if is_again { Fate::Fold } else { Fate::Keep };
            }
        };
        if !self.has_ids {
            return Fate::Keep;
        }
        let Some(counts) = usize::try_from(id).ok().and_then(|id| table.get_mut(id)) else {
            return Fate::Keep;
        };
        if *counts == NONE {
            *counts = slot;
            return Fate::Keep;
        }
        let earlier = usize::try_from(*counts).unwrap_or(usize::MAX);
        let is_same = self.hash.get(earlier) == Some(&hash);
        // The header tells the format and must come first: no other line counts in its place.
        let is_of_header = item.class == Class::Entry && self.header == Some(*counts);
        if is_same && self.header != Some(slot) {
            return Fate::Fold;
        }
        // What no reader saw does not take the place of what all saw.
        let is_weaker = is_weak && self.weak.get(earlier) == Some(&false);
        if is_of_header || (is_weaker && self.header != Some(slot)) {
            return Fate::Drop;
        }
        *counts = slot;
        if let Some(fate) = self.fate.get_mut(earlier) {
            *fate = if is_same { Fate::Fold } else { Fate::Drop };
        }
        Fate::Keep
    }

    fn at<T: Copy>(column: &[T], slot: u32) -> Option<T> {
        column.get(usize::try_from(slot).ok()?).copied()
    }

    pub(super) fn fate(&self, slot: u32) -> Fate {
        Self::at(&self.fate, slot).unwrap_or(Fate::Keep)
    }

    pub(super) fn class(&self, slot: u32) -> Class {
        Self::at(&self.class, slot).unwrap_or(Class::Other)
    }

    /// The name that a slot has as its id.
    pub(super) fn id(&self, slot: u32) -> u32 {
        Self::at(&self.id, slot).unwrap_or(NONE)
    }

    /// The name that a slot refers to, as long as its parents are what they were.
    pub(super) fn refers(&self, slot: u32) -> u32 {
        match self.fate(slot) {
            Fate::Uproot => NONE,
            _ => Self::at(&self.refers, slot).unwrap_or(NONE),
        }
    }

    /// The entry with a name as its id.
    pub(super) fn entry(&self, name: u32) -> Option<u32> {
        Self::at(&self.entry_of, name).filter(|&slot| slot != NONE)
    }

    /// Whether a name is that of a record and of an entry, or of one that will get a stand-in.
    pub(super) fn is_shared(&self, name: u32) -> bool {
        let is_entry = self.entry(name).is_some() || Self::at(&self.is_wanted, name) == Some(true);
        is_entry && Self::at(&self.record_of, name) != Some(NONE)
    }

    /// Notes which names are said of entries.
    fn find_wanted(&mut self) {
        self.is_wanted = vec![false; self.names.len()];
        for slot in 0..self.len() {
            let name = self.refers(slot);
            if self.fate(slot).is_kept()
                && let Some(is_wanted) = usize::try_from(name)
                    .ok()
                    .and_then(|name| self.is_wanted.get_mut(name))
            {
                *is_wanted = true;
            }
        }
    }

    /// Whether the name that a slot refers to is no entry's.
    pub(super) fn is_missing(&self, name: u32) -> bool {
        name != NONE && self.entry(name).is_none()
    }

    pub(super) fn seq(&self, slot: u32) -> u64 {
        Self::at(&self.seq, slot).unwrap_or(0)
    }

    pub(super) fn lane(&self, slot: u32) -> u32 {
        Self::at(&self.lane, slot).unwrap_or(NONE)
    }

    /// Where the line of a slot starts, and which of the objects there it is (pi v4).
    pub(super) fn place(&self, slot: u32) -> Option<(Place, u16)> {
        Some((Self::at(&self.place, slot)?, Self::at(&self.number, slot)?))
    }

    /// The entry that an entry has as its parent.
    pub(super) fn parent(&self, slot: u32) -> Option<u32> {
        if self.class(slot) != Class::Entry {
            return None;
        }
        self.entry(self.refers(slot))
    }

    /// Finds the circles among parents; in each the first entry of the file gets another parent.
    fn uproot_cycles(&mut self) {
        #[derive(Clone, Copy, PartialEq, Eq)]
        enum Visit {
            Not,
            Open,
            Done,
        }
        let slots = self.class.len();
        let mut visits = vec![Visit::Not; slots];
        let visit = |visits: &mut Vec<Visit>, slot: u32| -> Option<Visit> {
            visits.get(usize::try_from(slot).ok()?).copied()
        };
        let mut path: Vec<u32> = Vec::new();
        for start in 0..self.len() {
            let mut at = Some(start)
                .filter(|&slot| self.class(slot) == Class::Entry && self.fate(slot).is_kept());
            while let Some(slot) = at {
                match visit(&mut visits, slot) {
                    Some(Visit::Not) => {}
                    Some(Visit::Open) => {
                        let from = path.iter().position(|&on| on == slot).unwrap_or(0);
                        let first = path.get(from..).and_then(|cycle| cycle.iter().min());
                        if let Some(&first) = first
                            && let Some(fate) = usize::try_from(first)
                                .ok()
                                .and_then(|first| self.fate.get_mut(first))
                        {
                            *fate = Fate::Uproot;
                        }
                        break;
                    }
                    _ => break,
                }
                if let Some(state) = usize::try_from(slot)
                    .ok()
                    .and_then(|slot| visits.get_mut(slot))
                {
                    *state = Visit::Open;
                }
                path.push(slot);
                at = self.parent(slot);
            }
            for slot in path.drain(..) {
                if let Some(state) = usize::try_from(slot)
                    .ok()
                    .and_then(|slot| visits.get_mut(slot))
                {
                    *state = Visit::Done;
                }
            }
        }
    }
}
