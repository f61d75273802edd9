//! One open session.

use std::sync::{Arc, Mutex, PoisonError};

use leaflog::{At, Code, Error, Format, OpenOptions, Result, SessionStorage};
use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;

use crate::answer;
use crate::failure::misasked;
use crate::question::{Call, bounds};
use crate::work::{Work, later};

/// An open session as JavaScript holds it.
#[napi]
pub struct Session {
    /// Gone once the session is closed, and with it its files, however long JavaScript keeps this.
    open: Arc<Mutex<Option<Arc<Open>>>>,
}

/// What the threads that work for a session share.
pub(crate) struct Open {
    storage: Box<dyn SessionStorage>,
    format: Format,
    /// How a full reading of its file is made; none for a session that has no file of its own.
    verifying: Option<OpenOptions>,
}

impl Session {
    pub(crate) fn new(
        storage: Box<dyn SessionStorage>,
        verifying: Option<OpenOptions>,
    ) -> Result<Self> {
        let format = storage.metadata()?.format;
        let open = Open {
            storage,
            format,
            verifying,
        };
        Ok(Self {
            open: Arc::new(Mutex::new(Some(Arc::new(open)))),
        })
    }
}

#[napi]
impl Session {
    /// Answers a question; both are JSON.
    #[napi(ts_return_type = "Promise<string>")]
    pub fn call(&self, question: String) -> AsyncTask<Work<String>> {
        let held = Arc::clone(&self.open);
        let open = held.lock().unwrap_or_else(PoisonError::into_inner).clone();
        later(move || {
            let call = serde_json::from_str(&question).map_err(|error| misasked(&error))?;
            let closes = matches!(call, Call::Close);
            let Some(open) = open else {
                return if closes {
                    Ok(DONE.to_owned())
                } else {
                    Err(closed())
                };
            };
            let answer = open.answer(call);
            if closes {
                // What others still work on goes with the last of them.
                drop(held.lock().unwrap_or_else(PoisonError::into_inner).take());
            }
            answer
        })
    }
}

fn closed() -> Error {
    Error::new(Code::Closed, "the session was closed; open it again")
}

const DONE: &str = "null";

impl Open {
    fn answer(&self, call: Call) -> Result<String> {
        let (storage, format) = (&*self.storage, self.format);
        let done = |()| DONE.to_owned();
        match call {
            Call::Metadata => answer::metadata(&storage.metadata()?, self.verifying.is_some()),
            Call::Lanes => answer::lanes(&storage.lanes()?),
            Call::CreateLane { lane, to } => storage.create_lane(&lane, to.as_deref()).map(done),
            Call::MoveLane { lane, to } => storage.move_lane(&lane, to.as_deref()).map(done),
            Call::AppendEntry(entry) => {
                let (new, lane) = entry.into_entry();
                answer::one(format, Some(&storage.append_entry(new, &lane)?))
            }
            Call::AppendRecord(record) => {
                let stored = storage.append_record(record.into_record())?;
                answer::one(format, Some(&stored))
            }
            Call::Entry(id) => answer::one(format, storage.entry(&id)?.as_ref()),
            Call::FindEntries(query) => {
                answer::entries(format, &storage.find_entries(&query.into())?)
            }
            Call::FindEntriesOnBranch {
                start,
                stop_at_type,
                stop_at_id,
                entries,
            } => {
                let bounds = bounds(start, stop_at_type, stop_at_id);
                let found = storage.find_entries_on_branch(&entries.into(), &bounds)?;
                answer::entries(format, &found)
            }
            Call::FindRecords(query) => {
                answer::entries(format, &storage.find_records(&query.into())?)
            }
            Call::FindOpenOperations { lane, limit } => {
                answer::entries(format, &storage.find_open_operations(&lane, limit)?)
            }
            Call::Log { after_seq, limit } => answer::log(format, &storage.log(after_seq, limit)?),
            Call::Name => answer::json(&storage.name()?),
            Call::SetName(name) => storage.set_name(name.as_deref()).map(done),
            Call::Label(id) => answer::json(&storage.label(&id)?),
            Call::SetLabel { id, label } => storage.set_label(&id, label.as_deref()).map(done),
            Call::Stats => answer::json(&answer::Totals::from(storage.stats()?)),
            Call::Snapshot { lane, leaf } => {
                let at = match (&lane, &leaf) {
                    (_, Some(leaf)) => At::Leaf(leaf),
                    (Some(lane), None) => At::Lane(lane),
                    (None, None) => At::Current,
                };
                answer::snapshot(&storage.snapshot(at)?)
            }
            Call::Verify => self.verify(),
            Call::Sync => storage.sync().map(done),
            Call::Close => storage.close().map(done),
        }
    }

    fn verify(&self) -> Result<String> {
        let metadata = self.storage.metadata()?;
        match (&self.verifying, &metadata.path) {
            (Some(options), Some(path)) => answer::verification(&options.verify(path)?),
            _ => Err(Error::new(
                Code::Unsupported,
                "only a session in a file can be verified; SQLite's `PRAGMA integrity_check` reads a database",
            )),
        }
    }
}
