//! simd-json alone, the measure of a build's speed.

use std::hint::black_box;

use simd_json::{Buffers, Tape};

/// Copies each line into a buffer and parses it to a tape, both reused: how many lines there are.
pub fn tape(log: &[u8]) -> u64 {
    let mut buffers = Buffers::new(1 << 12);
    let mut buffer = Vec::new();
    let mut kept = Tape::null();
    let mut lines = 0;
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', log) {
        buffer.clear();
        buffer.extend_from_slice(&log[start..end]);
        start = end + 1;
        let mut tape = std::mem::replace(&mut kept, Tape(Vec::new())).reset();
        simd_json::fill_tape(&mut buffer, &mut buffers, &mut tape).expect("valid");
        black_box(&tape);
        kept = tape.reset();
        lines += 1;
    }
    lines
}
