//! What appends are measured with.

use std::fs::{File, OpenOptions as FileOptions};
use std::hint::black_box;
use std::path::Path;

use leaflog::{Durability, NewEntry, OpenOptions, Session, SessionStorage};

use super::figures::Series;

/// The first line of a session of pi v4.
pub const HEADER: &str = "{\"kind\":\"header\",\"version\":4,\"id\":\"bench\",\"createdAt\":1784019600000,\"cwd\":\"/w\"}\n";

/// An entry that is a line of some 300 bytes.
pub fn message() -> NewEntry {
    let text = "the quick brown fox jumps over the lazy dog ".repeat(3);
    NewEntry::new(
        "message",
        format!("{{\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}"),
    )
}

/// A new session, open for writing.
pub fn writer(path: &Path, durability: Durability) -> Session {
    std::fs::write(path, HEADER).expect("written");
    OpenOptions::new()
        .write(true)
        .durability(durability)
        .open(path)
        .expect("a session")
}

/// A file to append to without any store.
pub fn raw(path: &Path) -> File {
    let mut options = FileOptions::new();
    options.create(true).append(true);
    options.open(path).expect("a file")
}

/// Appends an entry some times, for a round.
pub fn append_some(session: &Session, new: &NewEntry, count: u64, times: &mut Series) {
    // What the caller makes is not what the append costs.
    let mut made = vec![new.clone(); usize::try_from(count).expect("few")].into_iter();
    times.each(count, |_| {
        let new = made.next().expect("one more");
        black_box(session.append_entry(new, "main").expect("appends"));
    });
}
