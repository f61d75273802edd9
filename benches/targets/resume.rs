//! P1: a session is opened through a fresh sidecar, and its snapshot taken.

use std::ffi::OsStr;
use std::fs::File;
use std::hint::black_box;
use std::io::Read;
use std::path::Path;

use leaflog::Snapshot;
use memmap2::MmapOptions;
use serde::{Deserialize, Serialize};
use simd_json::OwnedValue;

use crate::scene::{Log, Scene};
use crate::support::figures::{Series, seconds};
use crate::support::replay::{Replay, Value, assert_same, fits};
use crate::support::report::{Goal, Target, count, size, time};
use crate::support::system::{self, Usage};
use crate::support::{self, child, logs};

pub fn run(scene: &mut Scene) -> Target {
    let log = scene.large();
    let small = scene.make("ten-thousand.jsonl", logs::session, 10_000);
    support::index(&small.path);
    let sidecar = support::index(&log.path);
    let (first, _) = support::resume(&log.path);
    let mut target = Target::new(
        "P1",
        format!(
            "resume: open with a fresh sidecar and snapshot; {} live messages, {}, of {} entries, {}",
            first.messages.len(),
            size(first.messages.bytes() as u64),
            count(scene.entries),
            size(log.bytes)
        ),
    );
    let (mut floors, mut smalls, mut larges) =
        (Series::default(), Series::default(), Series::default());
    for _ in 0..1000 {
        black_box(floors.time(|| floor([&log.path, &sidecar])));
        black_box(smalls.time(|| support::resume(&small.path)));
        let (again, _) = larges.time(|| support::resume(&log.path));
        assert_eq!(again.messages, first.messages);
    }
    let resume = larges.median();
    target.find(
        larges.over(&smalls),
        "times the same of 10,000 entries",
        format!("{} and {}", time(resume), time(smalls.median())),
        Goal::AtMost(1.25),
    );
    target.find(
        larges.over(&floors),
        "times opening, mapping and touching the two files",
        format!("{} and {}", time(resume), time(floors.median())),
        Goal::AtMost(6.0),
    );
    for (name, goal, replays) in [
        ("simd-json", 1_000.0, replays::<OwnedValue> as Replays),
        ("serde_json", 10_000.0, replays::<serde_json::Value>),
    ] {
        if !fits(log.bytes) {
            target.note(&format!("full replay with {name} does not fit into memory"));
            continue;
        }
        let replays = replays(&log.path, &first);
        target.find(
            replays.over(&larges),
            &format!("times as fast as full replay with {name}"),
            format!("{} and {}", time(resume), time(replays.median())),
            Goal::AtLeast(goal),
        );
    }
    in_processes(&target, &log, &sidecar);
    target
}

/// Full replays, each answer compared with a snapshot.
type Replays = fn(&Path, &Snapshot) -> Series;

fn replays<V: Value>(path: &Path, first: &Snapshot) -> Series {
    let mut times = Series::default();
    for _ in 0..3 {
        // Its memory is given back when its time has been taken.
        let replay = times.time(|| Replay::<V>::of(path));
        assert_same(first, &replay.messages);
    }
    times
}

/// Open, look at and map two files, and read 4 KiB of each: what no resume can do without.
fn floor(paths: [&Path; 2]) -> u8 {
    let mut read = 0;
    for path in paths {
        let mut file = File::open(path).expect("readable");
        let len = usize::try_from(file.metadata().expect("metadata").len()).expect("fits");
        let map = MmapOptions::new()
            .len(len)
            .map_raw_read_only(&file)
            .expect("mapped");
        let mut block = [0; 4096];
        file.read_exact(&mut block).expect("read");
        read ^= block[0] ^ u8::try_from(map.len() % 251).unwrap_or(0);
    }
    read
}

/// What a process that resumes or touches files tells of itself.
#[derive(Serialize, Deserialize)]
pub struct Told {
    pub seconds: f64,
    pub usage: Option<Usage>,
    /// Bytes of memory of its own, when it has the messages.
    pub private: Option<u64>,
    /// Bytes of messages.
    pub messages: u64,
}

/// A process that resumes once.
pub fn process(log: &Path) -> Told {
    child::run(&[log.as_os_str()])
}

/// The inside of such a process: one path is resumed, two are touched.
pub fn in_a_process(paths: &[String]) {
    let paths: Vec<&Path> = paths.iter().map(Path::new).collect();
    let mut snapshot = None;
    let (usage, (seconds, ())) = Usage::of(|| {
        seconds(|| match paths[..] {
            [log] => snapshot = Some(support::resume(log).0),
            [log, sidecar] => {
                black_box(floor([log, sidecar]));
            }
            _ => panic!("expected one path or two, found {paths:?}"),
        })
    });
    child::answer(&Told {
        seconds,
        usage,
        private: system::private_memory(),
        messages: snapshot.map_or(0, |snapshot| snapshot.messages.bytes() as u64),
    });
}

/// The same from processes of their own, with the files in the page cache and without.
fn in_processes(target: &Target, log: &Log, sidecar: &Path) {
    let floor: &[&OsStr] = &[log.path.as_os_str(), sidecar.as_os_str()];
    let mut times = [(); 4].map(|()| Series::default());
    let mut used = [None, None];
    for _ in 0..15 {
        for (place, arguments) in [&floor[..1], floor].into_iter().enumerate() {
            // Twice, so that the second finds the pages that it needs.
            let _: Told = child::run(arguments);
            let warm: Told = child::run(arguments);
            for path in [&log.path, sidecar] {
                system::drop_from_cache(path);
            }
            let cold: Told = child::run(arguments);
            times[place].push(warm.seconds);
            times[place + 2].push(cold.seconds);
            if place == 0 {
                used = [warm.usage, cold.usage];
            }
        }
    }
    for path in [&log.path, sidecar] {
        system::warm(path);
    }
    let [warm, floor_warm, cold, floor_cold] = times.map(|series| time(series.median()));
    let [Some(warm_used), Some(cold_used)] = used else {
        target.note(
            "what a process touches is not known on this system, nor whether its cache is cold",
        );
        return;
    };
    target.note(&format!(
        "in a process that does nothing else: {warm} ({floor_warm} for the two files alone), {} page faults",
        warm_used.minor + warm_used.major
    ));
    if cold_used.fetched == 0 {
        target.note("cold cache: this machine keeps the pages, or has no disk below them");
        return;
    }
    target.note(&format!(
        "the same with no page of the files in the cache: {cold} ({floor_cold} for the two files alone), \
         {} page faults of which {} waited for the disk, {} fetched",
        cold_used.minor + cold_used.major,
        cold_used.major,
        size(cold_used.fetched)
    ));
}
