//! What leaflog changes on a file system: each kind of change is one call here, and there is no
//! other way. Everything that writes goes through it, so that tests can put a disk in between that
//! fails at any call, or that remembers what a power cut may leave. Reads nothing.

#[cfg(test)]
pub(crate) mod faulty;
mod private;
#[cfg(test)]
pub(crate) mod recording;

use std::fmt;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

pub(crate) use private::{folder_of, private};

use crate::error::{Error, Result};

/// The changes.
pub(crate) trait Disk: Send + Sync + fmt::Debug {
    /// Makes a file that only its owner may read, open for reading and for appending. There must be
    /// none of that name; a link is one.
    fn create(&self, path: &Path) -> io::Result<File> {
        private(OpenOptions::new().read(true).append(true).create_new(true)).open(path)
    }

    /// Makes a folder that only its owner may enter, and those above it, where they are missing.
    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        if folder.as_os_str().is_empty() || folder.is_dir() {
            return Ok(());
        }
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)
    }

    /// Writes at the end of a file; may write less than all.
    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<usize> {
        file.write(bytes)
    }

    /// Cuts a file to a length.
    fn cut(&self, file: &File, len: u64) -> io::Result<()> {
        file.set_len(len)
    }

    /// What was written to a file is on the disk, its length included.
    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    /// The names in a folder are on the disk.
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        // Other systems have no such call; their file systems keep names in order.
        if cfg!(unix) {
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    }

    /// Gives a file a second name, unless there is a file of that name.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::hard_link(from, to)
    }

    /// Gives a file another name, whose file is gone then.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    /// Takes a name from a file.
    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }
}

/// The file system itself.
#[derive(Debug)]
pub(crate) struct System;

impl Disk for System {}

/// A disk that several share: the system's, unless a test says otherwise.
#[derive(Clone)]
pub(crate) struct SharedDisk(Arc<dyn Disk>);

impl Default for SharedDisk {
    fn default() -> Self {
        Self(Arc::new(System))
    }
}

impl Deref for SharedDisk {
    type Target = dyn Disk;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Debug for SharedDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Makes a folder as [`Disk::make_folder`] does.
pub(crate) fn make_folder(disk: &dyn Disk, folder: &Path) -> Result<()> {
    disk.make_folder(folder)
        .map_err(|e| Error::io("make the folder", folder, e))
}

/// Puts the names in a folder on the disk.
pub(crate) fn sync_folder(disk: &dyn Disk, folder: &Path) -> Result<()> {
    disk.sync_folder(folder)
        .map_err(|e| Error::io("put its names on the disk", folder, e))
}

/// Writes all of some bytes. After an error some of them may be written.
pub(crate) fn write_all(disk: &dyn Disk, file: &File, bytes: &[u8]) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        match disk.write(file, rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => rest = rest.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
