//! Writing, following, forking and single reads as figures: `cargo bench --bench writing`.
//!
//! Each line compares contenders in one run, alternating, checks the answer, and prints medians and
//! a ratio. `LEAFLOG_BENCH_ENTRIES` sets another size than 1,000,000 entries.

#[path = "support/sqlite.rs"]
mod sqlite;
mod support;

use std::fs::{File, OpenOptions as FileOptions};
use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use leaflog::{
    At, Durability, ForkScope, IndexMode, NewEntry, OpenOptions, Session, SessionStorage, Snapshot,
};
use sqlite::{Store, Synchronous};

fn main() {
    // `cargo test` runs benchmarks too; that is not what this one is for.
    if std::env::args().nth(1).as_deref() != Some("--bench") {
        return;
    }
    let entries = support::entries();
    let scratch = support::Scratch::new();
    append(&scratch, entries);
    append_durably(&scratch);
    threads(&scratch, (entries / 500).clamp(20, 2_000));
    let large = scratch.file("large.jsonl");
    let bytes = support::session(&large, entries);
    let mut store = Store::open(&scratch.file("store.db"), Synchronous::Off);
    OpenOptions::new()
        .index(IndexMode::Always)
        .open(&large)
        .expect("a session");
    store.fill(&large);
    extend(&scratch, &large, bytes);
    read(&large, &store);
    resume(&large, &store);
    fork(&scratch, &large);
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Nanoseconds a call, over some calls.
fn each(count: u64, mut run: impl FnMut(u64)) -> f64 {
    let start = Instant::now();
    for number in 0..count {
        run(number);
    }
    start.elapsed().as_nanos() as f64 / count as f64
}

fn seconds<T>(run: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = run();
    (start.elapsed().as_secs_f64(), result)
}

const HEADER: &str = "{\"kind\":\"header\",\"version\":4,\"id\":\"bench\",\"createdAt\":1784019600000,\"cwd\":\"/w\"}\n";

fn message() -> NewEntry {
    let text = "the quick brown fox jumps over the lazy dog ".repeat(3);
    NewEntry::new(
        "message",
        format!("{{\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}"),
    )
}

fn writer(path: &Path, durability: Durability) -> Session {
    std::fs::write(path, HEADER).expect("written");
    OpenOptions::new()
        .write(true)
        .durability(durability)
        .open(path)
        .expect("a session")
}

fn raw(path: &Path) -> File {
    let mut options = FileOptions::new();
    options.create(true).append(true);
    options.open(path).expect("a file")
}

fn append(scratch: &support::Scratch, entries: u64) {
    let path = scratch.file("append.jsonl");
    let session = writer(&path, Durability::Process);
    let new = message();
    let first = session.append_entry(new.clone(), "main").expect("appends");
    let line = [&first.bytes[..], b"\n"].concat();
    let mut file = raw(&scratch.file("raw"));
    let mut store = Store::open(&scratch.file("append.db"), Synchronous::Off);
    let rounds = 50;
    let count = entries / rounds;
    let (mut raws, mut owns, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    let mut seq = 0;
    for _ in 0..rounds {
        raws.push(each(count, |_| file.write_all(&line).expect("written")));
        // What the caller makes is not what the append costs.
        let mut made = vec![new.clone(); usize::try_from(count).expect("few")].into_iter();
        owns.push(each(count, |_| {
            let new = made.next().expect("one more");
            black_box(session.append_entry(new, "main").expect("appends"));
        }));
        // A tenth: it is that much slower.
        rows.push(each(count / 10, |_| {
            seq += 1;
            let id = format!("01890000-0000-7000-8000-{seq:012x}");
            let parent = format!("01890000-0000-7000-8000-{:012x}", seq - 1);
            store.append(seq, &id, &parent, &first.text());
        }));
    }
    let ratios = owns.iter().zip(&raws).map(|(own, raw)| own / raw);
    let ratio = median(ratios.collect());
    let (early, late) = (owns[..10].to_vec(), owns[owns.len() - 10..].to_vec());
    let (early, late) = (median(early), median(late));
    let lookup = session.lanes().expect("lanes")[0]
        .leaf
        .clone()
        .expect("a leaf");
    let last = session.entry(&lookup).expect("answers").expect("found");
    assert_eq!(last.seq, Some(count * rounds + 1));
    let (closing, ()) = seconds(|| session.close().expect("closes"));
    assert!(
        OpenOptions::new()
            .verify(&path)
            .expect("verifies")
            .is_clean()
    );
    let (raw, own, row) = (median(raws), median(owns), median(rows));
    println!(
        "P3 append: lines of {} bytes, {entries} of them, Process durability, index kept",
        line.len()
    );
    println!("   {own:.0} ns, bare write(2) {raw:.0} ns: {ratio:.2} times (target at most 1.25)");
    println!(
        "   first fifth {early:.0} ns, last fifth {late:.0} ns: {:.2} times (target flat); closing {:.0} ms",
        late / early,
        closing * 1e3
    );
    println!(
        "P10 append: SQLite (WAL, synchronous off) {:.1} us: {:.1} times as fast (target at least 5)",
        row / 1e3,
        row / own
    );
}

fn append_durably(scratch: &support::Scratch) {
    let path = scratch.file("durable.jsonl");
    let session = writer(&path, Durability::Disk);
    let new = message();
    let first = session.append_entry(new.clone(), "main").expect("appends");
    let line = [&first.bytes[..], b"\n"].concat();
    let mut file = raw(&scratch.file("durable.raw"));
    let mut store = Store::open(&scratch.file("durable.db"), Synchronous::Full);
    let (mut raws, mut owns, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    let mut seq = 0;
    for _ in 0..60 {
        raws.push(each(25, |_| {
            file.write_all(&line).expect("written");
            file.sync_data().expect("synced");
        }));
        owns.push(each(25, |_| {
            black_box(session.append_entry(new.clone(), "main").expect("appends"));
        }));
        rows.push(each(25, |_| {
            seq += 1;
            store.append(seq, &seq.to_string(), &(seq - 1).to_string(), &first.text());
        }));
    }
    let ratio = |under: &[f64]| median(owns.iter().zip(under).map(|(a, b)| a / b).collect());
    println!(
        "P3 append, Disk durability: {:.0} us, write + fdatasync {:.0} us: {:.2} times (target at most 1.1)",
        median(owns.clone()) / 1e3,
        median(raws.clone()) / 1e3,
        ratio(&raws)
    );
    println!(
        "P10 append, Disk durability: SQLite (synchronous full) {:.0} us: {:.2} times its time (target at most 1)",
        median(rows.clone()) / 1e3,
        ratio(&rows)
    );
}

/// Eight threads that append lines of 4 to 300 KB on two lanes of one session.
fn threads(scratch: &support::Scratch, each: u64) {
    const THREADS: u64 = 8;
    let path = scratch.file("threads.jsonl");
    let session = writer(&path, Durability::Process);
    session.create_lane("side", None).expect("a lane");
    let text = "the quick brown fox jumps over the lazy dog ".repeat(7_000);
    let (time, ids) = seconds(|| {
        std::thread::scope(|scope| {
            let running: Vec<_> = (0..THREADS)
                .map(|thread| {
                    let (session, text) = (&session, &text);
                    scope.spawn(move || {
                        let lane = ["main", "side"][usize::try_from(thread % 2).expect("few")];
                        let one = |number: u64| {
                            let len = 4_000 + (number * 7919 + thread * 104_729) % 296_000;
                            let text = &text[..usize::try_from(len).expect("small")];
                            let fields = format!(
                                "{{\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}"
                            );
                            let new = NewEntry::new("message", fields);
                            session.append_entry(new, lane).expect("appends").id
                        };
                        (0..each).map(one).collect::<Vec<_>>()
                    })
                })
                .collect();
            let ended = running
                .into_iter()
                .flat_map(|thread| thread.join().expect("ended"));
            ended.collect::<Vec<String>>()
        })
    });
    session.close().expect("closes");
    let found = OpenOptions::new().verify(&path).expect("verifies");
    assert!(found.is_clean(), "{found:?}");
    let session = Session::open(&path).expect("opens");
    for id in &ids {
        assert!(
            session.entry(id).expect("answers").is_some(),
            "{id} is gone"
        );
    }
    let lines = session.mutations().expect("lines");
    let numbers = lines.map(|line| line.expect("a line").seq);
    assert!(numbers.eq(1..=THREADS * each + 1));
    println!(
        "{THREADS} threads, {each} appends each of 4 to 300 KB on two lanes: {} MB in {time:.1} s; all there, one sequence, no torn line",
        found.bytes / 1_000_000
    );
    drop(session);
    std::fs::remove_file(&path).expect("removed");
}

fn snapshot(path: &Path) -> Snapshot {
    let session = OpenOptions::new().open(path).expect("a session");
    session.snapshot(At::Current).expect("a snapshot")
}

/// Another program appends 1 MB: what opening costs then.
fn extend(scratch: &support::Scratch, large: &Path, bytes: u64) {
    let mut tail = Vec::new();
    let leaf = snapshot(large).leaf.expect("a leaf");
    let seq = Session::open(large).expect("opens");
    let seq = seq.overview().expect("an overview");
    let (mut parent, mut number) = (leaf, seq.entries + seq.records + 1_000_000);
    let text = "x".repeat(800);
    while tail.len() < 1_000_000 {
        number += 1;
        let id = format!("new-{number}");
        let line = format!(
            "{{\"kind\":\"entry\",\"lane\":\"main\",\"type\":\"message\",\"id\":\"{id}\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}},\"parentId\":\"{parent}\",\"seq\":{number},\"timestamp\":1784019600000}}\n"
        );
        tail.extend_from_slice(line.as_bytes());
        parent = id;
    }
    // The same megabyte as a session of its own, to scan.
    let alone = scratch.file("alone.jsonl");
    let mut text = HEADER.as_bytes().to_vec();
    text.extend_from_slice(&tail);
    std::fs::write(&alone, text).expect("written");
    let (mut scans, mut resumes, mut opens) = (Vec::new(), Vec::new(), Vec::new());
    // Before the log is touched: afterwards its time says that it may have been changed in place.
    for _ in 0..101 {
        resumes.push(seconds(|| snapshot(large)).0);
    }
    let sidecar = Session::open(large).expect("opens").index_status().path;
    let sidecar = sidecar.expect("a sidecar");
    let as_it_was = std::fs::read(&sidecar).expect("readable");
    for _ in 0..101 {
        let in_memory = OpenOptions::new().index(IndexMode::Memory);
        scans.push(seconds(|| in_memory.open(&alone).expect("a session")).0);
        let mut file = raw(large);
        file.write_all(&tail).expect("written");
        let (time, found) = seconds(|| snapshot(large));
        opens.push(time);
        assert_eq!(found.leaf.as_deref(), Some(&*parent));
        file.set_len(bytes).expect("cut");
        // In a small session 1 MB is enough to be written down.
        if std::fs::metadata(&sidecar).expect("a sidecar").len() != as_it_was.len() as u64 {
            std::fs::write(&sidecar, &as_it_was).expect("written");
        }
    }
    let (scan, resume, open) = (median(scans), median(resumes), median(opens));
    println!(
        "P6 extend: 1 MB behind {} MB: {:.2} ms; indexing that 1 MB alone {:.2} ms and a resume {:.2} ms: {:.2} times their sum (target at most 1.5)",
        bytes / 1_000_000,
        open * 1e3,
        scan * 1e3,
        resume * 1e3,
        open / (scan + resume)
    );
}

fn read(large: &Path, store: &Store) {
    let session = Session::open(large).expect("opens");
    let nodes = session.tree().expect("nodes");
    let mut state = 7_u64;
    // Copies: whoever asks for an id has it at hand, and the first to ask would wait for all of them.
    let ids: Vec<String> = (0..20_000)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let place = (state >> 33) % nodes.len() as u64;
            nodes[usize::try_from(place).expect("small")].id.clone()
        })
        .collect();
    for id in ids.iter().take(1000) {
        let own = session.entry(id).expect("answers").expect("found");
        assert_eq!(Some(own.text().into_owned()), store.entry(id));
    }
    let (mut owns, mut rows) = (Vec::new(), Vec::new());
    // Several times over the same ones, so that both have their pages mapped.
    for chunk in (0..5).flat_map(|_| ids.chunks(500)) {
        let at = |number: u64| &*chunk[usize::try_from(number).expect("small")];
        let count = chunk.len() as u64;
        owns.push(each(count, |number| {
            black_box(session.entry(at(number)).expect("answers"));
        }));
        rows.push(each(count, |number| {
            black_box(store.entry(at(number)));
        }));
    }
    let (own, row) = (median(owns), median(rows));
    println!(
        "P9 random reads: {own:.0} ns an entry of {} (target under 1,000); SQLite by primary key {row:.0} ns: {:.1} times as fast (target at least 5)",
        nodes.len(),
        row / own
    );
}

fn resume(large: &Path, store: &Store) {
    let first = snapshot(large);
    assert_eq!(first.messages, store.resume());
    let session = Session::open(large).expect("opens");
    let (mut opens, mut owns, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..300 {
        opens.push(seconds(|| black_box(snapshot(large))).0);
        owns.push(seconds(|| black_box(session.snapshot(At::Current).expect("a snapshot"))).0);
        rows.push(seconds(|| black_box(store.resume())).0);
    }
    let (open, own, row) = (median(opens), median(owns), median(rows));
    println!(
        "P10 resume: {} messages in {:.0} us, {:.0} us with opening; SQLite's recursive query, open and prepared, {:.0} us: {:.1} times as fast (target at least 5), {:.1} times with opening",
        first.messages.len(),
        own * 1e6,
        open * 1e6,
        row * 1e6,
        row / own,
        row / open
    );
}

fn fork(scratch: &support::Scratch, large: &Path) {
    let session = Session::open(large).expect("opens");
    let (mut forks, mut copies) = (Vec::new(), Vec::new());
    let mut bytes = 0;
    for round in 0..7 {
        let target = scratch.file(&format!("fork-{round}.jsonl"));
        let (time, _) = seconds(|| {
            session
                .fork_to(
                    &target,
                    &ForkScope::default(),
                    &leaflog::CreateOptions::in_folder("/w"),
                )
                .expect("a fork")
        });
        forks.push(time);
        bytes = std::fs::metadata(&target).expect("a file").len();
        if round == 0 {
            let forked = Session::open(&target).expect("opens");
            let (source, copy) = (session.path(At::Current), forked.path(At::Current));
            assert_eq!(copy.expect("a path"), source.expect("a path"));
        }
        let copy = scratch.file("copy");
        let (time, ()) = seconds(|| {
            let mut from = File::open(&target).expect("a file");
            let mut to = File::create(&copy).expect("a file");
            std::io::copy(&mut from, &mut to).expect("copied");
            to.sync_all().expect("synced");
        });
        copies.push(time);
        std::fs::remove_file(&target).expect("removed");
        std::fs::remove_file(&copy).expect("removed");
    }
    let (fork, copy) = (median(forks), median(copies));
    println!(
        "P8 fork of a branch: {} MB in {:.0} ms; copying the same bytes {:.0} ms: {:.2} times its speed (target at least 0.5)",
        bytes / 1_000_000,
        fork * 1e3,
        copy * 1e3,
        copy / fork
    );
}
