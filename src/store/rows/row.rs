//! One mutation as a row: what its line says in columns, and what it changes. Made from the line
//! alone, so that a row never says anything else than its bytes.

use std::borrow::Cow;

use crate::format::{Fact, Kind, Mutation, Sequence, State, Usage, interpret};
use crate::json::{Document, Grammar, Json, Node};
use crate::model::Format;
use crate::store::entry::Entry;
use crate::store::rules::Head;

/// What a row is. The numbers stand in databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Class {
    Entry = 0,
    Record = 1,
    Lane = 2,
    Fact = 3,
}

impl Class {
    #[cfg_attr(not(feature = "sqlite"), expect(dead_code, reason = "for databases"))]
    pub(super) const fn number(self) -> i64 {
        self as i64
    }

    #[cfg_attr(not(feature = "sqlite"), expect(dead_code, reason = "for databases"))]
    pub(super) const fn from_number(number: i64) -> Option<Self> {
        Some(match number {
            0 => Self::Entry,
            1 => Self::Record,
            2 => Self::Lane,
            3 => Self::Fact,
            _ => return None,
        })
    }
}

/// Where an entry stands in the tree, by numbers of the sequence, so that a resume finds what
/// counts without walking the whole path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) seq: u64,
    /// The parent.
    pub(super) up: Option<u64>,
    /// Entries on its path, itself included.
    pub(super) depth: u64,
    /// The last entry of its path, itself included, that sets the model.
    pub(super) model: Option<u64>,
    /// The same for the thinking level.
    pub(super) effort: Option<u64>,
    /// The same for the active tools.
    pub(super) tools: Option<u64>,
    /// The last compaction of its path, itself included.
    pub(super) compaction: Option<u64>,
}

/// What a row changes beside the tree.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Effect {
    Nothing,
    /// Starts an operation.
    Started,
    /// Finishes the operation with this id.
    Finished(String),
    /// Names the session.
    Name(Option<String>),
    /// Labels the entry that the row has as its parent.
    Label(Option<String>),
}

/// What a row adds to the totals.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Gain {
    pub(super) is_message: bool,
    pub(super) usage: Option<Usage>,
    pub(super) activity: Option<i64>,
    pub(super) first_text: Option<String>,
}

/// The parts of the state that an entry sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sets {
    model: bool,
    part: Option<State>,
}

/// One mutation.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) seq: u64,
    pub(super) class: Class,
    /// The type of an entry or record, else the name of the fact, or `lane`.
    pub(super) kind: String,
    /// Of an entry or a record.
    pub(super) id: Option<String>,
    /// The parent of an entry, the `runId` of a record, the leaf of a lane, the target of a label.
    pub(super) parent: Option<String>,
    pub(super) lane: Option<String>,
    /// The run that a record belongs to: an `operation_started` to its own.
    pub(super) run: Option<String>,
    /// The kind of an operation that starts.
    pub(super) operation: Option<String>,
    /// The custom type of a `custom` entry.
    pub(super) custom: Option<String>,
    pub(super) time: Option<i64>,
    /// The object of the line.
    pub(super) object: Vec<u8>,
    pub(super) effect: Effect,
    pub(super) gain: Gain,
    /// Of an entry, once its parent's is known.
    pub(super) standing: Option<Standing>,
    sets: Sets,
}

impl Row {
    /// What a line of pi v4 says; none for what is no mutation with a number.
    pub(super) fn of(object: &[u8]) -> Option<Self> {
        let document = Grammar::parse(object).ok()?;
        let root = document.root();
        let meaning = interpret(Format::PiV4, root, true);
        let Sequence::Number(seq) = meaning.sequence else {
            return None;
        };
        let mut row = Self {
            seq,
            class: Class::Fact,
            kind: String::new(),
            id: None,
            parent: None,
            lane: None,
            run: None,
            operation: None,
            custom: None,
            time: None,
            object: object.to_vec(),
            effect: Effect::Nothing,
            gain: Gain::default(),
            standing: None,
            sets: Sets::default(),
        };
        match meaning.mutation? {
            Mutation::Entry(entry) => {
                let kind = entry.kind();
                row.class = Class::Entry;
                row.id = Some(entry.id?.into_owned());
                row.parent = entry.parent.map(Cow::into_owned);
                row.lane = entry.lane.map(Cow::into_owned);
                row.time = entry.time;
                row.custom = Some("customType")
                    .filter(|_| kind == Kind::Custom)
                    .and_then(|key| text(root, key));
                row.kind = entry.kind_name.into_owned();
                row.sets = Sets {
                    model: entry.model.is_some(),
                    part: entry.sets.filter(|_| !entry.inert),
                };
                row.gain = Gain {
                    is_message: kind == Kind::Message,
                    usage: None,
                    activity: entry.activity,
                    first_text: entry.first_text,
                };
            }
            Mutation::Record(record) => {
                row.class = Class::Record;
                let id = record.id.into_owned();
                row.parent = record.run.map(Cow::into_owned);
                row.lane = record.lane.map(Cow::into_owned);
                row.time = record.time;
                row.kind = record.kind_name.into_owned();
                row.gain.usage = record.usage;
                row.gain.activity = record.time;
                row.run.clone_from(&row.parent);
                match record.kind {
                    Kind::OperationStarted => {
                        row.run = Some(id.clone());
                        row.operation =
                            root.field("intent").and_then(|intent| text(intent, "kind"));
                        row.effect = Effect::Started;
                    }
                    Kind::OperationFinished => {
                        row.effect = Effect::Finished(row.parent.clone().unwrap_or_default());
                    }
                    _ => {}
                }
                row.id = Some(id);
            }
            Mutation::Lane { lane, leaf } => {
                row.class = Class::Lane;
                "lane".clone_into(&mut row.kind);
                row.lane = Some(lane.into_owned());
                row.parent = leaf.map(Cow::into_owned);
            }
            Mutation::Fact(Fact::Name(name)) => {
                "name".clone_into(&mut row.kind);
                row.effect = Effect::Name(name);
            }
            Mutation::Fact(Fact::Label { target, label }) => {
                "label".clone_into(&mut row.kind);
                row.parent = Some(target.into_owned());
                row.effect = Effect::Label(label.map(Cow::into_owned));
            }
            Mutation::Fact(Fact::Other { .. }) | Mutation::Other { .. } => return None,
        }
        Some(row)
    }

    /// Puts an entry below its parent.
    pub(super) fn stand_on(&mut self, parent: Option<Standing>) -> Standing {
        let mut standing = parent.unwrap_or_default();
        standing.up = parent.map(|parent| parent.seq);
        standing.seq = self.seq;
        standing.depth += 1;
        let own = Some(self.seq);
        if self.sets.model {
            standing.model = own;
        }
        match self.sets.part {
            Some(State::Effort) => standing.effort = own,
            Some(State::Tools) => standing.tools = own,
            Some(State::Compaction) => standing.compaction = own,
            _ => {}
        }
        self.standing = Some(standing);
        standing
    }

    /// Bytes that it takes in a log.
    pub(super) fn line_bytes(&self) -> u64 {
        u64::try_from(self.object.len())
            .unwrap_or(u64::MAX)
            .saturating_add(1)
    }

    /// Takes in the row, which comes next.
    pub(super) fn change(&self, head: &mut Head) {
        let id = self.id.as_deref().unwrap_or_default();
        let lane = self.lane.as_deref();
        match (self.class, lane) {
            (Class::Entry, Some(lane)) => {
                head.wrote_entry(lane, id);
            }
            (Class::Record, Some(lane)) => head.wrote_record(lane, id, self.effect.step()),
            (Class::Lane, Some(lane)) => head.wrote_lane(lane, self.parent.as_deref()),
            _ => head.wrote_fact(),
        }
    }

    /// The row as a caller sees an entry or a record, without a copy of its object.
    pub(super) fn into_entry(mut self) -> Entry {
        let bytes = std::mem::take(&mut self.object);
        Entry {
            bytes,
            ..self.entry()
        }
    }

    /// The row as a caller sees an entry or a record.
    pub(super) fn entry(&self) -> Entry {
        Entry {
            id: self.id.clone().unwrap_or_default(),
            parent: self.parent.clone(),
            kind: self.kind.clone(),
            time: self.time,
            lane: self.lane.clone(),
            seq: Some(self.seq),
            offset: None,
            bytes: self.object.clone(),
        }
    }
}

impl Effect {
    fn step(&self) -> crate::format::Step {
        use crate::format::Step;
        match self {
            Self::Started => Step::Started,
            Self::Finished(run) => Step::Finished(run.clone()),
            _ => Step::Other,
        }
    }
}

fn text(object: Node<'_>, key: &str) -> Option<String> {
    object.field(key).and_then(Json::text).map(Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::{Class, Effect, Row};

    #[test]
    fn a_row_says_what_its_line_says() {
        let started = Row::of(
            br#"{"kind":"record","type":"operation_started","id":"r1","lane":"main","runId":"x","intent":{"kind":"run"},"seq":3,"timestamp":5}"#,
        )
        .unwrap();
        assert_eq!(started.class, Class::Record);
        assert_eq!(started.run.as_deref(), Some("r1"));
        assert_eq!(started.operation.as_deref(), Some("run"));
        assert_eq!(started.entry().parent.as_deref(), Some("x"));

        let cleared = Row::of(br#"{"kind":"fact","seq":4,"fact":"label","targetId":"a"}"#).unwrap();
        assert_eq!(cleared.parent.as_deref(), Some("a"));
        assert_eq!(cleared.effect, Effect::Label(None));
        assert_eq!(Row::of(b"{\"kind\":\"fact\"}"), None);
    }

    #[test]
    fn standings_point_at_what_counts() {
        let line = |kind: &str, seq: u64| {
            Row::of(
                format!(
                    r#"{{"kind":"entry","type":"{kind}","id":"e{seq}","summary":"","retainedTail":[],"provider":"p","modelId":"m","parentId":null,"seq":{seq},"timestamp":5}}"#
                )
                .as_bytes(),
            )
            .unwrap()
        };
        let model = line("model_change", 1).stand_on(None);
        let compaction = line("compaction", 2).stand_on(Some(model));
        let last = line("custom", 5).stand_on(Some(compaction));
        assert_eq!(
            (last.model, last.compaction, last.effort),
            (Some(1), Some(2), None)
        );
        assert_eq!((last.depth, last.up, last.seq), (3, Some(2), 5));
    }
}
