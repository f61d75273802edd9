//! What is archived of a segment, and the bits and numbers in it. The tables of `docs/design.md` and
//! this file say the same.

use rkyv::{Archive, Serialize};

use crate::format::State;

/// No slot, no row, no lane.
pub(crate) const NONE: u32 = u32::MAX;

/// Fields of a state row: the entries that set each part of the state, and the root of the path.
pub(crate) const ROW_WIDTH: usize = State::COUNT + 1;

/// The place of the root in a state row. Entries whose path runs into a cycle have no row.
pub(crate) const ROOT: usize = State::COUNT;

/// A `u16` or `u8` that says: too large to stand here, look at the line.
pub(crate) const LOOK16: u16 = u16::MAX;
pub(crate) const LOOK8: u8 = u8::MAX;

/// What an entry or record is beside its kind, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags(pub(crate) u16);

impl Flags {
    /// The three bits of the role.
    const ROLE: u16 = 0b111;
    /// The payload does not decode; the entry contributes nothing.
    pub(crate) const INERT: Self = Self(1 << 3);
    /// An assistant message with tool calls (codebot).
    pub(crate) const CALLS_TOOLS: Self = Self(1 << 4);
    /// An assistant message that was put off (pi v4).
    pub(crate) const DEFERRED: Self = Self(1 << 5);
    /// A message whose content is null or absent (pi).
    pub(crate) const NO_CONTENT: Self = Self(1 << 6);
    /// The line names a parent that no entry has.
    pub(crate) const MISSING_PARENT: Self = Self(1 << 7);
    /// A later line has the same id and counts instead.
    pub(crate) const OVERRIDDEN: Self = Self(1 << 8);
    /// The id is written with escapes or invalid UTF-8, or too far from the line's start: its place is not remembered.
    pub(crate) const ODD_ID: Self = Self(1 << 9);
    /// The entry lies on a cycle, or its parents lead into one.
    pub(crate) const CYCLIC: Self = Self(1 << 10);
    /// The entry sets the model.
    pub(crate) const SETS_MODEL: Self = Self(1 << 11);

    pub(crate) const fn has(self, flag: Self) -> bool {
        self.0 & flag.0 != 0
    }

    pub(crate) fn set(&mut self, flag: Self, on: bool) {
        if on {
            self.0 |= flag.0;
        }
    }

    pub(crate) fn set_role(&mut self, role: crate::format::Role) {
        self.0 = (self.0 & !Self::ROLE) | u16::from(role as u8);
    }

    pub(crate) fn role(self) -> crate::format::Role {
        crate::format::Role::from_number((self.0 & Self::ROLE).to_le_bytes()[0])
    }
}

/// A time in the 48 bits of its two columns: milliseconds above a base 2,230 years before 1970.
/// All ones means that it does not fit or is none.
pub(crate) const TIME_BASE: i64 = 1 << 46;
pub(crate) const NO_TIME: u64 = (1 << 48) - 1;

pub(crate) fn pack_time(time: Option<i64>) -> (u32, u16) {
    let packed = time
        .and_then(|time| time.checked_add(TIME_BASE))
        .and_then(|time| u64::try_from(time).ok())
        .filter(|&time| time < NO_TIME)
        .unwrap_or(NO_TIME);
    let bytes = packed.to_le_bytes();
    (
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
        u16::from_le_bytes([bytes[4], bytes[5]]),
    )
}

pub(crate) fn unpack_time(low: u32, high: u16) -> Option<i64> {
    let packed = u64::from(low) | (u64::from(high) << 32);
    if packed == NO_TIME {
        return None;
    }
    i64::try_from(packed).ok().map(|time| time - TIME_BASE)
}

/// What is archived of one segment. Slots and rows are counted through the whole log.
#[derive(Archive, Serialize, Debug, Default)]
pub(crate) struct Columns {
    /// The pages of the slots, see `pages`. First, so that pages and checksum blocks are the same.
    pub(crate) pages: Vec<u8>,
    /// Open addressing by tag over the slots of the segment (numbers from its first slot).
    pub(crate) table: Vec<u32>,
    /// Rows of `ROW_WIDTH` slots each.
    pub(crate) rows: Vec<u32>,
    /// Slots of objects longer than 4 GiB, and their lengths.
    pub(crate) long_slot: Vec<u32>,
    pub(crate) long_len: Vec<u64>,
    /// Where the sequence does not simply count on: slots, and their `seq` (pi v4).
    pub(crate) seq_slot: Vec<u32>,
    pub(crate) seq: Vec<u64>,
    /// Ends of ranges of the log, each starting where the one before ends, and the hashes of their
    /// bytes. None in a part: the frame that it belongs to speaks for it.
    pub(crate) hash_end: Vec<u64>,
    pub(crate) hash: Vec<u64>,
    /// Hashes of ids that lines of the log so far name and no entry has, ascending.
    pub(crate) wanted: Vec<u64>,
}

#[cfg(test)]
mod tests {
    use super::{NO_TIME, TIME_BASE, pack_time, unpack_time};

    #[test]
    fn times_pack_into_48_bits_and_what_does_not_fit_is_none() {
        for time in [0, -1, 1, 1_784_019_600_000, -TIME_BASE, 200_000_000_000_000] {
            let (low, high) = pack_time(Some(time));
            assert_eq!(unpack_time(low, high), Some(time));
        }
        for time in [None, Some(i64::MAX), Some(i64::MIN), Some(-TIME_BASE - 1)] {
            let (low, high) = pack_time(time);
            assert_eq!(unpack_time(low, high), None);
            assert_eq!(u64::from(low) | u64::from(high) << 32, NO_TIME);
        }
    }
}
