//! Everything that leaflog changes on a file system goes through one trait, so that tests can put a
//! disk in between that fails or that remembers. Whoever writes, cuts, flushes, names or removes a
//! file asks here; reading, mapping and locking do not, and the program and SQLite write their own.

mod system;

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Result};

pub(crate) use system::System;
#[cfg(feature = "sqlite")]
pub(crate) use system::private;

/// What changes a file system. Each call is one call of the system, and does what that does.
pub(crate) trait Disk: Send + Sync + fmt::Debug {
    /// Makes a file for its owner alone, open for reading and for writing at its end; fails if there
    /// is one of the name.
    fn create(&self, path: &Path) -> io::Result<File>;
    /// Writes at the end of a file; may write less than all.
    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<usize>;
    /// Cuts a file to a length.
    fn cut(&self, file: &File, len: u64) -> io::Result<()>;
    /// What was written to a file is on the disk, with its length.
    fn sync_data(&self, file: &File) -> io::Result<()>;
    /// The same, and all that is known of a file that is new.
    fn sync_all(&self, file: &File) -> io::Result<()>;
    /// The names in a folder are on the disk.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
    /// Gives a file another name, in place of the file that may have it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Gives a file a second name, unless there is a file that has it.
    fn link(&self, file: &Path, name: &Path) -> io::Result<()>;
    /// Removes a name.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes a folder that only its owner may enter, in one that is there.
    fn make_folder(&self, path: &Path) -> io::Result<()>;
}

/// The disk that sessions are kept on: that of the system, unless a test says otherwise.
#[derive(Clone, Debug)]
pub(crate) struct DiskRef(Arc<dyn Disk>);

impl DiskRef {
    /// Another disk than that of the system.
    #[cfg(test)]
    pub(crate) fn new(disk: Arc<dyn Disk>) -> Self {
        Self(disk)
    }
}

impl Default for DiskRef {
    fn default() -> Self {
        Self(Arc::new(System))
    }
}

impl Deref for DiskRef {
    type Target = dyn Disk;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

/// A file as something to write to.
pub(crate) struct Through {
    disk: DiskRef,
    file: File,
}

impl Through {
    pub(crate) fn new(disk: &DiskRef, file: File) -> Self {
        Self {
            disk: disk.clone(),
            file,
        }
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn into_file(self) -> File {
        self.file
    }
}

impl Write for Through {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.disk.write(&self.file, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Makes a folder that only its owner may enter, and those above it, where they are missing. Their
/// names are on the disk when this returns.
pub(crate) fn make_folder(disk: &DiskRef, folder: &Path) -> Result<()> {
    let mut missing = Vec::new();
    let mut at = Some(folder);
    while let Some(folder) = at.filter(|at| !at.as_os_str().is_empty() && !at.is_dir()) {
        missing.push(folder);
        at = folder.parent();
    }
    for folder in missing.into_iter().rev() {
        match disk.make_folder(folder) {
            // Another process was faster.
            Err(_) if folder.is_dir() => {}
            made => made.map_err(|e| Error::io("make the folder", folder, e))?,
        }
        sync_folder(disk, folder_of(folder))?;
    }
    Ok(())
}

/// Puts the names in a folder on the disk.
pub(crate) fn sync_folder(disk: &DiskRef, folder: &Path) -> Result<()> {
    disk.sync_folder(folder)
        .map_err(|e| Error::io("put its names on the disk", folder, e))
}

/// The file beside another one that has its name and an ending behind it.
pub(crate) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// The folder that a file is to stand in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
