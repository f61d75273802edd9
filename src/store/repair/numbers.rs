//! Which lines of a pi v4 log can keep their numbers: as many as possible, so that who follows the
//! session by number finds its place. Plans only; `sequence` writes.

use super::survey::{NONE, Survey};

/// A gap of more numbers is not filled.
pub(super) const MOST_GAP: u64 = 1000;

/// The slots that keep their numbers: the most of which each is as far behind the one before as
/// lines stand between them, or farther.
pub(super) fn kept(survey: &Survey) -> Vec<bool> {
    let order = order(survey);
    let mut keeps = vec![false; survey.class.len()];
    // How far a number is ahead of the line's place: never less than for a line before.
    let lead = |place: usize, slot: u32| {
        let seq = i64::try_from(survey.seq(slot)).ok()?;
        let lead = seq - i64::try_from(place).ok()? - 1;
        (seq > 0 && lead >= 0).then_some(lead)
    };
    for slot in longest(
        order
            .iter()
            .enumerate()
            .map(|(place, &slot)| (slot, lead(place, slot))),
    ) {
        if let Some(keeps) = usize::try_from(slot)
            .ok()
            .and_then(|slot| keeps.get_mut(slot))
        {
            *keeps = true;
        }
    }
    keeps
}

/// The slots in the order in which they are written: that of the file, but each behind what it names.
fn order(survey: &Survey) -> Vec<u32> {
    let mut done = vec![false; survey.class.len()];
    let mut order = Vec::new();
    let mut stack = Vec::new();
    for slot in 0..survey.len() {
        if !survey.fate(slot).is_kept() {
            continue;
        }
        stack.push(slot);
        while let Some(&top) = stack.last() {
            let is_done = |slot: u32| {
                usize::try_from(slot)
                    .ok()
                    .and_then(|slot| done.get(slot))
                    .copied()
                    .unwrap_or(true)
            };
            let target = survey.entry(survey.refers(top));
            match target.filter(|&target| target != top && !is_done(target)) {
                Some(target) if !is_done(top) => stack.push(target),
                _ => {
                    stack.pop();
                    if !is_done(top) {
                        order.push(top);
                        if let Some(done) =
                            usize::try_from(top).ok().and_then(|top| done.get_mut(top))
                        {
                            *done = true;
                        }
                    }
                }
            }
        }
    }
    order
}

/// The longest run of slots, not necessarily neighbours, whose leads never fall. Slots without a lead
/// are in none.
fn longest(leads: impl Iterator<Item = (u32, Option<i64>)>) -> Vec<u32> {
    let leads: Vec<(u32, i64)> = leads
        .filter_map(|(slot, lead)| Some((slot, lead?)))
        .collect();
    // Of the runs of each length the one that ends lowest: its end, by place among the leads.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<u32> = Vec::with_capacity(leads.len());
    let lead_at = |place: usize| leads.get(place).map_or(i64::MAX, |(_, lead)| *lead);
    for (place, &(_, lead)) in leads.iter().enumerate() {
        let length = ends.partition_point(|&end| lead_at(end) <= lead);
        let previous = length.checked_sub(1).and_then(|last| ends.get(last));
        before.push(previous.map_or(NONE, |&end| u32::try_from(end).unwrap_or(NONE)));
        match ends.get_mut(length) {
            Some(end) => *end = place,
            None => ends.push(place),
        }
    }
    let mut run = Vec::with_capacity(ends.len());
    let mut at = ends.last().copied();
    while let Some(place) = at {
        if let Some((slot, _)) = leads.get(place) {
            run.push(*slot);
        }
        at = before
            .get(place)
            .filter(|&&before| before != NONE)
            .and_then(|&before| usize::try_from(before).ok());
    }
    run
}

#[cfg(test)]
mod tests {
    use super::longest;

    fn kept(numbers: &[i64]) -> Vec<i64> {
        let leads = numbers.iter().enumerate().map(|(place, &number)| {
            let lead = number - i64::try_from(place).unwrap() - 1;
            (u32::try_from(place).unwrap(), (lead >= 0).then_some(lead))
        });
        let mut slots = longest(leads);
        slots.sort_unstable();
        let number = |slot: &u32| numbers[usize::try_from(*slot).unwrap()];
        slots.iter().map(number).collect()
    }

    #[test]
    fn one_wrong_number_costs_only_its_own_line() {
        assert_eq!(kept(&[1, 2, 77, 4, 5]), [1, 2, 4, 5]);
        assert_eq!(kept(&[1, 2, 1, 4, 5]), [1, 2, 4, 5]);
        assert_eq!(kept(&[9, 2, 3]), [2, 3]);
    }

    #[test]
    fn gaps_keep_all_numbers_and_lines_too_many_cost_those_behind_them() {
        assert_eq!(kept(&[1, 2, 5, 6, 9]), [1, 2, 5, 6, 9]);
        assert_eq!(kept(&[1, 2, 3, 3, 4, 5]), [1, 2, 3]);
        assert_eq!(kept(&[1, 2, 5, 5, 6, 7]), [1, 2, 5, 6, 7]);
    }
}
