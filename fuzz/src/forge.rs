//! The frames of a sidecar by what `docs/design.md` states, and their checksums made right again after
//! a change: a sidecar that lies, which no checksum shows.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

/// Bytes of a page, and of a block of the checksums.
const PAGE: usize = 4096;
/// Bytes of a frame's header, its own hash included.
pub const HEADER: usize = 256;

/// Where the parts of a frame lie in a file.
struct Frame {
    start: usize,
    columns: Range<usize>,
    /// The levels of block checksums, the lowest first.
    levels: Vec<Range<usize>>,
    summary: Range<usize>,
    details: Range<usize>,
    end: usize,
}

fn up(number: usize, to: usize) -> usize {
    number.div_ceil(to) * to
}

/// The number at a place.
pub fn word(file: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(file.get(at..at + 8)?.try_into().ok()?))
}

/// Puts a number at a place, if there is room.
pub fn put(file: &mut [u8], at: usize, number: u64) {
    if let Some(place) = file.get_mut(at..at + 8) {
        place.copy_from_slice(&number.to_le_bytes());
    }
}

/// The frame at a place; none if its lengths do not fit the file.
fn frame(file: &[u8], start: usize) -> Option<Frame> {
    let len = |field| {
        let len = usize::try_from(word(file, start + field)?).ok()?;
        (len <= file.len()).then_some(len)
    };
    let columns = start + PAGE..start + PAGE + len(72)?;
    let mut levels = Vec::new();
    let mut below = columns.len();
    let mut at = up(columns.end, 16);
    loop {
        let level = at..at + below.div_ceil(PAGE) * 8;
        below = level.len();
        at = level.end;
        levels.push(level);
        if below <= PAGE {
            break;
        }
    }
    let summary = up(at, 16)..up(at, 16) + len(80)?;
    let details_start = up(summary.end, 16);
    let details = details_start..details_start + len(104)?;
    let end = up(details.end, PAGE);
    (end <= file.len() && file.get(start..)?.starts_with(b"leaflogI")).then_some(Frame {
        start,
        columns,
        levels,
        summary,
        details,
        end,
    })
}

/// Where the frames of a file lie, up to the first that is none.
pub fn frames(file: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(frame) = frame(file, at) {
        found.push(at..frame.end);
        at = frame.end;
    }
    found
}

/// Makes the hash of a header right.
pub fn seal(file: &mut [u8], start: usize) {
    if let Some(content) = file.get(start..start + HEADER - 8) {
        let hash = xxh3_64(content);
        put(file, start + HEADER - 8, hash);
    }
}

/// Makes all checksums right, and the frames name each other as they did before.
pub fn forge(file: &mut [u8]) {
    let mut renamed: Vec<(u64, u64)> = Vec::new();
    let mut at = 0;
    while let Some(frame) = frame(file, at) {
        let mut below = frame.columns.clone();
        for level in &frame.levels {
            let hashes: Vec<u64> = file[below].chunks(PAGE).map(xxh3_64).collect();
            for (number, hash) in hashes.into_iter().enumerate() {
                put(file, level.start + 8 * number, hash);
            }
            below = level.clone();
        }
        let hashes = [
            (88, below),
            (96, frame.summary.clone()),
            (112, frame.details.clone()),
        ];
        for (field, range) in hashes {
            let hash = xxh3_64(&file[range]);
            put(file, at + field, hash);
        }
        let before = word(file, at + 176).unwrap_or(0);
        if let Some(&(_, now)) = renamed.iter().rev().find(|(then, _)| *then == before) {
            put(file, at + 176, now);
        }
        let then = word(file, at + HEADER - 8).unwrap_or(0);
        seal(file, frame.start);
        renamed.push((then, word(file, at + HEADER - 8).unwrap_or(0)));
        at = frame.end;
    }
}
