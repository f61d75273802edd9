//! The values of a text as a list in document order, each with its place. What the two parsers that
//! leave a line as it is make of it, and how it is walked.

use std::borrow::Cow;
use std::ops::Range;

use super::{Json, Number, decode};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Object,
    Array,
    String,
    Number,
    True,
    False,
    Null,
}

/// A value: what it is, where it stands, and how many items it takes with all that it holds. An
/// object's keys and values alternate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) size: usize,
}

impl Item {
    /// A value that holds nothing yet.
    pub(super) fn new(kind: Kind, start: usize, end: usize) -> Self {
        Self {
            kind,
            start,
            end,
            size: 1,
        }
    }
}

/// A value in a parsed text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node<'d> {
    text: &'d [u8],
    /// Its item, those of what it holds, and all behind.
    items: &'d [Item],
}

impl<'d> Node<'d> {
    /// The whole of a text, by its items.
    pub(super) fn root(text: &'d [u8], items: &'d [Item]) -> Self {
        Self { text, items }
    }

    fn kind(self) -> Option<Kind> {
        self.items.first().map(|item| item.kind)
    }

    /// The value as it stands in the text.
    pub(crate) fn raw(self) -> &'d [u8] {
        self.text.get(self.span()).unwrap_or_default()
    }

    /// Where it stands in the text.
    pub(crate) fn span(self) -> Range<usize> {
        self.items.first().map_or(0..0, |item| item.start..item.end)
    }

    /// Where the value of the last field with a key stands in the text.
    pub(super) fn span_of(self, key: &str) -> Option<Range<usize>> {
        self.field(key).map(Node::span)
    }

    /// The keys with their values as nodes, in order.
    pub(crate) fn members(self) -> impl Iterator<Item = (Self, Self)> {
        let mut children = self.children(Kind::Object);
        std::iter::from_fn(move || Some((children.next()?, children.next()?)))
    }

    /// What stands between the quotes of a string.
    fn inner(self) -> Option<&'d [u8]> {
        match (self.kind(), self.raw()) {
            (Some(Kind::String), [b'"', inner @ .., b'"']) => Some(inner),
            _ => None,
        }
    }

    /// The bytes of a string's text.
    fn bytes(self) -> Option<Cow<'d, [u8]>> {
        let inner = self.inner()?;
        Some(if is_plain(inner) {
            Cow::Borrowed(inner)
        } else {
            match decode(inner) {
                Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                Cow::Owned(text) => Cow::Owned(text.into_bytes()),
            }
        })
    }

    fn children(self, kind: Kind) -> impl Iterator<Item = Self> {
        let mut left = match self.items {
            [item, ..] if item.kind == kind => self.items.get(1..item.size).unwrap_or_default(),
            _ => [].as_slice(),
        };
        let text = self.text;
        std::iter::from_fn(move || {
            let size = left.first()?.size;
            let child = Self { text, items: left };
            left = left.get(size..).unwrap_or_default();
            Some(child)
        })
    }
}

impl<'d> Json<'d> for Node<'d> {
    fn text(self) -> Option<Cow<'d, str>> {
        let inner = self.inner()?;
        Some(match std::str::from_utf8(inner) {
            Ok(text) if is_plain(inner) => Cow::Borrowed(text),
            _ => decode(inner),
        })
    }

    fn place(self) -> Option<Range<usize>> {
        Some(self.span())
    }

    fn is_text(self) -> bool {
        self.kind() == Some(Kind::String)
    }

    fn says(self, text: &str) -> bool {
        // Escapes are longer than what they stand for.
        match self.inner() {
            Some(inner) if inner.len() <= text.len() => {
                inner == text.as_bytes() && memchr::memchr(b'\\', inner).is_none()
            }
            Some(inner) => !is_plain(inner) && decode(inner) == text,
            None => false,
        }
    }

    fn number(self) -> Option<Number> {
        if self.kind() != Some(Kind::Number) {
            return None;
        }
        let digits = std::str::from_utf8(self.raw()).ok()?;
        match digits.parse::<i64>() {
            Ok(whole) => Some(Number::Whole(whole)),
            Err(_) => digits.parse::<f64>().ok().map(Number::Real),
        }
    }

    fn boolean(self) -> Option<bool> {
        match self.kind() {
            Some(Kind::True) => Some(true),
            Some(Kind::False) => Some(false),
            _ => None,
        }
    }

    fn is_null(self) -> bool {
        self.kind() == Some(Kind::Null)
    }

    fn is_object(self) -> bool {
        self.kind() == Some(Kind::Object)
    }

    fn is_array(self) -> bool {
        self.kind() == Some(Kind::Array)
    }

    fn fields(self) -> impl Iterator<Item = (Cow<'d, [u8]>, Self)> {
        self.members()
            .map(|(key, value)| (key.bytes().unwrap_or_default(), value))
    }

    fn items(self) -> impl Iterator<Item = Self> {
        self.children(Kind::Array)
    }

    fn field(self, key: &str) -> Option<Self> {
        let named = self.members().filter(|(name, _)| name.says(key));
        named.last().map(|(_, value)| value)
    }
}

/// Whether the bytes between two quotes are those of the text: no escapes, nothing but ASCII. Eight at
/// a time: keys and ids are short, and there are many of them.
fn is_plain(inner: &[u8]) -> bool {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGHS: u64 = u64::from_le_bytes([0x80; 8]);
    const BACKSLASHES: u64 = u64::from_le_bytes([b'\\'; 8]);
    let is_odd = |eight: u64| {
        let others = eight ^ BACKSLASHES;
        (eight | others.wrapping_sub(ONES) & !others) & HIGHS != 0
    };
    let (eights, rest) = inner.as_chunks::<8>();
    let last = match (
        inner.last_chunk::<8>(),
        rest.first_chunk::<4>(),
        rest.last_chunk::<4>(),
    ) {
        // Some bytes twice.
        (Some(last), ..) => u64::from_le_bytes(*last),
        (None, Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last))
        }
        _ => rest
            .iter()
            .fold(0, |bytes, &byte| bytes << 8 | u64::from(byte)),
    };
    let is_odd_eight = |eight: &[u8; 8]| is_odd(u64::from_le_bytes(*eight));
    !is_odd(last) && !eights.iter().any(is_odd_eight)
}
