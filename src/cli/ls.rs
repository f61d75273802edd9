//! `leaflog ls`: the sessions of folders, newest first. A file that cannot be read is a warning; a
//! folder that cannot be read is a failure.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use leaflog::{Format, OpenOptions, Repository, SessionInfo};
use serde::Serialize;

use super::Exit;
use super::args::Opening;
use super::failure::Failure;
use super::out::{CYAN, DIM, Out, YELLOW};
use super::progress::Progress;
use super::text::{count, cut, cut_front, size, time};

/// Columns of a time, a count of messages and a size.
const UPDATED: usize = 19;
const MESSAGES: usize = 8;
const SIZE: usize = 10;
/// Columns that an id and a working directory may take.
const MOST_ID: usize = 36;
const MOST_CWD: usize = 32;

/// List the sessions of folders, the most recently active first
///
/// Looks at the files *.jsonl in a folder and in the folders right inside it. What many logs or long
/// ones say is remembered in the file .leaflog-catalog in the folder, so that the next time only those
/// are read that changed. Files that cannot be read are warned of on standard error, and are no
/// failure. Times are UTC. With --json one object a
/// line, {id, path, format, cwd, name, title, created, updated, message_count, bytes, damaged}.
#[derive(Debug, Args)]
pub(crate) struct Ls {
    /// Folders, or single logs
    #[arg(default_value = ".", value_name = "DIR")]
    folders: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) opening: Opening,
}

/// A session as it is listed.
#[derive(Serialize)]
struct Row {
    id: String,
    path: String,
    format: Format,
    cwd: Option<String>,
    name: Option<String>,
    title: Option<String>,
    created: Option<String>,
    updated: Option<String>,
    message_count: u64,
    bytes: u64,
    damaged: bool,
    /// For order and people, in milliseconds since 1970.
    #[serde(skip)]
    active: Option<i64>,
}

impl Ls {
    pub(crate) fn run(self, out: &mut Out) -> Result<Exit, Failure> {
        let mut exit = Exit::Done;
        let mut rows = Vec::new();
        let progress = Progress::new("reading sessions");
        let watched = progress.clone();
        let options = self
            .opening
            .options()
            .progress(move |done, total| watched.of(done, total));
        let (mut warnings, mut errors) = (Vec::new(), Vec::new());
        for folder in &self.folders {
            match find(folder, &options) {
                Ok((found, unreadable)) => {
                    rows.extend(found);
                    warnings.extend(unreadable);
                }
                Err(error) => errors.push(error),
            }
        }
        progress.finish();
        rows.sort_by(|one, other| (other.active, &one.path).cmp(&(one.active, &other.path)));
        if out.json() {
            for row in &rows {
                out.object(row)?;
            }
        } else {
            table(&rows, out)?;
        }
        for warning in warnings {
            out.warn(&warning.to_string())?;
        }
        for error in errors {
            out.error(&error)?;
            exit = exit.and(Exit::Failed);
        }
        Ok(exit)
    }
}

type Found = (Vec<Row>, Vec<leaflog::Error>);

/// The sessions of a folder, or the one that a path names.
fn find(folder: &Path, options: &OpenOptions) -> leaflog::Result<Found> {
    // Anything that is no folder is opened as a log, which tells what is wrong with it.
    if std::fs::metadata(folder).is_ok_and(|metadata| !metadata.is_dir()) {
        let session = options.open(folder)?;
        return Ok((vec![Row::of_listed(session.info()?)], Vec::new()));
    }
    let repository = Repository::new(folder).with_options(options.clone());
    let listing = repository.list()?;
    let rows = listing.sessions.into_iter().map(Row::of_listed).collect();
    Ok((rows, listing.warnings))
}

impl Row {
    fn of_listed(info: SessionInfo) -> Self {
        Self {
            id: info.id,
            path: info.path.unwrap_or_default().display().to_string(),
            format: info.format,
            cwd: info.cwd,
            name: info.name,
            title: info.title,
            created: info.created.map(leaflog::format_time),
            updated: info.updated.map(leaflog::format_time),
            message_count: info.message_count,
            bytes: info.bytes,
            damaged: info.damaged,
            active: info.updated,
        }
    }
}

fn table(rows: &[Row], out: &mut Out) -> Result<(), Failure> {
    let id = |row: &Row| cut(&row.id, MOST_ID);
    let cwd = |row: &Row| cut_front(row.cwd.as_deref().unwrap_or("-"), MOST_CWD);
    let widest = |column: &dyn Fn(&Row) -> String| {
        let widths = rows.iter().map(|row| column(row).chars().count());
        widths.max().unwrap_or(0)
    };
    let (ids, cwds) = (widest(&id).max(2), widest(&cwd).max(3));
    if !rows.is_empty() {
        let head = format!(
            "{:<UPDATED$} {:>MESSAGES$} {:>SIZE$}  {:ids$}  {:cwds$}  title",
            "updated (UTC)", "messages", "size", "id", "cwd"
        );
        let head = out.paint(DIM, head).to_string();
        writeln!(out, "{head}")?;
    }
    let before_title = UPDATED + 1 + MESSAGES + 1 + SIZE + 2 + ids + 2 + cwds + 2;
    let left = out.width().saturating_sub(before_title).max(20);
    for row in rows {
        let updated = row.active.map_or_else(|| "-".to_owned(), time);
        let id = out.paint(CYAN, format!("{:ids$}", id(row))).to_string();
        let damaged = if row.damaged {
            out.paint(YELLOW, "(damaged) ").to_string()
        } else {
            String::new()
        };
        let title = cut(row.title.as_deref().unwrap_or("-"), left);
        writeln!(
            out,
            "{updated:<UPDATED$} {:>MESSAGES$} {:>SIZE$}  {id}  {:cwds$}  {damaged}{title}",
            count(row.message_count),
            size(row.bytes),
            cwd(row)
        )?;
    }
    Ok(())
}
