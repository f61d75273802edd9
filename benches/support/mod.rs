//! What the benchmarks share: files to measure on, contenders to measure against, and how figures are
//! taken and told.

#![allow(dead_code, reason = "each benchmark uses a part of it")]

pub mod child;
pub mod figures;
pub mod logs;
pub mod replay;
pub mod report;
pub mod sqlite;
pub mod system;
pub mod tape;
pub mod writing;

use std::path::{Path, PathBuf};

use leaflog::{At, IndexMode, IndexState, OpenOptions, Session, Snapshot};

/// How many entries to measure with; prints what every figure depends on.
pub fn entries() -> u64 {
    let entries = number_in("LEAFLOG_BENCH_ENTRIES").unwrap_or(1_000_000);
    println!(
        "{} entries, {} cores, warm page cache unless said",
        report::count(entries),
        std::thread::available_parallelism().map_or(1, usize::from)
    );
    entries
}

/// A number in the environment, at least as large as the sessions that are measured are long.
pub fn number_in(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    let number = text.parse().ok().filter(|number| *number >= 1_000);
    Some(number.unwrap_or_else(|| {
        wrong(&format!(
            "{variable}: expected a number from 1000 on, found {text:?}"
        ))
    }))
}

/// Ends the program because it was asked for what it cannot do.
pub fn wrong(message: &str) -> ! {
    eprintln!("{message}");
    std::process::exit(2);
}

/// Whether `cargo bench` started this, and not `cargo test`, which runs benchmarks too, to see that
/// they work: that is not what these sizes are for.
pub fn asked_for() -> bool {
    std::env::args().any(|argument| argument == "--bench")
}

/// Powers of ten from 1,000 on, up to a number that comes last whatever it is.
pub fn sizes(largest: u64) -> Vec<u64> {
    let powers = (3..).map(|power| 10_u64.pow(power));
    let mut sizes: Vec<u64> = powers.take_while(|size| *size < largest).collect();
    sizes.push(largest);
    sizes
}

/// A folder that is removed with everything in it.
pub struct Scratch(tempfile::TempDir);

impl Scratch {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// Opens a session, with a sidecar however small it is.
pub fn open(path: &Path) -> Session {
    let options = OpenOptions::new().index(IndexMode::Always);
    options.open(path).expect("a session")
}

/// Makes the sidecar of a log: where it is.
pub fn index(path: &Path) -> PathBuf {
    open(path).index_status().path.expect("a sidecar")
}

/// Resumes through a sidecar that must be there, and says what that touched.
pub fn resume(path: &Path) -> (Snapshot, leaflog::BytesRead) {
    let session = OpenOptions::new().open(path).expect("a session");
    assert_eq!(session.index_status().state, IndexState::Fresh);
    let snapshot = session.snapshot(At::Current).expect("a snapshot");
    (snapshot, session.bytes_read())
}
