//! Random logs of all formats for property tests, valid and damaged, and a list of nasty ones.
//! For integration tests. Nothing here uses the library's own code, so it cannot repeat its mistakes.
//!
//! A log is a list of small operations written out as text, with damage done to the text afterwards. Both
//! lists shrink, so a failing log becomes a few plain lines.

#![allow(dead_code, reason = "each test crate uses a part of it")]

use leaflog::Format;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

#[path = "logs/choose.rs"]
mod choose;
#[path = "logs/corpus.rs"]
mod corpus;
#[path = "logs/damage.rs"]
mod damage;
#[path = "logs/line.rs"]
mod line;
#[path = "logs/message.rs"]
mod message;
#[path = "logs/ops.rs"]
mod ops;
#[path = "logs/payload.rs"]
mod payload;
#[path = "logs/render.rs"]
mod render;
#[path = "logs/texts.rs"]
mod texts;

pub use corpus::corpus;

use choose::op;
use damage::{Accident, Damage};
use ops::{Freedom, Op};

/// The formats, the one with the fewest rules first.
pub const FORMATS: [Format; 5] = [
    Format::PiV3,
    Format::CodebotV3,
    Format::PiV4,
    Format::PiV2,
    Format::PiV1,
];

/// Any of the formats.
pub fn any_format() -> impl Strategy<Value = Format> {
    select(&FORMATS[..])
}

/// A log of any format, valid or not, of 1 to about 60 lines.
pub fn any_log() -> impl Strategy<Value = Vec<u8>> {
    any_format().prop_flat_map(any_log_of)
}

/// The same of one format.
pub fn any_log_of(format: Format) -> impl Strategy<Value = Vec<u8>> {
    let whole = |freedom| {
        damaged(
            format,
            freedom,
            Just(None).boxed(),
            Just(Vec::new()).boxed(),
        )
    };
    let lines = option::weighted(0.08, damage::damage()).boxed();
    let file = prop_oneof![
        2 => Just(Vec::new()),
        1 => vec(damage::accident(), 1..3),
    ]
    .boxed();
    prop_oneof![
        1 => whole(Freedom::Valid),
        1 => whole(Freedom::Quirky),
        2 => whole(Freedom::Wild),
        3 => damaged(format, Freedom::Valid, lines.clone(), file.clone()),
        3 => damaged(format, Freedom::Wild, lines, file),
    ]
}

/// Operations, each with the damage to its line, and accidents of the file.
fn damaged(
    format: Format,
    freedom: Freedom,
    damage: BoxedStrategy<Option<Damage>>,
    accidents: BoxedStrategy<Vec<Accident>>,
) -> BoxedStrategy<Vec<u8>> {
    (damage.clone(), vec((op(freedom), damage), 0..60), accidents)
        .prop_map(move |(to_header, ops, accidents)| {
            let (lines, mut damage) = render::lines_with(format, &ops);
            damage.splice(0..0, to_header.map(|damage| (0, damage)));
            damage::apply(format, lines, &damage, &accidents)
        })
        .boxed()
}

/// A valid log: reading it reports nothing, every snapshot of its current leaf works.
pub fn clean_log() -> impl Strategy<Value = Vec<u8>> {
    any_format().prop_flat_map(clean_log_of)
}

/// The same of one format.
pub fn clean_log_of(format: Format) -> impl Strategy<Value = Vec<u8>> {
    vec(op(Freedom::Valid), 0..60).prop_map(move |ops| join(&render::lines(format, &ops)))
}

/// A log with everything that is odd and no damage: escaped and repeated keys, lone surrogates, huge
/// numbers, deep nesting, white space, a byte order mark. Reading it reports nothing either.
pub fn quirky_log() -> impl Strategy<Value = Vec<u8>> {
    any_format().prop_flat_map(|format| {
        let lines = option::weighted(0.08, damage::harmless()).boxed();
        let file = vec(damage::harmless_accident(), 0..3).boxed();
        damaged(format, Freedom::Quirky, lines, file)
    })
}

/// The bytes of one line, without its newline: an entry, something near one, or anything.
pub fn any_line() -> impl Strategy<Value = Vec<u8>> {
    line::any_line()
}

/// Operations and their format, for tests that want to write them one after the other. Each element is
/// one line without its newline; the first is the header.
pub fn clean_lines() -> impl Strategy<Value = (Format, Vec<Vec<u8>>)> {
    (any_format(), vec(op(Freedom::Valid), 0..60))
        .prop_map(|(format, ops): (Format, Vec<Op>)| (format, render::lines(format, &ops)))
}

/// A log as text to read when a test fails: bytes beyond ASCII as escapes, each line on its own.
pub fn show(log: &[u8]) -> String {
    let lines: Vec<String> = log
        .split(|&byte| byte == b'\n')
        .map(|line| line.escape_ascii().to_string().replace("\\\"", "\""))
        .collect();
    lines.join("\n")
}

/// A log with as few lines as a failure needs: lines are taken away as long as it still fails. The
/// shrinking of a property test tries each only once.
pub fn fewest_lines(log: &[u8], still_fails: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = log.split_inclusive(|&byte| byte == b'\n').collect();
    loop {
        let before = lines.len();
        for at in (0..before).rev() {
            let line = lines.remove(at);
            if !still_fails(&lines.concat()) {
                lines.insert(at, line);
            }
        }
        if lines.len() == before {
            return lines.concat();
        }
    }
}

/// Lines with a newline after each.
fn join(lines: &[Vec<u8>]) -> Vec<u8> {
    let mut log = Vec::new();
    for line in lines {
        log.extend_from_slice(line);
        log.push(b'\n');
    }
    log
}
