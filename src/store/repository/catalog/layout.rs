//! The bytes of a catalog: a plain header, an archive of plain numbers and texts, a checksum. Decoding
//! believes nothing that it did not check, and nothing here knows files.

use std::ops::Range;

use rkyv::rancor;
use rkyv::util::AlignedVec;
use rkyv::{Archive, Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::stamp::{Moment, Stamp};
use crate::index::{LAYOUT, settings};

/// The first eight bytes.
const MAGIC: [u8; 8] = *b"leaflogC";
/// The version of all that stands here, and of how it is derived from logs.
const VERSION: u32 = 1;
/// Bytes that are the same in all catalogs for the same options.
pub(super) const BEGINNING: usize = 24;
/// Bytes before the archive.
pub(super) const HEADER: usize = 64;
/// Bytes of the checksum behind it.
const HASH: usize = size_of::<u64>();

/// Texts of a row: the name of its file, the session's id, working directory, name, title and parent.
/// Of a log that could not be read the second is what is wrong.
pub(super) const TEXTS: usize = 6;
/// A row may have so many bytes of texts; a log that needs more is read each time.
const MOST_TEXT: usize = 1 << 16;
/// The length of a text that is not there.
const NO_TEXT: u32 = u32::MAX;

/// What is remembered of a log, its texts apart. Every number is valid.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) len: u64,
    pub(super) modified: i64,
    pub(super) changed: i64,
    /// `i64::MIN`: none.
    pub(super) created: i64,
    /// `i64::MIN`: none.
    pub(super) updated: i64,
    pub(super) messages: u64,
    /// Of what is wrong; `u64::MAX`: none.
    pub(super) line: u64,
    /// Of what is wrong; `u64::MAX`: none.
    pub(super) offset: u64,
    pub(super) folder: u32,
    /// The format, or 256 and the number of a code.
    pub(super) kind: u32,
    /// Whether there was damage to read around.
    pub(super) damaged: u32,
    pub(super) text_lens: [u32; TEXTS],
    pub(super) reserved: u32,
}

/// The archive: the names of folders and the texts of rows stand in `text`, one behind the other.
#[derive(Archive, Serialize, Debug, Default)]
struct Table {
    folder_lens: Vec<u32>,
    rows: Vec<Row>,
    text: Vec<u8>,
}

/// A catalog in the making.
#[derive(Debug)]
pub(super) struct Draft {
    table: Table,
}

impl Draft {
    pub(super) fn new<'n>(folders: impl Iterator<Item = &'n [u8]>) -> Self {
        let mut table = Table::default();
        for name in folders {
            // No file system has a name that is longer than 32 bits can say.
            let len = u32::try_from(name.len());
            table.folder_lens.push(len.unwrap_or(0));
            table.text.extend_from_slice(name);
        }
        Self { table }
    }

    /// Adds a row with its texts. False if those are too long.
    pub(super) fn push(&mut self, mut row: Row, texts: [Option<&[u8]>; TEXTS]) -> bool {
        let together: usize = texts.iter().flatten().map(|text| text.len()).sum();
        if together > MOST_TEXT {
            return false;
        }
        for (len, text) in row.text_lens.iter_mut().zip(texts) {
            *len = match text {
                Some(text) => {
                    self.table.text.extend_from_slice(text);
                    u32::try_from(text.len()).unwrap_or(NO_TEXT)
                }
                None => NO_TEXT,
            };
        }
        self.table.rows.push(row);
        true
    }

    /// The bytes of the file; none if there are more rows than an archive holds.
    pub(super) fn encode(&self, options: u32, taken: Moment) -> Option<AlignedVec> {
        let table = &self.table;
        let room = HEADER + table.text.len() + table.rows.len() * size_of::<ArchivedRow>() + 4096;
        let mut bytes = AlignedVec::with_capacity(room);
        bytes.extend_from_slice(&beginning(options));
        bytes.extend_from_slice(&taken.nanos.to_le_bytes());
        bytes.extend_from_slice(&taken.device.to_le_bytes());
        bytes.resize(HEADER, 0);
        let mut bytes = rkyv::api::high::to_bytes_in::<_, rancor::Error>(table, bytes).ok()?;
        let hash = hash(&bytes);
        bytes.extend_from_slice(&hash);
        Some(bytes)
    }
}

/// How every catalog for some options begins.
pub(super) fn beginning(options: u32) -> [u8; BEGINNING] {
    let mut bytes = [0; BEGINNING];
    let words = [VERSION, settings(), LAYOUT, options].map(u32::to_le_bytes);
    let all = MAGIC.iter().chain(words.as_flattened());
    for (to, from) in bytes.iter_mut().zip(all) {
        *to = *from;
    }
    bytes
}

/// The checksum of all that stands before it.
pub(super) fn hash(content: &[u8]) -> [u8; HASH] {
    xxh3_64(content).to_le_bytes()
}

/// A catalog that was read: all of it holds together.
pub(super) struct Decoded<'b> {
    table: &'b ArchivedTable,
    pub(super) taken: Moment,
    /// Bytes of the names of folders.
    names: usize,
}

/// A row with its texts.
#[derive(Clone, Copy)]
pub(super) struct Remembered<'b> {
    row: &'b ArchivedRow,
    text: &'b [u8],
}

impl<'b> Remembered<'b> {
    pub(super) fn row(&self) -> Option<Row> {
        rkyv::deserialize::<Row, rancor::Error>(self.row).ok()
    }

    /// Of which file, and when it was written last.
    pub(super) fn stamp(&self) -> Stamp {
        Stamp {
            device: self.row.device.to_native(),
            inode: self.row.inode.to_native(),
            len: self.row.len.to_native(),
            modified: self.row.modified.to_native(),
            changed: self.row.changed.to_native(),
        }
    }

    /// Its texts, as bytes.
    pub(super) fn texts(&self) -> [Option<&'b [u8]>; TEXTS] {
        let mut rest = self.text;
        std::array::from_fn(|number| {
            let len = len_of(self.row.text_lens.get(number)?.to_native())?;
            let (text, behind) = rest.split_at_checked(len)?;
            rest = behind;
            Some(text)
        })
    }
}

/// The length of a text; none if there is no text.
fn len_of(len: u32) -> Option<usize> {
    usize::try_from(len).ok().filter(|_| len != NO_TEXT)
}

impl<'b> Decoded<'b> {
    /// Reads the bytes of a file, which must be aligned as an archive wants it. None if they are no
    /// catalog of this version, of a listing with other options, or damaged.
    pub(super) fn of(bytes: &'b [u8], options: u32) -> Option<Self> {
        let (content, sum) = bytes.split_at_checked(bytes.len().checked_sub(HASH)?)?;
        let archive = content.get(HEADER..)?;
        let word64 = |at: usize| {
            let bytes = content.get(at..at + 8)?.try_into().ok()?;
            Some(u64::from_le_bytes(bytes))
        };
        if !content.starts_with(&beginning(options)) || sum != hash(content) {
            return None;
        }
        let taken = Moment {
            nanos: word64(24)?.cast_signed(),
            device: word64(32)?,
        };
        let table = rkyv::access::<ArchivedTable, rancor::Error>(archive).ok()?;
        let mut names = 0_usize;
        for len in table.folder_lens.iter() {
            names = names.checked_add(usize::try_from(len.to_native()).ok()?)?;
        }
        (names <= table.text.len()).then_some(Self {
            table,
            taken,
            names,
        })
    }

    /// The names of its folders, by number.
    pub(super) fn folders(&self) -> Option<Vec<&'b [u8]>> {
        let mut rest = self.table.text.as_slice().get(..self.names)?;
        let lens = self.table.folder_lens.iter();
        lens.map(|len| {
            let len = usize::try_from(len.to_native()).ok()?;
            let (name, behind) = rest.split_at_checked(len)?;
            rest = behind;
            Some(name)
        })
        .collect()
    }

    /// Its rows in order: the number of the folder, the name of the file, the row. The first whose texts
    /// do not lie in the archive ends them.
    pub(super) fn rows(&self) -> impl Iterator<Item = (u32, &'b [u8], Remembered<'b>)> {
        let text = self.table.text.as_slice();
        let mut at = self.names;
        self.table.rows.iter().map_while(move |row| {
            let texts = range_of(row, at)?;
            at = texts.end;
            let remembered = Remembered {
                row,
                text: text.get(texts)?,
            };
            let [name, ..] = remembered.texts();
            Some((row.folder.to_native(), name?, remembered))
        })
    }

    pub(super) fn len(&self) -> usize {
        self.table.rows.len()
    }
}

/// Where the texts of a row stand.
fn range_of(row: &ArchivedRow, start: usize) -> Option<Range<usize>> {
    let mut end = start;
    for len in &row.text_lens {
        end = end.checked_add(len_of(len.to_native()).unwrap_or(0))?;
    }
    Some(start..end)
}
