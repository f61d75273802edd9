//! Which trees the entries of a source make, so that an orphan is never hung on what hangs on it.
//! Knows trees by a number only; `write` says what is hung where.

use super::survey::{Class, Survey};

/// Trees, by their members: every slot, and a stand-in for every name.
pub(super) struct Forest {
    /// Another member of the same tree, nearer to the one that stands for it.
    nearer: Vec<usize>,
    slots: usize,
}

impl Forest {
    pub(super) fn of(survey: &Survey) -> Self {
        let slots = survey.class.len();
        let mut forest = Self {
            nearer: (0..slots + survey.names.len()).collect(),
            slots,
        };
        for slot in 0..survey.len() {
            if survey.class(slot) != Class::Entry || !survey.fate(slot).is_kept() {
                continue;
            }
            let name = survey.refers(slot);
            let parent = match survey.parent(slot) {
                Some(parent) => usize::try_from(parent).ok(),
                None if survey.is_missing(name) => forest.node_of_name(name),
                None => None,
            };
            if let (Ok(node), Some(parent)) = (usize::try_from(slot), parent) {
                forest.join(node, parent);
            }
        }
        forest
    }

    /// The stand-in for a name.
    pub(super) fn node_of_name(&self, name: u32) -> Option<usize> {
        usize::try_from(name).ok().map(|name| self.slots + name)
    }

    /// Hangs the root of a tree on a member of another. False if it is of the same tree, where that
    /// would close a circle.
    pub(super) fn join(&mut self, root: usize, to: usize) -> bool {
        let (root, to) = (self.find(root), self.find(to));
        if root == to {
            return false;
        }
        if let Some(nearer) = self.nearer.get_mut(root) {
            *nearer = to;
        }
        true
    }

    fn find(&mut self, node: usize) -> usize {
        let mut at = node;
        while let Some(&next) = self.nearer.get(at)
            && next != at
        {
            // Each walk halves the way for the next one.
            let after = self.nearer.get(next).copied().unwrap_or(next);
            if let Some(nearer) = self.nearer.get_mut(at) {
                *nearer = after;
            }
            at = after;
        }
        at
    }
}
