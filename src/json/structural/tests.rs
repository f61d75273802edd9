use proptest::prelude::*;

use super::super::{Document, Grammar, Json, Node};
use super::blocks::{Block, Kernel};
use super::portable::Portable;
use super::{LEVELS, Scanner};

/// Kinds and places of all values under fewer than so many others.
fn places(node: Node<'_>, levels: usize, told: &mut Vec<(char, std::ops::Range<usize>)>) {
    let kind = match (node.is_object(), node.is_array()) {
        (true, _) => '{',
        (_, true) => '[',
        _ if node.text().is_some() => '"',
        _ if node.number().is_some() => '0',
        _ if node.boolean() == Some(true) => 't',
        _ if node.boolean() == Some(false) => 'f',
        _ => 'n',
    };
    told.push((kind, node.span()));
    let Some(levels) = levels.checked_sub(1).filter(|&left| left > 0) else {
        return;
    };
    for (key, value) in node.members() {
        told.push(('k', key.span()));
        places(value, levels, told);
    }
    for item in node.items() {
        places(item, levels, told);
    }
}

/// Fails unless all scanners say of the first line of a text what the grammar says.
fn check(text: &[u8]) {
    let len = memchr::memchr(b'\n', text).unwrap_or(text.len());
    let line = &text[..len];
    let grammar = Grammar::parse(line).ok().filter(Grammar::is_utf8);
    let expected = grammar.as_ref().map(|document| {
        let mut told = Vec::new();
        places(document.root(), LEVELS, &mut told);
        told
    });
    for mut scanner in Scanner::all() {
        let name = scanner.name();
        // Twice: what is left of a line must not count for the next one.
        for _ in 0..2 {
            let scanned = scanner.line(text);
            assert_eq!(scanned.len, len, "{name} of {:?}", text.as_bstr());
            let found = scanned.document.map(|document| {
                let mut told = Vec::new();
                places(document.root(), LEVELS, &mut told);
                told
            });
            assert_eq!(found, expected, "{name} of {:?}", text.as_bstr());
        }
    }
}

trait AsBstr {
    fn as_bstr(&self) -> String;
}

impl AsBstr for [u8] {
    fn as_bstr(&self) -> String {
        self.escape_ascii().to_string()
    }
}

/// Checks a text at many places of the blocks that it is read in.
fn check_at_all_places(text: &[u8]) {
    check(text);
    for before in 0..140 {
        let mut moved = vec![b' '; before];
        moved.extend_from_slice(text);
        check(&moved);
        moved.extend_from_slice(b"\n{\"next\":\"line\"}\n\"");
        check(&moved);
    }
}

#[test]
fn what_the_grammar_accepts_is_accepted_wherever_it_stands() {
    for text in super::super::grammar::tests::TEXTS {
        check_at_all_places(text.as_bytes());
    }
    for text in [
        &br#"{"a":"\\","b":"\\\"","c":"\u00e9\ud83d\ude00\n"}"#[..],
        br#"{"a":"\u00e","b":1}"#,
        br#"{"a":"\u00g0"}"#,
        br#"{"a":"\u12"#,
        br#"{"a":"\"#,
        br#"{"a":"\x"}"#,
        br#"{\"a":1}"#,
        br#"{"a":1\,"b":2}"#,
        br#"{"a":"x"y}"#,
        br#"{"a":1"b":2}"#,
        br#"{"a""b":2}"#,
        br#"{"a":"b""c"}"#,
        br#"{"a":12 34}"#,
        br#"{"a":true false}"#,
        br#"{"a":truefalse}"#,
        br#"{"a":-}"#,
        br#"{"a":1,,"b":2}"#,
        br#"{,"a":1}"#,
        br#"[,1]"#,
        br#"{"a":[1,2}]"#,
        br#"{"a" "b"}"#,
        br#"{"a":"b":"c"}"#,
        br#"["a":1]"#,
        br#"{1:2}"#,
        br#"{}}"#,
        br#"{}{}"#,
        br#"{} x"#,
        br#"{"#,
        br#"}"#,
        br#":"#,
        br#"["#,
        b"{\"a\":\"\x01\"}",
        b"{\"a\":\"\x7f\"}",
        b"\x01{}",
        b"{\"a\":\x00}",
        b"{\"a\":\"\xc3\xa9\"}",
        b"{\"a\":\"\xc3\"}",
        b"{\"a\":\xc3\xa9}",
        b"{\"a\":\"b\r\"}",
        b"\t{ \"a\"\r: [ ] , \"b\" : { } }\r",
    ] {
        check_at_all_places(text);
    }
}

#[test]
fn nesting_of_any_depth_is_walked() {
    for depth in [1, 5, 6, 7, 63, 64, 65, 127, 128, 129, 1000, 100_000] {
        let open = "[".repeat(depth);
        let close = "]".repeat(depth);
        check(format!("{open}{close}").as_bytes());
        check(format!("{open}{close}]").as_bytes());
        check(format!("{open}[{close}").as_bytes());
        let open = "{\"a\":[".repeat(depth);
        let close = "]}".repeat(depth);
        check(format!("{open}1,{{\"b\":2}}{close}").as_bytes());
        check(format!("{open}1,{{\"b\":2}}]{close}").as_bytes());
        let mut turned = format!("{open}{close}").into_bytes();
        let last = turned.len() - 1;
        turned.swap(last, last - 1);
        check(&turned);
    }
}

#[test]
fn long_strings_and_lists_go_on_behind_a_window() {
    for len in [
        2_000, 2_030, 2_040, 2_047, 2_048, 2_049, 4_096, 10_000, 100_000,
    ] {
        let text = "x".repeat(len);
        check(format!("{{\"a\":\"{text}\",\"b\":[{{\"c\":\"\\n{text}\\\"\"}}]}}").as_bytes());
        check(format!("{{\"{text}\":{{\"{text}\":\"{text}\"}}}}").as_bytes());
        check(format!("{{\"a\":\"{text}").as_bytes());
        let list = "1,".repeat(len);
        check(format!("[{list}2]").as_bytes());
        check(format!("[{list}]").as_bytes());
        let list = "{\"a\":\"b\"},".repeat(len);
        check(format!("{{\"c\":[{list}{{}}]}}").as_bytes());
        let spaces = " ".repeat(len);
        check(
            format!(
                "{{{spaces}\"a\"{spaces}:{spaces}1{spaces},\"b\"{spaces}:\"c\"{spaces}}}{spaces}"
            )
            .as_bytes(),
        );
        check(format!("{{}}{spaces}x").as_bytes());
        check(format!("{{\"a\":{}}}", "1".repeat(len)).as_bytes());
    }
}

#[test]
fn the_line_ends_at_its_newline() {
    check(b"");
    check(b"\n");
    check(b"{}\n");
    check(b"{\"a\":\"\n\"}\n");
    check(b"{\"a\":\"\\\n\"}\n");
    check(b"{\"a\":\"\\u00\n00\"}\n");
    check(b"[1,\n2]");
    check(b"12\n34");
}

#[test]
fn all_instructions_give_the_same_masks() {
    let mut state = 1_u64;
    for round in 0..2_000_u64 {
        let mut block: Block = [0; 64];
        for (place, byte) in block.iter_mut().enumerate() {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            *byte = if round < 256 {
                // Every byte at every place.
                (round as usize + place * 7) as u8
            } else {
                (state >> 40) as u8
            };
        }
        same(&block, state);
    }
}

fn same(block: &Block, bits: u64) {
    let expected = told(Portable, block, bits);
    #[cfg(target_arch = "x86_64")]
    {
        if let Some(kernel) = super::x86::Avx2::detect() {
            assert_eq!(told(kernel, block, bits), expected, "AVX2 of {block:?}");
        }
        if let Some(kernel) = super::x86::Avx512::detect() {
            assert_eq!(told(kernel, block, bits), expected, "AVX-512 of {block:?}");
        }
    }
    let bytes_where = |holds: fn(u8) -> bool| {
        let mut mask = 0_u64;
        for (place, &byte) in block.iter().enumerate() {
            mask |= u64::from(holds(byte)) << place;
        }
        mask
    };
    let (masks, escapes, _, _) = expected;
    assert_eq!(masks.operator, bytes_where(|b| b"{}[]:,".contains(&b)));
    assert_eq!(masks.space, bytes_where(|b| b" \t\r".contains(&b)));
    assert_eq!(masks.quote, bytes_where(|b| b == b'"'));
    assert_eq!(masks.backslash, bytes_where(|b| b == b'\\'));
    assert_eq!(masks.newline, bytes_where(|b| b == b'\n'));
    assert_eq!(masks.control, bytes_where(|b| b < 0x20));
    assert_eq!(masks.high, bytes_where(|b| b >= 0x80));
    assert_eq!(escapes.letter, bytes_where(|b| b"\"\\/bfnrtu".contains(&b)));
    assert_eq!(escapes.unicode, bytes_where(|b| b == b'u'));
    assert_eq!(escapes.hex, bytes_where(|b| b.is_ascii_hexdigit()));
}

fn told<K: Kernel>(
    kernel: K,
    block: &Block,
    bits: u64,
) -> (super::blocks::Masks, super::blocks::Escapes, u64, Vec<u32>) {
    let mut places = [0; 64];
    kernel.write(bits, 1000, &mut places);
    let count = bits.count_ones() as usize;
    (
        kernel.masks(block),
        kernel.escapes(block),
        kernel.parity(bits),
        places[..count].to_vec(),
    )
}

/// Texts that are JSON or close to it.
fn near_json() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => Just("\"".to_owned()),
        2 => Just("\\".to_owned()),
        2 => Just("{".to_owned()),
        2 => Just("}".to_owned()),
        1 => Just("[".to_owned()),
        1 => Just("]".to_owned()),
        2 => Just(":".to_owned()),
        2 => Just(",".to_owned()),
        1 => Just(" ".to_owned()),
        2 => Just("\"a\":".to_owned()),
        2 => Just("\"b\":1,".to_owned()),
        1 => Just("\\u00e9".to_owned()),
        1 => Just("\\\\".to_owned()),
        1 => Just("true".to_owned()),
        1 => Just("-1.5e+3".to_owned()),
        1 => Just("0".to_owned()),
        1 => Just("\u{e9}".to_owned()),
        1 => Just("n".to_owned()),
        1 => Just("x".repeat(61)),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat().into_bytes())
}

/// JSON texts, with a few bytes changed.
fn changed_json() -> impl Strategy<Value = Vec<u8>> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<f64>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        ".*".prop_map(serde_json::Value::from),
        "[\"\\\\/\n\tu0-9a-f]{0,200}".prop_map(serde_json::Value::from),
    ];
    let value = leaf.prop_recursive(9, 64, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(serde_json::Value::from),
            proptest::collection::vec(("[a-z\"\\\\]{0,9}", inner), 0..6)
                .prop_map(|fields| serde_json::Value::Object(fields.into_iter().collect())),
        ]
    });
    let changes = proptest::collection::vec(
        (
            any::<proptest::sample::Index>(),
            proptest::sample::select(&b"\"\\{}[]:, \tau09\xC3\x01"[..]),
        ),
        0..3,
    );
    (value, any::<bool>(), changes).prop_map(|(value, wide, changes)| {
        let text = if wide {
            serde_json::to_string_pretty(&value)
        } else {
            serde_json::to_string(&value)
        };
        let mut text = text.unwrap().replace('\n', "\t").into_bytes();
        for (place, byte) in changes {
            let place = place.index(text.len());
            text[place] = byte;
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn texts_close_to_json_are_judged_as_the_grammar_judges_them(text in near_json()) {
        check(&text);
    }

    #[test]
    fn json_with_some_bytes_changed_is_judged_as_the_grammar_judges_it(text in changed_json()) {
        check(&text);
    }
}
