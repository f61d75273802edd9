//! The first stage on any processor: classes from a table, and a turn of eight bytes of eight bits.

use super::blocks::{BLOCK, Block, Escapes, Kernel, Masks};

/// Needs nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Portable;

/// The classes of a byte, one bit each.
const fn classes(byte: u8) -> u8 {
    match byte {
        b'{' | b'}' | b'[' | b']' | b':' | b',' => 1,
        b' ' => 1 << 1,
        b'\t' | b'\r' => 1 << 1 | 1 << 5,
        b'"' => 1 << 2,
        b'\\' => 1 << 3,
        b'\n' => 1 << 4 | 1 << 5,
        0..0x20 => 1 << 5,
        0x80.. => 1 << 6,
        _ => 0,
    }
}

/// The classes of a byte behind a backslash.
const fn escape_classes(byte: u8) -> u8 {
    let letter = matches!(
        byte,
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' | b'u'
    ) as u8;
    letter | ((byte == b'u') as u8) << 1 | (byte.is_ascii_hexdigit() as u8) << 2
}

static CLASSES: [u8; 256] = table(false);
static ESCAPES: [u8; 256] = table(true);

#[expect(
    clippy::indexing_slicing,
    reason = "the compiler runs this; no byte is above the table's end"
)]
const fn table(of_escapes: bool) -> [u8; 256] {
    let mut all = [0; 256];
    let mut byte = 0_u8;
    loop {
        all[byte as usize] = if of_escapes {
            escape_classes(byte)
        } else {
            classes(byte)
        };
        if byte == u8::MAX {
            return all;
        }
        byte += 1;
    }
}

/// Bit `i` of the block's class `c` in bit `i` of the answer's number `c`.
fn sorted<const N: usize>(block: &Block, table: &[u8; 256]) -> [u64; N] {
    let mut masks = [0; N];
    for (number, eight) in block.as_chunks::<8>().0.iter().enumerate() {
        let classes = eight.map(|byte| table.get(usize::from(byte)).copied().unwrap_or(0));
        let turned = turned(u64::from_le_bytes(classes)).to_le_bytes();
        for (mask, byte) in masks.iter_mut().zip(turned) {
            *mask |= u64::from(byte) << (8 * number);
        }
    }
    masks
}

/// Eight bytes as a matrix of bits, its rows made columns (Hacker's Delight, 7-3).
fn turned(mut bits: u64) -> u64 {
    let mut swap = |shift: u32, mask: u64| {
        let change = (bits ^ bits >> shift) & mask;
        bits ^= change ^ change << shift;
    };
    swap(7, 0x00AA_00AA_00AA_00AA);
    swap(14, 0x0000_CCCC_0000_CCCC);
    swap(28, 0x0000_0000_F0F0_F0F0);
    bits
}

/// As [`Kernel::write`], without special instructions.
#[inline(always)]
pub(super) fn write(mut bits: u64, base: u32, places: &mut [u32; BLOCK]) {
    // Eight at a time, whether there are as many or not: that costs less than to ask each time.
    for eight in places.as_chunks_mut::<8>().0 {
        for place in eight {
            *place = base.wrapping_add(bits.trailing_zeros());
            bits &= bits.wrapping_sub(1);
        }
        if bits == 0 {
            break;
        }
    }
}

impl Kernel for Portable {
    #[inline(always)]
    fn masks(self, block: &Block) -> Masks {
        let [operator, space, quote, backslash, newline, control, high] = sorted(block, &CLASSES);
        Masks {
            operator,
            space,
            quote,
            backslash,
            newline,
            control,
            high,
        }
    }

    #[inline(always)]
    fn escapes(self, block: &Block) -> Escapes {
        let [letter, unicode, hex] = sorted(block, &ESCAPES);
        Escapes {
            letter,
            unicode,
            hex,
        }
    }

    #[inline(always)]
    fn parity(self, mut bits: u64) -> u64 {
        for shift in [1, 2, 4, 8, 16, 32] {
            bits ^= bits << shift;
        }
        bits
    }

    #[inline(always)]
    fn write(self, bits: u64, base: u32, places: &mut [u32; BLOCK]) {
        write(bits, base, places);
    }
}
