//! Forks of pi v3: a path without its labels, chained anew over the gaps, with one label entry for
//! each label that counts; or all lines as they are under a new header.

use super::plan::{Piece, plan};
use super::{Copier, Wanted, quoted, splice};
use crate::contract::{CreateOptions, ForkScope};
use crate::format::{Kind, Line, header_line, hex_id, text_of};
use crate::index::{Answer, Class, Flags, Slot, Trouble};
use crate::json::{Json, lossy};
use crate::model::Format;
use crate::snapshot::Source;
use crate::store::publish::Out;
use crate::store::rules::cannot_hold;

pub(super) fn write(
    source: Source<'_>,
    wanted: Wanted<'_>,
    mut options: CreateOptions,
    out: &mut Out,
) -> Answer<u64> {
    if options.metadata.is_some() {
        return Err(cannot_hold(Format::PiV3, "place for metadata").into());
    }
    if options.parent.is_none() {
        let path = source.log.path();
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        options.parent = Some(path.to_string_lossy().into_owned());
    }
    let plan = plan(source, wanted)?;
    let mut line = Line::default();
    header_line(&mut line, Format::PiV3, wanted.id, wanted.nanos, &options)?;
    let mut copier = Copier::new(source, out);
    copier.line(line.bytes())?;
    match wanted.scope {
        ForkScope::Tree => {
            for piece in &plan.pieces {
                entry(
                    &mut copier,
                    piece.slot,
                    piece.uproot.then(|| "null".to_owned()),
                    None,
                )?;
            }
            copier.flush()?;
            Ok(u64::try_from(plan.pieces.len()).unwrap_or(u64::MAX))
        }
        ForkScope::Branch { .. } => branch(&mut copier, &plan.pieces),
    }
}

/// Copies an entry, with other values for its parent and its `firstKeptEntryId` if there are any.
fn entry(
    copier: &mut Copier<'_, '_>,
    slot: Slot,
    parent: Option<String>,
    first_kept: Option<String>,
) -> Answer<()> {
    if parent.is_none() && first_kept.is_none() {
        return copier.copy(slot);
    }
    let object = copier.object(slot)?;
    let mut set = Vec::new();
    set.extend(parent.as_deref().map(|parent| ("parentId", parent)));
    set.extend(
        first_kept
            .as_deref()
            .map(|first| ("firstKeptEntryId", first)),
    );
    let splices = splice::exact(&object, &[], &set).ok_or(Trouble::Index)?;
    copier.splice(&object, &splices)
}

fn branch(copier: &mut Copier<'_, '_>, pieces: &[Piece]) -> Answer<u64> {
    let source = copier.source;
    let index = source.index;
    let mut entries = 0;
    // The entry before, and labels on the path since then.
    let mut last: Option<Slot> = None;
    let mut dropped: Vec<Slot> = Vec::new();
    // What stands in the place of a label that was dropped.
    let mut instead = ahash::AHashMap::<Slot, Slot>::new();
    for piece in pieces {
        let slot = piece.slot;
        let kind = index.kind(slot)?;
        if kind == Kind::Label {
            dropped.push(slot);
            continue;
        }
        let parent = if dropped.is_empty() && !piece.uproot {
            None
        } else {
            Some(match last {
                Some(last) => quoted(&index.id(source.log, last)?),
                None => "null".to_owned(),
            })
        };
        for label in dropped.drain(..) {
            instead.insert(label, slot);
        }
        let first_kept = if kind == Kind::Compaction && !instead.is_empty() {
            moved(source, slot, &instead)?
        } else {
            None
        };
        entry(copier, slot, parent, first_kept)?;
        last = Some(slot);
        entries += 1;
    }
    let mut parent = last.map(|last| index.id(source.log, last)).transpose()?;
    for label in labels(source, pieces)? {
        let id = unused_id(source)?;
        let parent_value = parent.as_deref().map_or_else(|| "null".to_owned(), quoted);
        let line = format!(
            "{{\"type\":\"label\",\"id\":{},\"parentId\":{parent_value},\"timestamp\":{},\"targetId\":{},\"label\":{}}}\n",
            quoted(&id),
            label.timestamp,
            quoted(&label.target),
            quoted(&label.label),
        );
        copier.line(line.as_bytes())?;
        parent = Some(id);
        entries += 1;
    }
    copier.flush()?;
    Ok(entries)
}

/// The id to put into a compaction whose first kept entry was a label that was dropped.
fn moved(
    source: Source<'_>,
    compaction: Slot,
    instead: &ahash::AHashMap<Slot, Slot>,
) -> Answer<Option<String>> {
    let first = source.with_object(compaction, |object| {
        let first = text_of(object.field("firstKeptEntryId"));
        Some(first.map(std::borrow::Cow::into_owned))
    })?;
    let Some(first) = first else {
        return Ok(None);
    };
    let slot = source.index.slot_of(source.log, &first, Class::Entry)?;
    match slot.and_then(|slot| instead.get(&slot)) {
        Some(&slot) => Ok(Some(quoted(&source.index.id(source.log, slot)?))),
        None => Ok(None),
    }
}

/// A label that counts.
struct Label {
    target: String,
    label: String,
    /// As the line spells it.
    timestamp: String,
}

/// The labels of the entries that were copied, in the order in which their targets got the first one
/// since they had none.
fn labels(source: Source<'_>, pieces: &[Piece]) -> Answer<Vec<Label>> {
    let index = source.index;
    if index.details()?.labels.is_empty() {
        return Ok(Vec::new());
    }
    let mut on_path = ahash::AHashSet::with_capacity(pieces.len());
    for piece in pieces {
        if index.kind(piece.slot)? != Kind::Label {
            on_path.insert(piece.slot);
        }
    }
    let mut labels: Vec<Option<(Slot, Label)>> = Vec::new();
    let mut place = ahash::AHashMap::<Slot, usize>::new();
    for slot in 0..index.slots() {
        let (kind, flags) = index.kind_and_flags(slot)?;
        if kind != Kind::Label || flags.has(Flags::INERT) {
            continue;
        }
        let label = source.with_object(slot, |object| {
            let timestamp = object.field("timestamp");
            Some(Label {
                target: text_of(object.field("targetId"))?.into_owned(),
                label: text_of(object.field("label"))
                    .unwrap_or_default()
                    .into_owned(),
                timestamp: timestamp
                    .map_or("null".into(), |time| lossy(time.raw()))
                    .into_owned(),
            })
        })?;
        let Some(target) = index.slot_of(source.log, &label.target, Class::Entry)? else {
            continue;
        };
        if !on_path.contains(&target) {
            continue;
        }
        if label.label.is_empty() {
            if let Some(old) = place.remove(&target).and_then(|at| labels.get_mut(at)) {
                *old = None;
            }
            continue;
        }
        match place.get(&target).and_then(|&at| labels.get_mut(at)) {
            Some(old) => *old = Some((target, label)),
            None => {
                place.insert(target, labels.len());
                labels.push(Some((target, label)));
            }
        }
    }
    Ok(labels
        .into_iter()
        .flatten()
        .map(|(_, label)| label)
        .collect())
}

/// An id that no entry of the source has, and so none of the fork.
fn unused_id(source: Source<'_>) -> Answer<String> {
    loop {
        let id = hex_id();
        if source
            .index
            .slot_of(source.log, &id, Class::Entry)?
            .is_none()
        {
            return Ok(id);
        }
    }
}
