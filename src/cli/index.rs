//! `leaflog index`: builds sidecar indexes or brings them up to date, and says what was done.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use leaflog::{Code, Error, IndexMode, IndexState, IndexStatus, Session};
use serde::Serialize;

use super::Exit;
use super::args::Common;
use super::failure::Failure;
use super::open::open;
use super::out::{DIM, GREEN, Out, YELLOW};
use super::text::{clean, counted, size};

/// Build the sidecar index of logs, or bring it up to date
///
/// Says of each file whether its index was fresh, extended by new lines, or rebuilt and why. With
/// --json one object a line, {path, state, reason, lines_read, bytes, index_path}; `bytes` is the
/// size of the index.
#[derive(Debug, Args)]
pub(crate) struct Index {
    /// The logs
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Serialize)]
struct Object<'a> {
    path: String,
    state: IndexState,
    reason: Option<&'a str>,
    lines_read: u64,
    bytes: u64,
    index_path: Option<String>,
}

impl Index {
    pub(crate) fn run(self, out: &mut Out) -> Result<Exit, Failure> {
        let mut exit = Exit::Done;
        for file in &self.files {
            match self.bring_up_to_date(file) {
                Ok((session, status)) => {
                    tell(file, &status, out)?;
                    out.note_damage(file, &session.overview()?)?;
                }
                Err(error) => {
                    out.error(&error)?;
                    exit = exit.and(Exit::Failed);
                }
            }
        }
        Ok(exit)
    }

    fn bring_up_to_date(&self, file: &Path) -> leaflog::Result<(Session, IndexStatus)> {
        let session = open(self.common.options().index(IndexMode::Always), file)?;
        let status = session.index_status();
        // A log without a finished line has nothing that a sidecar could keep yet.
        if status.path.is_none() && session.overview()?.lines > 1 {
            let why = status.reason.as_deref().unwrap_or("it is not known why");
            let message = format!(
                "no sidecar could be kept: {why}; --index-dir names a folder that can be written"
            );
            return Err(Error::new(Code::Storage, message).at_path(file));
        }
        Ok((session, status))
    }
}

fn tell(file: &Path, status: &IndexStatus, out: &mut Out) -> Result<(), Failure> {
    let path = file.display().to_string();
    if out.json() {
        let index_path = status.path.as_ref();
        out.object(&Object {
            path,
            state: status.state,
            reason: status.reason.as_deref(),
            lines_read: status.lines_read,
            bytes: status.bytes,
            index_path: index_path.map(|path| path.display().to_string()),
        })?;
        return Ok(());
    }
    let reason = status.reason.as_deref().unwrap_or_default();
    let (style, what) = match status.state {
        IndexState::Fresh => (GREEN, "fresh".to_owned()),
        IndexState::Extended => {
            let lines = counted(status.lines_read, "line");
            (GREEN, format!("extended by {lines}"))
        }
        IndexState::Rebuilt => (YELLOW, format!("rebuilt: {reason}")),
        _ => (YELLOW, format!("not kept: {reason}")),
    };
    let what = out.paint(style, clean(&what)).to_string();
    let size = out
        .paint(DIM, format!("(index {})", size(status.bytes)))
        .to_string();
    writeln!(out, "{}: {what} {size}", clean(&path))?;
    Ok(())
}
