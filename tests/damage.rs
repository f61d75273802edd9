//! Small spaces of damage, searched through whole: every byte of a sidecar changed, a sidecar and a
//! log cut at every length, a log that grows byte by byte. The answers are always those of the
//! naive replay.
//!
//! With `LEAFLOG_EXHAUSTIVE=1` padding is searched as closely as all else, and every bit of every byte of
//! a sidecar is changed by itself: some minutes. Each test prints how many variants it tried.

#[path = "support/agree.rs"]
#[allow(dead_code, reason = "only a part of it is used here")]
mod agree;
#[path = "support/disk.rs"]
mod disk;

use std::collections::BTreeSet;
use std::fs;

use disk::{Disk, done};
use leaflog::generate::Shape;
use leaflog::naive::{ReadOptions, Replay};
use leaflog::{At, Code, Format, IndexState, OpenOptions, Overview, Reading, Session, Snapshot};

/// Within a longer run of zeros, which is padding, only some places are tried.
const RUN: usize = 32;

/// The bytes that every frame of a sidecar starts with.
const MAGIC: &[u8] = b"leaflogI";

/// Whether nothing is left out, however long it takes.
fn is_exhaustive() -> bool {
    std::env::var_os("LEAFLOG_EXHAUSTIVE").is_some()
}

/// The places of a sidecar that are tried: all but most of its padding.
fn places_of(sidecar: &[u8]) -> Vec<usize> {
    if is_exhaustive() {
        return (0..sidecar.len()).collect();
    }
    let mut zeros = 0;
    let places = (0..sidecar.len()).filter(|&at| {
        zeros = if sidecar[at] == 0 { zeros + 1 } else { 0 };
        zeros <= RUN || zeros % 127 == 0
    });
    let places: Vec<usize> = places.collect();
    let significant = sidecar.iter().filter(|&&byte| byte != 0).count();
    assert!(places.len() > significant);
    places
}

/// About fifty entries with branches, compactions and whatever else the format knows: a first part,
/// with the damage that only an index from scratch can take in, and two that follow it.
fn parts(format: Format) -> [Vec<u8>; 3] {
    let mut log = Vec::new();
    Shape::new(format, 50)
        .branches(4)
        .compact_every(15)
        .payload(12)
        .write_to(&mut log)
        .expect("written");
    let mut lines: Vec<&[u8]> = log.split_inclusive(|&byte| byte == b'\n').collect();
    let (first, second) = (lines[3].to_vec(), lines[20].to_vec());
    let odd: [&[u8]; 4] = match format {
        // An id that comes again, a child before its parent, and the parent.
        Format::CodebotV3 => [
            &first,
            br#"{"kind":"message","id":"child","parent_id":"late","timestamp":"2026-07-14T09:00:01Z","data":{"role":"user","content":[]}}
"#,
            br#"{"kind":"message","id":"late","parent_id":"h0","timestamp":"2026-07-14T09:00:02Z","data":{"role":"user","content":[]}}
"#,
            &second,
        ],
        // Damaged lines, and an entry whose parent never comes.
        Format::PiV3 => [
            b"\n",
            b"{\"type\":\"mess\n",
            br#"{"type":"label","id":"orphan","parentId":"nobody","timestamp":"soon","targetId":"nobody","label":"a label"}
"#,
            b"\xff\0\n",
        ],
        // A label, a name, a lane that is moved, and an operation that stays open.
        _ => [
            br#"{"kind":"fact","seq":1,"fact":"label","targetId":"nobody","label":"a label"}
"#,
            br#"{"kind":"fact","seq":2,"fact":"name","name":"a name"}
"#,
            br#"{"kind":"lane","seq":3,"lane":"side","leafId":null}
"#,
            br#"{"kind":"record","type":"operation_started","id":"op","lane":"side","seq":4,"timestamp":1784019600000}
"#,
        ],
    };
    lines.splice(30..30, odd);
    let rest = lines.split_off(40);
    let (middle, end) = rest.split_at(rest.len() / 2);
    [lines.concat(), middle.concat(), end.concat()]
}

/// A log with a sidecar of three frames beside it.
fn three_frames(format: Format) -> (Disk, Vec<u8>) {
    let [first, middle, end] = parts(format);
    let disk = Disk::in_memory(&first);
    // With a time of change of just now the next reader would vouch for the log by merging.
    disk.touch();
    assert_eq!(done(&disk.open()).0, IndexState::Rebuilt);
    for part in [middle, end] {
        disk.append(&part);
        disk.touch();
        assert_eq!(done(&disk.open()).0, IndexState::Extended);
    }
    assert_eq!(done(&disk.open()), (IndexState::Fresh, 0));
    let sidecar = fs::read(disk.sidecar()).expect("a sidecar");
    let frames = sidecar.windows(MAGIC.len()).filter(|&it| it == MAGIC);
    assert_eq!(frames.count(), 3);
    (disk, sidecar)
}

type Answer<T> = Result<T, Code>;

/// What the naive replay says of a log: the overview, and the snapshot and the path of each leaf.
struct Expected {
    overview: Overview,
    /// The current leaf first, by the empty id.
    leaves: Vec<(String, Answer<Snapshot>, Answer<Vec<String>>)>,
}

fn at(leaf: &str) -> At<'_> {
    if leaf.is_empty() {
        At::Current
    } else {
        At::Leaf(leaf)
    }
}

impl Expected {
    fn of(log: &[u8]) -> leaflog::Result<Self> {
        let replay = Replay::from_bytes(log, ReadOptions::default())?;
        let mut leaves = replay.entry_ids();
        let inner: BTreeSet<String> = leaves
            .iter()
            .filter_map(|leaf| replay.path(At::Leaf(leaf)).ok())
            .flat_map(|path| path.into_iter().rev().skip(1))
            .collect();
        leaves.retain(|leaf| !inner.contains(leaf));
        leaves.insert(0, String::new());
        let leaves = leaves.into_iter().map(|leaf| {
            let snapshot = replay.snapshot(at(&leaf), false).map_err(|e| e.code());
            let path = replay.path(at(&leaf)).map_err(|e| e.code());
            (leaf, snapshot, path)
        });
        Ok(Self {
            leaves: leaves.collect(),
            overview: plain(replay.overview()),
        })
    }

    /// Asks for everything, another leaf first each time, since the first question that meets the
    /// damage has the index rebuilt for the others.
    fn check(&self, session: &Session, turn: usize) {
        assert_eq!(
            plain(session.overview().expect("an overview")),
            self.overview
        );
        for number in 0..self.leaves.len() {
            let (leaf, snapshot, path) = &self.leaves[(number + turn) % self.leaves.len()];
            let ids = session.path(at(leaf)).map_err(|e| e.code());
            assert_eq!(&ids, path, "path of `{leaf}`");
            let taken = session.snapshot(at(leaf)).map_err(|e| e.code());
            assert_eq!(&taken, snapshot, "snapshot of `{leaf}`");
        }
    }
}

/// The overview without the wording of its reports.
fn plain(mut overview: Overview) -> Overview {
    for report in &mut overview.reports {
        report.detail.clear();
    }
    overview
}

fn reading(turn: usize) -> OpenOptions {
    OpenOptions::new().reading(if turn.is_multiple_of(2) {
        Reading::Map
    } else {
        Reading::Read
    })
}

/// Opens the log and checks it, telling what was done to it if that fails.
fn check(disk: &Disk, expected: &Expected, turn: usize, what: &str) -> IndexState {
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let session = reading(turn).open(disk.path()).expect("a session");
        let state = session.index_status().state;
        expected.check(&session, turn);
        state
    }));
    outcome.unwrap_or_else(|_| panic!("{what}"))
}

fn change_every_byte(format: Format) {
    let (disk, sidecar) = three_frames(format);
    let expected = Expected::of(&disk.bytes()).expect("a session");
    assert!(expected.leaves.len() > 4, "too few branches");
    let places = places_of(&sidecar);
    let (mut variants, mut noticed) = (0, 0);
    for &place in &places {
        // The lowest bit and the highest in turns.
        let bits: &[u8] = match (is_exhaustive(), place % 2) {
            (true, _) => &[1, 2, 4, 8, 16, 32, 64, 128],
            (false, 0) => &[1],
            (false, _) => &[128],
        };
        for bit in bits {
            let mut changed = sidecar.clone();
            changed[place] ^= bit;
            fs::write(disk.sidecar(), &changed).expect("written");
            let what = format!("byte {place} of the sidecar ^ {bit:#x}");
            let state = check(&disk, &expected, place / 2, &what);
            noticed += usize::from(state != IndexState::Fresh);
            variants += 1;
        }
    }
    println!(
        "{format}: {variants} changed sidecars of {} bytes, {noticed} noticed at once",
        sidecar.len()
    );
    assert!(variants >= places.len());
    // At the least what stands in the headers and in the summaries.
    assert!(noticed > 400, "{noticed} of {variants}");
}

#[test]
fn no_changed_byte_of_a_codebot_sidecar_changes_an_answer() {
    change_every_byte(Format::CodebotV3);
}

#[test]
fn no_changed_byte_of_a_pi_v3_sidecar_changes_an_answer() {
    change_every_byte(Format::PiV3);
}

#[test]
fn no_changed_byte_of_a_pi_v4_sidecar_changes_an_answer() {
    change_every_byte(Format::PiV4);
}

fn cut_the_sidecar(format: Format) {
    let (disk, sidecar) = three_frames(format);
    let expected = Expected::of(&disk.bytes()).expect("a session");
    let mut states = BTreeSet::new();
    let mut variants = 0;
    let lengths = places_of(&sidecar);
    for &len in &lengths {
        fs::write(disk.sidecar(), &sidecar[..len]).expect("written");
        let what = format!("the sidecar cut at {len}");
        states.insert(format!("{:?}", check(&disk, &expected, len, &what)));
        variants += 1;
    }
    println!("{format}: {variants} lengths of a sidecar");
    assert_eq!(variants, lengths.len());
    // Whole frames that are left are used.
    for state in [IndexState::Extended, IndexState::Rebuilt] {
        assert!(states.contains(&format!("{state:?}")), "{states:?}");
    }
}

#[test]
fn a_codebot_sidecar_cut_anywhere_changes_no_answer() {
    cut_the_sidecar(Format::CodebotV3);
}

#[test]
fn a_pi_v3_sidecar_cut_anywhere_changes_no_answer() {
    cut_the_sidecar(Format::PiV3);
}

#[test]
fn a_pi_v4_sidecar_cut_anywhere_changes_no_answer() {
    cut_the_sidecar(Format::PiV4);
}

/// Cuts the log everywhere, under the sidecar of the whole log.
fn cut_the_log(format: Format) {
    let (disk, sidecar) = three_frames(format);
    let log = disk.bytes();
    let mut variants = 0;
    for len in 0..=log.len() {
        fs::write(disk.path(), &log[..len]).expect("written");
        fs::write(disk.sidecar(), &sidecar).expect("written");
        match Expected::of(&log[..len]) {
            Ok(expected) => {
                check(&disk, &expected, len, &format!("the log cut at {len}"));
            }
            Err(naive) => {
                let error = reading(len).open(disk.path()).expect_err("no session");
                assert_eq!(error.code(), naive.code(), "the log cut at {len}");
            }
        }
        variants += 1;
    }
    println!("{format}: {variants} lengths of a log");
    assert_eq!(variants, log.len() + 1);
}

#[test]
fn a_codebot_log_cut_anywhere_is_answered_from_what_is_left() {
    cut_the_log(Format::CodebotV3);
}

#[test]
fn a_pi_v3_log_cut_anywhere_is_answered_from_what_is_left() {
    cut_the_log(Format::PiV3);
}

#[test]
fn a_pi_v4_log_cut_anywhere_is_answered_from_what_is_left() {
    cut_the_log(Format::PiV4);
}

/// Lets a log grow byte by byte and asks after each, anew and through a session that is refreshed.
fn grow_by_bytes(format: Format) {
    let log = parts(format).concat();
    let start = log.iter().position(|&byte| byte == b'\n').expect("a line") + 1;
    let lines = |from: usize| log[from..].split_inclusive(|&byte| byte == b'\n');
    // The first lines, and those around the odd ones.
    let skipped: usize = lines(start).take(26).map(<[u8]>::len).sum();
    let short: usize = lines(start + skipped).take(12).map(<[u8]>::len).sum();
    let log = [&log[..start + skipped], &log[start + skipped..][..short]].concat();
    let disk = Disk::in_memory(&log[..start + skipped]);
    drop(disk.open());
    let kept = reading(0).open(disk.path()).expect("a session");
    let mut variants = 0;
    for (number, byte) in log[start + skipped..].chunks(1).enumerate() {
        disk.append(byte);
        let len = start + skipped + number + 1;
        let expected = Expected::of(&log[..len]).expect("a session");
        check(&disk, &expected, number, &format!("grown to {len} bytes"));
        assert!(kept.refresh().expect("refreshed"));
        expected.check(&kept, number);
        variants += 1;
    }
    assert_eq!(variants, short);
    assert_eq!(disk.bytes(), log);
}

#[test]
fn a_codebot_log_that_grows_by_bytes_is_answered_at_each() {
    grow_by_bytes(Format::CodebotV3);
}

#[test]
fn a_pi_v3_log_that_grows_by_bytes_is_answered_at_each() {
    grow_by_bytes(Format::PiV3);
}

#[test]
fn a_pi_v4_log_that_grows_by_bytes_is_answered_at_each() {
    grow_by_bytes(Format::PiV4);
}
