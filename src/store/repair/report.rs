//! What a repair says of itself: the copy that it made, and each thing that it mended. Plain values
//! for whoever asked for the repair; nothing here reads or writes.

use std::path::PathBuf;

use serde::Serialize;

use crate::model::{Format, MAX_REPORTS};

/// A cleaned copy of a log, and what had to be mended for it.
///
/// The lines of the copy are `kept`, `changed` and `added` together.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("s.jsonl");
/// # std::fs::write(&path, "{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"timestamp\":\"2026-07-14T09:00:00Z\",\"cwd\":\"/\"}\n{torn\n").unwrap();
/// # let copy = folder.path().join("s.repaired");
/// use leaflog::{Fix, FixKind, OpenOptions, Orphans, Repaired};
///
/// let done: Repaired = leaflog::repair(&path, &copy, Orphans::Cut, &OpenOptions::new())?;
/// assert_eq!((done.lines, done.kept, done.changed, done.added), (2, 1, 0, 0));
/// let fix: &Fix = &done.fixes[0];
/// assert_eq!((fix.line, fix.action), (2, FixKind::LineDropped));
/// assert_eq!(std::fs::read(done.dropped_path.unwrap())?, b"{torn\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Repaired {
    /// The copy.
    pub path: PathBuf,
    /// The file with what the copy does not hold as it stood, if there is any: its name is that of
    /// the copy and `.dropped`.
    pub dropped_path: Option<PathBuf>,
    /// The format that was read, which is that of the copy.
    pub format: Format,
    /// The session's id.
    pub session_id: String,
    /// Lines read, blank ones and an unfinished last one included.
    pub lines: u64,
    /// Bytes of the copy.
    pub bytes: u64,
    /// Lines that are in the copy byte for byte.
    pub kept: u64,
    /// Lines of the copy that were made from the source with some change.
    pub changed: u64,
    /// Lines of the copy that no line of the source stands behind: stand-ins, and what keeps numbers
    /// and lanes in order.
    pub added: u64,
    /// Pieces of the source for which the copy has no line.
    pub dropped: u64,
    /// The first [`MAX_REPORTS`] things that were mended.
    pub fixes: Vec<Fix>,
    /// How many there are; 0 means that the copy is the source byte for byte.
    pub fix_count: u64,
}

/// One thing that a repair mended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Fix {
    /// The line of the source that it is about, counted from 1.
    pub line: u64,
    /// The byte offset of that line's start.
    pub offset: u64,
    /// What was done.
    pub action: FixKind,
    /// The same in a sentence.
    pub detail: String,
}

/// What a [`Fix`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FixKind {
    /// A byte order mark at the start was left out.
    BomDropped,
    /// NUL bytes were left out.
    NulsRemoved,
    /// The last line got its newline.
    NewlineAdded,
    /// Objects that stood on one line got lines of their own.
    ObjectsParted,
    /// A torn object before a whole one was left out.
    PrefixDropped,
    /// Text behind a whole object, which hid it, was left out.
    RestDropped,
    /// An unfinished last line was left out.
    TailDropped,
    /// A line that is no object of the format was left out.
    LineDropped,
    /// An object that was broken over several lines is one line again.
    LinesJoined,
    /// Control characters in strings were written as escapes.
    ControlsEscaped,
    /// Bytes that are not UTF-8 became U+FFFD.
    Utf8Replaced,
    /// A line that stood there more than once, the same each time, was kept once.
    DuplicateFolded,
    /// A line was left out since another one with its id counts.
    DuplicateDropped,
    /// A record got another id, since an entry has its own.
    RecordRenamed,
    /// The header was lost or broken, and a new one was made.
    HeaderMade,
    /// The header was moved to the front.
    HeaderMoved,
    /// A field of the envelope was written as it is read.
    FieldMended,
    /// A time that was none became that of the entry before.
    TimeReplaced,
    /// A payload that does not decode was kept in an entry that contributes nothing.
    PayloadKept,
    /// An entry that was named and is missing got a stand-in.
    StandInMade,
    /// An entry got another parent, to end a cycle or to lead to the header.
    ParentReplaced,
    /// A line was moved before the first line that names it (pi v4).
    LineMoved,
    /// A lane was made or moved, so that what follows stands on it (pi v4).
    LaneSet,
    /// A gap in the sequence was filled with lines that change nothing (pi v4).
    GapFilled,
    /// From this line on lines got other numbers (pi v4).
    Renumbered,
    /// An operation of a lane was finished, since a later one is open too (pi v4).
    OperationFinished,
}

impl FixKind {
    /// The action as the command line spells it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BomDropped => "bom_dropped",
            Self::NulsRemoved => "nuls_removed",
            Self::NewlineAdded => "newline_added",
            Self::ObjectsParted => "objects_parted",
            Self::PrefixDropped => "prefix_dropped",
            Self::RestDropped => "rest_dropped",
            Self::TailDropped => "tail_dropped",
            Self::LineDropped => "line_dropped",
            Self::LinesJoined => "lines_joined",
            Self::ControlsEscaped => "controls_escaped",
            Self::Utf8Replaced => "utf8_replaced",
            Self::DuplicateFolded => "duplicate_folded",
            Self::DuplicateDropped => "duplicate_dropped",
            Self::RecordRenamed => "record_renamed",
            Self::HeaderMade => "header_made",
            Self::HeaderMoved => "header_moved",
            Self::FieldMended => "field_mended",
            Self::TimeReplaced => "time_replaced",
            Self::PayloadKept => "payload_kept",
            Self::StandInMade => "stand_in_made",
            Self::ParentReplaced => "parent_replaced",
            Self::LineMoved => "line_moved",
            Self::LaneSet => "lane_set",
            Self::GapFilled => "gap_filled",
            Self::Renumbered => "renumbered",
            Self::OperationFinished => "operation_finished",
        }
    }
}

impl std::fmt::Display for FixKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where a line of the source stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// Counted from 1.
    pub(super) line: u64,
    pub(super) offset: u64,
}

/// What is collected for the report while the copy is written.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) kept: u64,
    pub(super) changed: u64,
    pub(super) added: u64,
    pub(super) dropped: u64,
    pub(super) fixes: Vec<Fix>,
    pub(super) fix_count: u64,
    /// Ranges of the source that the copy does not hold as they stood.
    pub(super) set_aside: Vec<(u64, u64)>,
}

impl Notes {
    pub(super) fn fix(&mut self, at: Place, action: FixKind, detail: impl Into<String>) {
        self.fix_count += 1;
        if self.fixes.len() < MAX_REPORTS {
            self.fixes.push(Fix {
                line: at.line,
                offset: at.offset,
                action,
                detail: detail.into(),
            });
        }
    }

    /// Keeps a range of the source for the file beside the copy.
    pub(super) fn set_aside(&mut self, range: &std::ops::Range<u64>) {
        // Several pieces of one line may come from one range.
        if self.set_aside.last() != Some(&(range.start, range.end)) {
            self.set_aside.push((range.start, range.end));
        }
    }

    /// The same for what the copy has no line for.
    pub(super) fn drop_piece(
        &mut self,
        at: Place,
        range: &std::ops::Range<u64>,
        action: FixKind,
        detail: impl Into<String>,
    ) {
        self.set_aside(range);
        self.dropped += 1;
        self.fix(at, action, detail);
    }
}
