//! The rules of pi v4 on top of `write`: what a line names comes before it, lanes stand where their
//! next entry goes on, and numbers follow each other, kept wherever a gap can be filled.

use std::collections::BTreeMap;

use ahash::{AHashMap, AHashSet};

use super::Orphans;
use super::lines::Keeps;
use super::make::{self, InSequence};
use super::numbers::{self, MOST_GAP};
use super::report::{FixKind, Place};
use super::survey::{Class, Fate, Item, NONE, Survey};
use super::turn::{Owned, Turn};
use super::write::Writer;
use crate::error::Result;
use crate::format::{Kind, Line, lane_line, uuid_v7};
use crate::model::Format;

/// How far ahead the place is looked for where a lost lane stood.
const LOOK_AHEAD: u32 = 1000;
/// The number of the lane `main` among the lanes.
const MAIN: u32 = 0;

/// A lane: its name, and the entry that it stands on.
struct Lane {
    name: String,
    leaf: Option<(u32, String)>,
}

impl Lane {
    fn leaf(&self) -> u32 {
        self.leaf.as_ref().map_or(NONE, |(name, _)| *name)
    }
}

/// Where the copy stands.
pub(super) struct Sequence {
    /// The number of the next line.
    next: u64,
    lanes: AHashMap<u32, Lane>,
    /// Slots that are written.
    done: Vec<bool>,
    /// Slots that keep their numbers, if they can.
    keeps: Vec<bool>,
    /// Open operations by lane and id, and as the how-manieth each was started.
    open: AHashMap<(String, String), u64>,
    started: u64,
    /// Numbers that were filled in.
    filled: u64,
    renumbering: bool,
    line: Line,
}

impl Sequence {
    pub(super) fn of(survey: &Survey) -> Self {
        let main = Lane {
            name: "main".to_owned(),
            leaf: None,
        };
        Self {
            next: 1,
            lanes: AHashMap::from_iter([(MAIN, main)]),
            done: vec![false; survey.class.len()],
            keeps: numbers::kept(survey),
            open: AHashMap::new(),
            started: 0,
            filled: 0,
            renumbering: false,
            line: Line::default(),
        }
    }

    fn is_done(&self, slot: u32) -> bool {
        get(&self.done, slot)
    }

    /// Whether the numbers before one can be filled in: not too many at once, and in the whole log
    /// not more than there are lines, but for one gap. So a copy stays in proportion to its source.
    fn can_fill(&self, up_to: u64) -> bool {
        let gap = up_to.saturating_sub(self.next);
        let lines = self.next - self.filled;
        (1..=MOST_GAP).contains(&gap) && self.filled + gap <= MOST_GAP + lines
    }

    fn number(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        number
    }
}

fn get(column: &[bool], slot: u32) -> bool {
    usize::try_from(slot)
        .ok()
        .and_then(|slot| column.get(slot))
        .copied()
        .unwrap_or(false)
}

impl Writer<'_> {
    fn seq(&mut self) -> Result<&mut Sequence> {
        let changed = self.changed();
        self.sequence.as_mut().ok_or(changed)
    }

    fn is_done(&self, slot: u32) -> bool {
        self.sequence.as_ref().is_some_and(|it| it.is_done(slot))
    }

    /// Writes an object, behind all that it names.
    pub(super) fn in_sequence(
        &mut self,
        slot: u32,
        turn: &Turn<'_>,
        item: &Item<'_>,
    ) -> Result<()> {
        if self.is_done(slot) {
            return Ok(());
        }
        let mut before: Vec<u32> = self.not_yet(slot).into_iter().collect();
        while let Some(&top) = before.last() {
            if let Some(more) = self.not_yet(top) {
                before.push(more);
                continue;
            }
            before.pop();
            if self.is_done(top) {
                continue;
            }
            let owned = self.slot_again(top)?;
            self.with_item(&owned, |writer, turn, item| {
                let detail = "an earlier line names it; it comes before that one";
                writer.notes.fix(turn.at, FixKind::LineMoved, detail);
                writer.step(top, turn, item)
            })?;
        }
        self.step(slot, turn, item)
    }

    /// The entry that a slot names and that is not written yet.
    fn not_yet(&self, slot: u32) -> Option<u32> {
        let target = self.survey.entry(self.survey.refers(slot))?;
        (target != slot && !self.is_done(target)).then_some(target)
    }

    /// Reads the object of a slot out of its turn.
    fn slot_again(&self, slot: u32) -> Result<Owned> {
        let (place, number) = self.survey.place(slot).ok_or_else(|| self.changed())?;
        let keeps = Keeps::Format(self.opening.format);
        self.read_again(place, keeps, |_, object| object.number == number)
    }

    fn with_item<T>(
        &mut self,
        owned: &Owned,
        look: impl FnOnce(&mut Self, &Turn<'_>, &Item<'_>) -> Result<T>,
    ) -> Result<T> {
        let found = owned.look(|turn| {
            let item = Item::of(Format::PiV4, turn.object, false);
            item.map_or(Ok(None), |item| look(self, &turn, &item).map(Some))
        })?;
        found.flatten().ok_or_else(|| self.changed())
    }

    /// Writes an object and what it needs right before it.
    fn step(&mut self, slot: u32, turn: &Turn<'_>, item: &Item<'_>) -> Result<()> {
        let at = turn.at;
        let lane = self.survey.lane(slot);
        let mut edit = self.edit_of(turn, item);
        let mut parent = (
            self.survey.refers(slot),
            item.refers.as_deref().map(str::to_owned),
        );
        if self.survey.fate(slot) == Fate::Uproot {
            let last = match self.orphans {
                Orphans::Relink => self.last.clone(),
                Orphans::Cut => None,
            };
            let id = last.as_ref().map(|(_, id)| id.clone());
            self.parent_replaced(at, id.as_deref(), "its parents led back to it");
            edit.parent = Some(id.clone());
            parent = (last.map_or(NONE, |(name, _)| name), id);
        }
        if let Some(id) = &parent.1
            && self.place(parent.0)
        {
            let lane = (item.class == Class::Entry).then_some(lane);
            let wanted = self.survey.seq(slot);
            let sequence = self.seq()?;
            let is_alone = get(&sequence.keeps, slot) && wanted == sequence.next + 1;
            self.lost(at, parent.0, id, lane.unwrap_or(NONE), is_alone)?;
        }
        match item.class {
            Class::Entry if lane != NONE => {
                let name = item.lane.as_deref().unwrap_or_default();
                let (id, text) = parent.clone();
                let leaf = text.filter(|_| id != NONE).map(|text| (id, text));
                self.put_lane(at, lane, name, leaf)?;
            }
            Class::Record if lane == NONE => {
                // It is of no lane and so does nothing: that stays so.
                edit.is_inert = true;
                edit.lane = Some("main");
                let detail = "the record named no lane; it was kept where it does nothing";
                self.notes.fix(at, FixKind::FieldMended, detail);
            }
            Class::Record if !self.seq()?.lanes.contains_key(&lane) => {
                let name = item.lane.as_deref().unwrap_or_default();
                let leaf = self.guess(slot, lane)?;
                self.put_lane(at, lane, name, leaf)?;
            }
            _ => {}
        }
        let wanted = self.survey.seq(slot);
        let sequence = self.seq()?;
        if get(&sequence.keeps, slot) && sequence.can_fill(wanted) {
            self.fill(slot, wanted, at)?;
        }
        let sequence = self.seq()?;
        let number = sequence.number();
        let is_same = number == wanted;
        let starts = !is_same && !sequence.renumbering;
        sequence.renumbering = !is_same;
        if let Some(done) = usize::try_from(slot)
            .ok()
            .and_then(|slot| sequence.done.get_mut(slot))
        {
            *done = true;
        }
        if starts {
            let found = match wanted {
                0 => "none".to_owned(),
                wanted => wanted.to_string(),
            };
            let detail = format!(
                "expected the number {number}, found {found}; from here on lines are counted anew"
            );
            self.notes.fix(at, FixKind::Renumbered, detail);
        }
        self.mended(turn);
        self.write_edited(turn, item, &edit, (!is_same).then_some(number))?;
        self.after(slot, item, parent, edit.is_inert)
    }

    /// What the copy knows after a line.
    fn after(
        &mut self,
        slot: u32,
        item: &Item<'_>,
        refers: (u32, Option<String>),
        is_inert: bool,
    ) -> Result<()> {
        let lane = self.survey.lane(slot);
        match item.class {
            Class::Entry => {
                let id = item.id.as_deref().unwrap_or_default().to_owned();
                let name = self.survey.id(slot);
                if let Some(lane) = self.seq()?.lanes.get_mut(&lane) {
                    lane.leaf = Some((name, id.clone()));
                }
                self.note_entry(name, &id);
                self.note_time(item);
            }
            Class::Record => {
                self.note_time(item);
                if lane != NONE && !is_inert {
                    self.operate(item)?;
                }
            }
            Class::Lane => {
                let leaf = match refers {
                    (name, Some(id)) if name != NONE => Some((name, id)),
                    _ => None,
                };
                let name = item.lane.as_deref().unwrap_or_default().to_owned();
                self.seq()?.lanes.insert(lane, Lane { name, leaf });
            }
            Class::Label | Class::Other => {}
        }
        Ok(())
    }

    fn operate(&mut self, item: &Item<'_>) -> Result<()> {
        let lane = item.lane.as_deref().unwrap_or_default().to_owned();
        let id = item.id.as_deref().unwrap_or_default().to_owned();
        let sequence = self.seq()?;
        match (item.kind, item.run.as_deref()) {
            (Kind::OperationStarted, _) => {
                sequence.started += 1;
                let started = sequence.started;
                sequence.open.entry((lane, id)).or_insert(started);
            }
            (Kind::OperationFinished, Some(run)) => {
                sequence.open.remove(&(lane, run.to_owned()));
            }
            _ => {}
        }
        Ok(())
    }

    /// Puts a lane on an entry, unless it stands there.
    fn put_lane(
        &mut self,
        at: Place,
        lane: u32,
        name: &str,
        leaf: Option<(u32, String)>,
    ) -> Result<()> {
        let sequence = self.seq()?;
        let wanted = leaf.as_ref().map_or(NONE, |(name, _)| *name);
        let known = sequence.lanes.get(&lane).map(Lane::leaf);
        if known == Some(wanted) {
            return Ok(());
        }
        let number = sequence.number();
        let id = leaf.as_ref().map(|(_, id)| id.as_str());
        lane_line(&mut sequence.line, number, name, id);
        let line = sequence.line.bytes().to_vec();
        let detail = match known {
            None => format!("the lane `{name}` was never made; it was made here"),
            Some(_) => format!(
                "the lane `{name}` did not stand on `{}`, where its next entry goes on; it was put there",
                id.unwrap_or("nothing")
            ),
        };
        let name = name.to_owned();
        sequence.lanes.insert(lane, Lane { name, leaf });
        self.notes.fix(at, FixKind::LaneSet, detail);
        self.add_whole_line(&line)
    }

    /// The stand-in of a missing entry that a line names; `lane` is the one which goes on from it. If
    /// its line `is_alone` missing, it was the one that moved the lane there, and so went on from where
    /// the lane stood.
    fn lost(&mut self, at: Place, name: u32, id: &str, lane: u32, is_alone: bool) -> Result<()> {
        let orphans = self.orphans;
        let last = self.last.clone();
        let sequence = self.seq()?;
        let leaf = sequence.lanes.get(&lane).map(|lane| lane.leaf.clone());
        let is_known = is_alone && leaf.is_some();
        let parent = match (orphans, &leaf) {
            (Orphans::Cut, Some(leaf)) if is_known => leaf.clone(),
            (Orphans::Cut, _) => None,
            (Orphans::Relink, Some(leaf)) => leaf.clone(),
            (Orphans::Relink, None) => last,
        };
        // On the lane, where it follows the leaf: so no line is needed that moves the lane.
        let is_on_lane = leaf.is_some_and(|leaf| {
            leaf.map(|(name, _)| name) == parent.as_ref().map(|(name, _)| *name)
        });
        let number = sequence.number();
        let on = sequence.lanes.get_mut(&lane).filter(|_| is_on_lane);
        let on = on.map(|lane| {
            lane.leaf = Some((name, id.to_owned()));
            lane.name.clone()
        });
        let place = InSequence {
            seq: number,
            lane: on.as_deref(),
        };
        let parent = parent.map(|(_, id)| id);
        let line = make::stand_in(Format::PiV4, id, parent.as_deref(), self.time, Some(place));
        self.add_line(line.as_bytes())?;
        if is_known {
            let detail = format!(
                "`{id}` is named and missing; an empty entry stands in for it, where its number and its lane say"
            );
            self.notes.fix(at, FixKind::StandInPlaced, detail);
        } else {
            self.stand_in_noted(at, id, parent.as_deref());
        }
        self.note_entry(name, id);
        Ok(())
    }

    /// Where a lane stood whose making is lost: at the parent of its next entry, if that is there.
    fn guess(&self, slot: u32, lane: u32) -> Result<Option<(u32, String)>> {
        let end = slot.saturating_add(LOOK_AHEAD).min(self.survey.len());
        for next in slot.saturating_add(1)..end {
            if self.survey.lane(next) != lane || !self.survey.fate(next).is_kept() {
                continue;
            }
            match self.survey.class(next) {
                Class::Entry => {
                    let name = self.survey.refers(next);
                    let is_there = match self.survey.entry(name) {
                        Some(parent) => self.is_done(parent),
                        None => self.is_placed(name),
                    };
                    if !is_there {
                        return Ok(None);
                    }
                    let owned = self.slot_again(next)?;
                    let id = owned.look(|turn| {
                        let item = Item::of(Format::PiV4, turn.object, false).ok();
                        let refers = item.and_then(|item| item.refers);
                        Ok(refers.map(std::borrow::Cow::into_owned))
                    })?;
                    return Ok(id.flatten().map(|id| (name, id)));
                }
                Class::Lane => return Ok(None),
                _ => {}
            }
        }
        Ok(None)
    }

    /// Fills a gap before a slot: first with what later lines need, as long as they come before the
    /// next gap, then with lines that change nothing.
    fn fill(&mut self, slot: u32, up_to: u64, at: Place) -> Result<()> {
        let first = self.seq()?.next;
        let is_alone = up_to - first == 1;
        // Lanes that lines before the one which needs something move.
        let mut moved = AHashSet::new();
        let mut number = up_to;
        let mut next = slot;
        while self.seq()?.next < up_to {
            if next != slot && self.survey.fate(next).is_kept() && !self.is_done(next) {
                number += 1;
                if get(&self.seq()?.keeps, next) && self.survey.seq(next) > number {
                    break;
                }
                self.ahead(next, &moved, is_alone)?;
            }
            if matches!(self.survey.class(next), Class::Entry | Class::Lane) {
                moved.insert(self.survey.lane(next));
            }
            next += 1;
            if next >= self.survey.len() {
                break;
            }
        }
        let sequence = self.seq()?;
        let rest = sequence.next;
        sequence.filled += up_to - rest;
        for number in rest..up_to {
            let sequence = self.seq()?;
            sequence.next = number + 1;
            let Some(main) = sequence.lanes.get(&MAIN) else {
                break;
            };
            let leaf = main.leaf.as_ref().map(|(_, id)| id.as_str());
            lane_line(&mut sequence.line, number, "main", leaf);
            let line = sequence.line.bytes().to_vec();
            self.add_whole_line(&line)?;
        }
        let last = up_to - 1;
        let detail = format!("the numbers {first} to {last} were missing");
        self.notes.fix(at, FixKind::GapFilled, detail);
        Ok(())
    }

    /// What a later line needs that can be written now.
    fn ahead(&mut self, slot: u32, moved: &AHashSet<u32>, is_alone: bool) -> Result<()> {
        let (name, lane) = (self.survey.refers(slot), self.survey.lane(slot));
        let class = self.survey.class(slot);
        let is_lost = self.survey.is_missing(name) && !self.is_placed(name);
        let makes_lane = matches!(class, Class::Record | Class::Entry)
            && lane != NONE
            && !moved.contains(&lane)
            && !self.seq()?.lanes.contains_key(&lane);
        if !is_lost && !makes_lane {
            return Ok(());
        }
        let owned = self.slot_again(slot)?;
        self.with_item(&owned, |writer, turn, item| {
            if is_lost
                && let Some(id) = &item.refers
                && writer.place(name)
            {
                let is_free = class == Class::Entry && !moved.contains(&lane);
                let lane = if is_free { lane } else { NONE };
                return writer.lost(turn.at, name, id, lane, is_alone);
            }
            let Some(lane_name) = item.lane.as_deref().filter(|_| makes_lane) else {
                return Ok(());
            };
            let leaf = match class {
                Class::Record => writer.guess(slot, lane)?,
                _ => {
                    let is_there = writer
                        .survey
                        .entry(name)
                        .is_some_and(|parent| writer.is_done(parent));
                    match item.refers.as_deref() {
                        Some(id) if is_there => Some((name, id.to_owned())),
                        // It would have to be moved again.
                        Some(_) => return Ok(()),
                        None => None,
                    }
                }
            };
            writer.put_lane(turn.at, lane, lane_name, leaf)
        })
    }

    /// Finishes operations of which a later one of the same lane is open too.
    pub(super) fn finish_operations(&mut self, at: Place) -> Result<()> {
        let Some(sequence) = &mut self.sequence else {
            return Ok(());
        };
        let mut lanes: BTreeMap<String, Vec<(u64, String)>> = BTreeMap::new();
        for ((lane, id), started) in std::mem::take(&mut sequence.open) {
            lanes.entry(lane).or_default().push((started, id));
        }
        for (lane, mut open) in lanes {
            open.sort_unstable();
            open.pop();
            for (_, run) in open {
                let number = self.seq()?.number();
                let line = make::finish(&uuid_v7(), &lane, &run, number, self.time);
                self.add_line(line.as_bytes())?;
                let detail = format!(
                    "the operation `{run}` of lane `{lane}` was open beside a later one; it is finished"
                );
                self.notes.fix(at, FixKind::OperationFinished, detail);
            }
        }
        Ok(())
    }
}
