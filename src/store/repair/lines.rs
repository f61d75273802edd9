//! The lines of a source one after the other, each as the objects that it holds: what reading keeps,
//! and what can be recovered beside. Knows no other lines than those that an object is broken over.

use std::collections::VecDeque;
use std::ops::Range;

use super::join::{Mender, State};
use super::report::{FixKind, Place};
use crate::error::Result;
use crate::format::{by_shape, claims_header, interpret};
use crate::json::{Document, Grammar, Json, is_space, lossy, trim};
use crate::log::{Line, Lines, LogFile, last_object};
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
    fn object(self, document: &Grammar<'_>) -> bool {
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

/// A part of a line that was looked at closely.
enum Part {
    Object {
        text: Vec<u8>,
        /// Whether it stands alone on its line, with white space around it.
        line: Option<Vec<u8>>,
        source: Range<u64>,
        is_recovered: bool,
        mended: Vec<(FixKind, String)>,
    },
    Lost(Range<u64>, FixKind, String),
    Note(FixKind, String),
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

/// A line in pieces.
struct Odd<'l> {
    /// The line, less a byte order mark, and where it starts in the source.
    text: &'l [u8],
    offset: u64,
    parts: Vec<Part>,
}

impl Odd<'_> {
    fn note(&mut self, kind: FixKind, detail: String) {
        self.parts.push(Part::Note(kind, detail));
    }

    fn source(&self, range: &Range<usize>) -> Range<u64> {
        self.offset + len64(range.start)..self.offset + len64(range.end)
    }

    /// Takes the objects that the line begins with; gives what follows them and is none.
    fn objects(&mut self, keeps: Keeps) -> Option<Range<usize>> {
        let text = self.text;
        let mut found: Vec<Range<usize>> = Vec::new();
        let mut nuls = 0usize;
        let mut at = 0;
        let mut is_all = true;
        while let Some(&byte) = text.get(at) {
            if byte == 0 || is_space(byte) {
                nuls += usize::from(byte == 0);
                at += 1;
                continue;
            }
            match Grammar::parse_prefix(text.get(at..).unwrap_or_default()) {
                Ok(document) if document.root().is_object() => {
                    found.push(at..at + document.end());
                    at += document.end();
                }
                _ => {
                    is_all = false;
                    break;
                }
            }
        }
        if !is_all {
            // Beside what is no object only those count that the format keeps.
            let kept = found
                .iter()
                .take_while(|range| {
                    let object = text.get((*range).clone()).unwrap_or_default();
                    Grammar::parse(object).is_ok_and(|document| keeps.object(&document))
                })
                .count();
            if let Some(first) = found.get(kept) {
                at = first.start;
            }
            found.truncate(kept);
            nuls = text
                .get(..at)
                .map_or(0, |before| before.iter().filter(|&&byte| byte == 0).count());
        }
        if nuls > 0 {
            self.note(
                FixKind::NulsRemoved,
                format!("{nuls} NUL bytes were left out"),
            );
        }
        if found.len() > 1 {
            let objects = found.len();
            let detail = format!("{objects} objects stood on one line");
            self.note(FixKind::ObjectsParted, detail);
        }
        let alone = is_all && found.len() == 1 && nuls == 0;
        for range in found {
            let line = alone.then(|| text.to_vec());
            self.object(range, line, !is_all);
        }
        let end = text
            .iter()
            .rposition(|&byte| byte != 0 && !is_space(byte))
            .map_or(0, |last| last + 1);
        (!is_all).then_some(at..end)
    }

    /// Takes an object as it stands, but for bytes that are not UTF-8.
    fn object(&mut self, range: Range<usize>, line: Option<Vec<u8>>, is_recovered: bool) {
        let mut mended = Vec::new();
        let source = self.source(&range);
        let text = self.text.get(range).unwrap_or_default();
        let valid = lossy(text);
        let is_valid = valid.as_bytes() == text;
        if !is_valid {
            let detail = "bytes that are not UTF-8 became U+FFFD";
            mended.push((FixKind::Utf8Replaced, detail.to_owned()));
        }
        self.parts.push(Part::Object {
            text: valid.into_owned().into_bytes(),
            line: line.filter(|_| is_valid),
            source,
            is_recovered,
            mended,
        });
    }

    /// Takes the object that a range ends with, behind a torn one. False if there is none.
    fn suffix(&mut self, rest: Range<usize>, keeps: Keeps) -> bool {
        let text = self.text.get(rest.clone()).unwrap_or_default();
        let Some(start) = last_object(text) else {
            return false;
        };
        let is_kept = Grammar::parse(text.get(start..).unwrap_or_default())
            .is_ok_and(|document| keeps.object(&document));
        if !is_kept {
            return false;
        }
        let torn = rest.start..rest.start + start;
        let lost = Part::Lost(
            self.source(&torn),
            FixKind::PrefixDropped,
            format!("{start} bytes of a torn object stood before a whole one"),
        );
        self.parts.push(lost);
        self.object(torn.end..rest.end, None, false);
        true
    }

    /// Takes an object that only control characters in strings have broken. False if it is none.
    fn mended(&mut self, mender: &Mender, rest: Range<usize>, keeps: Keeps) -> bool {
        let text = mender.text();
        if !Grammar::parse(text).is_ok_and(|document| keeps.object(&document)) {
            return false;
        }
        let mut mended = Vec::new();
        escaped(mender, &mut mended);
        self.parts.push(Part::Object {
            text: lossy(text).into_owned().into_bytes(),
            line: None,
            source: self.source(&rest),
            is_recovered: true,
            mended,
        });
        true
    }

    fn lose(&mut self, rest: Range<usize>, terminated: bool) {
        let text = self.text.get(rest.clone()).unwrap_or_default();
        let (kind, detail) = match Grammar::parse(text) {
            Ok(_) => (
                FixKind::LineDropped,
                "a JSON value that is no object".to_owned(),
            ),
            Err(failure) => {
                let (expected, at) = (failure.expected, rest.start + failure.at);
                if terminated {
                    let detail = format!("no JSON: expected {expected} at byte {at} of the line");
                    (FixKind::LineDropped, detail)
                } else {
                    let detail =
                        format!("the last line is not finished: expected {expected} at byte {at}");
                    (FixKind::TailDropped, detail)
                }
            }
        };
        let source = self.source(&rest);
        let before = self.parts.iter().rev().find_map(|part| match part {
            Part::Object { source, .. } => Some(source.start),
            _ => None,
        });
        self.parts.push(match before {
            // The object is kept beside the copy too: perhaps it is only the beginning of what it was.
            Some(start) => {
                let detail = "text stood behind a whole object".to_owned();
                Part::Lost(start..source.end, FixKind::RestDropped, detail)
            }
            None => Part::Lost(source, kind, detail),
        });
    }
}

/// What a mender did beside bridging newlines.
fn escaped(mender: &Mender, mended: &mut Vec<(FixKind, String)>) {
    if mender.controls > 0 {
        let detail = format!("{} control characters became escapes", mender.controls);
        mended.push((FixKind::ControlsEscaped, detail));
    }
    if mender.nuls > 0 {
        let detail = format!("{} NUL bytes were left out", mender.nuls);
        mended.push((FixKind::NulsRemoved, detail));
    }
    if simdutf8::basic::from_utf8(mender.text()).is_err() {
        let detail = "bytes that are not UTF-8 became U+FFFD";
        mended.push((FixKind::Utf8Replaced, detail.to_owned()));
    }
}

fn len64(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
