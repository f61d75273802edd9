//! What a listing shows: one line a session, and what could not be read.

use std::path::PathBuf;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::model::Format;
use crate::store::Session;

/// What a listing shows of a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionInfo {
    /// The session's id.
    pub id: String,
    /// The log file, or the database; none for a session in memory.
    pub path: Option<PathBuf>,
    /// Its format.
    pub format: Format,
    /// The working directory that the header names.
    pub cwd: Option<String>,
    /// The session's name.
    pub name: Option<String>,
    /// The name, or else the first user message, cut to 80 characters.
    pub title: Option<String>,
    /// The parent session: an id or a path.
    pub parent: Option<String>,
    /// When it was made, in milliseconds since 1970.
    pub created: Option<i64>,
    /// When it was last active, in milliseconds since 1970.
    pub updated: Option<i64>,
    /// Message entries.
    pub message_count: u64,
    /// Bytes of the log.
    pub bytes: u64,
    /// Whether there was damage to read around.
    pub damaged: bool,
}

impl SessionInfo {
    pub(in crate::store) fn of(session: &Session) -> Result<Self> {
        let path = session.log_path().to_owned();
        let overview = session.overview()?;
        let modified = || {
            // Of the file that was read, which need not be the one that stands there now.
            let nanos = session.state().log.identity().modified;
            let millis = i64::try_from(nanos / 1_000_000).ok();
            millis.filter(|_| nanos > 0)
        };
        Ok(Self {
            id: overview.session_id,
            format: overview.format,
            cwd: overview.cwd,
            title: overview
                .name
                .clone()
                .filter(|name| !name.is_empty())
                .or(overview.first_message),
            name: overview.name,
            parent: overview.parent,
            created: overview.created,
            updated: overview.updated.or(overview.created).or_else(modified),
            message_count: overview.stats.message_count,
            bytes: overview.bytes,
            damaged: overview.report_count > 0,
            path: Some(path),
        })
    }
}

/// The sessions that were found, and the files that could not be read.
#[derive(Debug, Default)]
pub struct Listing {
    /// Sessions, the most recently active first.
    pub sessions: Vec<SessionInfo>,
    /// What went wrong with other files; no reason to stop.
    pub warnings: Vec<Error>,
}
