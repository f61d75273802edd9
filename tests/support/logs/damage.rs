//! Damage done to a log after it was written: what crashes, editors, copies and other programs do.
//! For the strategies only.

use leaflog::Format;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::render::header;

/// What happened to one line. It stays with its line when other lines are taken away, so that a failing
/// log shrinks to the damage and what it needs.
#[derive(Clone, Debug)]
pub enum Damage {
    /// A line of junk before it.
    Junk(Vec<u8>),
    /// Cut somewhere, its newline kept.
    Torn(Index),
    /// Its own beginning, or that of the line before, before it.
    Spliced {
        own: bool,
        byte: Index,
    },
    /// No newline after it, and what stands there instead.
    Joined(Vec<u8>),
    /// NUL bytes before and after its object.
    Nuls(u16, u16),
    /// A newline in the middle.
    RawNewline(Index),
    /// Bytes in the middle.
    Inserted(Index, Vec<u8>),
    /// Bytes inside a string.
    InString(Index, Vec<u8>),
    /// White space before and after.
    Padded(Vec<u8>, Vec<u8>),
    /// A bit.
    Flipped(Index, u8),
    /// Its place changed with a later line.
    Swapped(u8),
    /// Once more some lines later.
    Repeated(u8),
    Removed,
    /// A header before it.
    HeaderAgain(Vec<u8>),
}

/// What happened to the file as a whole.
#[derive(Clone, Debug)]
pub enum Accident {
    Shuffled(u64),
    /// Carriage returns before all newlines.
    CrLf,
    Bom,
    HeaderRemoved,
    HeaderReplaced(Vec<u8>),
    /// The header so many lines later.
    HeaderLate(u8),
    Truncated(Index),
    NoFinalNewline,
    Tail(Vec<u8>),
}

/// Lines that are no entries.
const JUNK: &[&[u8]] = &[
    b"",
    b"null",
    b"[]",
    b"42",
    b"{}",
    b"\"text\"",
    b"{\"id\":\"00000001\"}",
    b"{broken",
    b"}",
    b"[{\"id\":\"00000001\"}]",
    b"not json at all",
    b"{\"kind\":\"entry\",\"id\":\"00000001\"",
    b"{} {}",
    b"{}{\"kind\":\"note\",\"type\":\"note\",\"id\":\"0000aaaa\"}",
    b"x{\"kind\":\"note\",\"type\":\"note\",\"id\":\"0000aaab\"}",
    b"{\"kind\":\"note\",\"type\":\"note\",\"id\":\"0000aaac\"}x",
    b"{\"kind\":\"note\",\"type\":\"note\",\"id\":\"0000aaad\"}}",
    b"{\"a\":{\"kind\":\"note\",\"type\":\"note\",\"id\":\"0000aaae\"}",
    b"{\"a\":\"{\\\"id\\\":1}\"",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xef\xbb\xbf{\"kind\":\"note\",\"type\":\"note\",\"id\":\"0000aaaf\"}",
    b"\0",
    b"\0\0\0 \t\0",
    b"\xe2\x80\xa8",
    b"# a comment",
    b"{\"id\":null}",
    b"{\"id\":7,\"type\":\"message\",\"kind\":\"message\"}",
    b"{'id':'00000001'}",
    b"{\"kind\":\"note\",\"type\":\"note\",\"id\":\"0000aab0\",}",
    b"{\"kind\":\"note\",\"type\":\"note\",\"id\":\"0000aab1\",\"n\":01}",
    b"{\"kind\":\"note\",\"type\":\"note\",\"id\":\"0000aab2\",\"s\":\"tab\there\"}",
];

const HEADERS: &[&str] = &[
    r#"{"kind":"header","id":"h0","timestamp":"2026-07-14T09:00:00Z","data":{"version":99}}"#,
    r#"{"kind":"header","id":"h0","timestamp":"2026-07-14T09:00:00Z","data":{"version":"3"}}"#,
    r#"{"kind":"header","id":"h0","timestamp":"2026-07-14T09:00:00Z","data":{}}"#,
    r#"{"kind":"header","id":"h0","data":null}"#,
    r#"{"kind":"header","id":"other","timestamp":"2026-07-14T09:00:00Z","data":{"version":3}}"#,
    r#"{"kind":"header","data":{"version":3,"session_id":7}}"#,
    r#"{"kind":"header","version":4,"id":"again","createdAt":0,"cwd":"/"}"#,
    r#"{"kind":"header","version":5,"id":"s"}"#,
    r#"{"kind":"header","id":"s"}"#,
    r#"{"kind":"header","version":4}"#,
    r#"{"kind":"header","version":4.0,"id":"s"}"#,
    r#"{"kind":"header","version":4,"id":"s","metadata":{"a":1},"parentSessionId":"p"}"#,
    r#"{"type":"session","version":3,"id":"again","timestamp":"2026-07-14T09:00:00.000Z","cwd":"/"}"#,
    r#"{"type":"session","version":null,"id":"s","timestamp":"2026-07-14T09:00:00.000Z"}"#,
    r#"{"type":"session","version":4,"id":"s"}"#,
    r#"{"type":"session","version":1,"id":"s"}"#,
    r#"{"type":"session","version":2,"id":""}"#,
    r#"{"type":"session","version":3}"#,
    r#"{"type":"session","version":true,"id":"s","kind":"header"}"#,
    r#"{"type":"session","version":3,"id":"s","parentSession":"/a/b.jsonl","cwd":7}"#,
    r#"{"\u0074ype":"\u0073ession","version":9,"version":3,"id":"x","id":"s"}"#,
    r#"{"kind":"header","version":4,"id":"s""#,
    r#"{"version":3,"id":"s"}"#,
];

/// Byte sequences that are not UTF-8, and some that are on the edge.
const BYTES: &[&[u8]] = &[
    b"\xff",
    b"\x80",
    b"\xc3",
    b"\xe2\x82",
    b"\xf0\x9f\x91",
    b"\xc0\xaf",
    b"\xe0\x80\x80",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xf8\x88\x80\x80\x80",
    b"\xef\xbb\xbf",
    b"\xc3\xa9",
    b"\xf0\x9f\x91\x8d",
    b"\x00",
    b"\x1f",
    b"\x7f",
    b"\t",
    b"\r",
    b"\\",
    b"\\ud800",
    b"\\udfff\\ud800",
    b"\\u12",
    b"\\x",
    b"\"",
    b"{",
    b"}",
    b",",
    b"0",
    b" ",
];

const FILLERS: &[&[u8]] = &[
    b"", b" ", b"\t \r", b"\0", b"\0\0 \0", b",", b"x", b"\xff", b"{",
];

const SPACES: &[&[u8]] = &[
    b"",
    b" ",
    b"\t",
    b"\r",
    b"  \t\r ",
    b" \0",
    b"\x0c",
    b"\xc2\xa0",
];

const PLAIN_SPACES: &[&[u8]] = &[b"", b" ", b"\t", b"\r", b"  \t\r "];

/// Bytes after the last newline.
const TAILS: &[&[u8]] = &[
    b"{",
    b"{\"kind\":\"message\",\"id\":\"0000bbbb\"",
    b"{\"type\":\"message\",\"id\":\"0000bbbb\",\"parentId\":null,\"message\":{\"role\":\"us",
    b"\0\0\0\0\0\0\0\0",
    b" ",
    b"\r",
    b"x",
    b"null",
    b"{\"kind\":\"note\",\"type\":\"note\",\"id\":\"0000bbbc\"}",
    b"{\"kind\":\"note\",\"type\":\"note\",\"id\":\"0000bbbd\"}\0\0\0",
    b"{\"kind\":\"mess{\"kind\":\"note\",\"type\":\"note\",\"id\":\"0000bbbe\"}",
    b"\xff",
    b"\n\n",
];

fn one_of(list: &'static [&'static [u8]]) -> impl Strategy<Value = Vec<u8>> {
    select(list).prop_map(<[u8]>::to_vec)
}

fn headers() -> impl Strategy<Value = Vec<u8>> {
    select(HEADERS).prop_map(|header| header.as_bytes().to_vec())
}

/// Anything that can happen to a line.
pub fn damage() -> BoxedStrategy<Damage> {
    let at = any::<Index>;
    prop_oneof![
        4 => one_of(JUNK).prop_map(Damage::Junk),
        2 => at().prop_map(Damage::Torn),
        3 => (any::<bool>(), at()).prop_map(|(own, byte)| Damage::Spliced { own, byte }),
        2 => one_of(FILLERS).prop_map(Damage::Joined),
        2 => (0_u16..40, 0_u16..40).prop_map(|(before, after)| Damage::Nuls(before, after)),
        2 => at().prop_map(Damage::RawNewline),
        3 => (at(), one_of(BYTES)).prop_map(|(byte, bytes)| Damage::Inserted(byte, bytes)),
        1 => (at(), vec(any::<u8>(), 1..4)).prop_map(|(byte, bytes)| Damage::Inserted(byte, bytes)),
        4 => (at(), one_of(BYTES)).prop_map(|(byte, bytes)| Damage::InString(byte, bytes)),
        1 => (one_of(SPACES), one_of(SPACES))
            .prop_map(|(before, after)| Damage::Padded(before, after)),
        3 => (at(), 0_u8..8).prop_map(|(byte, bit)| Damage::Flipped(byte, bit)),
        3 => (1_u8..8).prop_map(Damage::Swapped),
        1 => (0_u8..8).prop_map(Damage::Repeated),
        1 => Just(Damage::Removed),
        1 => headers().prop_map(Damage::HeaderAgain),
    ]
    .boxed()
}

/// Anything that can happen to a file.
pub fn accident() -> BoxedStrategy<Accident> {
    prop_oneof![
        1 => any::<u64>().prop_map(Accident::Shuffled),
        1 => Just(Accident::CrLf),
        1 => Just(Accident::Bom),
        1 => Just(Accident::HeaderRemoved),
        2 => headers().prop_map(Accident::HeaderReplaced),
        1 => (1_u8..8).prop_map(Accident::HeaderLate),
        4 => any::<Index>().prop_map(Accident::Truncated),
        2 => Just(Accident::NoFinalNewline),
        4 => one_of(TAILS).prop_map(Accident::Tail),
    ]
    .boxed()
}

/// What happens to a line and is no damage.
pub fn harmless() -> BoxedStrategy<Damage> {
    prop_oneof![
        one_of(PLAIN_SPACES).prop_map(Damage::Junk),
        (one_of(PLAIN_SPACES), one_of(PLAIN_SPACES))
            .prop_map(|(before, after)| Damage::Padded(before, after)),
    ]
    .boxed()
}

/// The same of a file.
pub fn harmless_accident() -> BoxedStrategy<Accident> {
    prop_oneof![
        Just(Accident::CrLf),
        Just(Accident::Bom),
        Just(Accident::NoFinalNewline),
    ]
    .boxed()
}

/// Does the damage to lines and to the file, and puts the lines together. Damage names its line.
pub fn apply(
    format: Format,
    mut lines: Vec<Vec<u8>>,
    damage: &[(usize, Damage)],
    accidents: &[Accident],
) -> Vec<u8> {
    // From the last line to the first: lines that come or go move only those behind them.
    for (at, damage) in damage.iter().rev() {
        if *at < lines.len() {
            to_line(&mut lines, *at, damage);
        }
    }
    for accident in accidents {
        to_lines(format, &mut lines, accident);
    }
    let mut log = Vec::new();
    if accidents
        .iter()
        .any(|accident| matches!(accident, Accident::Bom))
    {
        log.extend_from_slice(b"\xef\xbb\xbf");
    }
    for line in &lines {
        log.extend_from_slice(line);
        log.push(b'\n');
    }
    for accident in accidents {
        to_bytes(&mut log, accident);
    }
    log
}

fn to_line(lines: &mut Vec<Vec<u8>>, at: usize, damage: &Damage) {
    let len = lines[at].len();
    let later = |by: &u8| (at + usize::from(*by)).min(lines.len() - 1);
    match damage {
        Damage::Junk(junk) => lines.insert(at, junk.clone()),
        Damage::HeaderAgain(header) => lines.insert(at, header.clone()),
        Damage::Torn(byte) => lines[at].truncate(byte.index(len + 1)),
        Damage::Spliced { own, byte } => {
            let from = if *own { at } else { at.saturating_sub(1) };
            let mut torn = lines[from].clone();
            torn.truncate(byte.index(torn.len() + 1));
            lines[at].splice(0..0, torn);
        }
        Damage::Joined(filler) => {
            if at + 1 < lines.len() {
                let next = lines.remove(at + 1);
                lines[at].extend_from_slice(filler);
                lines[at].extend_from_slice(&next);
            }
        }
        Damage::Nuls(before, after) => {
            lines[at].splice(0..0, vec![0; usize::from(*before)]);
            lines[at].extend(vec![0; usize::from(*after)]);
        }
        Damage::RawNewline(byte) => {
            let rest = lines[at].split_off(byte.index(len + 1));
            lines.insert(at + 1, rest);
        }
        Damage::Inserted(byte, bytes) => {
            let byte = byte.index(len + 1);
            lines[at].splice(byte..byte, bytes.iter().copied());
        }
        Damage::InString(byte, bytes) => {
            let line = &mut lines[at];
            // Between two letters: that is inside a string, or inside a word like `null`, which is worth
            // a try too.
            let places: Vec<usize> = (1..len)
                .filter(|&at| line[at - 1].is_ascii_lowercase() && line[at].is_ascii_lowercase())
                .collect();
            if !places.is_empty() {
                let byte = *byte.get(&places);
                line.splice(byte..byte, bytes.iter().copied());
            }
        }
        Damage::Padded(before, after) => {
            lines[at].splice(0..0, before.iter().copied());
            lines[at].extend_from_slice(after);
        }
        Damage::Flipped(byte, bit) if len > 0 => lines[at][byte.index(len)] ^= 1 << bit,
        Damage::Flipped(..) => {}
        Damage::Swapped(by) => {
            let other = later(by);
            lines.swap(at, other);
        }
        Damage::Repeated(by) => {
            let place = later(by) + 1;
            let line = lines[at].clone();
            lines.insert(place, line);
        }
        Damage::Removed => {
            lines.remove(at);
        }
    }
}

fn to_lines(format: Format, lines: &mut Vec<Vec<u8>>, accident: &Accident) {
    match accident {
        Accident::Shuffled(seed) => {
            let mut state = *seed;
            // The first line stays, or most shuffled logs would have no header.
            for at in (2..lines.len()).rev() {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let other = 1 + usize::try_from(state >> 33).unwrap_or(0) % at;
                lines.swap(at, other);
            }
        }
        Accident::CrLf => {
            for line in lines {
                line.push(b'\r');
            }
        }
        Accident::HeaderRemoved => {
            lines.drain(..lines.len().min(1));
        }
        Accident::HeaderReplaced(header) => {
            if let Some(first) = lines.first_mut() {
                first.clone_from(header);
            }
        }
        Accident::HeaderLate(by) => {
            let own = header(format).into_bytes();
            lines.retain(|line| *line != own);
            lines.insert(usize::from(*by).min(lines.len()), own);
        }
        Accident::Bom | Accident::Truncated(_) | Accident::NoFinalNewline | Accident::Tail(_) => {}
    }
}

fn to_bytes(log: &mut Vec<u8>, accident: &Accident) {
    match accident {
        Accident::Truncated(at) => log.truncate(at.index(log.len() + 1)),
        Accident::NoFinalNewline if log.last() == Some(&b'\n') => {
            log.pop();
        }
        Accident::Tail(tail) => log.extend_from_slice(tail),
        _ => {}
    }
}
