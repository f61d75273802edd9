//! A place in which one case plays: its repository, and the sessions it made, which are opened
//! again and compared when the case is over.

use std::cell::RefCell;
use std::sync::Arc;

use super::dialect::Dialect;
use super::failure::{Failure, Outcome, refused, same};
use super::state::State;
use super::{Capabilities, Factory, Fixture};
use crate::contract::{
    CreateOptions, EntryQuery, ForkScope, NewEntry, Order, SessionRepository, SessionStorage,
};
use crate::error::Code;
use crate::store::Entry;

/// A session that a case works with.
pub(super) type Live = Arc<dyn SessionStorage>;

/// The place of one case.
pub(super) struct Scene<'f> {
    pub(super) factory: &'f dyn Factory,
    pub(super) can: Capabilities,
    pub(super) fixture: Box<dyn Fixture>,
    pub(super) repository: Box<dyn SessionRepository>,
    live: RefCell<Vec<(String, Live)>>,
}

impl<'f> Scene<'f> {
    pub(super) fn new(factory: &'f dyn Factory) -> Outcome<Self> {
        let fixture = factory.fixture()?;
        Ok(Self {
            factory,
            can: factory.capabilities(),
            repository: fixture.repository()?,
            fixture,
            live: RefCell::default(),
        })
    }

    /// How the format says things.
    pub(super) fn say(&self) -> Dialect {
        Dialect(self.can.format)
    }

    /// The options for a session with an id.
    pub(super) fn options(&self, id: &str) -> CreateOptions {
        CreateOptions {
            id: Some(id.to_owned()),
            format: Some(self.can.format),
            ..CreateOptions::in_folder("/work")
        }
    }

    /// A new session, remembered to be compared.
    pub(super) fn create(&self, id: &str) -> Outcome<Live> {
        let session = self.repository.create(&self.options(id))?;
        Ok(self.keep(id, session))
    }

    /// A fork, remembered to be compared.
    pub(super) fn fork(&self, source: &str, scope: &ForkScope, id: &str) -> Outcome<Live> {
        let fork = self.repository.fork(source, scope, &self.options(id))?;
        Ok(self.keep(id, fork))
    }

    /// Remembers a session to be compared in the end.
    pub(super) fn keep(&self, id: &str, session: Box<dyn SessionStorage>) -> Live {
        let session: Live = Arc::from(session);
        self.live
            .borrow_mut()
            .push((id.to_owned(), Arc::clone(&session)));
        session
    }

    /// Closes a session and remembers it no more.
    pub(super) fn close(&self, id: &str) -> Outcome {
        let mut live = self.live.borrow_mut();
        for (_, session) in live.iter().filter(|(name, _)| name == id) {
            session.close()?;
        }
        live.retain(|(name, _)| name != id);
        Ok(())
    }

    /// Opens all that is left again, for reading and for writing, and compares.
    pub(super) fn finish(&self) -> Outcome {
        for (id, session) in self.live.take() {
            let before = State::of(&*session);
            if matches!(&before, Err(error) if error.code() == Code::Closed) {
                continue;
            }
            let mut before = before?;
            session.close()?;
            let unsaved = self.can.saved_from_first_message && before.is_silent();
            if !self.can.persistent || unsaved {
                continue;
            }
            if !self.can.lanes {
                before.on_its_last_entry();
            }
            let again = |what: &str, session: Box<dyn SessionStorage>| {
                let after = State::of(&*session)?;
                session.close()?;
                after
                    .same_as(&before)
                    .map_err(|failure| failure.during(&format!("`{id}` opened again {what}")))
            };
            let repository = self.fixture.repository()?;
            again("for reading", repository.open_read_only(&id)?)?;
            again("for writing", repository.open(&id)?)?;
            again("once more", repository.open(&id)?)?;
        }
        Ok(())
    }

    /// What a session is must not change by what is tried in between, which must be refused.
    pub(super) fn unchanged(&self, session: &Live, attempt: impl FnOnce() -> Outcome) -> Outcome {
        let before = State::of(&**session)?;
        attempt()?;
        State::of(&**session)?
            .same_as(&before)
            .map_err(|failure| failure.during("after calls that were refused"))
    }

    /// Where the backend has no other lanes: requires it to say so. True if that was all.
    pub(super) fn lacks_lanes(&self, session: &Live) -> Outcome<bool> {
        if self.can.lanes {
            return Ok(false);
        }
        self.unchanged(session, || {
            let made = session.create_lane("thread", None);
            refused("create_lane", made, Code::Unsupported)
        })?;
        let names: Vec<String> = session.lanes()?.into_iter().map(|lane| lane.name).collect();
        same("lanes", names, ["main"])?;
        Ok(true)
    }

    /// Where the backend has no records: requires it to say so. True if that was all.
    pub(super) fn lacks_records(&self, session: &Live) -> Outcome<bool> {
        if self.can.records {
            return Ok(false);
        }
        self.unchanged(session, || {
            let new = super::cases::started("main", "run");
            refused(
                "append_record",
                session.append_record(new),
                Code::Unsupported,
            )
        })?;
        let found = session.find_records(&crate::RecordQuery::default())?;
        same("records", found.len(), 0)?;
        let open = session.find_open_operations("main", None)?;
        same("open operations", open.len(), 0)?;
        Ok(true)
    }

    /// Where the backend has no labels: requires it to say so. True if that was all.
    pub(super) fn lacks_labels(&self, session: &Live, id: &str) -> Outcome<bool> {
        if self.can.labels {
            return Ok(false);
        }
        self.unchanged(session, || {
            let set = session.set_label(id, Some("label"));
            refused("set_label", set, Code::Unsupported)
        })?;
        same("label", session.label(id)?, None::<String>)?;
        Ok(true)
    }
}

/// An id that is taken for the same word in all formats: the word, or 8 hex digits made of it.
pub(super) fn id_of(scene: &Scene<'_>, word: &str) -> String {
    if scene.can.any_id {
        return word.to_owned();
    }
    let hash = word.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    format!("{hash:08x}")
}

/// Appends on `main`.
pub(super) fn append(session: &Live, new: NewEntry) -> Outcome<Entry> {
    Ok(session.append_entry(new, "main")?)
}

/// The ids of entries.
pub(super) fn ids(entries: &[Entry]) -> Vec<&str> {
    entries.iter().map(|entry| &*entry.id).collect()
}

/// All entries but codebot's header, oldest first.
pub(super) fn all_entries(session: &Live) -> Outcome<Vec<Entry>> {
    let mut entries = session.find_entries(&EntryQuery {
        order: Order::OldestFirst,
        ..EntryQuery::default()
    })?;
    entries.retain(|entry| entry.kind != "header");
    Ok(entries)
}

/// Where `main` stands.
pub(super) fn leaf(session: &Live) -> Outcome<Option<String>> {
    let lanes = session.lanes()?;
    let main = lanes.into_iter().find(|lane| lane.name == "main");
    main.map(|lane| lane.leaf)
        .ok_or_else(|| Failure::new("expected a lane `main`, found none"))
}
