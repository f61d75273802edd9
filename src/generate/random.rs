//! Chance and ids: the same numbers on every platform for the same seed.
//! For the generator only. Not for anything that must be hard to guess.

/// A stream of numbers from a seed (splitmix64).
#[derive(Clone, Debug)]
pub(super) struct Random {
    state: u64,
}

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        scramble(self.state)
    }

    /// A number below `bound`; 0 if `bound` is 0.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        let product = u128::from(self.next()) * u128::from(bound);
        u64::try_from(product >> 64).unwrap_or(0)
    }

    /// A number from `low` to `high`, both included.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low).saturating_add(1))
    }

    /// True once in `times` on average.
    pub(super) fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// A place in a list of `len`.
    pub(super) fn place(&mut self, len: usize) -> usize {
        to_usize(self.below(to_u64(len)))
    }

    /// One of a list; empty if the list is.
    pub(super) fn pick(&mut self, list: &[&'static str]) -> &'static str {
        let at = self.place(list.len());
        list.get(at).copied().unwrap_or_default()
    }
}

/// Turns numbers into ids. Each step can be undone, so two numbers never share an id.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ids {
    first: u32,
    second: u32,
    wide: u64,
}

impl Ids {
    pub(super) fn new(random: &mut Random) -> Self {
        let mut half = || u32::try_from(random.next() >> 32).unwrap_or(0);
        Self {
            first: half(),
            second: half(),
            wide: random.next(),
        }
    }

    /// The id of an entry, as a number of eight hex digits.
    pub(super) fn entry(self, number: u32) -> u32 {
        let mut x = number ^ self.first;
        x = x.wrapping_mul(0x9e37_79b1);
        x ^= x >> 15;
        x = x.wrapping_add(self.second).wrapping_mul(0x85eb_ca77);
        x ^= x >> 13;
        x = x.wrapping_mul(0xc2b2_ae3d);
        x ^ (x >> 16)
    }

    /// The id of a tool call or a record, as a number of sixteen hex digits.
    pub(super) fn wide(self, number: u64) -> u64 {
        scramble(number ^ self.wide)
    }
}

/// The output function of splitmix64; it can be undone.
fn scramble(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Lengths as numbers. A `usize` that does not fit exists on no platform of today.
pub(super) fn to_u64(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

/// Numbers as lengths, cut to what the platform can address.
pub(super) fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_entries_share_an_id() {
        for seed in [0, 1] {
            let ids = Ids::new(&mut Random::new(seed));
            let near = (0..2_000_000).map(|number| ids.entry(number));
            let far = (0..100_000).map(|number| ids.entry(u32::MAX - number));
            let mut all: Vec<u32> = near.chain(far).collect();
            all.sort_unstable();
            let count = all.len();
            all.dedup();
            assert_eq!(all.len(), count);
        }
    }

    #[test]
    fn numbers_stay_below_their_bound() {
        let mut random = Random::new(3);
        let mut seen = [0_u32; 7];
        for _ in 0..7000 {
            let number = random.below(7);
            seen[to_usize(number)] += 1;
        }
        assert!(
            seen.iter().all(|&count| (800..1200).contains(&count)),
            "{seen:?}"
        );
        assert_eq!(random.below(0), 0);
        assert_eq!(random.below(1), 0);
        assert_eq!(random.pick(&[]), "");
        assert!((5..=6).contains(&random.between(5, 6)));
    }

    #[test]
    fn the_stream_is_splitmix64() {
        let mut random = Random::new(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }
}
