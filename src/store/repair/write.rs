//! Writes the copy: line after line of the source, each as it stands or with what it needs, stand-ins
//! before the first line that names what is lost. `sequence` adds the rules of pi v4.

use ahash::AHashSet;

use super::Orphans;
use super::forest::Forest;
use super::lines::{Found, Keeps, Object, Reader, What};
use super::make::{self, Edit};
use super::opening::Opening;
use super::report::{FixKind, Notes, Place};
use super::sequence::Sequence;
use super::survey::{Fate, Item, NONE, Survey};
use super::turn::{Owned, Turn};
use crate::error::{Code, Error, Result};
use crate::format::{Kind, now_nanos};
use crate::json::{Document, Json, trim};
use crate::log::LogFile;
use crate::model::Format;
use crate::store::publish::Out;

pub(super) struct Writer<'w> {
    pub(super) log: &'w LogFile,
    pub(super) opening: &'w Opening,
    pub(super) survey: &'w Survey,
    pub(super) orphans: Orphans,
    out: &'w mut Out,
    pub(super) notes: Notes,
    /// The last good time.
    pub(super) time: i64,
    header_is_written: bool,
    /// The slot of the next object.
    slot: u32,
    /// Missing entries that have their stand-ins.
    placed: AHashSet<u32>,
    /// The name and the id of the entry that was written last.
    pub(super) last: Option<(u32, String)>,
    /// The id of codebot's header.
    root: Option<String>,
    forest: Option<Forest>,
    pub(super) sequence: Option<Sequence>,
    /// Ids that were made up for records.
    pub(super) renamed: AHashSet<String>,
}

impl<'w> Writer<'w> {
    pub(super) fn new(
        log: &'w LogFile,
        opening: &'w Opening,
        survey: &'w Survey,
        orphans: Orphans,
        out: &'w mut Out,
    ) -> Self {
        let now = || i64::try_from(now_nanos() / 1_000_000).unwrap_or(i64::MAX);
        let has_sequence = opening.format.has_lanes();
        Self {
            log,
            opening,
            survey,
            orphans,
            out,
            notes: Notes::default(),
            time: opening.created.or(survey.first_time).unwrap_or_else(now),
            header_is_written: false,
            slot: 0,
            placed: AHashSet::new(),
            last: None,
            root: None,
            forest: (orphans == Orphans::Relink && !has_sequence).then(|| Forest::of(survey)),
            sequence: has_sequence.then(|| Sequence::of(survey)),
            renamed: AHashSet::new(),
        }
    }

    /// Writes everything.
    pub(super) fn all(mut self, progress: &dyn Fn(u64)) -> Result<Notes> {
        let start = Place { line: 1, offset: 0 };
        if let Some(header) = self.opening.made_line(self.time) {
            self.add_line(header.as_bytes())?;
            let detail = "no header could be recovered; a new one was made";
            self.notes.fix(start, FixKind::HeaderMade, detail);
            self.header_is_written = true;
            if let Some(root) = self.opening.made_root() {
                self.slot = 1;
                self.root = Some(root.to_owned());
                self.note_entry(self.survey.id(0), root);
            }
        }
        let mut reader = Reader::new(self.log);
        let mut told = 0;
        while reader.read(Keeps::Format(self.opening.format), |found| {
            self.found(&found)
        })? {
            if reader.offset() >= told + (1 << 20) {
                told = reader.offset();
                progress(told);
            }
        }
        if !self.header_is_written {
            self.write_header()?;
        }
        let end = Place {
            line: reader.count(),
            offset: reader.offset(),
        };
        self.finish_operations(end)?;
        if self.slot != self.survey.len() || reader.hash() != self.survey.log_hash {
            return Err(self.changed());
        }
        Ok(self.notes)
    }

    pub(super) fn changed(&self) -> Error {
        Error::new(
            Code::Storage,
            "the log changed while it was read; try again",
        )
        .at_path(self.log.path())
    }

    fn found(&mut self, found: &Found<'_>) -> Result<()> {
        match &found.what {
            What::Blank(bytes) => {
                self.out.put(bytes)?;
                self.out.put(b"\n")?;
                if found.terminated {
                    self.notes.kept += 1;
                } else {
                    self.notes.changed += 1;
                    self.newline_added(found.at);
                }
                Ok(())
            }
            What::Note(kind, detail) => {
                self.notes.fix(found.at, *kind, detail.clone());
                Ok(())
            }
            What::Lost(range, kind, detail) => {
                self.notes
                    .drop_piece(found.at, range, *kind, detail.clone());
                Ok(())
            }
            What::Object(object) => self.object(found, object),
        }
    }

    fn newline_added(&mut self, at: Place) {
        let detail = "the last line had no newline";
        self.notes.fix(at, FixKind::NewlineAdded, detail);
    }

    fn object(&mut self, found: &Found<'_>, object: &Object<'_>) -> Result<()> {
        let at = found.at;
        if self.opening.is_broken(object) {
            if self.opening.header.is_some() {
                let detail = "a header that is none; another one counts".to_owned();
                let kind = FixKind::LineDropped;
                self.notes.drop_piece(at, &object.source, kind, detail);
            } else {
                // What it says is in the header that was made.
                self.notes.set_aside(&object.source);
            }
            return Ok(());
        }
        let is_header = self.opening.is_header(object);
        let turn = Turn {
            at,
            object,
            is_whole: object.whole && found.terminated,
        };
        if self.opening.is_no_slot(object) {
            if !self.header_is_written {
                self.header_is_written = true;
                self.mended(&turn);
                self.write(&turn, None)?;
            }
            return Ok(());
        }
        let item = match Item::of(self.opening.format, object, is_header) {
            Ok(item) => item,
            Err(why) => {
                let kind = FixKind::LineDropped;
                self.notes.drop_piece(at, &object.source, kind, why);
                return Ok(());
            }
        };
        if !self.header_is_written && !is_header {
            self.write_header()?;
        }
        let slot = self.slot;
        self.slot = slot.saturating_add(1);
        match self.survey.fate(slot) {
            Fate::Fold => {
                if !object.mended.is_empty() {
                    self.notes.set_aside(&object.source);
                }
                let detail = "the same line stands in the copy already";
                self.notes.fix(at, FixKind::DuplicateFolded, detail);
            }
            Fate::Drop => {
                let id = item.id.as_deref().unwrap_or_default();
                let detail = format!("another line with the id `{id}` counts");
                let kind = FixKind::DuplicateDropped;
                self.notes.drop_piece(at, &object.source, kind, detail);
            }
            Fate::Keep | Fate::Uproot if is_header => {
                if !self.header_is_written {
                    self.codebot_header(&turn, &item)?;
                }
            }
            Fate::Keep | Fate::Uproot if self.sequence.is_some() => {
                self.in_sequence(slot, &turn, &item)?;
            }
            Fate::Keep | Fate::Uproot => self.entry(slot, &turn, &item)?,
        }
        Ok(())
    }

    /// Writes the header out of its turn, or at the end.
    fn write_header(&mut self) -> Result<()> {
        let Some(header) = self.opening.header else {
            return Err(self.changed());
        };
        let header = self.read_again(header.place, Keeps::Opening, |opening, object| {
            opening.is_header(object)
        })?;
        let format = self.opening.format;
        header.look(|turn| {
            let detail = "the header stood behind other lines; it comes first";
            self.notes.fix(turn.at, FixKind::HeaderMoved, detail);
            if format == Format::CodebotV3 {
                if let Ok(item) = Item::of(format, turn.object, true) {
                    self.codebot_header(&turn, &item)?;
                }
                return Ok(());
            }
            self.header_is_written = true;
            self.mended(&turn);
            self.write(&turn, None)
        })?;
        Ok(())
    }

    /// Reads an object again that was read before.
    pub(super) fn read_again(
        &self,
        place: Place,
        keeps: Keeps,
        is_it: impl Fn(&Opening, &Object<'_>) -> bool,
    ) -> Result<Owned> {
        let mut owned = None;
        Reader::at(self.log, place).read(keeps, |found| {
            if let What::Object(object) = &found.what
                && is_it(self.opening, object)
            {
                owned = Some(Owned::of(&found, object));
            }
            Ok::<_, Error>(())
        })?;
        owned.ok_or_else(|| self.changed())
    }

    fn codebot_header(&mut self, turn: &Turn<'_>, item: &Item<'_>) -> Result<()> {
        self.header_is_written = true;
        let id = item.id.as_deref().unwrap_or_default();
        self.root = Some(id.to_owned());
        let edit = self.edit_of(turn, item);
        self.mended(turn);
        self.write_edited(turn, item, &edit, None)?;
        if let Some(slot) = self.survey.header {
            self.note_entry(self.survey.id(slot), id);
        }
        self.note_time(item);
        Ok(())
    }

    /// An entry of a format without a sequence.
    fn entry(&mut self, slot: u32, turn: &Turn<'_>, item: &Item<'_>) -> Result<()> {
        let mut edit = self.edit_of(turn, item);
        let name = self.survey.refers(slot);
        if let Some(refers) = &item.refers
            && self.survey.is_missing(name)
            && self.placed.insert(name)
        {
            let parent = self.parent_of_lost(name);
            let line = make::stand_in(
                self.opening.format,
                refers,
                parent.as_deref(),
                self.time,
                None,
            );
            self.add_line(line.as_bytes())?;
            self.stand_in_noted(turn.at, refers, parent.as_deref());
            self.note_entry(name, refers);
        }
        let is_rootless = self.opening.format == Format::CodebotV3
            && (item.kind != Kind::Header || edit.is_inert)
            && item.refers.is_none();
        if is_rootless || self.survey.fate(slot) == Fate::Uproot {
            let parent = self.parent_of_slot(slot);
            let why = if is_rootless {
                "it had no parent, and the header is the only root"
            } else {
                "its parents led back to it"
            };
            self.parent_replaced(turn.at, parent.as_deref(), why);
            edit.parent = Some(parent);
        }
        self.mended(turn);
        self.write_edited(turn, item, &edit, None)?;
        if let Some(id) = &item.id {
            self.note_entry(self.survey.id(slot), id);
        }
        self.note_time(item);
        Ok(())
    }

    pub(super) fn stand_in_noted(&mut self, at: Place, id: &str, parent: Option<&str>) {
        let path = match (self.orphans, parent) {
            (Orphans::Relink, Some(parent)) => format!("behind `{parent}`"),
            _ => "and its path begins there".to_owned(),
        };
        let detail =
            format!("`{id}` is named and missing; an empty entry stands in for it, {path}");
        self.notes.fix(at, FixKind::StandInMade, detail);
    }

    pub(super) fn parent_replaced(&mut self, at: Place, parent: Option<&str>, why: &str) {
        let parent = parent.unwrap_or("null");
        let detail = format!("{why}; its parent is `{parent}` now");
        self.notes.fix(at, FixKind::ParentReplaced, detail);
    }

    /// Whether a missing entry needs its stand-in still. It has it from then on.
    pub(super) fn place(&mut self, name: u32) -> bool {
        self.survey.is_missing(name) && self.placed.insert(name)
    }

    pub(super) fn is_placed(&self, name: u32) -> bool {
        self.placed.contains(&name)
    }

    /// The parent for the stand-in of a missing entry.
    fn parent_of_lost(&mut self, name: u32) -> Option<String> {
        let node = |forest: &Forest| forest.node_of_name(name);
        self.nearest(node).or_else(|| self.root.clone())
    }

    /// The parent for an entry that needs another one.
    fn parent_of_slot(&mut self, slot: u32) -> Option<String> {
        self.nearest(|_| usize::try_from(slot).ok())
            .or_else(|| self.root.clone())
    }

    /// The nearest entry before, if orphans go there and it does not hang on what is to go there.
    fn nearest(&mut self, node: impl FnOnce(&Forest) -> Option<usize>) -> Option<String> {
        let forest = self.forest.as_mut()?;
        let (name, id) = self.last.as_ref()?;
        let to = match self.survey.entry(*name) {
            Some(slot) => usize::try_from(slot).ok()?,
            None => forest.node_of_name(*name)?,
        };
        let node = node(forest)?;
        forest.join(node, to).then(|| id.clone())
    }

    /// Notes that an entry stands in the copy.
    pub(super) fn note_entry(&mut self, name: u32, id: &str) {
        if name != NONE {
            self.last = Some((name, id.to_owned()));
        }
    }

    pub(super) fn note_time(&mut self, item: &Item<'_>) {
        if let Some(time) = item.time {
            self.time = time;
        }
    }

    /// Writes an object with its edit, and with a number of its own if one is given.
    pub(super) fn write_edited(
        &mut self,
        turn: &Turn<'_>,
        item: &Item<'_>,
        edit: &Edit,
        seq: Option<u64>,
    ) -> Result<()> {
        if edit.is_empty() && seq.is_none() {
            return self.write(turn, None);
        }
        // A number is replaced without a trace; what is none may be anything.
        let numbers = turn.object.document.root().members();
        let has_other = seq.is_some()
            && numbers
                .filter(|(key, _)| key.text().as_deref() == Some("seq"))
                .any(|(_, value)| value.number().is_none());
        if !edit.is_empty() || has_other {
            self.notes.set_aside(&turn.object.source);
        }
        let text = edit.apply(self.opening.format, turn.object, item, seq);
        self.write(turn, Some(&text))
    }

    /// Writes an object, or another text in its place, with the white space around it.
    fn write(&mut self, turn: &Turn<'_>, text: Option<&[u8]>) -> Result<()> {
        let object = turn.object;
        let line = object.line.unwrap_or(object.text);
        match text {
            None => self.out.put(line)?,
            Some(text) => {
                let inner = trim(line);
                self.out.put(line.get(..inner.start).unwrap_or_default())?;
                self.out.put(text)?;
                self.out.put(line.get(inner.end..).unwrap_or_default())?;
            }
        }
        self.out.put(b"\n")?;
        if turn.is_whole && text.is_none() {
            self.notes.kept += 1;
        } else {
            self.notes.changed += 1;
        }
        if object.whole && !turn.is_whole {
            self.newline_added(turn.at);
        }
        Ok(())
    }

    /// Writes a line that the source does not have.
    pub(super) fn add_line(&mut self, line: &[u8]) -> Result<()> {
        self.out.put(line)?;
        self.out.put(b"\n")?;
        self.notes.added += 1;
        Ok(())
    }

    /// The same for one that comes with its newline.
    pub(super) fn add_whole_line(&mut self, line: &[u8]) -> Result<()> {
        self.out.put(line)?;
        self.notes.added += 1;
        Ok(())
    }
}
