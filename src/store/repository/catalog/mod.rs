//! What a listing remembers of a folder, so that the next one opens no log that is as it was: one
//! derived file a folder of sessions. It is a hint. A row is believed only of a file that has the stamp
//! it was made from; whatever else is wrong with the file, logs are read again.

mod layout;
mod row;
mod stamp;

use std::fs;
use std::path::{Path, PathBuf};

use ahash::HashMap;

use super::scan::{Log, Scan};
use crate::disk::DiskRef;
use crate::index::{Backing, Replacement, hashed_name, read_backing};
use crate::log::{LogFile, Reading, open_regular};
use crate::store::{IndexMode, OpenOptions};

use layout::{Decoded, Draft, Remembered};
pub(super) use row::Answer;
pub(super) use stamp::{Moment, Stamp};

/// The catalog's name in the folder of the sessions: no session's, and hidden.
const NAME: &str = ".leaflog-catalog";
/// How its name ends in a folder for sidecars.
const ENDING: &str = ".catalog";
/// A larger file is none that leaflog wrote.
const MOST_BYTES: u64 = 1 << 30;

/// Listings that answer alike for the same files have the same bits.
const STRICT: u32 = 1;
const SALVAGE: u32 = 2;

/// The catalog of a folder, as it was found.
pub(super) struct Catalog {
    place: PathBuf,
    options: u32,
    disk: DiskRef,
    found: Option<Backing>,
}

impl Catalog {
    /// None where nothing is to be remembered.
    pub(super) fn of(folder: &Path, options: &OpenOptions) -> Option<Self> {
        if options.index == IndexMode::Memory {
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
            Some(indexes) => indexes.join(hashed_name(folder, &format!("{kind}{ENDING}"))),
            None => folder.join(format!("{NAME}{kind}")),
        };
        Some(Self {
            found: read(&place),
            place,
            options: bits,
            disk: options.disk.clone(),
        })
    }

    /// Whether there is one, good or bad.
    pub(super) fn exists(&self) -> bool {
        self.place.symlink_metadata().is_ok()
    }

    /// What it says of the files of a folder. None if there is none that can be believed.
    pub(super) fn known(&self, scan: &Scan) -> Option<Known<'_>> {
        let bytes = self.found.as_ref()?.as_slice();
        let decoded = Decoded::of(bytes, self.options)?;
        if decoded.taken.is_to_come() {
            return None;
        }
        let numbers: HashMap<&[u8], usize> = (scan.folders.iter().enumerate())
            .map(|(number, name)| (name.as_encoded_bytes(), number))
            .collect();
        let folders: Vec<Option<usize>> = (decoded.folders()?.into_iter())
            .map(|name| numbers.get(name).copied())
            .collect();
        let mut rows = HashMap::default();
        rows.reserve(decoded.len().min(scan.logs.len()));
        for (folder, name, row) in decoded.rows() {
            let folder = usize::try_from(folder).ok();
            let now = folder.and_then(|folder| folders.get(folder).copied()?);
            if let Some(folder) = now {
                rows.insert((folder, name), row);
            }
        }
        Some(Known {
            rows,
            all: decoded.len(),
            bytes: bytes.len(),
            taken: decoded.taken,
        })
    }

    /// Begins another one. None where it cannot be written.
    pub(super) fn begin(&self, scan: &Scan) -> Option<Writing> {
        let replacement = Replacement::new(&self.disk, &self.place).ok()?;
        let moment = Moment::of(&replacement.metadata().ok()?)?;
        let names = scan.folders.iter().map(|name| name.as_encoded_bytes());
        Some(Writing {
            draft: Draft::new(names),
            replacement,
            moment,
            options: self.options,
            is_first: !self.exists(),
        })
    }
}

/// The bytes of a file that may be a catalog.
fn read(place: &Path) -> Option<Backing> {
    // A link could lead to a file that is somebody else's.
    if !place.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let (file, metadata) = open_regular(place).ok()?;
    if metadata.len() > MOST_BYTES {
        return None;
    }
    read_backing(file, usize::try_from(metadata.len()).ok()?, Reading::Read)
}

/// What is known of the files of a folder.
pub(super) struct Known<'c> {
    /// By the number of the folder in the scan, and the name in it.
    rows: HashMap<(usize, &'c [u8]), Remembered<'c>>,
    all: usize,
    bytes: usize,
    taken: Moment,
}

impl<'c> Known<'c> {
    /// What is remembered of a log, and whether it is still as it was then.
    pub(super) fn of(&self, log: &Log) -> (Option<Remembered<'c>>, bool) {
        let row = self.rows.get(&(log.folder, log.name())).copied();
        let is_fresh = match (&row, log.stamp) {
            (Some(row), Some(stamp)) => row.is_of(&stamp) && self.taken.is_behind(&stamp),
            _ => false,
        };
        (row, is_fresh)
    }

    /// All rows, those included whose files are gone.
    pub(super) fn rows(&self) -> usize {
        self.all
    }

    /// Bytes of the catalog.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// A catalog that is being written while logs are read: its file was made before the first of them
/// was looked at.
pub(super) struct Writing {
    draft: Draft,
    replacement: Replacement,
    moment: Moment,
    options: u32,
    is_first: bool,
}

impl Writing {
    /// By which a log must have been written last to be remembered.
    pub(super) fn moment(&self) -> Moment {
        self.moment
    }

    /// Adds what is known of a log, if it was written last before this catalog was begun.
    pub(super) fn add(&mut self, log: Place<'_>, stamp: &Stamp, answer: &Answer) {
        if self.moment.is_behind(stamp) {
            row::add(&mut self.draft, log, stamp, answer);
        }
    }

    /// Puts it in place of the one before. One that cannot be written costs the next listing time.
    pub(super) fn finish(self) {
        if self.is_first && self.draft.rows() == 0 {
            return;
        }
        if let Some(bytes) = self.draft.encode(self.options, self.moment) {
            let _ = self.replacement.finish(&bytes);
        }
    }
}
