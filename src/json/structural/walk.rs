//! The second stage: by the places of the first one, is it JSON, and where do the values stand that
//! lie close to the root?

use super::blocks::{AHEAD, Kernel, Places, Stage};
use crate::json::grammar::{digits, literal};
use crate::json::is_space;
use crate::json::tree::{Item, Kind};

/// Values under so many others are noted; what stands deeper is only walked. No rule of a format looks
/// deeper: the blocks of a message in a list of messages in the payload, and the type of a block.
pub(crate) const LEVELS: usize = 6;

/// What is noted of a line.
#[derive(Debug, Default)]
pub(super) struct Marks {
    pub(super) items: Vec<Item>,
    /// Containers of containers beyond the 64 that a word tells of.
    outer: Vec<u64>,
}

impl Marks {
    /// How much is kept from line to line.
    pub(super) fn capacity(&self) -> usize {
        self.items.capacity() + self.outer.capacity()
    }
}

/// The containers around the place where the walk is.
struct Around<'m> {
    marks: &'m mut Marks,
    depth: usize,
    /// One bit for each of the innermost ones: whether it is an object.
    objects: u64,
    /// The item of each one that is noted.
    noted: [usize; LEVELS],
}

impl Around<'_> {
    #[inline(always)]
    fn is_object(&self) -> bool {
        self.objects & 1 == 1
    }

    #[inline(always)]
    fn note(&mut self, kind: Kind, start: usize, end: usize) {
        if self.depth < LEVELS {
            self.marks.items.push(Item::new(kind, start, end));
        }
    }

    #[inline(always)]
    fn open(&mut self, kind: Kind, at: usize) {
        if let Some(noted) = self.noted.get_mut(self.depth) {
            *noted = self.marks.items.len();
            self.marks.items.push(Item::new(kind, at, at + 1));
        }
        if self.depth.is_multiple_of(64) && self.depth > 0 {
            self.marks.outer.push(self.objects);
        }
        self.objects = self.objects << 1 | u64::from(kind == Kind::Object);
        self.depth += 1;
    }

    #[inline(always)]
    fn close(&mut self, at: usize) {
        self.depth = self.depth.saturating_sub(1);
        self.objects >>= 1;
        if self.depth.is_multiple_of(64) && self.depth > 0 {
            self.objects = self.marks.outer.pop().unwrap_or(0);
        }
        if let Some(&number) = self.noted.get(self.depth) {
            let after = self.marks.items.len();
            if let Some(item) = self.marks.items.get_mut(number) {
                item.end = at + 1;
                item.size = after - number;
            }
        }
    }
}

/// Walks the line at the start of a text. Whether it is one JSON value with nothing but white space
/// around it, but for what is no UTF-8 in strings.
#[inline(always)]
pub(super) fn walk<K: Kernel>(
    kernel: K,
    stage: &mut Stage<'_>,
    places: &mut Places,
    marks: &mut Marks,
) -> bool {
    marks.items.clear();
    marks.outer.clear();
    let text = stage.text();
    let byte = |at: usize| text.get(at).copied().unwrap_or(b'\n');
    let mut around = Around {
        marks,
        depth: 0,
        objects: 0,
        noted: [0; LEVELS],
    };
    places.clear();
    stage.advance(kernel, 0, places);
    let mut next = 0;
    // So many places may be looked at.
    let mut limit = if stage.end().is_some() {
        usize::MAX
    } else {
        places.count()
    };
    // Sees to it that so many places can be looked at as the second stage looks at between two values.
    macro_rules! look_ahead {
        () => {
            if next + AHEAD > limit {
                stage.advance(kernel, next, places);
                next = 0;
                limit = if stage.end().is_some() {
                    usize::MAX
                } else {
                    places.count()
                };
                if stage.is_bad() {
                    return false;
                }
            }
        };
    }
    // A key and its colon.
    macro_rules! key {
        () => {
            let (at, colon) = (places.get(next), places.get(next + 1));
            if byte(at) != b'"' || byte(colon) != b':' {
                return false;
            }
            around.note(Kind::String, at, trimmed(text, colon));
            next += 2;
        };
    }
    'value: loop {
        let at = places.get(next);
        let after = places.get(next + 1);
        match byte(at) {
            b'"' => {
                around.note(Kind::String, at, trimmed(text, after));
                next += 1;
            }
            b'{' => {
                around.open(Kind::Object, at);
                next += 1;
                look_ahead!();
                if byte(places.get(next)) != b'}' {
                    key!();
                    continue 'value;
                }
            }
            b'[' => {
                around.open(Kind::Array, at);
                next += 1;
                look_ahead!();
                if byte(places.get(next)) != b']' {
                    continue 'value;
                }
            }
            first => {
                let (kind, end) = match first {
                    b'-' | b'0'..=b'9' => (Kind::Number, digits(text, at)),
                    b't' => (Kind::True, literal(text, at, b"true")),
                    b'f' => (Kind::False, literal(text, at, b"false")),
                    b'n' => (Kind::Null, literal(text, at, b"null")),
                    _ => return false,
                };
                match end {
                    Ok(end) if end == after || is_space(byte(end)) => around.note(kind, at, end),
                    _ => return false,
                }
                next += 1;
            }
        }
        while around.depth > 0 {
            look_ahead!();
            let at = places.get(next);
            next += 1;
            match (byte(at), around.is_object()) {
                (b',', true) => {
                    key!();
                    continue 'value;
                }
                (b',', false) => continue 'value,
                (b'}', true) | (b']', false) => around.close(at),
                _ => return false,
            }
        }
        break;
    }
    if next >= limit {
        stage.advance(kernel, next, places);
        next = 0;
    }
    !stage.is_bad() && stage.end() == Some(places.get(next))
}

/// The end of the string behind which something else stands at `at`.
#[inline(always)]
fn trimmed(text: &[u8], at: usize) -> usize {
    let mut end = at;
    if at.checked_sub(1).and_then(|last| text.get(last)) == Some(&b'"') {
        return at;
    }
    while let Some(before) = end.checked_sub(1)
        && text.get(before).is_some_and(|&byte| is_space(byte))
    {
        end = before;
    }
    end
}
