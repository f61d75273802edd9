//! `leaflog repair`: a cleaned copy of a damaged log, what was mended for it, and how to go on. The
//! source is only read.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use leaflog::{Fix, Format, OpenOptions, Orphans};
use serde::Serialize;

use super::Exit;
use super::failure::Failure;
use super::out::{BOLD, GREEN, Out, YELLOW};
use super::progress::Progress;
use super::text::{clean, counted, size};
use super::verify::more;

/// Write a cleaned copy of a damaged log, which `verify` finds nothing wrong with
///
/// Lines without damage are in the copy byte for byte, and the source stays as it is. What the copy
/// cannot hold as it stood goes into OUT.dropped, which is only made if there is something. Exits
/// with 0 when the copy stands, however much was mended, and with 1 if the file is no session. With
/// --json {path, dropped_path, format, session_id, lines, bytes, kept, changed, added, dropped,
/// fixes: [{line, offset, action, detail}], fix_count}; `fixes` has the first 100.
#[derive(Debug, Args)]
pub(crate) struct Repair {
    /// The log
    file: PathBuf,
    /// The file to make, which must not exist [default: FILE.repaired, which no listing takes for a
    /// session of its own]
    #[arg(short, long, value_name = "OUT")]
    out: Option<PathBuf>,
    /// Let entries whose parent is lost go on from the nearest entry before them; without it their
    /// path begins there, as salvage reads it
    #[arg(long)]
    relink: bool,
    /// Print what was done as JSON, and a failure as {"error": {…}}
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Serialize)]
struct Object<'a> {
    path: String,
    dropped_path: Option<String>,
    format: Format,
    session_id: &'a str,
    lines: u64,
    bytes: u64,
    kept: u64,
    changed: u64,
    added: u64,
    dropped: u64,
    fixes: &'a [Fix],
    fix_count: u64,
}

impl Repair {
    pub(crate) fn run(self, out: &mut Out) -> Result<Exit, Failure> {
        let target = self.out.unwrap_or_else(|| beside(&self.file));
        let orphans = if self.relink {
            Orphans::Relink
        } else {
            Orphans::Cut
        };
        let progress = Progress::new("repairing");
        let watched = progress.clone();
        let options = OpenOptions::new().progress(move |done, total| watched.of(done, total));
        let done = leaflog::repair(&self.file, &target, orphans, &options);
        progress.finish();
        let done = done?;
        let path = done.path.display().to_string();
        let dropped_path = done
            .dropped_path
            .as_ref()
            .map(|path| path.display().to_string());
        if out.json() {
            out.object(&Object {
                path,
                dropped_path,
                format: done.format,
                session_id: &done.session_id,
                lines: done.lines,
                bytes: done.bytes,
                kept: done.kept,
                changed: done.changed,
                added: done.added,
                dropped: done.dropped,
                fixes: &done.fixes,
                fix_count: done.fix_count,
            })?;
            return Ok(Exit::Done);
        }
        let id = out.paint(BOLD, clean(&done.session_id)).to_string();
        let verdict = match done.fix_count {
            0 => out.paint(GREEN, "nothing to mend".to_owned()).to_string(),
            fixes => {
                let fixes = format!("{} mended", counted(fixes, "thing"));
                out.paint(YELLOW, fixes).to_string()
            }
        };
        writeln!(
            out,
            "{}: {} {id}, {verdict}; {} read, {} kept, {} changed, {} added, {} dropped, {}",
            clean(&path),
            done.format,
            counted(done.lines, "line"),
            done.kept,
            done.changed,
            done.added,
            done.dropped,
            size(done.bytes)
        )?;
        for fix in &done.fixes {
            writeln!(
                out,
                "  line {}, byte {}: {}: {}",
                fix.line,
                fix.offset,
                fix.action,
                clean(&fix.detail)
            )?;
        }
        more(done.fixes.len(), done.fix_count, out)?;
        if let Some(dropped) = dropped_path {
            writeln!(out, "not in the copy as it stood: {}", clean(&dropped))?;
        }
        if done.fix_count > 0 {
            writeln!(
                out,
                "next: leaflog verify {}, then move it into the place of {}",
                clean(&path),
                clean(&self.file.display().to_string())
            )?;
        }
        Ok(Exit::Done)
    }
}

/// Where the copy goes if nothing else is said.
fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".repaired");
    name.into()
}
