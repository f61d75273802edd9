//! `leaflog branch`: puts a lane on another entry, or makes one there. Formats that have no lanes
//! cannot record where the conversation stands; the answer says what does the same for them.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use leaflog::{Code, Error, SessionStorage};
use serde::Serialize;

use super::Exit;
use super::args::Opening;
use super::failure::Failure;
use super::out::{CYAN, Out};
use super::text::clean;

/// Move a lane of a pi-v4 session to an entry, or make a lane there
///
/// What is appended to the lane next goes on from there. In the other formats nothing in the file
/// says where the conversation stands, so there is nothing to move: `leaflog append FILE --at ID`
/// appends on an earlier entry. With --json {path, lane, leaf, before}: `before` is what the lane
/// stood on, null for a new one.
#[derive(Debug, Args)]
pub(crate) struct Branch {
    /// The log
    file: PathBuf,
    /// The entry to go on from
    id: String,
    /// The lane
    #[arg(long, value_name = "NAME", default_value = "main")]
    lane: String,
    /// Make the lane, which must not exist yet
    #[arg(long, requires = "lane")]
    new: bool,
    #[command(flatten)]
    pub(crate) opening: Opening,
}

#[derive(Serialize)]
struct Object<'a> {
    path: String,
    lane: &'a str,
    leaf: &'a str,
    before: Option<&'a str>,
}

impl Branch {
    pub(crate) fn run(self, out: &mut Out) -> Result<Exit, Failure> {
        let session = self.opening.writer(&self.file)?;
        let format = session.format();
        if !format.has_lanes() {
            let message = format!(
                "{format} does not record where the conversation stands; \
                 `leaflog append FILE --at ID` goes on from an earlier entry"
            );
            return Err(Error::new(Code::Unsupported, message)
                .at_path(&self.file)
                .into());
        }
        let mut lanes = session.lanes()?.into_iter();
        let before = lanes.find(|lane| lane.name == self.lane);
        let before = before.and_then(|lane| lane.leaf);
        let written = if self.new {
            session.create_lane(&self.lane, Some(&self.id))
        } else {
            session.move_lane(&self.lane, Some(&self.id))
        };
        written.map_err(|error| with_remedy(error, &self.lane, &self.file))?;
        session.close()?;
        if out.json() {
            out.object(&Object {
                path: self.file.display().to_string(),
                lane: &self.lane,
                leaf: &self.id,
                before: before.as_deref(),
            })?;
            return Ok(Exit::Done);
        }
        let lane = out.paint(CYAN, clean(&self.lane)).to_string();
        let before = before.map_or_else(String::new, |before| format!(" (was {})", clean(&before)));
        writeln!(out, "{lane} at {}{before}", clean(&self.id))?;
        Ok(Exit::Done)
    }
}

/// The same error with what helps at a prompt, if it is about a lane.
pub(crate) fn with_remedy(error: Error, lane: &str, file: &Path) -> Error {
    // What the library says of formats without lanes holds here too.
    if error.code() != Code::InvalidLane || !error.message().contains("create_lane") {
        return error;
    }
    let message =
        format!("there is no lane `{lane}`; `leaflog branch FILE ID --lane NAME --new` makes one");
    Error::new(Code::InvalidLane, message).at_path(file)
}
