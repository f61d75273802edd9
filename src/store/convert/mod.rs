//! A pi v1, v2 or v3 session as one of pi v4 in a new file, with the same context. Says what could
//! not be carried over; never writes the source.

mod edits;
mod entry;

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::OpenOptions;
use super::fork::tree_pieces;
use super::publish::{Out, publish};
use super::repository::header_id;
use crate::error::{Code, Error, Result};
use crate::format::{Kind, Line, label_line, lane_line, name_line, uuid_v7};
use crate::index::{Answer, Class, Flags, Slot};
use crate::model::{Format, MAX_REPORTS};
use crate::snapshot::Source;

/// What a conversion wrote, and what is not as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Conversion {
    /// The session's id, which it keeps.
    pub session_id: String,
    /// The format that was read.
    pub from: Format,
    /// Entries of the new session. Labels and names are facts there, and no entries.
    pub entries: u64,
    /// Bytes of the new log.
    pub bytes: u64,
    /// Reports of damage in the source; what they say was skipped was not converted.
    pub damage: u64,
    /// The first [`MAX_REPORTS`] changes.
    pub changes: Vec<Change>,
    /// How many there are.
    pub change_count: u64,
}

/// Something that the new session does not say as the old one did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// What kind of change it is.
    pub kind: ChangeKind,
    /// The entry that it is about, if it is about one.
    pub entry: Option<String>,
    /// What changed, in a sentence.
    pub detail: String,
}

/// What kind of change a [`Change`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ChangeKind {
    /// A message was written as a context edit left it; its old content is not in the new file.
    Edited,
    /// A message that a context edit took out of the context became an entry without one.
    Removed,
    /// A message stands at another place of the context.
    Moved,
    /// The context at this entry is another one: a context edit holds on one branch and not on another,
    /// or the new format leaves the message out.
    Context,
    /// The payload did not decode, or the type is not known: kept as a `custom` entry.
    Custom,
    /// A label was left out, as nothing that it could stand on is left.
    Label,
    /// A time was missing or none.
    Timestamp,
    /// A field was left out, as the new format has another use for its name.
    Field,
}

/// Writes a session of pi v1, v2 or v3 into a new file as one of pi v4. It keeps its id, its entries
/// keep theirs, and each path shows the context that it had. The options say how the source is read.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let (path, target) = (folder.path().join("old.jsonl"), folder.path().join("new.jsonl"));
/// # std::fs::write(&path, concat!(
/// #   "{\"type\":\"session\",\"id\":\"s1\",\"timestamp\":\"2026-07-14T09:00:00Z\",\"cwd\":\"/\"}\n",
/// #   "{\"type\":\"message\",\"timestamp\":\"2026-07-14T09:00:01Z\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n")).unwrap();
/// use leaflog::{At, Change, ChangeKind, Conversion, Format, OpenOptions, Session};
///
/// let done: Conversion = leaflog::convert(&path, &target, Format::PiV4, &OpenOptions::new())?;
/// assert_eq!((done.from, done.entries, done.changes.len()), (Format::PiV1, 1, 0));
/// let lost = |change: &Change| change.kind == ChangeKind::Edited;
/// assert!(!done.changes.iter().any(lost));
///
/// let (old, new) = (Session::open(&path)?, Session::open(&target)?);
/// assert_eq!(new.format(), Format::PiV4);
/// assert_eq!(new.snapshot(At::Current)?.messages, old.snapshot(At::Current)?.messages);
/// # Ok::<(), leaflog::Error>(())
/// ```
///
/// # Errors
///
/// `unsupported` for another target than pi v4 and for a source of codebot or pi v4,
/// `already_exists` if there is a file at the target, `invalid_entry` for entries whose parents form a
/// cycle (salvage cuts it), and as [`OpenOptions::open`].
pub fn convert(
    source: impl AsRef<Path>,
    target: impl AsRef<Path>,
    to: Format,
    options: &OpenOptions,
) -> Result<Conversion> {
    let (path, target) = (source.as_ref(), target.as_ref());
    if to != Format::PiV4 {
        return Err(Error::new(
            Code::Unsupported,
            format!("expected pi-v4 as the format to convert to, found {to}"),
        ));
    }
    let session = options.clone().write(false).open(path)?;
    let refused = match session.format() {
        Format::CodebotV3 => {
            "its messages and states have no counterpart in pi-v4, so that no context would be the same"
        }
        Format::PiV4 => "it is in this format already; `fork --tree` copies it",
        Format::PiV1 | Format::PiV2 | Format::PiV3 => {
            return session.answer(|source| {
                publish(
                    &options.disk,
                    target,
                    |out| Writer::new(source, options.salvage, out)?.all(),
                    || Ok(()),
                )
            });
        }
    };
    Err(Error::new(
        Code::Unsupported,
        format!(
            "expected a pi-v1, pi-v2 or pi-v3 session to convert, found {}: {refused}",
            session.format()
        ),
    )
    .at_path(path))
}

/// Writes a session while it notes what changes.
struct Writer<'s, 'o> {
    source: Source<'s>,
    out: &'o mut Out,
    edits: edits::Edits,
    /// Entries that become facts, and the nearest ancestors that do not.
    gone: ahash::AHashMap<Slot, Option<Slot>>,
    pieces: Vec<(Slot, bool)>,
    seq: u64,
    entries: u64,
    /// The last good time, for entries without one.
    time: i64,
    changes: Vec<Change>,
    change_count: u64,
}

impl<'s, 'o> Writer<'s, 'o> {
    fn new(source: Source<'s>, salvage: bool, out: &'o mut Out) -> Answer<Self> {
        let pieces = tree_pieces(source, salvage)?;
        let slots: Vec<Slot> = pieces.iter().map(|(slot, _)| *slot).collect();
        Ok(Self {
            source,
            out,
            edits: edits::Edits::of(source, &slots)?,
            gone: ahash::AHashMap::new(),
            pieces,
            seq: 0,
            entries: 0,
            time: source.index.summary.created.unwrap_or(0).max(0),
            changes: Vec::new(),
            change_count: 0,
        })
    }

    fn all(mut self) -> Answer<Conversion> {
        let session_id = self.header()?;
        for leaf in std::mem::take(&mut self.edits.conflicts) {
            self.change(
                ChangeKind::Context,
                Some(leaf),
                "a context edit holds here and not on another branch with the same entries, or the \
                 other way round; the branch that the session stands on was followed",
            )?;
        }
        for (slot, uproot) in std::mem::take(&mut self.pieces) {
            let parent = if uproot { None } else { self.parent(slot)? };
            let (kind, flags) = self.source.index.kind_and_flags(slot)?;
            if matches!(kind, Kind::Label | Kind::SessionInfo) && !flags.has(Flags::INERT) {
                self.gone.insert(slot, parent);
                continue;
            }
            self.entry(slot, parent)?;
            self.entries += 1;
        }
        self.facts()?;
        Ok(Conversion {
            session_id,
            from: self.source.index.format,
            entries: self.entries,
            bytes: self.out.bytes(),
            damage: self.source.index.summary.report_count(),
            changes: self.changes,
            change_count: self.change_count,
        })
    }

    /// The nearest ancestor that is an entry of the new session too.
    fn parent(&self, slot: Slot) -> Answer<Option<Slot>> {
        let parent = self.source.index.parent(slot)?;
        Ok(parent.and_then(|parent| self.stand_in(parent)))
    }

    fn stand_in(&self, slot: Slot) -> Option<Slot> {
        self.gone.get(&slot).copied().unwrap_or(Some(slot))
    }

    fn id(&self, slot: Slot) -> Answer<String> {
        self.source.index.id(self.source.log, slot)
    }

    /// The next number in the sequence.
    fn number(&mut self) -> u64 {
        self.seq += 1;
        self.seq
    }

    fn change(&mut self, kind: ChangeKind, entry: Option<Slot>, detail: &str) -> Answer<()> {
        self.change_count += 1;
        if self.changes.len() < MAX_REPORTS {
            let entry = entry.map(|slot| self.id(slot)).transpose()?;
            self.changes.push(Change {
                kind,
                entry,
                detail: detail.to_owned(),
            });
        }
        Ok(())
    }

    fn header(&mut self) -> Answer<String> {
        let summary = &self.source.index.summary;
        let id = match &*summary.session_id {
            "" => uuid_v7(),
            id => id.to_owned(),
        };
        let text = |text: &str| serde_json::Value::from(text).to_string();
        let mut header = format!(
            "{{\"kind\":\"header\",\"version\":4,\"id\":{},\"createdAt\":{},\"cwd\":{}",
            text(&id),
            self.time,
            text(summary.cwd.as_deref().unwrap_or_default()),
        );
        if let Some(parent) = summary.parent.as_deref().filter(|path| !path.is_empty()) {
            let (key, value) = match self.id_of_parent(parent) {
                Some(id) => ("parentSessionId", id),
                None => ("legacyParentSessionPath", parent.to_owned()),
            };
            header.push_str(&format!(",\"{key}\":{}", text(&value)));
        }
        header.push_str("}\n");
        let has_time = summary.created.is_some_and(|created| created >= 0);
        self.out.put(header.as_bytes())?;
        if !has_time {
            self.change(
                ChangeKind::Timestamp,
                None,
                "the header has no time that pi-v4 could hold; 0 was written",
            )?;
        }
        Ok(id)
    }

    /// The id of the session in the file that the header names as the parent.
    fn id_of_parent(&self, parent: &str) -> Option<String> {
        // A relative path can only have been meant from where the source lies.
        let folder = crate::disk::folder_of(self.source.log.path());
        let path: PathBuf = folder.join(parent);
        header_id(&path).filter(|id| !id.is_empty())
    }

    /// The lane, the name and the labels.
    fn facts(&mut self) -> Answer<()> {
        let index = self.source.index;
        let summary = &index.summary;
        let leaf = match &summary.last_entry {
            Some(id) => index.slot_of(self.source.log, id, Class::Entry)?,
            None => None,
        };
        let leaf = leaf.and_then(|leaf| self.stand_in(leaf));
        let leaf = leaf.map(|leaf| self.id(leaf)).transpose()?;
        let mut line = Line::default();
        lane_line(&mut line, self.number(), "main", leaf.as_deref());
        self.out.put(line.bytes())?;
        if let Some(name) = &summary.name {
            name_line(&mut line, self.number(), Some(name));
            self.out.put(line.bytes())?;
        }
        let details = index.details()?;
        let mut labels = Vec::with_capacity(details.labels.len());
        for (target, label) in &details.labels {
            match index.slot_of(self.source.log, target, Class::Entry)? {
                Some(slot) if !self.gone.contains_key(&slot) => labels.push((slot, target, label)),
                _ => self.change(
                    ChangeKind::Label,
                    None,
                    &format!("the label {label:?} stands on `{target}`, which is no entry of the new session"),
                )?,
            }
        }
        labels.sort_by_key(|(slot, _, _)| *slot);
        for (_, target, label) in labels {
            label_line(&mut line, self.number(), target, Some(label));
            self.out.put(line.bytes())?;
        }
        Ok(())
    }
}
