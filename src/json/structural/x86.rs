//! The first stage with AVX2, and with AVX-512 as Ice Lake and Zen 4 have it. Beside the mapping of
//! files the one place with `unsafe` code.
//!
//! The contract: a value of [`Avx2`] or [`Avx512`] is only ever made by `detect`, which asked the
//! processor, so that whoever has one may use its instructions.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::blocks::{BLOCK, Block, Escapes, Kernel, Masks, Places, Stage};
use super::portable;
use super::walk::{Marks, walk};

/// Says that the processor has AVX2 and the carry-less product.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx2(());

/// Says that the processor has AVX-512 with VBMI and VBMI2, and the carry-less product.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx512(());

// The classes of a byte are those that two tables agree on, by its lower and by its upper half.
const COMMA: u8 = 1;
const COLON: u8 = 1 << 1;
const BRACKET: u8 = 1 << 2;
const SPACE: u8 = 1 << 3;
const TAB: u8 = 1 << 4;
const OPERATOR: u8 = COMMA | COLON | BRACKET;
const WHITE: u8 = SPACE | TAB;

const LOW: [u8; 16] = [
    SPACE,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    TAB,
    COLON,
    BRACKET,
    COMMA,
    BRACKET | TAB,
    0,
    0,
];
const HIGH: [u8; 16] = [
    TAB,
    0,
    COMMA | SPACE,
    COLON,
    0,
    BRACKET,
    0,
    BRACKET,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
];

// The same for what stands behind a backslash.
const PUNCTUATION: u8 = 1;
const BACKSLASH: u8 = 1 << 1;
const BFN: u8 = 1 << 2;
const RTU: u8 = 1 << 3;
const DIGIT: u8 = 1 << 4;
const A_TO_F: u8 = 1 << 5;
const LETTER: u8 = PUNCTUATION | BACKSLASH | BFN | RTU;
const HEX: u8 = DIGIT | A_TO_F;

const ESCAPE_LOW: [u8; 16] = [
    DIGIT,
    DIGIT | A_TO_F,
    PUNCTUATION | BFN | RTU | DIGIT | A_TO_F,
    DIGIT | A_TO_F,
    RTU | DIGIT | A_TO_F,
    RTU | DIGIT | A_TO_F,
    BFN | DIGIT | A_TO_F,
    DIGIT,
    DIGIT,
    DIGIT,
    0,
    0,
    BACKSLASH,
    0,
    BFN,
    PUNCTUATION,
];
const ESCAPE_HIGH: [u8; 16] = [
    0,
    0,
    PUNCTUATION,
    DIGIT,
    A_TO_F,
    BACKSLASH,
    BFN | A_TO_F,
    RTU,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
];

impl Avx2 {
    /// None if the processor does not have it.
    pub(super) fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("pclmulqdq"))
        .then_some(Self(()))
    }

    /// [`walk`] with all of it compiled for these instructions.
    pub(super) fn walk(
        self,
        stage: &mut Stage<'_>,
        places: &mut Places,
        marks: &mut Marks,
    ) -> bool {
        // SAFETY: `detect` found these instructions, as the value says.
        unsafe { walk_avx2(self, stage, places, marks) }
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
fn walk_avx2(kernel: Avx2, stage: &mut Stage<'_>, places: &mut Places, marks: &mut Marks) -> bool {
    walk(kernel, stage, places, marks)
}

impl Kernel for Avx2 {
    #[inline(always)]
    fn masks(self, block: &Block) -> Masks {
        // SAFETY: the value says that the processor has AVX2.
        unsafe { avx2_masks(block) }
    }

    #[inline(always)]
    fn escapes(self, block: &Block) -> Escapes {
        // SAFETY: the value says that the processor has AVX2.
        unsafe { avx2_escapes(block) }
    }

    #[inline(always)]
    fn parity(self, bits: u64) -> u64 {
        // SAFETY: the value says that the processor has the carry-less product.
        unsafe { parity(bits) }
    }

    #[inline(always)]
    fn write(self, bits: u64, base: u32, places: &mut [u32; BLOCK]) {
        portable::write(bits, base, places);
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn avx2_halves(block: &Block) -> [__m256i; 2] {
    let start = block.as_ptr().cast::<__m256i>();
    // SAFETY: a block has 64 bytes, and these loads ask for no alignment.
    unsafe { [_mm256_loadu_si256(start), _mm256_loadu_si256(start.add(1))] }
}

/// Twice 16 bytes.
#[inline]
#[target_feature(enable = "avx2")]
fn avx2_table(table: &[u8; 16]) -> __m256i {
    // SAFETY: the table has 16 bytes, and the load asks for no alignment.
    let half = unsafe { _mm_loadu_si128(table.as_ptr().cast()) };
    _mm256_broadcastsi128_si256(half)
}

/// The bits that are set where the comparison holds in the two halves.
#[inline]
#[target_feature(enable = "avx2")]
fn avx2_bits(low: __m256i, high: __m256i) -> u64 {
    let bits = |half| u64::from(_mm256_movemask_epi8(half).cast_unsigned());
    bits(low) | bits(high) << 32
}

/// What two tables agree on for each byte.
#[inline]
#[target_feature(enable = "avx2")]
fn avx2_classes(bytes: __m256i, low: &[u8; 16], high: &[u8; 16]) -> __m256i {
    let upper = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(0x0F));
    _mm256_and_si256(
        _mm256_shuffle_epi8(avx2_table(low), bytes),
        _mm256_shuffle_epi8(avx2_table(high), upper),
    )
}

/// Where any of some classes is set.
#[inline]
#[target_feature(enable = "avx2")]
fn avx2_any(classes: [__m256i; 2], wanted: u8) -> u64 {
    let none = |half| {
        _mm256_cmpeq_epi8(
            _mm256_and_si256(half, _mm256_set1_epi8(wanted.cast_signed())),
            _mm256_setzero_si256(),
        )
    };
    let [low, high] = classes;
    !avx2_bits(none(low), none(high))
}

#[inline]
#[target_feature(enable = "avx2")]
fn avx2_masks(block: &Block) -> Masks {
    let [low, high] = avx2_halves(block);
    let classes = [
        avx2_classes(low, &LOW, &HIGH),
        avx2_classes(high, &LOW, &HIGH),
    ];
    let equal = |byte: u8| {
        let byte = _mm256_set1_epi8(byte.cast_signed());
        avx2_bits(_mm256_cmpeq_epi8(low, byte), _mm256_cmpeq_epi8(high, byte))
    };
    let control = |half| {
        let most = _mm256_set1_epi8(0x1F);
        _mm256_cmpeq_epi8(_mm256_max_epu8(half, most), most)
    };
    Masks {
        operator: avx2_any(classes, OPERATOR),
        space: avx2_any(classes, WHITE),
        quote: equal(b'"'),
        backslash: equal(b'\\'),
        newline: equal(b'\n'),
        control: avx2_bits(control(low), control(high)),
        high: avx2_bits(low, high),
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn avx2_escapes(block: &Block) -> Escapes {
    let [low, high] = avx2_halves(block);
    let classes = [
        avx2_classes(low, &ESCAPE_LOW, &ESCAPE_HIGH),
        avx2_classes(high, &ESCAPE_LOW, &ESCAPE_HIGH),
    ];
    let u = _mm256_set1_epi8(b'u'.cast_signed());
    Escapes {
        letter: avx2_any(classes, LETTER),
        unicode: avx2_bits(_mm256_cmpeq_epi8(low, u), _mm256_cmpeq_epi8(high, u)),
        hex: avx2_any(classes, HEX),
    }
}

/// The product with all ones adds up, without carries, the bits up to each place.
#[inline]
#[target_feature(enable = "pclmulqdq")]
fn parity(bits: u64) -> u64 {
    let product = _mm_clmulepi64_si128(_mm_set_epi64x(0, bits.cast_signed()), _mm_set1_epi8(-1), 0);
    _mm_cvtsi128_si64(product).cast_unsigned()
}

impl Avx512 {
    /// None if the processor does not have it.
    pub(super) fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2"))
        .then(Avx2::detect)
        .flatten()
        .map(|_| Self(()))
    }

    /// [`walk`] with all of it compiled for these instructions.
    pub(super) fn walk(
        self,
        stage: &mut Stage<'_>,
        places: &mut Places,
        marks: &mut Marks,
    ) -> bool {
        // SAFETY: `detect` found these instructions, as the value says.
        unsafe { walk_avx512(self, stage, places, marks) }
    }
}

#[target_feature(
    enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq"
)]
fn walk_avx512(
    kernel: Avx512,
    stage: &mut Stage<'_>,
    places: &mut Places,
    marks: &mut Marks,
) -> bool {
    walk(kernel, stage, places, marks)
}

impl Kernel for Avx512 {
    #[inline(always)]
    fn masks(self, block: &Block) -> Masks {
        // SAFETY: the value says that the processor has what this asks for.
        unsafe { avx512_masks(block) }
    }

    #[inline(always)]
    fn escapes(self, block: &Block) -> Escapes {
        // SAFETY: the value says that the processor has what this asks for.
        unsafe { avx512_escapes(block) }
    }

    #[inline(always)]
    fn parity(self, bits: u64) -> u64 {
        // SAFETY: the value says that the processor has the carry-less product.
        unsafe { parity(bits) }
    }

    #[inline(always)]
    fn write(self, bits: u64, base: u32, places: &mut [u32; BLOCK]) {
        // SAFETY: the value says that the processor has what this asks for.
        unsafe { avx512_write(bits, base, places) }
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn avx512_load(block: &Block) -> __m512i {
    // SAFETY: a block has 64 bytes, and the load asks for no alignment.
    unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn avx512_classes(bytes: __m512i, low: &[u8; 16], high: &[u8; 16]) -> __m512i {
    let table = |table: &[u8; 16]| {
        // SAFETY: the table has 16 bytes, and the load asks for no alignment.
        let quarter = unsafe { _mm_loadu_si128(table.as_ptr().cast()) };
        _mm512_broadcast_i32x4(quarter)
    };
    let upper = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), _mm512_set1_epi8(0x0F));
    _mm512_and_si512(
        _mm512_shuffle_epi8(table(low), bytes),
        _mm512_shuffle_epi8(table(high), upper),
    )
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn avx512_any(classes: __m512i, wanted: u8) -> u64 {
    _mm512_test_epi8_mask(classes, _mm512_set1_epi8(wanted.cast_signed()))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn avx512_masks(block: &Block) -> Masks {
    let bytes = avx512_load(block);
    let classes = avx512_classes(bytes, &LOW, &HIGH);
    let equal = |byte: u8| _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte.cast_signed()));
    Masks {
        operator: avx512_any(classes, OPERATOR),
        space: avx512_any(classes, WHITE),
        quote: equal(b'"'),
        backslash: equal(b'\\'),
        newline: equal(b'\n'),
        control: _mm512_cmplt_epu8_mask(bytes, _mm512_set1_epi8(0x20)),
        high: _mm512_movepi8_mask(bytes),
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn avx512_escapes(block: &Block) -> Escapes {
    let bytes = avx512_load(block);
    let classes = avx512_classes(bytes, &ESCAPE_LOW, &ESCAPE_HIGH);
    Escapes {
        letter: avx512_any(classes, LETTER),
        unicode: _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b'u'.cast_signed())),
        hex: avx512_any(classes, HEX),
    }
}

#[rustfmt::skip]
const NUMBERS: [u8; BLOCK] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
    16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
    32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
    48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63,
];

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
fn avx512_write(bits: u64, base: u32, places: &mut [u32; BLOCK]) {
    let packed = _mm512_maskz_compress_epi8(bits, avx512_load(&NUMBERS));
    let base = _mm512_set1_epi32(base.cast_signed());
    let quarters = [
        _mm512_castsi512_si128(packed),
        _mm512_extracti32x4_epi32::<1>(packed),
        _mm512_extracti32x4_epi32::<2>(packed),
        _mm512_extracti32x4_epi32::<3>(packed),
    ];
    let mut left = bits.count_ones();
    for (quarter, room) in quarters.into_iter().zip(places.as_chunks_mut::<16>().0) {
        let wide = _mm512_add_epi32(_mm512_cvtepu8_epi32(quarter), base);
        // SAFETY: the room has 16 numbers of 32 bits, and the store asks for no alignment.
        unsafe { _mm512_storeu_si512(room.as_mut_ptr().cast(), wide) };
        if left <= 16 {
            break;
        }
        left -= 16;
    }
}
