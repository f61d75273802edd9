//! Phase two of a build: ids to slots, parents, depths and state rows of the collected lines, and
//! the reports that need the whole file.

use super::chunk::ParentRef;
use super::columns::{Flags, NONE, ROOT, ROW_WIDTH};
use super::draft::Draft;
use super::ids::{self, Class};
use super::segment::Damaged;
use super::view::{Index, Slot, Trouble};
use crate::format::{Kind, State, parent_key};
use crate::log::{Finding, LogFile};
use crate::model::{Format, ReportCode};

/// What an extension builds on: the index so far and its log.
#[derive(Clone, Copy)]
pub(super) struct Before<'i> {
    pub(super) index: &'i Index,
    pub(super) log: &'i LogFile,
    /// No new id is an old one.
    pub(super) own: bool,
}

/// Why an extension could not be made.
#[derive(Debug)]
pub(super) enum Stop {
    /// The new lines change what is known of old ones: an id comes again, or one that an old line
    /// was waiting for. The whole log is to be indexed anew.
    Conflict,
    Trouble(Trouble),
}

impl From<Damaged> for Stop {
    fn from(_: Damaged) -> Self {
        Self::Trouble(Trouble::Index)
    }
}

impl From<Trouble> for Stop {
    fn from(trouble: Trouble) -> Self {
        Self::Trouble(trouble)
    }
}

/// Parents, depths, rows and tags of the new slots.
#[derive(Debug, Default)]
pub(super) struct Links {
    pub(super) parent: Vec<Slot>,
    pub(super) depth: Vec<u32>,
    pub(super) row: Vec<u32>,
    pub(super) rows: Vec<[u32; ROW_WIDTH]>,
    pub(super) tag: Vec<u32>,
    /// The new slots by their ids.
    pub(super) table: Vec<ids::Place>,
    /// A slot in it took the place of an earlier one.
    pub(super) is_table_mixed: bool,
    pub(super) wanted: Vec<u64>,
    pub(super) irregular: bool,
}

struct Linker<'d, 'i> {
    draft: &'d mut Draft,
    before: Option<Before<'i>>,
    seed: u64,
    links: Links,
    /// The model's number of each new row, and of old rows that were asked for.
    row_models: Vec<Option<u32>>,
    old_row_models: ahash::AHashMap<u32, Option<u32>>,
    first_row: u32,
}

/// Links the lines of a draft to each other and to those before.
pub(super) fn link(
    draft: &mut Draft,
    before: Option<Before<'_>>,
    seed: u64,
) -> Result<Links, Stop> {
    let mut linker = Linker {
        first_row: before.map_or(0, |before| before.index.row_count()),
        draft,
        before,
        seed,
        links: Links::default(),
        row_models: Vec::new(),
        old_row_models: ahash::AHashMap::new(),
    };
    if let Some(before) = before {
        linker.links.irregular = before.index.is_irregular();
        linker.links.wanted = before.index.wanted()?;
    }
    if linker.draft.format != Format::PiV1 {
        linker.enter_ids()?;
    }
    linker.find_parents()?;
    linker.find_wanted()?;
    linker.place_entries()?;
    linker.count();
    linker.links.wanted.sort_unstable();
    linker.links.wanted.dedup();
    Ok(linker.links)
}

impl Linker<'_, '_> {
    fn base(&self) -> Slot {
        self.draft.base
    }

    fn slot(&self, number: usize) -> Slot {
        self.base()
            .saturating_add(u32::try_from(number).unwrap_or(NONE))
    }

    /// The number in the draft of a slot, if it is a new one.
    fn number(&self, slot: Slot) -> Option<usize> {
        usize::try_from(slot.checked_sub(self.base())?).ok()
    }

    fn class(&self, number: usize) -> Class {
        if self.draft.is_record(number) {
            Class::Record
        } else {
            Class::Entry
        }
    }

    /// Enters all ids into a table, later ones over earlier ones.
    fn enter_ids(&mut self) -> Result<(), Stop> {
        let slots = self.draft.slots();
        let hashes = std::mem::take(&mut self.draft.hashes);
        self.links.tag = hashes.iter().map(|&hash| ids::tag(hash)).collect();
        self.links.table = vec![ids::Place::EMPTY; ids::table_len(slots)];
        let mut kept = 0;
        let mut cross = CrossClass::default();
        for number in 0..slots {
            let hash = hashes.get(number).copied().unwrap_or(0);
            if let Some(before) = self.before {
                let is_old = || {
                    let id = self.draft.ids.text(number);
                    before
                        .index
                        .slot_of_hash(before.log, &id, self.class(number), hash)
                };
                let is_wanted =
                    self.class(number) == Class::Entry && before.index.is_wanted(hash)?;
                if is_wanted || (!before.own && is_old()?.is_some()) {
                    return Err(Stop::Conflict);
                }
            }
            let local = u32::try_from(number).unwrap_or(NONE);
            let earlier = self.enter(ids::tag(hash), local);
            let mut again = earlier.is_some();
            if let Some(earlier) = earlier {
                let entry = self.class(number) == Class::Entry;
                self.links.irregular |= entry;
                self.draft.set_flag(earlier, Flags::OVERRIDDEN);
            } else if self.draft.format.has_lanes() && self.before.is_none_or(|before| !before.own)
            {
                again = self.other_class_has(number, &mut cross)?;
            }
            if again {
                let id = self.draft.ids.text(number);
                let finding = Finding::kept(
                    ReportCode::DuplicateId,
                    format!("the id `{id}` was used before; the later line counts"),
                );
                self.report(number, finding, &mut kept);
            }
        }
        Ok(())
    }

    /// Where an id is in the table of new slots, or where it would go: the place there, and the slot.
    fn probe(&self, id: &[u8], class: Class, tag: u32) -> Option<(usize, Option<usize>)> {
        let len = self.links.table.len();
        let mut at = ids::home(tag, len);
        for _ in 0..len {
            let place = *self.links.table.get(at)?;
            if place.number == NONE {
                return Some((at, None));
            }
            let there = usize::try_from(place.number).ok()?;
            if place.tag == tag && self.draft.ids.get(there) == id && self.class(there) == class {
                return Some((at, Some(there)));
            }
            at = if at + 1 == len { 0 } else { at + 1 };
        }
        None
    }

    /// Puts a new slot into the table; returns the earlier slot with the same id, whose place it takes.
    fn enter(&mut self, tag: u32, local: u32) -> Option<usize> {
        let number = usize::try_from(local).ok()?;
        let id = self.draft.ids.get(number);
        let (at, earlier) = self.probe(id, self.class(number), tag)?;
        *self.links.table.get_mut(at)? = ids::Place { tag, number: local };
        self.links.is_table_mixed |= earlier.is_some();
        earlier
    }

    /// The new slot with an id.
    fn own(&self, id: &[u8], class: Class, hash: u64) -> Option<usize> {
        self.probe(id, class, ids::tag(hash))?.1
    }

    /// The slot with an id, new or old.
    fn find(&self, id: &[u8], class: Class) -> Result<Option<Slot>, Stop> {
        let hash = ids::hash(id, self.seed);
        if let Some(number) = self.own(id, class, hash) {
            return Ok(Some(self.slot(number)));
        }
        let Some(before) = self.before else {
            return Ok(None);
        };
        let text = String::from_utf8_lossy(id);
        Ok(before.index.slot_of_hash(before.log, &text, class, hash)?)
    }

    /// Whether an id that is new to its class is one of the other class, in an earlier line.
    fn other_class_has(&mut self, number: usize, cross: &mut CrossClass) -> Result<bool, Stop> {
        let class = self.class(number);
        cross.note(class);
        let other = match class {
            Class::Entry => Class::Record,
            Class::Record => Class::Entry,
        };
        let old_has_records = self
            .before
            .is_some_and(|before| before.index.summary.records > 0);
        let may_be = match other {
            Class::Record => cross.records || old_has_records,
            Class::Entry => cross.entries || self.before.is_some(),
        };
        if !may_be {
            return Ok(false);
        }
        Ok(self.find(self.draft.ids.get(number), other)?.is_some())
    }

    fn report(&mut self, number: usize, finding: Finding, kept: &mut usize) {
        if let Some(at) = self.draft.at(number) {
            self.draft.reports.add(at, finding, kept);
        }
    }

    fn is_overridden(&self, slot: Slot) -> bool {
        self.number(slot)
            .is_some_and(|number| self.draft.has_flag(number, Flags::OVERRIDDEN))
    }

    fn find_parents(&mut self) -> Result<(), Stop> {
        let slots = self.draft.slots();
        let mut parents = Vec::with_capacity(slots);
        let mut kept = 0;
        let mut last: Option<(usize, Class, Option<Slot>)> = None;
        for number in 0..slots {
            let class = self.class(number);
            let parent = match self.draft.parent.get(number).copied() {
                None | Some(ParentRef::NOBODY) => NONE,
                Some(ParentRef::BEFORE) => {
                    let before = self.slot(number).saturating_sub(1);
                    if self.is_overridden(before) {
                        let id = number
                            .checked_sub(1)
                            .map(|n| self.draft.ids.get(n))
                            .unwrap_or_default();
                        self.find(id, Class::Entry)?.unwrap_or(NONE)
                    } else {
                        before
                    }
                }
                Some(ParentRef(name)) => {
                    let name = usize::try_from(name).unwrap_or(usize::MAX);
                    let id = self.draft.names.get(name);
                    // The records of an operation follow each other and name the same start.
                    let found = match &last {
                        Some((last_name, last_class, found))
                            if *last_class == class && self.draft.names.get(*last_name) == id =>
                        {
                            *found
                        }
                        _ => self.find(id, class)?,
                    };
                    last = Some((name, class, found));
                    match found {
                        // What starts later is another operation.
                        Some(slot) if class == Class::Record && slot >= self.slot(number) => NONE,
                        Some(slot) => slot,
                        None if class == Class::Entry => {
                            let hash = ids::hash(id, self.seed);
                            let id = self.draft.names.text(name);
                            self.missing_parent(number, &id, hash, &mut kept);
                            NONE
                        }
                        None => NONE,
                    }
                }
            };
            if class == Class::Entry && parent != NONE && parent >= self.slot(number) {
                self.links.irregular = true;
            }
            parents.push(parent);
        }
        self.links.parent = parents;
        Ok(())
    }

    fn missing_parent(&mut self, number: usize, id: &str, hash: u64, kept: &mut usize) {
        self.links.wanted.push(hash);
        let overridden = self.draft.has_flag(number, Flags::OVERRIDDEN);
        self.draft.set_flag(number, Flags::MISSING_PARENT);
        if !overridden {
            let key = parent_key(self.draft.format);
            let finding = Finding::kept(
                ReportCode::MissingParent,
                format!("`{key}` is `{id}`, which no entry has as its id"),
            );
            self.report(number, finding, kept);
        }
    }

    /// Reports what names entries that are not there, and entries that stray from their lane.
    fn find_wanted(&mut self) -> Result<(), Stop> {
        let mut kept = 0;
        for wanted in std::mem::take(&mut self.draft.wanted) {
            if self.find(wanted.id.as_bytes(), Class::Entry)?.is_none() {
                self.links
                    .wanted
                    .push(ids::hash(wanted.id.as_bytes(), self.seed));
                let finding = Finding::kept(ReportCode::MissingParent, wanted.detail);
                self.draft.reports.add(wanted.at, finding, &mut kept);
            }
        }
        let mut kept = 0;
        for (number, detail) in std::mem::take(&mut self.draft.strays) {
            let missing = self.draft.has_flag(number, Flags::MISSING_PARENT);
            if !missing {
                self.report(
                    number,
                    Finding::kept(ReportCode::BadField, detail),
                    &mut kept,
                );
            }
        }
        Ok(())
    }

    /// Depths and state rows: in file order where all parents come first, else along the parents.
    fn place_entries(&mut self) -> Result<(), Stop> {
        let slots = self.draft.slots();
        self.links.depth = vec![0; slots];
        self.links.row = vec![NONE; slots];
        let first_new_is_regular = !self.links.irregular
            || self
                .links
                .parent
                .iter()
                .enumerate()
                .all(|(number, &parent)| parent == NONE || parent < self.slot(number));
        if first_new_is_regular {
            for number in 0..slots {
                if self.class(number) == Class::Entry {
                    self.place_entry(number)?;
                }
            }
            return Ok(());
        }
        let mut walk = Walk {
            state: vec![Visit::Not; slots],
        };
        for number in 0..slots {
            if self.class(number) == Class::Entry {
                self.place_along_parents(number, &mut walk)?;
            }
        }
        walk.report_cycles(self);
        Ok(())
    }

    /// Places an entry after all of its ancestors.
    fn place_along_parents(&mut self, number: usize, walk: &mut Walk) -> Result<(), Stop> {
        let mut stack = vec![number];
        let mut cyclic = false;
        while let Some(&top) = stack.last() {
            match walk.state.get(top) {
                Some(Visit::Not) => {}
                _ => break,
            }
            if let Some(state) = walk.state.get_mut(top) {
                *state = Visit::Open;
            }
            let parent = self.links.parent.get(top).copied().unwrap_or(NONE);
            match self.number(parent).filter(|_| parent != NONE) {
                None => break,
                Some(parent) => match walk.state.get(parent) {
                    Some(Visit::Not) => stack.push(parent),
                    Some(Visit::Open) => {
                        // The walk came back to an entry on it: from there on it is a cycle.
                        cyclic = true;
                        let from = stack.iter().position(|&n| n == parent).unwrap_or(0);
                        for &on_cycle in stack.iter().skip(from) {
                            if let Some(state) = walk.state.get_mut(on_cycle) {
                                *state = Visit::OnCycle;
                            }
                        }
                        break;
                    }
                    Some(Visit::OnCycle | Visit::IntoCycle) => {
                        cyclic = true;
                        break;
                    }
                    _ => break,
                },
            }
        }
        for &done in stack.iter().rev() {
            match walk.state.get_mut(done) {
                Some(state @ Visit::Open) if cyclic => *state = Visit::IntoCycle,
                Some(state @ Visit::Open) => {
                    *state = Visit::Done;
                    self.place_entry(done)?;
                    continue;
                }
                Some(Visit::OnCycle) => {}
                _ => continue,
            }
            self.draft.set_flag(done, Flags::CYCLIC);
        }
        Ok(())
    }

    /// Depth and row of an entry whose parent has both.
    fn place_entry(&mut self, number: usize) -> Result<(), Stop> {
        let parent = self.links.parent.get(number).copied().unwrap_or(NONE);
        let (depth, row) = if parent == NONE {
            (0, None)
        } else if let Some(parent) = self.number(parent) {
            (
                // A sidecar with right checksums may say anything of the entries before.
                self.links
                    .depth
                    .get(parent)
                    .map_or(1, |depth| depth.saturating_add(1)),
                self.links.row.get(parent).copied(),
            )
        } else {
            let before = self.before.ok_or(Damaged)?;
            (
                before.index.depth(parent)?.saturating_add(1),
                Some(before.index.row_number(parent)?),
            )
        };
        if row == Some(NONE) {
            // Only an old parent on a cycle can have no row here.
            self.draft.set_flag(number, Flags::CYCLIC);
            return Ok(());
        }
        let row = self.row_after(number, row)?;
        if let (Some(d), Some(r)) = (
            self.links.depth.get_mut(number),
            self.links.row.get_mut(number),
        ) {
            *d = depth;
            *r = row;
        }
        Ok(())
    }

    /// The row that holds at an entry: the parent's, or a new one if the entry changes something.
    fn row_after(&mut self, number: usize, parent: Option<u32>) -> Result<u32, Stop> {
        let sets = self.draft.sets.get(number).copied().flatten();
        let sets_model = self.draft.has_flag(number, Flags::SETS_MODEL);
        let mut model = None;
        if sets_model {
            let found = self
                .draft
                .models
                .binary_search_by_key(&number, |&(slot, _)| slot);
            model = found
                .ok()
                .and_then(|at| self.draft.models.get(at))
                .map(|&(_, model)| model);
        }
        let old_model = match parent {
            Some(parent) if sets_model => self.row_model(parent)?,
            _ => None,
        };
        let changes_model = sets_model && (model.is_none() || model != old_model);
        let (Some(parent), false) = (parent, changes_model || sets.is_some()) else {
            return self.new_row(number, parent, sets, changes_model.then_some(model));
        };
        Ok(parent)
    }

    fn new_row(
        &mut self,
        number: usize,
        parent: Option<u32>,
        sets: Option<State>,
        model: Option<Option<u32>>,
    ) -> Result<u32, Stop> {
        let slot = self.slot(number);
        let mut row = [NONE; ROW_WIDTH];
        let mut row_model = None;
        match parent {
            Some(parent) => {
                row = self.row(parent)?;
                row_model = if model.is_some() {
                    None
                } else {
                    self.known_row_model(parent)
                };
            }
            None => {
                if let Some(root) = row.get_mut(ROOT) {
                    *root = slot;
                }
            }
        }
        let mut set = |place: usize| {
            if let Some(value) = row.get_mut(place) {
                *value = slot;
            }
        };
        if let Some(state) = sets {
            set(state.place());
        }
        if let Some(model) = model {
            set(State::Model.place());
            row_model = Some(model).flatten();
        }
        let new = self
            .first_row
            .saturating_add(u32::try_from(self.links.rows.len()).unwrap_or(NONE));
        self.links.rows.push(row);
        self.row_models.push(row_model);
        Ok(new)
    }

    fn own_row(&self, row: u32) -> Option<usize> {
        usize::try_from(row.checked_sub(self.first_row)?).ok()
    }

    fn row(&self, row: u32) -> Result<[u32; ROW_WIDTH], Stop> {
        match self.own_row(row) {
            Some(own) => Ok(*self.links.rows.get(own).ok_or(Damaged)?),
            None => Ok(self.before.ok_or(Damaged)?.index.row(row)?),
        }
    }

    fn known_row_model(&self, row: u32) -> Option<u32> {
        match self.own_row(row) {
            Some(own) => self.row_models.get(own).copied().flatten(),
            None => self.old_row_models.get(&row).copied().flatten(),
        }
    }

    /// The number of the model that a row names; read from the log for an old row.
    fn row_model(&mut self, row: u32) -> Result<Option<u32>, Stop> {
        if let Some(known) = self.known_row_model(row) {
            return Ok(Some(known));
        }
        let slot = *self.row(row)?.get(State::Model.place()).ok_or(Damaged)?;
        if slot == NONE {
            return Ok(None);
        }
        let model = if let Some(number) = self.number(slot) {
            let found = self
                .draft
                .models
                .binary_search_by_key(&number, |&(slot, _)| slot);
            found
                .ok()
                .and_then(|at| self.draft.models.get(at))
                .map(|&(_, model)| model)
        } else {
            let before = self.before.ok_or(Damaged)?;
            let object = before.index.object(before.log, slot)?;
            let (provider, model) =
                crate::format::model_of(self.draft.format, &object).ok_or(Damaged)?;
            Some(
                self.draft
                    .model_names
                    .number(provider.as_deref(), model.as_deref()),
            )
        };
        match self.own_row(row) {
            Some(own) => {
                if let Some(known) = self.row_models.get_mut(own) {
                    *known = model;
                }
            }
            None => {
                self.old_row_models.insert(row, model);
            }
        }
        Ok(model)
    }

    /// Counts entries, records, messages and usage, each id once.
    fn count(&mut self) {
        let draft = &mut *self.draft;
        let summary = &mut draft.summary;
        for (&kind, &flags) in draft.kind.iter().zip(&draft.flags) {
            if Flags(flags).has(Flags::OVERRIDDEN) {
                continue;
            }
            if kind >= Kind::OtherRecord.number() {
                summary.records = summary.records.saturating_add(1);
            } else {
                summary.entries = summary.entries.saturating_add(1);
            }
            let messages = u64::from(kind == Kind::Message.number());
            summary.message_count = summary.message_count.saturating_add(messages);
        }
        for &(number, usage) in &draft.usages {
            let flags = draft.flags.get(number).copied().unwrap_or(0);
            if Flags(flags).has(Flags::OVERRIDDEN) {
                continue;
            }
            summary.cached_tokens = summary.cached_tokens.saturating_add(usage.cached);
            summary.uncached_tokens = summary.uncached_tokens.saturating_add(usage.uncached);
            summary.total_tokens = summary.total_tokens.saturating_add(usage.total);
            summary.cost_total += usage.cost;
        }
    }
}

/// Which classes of ids came so far.
#[derive(Debug, Default)]
struct CrossClass {
    entries: bool,
    records: bool,
}

impl CrossClass {
    fn note(&mut self, class: Class) {
        match class {
            Class::Entry => self.entries = true,
            Class::Record => self.records = true,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Visit {
    Not,
    Open,
    Done,
    OnCycle,
    IntoCycle,
}

struct Walk {
    state: Vec<Visit>,
}

impl Walk {
    fn report_cycles(self, linker: &mut Linker<'_, '_>) {
        let mut kept = 0;
        for (number, visit) in self.state.into_iter().enumerate() {
            let overridden = linker.draft.has_flag(number, Flags::OVERRIDDEN);
            if visit == Visit::OnCycle && !overridden {
                let id = linker.draft.ids.text(number);
                let finding = Finding::kept(
                    ReportCode::Cycle,
                    format!("following the parents of `{id}` comes back to it"),
                );
                linker.report(number, finding, &mut kept);
            }
        }
    }
}
