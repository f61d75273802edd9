//! The rules that all backends obey, written once: which lanes there are and where they stand, one
//! sequence over everything, one open operation a lane. Knows no storage: a backend asks, writes
//! what is allowed, and then tells what it wrote.

use crate::contract::Lane;
use crate::contract::unknown_lane;
use crate::error::{Code, Error, Result};
use crate::format::Step;

/// A lane, and the operations that it has not finished, oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpenLane {
    pub(crate) lane: Lane,
    pub(crate) open: Vec<String>,
}

/// Where a session stands: all that the next write depends on, ids aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// The number of the last mutation; 0 if there is none.
    pub(crate) seq: u64,
    /// In the order they were made.
    pub(crate) lanes: Vec<OpenLane>,
    /// The format has no other lanes.
    pub(crate) only_main: bool,
}

impl Default for Head {
    /// A new session: the lane `main`, which stands on nothing.
    fn default() -> Self {
        Self {
            seq: 0,
            lanes: vec![OpenLane::new("main", None)],
            only_main: false,
        }
    }
}

impl OpenLane {
    pub(crate) fn new(name: &str, leaf: Option<String>) -> Self {
        Self {
            lane: Lane {
                name: name.to_owned(),
                leaf,
            },
            open: Vec::new(),
        }
    }
}

impl Head {
    /// The number of the next mutation.
    pub(crate) fn next(&self) -> Result<u64> {
        if self.seq >= LAST_NUMBER {
            return Err(Error::new(
                Code::Unsupported,
                format!(
                    "the sequence has come to its last number, {LAST_NUMBER}, behind which JavaScript cannot count; \
                     fork the session, which counts from 1 again"
                ),
            ));
        }
        Ok(self.seq + 1)
    }

    /// The lanes as a caller sees them.
    pub(crate) fn lanes(&self) -> Vec<Lane> {
        self.lanes.iter().map(|open| open.lane.clone()).collect()
    }

    /// A lane that must exist.
    pub(crate) fn lane(&self, name: &str) -> Result<&OpenLane> {
        self.find(name).ok_or_else(|| {
            if self.only_main {
                return Error::new(
                    Code::InvalidLane,
                    format!("there is no lane `{name}`: the format has no lanes but `main`"),
                );
            }
            unknown_lane(name)
        })
    }

    fn find(&self, name: &str) -> Option<&OpenLane> {
        self.lanes.iter().find(|open| open.lane.name == name)
    }

    fn find_mut(&mut self, name: &str) -> Option<&mut OpenLane> {
        self.lanes.iter_mut().find(|open| open.lane.name == name)
    }

    /// Refuses a lane name that is in use.
    pub(crate) fn check_new_lane(&self, name: &str) -> Result<()> {
        if name.is_empty() {
            return Err(Error::new(
                Code::InvalidLane,
                "expected a name for the lane, found an empty one",
            ));
        }
        match self.find(name) {
            None => Ok(()),
            Some(_) => Err(Error::new(
                Code::AlreadyExists,
                format!(
                    "the lane `{name}` exists already, and its name is taken for good; `move_lane` moves it"
                ),
            )),
        }
    }

    /// Refuses a second open operation on a lane.
    pub(crate) fn check_step(&self, lane: &str, step: &Step) -> Result<()> {
        let open = &self.lane(lane)?.open;
        match (step, open.last()) {
            (Step::Started, Some(open)) => Err(Error::new(
                Code::Storage,
                format!(
                    "lane `{lane}` has the open operation `{open}`; finish it before another one starts"
                ),
            )),
            _ => Ok(()),
        }
    }

    /// An entry was written on a lane. Where the lane stood comes back.
    pub(crate) fn wrote_entry(&mut self, lane: &str, id: &str) -> Option<String> {
        self.seq += 1;
        self.find_mut(lane)?.lane.leaf.replace(id.to_owned())
    }

    /// A record was written.
    pub(crate) fn wrote_record(&mut self, lane: &str, id: &str, step: Step) {
        self.seq += 1;
        let Some(lane) = self.find_mut(lane) else {
            return;
        };
        match step {
            Step::Started => lane.open.push(id.to_owned()),
            Step::Finished(run) => lane.open.retain(|open| *open != run),
            Step::Other => {}
        }
    }

    /// A lane was made or moved.
    pub(crate) fn wrote_lane(&mut self, name: &str, leaf: Option<&str>) {
        self.seq += 1;
        let leaf = leaf.map(str::to_owned);
        match self.find_mut(name) {
            Some(open) => open.lane.leaf = leaf,
            None => self.lanes.push(OpenLane::new(name, leaf)),
        }
    }

    /// A lane stands on another entry, of which nothing is written.
    pub(crate) fn stand_on(&mut self, name: &str, leaf: Option<&str>) {
        if let Some(open) = self.find_mut(name) {
            open.lane.leaf = leaf.map(str::to_owned);
        }
    }

    /// A fact was written.
    pub(crate) fn wrote_fact(&mut self) {
        self.seq += 1;
    }
}

/// The error for an id in use.
pub(crate) fn taken(id: &str) -> Error {
    Error::new(
        Code::AlreadyExists,
        format!("the id `{id}` is in use in this session, by an entry or a record; take another"),
    )
}

/// The error for an id that lines name and no entry has: what they say would change behind them.
pub(crate) fn awaited(id: &str) -> Error {
    Error::new(
        Code::AlreadyExists,
        format!(
            "lines of this session name `{id}`, an entry that is missing, and would take a new one for it; take another id"
        ),
    )
}

/// The error for an entry that does not exist.
pub(crate) fn unknown_entry(id: &str) -> Error {
    Error::new(
        Code::NotFound,
        format!("no entry of the session has the id `{id}`"),
    )
}

/// The error for a call on a closed session.
pub(crate) fn closed() -> Error {
    Error::new(Code::Closed, "the session was closed; open it again")
}

/// The error for a write to a session that was opened for reading.
pub(crate) fn read_only() -> Error {
    Error::new(
        Code::Unsupported,
        "the session was opened for reading; open it for writing",
    )
}

/// The error for something that a format cannot hold.
pub(crate) fn cannot_hold(format: crate::Format, what: &str) -> Error {
    Error::new(
        Code::Unsupported,
        match format {
            crate::Format::CodebotV3 => format!("{format} has no {what}; a pi-v4 session has"),
            _ => format!("{format} has no {what}; `convert` makes a pi-v4 session, which has"),
        },
    )
}

/// The error for an id that cannot name a session.
pub(crate) fn check_session_id(id: &str) -> Result<()> {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = id.as_bytes();
    let good = bytes.len() <= LONGEST_ID
        && bytes.iter().all(|&byte| inner(byte))
        && ends(bytes.first())
        && ends(bytes.last());
    if good {
        return Ok(());
    }
    Err(Error::new(
        Code::InvalidPayload,
        format!(
            "expected a session id of 1 to {LONGEST_ID} letters, digits, `-`, `_` and `.`, starting and ending \
             with a letter or digit, found {:?}",
            id.chars().take(40).collect::<String>()
        ),
    ))
}

/// The last number of a sequence.
const LAST_NUMBER: u64 = (1 << 53) - 1;

/// The longest session id: with its time and ending it still fits a file name.
const LONGEST_ID: usize = 200;
