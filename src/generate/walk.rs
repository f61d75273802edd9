//! The course of a session: turns, answers and results, when it compacts, where it goes back to.
//! For the generator only. Keeps a fixed number of places to go back to, so that memory stays the same
//! however long the session is.

use std::io;

use super::Shape;
use super::line::{Operation, Part, Place};
use super::message::{Call, MODELS, Usage};
use super::pen::Pen;
use super::random::{Random, to_u64, to_usize};
use crate::Format;

/// How many of the latest places to go back to are kept, and how many from all of the session.
const RECENT: usize = 16;
const OLD: usize = 48;

/// Side lanes take turns, so that a session has a handful however often it branches.
const SIDE_LANES: u64 = 4;

/// How many beginnings of steps are kept for a compaction to choose from.
const STARTS: usize = 4;

/// Where the conversation stands: an entry, and what a continuation from there must know.
#[derive(Clone, Copy, Debug, Default)]
struct Point {
    /// The entry's number, from 1; 0 before the first.
    number: u32,
    /// Entries on the path since the newest compaction.
    since: u64,
    /// The latest entries since then that begin a step, newest first; 0 = none.
    starts: [u32; STARTS],
    /// The model in use.
    model: u8,
}

pub(super) struct Walk<'w, W> {
    pen: Pen<'w, W>,
    entries: u64,
    branches: u64,
    compact_every: u64,
    written: u64,
    branched: u64,
    turns: u64,
    named: bool,
    labelled: Option<u32>,
    at: Point,
    /// Where the conversation stood before, with no call open.
    before: Point,
    places: Places,
}

/// A user's message and the steps that follow it, on `main`.
struct Turn {
    steps: u64,
    operation: Option<Operation>,
    usage: Usage,
}

impl<'w, W: io::Write> Walk<'w, W> {
    pub(super) fn new(shape: &Shape, out: &'w mut W) -> Self {
        let compact_every = match shape.compact_every {
            0 => 0,
            // Every entry a compaction would be no session.
            every => every.max(2),
        };
        let branches = match shape.format {
            Format::PiV1 => 0,
            _ => shape.branches.min(shape.entries / 4),
        };
        Self {
            pen: Pen::new(shape, out),
            entries: shape.entries,
            branches,
            compact_every,
            written: 0,
            branched: 0,
            turns: 0,
            named: false,
            labelled: None,
            at: Point {
                // The first compaction comes after half the distance: a round number of entries
                // then ends between two compactions and not at one.
                since: (compact_every / 2).min(compact_every.saturating_sub(2)),
                ..Point::default()
            },
            before: Point::default(),
            places: Places::default(),
        }
    }

    /// Writes the session. Gives the pen, and the number of the last entry on `main`.
    pub(super) fn run(mut self, seed: u64) -> io::Result<(Pen<'w, W>, u32)> {
        self.pen.header(seed)?;
        self.settings()?;
        let mut turn = None;
        while self.written < self.entries {
            if self.written + 1 == self.next_branch() {
                self.end_turn(turn.take(), "aborted")?;
                self.branch()?;
            } else if self.compact_every > 0 && self.at.since + 1 >= self.compact_every {
                self.compact(turn.is_some())?;
            } else if let Some(mut running) = turn.take() {
                if self.step(&mut running)? {
                    self.end_turn(Some(running), "completed")?;
                } else {
                    turn = Some(running);
                }
            } else {
                turn = self.begin_turn()?;
            }
        }
        self.end_turn(turn, "completed")?;
        Ok((self.pen, self.at.number))
    }

    /// The number of the entry that the next branch begins with; past the end if there is none.
    fn next_branch(&self) -> u64 {
        if self.branched >= self.branches {
            return self.entries + 1;
        }
        // Both factors fit 32 bits.
        1 + (self.branched + 1) * self.entries / (self.branches + 1)
    }

    /// How many entries fit before the next branch or the end.
    fn room_in_file(&self) -> u64 {
        (self.next_branch() - 1).saturating_sub(self.written)
    }

    /// How many entries fit on `main` before the next branch, the next compaction or the end.
    fn room(&self) -> u64 {
        let room = self.room_in_file();
        if self.compact_every == 0 {
            return room;
        }
        room.min((self.compact_every - 1).saturating_sub(self.at.since))
    }

    fn next_number(&mut self) -> u32 {
        self.written += 1;
        u32::try_from(self.written).unwrap_or(u32::MAX)
    }

    fn leaf(&self) -> Option<u32> {
        Some(self.at.number).filter(|&number| number > 0)
    }

    /// Writes an entry at the end of `main`.
    fn add(&mut self, part: Part<'_>) -> io::Result<Usage> {
        let place = Place {
            number: self.next_number(),
            parent: self.leaf(),
            lane: 0,
        };
        let usage = self.pen.entry(place, part)?;
        self.at.number = place.number;
        self.at.since += 1;
        Ok(usage)
    }

    /// The same, of an entry after which no call is open.
    fn add_whole(&mut self, part: Part<'_>) -> io::Result<()> {
        self.before = self.at;
        self.add(part)?;
        Ok(())
    }

    /// Remembers the entry just written as the first of a step.
    fn began_step(&mut self) {
        let [a, b, c, _] = self.at.starts;
        self.at.starts = [self.at.number, a, b, c];
    }

    /// What a harness writes before the first message. Very short sessions go without.
    fn settings(&mut self) -> io::Result<()> {
        if self.entries < 8 || self.room() < 4 || self.pen.format == Format::PiV1 {
            return Ok(());
        }
        self.add_whole(Part::Model(0))?;
        self.add_whole(Part::Effort)?;
        if self.pen.format == Format::PiV4 {
            self.add_whole(Part::Tools)?;
        }
        Ok(())
    }

    /// Writes what seldom comes between turns, else a user's message. Gives the turn if one began.
    fn begin_turn(&mut self) -> io::Result<Option<Turn>> {
        if self.turns > 0 && self.room() > 1 {
            if !self.named {
                self.named = true;
                self.name()?;
                return Ok(None);
            }
            if self.pen.random.one_in(24) {
                self.change()?;
                return Ok(None);
            }
        }
        self.turns += 1;
        let operation = match self.pen.format {
            Format::PiV4 => Some(self.pen.start("run", 0, self.leaf())?),
            _ => None,
        };
        self.add_whole(Part::User)?;
        self.began_step();
        Ok(Some(Turn {
            steps: self.pen.random.between(1, 6),
            operation,
            usage: Usage::default(),
        }))
    }

    fn name(&mut self) -> io::Result<()> {
        match self.pen.format {
            Format::PiV1 => Ok(()),
            Format::PiV4 => self.pen.name_fact(),
            _ => self.add_whole(Part::Name),
        }
    }

    /// Writes a state entry or another one of the rare kinds.
    fn change(&mut self) -> io::Result<()> {
        let part = match (self.pen.format, self.pen.random.below(5)) {
            (_, 0) => {
                let model = self.pen.random.place(MODELS.len());
                self.at.model = u8::try_from(model).unwrap_or(0);
                Part::Model(self.at.model)
            }
            (_, 1) | (Format::PiV1, _) => Part::Effort,
            (Format::CodebotV3, 2 | 3) => Part::Plan,
            (Format::CodebotV3, _) => Part::Goal,
            (Format::PiV4, 2) => Part::Tools,
            (_, 2) => Part::CustomMessage,
            (_, 3) => Part::Custom,
            _ => return self.label(),
        };
        self.add_whole(part)
    }

    /// Labels the leaf, or takes the last label away.
    fn label(&mut self) -> io::Result<()> {
        let old = self.labelled.take();
        let (target, clear) = match old {
            Some(old) if self.pen.random.one_in(4) => (old, true),
            _ => (self.at.number, false),
        };
        if !clear {
            self.labelled = Some(target);
        }
        match self.pen.format {
            Format::PiV4 => self.pen.label_fact(target, clear),
            _ => self.add_whole(Part::Label { target, clear }),
        }
    }

    /// An assistant's message and the results of its calls. True if it was the turn's last.
    fn step(&mut self, turn: &mut Turn) -> io::Result<bool> {
        let room = self.room();
        turn.steps = turn.steps.saturating_sub(1);
        let wanted = match turn.steps {
            0 => 0,
            // Mostly one call, seldom four.
            _ => 1 + self.pen.random.below(4) * self.pen.random.below(2),
        };
        let count = to_usize(wanted.min(room.saturating_sub(1)));
        let calls: [Call; 4] = std::array::from_fn(|_| Call::new(&mut self.pen));
        let calls = calls.get(..count).unwrap_or_default();
        let model = self.at.model;
        let before = self.at;
        let usage = self.add(Part::Assistant { model, calls })?;
        self.began_step();
        turn.usage.add(usage);
        if self.pen.format == Format::CodebotV3 && room > to_u64(count) + 1 {
            self.add(Part::LlmCall { model, usage })?;
        }
        for &call in calls {
            self.add(Part::Result(call))?;
        }
        self.before = before;
        Ok(calls.is_empty())
    }

    fn end_turn(&mut self, turn: Option<Turn>, outcome: &str) -> io::Result<()> {
        let Some(turn) = turn else {
            return Ok(());
        };
        if let Some(operation) = turn.operation {
            self.pen.usage_record(0, turn.usage)?;
            self.pen.end(operation, outcome)?;
        }
        if self.branches > 0 {
            self.places.remember(self.at, &mut self.pen.random);
        }
        Ok(())
    }

    /// Drops what came before, all but the latest steps.
    fn compact(&mut self, in_turn: bool) -> io::Result<()> {
        let operation = match self.pen.format {
            Format::PiV4 if !in_turn => Some(self.pen.start("compaction", 0, self.leaf())?),
            _ => None,
        };
        let known = self.at.starts.iter().filter(|&&start| start > 0).count();
        let choice = self.pen.random.place(known);
        let kept = match self.at.starts.get(choice) {
            Some(&start) if start > 0 => start,
            // Its own id: nothing is kept.
            _ => u32::try_from(self.written + 1).unwrap_or(u32::MAX),
        };
        self.add_whole(Part::Compaction {
            model: self.at.model,
            kept,
            tokens: 1000 + 300 * self.at.since,
        })?;
        self.at.since = 0;
        self.at.starts = [0; STARTS];
        match operation {
            Some(operation) => self.pen.end(operation, "completed"),
            None => Ok(()),
        }
    }

    /// Goes back to an earlier entry.
    fn branch(&mut self) -> io::Result<()> {
        let side = self.pen.format == Format::PiV4 && self.branched.is_multiple_of(3);
        self.branched += 1;
        if side {
            self.side_talk()?;
        }
        let from = self.at;
        self.at = match self.places.pick(&mut self.pen.random) {
            Some(point) if point.number != from.number => point,
            _ => self.before,
        };
        self.before = from;
        if self.pen.format == Format::PiV4 {
            let operation = self.pen.start("navigation", 0, Some(from.number))?;
            self.pen.lane(0, self.at.number)?;
            self.pen.end(operation, "completed")?;
        }
        if self.room() > 1 && self.pen.format != Format::CodebotV3 && self.pen.random.one_in(3) {
            self.add_whole(Part::BranchSummary { from: from.number })?;
        }
        Ok(())
    }

    /// A question or two on a lane of their own, from where `main` stands.
    fn side_talk(&mut self) -> io::Result<()> {
        let wanted = 2 * self.pen.random.between(1, 2);
        // `main` must get somewhere before the next branch.
        if self.room_in_file() < wanted + 2 {
            return Ok(());
        }
        let lane = 1 + u8::try_from(self.branched / 3 % SIDE_LANES).unwrap_or(0);
        let mut parent = self.at.number;
        self.pen.lane(lane, parent)?;
        let operation = self.pen.start("run", lane, Some(parent))?;
        let model = self.at.model;
        let mut usage = Usage::default();
        for at in 0..wanted {
            let place = Place {
                number: self.next_number(),
                parent: Some(parent),
                lane,
            };
            let part = match at % 2 {
                0 => Part::User,
                _ => Part::Assistant { model, calls: &[] },
            };
            usage.add(self.pen.entry(place, part)?);
            parent = place.number;
        }
        self.pen.usage_record(lane, usage)?;
        self.pen.end(operation, "completed")
    }
}

/// Places to go back to: the latest ones, and a sample of all that came before.
#[derive(Clone, Debug, Default)]
struct Places {
    recent: Vec<Point>,
    old: Vec<Point>,
    seen: u64,
}

impl Places {
    fn remember(&mut self, point: Point, random: &mut Random) {
        let at = to_usize(self.seen % to_u64(RECENT));
        self.seen += 1;
        let Some(oldest) = self.recent.get_mut(at) else {
            self.recent.push(point);
            return;
        };
        let passed = std::mem::replace(oldest, point);
        // Every place of the past has the same chance to be among the old ones.
        if self.old.len() < OLD {
            self.old.push(passed);
        } else if let Some(place) = self.old.get_mut(to_usize(random.below(self.seen))) {
            *place = passed;
        }
    }

    /// Mostly a recent one: who goes back far gives up most of the path.
    fn pick(&self, random: &mut Random) -> Option<Point> {
        let list = if random.one_in(32) {
            &self.old
        } else {
            &self.recent
        };
        list.get(random.place(list.len())).copied()
    }
}
