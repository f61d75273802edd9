//! Golden sidecars, kept in `tests/golden`: what is built from the same log with the same seed has
//! the same bytes, on every machine. What today's code does with older ones is in `tests/golden.rs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rkyv::util::AlignedVec;

use super::build::{How, build_seeded, extend};
use super::frame::{FrameHeader, HEADER, LAYOUT};
use super::segment::{Backing, Segment};
use super::view::Index;
use crate::log::LogFile;

/// The logs that have golden sidecars, and how many frames those have: one was extended.
const GOLDEN: [(&str, usize); 2] = [("codebot-v3", 1), ("pi-v4", 2)];

const PLAIN: How<'_> = How {
    strict: false,
    salvage: false,
    progress: None,
    own: false,
};

fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

fn bytes_of(name: &str) -> Vec<u8> {
    let place = place(name);
    fs::read(&place).unwrap_or_else(|error| panic!("{}: {error}", place.display()))
}

/// The frames of a golden sidecar of the current layout.
fn frames(name: &str) -> Vec<Segment> {
    let mut aligned = AlignedVec::new();
    aligned.extend_from_slice(&bytes_of(&format!("{name}.layout-{LAYOUT}.idx")));
    let backing = Backing::Owned(Arc::new(aligned));
    let mut frames = Vec::new();
    let mut at = 0;
    while let Some(frame) = Segment::decode(backing.clone(), at) {
        at = frame.end();
        frames.push(frame);
    }
    assert_eq!(at, backing.as_slice().len(), "{name}: a frame is not right");
    frames
}

/// The index of a log, built of what the first frame covers and extended by each further one.
fn built(name: &str, frames: &[Segment]) -> Index {
    let log = bytes_of(&format!("{name}.jsonl"));
    let mut index: Option<Index> = None;
    for frame in frames {
        let end = usize::try_from(frame.header.log_end).unwrap();
        let log = LogFile::in_memory(&place(name), log[..end].to_vec());
        let built = match &index {
            None => build_seeded(&log, PLAIN, frame.header.seed).unwrap(),
            Some(index) => extend(&log, index, PLAIN).ok().flatten().unwrap(),
        };
        assert_eq!(built.whole, built.index.segments.len());
        index = Some(built.index);
    }
    index.unwrap()
}

#[test]
fn the_same_log_and_seed_give_the_bytes_of_the_golden_sidecar() {
    for (name, count) in GOLDEN {
        let golden = frames(name);
        assert_eq!(golden.len(), count, "{name}");
        let index = built(name, &golden);
        assert_eq!(index.segments.len(), count, "{name}");
        for (built, golden) in index.segments.iter().zip(&golden) {
            // Which file it was, and so the hash of the header, is another matter.
            let mut header = built.header;
            header.set_identity(golden.header.identity(), golden.header.log_len);
            header.before = golden.header.before;
            assert_eq!(header, golden.header, "{name}");
            let (built, golden) = (built.frame_bytes(), golden.frame_bytes());
            assert_eq!(header.to_bytes(), golden[..HEADER], "{name}");
            assert_eq!(built.len(), golden.len(), "{name}");
            let differ = (HEADER..golden.len()).find(|&at| built[at] != golden[at]);
            assert_eq!(differ, None, "{name}: the first byte that differs");
        }
    }
}

#[test]
fn a_golden_sidecar_holds_what_each_column_is_for() {
    // A golden file without long sequences, waiting ids or rows would prove nothing of them.
    let all: Vec<Segment> = GOLDEN.iter().flat_map(|(name, _)| frames(name)).collect();
    let some = |count: fn(&Segment) -> usize| all.iter().any(|frame| count(frame) > 0);
    assert!(some(|frame| Segment::count(frame.at.table)));
    assert!(some(|frame| Segment::count(frame.at.rows)));
    assert!(some(|frame| Segment::count(frame.at.seq)));
    assert!(some(|frame| Segment::count(frame.at.hash)));
    assert!(some(|frame| Segment::count(frame.at.wanted)));
    let flags = all
        .iter()
        .fold(0, |flags, frame| flags | frame.header.flags);
    assert_eq!(flags, super::frame::IRREGULAR);
}

#[test]
fn lengths_in_a_header_that_add_up_to_more_than_the_file_are_refused() {
    let sidecar = bytes_of(&format!("codebot-v3.layout-{LAYOUT}.idx"));
    let (header, _) = FrameHeader::from_bytes(&sidecar).unwrap();
    let len = u64::try_from(sidecar.len()).unwrap();
    for lens in [
        [len, len, len],
        [len, 0, 1],
        [1 << 31, 1 << 31, 1 << 31],
        [u64::from(u32::MAX), 1, 0],
        [u64::MAX, 1, u64::MAX],
        [u64::MAX - 4096, 0, 0],
    ] {
        let wrong = FrameHeader {
            columns_len: lens[0],
            summary_len: lens[1],
            details_len: lens[2],
            ..header
        };
        let mut bytes = AlignedVec::new();
        bytes.extend_from_slice(&wrong.to_bytes());
        bytes.extend_from_slice(&sidecar[HEADER..]);
        assert!(
            Segment::decode(Backing::Owned(Arc::new(bytes)), 0).is_none(),
            "{lens:?}"
        );
    }
}
