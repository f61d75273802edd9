//! Makes the calls of a history: of the backend first, then of the model with the id and time that
//! the backend gave, and compares after each.

use super::answer::{self, Answer};
use super::call::{Action, Call, Known};
use super::damage::Damage;
use crate::conformance::failure::{Failure, Outcome, some};
use crate::conformance::model::{Hint, Model};
use crate::conformance::scene::Live;
use crate::conformance::state::State;
use crate::conformance::{Capabilities, Factory, Fixture};
use crate::contract::{CreateOptions, LogItem, SessionRepository, SessionStorage};
use crate::error::{Code, Result};
use crate::model::At;
use crate::store::Entry;

/// One session in both.
struct Pair {
    id: String,
    backend: Live,
    model: Live,
    labelled: bool,
}

struct Run<'f> {
    can: Capabilities,
    fixture: Box<dyn Fixture + 'f>,
    backend: Box<dyn SessionRepository>,
    model: Model,
    pairs: Vec<Pair>,
    now: usize,
    made: usize,
    done: Vec<String>,
}

/// Makes all calls and compares.
pub(super) fn run(factory: &dyn Factory, calls: &[Call]) -> Outcome {
    let fixture = factory.fixture()?;
    let mut run = Run {
        can: factory.capabilities(),
        backend: fixture.repository()?,
        fixture,
        model: Model::default(),
        pairs: Vec::new(),
        now: 0,
        made: 0,
        done: Vec::new(),
    };
    run.create()?;
    for call in calls {
        let known = run.known()?;
        let action = call.action(&run.can, &known);
        run.done.push(format!("{}: {action:?}", run.pair()?.id));
        run.act(&action).map_err(|failure| run.told(failure))?;
    }
    for nth in 0..run.pairs.len() {
        run.now = nth;
        run.done.push(format!("{}: in the end", run.pair()?.id));
        run.act(&Action::Look)
            .map_err(|failure| run.told(failure))?;
    }
    Ok(())
}

impl Run<'_> {
    /// A failure with the calls that led to it.
    fn told(&self, failure: Failure) -> Failure {
        let calls = self.done.join("\n  ");
        Failure::new(format!("{failure}\nafter the calls\n  {calls}"))
    }

    fn pair(&self) -> Outcome<&Pair> {
        some("session", self.pairs.get(self.now))
    }

    fn options(&mut self) -> CreateOptions {
        self.made += 1;
        CreateOptions {
            id: Some(format!("s{}", self.made)),
            format: Some(self.can.format),
            ..CreateOptions::in_folder("/work")
        }
    }

    fn add(
        &mut self,
        id: Option<String>,
        backend: Box<dyn SessionStorage>,
        model: Box<dyn SessionStorage>,
    ) {
        self.now = self.pairs.len();
        self.pairs.push(Pair {
            id: id.unwrap_or_default(),
            backend: backend.into(),
            model: model.into(),
            labelled: false,
        });
    }

    fn create(&mut self) -> Outcome {
        let options = self.options();
        let backend = self.backend.create(&options)?;
        let model = self.model.create(&options)?;
        self.add(options.id, backend, model);
        Ok(())
    }

    /// What the model has, for the next call to refer to.
    fn known(&self) -> Outcome<Known> {
        let pair = self.pair()?;
        let mut known = Known {
            sessions: self.pairs.len(),
            saved: !self.can.saved_from_first_message || !State::of(&*pair.model)?.is_silent(),
            labelled: pair.labelled,
            ..Known::default()
        };
        known.files = known.saved && self.can.persistent && self.fixture.folder().is_some();
        known.lanes = pair
            .model
            .lanes()?
            .into_iter()
            .map(|lane| lane.name)
            .collect();
        for item in pair.model.log(None, None)? {
            known.seq = item.seq();
            match item {
                LogItem::Entry(entry) if entry.kind != "header" => known.entries.push(entry.id),
                LogItem::Record(record) => known.records.push(record.id),
                _ => {}
            }
        }
        Ok(known)
    }

    fn act(&mut self, action: &Action) -> Outcome {
        match action {
            Action::Switch(nth) => self.now = *nth,
            Action::Reopen => return self.reopen(None),
            Action::Damage(damage) => return self.reopen(Some(*damage)),
            Action::Delete => return self.delete(),
            Action::Fork(_) => return self.fork(action),
            Action::LookBeside => {
                let id = &self.pair()?.id;
                let look = |repository: &dyn SessionRepository| -> Result<State> {
                    let reader = repository.open_read_only(id)?;
                    let state = State::of(&*reader);
                    reader.close()?;
                    state
                };
                let backend = answer::answer(look(&*self.backend), answer::state);
                return same(&backend, &answer::answer(look(&self.model), answer::state));
            }
            _ => {
                let pair = self.pair()?;
                let (backend, made) = ask(&*pair.backend, action);
                let made = match (made, action) {
                    (None, Action::SetName(_) | Action::SetLabel(..)) if backend.is_ok() => {
                        last_entry(&pair.backend)?
                    }
                    (made, _) => made,
                };
                self.model.hint(made.map(|entry| Hint {
                    time: entry.time.unwrap_or_default(),
                    id: entry.id,
                }));
                let (model, _) = ask(&*pair.model, action);
                self.model.hint(None);
                same(&backend, &model)?;
                let labelled = matches!(action, Action::SetLabel(..));
                let now = self.now;
                if let Some(pair) = self.pairs.get_mut(now) {
                    pair.labelled |= labelled;
                }
            }
        }
        Ok(())
    }

    fn reopen(&mut self, damage: Option<Damage>) -> Outcome {
        self.backend = self.fixture.repository()?;
        let now = self.now;
        let pair = some("session", self.pairs.get_mut(now))?;
        let log = pair.backend.metadata()?.path;
        pair.backend.close()?;
        pair.model.close()?;
        if let (Some(damage), Some(log)) = (damage, log) {
            let happened = damage.happen(&log);
            happened.map_err(|e| Failure::new(format!("damaging {}: {e}", log.display())))?;
        }
        pair.backend = self.backend.open(&pair.id)?.into();
        pair.model = self.model.open(&pair.id)?.into();
        self.act(&Action::Look)
    }

    fn delete(&mut self) -> Outcome {
        let pair = self.pairs.remove(self.now);
        self.now = 0;
        pair.backend.close()?;
        pair.model.close()?;
        self.backend.delete(&pair.id)?;
        self.model.delete(&pair.id)?;
        let gone =
            |result: Result<_>| answer::answer(result, |_: Box<dyn SessionStorage>| Vec::new());
        let backend = gone(self.backend.open(&pair.id));
        same(&backend, &gone(self.model.open(&pair.id)))
    }

    fn fork(&mut self, action: &Action) -> Outcome {
        let Action::Fork(scope) = action else {
            return Ok(());
        };
        let pair = self.pair()?;
        let (id, labelled) = (pair.id.clone(), pair.labelled);
        let options = self.options();
        let backend = self.backend.fork(&id, scope, &options);
        let model = self.model.fork(&id, scope, &options);
        match (backend, model) {
            (Ok(backend), Ok(model)) => {
                self.add(options.id, backend, model);
                if let Some(pair) = self.pairs.last_mut() {
                    pair.labelled = labelled;
                }
                self.act(&Action::Look)
            }
            (backend, model) => {
                let told = |result| answer::answer(result, |_: Box<dyn SessionStorage>| Vec::new());
                same(&told(backend), &told(model))
            }
        }
    }
}

fn same(backend: &Answer, model: &Answer) -> Outcome {
    if backend == model {
        return Ok(());
    }
    Err(Failure::new(answer::difference(backend, model)))
}

/// The entry at the end of the log, which a name or label is in formats without facts.
fn last_entry(session: &Live) -> Outcome<Option<Entry>> {
    Ok(match session.log(None, None)?.pop() {
        Some(LogItem::Entry(entry)) => Some(entry),
        _ => None,
    })
}

/// Makes a call of one session. What it made comes back too.
fn ask(session: &dyn SessionStorage, action: &Action) -> (Answer, Option<Entry>) {
    let nothing = |()| Vec::new();
    let made = |result: Result<Entry>| {
        let made = result.as_ref().ok().cloned();
        (
            answer::answer(result, |entry| vec![answer::entry(&entry)]),
            made,
        )
    };
    let list = |list: Vec<Entry>| answer::entries(&list);
    let text = |text: Option<String>| vec![format!("{text:?}")];
    let told = match action {
        Action::Append(new, lane) => return made(session.append_entry(new.clone(), lane)),
        Action::Record(new) => return made(session.append_record(new.clone())),
        Action::CreateLane(name, at) => {
            answer::answer(session.create_lane(name, at.as_deref()), nothing)
        }
        Action::MoveLane(name, to) => {
            answer::answer(session.move_lane(name, to.as_deref()), nothing)
        }
        Action::SetName(name) => answer::answer(session.set_name(name.as_deref()), nothing),
        Action::SetLabel(id, label) => {
            answer::answer(session.set_label(id, label.as_deref()), nothing)
        }
        Action::Entry(id) => answer::answer(session.entry(id), |entry| {
            entry.iter().map(answer::entry).collect()
        }),
        Action::Label(id) => answer::answer(session.label(id), text),
        Action::Find(query) => answer::answer(session.find_entries(query), list),
        Action::FindOnBranch(query, bounds) => {
            answer::answer(session.find_entries_on_branch(query, bounds), list)
        }
        Action::FindRecords(query) => answer::answer(session.find_records(query), list),
        Action::FindOpen(lane, limit) => {
            answer::answer(session.find_open_operations(lane, *limit), list)
        }
        Action::Log(after, limit) => {
            answer::answer(session.log(*after, *limit), |items| answer::items(&items))
        }
        Action::SnapshotLane(lane) => answer::answer(session.snapshot(At::Lane(lane)), |seen| {
            answer::snapshot(&seen)
        }),
        Action::SnapshotLeaf(leaf) => answer::answer(session.snapshot(At::Leaf(leaf)), |seen| {
            answer::snapshot(&seen)
        }),
        Action::Look => answer::answer(State::of(session), answer::state),
        Action::LookBeside
        | Action::Fork(_)
        | Action::Switch(_)
        | Action::Reopen
        | Action::Damage(_)
        | Action::Delete => Err(Code::Unsupported),
    };
    (told, None)
}
