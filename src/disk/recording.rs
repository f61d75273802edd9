//! A disk that remembers what was done to it, for tests of what a power cut may leave.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::{Disk, SharedDisk, System};

/// Something that was done. Files go by the number that the file system has for them.
#[derive(Clone, Debug)]
pub(crate) enum Done {
    Create { path: PathBuf, file: u64 },
    Write { file: u64, at: u64, bytes: Vec<u8> },
    Cut { file: u64, len: u64 },
    Sync { file: u64 },
    SyncFolder { folder: PathBuf },
    Link { from: PathBuf, to: PathBuf },
    Rename { from: PathBuf, to: PathBuf },
    Remove { path: PathBuf },
}

/// A disk and its record.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    done: Mutex<Vec<Done>>,
    /// Files that are held open, so that no number is given to two of them.
    held: Mutex<Vec<File>>,
}

impl Recording {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn shared(self: &Arc<Self>) -> SharedDisk {
        SharedDisk(self.clone())
    }

    /// All that was done so far, in order.
    pub(crate) fn done(&self) -> Vec<Done> {
        self.done.lock().clone()
    }

    /// How much was done so far.
    pub(crate) fn len(&self) -> usize {
        self.done.lock().len()
    }

    fn add(&self, done: Done) {
        self.done.lock().push(done);
    }
}

impl Disk for Recording {
    fn create(&self, path: &Path) -> io::Result<File> {
        let file = System.create(path)?;
        self.held.lock().push(file.try_clone()?);
        self.add(Done::Create {
            path: path.to_owned(),
            file: file.metadata()?.ino(),
        });
        Ok(file)
    }

    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<usize> {
        let before = file.metadata()?;
        let count = System.write(file, bytes)?;
        self.add(Done::Write {
            file: before.ino(),
            at: before.len(),
            bytes: bytes.get(..count).unwrap_or_default().to_vec(),
        });
        Ok(count)
    }

    fn cut(&self, file: &File, len: u64) -> io::Result<()> {
        System.cut(file, len)?;
        let file = file.metadata()?.ino();
        self.add(Done::Cut { file, len });
        Ok(())
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        // What a real flush would put on the disk is in the record.
        let file = file.metadata()?.ino();
        self.add(Done::Sync { file });
        Ok(())
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.add(Done::SyncFolder {
            folder: folder.to_owned(),
        });
        Ok(())
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        System.link(from, to)?;
        self.add(Done::Link {
            from: from.to_owned(),
            to: to.to_owned(),
        });
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        System.rename(from, to)?;
        self.add(Done::Rename {
            from: from.to_owned(),
            to: to.to_owned(),
        });
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        System.remove(path)?;
        self.add(Done::Remove {
            path: path.to_owned(),
        });
        Ok(())
    }
}
