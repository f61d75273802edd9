//! The contract of a repository over a place that keeps sessions as rows: ids and headers are
//! checked, forks put together, listings sorted. Where sessions are kept is the place's.

use super::session::RowSession;
use super::{NewSession, Now, Place, Rows, Totals, fork};
use crate::contract::{CreateOptions, ForkScope, Metadata, SessionStorage};
use crate::error::{Code, Error, Result};
use crate::format::{Line, header_line, now_nanos, uuid_v7};
use crate::json::{Document, Grammar, Json, lossy};
use crate::model::Format;
use crate::store::Listing;
use crate::store::SessionInfo;
use crate::store::cwd::absolute;
use crate::store::rules::check_session_id;

pub(super) fn create<P: Place>(
    place: &P,
    options: &CreateOptions,
) -> Result<Box<dyn SessionStorage>> {
    let new = new_session(options)?;
    Ok(Box::new(RowSession::new(place.create(new)?, true)))
}

pub(super) fn open<P: Place>(place: &P, id: &str, write: bool) -> Result<Box<dyn SessionStorage>> {
    Ok(Box::new(RowSession::new(place.open(id, write)?, write)))
}

pub(super) fn most_recent<P: Place>(place: &P) -> Result<Option<Box<dyn SessionStorage>>> {
    let listing = list(place)?;
    let first = listing.sessions.first();
    first.map(|info| open(place, &info.id, true)).transpose()
}

pub(super) fn list<P: Place>(place: &P) -> Result<Listing> {
    let mut sessions = place.list()?;
    sessions.sort_by(|one, other| (other.updated, &one.id).cmp(&(one.updated, &other.id)));
    Ok(Listing {
        sessions,
        warnings: Vec::new(),
    })
}

pub(super) fn fork<P: Place>(
    place: &P,
    source: &str,
    scope: &ForkScope,
    options: &CreateOptions,
) -> Result<Box<dyn SessionStorage>> {
    let parent = options.parent.clone().or_else(|| Some(source.to_owned()));
    let from = place.open(source, false)?;
    let cwd = match &*options.cwd {
        "" => from.metadata()?.cwd.unwrap_or_default(),
        own => own.to_owned(),
    };
    let mut new = new_session(&CreateOptions {
        parent,
        cwd,
        ..options.clone()
    })?;
    let (rows, now) = fork::rows_of(&from, scope)?;
    drop(from);
    let header = new.now.totals.bytes;
    new.rows = rows;
    new.now = now;
    new.now.totals.bytes = new.now.totals.bytes.saturating_add(header);
    Ok(Box::new(RowSession::new(place.create(new)?, true)))
}

/// An empty session with its header checked.
fn new_session(options: &CreateOptions) -> Result<NewSession> {
    if let Some(format) = options.format.filter(|&format| format != Format::PiV4) {
        return Err(Error::new(
            Code::Unsupported,
            format!("this store keeps pi-v4 sessions, not {format}; only files hold others"),
        ));
    }
    let id = options.id.clone().unwrap_or_else(uuid_v7);
    check_session_id(&id)?;
    let nanos = now_nanos();
    let options = &CreateOptions {
        cwd: absolute(&options.cwd)?,
        ..options.clone()
    };
    let mut line = Line::default();
    header_line(&mut line, Format::PiV4, &id, nanos, options)?;
    let bytes = u64::try_from(line.bytes().len()).unwrap_or(u64::MAX);
    Ok(NewSession {
        metadata: Metadata {
            id,
            created: i64::try_from(nanos / 1_000_000).ok(),
            cwd: Some(options.cwd.clone()),
            parent: options.parent.clone(),
            format: Format::PiV4,
            path: None,
            metadata: kept_metadata(line.object()),
        },
        rows: Vec::new(),
        now: Now {
            totals: Totals {
                bytes,
                ..Totals::default()
            },
            ..Now::default()
        },
    })
}

/// The metadata as a header holds them.
fn kept_metadata(header: &[u8]) -> Option<String> {
    let document = Grammar::parse(header).ok()?;
    let metadata = document.root().field("metadata")?;
    Some(lossy(metadata.raw()).into_owned())
}

/// What a listing shows of a session.
pub(super) fn info(metadata: Metadata, totals: Totals) -> SessionInfo {
    let named = totals.name.clone().filter(|name| !name.is_empty());
    SessionInfo {
        id: metadata.id,
        path: metadata.path,
        format: metadata.format,
        cwd: metadata.cwd,
        title: named.or(totals.first_message),
        name: totals.name,
        parent: metadata.parent,
        created: metadata.created,
        updated: totals.updated.or(metadata.created),
        message_count: totals.stats.message_count,
        bytes: totals.bytes,
        damaged: false,
    }
}

/// The error for a session that is not there.
pub(super) fn unknown_session(id: &str) -> Error {
    Error::new(
        Code::NotFound,
        format!("no session with the id `{id}`; `list` shows those there are"),
    )
}

/// The error for the id of a session that is there already.
pub(super) fn existing_session(id: &str) -> Error {
    Error::new(
        Code::AlreadyExists,
        format!("there is a session with the id `{id}` already; open it, or take another id"),
    )
}
