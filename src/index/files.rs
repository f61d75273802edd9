//! Derived files on the disk: where they may stand, how one is replaced or added to without anybody
//! who has it mapped noticing. Knows nothing of what is in them.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use xxhash_rust::xxh3::xxh3_128;

use crate::disk::{DiskRef, Through, folder_of, make_folder};
use crate::log::{remove_abandoned, stands_at};

/// Replaces a sidecar: a new file in the same folder, then a rename. Who has the old one mapped
/// keeps it. Not flushed to the disk: a torn one is noticed and rebuilt.
pub(super) fn write_whole(disk: &DiskRef, path: &Path, frames: &[u8]) -> io::Result<()> {
    Replacement::new(disk, path)?.finish(frames)
}

/// A derived file that is to take the place of another one, or of none: empty and under a
/// provisional name beside that place, until it is finished. Dropped unfinished, it is gone.
pub(crate) struct Replacement {
    disk: DiskRef,
    out: Through,
    temporary: PathBuf,
    path: PathBuf,
    is_finished: bool,
}

impl Replacement {
    /// Makes it, in a folder that is made if it is missing.
    pub(crate) fn new(disk: &DiskRef, path: &Path) -> io::Result<Self> {
        let folder = folder_of(path);
        make_folder(disk, folder).map_err(|_| io::ErrorKind::NotFound)?;
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let (file, temporary) = temporary_file(disk, folder, name)?;
        Ok(Self {
            disk: disk.clone(),
            out: Through::new(disk, file),
            temporary,
            path: path.to_owned(),
            is_finished: false,
        })
    }

    /// What the system says of it: where it is, and what time it was when it was made.
    pub(crate) fn metadata(&self) -> io::Result<Metadata> {
        self.out.file().metadata()
    }

    /// Writes it and gives it its name, in place of the file that may have it.
    pub(crate) fn finish(mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.disk.rename(&self.temporary, &self.path)?;
        self.is_finished = true;
        Ok(())
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if !self.is_finished {
            // Nothing more can be done about a file that cannot be removed either.
            let _ = self.disk.remove(&self.temporary);
        }
        // Closing it is not enough: a process that is being started by another thread may have it open.
        let _ = self.out.file().unlock();
    }
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

/// A name for a derived file that stands apart from what it was derived from: readable, and the
/// hash of the path.
pub(crate) fn hashed_name(of: &Path, ending: &str) -> String {
    let whole = std::path::absolute(of).unwrap_or_else(|_| of.to_owned());
    let whole = std::fs::canonicalize(&whole).unwrap_or(whole);
    let hash = xxh3_128(whole.as_os_str().as_encoded_bytes());
    let name: String = of
        .file_stem()
        .map(|stem| {
            stem.to_string_lossy()
                .chars()
                .filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c))
                .take(64)
                .collect()
        })
        .unwrap_or_default();
    format!("{name}-{hash:032x}{ending}")
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
