//! What resuming touches, from a short session to a long one: `cargo bench --bench touched`.
//!
//! Page faults, bytes of log and index, and allocations of opening a session with a fresh sidecar and
//! taking its snapshot, each size in a process of its own. `LEAFLOG_BENCH_ENTRIES` sets another
//! largest size than 1,000,000 entries. It stands apart from the other benchmarks because its
//! allocator counts, which costs time.

mod support;

use std::path::Path;

use allocation_counter::AllocationInfo;
use serde::{Deserialize, Serialize};
use support::figures::Series;
use support::report::{count, size, time};
use support::system::Usage;
use support::{child, logs};

/// What a process that resumed tells.
#[derive(Serialize, Deserialize)]
struct Touched {
    /// Page faults, and those that waited for the disk.
    faults: Option<(u64, u64)>,
    log: u64,
    index: u64,
    messages: u64,
    allocations: u64,
    allocated: u64,
    /// The most that was allocated at once.
    most: u64,
    /// Seconds, when its pages have been mapped before.
    again: f64,
}

fn main() {
    if let Some(paths) = child::arguments() {
        return child::answer(&touched(Path::new(&paths[0])));
    }
    if !support::asked_for() {
        return;
    }
    let scratch = support::Scratch::new();
    let path = scratch.file("session.jsonl");
    let sizes = support::sizes(support::entries());
    println!(
        "\n| entries | log | resume | page faults (of the disk) | log read | index read | allocations | bytes of them | at once | messages |\n\
         |---|---|---|---|---|---|---|---|---|---|"
    );
    for entries in sizes {
        let bytes = logs::session(&path, entries);
        support::index(&path);
        // The first brings into the page cache what the second needs.
        let _: Touched = child::run(&[path.as_os_str()]);
        let told: Touched = child::run(&[path.as_os_str()]);
        let faults = told
            .faults
            .map_or("not known".to_owned(), |(minor, major)| {
                format!("{} ({major})", minor + major)
            });
        println!(
            "| {} | {} | {} | {faults} | {} | {} | {} | {} | {} | {} |",
            count(entries),
            size(bytes),
            time(told.again),
            size(told.log),
            size(told.index),
            count(told.allocations),
            size(told.allocated),
            size(told.most),
            size(told.messages)
        );
    }
}

fn touched(path: &Path) -> Touched {
    let (usage, (snapshot, read)) = Usage::of(|| support::resume(path));
    let messages = snapshot.messages.bytes() as u64;
    // This thread's, which is the only one that resuming uses.
    let AllocationInfo {
        count_total,
        bytes_total,
        bytes_max,
        ..
    } = allocation_counter::measure(|| {
        let (again, _) = support::resume(path);
        assert_eq!(again.messages, snapshot.messages);
    });
    let mut times = Series::default();
    for _ in 0..300 {
        times.time(|| support::resume(path));
    }
    Touched {
        faults: usage.map(|usage| (usage.minor, usage.major)),
        log: read.log,
        index: read.index,
        messages,
        allocations: count_total,
        allocated: bytes_total,
        most: bytes_max,
        again: times.median(),
    }
}
