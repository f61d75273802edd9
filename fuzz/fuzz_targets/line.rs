#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(difference) = leaflog_fuzz::line::check(data) {
        panic!("{difference}");
    }
});
