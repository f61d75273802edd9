//! RFC 8259 to the letter, iteratively, with the place of every value. The second opinion on lines
//! that the scanner refuses, and the reader of single lines. Accepts any depth, any number, any
//! `\uXXXX`, and bytes of 0x80 and above inside strings (noting whether they are UTF-8).

use std::ops::Range;

use super::Document;
use super::tree::{Item, Kind, Node};

/// Where and why a text is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Syntax {
    /// Byte offset in the text.
    pub(crate) at: usize,
    /// What was expected there.
    pub(crate) expected: &'static str,
}

/// As many values are kept room for.
const KEPT: usize = 1 << 14;

/// Lists that a document is made in, to be used again for the next one.
#[derive(Debug, Default)]
pub(crate) struct Room {
    items: Vec<Item>,
    open: Vec<usize>,
}

/// A parsed text. Nodes stand in document order; an object's keys and values alternate.
#[derive(Debug)]
pub(crate) struct Grammar<'t> {
    text: &'t [u8],
    room: Room,
    end: usize,
    utf8: bool,
    depth: usize,
}

/// What may come next while the text is walked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    ValueOrClose,
    Key,
    KeyOrClose,
    CommaOrClose,
}

impl<'t> Grammar<'t> {
    /// Parses a text that is one value with nothing but white space around it.
    pub(crate) fn parse(text: &'t [u8]) -> Result<Self, Syntax> {
        Self::parse_in(text, Room::default())
    }

    /// The same in lists of an earlier document.
    pub(crate) fn parse_in(text: &'t [u8], room: Room) -> Result<Self, Syntax> {
        let document = Self::parse_prefix_in(text, room)?;
        let after = document.end;
        match text
            .get(after..)
            .unwrap_or_default()
            .iter()
            .position(|&b| !space(b))
        {
            None => Ok(document),
            Some(more) => Err(Syntax {
                at: after + more,
                expected: "the end of the line",
            }),
        }
    }

    /// Parses the value at the start of a text; [`end`](Self::end) says where it stops.
    pub(crate) fn parse_prefix(text: &'t [u8]) -> Result<Self, Syntax> {
        Self::parse_prefix_in(text, Room::default())
    }

    fn parse_prefix_in(text: &'t [u8], room: Room) -> Result<Self, Syntax> {
        let Room {
            mut items,
            mut open,
        } = room;
        items.clear();
        open.clear();
        let mut depth = 0;
        let mut expect = Expect::Value;
        let mut at = 0;
        let mut utf8 = true;
        loop {
            while text.get(at).is_some_and(|&b| space(b)) {
                at += 1;
            }
            let fail = |expected| Syntax { at, expected };
            let byte = *text.get(at).ok_or(fail("more of the value"))?;
            let number = items.len();
            match expect {
                Expect::CommaOrClose => {
                    let container = open.last().and_then(|&o| items.get(o)).map(|i| i.kind);
                    match (byte, container) {
                        (b',', Some(Kind::Object)) => expect = Expect::Key,
                        (b',', Some(_)) => expect = Expect::Value,
                        (b'}', Some(Kind::Object)) | (b']', Some(Kind::Array)) => {
                            close(&mut items, &mut open, at + 1);
                        }
                        (_, Some(Kind::Object)) => return Err(fail("`,` or `}`")),
                        _ => return Err(fail("`,` or `]`")),
                    }
                    at += 1;
                }
                Expect::KeyOrClose if byte == b'}' => {
                    at += 1;
                    close(&mut items, &mut open, at);
                    expect = Expect::CommaOrClose;
                }
                Expect::ValueOrClose if byte == b']' => {
                    at += 1;
                    close(&mut items, &mut open, at);
                    expect = Expect::CommaOrClose;
                }
                Expect::Key | Expect::KeyOrClose => {
                    if byte != b'"' {
                        return Err(fail("a key in quotes"));
                    }
                    let end = string(text, at, &mut utf8)?;
                    items.push(Item::new(Kind::String, at, end));
                    at = end;
                    while text.get(at).is_some_and(|&b| space(b)) {
                        at += 1;
                    }
                    if text.get(at) != Some(&b':') {
                        return Err(Syntax {
                            at,
                            expected: "`:`",
                        });
                    }
                    at += 1;
                    expect = Expect::Value;
                }
                Expect::Value | Expect::ValueOrClose => {
                    let (kind, end) = match byte {
                        b'{' => (Kind::Object, at + 1),
                        b'[' => (Kind::Array, at + 1),
                        b'"' => (Kind::String, string(text, at, &mut utf8)?),
                        b't' => (Kind::True, literal(text, at, b"true")?),
                        b'f' => (Kind::False, literal(text, at, b"false")?),
                        b'n' => (Kind::Null, literal(text, at, b"null")?),
                        b'-' | b'0'..=b'9' => (Kind::Number, digits(text, at)?),
                        _ => return Err(fail("a value")),
                    };
                    items.push(Item::new(kind, at, end));
                    at = end;
                    expect = match kind {
                        Kind::Object => Expect::KeyOrClose,
                        Kind::Array => Expect::ValueOrClose,
                        _ => Expect::CommaOrClose,
                    };
                    if expect != Expect::CommaOrClose {
                        open.push(number);
                        depth = depth.max(open.len());
                    }
                }
            }
            if open.is_empty() && expect == Expect::CommaOrClose {
                return Ok(Self {
                    text,
                    room: Room { items, open },
                    end: at,
                    utf8,
                    depth,
                });
            }
        }
    }

    /// Where the value ends in the text.
    pub(crate) fn end(&self) -> usize {
        self.end
    }

    /// Whether all its strings are UTF-8.
    pub(crate) fn is_utf8(&self) -> bool {
        self.utf8
    }

    /// The deepest nesting in it; a scalar has depth 0.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Its lists, for the next document; those that a large one made are given back.
    pub(crate) fn into_room(self) -> Room {
        if self.room.items.capacity() > KEPT {
            return Room::default();
        }
        self.room
    }
}

fn space(byte: u8) -> bool {
    super::is_space(byte) || byte == b'\n'
}

fn close(items: &mut [Item], open: &mut Vec<usize>, end: usize) {
    let after = items.len();
    if let Some(number) = open.pop()
        && let Some(item) = items.get_mut(number)
    {
        item.end = end;
        item.size = after - number;
    }
}

/// Strings up to here are looked at byte by byte.
const SHORT: usize = 16;

/// The end of the string whose opening quote stands at `start`.
fn string(text: &[u8], start: usize, utf8: &mut bool) -> Result<usize, Syntax> {
    let mut at = start + 1;
    // Keys are short and plain, and looking for the end of each in large steps would cost more.
    let head = text.get(at..).unwrap_or_default().iter().take(SHORT);
    let is_plain = |&byte: &u8| (b' '..0x80).contains(&byte) && byte != b'"' && byte != b'\\';
    let plain = head.take_while(|byte| is_plain(byte)).count();
    if text.get(at + plain) == Some(&b'"') {
        return Ok(at + plain + 1);
    }
    let mut ascii = true;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let Some(len) = memchr::memchr2(b'"', b'\\', rest) else {
            let at = text.len();
            return Err(Syntax {
                at,
                expected: "the closing quote",
            });
        };
        let run = rest.get(..len).unwrap_or_default();
        ascii &= run.is_ascii();
        // Looking for the smallest byte needs no branches, so it is done many bytes at a time.
        if run.iter().fold(u8::MAX, |least, &byte| least.min(byte)) < 0x20 {
            let control = run.iter().position(|&byte| byte < 0x20).unwrap_or(0);
            return Err(Syntax {
                at: at + control,
                expected: "no control character in a string",
            });
        }
        at += len;
        if text.get(at) == Some(&b'"') {
            break;
        }
        at += 1;
        match text.get(at) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => at += 1,
            Some(b'u') => {
                let hex = text.get(at + 1..at + 5).unwrap_or_default();
                if hex.len() != 4 || !hex.iter().all(u8::is_ascii_hexdigit) {
                    return Err(Syntax {
                        at,
                        expected: "four hexadecimal digits",
                    });
                }
                at += 5;
            }
            _ => {
                return Err(Syntax {
                    at,
                    expected: "an escape",
                });
            }
        }
    }
    if !ascii && *utf8 {
        *utf8 = text
            .get(start..at)
            .is_some_and(|s| simdutf8::basic::from_utf8(s).is_ok());
    }
    Ok(at + 1)
}

pub(super) fn literal(text: &[u8], at: usize, word: &'static [u8]) -> Result<usize, Syntax> {
    match text.get(at..at + word.len()) {
        Some(found) if found == word => Ok(at + word.len()),
        _ => Err(Syntax {
            at,
            expected: "a value",
        }),
    }
}

/// The end of the number that starts at `start`.
pub(super) fn digits(text: &[u8], start: usize) -> Result<usize, Syntax> {
    let run = |from: usize| {
        text.get(from..)
            .unwrap_or_default()
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    let need = |from: usize| match run(from) {
        0 => Err(Syntax {
            at: from,
            expected: "a digit",
        }),
        count => Ok(from + count),
    };
    let mut at = start + usize::from(text.get(start) == Some(&b'-'));
    at = if text.get(at) == Some(&b'0') {
        at + 1
    } else {
        need(at)?
    };
    if text.get(at) == Some(&b'.') {
        at = need(at + 1)?;
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        at += 1;
        at += usize::from(matches!(text.get(at), Some(b'+' | b'-')));
        at = need(at)?;
    }
    Ok(at)
}

impl Document for Grammar<'_> {
    type Value<'d>
        = Node<'d>
    where
        Self: 'd;

    fn root(&self) -> Node<'_> {
        Node::root(self.text, &self.room.items)
    }

    fn span(&self, key: &str) -> Option<Range<usize>> {
        self.root().span_of(key)
    }
}

#[cfg(test)]
#[path = "grammar_tests.rs"]
pub(in crate::json) mod tests;
