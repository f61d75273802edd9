//! Sidecar files on the disk: where they may stand, how one is replaced or added to without anybody
//! who has it mapped noticing. Knows nothing of what is in them.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use xxhash_rust::xxh3::xxh3_128;

use crate::disk::{DiskRef, Through, folder_of, make_folder};
use crate::log::{remove_abandoned, stands_at};

/// Replaces a sidecar: a new file in the same folder, then a rename. Who has the old one mapped
/// keeps it. Not flushed to the disk: a torn one is noticed and rebuilt.
pub(super) fn write_whole(disk: &DiskRef, path: &Path, frames: &[u8]) -> io::Result<()> {
    let folder = folder_of(path);
    make_folder(disk, folder).map_err(|_| io::ErrorKind::NotFound)?;
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let (file, temporary) = temporary_file(disk, folder, name)?;
    let mut file = Through::new(disk, file);
    let result = file
        .write_all(frames)
        .and_then(|()| disk.rename(&temporary, path));
    if result.is_err() {
        // Nothing more can be done about a file that cannot be removed either.
        let _ = disk.remove(&temporary);
    }
    // Closing it is not enough: a process that is being started by another thread may have it open.
    let _ = file.file().unlock();
    result
}

/// So many may write the same sidecar at once.
const MOST: usize = 8;
/// Nobody writes a sidecar for longer than this.
const LONG: Duration = Duration::from_secs(600);

/// A new file beside a sidecar, locked while it is open, under one of a few names: so what a process
/// leaves that died before its rename is found by the next one, and removed.
fn temporary_file(
    disk: &DiskRef,
    folder: &Path,
    name: &std::ffi::OsStr,
) -> io::Result<(File, PathBuf)> {
    let names: [PathBuf; MOST] = std::array::from_fn(|number| {
        let mut file = std::ffi::OsString::from(".");
        file.push(name);
        match number {
            0 => file.push(".tmp"),
            _ => file.push(format!(".{number}.tmp")),
        }
        folder.join(file)
    });
    for name in &names {
        remove_abandoned(disk, name, LONG);
    }
    for name in names {
        match disk.create(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(file) => {
                // Where locks do not work, age tells.
                let _ = file.try_lock();
                // Somebody may have come between the two.
                if stands_at(&file, &name) {
                    return Ok((file, name));
                }
            }
        }
    }
    Err(io::Error::other("others are writing this sidecar"))
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
    // Opening a pipe would wait for somebody to read it, and a link is not followed.
    if !std::fs::symlink_metadata(path)?.is_file() {
        return Err(changed());
    }
    let file = OpenOptions::new().append(true).open(path)?;
    file.try_lock().map_err(|_| changed())?;
    if file.metadata()?.len() != expected_len || !stands_at(&file, path) {
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

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::path::Path;

    use super::{MOST, write_whole};
    use crate::disk::DiskRef;

    fn names(folder: &Path) -> Vec<String> {
        let items = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = items
            .map(|item| item.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn what_dead_writers_left_goes_and_what_others_write_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.idx");
        let disk = DiskRef::default();
        for left in [".s.idx.tmp", ".s.idx.1.tmp", ".s.idx.5.tmp"] {
            fs::write(folder.path().join(left), b"half").unwrap();
        }
        write_whole(&disk, &path, b"one").unwrap();
        assert_eq!(names(folder.path()), ["s.idx"]);

        let held = File::create(folder.path().join(".s.idx.tmp")).unwrap();
        held.lock().unwrap();
        write_whole(&disk, &path, b"two").unwrap();
        assert_eq!(names(folder.path()), [".s.idx.tmp", "s.idx"]);
        assert_eq!(fs::read(&path).unwrap(), b"two");
    }

    #[test]
    fn where_too_many_write_a_sidecar_one_more_leaves_it_to_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.idx");
        let held: Vec<File> = (0..MOST)
            .map(|number| match number {
                0 => ".s.idx.tmp".to_owned(),
                _ => format!(".s.idx.{number}.tmp"),
            })
            .map(|name| File::create(folder.path().join(name)).unwrap())
            .collect();
        for file in &held {
            file.lock().unwrap();
        }
        assert!(write_whole(&DiskRef::default(), &path, b"one").is_err());
        assert!(!path.exists());
        drop(held);
        write_whole(&DiskRef::default(), &path, b"one").unwrap();
        assert_eq!(names(folder.path()), ["s.idx"]);
    }
}
