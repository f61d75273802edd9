//! Where context edits go in a format without them: into the messages that are live, and into the
//! tails of compactions. One message can be written only one way; the current branch has the say.

use ahash::{AHashMap, AHashSet};

use crate::format::Kind;
use crate::index::{Answer, Class, Flags, Slot};
use crate::snapshot::{Context, Edit, Source};

/// What each entry is written as. Entries that are not named are written as they are.
#[derive(Debug, Default)]
pub(super) struct Edits {
    /// The edits of live entries; none for those that some path shows unedited.
    live: AHashMap<Slot, Option<Edit>>,
    /// The edits of what a compaction keeps, and of what it says itself.
    tails: AHashMap<Slot, AHashMap<Slot, Edit>>,
    /// Leaves whose context comes out different.
    pub(super) conflicts: Vec<Slot>,
}

impl Edits {
    pub(super) fn of(source: Source<'_>, slots: &[Slot]) -> Answer<Self> {
        let mut edits = Self::default();
        let mut has_some = false;
        for &slot in slots {
            let (kind, flags) = source.index.kind_and_flags(slot)?;
            has_some |= kind == Kind::ContextEdit && !flags.has(Flags::INERT);
        }
        if !has_some {
            return Ok(edits);
        }
        for leaf in leaves(source, slots)? {
            edits.follow(source, leaf)?;
        }
        Ok(edits)
    }

    /// The edit that a live entry is written with.
    pub(super) fn of_live(&self, slot: Slot) -> Option<&Edit> {
        self.live.get(&slot)?.as_ref()
    }

    /// The edits of a compaction and in its tail.
    pub(super) fn of_tail(&self, compaction: Slot) -> Option<&AHashMap<Slot, Edit>> {
        self.tails.get(&compaction)
    }

    /// Settles what the context of a leaf needs and no leaf before it has settled.
    fn follow(&mut self, source: Source<'_>, leaf: Slot) -> Answer<()> {
        let context = Context::of(source, leaf)?;
        let by_target = context.edits(source)?;
        let mut differs = false;
        for &slot in &context.live {
            let own = by_target.get(&slot).cloned();
            let settled = self.live.entry(slot).or_insert_with(|| own.clone());
            differs |= *settled != own;
        }
        if let Some(compaction) = context.compaction {
            let kept: AHashSet<Slot> = context.kept.iter().copied().collect();
            let mut own = by_target;
            // An edit can take the summary itself out, which no tail can say.
            differs |= own.get(&compaction) == Some(&None);
            own.retain(|slot, _| *slot == compaction || kept.contains(slot));
            let settled = self.tails.entry(compaction).or_insert_with(|| own.clone());
            differs |= *settled != own;
        }
        if differs {
            self.conflicts.push(leaf);
        }
        Ok(())
    }
}

/// The leaves in the order in which they have their say: where the session stands, the ends of all
/// branches, the latest first, and what stood before each compaction.
fn leaves(source: Source<'_>, slots: &[Slot]) -> Answer<Vec<Slot>> {
    let index = source.index;
    let mut parents = AHashSet::new();
    let mut before = Vec::new();
    for &slot in slots {
        if let Some(parent) = index.parent(slot)? {
            parents.insert(parent);
            if index.kind(slot)? == Kind::Compaction {
                before.push(parent);
            }
        }
    }
    let current = match &index.summary.last_entry {
        Some(id) => index.slot_of(source.log, id, Class::Entry)?,
        None => None,
    };
    let ends = slots.iter().rev().filter(|slot| !parents.contains(slot));
    let all = current.into_iter().chain(ends.copied()).chain(before);
    let mut seen = AHashSet::new();
    Ok(all.filter(|slot| seen.insert(*slot)).collect())
}
