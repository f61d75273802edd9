//! The sidecar as a file: where it is, whether it is fresh, and how it is written. Loading never
//! trusts it; writing never touches what another process may have mapped.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rkyv::util::AlignedVec;
use xxhash_rust::xxh3::Xxh3;

use super::build::anchors;
use super::files::{append, cache_folder, hashed_name, write_whole};
use super::frame::{FrameHeader, PART, SALVAGED, TAIL, format_of};
use super::merge::{MOST_SEGMENTS, merge};
use super::segment::{Backing, Damaged, Mapped, Segment, len64};
use super::view::Index;
use crate::disk::{DiskRef, with_ending};
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
    pub(crate) disk: OnDisk,
    /// The log was found unchanged by its hash; saying so in the sidecar saves the next reader that.
    pub(crate) vouched: bool,
}

/// What stands in a sidecar file, as far as the next one to write it must know.
#[derive(Clone, Debug)]
pub(crate) struct OnDisk {
    pub(crate) path: PathBuf,
    /// The header hashes of the frames that count, in order.
    counting: Vec<u64>,
    /// All frames of the file, those included that later ones replace.
    frames: usize,
    /// Bytes of good frames; the file may go on with others.
    good: u64,
    file_len: u64,
    log_end: u64,
}

impl OnDisk {
    /// Whether the frames that count are these segments.
    pub(crate) fn has(&self, segments: &[Arc<Segment>]) -> bool {
        self.counting == hashes(segments)
    }

    /// The frames that count, as they stand in the file; none if it is no longer what was written.
    pub(crate) fn segments(&self, reading: Reading) -> Option<Vec<Arc<Segment>>> {
        let (file, metadata) = open_regular(&self.path).ok()?;
        if metadata.len() < self.file_len {
            return None;
        }
        let len = usize::try_from(self.file_len).ok()?;
        let (segments, _) = chain(&read_backing(file, len, reading)?);
        self.has(&segments).then_some(segments)
    }

    /// Bytes of the log that it covers.
    pub(crate) fn log_end(&self) -> u64 {
        self.log_end
    }
}

/// Replaced frames may take as much as those that count, and this.
const ROOM: u64 = 1 << 18;
/// A sidecar with more frames than this is written anew, so that opening it stays cheap.
const MOST_FRAMES: usize = 128;

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
                places: vec![folder.join(hashed_name(log, ".idx"))],
            };
        }
        let mut places = vec![Self::beside(log)];
        if let Some(cache) = cache_folder() {
            places.push(cache.join(hashed_name(log, ".idx")));
        }
        Self { places }
    }

    /// The sidecar of a log that stands beside it.
    pub(crate) fn beside(log: &Path) -> PathBuf {
        with_ending(log, ".idx")
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

    /// Brings a sidecar up to an index that went on from it. What the index has beyond it is
    /// added at its end, where merged segments replace the frames that they were merged from. Only
    /// when what counts is the smaller part of the file it is written anew. None if that was not
    /// possible, which costs the next reader some time.
    pub(crate) fn add(
        disk: &DiskRef,
        old: &OnDisk,
        index: &Index,
        log: &LogFile,
    ) -> Option<OnDisk> {
        let merged;
        let index = if index.segments.len() > MOST_SEGMENTS {
            merged = merge(index).ok()?;
            &merged
        } else {
            index
        };
        let known = index
            .segments
            .iter()
            .zip(&old.counting)
            .take_while(|(segment, hash)| segment.header_hash == **hash)
            .count();
        let new = index.segments.get(known..).unwrap_or_default();
        let frames: Vec<&[u8]> = new.iter().map(|segment| segment.frame_bytes()).collect();
        let frames = frames.concat();
        let file_len = old.file_len + len64(frames.len());
        let is_mostly_old = old.frames + new.len() > MOST_FRAMES
            || file_len > 2 * index.bytes() + ROOM
            || known == 0;
        if new.is_empty() || is_mostly_old || old.good != old.file_len {
            return write_to(disk, &old.path, &merge(index).ok()?, log);
        }
        append(disk, &old.path, old.file_len, &frames).ok()?;
        Some(OnDisk {
            path: old.path.clone(),
            counting: hashes(&index.segments),
            frames: old.frames + new.len(),
            good: file_len,
            file_len,
            log_end: index.log_end(),
        })
    }

    /// Writes an index to the first place where that works; none if it works nowhere.
    pub(crate) fn write(&self, disk: &DiskRef, index: &Index, log: &LogFile) -> Option<OnDisk> {
        self.places
            .iter()
            .find_map(|place| write_to(disk, place, index, log))
    }
}

fn write_to(disk: &DiskRef, place: &Path, index: &Index, log: &LogFile) -> Option<OnDisk> {
    let (frames, counting) = frames_of(index, log)?;
    write_whole(disk, place, &frames).ok()?;
    let file_len = len64(frames.len());
    Some(OnDisk {
        path: place.to_owned(),
        frames: counting.len(),
        counting,
        good: file_len,
        file_len,
        log_end: index.log_end(),
    })
}

/// The hashes of the headers of segments.
fn hashes(segments: &[Arc<Segment>]) -> Vec<u64> {
    segments.iter().map(|segment| segment.header_hash).collect()
}

/// The frames of an index one after the other, chained, with the log's identity in the last, and
/// the hashes of their headers.
fn frames_of(index: &Index, log: &LogFile) -> Option<(Vec<u8>, Vec<u64>)> {
    let mut bytes: Vec<u8> = Vec::new();
    let mut counting = Vec::new();
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
        counting.push(before);
    }
    Some((bytes, counting))
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
    // A link could lead to a file that is somebody else's to read and to write.
    let is_link = match path.symlink_metadata() {
        Ok(metadata) => metadata.is_symlink(),
        Err(_) => return Ok(Err(Why::Missing)),
    };
    if is_link {
        return Ok(Err(unusable("it is a link, which is not followed")));
    }
    let Ok((file, metadata)) = open_regular(path) else {
        return Ok(Err(unusable("it cannot be read")));
    };
    let file_len = metadata.len();
    let Some(backing) = usize::try_from(file_len)
        .ok()
        .and_then(|len| read_backing(file, len, reading))
    else {
        return Ok(Err(unusable(
            "it is empty, cannot be read, or is larger than memory",
        )));
    };
    let (segments, frames) = chain(&backing);
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
    let disk = OnDisk {
        path: path.to_owned(),
        counting: hashes(&segments),
        frames,
        good,
        file_len,
        log_end: header.log_end,
    };
    let index = Index::new(format, segments, summary);
    let suspicious = is_suspicious(log, &header) || was_touched(log, &metadata);
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
        disk,
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

/// Whether a small log changed after its sidecar was written, though its time of change may have been set
/// back. Links, names and rights that change look the same and cost one look at its bytes.
fn was_touched(log: &LogFile, sidecar: &Metadata) -> bool {
    log.len() <= SMALL && log.identity().changed > Identity::of(sidecar).modified
}

fn unusable(reason: &str) -> Why {
    Why::Unusable(reason.to_owned())
}

/// So many bytes of a file, mapped or read. None where that cannot be.
pub(crate) fn read_backing(file: File, len: usize, reading: Reading) -> Option<Backing> {
    if len == 0 {
        return None;
    }
    if reading == Reading::Map
        && let Ok(map) = Map::of(&file, len)
    {
        map.expect_random_reads();
        return Some(Backing::Mapped(Arc::new(Mapped::new(map, file))));
    }
    // A file may be said to be longer than memory has room for, and an `AlignedVec` can only end the
    // process then: the room is asked for in a way that can fail first.
    Vec::<u8>::new().try_reserve_exact(len).ok()?;
    let mut bytes = AlignedVec::with_capacity(len);
    bytes.resize(len, 0);
    read_exact_at(&file, &mut bytes, 0).ok()?;
    Some(Backing::Owned(Arc::new(bytes)))
}

/// The frames of a file that count, and how many good ones it has. Each names the one that it
/// follows: those between them are replaced by it. Frames that are a part of something count once
/// its last part is there.
fn chain(backing: &Backing) -> (Vec<Arc<Segment>>, usize) {
    let mut whole: Vec<Arc<Segment>> = Vec::new();
    let mut segments: Vec<Arc<Segment>> = Vec::new();
    let (mut at, mut frames) = (0, 0);
    while let Some(segment) = Segment::decode(backing.clone(), at) {
        let header = &segment.header;
        let named = segments
            .iter()
            .rposition(|last| last.header_hash == header.before);
        let follows = match named.and_then(|named| segments.get(named)) {
            None => header.before == 0 && header.first_slot == 0 && header.first_row == 0,
            Some(last) => {
                header.seed == last.header.seed
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
        frames += 1;
        segments.truncate(named.map_or(0, |named| named + 1));
        let is_part = header.has(PART);
        segments.push(Arc::new(segment));
        if !is_part {
            whole.clone_from(&segments);
        }
    }
    (whole, frames)
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

#[cfg(test)]
mod tests {
    use super::read_backing;
    use crate::log::Reading;

    #[test]
    fn a_file_that_is_said_to_be_longer_than_memory_is_no_sidecar() {
        for reading in [Reading::Map, Reading::Read] {
            let file = tempfile::tempfile().unwrap();
            assert!(read_backing(file, usize::MAX, reading).is_none());
        }
    }
}
