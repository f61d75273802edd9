//! One pass over a file's lines, on one thread: `cargo bench --bench scan`.
//!
//! What there is to gain for an index, and how much of it the structural scanner gets. All contenders
//! take turns; each checks that every line is there and, where it parses, accepted.
//! `LEAFLOG_BENCH_ENTRIES` sets another size than 1,000,000 lines.

mod support;

use std::borrow::Cow;
use std::path::Path;

use leaflog::fuzzing::Scan;
use serde::Deserialize;
use serde_json::value::RawValue;
use support::figures::{Ratio, Series};
use support::logs;
use support::report::{count, figure, size};
use support::tape::tape;

/// The most lines of a file.
const MOST: u64 = 1_000_000;

/// How often each has its turn.
const ROUNDS: usize = 9;

/// A way over a log: how many lines it found good.
type Pass = Box<dyn FnMut(&[u8]) -> u64>;

struct Contender {
    name: String,
    pass: Pass,
    times: Series,
}

impl Contender {
    fn new(name: impl Into<String>, pass: impl FnMut(&[u8]) -> u64 + 'static) -> Self {
        Self {
            name: name.into(),
            pass: Box::new(pass),
            times: Series::default(),
        }
    }
}

fn main() {
    if !support::asked_for() {
        return;
    }
    // Both files are held in memory.
    let entries = support::entries().min(MOST);
    let scratch = support::Scratch::new();
    let small = scratch.file("small");
    logs::small(&small, entries);
    let small = measured("small", &small);
    let real = scratch.file("real");
    logs::real(&real, entries / 5);
    let real = measured("real", &real);
    println!(
        "\n| one pass, one thread | small, GB/s | times simd-json's tape | real, GB/s | times |"
    );
    println!("|---|---|---|---|---|");
    for ((name, small), (_, real)) in small.iter().zip(&real) {
        println!("| {name} | {small} | {real} |");
    }
}

/// Lets all contenders over a file: for each its name, and its cells in a table.
fn measured(name: &str, path: &Path) -> Vec<(String, String)> {
    let log = std::fs::read(path).expect("readable");
    let lines = newlines(&log);
    println!(
        "\n{name}: {} lines, {}",
        count(lines),
        size(log.len() as u64)
    );
    let mut contenders = contenders();
    for _ in 0..ROUNDS {
        for Contender { name, pass, times } in &mut contenders {
            let good = times.time(|| pass(&log));
            assert_eq!(good, lines, "lines that {name} accepts");
        }
    }
    let tape = contenders.iter().find(|one| one.name == TAPE);
    let tape = tape.expect("the tape").times.clone();
    let cells = |one: &Contender| {
        let speed = figure(log.len() as f64 / one.times.median() / 1e9);
        let Ratio { value, low, high } = tape.over(&one.times);
        let (value, low, high) = (figure(value), figure(low), figure(high));
        println!(
            "   {:<50} {speed:>5} GB/s, {value} times the tape ({low} to {high})",
            one.name
        );
        (one.name.clone(), format!("{speed} | {value}"))
    };
    contenders.iter().map(cells).collect()
}

const TAPE: &str = "simd-json, each line copied, tape, buffers reused";

fn contenders() -> Vec<Contender> {
    let mut all = vec![
        Contender::new("newlines only (memchr)", newlines),
        Contender::new("UTF-8 of each line (simdutf8)", utf8),
        Contender::new("serde_json, struct with RawValue", raw_values),
        Contender::new(TAPE, tape),
    ];
    for mut scan in Scan::all() {
        let name = scan.name();
        let name = name.split('(').next().unwrap_or_default();
        let name = format!("leaflog's scanner, {name}");
        all.push(Contender::new(name, move |log| {
            let (mut rest, mut good) = (log, 0);
            while !rest.is_empty() {
                let (len, is_json) = scan.line(rest);
                good += u64::from(is_json);
                rest = &rest[len + 1..];
            }
            good
        }));
    }
    all
}

fn newlines(log: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', log).count() as u64
}

fn lines(log: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut start = 0;
    memchr::memchr_iter(b'\n', log)
        .map(move |end| &log[std::mem::replace(&mut start, end + 1)..end])
}

fn utf8(log: &[u8]) -> u64 {
    let good = lines(log).filter(|line| simdutf8::basic::from_utf8(line).is_ok());
    good.count() as u64
}

/// What an index needs of a line, with the rest left as it stands.
#[derive(Deserialize)]
#[allow(dead_code, reason = "having them is what is measured")]
struct Envelope<'l> {
    #[serde(borrow, rename = "type", alias = "kind")]
    kind: Cow<'l, str>,
    #[serde(borrow)]
    id: Option<Cow<'l, str>>,
    #[serde(borrow, alias = "parentId")]
    parent_id: Option<&'l RawValue>,
    #[serde(borrow)]
    timestamp: Option<&'l RawValue>,
    #[serde(borrow, alias = "message")]
    data: Option<&'l RawValue>,
}

fn raw_values(log: &[u8]) -> u64 {
    let good = lines(log).filter(|line| {
        let text = simdutf8::basic::from_utf8(line).expect("UTF-8");
        let line = serde_json::from_str::<Envelope<'_>>(text);
        std::hint::black_box(&line).is_ok()
    });
    good.count() as u64
}
