//! `leaflog log`: the kept lines of a session in order, streamed from the log itself, and with
//! `--follow` those that other programs append meanwhile. Never shows a line that is not finished.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use clap::Args;
use leaflog::{Code, Error, Follow, Format, Mutation, Overview, Reading, ReportCode, Session};
use serde::Serialize;
use serde_json::value::RawValue;

use super::Exit;
use super::args::{Opening, Salvage};
use super::failure::Failure;
use super::message::entry_line;
use super::open::open;
use super::out::{CYAN, DIM, Out};
use super::text::clean;

/// Columns of the number, the kind and the id where they are not longer.
const COLUMNS: (usize, usize, usize) = (7, 25, 10);

/// How often a log that is followed is looked at.
const PAUSE: Duration = Duration::from_millis(200);

/// Print the kept lines of a session in order: number, kind, id, and what they say
///
/// The number is the `seq` of pi-v4, and else the place among the kept lines. With --follow new
/// lines are printed as they are appended, until the log is cut, replaced or removed, which is an
/// error, or nobody reads the output any more. With --json one object
/// a line, {seq, kind, id, line, offset, raw}: the line counted from 1, the offset in bytes from the
/// start of the file to the object, which `raw` holds as it is stored.
#[derive(Debug, Args)]
pub(crate) struct Log {
    /// The log
    file: PathBuf,
    /// Only lines with a number greater than this
    #[arg(long, value_name = "SEQ")]
    after: Option<u64>,
    /// Only lines of this kind, as the second column spells it; `record` and `fact` stand for all
    /// records and facts; may be given several times. One that no line has is warned of
    #[arg(long = "kind", value_name = "KIND")]
    kinds: Vec<String>,
    /// Go on with the lines that are appended from now on, each once it is finished; with --strict
    /// until the first damaged one
    #[arg(short, long)]
    follow: bool,
    #[command(flatten)]
    salvage: Salvage,
    #[command(flatten)]
    pub(crate) opening: Opening,
}

#[derive(Serialize)]
struct Object<'a> {
    seq: u64,
    kind: &'a str,
    id: Option<&'a str>,
    line: u64,
    offset: u64,
    raw: &'a RawValue,
}

impl Log {
    pub(crate) fn run(self, out: &mut Out) -> Result<Exit, Failure> {
        if self.follow {
            return self.follow(out);
        }
        let session = self.opening.session(&self.file, self.salvage.salvage)?;
        let mut seen = Seen::default();
        for mutation in session.mutations()? {
            let mutation = mutation?;
            seen.add(&mutation.kind);
            if self.wants(&mutation) {
                print(&mutation, out)?;
            }
        }
        self.note_unseen(&seen, out)?;
        out.note_damage(&self.file, &session.overview()?)?;
        Ok(Exit::Done)
    }

    /// Ends when the log is no longer what it was, or nobody reads the output.
    fn follow(&self, out: &mut Out) -> Result<Exit, Failure> {
        // A line in the writing looks like a torn one; which lines are damaged is asked later. Nor may
        // a log that another program cuts end this process, as it may where files are mapped.
        let options = self.opening.options().strict(false);
        let options = options.reading(Reading::Read).salvage(self.salvage.salvage);
        let session = open(options, &self.file)?;
        let mut lines = session.follow()?;
        let mut has_more = true;
        let mut is_first = true;
        let mut seen = Seen::default();
        loop {
            if has_more {
                while let Some(mutation) = lines.next().transpose()? {
                    seen.add(&mutation.kind);
                    if self.wants(&mutation) {
                        print(&mutation, out)?;
                        out.flush()?;
                    }
                }
                if is_first || self.opening.common.strict {
                    let overview = finished(&session, &lines)?;
                    if self.opening.common.strict {
                        self.refuse_damage(&overview)?;
                    }
                    if is_first {
                        self.note_unseen(&seen, out)?;
                        out.note_damage(&self.file, &overview)?;
                    }
                    is_first = false;
                }
            }
            thread::sleep(PAUSE);
            if out.is_closed() {
                return Ok(Exit::Done);
            }
            has_more = lines.refresh()?;
        }
    }

    fn refuse_damage(&self, overview: &Overview) -> leaflog::Result<()> {
        // Where the format makes a root of an entry whose parent is missing, that is no damage.
        let has_roots = matches!(overview.format, Format::PiV1 | Format::PiV2 | Format::PiV3);
        let is_root = |code| has_roots && code == ReportCode::MissingParent;
        let mut damage = overview.reports.iter();
        match damage.find(|report| !is_root(report.code)) {
            None => Ok(()),
            Some(report) => {
                let message = format!("{}: {}", report.code, report.detail);
                let error = Error::new(Code::InvalidEntry, message).at_path(&self.file);
                Err(error.at_line(report.line, report.offset))
            }
        }
    }

    fn wants(&self, mutation: &Mutation) -> bool {
        self.after.is_none_or(|after| mutation.seq > after)
            && (self.kinds.is_empty() || self.kinds.iter().any(|kind| is_of(&mutation.kind, kind)))
    }

    /// Warns of kinds that no line has: they may be misspelled.
    fn note_unseen(&self, seen: &Seen, out: &mut Out) -> Result<(), Failure> {
        for asked in &self.kinds {
            if seen.kinds.iter().any(|kind| is_of(kind, asked)) {
                continue;
            }
            let known: Vec<&str> = seen.kinds.iter().map(String::as_str).collect();
            let known = match known.as_slice() {
                [] => "no lines".to_owned(),
                known => known.join(", "),
            };
            out.warn(&format!(
                "{}: no line is of kind `{asked}`; this log has {known}",
                self.file.display()
            ))?;
        }
        Ok(())
    }
}

/// Whether a kind is the one asked for, or one of those that it stands for.
fn is_of(kind: &str, asked: &str) -> bool {
    let rest = kind.strip_prefix(asked);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The kinds of the lines so far.
#[derive(Default)]
struct Seen {
    kinds: BTreeSet<String>,
}

impl Seen {
    fn add(&mut self, kind: &str) {
        if !self.kinds.contains(kind) {
            self.kinds.insert(kind.to_owned());
        }
    }
}

/// What the session looks like, without the damage of a line that is not finished.
fn finished(session: &Session, lines: &Follow<'_>) -> leaflog::Result<Overview> {
    let mut overview = session.overview()?;
    let end = lines.offset();
    let told = overview.reports.len();
    overview.reports.retain(|report| report.offset < end);
    let dropped = told.saturating_sub(overview.reports.len());
    let dropped = u64::try_from(dropped).unwrap_or(0);
    overview.report_count = overview.report_count.saturating_sub(dropped);
    Ok(overview)
}

fn print(mutation: &Mutation, out: &mut Out) -> Result<(), Failure> {
    let text = mutation.text();
    if out.json() {
        let object = Object {
            seq: mutation.seq,
            kind: &mutation.kind,
            id: mutation.id.as_deref(),
            line: mutation.line,
            offset: mutation.offset,
            raw: serde_json::from_str(&text).map_err(std::io::Error::from)?,
        };
        return Ok(out.object(&object)?);
    }
    let (number, kind, id) = COLUMNS;
    let head = format!(
        "{:>number$} {:kind$} {:id$}",
        mutation.seq,
        clean(&mutation.kind).to_string(),
        clean(mutation.id.as_deref().unwrap_or("-")).to_string()
    );
    let left = out.width().saturating_sub(head.chars().count() + 1).max(20);
    let (seq, rest) = head.split_at_checked(number).unwrap_or(("", &head));
    let seq = out.paint(DIM, seq).to_string();
    let rest = out.paint(CYAN, rest).to_string();
    writeln!(out, "{seq}{rest} {}", entry_line(&text, left))?;
    Ok(())
}
