//! One session in a file, and what it answers through its index.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, RwLock};
use serde::Serialize;

use super::output::Claim;
use super::state::State;
use super::writer::Writer;
use super::{Entry, Mutations, OpenOptions, SessionInfo, TreeNode, rules, tree};
use crate::contract::LaneView;
use crate::error::{Code, Error, Result};
use crate::index::{Answer, Class, Details, Trouble};
use crate::log::{Appender, LogFile};
use crate::model::{At, Format, Overview, Snapshot};
use crate::snapshot::{self, Source};

/// What opening a session did with its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum IndexState {
    /// The sidecar covers the log.
    Fresh,
    /// The log had grown; only what is new was read.
    Extended,
    /// The whole log was read, and the sidecar written anew.
    Rebuilt,
    /// The whole log was read; there is no sidecar.
    None,
}

/// What opening a session did with its index, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IndexStatus {
    /// What was done.
    pub state: IndexState,
    /// Why it was, in a sentence; none for a fresh index.
    pub reason: Option<String>,
    /// Lines of the log that were read to bring the index up to date.
    pub lines_read: u64,
    /// Bytes of the index.
    pub bytes: u64,
    /// The sidecar file, if there is one that is up to date.
    pub path: Option<PathBuf>,
}

/// Bytes that were looked at to give answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BytesRead {
    /// Of the log: what identifies it, and the entries that were asked for.
    pub log: u64,
    /// Of the index: headers and summary, and the blocks of its columns that were touched.
    pub index: u64,
}

/// A session in a file, open for reading or, with [`OpenOptions::write`], for writing.
///
/// Answers come from the log through the index: as it was when the session was opened or last
/// [refreshed](Self::refresh), and with all that was written through the session itself. A wrong
/// index is noticed, rebuilt, and the answer given from the rebuilt one. Any number of threads may
/// share a session; writes take turns.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("s.jsonl");
/// # std::fs::write(&path, concat!(
/// #   "{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"timestamp\":\"2026-07-14T09:00:00Z\",\"cwd\":\"/\"}\n",
/// #   "{\"type\":\"message\",\"id\":\"00000001\",\"parentId\":null,\"timestamp\":\"2026-07-14T09:00:01Z\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n")).unwrap();
/// use leaflog::{At, NewEntry, OpenOptions, Session, SessionStorage};
///
/// let session = Session::open(&path)?;
/// let snapshot = session.snapshot(At::Current)?;
/// assert_eq!(snapshot.messages.get(0), Some(r#"{"role":"user","content":"hi"}"#));
/// assert_eq!(session.path(At::Leaf("00000001"))?, ["00000001"]);
///
/// let writer = OpenOptions::new().write(true).open(&path)?;
/// let answer = r#"{"message":{"role":"assistant","content":[{"type":"text","text":"hello"}]}}"#;
/// let entry = writer.append_entry(NewEntry::new("message", answer), "main")?;
/// assert_eq!(entry.parent.as_deref(), Some("00000001"));
///
/// assert!(session.refresh()?);
/// assert_eq!(session.snapshot(At::Current)?.messages.len(), 2);
/// # Ok::<(), leaflog::Error>(())
/// ```
#[derive(Debug)]
pub struct Session {
    pub(super) inner: Arc<Inner>,
}

/// What a session shares with the thread that keeps its index.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) path: PathBuf,
    pub(super) options: OpenOptions,
    pub(super) state: RwLock<Arc<State>>,
    /// Held while a new state is made.
    pub(super) renewing: Mutex<()>,
    pub(super) writer: Option<Writer>,
    pub(super) closed: AtomicBool,
}

impl Session {
    /// Opens a session for reading, with the default options.
    ///
    /// # Errors
    ///
    /// As [`OpenOptions::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path.as_ref(), OpenOptions::new())
    }

    pub(super) fn open_with(path: &Path, options: OpenOptions) -> Result<Self> {
        // Locked first, so that nobody writes behind the state that is read.
        let lock = options.write.then(|| Appender::open(path, &options.disk));
        let lock = lock.transpose()?;
        Self::open_locked(path, options, lock)
    }

    /// Opens a session for writing whose file was just made and is still held.
    pub(super) fn open_held(path: &Path, options: OpenOptions, file: File) -> Result<Self> {
        let lock = Appender::held(file, path, &options.disk)?;
        Self::open_locked(path, options.write(true), Some(lock))
    }

    /// Opens for reading a log that is open already.
    pub(super) fn open_log(log: LogFile, options: OpenOptions) -> Result<Self> {
        let path = log.path().to_owned();
        let options = options.write(false);
        let state = State::open_log(log, &path, &options, None)?;
        Ok(Self::of(&path, options, state, None))
    }

    fn open_locked(path: &Path, options: OpenOptions, lock: Option<Appender>) -> Result<Self> {
        let state = State::open(path, &options, None)?;
        let writer = lock.map(|lock| Writer::start(lock, &state, options.durability));
        let writer = writer.transpose()?;
        Ok(Self::of(path, options, state, writer))
    }

    /// Opens a log that is no file.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn in_memory(log: Vec<u8>, options: OpenOptions) -> Result<Self> {
        let path = Path::new("a log in memory");
        let log = LogFile::in_memory(path, log);
        let state = State::built(log, &options, "the log is no file")?.check(&options, path)?;
        Ok(Self::of(path, options, state, None))
    }

    fn of(path: &Path, options: OpenOptions, state: State, writer: Option<Writer>) -> Self {
        Self {
            inner: Arc::new(Inner {
                path: path.to_owned(),
                options,
                state: RwLock::new(Arc::new(state)),
                renewing: Mutex::new(()),
                writer,
                closed: AtomicBool::new(false),
            }),
        }
    }

    /// A new session whose file, which starts with a header line, appears with its first message.
    pub(super) fn create_pending(
        path: &Path,
        header: &[u8],
        options: OpenOptions,
        claim: Claim,
    ) -> Result<Self> {
        let (writer, state) = Writer::pending(path, header, &options, claim)?;
        Ok(Self::of(path, options, state, Some(writer)))
    }

    /// One lane, for not naming it in every call.
    #[must_use]
    pub fn lane(&self, name: impl Into<String>) -> LaneView<'_> {
        LaneView::of(self, name)
    }

    /// The file beside the log that holds its torn last line, if this session has cut one off: it
    /// does so with its first write.
    #[must_use]
    pub fn torn_tail(&self) -> Option<PathBuf> {
        self.inner.torn_tail()
    }

    /// The log's path.
    #[must_use]
    pub fn log_path(&self) -> &Path {
        &self.inner.path
    }

    /// The log's format.
    #[must_use]
    pub fn format(&self) -> Format {
        self.state().index.format
    }

    /// The session's id; empty if salvage opened a file without a header.
    #[must_use]
    pub fn session_id(&self) -> String {
        self.state().index.summary.session_id.clone()
    }

    /// What was done with the index.
    #[must_use]
    pub fn index_status(&self) -> IndexStatus {
        self.state().status.clone()
    }

    /// The context that a harness resumes with.
    ///
    /// # Errors
    ///
    /// `invalid_entry` naming the break if the path is not whole, `not_found` for an unknown leaf,
    /// `invalid_lane` for an unknown lane, `unsupported` for a lane in a format without lanes.
    pub fn snapshot(&self, at: At<'_>) -> Result<Snapshot> {
        self.answer(|source| snapshot::take(source, at, false))
    }

    /// As [`snapshot`](Self::snapshot), but a broken path is cut at its break, and the snapshot says so.
    ///
    /// # Errors
    ///
    /// `not_found`, `invalid_lane` and `unsupported` as there.
    pub fn salvage(&self, at: At<'_>) -> Result<Snapshot> {
        self.answer(|source| snapshot::take(source, at, true))
    }

    /// The ids from the root to an entry.
    ///
    /// # Errors
    ///
    /// As [`snapshot`](Self::snapshot).
    pub fn path(&self, at: At<'_>) -> Result<Vec<String>> {
        self.answer(|source| snapshot::path(source, at, false))
    }

    /// As [`path`](Self::path), but a broken path is cut at its break.
    ///
    /// # Errors
    ///
    /// As [`salvage`](Self::salvage).
    pub fn salvage_path(&self, at: At<'_>) -> Result<Vec<String>> {
        self.answer(|source| snapshot::path(source, at, true))
    }

    /// The entry with an id.
    ///
    /// # Errors
    ///
    /// Only what reading the log may meet.
    pub fn entry(&self, id: &str) -> Result<Option<Entry>> {
        self.find(id, Class::Entry)
    }

    /// The execution record with an id.
    ///
    /// # Errors
    ///
    /// Only what reading the log may meet.
    pub fn record(&self, id: &str) -> Result<Option<Entry>> {
        self.find(id, Class::Record)
    }

    fn find(&self, id: &str, class: Class) -> Result<Option<Entry>> {
        self.answer(|source| Entry::named(source, id, class))
    }

    /// All entries of the tree in file order, each id once, without their payloads.
    ///
    /// # Errors
    ///
    /// Only what reading the log may meet.
    pub fn tree(&self) -> Result<Vec<TreeNode>> {
        self.answer(tree::nodes)
    }

    /// All kept lines in the order of the file, read from the log and not from the index.
    ///
    /// # Errors
    ///
    /// Only what reading the log may meet; reading goes on while the iterator is used.
    pub fn mutations(&self) -> Result<Mutations> {
        self.inner.check_open()?;
        self.inner.catch_up()?;
        Ok(Mutations::of(self.state()))
    }

    /// How many entries have more than one child: how often the conversation went back.
    ///
    /// # Errors
    ///
    /// Only what reading the log may meet.
    pub fn branches(&self) -> Result<u64> {
        self.answer(tree::branches)
    }

    /// What a listing shows of the session.
    ///
    /// # Errors
    ///
    /// Only what reading the log may meet.
    pub fn info(&self) -> Result<SessionInfo> {
        SessionInfo::of(self)
    }

    /// How much of the log and of the index answers have touched since the session was opened.
    #[must_use]
    pub fn bytes_read(&self) -> BytesRead {
        let state = self.state();
        BytesRead {
            log: state.log.bytes_read(),
            index: state.index.bytes_checked(),
        }
    }

    /// What the session looks like from outside.
    ///
    /// # Errors
    ///
    /// Only what reading the log may meet.
    pub fn overview(&self) -> Result<Overview> {
        self.answer(|source| Ok(overview(source, &*source.index.details()?)))
    }

    /// Takes in what was appended since, or the new file if the log was replaced. True if anything changed.
    ///
    /// # Errors
    ///
    /// As [`OpenOptions::open`]; the session stays as it was then.
    pub fn refresh(&self) -> Result<bool> {
        let inner = &self.inner;
        inner.check_open()?;
        if inner.writer.is_some() {
            // Nobody else writes.
            let before = self.state().log.len();
            inner.catch_up()?;
            return Ok(self.state().log.len() != before);
        }
        // One at a time: who opens the log later sees the later log.
        let _turn = inner.renewing.lock();
        let old = self.state();
        let new = State::open(&inner.path, &inner.options, Some(&old))?;
        let changed = new.log.len() != old.log.len() || new.log.identity() != old.log.identity();
        *inner.state.write() = Arc::new(new);
        Ok(changed)
    }

    pub(super) fn state(&self) -> Arc<State> {
        self.inner.state()
    }

    /// Asks the index; if it turns out wrong, rebuilds it and asks again.
    pub(super) fn answer<T>(&self, ask: impl Fn(Source<'_>) -> Answer<T>) -> Result<T> {
        self.inner.answer(ask)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // What could not be written is derived from the log; there is nobody to tell.
        let _ = self.inner.close();
    }
}

impl Inner {
    pub(super) fn state(&self) -> Arc<State> {
        Arc::clone(&self.state.read())
    }

    pub(super) fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Err(rules::closed().at_path(&self.path));
        }
        Ok(())
    }

    pub(super) fn answer<T>(&self, ask: impl Fn(Source<'_>) -> Answer<T>) -> Result<T> {
        self.check_open()?;
        self.catch_up()?;
        self.ask(ask)
    }

    /// As [`answer`](Self::answer), of what is indexed already.
    pub(super) fn ask<T>(&self, ask: impl Fn(Source<'_>) -> Answer<T>) -> Result<T> {
        let state = self.state();
        let answered = state.check_whole().and_then(|()| ask(state.source()));
        state.was_asked();
        match answered {
            Ok(answer) => return Ok(answer),
            Err(Trouble::Log(error)) => return Err(error.at_path(&self.path)),
            Err(Trouble::Index) => {}
        }
        let reason = "the index did not match the log where it was used";
        let turn = self.renewing.lock();
        let mut rebuilt = State::rebuild(&self.path, &self.options, reason)?;
        if self.writer.is_some()
            && !rebuilt.index.format.has_lanes()
            && rebuilt.log.len() == state.log.len()
        {
            // Nobody else writes, and no line says that the session was moved.
            rebuilt = rebuilt.standing_on(state.index.summary.last_entry.as_deref());
        }
        let state = Arc::new(rebuilt);
        *self.state.write() = Arc::clone(&state);
        drop(turn);
        ask(state.source()).map_err(|trouble| match trouble {
            Trouble::Log(error) => error.at_path(&self.path),
            Trouble::Index => Error::new(
                Code::Storage,
                "the log changed while it was read; try again",
            )
            .at_path(&self.path),
        })
    }
}

fn overview(source: Source<'_>, details: &Details) -> Overview {
    let (summary, format) = (&source.index.summary, source.index.format);
    let lane_leaf = || {
        summary
            .lanes
            .iter()
            .find(|lane| lane.name == "main")
            .and_then(|lane| lane.leaf.clone())
    };
    let header_updated = match format {
        Format::CodebotV3 => None,
        _ => summary.created,
    };
    Overview {
        format,
        session_id: summary.session_id.clone(),
        cwd: summary.cwd.clone(),
        created: summary.created,
        parent: summary.parent.clone(),
        name: match format {
            Format::CodebotV3 if !summary.named => {
                summary.header_name.clone().filter(|name| !name.is_empty())
            }
            _ => summary.name.clone(),
        },
        leaf: if format.has_lanes() {
            lane_leaf()
        } else {
            summary.last_entry.clone()
        },
        lanes: summary
            .lanes
            .iter()
            .map(|lane| (lane.name.clone(), lane.leaf.clone()))
            .collect(),
        labels: details.labels.clone(),
        open_operations: details.open.clone(),
        stats: summary.stats(),
        entries: summary.entries,
        records: summary.records,
        lines: summary.lines,
        bytes: source.log.len(),
        kinds: details.kinds.clone(),
        updated: summary.updated.or(header_updated),
        first_message: summary.first_message.clone(),
        reports: details.reports(),
        report_count: summary.report_count(),
    }
}
