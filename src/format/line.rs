//! One line in the making, and the check of it before it is written. Knows no files and no other
//! lines.

use super::expect::{DEEPEST, Expected, Said, Step, bad, refused};
use super::write::Envelope;
use crate::error::Result;
use crate::json::{Document, Grammar, Room};

/// A line in the making, in buffers that are used again for the next one.
#[derive(Default)]
pub(crate) struct Line {
    bytes: Vec<u8>,
    room: Room,
}

/// Buffers grown beyond this by one line are given back.
const KEPT: usize = 1 << 20;

impl Line {
    /// The line with its newline.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The object of the line.
    pub(crate) fn object(&self) -> &[u8] {
        self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes)
    }

    pub(super) fn start(&mut self) {
        if self.bytes.capacity() > KEPT {
            *self = Self::default();
        }
        self.bytes.clear();
    }

    pub(super) fn end(&mut self) {
        self.bytes.push(b'\n');
    }

    pub(super) fn raw(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// A key as it stands, and a text as a JSON string.
    pub(super) fn text(&mut self, key: &str, text: &str) {
        self.raw(key);
        if is_plain(text.as_bytes()) {
            self.bytes.push(b'"');
            self.raw(text);
            self.bytes.push(b'"');
        } else {
            // Writing to a vector does not fail.
            let _ = serde_json::to_writer(&mut self.bytes, text);
        }
    }

    pub(super) fn nullable(&mut self, key: &str, text: Option<&str>) {
        match text {
            Some(text) => self.text(key, text),
            None => {
                self.raw(key);
                self.raw("null");
            }
        }
    }

    pub(super) fn number(&mut self, number: u64) {
        // Writing to a vector does not fail.
        let _ = serde_json::to_writer(&mut self.bytes, &number);
    }

    pub(super) fn numbered(&mut self, envelope: &Envelope<'_>) {
        self.raw(",\"seq\":");
        self.number(envelope.seq);
        self.raw(",\"timestamp\":");
        self.number(envelope.nanos / 1_000_000);
        self.raw("}");
    }

    /// Fields of the caller's, with the comma before them.
    pub(super) fn fields(&mut self, fields: &str) {
        if !fields.is_empty() {
            self.raw(",");
            self.raw(fields);
        }
    }

    /// Checks that the line says what it should. Of what the store gave it nothing need be asked: the
    /// caller's object is looked at, which has so many levels above it in the line.
    pub(super) fn check(
        &mut self,
        expected: &Expected<'_>,
        own: &str,
        levels_above: usize,
    ) -> Result<Said> {
        if let Ok(document) = Grammar::parse_in(own.as_bytes(), std::mem::take(&mut self.room)) {
            let is_met =
                document.depth() + levels_above <= DEEPEST && expected.is_met_by(document.root());
            self.room = document.into_room();
            if is_met {
                return Ok((Step::Other, None));
            }
        }
        // Something is wrong, or stands where it may just as well stand: the line itself tells.
        self.check_whole(expected)
            .map_err(|error| refused(own, error))
    }

    /// Parses the object of the line and compares it with what it should say.
    pub(super) fn check_whole(&self, expected: &Expected<'_>) -> Result<Said> {
        let document = Grammar::parse(self.object()).map_err(|syntax| {
            bad(&format!(
                "expected the fields to be a JSON object, found something that is none: with the store's own \
                 fields the line should have {} at byte {}",
                syntax.expected, syntax.at
            ))
        })?;
        if document.depth() > DEEPEST {
            return Err(bad(&format!(
                "expected at most {DEEPEST} levels of nesting, found {}",
                document.depth()
            )));
        }
        expected.at(document.root())
    }
}

/// Whether a text stands between quotes as it is: it has no quotes, backslashes and control
/// characters. Eight bytes at a time: ids are short, and each line has three of them.
fn is_plain(text: &[u8]) -> bool {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGHS: u64 = u64::from_le_bytes([0x80; 8]);
    // The high bit of each byte that is below a limit of at most 0x80, and maybe of some behind one.
    let below = |word: u64, limit: u8| {
        word.wrapping_sub(ONES.wrapping_mul(u64::from(limit))) & !word & HIGHS
    };
    let is_plain = |word: u64| {
        let quote = word ^ ONES.wrapping_mul(u64::from(b'"'));
        let escape = word ^ ONES.wrapping_mul(u64::from(b'\\'));
        below(word, b' ') | below(quote, 1) | below(escape, 1) == 0
    };
    let (words, rest) = text.as_chunks::<8>();
    let mut last = [b' '; 8];
    for (place, byte) in last.iter_mut().zip(rest) {
        *place = *byte;
    }
    words.iter().all(|&word| is_plain(u64::from_le_bytes(word)))
        && is_plain(u64::from_le_bytes(last))
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn a_text_is_plain_without_quotes_backslashes_and_control_characters() {
        for len in 0..20 {
            for at in 0..len {
                for byte in 0..=u8::MAX {
                    let mut text = vec![0x7F; len];
                    text[at] = byte;
                    let expected = byte >= b' ' && byte != b'"' && byte != b'\\';
                    assert_eq!(is_plain(&text), expected, "{byte} at {at} of {len}");
                }
            }
        }
        assert!(is_plain(b"\xFF\x80 !#[]\x7F~"));
    }
}
