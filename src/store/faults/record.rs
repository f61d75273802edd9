//! A disk that remembers each change in its order, and what was acknowledged between. Every file that
//! is made keeps a second name, so that a test can put other bytes into the very same file later.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use crate::disk::{Disk, System};

/// What happened. Files are told by their number.
#[derive(Clone, Debug)]
pub(super) enum Event {
    Create(PathBuf, u64),
    Write(u64, u64, Vec<u8>, SystemTime),
    Cut(u64, u64, SystemTime),
    Sync(u64),
    SyncFolder(PathBuf),
    Rename(PathBuf, PathBuf),
    Link(PathBuf, PathBuf),
    Remove(PathBuf),
    MakeFolder(PathBuf),
    /// What came before is no part of what is looked at.
    Begin,
    /// A call returned: what the session in this file holds; none if it is gone.
    Said(PathBuf, Option<Vec<String>>),
}

/// The disk.
#[derive(Debug)]
pub(super) struct Recorder {
    /// Where the second names are.
    vault: PathBuf,
    events: Mutex<Vec<Event>>,
}

impl Recorder {
    pub(super) fn new(vault: PathBuf) -> Self {
        Self {
            vault,
            events: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Event>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call returned.
    pub(super) fn say(&self, path: &Path, items: Option<Vec<String>>) {
        self.lock().push(Event::Said(path.to_owned(), items));
    }

    /// What is looked at begins here.
    pub(super) fn begin(&self) {
        self.lock().push(Event::Begin);
    }

    /// Another program wrote to a file, and it reached the disk.
    pub(super) fn write_by_others(&self, path: &Path, bytes: &[u8]) {
        let file = File::options().append(true).open(path).unwrap();
        self.write(&file, bytes).unwrap();
        self.sync_data(&file).unwrap();
    }

    pub(super) fn events(&self) -> Vec<Event> {
        self.lock().clone()
    }
}

fn number(file: &File) -> io::Result<u64> {
    Ok(file.metadata()?.ino())
}

impl Disk for Recorder {
    fn create(&self, path: &Path) -> io::Result<File> {
        let file = System.create(path)?;
        let number = number(&file)?;
        std::fs::hard_link(path, self.vault.join(number.to_string()))?;
        self.lock().push(Event::Create(path.to_owned(), number));
        Ok(file)
    }

    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<usize> {
        let at = file.metadata()?.len();
        let count = System.write(file, bytes)?;
        let now = file.metadata()?.modified()?;
        let event = Event::Write(number(file)?, at, bytes[..count].to_vec(), now);
        self.lock().push(event);
        Ok(count)
    }

    fn cut(&self, file: &File, len: u64) -> io::Result<()> {
        System.cut(file, len)?;
        let now = file.metadata()?.modified()?;
        self.lock().push(Event::Cut(number(file)?, len, now));
        Ok(())
    }

    fn sync_data(&self, file: &File) -> io::Result<()> {
        self.lock().push(Event::Sync(number(file)?));
        Ok(())
    }

    fn sync_all(&self, file: &File) -> io::Result<()> {
        self.sync_data(file)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.lock().push(Event::SyncFolder(folder.to_owned()));
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        System.rename(from, to)?;
        self.lock()
            .push(Event::Rename(from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn link(&self, file: &Path, name: &Path) -> io::Result<()> {
        System.link(file, name)?;
        self.lock()
            .push(Event::Link(file.to_owned(), name.to_owned()));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        System.remove(path)?;
        self.lock().push(Event::Remove(path.to_owned()));
        Ok(())
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        System.make_folder(path)?;
        self.lock().push(Event::MakeFolder(path.to_owned()));
        Ok(())
    }
}
