//! One log file, opened for reading: by mapping, or by reads where mapping fails or is not wanted.

use std::borrow::Cow;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::UNIX_EPOCH;

use super::Map;
use crate::error::{Code, Error, Result};

/// How a log's bytes are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reading {
    /// Map the file; read it where that fails.
    #[default]
    Map,
    /// Read the file piece by piece. Slower for single entries, but another program that truncates
    /// the log cannot end this process.
    Read,
}

/// Which file this is, and when it was last written, as far as the system tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    /// Nanoseconds since 1970; 0 where unknown.
    pub(crate) modified: u64,
    /// When anything about it changed last, which no program can set; the same way.
    pub(crate) changed: u64,
}

impl Identity {
    /// Whether both are of one file, whenever it was written.
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    pub(crate) fn of(metadata: &Metadata) -> Self {
        let modified = metadata
            .modified()
            .ok()
            .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
            .and_then(|since| u64::try_from(since.as_nanos()).ok())
            .unwrap_or(0);
        #[cfg(unix)]
        let (device, inode) = {
            use std::os::unix::fs::MetadataExt;
            (metadata.dev(), metadata.ino())
        };
        #[cfg(unix)]
        let changed = {
            use std::os::unix::fs::MetadataExt;
            nanos(metadata.ctime(), metadata.ctime_nsec())
                .and_then(|nanos| u64::try_from(nanos).ok())
                .unwrap_or(0)
        };
        #[cfg(not(unix))]
        let (device, inode, changed) = (0, 0, 0);
        Self {
            device,
            inode,
            modified,
            changed,
        }
    }
}

/// A time of a file in nanoseconds since 1970.
#[cfg(unix)]
pub(crate) fn nanos(seconds: i64, nanos: i64) -> Option<i64> {
    seconds.checked_mul(1_000_000_000)?.checked_add(nanos)
}

/// Whether a path itself, and not a link in its place, leads to an opened file.
pub(crate) fn stands_at(file: &File, path: &Path) -> bool {
    let (Ok(opened), Ok(now)) = (file.metadata(), path.symlink_metadata()) else {
        return false;
    };
    Identity::of(&opened).is_same_file(&Identity::of(&now))
}

/// Opens a file that is one: not a folder, a pipe or a device, which would block or never end.
pub(crate) fn open_regular(path: &Path) -> Result<(File, Metadata)> {
    let before = std::fs::metadata(path).map_err(|e| Error::io("open it", path, e))?;
    refuse_irregular(&before, path)?;
    let file = File::open(path).map_err(|e| Error::io("open it", path, e))?;
    let metadata = file
        .metadata()
        .map_err(|e| Error::io("look at it", path, e))?;
    refuse_irregular(&metadata, path)?;
    Ok((file, metadata))
}

/// Refuses what is no file.
pub(super) fn refuse_irregular(metadata: &Metadata, path: &Path) -> Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    let found = if metadata.is_dir() {
        "a folder, whose sessions `leaflog ls` lists"
    } else {
        "neither a file nor a folder"
    };
    Err(Error::new(
        Code::Storage,
        format!("a session is a regular file, this is {found}"),
    )
    .at_path(path))
}

/// Fills a buffer from a place in a file, without moving any cursor.
pub(crate) fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    #[cfg(unix)]
    {
        std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
    }
    #[cfg(windows)]
    {
        let mut done = 0;
        while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let at = offset + u64::try_from(done).unwrap_or(u64::MAX);
            match std::os::windows::fs::FileExt::seek_read(file, rest, at)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => done += count,
            }
        }
        Ok(())
    }
}

/// Where a log's bytes are.
#[derive(Debug)]
enum Bytes {
    /// Shared with the same log at later moments, so that they need no file of their own.
    File(Arc<File>),
    /// Lines that a store without a file puts together to have them read as a log.
    Memory(Vec<u8>),
}

/// A log, opened for reading. Its length is what it was when it was opened.
#[derive(Debug)]
pub(crate) struct LogFile {
    path: PathBuf,
    bytes: Bytes,
    len: u64,
    identity: Identity,
    map: Option<Map>,
    /// Bytes handed out by `read`.
    handed_out: AtomicU64,
}

impl LogFile {
    pub(crate) fn open(path: &Path, reading: Reading) -> Result<Self> {
        let (file, metadata) = open_regular(path)?;
        let len = metadata.len();
        Ok(Self::of(path, Arc::new(file), &metadata, len, reading))
    }

    fn of(path: &Path, file: Arc<File>, metadata: &Metadata, len: u64, reading: Reading) -> Self {
        let map = match (reading, usize::try_from(len)) {
            (Reading::Map, Ok(len)) if len > 0 => Map::of(&file, len).ok(),
            _ => None,
        };
        if let Some(map) = &map {
            map.expect_random_reads();
        }
        let identity = Identity::of(metadata);
        Self {
            path: path.to_owned(),
            bytes: Bytes::File(file),
            len,
            identity,
            map,
            handed_out: AtomicU64::new(0),
        }
    }

    /// The same log at a later moment, when it has at least so many bytes.
    pub(crate) fn grown(&self, len: u64, reading: Reading) -> Result<Self> {
        let Bytes::File(file) = &self.bytes else {
            return Err(self.truncated(self.len));
        };
        let metadata = file
            .metadata()
            .map_err(|e| Error::io("look at it", &self.path, e))?;
        if metadata.len() < len {
            return Err(self.truncated(metadata.len()));
        }
        Ok(Self::of(
            &self.path,
            Arc::clone(file),
            &metadata,
            len,
            reading,
        ))
    }

    /// A log that is no file. The path is what errors name.
    pub(crate) fn in_memory(path: &Path, bytes: Vec<u8>) -> Self {
        Self {
            path: path.to_owned(),
            len: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            bytes: Bytes::Memory(bytes),
            identity: Identity::default(),
            map: None,
            handed_out: AtomicU64::new(0),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }

    /// Fills a buffer from a place in the log, past any mapping.
    pub(crate) fn fill(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        match &self.bytes {
            Bytes::File(file) => {
                read_exact_at(file, buffer, offset).map_err(|e| self.failed_read(file, e))
            }
            Bytes::Memory(bytes) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                let from = bytes.get(start..).and_then(|rest| rest.get(..buffer.len()));
                match from {
                    Some(from) => buffer.copy_from_slice(from),
                    None => return Err(self.truncated(self.len)),
                }
                Ok(())
            }
        }
    }

    /// Fails if the file has become shorter than what was opened.
    pub(crate) fn check_not_truncated(&self) -> Result<()> {
        let Bytes::File(file) = &self.bytes else {
            return Ok(());
        };
        let now = file
            .metadata()
            .map_err(|e| Error::io("look at it", &self.path, e))?
            .len();
        if now >= self.len {
            return Ok(());
        }
        Err(self.truncated(now))
    }

    /// Whether the path still leads to this file.
    pub(crate) fn is_in_place(&self) -> bool {
        let now = std::fs::metadata(&self.path);
        now.is_ok_and(|now| self.identity.is_same_file(&Identity::of(&now)))
    }

    fn truncated(&self, now: u64) -> Error {
        let then = self.len;
        Error::new(
            Code::InvalidEntry,
            format!("log truncated: it had {then} bytes when it was opened and has {now} now; open it again"),
        )
        .at_path(&self.path)
    }

    /// The bytes of a range, or nothing if it lies outside of what was opened.
    pub(crate) fn read(&self, start: u64, len: usize) -> Result<Option<Cow<'_, [u8]>>> {
        let end = u64::try_from(len)
            .ok()
            .and_then(|len| start.checked_add(len));
        if end.is_none_or(|end| end > self.len) {
            return Ok(None);
        }
        let count = u64::try_from(len).unwrap_or(u64::MAX);
        self.handed_out.fetch_add(count, Ordering::Relaxed);
        if let Some(map) = &self.map {
            let Ok(start) = usize::try_from(start) else {
                return Ok(None);
            };
            return Ok(map.as_slice().get(start..start + len).map(Cow::Borrowed));
        }
        if let Bytes::Memory(bytes) = &self.bytes {
            let rest = usize::try_from(start)
                .ok()
                .and_then(|start| bytes.get(start..));
            return Ok(rest.and_then(|rest| rest.get(..len)).map(Cow::Borrowed));
        }
        let mut bytes = Vec::new();
        self.make_room(&mut bytes, len)?;
        self.fill(&mut bytes, start)?;
        Ok(Some(Cow::Owned(bytes)))
    }

    /// The error for bytes that memory has no room for.
    pub(crate) fn no_room(&self, len: u64) -> Error {
        let most = if cfg!(target_pointer_width = "32") {
            "; a 32-bit program takes lines of less than 2 GiB"
        } else {
            ""
        };
        Error::new(
            Code::Storage,
            format!(
                "a line or an entry needs {len} bytes of memory at once, and there are not so many; read it on a machine with more memory{most}"
            ),
        )
        .at_path(&self.path)
    }

    /// Makes a buffer so long. Lines may be longer than memory has room for: that is an error, where
    /// growing the buffer by itself would end the process.
    pub(super) fn make_room(&self, buffer: &mut Vec<u8>, len: usize) -> Result<()> {
        let more = len.saturating_sub(buffer.len());
        if buffer.try_reserve_exact(more).is_err() {
            return Err(self.no_room(u64::try_from(len).unwrap_or(u64::MAX)));
        }
        buffer.resize(len, 0);
        Ok(())
    }

    /// Bytes that were handed out so far.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.handed_out.load(Ordering::Relaxed)
    }

    /// The error for a read that failed: one that met the end of the file means it was truncated.
    fn failed_read(&self, file: &File, error: io::Error) -> Error {
        match (error.kind(), file.metadata()) {
            (io::ErrorKind::UnexpectedEof, Ok(metadata)) => self.truncated(metadata.len()),
            _ => Error::io("read it", &self.path, error),
        }
    }

    /// Where the last line starts: behind the last newline, which is the end of the file if that
    /// is one.
    pub(crate) fn last_line_start(&self) -> Result<u64> {
        let mut end = self.len;
        while end > 0 {
            let step = end.min(1 << 16);
            let start = end - step;
            let bytes = self.read(start, usize::try_from(step).unwrap_or(0))?;
            if let Some(last) = bytes.and_then(|bytes| memchr::memrchr(b'\n', &bytes)) {
                return Ok(start + u64::try_from(last).unwrap_or(0) + 1);
            }
            end = start;
        }
        Ok(0)
    }

    /// Where the line after the one with a byte starts; none if there is none.
    pub(crate) fn next_line_start(&self, offset: u64) -> Result<Option<u64>> {
        let mut at = offset;
        while at < self.len {
            let step = (self.len - at).min(1 << 12);
            let bytes = self.read(at, usize::try_from(step).unwrap_or(0))?;
            if let Some(first) = bytes.and_then(|bytes| memchr::memchr(b'\n', &bytes)) {
                return Ok(Some(at + u64::try_from(first).unwrap_or(0) + 1));
            }
            at += step;
        }
        Ok(None)
    }

    /// The number of the line that holds a byte, counted from 1, and where that line starts. Reads
    /// the log up to there: for errors only.
    pub(crate) fn line_at(&self, offset: u64) -> Result<(u64, u64)> {
        let mut line = 1;
        let mut start = 0;
        let mut at = 0;
        while at < offset {
            let step = usize::try_from((offset - at).min(1 << 20)).unwrap_or(1 << 20);
            let Some(bytes) = self.read(at, step)? else {
                break;
            };
            line += u64::try_from(memchr::memchr_iter(b'\n', &bytes).count()).unwrap_or(0);
            if let Some(last) = memchr::memrchr(b'\n', &bytes) {
                start = at + u64::try_from(last).unwrap_or(0) + 1;
            }
            at += u64::try_from(step).unwrap_or(0);
        }
        Ok((line, start))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::LogFile;
    use crate::error::Code;

    #[test]
    fn room_that_no_machine_has_is_an_error_and_leaves_the_buffer() {
        let log = LogFile::in_memory(Path::new("long.jsonl"), Vec::new());
        let mut buffer = vec![7];
        let error = log.make_room(&mut buffer, usize::MAX).unwrap_err();
        assert_eq!(error.code(), Code::Storage);
        assert_eq!(error.path(), Some(Path::new("long.jsonl")));
        assert!(error.message().contains("bytes of memory"), "{error}");
        assert_eq!(buffer, [7]);
        log.make_room(&mut buffer, 3).unwrap();
        assert_eq!(buffer, [7, 0, 0]);
    }
}
