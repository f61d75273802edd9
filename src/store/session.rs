//! One session, opened for reading: its index found, extended or rebuilt, and its answers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use serde::Serialize;

use super::{Entry, IndexMode, Mutations, OpenOptions, SessionInfo, TreeNode, tree};
use crate::error::{Code, Error, Result};
use crate::index::{
    Answer, Built, Class, Details, How, Index, Loaded, MOST_SEGMENTS, Sidecar, Trouble, Why, build,
    extend, is_suspicious, merge, same_bytes,
};
use crate::log::LogFile;
use crate::model::{At, Format, Overview, ReportCode, Snapshot};
use crate::snapshot::{self, Source};

/// Logs of less than this are read whole and get a sidecar only when asked.
const SMALL_LOG: u64 = 1 << 20;
/// A reader writes what it found beyond a sidecar if that is at least this part of the whole, so
/// that the cost of writing stays in proportion.
const WORTH_WRITING: u64 = 32;

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

#[derive(Debug)]
struct State {
    log: LogFile,
    index: Index,
    /// How many of the index's segments cover whole lines.
    whole: usize,
    status: IndexStatus,
}

/// A session, opened for reading.
///
/// Answers come from the log as it was when the session was opened or last
/// [refreshed](Self::refresh), through the index; a wrong index is noticed, rebuilt, and the answer
/// given from the rebuilt one. Any number of threads may share a session.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("s.jsonl");
/// # std::fs::write(&path, concat!(
/// #   "{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"timestamp\":\"2026-07-14T09:00:00Z\",\"cwd\":\"/\"}\n",
/// #   "{\"type\":\"message\",\"id\":\"00000001\",\"parentId\":null,\"timestamp\":\"2026-07-14T09:00:01Z\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n")).unwrap();
/// use leaflog::{At, Session};
///
/// let session = Session::open(&path)?;
/// let snapshot = session.snapshot(At::Current)?;
/// assert_eq!(snapshot.messages.get(0), Some(r#"{"role":"user","content":"hi"}"#));
/// assert_eq!(session.path(At::Leaf("00000001"))?, ["00000001"]);
/// # Ok::<(), leaflog::Error>(())
/// ```
#[derive(Debug)]
pub struct Session {
    path: PathBuf,
    options: OpenOptions,
    state: RwLock<Arc<State>>,
    /// Held while a new state is made.
    renewing: Mutex<()>,
}

impl Session {
    /// Opens a session with the default options.
    ///
    /// # Errors
    ///
    /// As [`OpenOptions::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path.as_ref(), OpenOptions::new())
    }

    pub(super) fn open_with(path: &Path, options: OpenOptions) -> Result<Self> {
        let state = State::open(path, &options, None)?;
        Ok(Self {
            path: path.to_owned(),
            options,
            state: RwLock::new(Arc::new(state)),
            renewing: Mutex::new(()),
        })
    }

    /// A new session whose file, which starts with a header line, appears with its first message.
    pub(super) fn create_pending(path: &Path, header: &[u8], options: OpenOptions) -> Result<Self> {
        std::fs::write(path, header).map_err(|e| Error::io("create it", path, e))?;
        Self::open_with(path, options)
    }

    /// The log's path.
    #[must_use]
    pub fn log_path(&self) -> &Path {
        &self.path
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
        self.answer(|source| {
            let slot = source.index.slot_of(source.log, id, class)?;
            slot.map(|slot| Entry::read(source, slot)).transpose()
        })
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
    /// Only what opening the log again may meet; reading goes on while the iterator is used.
    pub fn mutations(&self) -> Result<Mutations> {
        let state = self.state();
        Mutations::open(&self.path, state.index.format, self.options.salvage)
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
        // One at a time: who opens the log later sees the later log.
        let _turn = self.renewing.lock();
        let old = self.state();
        let new = State::open(&self.path, &self.options, Some(&old))?;
        let changed = new.log.len() != old.log.len() || new.log.identity() != old.log.identity();
        *self.state.write() = Arc::new(new);
        Ok(changed)
    }

    fn state(&self) -> Arc<State> {
        Arc::clone(&self.state.read())
    }

    /// Asks the index; if it turns out wrong, rebuilds it and asks again.
    pub(super) fn answer<T>(&self, ask: impl Fn(Source<'_>) -> Answer<T>) -> Result<T> {
        let state = self.state();
        state.log.check_not_truncated()?;
        match ask(Source {
            index: &state.index,
            log: &state.log,
        }) {
            Ok(answer) => return Ok(answer),
            Err(Trouble::Log(error)) => return Err(error.at_path(&self.path)),
            Err(Trouble::Index) => {}
        }
        let reason = "the index did not match the log where it was used";
        let turn = self.renewing.lock();
        let state = Arc::new(State::rebuild(&self.path, &self.options, reason)?);
        *self.state.write() = Arc::clone(&state);
        drop(turn);
        ask(Source {
            index: &state.index,
            log: &state.log,
        })
        .map_err(|trouble| match trouble {
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

/// The options as a build wants them.
pub(super) fn how<'p>(
    options: &OpenOptions,
    progress: Option<crate::index::Progress<'p>>,
) -> How<'p> {
    How {
        salvage: options.salvage,
        progress,
    }
}

impl State {
    fn open(path: &Path, options: &OpenOptions, old: Option<&Self>) -> Result<Self> {
        let log = LogFile::open(path, options.reading)?;
        let state = with_progress(options, log.len(), |how| {
            Self::load(log, path, options, how, old)
        })?;
        state.check(options, path)
    }

    fn load(
        log: LogFile,
        path: &Path,
        options: &OpenOptions,
        how: How<'_>,
        old: Option<&Self>,
    ) -> Result<Self> {
        if let Some(state) = old
            .map(|old| Self::go_on(&log, how, old))
            .transpose()?
            .flatten()
        {
            let (index, whole, status) = state;
            return Ok(Self {
                log,
                index,
                whole,
                status,
            });
        }
        if options.index == IndexMode::Memory {
            let built = build(&log, how)?;
            return Ok(Self::in_memory(log, built, "the index is kept in memory"));
        }
        let sidecar = Sidecar::of(path, options.index_dir.as_deref());
        let why = match sidecar.load(&log, options.reading)? {
            // Who wants to know of every damaged line needs the list of them.
            Ok(loaded) if options.strict && loaded.index.details().is_err() => {
                Why::Unusable("it is damaged".to_owned())
            }
            Ok(loaded) => match extend(&log, &loaded.index, how) {
                Ok(Some(built)) => {
                    return Ok(Self::extended(log, options, &sidecar, &loaded, built));
                }
                Ok(None) => {
                    Why::Unusable("new lines change what is known of earlier ones".to_owned())
                }
                Err(Trouble::Log(error)) => return Err(error.at_path(path)),
                Err(Trouble::Index) => Why::Unusable("it is damaged".to_owned()),
            },
            Err(why) => why,
        };
        let reason = match why {
            Why::Missing if log.len() < SMALL_LOG && options.index != IndexMode::Always => {
                let built = build(&log, how)?;
                return Ok(Self::in_memory(
                    log,
                    built,
                    "a log of less than 1 MiB gets a sidecar only when asked",
                ));
            }
            Why::Missing => "there was no sidecar".to_owned(),
            Why::Unusable(reason) => format!("the sidecar was not usable: {reason}"),
        };
        let built = build(&log, how)?;
        Ok(Self::rebuilt(log, options, &sidecar, built, reason))
    }

    /// Goes on from the index of an earlier state of the same file, if it only grew.
    fn go_on(
        log: &LogFile,
        how: How<'_>,
        old: &Self,
    ) -> Result<Option<(Index, usize, IndexStatus)>> {
        let segments = old.index.segments.get(..old.whole).unwrap_or_default();
        let Some(last) = segments.last() else {
            return Ok(None);
        };
        if log.len() < old.log.len() || !last.anchors_match(log)? {
            return Ok(None);
        }
        let Ok(summary) = last.summary() else {
            return Ok(None);
        };
        let index = Index::new(old.index.format, segments.to_vec(), summary);
        if is_suspicious(log, &last.header) && !matches!(same_bytes(&index, log)?, Ok(true)) {
            return Ok(None);
        }
        let built = match extend(log, &index, how) {
            Ok(Some(built)) => built,
            Ok(None) | Err(Trouble::Index) => return Ok(None),
            Err(Trouble::Log(error)) => return Err(error),
        };
        let built = built.merged();
        let grew = built.lines > 0;
        let status = IndexStatus {
            state: if grew {
                IndexState::Extended
            } else {
                old.status.state
            },
            reason: if grew {
                Some(grown(built.lines))
            } else {
                old.status.reason.clone()
            },
            lines_read: built.lines,
            bytes: built.index.bytes(),
            // What a refresh finds is not written; the next one who opens the session does that.
            path: old.status.path.clone().filter(|_| !grew),
        };
        Ok(Some((built.index, built.whole, status)))
    }

    fn rebuild(path: &Path, options: &OpenOptions, reason: &str) -> Result<Self> {
        let log = LogFile::open(path, options.reading)?;
        let state = with_progress(options, log.len(), |how| {
            let built = build(&log, how)?;
            if options.index == IndexMode::Memory {
                return Ok(Self::in_memory(log, built, reason));
            }
            let sidecar = Sidecar::of(path, options.index_dir.as_deref());
            if log.len() < SMALL_LOG && options.index != IndexMode::Always && !sidecar.exists() {
                return Ok(Self::in_memory(log, built, reason));
            }
            Ok(Self::rebuilt(
                log,
                options,
                &sidecar,
                built,
                reason.to_owned(),
            ))
        })?;
        state.check(options, path)
    }

    fn in_memory(log: LogFile, built: Built, reason: &str) -> Self {
        let status = IndexStatus {
            state: IndexState::None,
            reason: Some(reason.to_owned()),
            lines_read: built.lines,
            bytes: built.index.bytes(),
            path: None,
        };
        Self {
            log,
            index: built.index,
            whole: built.whole,
            status,
        }
    }

    fn rebuilt(
        log: LogFile,
        options: &OpenOptions,
        sidecar: &Sidecar,
        mut built: Built,
        reason: String,
    ) -> Self {
        let written = built
            .whole_index()
            .and_then(|index| sidecar.write(&index, &log));
        let mut status = IndexStatus {
            state: if written.is_some() {
                IndexState::Rebuilt
            } else {
                IndexState::None
            },
            reason: Some(match &written {
                Some(_) => reason,
                None if options.salvage && built.whole == 0 => {
                    "a log that is read without its header gets no sidecar".to_owned()
                }
                None if built.whole == 0 => {
                    "no line of the log can be indexed for good yet".to_owned()
                }
                None => format!("{reason}; a new one could not be written"),
            }),
            lines_read: built.lines,
            bytes: built.index.bytes(),
            path: written,
        };
        // What was just written is mapped, so that the memory it was made in is given back.
        if status.path.is_some()
            && let Ok(Ok(loaded)) = sidecar.load(&log, options.reading)
            && loaded.index.segments.len() == built.whole
        {
            built
                .index
                .segments
                .splice(..built.whole, loaded.index.segments);
            status.bytes = built.index.bytes();
        }
        Self {
            log,
            index: built.index,
            whole: built.whole,
            status,
        }
    }

    fn extended(
        log: LogFile,
        options: &OpenOptions,
        sidecar: &Sidecar,
        loaded: &Loaded,
        built: Built,
    ) -> Self {
        let new_slots = u64::from(built.index.slots() - loaded.index.slots());
        let is_much = new_slots * WORTH_WRITING >= u64::from(built.index.slots());
        let has_new = built.whole > loaded.index.segments.len();
        let asked = options.index == IndexMode::Always;
        let mut path = Some(loaded.path.clone());
        if (has_new && (asked || is_much)) || (loaded.vouched && !has_new) {
            let added = built
                .whole_index()
                .is_some_and(|index| sidecar.add(loaded, &index, &log));
            path = path.filter(|_| added || !has_new);
        } else if has_new {
            path = None;
        }
        let status = IndexStatus {
            state: if built.lines > 0 {
                IndexState::Extended
            } else {
                IndexState::Fresh
            },
            reason: (built.lines > 0).then(|| grown(built.lines)),
            lines_read: built.lines,
            bytes: built.index.bytes(),
            path,
        };
        Self {
            log,
            index: built.index,
            whole: built.whole,
            status,
        }
    }

    /// Refuses a damaged log if strict reading was asked for.
    fn check(self, options: &OpenOptions, path: &Path) -> Result<Self> {
        if !options.strict {
            return Ok(self);
        }
        let summary = &self.index.summary;
        let orphans_are_roots = matches!(
            self.index.format,
            Format::PiV1 | Format::PiV2 | Format::PiV3
        );
        let allowed = |code| orphans_are_roots && code == ReportCode::MissingParent;
        let refused = summary.report_count()
            - if orphans_are_roots {
                summary.count_of(ReportCode::MissingParent)
            } else {
                0
            };
        if refused == 0 {
            return Ok(self);
        }
        let details = self.index.details().unwrap_or_default();
        let first = details
            .reports()
            .into_iter()
            .find(|report| !allowed(report.code));
        Err(match first {
            Some(report) => {
                let code = report.code;
                Error::new(
                    Code::InvalidEntry,
                    format!(
                        "{code}: {}; tolerant reading goes on behind it",
                        report.detail
                    ),
                )
                .at_line(report.line, report.offset)
            }
            None => Error::new(
                Code::InvalidEntry,
                format!("{refused} lines are damaged; `verify` lists them"),
            ),
        }
        .at_path(path))
    }
}

fn grown(lines: u64) -> String {
    let plural = if lines == 1 { "" } else { "s" };
    format!("the log has {lines} more line{plural} than were indexed")
}

/// Runs something that may take long, with the caller's progress call behind it.
pub(super) fn with_progress<T>(
    options: &OpenOptions,
    total: u64,
    run: impl FnOnce(How<'_>) -> Result<T>,
) -> Result<T> {
    match &options.progress {
        None => run(how(options, None)),
        Some(call) => {
            let result = run(how(options, Some(&|done| call(done, total))));
            call(total, total);
            result
        }
    }
}

impl Built {
    /// With few segments, for sessions that are refreshed often. An index that cannot be merged is
    /// damaged, which the next answer notices.
    fn merged(mut self) -> Self {
        if let Some(whole) = self
            .whole_index()
            .filter(|whole| whole.segments.len() > MOST_SEGMENTS)
            && let Ok(merged) = merge(&whole)
        {
            let count = merged.segments.len();
            self.index.segments.splice(..self.whole, merged.segments);
            self.whole = count;
        }
        self
    }

    /// The part of the index that covers whole lines, if there is one.
    fn whole_index(&self) -> Option<Index> {
        let segments = self
            .index
            .segments
            .get(..self.whole)
            .filter(|segments| !segments.is_empty())?;
        Some(self.index.with_segments(segments.to_vec()))
    }
}
