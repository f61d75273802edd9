//! The first stage: from 64 bytes at a time to the places of what gives a line its structure. Strings
//! are left out but for their opening quotes, of numbers and literals the first byte counts.
//!
//! After simdjson ("Parsing Gigabytes of JSON per Second", Langdale and Lemire, 2019, section 3.1);
//! different from it, the line ends at the first newline, and escapes are checked here.

/// Bytes of a block.
pub(super) const BLOCK: usize = 64;

/// A block of a text. Bit `i` of each mask below belongs to byte `i`.
pub(super) type Block = [u8; BLOCK];

/// What each byte is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Masks {
    /// `{ } [ ] : ,`
    pub(super) operator: u64,
    /// Space, tab, carriage return.
    pub(super) space: u64,
    pub(super) quote: u64,
    pub(super) backslash: u64,
    pub(super) newline: u64,
    /// Below 0x20.
    pub(super) control: u64,
    /// 0x80 and above.
    pub(super) high: u64,
}

/// What each byte is behind a backslash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Escapes {
    /// One of `" \ / b f n r t u`.
    pub(super) letter: u64,
    /// `u`, behind which four digits stand.
    pub(super) unicode: u64,
    /// A hexadecimal digit.
    pub(super) hex: u64,
}

/// The instructions that the first stage needs, by what a processor offers. Having a value means that
/// the processor has them.
pub(super) trait Kernel: Copy {
    fn masks(self, block: &Block) -> Masks;
    fn escapes(self, block: &Block) -> Escapes;
    /// Each bit of the answer is the parity of all bits up to there.
    fn parity(self, bits: u64) -> u64;
    /// Writes `base` plus the place of each set bit, in order. What is behind them in `places` may be
    /// anything afterwards.
    fn write(self, bits: u64, base: u32, places: &mut [u32; BLOCK]);
}

/// Windows of the first stage: so much is read before the second stage goes on.
const WINDOW: usize = 32;
/// The second stage looks so many places ahead.
pub(super) const AHEAD: usize = 5;
/// At least the places of a window, those left from the one before, and room to write a block
/// carelessly. A power of two, so that a mask keeps numbers within it.
const ROOM: usize = (WINDOW * BLOCK + 2 * AHEAD + BLOCK).next_power_of_two();
/// Longer lines are left to others: places have 32 bits.
const LONGEST: usize = 1 << 30;

/// The places of a line's structure, a window at a time.
pub(super) struct Places {
    places: Box<[u32; ROOM]>,
    count: usize,
}

impl Places {
    pub(super) fn new() -> Self {
        Self {
            places: Box::new([0; ROOM]),
            count: 0,
        }
    }

    #[inline(always)]
    pub(super) fn get(&self, number: usize) -> usize {
        self.places
            .get(number % ROOM)
            .map_or(0, |&place| widen(place))
    }

    #[inline(always)]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    /// Drops the first ones.
    fn keep_from(&mut self, number: usize) {
        self.places
            .copy_within(number.min(self.count)..self.count, 0);
        self.count -= number.min(self.count);
    }

    #[inline(always)]
    fn room(&mut self) -> Option<&mut [u32; BLOCK]> {
        self.places.get_mut(self.count % ROOM..)?.first_chunk_mut()
    }

    fn push(&mut self, place: usize) {
        if let Some(room) = self.places.get_mut(self.count) {
            *room = u32::try_from(place).unwrap_or(u32::MAX);
            self.count += 1;
        }
    }
}

#[inline(always)]
fn widen(place: u32) -> usize {
    // At most 2^30 is ever written.
    usize::try_from(place).unwrap_or(usize::MAX)
}

/// Where the first stage is in a line.
pub(super) struct Stage<'t> {
    text: &'t [u8],
    /// The next block.
    at: usize,
    /// One if the next byte stands behind a backslash that counts.
    escaped: u64,
    /// All ones inside a string.
    in_string: u64,
    /// One behind a byte of a number, a literal or a string.
    in_scalar: u64,
    /// The first bytes of the next block that must be hexadecimal digits.
    digits: u64,
    /// Not zero: no JSON.
    bad: u64,
    high: u64,
    end: Option<usize>,
}

impl<'t> Stage<'t> {
    /// At the start of a text, whose first line counts.
    #[inline(always)]
    pub(super) fn new(text: &'t [u8]) -> Self {
        Self {
            text,
            at: 0,
            escaped: 0,
            in_string: 0,
            in_scalar: 0,
            digits: 0,
            bad: 0,
            high: 0,
            end: None,
        }
    }

    pub(super) fn text(&self) -> &'t [u8] {
        self.text
    }

    /// Where the line ends, once that is known.
    #[inline(always)]
    pub(super) fn end(&self) -> Option<usize> {
        self.end
    }

    /// Whether the strings so far are anything but what JSON allows; UTF-8 is not looked at.
    #[inline(always)]
    pub(super) fn is_bad(&self) -> bool {
        self.bad != 0
    }

    /// Whether the line has bytes of 0x80 and above.
    #[inline(always)]
    pub(super) fn has_high(&self) -> bool {
        self.high != 0
    }

    /// Goes on by a window or more, so that places from `from` on are enough to look ahead, which become
    /// the first ones. Behind the last place of a line come some that are its end.
    #[inline(always)]
    pub(super) fn advance<K: Kernel>(&mut self, kernel: K, from: usize, places: &mut Places) {
        places.keep_from(from);
        while places.count < AHEAD && self.end.is_none() {
            for _ in 0..WINDOW {
                match self.text.get(self.at..).and_then(<[u8]>::first_chunk) {
                    Some(block) => self.block(kernel, block, places),
                    None => self.last_block(kernel, places),
                }
                if self.end.is_some() {
                    break;
                }
            }
            if self.at > LONGEST {
                self.bad = 1;
                self.end.get_or_insert(self.text.len());
            }
        }
        if let Some(end) = self.end {
            for _ in 0..AHEAD {
                places.push(end);
            }
        }
    }

    /// The end of the text, which is the end of the line.
    fn last_block<K: Kernel>(&mut self, kernel: K, places: &mut Places) {
        let mut block = [b'\n'; BLOCK];
        let rest = self.text.get(self.at..).unwrap_or_default();
        if let Some(start) = block.get_mut(..rest.len()) {
            start.copy_from_slice(rest);
        }
        self.block(kernel, &block, places);
    }

    #[inline(always)]
    fn block<K: Kernel>(&mut self, kernel: K, block: &Block, places: &mut Places) {
        let masks = kernel.masks(block);
        // The bits before the first newline.
        let line = (masks.newline & masks.newline.wrapping_neg()).wrapping_sub(1);
        let mut quote = masks.quote;
        let mut bad = 0;
        if (masks.backslash | self.escaped | self.digits) != 0 {
            let escaped = self.escaped(masks.backslash);
            quote &= !escaped;
            let escapes = kernel.escapes(block);
            let unicode = escapes.unicode & escaped;
            let digits = self.digits | unicode << 1 | unicode << 2 | unicode << 3 | unicode << 4;
            self.digits = unicode >> 63 | unicode >> 62 | unicode >> 61 | unicode >> 60;
            bad = escaped & !escapes.letter | digits & !escapes.hex;
        }
        let in_string = kernel.parity(quote) ^ self.in_string;
        self.in_string = 0_u64.wrapping_sub(in_string >> 63);
        bad |= masks.control & in_string;
        // All of a string but its opening quote.
        let tail = in_string ^ quote;
        let scalar = !(masks.operator | masks.space);
        let inside = scalar & !quote;
        let follows = inside << 1 | self.in_scalar;
        self.in_scalar = inside >> 63;
        let structure = (masks.operator | scalar & !follows) & !tail & line;
        self.bad |= bad & line;
        self.high |= masks.high & line;
        if masks.newline != 0 {
            let len = line.count_ones();
            // The newline stands in a string.
            self.bad |= in_string >> len & 1;
            self.end = Some(self.at + widen(len));
        }
        if let Some(room) = places.room() {
            kernel.write(structure, u32::try_from(self.at).unwrap_or(u32::MAX), room);
            places.count += widen(structure.count_ones());
        }
        self.at += BLOCK;
    }

    /// The bytes that stand behind a backslash which is itself not behind one.
    #[inline(always)]
    fn escaped(&mut self, backslash: u64) -> u64 {
        const EVEN: u64 = 0x5555_5555_5555_5555;
        let backslash = backslash & !self.escaped;
        let follows = backslash << 1 | self.escaped;
        let odd_starts = backslash & !EVEN & !follows;
        let (even_runs, overflow) = odd_starts.overflowing_add(backslash);
        self.escaped = u64::from(overflow);
        (EVEN ^ even_runs << 1) & follows
    }
}
