//! Which entries of the source a fork takes along, in which order, and whose parents change.
//! Asks the index alone, but for broken paths.

use super::Wanted;
use crate::contract::{ForkScope, Position};
use crate::error::{Code, Error};
use crate::format::Kind;
use crate::index::{Answer, Class, Flags, Slot, Trouble, class_of};
use crate::json::Json;
use crate::model::{At, Format};
use crate::snapshot::{End, Source, break_at, end_of, whole_path};

/// An entry to copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) slot: Slot,
    /// Whether it becomes a root: a child of the header in codebot, one without a parent in pi.
    pub(super) uproot: bool,
}

/// What a fork takes along.
pub(super) struct Plan {
    pub(super) pieces: Vec<Piece>,
    /// The last entry of a path; none in a fork of the tree.
    pub(super) leaf: Option<Slot>,
}

/// The plan of a fork. A path that is broken is an error, unless salvage was asked for.
pub(super) fn plan(source: Source<'_>, wanted: Wanted<'_>) -> Answer<Plan> {
    match wanted.scope {
        ForkScope::Tree => Ok(Plan {
            pieces: tree(source, wanted.salvage)?,
            leaf: None,
        }),
        ForkScope::Branch { entry, position } => {
            let slots = branch(source, entry.as_deref(), *position, wanted.salvage)?;
            let leaf = slots.last().copied();
            let mut pieces = Vec::with_capacity(slots.len());
            let mut parent = None;
            for slot in slots {
                if is_root_line(source, slot)? {
                    continue;
                }
                // The first entry of a path that was cut names a parent that is not taken along.
                let cut = parent.is_none()
                    && (source.index.parent(slot)?.is_some()
                        || source.index.flags(slot)?.has(Flags::MISSING_PARENT));
                let uproot = match source.index.format {
                    Format::CodebotV3 => parent.is_none() && !hangs_on_header(source, slot)?,
                    _ => cut,
                };
                pieces.push(Piece { slot, uproot });
                parent = Some(slot);
            }
            Ok(Plan { pieces, leaf })
        }
    }
}

/// The entries of a path, root first.
fn branch(
    source: Source<'_>,
    entry: Option<&str>,
    position: Option<Position>,
    salvage: bool,
) -> Answer<Vec<Slot>> {
    let index = source.index;
    let (slot, position) = match entry {
        Some(id) => match index.slot_of(source.log, id, Class::Entry)? {
            Some(slot) => (slot, position.unwrap_or(Position::Before)),
            None => {
                return Err(refused(format!("no entry of the session has the id `{id}`")).into());
            }
        },
        None => match end_of(source, At::Current, salvage)? {
            End::At(slot) => (slot, position.unwrap_or(Position::At)),
            End::Nowhere | End::Broken => return Ok(Vec::new()),
        },
    };
    // Where only lanes say where a session stands, they stand on messages when it can be forked;
    // elsewhere the last line is as often a change of state.
    let must_be_message = entry.is_some() || index.format.has_lanes();
    if must_be_message && index.kind(slot)? != Kind::Message {
        let id = index.id(source.log, slot)?;
        let kind = source.with_object(slot, |object| {
            let kind = object.field(crate::format::kind_key(index.format));
            Some(
                crate::format::text_of(kind)
                    .unwrap_or_default()
                    .into_owned(),
            )
        })?;
        return Err(refused(format!("entry `{id}` is of kind `{kind}`")).into());
    }
    let mut slots = whole_path(source, slot, salvage)?;
    if position == Position::Before {
        slots.pop();
    }
    Ok(slots)
}

fn refused(found: String) -> Error {
    Error::new(
        Code::InvalidForkTarget,
        format!(
            "expected a message to fork at, but {found}; name a message, or fork the whole tree"
        ),
    )
}

/// Whether a line is codebot's header, in whose place the fork's own stands. One with a parent is an
/// entry like any other.
fn is_root_line(source: Source<'_>, slot: Slot) -> Answer<bool> {
    Ok(source.index.format == Format::CodebotV3
        && source.index.kind(slot)? == Kind::Header
        && source.index.parent(slot)?.is_none())
}

/// Whether an entry of codebot names the header, by the id that the fork's has too.
fn hangs_on_header(source: Source<'_>, slot: Slot) -> Answer<bool> {
    let Some(parent) = source.index.parent(slot)? else {
        return Ok(false);
    };
    Ok(is_root_line(source, parent)? && source.index.id(source.log, parent)? == "h0")
}

/// All entries that count. pi v4 wants parents before their children; the others keep the order of
/// the file, whose last entry says where they stand.
pub(super) fn tree(source: Source<'_>, salvage: bool) -> Answer<Vec<Piece>> {
    let index = source.index;
    let mut pieces = Vec::new();
    let mut cycles = false;
    let mut good_header = None;
    for slot in 0..index.slots() {
        let (kind, flags) = index.kind_and_flags(slot)?;
        if class_of(kind) != Class::Entry || flags.has(Flags::OVERRIDDEN) {
            continue;
        }
        if is_root_line(source, slot)? && (salvage || !flags.has(Flags::MISSING_PARENT)) {
            continue;
        }
        let mut uproot = false;
        if flags.has(Flags::CYCLIC) {
            if !salvage {
                whole_path(source, slot, false)?;
                return Err(Trouble::Index);
            }
            cycles = true;
        } else {
            let parent = index.parent(slot)?;
            let broken = match index.format {
                Format::CodebotV3 => parent.is_none(),
                Format::PiV4 => flags.has(Flags::MISSING_PARENT),
                _ => false,
            };
            if broken && !salvage {
                return Err(break_at(source, slot)?.map_or(Trouble::Index, Trouble::Log));
            }
            uproot = broken;
            if let Some(parent) = parent
                && good_header != Some(parent)
                && is_root_line(source, parent)?
            {
                uproot = !hangs_on_header(source, slot)?;
                good_header = Some(parent).filter(|_| !uproot);
            }
        }
        pieces.push(Piece { slot, uproot });
    }
    if cycles {
        cut_cycles(source, &mut pieces)?;
    }
    if index.format == Format::PiV4 && index.is_irregular() {
        return parents_first(source, &pieces);
    }
    Ok(pieces)
}

fn place(slot: Slot) -> usize {
    usize::try_from(slot).unwrap_or(usize::MAX)
}

/// Uproots one entry of each cycle: the one whose parent was met before it.
fn cut_cycles(source: Source<'_>, pieces: &mut [Piece]) -> Answer<()> {
    let index = source.index;
    // The walk that met an entry first; 0 for none.
    let mut met = vec![0u32; place(index.slots())];
    let mut cut = ahash::AHashSet::new();
    for (walk, piece) in (1u32..).zip(pieces.iter()) {
        let mut at = Some(piece.slot);
        let mut last = piece.slot;
        while let Some(slot) = at {
            let Some(by) = met.get_mut(place(slot)) else {
                return Err(Trouble::Index);
            };
            if *by != 0 {
                if *by == walk {
                    cut.insert(last);
                }
                break;
            }
            *by = walk;
            last = slot;
            at = index.parent(slot)?;
        }
    }
    for piece in pieces {
        piece.uproot |= cut.contains(&piece.slot);
    }
    Ok(())
}

/// The same pieces, each behind its parent, otherwise in their order.
pub(super) fn parents_first(source: Source<'_>, pieces: &[Piece]) -> Answer<Vec<Piece>> {
    let index = source.index;
    let mut number = vec![None; place(index.slots())];
    for (at, piece) in pieces.iter().enumerate() {
        if let Some(number) = number.get_mut(place(piece.slot)) {
            *number = Some(at);
        }
    }
    let mut ordered = Vec::with_capacity(pieces.len());
    let mut waiting = Vec::new();
    for piece in pieces {
        let mut at = Some(*piece);
        while let Some(piece) = at {
            // Taking the number out marks it as written.
            let taken = number.get_mut(place(piece.slot)).and_then(Option::take);
            if taken.is_none() {
                break;
            }
            waiting.push(piece);
            at = match index.parent(piece.slot)? {
                Some(parent) if !piece.uproot => number
                    .get(place(parent))
                    .copied()
                    .flatten()
                    .and_then(|at| pieces.get(at).copied()),
                _ => None,
            };
        }
        ordered.extend(waiting.drain(..).rev());
    }
    Ok(ordered)
}
