//! The conformance suite on every backend of the crate.

use std::path::PathBuf;

use leaflog::conformance::{Capabilities, Factory, Fixture, History};
use leaflog::{
    Format, IndexMode, MemoryRepository, OpenOptions, Reading, Repository, Result,
    SessionRepository, SqliteRepository,
};
use proptest::prelude::*;

/// Sessions in files, in one format and with one kind of index.
pub struct Files {
    format: Format,
    options: OpenOptions,
}

impl Files {
    fn of(format: Format) -> Self {
        Self {
            format,
            options: OpenOptions::new(),
        }
    }

    fn with(format: Format, index: IndexMode) -> Self {
        Self {
            format,
            options: OpenOptions::new().index(index),
        }
    }

    fn read(format: Format) -> Self {
        Self {
            format,
            options: OpenOptions::new().reading(Reading::Read),
        }
    }
}

impl Factory for Files {
    fn capabilities(&self) -> Capabilities {
        Capabilities::of(self.format)
    }

    fn fixture(&self) -> Result<Box<dyn Fixture>> {
        Ok(Box::new(Folder {
            folder: folder(),
            options: self.options.clone(),
        }))
    }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

struct Folder {
    folder: tempfile::TempDir,
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

/// Sessions in a database.
pub struct Sqlite;

impl Factory for Sqlite {
    fn capabilities(&self) -> Capabilities {
        Capabilities::of(Format::PiV4)
    }

    fn fixture(&self) -> Result<Box<dyn Fixture>> {
        Ok(Box::new(Database(folder())))
    }
}

struct Database(tempfile::TempDir);

impl Fixture for Database {
    fn repository(&self) -> Result<Box<dyn SessionRepository>> {
        let path = self.0.path().join("sessions.db");
        Ok(Box::new(SqliteRepository::open(path)?))
    }
}

/// Sessions in memory.
pub struct Memory;

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

leaflog::conformance_tests!(memory, Memory);
leaflog::conformance_tests!(sqlite, Sqlite);
leaflog::conformance_tests!(pi_v4_files, Files::of(Format::PiV4));
leaflog::conformance_tests!(pi_v3_files, Files::of(Format::PiV3));
leaflog::conformance_tests!(codebot_files, Files::of(Format::CodebotV3));
leaflog::conformance_tests!(
    pi_v4_files_with_sidecars,
    Files::with(Format::PiV4, IndexMode::Always)
);
leaflog::conformance_tests!(
    pi_v3_files_without_sidecars,
    Files::with(Format::PiV3, IndexMode::Memory)
);
leaflog::conformance_tests!(
    pi_v4_files_without_sidecars,
    Files::with(Format::PiV4, IndexMode::Memory)
);
leaflog::conformance_tests!(
    codebot_files_with_sidecars,
    Files::with(Format::CodebotV3, IndexMode::Always)
);
leaflog::conformance_tests!(pi_v4_files_read, Files::read(Format::PiV4));

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn random_histories_agree_with_the_model_on_every_backend(seed: u64, calls in 1..150_usize) {
        let history = History::new(seed, calls);
        history.run(&Memory).unwrap();
        history.run(&Sqlite).unwrap();
        for format in [Format::PiV4, Format::PiV3, Format::CodebotV3] {
            for index in [IndexMode::Auto, IndexMode::Always, IndexMode::Memory] {
                history.run(&Files::with(format, index)).unwrap();
            }
        }
    }
}
