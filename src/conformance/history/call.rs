//! The calls of a history: drawn as a number, made into something concrete when their turn comes,
//! from what the session then has. At most one thing is wrong with a call: which of two errors
//! comes first is nobody's promise.

use super::damage::Damage;
use super::dice::Dice;
use crate::conformance::Capabilities;
use crate::conformance::cases::{operation, used};
use crate::conformance::dialect::Dialect;
use crate::contract::{
    BranchBounds, EntryQuery, ForkScope, NewEntry, NewRecord, Order, Position, RecordQuery, pi,
};

/// A call that is still to be made concrete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// One of [`KINDS`]; none: the seed's.
    kind: Option<usize>,
    seed: u64,
}

/// How many kinds of calls there are, the common ones counted often. Those from [`DAMAGE`] on are
/// made by no seed.
const KINDS: usize = 104;
const DAMAGE: usize = 100;

/// What a call can refer to.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) sessions: usize,
    /// Whether another repository would find the session.
    pub(super) saved: bool,
    /// Whether it is a file that can be damaged.
    pub(super) files: bool,
    /// Whether some entry has or had a label.
    pub(super) labelled: bool,
    pub(super) lanes: Vec<String>,
    /// Without codebot's header.
    pub(super) entries: Vec<String>,
    pub(super) records: Vec<String>,
    /// The last number.
    pub(super) seq: u64,
}

/// A concrete call.
#[derive(Clone, Debug)]
pub(super) enum Action {
    Append(NewEntry, String),
    Record(NewRecord),
    CreateLane(String, Option<String>),
    MoveLane(String, Option<String>),
    SetName(Option<String>),
    SetLabel(String, Option<String>),
    Entry(String),
    Label(String),
    Find(EntryQuery),
    FindOnBranch(EntryQuery, BranchBounds),
    FindRecords(RecordQuery),
    FindOpen(String, Option<usize>),
    Log(Option<u64>, Option<usize>),
    SnapshotLane(String),
    SnapshotLeaf(String),
    /// Compares all that can be seen.
    Look,
    /// The same through a reader.
    LookBeside,
    Fork(ForkScope),
    /// Goes on with another session.
    Switch(usize),
    Reopen,
    /// Closes the session, has something happen to its files, and opens it again.
    Damage(Damage),
    Delete,
}

impl Call {
    pub(super) fn draw(dice: &mut Dice) -> Self {
        Self {
            kind: None,
            seed: dice.roll(),
        }
    }

    /// The call that some bytes stand for.
    pub(super) fn read(bytes: &[u8]) -> Self {
        let (kind, rest) = bytes.split_first().unwrap_or((&0, &[]));
        let seed = rest
            .iter()
            .fold(0, |seed, &byte| seed << 8 | u64::from(byte));
        Self {
            kind: Some(usize::from(*kind) % KINDS),
            seed,
        }
    }

    /// What the call is, for a session that is so.
    pub(super) fn action(self, can: &Capabilities, known: &Known) -> Action {
        let mut dice = Dice::new(self.seed);
        let kind = self.kind.unwrap_or_else(|| dice.below(DAMAGE));
        let mut draw = Draw { dice, can, known };
        match kind {
            0..28 => draw.append(),
            28..42 => draw.record(),
            42..47 => draw.create_lane(),
            47..53 => {
                let wrong = draw.dice.below(8);
                let lane = if wrong == 0 {
                    "nowhere".to_owned()
                } else {
                    draw.lane()
                };
                let to = if wrong == 1 {
                    draw.no_entry()
                } else {
                    draw.entry()
                };
                // What codebot's conversation stands on without an entry is its header.
                let none = draw.dice.once_in(4) && wrong > 1 && can.any_id;
                Action::MoveLane(
                    lane,
                    Some(to).filter(|_| !none && !known.entries.is_empty()),
                )
            }
            53..56 => Action::SetName(draw.text()),
            56..60 => {
                let wrong = draw.dice.once_in(6) && can.labels;
                let target = if wrong { draw.no_entry() } else { draw.entry() };
                Action::SetLabel(target, draw.text())
            }
            60..63 => Action::Entry(draw.anything()),
            63..65 => Action::Label(draw.anything()),
            65..70 => Action::Find(draw.query()),
            70..76 => {
                let bounds = BranchBounds {
                    start: draw.anything(),
                    stop_at_kind: draw.kind().filter(|_| draw.dice.once_in(3)),
                    stop_at_id: Some(draw.anything()).filter(|_| draw.dice.once_in(3)),
                };
                Action::FindOnBranch(draw.query(), bounds)
            }
            76..80 => Action::FindRecords(draw.record_query()),
            80..82 => {
                let lane = draw.lane();
                Action::FindOpen(lane, draw.limit())
            }
            82..84 => Action::Log(draw.cursor(), draw.limit()),
            84..86 if can.lanes => {
                let known = !draw.dice.once_in(6);
                let lane = if known {
                    draw.lane()
                } else {
                    "nowhere".to_owned()
                };
                Action::SnapshotLane(lane)
            }
            84..88 => Action::SnapshotLeaf(draw.anything()),
            88..91 if known.saved => draw.fork(),
            91..93 => Action::Switch(draw.dice.below(known.sessions)),
            93..95 if known.saved && can.persistent => Action::Reopen,
            95..96 if known.sessions > 1 => Action::Delete,
            96..98 if known.saved => Action::LookBeside,
            DAMAGE.. if known.files => Action::Damage(match kind - DAMAGE {
                0 | 1 => Damage::TornTail(draw.dice.roll()),
                2 => Damage::NoSidecar,
                _ => Damage::GarbledSidecar(draw.dice.roll()),
            }),
            _ => Action::Look,
        }
    }
}

struct Draw<'d> {
    dice: Dice,
    can: &'d Capabilities,
    known: &'d Known,
}

impl Draw<'_> {
    fn lane(&mut self) -> String {
        let lane = self.dice.pick(&self.known.lanes);
        lane.map_or_else(|| "main".to_owned(), String::clone)
    }

    fn entry(&mut self) -> String {
        // The latest are asked for most, as in life.
        let entries = &self.known.entries;
        let from = if self.dice.once_in(2) {
            entries.len().saturating_sub(4)
        } else {
            0
        };
        let entry = self.dice.pick(entries.get(from..).unwrap_or_default());
        entry.map_or_else(|| "missing".to_owned(), String::clone)
    }

    fn no_entry(&mut self) -> String {
        let record = self.dice.pick(&self.known.records).cloned();
        record
            .filter(|_| self.dice.once_in(2))
            .unwrap_or_else(|| "missing".to_owned())
    }

    fn anything(&mut self) -> String {
        if self.dice.once_in(8) {
            self.no_entry()
        } else {
            self.entry()
        }
    }

    fn text(&mut self) -> Option<String> {
        let texts = ["one", "two \"quoted\"", "drei ✓", "a\\b", " spaced "];
        let text = self.dice.pick(&texts).map(|text| (*text).to_owned());
        text.filter(|_| !self.dice.once_in(4))
    }

    fn limit(&mut self) -> Option<usize> {
        match self.dice.below(12) {
            0 => Some(0),
            1 => Some(usize::MAX),
            n @ 2..6 => Some(n - 1),
            _ => None,
        }
    }

    fn cursor(&mut self) -> Option<u64> {
        let seq = self.known.seq;
        match self.dice.below(8) {
            0 => Some(0),
            1 => Some(u64::MAX),
            2 => Some(seq),
            3 => Some(seq + 1),
            4 | 5 => Some(self.dice.roll() % (seq + 1)),
            _ => None,
        }
    }

    fn order(&mut self) -> Order {
        if self.dice.once_in(2) {
            Order::OldestFirst
        } else {
            Order::NewestFirst
        }
    }

    fn kind(&mut self) -> Option<String> {
        let note = Dialect(self.can.format).note_kind();
        let kinds = [
            "message",
            "compaction",
            "model_change",
            note,
            "session_info",
            "no_such_kind",
        ];
        self.dice.pick(&kinds).map(|kind| (*kind).to_owned())
    }

    fn query(&mut self) -> EntryQuery {
        let types = ["note", "other"];
        let custom = self.dice.pick(&types).map(|custom| (*custom).to_owned());
        EntryQuery {
            kind: self.kind().filter(|_| self.dice.once_in(2)),
            custom_type: custom.filter(|_| self.dice.once_in(5)),
            order: self.order(),
            limit: self.limit(),
            after_seq: self.cursor(),
        }
    }

    fn record_query(&mut self) -> RecordQuery {
        let kinds = [
            "operation_started",
            "operation_finished",
            "usage",
            "step_attempt",
        ];
        let kind = self.dice.pick(&kinds).map(|kind| (*kind).to_owned());
        let operations = ["run", "compaction", "navigation"];
        let operation = self.dice.pick(&operations).map(|kind| (*kind).to_owned());
        let run = self.dice.pick(&self.known.records).cloned();
        let lane = self.lane();
        RecordQuery {
            lane: Some(lane).filter(|_| self.dice.once_in(3)),
            kind: kind.filter(|_| self.dice.once_in(2)),
            run_id: run.filter(|_| self.dice.once_in(3)),
            operation_kind: operation.filter(|_| self.dice.once_in(4)),
            after_seq: self.cursor(),
            order: self.order(),
            limit: self.limit(),
        }
    }

    fn append(&mut self) -> Action {
        let say = Dialect(self.can.format);
        let n = self.dice.below(1000);
        let wrong = self.dice.below(16);
        let new = match self.dice.below(10) {
            0..3 => say.user(&format!("user {n}")),
            3..6 => say.assistant(&format!("assistant {n}")),
            6 => say.model("openai", &format!("model-{n}")),
            7 => say.compaction(&format!("summary {n}")),
            8 => say.effort("high"),
            _ => say.note(&format!("{{\"n\":{n}.50}}")),
        };
        let bad = say.bad();
        let new = match self.dice.pick(&bad) {
            Some((_, bad)) if wrong == 0 => bad.clone(),
            _ => new,
        };
        let taken = self.dice.pick(&self.known.entries).cloned();
        let new = match taken {
            Some(id) if wrong == 1 => new.with_id(id),
            _ if wrong == 2 && self.can.any_id => new.with_id(format!("own-{}", self.dice.roll())),
            _ => new,
        };
        let lane = if wrong == 3 {
            "nowhere".to_owned()
        } else {
            self.lane()
        };
        Action::Append(new, lane)
    }

    fn record(&mut self) -> Action {
        let wrong = self.dice.below(12);
        let lane = if wrong == 0 {
            "nowhere".to_owned()
        } else {
            self.lane()
        };
        let id = format!("record-{:x}", self.dice.roll());
        if !self.can.records {
            return Action::Record(operation("main", &id, "run"));
        }
        let run = self.dice.pick(&self.known.records).cloned();
        let run = run.unwrap_or_else(|| "run".to_owned());
        let kinds = ["run", "compaction", "navigation"];
        let kind = self.dice.pick(&kinds).copied().unwrap_or("run");
        let taken = if self.dice.once_in(2) {
            &self.known.entries
        } else {
            &self.known.records
        };
        let taken = self.dice.pick(taken).cloned();
        let record = match self.dice.below(8) {
            // A second open operation is wrong enough.
            0..2 if wrong < 3 => pi::abort_requested(&lane, &run),
            0..2 => operation(&lane, &id, kind),
            2..5 => pi::operation_finished(&lane, &run, "completed", None),
            5 => pi::usage(&lane, "adjustment", &used([3, 1, 1, 5], 0.25), None),
            6 => pi::usage(&lane, "adjustment", &used([-2, 0, 0, -2], -0.5), None),
            _ => pi::abort_requested(&lane, &run),
        };
        Action::Record(match (wrong, taken) {
            (1, Some(taken)) => record.with_id(taken),
            (2, _) => NewRecord::new("usage", lane, "{\"usage\":1}"),
            (_, _) if self.dice.once_in(2) => record.with_id(id),
            _ => record,
        })
    }

    fn create_lane(&mut self) -> Action {
        if !self.can.lanes {
            return Action::CreateLane("thread".to_owned(), None);
        }
        let new = (0..6).map(|n| format!("lane {n}"));
        let new: Vec<String> = new
            .filter(|name| !self.known.lanes.contains(name))
            .collect();
        match self.dice.pick(&new).cloned() {
            Some(name) if !self.dice.once_in(6) => {
                let at = self.anything();
                Action::CreateLane(name, Some(at).filter(|_| !self.dice.once_in(4)))
            }
            _ => Action::CreateLane(self.lane(), None),
        }
    }

    fn fork(&mut self) -> Action {
        // Labels of pi v3 get new ids in the fork of a branch.
        let renamed = !self.can.facts && self.known.labelled;
        if self.dice.once_in(3) || renamed {
            return Action::Fork(ForkScope::Tree);
        }
        let entry = self.anything();
        Action::Fork(ForkScope::Branch {
            entry: Some(entry).filter(|_| !self.dice.once_in(3)),
            position: match self.dice.below(3) {
                0 => Some(Position::At),
                1 => Some(Position::Before),
                _ => None,
            },
        })
    }
}
