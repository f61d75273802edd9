//! The sessions of a folder: codebot's side by side, pi's in one folder a working directory.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::Serialize;

use super::{OpenOptions, Session};
use crate::error::{Code, Error, Result};
use crate::model::Format;

/// What a listing shows of a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SessionInfo {
    /// The session's id.
    pub id: String,
    /// The log file, or the database; none for a session in memory.
    pub path: Option<PathBuf>,
    /// Its format.
    pub format: Format,
    /// The working directory that the header names.
    pub cwd: Option<String>,
    /// The session's name.
    pub name: Option<String>,
    /// The name, or else the first user message, cut to 80 characters.
    pub title: Option<String>,
    /// The parent session: an id or a path.
    pub parent: Option<String>,
    /// When it was made, in milliseconds since 1970.
    pub created: Option<i64>,
    /// When it was last active, in milliseconds since 1970.
    pub updated: Option<i64>,
    /// Message entries.
    pub message_count: u64,
    /// Bytes of the log.
    pub bytes: u64,
    /// Whether there was damage to read around.
    pub damaged: bool,
}

impl SessionInfo {
    pub(super) fn of(session: &Session) -> Result<Self> {
        let path = session.log_path().to_owned();
        let overview = session.overview()?;
        let modified = || {
            let time = std::fs::metadata(&path).ok()?.modified().ok()?;
            i64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
        };
        Ok(Self {
            id: overview.session_id,
            format: overview.format,
            cwd: overview.cwd,
            title: overview
                .name
                .clone()
                .filter(|name| !name.is_empty())
                .or(overview.first_message),
            name: overview.name,
            parent: overview.parent,
            created: overview.created,
            updated: overview.updated.or(overview.created).or_else(modified),
            message_count: overview.stats.message_count,
            bytes: overview.bytes,
            damaged: overview.report_count > 0,
            path: Some(path),
        })
    }
}

/// The sessions that were found, and the files that could not be read.
#[derive(Debug, Default)]
pub struct Listing {
    /// Sessions, the most recently active first.
    pub sessions: Vec<SessionInfo>,
    /// What went wrong with other files; no reason to stop.
    pub warnings: Vec<Error>,
}

/// A folder of sessions.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # std::fs::write(folder.path().join("2026_s1.jsonl"), "{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"timestamp\":\"2026-07-14T09:00:00Z\",\"cwd\":\"/\"}\n").unwrap();
/// use leaflog::Repository;
///
/// let repository = Repository::new(folder.path());
/// assert_eq!(repository.list()?.sessions.len(), 1);
/// assert_eq!(repository.open("s1")?.session_id(), "s1");
/// assert_eq!(repository.most_recent()?.unwrap().session_id(), "s1");
/// # Ok::<(), leaflog::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Repository {
    folder: PathBuf,
    options: OpenOptions,
}

impl Repository {
    /// The sessions in a folder and in the folders right inside it.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            options: OpenOptions::new(),
        }
    }

    /// How its sessions are opened.
    #[must_use]
    pub fn with_options(mut self, options: OpenOptions) -> Self {
        self.options = options;
        self
    }

    /// All sessions, the most recently active first. A file that cannot be read is a warning.
    ///
    /// # Errors
    ///
    /// `not_found` or `storage` if the folder itself cannot be read.
    pub fn list(&self) -> Result<Listing> {
        let mut listing = Listing::default();
        for path in self.logs(&mut listing.warnings)? {
            let session = self.options.open(&path);
            match session.and_then(|session| session.info()) {
                Ok(info) => listing.sessions.push(info),
                Err(error) => listing.warnings.push(error.at_path(&path)),
            }
        }
        listing
            .sessions
            .sort_by(|one, other| (other.updated, &one.path).cmp(&(one.updated, &other.path)));
        Ok(listing)
    }

    /// The session that was active last, if there is any.
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list).
    pub fn most_recent(&self) -> Result<Option<Session>> {
        let listing = self.list()?;
        listing
            .sessions
            .first()
            .and_then(|info| info.path.as_ref())
            .map(|path| self.options.open(path))
            .transpose()
    }

    /// The session with an id.
    ///
    /// # Errors
    ///
    /// `not_found` if the folder has none with this id; else as [`OpenOptions::open`].
    pub fn open(&self, id: &str) -> Result<Session> {
        let mut warnings = Vec::new();
        let mut paths = self.logs(&mut warnings)?;
        // Both systems end a file's name with the id; others are asked what they say of themselves.
        let by_name = |path: &PathBuf| {
            let stem = path
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned())
                .unwrap_or_default();
            !(stem == id || stem.ends_with(&format!("_{id}")))
        };
        paths.sort_by_key(by_name);
        for path in paths {
            if let Ok(session) = self.options.open(&path)
                && session.session_id() == id
            {
                return Ok(session);
            }
        }
        let message =
            format!("no session with the id `{id}` in this folder; `list` shows those there are");
        Err(Error::new(Code::NotFound, message).at_path(&self.folder))
    }

    /// The files that should be sessions: `*.jsonl` in the folder and one level below.
    fn logs(&self, warnings: &mut Vec<Error>) -> Result<Vec<PathBuf>> {
        let mut logs = Vec::new();
        let mut folders = Vec::new();
        collect(&self.folder, &mut logs, Some(&mut folders))
            .map_err(|e| Error::io("list it", &self.folder, e))?;
        folders.sort();
        for folder in folders {
            if let Err(error) = collect(&folder, &mut logs, None) {
                warnings.push(Error::io("list it", &folder, error));
            }
        }
        logs.sort();
        Ok(logs)
    }
}

fn collect(
    folder: &Path,
    logs: &mut Vec<PathBuf>,
    mut folders: Option<&mut Vec<PathBuf>>,
) -> std::io::Result<()> {
    for item in std::fs::read_dir(folder)? {
        let item = item?;
        let path = item.path();
        let is_log = path
            .extension()
            .is_some_and(|extension| extension == "jsonl");
        if is_log {
            // Opening tells whether it is a file; a folder of such a name gets a warning there.
            logs.push(path);
        } else if let Some(folders) = folders.as_deref_mut()
            && item.file_type()?.is_dir()
        {
            folders.push(path);
        }
    }
    Ok(())
}
