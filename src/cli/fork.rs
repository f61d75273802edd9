//! `leaflog fork`: a new session out of a part of another one, in a file of its own. The source is
//! only read.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use leaflog::{CreateOptions, ForkScope, Format};
use serde::Serialize;

use super::Exit;
use super::args::{Opening, Salvage};
use super::failure::Failure;
use super::out::{BOLD, Out};
use super::text::{clean, counted, size};

/// Make a new session out of a part of another one, and print its file and id
///
/// Takes the path to where the conversation stands, or to another entry; with --tree all entries.
/// The entry that a path is taken to must be a message. The source stays as it is. With --json
/// {path, session_id, format, entries, bytes}.
#[derive(Debug, Args)]
pub(crate) struct Fork {
    /// The log of the source
    file: PathBuf,
    /// Take the path that ends with this entry
    #[arg(long, value_name = "ID", conflicts_with_all = ["before", "tree"])]
    at: Option<String>,
    /// Take the path that ends before this entry, to say something else in its place
    #[arg(long, value_name = "ID", conflicts_with = "tree")]
    before: Option<String>,
    /// Take all entries and, in pi-v4, all lanes
    #[arg(long)]
    tree: bool,
    /// The file to make, which must not exist [default: one beside the source, with the name that
    /// the format's own program would give it]
    #[arg(short, long, value_name = "OUT")]
    out: Option<PathBuf>,
    /// The id of the new session [default: a new one]
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// The working directory of the new session [default: that of the source]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    #[command(flatten)]
    salvage: Salvage,
    #[command(flatten)]
    pub(crate) opening: Opening,
}

#[derive(Serialize)]
struct Object<'a> {
    path: String,
    session_id: &'a str,
    format: Format,
    entries: u64,
    bytes: u64,
}

impl Fork {
    pub(crate) fn run(self, out: &mut Out) -> Result<Exit, Failure> {
        let salvage = self.salvage.salvage;
        let source = self.opening.session(&self.file, salvage)?;
        let cwd = self.cwd.as_ref().map(|cwd| cwd.to_string_lossy());
        let options = CreateOptions {
            id: self.id.clone(),
            ..CreateOptions::in_folder(cwd.unwrap_or_default())
        };
        let scope = match (self.at, self.before) {
            _ if self.tree => ForkScope::Tree,
            (Some(at), _) => ForkScope::at(at),
            (None, Some(before)) => ForkScope::before(before),
            (None, None) => ForkScope::default(),
        };
        let (path, forked) = match self.out {
            Some(path) if salvage => {
                let forked = source.salvage_to(&path, &scope, &options)?;
                (path, forked)
            }
            Some(path) => {
                let forked = source.fork_to(&path, &scope, &options)?;
                (path, forked)
            }
            None => source.fork_beside(&scope, &options)?,
        };
        let (path, format) = (path.display().to_string(), source.format());
        if out.json() {
            out.object(&Object {
                path,
                session_id: &forked.session_id,
                format,
                entries: forked.entries,
                bytes: forked.bytes,
            })?;
            return Ok(Exit::Done);
        }
        let id = out.paint(BOLD, clean(&forked.session_id)).to_string();
        writeln!(
            out,
            "{}: {format} {id}, {}, {}",
            clean(&path),
            counted(forked.entries, "entry"),
            size(forked.bytes)
        )?;
        out.note_damage(&self.file, &source.overview()?)?;
        Ok(Exit::Done)
    }
}
