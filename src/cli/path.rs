//! `leaflog path`: the ids from the root to an entry. Prints ids and nothing else of the entries.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use leaflog::At;
use serde::Serialize;

use super::Exit;
use super::args::{Opening, Salvage};
use super::failure::Failure;
use super::open::Source;
use super::out::Out;
use super::text::clean;

/// Print the ids from the root to an entry, one a line
///
/// With --json {leaf, ids}.
#[derive(Debug, Args)]
pub(crate) struct Path {
    /// The log
    file: PathBuf,
    /// The entry to end at [default: where the conversation stands]
    id: Option<String>,
    #[command(flatten)]
    salvage: Salvage,
    #[command(flatten)]
    pub(crate) opening: Opening,
}

#[derive(Serialize)]
struct Object<'a> {
    leaf: Option<&'a str>,
    ids: &'a [String],
}

impl Path {
    pub(crate) fn run(self, out: &mut Out) -> Result<Exit, Failure> {
        let source = self.opening.source(&self.file, self.salvage.salvage)?;
        let ids = self.ids(&source)?;
        if out.json() {
            let leaf = ids.last().map(String::as_str);
            out.object(&Object { leaf, ids: &ids })?;
            return Ok(Exit::Done);
        }
        for id in &ids {
            writeln!(out, "{}", clean(id))?;
        }
        out.note_damage(&self.file, &source.overview()?)?;
        Ok(Exit::Done)
    }

    fn ids(&self, source: &Source) -> leaflog::Result<Vec<String>> {
        let at = self.id.as_deref().map_or(At::Current, At::Leaf);
        let salvage = self.salvage.salvage;
        match source {
            Source::Indexed(session) if salvage => session.salvage_path(at),
            Source::Indexed(session) => session.path(at),
            Source::Replayed(replay) if salvage => replay.salvage_path(at),
            Source::Replayed(replay) => replay.path(at),
        }
    }
}
