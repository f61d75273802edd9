//! P4: the size of a sidecar.

use crate::scene::Scene;
use crate::support::figures::Ratio;
use crate::support::report::{Goal, Target, count, size};
use crate::support::{self, logs};

pub fn run(scene: &mut Scene) -> Target {
    let log = scene.make("kilobyte-lines.jsonl", logs::kilobyte_lines, scene.entries);
    let session = support::open(&log.path);
    let overview = session.overview().expect("an overview");
    let indexed = overview.entries + overview.records;
    let sidecar = session.index_status().path.expect("a sidecar");
    let len = std::fs::metadata(sidecar).expect("a sidecar").len();
    let mut target = Target::new(
        "P4",
        format!(
            "size of the sidecar of {} entries and records, lines of {} bytes on average",
            count(indexed),
            count(log.bytes / overview.lines)
        ),
    );
    let of = format!("{} beside {}", size(len), size(log.bytes));
    let each = Ratio::of(len as f64 / indexed as f64);
    target.find(
        each,
        "bytes an entry or record",
        of.clone(),
        Goal::AtMost(48.0),
    );
    let share = Ratio::of(100.0 * len as f64 / log.bytes as f64);
    target.find(share, "% of the log", of, Goal::AtMost(5.0));
    drop(session);
    std::fs::remove_file(&log.path).expect("removed");
    target
}
