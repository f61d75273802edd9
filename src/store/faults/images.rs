//! What a power cut may leave of what was done to a disk, as far as file systems promise: what was
//! flushed is there; of what was written since, any blocks may have arrived, with NUL bytes where one
//! did not; changes of names arrive in their order, up to any of them, until their folder is flushed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::disk::recording::Done;

/// What a file system writes at once.
const BLOCK: u64 = 4096;

/// A file as it may be: what is safe, and what was done to it since.
#[derive(Clone, Default)]
struct File {
    safe: Vec<u8>,
    since: Vec<Done>,
}

/// A disk as it may be at the moment of the cut.
#[derive(Clone, Default)]
pub(super) struct Images {
    files: BTreeMap<u64, File>,
    /// Names that are safe, and what they lead to.
    names: BTreeMap<PathBuf, u64>,
    /// Changes of names that are not.
    renames: Vec<Done>,
}

/// One choice of what arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    /// How many changes of names.
    pub(super) names: usize,
    /// How many of the changes of each file's length.
    pub(super) lengths: usize,
    /// Which of its blocks since, bit by bit.
    pub(super) blocks: u64,
}

impl Images {
    /// Takes in what was done next.
    pub(super) fn add(&mut self, done: &Done) {
        match done {
            Done::Create { file, .. } => {
                self.files.insert(*file, File::default());
                self.renames.push(done.clone());
            }
            Done::Write { file, .. } | Done::Cut { file, .. } => {
                let file = self.files.entry(*file).or_default();
                file.since.push(done.clone());
            }
            Done::Sync { file } => {
                let file = self.files.entry(*file).or_default();
                file.safe = file.content(usize::MAX, u64::MAX);
                file.since.clear();
            }
            Done::SyncFolder { folder } => {
                // A journal holds the changes of all folders in one order.
                let last = self.renames.iter().rposition(|done| touches(done, folder));
                let rest = self.renames.split_off(last.map_or(0, |last| last + 1));
                for done in std::mem::replace(&mut self.renames, rest) {
                    apply(&mut self.names, &done);
                }
            }
            Done::Link { .. } | Done::Rename { .. } | Done::Remove { .. } => {
                self.renames.push(done.clone());
            }
        }
    }

    /// How many changes of names, changes of a length and blocks there are to choose from at the most.
    pub(super) fn open(&self) -> (usize, usize, usize) {
        let most = |count: fn(&File) -> usize| self.files.values().map(count).max().unwrap_or(0);
        (
            self.renames.len(),
            most(|file| file.since.len()),
            most(File::blocks),
        )
    }

    /// Writes an image to a folder in place of the one that the record is of.
    pub(super) fn write(&self, choice: Choice, from: &Path, to: &Path) {
        let mut names = self.names.clone();
        for done in self.renames.iter().take(choice.names) {
            apply(&mut names, done);
        }
        for (path, file) in names {
            let path = to.join(path.strip_prefix(from).unwrap());
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let content = self.files[&file].content(choice.lengths, choice.blocks);
            fs::write(path, content).unwrap();
        }
    }
}

fn touches(done: &Done, folder: &Path) -> bool {
    let paths: &[&PathBuf] = match done {
        Done::Create { path, .. } | Done::Remove { path } => &[path],
        Done::Link { from, to } | Done::Rename { from, to } => &[from, to],
        _ => &[],
    };
    paths.iter().any(|path| path.parent() == Some(folder))
}

/// A change of names.
fn apply(names: &mut BTreeMap<PathBuf, u64>, done: &Done) {
    match done {
        Done::Create { path, file } => {
            names.insert(path.clone(), *file);
        }
        Done::Link { from, to } | Done::Rename { from, to } => {
            if let Some(&file) = names.get(from) {
                names.insert(to.clone(), file);
            }
            if matches!(done, Done::Rename { .. }) {
                names.remove(from);
            }
        }
        Done::Remove { path } => {
            names.remove(path);
        }
        _ => {}
    }
}

impl File {
    /// The blocks of each write since it was flushed: where each starts and ends in the file.
    fn pieces(at: u64, bytes: &[u8]) -> impl Iterator<Item = std::ops::Range<u64>> {
        let end = at + u64::try_from(bytes.len()).unwrap();
        let mut next = at;
        std::iter::from_fn(move || {
            let start = next;
            next = end.min((start / BLOCK + 1) * BLOCK);
            (start < end).then_some(start..next)
        })
    }

    fn blocks(&self) -> usize {
        let count = |done: &Done| match done {
            Done::Write { at, bytes, .. } => Self::pieces(*at, bytes).count(),
            _ => 0,
        };
        self.since.iter().map(count).sum()
    }

    /// What is in it if so many changes of its length arrived, and these blocks.
    fn content(&self, lengths: usize, blocks: u64) -> Vec<u8> {
        let mut content = self.safe.clone();
        let mut block = 0;
        for done in self.since.iter().take(lengths) {
            match done {
                Done::Write { at, bytes, .. } => {
                    for piece in Self::pieces(*at, bytes) {
                        let has_arrived = blocks >> (block % 64) & 1 == 1;
                        block += 1;
                        let end = usize::try_from(piece.end).unwrap();
                        let start = usize::try_from(piece.start).unwrap();
                        let from = start - usize::try_from(*at).unwrap();
                        if content.len() < end {
                            content.resize(end, 0);
                        }
                        if has_arrived {
                            content[start..end].copy_from_slice(&bytes[from..from + end - start]);
                        }
                    }
                }
                Done::Cut { len, .. } => content.resize(usize::try_from(*len).unwrap(), 0),
                _ => {}
            }
        }
        content
    }
}
