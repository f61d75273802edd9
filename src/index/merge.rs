//! Small segments into large ones, column by column, without reading the log.

use std::sync::Arc;

use super::columns::Columns;
use super::frame::{PART, format_of};
use super::ids;
use super::pages::{Grid, Slots};
use super::segment::{Damaged, Segment};
use super::view::Index;

/// Segments are merged when there are more than this.
pub(crate) const MOST_SEGMENTS: usize = 12;

/// The same index with its last, small segments made into one. Large ones stay as they are: each
/// is more than twice as large as all behind it, so there are few of them, and an entry is copied
/// only as often as the index doubles.
pub(crate) fn merge(index: &Index) -> Result<Index, Damaged> {
    let mut small = 0;
    let mut slots = 0;
    for segment in index.segments.iter().rev() {
        if small > 0 && segment.header.slots > 2 * slots.max(1) {
            break;
        }
        small += 1;
        slots += segment.header.slots;
    }
    let large = index.segments.len().saturating_sub(small);
    let (kept, mut rest) = index.segments.split_at_checked(large).ok_or(Damaged)?;
    let mut merged = kept.to_vec();
    while let Some((first, _)) = rest.split_first() {
        let fits = |segment: &&Arc<Segment>| {
            let span = segment.header.log_end - first.header.log_start;
            let slots = segment.header.first_slot + segment.header.slots - first.header.first_slot;
            span <= u64::from(u32::MAX) && slots <= super::segment::len64(ids::MOST_SLOTS)
        };
        let count = rest.iter().take_while(fits).count().max(1);
        let (group, after) = rest.split_at_checked(count).ok_or(Damaged)?;
        let before = merged.last().map_or(0, |last| last.header_hash);
        match group {
            [single] if single.header.before == before => merged.push(Arc::clone(single)),
            _ => merged.push(Arc::new(join(group, before)?)),
        }
        rest = after;
    }
    Ok(index.with_segments(merged))
}

/// One segment of several that follow each other.
fn join(group: &[Arc<Segment>], before: u64) -> Result<Segment, Damaged> {
    let (first, last) = (group.first().ok_or(Damaged)?, group.last().ok_or(Damaged)?);
    let mut header = last.header;
    header.flags &= !PART;
    header.log_start = first.header.log_start;
    header.first_slot = first.header.first_slot;
    header.first_row = first.header.first_row;
    header.before = before;
    let mut all = Columns::default();
    let mut slots = Slots::default();
    for segment in group {
        let at = &segment.at;
        let shift =
            u32::try_from(segment.header.log_start - header.log_start).map_err(|_| Damaged)?;
        let first = slots.start.len();
        for local in 0..usize::try_from(segment.header.slots).map_err(|_| Damaged)? {
            slots.push(segment.slot(local)?);
        }
        for start in slots.start.iter_mut().skip(first) {
            *start = start.checked_add(shift).ok_or(Damaged)?;
        }
        all.rows.extend(segment.all_u32(at.rows)?);
        all.long_slot.extend(segment.all_u32(at.long_slot)?);
        all.long_len.extend(segment.all_u64(at.long_len)?);
        all.seq_slot.extend(segment.all_u32(at.seq_slot)?);
        all.seq.extend(segment.all_u64(at.seq)?);
        all.hash_end.extend(segment.all_u64(at.hash_end)?);
        all.hash.extend(segment.all_u64(at.hash)?);
    }
    all.wanted = last.all_u64(last.at.wanted)?;
    header.slots = super::segment::len64(slots.start.len());
    header.rows = super::segment::len64(all.rows.len() / super::ROW_WIDTH);
    let format = format_of(header.format).ok_or(Damaged)?;
    all.table = ids::table_of(&slots, format).ok_or(Damaged)?;
    all.pages = slots.to_pages(Grid::new(format.has_lanes()));
    let about = if last.header.has(PART) {
        None
    } else {
        Some((last.summary()?, last.details()?))
    };
    let about = about.as_ref().map(|(summary, details)| (summary, details));
    let bytes = Segment::encode(header, &all, about).ok_or(Damaged)?;
    super::build::segment_of(bytes)
}
