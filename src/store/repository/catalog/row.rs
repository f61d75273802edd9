//! What a listing says of one log, as a row of a catalog and back.

use super::layout::{Draft, Remembered, Row};
use super::stamp::Stamp;
use crate::error::{Code, Error};
use crate::index::{format_number, format_of};
use crate::store::SessionInfo;
use crate::store::repository::listing::Answer;
use crate::store::repository::scan::Log;

/// A time that is not known.
const NO_TIME: i64 = i64::MIN;
/// A line or an offset that is not named.
const NOWHERE: u64 = u64::MAX;
/// Numbers of what is wrong start here; those before are formats.
const WRONG: u32 = 256;
/// What is wrong with a log because of its bytes alone, which stays so as long as they do.
const CODES: [Code; 2] = [Code::InvalidEntry, Code::Unsupported];

/// Adds the answer for a log. False if it is none that a catalog can hold.
pub(super) fn add(draft: &mut Draft, log: &Log, stamp: &Stamp, answer: &Answer) -> bool {
    let Ok(folder) = u32::try_from(log.folder) else {
        return false;
    };
    let row = Row {
        device: stamp.device,
        inode: stamp.inode,
        len: stamp.len,
        modified: stamp.modified,
        changed: stamp.changed,
        created: NO_TIME,
        updated: NO_TIME,
        line: NOWHERE,
        offset: NOWHERE,
        folder,
        ..Row::default()
    };
    let name = Some(log.name());
    match answer {
        Ok(info) => {
            let known = [info.created, info.updated];
            if known.contains(&Some(NO_TIME)) || info.bytes != stamp.len {
                return false;
            }
            let row = Row {
                created: info.created.unwrap_or(NO_TIME),
                updated: info.updated.unwrap_or(NO_TIME),
                messages: info.message_count,
                kind: format_number(info.format),
                damaged: u32::from(info.damaged),
                ..row
            };
            draft.push(
                row,
                [
                    name,
                    Some(info.id.as_bytes()),
                    bytes(&info.cwd),
                    bytes(&info.name),
                    bytes(&info.title),
                    bytes(&info.parent),
                ],
            )
        }
        Err(error) => {
            let code = CODES.iter().position(|&code| code == error.code());
            let Some(code) = code.and_then(|code| u32::try_from(code).ok()) else {
                return false;
            };
            let place = [error.line(), error.offset()];
            let has_cause = std::error::Error::source(error).is_some();
            if has_cause || error.path() != Some(&log.path) || place.contains(&Some(NOWHERE)) {
                return false;
            }
            let row = Row {
                line: error.line().unwrap_or(NOWHERE),
                offset: error.offset().unwrap_or(NOWHERE),
                kind: WRONG + code,
                ..row
            };
            draft.push(
                row,
                [
                    name,
                    Some(error.message().as_bytes()),
                    None,
                    None,
                    None,
                    None,
                ],
            )
        }
    }
}

fn bytes(text: &Option<String>) -> Option<&[u8]> {
    text.as_deref().map(str::as_bytes)
}

/// Adds what an earlier catalog says of a log that is as it was.
pub(super) fn keep(draft: &mut Draft, remembered: &Remembered<'_>, log: &Log) {
    if let (Some(row), Ok(folder)) = (remembered.row(), u32::try_from(log.folder)) {
        draft.push(Row { folder, ..row }, remembered.texts());
    }
}

/// The answer for a log. None if the row says nothing that can be meant.
pub(super) fn answer(remembered: &Remembered<'_>, log: &Log) -> Option<Answer> {
    let row = remembered.row()?;
    let [_, first, cwd, name, title, parent] = remembered.texts();
    let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(str::to_owned);
    let first = text(first?)?;
    if let Some(code) = row.kind.checked_sub(WRONG) {
        let code = CODES.get(usize::try_from(code).ok()?)?;
        let error = Error::new(*code, first).at_path(&log.path);
        return Some(Err(match (row.line, row.offset) {
            (NOWHERE, NOWHERE) => error,
            (NOWHERE, _) | (_, NOWHERE) => return None,
            (line, offset) => error.at_line(line, offset),
        }));
    }
    let optional = |bytes: Option<&[u8]>| match bytes {
        Some(bytes) => text(bytes).map(Some),
        None => Some(None),
    };
    let time = |time: i64| (time != NO_TIME).then_some(time);
    Some(Ok(SessionInfo {
        id: first,
        path: Some(log.path.clone()),
        format: format_of(row.kind)?,
        cwd: optional(cwd)?,
        name: optional(name)?,
        title: optional(title)?,
        parent: optional(parent)?,
        created: time(row.created),
        updated: time(row.updated),
        message_count: row.messages,
        bytes: row.len,
        damaged: row.damaged != 0,
    }))
}
