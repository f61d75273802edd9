//! How the commands open a session: through its index, or by full replay where that was asked for.
//! The one place that turns options of the command line into those of the library.

use std::path::Path;

use leaflog::naive::{ReadOptions, Replay};
use leaflog::{
    At, IndexMode, IndexState, IndexStatus, OpenOptions, Overview, Result, Session, Snapshot,
};

use super::args::{Common, Opening};
use super::progress::{Progress, Spinner};

impl Common {
    /// The options of the library.
    pub(crate) fn options(&self) -> OpenOptions {
        let options = OpenOptions::new().strict(self.strict);
        match &self.index_dir {
            Some(folder) => options.index_dir(folder),
            None => options,
        }
    }
}

impl Opening {
    /// The options of the library.
    pub(crate) fn options(&self) -> OpenOptions {
        let options = self.common.options();
        if self.no_index {
            options.index(IndexMode::Memory)
        } else {
            options
        }
    }

    /// Opens a session; without a sidecar, its index lives in memory.
    pub(crate) fn session(&self, file: &Path, salvage: bool) -> Result<Session> {
        open(self.options().salvage(salvage), file)
    }

    /// Opens a session for writing, which takes the writer's lock of its log.
    pub(crate) fn writer(&self, file: &Path) -> Result<Session> {
        open(self.options().write(true), file)
    }

    /// Opens a session; without a sidecar, it is replayed.
    pub(crate) fn source(&self, file: &Path, salvage: bool) -> Result<Source> {
        if !self.no_index {
            return Ok(Source::Indexed(self.session(file, salvage)?));
        }
        let options = ReadOptions {
            strict: self.common.strict,
            salvage,
        };
        let _spinner = Spinner::new("reading the whole log");
        let replay = Replay::open(file, options)?;
        Ok(Source::Replayed(Box::new(replay)))
    }
}

/// Opens a session, showing progress where that takes long.
pub(crate) fn open(options: OpenOptions, file: &Path) -> Result<Session> {
    let progress = Progress::new("reading");
    let watched = progress.clone();
    let session = options
        .progress(move |done, total| watched.of(done, total))
        .open(file);
    progress.finish();
    session
}

/// A session that can be asked for its overview, snapshots and paths.
pub(crate) enum Source {
    /// Answers come through the index.
    Indexed(Session),
    /// Answers come from the whole log.
    Replayed(Box<Replay>),
}

impl Source {
    /// What the session looks like from outside.
    pub(crate) fn overview(&self) -> Result<Overview> {
        match self {
            Self::Indexed(session) => session.overview(),
            Self::Replayed(replay) => Ok(replay.overview()),
        }
    }

    /// The context at an entry.
    pub(crate) fn snapshot(&self, at: At<'_>, salvage: bool) -> Result<Snapshot> {
        match self {
            Self::Indexed(session) if salvage => session.salvage(at),
            Self::Indexed(session) => session.snapshot(at),
            Self::Replayed(replay) => replay.snapshot(at, salvage),
        }
    }

    /// What was done with the index.
    pub(crate) fn index(&self) -> IndexStatus {
        match self {
            Self::Indexed(session) => session.index_status(),
            Self::Replayed(_) => IndexStatus {
                state: IndexState::None,
                reason: Some("--no-index asks for the whole log to be read".to_owned()),
                lines_read: 0,
                bytes: 0,
                path: None,
            },
        }
    }
}
