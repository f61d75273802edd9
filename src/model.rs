//! What a session is made of, whatever its format: names, counts, reports, snapshots.
//! Plain values; nothing here reads files or knows how a line is written.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use serde::ser::SerializeSeq;
use serde::{Deserialize, Serialize, Serializer};

/// The format of a log, by what its header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Format {
    /// codebot's format, version 3.
    #[serde(rename = "codebot-v3")]
    CodebotV3,
    /// pi's first format: entries without ids, a chain by position.
    #[serde(rename = "pi-v1")]
    PiV1,
    /// pi's second format: as v3, with `hookMessage` for today's `custom` role.
    #[serde(rename = "pi-v2")]
    PiV2,
    /// The format of pi's command line.
    #[serde(rename = "pi-v3")]
    PiV3,
    /// The format of pi's durable harness: entries, records, lanes and facts.
    #[serde(rename = "pi-v4")]
    PiV4,
}

impl Format {
    /// The name that the command line prints.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CodebotV3 => "codebot-v3",
            Self::PiV1 => "pi-v1",
            Self::PiV2 => "pi-v2",
            Self::PiV3 => "pi-v3",
            Self::PiV4 => "pi-v4",
        }
    }

    /// Whether entries of this format know lanes, records and facts.
    #[must_use]
    pub const fn has_lanes(self) -> bool {
        matches!(self, Self::PiV4)
    }

    /// Whether an entry whose parent is not there is a root, by the rules of the format.
    pub(crate) const fn orphans_are_roots(self) -> bool {
        matches!(self, Self::PiV1 | Self::PiV2 | Self::PiV3)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a [`Report`] says of its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReportCode {
    /// Not JSON.
    NotJson,
    /// JSON, but not an object.
    NotObject,
    /// A field of the envelope has the wrong type, or a second header stands in the file.
    BadField,
    /// An entry without an id.
    MissingId,
    /// NUL bytes beside the object, or nothing but NUL bytes.
    NulBytes,
    /// Bytes inside a string that are not UTF-8.
    InvalidUtf8,
    /// Several whole objects on one line.
    TwoObjects,
    /// A torn object with a whole one behind it.
    Spliced,
    /// Bad JSON after the last newline.
    TornTail,
    /// The id was used before; the later line wins.
    DuplicateId,
    /// The payload does not decode; the entry contributes nothing.
    BadPayload,
    /// The time is missing, no time, or out of range.
    BadTimestamp,
    /// The sequence number does not follow the one before.
    Seq,
    /// The parent, leaf or target is not in the file.
    MissingParent,
    /// The lane was never created.
    MissingLane,
    /// Following the parents comes back to the entry.
    Cycle,
}

impl ReportCode {
    /// The code as the command line spells it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotJson => "not_json",
            Self::NotObject => "not_object",
            Self::BadField => "bad_field",
            Self::MissingId => "missing_id",
            Self::NulBytes => "nul_bytes",
            Self::InvalidUtf8 => "invalid_utf8",
            Self::TwoObjects => "two_objects",
            Self::Spliced => "spliced",
            Self::TornTail => "torn_tail",
            Self::DuplicateId => "duplicate_id",
            Self::BadPayload => "bad_payload",
            Self::BadTimestamp => "bad_timestamp",
            Self::Seq => "seq",
            Self::MissingParent => "missing_parent",
            Self::MissingLane => "missing_lane",
            Self::Cycle => "cycle",
        }
    }

    /// All codes, in the order of their numbers in a sidecar.
    pub const ALL: [Self; 16] = [
        Self::NotJson,
        Self::NotObject,
        Self::BadField,
        Self::MissingId,
        Self::NulBytes,
        Self::InvalidUtf8,
        Self::TwoObjects,
        Self::Spliced,
        Self::TornTail,
        Self::DuplicateId,
        Self::BadPayload,
        Self::BadTimestamp,
        Self::Seq,
        Self::MissingParent,
        Self::MissingLane,
        Self::Cycle,
    ];
}

impl fmt::Display for ReportCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Damage that was read around: which line, what was found, and whether the line was kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The line, counted from 1.
    pub line: u64,
    /// The byte offset of the line's start.
    pub offset: u64,
    /// What was found.
    pub code: ReportCode,
    /// `true` if nothing of the line could be kept.
    pub skipped: bool,
    /// What was found, in a sentence.
    pub detail: String,
}

/// How many reports a session keeps; all are counted.
pub const MAX_REPORTS: usize = 100;

/// Totals over a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Stats {
    /// Message entries.
    pub message_count: u64,
    /// Tokens read from a cache, over usage records.
    pub cached_tokens: i64,
    /// Tokens sent or written to a cache, over usage records.
    pub uncached_tokens: i64,
    /// All tokens, over usage records.
    pub total_tokens: i64,
    /// What they cost, in the currency of the records.
    pub cost_total: f64,
}

/// What a whole session looks like from outside: header, facts, lanes, counts, damage.
///
/// The naive replay and the index both produce it, and must agree.
#[derive(Clone, Debug, PartialEq)]
pub struct Overview {
    /// The format that the header declares.
    pub format: Format,
    /// The session's id.
    pub session_id: String,
    /// The working directory that the header names.
    pub cwd: Option<String>,
    /// When the session was made, in milliseconds since 1970.
    pub created: Option<i64>,
    /// The parent session: an id (pi v4) or a path (pi v3, older parents).
    pub parent: Option<String>,
    /// The session's name: the latest in the file.
    pub name: Option<String>,
    /// Where the conversation stands: the leaf of `main`, or the last entry in the file.
    pub leaf: Option<String>,
    /// Lane names and leaves in creation order; empty for formats without lanes.
    pub lanes: Vec<(String, Option<String>)>,
    /// Labels by the id of the entry they stand on.
    pub labels: BTreeMap<String, String>,
    /// Operations that were started and not finished, by lane, oldest first. Lanes without any are absent.
    pub open_operations: BTreeMap<String, Vec<String>>,
    /// Totals.
    pub stats: Stats,
    /// Entries: nodes of the tree, each id once; codebot's header is one.
    pub entries: u64,
    /// Execution records, each id once.
    pub records: u64,
    /// Lines in the file, blank ones and an unfinished last one included.
    pub lines: u64,
    /// Bytes in the file.
    pub bytes: u64,
    /// Lines kept, by kind. Records are `record/TYPE`, lane lines `lane`, facts `fact/NAME`.
    pub kinds: BTreeMap<String, u64>,
    /// The newest time that counts as activity, in milliseconds since 1970.
    pub updated: Option<i64>,
    /// The first text of the first user message, cut to 80 characters.
    pub first_message: Option<String>,
    /// The first [`MAX_REPORTS`] reports, by line.
    pub reports: Vec<Report>,
    /// How many there are.
    pub report_count: u64,
}

/// Which entry a snapshot or a path ends at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum At<'a> {
    /// Where the conversation stands: `main`'s leaf (pi v4), else the last entry in the file; in
    /// a session that is open for writing where its one lane was put.
    #[default]
    Current,
    /// The leaf of a lane (pi v4 only).
    Lane(&'a str),
    /// An entry by its id.
    Leaf(&'a str),
}

/// The model that a conversation uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Model {
    /// Who serves it.
    pub provider: Option<String>,
    /// Its name.
    pub model: Option<String>,
}

/// codebot's plan state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// The phase.
    pub phase: Option<String>,
    /// The plan's short name.
    pub slug: Option<String>,
    /// The mode to return to.
    pub pre_mode: Option<String>,
}

/// A list of JSON texts in one allocation, each as it stands in the log.
///
/// Invalid UTF-8 in the log appears as U+FFFD; escapes, key order and number spelling are kept.
///
/// ```
/// let mut messages = leaflog::Messages::default();
/// messages.push(r#"{"role":"user","content":"hi"}"#);
/// assert_eq!(messages.iter().collect::<Vec<_>>(), [r#"{"role":"user","content":"hi"}"#]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Messages {
    text: String,
    ends: Vec<usize>,
}

impl Messages {
    /// An empty list with room for `messages` texts of `bytes` bytes together.
    #[must_use]
    pub fn with_capacity(messages: usize, bytes: usize) -> Self {
        Self {
            text: String::with_capacity(bytes),
            ends: Vec::with_capacity(messages),
        }
    }

    /// Adds a JSON text.
    pub fn push(&mut self, json: &str) {
        self.text.push_str(json);
        self.ends.push(self.text.len());
    }

    /// How many texts there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The text at a position.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<&str> {
        let end = *self.ends.get(at)?;
        let start = match at.checked_sub(1) {
            Some(before) => *self.ends.get(before)?,
            None => 0,
        };
        self.text.get(start..end)
    }

    /// The texts in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> + DoubleEndedIterator + '_ {
        (0..self.len()).map(|at| self.get(at).unwrap_or_default())
    }

    /// Bytes of all texts together.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.text.len()
    }
}

/// The texts in order.
///
/// ```
/// let mut messages = leaflog::Messages::default();
/// messages.push("{}");
/// for message in &messages {
///     assert_eq!(message, "{}");
/// }
/// ```
impl<'a> IntoIterator for &'a Messages {
    type Item = &'a str;
    type IntoIter = MessagesIter<'a>;

    fn into_iter(self) -> Self::IntoIter {
        MessagesIter {
            messages: self,
            left: 0..self.len(),
        }
    }
}

/// The texts of [`Messages`], by reference.
///
/// ```
/// let mut messages = leaflog::Messages::default();
/// messages.push("1");
/// messages.push("2");
/// let texts: leaflog::MessagesIter<'_> = (&messages).into_iter();
/// assert_eq!(texts.rev().collect::<Vec<_>>(), ["2", "1"]);
/// ```
#[derive(Clone, Debug)]
pub struct MessagesIter<'a> {
    messages: &'a Messages,
    left: Range<usize>,
}

impl<'a> Iterator for MessagesIter<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        self.messages.get(self.left.next()?)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl DoubleEndedIterator for MessagesIter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.messages.get(self.left.next_back()?)
    }
}

impl ExactSizeIterator for MessagesIter<'_> {}

impl Serialize for Messages {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.len()))?;
        for message in self.iter() {
            let raw: &serde_json::value::RawValue =
                serde_json::from_str(message).map_err(serde::ser::Error::custom)?;
            list.serialize_element(raw)?;
        }
        list.end()
    }
}

/// The context that a harness resumes with.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The session's format.
    pub format: Format,
    /// The session's id.
    pub session_id: String,
    /// The lane asked for (pi v4), `main` if none was.
    pub lane: Option<String>,
    /// The entry that the path ends at; none in an empty session.
    pub leaf: Option<String>,
    /// The session's name: on the path for codebot, the latest in the file otherwise.
    pub name: Option<String>,
    /// The messages, oldest first, in the session's own format.
    pub messages: Messages,
    /// The model in use.
    pub model: Option<Model>,
    /// The reasoning effort (codebot) or thinking level (pi, `off` by default).
    pub reasoning_effort: Option<String>,
    /// codebot's plan state.
    pub plan: Option<Plan>,
    /// codebot's goal state, as stored.
    pub goal: Option<String>,
    /// The active tools (pi v4).
    pub active_tools: Option<Vec<String>>,
    /// Entries on the path from the root to the leaf.
    pub path_entries: u64,
    /// `true` if the path was cut at a break because salvage was asked for.
    pub salvaged: bool,
}
