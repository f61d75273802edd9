//! A large log, with an allocator that counts.
//! `leaflog_fuzz::oversized` says what is checked.

#![no_main]

use std::alloc::System;

use cap::Cap;

#[global_allocator]
static COUNTED: Cap<System> = Cap::new(System, usize::MAX);

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let meter = || COUNTED.total_allocated();
    if let Err(difference) = leaflog_fuzz::oversized::check(data, Some(&meter)) {
        panic!("{difference}");
    }
});
