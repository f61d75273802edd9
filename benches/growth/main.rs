//! How time and memory grow with the log: `cargo bench --bench growth`.
//!
//! Resuming, making what it needs, and memory of a process that resumes, from 1,000 entries to
//! 1,000,000 or as many as `LEAFLOG_BENCH_LARGEST` says: leaflog, full replay with two parsers,
//! SQLite. All take turns and must give the same messages. Prints a table and draws `docs/growth.svg`;
//! another largest size than the default draws only if it is larger.

mod contender;
mod plot;
#[path = "../support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};

use contender::Contender;
use support::figures::{Series, seconds};
use support::report::{count, size, time};
use support::{child, logs};

/// Up to which size is measured when nothing else is asked for.
const LARGEST: u64 = 1_000_000;

/// What was found of one contender at one size.
struct Point {
    contender: Contender,
    entries: u64,
    /// Seconds from nothing to the messages.
    resume: f64,
    /// Seconds to make what stands beside the log.
    build: Option<f64>,
    /// Bytes of memory that the process shares with nobody, when it has the messages.
    memory: Option<u64>,
}

fn main() {
    if let Some(arguments) = child::arguments() {
        return contender::in_a_process(&arguments);
    }
    if !support::asked_for() {
        return;
    }
    let largest = support::number_in("LEAFLOG_BENCH_LARGEST").unwrap_or(LARGEST);
    let mut points = Vec::new();
    for entries in support::sizes(largest) {
        points.extend(measured(entries));
    }
    print_table(&points);
    if largest < LARGEST {
        println!(
            "\nnot drawn: the picture goes to {} entries at least",
            count(LARGEST)
        );
        return;
    }
    let picture = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/growth.svg");
    plot::draw(&points, &picture);
    println!("\ndrawn: docs/growth.svg");
}

/// All contenders that the machine has room for, at one size.
fn measured(entries: u64) -> Vec<Point> {
    let scratch = support::Scratch::new();
    let log = scratch.file("session.jsonl");
    let bytes = logs::session(&log, entries);
    println!("\n{} entries, {}", count(entries), size(bytes));
    let mut running: Vec<(Contender, PathBuf, Option<f64>)> = Vec::new();
    for contender in Contender::ALL {
        if !contender.fits(bytes) {
            println!("   {}: does not fit into memory", contender.name());
            continue;
        }
        let (seconds, (file, made)) =
            seconds(|| contender.prepare(&log, &scratch.file("store.db")));
        running.push((contender, file, made.then_some(seconds)));
    }
    let mut times = vec![Series::default(); running.len()];
    let mut first = None;
    for (contender, file, _) in &running {
        let messages = contender.resume(file).canonical();
        assert_eq!(first.get_or_insert(messages.clone()), &messages);
    }
    let messages = first.map_or(0, |messages| messages.len());
    // Those that look at little take turns among themselves, and often: what the others leave in the
    // caches of the processor is not theirs to wait for.
    for (is_replay, rounds) in [(false, 101), (true, 3)] {
        for _ in 0..rounds {
            for ((contender, file, _), times) in running.iter().zip(&mut times) {
                if contender.is_replay() == is_replay {
                    let resumed = times.time(|| contender.resume(file));
                    assert_eq!(resumed.len(), messages);
                }
            }
        }
    }
    let mut first = None;
    let points = running
        .into_iter()
        .zip(times)
        .map(|((contender, file, build), times)| {
            let told = contender.in_own_process(&file);
            assert_eq!(
                *first.get_or_insert(told.hash),
                told.hash,
                "the same messages"
            );
            let point = Point {
                contender,
                entries,
                resume: times.median(),
                build,
                memory: told.private,
            };
            println!("   {}: {}", contender.name(), point.cells());
            point
        });
    points.collect()
}

impl Point {
    fn cells(&self) -> String {
        format!(
            "{} | {} | {}",
            time(self.resume),
            self.build.map_or("none".to_owned(), time),
            self.memory.map_or("not known".to_owned(), size)
        )
    }
}

fn print_table(points: &[Point]) {
    println!(
        "\n| entries | | resume, with opening | build | private memory |\n|---|---|---|---|---|"
    );
    for point in points {
        let (entries, name) = (count(point.entries), point.contender.name());
        println!("| {entries} | {name} | {} |", point.cells());
    }
}
