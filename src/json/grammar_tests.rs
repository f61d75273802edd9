use super::super::{Document, FastParser, Json, PADDING};
use super::Grammar;
use proptest::prelude::*;
use serde_json::value::RawValue;

fn accepted_by_raw_value(text: &[u8]) -> bool {
    // RawValue wants UTF-8; inside strings any replacement character will do for the grammar.
    serde_json::from_str::<&RawValue>(&String::from_utf8_lossy(text)).is_ok()
}

fn fast(text: &[u8]) -> Option<(Vec<String>, Option<std::ops::Range<usize>>)> {
    let mut buffer = text.to_vec();
    buffer.resize(text.len() + PADDING, b'x');
    FastParser::new().parse(&mut buffer, text.len(), |document| {
        let keys = document
            .root()
            .fields()
            .map(|(key, _)| String::from_utf8(key.into_owned()).unwrap())
            .collect();
        (keys, document.span("b"))
    })
}

pub(in crate::json) const TEXTS: &[&str] = &[
    "{}",
    "[]",
    "null",
    " {\"a\" : [ 1 , 2 ] } ",
    "\"\\ud83d\"",
    "1e999",
    "-0",
    "01",
    "-",
    "1.",
    "1.e1",
    "1e",
    "1E+2",
    "{\"a\":}",
    "{\"a\"}",
    "{,}",
    "[1,]",
    "[,1]",
    "{\"a\":1,}",
    "{\"a\":1 \"b\":2}",
    "tru",
    "true",
    "nulll",
    "\"\t\"",
    "\"\\x\"",
    "\"\\u12\"",
    "\"a",
    "[[[[]]]]",
    "[[[[]]]",
    "{\"a\":{\"b\":[{}]}}",
    "{} {}",
    "",
    " ",
    "{\"a\":1}x",
    "'a'",
    "\u{FEFF}{}",
    "{\"\\u0061\":1}",
    "123456789012345678901234567890",
    "[\"\u{2028}\"]",
    "{a:1}",
    "[1 2]",
    "[}",
    "{]",
];

#[test]
fn the_grammar_agrees_with_raw_value_on_hand_picked_texts() {
    for text in TEXTS {
        assert_eq!(
            Grammar::parse(text.as_bytes()).is_ok(),
            accepted_by_raw_value(text.as_bytes()),
            "{text:?}"
        );
    }
}

#[test]
fn a_million_brackets_are_parsed_without_recursion() {
    let mut text = vec![b'['; 1_000_000];
    text.extend(vec![b']'; 1_000_000]);
    assert_eq!(Grammar::parse(&text).unwrap().depth(), 1_000_000);
    text.pop();
    assert!(Grammar::parse(&text).is_err());
}

#[test]
fn both_parsers_place_values_alike() {
    for text in [
        r#"{"a":1,"b":{"c":[1,2,{"d":"e"}]},"f":2}"#,
        r#"{"a":1, "b" : "x\n\u00e9y" , "f":2}"#,
        r#"{"b":3,"a":1,"b":[true]}"#,
        r#"{"\u0062":-12.5e3}"#,
        r#"{"x\"y":1,"b":null}"#,
        r#" {"b":"" } "#,
    ] {
        let grammar = Grammar::parse(text.as_bytes()).unwrap();
        let exact = grammar.span("b").unwrap();
        let (_, span) = fast(text.as_bytes()).unwrap();
        let span = span.unwrap();
        assert_eq!(span.start, exact.start, "{text}");
        assert_eq!(text[span].trim_end(), &text[exact], "{text}");
    }
}

fn nearly_json() -> impl Strategy<Value = Vec<u8>> {
    let token = prop_oneof![
        8 => prop::sample::select(vec!["{", "}", "[", "]", ",", ":", "\"a\"", "\"b\"", "1", "null", "true", " ", "\"\\n\""]).prop_map(|t| t.as_bytes().to_vec()),
        1 => prop::sample::select(vec!["\"", "\\", "-", "e", ".", "\\ud83d", "\"\\ud83d\"", "é", "\u{1}", "1e400", "99999999999999999999"]).prop_map(|t| t.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 1..3),
    ];
    let soup = prop::collection::vec(token, 0..24).prop_map(|tokens| tokens.concat());
    let leaf = prop::sample::select(vec![
        "null",
        "1",
        "-2.5",
        "\"b\"",
        "\"\\u00e9\"",
        "[]",
        "{}",
    ])
    .prop_map(str::to_owned);
    let value = leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec(
                (prop::sample::select(vec!["a", "b", "c", "\\u0062"]), inner),
                0..4
            )
            .prop_map(|fields| {
                let fields: Vec<_> = fields.iter().map(|(k, v)| format!("\"{k}\":{v}")).collect();
                format!("{{{}}}", fields.join(", "))
            }),
        ]
    });
    let mutated = (
        value,
        prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
    )
        .prop_map(|(text, change)| {
            let mut bytes = text.into_bytes();
            if let Some((at, byte)) = change {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            bytes
        });
    prop_oneof![soup, mutated]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_grammar_agrees_with_raw_value(text in nearly_json()) {
        prop_assert_eq!(Grammar::parse(&text).is_ok(), accepted_by_raw_value(&text));
    }

    #[test]
    fn what_simd_json_accepts_the_grammar_reads_alike(text in nearly_json()) {
        prop_assume!(!text.contains(&b'\n'));
        if let Some((keys, span)) = fast(&text) {
            let grammar = Grammar::parse(&text).expect("accepted by simd-json");
            let root = grammar.root();
            prop_assert_eq!(keys, root.fields().map(|(key, _)| String::from_utf8(key.into_owned()).unwrap()).collect::<Vec<_>>());
            let exact = grammar.span("b");
            prop_assert_eq!(span.clone().map(|s| s.start), exact.clone().map(|s| s.start));
            if let (Some(span), Some(exact)) = (span, exact) {
                prop_assert!(text[exact.end..span.end].iter().all(|b| super::space(*b)));
            }
        }
    }
}

#[test]
fn a_string_says_its_decoded_text_and_a_field_is_the_last_of_its_name() {
    let text = br#"{"a":1,"\u0061":2,"b\n":3,"b\\n":4,"c":"a"}"#;
    let document = Grammar::parse(text).unwrap();
    let root = document.root();
    let raw = |key| root.field(key).map(|value| value.raw());
    assert_eq!(raw("a"), Some(&b"2"[..]));
    assert_eq!(raw("b\n"), Some(&b"3"[..]));
    assert_eq!(raw("b\\n"), Some(&b"4"[..]));
    assert_eq!(raw("\\u0061"), None);
    assert!(root.field("c").unwrap().says("a"));
    assert!(!root.field("a").unwrap().says("2") && !root.says(""));
}
