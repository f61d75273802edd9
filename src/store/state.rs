//! A log and its index as they were at one moment: how an index is found, extended, rebuilt and
//! written. Sessions hold one and replace it whole.

use std::path::Path;
use std::sync::Arc;

use super::{IndexMode, IndexState, IndexStatus, OpenOptions};
use crate::error::{Code, Error, Result};
use crate::format::now_nanos;
use crate::index::{
    Answer, Built, How, Index, Loaded, MOST_SEGMENTS, OnDisk, Sidecar, Trouble, Why, build, extend,
    is_suspicious, merge, same_bytes,
};
use crate::log::{LogFile, Looks, Reading};
use crate::model::ReportCode;
use crate::snapshot::Source;

/// Logs of less than this are read whole and get a sidecar only when asked.
pub(super) const SMALL_LOG: u64 = 1 << 20;
/// Appends after which the index of a writing session follows on its own, at the least.
pub(super) const FOLLOW_SLOTS: u64 = 4096;
/// A reader writes what it found beyond a sidecar if that is at least this part of the whole, so
/// that the cost of writing stays in proportion.
pub(super) const WORTH_WRITING: u64 = 32;

#[derive(Debug)]
pub(super) struct State {
    /// Shared with the states that differ in their index only.
    pub(super) log: Arc<LogFile>,
    pub(super) index: Index,
    /// How many of the index's segments cover whole lines.
    whole: usize,
    pub(super) status: IndexStatus,
    /// The sidecar, if there is one that the index went on from.
    disk: Option<OnDisk>,
    /// When the two files were last found to have all that is mapped of them.
    looks: Looks,
}

/// The options as a build wants them.
pub(super) fn how<'p>(
    options: &OpenOptions,
    progress: Option<crate::index::Progress<'p>>,
) -> How<'p> {
    How {
        salvage: options.salvage,
        strict: options.strict,
        progress,
        own: false,
    }
}

impl State {
    pub(super) fn source(&self) -> Source<'_> {
        Source {
            index: &self.index,
            log: &self.log,
        }
    }

    /// Looks whether the log and the sidecar still have all that is mapped of them; in a run of
    /// answers now and then only.
    pub(super) fn check_whole(&self) -> Answer<()> {
        self.looks.look(now_nanos(), || {
            self.log.check_not_truncated()?;
            self.index.is_whole().then_some(()).ok_or(Trouble::Index)
        })
    }

    /// An answer was given, so that the next one may be of the same run.
    pub(super) fn was_asked(&self) {
        self.looks.used(now_nanos());
    }

    /// The state of a log that is read whole and gets no sidecar.
    pub(super) fn built(log: LogFile, options: &OpenOptions, reason: &str) -> Result<Self> {
        let built = build(&log, how(options, None))?;
        Ok(Self::in_memory(log, built, reason))
    }

    /// The state after the writer of the log appended to it. All it wrote are whole lines.
    pub(super) fn grown(&self, len: u64, options: &OpenOptions) -> Result<Self> {
        let log = self.log.grown(len, options.reading)?;
        let whole = self.index.segments.get(..self.whole).unwrap_or_default();
        let known = whole
            .last()
            .filter(|_| self.index.is_whole())
            .and_then(|last| last.summary().ok());
        if let Some(summary) = known {
            let index = Index::new(self.index.format, whole.to_vec(), summary);
            let how = How {
                // An unfinished last line was somebody else's.
                own: self.whole == self.index.segments.len(),
                ..how(options, None)
            };
            match extend(&log, &index, how) {
                Ok(Some(built)) => {
                    let built = built.merged();
                    return Ok(Self {
                        log: Arc::new(log),
                        status: IndexStatus {
                            bytes: built.index.bytes(),
                            ..self.status.clone()
                        },
                        index: built.index,
                        whole: built.whole,
                        disk: self.disk.clone(),
                        looks: Looks::default(),
                    });
                }
                Ok(None) | Err(Trouble::Index) => {}
                Err(Trouble::Log(error)) => return Err(error),
            }
        }
        Ok(Self {
            disk: self.disk.clone(),
            ..Self::built(log, options, "new lines changed what others mean")?
        })
    }

    /// The same state with the conversation standing on another entry, which no line says.
    pub(super) fn standing_on(&self, leaf: Option<&str>) -> Self {
        let mut index = self.index.clone();
        let mut summary = (*index.summary).clone();
        summary.last_entry = leaf.map(str::to_owned);
        index.summary = Arc::new(summary);
        Self {
            log: Arc::clone(&self.log),
            index,
            whole: self.whole,
            status: self.status.clone(),
            disk: self.disk.clone(),
            looks: Looks::default(),
        }
    }

    /// Whether whole lines are indexed that the sidecar does not cover. Not all of them have slots:
    /// lanes and facts have none.
    pub(super) fn is_ahead(&self) -> bool {
        let written = self.disk.as_ref().map_or(0, OnDisk::log_end);
        let whole = self.index.segments.get(..self.whole).unwrap_or_default();
        whole
            .last()
            .is_some_and(|last| last.header.log_end > written)
    }

    /// The same state with its index in a sidecar, if it is to have one and that is possible.
    pub(super) fn written(&self, path: &Path, options: &OpenOptions) -> Option<Self> {
        let always = options.index == IndexMode::Always;
        // A log that is gone gets no sidecar where it was.
        if options.index == IndexMode::Memory
            || self.whole == 0
            || !self.index.is_whole()
            || !self.log.is_in_place()
            || (self.disk.is_none() && self.log.len() < SMALL_LOG && !always)
        {
            return None;
        }
        let sidecar = Sidecar::of(path, options.index_dir.as_deref());
        let segments = self.index.segments.get(..self.whole)?.to_vec();
        let index = self.index.with_segments(segments);
        let added = self
            .disk
            .as_ref()
            .and_then(|old| Sidecar::add(&options.disk, old, &index, &self.log));
        let disk = match added {
            Some(disk) => disk,
            // Somebody else wrote it meanwhile, or it is the first one.
            None => sidecar.write(&options.disk, &index, &self.log)?,
        };
        // From now on the index is what stands in the file: where that is mapped, the memory it was
        // made in is given back, and where it was written anew its frames are others.
        let is_other = !disk.has(&index.segments);
        let mut index = self.index.clone();
        let mut whole = self.whole;
        if options.reading == Reading::Map || is_other {
            let segments = disk.segments(options.reading)?;
            let count = segments.len();
            index.segments.splice(..whole, segments);
            whole = count;
        }
        let status = IndexStatus {
            path: Some(disk.path.clone()),
            bytes: index.bytes(),
            ..self.status.clone()
        };
        Some(Self {
            log: Arc::clone(&self.log),
            index,
            whole,
            status,
            disk: Some(disk),
            looks: Looks::default(),
        })
    }

    pub(super) fn open(path: &Path, options: &OpenOptions, old: Option<&Self>) -> Result<Self> {
        Self::open_log(LogFile::open(path, options.reading)?, path, options, old)
    }

    /// The same for a log that is open already.
    pub(super) fn open_log(
        log: LogFile,
        path: &Path,
        options: &OpenOptions,
        old: Option<&Self>,
    ) -> Result<Self> {
        let state = with_progress(options, log.len(), |how| {
            Self::load(log, path, options, how, old)
        })?;
        state.check(options, path)
    }

    /// The state of a log up to a length that it has: what may stand behind that was not acknowledged.
    pub(super) fn open_to(path: &Path, options: &OpenOptions, len: u64) -> Result<Self> {
        let log = LogFile::open(path, options.reading)?.grown(len, options.reading)?;
        Self::load(log, path, options, how(options, None), None)?.check(options, path)
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
                log: Arc::new(log),
                index,
                whole,
                status,
                disk: old.and_then(|old| old.disk.clone()),
                looks: Looks::default(),
            });
        }
        if options.index == IndexMode::Memory {
            let built = build(&log, how)?;
            return Ok(Self::in_memory(log, built, "the index is kept in memory"));
        }
        let sidecar = Sidecar::of(path, options.index_dir.as_deref());
        let why = match sidecar.load(&log, options.reading)? {
            // Who wants to know of every damaged line needs the list of them, and who writes has to
            // know which operations are open.
            Ok(loaded)
                if (options.strict || (options.write && loaded.index.format.has_lanes()))
                    && loaded.index.details().is_err() =>
            {
                Why::Unusable("it is damaged".to_owned())
            }
            Ok(loaded) => match extend(&log, &loaded.index, how) {
                Ok(Some(built)) => {
                    return Ok(Self::extended(log, options, &loaded, built));
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
        let is_cut = !old.index.is_whole() || log.len() < old.log.len();
        if is_cut || !last.anchors_match(log)? {
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

    pub(super) fn rebuild(path: &Path, options: &OpenOptions, reason: &str) -> Result<Self> {
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
            log: Arc::new(log),
            index: built.index,
            whole: built.whole,
            status,
            disk: None,
            looks: Looks::default(),
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
            .and_then(|index| sidecar.write(&options.disk, &index, &log));
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
            path: written.as_ref().map(|disk| disk.path.clone()),
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
            log: Arc::new(log),
            index: built.index,
            whole: built.whole,
            status,
            disk: written,
            looks: Looks::default(),
        }
    }

    fn extended(log: LogFile, options: &OpenOptions, loaded: &Loaded, built: Built) -> Self {
        let new_slots = u64::from(built.index.slots() - loaded.index.slots());
        let is_much = new_slots * WORTH_WRITING >= u64::from(built.index.slots());
        let has_new = built.whole > loaded.index.segments.len();
        let asked = options.index == IndexMode::Always;
        let mut path = Some(loaded.disk.path.clone());
        let mut disk = Some(loaded.disk.clone());
        if (has_new && (asked || is_much)) || (loaded.vouched && !has_new) {
            let added = built
                .whole_index()
                .and_then(|index| Sidecar::add(&options.disk, &loaded.disk, &index, &log));
            path = path.filter(|_| added.is_some() || !has_new);
            disk = added.or(disk);
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
            log: Arc::new(log),
            index: built.index,
            whole: built.whole,
            status,
            disk,
            looks: Looks::default(),
        }
    }

    /// Refuses a damaged log if strict reading was asked for.
    pub(super) fn check(self, options: &OpenOptions, path: &Path) -> Result<Self> {
        if options.strict {
            refuse_damage(&self.index, path)?;
        }
        Ok(self)
    }
}

/// What strict reading says of a damaged log.
pub(super) fn refuse_damage(index: &Index, path: &Path) -> Result<()> {
    let orphans_are_roots = index.format.orphans_are_roots();
    let allowed = |code| orphans_are_roots && code == ReportCode::MissingParent;
    let summary = &index.summary;
    let refused = summary.report_count()
        - if orphans_are_roots {
            summary.count_of(ReportCode::MissingParent)
        } else {
            0
        };
    if refused == 0 {
        return Ok(());
    }
    let details = index.details().unwrap_or_default();
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
