//! The sessions of a folder: codebot's side by side, pi's in one folder a working directory. Finds,
//! opens and lists them; how they are made and removed is in `create`, how they are named in `place`.

mod contract;
mod create;
mod info;
mod place;

use std::path::{Path, PathBuf};

use super::{OpenOptions, Session};
use crate::error::{Code, Error, Result};
use crate::format::{claims_header, detect};
use crate::json::{Document, Grammar};
use crate::log::{Lines, LogFile, Reading, judge};
use crate::store::cwd::absolute;

pub use info::{Listing, SessionInfo};
pub(super) use place::names as id_in_name;

/// A folder of sessions.
///
/// New sessions stand where the program of their format looks for them: those of codebot in
/// `YYYY-MM-DD_<id>.jsonl`, those of pi in a folder for their working directory, in
/// `<time>_<id>.jsonl`. Files are for the user alone (mode 0600, folders 0700).
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// use leaflog::{CreateOptions, ForkScope, Repository};
///
/// let repository = Repository::new(folder.path());
/// let options = CreateOptions { id: Some("s1".to_owned()), ..CreateOptions::in_folder("/work") };
/// assert_eq!(repository.create(&options)?.session_id(), "s1");
/// assert_eq!(repository.create(&options).unwrap_err().code(), leaflog::Code::AlreadyExists);
///
/// assert_eq!(repository.open_read_only("s1")?.session_id(), "s1");
/// assert_eq!(repository.most_recent_read_only()?.unwrap().session_id(), "s1");
/// assert_eq!(repository.list_in("/work")?.sessions.len(), 1);
///
/// let fork = repository.fork("s1", &ForkScope::Tree, &CreateOptions::default())?;
/// assert_eq!(fork.overview()?.parent.as_deref(), Some("s1"));
/// repository.delete("s1")?;
/// assert_eq!(repository.list()?.sessions.len(), 1);
/// # Ok::<(), leaflog::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Repository {
    folder: PathBuf,
    options: OpenOptions,
}

impl Repository {
    /// The sessions in a folder and in the folders right inside it. The folder need not exist; the
    /// first session that is made makes it.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            options: OpenOptions::new(),
        }
    }

    /// How its sessions are opened. Whether for reading or for writing is up to each call.
    #[must_use]
    pub fn with_options(mut self, options: OpenOptions) -> Self {
        self.options = options;
        self
    }

    /// All sessions, the most recently active first. A file that cannot be read is a warning. Takes
    /// no lock.
    ///
    /// # Errors
    ///
    /// `not_found` or `storage` if the folder itself cannot be read.
    pub fn list(&self) -> Result<Listing> {
        let mut listing = Listing::default();
        let options = self.options.clone().write(false);
        for path in self.logs(&mut listing.warnings)? {
            let session = options.open(&path);
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

    /// The sessions of a working directory, by what their headers say; else as [`list`](Self::list).
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list), and `invalid_payload` for what can be no path.
    pub fn list_in(&self, cwd: &str) -> Result<Listing> {
        let absolute = absolute(cwd)?;
        let mut listing = self.list()?;
        listing.sessions.retain(|info| {
            let own = info.cwd.as_deref();
            own == Some(cwd) || own == Some(&absolute)
        });
        Ok(listing)
    }

    /// The session that was active last, opened for writing, if there is any.
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list) and [`open`](Self::open).
    pub fn most_recent(&self) -> Result<Option<Session>> {
        self.recent(true)
    }

    /// The session that was active last, opened for reading, if there is any.
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list) and [`open_read_only`](Self::open_read_only).
    pub fn most_recent_read_only(&self) -> Result<Option<Session>> {
        self.recent(false)
    }

    fn recent(&self, write: bool) -> Result<Option<Session>> {
        let listing = match self.list() {
            // Where there is no folder there is no session.
            Err(error) if error.code() == Code::NotFound => return Ok(None),
            listing => listing?,
        };
        listing
            .sessions
            .first()
            .and_then(|info| info.path.as_ref())
            .map(|path| self.options.clone().write(write).open(path))
            .transpose()
    }

    /// The session with an id, opened for writing.
    ///
    /// # Errors
    ///
    /// `not_found` if the folder has none with this id, `locked` if another writer has it; else as
    /// [`OpenOptions::open`].
    pub fn open(&self, id: &str) -> Result<Session> {
        self.open_path(self.find(id)?)
    }

    /// The session with an id, opened for reading, whoever writes it.
    ///
    /// # Errors
    ///
    /// `not_found` if the folder has none with this id; else as [`OpenOptions::open`].
    pub fn open_read_only(&self, id: &str) -> Result<Session> {
        self.options.clone().write(false).open(self.find(id)?)
    }

    /// The session in a file, opened for writing; it need not stand in the folder.
    ///
    /// # Errors
    ///
    /// As [`OpenOptions::open`].
    pub fn open_path(&self, path: impl AsRef<Path>) -> Result<Session> {
        self.options.clone().write(true).open(path)
    }

    /// The file whose header has an id.
    fn find(&self, id: &str) -> Result<PathBuf> {
        let mut warnings = Vec::new();
        let mut paths = self.logs(&mut warnings)?;
        // Both systems end a file's name with the id; others are asked what they say of themselves.
        paths.sort_by_key(|path| !place::may_name(path, id));
        paths
            .into_iter()
            .find(|path| header_id(path).as_deref() == Some(id))
            .ok_or_else(|| {
                let message = format!(
                    "no session with the id `{id}` in this folder; `list` shows those there are"
                );
                Error::new(Code::NotFound, message).at_path(&self.folder)
            })
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

/// The session's id by the header of a log, without reading more of it than that.
pub(super) fn header_id(path: &Path) -> Option<String> {
    let log = LogFile::open(path, Reading::Read).ok()?;
    let mut lines = Lines::from(&log, 0);
    while let Some((line, bytes)) = lines.next().ok()? {
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        let judged = judge(bytes, line.terminated, |document| {
            claims_header(document.root())
        });
        if let Some(object) = judged.objects.into_iter().next() {
            let document = Grammar::parse(bytes.get(object)?).ok()?;
            let (_, header) = detect(document.root()).ok()?;
            return Some(header.session_id);
        }
    }
    None
}
