//! The sidecar as a file: where it is, whether it is fresh, and how it is written. Loading never
//! trusts it; writing never touches what another process may have mapped.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use rkyv::util::AlignedVec;
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use super::build::anchors;
use super::frame::{FrameHeader, PART, SALVAGED, TAIL, format_of};
use super::merge::{MOST_SEGMENTS, merge};
use super::segment::{Backing, Damaged, Segment, len64};
use super::view::Index;
use crate::error::Result;
use crate::log::{Identity, LogFile, Map, Reading, open_regular, read_exact_at};

/// A log this small is hashed whole whenever its time of change differs or proves nothing: that
/// takes a fraction of a millisecond.
pub(crate) const SMALL: u64 = 4 << 20;
/// A log changed this shortly before it was indexed may change again without its time showing it.
const RACY_NANOS: u64 = 50_000_000;

/// Where the sidecars of a log are looked for, best place first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sidecar {
    places: Vec<PathBuf>,
}

/// A sidecar that matches the log.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) index: Index,
    pub(crate) path: PathBuf,
    /// Bytes of good frames; the file may go on with others.
    pub(crate) good: u64,
    pub(crate) file_len: u64,
    /// The log was found unchanged by its hash; saying so in the sidecar saves the next reader that.
    pub(crate) vouched: bool,
}

/// Why there is no usable sidecar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    Missing,
    Unusable(String),
}

impl Sidecar {
    /// Beside the log, else in the user's cache folder; or in one given folder only.
    pub(crate) fn of(log: &Path, folder: Option<&Path>) -> Self {
        // What a redirected standard input is called is no place to put a file beside; a file
        // system mounted in `/dev/shm` is.
        let is_device = log.parent() == Some(Path::new("/dev"))
            || log.starts_with("/dev/fd")
            || log.starts_with("/proc");
        if folder.is_none() && is_device {
            return Self { places: Vec::new() };
        }
        if let Some(folder) = folder {
            return Self {
                places: vec![folder.join(hashed_name(log))],
            };
        }
        let mut beside = log.as_os_str().to_owned();
        beside.push(".idx");
        let mut places = vec![PathBuf::from(beside)];
        if let Some(cache) = cache_folder() {
            places.push(cache.join(hashed_name(log)));
        }
        Self { places }
    }

    /// Whether there is a sidecar, good or bad.
    pub(crate) fn exists(&self) -> bool {
        self.places.iter().any(|place| place.is_file())
    }

    /// The first sidecar that matches the log.
    pub(crate) fn load(
        &self,
        log: &LogFile,
        reading: Reading,
    ) -> Result<std::result::Result<Loaded, Why>> {
        let mut why = Why::Missing;
        for place in &self.places {
            match load(place, log, reading)? {
                Ok(loaded) => return Ok(Ok(loaded)),
                Err(Why::Missing) => {}
                Err(other) => {
                    if why == Why::Missing {
                        why = other;
                    }
                }
            }
        }
        Ok(Err(why))
    }

    /// Writes an index to the first place where that works; none if it works nowhere.
    pub(crate) fn write(&self, index: &Index, log: &LogFile) -> Option<PathBuf> {
        let frames = frames_of(index, log)?;
        self.places
            .iter()
            .find(|place| write_whole(place, &frames).is_ok())
            .cloned()
    }

    /// Adds to a loaded sidecar what an index has beyond it. False if that was not possible, which
    /// costs the next reader some time.
    pub(crate) fn add(&self, loaded: &Loaded, index: &Index, log: &LogFile) -> bool {
        let known = loaded.index.segments.len();
        let new = index.segments.get(known..).unwrap_or_default();
        if index.segments.len() > MOST_SEGMENTS || loaded.good != loaded.file_len || new.is_empty()
        {
            let Some(frames) = merge(index).ok().and_then(|merged| frames_of(&merged, log)) else {
                return false;
            };
            return write_whole(&loaded.path, &frames).is_ok();
        }
        let frames: Vec<u8> = new
            .iter()
            .flat_map(|segment| segment.frame_bytes().iter().copied())
            .collect();
        append(&loaded.path, loaded.file_len, &frames).is_ok()
    }
}

/// The frames of an index one after the other, chained, with the log's identity in the last.
fn frames_of(index: &Index, log: &LogFile) -> Option<Vec<u8>> {
    let mut bytes: Vec<u8> = Vec::new();
    let mut before = 0;
    for segment in &index.segments {
        let mut header = segment.header;
        header.before = before;
        header.set_identity(vouched_identity(log), log.len());
        let start = bytes.len();
        bytes.extend_from_slice(segment.frame_bytes());
        let head = header.to_bytes();
        bytes
            .get_mut(start..start + head.len())?
            .copy_from_slice(&head);
        before = FrameHeader::from_bytes(&head)?.1;
    }
    Some(bytes)
}

/// The log's identity as a sidecar may vouch for it: without a time of change where the log was
/// changed so shortly ago that a further change could bear the same time.
pub(super) fn vouched_identity(log: &LogFile) -> Identity {
    let mut identity = log.identity();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok();
    let now = now
        .and_then(|now| u64::try_from(now.as_nanos()).ok())
        .unwrap_or(0);
    if log.len() <= SMALL && now.saturating_sub(identity.modified) < RACY_NANOS {
        identity.modified = 0;
    }
    identity
}

fn load(path: &Path, log: &LogFile, reading: Reading) -> Result<std::result::Result<Loaded, Why>> {
    let Ok((file, metadata)) = open_regular(path) else {
        return Ok(Err(if path.exists() {
            unusable("it cannot be read")
        } else {
            Why::Missing
        }));
    };
    let file_len = metadata.len();
    let Some(backing) = usize::try_from(file_len)
        .ok()
        .and_then(|len| read_backing(&file, len, reading))
    else {
        return Ok(Err(unusable("it is empty or cannot be read")));
    };
    let mut segments = chain(&backing);
    while segments
        .last()
        .is_some_and(|segment| segment.header.has(PART))
    {
        segments.pop();
    }
    let good = segments.last().map_or(0, |last| len64(last.end()));
    let Some(last) = segments.last() else {
        return Ok(Err(unusable(
            "it is damaged, or of another version of leaflog",
        )));
    };
    let header = last.header;
    let (Some(format), Ok(summary)) = (format_of(header.format), last.summary()) else {
        return Ok(Err(unusable("it is damaged")));
    };
    if header.log_end > log.len() {
        return Ok(Err(unusable("the log is shorter than when it was indexed")));
    }
    if anchors(log, header.log_end)? != (header.head_hash, header.tail_hash) {
        return Ok(Err(unusable("the log is another one than was indexed")));
    }
    let index = Index::new(format, segments, summary);
    let suspicious = is_suspicious(log, &header);
    if suspicious {
        match same_bytes(&index, log)? {
            Ok(true) => {}
            Ok(false) => {
                return Ok(Err(unusable(
                    "the log was changed in place since it was indexed",
                )));
            }
            Err(Damaged) => return Ok(Err(unusable("it is damaged"))),
        }
    }
    Ok(Ok(Loaded {
        index,
        path: path.to_owned(),
        good,
        file_len,
        vouched: suspicious,
    }))
}

/// Whether the anchors are not enough to believe that a log still has the bytes that were indexed:
/// it is another file, or it was written since without having grown, or its time of change proves
/// nothing. A small log is looked at closely in any case of doubt; of a large one that was only
/// appended to, as far as can be seen, the anchors are believed.
pub(crate) fn is_suspicious(log: &LogFile, header: &FrameHeader) -> bool {
    let (now, then) = (log.identity(), header.identity());
    let same_file = (now.device, now.inode) == (then.device, then.inode);
    let written = now.modified != then.modified;
    let grew = log.len() > header.log_len;
    !same_file || (written && (!grew || then.modified == 0 || log.len() <= SMALL))
}

fn unusable(reason: &str) -> Why {
    Why::Unusable(reason.to_owned())
}

fn read_backing(file: &File, len: usize, reading: Reading) -> Option<Backing> {
    if len == 0 {
        return None;
    }
    if reading == Reading::Map
        && let Ok(map) = Map::of(file, len)
    {
        map.expect_random_reads();
        return Some(Backing::Mapped(Arc::new(map)));
    }
    let mut bytes = AlignedVec::with_capacity(len);
    bytes.resize(len, 0);
    read_exact_at(file, &mut bytes, 0).ok()?;
    Some(Backing::Owned(Arc::new(bytes)))
}

/// The good frames at the start of a file that follow each other.
fn chain(backing: &Backing) -> Vec<Arc<Segment>> {
    let mut segments: Vec<Arc<Segment>> = Vec::new();
    let mut at = 0;
    while let Some(segment) = Segment::decode(backing.clone(), at) {
        let header = &segment.header;
        let follows = match segments.last() {
            None => header.before == 0 && header.first_slot == 0 && header.first_row == 0,
            Some(last) => {
                header.before == last.header_hash
                    && header.seed == last.header.seed
                    && header.format == last.header.format
                    && header.first_slot == last.header.first_slot + last.header.slots
                    && header.first_row == last.header.first_row + last.header.rows
                    && header.log_start >= last.header.log_end
            }
        };
        if !follows || header.has(TAIL) || header.has(SALVAGED) || header.log_end < header.log_start
        {
            break;
        }
        at = segment.end();
        segments.push(Arc::new(segment));
    }
    segments
}

/// Whether the log still has the bytes that were indexed: reads all of them.
pub(crate) fn same_bytes(
    index: &Index,
    log: &LogFile,
) -> Result<std::result::Result<bool, Damaged>> {
    let mut ranges = Vec::new();
    for segment in &index.segments {
        let (Ok(ends), Ok(hashes)) = (
            segment.all_u64(segment.at.hash_end),
            segment.all_u64(segment.at.hash),
        ) else {
            return Ok(Err(Damaged));
        };
        ranges.extend(ends.into_iter().zip(hashes));
    }
    let covered = ranges.last().map_or(0, |&(end, _)| end);
    if covered != index.log_end()
        || covered > log.len()
        || !ranges.is_sorted_by_key(|range| range.0)
    {
        return Ok(Err(Damaged));
    }
    // There may be as many ranges as there were additions: they are cut out of large reads.
    let mut buffer = vec![0; 1 << 18];
    let mut hash = Box::new(Xxh3::new());
    let mut ranges = ranges.into_iter().peekable();
    let mut at = 0;
    while at < covered {
        let step = usize::try_from(covered - at)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let chunk = buffer.get_mut(..step).unwrap_or_default();
        log.fill(chunk, at)?;
        let mut rest = &*chunk;
        while let Some(&(end, expected)) = ranges.peek() {
            let len = usize::try_from(end - at).unwrap_or(usize::MAX);
            let Some((inside, after)) = rest.split_at_checked(len) else {
                break;
            };
            hash.update(inside);
            if hash.digest() != expected {
                return Ok(Ok(false));
            }
            hash.reset();
            ranges.next();
            at = end;
            rest = after;
        }
        hash.update(rest);
        at += len64(rest.len());
    }
    Ok(Ok(true))
}

/// Replaces a sidecar: a new file in the same folder, then a rename. Who has the old one mapped
/// keeps it. Not flushed to the disk: a torn one is noticed and rebuilt.
fn write_whole(path: &Path, frames: &[u8]) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    make_folder(folder)?;
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let (mut file, temporary) = temporary_file(folder, name)?;
    let result = file
        .write_all(frames)
        .and_then(|()| std::fs::rename(&temporary, path));
    if result.is_err() {
        // Nothing more can be done about a file that cannot be removed either.
        let _ = std::fs::remove_file(&temporary);
    }
    result
}

/// A new file beside a sidecar, under a name that the next writer finds again: so a process that
/// died before its rename leaves one file behind at the most, and not for long.
fn temporary_file(folder: &Path, name: &std::ffi::OsStr) -> io::Result<(File, PathBuf)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    /// Nobody writes a sidecar for longer than this.
    const ABANDONED: std::time::Duration = std::time::Duration::from_secs(600);
    let named = |end: &str| {
        let mut file = std::ffi::OsString::from(".");
        file.push(name);
        file.push(end);
        folder.join(file)
    };
    let usual = named(".tmp");
    match private_file(&usual) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        file => return file.map(|file| (file, usual)),
    }
    let age = std::fs::symlink_metadata(&usual).and_then(|metadata| metadata.modified());
    if age.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > ABANDONED)) {
        // If another process is faster, its file is met below.
        let _ = std::fs::remove_file(&usual);
        if let Ok(file) = private_file(&usual) {
            return Ok((file, usual));
        }
    }
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let other = named(&format!(".{}-{number}.tmp", std::process::id()));
    private_file(&other).map(|file| (file, other))
}

fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Adds frames at the end of a sidecar that still is as it was loaded. Nobody's mapping changes:
/// the bytes lie behind what others know.
fn append(path: &Path, expected_len: u64, frames: &[u8]) -> io::Result<()> {
    let changed = || io::Error::other("the sidecar changed meanwhile");
    let mut file = OpenOptions::new().append(true).open(path)?;
    file.try_lock().map_err(|_| changed())?;
    let opened = file.metadata()?;
    if opened.len() != expected_len
        || Identity::of(&opened).inode != Identity::of(&std::fs::metadata(path)?).inode
    {
        return Err(changed());
    }
    // One write, so that a process that dies leaves at most a torn frame, which fails its checksum.
    file.write_all(frames)
}

/// A name for a sidecar that stands apart from its log: readable, and the path's hash.
fn hashed_name(log: &Path) -> String {
    let whole = std::path::absolute(log).unwrap_or_else(|_| log.to_owned());
    let whole = std::fs::canonicalize(&whole).unwrap_or(whole);
    let hash = xxh3_128(whole.as_os_str().as_encoded_bytes());
    let name: String = log
        .file_stem()
        .map(|stem| {
            stem.to_string_lossy()
                .chars()
                .filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c))
                .take(64)
                .collect()
        })
        .unwrap_or_default();
    format!("{name}-{hash:032x}.idx")
}

fn cache_folder() -> Option<PathBuf> {
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
