//! A cleaned copy of a damaged log in a new file, which every reader takes whole. Says what it mended,
//! keeps beside the copy what it could not keep in it, and never writes the source.

mod forest;
mod join;
mod lines;
mod make;
mod numbers;
mod opening;
mod parts;
mod report;
mod sequence;
mod survey;
mod turn;
mod write;

use std::cell::{Cell, RefCell};
use std::path::Path;

pub use report::{Fix, FixKind, Repaired};

use super::OpenOptions;
use super::publish::publish;
use crate::disk::{DiskRef, with_ending};
use crate::error::{Error, Result};
use crate::index::Sidecar;
use crate::log::LogFile;
use crate::model::Format;
use opening::Opening;
use survey::Survey;
use write::Writer;

/// What becomes of entries whose parent is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Orphans {
    /// Their path begins there: it has the context that salvage gives.
    #[default]
    Cut,
    /// They go on from the nearest entry before them: in pi v4 from where their lane stood.
    Relink,
}

/// Writes a cleaned copy of a log into a new file, in the same format. Lines without damage are in it
/// byte for byte; what stood in the source and is not in the copy as it stood goes into a file
/// beside it, `<target>.dropped`, which is only made if there is something. The copy passes
/// [`OpenOptions::verify`]. `docs/formats.md` says what is done with each kind of damage. Of the options
/// those count that say how the source is read.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("s.jsonl");
/// # std::fs::write(&path, concat!(
/// #   "{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"timestamp\":\"2026-07-14T09:00:00Z\",\"cwd\":\"/\"}\n",
/// #   "{\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"timestamp\":\"2026-07-14T09:00:01Z\",\"message\":{\"role\":\"user\",\"content\":\"two\nlines\"}}\n")).unwrap();
/// # let copy = folder.path().join("s.repaired");
/// use leaflog::{FixKind, OpenOptions, Orphans};
///
/// let done = leaflog::repair(&path, &copy, Orphans::Cut, &OpenOptions::new())?;
/// assert_eq!(done.fixes[0].action, FixKind::LinesJoined);
/// assert!(OpenOptions::new().verify(&copy)?.is_clean());
/// # Ok::<(), leaflog::Error>(())
/// ```
///
/// # Errors
///
/// `already_exists` if there is a file at the target or one that what is dropped would go to,
/// `invalid_entry` if the source is no session, `unsupported` if its version is not known, and
/// `storage` if it cannot be read or changes meanwhile.
pub fn repair(
    source: impl AsRef<Path>,
    target: impl AsRef<Path>,
    orphans: Orphans,
    options: &OpenOptions,
) -> Result<Repaired> {
    let (source, target) = (source.as_ref(), target.as_ref());
    let log = LogFile::open(source, options.reading)?;
    // The source is read twice.
    let total = log.len();
    let progress = |pass: u64, done: u64| {
        if let Some(call) = &options.progress {
            call((pass * total + done) / 2, total);
        }
    };
    let mut opening = Opening::of(&log, options)?;
    let mut survey = Survey::of(&log, &opening, &|done| progress(0, done))?;
    if opening.format == Format::CodebotV3 && survey.header.is_none() {
        // It could be read only while the format was not known.
        opening.forget_header(&log);
        survey = Survey::of(&log, &opening, &|done| progress(0, done))?;
    }
    // Where that goes which the copy does not hold.
    let aside = with_ending(target, ".dropped");
    let ranges = RefCell::new(Vec::new());
    let is_aside = Cell::new(false);
    let written = publish(
        &options.disk,
        target,
        |out| {
            let writer = Writer::new(&log, &opening, &survey, orphans, out);
            let mut notes = writer.all(&|done| progress(1, done))?;
            let mut dropped = std::mem::take(&mut notes.set_aside);
            // Lines that were moved come out of their turn, and a line can be set aside twice.
            dropped.sort_unstable();
            dropped.dedup();
            ranges.replace(dropped);
            Ok::<_, Error>((notes, out.bytes()))
        },
        // Before the copy has its name, so that it never stands there without the rest.
        || {
            keep_aside(&options.disk, &log, &aside, &ranges.borrow())?;
            is_aside.set(!ranges.borrow().is_empty());
            Ok(())
        },
    );
    if written.is_err() && is_aside.get() {
        // Nor does the rest stand there without the copy.
        let _ = options.disk.remove(&aside);
    }
    let (notes, bytes) = written?;
    // Of a file that had this name before. It would be noticed and made again, but `verify` would say so.
    let stale = Sidecar::beside(target);
    if stale.is_file() {
        let _ = options.disk.remove(&stale);
    }
    if let Some(call) = &options.progress {
        call(total, total);
    }
    let has_dropped = !ranges.borrow().is_empty();
    Ok(Repaired {
        path: target.to_owned(),
        dropped_path: has_dropped.then_some(aside),
        format: opening.format,
        session_id: opening.session_id,
        lines: survey.lines,
        bytes,
        kept: notes.kept,
        changed: notes.changed,
        added: notes.added,
        dropped: notes.dropped,
        fixes: notes.fixes,
        fix_count: notes.fix_count,
    })
}

/// Writes ranges of the source into a file of their own, a newline after each.
fn keep_aside(disk: &DiskRef, log: &LogFile, path: &Path, ranges: &[(u64, u64)]) -> Result<()> {
    const PIECE: u64 = 1 << 20;
    if ranges.is_empty() {
        return Ok(());
    }
    publish(
        disk,
        path,
        |out| {
            let mut buffer = Vec::new();
            for &(start, end) in ranges {
                let mut at = start;
                while at < end {
                    let step = (end - at).min(PIECE);
                    buffer.resize(usize::try_from(step).unwrap_or(0), 0);
                    log.fill(&mut buffer, at)?;
                    out.put(&buffer)?;
                    at += step;
                }
                out.put(b"\n")?;
            }
            Ok::<_, Error>(())
        },
        || Ok(()),
    )
}
