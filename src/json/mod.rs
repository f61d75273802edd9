//! Is this line JSON, and what are its fields? One interface over two exact parsers: `structural`, which
//! every line of a log goes through, and `grammar`, byte by byte, which also says what is wrong with one.
//! Tests and fuzzing compare them with a third, `fast`. Knows nothing of sessions.

#[cfg(any(test, feature = "fuzzing"))]
mod fast;
mod grammar;
mod print;
mod structural;
mod text;
mod tree;

use std::borrow::Cow;
use std::ops::Range;

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use fast::{FastParser, PADDING};
pub(crate) use grammar::{Grammar, Room};
pub(crate) use print::{compact, pretty};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use structural::LEVELS;
pub(crate) use structural::Scanner;
pub(crate) use text::{decode, lossy};
pub(crate) use tree::Node;

/// White space by RFC 8259, less the newline, which cannot stand inside a line.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

/// The range of `bytes` without white space at both ends.
pub(crate) fn trim(bytes: &[u8]) -> Range<usize> {
    let start = bytes.iter().position(|&byte| !is_space(byte));
    let end = bytes.iter().rposition(|&byte| !is_space(byte));
    match (start, end) {
        (Some(start), Some(end)) => start..end + 1,
        _ => 0..0,
    }
}

/// A JSON number as far as sessions need it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    /// A whole number that fits.
    Whole(i64),
    /// Anything else; infinite where it does not fit.
    Real(f64),
}

impl Number {
    /// The number as a float.
    #[expect(clippy::cast_precision_loss, reason = "a float is what was asked for")]
    pub(crate) fn real(self) -> f64 {
        match self {
            Self::Whole(number) => number as f64,
            Self::Real(number) => number,
        }
    }
}

/// A value in a parsed document.
pub(crate) trait Json<'a>: Copy {
    /// The decoded text of a string; none for other values.
    fn text(self) -> Option<Cow<'a, str>>;
    /// Where it stands in the text, if the parser tells.
    fn place(self) -> Option<Range<usize>>;
    /// Whether it is a string.
    fn is_text(self) -> bool;
    /// Whether it is a string of this text, which has no U+FFFD.
    fn says(self, text: &str) -> bool {
        self.text().as_deref() == Some(text)
    }
    /// The number, if it is one.
    fn number(self) -> Option<Number>;
    /// The truth value, if it is one.
    fn boolean(self) -> Option<bool>;
    /// Whether it is `null`.
    fn is_null(self) -> bool;
    /// Whether it is an object.
    fn is_object(self) -> bool;
    /// Whether it is an array.
    fn is_array(self) -> bool;
    /// The decoded keys, as bytes, and values of an object, in order; nothing for other values.
    fn fields(self) -> impl Iterator<Item = (Cow<'a, [u8]>, Self)>;
    /// The elements of an array; nothing for other values.
    fn items(self) -> impl Iterator<Item = Self>;

    /// The value of the last field with this key.
    fn field(self, key: &str) -> Option<Self> {
        let mut found = None;
        for (name, value) in self.fields() {
            if *name == *key.as_bytes() {
                found = Some(value);
            }
        }
        found
    }
}

/// A parsed line: its value, and where the values of its top-level fields stand.
pub(crate) trait Document {
    /// The value type.
    type Value<'d>: Json<'d>
    where
        Self: 'd;
    /// The whole value.
    fn root(&self) -> Self::Value<'_>;
    /// The byte range, in the line, of the value of the last top-level field with this key.
    /// White space behind the value may be included.
    fn span(&self, key: &str) -> Option<Range<usize>>;
}
