//! The path to a leaf: where it ends, whether it is whole, and which of its entries still count.

use ahash::AHashSet;

use super::Source;
use crate::error::{Code, Error};
use crate::format::{Kind, State, parent_key};
use crate::index::{Answer, Class, Flags, NONE, ROOT, ROW_WIDTH, Slot, Trouble};
use crate::json::{Document, Grammar, Json};
use crate::model::{At, Format};

/// Where a path is asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    At(Slot),
    /// The session, or the lane, is empty.
    Nowhere,
    /// The leaf names no entry, and salvage was asked for.
    Broken,
}

impl End {
    pub(crate) fn is_broken(self) -> bool {
        self == Self::Broken
    }
}

/// Finds the entry that a path is asked to end at.
pub(crate) fn end_of(source: Source<'_>, at: At<'_>, salvage: bool) -> Answer<End> {
    let summary = &source.index.summary;
    let lane_leaf = |lane: &str| {
        let row = summary.lanes.iter().find(|row| row.name == lane);
        row.map(|row| row.leaf.as_deref()).ok_or_else(|| {
            let known: Vec<_> = summary.lanes.iter().map(|row| row.name.as_str()).collect();
            error(
                source,
                Code::InvalidLane,
                format!("no lane `{lane}`; this session has {}", known.join(", ")),
            )
        })
    };
    let leaf = match at {
        At::Leaf(id) => {
            let slot = source.index.slot_of(source.log, id, Class::Entry)?;
            let missing = || {
                error(
                    source,
                    Code::NotFound,
                    format!("no entry `{id}` in this session"),
                )
            };
            return Ok(End::At(slot.ok_or_else(missing)?));
        }
        At::Lane(lane) if !source.index.format.has_lanes() => {
            let format = source.index.format;
            let message = format!("a {format} session has no lanes; asked for lane `{lane}`");
            return Err(error(source, Code::Unsupported, message).into());
        }
        At::Lane(lane) => lane_leaf(lane)?,
        At::Current if source.index.format.has_lanes() => lane_leaf("main")?,
        At::Current => summary.last_entry.as_deref(),
    };
    let Some(leaf) = leaf else {
        return Ok(End::Nowhere);
    };
    match source.index.slot_of(source.log, leaf, Class::Entry)? {
        Some(slot) => Ok(End::At(slot)),
        None if salvage => Ok(End::Broken),
        None => {
            let message = format!(
                "the lane stands on `{leaf}`, which no entry has as its id; salvage gives an empty path"
            );
            Err(error(source, Code::InvalidEntry, message).into())
        }
    }
}

fn error(source: Source<'_>, code: Code, message: String) -> Error {
    Error::new(code, message).at_path(source.log.path())
}

/// The part of a path that counts, and the state at its end.
#[derive(Debug)]
pub(crate) struct Trail {
    pub(crate) leaf: Option<Slot>,
    /// The entries after the newest compaction, oldest first; all if there is none.
    pub(crate) live: Vec<Slot>,
    pub(crate) compaction: Option<Slot>,
    /// The state row at the leaf.
    pub(crate) row: [u32; ROW_WIDTH],
    /// Entries on the whole path.
    pub(crate) entries: u64,
    pub(crate) salvaged: bool,
    /// The root of the path, where the walk before the compaction would end.
    first: Option<Slot>,
}

impl Trail {
    pub(crate) fn empty() -> Self {
        Self {
            leaf: None,
            live: Vec::new(),
            compaction: None,
            row: [NONE; ROW_WIDTH],
            entries: 0,
            salvaged: false,
            first: None,
        }
    }

    /// The path to a leaf; an error if it is broken and salvage was not asked for.
    pub(crate) fn to(source: Source<'_>, leaf: Slot, salvage: bool) -> Answer<Self> {
        let index = source.index;
        if index.flags(leaf)?.has(Flags::CYCLIC) {
            return Self::around(source, leaf, salvage);
        }
        let row = index.row(index.row_number(leaf)?)?;
        let root = row.get(ROOT).copied().unwrap_or(NONE);
        let broken = break_at(source, root)?;
        let salvaged = match broken {
            None => false,
            Some(_) if salvage => true,
            Some(error) => return Err(error.into()),
        };
        let compaction = row
            .get(State::Compaction.place())
            .copied()
            .filter(|&slot| slot != NONE);
        let entries = u64::from(index.depth(leaf)?) + 1;
        let mut live = Vec::new();
        let mut at = Some(leaf);
        while let Some(slot) = at {
            if Some(slot) == compaction {
                break;
            }
            live.push(slot);
            if u64::try_from(live.len()).unwrap_or(u64::MAX) > entries {
                // More steps than the depth allows: the columns contradict each other.
                return Err(Trouble::Index);
            }
            at = index.parent(slot)?;
        }
        if at.is_none() && compaction.is_some() {
            return Err(Trouble::Index);
        }
        live.reverse();
        Ok(Self {
            leaf: Some(leaf),
            live,
            compaction,
            row,
            entries,
            salvaged,
            first: Some(root),
        })
    }

    /// The entry that the path to a leaf begins with; none if it runs in a circle.
    pub(crate) fn root(source: Source<'_>, leaf: Slot) -> Answer<Option<Slot>> {
        let index = source.index;
        if index.flags(leaf)?.has(Flags::CYCLIC) {
            return Ok(None);
        }
        let row = index.row(index.row_number(leaf)?)?;
        Ok(Some(row.get(ROOT).copied().unwrap_or(NONE)))
    }

    /// Whether the path to a leaf is whole: an error that names the break if not.
    pub(crate) fn check(source: Source<'_>, leaf: Slot) -> Answer<()> {
        let Some(root) = Self::root(source, leaf)? else {
            return whole_path(source, leaf, false).map(|_| ());
        };
        match break_at(source, root)? {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }

    /// A path that runs into a cycle: an error, or what of it can be walked once.
    fn around(source: Source<'_>, leaf: Slot, salvage: bool) -> Answer<Self> {
        let slots = whole_path(source, leaf, salvage)?;
        let mut row = [NONE; ROW_WIDTH];
        let mut set = |state: State, slot: Slot| {
            if let Some(value) = row.get_mut(state.place()) {
                *value = slot;
            }
        };
        let mut compaction = None;
        for (number, &slot) in slots.iter().enumerate() {
            let flags = source.index.flags(slot)?;
            if flags.has(Flags::SETS_MODEL) {
                set(State::Model, slot);
            }
            if flags.has(Flags::INERT) {
                continue;
            }
            if let Some(state) = state_of(source.index.format, source.index.kind(slot)?) {
                set(state, slot);
                if state == State::Compaction {
                    compaction = Some((number, slot));
                }
            }
        }
        let entries = u64::try_from(slots.len()).unwrap_or(u64::MAX);
        let live = slots
            .get(compaction.map_or(0, |(number, _)| number + 1)..)
            .unwrap_or_default()
            .to_vec();
        Ok(Self {
            leaf: Some(leaf),
            live,
            compaction: compaction.map(|(_, slot)| slot),
            row,
            entries,
            salvaged: true,
            first: slots.first().copied(),
        })
    }

    /// The entries of the path before the compaction from one on, oldest first; none if that one is
    /// not among them.
    pub(crate) fn kept_before(
        &self,
        source: Source<'_>,
        compaction: Slot,
        first: Slot,
    ) -> Answer<Vec<Slot>> {
        let index = source.index;
        let mut kept = Vec::new();
        if first == compaction {
            return Ok(kept);
        }
        let lowest = if index.flags(compaction)?.has(Flags::CYCLIC) {
            None
        } else {
            Some(index.depth(first)?)
        };
        let mut at = if Some(compaction) == self.first {
            None
        } else {
            index.parent(compaction)?
        };
        while let Some(slot) = at {
            kept.push(slot);
            if slot == first {
                kept.reverse();
                return Ok(kept);
            }
            let is_below = match lowest {
                Some(lowest) => index.depth(slot)? > lowest,
                None => Some(slot) != self.first,
            };
            if !is_below {
                break;
            }
            at = index.parent(slot)?;
        }
        Ok(Vec::new())
    }
}

/// The part of the state that a kind of entry sets.
fn state_of(format: Format, kind: Kind) -> Option<State> {
    match kind {
        Kind::EffortChange => Some(State::Effort),
        Kind::PlanState => Some(State::Plan),
        Kind::GoalState => Some(State::Goal),
        Kind::SessionInfo if format == Format::CodebotV3 => Some(State::Name),
        Kind::ActiveTools => Some(State::Tools),
        Kind::Compaction => Some(State::Compaction),
        _ => None,
    }
}

/// Why a path that ends at a root is not whole, if it is not.
pub(crate) fn break_at(source: Source<'_>, root: Slot) -> Answer<Option<Error>> {
    let index = source.index;
    if !is_broken_at(source, root)? {
        return Ok(None);
    }
    let missing = index.flags(root)?.has(Flags::MISSING_PARENT);
    let child = index.id(source.log, root)?;
    let message = if missing {
        let bytes = index.object(source.log, root)?;
        let document = Grammar::parse(&bytes).map_err(|_| Trouble::Index)?;
        let parent = document
            .root()
            .field(parent_key(index.format))
            .and_then(Json::text);
        let parent = parent.unwrap_or_default();
        format!(
            "the path is broken: entry `{child}` names `{parent}` as its parent, which no line of the file has as its id; \
             salvage reads on from `{child}`"
        )
    } else {
        format!(
            "the path ends at `{child}` and not at the header `h0`; salvage reads it from there"
        )
    };
    Ok(Some(located(source, root, message)?))
}

/// Whether a path that begins with an entry is not whole.
pub(crate) fn is_broken_at(source: Source<'_>, root: Slot) -> Answer<bool> {
    let index = source.index;
    let missing = index.flags(root)?.has(Flags::MISSING_PARENT);
    Ok(match index.format {
        Format::CodebotV3 => missing || index.kind(root)? != Kind::Header,
        Format::PiV4 => missing,
        _ => false,
    })
}

/// An error at the line of an entry.
fn located(source: Source<'_>, slot: Slot, message: String) -> Answer<Error> {
    let (start, _) = source.index.place(slot)?;
    let (line, offset) = source.log.line_at(start)?;
    Ok(error(source, Code::InvalidEntry, message).at_line(line, offset))
}

/// All entries of a path, root first. Broken paths are errors unless salvage was asked for.
pub(crate) fn whole_path(source: Source<'_>, leaf: Slot, salvage: bool) -> Answer<Vec<Slot>> {
    let index = source.index;
    let mut slots = Vec::new();
    let may_come_back = index.is_irregular();
    let mut seen = AHashSet::new();
    let mut at = Some(leaf);
    while let Some(slot) = at {
        if may_come_back && !seen.insert(slot) {
            if salvage {
                break;
            }
            let id = index.id(source.log, slot)?;
            let message = format!(
                "the path runs into a cycle: following the parents of `{id}` comes back to it; salvage reads it once"
            );
            return Err(located(source, slot, message)?.into());
        }
        slots.push(slot);
        at = index.parent(slot)?;
    }
    if let Some(&root) = slots.last()
        && at.is_none()
        && !salvage
        && let Some(error) = break_at(source, root)?
    {
        return Err(error.into());
    }
    slots.reverse();
    Ok(slots)
}
