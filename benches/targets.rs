//! The project's targets as figures: `cargo bench --bench targets`.
//!
//! Each line compares contenders in one run, alternating, checks the answer, and prints medians and
//! a ratio. Absolute times move from machine to machine; ratios hold better. `LEAFLOG_BENCH_ENTRIES`
//! sets another size than 1,000,000 entries.

mod support;

use std::fs::File;
use std::hint::black_box;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use leaflog::{At, IndexMode, IndexState, OpenOptions, Snapshot};
use memmap2::MmapOptions;
use simd_json::{Buffers, Tape};

fn main() {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        // `cargo test` runs benchmarks too, to see that they work; that is what the size is for.
        Some("--resume") => return resume_and_tell(&arguments.next().expect("a path")),
        Some("--bench") | None => {}
        Some(_) => return,
    }
    let entries = support::entries();
    let scratch = support::Scratch::new();
    let large = scratch.file("large.jsonl");
    let bytes = support::session(&large, entries);
    index(&large);
    resume(&scratch, &large, entries, bytes);
    memory(&large);
    let bytes = support::kilobyte_lines(&large, entries);
    size(&large, &index(&large), bytes);
    std::fs::remove_file(&large).expect("removable");
    for (name, make) in [
        ("small", support::small as fn(&Path, u64) -> u64),
        ("real", support::real),
    ] {
        let path = scratch.file(name);
        let bytes = make(&path, if name == "real" { entries / 5 } else { entries });
        build(name, &path, bytes);
        std::fs::remove_file(&path).expect("removable");
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn timed<T>(times: &mut Vec<Duration>, run: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = run();
    times.push(start.elapsed());
    result
}

fn index(path: &Path) -> PathBuf {
    let session = OpenOptions::new()
        .index(IndexMode::Always)
        .open(path)
        .expect("a session");
    session.index_status().path.expect("a sidecar")
}

fn snapshot(path: &Path) -> Snapshot {
    let session = OpenOptions::new().open(path).expect("a session");
    assert_eq!(session.index_status().state, IndexState::Fresh);
    session.snapshot(At::Current).expect("a snapshot")
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

fn resume(scratch: &support::Scratch, large: &Path, entries: u64, bytes: u64) {
    let small = scratch.file("ten-thousand.jsonl");
    support::session(&small, 10_000);
    index(&small);
    let sidecar = index(large);
    let first = snapshot(large);
    let mut replay = Vec::new();
    for _ in 0..3 {
        let messages = timed(&mut replay, || support::full_replay(large));
        support::assert_same(&first, &messages);
    }
    let (mut floors, mut smalls, mut larges) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..1000 {
        black_box(timed(&mut floors, || floor([large, &sidecar])));
        black_box(timed(&mut smalls, || snapshot(&small)));
        let again = timed(&mut larges, || snapshot(large));
        assert_eq!(again.messages, first.messages);
    }
    let (floors, smalls, larges, replay) = (
        median(floors),
        median(smalls),
        median(larges),
        median(replay),
    );
    let ratio = |over: Duration, under: Duration| over.as_secs_f64() / under.as_secs_f64();
    println!(
        "P1 resume: {} live messages, {} KB, of {entries} entries, {} MB",
        first.messages.len(),
        first.messages.bytes() / 1000,
        bytes / 1_000_000
    );
    println!(
        "   {larges:?} resume, {smalls:?} the same of 10,000 entries: {:.2} times (target at most 1.25)",
        ratio(larges, smalls)
    );
    println!(
        "   {floors:?} floor (open, stat, map two files, read 4 KiB of each): {:.1} times (target at most 6)",
        ratio(larges, floors)
    );
    println!(
        "   {replay:?} full replay with simd-json: {:.0} times as fast (target at least 1,000)",
        ratio(replay, larges)
    );
}

fn build(name: &str, path: &Path, bytes: u64) {
    let log = std::fs::read(path).expect("readable");
    let (mut tapes, mut builds) = (Vec::new(), Vec::new());
    let mut lines = 0;
    for _ in 0..7 {
        lines = timed(&mut tapes, || tape(&log));
        let mut sidecar = path.as_os_str().to_owned();
        sidecar.push(".idx");
        // The first round has none yet.
        let _ = std::fs::remove_file(&sidecar);
        let session = timed(&mut builds, || {
            OpenOptions::new()
                .index(IndexMode::Always)
                .open(path)
                .expect("a session")
        });
        assert_eq!(session.overview().expect("an overview").lines, lines);
        assert_eq!(session.overview().expect("an overview").report_count, 0);
        assert!(session.index_status().path.is_some());
    }
    let (tape, build) = (median(tapes), median(builds));
    let speed = |time: Duration| bytes as f64 / time.as_secs_f64() / 1e9;
    println!(
        "P2 index build, {name}: {lines} lines, {} MB, sidecar on disk",
        bytes / 1_000_000
    );
    println!(
        "   {:.2} GB/s, simd-json's bare tape {:.2} GB/s: {:.2} times (target at least 0.75)",
        speed(build),
        speed(tape),
        tape.as_secs_f64() / build.as_secs_f64()
    );
}

/// simd-json alone: each line copied into a reused buffer and parsed to a tape.
fn tape(log: &[u8]) -> u64 {
    let mut buffers = Buffers::new(1 << 12);
    let mut buffer = Vec::new();
    let mut kept = Tape::null();
    let mut lines = 0;
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', log) {
        buffer.clear();
        buffer.extend_from_slice(&log[start..end]);
        start = end + 1;
        let mut tape = std::mem::replace(&mut kept, Tape(Vec::new())).reset();
        simd_json::fill_tape(&mut buffer, &mut buffers, &mut tape).expect("valid");
        black_box(&tape);
        kept = tape.reset();
        lines += 1;
    }
    lines
}

fn size(path: &Path, sidecar: &Path, bytes: u64) {
    let session = OpenOptions::new().open(path).expect("a session");
    let overview = session.overview().expect("an overview");
    let indexed = overview.entries + overview.records;
    let len = std::fs::metadata(sidecar).expect("a sidecar").len();
    println!(
        "P4 sidecar: {:.1} bytes for each of {indexed} entries and records (target at most 48), {:.1} % of a log with {} byte lines (target at most 5)",
        len as f64 / indexed as f64,
        100.0 * len as f64 / bytes as f64,
        bytes / overview.lines
    );
}

/// Private memory of a process that opens and snapshots, from the outside.
fn memory(path: &Path) {
    let program = std::env::current_exe().expect("this program");
    let output = std::process::Command::new(program)
        .arg("--resume")
        .arg(path)
        .output()
        .expect("run");
    let text = String::from_utf8(output.stdout).expect("text");
    let numbers: Vec<f64> = text
        .split_whitespace()
        .filter_map(|n| n.parse().ok())
        .collect();
    let [private, messages] = numbers[..] else {
        println!("P5 memory: not known on this system");
        return;
    };
    println!(
        "P5 memory: {:.1} MiB private beside {:.1} MiB of messages (target at most 16)",
        (private - messages) / f64::from(1 << 20),
        messages / f64::from(1 << 20)
    );
}

fn resume_and_tell(path: &str) {
    let snapshot = snapshot(Path::new(path));
    let Ok(rollup) = std::fs::read_to_string("/proc/self/smaps_rollup") else {
        return;
    };
    let private: u64 = rollup
        .lines()
        .filter(|line| line.starts_with("Private_"))
        .filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok())
        .sum();
    println!("{} {}", private * 1024, snapshot.messages.bytes());
}
