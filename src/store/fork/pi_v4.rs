//! Forks of pi v4: entries without their lanes and numbered anew, then lanes, name and labels.

use super::plan::{Piece, Plan, plan};
use super::{Copier, Wanted, splice};
use crate::contract::{CreateOptions, ForkScope};
use crate::error::{Code, Error};
use crate::format::{Line, header_line, label_line, lane_line, name_line};
use crate::index::{Answer, Class, Slot, Trouble};
use crate::model::Format;
use crate::snapshot::Source;
use crate::store::publish::Out;

pub(super) fn write(
    source: Source<'_>,
    wanted: Wanted<'_>,
    mut options: CreateOptions,
    out: &mut Out,
) -> Answer<u64> {
    let summary = &source.index.summary;
    if options.parent.is_none() {
        options.parent = Some(summary.session_id.clone()).filter(|id| !id.is_empty());
    }
    let Plan { pieces, leaf } = plan(source, wanted)?;
    let mut line = Line::default();
    header_line(&mut line, Format::PiV4, wanted.id, wanted.nanos, &options)?;
    let mut copier = Copier::new(source, out);
    copier.line(line.bytes())?;
    let mut seq = 0;
    for piece in &pieces {
        seq += 1;
        entry(&mut copier, *piece, seq)?;
    }
    match wanted.scope {
        ForkScope::Branch { .. } => {
            let leaf = leaf
                .map(|leaf| source.index.id(source.log, leaf))
                .transpose()?;
            seq += 1;
            lane_line(&mut line, seq, "main", leaf.as_deref());
            copier.line(line.bytes())?;
        }
        ForkScope::Tree => {
            for lane in &summary.lanes {
                seq += 1;
                let leaf = lane_leaf(source, lane.leaf.as_deref(), &lane.name, wanted.salvage)?;
                lane_line(&mut line, seq, &lane.name, leaf);
                copier.line(line.bytes())?;
            }
        }
    }
    if let Some(name) = &summary.name {
        seq += 1;
        name_line(&mut line, seq, Some(name));
        copier.line(line.bytes())?;
    }
    for (target, label) in labels(source, &pieces)? {
        seq += 1;
        label_line(&mut line, seq, &target, Some(&label));
        copier.line(line.bytes())?;
    }
    Ok(u64::try_from(pieces.len()).unwrap_or(u64::MAX))
}

fn entry(copier: &mut Copier<'_, '_>, piece: Piece, seq: u64) -> Answer<()> {
    let object = copier.object(piece.slot)?;
    let seq = seq.to_string();
    if !piece.uproot
        && let Some(places) = splice::as_written(&object)
    {
        // Straight to the file: no list of splices for the many.
        let lane = places.lane.unwrap_or(0..0);
        let out = &mut copier.out;
        let part = |range: std::ops::Range<usize>| object.get(range).ok_or(Trouble::Index);
        out.put(part(0..lane.start)?)?;
        out.put(part(lane.end..places.seq.start)?)?;
        out.put(seq.as_bytes())?;
        out.put(part(places.seq.end..object.len())?)?;
        return Ok(out.put(b"\n")?);
    }
    let mut set = vec![("seq", seq.as_str())];
    if piece.uproot {
        set.push(("parentId", "null"));
    }
    let splices = splice::exact(&object, &["lane"], &set).ok_or(Trouble::Index)?;
    copier.splice(&object, &splices)
}

/// Where a lane stands in the fork of a tree: where it stood, unless no entry has that id.
fn lane_leaf<'l>(
    source: Source<'_>,
    leaf: Option<&'l str>,
    lane: &str,
    salvage: bool,
) -> Answer<Option<&'l str>> {
    let Some(id) = leaf else {
        return Ok(None);
    };
    match source.index.slot_of(source.log, id, Class::Entry)? {
        Some(_) => Ok(Some(id)),
        None if salvage => Ok(None),
        None => Err(Error::new(
            Code::InvalidEntry,
            format!("lane `{lane}` stands on `{id}`, which no entry has as its id; salvage empties the lane"),
        )
        .at_path(source.log.path())
        .into()),
    }
}

/// The labels of the copied entries, in their order.
fn labels(source: Source<'_>, pieces: &[Piece]) -> Answer<Vec<(String, String)>> {
    let details = source.index.details()?;
    let mut by_slot = ahash::AHashMap::<Slot, (&String, &String)>::new();
    for (target, label) in &details.labels {
        if let Some(slot) = source.index.slot_of(source.log, target, Class::Entry)? {
            by_slot.insert(slot, (target, label));
        }
    }
    if by_slot.is_empty() {
        return Ok(Vec::new());
    }
    let copied = pieces.iter().filter_map(|piece| by_slot.get(&piece.slot));
    Ok(copied
        .map(|(target, label)| ((*target).clone(), (*label).clone()))
        .collect())
}
