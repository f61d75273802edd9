//! The context of pi v1 to v3 entry by entry, for those who write it down in another format.

use ahash::AHashMap;

use super::pi::{Edits, kept_entries};
use super::{Source, Trail};
use crate::index::{Answer, Slot};
use crate::model::Messages;

/// The content that an edit puts in place of a message's own, or none if it removes the message.
pub(crate) type Edit = Option<String>;

/// The entries that make up the context of a path.
#[derive(Debug)]
pub(crate) struct Context {
    /// The compaction that counts.
    pub(crate) compaction: Option<Slot>,
    /// What it keeps of the entries before it.
    pub(crate) kept: Vec<Slot>,
    /// What comes after it; the whole path if there is none.
    pub(crate) live: Vec<Slot>,
}

impl Context {
    /// The context of the path to an entry, cut at a break.
    pub(crate) fn of(source: Source<'_>, leaf: Slot) -> Answer<Self> {
        let trail = Trail::to(source, leaf, true)?;
        let kept = match trail.compaction {
            Some(compaction) => kept_entries(source, &trail, compaction)?,
            None => Vec::new(),
        };
        Ok(Self {
            compaction: trail.compaction,
            kept,
            live: trail.live,
        })
    }

    /// The edits among its entries, by their targets.
    pub(crate) fn edits(&self, source: Source<'_>) -> Answer<AHashMap<Slot, Edit>> {
        let entries = self.compaction.iter().chain(&self.kept).chain(&self.live);
        let entries: Vec<Slot> = entries.copied().collect();
        Ok(Edits::among(source, &entries)?.by_target)
    }
}

/// Adds the messages of an entry, edited. `first` says that it is the compaction that counts.
pub(crate) fn contribute(
    source: Source<'_>,
    slot: Slot,
    first: bool,
    edit: Option<&Edit>,
    messages: &mut Messages,
) -> Answer<()> {
    let by_target = edit.map(|edit| (slot, edit.clone())).into_iter().collect();
    Edits { by_target }.apply(source, slot, first, messages)
}
