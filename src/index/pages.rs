//! What the index remembers of each entry and record, laid out in pages: a page holds all columns of
//! some hundred slots that follow each other, each column in one run. So a walk over neighbours
//! touches few pages, and one checksum vouches for all of a slot.

use super::columns::{Flags, unpack_time};

/// Bytes of a page: one checksum block.
pub(crate) const PAGE: usize = super::blocks::BLOCK;

/// A property of every slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Column {
    /// Offset of the object's first byte, from the segment's log start.
    Start = 0,
    /// Length of the object in bytes; all ones: in `long_len`.
    Len,
    /// Slot of the parent entry, or of the operation's start for a record.
    Parent,
    /// State row that holds at the entry, its own effect included.
    Row,
    /// Entries on the path before it.
    Depth,
    /// Low half of the seeded hash of the id.
    Tag,
    /// Low 32 bits of the packed time.
    TimeLow,
    /// High 16 bits of the packed time.
    TimeHigh,
    /// Where the id's text starts in the object.
    IdAt,
    /// Where the message payload starts in the object; 0: there is none.
    PayloadAt,
    /// Bits, see `Flags`.
    Flags,
    /// Number of the lane's name in the summary (pi v4 only).
    Lane,
    /// Number of the kind.
    Kind,
    /// Length of the id's text.
    IdLen,
    /// Bytes between the payload's end and the object's end.
    PayloadTail,
}

/// Bytes of an element of each column, in the order of [`Column`].
pub(crate) const WIDTHS: [usize; 15] = [4, 4, 4, 4, 4, 4, 4, 2, 2, 2, 2, 2, 1, 1, 1];

/// Where the columns of a page start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    starts: [usize; WIDTHS.len()],
    /// Slots a page.
    pub(crate) per_page: usize,
    pub(crate) has_lanes: bool,
}

impl Grid {
    /// The grid of a format with lanes or without.
    pub(crate) fn new(has_lanes: bool) -> Self {
        let width = |column: usize| match WIDTHS.get(column) {
            Some(_) if column == Column::Lane as usize && !has_lanes => 0,
            Some(width) => *width,
            None => 0,
        };
        let per_slot: usize = (0..WIDTHS.len()).map(width).sum();
        let per_page = PAGE / per_slot;
        let mut starts = [0; WIDTHS.len()];
        let mut at = 0;
        for (column, start) in starts.iter_mut().enumerate() {
            *start = at;
            at += width(column) * per_page;
        }
        Self {
            starts,
            per_page,
            has_lanes,
        }
    }

    fn start(&self, column: Column) -> usize {
        self.starts.get(column as usize).copied().unwrap_or(0)
    }

    /// Bytes of the pages for some slots.
    pub(crate) fn bytes(&self, slots: usize) -> usize {
        slots.div_ceil(self.per_page) * PAGE
    }
}

/// One slot in its page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InPage<'p> {
    page: &'p [u8],
    grid: Grid,
    number: usize,
}

impl<'p> InPage<'p> {
    pub(crate) fn new(page: &'p [u8], grid: Grid, number: usize) -> Self {
        Self { page, grid, number }
    }

    /// Pages are whole and numbers below the slots a page has: nothing is ever missing here.
    fn element<const WIDTH: usize>(&self, column: Column) -> [u8; WIDTH] {
        let at = self.grid.start(column) + self.number * WIDTH;
        let bytes = self.page.get(at..at + WIDTH);
        bytes
            .and_then(|bytes| bytes.try_into().ok())
            .unwrap_or([0xFF; WIDTH])
    }

    pub(crate) fn u32(&self, column: Column) -> u32 {
        u32::from_le_bytes(self.element(column))
    }

    pub(crate) fn u16(&self, column: Column) -> u16 {
        u16::from_le_bytes(self.element(column))
    }

    pub(crate) fn u8(&self, column: Column) -> u8 {
        let [byte] = self.element(column);
        byte
    }

    pub(crate) fn flags(&self) -> Flags {
        Flags(self.u16(Column::Flags))
    }

    pub(crate) fn time(&self) -> Option<i64> {
        unpack_time(self.u32(Column::TimeLow), self.u16(Column::TimeHigh))
    }

    pub(crate) fn has_lanes(&self) -> bool {
        self.grid.has_lanes
    }
}

/// The columns of some slots, each as one array.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Slots {
    pub(crate) start: Vec<u32>,
    pub(crate) len: Vec<u32>,
    pub(crate) parent: Vec<u32>,
    pub(crate) row: Vec<u32>,
    pub(crate) depth: Vec<u32>,
    pub(crate) tag: Vec<u32>,
    pub(crate) time_low: Vec<u32>,
    pub(crate) time_high: Vec<u16>,
    pub(crate) id_at: Vec<u16>,
    pub(crate) payload_at: Vec<u16>,
    pub(crate) flags: Vec<u16>,
    pub(crate) lane: Vec<u16>,
    pub(crate) kind: Vec<u8>,
    pub(crate) id_len: Vec<u8>,
    pub(crate) payload_tail: Vec<u8>,
}

impl Slots {
    /// Lays the arrays out in pages; the rest of the last one is zeros.
    pub(crate) fn to_pages(&self, grid: Grid) -> Vec<u8> {
        let slots = self.start.len();
        let mut pages = vec![0; grid.bytes(slots)];
        for (number, page) in pages.chunks_exact_mut(PAGE).enumerate() {
            let from = number * grid.per_page;
            let range = from..slots.min(from + grid.per_page);
            for (column, values) in [
                (Column::Start, &self.start),
                (Column::Len, &self.len),
                (Column::Parent, &self.parent),
                (Column::Row, &self.row),
                (Column::Depth, &self.depth),
                (Column::Tag, &self.tag),
                (Column::TimeLow, &self.time_low),
            ] {
                put(
                    page,
                    grid.start(column),
                    values.get(range.clone()),
                    u32::to_le_bytes,
                );
            }
            for (column, values) in [
                (Column::TimeHigh, &self.time_high),
                (Column::IdAt, &self.id_at),
                (Column::PayloadAt, &self.payload_at),
                (Column::Flags, &self.flags),
                (Column::Lane, &self.lane),
            ] {
                put(
                    page,
                    grid.start(column),
                    values.get(range.clone()),
                    u16::to_le_bytes,
                );
            }
            for (column, values) in [
                (Column::Kind, &self.kind),
                (Column::IdLen, &self.id_len),
                (Column::PayloadTail, &self.payload_tail),
            ] {
                put(
                    page,
                    grid.start(column),
                    values.get(range.clone()),
                    u8::to_le_bytes,
                );
            }
        }
        pages
    }

    /// Adds a slot from a page.
    pub(crate) fn push(&mut self, slot: InPage<'_>) {
        self.start.push(slot.u32(Column::Start));
        self.len.push(slot.u32(Column::Len));
        self.parent.push(slot.u32(Column::Parent));
        self.row.push(slot.u32(Column::Row));
        self.depth.push(slot.u32(Column::Depth));
        self.tag.push(slot.u32(Column::Tag));
        self.time_low.push(slot.u32(Column::TimeLow));
        self.time_high.push(slot.u16(Column::TimeHigh));
        self.id_at.push(slot.u16(Column::IdAt));
        self.payload_at.push(slot.u16(Column::PayloadAt));
        self.flags.push(slot.u16(Column::Flags));
        if slot.has_lanes() {
            self.lane.push(slot.u16(Column::Lane));
        }
        self.kind.push(slot.u8(Column::Kind));
        self.id_len.push(slot.u8(Column::IdLen));
        self.payload_tail.push(slot.u8(Column::PayloadTail));
    }
}

/// Writes the values of a column to its place in a page.
fn put<T: Copy, const WIDTH: usize>(
    page: &mut [u8],
    start: usize,
    values: Option<&[T]>,
    bytes: impl Fn(T) -> [u8; WIDTH],
) {
    let target = page.get_mut(start..).unwrap_or_default();
    let places = target.chunks_exact_mut(WIDTH);
    for (place, value) in places.zip(values.unwrap_or_default()) {
        place.copy_from_slice(&bytes(*value));
    }
}

#[cfg(test)]
mod tests {
    use super::{Grid, InPage, PAGE, Slots, WIDTHS};

    #[test]
    fn a_slot_takes_41_bytes_with_a_lane_and_39_without() {
        assert_eq!(WIDTHS.iter().sum::<usize>(), 41);
        assert_eq!(Grid::new(true).per_page, 99);
        assert_eq!(Grid::new(false).per_page, 105);
    }

    #[test]
    fn slots_read_back_from_pages_as_they_were() {
        for has_lanes in [false, true] {
            for count in [0_u8, 1, 98, 99, 100, 105, 250] {
                let wide = |shift: u32| {
                    (0..count)
                        .map(|n| u32::from(n) << shift)
                        .collect::<Vec<_>>()
                };
                let narrow = |factor: u16| {
                    (0..count)
                        .map(|n| u16::from(n) * factor)
                        .collect::<Vec<_>>()
                };
                let slots = Slots {
                    start: wide(1),
                    len: wide(2),
                    parent: wide(3),
                    row: wide(4),
                    depth: wide(5),
                    tag: wide(24),
                    time_low: wide(7),
                    time_high: narrow(1),
                    id_at: narrow(3),
                    payload_at: narrow(5),
                    flags: narrow(7),
                    lane: if has_lanes { narrow(11) } else { Vec::new() },
                    kind: (0..count).collect(),
                    id_len: (0..count).map(|n| n ^ 0xFF).collect(),
                    payload_tail: (0..count).map(|n| n / 2).collect(),
                };
                let grid = Grid::new(has_lanes);
                let pages = slots.to_pages(grid);
                assert_eq!(pages.len(), grid.bytes(usize::from(count)));
                let mut back = Slots::default();
                for number in 0..usize::from(count) {
                    let page = &pages[number / grid.per_page * PAGE..][..PAGE];
                    back.push(InPage::new(page, grid, number % grid.per_page));
                }
                assert_eq!(back, slots);
            }
        }
    }
}
