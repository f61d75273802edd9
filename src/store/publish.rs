//! The one way a new file of the store comes to be: whole or not at all, and never over another.
//! For creating, forking and converting; appends to nothing.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::disk::{DiskRef, Through, folder_of, sync_folder};
use crate::error::{Code, Error, Result};
use crate::log::{remove_abandoned, stands_at};

/// How much is collected before it goes to the system.
const BUFFER: usize = 1 << 20;
/// How a draft's name starts and ends: never like a session's, so no listing shows it.
const BEFORE: &str = ".leaflog-";
const AFTER: &str = ".draft";
/// Where files cannot be locked, a draft of this age is taken for a leftover.
const OLD: Duration = Duration::from_secs(24 * 60 * 60);

/// What the content of a new file is written to.
pub(super) struct Out {
    writer: BufWriter<Through>,
    bytes: u64,
    target: PathBuf,
}

impl Out {
    /// Writes bytes.
    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.writer
            .write_all(bytes)
            .map_err(|e| Error::io("write it", &self.target, e))
    }

    /// How many there are so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Writes a file beside its place and gives it its name once it is whole and on the disk. `claim`
/// is asked right before that and may refuse; what it gives is held until the name is there.
///
/// A process that is killed on the way leaves nothing under the name, at most a draft that the next
/// one in the same folder sweeps away. An existing file is `already_exists`.
pub(super) fn publish<T, G, E: From<Error>>(
    disk: &DiskRef,
    target: &Path,
    write: impl FnOnce(&mut Out) -> Result<T, E>,
    claim: impl FnOnce() -> Result<G>,
) -> Result<T, E> {
    let (written, file) = publish_held(disk, target, write, claim)?;
    give_back(&file);
    Ok(written)
}

/// Gives the writer's lock of a new file back.
pub(super) fn give_back(file: &File) {
    // A process that is being started by another thread has the file open for a moment, and with it
    // the lock: closing it alone would not let the next one write.
    let _ = file.unlock();
}

/// As [`publish`], and the new file comes back with its writer's lock, open for appending: nobody
/// else has written it.
pub(super) fn publish_held<T, G, E: From<Error>>(
    disk: &DiskRef,
    target: &Path,
    write: impl FnOnce(&mut Out) -> Result<T, E>,
    claim: impl FnOnce() -> Result<G>,
) -> Result<(T, File), E> {
    let folder = folder_of(target);
    if target.symlink_metadata().is_ok() {
        return Err(exists(target).into());
    }
    sweep(disk, folder);
    let (draft, file) = Draft::new(disk, folder)?;
    let failed = |e: io::Error| Error::io("write it", target, e);
    let mut out = Out {
        writer: BufWriter::with_capacity(BUFFER, Through::new(disk, file)),
        bytes: 0,
        target: target.to_owned(),
    };
    let written = write(&mut out)?;
    let file = out
        .writer
        .into_inner()
        .map_err(|e| failed(e.into_error()))
        .map_err(E::from)?
        .into_file();
    disk.sync_all(&file).map_err(failed).map_err(E::from)?;
    let held = claim()?;
    give_name(disk, &draft.path, target)?;
    // The draft's own name goes before the folder is made safe, so that both are one step on disk.
    drop(draft);
    if let Err(error) = sync_folder(disk, folder) {
        take_back(disk, &file, target);
        return Err(error.into());
    }
    drop(held);
    Ok((written, file))
}

/// A file that has no name of its own yet; its provisional one goes when this does.
struct Draft<'d> {
    disk: &'d DiskRef,
    path: PathBuf,
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        // If it stays, it is swept by the next one.
        let _ = self.disk.remove(&self.path);
    }
}

impl<'d> Draft<'d> {
    /// An empty file for the user alone, locked as long as it is open: so a sweep leaves it.
    fn new(disk: &'d DiskRef, folder: &Path) -> Result<(Self, File)> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        loop {
            let name = format!(
                "{BEFORE}{}-{}-{}{AFTER}",
                std::process::id(),
                COUNT.fetch_add(1, Ordering::Relaxed),
                crate::format::hex_id(),
            );
            let path = folder.join(name);
            let file = match disk.create(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(Error::io("write a file in it", folder, error)),
            };
            // Where locks do not work, a sweep goes by age.
            let _ = file.lock();
            // A sweep may have come between the two.
            if path.symlink_metadata().is_ok() {
                return Ok((Self { disk, path }, file));
            }
        }
    }
}

/// Gives a whole file its name, unless there is a file of that name.
fn give_name(disk: &DiskRef, draft: &Path, target: &Path) -> Result<()> {
    let failed = |e| Error::io("put a file there", target, e);
    match disk.link(draft, target) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(exists(target)),
        // No second names on this file system: between the look and the rename another program
        // could still make the file. Who holds a claim on the folder is safe from its own kind.
        Err(_) if target.symlink_metadata().is_ok() => Err(exists(target)),
        Err(_) => disk.rename(draft, target).map_err(failed),
    }
}

/// Removes a new file whose name may not last: the caller is told that there is none.
fn take_back(disk: &DiskRef, file: &File, target: &Path) {
    if stands_at(file, target) {
        let _ = disk.remove(target);
    }
}

pub(super) fn exists(target: &Path) -> Error {
    Error::new(
        Code::AlreadyExists,
        "expected no file of this name, found one, and it is never written over; choose another name",
    )
    .at_path(target)
}

/// Removes drafts that nobody writes any more. What cannot be removed stays for the next one.
fn sweep(disk: &DiskRef, folder: &Path) {
    let Ok(items) = fs::read_dir(folder) else {
        return;
    };
    for item in items.flatten() {
        let name = item.file_name();
        let is_draft = name
            .to_str()
            .is_some_and(|name| name.starts_with(BEFORE) && name.ends_with(AFTER));
        if !is_draft {
            continue;
        }
        remove_abandoned(disk, &item.path(), OLD);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{AFTER, BEFORE, publish};
    use crate::disk::DiskRef;
    use crate::error::{Code, Error};

    fn names(folder: &std::path::Path) -> Vec<String> {
        let items = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = items
            .map(|item| item.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_appears_whole_and_never_over_another() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a");
        let write = |text: &'static [u8]| {
            publish::<_, _, Error>(&DiskRef::default(), &target, |out| out.put(text), || Ok(()))
        };
        write(b"one").unwrap();
        let error = write(b"two").unwrap_err();
        assert_eq!(error.code(), Code::AlreadyExists);
        assert_eq!(fs::read(&target).unwrap(), b"one");
        assert_eq!(names(folder.path()), ["a"]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&target).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn what_fails_on_the_way_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a");
        let failed = || Error::new(Code::Storage, "no");
        let write =
            publish::<(), (), Error>(&DiskRef::default(), &target, |_| Err(failed()), || Ok(()));
        assert!(write.is_err());
        let claim = publish::<_, (), Error>(
            &DiskRef::default(),
            &target,
            |out| out.put(b"x"),
            || Err(failed()),
        );
        assert!(claim.is_err());
        // A file that comes while the draft is written is not written over either.
        let late = publish::<_, _, Error>(
            &DiskRef::default(),
            &target,
            |out| out.put(b"x"),
            || {
                fs::write(&target, b"other").unwrap();
                Ok(())
            },
        );
        assert_eq!(late.unwrap_err().code(), Code::AlreadyExists);
        assert_eq!(fs::read(&target).unwrap(), b"other");
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn leftover_drafts_are_swept_and_those_in_the_making_stay() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(format!("{BEFORE}1-1-00000000{AFTER}"));
        fs::write(&left, b"half").unwrap();
        publish::<_, _, Error>(
            &DiskRef::default(),
            &folder.path().join("a"),
            |out| {
                assert!(!left.exists());
                publish::<_, _, Error>(
                    &DiskRef::default(),
                    &folder.path().join("b"),
                    |out| out.put(b"b"),
                    || Ok(()),
                )?;
                out.put(b"a")
            },
            || Ok(()),
        )
        .unwrap();
        assert_eq!(names(folder.path()), ["a", "b"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_or_a_link_that_is_called_like_a_draft_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join(format!("{BEFORE}1-1-00000000{AFTER}"));
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let link = folder.path().join(format!("{BEFORE}1-2-00000000{AFTER}"));
        std::os::unix::fs::symlink("kept", &link).unwrap();
        fs::write(folder.path().join("kept"), b"kept").unwrap();
        publish::<_, _, Error>(
            &DiskRef::default(),
            &folder.path().join("a"),
            |out| out.put(b"a"),
            || Ok(()),
        )
        .unwrap();
        assert_eq!(names(folder.path()).len(), 4);
    }
}
