//! What a file system may have left when the power went: of what was not flushed, any blocks of a file
//! in any state that they had, any length that it had or that lies between, and any names of a folder
//! that follow from those before. Nothing is assumed of the order.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::record::Event;

/// What is on the disk for sure, and what may be.
#[derive(Clone, Debug, Default)]
pub(super) struct Left {
    base: PathBuf,
    files: HashMap<u64, Bytes>,
    names: BTreeMap<PathBuf, u64>,
    folders: BTreeSet<PathBuf>,
    /// Changes of names that no flush of their folder followed.
    pending: Vec<Event>,
}

/// The bytes of a file.
#[derive(Clone, Debug)]
struct Bytes {
    is_derived: bool,
    /// What was flushed, then the same after each change since.
    versions: Vec<Vec<u8>>,
    modified: SystemTime,
}

/// One state that the disk may be in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Image {
    pub(super) folders: BTreeSet<PathBuf>,
    /// The number of each file, its bytes, and when it was changed last.
    pub(super) files: BTreeMap<PathBuf, (u64, Vec<u8>, SystemTime)>,
}

/// Choices that follow from a seed, or from a number that counts them all.
pub(super) enum Choice {
    Count(u64),
    Dice(u64),
    /// Mostly the last, now and then another: one in so many.
    Late(u64, u64),
}

impl Choice {
    fn below(&mut self, count: usize) -> usize {
        let count = u64::try_from(count.max(1)).unwrap();
        let roll = |state: &mut u64| {
            *state ^= *state << 13;
            *state ^= *state >> 7;
            *state ^= *state << 17;
            *state >> 11
        };
        let picked = match self {
            Self::Count(rest) => {
                let picked = *rest % count;
                *rest /= count;
                picked
            }
            Self::Dice(state) => roll(state) % count,
            Self::Late(state, one_in) => {
                if roll(state) % *one_in == 0 {
                    roll(state) % count
                } else {
                    count - 1
                }
            }
        };
        usize::try_from(picked).unwrap()
    }
}

impl Bytes {
    fn last(&self) -> &[u8] {
        self.versions.last().map_or(&[], Vec::as_slice)
    }

    fn change(&mut self, at: SystemTime, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = self.last().to_vec();
        change(&mut bytes);
        self.versions.push(bytes);
        self.modified = at;
    }

    /// The lengths that it may have.
    fn lengths(&self, block: usize) -> Vec<usize> {
        let mut lengths: BTreeSet<usize> = self.versions.iter().map(Vec::len).collect();
        let (least, most) = (lengths.first().copied(), lengths.last().copied());
        let (least, most) = (least.unwrap_or(0), most.unwrap_or(0));
        lengths.extend((least..most).filter(|at| at % block == 0));
        lengths.into_iter().collect()
    }

    /// The states that a block may be in; what it has behind an end is zeros.
    fn blocks(&self, block: usize, at: usize) -> Vec<Vec<u8>> {
        let mut states: Vec<Vec<u8>> = Vec::new();
        for version in &self.versions {
            let end = version.len().min((at + 1) * block);
            let mut state = version.get(at * block..end).unwrap_or_default().to_vec();
            state.resize(block, 0);
            if !states.contains(&state) {
                states.push(state);
            }
        }
        states
    }

    fn block_count(&self, block: usize) -> usize {
        let longest = self.versions.iter().map(Vec::len).max();
        longest.unwrap_or(0).div_ceil(block)
    }

    /// How many states there are to choose from.
    fn states(&self, block: usize) -> f64 {
        let blocks = (0..self.block_count(block)).map(|at| self.blocks(block, at).len());
        let count = |count: usize| f64::from(u32::try_from(count).unwrap());
        blocks.map(count).product::<f64>() * count(self.lengths(block).len())
    }

    fn choose(&self, block: usize, choice: &mut Choice) -> Vec<u8> {
        let lengths = self.lengths(block);
        let len = lengths[choice.below(lengths.len())];
        let mut bytes = Vec::with_capacity(len);
        for at in 0..self.block_count(block) {
            let mut states = self.blocks(block, at);
            bytes.append(&mut states.swap_remove(choice.below(states.len())));
        }
        bytes.resize(len, 0);
        bytes
    }
}

/// Whether a file is a part of the index, which nobody relies on.
fn is_derived(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_str().unwrap();
    name.contains(".idx")
}

impl Left {
    /// All happens in a folder that was there before.
    pub(super) fn in_folder(base: &Path) -> Self {
        Self {
            base: base.to_owned(),
            ..Self::default()
        }
    }

    /// Takes one more change in.
    pub(super) fn take(&mut self, event: &Event) {
        match event {
            Event::Create(path, number) => {
                let bytes = Bytes {
                    is_derived: is_derived(path),
                    versions: vec![Vec::new()],
                    modified: SystemTime::UNIX_EPOCH,
                };
                self.files.insert(*number, bytes);
                self.pending.push(event.clone());
            }
            Event::Write(number, at, bytes, time) => {
                let at = usize::try_from(*at).unwrap();
                let file = self.files.get_mut(number).unwrap();
                file.change(*time, |all| {
                    all.truncate(at);
                    all.extend_from_slice(bytes);
                });
            }
            Event::Cut(number, len, time) => {
                let len = usize::try_from(*len).unwrap();
                let file = self.files.get_mut(number).unwrap();
                file.change(*time, |all| all.truncate(len));
            }
            Event::Sync(number) => {
                let file = self.files.get_mut(number).unwrap();
                file.versions.drain(..file.versions.len() - 1);
            }
            Event::SyncFolder(folder) => {
                let is_flushed = |event: &Event| folder_of(event) == Some(folder);
                let (flushed, rest): (Vec<Event>, Vec<Event>) =
                    self.pending.drain(..).partition(is_flushed);
                self.pending = rest;
                for event in flushed {
                    apply(&event, &mut self.names, &mut self.folders);
                }
            }
            Event::Said(..) | Event::Begin => {}
            _ => self.pending.push(event.clone()),
        }
    }

    /// How many states there are of all that somebody relies on.
    pub(super) fn states(&self, block: usize) -> f64 {
        let names = self.pending.iter().filter(|event| !is_of_index(event));
        let names = f64::powi(2.0, i32::try_from(names.count()).unwrap());
        let files = self.files.values().filter(|file| !file.is_derived);
        files.map(|file| file.states(block)).product::<f64>() * names
    }

    /// One of the states: by `choice` what is relied on, by `dice` the index.
    pub(super) fn image(&self, block: usize, choice: &mut Choice, dice: &mut Choice) -> Image {
        let mut names = self.names.clone();
        let mut folders = self.folders.clone();
        for event in &self.pending {
            let by = if is_of_index(event) {
                &mut *dice
            } else {
                &mut *choice
            };
            if by.below(2) == 1 {
                apply(event, &mut names, &mut folders);
            }
        }
        // A folder whose name is lost is lost with all that is in it.
        let all = folders.clone();
        let is_there = |path: &Path| {
            let mut above = path.ancestors().skip(1);
            let known = above.by_ref().take_while(|folder| **folder != self.base);
            known.into_iter().all(|folder| all.contains(folder))
        };
        folders.retain(|folder| is_there(folder));
        names.retain(|path, _| is_there(path));
        let mut chosen: HashMap<u64, Vec<u8>> = HashMap::new();
        let files = names.into_iter().map(|(path, number)| {
            let file = &self.files[&number];
            let by = if is_derived(&path) {
                &mut *dice
            } else {
                &mut *choice
            };
            let bytes = chosen
                .entry(number)
                .or_insert_with(|| file.choose(block, by))
                .clone();
            (path, (number, bytes, file.modified))
        });
        Image {
            files: files.collect(),
            folders,
        }
    }
}

/// The folder whose names a change changes.
fn folder_of(event: &Event) -> Option<&Path> {
    match event {
        Event::Create(path, _)
        | Event::Rename(_, path)
        | Event::Link(_, path)
        | Event::Remove(path)
        | Event::MakeFolder(path) => path.parent(),
        _ => None,
    }
}

fn is_of_index(event: &Event) -> bool {
    match event {
        Event::Create(path, _)
        | Event::Rename(_, path)
        | Event::Link(_, path)
        | Event::Remove(path) => is_derived(path),
        _ => false,
    }
}

/// Changes names, where what came before allows it.
fn apply(event: &Event, names: &mut BTreeMap<PathBuf, u64>, folders: &mut BTreeSet<PathBuf>) {
    match event {
        Event::Create(path, number) => {
            names.insert(path.clone(), *number);
        }
        Event::Rename(from, to) => {
            if let Some(number) = names.remove(from) {
                names.insert(to.clone(), number);
            }
        }
        Event::Link(from, to) => {
            if let Some(&number) = names.get(from) {
                names.insert(to.clone(), number);
            }
        }
        Event::Remove(path) => {
            names.remove(path);
        }
        Event::MakeFolder(path) => {
            folders.insert(path.clone());
        }
        _ => {}
    }
}
