//! Puts an object together that was broken by raw control characters: those in strings become
//! escapes, newlines that cut it are bridged. Only collects text; the grammar has the last word.

use std::ops::Range;

/// How far a text that is put together has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// More is needed: a string or a bracket is open.
    Open,
    /// The first bracket is closed.
    Closed,
    /// Something follows the object.
    Failed,
}

/// The fields of an object whose texts have no line breaks: what formats call things.
const NAMES: [&[u8]; 14] = [
    b"kind",
    b"type",
    b"id",
    b"parent_id",
    b"parentId",
    b"timestamp",
    b"lane",
    b"fact",
    b"leafId",
    b"targetId",
    b"runId",
    b"firstKeptEntryId",
    b"customType",
    b"cwd",
];

/// A text in the making.
#[derive(Debug, Default)]
pub(super) struct Mender {
    text: Vec<u8>,
    in_string: bool,
    /// Bytes that an escape still wants.
    escape: u8,
    /// The brackets that are open, true for braces.
    open: Vec<bool>,
    /// Whether a string is the key of a field.
    is_key: bool,
    /// Whether the next string is one.
    wants_key: bool,
    /// The key that was read last among those of the outermost object, and where it starts.
    key: Range<usize>,
    closed: bool,
    failed: bool,
    /// Control characters that became escapes.
    pub(super) controls: usize,
    /// NUL bytes that were left out.
    pub(super) nuls: usize,
}

impl Mender {
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    pub(super) fn state(&self) -> State {
        if self.failed {
            State::Failed
        } else if self.closed {
            State::Closed
        } else {
            State::Open
        }
    }

    /// Goes on with the bytes of a line.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if byte == 0 {
                self.nuls += 1;
            } else if self.in_string {
                self.in_string(byte);
            } else if self.closed {
                self.failed |= !crate::json::is_space(byte);
                if self.failed {
                    return;
                }
            } else {
                self.between(byte);
            }
        }
    }

    /// Goes over a newline that stands where none can. In the text of a string it was meant; in a name,
    /// in the middle of an escape or between tokens it was not.
    pub(super) fn newline(&mut self) {
        let key = self.text.get(self.key.clone()).unwrap_or_default();
        let is_name = self.is_key || (self.open.len() == 1 && NAMES.contains(&key));
        if self.in_string && self.escape == 0 && !is_name {
            self.text.extend_from_slice(b"\\n");
        }
    }

    fn in_string(&mut self, byte: u8) {
        if self.escape > 0 {
            // Of the escapes only `\u` has more than one letter: four digits.
            let starts_digits = self.escape == 1 && byte == b'u';
            self.escape = if starts_digits { 5 } else { self.escape - 1 };
            if self.escape == 1 {
                self.escape = 0;
            }
            self.text.push(byte);
            return;
        }
        match byte {
            b'\\' => {
                self.escape = 1;
                self.text.push(byte);
            }
            b'"' => {
                self.in_string = false;
                if self.is_key && self.open.len() == 1 {
                    self.key.end = self.text.len();
                }
                self.is_key = false;
                self.text.push(byte);
            }
            0x00..0x20 => {
                self.controls += 1;
                let escape = match byte {
                    b'\t' => "\\t".to_owned(),
                    b'\r' => "\\r".to_owned(),
                    0x08 => "\\b".to_owned(),
                    0x0C => "\\f".to_owned(),
                    _ => format!("\\u{byte:04x}"),
                };
                self.text.extend_from_slice(escape.as_bytes());
            }
            _ => self.text.push(byte),
        }
    }

    fn between(&mut self, byte: u8) {
        self.text.push(byte);
        match byte {
            b'"' => {
                self.in_string = true;
                self.is_key = self.wants_key;
                if self.is_key && self.open.len() == 1 {
                    self.key = self.text.len()..self.text.len();
                }
            }
            b'{' | b'[' => self.open.push(byte == b'{'),
            b'}' | b']' => {
                self.open.pop();
                self.closed = self.open.is_empty();
            }
            _ => {}
        }
        let in_object = self.open.last() == Some(&true);
        self.wants_key = match byte {
            b'{' => true,
            b',' => in_object,
            byte if crate::json::is_space(byte) => self.wants_key,
            _ => false,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::{Mender, State};

    fn mended(lines: &[&[u8]]) -> (State, String) {
        let mut mender = Mender::default();
        for (number, line) in lines.iter().enumerate() {
            if number > 0 {
                mender.newline();
            }
            mender.push(line);
        }
        let text = String::from_utf8(mender.text().to_vec()).unwrap();
        (mender.state(), text)
    }

    #[test]
    fn newlines_in_strings_become_escapes_and_others_vanish() {
        for (lines, text) in [
            (&[&b"{\"a\":\"x"[..], b"y\"}"][..], r#"{"a":"x\ny"}"#),
            (&[b"{\"a\":\"x\r", b"", b"y\"}\r"], r#"{"a":"x\r\n\ny"}"#),
            (&[b"{\"a\":1", b"2}"], r#"{"a":12}"#),
            (&[b"{\"a\":", b" [1,", b"{}]}"], r#"{"a": [1,{}]}"#),
            (&[b"{\"a\":\"x\\", b"ny\"}"], r#"{"a":"x\ny"}"#),
            (&[b"{\"a\":\"\\u00", b"e9\"}"], r#"{"a":"\u00e9"}"#),
            (&[b"{\"a\":\"\\u00e9", b"z\"}"], r#"{"a":"\u00e9\nz"}"#),
            (
                &[b"{\"a", b"b\":1,\"c", b"\":[\"x", b"\"]}"],
                r#"{"ab":1,"c":["x\n"]}"#,
            ),
            (
                &[b"{\"id\":\"x", b"y\",\"n\":{\"id\":\"x", b"y\"}}"],
                r#"{"id":"xy","n":{"id":"x\ny"}}"#,
            ),
        ] {
            assert_eq!(mended(lines), (State::Closed, text.to_owned()));
        }
    }

    #[test]
    fn control_characters_in_strings_become_escapes_and_nuls_vanish() {
        let (state, text) = mended(&[b"{\"a\tb\":\"\x01\0\x08\x0c\x7f\"\t\0}"]);
        assert_eq!(state, State::Closed);
        assert_eq!(text, "{\"a\\tb\":\"\\u0001\\b\\f\x7f\"\t}");
    }

    #[test]
    fn what_follows_the_object_fails() {
        assert_eq!(mended(&[b"{} x"]).0, State::Failed);
        assert_eq!(mended(&[b"{} \0\r"]).0, State::Closed);
        assert_eq!(mended(&[b"{\"a\":\"}"]).0, State::Open);
    }
}
