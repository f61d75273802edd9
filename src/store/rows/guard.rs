//! One writer a session, in this process and across processes: a file a session beside the
//! database, locked as long as the writer is there. A process that ends, however it ends, gives its
//! locks back at once; the files that it leaves behind mean nothing.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::disk::{DiskRef, make_folder, private};
use crate::error::{Code, Error, Result};

/// The locks of a database: a folder beside it.
#[derive(Debug)]
pub(super) struct Locks {
    folder: PathBuf,
}

/// A lock, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Guard {
    file: File,
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Closing the file is not enough: a process that is being started by another thread has it
        // open for a moment, and with it the lock.
        let _ = self.file.unlock();
    }
}

impl Locks {
    pub(super) fn beside(database: &Path) -> Self {
        let mut folder = database.as_os_str().to_owned();
        folder.push("-locks");
        Self {
            folder: folder.into(),
        }
    }

    /// Takes the writer's lock of a session. Sessions go by their number, since file systems may
    /// take two ids for one name.
    pub(super) fn take(&self, number: i64, id: &str) -> Result<Guard> {
        let path = self.path(number);
        let mut file = self.file(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(locked(id, &mut file)),
            Err(TryLockError::Error(error)) => return Err(Error::io("lock it", &path, error)),
        }
        // For the message that others get; the lock holds without it.
        let _ = file
            .set_len(0)
            .and_then(|()| write!(file, "{}", std::process::id()));
        Ok(Guard { file })
    }

    /// Waits for the lock under which the database is made.
    pub(super) fn wait_to_make(&self) -> Result<Guard> {
        let path = self.folder.join("make");
        let file = self.file(&path)?;
        file.lock().map_err(|e| Error::io("lock it", &path, e))?;
        Ok(Guard { file })
    }

    /// Removes the file of a session that is gone. Numbers are never given twice, so whoever still
    /// waits for this one finds no session.
    pub(super) fn forget(&self, number: i64) {
        let _ = std::fs::remove_file(self.path(number));
    }

    fn path(&self, number: i64) -> PathBuf {
        self.folder.join(number.to_string())
    }

    fn file(&self, path: &Path) -> Result<File> {
        make_folder(&DiskRef::default(), &self.folder)?;
        private(OpenOptions::new().read(true).write(true).create(true))
            .truncate(false)
            .open(path)
            .map_err(|e| Error::io("open the lock file", path, e))
    }
}

fn locked(id: &str, file: &mut File) -> Error {
    let mut text = String::new();
    let process = file
        .rewind()
        .and_then(|()| file.read_to_string(&mut text))
        .ok()
        .and_then(|_| text.parse::<u32>().ok());
    let holder = match process {
        Some(process) if process == std::process::id() => "this process".to_owned(),
        Some(process) => format!("process {process}"),
        None => "another process".to_owned(),
    };
    Error::new(
        Code::Locked,
        format!(
            "the session `{id}` is open for writing in {holder}; close it there, or open it for reading"
        ),
    )
}
