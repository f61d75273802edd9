//! An object whose turn it is, and what it needs by itself before it is written: the reasons, told in
//! the report. `write` and `sequence` say when its turn comes.

use std::ops::Range;

use super::lines::{Found, Object};
use super::make::Edit;
use super::report::{FixKind, Place};
use super::survey::{Class, Item};
use super::write::Writer;
use crate::error::Result;
use crate::format::Kind;
use crate::json::Grammar;

/// An object that was read again, out of its turn.
pub(super) struct Owned {
    at: Place,
    text: Vec<u8>,
    line: Option<Vec<u8>>,
    is_whole: bool,
    source: Range<u64>,
    mended: Vec<(FixKind, String)>,
}

impl Owned {
    pub(super) fn of(found: &Found<'_>, object: &Object<'_>) -> Self {
        Self {
            at: found.at,
            text: object.text.to_vec(),
            line: object.line.map(<[u8]>::to_vec),
            is_whole: object.whole && found.terminated,
            source: object.source.clone(),
            mended: object.mended.clone(),
        }
    }

    /// Parses the object, for a closer look.
    pub(super) fn look<T>(&self, look: impl FnOnce(Turn<'_>) -> Result<T>) -> Result<Option<T>> {
        let Ok(document) = Grammar::parse(&self.text) else {
            return Ok(None);
        };
        let object = Object {
            text: &self.text,
            document: &document,
            line: self.line.as_deref(),
            whole: self.is_whole,
            source: self.source.clone(),
            number: 0,
            is_recovered: false,
            mended: self.mended.clone(),
        };
        look(Turn {
            at: self.at,
            object: &object,
            is_whole: self.is_whole,
        })
        .map(Some)
    }
}

/// An object whose turn it is.
#[derive(Clone, Copy)]
pub(super) struct Turn<'t> {
    pub(super) at: Place,
    pub(super) object: &'t Object<'t>,
    /// Whether it is written as the line that it is, if nothing else changes.
    pub(super) is_whole: bool,
}

impl Writer<'_> {
    /// What an object needs by itself, noted.
    pub(super) fn edit_of(&mut self, turn: &Turn<'_>, item: &Item<'_>) -> Edit {
        let mut edit = Edit::of(self.opening.format, turn.object, item, self.time);
        if let Some(name) = item.id.as_deref().and_then(|id| self.survey.names.find(id))
            && item.class == Class::Record
            && self.survey.is_shared(name)
        {
            let id = item.id.as_deref().unwrap_or_default();
            let new = self.free_id(id);
            let detail = format!("an entry has the id `{id}` too; the record is `{new}` now");
            self.notes.fix(turn.at, FixKind::RecordRenamed, detail);
            // What names the operation would not find it under another id.
            edit.is_inert |= item.kind == Kind::OperationStarted;
            edit.id = Some(new);
        }
        if edit.id.is_some() && item.class == Class::Entry {
            let detail = "the header's `id` was missing or no text";
            self.notes.fix(turn.at, FixKind::FieldMended, detail);
        }
        if edit.is_inert {
            let detail = "the payload does not decode; it was kept where it does nothing";
            self.notes.fix(turn.at, FixKind::PayloadKept, detail);
        }
        if edit.time.is_some() {
            let detail = "the time was missing or none; that of the entry before was written";
            self.notes.fix(turn.at, FixKind::TimeReplaced, detail);
        }
        if edit.parent.is_some() {
            let detail = "the parent was no text, or that of a header; it has none now";
            self.notes.fix(turn.at, FixKind::FieldMended, detail);
        }
        if edit.drops_leaf {
            let detail =
                "the lane stood on an empty id, which no entry can have; it stands on none now";
            self.notes.fix(turn.at, FixKind::FieldMended, detail);
        }
        if edit.drops_lane {
            let detail = "the lane was no text; it was left out";
            self.notes.fix(turn.at, FixKind::FieldMended, detail);
        }
        edit
    }

    /// An id for a record whose own one an entry has.
    fn free_id(&mut self, id: &str) -> String {
        let mut new = format!("{id}.record");
        while self.survey.names.find(&new).is_some() || self.renamed.contains(&new) {
            new.push('+');
        }
        self.renamed.insert(new.clone());
        new
    }

    /// Notes what was mended to read an object.
    pub(super) fn mended(&mut self, turn: &Turn<'_>) {
        for (kind, detail) in &turn.object.mended {
            self.notes.fix(turn.at, *kind, detail.clone());
        }
        if !turn.object.mended.is_empty() {
            self.notes.set_aside(&turn.object.source);
        }
    }
}
