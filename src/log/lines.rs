//! The lines of a log one after the other, through one buffer that is read into and parsed in.

use xxhash_rust::xxh3::Xxh3;

use super::{LogFile, read_exact_at};
use crate::error::Result;
use crate::json::PADDING;

/// How much is read at a time: small enough to stay in the second-level cache.
const CHUNK: usize = 1 << 18;

/// Where a line stands; its bytes are in the [`Lines`] it came from until the next one is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    /// Byte offset in the log.
    pub(crate) offset: u64,
    /// Length without the newline.
    pub(crate) len: usize,
    /// Whether a newline follows.
    pub(crate) terminated: bool,
    at: usize,
}

/// Reads a log from one offset to another, line by line, and hashes the terminated ones.
pub(crate) struct Lines<'f> {
    log: &'f LogFile,
    buffer: Vec<u8>,
    /// Log offset of the buffer's first byte.
    offset: u64,
    /// Where the next line starts in the buffer.
    next: usize,
    /// Up to where the buffer holds bytes of the log, and up to where whole lines.
    filled: usize,
    whole: usize,
    /// Where reading stops.
    limit: u64,
    hash: Box<Xxh3>,
    hashed: u64,
}

impl<'f> Lines<'f> {
    /// Lines from `start`, which must be the start of one, up to the length the log was opened with.
    pub(crate) fn from(log: &'f LogFile, start: u64) -> Self {
        Self {
            log,
            buffer: vec![0; CHUNK + PADDING],
            offset: start,
            next: 0,
            filled: 0,
            whole: 0,
            limit: log.len(),
            hash: Box::new(Xxh3::new()),
            hashed: start,
        }
    }

    /// The next line.
    pub(crate) fn next(&mut self) -> Result<Option<Line>> {
        if self.next >= self.whole {
            self.fill()?;
        }
        let (end, terminated) = if self.next < self.whole {
            let rest = self.buffer.get(self.next..self.whole).unwrap_or_default();
            match memchr::memchr(b'\n', rest) {
                Some(len) => (self.next + len, true),
                None => (self.whole, false),
            }
        } else if self.next < self.filled {
            (self.filled, false)
        } else {
            return Ok(None);
        };
        let line = Line {
            offset: self.offset + len64(self.next),
            len: end - self.next,
            terminated,
            at: self.next,
        };
        self.next = end + usize::from(terminated);
        Ok(Some(line))
    }

    /// The line's bytes with [`PADDING`] bytes behind them, for parsing in place.
    pub(crate) fn padded(&mut self, line: Line) -> &mut [u8] {
        self.buffer
            .get_mut(line.at..line.at + line.len + PADDING)
            .unwrap_or_default()
    }

    /// The line's bytes, as long as they were not parsed in place.
    pub(crate) fn bytes(&self, line: Line) -> &[u8] {
        self.buffer
            .get(line.at..line.at + line.len)
            .unwrap_or_default()
    }

    /// The line's bytes from the log, for when they were parsed in place.
    pub(crate) fn again(&self, line: Line) -> Result<Vec<u8>> {
        let mut bytes = vec![0; line.len];
        read_exact_at(self.log.file(), &mut bytes, line.offset)
            .map_err(|e| self.log.failed_read(e))?;
        Ok(bytes)
    }

    /// The hash of all terminated lines so far, from the start of the first to the offset behind
    /// the last, and that offset. To be asked when there are no more lines.
    pub(crate) fn covered(&self) -> (u64, u64) {
        (self.hash.digest(), self.hashed)
    }

    /// Moves what is left to the front and reads on until a whole line or the end is there.
    fn fill(&mut self) -> Result<()> {
        self.buffer.copy_within(self.next..self.filled, 0);
        self.offset += len64(self.next);
        self.filled -= self.next;
        self.next = 0;
        self.whole = 0;
        // A buffer grown by a huge line is given back once the line is done.
        if self.buffer.len() > 4 * CHUNK && self.filled < CHUNK {
            self.buffer.truncate(CHUNK + PADDING);
            self.buffer.shrink_to_fit();
        }
        loop {
            let left = self.limit.saturating_sub(self.offset + len64(self.filled));
            let room = self.buffer.len() - PADDING - self.filled;
            let step = usize::try_from(left).unwrap_or(usize::MAX).min(room);
            if left == 0 {
                return Ok(());
            }
            if step == 0 {
                self.buffer
                    .resize(2 * (self.buffer.len() - PADDING) + PADDING, 0);
                continue;
            }
            let new = self.filled..self.filled + step;
            let target = self.buffer.get_mut(new.clone()).unwrap_or_default();
            read_exact_at(self.log.file(), target, self.offset + len64(self.filled))
                .map_err(|e| self.log.failed_read(e))?;
            self.filled += step;
            let fresh = self.buffer.get(new.clone()).unwrap_or_default();
            if let Some(last) = memchr::memrchr(b'\n', fresh) {
                self.whole = new.start + last + 1;
                self.hash
                    .update(self.buffer.get(..self.whole).unwrap_or_default());
                self.hashed = self.offset + len64(self.whole);
                return Ok(());
            }
        }
    }
}

/// A length in memory as a length in a file.
fn len64(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}
