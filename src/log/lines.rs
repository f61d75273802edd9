//! The lines of a log one after the other, read in pieces of whole lines.

use xxhash_rust::xxh3::Xxh3;

use super::LogFile;
use crate::error::Result;

/// How much is read at a time: small enough to stay in the second-level cache.
const PIECE: usize = 1 << 18;
/// The same where a few lines are wanted.
const FEW: usize = 1 << 12;

/// A stretch of whole lines, or what follows the last newline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    /// Byte offset in the log.
    pub(crate) offset: u64,
    /// Length in bytes.
    pub(crate) len: usize,
    /// Whether it ends with a newline.
    pub(crate) terminated: bool,
}

/// Reads a log from one offset to another, piece by piece, and hashes the whole lines.
pub(crate) struct Pieces<'f> {
    log: &'f LogFile,
    /// Where the next read starts.
    at: u64,
    limit: u64,
    /// The beginning of a line whose end was not read yet.
    rest: Vec<u8>,
    hash: Box<Xxh3>,
    hashed: u64,
    /// How much is read at a time.
    step: usize,
}

impl<'f> Pieces<'f> {
    /// From `start`, which must be the start of a line, up to the length the log was opened with.
    pub(crate) fn from(log: &'f LogFile, start: u64) -> Self {
        Self {
            log,
            at: start,
            limit: log.len(),
            rest: Vec::new(),
            hash: Box::new(Xxh3::new()),
            hashed: start,
            step: PIECE,
        }
    }

    /// Reads the next piece into a buffer, whose old content is gone.
    pub(crate) fn next(&mut self, buffer: &mut Vec<u8>) -> Result<Option<Piece>> {
        let offset = self.at - len64(self.rest.len());
        // A buffer grown by a huge line is given back once the line is done.
        if buffer.capacity() > 8 * PIECE && self.rest.len() < PIECE {
            *buffer = Vec::new();
        }
        let mut filled = self.rest.len();
        let least = filled + self.step;
        if buffer.len() < least {
            self.log.make_room(buffer, least)?;
        }
        if let Some(start) = buffer.get_mut(..filled) {
            start.copy_from_slice(&self.rest);
        }
        self.rest.clear();
        loop {
            let left = self.limit.saturating_sub(self.at);
            if left == 0 {
                let piece = Piece {
                    offset,
                    len: filled,
                    terminated: false,
                };
                return Ok(Some(piece).filter(|piece| piece.len > 0));
            }
            let left = usize::try_from(left).unwrap_or(usize::MAX);
            if buffer.len() == filled {
                // A long line: twice the room, but no more than there is to read.
                let len = filled.saturating_add(filled.min(left));
                self.log.make_room(buffer, len)?;
            }
            let room = buffer.len() - filled;
            let step = left.min(room);
            let target = buffer.get_mut(filled..filled + step).unwrap_or_default();
            self.log.fill(target, self.at)?;
            self.at += len64(step);
            let last = memchr::memrchr(b'\n', target);
            let start = filled;
            filled += step;
            let Some(last) = last else {
                continue;
            };
            let whole = start + last + 1;
            self.rest
                .extend_from_slice(buffer.get(whole..filled).unwrap_or_default());
            self.hash.update(buffer.get(..whole).unwrap_or_default());
            self.hashed = offset + len64(whole);
            return Ok(Some(Piece {
                offset,
                len: whole,
                terminated: true,
            }));
        }
    }

    /// The hash of all whole lines so far, from the start, and the offset behind the last of them.
    pub(crate) fn covered(&self) -> (u64, u64) {
        (self.hash.digest(), self.hashed)
    }
}

/// Where a line stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    /// Byte offset in the log.
    pub(crate) offset: u64,
    /// Length without the newline.
    pub(crate) len: usize,
    /// Whether a newline follows.
    pub(crate) terminated: bool,
}

/// Single lines with their bytes.
pub(crate) struct Lines<'f> {
    pieces: Pieces<'f>,
    buffer: Vec<u8>,
    piece: Option<Piece>,
    next: usize,
}

impl<'f> Lines<'f> {
    /// Lines from `start`, which must be the start of one, up to the length the log was opened with.
    pub(crate) fn from(log: &'f LogFile, start: u64) -> Self {
        Self {
            pieces: Pieces::from(log, start),
            buffer: Vec::new(),
            piece: None,
            next: 0,
        }
    }

    /// The same for a few lines only: not more is read than it takes.
    pub(crate) fn few(log: &'f LogFile, start: u64) -> Self {
        let mut lines = Self::from(log, start);
        lines.pieces.step = FEW;
        lines
    }

    /// The hash of all whole lines that were read from the log, from where reading started.
    pub(crate) fn hash(&self) -> u64 {
        self.pieces.covered().0
    }

    /// The next line.
    pub(crate) fn next(&mut self) -> Result<Option<(Line, &[u8])>> {
        if self.piece.is_none_or(|piece| self.next >= piece.len) {
            self.piece = self.pieces.next(&mut self.buffer)?;
            self.next = 0;
        }
        let Some(piece) = self.piece else {
            return Ok(None);
        };
        let rest = self.buffer.get(self.next..piece.len).unwrap_or_default();
        let len = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = Line {
            offset: piece.offset + len64(self.next),
            len,
            terminated: piece.terminated,
        };
        self.next += len + 1;
        Ok(rest.get(..len).map(|bytes| (line, bytes)))
    }
}

/// A length in memory as a length in a file.
fn len64(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}
