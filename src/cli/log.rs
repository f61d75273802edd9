//! `leaflog log`: the kept lines of a session in order, streamed from the log itself.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use leaflog::Mutation;
use serde::Serialize;
use serde_json::value::RawValue;

use super::Exit;
use super::args::{Opening, Salvage};
use super::failure::Failure;
use super::message::entry_line;
use super::out::{CYAN, DIM, Out};
use super::text::clean;

/// Columns of the number, the kind and the id where they are not longer.
const COLUMNS: (usize, usize, usize) = (7, 25, 10);

/// Print the kept lines of a session in order: number, kind, id, and what they say
///
/// The number is the `seq` of pi-v4, and else the place among the kept lines. With --json one object
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
    /// records and facts; may be given several times
    #[arg(long = "kind", value_name = "KIND")]
    kinds: Vec<String>,
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
        let session = self.opening.session(&self.file, self.salvage.salvage)?;
        for mutation in session.mutations()? {
            let mutation = mutation?;
            if self.wants(&mutation) {
                print(&mutation, out)?;
            }
        }
        out.note_damage(&self.file, &session.overview()?)?;
        Ok(Exit::Done)
    }

    fn wants(&self, mutation: &Mutation) -> bool {
        let is_of = |kind: &String| {
            let rest = mutation.kind.strip_prefix(kind.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.after.is_none_or(|after| mutation.seq > after)
            && (self.kinds.is_empty() || self.kinds.iter().any(is_of))
    }
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
