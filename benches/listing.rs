//! Listing a folder as figures: `cargo bench --bench listing`.
//!
//! Each line compares contenders in one run, alternating, checks every answer against the one without
//! a catalog, and prints medians and a ratio. `LEAFLOG_BENCH_SESSIONS` sets another number of sessions
//! than 10,000.

mod support;

use std::fs::{self, File, OpenOptions as FileOptions};
use std::hint::black_box;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use leaflog::generate::Shape;
use leaflog::{Format, IndexMode, Listing, OpenOptions, Repository};

/// Folders for working directories, beside which half of the sessions stand.
const FOLDERS: u64 = 40;

fn main() {
    // `cargo test` runs benchmarks too; that is not what this one is for.
    if std::env::args().nth(1).as_deref() != Some("--bench") {
        return;
    }
    let sessions = std::env::var("LEAFLOG_BENCH_SESSIONS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(10_000);
    let scratch = support::Scratch::new();
    let folder = scratch.file("sessions");
    let (logs, bytes) = fill(&folder, sessions);
    println!(
        "sessions {sessions}, {} MB, {} cores, warm page cache",
        bytes / 1_000_000,
        std::thread::available_parallelism().map_or(1, usize::from)
    );
    let place = Place {
        catalog: folder.join(".leaflog-catalog"),
        whole: Repository::new(&folder).with_options(OpenOptions::new().index(IndexMode::Memory)),
        repository: Repository::new(&folder),
        folder,
        logs,
    };
    again(&place);
    first(&place);
    changed(&place);
}

/// A folder of sessions, and how it is listed.
struct Place {
    folder: PathBuf,
    logs: Vec<PathBuf>,
    catalog: PathBuf,
    repository: Repository,
    /// Without a catalog.
    whole: Repository,
}

impl Place {
    fn list(&self) -> Listing {
        self.repository.list().expect("a listing")
    }

    fn list_whole(&self) -> Listing {
        self.whole.list().expect("a listing")
    }
}

/// Sessions of 1 to 100 entries of some 400 bytes, and how many bytes they have together.
fn fill(folder: &Path, sessions: u64) -> (Vec<PathBuf>, u64) {
    let mut bytes = 0;
    let logs = (0..sessions).map(|number| {
        let format = [Format::CodebotV3, Format::PiV4, Format::PiV3][number as usize % 3];
        let place = match number % 2 {
            0 => folder.to_owned(),
            _ => folder.join(format!("--work-{}--", number % FOLDERS)),
        };
        fs::create_dir_all(&place).expect("a folder");
        let path = place.join(format!("2026-07-14T09-00-00-{number:05}Z_{number}.jsonl"));
        let mut out = BufWriter::new(File::create(&path).expect("a new file"));
        let shape = Shape::new(format, 1 + number * 7919 % 100)
            .payload(120)
            .seed(number);
        bytes += shape.write_to(&mut out).expect("written").bytes;
        path
    });
    (logs.collect(), bytes)
}

fn assert_same(found: &Listing, expected: &Listing) {
    assert!(found.sessions == expected.sessions, "other sessions");
    let told = |listing: &Listing| -> Vec<String> {
        listing.warnings.iter().map(ToString::to_string).collect()
    };
    assert_eq!(told(found), told(expected));
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn ratio(of: &[f64], to: &[f64]) -> f64 {
    median(of.iter().zip(to).map(|(of, to)| of / to).collect())
}

fn millis<T>(run: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = run();
    (start.elapsed().as_secs_f64() * 1e3, result)
}

/// What no listing can do without: the names, and what the system says of each file.
fn look(folder: &Path) -> u64 {
    let mut count = 0;
    for item in fs::read_dir(folder).expect("a folder") {
        let item = item.expect("an item");
        if item.file_type().expect("a kind").is_dir() {
            count += look(&item.path());
        } else {
            count += u64::from(black_box(item.metadata().expect("a file")).len() > 0);
        }
    }
    count
}

fn again(place: &Place) {
    let expected = place.list_whole();
    assert_eq!(expected.sessions.len(), place.logs.len());
    assert_same(&place.list(), &expected);
    let (mut looks, mut lists, mut recents, mut wholes) = (vec![], vec![], vec![], vec![]);
    for round in 0..31 {
        looks.push(millis(|| look(&place.folder)).0);
        let (time, found) = millis(|| place.list());
        lists.push(time);
        assert_same(&found, &expected);
        let (time, recent) = millis(|| place.repository.most_recent_read_only());
        recents.push(time);
        let recent = recent.expect("an answer").expect("a session");
        assert_eq!(recent.session_id(), expected.sessions[0].id);
        if round % 8 == 0 {
            wholes.push(millis(|| place.list_whole()).0);
        }
    }
    println!(
        "P7 list: {} sessions, second time: {:.1} ms, readdir + stat {:.1} ms: {:.2} times (target at most 3); the most recent one opened: {:.1} ms: {:.2} times",
        place.logs.len(),
        median(lists.clone()),
        median(looks.clone()),
        ratio(&lists, &looks),
        median(recents.clone()),
        ratio(&recents, &looks),
    );
    println!(
        "   without a catalog {:.0} ms, which has {} KB",
        median(wholes),
        fs::metadata(&place.catalog).expect("a catalog").len() / 1000
    );
}

/// All bytes of all logs by read(2), once.
fn read(logs: &[PathBuf]) -> u64 {
    let mut buffer = vec![0; 1 << 20];
    let mut bytes = 0;
    for log in logs {
        let mut file = File::open(log).expect("a log");
        loop {
            let count = file.read(&mut buffer).expect("readable");
            if count == 0 {
                break;
            }
            bytes += black_box(count) as u64;
        }
    }
    bytes
}

fn first(place: &Place) {
    let expected = place.list_whole();
    let (mut reads, mut lists) = (vec![], vec![]);
    for _ in 0..7 {
        reads.push(millis(|| read(&place.logs)).0);
        fs::remove_file(&place.catalog).expect("removed");
        let (time, found) = millis(|| place.list());
        lists.push(time);
        assert_same(&found, &expected);
        assert!(place.catalog.exists());
    }
    println!(
        "P7 list, first time: {:.0} ms, opening and reading each log once {:.0} ms: {:.2} times",
        median(lists.clone()),
        median(reads.clone()),
        ratio(&lists, &reads)
    );
}

/// One log of all changes before each listing.
fn changed(place: &Place) {
    let (mut looks, mut lists) = (vec![], vec![]);
    for log in place.logs.iter().step_by(place.logs.len() / 15 + 1) {
        let mut file = FileOptions::new().append(true).open(log).expect("a log");
        file.write_all(b"{torn\n").expect("written");
        looks.push(millis(|| look(&place.folder)).0);
        let (time, found) = millis(|| place.list());
        lists.push(time);
        assert_same(&found, &place.list_whole());
    }
    println!(
        "P7 list, one log changed: {:.1} ms: {:.2} times readdir + stat",
        median(lists.clone()),
        ratio(&lists, &looks)
    );
}
