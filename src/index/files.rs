//! Sidecar files on the disk: where they may stand, how one is replaced or added to without anybody
//! who has it mapped noticing. Knows nothing of what is in them.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use xxhash_rust::xxh3::xxh3_128;

use crate::disk::{DiskRef, Through, folder_of, make_folder};
use crate::log::Identity;

/// Replaces a sidecar: a new file in the same folder, then a rename. Who has the old one mapped
/// keeps it. Not flushed to the disk: a torn one is noticed and rebuilt.
pub(super) fn write_whole(disk: &DiskRef, path: &Path, frames: &[u8]) -> io::Result<()> {
    let folder = folder_of(path);
    make_folder(disk, folder).map_err(|_| io::ErrorKind::NotFound)?;
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let (file, temporary) = temporary_file(disk, folder, name)?;
    let result = Through::new(disk, file)
        .write_all(frames)
        .and_then(|()| disk.rename(&temporary, path));
    if result.is_err() {
        // Nothing more can be done about a file that cannot be removed either.
        let _ = disk.remove(&temporary);
    }
    result
}

/// A new file beside a sidecar, under a name that the next writer finds again: so a process that
/// died before its rename leaves one file behind at the most, and not for long.
fn temporary_file(
    disk: &DiskRef,
    folder: &Path,
    name: &std::ffi::OsStr,
) -> io::Result<(File, PathBuf)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    /// Nobody writes a sidecar for longer than this.
    const ABANDONED: std::time::Duration = std::time::Duration::from_secs(600);
    let named = |end: &str| {
        let mut file = std::ffi::OsString::from(".");
        file.push(name);
        file.push(end);
        folder.join(file)
    };
    let usual = named(".tmp");
    match disk.create(&usual) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        file => return file.map(|file| (file, usual)),
    }
    let age = std::fs::symlink_metadata(&usual).and_then(|metadata| metadata.modified());
    if age.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > ABANDONED)) {
        // If another process is faster, its file is met below.
        let _ = disk.remove(&usual);
        if let Ok(file) = disk.create(&usual) {
            return Ok((file, usual));
        }
    }
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let other = named(&format!(".{}-{number}.tmp", std::process::id()));
    disk.create(&other).map(|file| (file, other))
}

/// Adds frames at the end of a sidecar that still is as it was loaded. Nobody's mapping changes:
/// the bytes lie behind what others know.
pub(super) fn append(
    disk: &DiskRef,
    path: &Path,
    expected_len: u64,
    frames: &[u8],
) -> io::Result<()> {
    let changed = || io::Error::other("the sidecar changed meanwhile");
    // Opening a pipe would wait for somebody to read it.
    if !std::fs::metadata(path)?.is_file() {
        return Err(changed());
    }
    let file = OpenOptions::new().append(true).open(path)?;
    file.try_lock().map_err(|_| changed())?;
    let opened = file.metadata()?;
    if opened.len() != expected_len
        || Identity::of(&opened).inode != Identity::of(&std::fs::metadata(path)?).inode
    {
        return Err(changed());
    }
    // One write, so that a process that dies leaves at most a torn frame, which fails its checksum.
    Through::new(disk, file).write_all(frames)
}

/// A name for a sidecar that stands apart from its log: readable, and the path's hash.
pub(super) fn hashed_name(log: &Path) -> String {
    let whole = std::path::absolute(log).unwrap_or_else(|_| log.to_owned());
    let whole = std::fs::canonicalize(&whole).unwrap_or(whole);
    let hash = xxh3_128(whole.as_os_str().as_encoded_bytes());
    let name: String = log
        .file_stem()
        .map(|stem| {
            stem.to_string_lossy()
                .chars()
                .filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c))
                .take(64)
                .collect()
        })
        .unwrap_or_default();
    format!("{name}-{hash:032x}.idx")
}

pub(super) fn cache_folder() -> Option<PathBuf> {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let base = if cfg!(windows) {
        absolute("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        absolute("HOME").map(|home| home.join("Library/Caches"))
    } else {
        absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))
    };
    base.map(|base| base.join("leaflog"))
}
