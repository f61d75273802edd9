//! The first stage on any processor.

use super::blocks::{BLOCK, Block, Escapes, Kernel, Masks};

/// Needs nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Portable;

/// Bit `i` of the answer says whether byte `i` is one of those asked for. Compilers make of the first
/// step what the processor has for 16 bytes or more at a time.
#[inline(always)]
fn mask(block: &Block, is: impl Fn(u8) -> bool) -> u64 {
    let lanes: Block = block.map(|byte| if is(byte) { 0xFF } else { 0 });
    let mut mask = 0;
    for (number, eight) in lanes.as_chunks::<8>().0.iter().enumerate() {
        // One bit of each byte, each in another place, added up in the highest byte.
        let bits = u64::from_le_bytes(*eight) & 0x8040_2010_0804_0201;
        mask |= bits.wrapping_mul(0x0101_0101_0101_0101) >> 56 << (8 * number);
    }
    mask
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
        Masks {
            // With this bit, `[` is as `{` and `]` as `}`.
            operator: mask(block, |byte| {
                (byte | 0x20 == b'{') | (byte | 0x20 == b'}') | (byte == b':') | (byte == b',')
            }),
            space: mask(block, |byte| {
                (byte == b' ') | (byte == b'\t') | (byte == b'\r')
            }),
            quote: mask(block, |byte| byte == b'"'),
            backslash: mask(block, |byte| byte == b'\\'),
            newline: mask(block, |byte| byte == b'\n'),
            control: mask(block, |byte| byte < 0x20),
            high: mask(block, |byte| byte >= 0x80),
        }
    }

    #[inline(always)]
    fn escapes(self, block: &Block) -> Escapes {
        Escapes {
            letter: mask(block, |byte| {
                (byte == b'"')
                    | (byte == b'\\')
                    | (byte == b'/')
                    | (byte == b'b')
                    | (byte == b'f')
                    | (byte == b'n')
                    | (byte == b'r')
                    | (byte == b't')
                    | (byte == b'u')
            }),
            unicode: mask(block, |byte| byte == b'u'),
            hex: mask(block, |byte| {
                let letter = byte | 0x20;
                byte.is_ascii_digit() | (b'a'..=b'f').contains(&letter)
            }),
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
