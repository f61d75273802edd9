//! The calls that change a session, each told to the model once it was acknowledged, and made again when
//! it failed.

use super::Run;
use crate::store::faults::check::{Change, place};
use crate::{NewEntry, NewRecord, Session, SessionStorage};

impl Run {
    /// Makes a call that changes the session that is open, again if it fails.
    fn change(
        &mut self,
        doing: &str,
        change: &Change,
        call: impl Fn(&Session) -> crate::Result<()>,
    ) {
        for _ in 0..3 {
            self.calls += 1;
            let Some(session) = &self.session else { return };
            match call(session) {
                Ok(()) => {
                    let known = self.known();
                    known.model = known.model.with(change);
                    known.saved |= known.path.exists();
                    return;
                }
                Err(error) => {
                    self.expect_fault(doing, &error);
                    let is_stuck = self.disk.is_stuck();
                    let known = self.known();
                    if known.path.exists() && (is_stuck || known.saved) {
                        // A new file that could not be taken back is there, whole.
                        known.saved = true;
                        if is_stuck && known.maybe.is_none() {
                            known.maybe = Some(change.clone());
                        }
                    }
                    self.look(doing);
                    if self.disk.is_dead() {
                        return;
                    }
                    let takes_more = error.message().contains("takes no more writes");
                    if takes_more || is_stuck {
                        let had = self.known().model.items.len();
                        self.open(self.now);
                        if self.known().model.items.len() > had {
                            return;
                        }
                    }
                }
            }
        }
        panic!("{doing} failed three times: {:?}", self.plan);
    }

    /// Appends an entry; its place in the session.
    pub(in crate::store::faults) fn entry(
        &mut self,
        lane: &str,
        of: impl Fn(&str) -> NewEntry,
    ) -> usize {
        if self.session.is_none() {
            return 0;
        }
        let (id, mark) = (self.new_id(), self.mark());
        let new = of(&mark);
        let told = told_mark(new.fields(), &mark);
        let parent = place(self.known().model.leaf(lane));
        let change = Change {
            item: format!("entry {} on {lane} behind {parent} {}", new.kind(), told),
            lane: Some(lane.to_owned()),
            leaf: None,
        };
        let at = self.known().model.items.len();
        self.known().ids.insert(at, id.clone());
        self.change("entry", &change, |session| {
            let new = new.clone().with_id(&id);
            session.append_entry(new, lane).map(|_| ())
        });
        at
    }

    /// Appends a record; its place.
    pub(in crate::store::faults) fn record(
        &mut self,
        lane: &str,
        of: impl Fn(&str) -> NewRecord,
    ) -> usize {
        if self.session.is_none() {
            return 0;
        }
        let (id, mark) = (self.new_id(), self.mark());
        let new = of(&mark);
        let told = told_mark(new.fields(), &mark);
        let change = Change {
            item: format!("record {} on {lane} {}", new.kind(), told),
            lane: None,
            leaf: None,
        };
        let at = self.known().model.items.len();
        self.known().ids.insert(at, id.clone());
        self.change("record", &change, |session| {
            let new = new.clone().with_id(&id);
            session.append_record(new).map(|_| ())
        });
        at
    }

    /// The id of a line that the test gave one.
    pub(in crate::store::faults) fn id(&mut self, at: usize) -> String {
        let ids = self.known.get(self.now).map(|known| &known.ids);
        ids.and_then(|ids| ids.get(&at))
            .cloned()
            .unwrap_or_default()
    }

    pub(in crate::store::faults) fn lane(&mut self, name: &str, at: Option<usize>, is_new: bool) {
        if self.session.is_none() {
            return;
        }
        let id = at.map(|at| self.id(at));
        let change = Change {
            item: format!("lane {name} at {}", place(at)),
            lane: Some(name.to_owned()),
            leaf: Some(at),
        };
        self.change("lane", &change, |session| {
            if is_new {
                session.create_lane(name, id.as_deref())
            } else {
                session.move_lane(name, id.as_deref())
            }
        });
    }

    /// What a fact changes: where the format has none, it is an entry of a kind of its own.
    fn fact(&mut self, fact: String, kind: &str) -> Change {
        if self.format.has_lanes() {
            return Change {
                item: fact,
                lane: None,
                leaf: None,
            };
        }
        let parent = place(self.known().model.leaf("main"));
        Change {
            item: format!("entry {kind} on main behind {parent} "),
            lane: Some("main".to_owned()),
            leaf: None,
        }
    }

    pub(in crate::store::faults) fn name(&mut self, name: Option<&str>) {
        if self.session.is_none() {
            return;
        }
        let change = self.fact(format!("name {name:?}"), "session_info");
        self.change("name", &change, |session| session.set_name(name));
    }

    pub(in crate::store::faults) fn label(&mut self, at: usize, label: Option<&str>) {
        if self.session.is_none() {
            return;
        }
        let id = self.id(at);
        let change = self.fact(format!("label #{at} {label:?}"), "label");
        self.change("label", &change, |session| session.set_label(&id, label));
    }
}

/// A mark as it is told of a payload that may have it.
fn told_mark<'m>(fields: &str, mark: &'m str) -> &'m str {
    if fields.contains(mark) {
        mark.trim_end_matches('.')
    } else {
        ""
    }
}
