//! The writes that a session in a file can make, each by the same steps: what may be refused is
//! looked at, the line is written, and only then the session stands elsewhere.

use std::sync::Arc;

use super::Entry;
use super::rules::{self, Head};
use super::session::Inner;
use super::writer::{Pen, Stored};
use crate::contract::{NewEntry, NewRecord};
use crate::error::{Code, Error, Result};
use crate::format::{
    Envelope, entry_line, hex_id, is_hex_id, label_line, lane_line, name_line, now_nanos,
    record_line, target_of, uuid_v7_at,
};
use crate::index::Class;
use crate::model::Format;

impl Inner {
    pub(super) fn append_entry(self: &Arc<Self>, new: NewEntry, lane: &str) -> Result<Entry> {
        self.write(|pen| {
            let format = pen.format;
            let nanos = now_nanos();
            let id = match (&new.id, format) {
                (None, Format::PiV4) => uuid_v7_at(nanos),
                (None, _) => self.unused_hex_id(pen)?,
                (Some(id), _) => {
                    if format != Format::PiV4 && !is_hex_id(id) {
                        return Err(Error::new(
                            Code::Unsupported,
                            format!("an id in {format} is 8 lower-case hexadecimal digits, found `{id}`; leave it out to get one"),
                        ));
                    }
                    id.clone()
                }
            };
            // The fields are looked at first, wherever the entry is to go.
            let parent = pen.head.lane(lane).ok();
            let envelope = Envelope {
                id: &id,
                parent: parent.and_then(|open| open.lane.leaf.as_deref()),
                lane,
                seq: pen.head.next()?,
                nanos,
            };
            entry_line(&mut pen.line, format, &new, &envelope)?;
            pen.head.lane(lane)?;
            if new.id.is_some() {
                self.check_unused(pen, &id)?;
                if self.ask(|source| Ok(source.index.lacks(&id)?))? {
                    return Err(rules::awaited(&id));
                }
            }
            self.check_targets(pen, &new)?;
            let offset = pen.write_at(nanos)?;
            pen.recent.add(&id);
            let parent = pen.head.wrote_entry(lane, &id);
            let stored = Stored {
                id,
                kind: new.kind,
                parent,
                lane: format.has_lanes().then(|| lane.to_owned()),
            };
            Ok(pen.stored(stored, nanos, offset))
        })
    }

    pub(super) fn append_record(self: &Arc<Self>, new: NewRecord) -> Result<Entry> {
        self.write(|pen| {
            if !pen.format.has_lanes() {
                return Err(rules::cannot_hold(pen.format, "execution records"));
            }
            let nanos = now_nanos();
            let id = new.id.clone().unwrap_or_else(|| uuid_v7_at(nanos));
            let envelope = Envelope {
                id: &id,
                parent: None,
                lane: &new.lane,
                seq: pen.head.next()?,
                nanos,
            };
            let (step, run) = record_line(&mut pen.line, &new, &envelope)?;
            pen.head.lane(&new.lane)?;
            if new.id.is_some() {
                self.check_unused(pen, &id)?;
            }
            pen.head.check_step(&new.lane, &step)?;
            let offset = pen.write_at(nanos)?;
            pen.head.wrote_record(&new.lane, &id, step);
            pen.recent.add(&id);
            let stored = Stored {
                id,
                kind: new.kind,
                parent: run,
                lane: Some(new.lane),
            };
            Ok(pen.stored(stored, nanos, offset))
        })
    }

    pub(super) fn create_lane(self: &Arc<Self>, name: &str, at: Option<&str>) -> Result<()> {
        self.write(|pen| {
            if !pen.format.has_lanes() {
                return Err(rules::cannot_hold(pen.format, "lanes beside `main`"));
            }
            pen.head.check_new_lane(name)?;
            self.check_entry(pen, at)?;
            lane_line(&mut pen.line, pen.head.next()?, name, at);
            pen.write()?;
            pen.head.wrote_lane(name, at);
            Ok(())
        })
    }

    pub(super) fn move_lane(self: &Arc<Self>, name: &str, to: Option<&str>) -> Result<()> {
        self.write(|pen| {
            pen.head.lane(name)?;
            self.check_entry(pen, to)?;
            if !pen.format.has_lanes() {
                // Nothing in the file says where the leaf is; the next entry will.
                let to = to.or((pen.format == Format::CodebotV3).then_some("h0"));
                pen.head.stand_on(name, to);
                // Answers stand there too, until the next entry.
                self.settle(pen)?;
                let _turn = self.renewing.lock();
                let state = self.state().standing_on(to);
                *self.state.write() = Arc::new(state);
                return Ok(());
            }
            lane_line(&mut pen.line, pen.head.next()?, name, to);
            pen.write()?;
            pen.head.wrote_lane(name, to);
            Ok(())
        })
    }

    /// Names a pi v4 session.
    pub(super) fn write_name(self: &Arc<Self>, name: Option<&str>) -> Result<()> {
        self.write(|pen| {
            name_line(&mut pen.line, pen.head.next()?, name);
            pen.write()?;
            pen.head.wrote_fact();
            Ok(())
        })
    }

    /// Labels an entry of a pi v4 session.
    pub(super) fn write_label(self: &Arc<Self>, id: &str, label: Option<&str>) -> Result<()> {
        self.write(|pen| {
            self.check_entry(pen, Some(id))?;
            label_line(&mut pen.line, pen.head.next()?, id, label);
            pen.write()?;
            pen.head.wrote_fact();
            Ok(())
        })
    }

    /// Where a session that is open for writing stands; none if it is open for reading.
    pub(super) fn head(&self) -> Option<Head> {
        let writer = self.writer.as_ref()?;
        Some(writer.pen.lock().head.clone())
    }

    /// The file that a torn last line was kept in by this session.
    pub(super) fn torn_tail(&self) -> Option<std::path::PathBuf> {
        self.writer.as_ref()?.pen.lock().log.torn()
    }

    fn check_entry(&self, pen: &mut Pen, id: Option<&str>) -> Result<()> {
        match id {
            Some(id) if !self.has(pen, id, &[Class::Entry])? => Err(rules::unknown_entry(id)),
            _ => Ok(()),
        }
    }

    fn check_unused(&self, pen: &mut Pen, id: &str) -> Result<()> {
        if self.has(pen, id, &[Class::Entry, Class::Record])? {
            return Err(rules::taken(id));
        }
        Ok(())
    }

    /// Checks that the entry that a pi v3 entry speaks of is there.
    fn check_targets(&self, pen: &mut Pen, new: &NewEntry) -> Result<()> {
        if pen.format != Format::PiV3 || !matches!(&*new.kind, "label" | "context_edit") {
            return Ok(());
        }
        let target = target_of(pen.line.object());
        self.check_entry(pen, target.as_deref())
    }

    /// Whether an entry or a record has an id.
    fn has(&self, pen: &mut Pen, id: &str, classes: &[Class]) -> Result<bool> {
        if pen.recent.may_have(id) {
            self.settle(pen)?;
        }
        self.ask(|source| {
            for &class in classes {
                if source.index.slot_of(source.log, id, class)?.is_some() {
                    return Ok(true);
                }
            }
            Ok(false)
        })
    }

    /// Has the index take in all that was written, with the pen in hand.
    fn settle(&self, pen: &Pen) -> Result<()> {
        if !self.take_in_pending(pen)? {
            self.grow_to(pen.log.len())?;
        }
        Ok(())
    }

    fn unused_hex_id(&self, pen: &mut Pen) -> Result<String> {
        loop {
            let id = hex_id();
            if !self.has(pen, &id, &[Class::Entry])?
                && !self.ask(|source| Ok(source.index.lacks(&id)?))?
            {
                return Ok(id);
            }
        }
    }
}
