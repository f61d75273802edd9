//! Appending to a log: whole lines, each by one write, under the writer's lock. A write that fails
//! is cut back; a file that is not what it was is noticed before anything is written to it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::Identity;
use super::file::refuse_irregular;
use super::lock::lock;
use super::looks::Looks;
use crate::disk::{DiskRef, Through, folder_of, sync_folder, with_ending};
use crate::error::{Code, Error, Result};

/// What the system has in memory after a failed flush may or may not reach the disk, and a second
/// flush would not say.
const FAILED_FLUSH: &str = "an earlier flush to the disk failed";

/// A log that is open for appending.
pub(crate) struct Appender {
    disk: DiskRef,
    file: File,
    path: PathBuf,
    identity: Identity,
    len: u64,
    /// Whether the log's name is known to be on the disk: whoever made the file may have died before
    /// it was.
    is_named: bool,
    /// Where an unfinished last line starts that is to be dealt with before the first write.
    tail: Option<Tail>,
    /// The file that a torn last line was kept in.
    torn: Option<PathBuf>,
    /// Why nothing more can be written.
    broken: Option<&'static str>,
    looks: Looks,
}

/// What is to be done about a last line without a newline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// It is whole: the newline is added.
    Whole,
    /// It is torn: what starts at this offset is kept beside the log and cut off.
    Torn(u64),
}

impl Appender {
    /// Opens a log for appending and takes the writer's lock.
    pub(crate) fn open(path: &Path, disk: &DiskRef) -> Result<Self> {
        loop {
            let file = OpenOptions::new()
                .read(true)
                .append(true)
                .open(path)
                .map_err(|e| Error::io("open it for writing", path, e))?;
            let metadata = file
                .metadata()
                .map_err(|e| Error::io("look at it", path, e))?;
            refuse_irregular(&metadata, path)?;
            lock(&file, path)?;
            // Who had the lock before may have put another file in its place.
            let identity = Identity::of(&metadata);
            match std::fs::metadata(path) {
                Ok(now) if identity.is_same_file(&Identity::of(&now)) => {
                    let len = now.len();
                    return Ok(Self::of(file, path, disk, identity, len));
                }
                Ok(_) => {}
                Err(error) => return Err(Error::io("look at it", path, error)),
            }
        }
    }

    /// Goes on with a new file that is open for appending and has the writer's lock, and whose name is
    /// on the disk.
    pub(crate) fn held(file: File, path: &Path, disk: &DiskRef) -> Result<Self> {
        // Where the file was made without a lock, it is taken now.
        lock(&file, path)?;
        let metadata = file
            .metadata()
            .map_err(|e| Error::io("look at it", path, e))?;
        let len = metadata.len();
        let mut held = Self::of(file, path, disk, Identity::of(&metadata), len);
        held.is_named = true;
        Ok(held)
    }

    fn of(file: File, path: &Path, disk: &DiskRef, identity: Identity, len: u64) -> Self {
        Self {
            disk: disk.clone(),
            file,
            path: path.to_owned(),
            identity,
            len,
            is_named: false,
            tail: None,
            torn: None,
            broken: None,
            looks: Looks::default(),
        }
    }

    /// Bytes of the log, all that were acknowledged.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The file that a torn last line was kept in when it was cut off.
    pub(crate) fn torn(&self) -> Option<&Path> {
        self.torn.as_deref().filter(|_| self.tail.is_none())
    }

    /// Says that the last line has no newline.
    pub(crate) fn set_tail(&mut self, tail: Tail) {
        self.tail = Some(tail);
    }

    /// Deals with an unfinished last line, if there still is one. True if the log was cut.
    pub(crate) fn mend_tail(&mut self) -> Result<bool> {
        let Some(tail) = self.tail else {
            return Ok(false);
        };
        self.check_usable()?;
        self.look()?;
        match tail {
            Tail::Whole => self.write(b"\n")?,
            Tail::Torn(start) => {
                if self.torn.is_none() {
                    self.torn = Some(self.keep_beside(start)?);
                }
                // If this fails, the next attempt finds the copy made.
                self.disk
                    .cut(&self.file, start)
                    .map_err(|e| Error::io("cut its torn last line off", &self.path, e))?;
                self.len = start;
            }
        }
        self.tail = None;
        Ok(matches!(tail, Tail::Torn(_)))
    }

    /// Appends a line, which ends with its newline, at a time in nanoseconds since 1970, and returns
    /// where it starts. With `durable` it is on the disk when this returns. After an error the log is as it was before, or, where even
    /// that failed, takes no more writes.
    pub(crate) fn append(&mut self, line: &[u8], durable: bool, now: u64) -> Result<u64> {
        self.check_usable()?;
        self.looks.look(now, || self.look())?;
        if durable {
            self.sync_name()?;
        }
        let start = self.len;
        self.write(line)?;
        if durable {
            self.sync_or_cut(start)?;
        }
        Ok(start)
    }

    /// A use ended at this time, so that the next one may be of the same run.
    pub(crate) fn ended(&self, now: u64) {
        self.looks.used(now);
    }

    /// All that was appended is on the disk when this returns.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.check_usable()?;
        self.look()?;
        self.sync_name()?;
        self.disk.sync_data(&self.file).map_err(|error| {
            self.broken = Some(FAILED_FLUSH);
            Error::io("flush it to the disk", &self.path, error)
        })
    }

    /// Gives the writer's lock back.
    pub(crate) fn unlock(&mut self) -> Result<()> {
        self.file
            .unlock()
            .map_err(|e| Error::io("unlock it", &self.path, e))
    }

    /// Puts the log's name on the disk, once: lines without a name would be lost with it.
    fn sync_name(&mut self) -> Result<()> {
        if !self.is_named {
            sync_folder(&self.disk, folder_of(&self.path))?;
            self.is_named = true;
        }
        Ok(())
    }

    fn sync_or_cut(&mut self, start: u64) -> Result<()> {
        let Err(error) = self.disk.sync_data(&self.file) else {
            return Ok(());
        };
        self.broken = Some(FAILED_FLUSH);
        // If it cannot be cut off it may count for others, though not for this session.
        let _ = self.disk.cut(&self.file, start);
        self.len = start;
        Err(Error::io("flush it to the disk", &self.path, error))
    }

    fn check_usable(&self) -> Result<()> {
        match self.broken {
            None => Ok(()),
            Some(why) => Err(Error::new(
                Code::Storage,
                format!("the session takes no more writes, because {why}; open it again"),
            )
            .at_path(&self.path)),
        }
    }

    /// Looks whether the path still leads to the file that was opened, as long as it was left.
    fn look(&self) -> Result<()> {
        let refuse = |code, what: &str| {
            Err(Error::new(
                code,
                format!(
                    "{what} since it was opened for writing; nothing was written, open it again"
                ),
            )
            .at_path(&self.path))
        };
        let metadata = match std::fs::metadata(&self.path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return refuse(Code::NotFound, "the log was removed");
            }
            Err(error) => return Err(Error::io("look at it", &self.path, error)),
        };
        if !self.identity.is_same_file(&Identity::of(&metadata)) {
            return refuse(Code::Storage, "the log was replaced by another file");
        }
        match metadata.len().cmp(&self.len) {
            std::cmp::Ordering::Equal => Ok(()),
            std::cmp::Ordering::Less => refuse(Code::InvalidEntry, "the log was truncated"),
            std::cmp::Ordering::Greater => {
                refuse(Code::Storage, "the log was written by another program")
            }
        }
    }

    /// Writes all of some bytes, or nothing.
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let mut done = 0;
        while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
            match self.disk.write(&self.file, rest) {
                Ok(count) if count > 0 => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                failed => {
                    let error = failed.err().unwrap_or(io::ErrorKind::WriteZero.into());
                    if done > 0 && self.disk.cut(&self.file, self.len).is_err() {
                        self.broken = Some("a half-written line could not be cut off again");
                    }
                    return Err(Error::io("append to it", &self.path, error));
                }
            }
        }
        self.len += u64::try_from(done).unwrap_or(0);
        Ok(())
    }

    /// Copies the bytes of a torn last line into a file beside the log, on the disk before it returns.
    fn keep_beside(&self, start: u64) -> Result<PathBuf> {
        let path = &self.path;
        let mut log = File::open(path).map_err(|e| Error::io("open it", path, e))?;
        log.seek(SeekFrom::Start(start))
            .map_err(|e| Error::io("read it", path, e))?;
        let mut torn = log.take(self.len.saturating_sub(start));
        // The same offset may have been torn before: no earlier copy is written over.
        for attempt in 0u32.. {
            let mut ending = format!(".torn-{start}");
            if attempt > 0 {
                ending.push_str(&format!("-{attempt}"));
            }
            let beside = with_ending(path, &ending);
            let failed = |e| Error::io("keep the log's torn last line in it", &beside, e);
            let disk = &self.disk;
            let file = match disk.create(&beside) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(failed(error)),
            };
            let mut copy = Through::new(disk, file);
            let kept = io::copy(&mut torn, &mut copy)
                .and_then(|_| disk.sync_all(copy.file()))
                .map_err(failed)
                .and_then(|()| sync_folder(disk, folder_of(path)));
            if let Err(error) = kept {
                // Half a copy is none, and the next attempt makes another one.
                let _ = disk.remove(&beside);
                return Err(error);
            }
            return Ok(beside);
        }
        Err(Error::new(
            Code::Storage,
            "expected a free name for the copy of its torn last line, found them all taken; move the copies away",
        )
        .at_path(path))
    }
}

impl Drop for Appender {
    fn drop(&mut self) {
        // Closing the file is not enough: a process that is being started by another thread has it
        // open for a moment, and with it the lock.
        let _ = self.file.unlock();
    }
}
