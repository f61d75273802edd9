//! One segment: its frame found right, its columns readable value by value. What is read is
//! checked against the block checksums on first touch, so a flipped byte is an error here and
//! never an answer.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use rkyv::rancor;
use rkyv::util::AlignedVec;
use rkyv::vec::ArchivedVec;
use xxhash_rust::xxh3::xxh3_64;

use super::blocks::{self, Checked};
use super::columns::{ArchivedColumns, Columns};
use super::frame::{ALIGN, COLUMNS, FrameHeader, HEADER, PART, format_of, padded};
use super::pages::{Grid, InPage, PAGE};
use super::summary::{ArchivedDetails, ArchivedSummary, Details, Summary};
use crate::error::Result as LogResult;
use crate::log::{LogFile, Map};

/// A sidecar turned out to be wrong where it was used: it is to be rebuilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Damaged;

/// Where a segment's bytes are.
#[derive(Clone, Debug)]
pub(crate) enum Backing {
    Mapped(Arc<Mapped>),
    Owned(Arc<AlignedVec>),
}

/// A mapped file, kept open so that its length can be asked for.
#[derive(Debug)]
pub(crate) struct Mapped {
    map: Map,
    file: File,
}

impl Mapped {
    pub(crate) fn new(map: Map, file: File) -> Self {
        Self { map, file }
    }

    /// Whether the file still has all that is mapped.
    fn is_whole(&self) -> bool {
        let len = self.file.metadata().map_or(0, |now| now.len());
        len >= len64(self.map.as_slice().len())
    }
}

impl Backing {
    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Self::Mapped(mapped) => mapped.map.as_slice(),
            Self::Owned(bytes) => bytes,
        }
    }

    /// Whether all of it is still there. Nobody who keeps to the rules shortens a sidecar; touching
    /// what another program cut off would end the process.
    pub(crate) fn is_whole(&self) -> bool {
        match self {
            Self::Mapped(mapped) => mapped.is_whole(),
            Self::Owned(_) => true,
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Mapped(one), Self::Mapped(other)) => Arc::ptr_eq(one, other),
            (Self::Owned(one), Self::Owned(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

/// Whether the files that segments are mapped from still have all that is mapped.
pub(crate) fn are_whole(segments: &[Arc<Segment>]) -> bool {
    let mut before: Option<&Backing> = None;
    segments.iter().all(|segment| {
        let backing = &segment.backing;
        // Neighbours stand in one file.
        let is_known = before.is_some_and(|before| before.is_same(backing));
        before = Some(backing);
        is_known || backing.is_whole()
    })
}

/// The place of a column in the columns' bytes: offset and number of elements.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    at: usize,
    count: usize,
}

/// The places of all columns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Places {
    pages: Place,
    pub(crate) table: Place,
    pub(crate) rows: Place,
    pub(crate) long_slot: Place,
    pub(crate) long_len: Place,
    pub(crate) seq_slot: Place,
    pub(crate) seq: Place,
    pub(crate) hash_end: Place,
    pub(crate) hash: Place,
    pub(crate) wanted: Place,
}

/// A segment whose header and summary are right.
#[derive(Debug)]
pub(crate) struct Segment {
    backing: Backing,
    pub(crate) header: FrameHeader,
    /// The hash of the header, which the next one names.
    pub(crate) header_hash: u64,
    frame: Range<usize>,
    columns: Range<usize>,
    tree: Range<usize>,
    summary: Range<usize>,
    details: Range<usize>,
    checked: Checked,
    grid: Grid,
    pub(crate) at: Places,
}

impl Segment {
    /// Makes the frame of a segment. The header's lengths and hashes are filled in here.
    pub(crate) fn encode(
        mut header: FrameHeader,
        columns: &Columns,
        about: Option<(&Summary, &Details)>,
    ) -> Option<AlignedVec> {
        let room = columns.pages.len() + 4 * (columns.table.len() + columns.rows.len());
        let mut bytes = AlignedVec::with_capacity(COLUMNS + room + room / 256 + (1 << 14));
        bytes.resize(COLUMNS, 0);
        let mut bytes = rkyv::api::high::to_bytes_in::<_, rancor::Error>(columns, bytes).ok()?;
        header.columns_len = len64(bytes.len() - COLUMNS);
        let (tree, root) = blocks::build(bytes.get(COLUMNS..)?);
        header.columns_root = root;
        bytes.resize(padded(bytes.len(), 16), 0);
        bytes.extend_from_slice(&tree);
        bytes.resize(padded(bytes.len(), 16), 0);
        if let Some((summary, details)) = about {
            let summary = rkyv::to_bytes::<rancor::Error>(summary).ok()?;
            header.summary_len = len64(summary.len());
            header.summary_hash = xxh3_64(&summary);
            bytes.extend_from_slice(&summary);
            bytes.resize(padded(bytes.len(), 16), 0);
            let details = rkyv::to_bytes::<rancor::Error>(details).ok()?;
            header.details_len = len64(details.len());
            header.details_hash = xxh3_64(&details);
            bytes.extend_from_slice(&details);
        } else {
            header.flags |= PART;
        }
        bytes.resize(padded(bytes.len(), ALIGN), 0);
        bytes.get_mut(..HEADER)?.copy_from_slice(&header.to_bytes());
        Some(bytes)
    }

    /// Finds the segment whose frame starts at an offset. None if there is none that is right: a
    /// bad header or summary, or columns that do not hold together.
    pub(crate) fn decode(backing: Backing, start: usize) -> Option<Self> {
        let bytes = backing.as_slice().get(start..)?;
        let (header, header_hash) = FrameHeader::from_bytes(bytes)?;
        // Whoever computes with these numbers later need not fear overflow.
        let fits = |first: u64, count: u64| {
            first
                .checked_add(count)
                .is_some_and(|end| end < u64::from(u32::MAX))
        };
        if !fits(header.first_slot, header.slots)
            || !fits(header.first_row, header.rows)
            || header.log_end < header.log_start
        {
            return None;
        }
        // Lengths that do not lie within the file together are refused before anything is computed
        // from them: a sum of lengths that are each possible may not fit into 32 bits.
        let parts = [header.columns_len, header.summary_len, header.details_len];
        let together = parts.into_iter().try_fold(0, u64::checked_add)?;
        if together > len64(bytes.len()) {
            return None;
        }
        let columns_len = usize::try_from(header.columns_len).ok()?;
        let summary_len = usize::try_from(header.summary_len).ok()?;
        let details_len = usize::try_from(header.details_len).ok()?;
        let columns = COLUMNS..COLUMNS + columns_len;
        let tree_start = padded(columns.end, 16);
        let tree = tree_start..tree_start + blocks::tree_len(columns_len);
        let summary_start = padded(tree.end, 16);
        let summary = summary_start..summary_start + summary_len;
        let details_start = padded(summary.end, 16);
        let details = details_start..details_start + details_len;
        let end = padded(details.end, ALIGN);
        if end > bytes.len()
            || xxh3_64(bytes.get(summary.clone())?) != header.summary_hash && !header.has(PART)
        {
            return None;
        }
        let mut segment = Self {
            frame: start..start + end,
            columns: shifted(&columns, start),
            tree: shifted(&tree, start),
            summary: shifted(&summary, start),
            details: shifted(&details, start),
            checked: Checked::new(columns_len),
            grid: Grid::new(format_of(header.format)?.has_lanes()),
            at: Places::default(),
            backing,
            header,
            header_hash,
        };
        segment.at = segment.find_columns()?;
        Some(segment)
    }

    /// Validates the archive, which touches its root only, and notes where the columns are.
    fn find_columns(&self) -> Option<Places> {
        let bytes = self.columns_bytes();
        let root = bytes.len().checked_sub(size_of::<ArchivedColumns>())?;
        self.check(root..bytes.len()).ok()?;
        let columns = rkyv::access::<ArchivedColumns, rancor::Error>(bytes).ok()?;
        let base = bytes.as_ptr().addr();
        let places = Places {
            pages: place(base, &columns.pages),
            table: place(base, &columns.table),
            rows: place(base, &columns.rows),
            long_slot: place(base, &columns.long_slot),
            long_len: place(base, &columns.long_len),
            seq_slot: place(base, &columns.seq_slot),
            seq: place(base, &columns.seq),
            hash_end: place(base, &columns.hash_end),
            hash: place(base, &columns.hash),
            wanted: place(base, &columns.wanted),
        };
        let slots = usize::try_from(self.header.slots).ok()?;
        let rows = usize::try_from(self.header.rows)
            .ok()?
            .checked_mul(super::ROW_WIDTH)?;
        let fits = places.pages.at == 0
            && places.pages.count == self.grid.bytes(slots)
            && places.rows.count == rows
            && places.table.count > 0
            && places.long_slot.count == places.long_len.count
            && places.seq_slot.count == places.seq.count
            && places.hash_end.count == places.hash.count;
        fits.then_some(places)
    }

    fn columns_bytes(&self) -> &[u8] {
        self.backing
            .as_slice()
            .get(self.columns.clone())
            .unwrap_or_default()
    }

    #[inline]
    fn check(&self, range: Range<usize>) -> Result<(), Damaged> {
        let tree = || {
            self.backing
                .as_slice()
                .get(self.tree.clone())
                .unwrap_or_default()
        };
        if self.checked.check(
            self.columns_bytes(),
            tree(),
            self.header.columns_root,
            range,
        ) {
            Ok(())
        } else {
            Err(Damaged)
        }
    }

    /// Checks all columns, and the details.
    pub(crate) fn check_all(&self) -> Result<(), Damaged> {
        self.check(0..self.columns.len())?;
        if self.header.has(PART) {
            return Ok(());
        }
        self.details().map(|_| ())
    }

    /// A slot of the segment, by its number in it.
    #[inline]
    pub(crate) fn slot(&self, local: usize) -> Result<InPage<'_>, Damaged> {
        let (page, number) = (local / self.grid.per_page, local % self.grid.per_page);
        let range = page * PAGE..(page + 1) * PAGE;
        if range.end > self.at.pages.count {
            return Err(Damaged);
        }
        self.check(range.clone())?;
        let page = self.columns_bytes().get(range).ok_or(Damaged)?;
        Ok(InPage::new(page, self.grid, number))
    }

    /// An element of a column of `WIDTH`-byte numbers.
    #[inline]
    fn element<const WIDTH: usize>(
        &self,
        column: Place,
        number: usize,
    ) -> Result<[u8; WIDTH], Damaged> {
        if number >= column.count {
            return Err(Damaged);
        }
        let at = column.at + number * WIDTH;
        self.check(at..at + WIDTH)?;
        let bytes = self.columns_bytes().get(at..at + WIDTH).ok_or(Damaged)?;
        bytes.try_into().map_err(|_| Damaged)
    }

    #[inline]
    pub(crate) fn u32(&self, column: Place, number: usize) -> Result<u32, Damaged> {
        self.element(column, number).map(u32::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u64(&self, column: Place, number: usize) -> Result<u64, Damaged> {
        self.element(column, number).map(u64::from_le_bytes)
    }

    /// A whole column of 32-bit numbers, checked.
    pub(crate) fn all_u32(&self, column: Place) -> Result<Vec<u32>, Damaged> {
        (0..column.count)
            .map(|number| self.u32(column, number))
            .collect()
    }

    /// A whole column of 64-bit numbers, checked.
    pub(crate) fn all_u64(&self, column: Place) -> Result<Vec<u64>, Damaged> {
        (0..column.count)
            .map(|number| self.u64(column, number))
            .collect()
    }

    /// The last element of an ascending column of 32-bit numbers that is not above a value.
    pub(crate) fn last_at_most(&self, column: Place, value: u32) -> Result<Option<usize>, Damaged> {
        let (mut low, mut high) = (0, column.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.u32(column, middle)? <= value {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low.checked_sub(1))
    }

    /// The number of elements in a column.
    pub(crate) fn count(column: Place) -> usize {
        column.count
    }

    /// The summary, if the segment has one.
    pub(crate) fn summary(&self) -> Result<Summary, Damaged> {
        let bytes = self
            .backing
            .as_slice()
            .get(self.summary.clone())
            .unwrap_or_default();
        if self.header.has(PART) {
            return Err(Damaged);
        }
        let archived =
            rkyv::access::<ArchivedSummary, rancor::Error>(bytes).map_err(|_| Damaged)?;
        rkyv::deserialize::<Summary, rancor::Error>(archived).map_err(|_| Damaged)
    }

    /// The details, if the segment has them; checked here, since few ask for them.
    pub(crate) fn details(&self) -> Result<Details, Damaged> {
        let bytes = self
            .backing
            .as_slice()
            .get(self.details.clone())
            .unwrap_or_default();
        if self.header.has(PART) || xxh3_64(bytes) != self.header.details_hash {
            return Err(Damaged);
        }
        let archived =
            rkyv::access::<ArchivedDetails, rancor::Error>(bytes).map_err(|_| Damaged)?;
        rkyv::deserialize::<Details, rancor::Error>(archived).map_err(|_| Damaged)
    }

    /// Bytes of the frame that were read and checked so far.
    pub(crate) fn bytes_checked(&self) -> u64 {
        len64(HEADER) + self.header.summary_len + self.checked.bytes()
    }

    /// Whether the log still has the bytes at its start, and before the end of this segment, that
    /// it had when the segment was made.
    pub(crate) fn anchors_match(&self, log: &LogFile) -> LogResult<bool> {
        let end = self.header.log_end;
        Ok(end <= log.len()
            && super::build::anchors(log, end)? == (self.header.head_hash, self.header.tail_hash))
    }

    /// The whole frame as it stands on disk.
    pub(crate) fn frame_bytes(&self) -> &[u8] {
        self.backing
            .as_slice()
            .get(self.frame.clone())
            .unwrap_or_default()
    }

    /// Where the frame ends, and so where the next one may start.
    pub(crate) fn end(&self) -> usize {
        self.frame.end
    }
}

fn place<T>(base: usize, column: &ArchivedVec<T>) -> Place {
    let slice = column.as_slice();
    Place {
        at: slice.as_ptr().addr().saturating_sub(base),
        count: slice.len(),
    }
}

fn shifted(range: &Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}

/// A length in memory as a length in a file.
pub(crate) fn len64(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}
