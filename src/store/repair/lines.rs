//! The lines of a source one after the other, each as the objects that it holds: what reading keeps,
//! and what can be recovered beside. Knows no other lines than those that an object is broken over.

use std::collections::VecDeque;
use std::ops::Range;

use super::join::{Mender, State};
use super::parts::{Odd, Part, escaped};
use super::report::{FixKind, Place};
use crate::error::Result;
use crate::format::{by_shape, claims_header, interpret};
use crate::json::{Document, Grammar, Json, lossy, trim};
use crate::log::{Line, Lines, LogFile};
use crate::model::Format;

/// An object is put together from so many lines at the most.
const MOST_LINES: usize = 1000;
/// The same in bytes.
const MOST_BYTES: usize = 64 << 20;
/// Attempts that fail may look at so many bytes for each byte of the source, and at [`FREE`] beside.
/// So the work stays in proportion, whatever the lines say.
const WORTH: u64 = 8;
const FREE: u64 = 8 << 20;

/// Which objects are worth to be recovered from a damaged line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keeps {
    /// Those that could tell the format, as long as it is not known.
    Opening,
    /// Those that the format keeps, and headers.
    Format(Format),
}

impl Keeps {
    pub(super) fn object(self, document: &Grammar<'_>) -> bool {
        let root = document.root();
        root.is_object()
            && (claims_header(root)
                || match self {
                    Self::Opening => by_shape(root).is_some(),
                    Self::Format(format) => interpret(format, root, false).mutation.is_some(),
                })
    }
}

/// Something that a line holds.
pub(super) struct Found<'l> {
    pub(super) at: Place,
    /// Whether a newline ends the line.
    pub(super) terminated: bool,
    pub(super) what: What<'l>,
}

pub(super) enum What<'l> {
    /// White space, as it stands.
    Blank(&'l [u8]),
    Object(Object<'l>),
    /// What is no object, and could not be made one.
    Lost(Range<u64>, FixKind, String),
    /// Something that was mended and leaves nothing behind.
    Note(FixKind, String),
}

/// An object that a line holds.
pub(super) struct Object<'l> {
    /// The object, as valid UTF-8.
    pub(super) text: &'l [u8],
    pub(super) document: &'l Grammar<'l>,
    /// The line as it is to be written: the object with the white space around it, where nothing
    /// else stands on the line.
    pub(super) line: Option<&'l [u8]>,
    /// Whether that is the source's line, byte for byte.
    pub(super) whole: bool,
    /// The bytes of the source that it was made from.
    pub(super) source: Range<u64>,
    /// Which of the objects that begin on its line it is.
    pub(super) number: u16,
    /// Whether a reader would not have kept it.
    pub(super) is_recovered: bool,
    /// What was mended to get it; the bytes of the source are not in it as they stood.
    pub(super) mended: Vec<(FixKind, String)>,
}

/// A line that was read ahead.
struct Held {
    line: Line,
    bytes: Vec<u8>,
}

/// Reads a source.
pub(super) struct Reader<'f> {
    lines: Lines<'f>,
    ahead: VecDeque<Held>,
    /// Lines before the next one.
    before: u64,
    /// Bytes that failed attempts looked at.
    spent: u64,
    /// Attempts at putting an object together.
    attempts: u64,
    /// Whether attempts are limited.
    limited: bool,
    line: Vec<u8>,
    offset: u64,
}

impl<'f> Reader<'f> {
    pub(super) fn new(log: &'f LogFile) -> Self {
        Self {
            lines: Lines::from(log, 0),
            ahead: VecDeque::new(),
            before: 0,
            spent: 0,
            attempts: 0,
            limited: true,
            line: Vec::new(),
            offset: 0,
        }
    }

    /// For one line that was read before. What it held then it holds now, in the same order.
    pub(super) fn at(log: &'f LogFile, place: Place) -> Self {
        Self {
            lines: Lines::few(log, place.offset),
            before: place.line.saturating_sub(1),
            limited: false,
            ..Self::new(log)
        }
    }

    /// Lines read so far.
    pub(super) fn count(&self) -> u64 {
        self.before
    }

    /// Where the last line that was read starts.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The hash of the whole lines that were read.
    pub(super) fn hash(&self) -> u64 {
        self.lines.hash()
    }

    /// Reads the next line, with those that belong to it, and gives what it holds. False at the end.
    pub(super) fn read<E: From<crate::error::Error>>(
        &mut self,
        keeps: Keeps,
        mut give: impl FnMut(Found<'_>) -> Result<(), E>,
    ) -> Result<bool, E> {
        let Some(line) = self.take()? else {
            return Ok(false);
        };
        self.before += 1;
        self.offset = line.offset;
        let at = Place {
            line: self.before,
            offset: line.offset,
        };
        let bytes = std::mem::take(&mut self.line);
        let result = self.parts(&bytes, line, at, keeps, &mut give);
        // The buffer is used again, unless a huge line has grown it.
        if bytes.capacity() <= MOST_BYTES {
            self.line = bytes;
        }
        result.map(|()| true)
    }

    /// Brings the next line into the buffer.
    fn take(&mut self) -> Result<Option<Line>> {
        if let Some(held) = self.ahead.pop_front() {
            self.line = held.bytes;
            return Ok(Some(held.line));
        }
        let Some((line, bytes)) = self.lines.next()? else {
            return Ok(None);
        };
        self.line.clear();
        self.line.extend_from_slice(bytes);
        Ok(Some(line))
    }

    fn parts<E: From<crate::error::Error>>(
        &mut self,
        bytes: &[u8],
        line: Line,
        at: Place,
        keeps: Keeps,
        give: &mut impl FnMut(Found<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let terminated = line.terminated;
        let range = trim(bytes);
        let text = bytes.get(range.clone()).unwrap_or_default();
        let source = line.offset + len64(range.start)..line.offset + len64(range.end);
        if text.is_empty() {
            let what = What::Blank(bytes);
            return give(Found {
                at,
                terminated,
                what,
            });
        }
        if let Ok(document) = Grammar::parse(text)
            && document.root().is_object()
            && document.is_utf8()
        {
            let object = Object {
                text,
                document: &document,
                line: Some(bytes),
                whole: true,
                source,
                number: 0,
                is_recovered: false,
                mended: Vec::new(),
            };
            let what = What::Object(object);
            return give(Found {
                at,
                terminated,
                what,
            });
        }
        let mut number = 0;
        for part in self.odd(bytes, line, keeps)? {
            let what = match part {
                Part::Lost(range, kind, detail) => What::Lost(range, kind, detail),
                Part::Note(kind, detail) => What::Note(kind, detail),
                Part::Object {
                    text,
                    line,
                    source,
                    is_recovered,
                    mended,
                } => {
                    // It was parsed before.
                    let Ok(document) = Grammar::parse(&text) else {
                        continue;
                    };
                    give(Found {
                        at,
                        terminated,
                        what: What::Object(Object {
                            text: &text,
                            document: &document,
                            line: line.as_deref(),
                            whole: false,
                            source,
                            number,
                            is_recovered,
                            mended,
                        }),
                    })?;
                    number = number.saturating_add(1);
                    continue;
                }
            };
            give(Found {
                at,
                terminated,
                what,
            })?;
        }
        Ok(())
    }

    /// A line that is not simply one object.
    fn odd(&mut self, bytes: &[u8], line: Line, keeps: Keeps) -> Result<Vec<Part>> {
        const MARK: &[u8] = b"\xEF\xBB\xBF";
        let mut odd = Odd {
            text: bytes,
            offset: line.offset,
            parts: Vec::new(),
        };
        if line.offset == 0
            && let Some(rest) = bytes.strip_prefix(MARK)
        {
            odd.text = rest;
            odd.offset = len64(MARK.len());
            let detail = "a byte order mark stood at the start of the file";
            odd.note(FixKind::BomDropped, detail.to_owned());
        }
        let Some(rest) = odd.objects(keeps) else {
            return Ok(odd.parts);
        };
        if line.terminated && odd.suffix(rest.clone(), keeps) {
            return Ok(odd.parts);
        }
        let mut mender = Mender::default();
        // White space at the end may be in a string that goes on.
        mender.push(odd.text.get(rest.start..).unwrap_or_default());
        if mender.state() == State::Closed && odd.mended(&mender, rest.clone(), keeps) {
            return Ok(odd.parts);
        }
        if let Some((lines, end)) =
            self.join(&mut mender, odd.text.get(rest.clone()), line, keeps)?
        {
            let source = odd.offset + len64(rest.start)..end;
            let detail = format!("{} lines were one object, broken by newlines", lines + 1);
            let mut mended = vec![(FixKind::LinesJoined, detail)];
            escaped(&mender, &mut mended);
            odd.parts.push(Part::Object {
                text: lossy(mender.text()).into_owned().into_bytes(),
                line: None,
                source,
                is_recovered: true,
                mended,
            });
            self.ahead.drain(..lines);
            self.before += len64(lines);
            return Ok(odd.parts);
        }
        odd.lose(rest, line.terminated);
        Ok(odd.parts)
    }

    /// Goes on with the lines that follow until an object is whole: how many it took, and where it
    /// ends in the source. The lines stay ahead.
    fn join(
        &mut self,
        mender: &mut Mender,
        start: Option<&[u8]>,
        line: Line,
        keeps: Keeps,
    ) -> Result<Option<(usize, u64)>> {
        let is_start = start.is_some_and(|text| text.first() == Some(&b'{'));
        let allowed = line.offset.saturating_mul(WORTH).saturating_add(FREE);
        if !is_start
            || mender.state() != State::Open
            || !line.terminated
            || (self.limited && self.spent > allowed)
        {
            return Ok(None);
        }
        self.attempts += 1;
        let mut seen = line.len;
        for taken in 0..MOST_LINES {
            if self.ahead.len() == taken {
                let Some((line, bytes)) = self.lines.next()? else {
                    break;
                };
                let bytes = bytes.to_vec();
                self.ahead.push_back(Held { line, bytes });
            }
            let Some(next) = self.ahead.get(taken) else {
                break;
            };
            seen = seen.saturating_add(next.bytes.len() + 1);
            if seen > MOST_BYTES || stands_alone(&next.bytes, keeps) {
                break;
            }
            mender.newline();
            mender.push(&next.bytes);
            match mender.state() {
                State::Open => {}
                State::Failed => break,
                State::Closed => {
                    let is_kept =
                        Grammar::parse(mender.text()).is_ok_and(|document| keeps.object(&document));
                    if is_kept {
                        let end = next.line.offset + len64(next.line.len);
                        return Ok(Some((taken + 1, end)));
                    }
                    break;
                }
            }
        }
        self.spent += len64(seen);
        Ok(None)
    }
}

/// Whether a line is an object that is kept, and so no part of another.
fn stands_alone(bytes: &[u8], keeps: Keeps) -> bool {
    let text = bytes.get(trim(bytes)).unwrap_or_default();
    text.first() == Some(&b'{')
        && text.last() == Some(&b'}')
        && Grammar::parse(text).is_ok_and(|document| keeps.object(&document))
}

pub(super) fn len64(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
