//! What a line can mean, in terms that all formats share.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use super::{Kind, Role, State};
use crate::json::Json;
use crate::log::Finding;

/// A line that is kept, or why it is not, and what is to be reported of it.
#[derive(Debug, Default)]
pub(crate) struct Meaning<'a> {
    /// None: the line is skipped, and one of the findings says why.
    pub(crate) mutation: Option<Mutation<'a>>,
    /// The line's number in the log's sequence (pi v4).
    pub(crate) sequence: Sequence,
    pub(crate) findings: Vec<Finding>,
    /// The value of `id`.
    pub(crate) id_place: Place,
    /// The value that holds the payload of a message.
    pub(crate) payload_place: Place,
}

/// Where a value stands in its text, if that is known. No part of what it means, and not shown with it.
#[derive(Clone, Default)]
pub(crate) struct Place(Option<Range<usize>>);

impl Place {
    pub(crate) fn of<'a, V: Json<'a>>(value: Option<V>) -> Self {
        Self(value.and_then(Json::place))
    }

    pub(crate) fn range(&self) -> Option<Range<usize>> {
        self.0.clone()
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("_")
    }
}

/// What stands in `seq`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Sequence {
    /// The format has no sequence, or the line no part in it.
    #[default]
    None,
    /// A positive whole number.
    Number(u64),
    /// Something else.
    Bad,
}

/// What a kept line does.
#[derive(Debug)]
pub(crate) enum Mutation<'a> {
    Entry(Entry<'a>),
    Record(Record<'a>),
    /// Creates or moves a lane.
    Lane {
        lane: Cow<'a, str>,
        leaf: Option<Cow<'a, str>>,
    },
    Fact(Fact<'a>),
    /// Nothing: a pi v4 line of an unknown kind.
    Other {
        kind: Cow<'a, str>,
    },
}

/// A provider and a model, each if it is named.
pub(crate) type ModelName<'a> = (Option<Cow<'a, str>>, Option<Cow<'a, str>>);

/// A node of the tree.
#[derive(Debug, Default)]
pub(crate) struct Entry<'a> {
    /// None for pi v1, where the place in the file gives it.
    pub(crate) id: Option<Cow<'a, str>>,
    pub(crate) parent: Option<Cow<'a, str>>,
    pub(crate) lane: Option<Cow<'a, str>>,
    pub(crate) kind: Option<Kind>,
    /// The kind as it is written.
    pub(crate) kind_name: Cow<'a, str>,
    pub(crate) time: Option<i64>,
    pub(crate) role: Role,
    /// The payload does not decode: the entry contributes nothing.
    pub(crate) inert: bool,
    /// An assistant message with tool calls that want answers (codebot).
    pub(crate) calls_tools: bool,
    /// An assistant message that was put off (pi v4).
    pub(crate) deferred: bool,
    /// The content of a message is null or absent (pi v1 to v3).
    pub(crate) no_content: bool,
    /// The part of the state that it sets, beside the model of an assistant message.
    pub(crate) sets: Option<State>,
    /// The model that it sets: provider and name.
    pub(crate) model: Option<ModelName<'a>>,
    /// A fact that the entry states for the whole session (codebot, pi v1 to v3).
    pub(crate) fact: Option<Fact<'a>>,
    /// What a listing would show of it as the first message.
    pub(crate) first_text: Option<String>,
    /// When it counts as activity.
    pub(crate) activity: Option<i64>,
}

impl Entry<'_> {
    /// The kind, `Other` if it is not known.
    pub(crate) fn kind(&self) -> Kind {
        self.kind.unwrap_or(Kind::Other)
    }
}

/// A trace of execution (pi v4).
#[derive(Debug)]
pub(crate) struct Record<'a> {
    pub(crate) id: Cow<'a, str>,
    pub(crate) lane: Option<Cow<'a, str>>,
    pub(crate) kind: Kind,
    pub(crate) kind_name: Cow<'a, str>,
    pub(crate) time: Option<i64>,
    /// The operation that it belongs to.
    pub(crate) run: Option<Cow<'a, str>>,
    pub(crate) usage: Option<Usage>,
}

/// What a usage record adds to the totals.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Usage {
    pub(crate) cached: i64,
    pub(crate) uncached: i64,
    pub(crate) total: i64,
    pub(crate) cost: f64,
}

/// A session-wide value.
#[derive(Debug)]
pub(crate) enum Fact<'a> {
    Name(Option<String>),
    Label {
        target: Cow<'a, str>,
        label: Option<Cow<'a, str>>,
    },
    /// A fact of a name that the format does not define.
    Other {
        name: Cow<'a, str>,
    },
}

/// A text cut to 80 characters, the last three `...` where it was longer.
pub(crate) fn title(text: &str) -> String {
    const LONGEST: usize = 80;
    match text.char_indices().nth(LONGEST) {
        None => text.to_owned(),
        Some(_) => text
            .chars()
            .take(LONGEST - 3)
            .chain("...".chars())
            .collect(),
    }
}
