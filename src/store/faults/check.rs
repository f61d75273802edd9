//! What a session should hold, as the list of the calls that were acknowledged, and whether it does.
//! Ids that the store gave are told by the place of their line, so that lists of two runs compare.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::faulty::Faulty;
use crate::naive::{ReadOptions, Replay};
use crate::{At, IndexMode, LogItem, OpenOptions, Overview, Session, SessionStorage};

/// A session as its acknowledged calls make it.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    pub(super) items: Vec<String>,
    /// Where each lane stands, as the place of a line.
    pub(super) lanes: BTreeMap<String, Option<usize>>,
}

/// What a call changes.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) item: String,
    pub(super) lane: Option<String>,
    /// Where that lane stands then; none for the line itself.
    pub(super) leaf: Option<Option<usize>>,
}

impl Model {
    pub(super) fn with(&self, change: &Change) -> Self {
        let mut model = self.clone();
        let own = model.items.len();
        model.items.push(change.item.clone());
        if let Some(lane) = &change.lane {
            let leaf = change.leaf.unwrap_or(Some(own));
            model.lanes.insert(lane.clone(), leaf);
        }
        model
    }

    pub(super) fn leaf(&self, lane: &str) -> Option<usize> {
        self.lanes.get(lane).copied().flatten()
    }
}

/// A place as it is told.
pub(super) fn place(leaf: Option<usize>) -> String {
    leaf.map_or("-".to_owned(), |leaf| format!("#{leaf}"))
}

/// What a session holds, told as a model tells it.
pub(super) fn told(session: &Session) -> crate::Result<Vec<String>> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut told = Vec::new();
    for item in session.log(None, None)? {
        let to = |id: &Option<String>| match id.as_deref() {
            None | Some("h0") => "-".to_owned(),
            Some(id) => places
                .get(id)
                .map_or(format!("?{id}"), |at| format!("#{at}")),
        };
        let line = match &item {
            LogItem::Entry(entry) => {
                let lane = entry.lane.as_deref().unwrap_or("main");
                format!(
                    "entry {} on {lane} behind {} {}",
                    entry.kind,
                    to(&entry.parent),
                    mark(&entry.bytes)
                )
            }
            LogItem::Record(record) => format!(
                "record {} on {} {}",
                record.kind,
                record.lane.as_deref().unwrap_or("?"),
                mark(&record.bytes)
            ),
            LogItem::Lane { lane, leaf, .. } => format!("lane {lane} at {}", to(leaf)),
            LogItem::Name { name, .. } => format!("name {name:?}"),
            LogItem::Label { target, label, .. } => {
                format!("label {} {label:?}", to(&Some(target.clone())))
            }
            LogItem::Other { kind, .. } => format!("other {kind}"),
        };
        if let LogItem::Entry(entry) | LogItem::Record(entry) = &item {
            places.insert(entry.id.clone(), told.len());
        }
        told.push(line);
    }
    Ok(told)
}

/// The mark that a test put into a payload: `mark-7.`.
fn mark(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let from = text.find("mark-").unwrap_or(text.len());
    let rest = &text[from..];
    rest[..rest.find('.').unwrap_or(0)].to_owned()
}

/// What everybody who opens a log for reading holds it to be, whatever its sidecar: the index in the
/// sidecar, one in memory and the naive replay agree. Changes nothing on the disk.
pub(super) fn read(path: &Path) -> Result<Vec<String>, String> {
    let naive = Replay::open(path, ReadOptions::default()).map_err(|e| format!("naive: {e}"))?;
    let overview = without_details(naive.overview());
    let mut all = Vec::new();
    for mode in [IndexMode::Always, IndexMode::Memory] {
        let failed = |e: crate::Error| format!("{mode:?}: {e}");
        let options = OpenOptions::new().index(mode.clone()).disk(Faulty::dead());
        let session = options.open(path).map_err(failed)?;
        let found = without_details(session.overview().map_err(failed)?);
        if found != overview {
            return Err(format!("{mode:?}: {found:?}\nnaive: {overview:?}"));
        }
        let mut places = vec![At::Current];
        places.extend(overview.lanes.iter().map(|lane| At::Lane(&lane.0)));
        for at in places {
            let (one, other) = (session.snapshot(at), naive.snapshot(at, false));
            match (one, other) {
                (Ok(one), Ok(other)) if one == other => {}
                (Err(one), Err(other)) if one.code() == other.code() => {}
                (one, other) => return Err(format!("{mode:?}: {one:?}\nnaive: {other:?}")),
            }
        }
        for id in naive.entry_ids() {
            if session.entry(&id).map_err(failed)?.is_none() {
                return Err(format!("{mode:?}: the entry {id} is not found"));
            }
        }
        all.push(told(&session).map_err(failed)?);
    }
    let last = all.pop().unwrap_or_default();
    if all.iter().any(|other| *other != last) {
        return Err(format!("{all:?} is not {last:?}"));
    }
    Ok(last)
}

/// What a report says in words is up to each reader.
fn without_details(mut overview: Overview) -> Overview {
    for report in &mut overview.reports {
        report.detail.clear();
    }
    overview
}
