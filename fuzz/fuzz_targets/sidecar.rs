//! A sidecar that is not what it was, beside a good log.
//! `leaflog_fuzz::sidecar` says what is checked.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(difference) = leaflog_fuzz::sidecar::check(data) {
        panic!("{difference}");
    }
});
