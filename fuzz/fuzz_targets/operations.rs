//! A history of calls.
//! `leaflog_fuzz::operations` says what is checked.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(difference) = leaflog_fuzz::operations::check(data) {
        panic!("{difference}");
    }
});
