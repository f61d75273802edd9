//! The sessions of a folder: codebot's side by side, pi's in one folder a working directory. Finds,
//! opens and lists them; how they are made and removed is in `create`, how they are named in `place`.

mod catalog;
mod contract;
mod create;
mod info;
mod listing;
mod place;
mod scan;

use std::path::{Path, PathBuf};

use super::{OpenOptions, Session};
use crate::error::{Code, Error, Result};
use crate::format::{claims_header, detect};
use crate::json::{Document, Grammar};
use crate::log::{Lines, LogFile, Reading, judge};
use crate::store::cwd::absolute;

#[cfg(feature = "fuzzing")]
pub(crate) use catalog::{sealed, told};
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

    /// All sessions, the most recently active first; none if there is no folder yet. A file that cannot
    /// be read is a warning. Takes no lock.
    ///
    /// What logs say is remembered in a catalog of the folder, so that the next listing opens only those
    /// that changed; what it does not open it gives no sidecar. With [`IndexMode::Memory`] there is no
    /// catalog, and every log is opened.
    ///
    /// [`IndexMode::Memory`]: crate::IndexMode::Memory
    ///
    /// # Errors
    ///
    /// `storage` if the folder itself cannot be read.
    pub fn list(&self) -> Result<Listing> {
        let mut listing = Listing::default();
        self.list_each(|found| match found {
            Ok(info) => listing.sessions.push(info),
            Err(error) => listing.warnings.push(error),
        })?;
        listing
            .sessions
            .sort_by(|one, other| (other.updated, &one.path).cmp(&(one.updated, &other.path)));
        listing
            .warnings
            .sort_by(|one, other| one.path().cmp(&other.path()));
        Ok(listing)
    }

    /// Hands out what [`list`](Self::list) lists, each session and each warning as soon as it is known
    /// and in no order: first what is remembered of the folder, then what has to be read.
    ///
    /// ```
    /// # let folder = tempfile::tempdir().unwrap();
    /// use leaflog::{CreateOptions, Repository, SessionStorage};
    ///
    /// let repository = Repository::new(folder.path());
    /// repository.create(&CreateOptions::in_folder("/work"))?.close()?;
    /// let mut titles = Vec::new();
    /// repository.list_each(|found| match found {
    ///     Ok(info) => titles.push(info.title),
    ///     Err(warning) => eprintln!("{warning}"),
    /// })?;
    /// assert_eq!(titles, [None]);
    /// # Ok::<(), leaflog::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list).
    pub fn list_each(&self, mut found: impl FnMut(Result<SessionInfo>)) -> Result<()> {
        listing::each(&self.folder, &self.options, &mut found)
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
        self.list()?
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
        let mut paths = scan::paths(&self.folder)?;
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
