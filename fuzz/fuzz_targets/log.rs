//! A whole log; changed by lines more often than by bytes.
//! `leaflog_fuzz::log` says what is checked.

#![no_main]

use leaflog_fuzz::mutate::{Dice, lines};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|data: &[u8]| {
    if let Err(difference) = leaflog_fuzz::log::check(data) {
        panic!("{difference}");
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut dice = Dice::new(u64::from(seed));
    if size < 2 || dice.below(3) == 0 {
        return fuzzer_mutate(data, size, max_size);
    }
    let changed = lines(&data[1..size], &mut dice);
    let len = changed.len().min(max_size - 1);
    data[1..=len].copy_from_slice(&changed[..len]);
    len + 1
});
