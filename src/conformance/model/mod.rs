//! The model: the plainest repository that obeys the contract, which random histories compare
//! backends with. It scans lists, writes its own lines, and leaves facts, totals and snapshots to
//! the naive replay. It keeps nothing on disk.

mod check;
mod lines;
mod session;
mod stored;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

pub(in crate::conformance) use self::check::raw;
use self::session::ModelSession;
use self::stored::Stored;
use super::{Capabilities, Factory, Fixture};
use crate::contract::{CreateOptions, ForkScope, SessionRepository, SessionStorage};
use crate::error::{Code, Error, Result};
use crate::model::Format;
use crate::store::{Listing, SessionInfo};

/// The model as a backend.
///
/// ```
/// use leaflog::conformance::{Factory, Model, ModelFactory};
/// use leaflog::{CreateOptions, SessionRepository, SessionStorage, pi};
///
/// let model = Model::default();
/// let session = model.create(&CreateOptions::in_folder("/work"))?;
/// session.append_entry(pi::custom("note", None), "main")?;
/// assert_eq!(session.log(None, None)?.len(), 1);
/// assert!(ModelFactory::default().capabilities().records);
/// # Ok::<(), leaflog::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Model {
    place: Arc<Mutex<Place>>,
}

/// Makes models to run the suite on. The default makes sessions of pi v4.
///
/// Named in the example of [`Model`].
#[derive(Clone, Copy, Debug)]
pub struct ModelFactory {
    format: Format,
}

impl Default for ModelFactory {
    fn default() -> Self {
        Self::new(Format::PiV4)
    }
}

impl ModelFactory {
    /// Makes models whose sessions have a format.
    #[must_use]
    pub const fn new(format: Format) -> Self {
        Self { format }
    }
}

impl Factory for ModelFactory {
    fn capabilities(&self) -> Capabilities {
        Capabilities::of(self.format)
    }

    fn fixture(&self) -> Result<Box<dyn Fixture>> {
        Ok(Box::new(Model::default()))
    }
}

impl Fixture for Model {
    fn repository(&self) -> Result<Box<dyn SessionRepository>> {
        Ok(Box::new(self.clone()))
    }
}

/// What another backend gave the last thing that it made, so that the model gives it the same.
#[derive(Clone, Debug)]
pub(in crate::conformance) struct Hint {
    pub(in crate::conformance) id: String,
    pub(in crate::conformance) time: i64,
}

/// All that the model keeps.
#[derive(Default)]
struct Place {
    sessions: Vec<Stored>,
    made: u64,
    hint: Option<Hint>,
}

impl Place {
    fn find(&mut self, id: &str) -> Result<&mut Stored> {
        let found = self.sessions.iter_mut().find(|stored| stored.id == id);
        found.ok_or_else(|| Error::new(Code::NotFound, format!("there is no session `{id}`")))
    }

    /// The number of the next thing made.
    fn next(&mut self) -> u64 {
        self.made += 1;
        self.made
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

fn lock(place: &Mutex<Place>) -> MutexGuard<'_, Place> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Model {
    /// Gives the next thing that is made the id and time of another backend's.
    pub(in crate::conformance) fn hint(&self, hint: Option<Hint>) {
        lock(&self.place).hint = hint;
    }

    fn opened(&self, id: &str, read_only: bool) -> Result<Box<dyn SessionStorage>> {
        let mut place = lock(&self.place);
        let stored = place.find(id)?;
        if !stored.is_saved() && !stored.written_to {
            return Err(Error::new(
                Code::NotFound,
                format!("`{id}` was never saved"),
            ));
        }
        if !read_only {
            if stored.written_to {
                return Err(Error::new(Code::Locked, format!("`{id}` has a writer")));
            }
            stored.written_to = true;
            stored.stand_on_last();
        }
        Ok(self.session(id, read_only))
    }

    fn session(&self, id: &str, read_only: bool) -> Box<dyn SessionStorage> {
        Box::new(ModelSession::new(Arc::clone(&self.place), id, read_only))
    }

    fn make(&self, options: &CreateOptions) -> Result<Stored> {
        let format = options.format.unwrap_or(Format::PiV4);
        let can = Capabilities::of(format);
        let lacks = |what: &str| {
            Err(Error::new(
                Code::Unsupported,
                format!("{format}: no {what}"),
            ))
        };
        if matches!(format, Format::PiV1 | Format::PiV2) {
            return lacks("writing");
        }
        if options.metadata.is_some() && !can.metadata {
            return lacks("metadata");
        }
        if options.parent.is_some() && !can.parents {
            return lacks("parents");
        }
        let cwd = match &*options.cwd {
            "" => std::env::current_dir(),
            own => std::path::absolute(own),
        };
        let options = &CreateOptions {
            cwd: cwd.unwrap_or_default().to_string_lossy().into_owned(),
            ..options.clone()
        };
        let mut place = lock(&self.place);
        let next = place.next();
        let id = options.id.clone().unwrap_or_else(|| format!("{next:016x}"));
        check::session_id(&id)?;
        check::metadata(options.metadata.as_deref())?;
        if place.sessions.iter().any(|stored| stored.id == id) {
            return Err(Error::new(Code::AlreadyExists, format!("`{id}` exists")));
        }
        Ok(Stored::new(format, &id, now(), options))
    }

    fn add(&self, stored: Stored) -> Box<dyn SessionStorage> {
        let id = stored.id.clone();
        lock(&self.place).sessions.push(stored);
        self.session(&id, false)
    }
}

impl SessionRepository for Model {
    fn create(&self, options: &CreateOptions) -> Result<Box<dyn SessionStorage>> {
        let stored = self.make(options)?;
        Ok(self.add(stored))
    }

    fn open(&self, id: &str) -> Result<Box<dyn SessionStorage>> {
        self.opened(id, false)
    }

    fn open_read_only(&self, id: &str) -> Result<Box<dyn SessionStorage>> {
        self.opened(id, true)
    }

    fn most_recent(&self) -> Result<Option<Box<dyn SessionStorage>>> {
        match self.list()?.sessions.first() {
            Some(info) => self.open(&info.id).map(Some),
            None => Ok(None),
        }
    }

    fn list(&self) -> Result<Listing> {
        let mut place = lock(&self.place);
        let mut sessions = Vec::new();
        for stored in place.sessions.iter_mut().filter(|stored| stored.is_saved()) {
            let overview = stored.overview()?.clone();
            sessions.push(SessionInfo {
                id: overview.session_id,
                path: None,
                format: overview.format,
                cwd: overview.cwd,
                title: overview.name.clone().or(overview.first_message),
                name: overview.name,
                parent: overview.parent,
                created: overview.created,
                updated: overview.updated.or(overview.created),
                message_count: overview.stats.message_count,
                bytes: overview.bytes,
                damaged: overview.report_count > 0,
            });
        }
        sessions.sort_by_key(|info| std::cmp::Reverse(info.updated));
        Ok(Listing {
            sessions,
            warnings: Vec::new(),
        })
    }

    fn fork(
        &self,
        source: &str,
        scope: &ForkScope,
        options: &CreateOptions,
    ) -> Result<Box<dyn SessionStorage>> {
        let (format, parent, cwd, copied) = {
            let mut place = lock(&self.place);
            let from = place.find(source)?;
            let parent = (from.format == Format::PiV4).then(|| source.to_owned());
            let cwd = match &*options.cwd {
                "" => from.options.cwd.clone(),
                own => own.to_owned(),
            };
            (from.format, parent, cwd, from.copied(scope)?)
        };
        let options = CreateOptions {
            parent: options.parent.clone().or(parent),
            format: Some(format),
            cwd,
            ..options.clone()
        };
        let mut fork = self.make(&options)?;
        fork.take(copied);
        Ok(self.add(fork))
    }

    fn delete(&self, id: &str) -> Result<()> {
        let mut place = lock(&self.place);
        let locked = |stored: &Stored| stored.id == id && stored.written_to;
        if place.sessions.iter().any(locked) {
            return Err(Error::new(Code::Locked, format!("`{id}` has a writer")));
        }
        place.sessions.retain(|stored| stored.id != id);
        Ok(())
    }
}
