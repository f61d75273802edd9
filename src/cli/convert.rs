//! `leaflog convert`: a session in another format, in a file of its own, and what of it is not as it
//! was. The source is only read.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use leaflog::{Change, Format};
use serde::Serialize;

use super::Exit;
use super::args::{Opening, Salvage};
use super::failure::Failure;
use super::out::{BOLD, Out, YELLOW};
use super::progress::Progress;
use super::text::{clean, counted, size};
use super::verify::more;

/// Write a session of pi-v1, pi-v2 or pi-v3 into a new file as one of pi-v4
///
/// Session and entries keep their ids, and each path shows the context that it had. What could not
/// be carried over as it was is listed; losing something so is no failure. The source stays as it
/// is. With --json {path, session_id, from, to, entries, bytes, damage, changes: [{kind, entry,
/// detail}], change_count}; `damage` counts the reports of damage in the source, and `changes` has
/// the first 100.
#[derive(Debug, Args)]
pub(crate) struct Convert {
    /// The log of the source
    file: PathBuf,
    /// The format to write
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Target,
    /// The file to make, which must not exist
    #[arg(short, long, value_name = "OUT")]
    out: PathBuf,
    #[command(flatten)]
    salvage: Salvage,
    #[command(flatten)]
    pub(crate) opening: Opening,
}

/// The formats that can be converted to.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Target {
    #[value(name = "pi-v4")]
    PiV4,
}

#[derive(Serialize)]
struct Object<'a> {
    path: String,
    session_id: &'a str,
    from: Format,
    to: Format,
    entries: u64,
    bytes: u64,
    damage: u64,
    changes: &'a [Change],
    change_count: u64,
}

impl Convert {
    pub(crate) fn run(self, out: &mut Out) -> Result<Exit, Failure> {
        let Target::PiV4 = self.to;
        let to = Format::PiV4;
        let progress = Progress::new("reading");
        let watched = progress.clone();
        let options = self.opening.options().salvage(self.salvage.salvage);
        let options = options.progress(move |done, total| watched.of(done, total));
        let done = leaflog::convert(&self.file, &self.out, to, &options);
        progress.finish();
        let done = done?;
        let path = self.out.display().to_string();
        if out.json() {
            out.object(&Object {
                path,
                session_id: &done.session_id,
                from: done.from,
                to,
                entries: done.entries,
                bytes: done.bytes,
                damage: done.damage,
                changes: &done.changes,
                change_count: done.change_count,
            })?;
            return Ok(Exit::Done);
        }
        let id = out.paint(BOLD, clean(&done.session_id)).to_string();
        let changes = match done.change_count {
            0 => "nothing lost".to_owned(),
            changes => {
                let changes = counted(changes, "change");
                out.paint(YELLOW, changes).to_string()
            }
        };
        writeln!(
            out,
            "{}: {} to {to}, {id}, {}, {}, {changes}",
            clean(&path),
            done.from,
            counted(done.entries, "entry"),
            size(done.bytes)
        )?;
        for change in &done.changes {
            let entry = change.entry.as_deref().unwrap_or("-");
            writeln!(out, "  {}: {}", clean(entry), clean(&change.detail))?;
        }
        more(done.changes.len(), done.change_count, out)?;
        if done.damage > 0 {
            out.note(&format!(
                "{}: {} of damage; what was skipped was not converted (leaflog info shows it)",
                self.file.display(),
                counted(done.damage, "report")
            ))?;
        }
        Ok(Exit::Done)
    }
}
