//! Single lines for testing a validator: entries, near misses, and anything that looks like JSON.
//! For the strategies only.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::choose::op;
use super::ops::Freedom;
use super::{any_format, render};

/// Pieces of JSON, whole and broken.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "\\",
    " ",
    "\t",
    "\r",
    "null",
    "true",
    "false",
    "nul",
    "True",
    "0",
    "1",
    "-",
    "-0",
    "01",
    "1.",
    ".5",
    "1.5",
    "1e",
    "1e5",
    "1E+5",
    "1e-5",
    "1e+",
    "+1",
    "0x1",
    "NaN",
    "Infinity",
    "1e999",
    "12345678901234567890123",
    "\"\"",
    "\"a\"",
    "\"id\"",
    "\"kind\"",
    "\"\\u0069d\"",
    "\"\\\"\"",
    "\"\\\\\"",
    "\"\\/\"",
    "\"\\b\\f\\n\\r\\t\"",
    "\"\\u00e9\"",
    "\"\\ud83d\\ude00\"",
    "\"\\ud800\"",
    "\"\\udc00\"",
    "\"\\u12\"",
    "\"\\u12g4\"",
    "\"\\x\"",
    "\"\\U0041\"",
    "\"é漢👍\"",
    "\"\u{2028}\"",
    "\"\u{7f}\"",
    "\"\t\"",
    "\"\0\"",
    "\0",
    "'a'",
    "//",
    "/**/",
    "{}",
    "[]",
    "{\"a\":1}",
    "\"a\":",
    "\"a\":1,",
    "[1,",
    "[1]",
    ",]",
    ",}",
    "\u{feff}",
    "\u{a0}",
];

/// What a string is filled with in [`long_string`].
const FILLINGS: &[&str] = &["a", "\\\\", "\\\"", "é", "👍", "\\u00e9", "{", "\\n", " "];

/// How a string ends, well or not.
const ENDS: &[&str] = &[
    "\"",
    "\\\"",
    "\\\\\"",
    "\\\\\\\"",
    "\\",
    "",
    "\\u\"",
    "\\u00\"",
    "\\ud800\"",
    "\u{1f}\"",
    "\t\"",
    "\"}",
    "\"x",
    "\"\"",
];

/// A line's bytes, never with a newline.
pub fn any_line() -> impl Strategy<Value = Vec<u8>> {
    let plain = prop_oneof![
        4 => entry(),
        3 => value(),
        3 => vec(select(PIECES), 0..24).prop_map(|pieces| pieces.concat().into_bytes()),
        2 => long_string(),
        1 => nested(),
        1 => number(),
        1 => vec(any::<u8>(), 0..80),
    ];
    let change = (any::<Index>(), 0_u8..4, any::<u8>());
    let changes = prop_oneof![3 => Just(Vec::new()), 2 => vec(change, 1..3)];
    (plain, changes).prop_map(|(mut line, changes)| {
        for (at, how, byte) in changes {
            let len = line.len();
            match how {
                0 if len > 0 => line[at.index(len)] ^= 1 << (byte % 8),
                1 if len > 0 => {
                    line.remove(at.index(len));
                }
                2 => line.truncate(at.index(len + 1)),
                _ => line.insert(at.index(len + 1), byte),
            }
        }
        for byte in &mut line {
            if *byte == b'\n' {
                *byte = b' ';
            }
        }
        line
    })
}

/// A line of a log.
fn entry() -> impl Strategy<Value = Vec<u8>> {
    let ops = vec(op(Freedom::Wild), 1..3);
    (any_format(), ops).prop_map(|(format, ops)| {
        let lines = render::lines(format, &ops);
        lines.into_iter().next_back().unwrap_or_default()
    })
}

/// A JSON value, spelled in any way.
fn value() -> impl Strategy<Value = Vec<u8>> {
    let leaf = select(PIECES).prop_map(|piece| match piece {
        // Only what can stand for a value, mostly.
        "{" | "}" | "[" | "]" | ":" | "," | "\"" | "\\" => "7".to_owned(),
        piece => piece.to_owned(),
    });
    let space = || select(&["", "", "", " ", "\t", "\r", "  "][..]);
    let tree = leaf.prop_recursive(5, 40, 6, move |inner| {
        let list = (vec(inner.clone(), 0..5), space())
            .prop_map(|(items, space)| format!("[{}{space}]", items.join(&format!("{space},"))));
        let key = select(
            &[
                "\"id\"",
                "\"type\"",
                "\"kind\"",
                "\"a\"",
                "\"\\u0069d\"",
                "\"\"",
                "id",
            ][..],
        );
        let map = (vec((key, inner), 0..5), space()).prop_map(|(fields, space)| {
            let fields: Vec<String> = fields
                .into_iter()
                .map(|(key, value)| format!("{key}{space}:{space}{value}"))
                .collect();
            format!("{{{space}{}{space}}}", fields.join(","))
        });
        prop_oneof![list, map.clone(), map]
    });
    tree.prop_map(String::into_bytes)
}

/// A string of some length: where a block-wise scanner's blocks meet.
fn long_string() -> impl Strategy<Value = Vec<u8>> {
    let filling = select(FILLINGS);
    let lengths = (0_usize..140, 0_usize..10);
    (filling, lengths, select(ENDS), any::<bool>()).prop_map(
        |(filling, (len, slashes), end, object)| {
            let text = format!("\"{}{}{end}", filling.repeat(len), "\\".repeat(slashes));
            if object {
                format!("{{\"a\":{text},\"b\":1}}").into_bytes()
            } else {
                text.into_bytes()
            }
        },
    )
}

/// Brackets, closed well or not.
fn nested() -> impl Strategy<Value = Vec<u8>> {
    let depth = prop_oneof![0_usize..5, 60_usize..70, 126_usize..130, 1000_usize..3000];
    (depth, 0_usize..3, any::<bool>()).prop_map(|(depth, missing, objects)| {
        let (open, close) = if objects {
            ("{\"a\":", "}")
        } else {
            ("[", "]")
        };
        let closed = depth.saturating_sub(missing);
        format!("{}1{}", open.repeat(depth), close.repeat(closed)).into_bytes()
    })
}

/// Something near a number.
fn number() -> impl Strategy<Value = Vec<u8>> {
    let piece = select(&["0", "1", "9", "-", "+", ".", "e", "E", "00", "123"][..]);
    (vec(piece, 1..8), any::<bool>()).prop_map(|(pieces, object)| {
        let number = pieces.concat();
        if object {
            format!("{{\"n\":{number}}}").into_bytes()
        } else {
            number.into_bytes()
        }
    })
}
