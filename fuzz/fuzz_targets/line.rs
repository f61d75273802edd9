//! One line, in every parser.
//! `leaflog_fuzz::line` says what is checked.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(difference) = leaflog_fuzz::line::check(data) {
        panic!("{difference}");
    }
});
