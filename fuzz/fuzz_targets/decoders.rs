//! One small decoder.
//! `leaflog_fuzz::decoders` says what is checked.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(difference) = leaflog_fuzz::decoders::check(data) {
        panic!("{difference}");
    }
});
