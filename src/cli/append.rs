//! `leaflog append`: one entry or execution record at the end of a log. The rules of the session
//! are the library's; nothing here looks into what is appended.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use leaflog::{
    Code, CreateOptions, Entry, Error, Format, MemoryRepository, NewEntry, NewRecord, Session,
    SessionRepository, SessionStorage,
};
use serde::Serialize;

use super::Exit;
use super::args::Opening;
use super::branch::with_remedy;
use super::failure::Failure;
use super::out::Out;
use super::text::clean;

/// Append an entry to a session, and print its id
///
/// It goes on from where its lane stands, in formats without lanes from the last entry of the file,
/// and elsewhere with --at. A torn last line, which another program left, is kept in
/// FILE.torn-OFFSET and cut off first. With --json {path, session_id, id, kind, parent, lane, seq, offset}:
/// `parent` is null for a root, and the run of a record; `lane` is null in formats without lanes;
/// `offset` is the byte in the file where the line starts.
#[derive(Debug, Args)]
pub(crate) struct Append {
    /// The log
    file: PathBuf,
    /// The kind (codebot) or type (pi) of the entry
    #[arg(long, value_name = "KIND")]
    kind: String,
    /// The lane to append to
    #[arg(long, value_name = "NAME", default_value = "main")]
    lane: String,
    /// The entry's own fields, a JSON object: codebot's `data`, for pi the fields beside type, id,
    /// parent, seq and timestamp; `-` reads them from standard input
    #[arg(long, value_name = "JSON", default_value = "{}")]
    data: String,
    /// The id of the new entry [default: a new one]
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Append on this entry; in pi-v4 that moves the lane first
    #[arg(long, value_name = "ID")]
    at: Option<String>,
    /// Append an execution record instead of an entry (pi-v4 only)
    #[arg(long, conflicts_with = "at")]
    record: bool,
    /// Make the session first, in this format; the file must not exist. A session of pi-v3 begins
    /// with a user or assistant message
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with = "at")]
    create: Option<WrittenFormat>,
    /// The working directory of the session that is made [default: the current one]
    #[arg(long, value_name = "DIR", requires = "create")]
    cwd: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) opening: Opening,
}

/// The formats that new sessions can have.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum WrittenFormat {
    #[value(name = "codebot-v3")]
    CodebotV3,
    #[value(name = "pi-v3")]
    PiV3,
    #[value(name = "pi-v4")]
    PiV4,
}

impl From<WrittenFormat> for Format {
    fn from(name: WrittenFormat) -> Self {
        match name {
            WrittenFormat::CodebotV3 => Self::CodebotV3,
            WrittenFormat::PiV3 => Self::PiV3,
            WrittenFormat::PiV4 => Self::PiV4,
        }
    }
}

#[derive(Serialize)]
struct Object<'a> {
    path: String,
    session_id: &'a str,
    id: &'a str,
    kind: &'a str,
    parent: Option<&'a str>,
    lane: Option<&'a str>,
    seq: Option<u64>,
    offset: Option<u64>,
}

impl Append {
    pub(crate) fn run(self, out: &mut Out) -> Result<Exit, Failure> {
        let fields = self.fields()?;
        let session = self.session()?;
        let stored = self.append(&session, &fields);
        let stored = match stored {
            Ok(stored) => stored,
            Err(error) => {
                // A file that stands in the way is not the one that was begun.
                if self.create.is_some() && error.code() != Code::AlreadyExists {
                    // What was begun and failed is removed, while nobody else can write to it.
                    let _ = fs::remove_file(&self.file);
                }
                return Err(with_remedy(error, &self.lane, &self.file).into());
            }
        };
        if self.create.is_some() && !self.file.exists() {
            let message = "the file of a pi-v3 session appears with its first user or assistant \
                           message; begin with one";
            let error = Error::new(Code::Unsupported, message).at_path(&self.file);
            return Err(error.into());
        }
        let session_id = session.session_id();
        if let Some(torn) = session.torn_tail() {
            out.warn(&format!(
                "{}: its torn last line was cut off and is kept in {}",
                self.file.display(),
                torn.display()
            ))?;
        }
        session.close()?;
        if out.json() {
            out.object(&Object {
                path: self.file.display().to_string(),
                session_id: &session_id,
                id: &stored.id,
                kind: &stored.kind,
                parent: stored.parent.as_deref(),
                lane: stored.lane.as_deref(),
                seq: stored.seq,
                offset: stored.offset,
            })?;
        } else {
            writeln!(out, "{}", clean(&stored.id))?;
        }
        Ok(Exit::Done)
    }

    fn fields(&self) -> leaflog::Result<String> {
        if self.data != "-" {
            return Ok(self.data.clone());
        }
        let mut fields = String::new();
        let read = io::stdin().lock().read_to_string(&mut fields);
        read.map_err(|error| Error::io("read it", Path::new("standard input"), error))?;
        Ok(fields)
    }

    fn session(&self) -> leaflog::Result<Session> {
        let Some(format) = self.create else {
            return self.opening.writer(&self.file).map_err(|error| {
                if error.code() != Code::NotFound {
                    return error;
                }
                let message = "there is no such file; `--create FORMAT` makes a session";
                Error::new(Code::NotFound, message).at_path(&self.file)
            });
        };
        let cwd = self.cwd.as_ref().map(|cwd| cwd.to_string_lossy());
        let options = CreateOptions {
            format: Some(format.into()),
            ..CreateOptions::in_folder(cwd.unwrap_or_default())
        };
        self.opening.options().create(&self.file, &options)
    }

    fn append(&self, session: &Session, fields: &str) -> leaflog::Result<Entry> {
        if self.record {
            let record = NewRecord::new(self.kind.as_str(), self.lane.as_str(), fields);
            return session.append_record(match &self.id {
                Some(id) => record.with_id(id.as_str()),
                None => record,
            });
        }
        let entry = NewEntry::new(self.kind.as_str(), fields);
        let entry = match &self.id {
            Some(id) => entry.with_id(id.as_str()),
            None => entry,
        };
        if let Some(at) = &self.at {
            if session.format().has_lanes() {
                rehearse(session, &entry)?;
            }
            session.move_lane(&self.lane, Some(at))?;
        }
        session.append_entry(entry, &self.lane)
    }
}

/// Has an entry refused before its lane is moved for it, which would stay in the log.
fn rehearse(session: &Session, entry: &NewEntry) -> leaflog::Result<()> {
    let stage = MemoryRepository::new().create(&CreateOptions::in_folder("/"))?;
    let played = stage.append_entry(entry.clone(), "main");
    played.map_err(|error| error.at_path(session.log_path()))?;
    if let Some(id) = entry.id()
        && (session.entry(id)?.is_some() || session.record(id)?.is_some())
    {
        let message = format!("the id `{id}` is in use in this session; take another");
        return Err(Error::new(Code::AlreadyExists, message).at_path(session.log_path()));
    }
    Ok(())
}
