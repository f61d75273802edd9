//! From a path to the context that a harness resumes with, one file a format. Sees entries through
//! the index and reads only the lines that still count.

mod codebot;
mod context;
mod pi;
mod raw;
mod repair;
mod trail;

use crate::format::State;
use crate::index::{Answer, Index, NONE, Slot, Trouble};
use crate::json::{Document, Grammar, Json, Node};
use crate::log::LogFile;
use crate::model::{At, Format, Messages, Snapshot};

pub(crate) use context::{Context, Edit, contribute};
pub(crate) use trail::{End, Trail, break_at, end_of, is_broken_at, whole_path};

/// An index and its log.
#[derive(Clone, Copy)]
pub(crate) struct Source<'s> {
    pub(crate) index: &'s Index,
    pub(crate) log: &'s LogFile,
}

/// Takes the snapshot of a path.
pub(crate) fn take(source: Source<'_>, at: At<'_>, salvage: bool) -> Answer<Snapshot> {
    let index = source.index;
    let end = trail::end_of(source, at, salvage)?;
    let mut snapshot = Snapshot {
        format: index.format,
        session_id: index.summary.session_id.clone(),
        lane: match at {
            At::Lane(lane) => Some(lane.to_owned()),
            At::Current if index.format.has_lanes() => Some("main".to_owned()),
            _ => None,
        },
        leaf: None,
        name: index.summary.name.clone(),
        messages: Messages::default(),
        model: None,
        reasoning_effort: None,
        plan: None,
        goal: None,
        active_tools: None,
        path_entries: 0,
        salvaged: end.is_broken(),
    };
    let trail = match end {
        End::At(leaf) => Trail::to(source, leaf, salvage)?,
        End::Nowhere | End::Broken => Trail::empty(),
    };
    if let Some(leaf) = trail.leaf {
        snapshot.leaf = Some(index.id(source.log, leaf)?);
    }
    snapshot.path_entries = trail.entries;
    snapshot.salvaged |= trail.salvaged;
    match index.format {
        Format::CodebotV3 => codebot::fill(source, &trail, &mut snapshot)?,
        _ => pi::fill(source, &trail, &mut snapshot)?,
    }
    Ok(snapshot)
}

/// The ids of a path from the root to its end.
pub(crate) fn path(source: Source<'_>, at: At<'_>, salvage: bool) -> Answer<Vec<String>> {
    let End::At(leaf) = trail::end_of(source, at, salvage)? else {
        return Ok(Vec::new());
    };
    let slots = trail::whole_path(source, leaf, salvage)?;
    slots
        .into_iter()
        .map(|slot| source.index.id(source.log, slot))
        .collect()
}

impl Source<'_> {
    /// Hands the parsed object of a slot to a closure.
    pub(crate) fn with_object<T>(
        &self,
        slot: Slot,
        read: impl FnOnce(Node<'_>) -> Option<T>,
    ) -> Answer<T> {
        let bytes = self.index.object(self.log, slot)?;
        let document = Grammar::parse(&bytes).map_err(|_| Trouble::Index)?;
        // What the index promised of a line and the line does not have is a wrong index.
        read(document.root()).ok_or(Trouble::Index)
    }
}

/// The entry that set a part of the state, if any did.
fn setter(trail: &Trail, state: State) -> Option<Slot> {
    trail
        .row
        .get(state.place())
        .copied()
        .filter(|&slot| slot != NONE)
}

/// The decoded text of a field; none if it is null or absent.
fn text_field(object: Node<'_>, key: &str) -> Option<String> {
    object
        .field(key)
        .and_then(Json::text)
        .map(std::borrow::Cow::into_owned)
}
