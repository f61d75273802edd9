//! A line that is not simply one object, in parts: the objects that it holds, what had to be mended for
//! them, and what is left. Sees one line; `lines` joins it with others.

use std::ops::Range;

use super::join::Mender;
use super::lines::{Keeps, len64};
use super::report::FixKind;
use crate::json::{Document, Grammar, Json, is_space, lossy};
use crate::log::last_object;

/// A part of a line that was looked at closely.
pub(super) enum Part {
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

/// A line in pieces.
pub(super) struct Odd<'l> {
    /// The line, less a byte order mark, and where it starts in the source.
    pub(super) text: &'l [u8],
    pub(super) offset: u64,
    pub(super) parts: Vec<Part>,
}

impl Odd<'_> {
    pub(super) fn note(&mut self, kind: FixKind, detail: String) {
        self.parts.push(Part::Note(kind, detail));
    }

    fn source(&self, range: &Range<usize>) -> Range<u64> {
        self.offset + len64(range.start)..self.offset + len64(range.end)
    }

    /// Takes the objects that the line begins with; gives what follows them and is none.
    pub(super) fn objects(&mut self, keeps: Keeps) -> Option<Range<usize>> {
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
    pub(super) fn suffix(&mut self, rest: Range<usize>, keeps: Keeps) -> bool {
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
    pub(super) fn mended(&mut self, mender: &Mender, rest: Range<usize>, keeps: Keeps) -> bool {
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

    pub(super) fn lose(&mut self, rest: Range<usize>, terminated: bool) {
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
        // White space around it may be a part of a text that was broken there.
        let (head, tail) = (self.text.get(..rest.start), self.text.get(rest.end..));
        let head = head.unwrap_or_default().iter().rev();
        let before = head.take_while(|&&byte| is_space(byte)).count();
        let behind = tail.unwrap_or_default().iter();
        let behind = behind.take_while(|&&byte| is_space(byte)).count();
        let source = self.source(&(rest.start - before..rest.end + behind));
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
pub(super) fn escaped(mender: &Mender, mended: &mut Vec<(FixKind, String)>) {
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
