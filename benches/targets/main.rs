//! The project's targets as figures: `cargo bench --bench targets`, or some of them by their numbers:
//! `cargo bench --bench targets -- P2 P9`.
//!
//! Each compares contenders that take turns in one run, checks the answers, and tells medians and
//! ratios as they are known; in the end come the rows of the tables in README.md and
//! `docs/performance.md`. `LEAFLOG_BENCH_ENTRIES` sets another size than 1,000,000 entries.

#[path = "../support/mod.rs"]
mod support;

mod append;
mod build;
mod extend;
mod fork;
mod list;
mod memory;
mod reads;
mod resume;
mod scene;
mod size;
mod sqlite;

use scene::Scene;
use support::report::{Target, print_tables};

/// How a target is measured.
type Run = fn(&mut Scene) -> Target;

/// All targets, in an order in which they can share files: P6 is the last to use the long session,
/// which is no longer what it was then.
const RUNS: [(&str, Run); 10] = [
    ("P1", resume::run),
    ("P5", memory::run),
    ("P9", reads::run),
    ("P10", sqlite::run),
    ("P8", fork::run),
    ("P6", extend::run),
    ("P7", list::run),
    ("P4", size::run),
    ("P2", build::run),
    ("P3", append::run),
];

fn main() {
    if let Some(arguments) = support::child::arguments() {
        return resume::in_a_process(&arguments);
    }
    if !support::asked_for() {
        return;
    }
    let asked: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let numbers = RUNS.map(|(number, _)| number).join(", ");
    if asked.iter().any(|name| name == "--help" || name == "-h") {
        println!(
            "cargo bench --bench targets [-- NUMBER…]\n\nNUMBER is one of {numbers}; without any, all are measured. LEAFLOG_BENCH_ENTRIES=N measures with \
             N entries instead of 1,000,000, which take 6 GB in TMPDIR and 7 GB of memory."
        );
        return;
    }
    let known = |name: &String| RUNS.iter().any(|(number, _)| number == name);
    if let Some(name) = asked.iter().find(|name| !known(name)) {
        support::wrong(&format!(
            "expected numbers of targets, found {name:?}; there are {numbers}"
        ));
    }
    let mut scene = Scene::new(support::entries());
    let mut targets: Vec<Target> = RUNS
        .into_iter()
        .filter(|(number, _)| asked.is_empty() || asked.iter().any(|name| name == number))
        .map(|(_, run)| run(&mut scene))
        .collect();
    print_tables(&mut targets);
}
