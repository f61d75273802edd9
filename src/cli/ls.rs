//! `leaflog ls`: the sessions of folders, newest first. A file that cannot be read is a warning; a
//! folder that cannot be read is a failure.

use std::collections::HashSet;
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
use super::text::{clean, count, cut, cut_front, size, time};

/// Columns of a time, a count of messages and a size.
const UPDATED: usize = 19;
const MESSAGES: usize = 8;
const SIZE: usize = 10;
/// Columns that an id and a working directory may take.
const MOST_ID: usize = 36;
const MOST_CWD: usize = 32;
/// Columns that a working directory and a title have at least where they are shown.
const LEAST_CWD: usize = 12;
const LEAST_TITLE: usize = 20;
/// Columns of a title where there is no terminal.
const MOST_TITLE: usize = 60;

/// List the sessions of folders, the most recently active first
///
/// Looks at the files *.jsonl in a folder and in the folders right inside it. What many logs or long
/// ones say is remembered in the file .leaflog-catalog in the folder, so that the next time only those
/// are read that changed; with --strict in a file of its own, .leaflog-catalog-strict. Files that cannot
/// be read are warned of on standard error, and are no failure. Times are UTC. Each file is shown as
/// other commands take it here. A terminal without the room shows no ids and working directories. With
/// --json one object a line, {id, path, format, cwd, name, title, created, updated, message_count, bytes, damaged}.
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
    /// The path, as it is typed.
    #[serde(skip)]
    file: String,
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
        if self.folders.len() > 1 {
            let mut seen = HashSet::new();
            rows.retain(|row: &Row| seen.insert(real(Path::new(&row.path))));
            warnings.retain(|warning| warning.path().is_none_or(|path| seen.insert(real(path))));
        }
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

/// A path by one of the ways to its folder, so that it is the same whichever was taken. Links to one
/// file stay apart, as they do in one folder.
fn real(path: &Path) -> PathBuf {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = std::fs::canonicalize(folder.unwrap_or(Path::new(".")));
    match (folder, path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

type Found = (Vec<Row>, Vec<leaflog::Error>);

/// The sessions of a folder, or the one that a path names.
fn find(folder: &Path, options: &OpenOptions) -> leaflog::Result<Found> {
    // Anything that is no folder is opened as a log, which tells what is wrong with it.
    if !std::fs::metadata(folder).is_ok_and(|metadata| metadata.is_dir()) {
        let session = options.open(folder)?;
        return Ok((vec![Row::of_listed(session.info()?)], Vec::new()));
    }
    let repository = Repository::new(folder).with_options(options.clone());
    let listing = repository.list()?;
    let rows = listing.sessions.into_iter().map(Row::of_listed).collect();
    Ok((rows, listing.warnings))
}

impl Row {
    fn cwd(&self) -> &str {
        self.cwd.as_deref().unwrap_or("-")
    }

    fn of_listed(info: SessionInfo) -> Self {
        let path = info.path.unwrap_or_default().display().to_string();
        Self {
            id: info.id,
            file: typed(&path),
            path,
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

/// The columns that are as wide as what they hold, and no wider than there is room.
struct Widths {
    file: usize,
    /// None where there is no room for it.
    id: Option<usize>,
    cwd: Option<usize>,
    title: usize,
}

impl Widths {
    /// The file stands whole, since it is what other commands are given; the title has what is left, but
    /// no less than readable, and before it the id and the working directory where they leave it that.
    fn of(rows: &[Row], room: Option<usize>) -> Self {
        let widest = |column: &dyn Fn(&Row) -> &str, least: usize, most: usize| {
            let widths = rows.iter().map(|row| column(row).chars().count());
            widths.max().unwrap_or(0).clamp(least, most)
        };
        let file = widest(&|row| &row.file, "file".len(), usize::MAX);
        let mut id = Some(widest(&|row| &row.id, "id".len(), MOST_ID));
        let mut cwd = Some(widest(&Row::cwd, "cwd".len(), MOST_CWD));
        let before = UPDATED + 1 + MESSAGES + 1 + SIZE + 2 + file + 2;
        let mut left = room.unwrap_or(usize::MAX).saturating_sub(before);
        let mut fit = |column: &mut Option<usize>, least: usize| {
            let most = left.saturating_sub(LEAST_TITLE + 2);
            *column = column
                .map(|width| width.min(most.max(least.min(width))))
                .filter(|&width| width <= most);
            left -= column.map_or(0, |width| width + 2);
        };
        // Half an id is none; the end of a folder still tells which it is.
        fit(&mut id, MOST_ID);
        fit(&mut cwd, LEAST_CWD);
        Self {
            file,
            id,
            cwd,
            title: if room.is_some() {
                left.max(LEAST_TITLE)
            } else {
                MOST_TITLE
            },
        }
    }
}

fn table(rows: &[Row], out: &mut Out) -> Result<(), Failure> {
    let widths = Widths::of(rows, out.room());
    let column = |width: Option<usize>, text: &dyn Fn(usize) -> String| match width {
        Some(width) => format!("{:width$}  ", text(width)),
        None => String::new(),
    };
    let file = widths.file;
    if !rows.is_empty() {
        let head = format!(
            "{:<UPDATED$} {:>MESSAGES$} {:>SIZE$}  {:file$}  {}{}title",
            "updated (UTC)",
            "messages",
            "size",
            "file",
            column(widths.id, &|_| "id".to_owned()),
            column(widths.cwd, &|_| "cwd".to_owned()),
        );
        let head = out.paint(DIM, head).to_string();
        writeln!(out, "{head}")?;
    }
    for row in rows {
        let updated = row.active.map_or_else(|| "-".to_owned(), time);
        let name = clean(&row.file).to_string();
        let name = out.paint(CYAN, format!("{name:file$}")).to_string();
        let id = column(widths.id, &|width| cut(&row.id, width));
        let cwd = column(widths.cwd, &|width| cut_front(row.cwd(), width));
        let damaged = if row.damaged { "(damaged) " } else { "" };
        let title = widths.title.saturating_sub(damaged.len());
        let title = cut(row.title.as_deref().unwrap_or("-"), title);
        let damaged = out.paint(YELLOW, damaged).to_string();
        writeln!(
            out,
            "{updated:<UPDATED$} {:>MESSAGES$} {:>SIZE$}  {name}  {id}{cwd}{damaged}{title}",
            count(row.message_count),
            size(row.bytes),
        )?;
    }
    Ok(())
}

/// A file as a shell takes it for one: no option, and in quotes where it would be taken apart.
fn typed(path: &str) -> String {
    let path = path.strip_prefix("./").unwrap_or(path);
    let here = if path.starts_with('-') { "./" } else { "" };
    let is_plain = |c: char| c.is_alphanumeric() || "-_./,:+=@%".contains(c);
    if path.chars().all(is_plain) {
        return format!("{here}{path}");
    }
    format!("'{here}{}'", path.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::typed;

    #[test]
    fn a_file_is_shown_as_a_shell_takes_it() {
        for (path, shown) in [
            ("./a.jsonl", "a.jsonl"),
            ("logs/a.jsonl", "logs/a.jsonl"),
            ("./--work--/a.jsonl", "./--work--/a.jsonl"),
            ("/a b/it's.jsonl", r"'/a b/it'\''s.jsonl'"),
            ("./-a b", "'./-a b'"),
        ] {
            assert_eq!(typed(path), shown);
        }
    }
}
