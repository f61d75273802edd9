//! The files that are measured, the same from each run.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use leaflog::Format;
use leaflog::generate::Shape;

/// A pi v4 session whose live path has about 200 messages of about 1 KB.
pub fn session(path: &Path, entries: u64) -> u64 {
    session_of(path, entries, 770)
}

/// The same with lines of about 1 KB, which the records make shorter than messages.
pub fn kilobyte_lines(path: &Path, entries: u64) -> u64 {
    session_of(path, entries, 850)
}

fn session_of(path: &Path, entries: u64, payload: usize) -> u64 {
    let file = File::create(path).expect("a new file");
    let shape = Shape::new(Format::PiV4, entries)
        .compact_every(spacing(entries))
        .payload(payload);
    shape
        .write_to(&mut BufWriter::new(file))
        .expect("written")
        .bytes
}

/// Entries from compaction to compaction, some 400, so that 200 follow the last one at every size.
fn spacing(entries: u64) -> u64 {
    // The first comes after half of it.
    let behind = |spacing: u64| entries.saturating_sub(spacing / 2) % spacing;
    let fit = |spacing: &u64| (behind(*spacing).abs_diff(200), spacing.abs_diff(400));
    (300..=600).min_by_key(fit).expect("some")
}

/// Many short lines: entries of some 400 bytes.
pub fn small(path: &Path, entries: u64) -> u64 {
    let file = File::create(path).expect("a new file");
    let shape = Shape::new(Format::CodebotV3, entries).payload(120);
    shape
        .write_to(&mut BufWriter::new(file))
        .expect("written")
        .bytes
}

/// What real sessions look like: mostly 300 B to 4 KB, one line in twenty of 20 to 200 KB with many
/// escapes, now and then a picture of some MB.
pub fn real(path: &Path, entries: u64) -> u64 {
    let mut out = BufWriter::new(File::create(path).expect("a new file"));
    let mut bytes = 0;
    let mut put = |line: &str| {
        out.write_all(line.as_bytes()).expect("written");
        bytes += line.len() as u64;
    };
    put(
        "{\"type\":\"session\",\"version\":3,\"id\":\"bench\",\"timestamp\":\"2026-07-14T09:00:00.000Z\",\"cwd\":\"/home/dev/app\"}\n",
    );
    let mut parent = "null".to_owned();
    let mut state = 7_u64;
    let mut random = move |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for number in 1..=entries {
        let id = format!("\"{number:08x}\"");
        let (piece, len) = match random(4000) {
            0 => (
                "iVBORw0KGgoAAAANSUhEUgAABAAAAAQACAYAAAB",
                1_500_000 + random(2_000_000),
            ),
            1..200 => ("\\tlet x = \\\"a\\\\n\\\";\\n", 20_000 + random(180_000)),
            _ => (
                "the quick brown fox jumps over the lazy dog, and then ",
                200 + random(3_600),
            ),
        };
        let text = piece.repeat(usize::try_from(len).unwrap_or(0) / piece.len() + 1);
        let role = if number % 2 == 1 { "user" } else { "assistant" };
        put(&format!(
            "{{\"type\":\"message\",\"id\":{id},\"parentId\":{parent},\"timestamp\":\"2026-07-14T09:00:00.000Z\",\
             \"message\":{{\"role\":\"{role}\",\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}],\"timestamp\":1784019600000}}}}\n"
        ));
        parent = id;
    }
    out.flush().expect("written");
    bytes
}
