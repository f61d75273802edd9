//! Ways from a session on the disk to the messages of its context.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use leaflog::{Messages, Snapshot};
use serde::{Deserialize, Serialize};
use simd_json::OwnedValue;
use simd_json::prelude::*;

use crate::support::replay::{Replay, fits};
use crate::support::sqlite::{Store, Synchronous};
use crate::support::{self, child, system};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contender {
    Leaflog,
    Sqlite,
    SimdJson,
    SerdeJson,
}

/// What resuming gave, with all that is held to go on from there.
pub enum Resumed {
    Leaflog(Box<Snapshot>),
    Sqlite(Messages),
    SimdJson(Replay<OwnedValue>),
    SerdeJson(Replay<serde_json::Value>),
}

/// What a process that resumed tells.
#[derive(Serialize, Deserialize)]
pub struct Told {
    pub private: Option<u64>,
    /// Of the messages.
    pub hash: u64,
}

impl Contender {
    pub const ALL: [Self; 4] = [Self::Leaflog, Self::Sqlite, Self::SimdJson, Self::SerdeJson];

    pub fn name(self) -> &'static str {
        match self {
            Self::Leaflog => "leaflog",
            Self::Sqlite => "SQLite",
            Self::SimdJson => "full replay, simd-json",
            Self::SerdeJson => "full replay, serde_json",
        }
    }

    /// Whether the machine has room for what it does with a log of so many bytes.
    pub fn fits(self, bytes: u64) -> bool {
        !self.is_replay() || fits(bytes)
    }

    /// Whether it reads all of the log each time.
    pub fn is_replay(self) -> bool {
        matches!(self, Self::SimdJson | Self::SerdeJson)
    }

    /// Makes what it needs: the file that it resumes from, and whether anything was to be made.
    pub fn prepare(self, log: &Path, database: &Path) -> (PathBuf, bool) {
        match self {
            Self::Leaflog => {
                support::index(log);
                (log.to_owned(), true)
            }
            Self::Sqlite => {
                let mut store = Store::open(database, Synchronous::Off);
                store.fill(log);
                (database.to_owned(), true)
            }
            Self::SimdJson | Self::SerdeJson => (log.to_owned(), false),
        }
    }

    pub fn resume(self, file: &Path) -> Resumed {
        match self {
            Self::Leaflog => Resumed::Leaflog(Box::new(support::resume(file).0)),
            Self::Sqlite => Resumed::Sqlite(Store::open(file, Synchronous::Off).resume()),
            Self::SimdJson => Resumed::SimdJson(Replay::of(file)),
            Self::SerdeJson => Resumed::SerdeJson(Replay::of(file)),
        }
    }

    pub fn in_own_process(self, file: &Path) -> Told {
        child::run(&[self.name().as_ref(), file.as_os_str()])
    }
}

/// The inside of such a process: a contender and its file.
pub fn in_a_process(arguments: &[String]) {
    let [name, file] = arguments else {
        panic!("expected a contender and a file, found {arguments:?}");
    };
    let contender = Contender::ALL.into_iter().find(|one| one.name() == name);
    let resumed = contender.expect("a contender").resume(Path::new(file));
    // While everything is held.
    let private = system::private_memory();
    let mut hasher = DefaultHasher::new();
    resumed.canonical().hash(&mut hasher);
    child::answer(&Told {
        private,
        hash: hasher.finish(),
    });
}

impl Resumed {
    /// How many messages there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Leaflog(snapshot) => snapshot.messages.len(),
            Self::Sqlite(messages) => messages.len(),
            Self::SimdJson(replay) => replay.messages.len(),
            Self::SerdeJson(replay) => replay.messages.len(),
        }
    }

    /// The messages in one spelling, whoever gives them.
    pub fn canonical(&self) -> Vec<String> {
        match self {
            Self::Leaflog(snapshot) => snapshot.messages.iter().map(canonical).collect(),
            Self::Sqlite(messages) => messages.iter().map(canonical).collect(),
            Self::SimdJson(replay) => {
                let texts = replay.messages.iter().map(OwnedValue::encode);
                texts.map(|text| canonical(&text)).collect()
            }
            Self::SerdeJson(replay) => {
                let texts = replay.messages.iter().map(ToString::to_string);
                texts.collect()
            }
        }
    }
}

/// As serde_json prints it, its keys in order.
fn canonical(text: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(text).expect("valid");
    value.to_string()
}
