//! The tree of a session without its payloads, for those who draw it.

use super::entry::counts;
use crate::format::{Kind, Role};
use crate::index::{Answer, Class, Flags, class_of};
use crate::snapshot::Source;

/// A node of the conversation tree.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TreeNode {
    /// The entry's id.
    pub id: String,
    /// The place of the parent in the list of nodes; none for a root.
    pub parent: Option<usize>,
    /// Whether the line names a parent that the file does not have.
    pub is_orphan: bool,
    /// Whether it is a message.
    pub is_message: bool,
    /// `user`, `assistant`, `system` or `tool` for such messages.
    pub role: Option<&'static str>,
    /// Whether it is a compaction.
    pub is_compaction: bool,
}

pub(super) fn nodes(source: Source<'_>) -> Answer<Vec<TreeNode>> {
    let index = source.index;
    let mut slots = Vec::new();
    let mut number = vec![None; usize::try_from(index.slots()).unwrap_or(0)];
    for slot in 0..index.slots() {
        if class_of(index.kind(slot)?) == Class::Entry && counts(source, slot)? {
            if let Some(place) = usize::try_from(slot)
                .ok()
                .and_then(|slot| number.get_mut(slot))
            {
                *place = Some(slots.len());
            }
            slots.push(slot);
        }
    }
    let mut nodes = Vec::with_capacity(slots.len());
    for slot in slots {
        let flags = index.flags(slot)?;
        let kind = index.kind(slot)?;
        let parent = index.parent(slot)?;
        nodes.push(TreeNode {
            id: index.id(source.log, slot)?,
            parent: parent
                .and_then(|parent| number.get(usize::try_from(parent).ok()?).copied().flatten()),
            is_orphan: flags.has(Flags::MISSING_PARENT),
            is_message: kind == Kind::Message,
            role: match flags.role() {
                Role::User => Some("user"),
                Role::Assistant => Some("assistant"),
                Role::System => Some("system"),
                Role::Tool => Some("tool"),
                _ => None,
            },
            is_compaction: kind == Kind::Compaction,
        });
    }
    Ok(nodes)
}

/// Entries with more than one child, by the index alone.
pub(super) fn branches(source: Source<'_>) -> Answer<u64> {
    let index = source.index;
    let mut children = vec![0u8; usize::try_from(index.slots()).unwrap_or(0)];
    let mut branches = 0;
    for slot in 0..index.slots() {
        if class_of(index.kind(slot)?) != Class::Entry || !counts(source, slot)? {
            continue;
        }
        if let Some(parent) = index.parent(slot)?
            && let Some(count) = usize::try_from(parent)
                .ok()
                .and_then(|parent| children.get_mut(parent))
        {
            *count = count.saturating_add(1);
            branches += u64::from(*count == 2);
        }
    }
    Ok(branches)
}
