//! `leaflog show`: one entry or record, laid out for people or as it is stored.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use leaflog::{Code, Error};

use super::Exit;
use super::args::{Opening, Salvage};
use super::failure::Failure;
use super::out::Out;
use super::text::clean_lines;

/// Print one entry or execution record, laid out over several lines
///
/// Numbers, escapes and unknown fields are printed as they are stored; control characters are left
/// out. With --json the object is printed on one line, as it is stored, invalid UTF-8 as U+FFFD.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The log
    file: PathBuf,
    /// The id of the entry, or of a record if no entry has it
    id: String,
    /// Print the stored bytes untouched, control characters and invalid UTF-8 included, and a
    /// newline
    #[arg(long, conflicts_with = "json")]
    raw: bool,
    #[command(flatten)]
    salvage: Salvage,
    #[command(flatten)]
    pub(crate) opening: Opening,
}

impl Show {
    pub(crate) fn run(self, out: &mut Out) -> Result<Exit, Failure> {
        let session = self.opening.session(&self.file, self.salvage.salvage)?;
        let found = match session.entry(&self.id)? {
            Some(entry) => Some(entry),
            None => session.record(&self.id)?,
        };
        let Some(entry) = found else {
            let message = format!(
                "no entry or record has the id `{}`; `leaflog log` lists all ids",
                self.id
            );
            return Err(Error::new(Code::NotFound, message)
                .at_path(&self.file)
                .into());
        };
        if self.raw {
            out.write_all(&entry.bytes)?;
            out.write_all(b"\n")?;
        } else if out.json() {
            writeln!(out, "{}", entry.text())?;
        } else {
            writeln!(out, "{}", clean_lines(&entry.pretty()))?;
        }
        Ok(Exit::Done)
    }
}
