//! What a listing remembers of a folder, so that the next one opens no log that is as it was: one
//! derived file a folder of sessions. It is a hint. A row is believed only of a file that has the stamp
//! it was made from; whatever else is wrong with the file, logs are read again.

mod layout;
mod row;
mod stamp;

use std::path::{Path, PathBuf};

use ahash::HashMap;

use super::listing::Answer;
use super::scan::{Log, Scan};
use crate::disk::DiskRef;
use crate::index::{Backing, Replacement, hashed_name, read_backing};
use crate::log::{Reading, open_regular, read_exact_at};
use crate::store::state::{SMALL_LOG, WORTH_WRITING};
use crate::store::{IndexMode, OpenOptions};

use layout::{Decoded, Draft, Remembered};
use stamp::Moment;
pub(super) use stamp::Stamp;

/// The catalog's name in the folder of the sessions: no session's, and hidden.
const NAME: &str = ".leaflog-catalog";
/// How its name ends in a folder for sidecars.
const ENDING: &str = ".catalog";
/// A larger file is none that leaflog wrote.
const MOST_BYTES: u64 = 1 << 30;
/// Opening a log costs about as much as reading so many bytes more.
const OPENING: u64 = 16 << 10;

/// Listings that answer alike for the same files have the same bits.
const STRICT: u32 = 1;
const SALVAGE: u32 = 2;

/// The catalog of a folder, as it was found.
pub(super) struct Catalog {
    place: PathBuf,
    options: u32,
    /// It is kept for few small logs too.
    is_asked_for: bool,
    disk: DiskRef,
    found: Option<Backing>,
}

impl Catalog {
    /// None where nothing is to be remembered.
    pub(super) fn of(folder: &Path, options: &OpenOptions) -> Option<Self> {
        // Elsewhere the system does not tell whether a file is the one that it was.
        if options.index == IndexMode::Memory || !cfg!(unix) {
            return None;
        }
        let mut bits = 0;
        let mut kind = String::new();
        for (is_on, bit, name) in [
            (options.strict, STRICT, "-strict"),
            (options.salvage, SALVAGE, "-salvage"),
        ] {
            if is_on {
                bits |= bit;
                kind.push_str(name);
            }
        }
        let place = match &options.index_dir {
            Some(indexes) => {
                // By whichever way the folder is reached.
                let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
                indexes.join(hashed_name(&folder, &format!("{kind}{ENDING}")))
            }
            None => folder.join(format!("{NAME}{kind}")),
        };
        Some(Self {
            found: read(&place, bits),
            place,
            options: bits,
            is_asked_for: options.index == IndexMode::Always,
            disk: options.disk.clone(),
        })
    }

    /// Hands out what is known of the logs of a folder that are as they were, and tells which those
    /// are.
    pub(super) fn sort<'s>(
        &'s self,
        scan: &'s Scan,
        found: &mut dyn FnMut(Answer),
    ) -> Option<Sorted<'s>> {
        let bytes = self.found.as_ref()?.as_slice();
        let decoded = Decoded::of(bytes, self.options)?;
        if decoded.taken.is_to_come() {
            return None;
        }
        let mut rows = rows(&decoded, scan)?;
        let mut sorted = Sorted {
            kept: Vec::with_capacity(rows.len()),
            unread: Vec::new(),
            gone: 0,
            bytes: u64::try_from(bytes.len()).ok(),
        };
        let mut met = 0;
        for log in &scan.logs {
            let row = rows.remove(&(log.folder, log.name()));
            met += usize::from(row.is_some());
            let fresh = row.filter(|row| is_fresh(row, log, decoded.taken));
            match fresh.and_then(|row| Some((row, row::answer(&row, log)?))) {
                Some((row, answer)) => {
                    sorted.kept.push((log, row));
                    found(answer);
                }
                None => sorted.unread.push(log),
            }
        }
        sorted.gone = decoded.len().saturating_sub(met);
        Some(sorted)
    }

    /// Begins another one, if what is still to be read may be worth it. Must be called before any log
    /// is read. None where it is not worth it, or cannot be written.
    pub(super) fn begin(&self, scan: &Scan, sorted: &Sorted<'_>) -> Option<Writing> {
        let stamps = sorted.unread.iter().filter_map(|log| log.stamp.as_ref());
        let most = stamps.map(weight).fold(0, u64::saturating_add);
        if !self.is_worth(sorted, most) {
            return None;
        }
        let replacement = Replacement::new(&self.disk, &self.place).ok()?;
        let moment = Moment::of(&replacement.metadata().ok()?)?;
        let names = scan.folders.iter().map(|name| name.as_encoded_bytes());
        Some(Writing {
            draft: Draft::new(names),
            replacement,
            moment,
            weight: 0,
        })
    }

    /// Whether what was read is to be remembered. Reading it again must cost more than a small part of
    /// what writing the whole catalog does, and a folder with little to read gets none unasked.
    fn is_worth(&self, sorted: &Sorted<'_>, read: u64) -> bool {
        if sorted.gone > 0 {
            // Nothing is kept of sessions that were removed.
            return true;
        }
        let is_there = || self.place.symlink_metadata().is_ok();
        match sorted.bytes {
            Some(bytes) => read > 0 && read.saturating_mul(WORTH_WRITING) >= bytes,
            None if read < SMALL_LOG => read > 0 && (self.is_asked_for || is_there()),
            None => true,
        }
    }

    /// Puts a new one in place of the one before, with what was known and what was read. One that
    /// cannot be written costs the next listing time.
    pub(super) fn finish(&self, writing: Writing, sorted: &Sorted<'_>) {
        if !self.is_worth(sorted, writing.weight) {
            return;
        }
        let mut draft = writing.draft;
        for (log, row) in &sorted.kept {
            row::keep(&mut draft, row, log);
        }
        if let Some(bytes) = draft.encode(self.options, writing.moment) {
            let _ = writing.replacement.finish(&bytes);
        }
    }
}

/// The bytes of a file that begins as a catalog for some options does.
fn read(place: &Path, options: u32) -> Option<Backing> {
    // A link could lead to a file that is somebody else's.
    if !place.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let (file, metadata) = open_regular(place).ok()?;
    if metadata.len() > MOST_BYTES {
        return None;
    }
    // Whatever else stands there is not worth the memory.
    let mut beginning = [0; layout::BEGINNING];
    read_exact_at(&file, &mut beginning, 0).ok()?;
    if beginning != layout::beginning(options) {
        return None;
    }
    read_backing(file, usize::try_from(metadata.len()).ok()?, Reading::Read)
}

/// By the number of the folder in a scan, and the name in it.
type Rows<'c> = HashMap<(usize, &'c [u8]), Remembered<'c>>;

/// The rows of a catalog whose folders are still there.
fn rows<'c>(decoded: &Decoded<'c>, scan: &Scan) -> Option<Rows<'c>> {
    let numbers: HashMap<&[u8], usize> = (scan.folders.iter().enumerate())
        .map(|(number, name)| (name.as_encoded_bytes(), number))
        .collect();
    let folders: Vec<Option<usize>> = (decoded.folders()?.into_iter())
        .map(|name| numbers.get(name).copied())
        .collect();
    let mut rows = Rows::default();
    rows.reserve(decoded.len().min(scan.logs.len()));
    for (folder, name, row) in decoded.rows() {
        let folder = usize::try_from(folder).ok();
        let now = folder.and_then(|folder| folders.get(folder).copied()?);
        if let Some(folder) = now {
            rows.insert((folder, name), row);
        }
    }
    Some(rows)
}

/// Whether a log is still as it was when it was remembered.
fn is_fresh(row: &Remembered<'_>, log: &Log, taken: Moment) -> bool {
    log.stamp
        .is_some_and(|stamp| row.stamp() == stamp && taken.is_behind(&stamp))
}

/// What reading a log costs, in bytes.
fn weight(stamp: &Stamp) -> u64 {
    stamp.len.saturating_add(OPENING)
}

/// The logs of a folder as a catalog knows them.
pub(super) struct Sorted<'s> {
    /// Those that are as they were.
    kept: Vec<(&'s Log, Remembered<'s>)>,
    /// Those that must be read.
    pub(super) unread: Vec<&'s Log>,
    /// How many rows are of files that are gone.
    gone: usize,
    /// Bytes of the catalog; none if there was none that counts.
    bytes: Option<u64>,
}

impl<'s> Sorted<'s> {
    /// Where nothing is known of any of them.
    pub(super) fn unknown(scan: &'s Scan) -> Self {
        Self {
            kept: Vec::new(),
            unread: scan.logs.iter().collect(),
            gone: 0,
            bytes: None,
        }
    }
}

/// A catalog that is being written while logs are read: its file was made before the first of them
/// was opened.
pub(super) struct Writing {
    draft: Draft,
    replacement: Replacement,
    moment: Moment,
    /// What it cost to read the logs that are remembered.
    weight: u64,
}

impl Writing {
    /// Adds what was read of a log that was this file, if it was written last before this catalog was
    /// begun: whoever writes to it while it is read, or later, gives it another stamp.
    pub(super) fn add(&mut self, log: &Log, answer: &Answer) {
        if let Some(stamp) = log.stamp
            && self.moment.is_behind(&stamp)
            && row::add(&mut self.draft, log, &stamp, answer)
        {
            self.weight = self.weight.saturating_add(weight(&stamp));
        }
    }
}

/// The bytes of a file with an archive that anybody made, under a right header and checksum.
#[cfg(feature = "fuzzing")]
pub(crate) fn sealed(archive: &[u8]) -> Option<Vec<u8>> {
    let moment = Moment {
        nanos: 0,
        device: 0,
    };
    let empty = Draft::new(std::iter::empty()).encode(0, moment)?;
    let mut bytes = empty.get(..layout::HEADER)?.to_vec();
    bytes.extend_from_slice(archive);
    bytes.extend_from_slice(&layout::hash(&bytes));
    Some(bytes)
}

/// What a catalog says, and the bytes of one that says the same.
#[cfg(feature = "fuzzing")]
pub(crate) fn told(bytes: &[u8]) -> Option<(Vec<String>, Vec<u8>)> {
    let mut aligned = rkyv::util::AlignedVec::<16>::with_capacity(bytes.len());
    aligned.extend_from_slice(bytes);
    let decoded = Decoded::of(&aligned, 0)?;
    let folders = decoded.folders()?;
    let mut draft = Draft::new(folders.iter().copied());
    let mut told = Vec::new();
    for (folder, name, row) in decoded.rows() {
        let log = Log {
            path: PathBuf::from(String::from_utf8_lossy(name).into_owned()),
            folder: usize::try_from(folder).ok()?,
            stamp: Some(row.stamp()),
        };
        if draft.push(row.row()?, row.texts()) {
            told.push(format!("{log:?} {:?}", row::answer(&row, &log)));
        }
    }
    let again = draft.encode(0, decoded.taken)?.to_vec();
    Some((told, again))
}
