//! Bytes as a history of calls, made of a backend and of the conformance suite's model in step. The
//! first byte picks the backend; `History::read` says what the others are.

use std::path::PathBuf;

use leaflog::conformance::{Capabilities, Factory, Fixture, History};
use leaflog::{
    Format, IndexMode, MemoryRepository, OpenOptions, Reading, Repository, Result,
    SessionRepository,
};
use tempfile::TempDir;

use super::{Checked, place};

/// Longer histories say nothing new and take long: each call looks at all there is.
const CALLS: usize = 96;

/// Makes the calls.
pub fn check(data: &[u8]) -> Checked {
    let (&backend, calls) = data.split_first().unwrap_or((&0, &[]));
    let calls = calls.get(..3 * CALLS).unwrap_or(calls);
    let history = History::read(calls);
    let files = |format, index, reading| Files {
        format,
        options: OpenOptions::new().index(index).reading(reading),
    };
    let (map, read) = (Reading::Map, Reading::Read);
    let done = match backend % 8 {
        0 => history.run(&Memory),
        1 => history.run(&files(Format::PiV4, IndexMode::Auto, map)),
        2 => history.run(&files(Format::PiV4, IndexMode::Always, map)),
        3 => history.run(&files(Format::PiV3, IndexMode::Always, read)),
        4 => history.run(&files(Format::PiV3, IndexMode::Memory, map)),
        5 => history.run(&files(Format::CodebotV3, IndexMode::Always, map)),
        6 => history.run(&files(Format::CodebotV3, IndexMode::Auto, read)),
        _ => history.run(&files(Format::PiV4, IndexMode::Memory, read)),
    };
    done.map_err(|failure| failure.to_string())
}

/// Sessions in files.
struct Files {
    format: Format,
    options: OpenOptions,
}

impl Factory for Files {
    fn capabilities(&self) -> Capabilities {
        Capabilities::of(self.format)
    }

    fn fixture(&self) -> Result<Box<dyn Fixture>> {
        let folder = place::folder();
        Ok(Box::new(Folder {
            folder: folder.expect("a temporary folder"),
            options: self.options.clone(),
        }))
    }
}

struct Folder {
    folder: TempDir,
    options: OpenOptions,
}

impl Fixture for Folder {
    fn repository(&self) -> Result<Box<dyn SessionRepository>> {
        let repository = Repository::new(self.folder.path());
        Ok(Box::new(repository.with_options(self.options.clone())))
    }

    fn folder(&self) -> Option<PathBuf> {
        Some(self.folder.path().to_owned())
    }
}

/// Sessions in memory.
struct Memory;

impl Factory for Memory {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            persistent: false,
            ..Capabilities::of(Format::PiV4)
        }
    }

    fn fixture(&self) -> Result<Box<dyn Fixture>> {
        Ok(Box::new(Heap(MemoryRepository::new())))
    }
}

struct Heap(MemoryRepository);

impl Fixture for Heap {
    fn repository(&self) -> Result<Box<dyn SessionRepository>> {
        Ok(Box::new(self.0.clone()))
    }
}
