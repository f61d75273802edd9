//! The structural scan: whether a line is JSON to the letter, and where the values stand that lie close
//! to its root, without decoding or copying any of it. In two stages, which `blocks` and `walk` tell of.

mod blocks;
mod portable;
mod walk;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::ops::Range;

use self::blocks::{Places, Stage};
use self::portable::Portable;
use self::walk::Marks;
use super::Document;
use super::tree::Node;

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use walk::LEVELS;

/// Buffers kept from line to line are given back when a line made them larger than this.
const KEPT: usize = 1 << 16;

/// What the processor is asked to do.
#[derive(Clone, Copy, Debug)]
enum Instructions {
    Portable(Portable),
    #[cfg(target_arch = "x86_64")]
    Avx2(x86::Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(x86::Avx512),
}

impl Instructions {
    /// All that the processor has, the fastest first.
    fn all() -> Vec<Self> {
        let mut all = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            all.extend(x86::Avx512::detect().map(Self::Avx512));
            all.extend(x86::Avx2::detect().map(Self::Avx2));
        }
        all.push(Self::Portable(Portable));
        all
    }
}

/// A scanner with its buffers.
pub(crate) struct Scanner {
    instructions: Instructions,
    places: Places,
    marks: Marks,
}

impl Scanner {
    pub(crate) fn new() -> Self {
        let fastest = Instructions::all().into_iter().next();
        Self::with(fastest.unwrap_or(Instructions::Portable(Portable)))
    }

    /// One for each kind of instructions that the processor has, the fastest first.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn all() -> Vec<Self> {
        Instructions::all().into_iter().map(Self::with).collect()
    }

    /// What the processor is asked to do, by name.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn name(&self) -> String {
        format!("{:?}", self.instructions)
    }

    fn with(instructions: Instructions) -> Self {
        Self {
            instructions,
            places: Places::new(),
            marks: Marks::default(),
        }
    }

    /// Scans the first line of a text. What follows its newline does not matter.
    pub(crate) fn line<'s>(&'s mut self, text: &'s [u8]) -> Scanned<'s> {
        if self.marks.capacity() > KEPT {
            self.marks = Marks::default();
        }
        let mut stage = Stage::new(text);
        let (places, marks) = (&mut self.places, &mut self.marks);
        let is_json = match self.instructions {
            Instructions::Portable(kernel) => walk::walk(kernel, &mut stage, places, marks),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2(kernel) => kernel.walk(&mut stage, places, marks),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512(kernel) => kernel.walk(&mut stage, places, marks),
        };
        let len = stage
            .end()
            .filter(|_| is_json)
            .or_else(|| memchr::memchr(b'\n', text))
            .unwrap_or(text.len());
        let line = text.get(..len).unwrap_or_default();
        let is_utf8 = !stage.has_high() || simdutf8::basic::from_utf8(line).is_ok();
        Scanned {
            len,
            document: (is_json && is_utf8).then_some(Structure {
                text: line,
                marks: &self.marks,
            }),
        }
    }
}

/// A line that was scanned.
pub(crate) struct Scanned<'s> {
    /// Its length without the newline.
    pub(crate) len: usize,
    /// None if it is no JSON, or longer than the scanner goes.
    pub(crate) document: Option<Structure<'s>>,
}

/// A line that is JSON. Of its values, those under fewer than [`LEVELS`] others are there; what holds
/// deeper ones seems empty.
pub(crate) struct Structure<'s> {
    text: &'s [u8],
    marks: &'s Marks,
}

impl Document for Structure<'_> {
    type Value<'d>
        = Node<'d>
    where
        Self: 'd;

    fn root(&self) -> Node<'_> {
        Node::root(self.text, &self.marks.items)
    }

    fn span(&self, key: &str) -> Option<Range<usize>> {
        self.root().span_of(key)
    }
}

#[cfg(test)]
mod tests;
