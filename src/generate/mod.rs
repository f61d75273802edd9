//! Synthetic sessions: of any format and size, the same bytes for the same shape everywhere.
//! For benchmarks, demonstrations and tests; anyone may call it. It never reads a log and uses nothing of
//! the code that does, so that it can be used to test that code.

mod line;
mod message;
mod pen;
mod random;
mod text;
mod walk;

#[cfg(test)]
mod tests;

use std::io;

use crate::Format;

/// What a synthetic session is to look like.
///
/// The session is valid by the rules of its format: reading it reports nothing. It has users' turns,
/// answers with tool calls and their results, now and then a change of model or effort and what else the
/// format knows, and it may go back and compact. Text has escapes, and in a small share of the lines
/// characters beyond ASCII.
///
/// A message has about `payload` bytes of text: a third of it to the double, `payload` on average. What
/// stands around the text comes on top, up to 500 bytes for an assistant's message of pi.
///
/// ```
/// use leaflog::generate::Shape;
/// use leaflog::Format;
///
/// let mut log = Vec::new();
/// let written = Shape::new(Format::PiV3, 100)
///     .branches(2)
///     .compact_every(40)
///     .payload(200)
///     .seed(7)
///     .write_to(&mut log)?;
/// assert_eq!(written.bytes, log.len() as u64);
/// assert_eq!(written.lines, 101); // the header is no entry
///
/// let mut again = Vec::new();
/// let shape = Shape::new(Format::PiV3, 100).branches(2).compact_every(40).payload(200).seed(7);
/// assert_eq!(shape.write_to(&mut again)?, written);
/// assert_eq!(again, log);
/// # std::io::Result::Ok(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shape {
    /// The format.
    pub format: Format,
    /// How many entries it has; the header (codebot's too), records, facts and lanes are not counted.
    /// At most `u32::MAX`.
    pub entries: u64,
    /// How many times it goes back to an earlier entry and on from there, evenly spread: mostly some turns
    /// back, seldom far. At most one for four entries; never in pi v1, whose entries form a chain.
    pub branches: u64,
    /// How many entries of a path there are from one compaction to the next, the compaction counted; 0 for
    /// none, 1 is read as 2. The first one comes after half of that.
    pub compact_every: u64,
    /// About how many bytes of text a message has.
    pub payload: usize,
    /// Where the random choices start.
    pub seed: u64,
}

impl Default for Shape {
    /// A thousand entries of pi v4 in a straight line, 400 bytes of text each, seed 1.
    fn default() -> Self {
        Self {
            format: Format::PiV4,
            entries: 1000,
            branches: 0,
            compact_every: 0,
            payload: 400,
            seed: 1,
        }
    }
}

/// What [`Shape::write_to`] wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// Bytes.
    pub bytes: u64,
    /// Lines, the header included.
    pub lines: u64,
    /// The id of the entry that the conversation stands at; `h0` for codebot and empty for the others if
    /// there are no entries. pi v1 stores no ids, so it is the one that readers give to the line.
    pub leaf: String,
}

impl Shape {
    /// A session of `entries` entries, otherwise like the default.
    #[must_use]
    pub fn new(format: Format, entries: u64) -> Self {
        Self {
            format,
            entries,
            ..Self::default()
        }
    }

    /// Sets how many times it goes back.
    #[must_use]
    pub fn branches(mut self, branches: u64) -> Self {
        self.branches = branches;
        self
    }

    /// Sets how many entries there are from compaction to compaction; 0 for none.
    #[must_use]
    pub fn compact_every(mut self, entries: u64) -> Self {
        self.compact_every = entries;
        self
    }

    /// Sets about how many bytes of text a message has.
    #[must_use]
    pub fn payload(mut self, bytes: usize) -> Self {
        self.payload = bytes;
        self
    }

    /// Sets where the random choices start.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Writes the session.
    ///
    /// It writes pieces of some 64 KiB and flushes at the end, so `out` needs no buffer of its own. It
    /// keeps a piece and a line in memory, and nothing that grows with the session.
    ///
    /// # Errors
    ///
    /// What `out` returns; [`io::ErrorKind::InvalidInput`] for more than `u32::MAX` entries.
    pub fn write_to(&self, out: &mut impl io::Write) -> io::Result<Written> {
        if self.entries > u64::from(u32::MAX) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "a session has at most {} entries, asked for were {}; ask for fewer",
                    u32::MAX,
                    self.entries
                ),
            ));
        }
        let (pen, last) = walk::Walk::new(self, out).run(self.seed)?;
        let leaf = match (last, self.format) {
            (0, Format::CodebotV3) => "h0".to_owned(),
            (0, _) => String::new(),
            _ => format!("{:08x}", pen.entry_number(last)),
        };
        let (bytes, lines) = pen.finish()?;
        Ok(Written { bytes, lines, leaf })
    }
}
