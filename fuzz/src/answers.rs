//! All that a reader can say of a log: collected from the naive replay, then asked of a session. The
//! replay's answers can be kept, since it is the slow one of the two.

use leaflog::naive::{ReadOptions, Replay};
use leaflog::{
    At, BranchBounds, Code, EntryQuery, Error, Order, Overview, Session, SessionStorage, Snapshot,
};

use super::{Checked, same};

/// What a caller can match on in an error.
pub type Place = (Code, Option<u64>, Option<u64>);

/// The place of an error.
pub fn place(error: &Error) -> Place {
    (error.code(), error.line(), error.offset())
}

type Answer<T> = Result<T, Code>;

/// Where a question is asked at.
#[derive(Clone, Debug)]
enum Spot {
    Current,
    Leaf(String),
    Lane(String),
}

impl Spot {
    fn at(&self) -> At<'_> {
        match self {
            Self::Current => At::Current,
            Self::Leaf(id) => At::Leaf(id),
            Self::Lane(lane) => At::Lane(lane),
        }
    }
}

/// The answers at one spot.
struct AtSpot {
    spot: Spot,
    path: Answer<Vec<String>>,
    snapshot: Answer<Snapshot>,
    salvaged: Answer<Snapshot>,
}

/// The naive replay's answers on a log that opens.
pub struct Answers {
    overview: Overview,
    ids: Vec<String>,
    spots: Vec<AtSpot>,
}

/// A replay of a log, or where it fails.
pub fn replay(log: &[u8], strict: bool, salvage: bool) -> Result<Replay, Place> {
    Replay::from_bytes(log, ReadOptions { strict, salvage }).map_err(|error| place(&error))
}

fn code<T>(result: leaflog::Result<T>) -> Answer<T> {
    result.map_err(|error| error.code())
}

impl Answers {
    /// Asks a replay for everything, and for the paths and snapshots of so many entries about.
    pub fn of(replay: &Replay, leaves: usize) -> Self {
        let overview = plain(replay.overview());
        let ids = replay.entry_ids();
        // The first and the last, and some between.
        let step = ids.len().div_ceil(leaves).max(1);
        let leaves = ids.iter().rev().step_by(step).chain(ids.first());
        let lanes = overview.lanes.iter().take(8);
        let mut spots = vec![
            Spot::Current,
            Spot::Leaf("no such id".to_owned()),
            Spot::Lane("no such lane".to_owned()),
            Spot::Lane("main".to_owned()),
        ];
        spots.extend(leaves.map(|id| Spot::Leaf(id.clone())));
        spots.extend(lanes.map(|(lane, _)| Spot::Lane(lane.clone())));
        let spots = spots.into_iter().map(|spot| AtSpot {
            path: code(replay.path(spot.at())),
            snapshot: code(replay.snapshot(spot.at(), false)),
            salvaged: code(replay.snapshot(spot.at(), true)),
            spot,
        });
        Self {
            spots: spots.collect(),
            overview,
            ids,
        }
    }

    /// Asks a session the same, beginning with another question each turn: the first that meets
    /// damage in an index has it rebuilt for the others.
    pub fn check(&self, session: &Session, turn: usize) -> Checked {
        if turn.is_multiple_of(2) {
            self.check_overview(session)?;
        }
        for number in 0..self.spots.len() {
            let Some(spot) = self.spots.get((number + turn / 2) % self.spots.len()) else {
                continue;
            };
            let at = spot.spot.at();
            let what = |question: &str| format!("{question} at {at:?}");
            same(&what("path"), &spot.path, &code(session.path(at)))?;
            same(
                &what("snapshot"),
                &spot.snapshot,
                &code(session.snapshot(at)),
            )?;
            same(&what("salvage"), &spot.salvaged, &code(session.salvage(at)))?;
        }
        if !turn.is_multiple_of(2) {
            self.check_overview(session)?;
        }
        Ok(())
    }

    fn check_overview(&self, session: &Session) -> Checked {
        let overview = session.overview().map_err(|e| e.to_string())?;
        same("overview", &self.overview, &plain(overview))?;
        let tree = session.tree().map_err(|e| e.to_string())?;
        let ids: Vec<String> = tree.into_iter().map(|node| node.id).collect();
        same("ids", &self.ids, &ids)
    }

    /// Compares answers that the replay does not give with each other and with the log: the kept
    /// lines, entries as they stand, queries.
    pub fn check_entries(&self, session: &Session, log: &[u8]) -> Checked {
        let failed = |error: Error| error.to_string();
        let mut kinds = self.overview.kinds.clone();
        for mutation in session.mutations().map_err(failed)? {
            let mutation = mutation.map_err(failed)?;
            stands(log, Some(mutation.offset), &mutation.bytes)?;
            let left = kinds.get_mut(&mutation.kind).and_then(|count| {
                *count = count.checked_sub(1)?;
                Some(())
            });
            if left.is_none() {
                return Err(format!("a line more of kind `{}`", mutation.kind));
            }
        }
        kinds.retain(|_, count| *count > 0);
        same("kept lines that were not told", &0, &kinds.len())?;
        for id in &self.ids {
            let entry = session.entry(id).map_err(failed)?;
            let Some(entry) = entry else {
                return Err(format!("entry `{id}` is not there"));
            };
            same("the id of an entry", id, &entry.id)?;
            stands(log, entry.offset, &entry.bytes)?;
        }
        let query = EntryQuery {
            order: Order::OldestFirst,
            ..EntryQuery::default()
        };
        for spot in &self.spots {
            if let (Spot::Leaf(leaf), Ok(path)) = (&spot.spot, &spot.path) {
                let bounds = BranchBounds {
                    start: leaf.clone(),
                    ..BranchBounds::default()
                };
                let found = session.find_entries_on_branch(&query, &bounds);
                let found = found.map_err(failed)?;
                let found: Vec<String> = found.into_iter().map(|entry| entry.id).collect();
                same(&format!("entries on the branch of `{leaf}`"), path, &found)?;
            }
        }
        let found = session.find_entries(&query).map_err(failed)?;
        let mut found: Vec<String> = found.into_iter().map(|entry| entry.id).collect();
        let mut ids = self.ids.clone();
        // The order is that of the sequence, which a damaged log need not keep to.
        found.sort_unstable();
        ids.sort_unstable();
        same("all entries", &ids, &found)
    }
}

/// Whether an object stands in the log where it is said to.
fn stands(log: &[u8], offset: Option<u64>, object: &[u8]) -> Checked {
    let start = offset.and_then(|offset| usize::try_from(offset).ok());
    let there = start.and_then(|start| log.get(start..)).unwrap_or_default();
    if object.is_empty() || !there.starts_with(object) {
        let object = String::from_utf8_lossy(object);
        return Err(format!("the log has no {object:?} at {offset:?}"));
    }
    Ok(())
}

/// The overview without the wording of its reports.
fn plain(mut overview: Overview) -> Overview {
    for report in &mut overview.reports {
        report.detail.clear();
    }
    overview
}
