//! The order in which a tree is drawn: which child goes on in its parent's column, which ones branch
//! off, which entries fold into a run. Knows numbers only; works without recursion, in linear time,
//! on chains and fans of any size, and ends on cycles too.

/// One thing to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// An entry.
    Node {
        /// Its place in the list.
        node: usize,
        /// In which column, from 0.
        level: usize,
        /// Whether it begins its column: a root, or the start of a branch.
        opens: bool,
    },
    /// Entries one after the other that are not worth a line each.
    Run {
        /// In which column.
        level: usize,
        /// How many.
        entries: u64,
        /// How many of them the caller tallies.
        tallied: u64,
    },
}

/// A tree, or several, ready to be drawn.
pub(crate) struct Forest {
    /// Where the children of each entry begin in `children`, and the end.
    starts: Vec<usize>,
    children: Vec<usize>,
    /// The child that goes on in the column.
    main: Vec<Option<usize>>,
    roots: Vec<usize>,
    /// Entries on a cycle that are drawn as roots, so that the cycle can be drawn at all.
    cut: Vec<usize>,
}

impl Forest {
    /// Takes the parent of each entry, and the entry whose path should run straight.
    pub(crate) fn new(parents: &[Option<usize>], current: Option<usize>) -> Self {
        let mut forest = Self::of_children(parents);
        let order = forest.reach(parents);
        forest.choose(parents, &order, current);
        forest
    }

    /// Sorts the children by their parents; their order in the file stays.
    fn of_children(parents: &[Option<usize>]) -> Self {
        let mut starts = vec![0usize; parents.len() + 1];
        for parent in parents.iter().flatten() {
            if let Some(start) = starts.get_mut(parent + 1) {
                *start += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut children = vec![0usize; sum];
        let mut next = starts.clone();
        for (child, parent) in parents.iter().enumerate() {
            let Some(next) = parent.and_then(|parent| next.get_mut(parent)) else {
                continue;
            };
            if let Some(place) = children.get_mut(*next) {
                *place = child;
            }
            *next += 1;
        }
        Self {
            starts,
            children,
            main: vec![None; parents.len()],
            roots: Vec::new(),
            cut: Vec::new(),
        }
    }

    fn children(&self, node: usize) -> &[usize] {
        let range = self.starts.get(node).zip(self.starts.get(node + 1));
        range
            .and_then(|(start, end)| self.children.get(*start..*end))
            .unwrap_or_default()
    }

    /// Finds the roots, cuts each cycle open, and gives all entries with parents before children.
    fn reach(&mut self, parents: &[Option<usize>]) -> Vec<usize> {
        let mut order = Vec::with_capacity(parents.len());
        let mut reached = vec![false; parents.len()];
        let roots = (0..parents.len()).filter(|node| parents.get(*node) == Some(&None));
        self.roots = roots.collect();
        for root in &self.roots {
            self.descend(*root, &mut reached, &mut order);
        }
        let mut walked = vec![usize::MAX; parents.len()];
        for node in 0..parents.len() {
            if reached.get(node) == Some(&true) {
                continue;
            }
            // No root leads here, so following the parents comes back to some entry.
            let mut at = node;
            while let Some(mark) = walked.get_mut(at).filter(|mark| **mark != node) {
                *mark = node;
                at = parents.get(at).copied().flatten().unwrap_or(at);
            }
            self.descend(at, &mut reached, &mut order);
            self.roots.push(at);
            self.cut.push(at);
        }
        self.cut.sort_unstable();
        order
    }

    fn descend(&self, root: usize, reached: &mut [bool], order: &mut Vec<usize>) {
        let mut stack = vec![root];
        while let Some(node) = stack.pop() {
            let Some(mark) = reached.get_mut(node).filter(|mark| !**mark) else {
                continue;
            };
            *mark = true;
            order.push(node);
            stack.extend(self.children(node));
        }
    }

    /// Lets the current path go straight on, and else the largest branch: each column to the right
    /// then holds at most half of what is left, so that there are few columns in any tree.
    fn choose(&mut self, parents: &[Option<usize>], order: &[usize], current: Option<usize>) {
        let mut weight = vec![1u64; parents.len()];
        for &node in order.iter().rev() {
            let own = weight.get(node).copied().unwrap_or(0);
            if let Some(parent) = self.parent(parents, node)
                && let Some(sum) = weight.get_mut(parent)
            {
                *sum += own;
            }
        }
        for &node in order.iter().rev() {
            let Some(parent) = self.parent(parents, node) else {
                continue;
            };
            let main = self.main.get(parent).copied().flatten();
            let weight = |node: usize| weight.get(node).copied().unwrap_or(0);
            if main.is_none_or(|main| (weight(node), node) > (weight(main), main))
                && let Some(main) = self.main.get_mut(parent)
            {
                *main = Some(node);
            }
        }
        let mut at = current;
        while let Some(node) = at {
            at = self.parent(parents, node);
            if let Some(main) = at.and_then(|parent| self.main.get_mut(parent)) {
                *main = Some(node);
            }
        }
    }

    /// The parent, unless the way there was cut.
    fn parent(&self, parents: &[Option<usize>], node: usize) -> Option<usize> {
        let parent = parents.get(node).copied().flatten();
        parent.filter(|_| !self.is_cut(node))
    }

    /// Whether an entry is drawn as a root only because it is on a cycle.
    pub(crate) fn is_cut(&self, node: usize) -> bool {
        self.cut.binary_search(&node).is_ok()
    }

    /// Whether an entry has exactly one child.
    fn is_straight(&self, node: usize) -> bool {
        self.main.get(node).copied().flatten().is_some() && self.children(node).len() == 1
    }

    /// Draws everything, top down, branches before what goes on. Entries that go straight on fold
    /// unless `keep` wants them; `tally` counts some of those.
    pub(crate) fn draw<E>(
        &self,
        keep: impl Fn(usize) -> bool,
        tally: impl Fn(usize) -> bool,
        mut sink: impl FnMut(Step) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut stack = Vec::new();
        for &root in &self.roots {
            stack.push((root, 0usize, true));
            let mut run = Run::default();
            while let Some((node, level, opens)) = stack.pop() {
                let folds = !opens && self.is_straight(node) && !keep(node);
                if folds {
                    run.add(node, level, tally(node));
                } else {
                    run.flush(&mut sink)?;
                    sink(Step::Node { node, level, opens })?;
                }
                let main = self.main.get(node).copied().flatten();
                stack.extend(main.map(|main| (main, level, false)));
                let branches = self.children(node).iter().rev();
                let branches =
                    branches.filter(|child| Some(**child) != main && !self.is_cut(**child));
                stack.extend(branches.map(|child| (*child, level + 1, true)));
            }
            run.flush(&mut sink)?;
        }
        Ok(())
    }
}

/// Entries that fold, so far.
#[derive(Default)]
struct Run {
    first: usize,
    level: usize,
    entries: u64,
    tallied: u64,
}

impl Run {
    fn add(&mut self, node: usize, level: usize, tallied: bool) {
        if self.entries == 0 {
            (self.first, self.level) = (node, level);
        }
        self.entries += 1;
        self.tallied += u64::from(tallied);
    }

    /// A single entry is shown as itself: the line is spent either way.
    fn flush<E>(&mut self, sink: &mut impl FnMut(Step) -> Result<(), E>) -> Result<(), E> {
        let run = std::mem::take(self);
        match run.entries {
            0 => Ok(()),
            1 => sink(Step::Node {
                node: run.first,
                level: run.level,
                opens: false,
            }),
            entries => sink(Step::Run {
                level: run.level,
                entries,
                tallied: run.tallied,
            }),
        }
    }
}

#[cfg(test)]
#[path = "forest_tests.rs"]
mod tests;
