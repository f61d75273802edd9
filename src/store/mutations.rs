//! The kept lines of a log in file order, read one after the other; the index has no part in it.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use super::state::State;
use crate::error::Result;
use crate::format::{Fact, Mutation as Meant, Sequence, by_shape, claims_header, interpret};
use crate::json::{Document, Grammar, lossy};
use crate::log::{Lines, judge};
use crate::model::Format;

/// One kept line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mutation {
    /// The number in the log's sequence (pi v4), or the place among the kept lines after the header.
    pub seq: u64,
    /// The entry's kind or type; `record/TYPE`, `lane` or `fact/NAME` for the others of pi v4.
    pub kind: String,
    /// The id of an entry or a record.
    pub id: Option<String>,
    /// The line in the file, counted from 1.
    pub line: u64,
    /// The byte offset of the object.
    pub offset: u64,
    /// The object, byte for byte.
    pub bytes: Vec<u8>,
}

impl Mutation {
    /// The object as text, invalid UTF-8 as U+FFFD.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        lossy(&self.bytes)
    }
}

/// An iterator over the kept lines of a log.
pub struct Mutations {
    state: Arc<State>,
    offset: u64,
    line: u64,
    header_seen: bool,
    count: u64,
    ready: VecDeque<Mutation>,
    done: bool,
    /// Whether a last line without a newline is left for later.
    finished_only: bool,
    batch: usize,
}

/// How many lines are read before the first of them is handed out: few at first, for those who want
/// no more, then twice as many each time.
const BATCH: std::ops::Range<usize> = 8..1024;

impl Mutations {
    pub(super) fn of(state: Arc<State>) -> Self {
        Self {
            state,
            offset: 0,
            line: 0,
            header_seen: false,
            count: 0,
            ready: VecDeque::new(),
            done: false,
            finished_only: false,
            batch: BATCH.start,
        }
    }

    /// Only lines that end with a newline. What follows the last one may be in the writing.
    pub(super) fn finished(state: Arc<State>) -> Self {
        Self {
            finished_only: true,
            ..Self::of(state)
        }
    }

    /// Where the line starts that is read next.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The log that is read.
    pub(super) fn state(&self) -> &State {
        &self.state
    }

    /// Goes on where it ended, in a later state of the same log.
    pub(super) fn go_on(&mut self, state: Arc<State>) {
        self.state = state;
        self.done = false;
    }

    /// Goes on behind an entry or a record, `count` lines having been kept up to it. Their line
    /// numbers count from there.
    pub(super) fn behind(state: Arc<State>, offset: u64, count: u64) -> Self {
        Self {
            offset,
            header_seen: true,
            count,
            ..Self::of(state)
        }
    }

    fn fill(&mut self) -> Result<()> {
        let (format, salvaged) = (self.state.index.format, self.state.index.is_salvaged());
        let mut lines = Lines::from(&self.state.log, self.offset);
        let batch = self.batch;
        self.batch = (2 * batch).min(BATCH.end);
        for _ in 0..batch {
            let Some((line, bytes)) = lines.next()? else {
                self.done = true;
                return Ok(());
            };
            if self.finished_only && !line.terminated {
                self.done = true;
                return Ok(());
            }
            self.line += 1;
            self.offset =
                line.offset + u64::try_from(line.len).unwrap_or(0) + u64::from(line.terminated);
            let skip = if line.offset == 0 && bytes.starts_with(b"\xEF\xBB\xBF") {
                3
            } else {
                0
            };
            let text = bytes.get(skip..).unwrap_or_default();
            let header_seen = self.header_seen;
            let judged = judge(text, line.terminated, |document| {
                let object = document.root();
                if header_seen {
                    interpret(format, object, false).mutation.is_some()
                } else {
                    claims_header(object) || (salvaged && by_shape(object).is_some())
                }
            });
            for range in judged.objects {
                let offset = line.offset + u64::try_from(skip + range.start).unwrap_or(0);
                let object = text.get(range).unwrap_or_default();
                self.ready.extend(one(
                    object,
                    offset,
                    self.line,
                    format,
                    &mut self.header_seen,
                    salvaged,
                    &mut self.count,
                ));
            }
        }
        Ok(())
    }
}

fn one(
    object: &[u8],
    offset: u64,
    line: u64,
    format: Format,
    header_seen: &mut bool,
    salvaged: bool,
    count: &mut u64,
) -> Option<Mutation> {
    let document = Grammar::parse(object).ok()?;
    if !*header_seen {
        *header_seen = true;
        if !salvaged && format != Format::CodebotV3 {
            return None;
        }
    }
    let meaning = interpret(format, document.root(), false);
    let mutation = meaning.mutation?;
    *count += 1;
    let seq = match meaning.sequence {
        Sequence::Number(number) => number,
        _ => *count,
    };
    let (kind, id) = match mutation {
        Meant::Entry(entry) => (entry.kind_name.into_owned(), entry.id.map(Cow::into_owned)),
        Meant::Record(record) => (
            format!("record/{}", record.kind_name),
            Some(record.id.into_owned()),
        ),
        Meant::Lane { .. } => ("lane".to_owned(), None),
        Meant::Fact(Fact::Name(_)) => ("fact/name".to_owned(), None),
        Meant::Fact(Fact::Label { .. }) => ("fact/label".to_owned(), None),
        Meant::Fact(Fact::Other { name }) => (format!("fact/{name}"), None),
        Meant::Other { kind } => (kind.into_owned(), None),
    };
    let id = if format == Format::PiV1 {
        Some(format!("{:08x}", *count))
    } else {
        id
    };
    Some(Mutation {
        seq,
        kind,
        id,
        line,
        offset,
        bytes: object.to_vec(),
    })
}

impl Iterator for Mutations {
    type Item = Result<Mutation>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() && !self.done {
            if let Err(error) = self.fill() {
                self.done = true;
                return Some(Err(error));
            }
        }
        self.ready.pop_front().map(Ok)
    }
}
