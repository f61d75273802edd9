//! `leaflog gen`: a synthetic session of a stated shape, in a new file or on standard output. Never
//! writes over a file.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, ValueEnum};
use leaflog::generate::{Shape, Written};
use leaflog::{Code, Error, Format};
use serde::Serialize;

use super::Exit;
use super::args::Cli;
use super::failure::Failure;
use super::out::Out;
use super::progress::Progress;
use super::text::{clean, count, counted, size};

/// Write a synthetic session of a stated shape, the same bytes for the same options everywhere
///
/// The session is valid by the rules of its format. An existing file is never written over. With
/// --json prints {path, format, entries, lines, bytes, leaf}.
#[derive(Debug, Args)]
pub(crate) struct Generate {
    /// The file to make; `-` writes to standard output
    out: PathBuf,
    /// How many entries it has, its header and records not counted
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=u64::from(u32::MAX)))]
    entries: u64,
    /// The format
    #[arg(long, value_enum, default_value_t = FormatName::PiV4)]
    format: FormatName,
    /// How many times it goes back to an earlier entry and on from there; at most one for four
    /// entries, and none in pi-v1
    #[arg(long, value_name = "N", default_value_t = 0)]
    branches: u64,
    /// Entries of a path from one compaction to the next; 0 for no compactions
    #[arg(long, value_name = "N", default_value_t = 0)]
    compact_every: u64,
    /// Where the random choices start
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// About how many bytes of text a message has
    #[arg(long, value_name = "BYTES", default_value_t = 400)]
    payload: usize,
    /// Print what was written as JSON, and a failure as {"error": {…}}
    #[arg(long)]
    pub(crate) json: bool,
}

/// The formats by the names that the program prints.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum FormatName {
    #[value(name = "codebot-v3")]
    CodebotV3,
    #[value(name = "pi-v1")]
    PiV1,
    #[value(name = "pi-v2")]
    PiV2,
    #[value(name = "pi-v3")]
    PiV3,
    #[value(name = "pi-v4")]
    PiV4,
}

impl From<FormatName> for Format {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::CodebotV3 => Self::CodebotV3,
            FormatName::PiV1 => Self::PiV1,
            FormatName::PiV2 => Self::PiV2,
            FormatName::PiV3 => Self::PiV3,
            FormatName::PiV4 => Self::PiV4,
        }
    }
}

#[derive(Serialize)]
struct Object<'a> {
    path: String,
    format: Format,
    entries: u64,
    lines: u64,
    bytes: u64,
    leaf: &'a str,
}

impl Generate {
    pub(crate) fn run(self, out: &mut Out) -> Result<Exit, Failure> {
        let shape = Shape::new(self.format.into(), self.entries)
            .branches(self.branches)
            .compact_every(self.compact_every)
            .seed(self.seed)
            .payload(self.payload);
        if self.out.as_os_str() == "-" {
            if self.json {
                let message = "--json says what was written to a file; `-` leaves it no place";
                let mut program = Cli::command();
                let error = program.error(ErrorKind::ArgumentConflict, message);
                return Err(Failure::Usage(error));
            }
            shape.write_to(out)?;
            return Ok(Exit::Done);
        }
        let written = write_new(&shape, &self.out)?;
        let path = self.out.display().to_string();
        if out.json() {
            out.object(&Object {
                path,
                format: shape.format,
                entries: shape.entries,
                lines: written.lines,
                bytes: written.bytes,
                leaf: &written.leaf,
            })?;
        } else {
            writeln!(
                out,
                "{}: {}, {} entries, {}, {}",
                clean(&path),
                shape.format,
                count(shape.entries),
                counted(written.lines, "line"),
                size(written.bytes)
            )?;
        }
        Ok(Exit::Done)
    }
}

/// Writes a session to a file that does not exist yet; what was begun and failed is removed.
pub(crate) fn write_new(shape: &Shape, path: &Path) -> leaflog::Result<Written> {
    let mut file = File::create_new(path).map_err(|error| {
        if error.kind() == io::ErrorKind::AlreadyExists {
            let message =
                "there is such a file; `gen` writes over none, so name another or remove it";
            return Error::new(Code::AlreadyExists, message).at_path(path);
        }
        Error::io("create it", path, error)
    })?;
    let progress = Progress::new("writing");
    let mut watched = Watched {
        file: &mut file,
        written: 0,
        progress: &progress,
    };
    let written = shape.write_to(&mut watched);
    progress.finish();
    written.map_err(|error| {
        let _ = fs::remove_file(path);
        Error::io("write the session", path, error)
    })
}

/// A file that tells how much went into it.
struct Watched<'a> {
    file: &'a mut File,
    written: u64,
    progress: &'a Progress,
}

impl Write for Watched<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.written += u64::try_from(written).unwrap_or(0);
        self.progress.of_some_file(self.written);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
