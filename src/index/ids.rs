//! Ids as hashes: the seeded hash, and open addressing by its low half. A tag that matches is only
//! a hint; whoever asks compares the id itself.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::columns::{Flags, NONE};
use super::pages::Slots;
use crate::model::Format;

/// Entries and records have ids of their own: the same text may name one of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Entry,
    Record,
}

/// The hash of an id, whichever class it is of, so that one search tells of both. xxh3 is
/// specified, so that sidecars can be read by any build; the seed is drawn for each sidecar, so
/// that nobody can prepare ids that collide.
pub(crate) fn hash(id: &[u8], seed: u64) -> u64 {
    xxh3_64_with_seed(id, seed)
}

/// The half of a hash that is stored.
pub(crate) fn tag(hash: u64) -> u32 {
    let bytes = hash.to_le_bytes();
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// A seed that differs from file to file and run to run.
pub(crate) fn random_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    ahash::RandomState::new().build_hasher().finish()
}

/// How many places a table for some ids has: about seven in ten are taken.
pub(crate) fn table_len(ids: usize) -> usize {
    (ids * 10).div_ceil(7).max(1)
}

/// The place where the search for a tag starts: the tag as a fraction of the table.
pub(crate) fn home(tag: u32, len: usize) -> usize {
    let len = u64::try_from(len).unwrap_or(u64::MAX);
    let scaled = (u128::from(tag) * u128::from(len)) >> 32;
    usize::try_from(scaled).unwrap_or(0)
}

/// A place in a table that is being made: the tag of an id, and a number below the empty place's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) tag: u32,
    pub(super) number: u32,
}

impl Place {
    pub(super) const EMPTY: Self = Self {
        tag: 0,
        number: NONE,
    };
}

/// The table that places make, if no slot was put in the place of another one.
pub(super) fn table_of_places(places: &[Place]) -> Option<Vec<u32>> {
    let packed = |place: &Place| match place.number {
        NONE => Some(NONE),
        slot => (usize::try_from(slot).ok()? < MOST_SLOTS).then(|| packed(slot, place.tag)),
    };
    places.iter().map(packed).collect()
}

/// The table of the slots that count, or none if there are more than a table can number.
pub(crate) fn table_of(slots: &Slots, format: Format) -> Option<Vec<u32>> {
    if format == Format::PiV1 {
        // Made-up ids are numbers: there is nothing to look up.
        return Some(vec![NONE]);
    }
    if slots.tag.len() > MOST_SLOTS {
        return None;
    }
    let mut table = vec![NONE; table_len(slots.tag.len())];
    for (local, (&tag, &flags)) in slots.tag.iter().zip(&slots.flags).enumerate() {
        if !Flags(flags).has(Flags::OVERRIDDEN) {
            insert(&mut table, tag, u32::try_from(local).ok()?);
        }
    }
    Some(table)
}

/// Bits of a place in a table that number a slot; the others are the low ones of its tag, which say
/// nothing of where its search starts.
const SLOT_BITS: u32 = 23;
/// Slots a table can number, so that no place looks like an empty one.
pub(crate) const MOST_SLOTS: usize = (1 << SLOT_BITS) - 1;

/// The slot that a place in a table numbers, if its tag may be the one looked for.
#[inline]
pub(crate) fn candidate(place: u32, tag: u32) -> Option<u32> {
    const SLOT: u32 = (1 << SLOT_BITS) - 1;
    let same = (place >> SLOT_BITS) == (tag & (u32::MAX >> SLOT_BITS));
    same.then_some(place & SLOT)
}

/// What stands in a table for a slot.
fn packed(slot: u32, tag: u32) -> u32 {
    slot | (tag << SLOT_BITS)
}

/// Puts a slot into a table where its tag leads.
fn insert(table: &mut [u32], tag: u32, slot: u32) {
    let slot = packed(slot, tag);
    let mut at = home(tag, table.len());
    for _ in 0..table.len() {
        if let Some(place) = table.get_mut(at)
            && *place == NONE
        {
            *place = slot;
            return;
        }
        at = if at + 1 == table.len() { 0 } else { at + 1 };
    }
}

#[cfg(test)]
mod tests {
    use super::{NONE, candidate, hash, home, insert, random_seed, table_len, tag};

    #[test]
    fn the_hash_is_the_specified_one() {
        // xxh3 of the empty input with seed 0, from the specification's reference implementation.
        assert_eq!(hash(b"", 0), 0x2D06_8005_38D3_94C2);
        assert_ne!(hash(b"a", 7), hash(b"a", 8));
    }

    #[test]
    fn homes_cover_the_table_evenly() {
        let len = 10;
        let mut seen = vec![0; len];
        for n in 0..100_000_u64 {
            seen[home(tag(hash(&n.to_le_bytes(), 1)), len)] += 1;
        }
        assert!(
            seen.iter().all(|&count| (9_000..11_000).contains(&count)),
            "{seen:?}"
        );
    }

    /// The longest search for any of some ids in a table of them.
    fn longest_search(ids: &[u64], seed: u64) -> usize {
        let tags = ids.iter().map(|id| tag(hash(&id.to_le_bytes(), seed)));
        let tags: Vec<u32> = tags.collect();
        let mut table = vec![NONE; table_len(tags.len())];
        for (slot, &tag) in (0..).zip(&tags) {
            insert(&mut table, tag, slot);
        }
        let search = |(slot, &tag): (u32, &u32)| {
            let start = home(tag, table.len());
            let places = (0..table.len()).map(|step| (start + step) % table.len());
            places
                .take_while(|&at| candidate(table[at], tag) != Some(slot))
                .count()
        };
        (0..).zip(&tags).map(search).max().unwrap()
    }

    #[test]
    fn ids_chosen_to_meet_in_one_place_of_a_table_meet_only_under_the_seed_they_were_chosen_for() {
        // All in the first five-hundredth of the table, where its own seed puts them.
        let known_seed = 7;
        let chosen: Vec<u64> = (0..1_000_000_u64)
            .filter(|id| tag(hash(&id.to_le_bytes(), known_seed)) < u32::MAX / 500)
            .collect();
        assert!((1_800..2_200).contains(&chosen.len()), "{}", chosen.len());
        assert!(longest_search(&chosen, known_seed) > chosen.len() / 2);
        for _ in 0..20 {
            let seed = random_seed();
            let longest = longest_search(&chosen, seed);
            assert!(longest < 200, "{longest} places under the seed {seed}");
        }
    }

    #[test]
    fn seeds_differ_from_sidecar_to_sidecar() {
        let seeds: std::collections::BTreeSet<u64> = (0..1_000).map(|_| random_seed()).collect();
        assert_eq!(seeds.len(), 1_000);
    }
}
