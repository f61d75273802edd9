//! What the system tells of a process, and asks of it. None where it does not tell.

use std::fs::{self, File};
use std::path::Path;

use serde::{Deserialize, Serialize};

/// What a process has used so far.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Usage {
    /// Page faults that needed no disk.
    pub minor: u64,
    /// Page faults that did.
    pub major: u64,
    /// Bytes that were fetched from the disk.
    pub fetched: u64,
}

impl Usage {
    pub fn now() -> Option<Self> {
        let stat = fs::read_to_string("/proc/self/stat").ok()?;
        // The name in parentheses may hold anything.
        let (_, fields) = stat.rsplit_once(')')?;
        let field = |number: usize| fields.split_whitespace().nth(number)?.parse().ok();
        let io = fs::read_to_string("/proc/self/io").ok()?;
        let fetched = io
            .lines()
            .find_map(|line| line.strip_prefix("read_bytes: "))?;
        Some(Self {
            minor: field(7)?,
            major: field(9)?,
            fetched: fetched.parse().ok()?,
        })
    }

    /// What something used, without what telling costs.
    pub fn of<T>(run: impl FnOnce() -> T) -> (Option<Self>, T) {
        // The first look pays for what the others share.
        let _ = Self::now();
        let looks = (Self::now(), Self::now());
        let result = run();
        let used = match (looks, Self::now()) {
            ((Some(before), Some(start)), Some(end)) => {
                let looking = start.minus(before);
                Some(end.minus(start).minus(looking))
            }
            _ => None,
        };
        (used, result)
    }

    fn minus(self, other: Self) -> Self {
        Self {
            minor: self.minor.saturating_sub(other.minor),
            major: self.major.saturating_sub(other.major),
            fetched: self.fetched.saturating_sub(other.fetched),
        }
    }
}

/// Bytes of memory that this process shares with nobody.
pub fn private_memory() -> Option<u64> {
    let rollup = fs::read_to_string("/proc/self/smaps_rollup").ok()?;
    let lines = rollup.lines().filter(|line| line.starts_with("Private_"));
    Some(lines.filter_map(kibibytes).sum())
}

/// Bytes of memory that are free or would be made so.
pub fn free_memory() -> Option<u64> {
    let memory = fs::read_to_string("/proc/meminfo").ok()?;
    kibibytes(
        memory
            .lines()
            .find(|line| line.starts_with("MemAvailable:"))?,
    )
}

fn kibibytes(line: &str) -> Option<u64> {
    let number: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(number * 1024)
}

/// Runs something on one core only, with all threads that it starts.
pub fn on_one_core<T: Send>(run: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| keep_to_one_core().then(run));
        thread.join().expect("ended")
    })
}

#[cfg(target_os = "linux")]
fn keep_to_one_core() -> bool {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let Ok(all) = sched_getaffinity(None) else {
        return false;
    };
    let mut one = CpuSet::new();
    if let Some(core) = (0..CpuSet::MAX_CPU).find(|core| all.is_set(*core)) {
        one.set(core);
    }
    sched_setaffinity(None, &one).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn keep_to_one_core() -> bool {
    false
}

/// Drops what the page cache holds of a file, if nobody has it mapped and the system lets go of it.
#[cfg(target_os = "linux")]
pub fn drop_from_cache(path: &Path) {
    let file = File::open(path).expect("readable");
    file.sync_data().expect("synced");
    // A system that does not shows it: nothing is fetched from the disk afterwards.
    let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
}

#[cfg(not(target_os = "linux"))]
pub fn drop_from_cache(_: &Path) {}

/// Brings a file back into the page cache.
pub fn warm(path: &Path) {
    let mut file = File::open(path).expect("readable");
    std::io::copy(&mut file, &mut std::io::sink()).expect("read");
}
