//! P2: an index is built and its sidecar written.

use std::path::Path;

use leaflog::Session;

use crate::scene::{Log, Scene};
use crate::support::figures::Series;
use crate::support::report::{Goal, Target, count, figure, size};
use crate::support::tape::tape;
use crate::support::{self, logs, system};

/// The lines that are kept in memory beside their file.
const MOST: u64 = 1_000_000;

pub fn run(scene: &mut Scene) -> Target {
    let entries = scene.entries.min(MOST);
    let logs = [
        ("small", scene.make("small", logs::small, entries), 2.0),
        ("real", scene.make("real", logs::real, entries / 5), 3.5),
    ];
    let sizes = logs.each_ref().map(|(_, log, _)| size(log.bytes));
    let mut target = Target::new(
        "P2",
        format!(
            "index build, sidecar on disk, both cores: *small*, {} short lines, {}; *real*, {} lines of 300 B to some MB, {}",
            count(entries),
            sizes[0],
            count(entries / 5),
            sizes[1]
        ),
    );
    for (name, log, goal) in logs {
        one(&mut target, name, &log, goal);
        std::fs::remove_file(&log.path).expect("removed");
    }
    target
}

fn one(target: &mut Target, name: &str, log: &Log, goal: f64) {
    let text = std::fs::read(&log.path).expect("readable");
    let (mut tapes, mut builds, mut alone) =
        (Series::default(), Series::default(), Series::default());
    for _ in 0..7 {
        let lines = tapes.time(|| tape(&text));
        let check = |session: &Session| {
            let overview = session.overview().expect("an overview");
            assert_eq!(overview.lines, lines);
            assert_eq!(overview.report_count, 0);
            assert!(session.index_status().path.is_some());
        };
        remove_sidecar(&log.path);
        check(&builds.time(|| support::open(&log.path)));
        remove_sidecar(&log.path);
        let built = system::on_one_core(|| {
            let mut times = Series::default();
            let session = times.time(|| support::open(&log.path));
            (times.median(), session)
        });
        if let Some((time, session)) = built {
            alone.push(time);
            check(&session);
        }
    }
    let speed = |series: &Series| figure(log.bytes as f64 / series.median() / 1e9);
    target.find(
        tapes.over(&builds),
        &format!("times simd-json's bare tape on one core, *{name}*"),
        format!("{} and {} GB/s", speed(&builds), speed(&tapes)),
        Goal::AtLeast(goal),
    );
    if alone.is_empty() {
        target.note("no thread can be kept on one core on this system");
        return;
    }
    target.note(&format!(
        "the build on one core: {} times, {} GB/s",
        figure(tapes.over(&alone).value),
        speed(&alone)
    ));
}

fn remove_sidecar(log: &Path) {
    let mut sidecar = log.as_os_str().to_owned();
    sidecar.push(".idx");
    // The first round has none yet.
    let _ = std::fs::remove_file(sidecar);
}
