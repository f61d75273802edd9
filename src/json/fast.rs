//! simd-json over reused buffers: a parser by others, for tests and fuzzing to compare ours with. Parses a
//! line in place, so the line's bytes are gone afterwards; places come from simd-json's list of
//! structural characters.

use std::borrow::Cow;
use std::ops::Range;

use simd_json::value::tape::Node as TapeNode;
use simd_json::{Buffers, StaticNode, Tape};

use super::{Document, Json, Number};

/// How many bytes must follow a line in its buffer; what they are does not matter.
pub(crate) const PADDING: usize = simd_json::INPUT_PADDING;

/// Lines longer than this go to the grammar: simd-json counts bytes in 32 bits.
const LONGEST: usize = 1 << 30;

/// Buffers kept from line to line are given back when a line made them larger than this.
const KEPT: usize = 1 << 24;

/// A parser with its buffers.
pub(crate) struct FastParser {
    buffers: Buffers,
    tape: Tape<'static>,
    largest: usize,
}

impl FastParser {
    pub(crate) fn new() -> Self {
        Self {
            buffers: Buffers::new(1 << 12),
            tape: Tape::null(),
            largest: 0,
        }
    }

    /// Parses `buffer[..len]`, with [`PADDING`] bytes behind it, and hands the document to `read`.
    /// None if simd-json refuses the line, which does not mean that it is no JSON.
    pub(crate) fn parse<R>(
        &mut self,
        buffer: &mut [u8],
        len: usize,
        read: impl FnOnce(&FastDocument<'_>) -> R,
    ) -> Option<R> {
        if len > LONGEST || buffer.len() < len + PADDING {
            return None;
        }
        if self.largest > KEPT {
            *self = Self::new();
        }
        self.largest = self.largest.max(len);
        let base = buffer.as_ptr().addr();
        let mut tape = std::mem::replace(&mut self.tape, Tape(Vec::new())).reset();
        let result =
            if simd_json::fill_tape_padded(buffer, len, &mut self.buffers, &mut tape).is_ok() {
                Some(read(&FastDocument {
                    nodes: &tape.0,
                    structure: self.buffers.structural_indexes(),
                    base,
                    len,
                }))
            } else {
                None
            };
        self.tape = tape.reset();
        result
    }
}

/// A line that simd-json accepted.
pub(crate) struct FastDocument<'d> {
    nodes: &'d [TapeNode<'d>],
    structure: &'d [u32],
    base: usize,
    len: usize,
}

impl FastDocument<'_> {
    /// The number, in the list of structural characters, of the quote that opens a key. Its text
    /// starts right behind it, wherever simd-json unescaped it.
    fn number_of_key(&self, key: &str) -> Option<usize> {
        let quote = key.as_ptr().addr().checked_sub(self.base)?.checked_sub(1)?;
        let wanted = u32::try_from(quote).ok()?;
        // Top-level keys stand near one end of the list: search from there in growing steps.
        let list = self.structure;
        let count = list.len();
        let mut step = 8;
        let (low, high) = if quote < self.len / 2 {
            while step < count && list.get(step).is_some_and(|&at| at < wanted) {
                step *= 4;
            }
            (0, count.min(step + 1))
        } else {
            while step < count && list.get(count - step).is_some_and(|&at| at > wanted) {
                step *= 4;
            }
            (count.saturating_sub(step), count)
        };
        let part = list.get(low..high)?;
        part.binary_search(&wanted).ok().map(|number| low + number)
    }

    /// The structural character at a place in the list.
    fn structural(&self, number: usize) -> Option<usize> {
        usize::try_from(*self.structure.get(number)?).ok()
    }
}

impl<'a> Document for FastDocument<'a> {
    type Value<'d>
        = FastValue<'d>
    where
        Self: 'd;

    fn root(&self) -> FastValue<'_> {
        FastValue(self.nodes)
    }

    fn span(&self, key: &str) -> Option<Range<usize>> {
        let mut found = None;
        for (name, value) in FastValue(self.nodes).members() {
            if name == key {
                found = Some((name, value));
            }
        }
        let (name, value) = found?;
        // Behind the key's quote come the colon and the first character of the value.
        let start = self.structural(self.number_of_key(name)? + 2)?;
        let end = match value.after() {
            // The next key's quote is one behind the comma that ends the value.
            Some(TapeNode::String(next)) => {
                self.structural(self.number_of_key(next)?.checked_sub(1)?)?
            }
            _ => self.structural(self.structure.len().checked_sub(1)?)?,
        };
        (start < end && end < self.len).then_some(start..end)
    }
}

/// A value of a simd-json tape: its node, what it holds, and all nodes behind.
#[derive(Clone, Copy)]
pub(crate) struct FastValue<'d>(&'d [TapeNode<'d>]);

impl<'d> FastValue<'d> {
    /// How many nodes the value takes.
    fn size(self) -> usize {
        match self.0.first() {
            Some(TapeNode::Object { count, .. } | TapeNode::Array { count, .. }) => count + 1,
            Some(_) => 1,
            None => 0,
        }
    }

    /// The node behind the value, if the document goes on there.
    fn after(self) -> Option<&'d TapeNode<'d>> {
        self.0.get(self.size())
    }

    fn members(self) -> impl Iterator<Item = (&'d str, Self)> {
        let (mut left, mut rest) = match self.0 {
            [TapeNode::Object { len, .. }, rest @ ..] => (*len, rest),
            _ => (0, [].as_slice()),
        };
        std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let [TapeNode::String(key), value @ ..] = rest else {
                return None;
            };
            let value = FastValue(value);
            rest = value.0.get(value.size()..)?;
            Some((*key, value))
        })
    }
}

impl<'d> Json<'d> for FastValue<'d> {
    fn text(self) -> Option<Cow<'d, str>> {
        match self.0.first() {
            Some(TapeNode::String(text)) => Some(Cow::Borrowed(text)),
            _ => None,
        }
    }

    fn place(self) -> Option<Range<usize>> {
        None
    }

    fn is_text(self) -> bool {
        matches!(self.0, [TapeNode::String(_), ..])
    }

    fn number(self) -> Option<Number> {
        match self.0.first() {
            Some(TapeNode::Static(StaticNode::I64(number))) => Some(Number::Whole(*number)),
            #[expect(
                clippy::cast_precision_loss,
                reason = "larger than any whole number in use"
            )]
            Some(TapeNode::Static(StaticNode::U64(number))) => {
                Some(i64::try_from(*number).map_or(Number::Real(*number as f64), Number::Whole))
            }
            Some(TapeNode::Static(StaticNode::F64(number))) => Some(Number::Real(*number)),
            _ => None,
        }
    }

    fn boolean(self) -> Option<bool> {
        match self.0.first() {
            Some(TapeNode::Static(StaticNode::Bool(truth))) => Some(*truth),
            _ => None,
        }
    }

    fn is_null(self) -> bool {
        matches!(self.0.first(), Some(TapeNode::Static(StaticNode::Null)))
    }

    fn is_object(self) -> bool {
        matches!(self.0.first(), Some(TapeNode::Object { .. }))
    }

    fn is_array(self) -> bool {
        matches!(self.0.first(), Some(TapeNode::Array { .. }))
    }

    fn fields(self) -> impl Iterator<Item = (Cow<'d, [u8]>, Self)> {
        self.members()
            .map(|(key, value)| (Cow::Borrowed(key.as_bytes()), value))
    }

    fn items(self) -> impl Iterator<Item = Self> {
        let (mut left, mut rest) = match self.0 {
            [TapeNode::Array { len, .. }, rest @ ..] => (*len, rest),
            _ => (0, [].as_slice()),
        };
        std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let value = FastValue(rest);
            rest = rest.get(value.size()..)?;
            Some(value)
        })
    }

    fn field(self, key: &str) -> Option<Self> {
        let mut found = None;
        for (name, value) in self.members() {
            if name == key {
                found = Some(value);
            }
        }
        found
    }
}
