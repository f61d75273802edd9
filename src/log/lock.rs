//! Locks that the system gives back when a process ends, however it ends: the writer's, one a log, on
//! the log itself; and those on provisional files, which tell whether their writer still lives.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::Duration;

use super::stands_at;
use crate::disk::DiskRef;
use crate::error::{Code, Error, Result};

/// Takes the writer's lock of an opened file, or says who has it.
pub(crate) fn lock(file: &File, path: &Path) -> Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            let holder = holder(file).map_or_else(
                || "another writer".to_owned(),
                |process| {
                    if process == std::process::id() {
                        "this process".to_owned()
                    } else {
                        format!("process {process}")
                    }
                },
            );
            Err(Error::new(
                Code::Locked,
                format!(
                    "{holder} has the session open for writing; close it there, or open it for reading here"
                ),
            )
            .at_path(path))
        }
        Err(TryLockError::Error(error)) => Err(Error::io("lock it", path, error)),
    }
}

/// Removes a provisional file that nobody writes any more: whoever writes one has it locked, and where
/// locks do not work it is older than `old`.
pub(crate) fn remove_abandoned(disk: &DiskRef, path: &Path, old: Duration) {
    // What is no file was put there by somebody else, and opening it might wait for ever.
    if !path.symlink_metadata().is_ok_and(|found| found.is_file()) {
        return;
    }
    let Ok(file) = File::options().write(true).open(path) else {
        return;
    };
    let is_abandoned = match file.try_lock() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock) => false,
        Err(TryLockError::Error(_)) => file
            .metadata()
            .and_then(|metadata| metadata.modified())
            .is_ok_and(|time| time.elapsed().is_ok_and(|age| age > old)),
    };
    // The lock that this took goes with the file.
    if is_abandoned && stands_at(&file, path) {
        let _ = disk.remove(path);
    }
}

/// The process that has a lock on a file, where the system tells.
#[cfg(target_os = "linux")]
fn holder(file: &File) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    let metadata = file.metadata().ok()?;
    let device = metadata.dev();
    let major = ((device >> 8) & 0xFFF) | ((device >> 32) & !0xFFF);
    let minor = (device & 0xFF) | ((device >> 12) & !0xFF);
    let wanted = format!("{major:02x}:{minor:02x}:{}", metadata.ino());
    // Lines are `1: FLOCK  ADVISORY  WRITE 1234 fd:01:5678 0 EOF`.
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let (kind, _, access) = (words.next()?, words.next()?, words.next()?);
        let (process, place) = (words.next()?, words.next()?);
        let is_it = kind == "FLOCK" && access == "WRITE" && place == wanted;
        process.parse().ok().filter(|&process| is_it && process > 0)
    })
}

/// The process that has a lock on a file, which this system does not tell.
#[cfg(not(target_os = "linux"))]
fn holder(_file: &File) -> Option<u32> {
    None
}
