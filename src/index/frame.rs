//! The fixed header of a segment's frame, byte for byte, and the rkyv settings it vouches for.

use rkyv::rancor;
use xxhash_rust::xxh3::xxh3_64;

use crate::log::Identity;
use crate::model::Format;

/// The first eight bytes of a frame.
pub(crate) const MAGIC: [u8; 8] = *b"leaflogI";
/// The version of everything in a sidecar: this header, the columns, the numbers of kinds, states,
/// roles, flags and reports, and how they are derived. Older and newer ones are rebuilt.
pub(crate) const LAYOUT: u32 = 2;
/// Bytes of a header.
pub(crate) const HEADER: usize = 256;
/// Where the columns start in a frame: pages of the columns are pages of the file.
pub(crate) const COLUMNS: usize = 4096;
/// Frames start at multiples of this.
pub(crate) const ALIGN: usize = 4096;
/// How many bytes at the start of the log, and before the end of what is covered, are hashed.
pub(crate) const ANCHOR: u64 = 4096;

/// The log has duplicate ids or children before their parents: parents may have larger slots.
pub(crate) const IRREGULAR: u32 = 1;
/// The frame belongs to the one behind it, which has the summary for both.
pub(crate) const PART: u32 = 1 << 1;
/// The frame covers an unfinished last line; such a one is never written.
pub(crate) const TAIL: u32 = 1 << 2;
/// The header was missing and salvage asked for; such a one is never written.
pub(crate) const SALVAGED: u32 = 1 << 3;

/// A frame's header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    pub(crate) flags: u32,
    pub(crate) format: u32,
    pub(crate) log_start: u64,
    pub(crate) log_end: u64,
    pub(crate) first_slot: u64,
    pub(crate) slots: u64,
    pub(crate) first_row: u64,
    pub(crate) rows: u64,
    pub(crate) columns_len: u64,
    pub(crate) summary_len: u64,
    pub(crate) columns_root: u64,
    pub(crate) summary_hash: u64,
    pub(crate) details_len: u64,
    pub(crate) details_hash: u64,
    pub(crate) seed: u64,
    pub(crate) head_hash: u64,
    pub(crate) tail_hash: u64,
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) modified: u64,
    /// Length of the whole log when its identity was read, an unfinished last line included.
    pub(crate) log_len: u64,
    /// The hash of the header of the frame before, 0 for the first.
    pub(crate) before: u64,
}

impl FrameHeader {
    /// The header's bytes, its own hash last.
    pub(crate) fn to_bytes(self) -> [u8; HEADER] {
        let mut bytes = Vec::with_capacity(HEADER);
        bytes.extend_from_slice(&MAGIC);
        for word in [LAYOUT, settings(), self.flags, self.format] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        for word in self.words() {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.resize(HEADER - 8, 0);
        let hash = xxh3_64(&bytes);
        bytes.extend_from_slice(&hash.to_le_bytes());
        let mut header = [0; HEADER];
        header.copy_from_slice(&bytes);
        header
    }

    /// Reads a header; none if it is none of this layout and these settings, or damaged.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<(Self, u64)> {
        let (content, hash) = bytes.get(..HEADER)?.split_at_checked(HEADER - 8)?;
        let hash = u64::from_le_bytes(hash.try_into().ok()?);
        if content.get(..8)? != MAGIC || xxh3_64(content) != hash {
            return None;
        }
        let word32 = |at: usize| {
            Some(u32::from_le_bytes(
                content.get(at..at + 4)?.try_into().ok()?,
            ))
        };
        if word32(8)? != LAYOUT || word32(12)? != settings() {
            return None;
        }
        let mut header = Self {
            flags: word32(16)?,
            format: word32(20)?,
            ..Self::default()
        };
        for (number, field) in header.words_mut().into_iter().enumerate() {
            let at = 24 + 8 * number;
            *field = u64::from_le_bytes(content.get(at..at + 8)?.try_into().ok()?);
        }
        Some((header, hash))
    }

    fn words(mut self) -> [u64; 20] {
        self.words_mut().map(|word| *word)
    }

    /// The 64-bit fields in their order on disk.
    fn words_mut(&mut self) -> [&mut u64; 20] {
        [
            &mut self.log_start,
            &mut self.log_end,
            &mut self.first_slot,
            &mut self.slots,
            &mut self.first_row,
            &mut self.rows,
            &mut self.columns_len,
            &mut self.summary_len,
            &mut self.columns_root,
            &mut self.summary_hash,
            &mut self.details_len,
            &mut self.details_hash,
            &mut self.seed,
            &mut self.head_hash,
            &mut self.tail_hash,
            &mut self.device,
            &mut self.inode,
            &mut self.modified,
            &mut self.log_len,
            &mut self.before,
        ]
    }

    pub(crate) fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    pub(crate) fn identity(&self) -> Identity {
        Identity {
            device: self.device,
            inode: self.inode,
            modified: self.modified,
            changed: 0,
        }
    }

    pub(crate) fn set_identity(&mut self, identity: Identity, log_len: u64) {
        self.log_len = log_len;
        self.device = identity.device;
        self.inode = identity.inode;
        self.modified = identity.modified;
    }
}

/// The number of a format in a header.
pub(crate) fn format_number(format: Format) -> u32 {
    match format {
        Format::CodebotV3 => 1,
        Format::PiV1 => 2,
        Format::PiV2 => 3,
        Format::PiV3 => 4,
        Format::PiV4 => 5,
    }
}

/// The format of a number.
pub(crate) fn format_of(number: u32) -> Option<Format> {
    [
        Format::CodebotV3,
        Format::PiV1,
        Format::PiV2,
        Format::PiV3,
        Format::PiV4,
    ]
    .into_iter()
    .find(|&format| format_number(format) == number)
}

/// How rkyv archives in this build: byte order, pointer width and alignment are features that any
/// crate in the dependency graph can change, so a sidecar says which ones it was written with.
pub(crate) fn settings() -> u32 {
    let order = rkyv::to_bytes::<rancor::Error>(&0x0102_0304_u32)
        .ok()
        .and_then(|bytes| bytes.first().copied())
        .unwrap_or(0);
    let width = size_of::<rkyv::primitive::ArchivedUsize>();
    let alignment = align_of::<rkyv::primitive::ArchivedU64>();
    let byte = |size: usize| u8::try_from(size).unwrap_or(0);
    u32::from_le_bytes([order, byte(width), byte(alignment), 0])
}

/// A length rounded up to where the next part may start.
pub(crate) fn padded(len: usize, to: usize) -> usize {
    len.div_ceil(to) * to
}

#[cfg(test)]
mod tests {
    use super::{FrameHeader, HEADER};

    #[test]
    fn fields_fill_the_header_as_the_table_states() {
        let words = FrameHeader::default().words().len();
        assert_eq!(8 + 4 * 4 + 8 * words + 64 + 8, HEADER);
    }

    #[test]
    fn a_header_reads_back_and_every_flipped_bit_is_noticed() {
        let header = FrameHeader {
            slots: 7,
            seed: u64::MAX,
            flags: 1,
            format: 5,
            ..FrameHeader::default()
        };
        let bytes = header.to_bytes();
        assert_eq!(FrameHeader::from_bytes(&bytes).unwrap().0, header);
        for at in 0..HEADER {
            let mut bad = bytes;
            bad[at] ^= 1;
            assert!(FrameHeader::from_bytes(&bad).is_none(), "{at}");
        }
        assert!(FrameHeader::from_bytes(&bytes[..HEADER - 1]).is_none());
    }
}
