//! Where the numbers of an index end: offsets beyond 32 bits, and more entries than slots can number.
//! The logs here have holes, which take no room on the disk.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::super::ids::Class;
use super::super::scan::{Scanned, Until, scan};
use super::{How, Index, NONE, Stop, Trouble, extend, finish};
use crate::error::Code;
use crate::log::{LogFile, Reading};

/// More than 32 bits can say.
const FAR: u64 = 5 << 30;

const HEADER: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-07-14T09:00:00Z\",\"cwd\":\"/\"}\n";

fn entry(id: &str, parent: &str) -> String {
    format!(
        "{{\"type\":\"custom\",\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"2026-07-14T09:00:00Z\",\"customType\":\"x\"}}\n"
    )
}

const HOW: How<'static> = How {
    strict: false,
    salvage: false,
    progress: None,
    own: false,
};

/// A log with a hole between its first lines and `far` ones.
struct Holed {
    folder: tempfile::TempDir,
}

impl Holed {
    fn new(near: &str) -> Self {
        let holed = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        let file = File::create_new(holed.path()).unwrap();
        file.write_all_at(near.as_bytes(), 0).unwrap();
        file.set_len(FAR).unwrap();
        holed
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("log")
    }

    fn put(&self, at: u64, line: &str) {
        let file = File::options().write(true).open(self.path()).unwrap();
        file.write_all_at(line.as_bytes(), at).unwrap();
    }

    fn open(&self, reading: Reading) -> LogFile {
        LogFile::open(&self.path(), reading).unwrap()
    }
}

fn scanned(log: &str) -> Scanned {
    let log = LogFile::in_memory(std::path::Path::new("log"), log.into());
    scan(&log, None, Until::LastNewline, HOW, 7).unwrap()
}

#[track_caller]
fn assert_found(index: &Index, log: &LogFile, id: &str, at: u64, line: &str) {
    let slot = index.slot_of(log, id, Class::Entry).unwrap().unwrap();
    assert_eq!(index.place(slot).unwrap().0, at);
    assert_eq!(
        &*index.object(log, slot).unwrap(),
        line.trim_end().as_bytes()
    );
}

#[test]
fn lines_behind_four_gibibytes_are_indexed_and_read() {
    let near = format!("{HEADER}{}", entry("a", "null"));
    let holed = Holed::new(&near);
    for reading in [Reading::Map, Reading::Read] {
        let log = holed.open(reading);
        let mut scanned = scanned(&near);
        scanned.end = FAR;
        let index = finish(scanned, &log, None, 0, false).unwrap();
        assert_eq!(index.log_end(), FAR);
        let (b, c) = (entry("b", "\"a\""), entry("c", "\"b\""));
        holed.put(FAR, &format!("{b}{c}"));
        let log = holed.open(reading);
        let built = extend(&log, &index, HOW).unwrap().unwrap();
        let far = FAR + b.len() as u64;
        assert_found(
            &built.index,
            &log,
            "a",
            HEADER.len() as u64,
            &entry("a", "null"),
        );
        assert_found(&built.index, &log, "b", FAR, &b);
        assert_found(&built.index, &log, "c", far, &c);
        assert_eq!(built.index.depth(2).unwrap(), 2);
    }
}

#[test]
fn a_stretch_of_more_than_four_gibibytes_becomes_several_segments() {
    let (a, b, c) = (entry("a", "null"), entry("b", "\"a\""), entry("c", "\"b\""));
    let near = format!("{HEADER}{a}{b}{c}");
    let holed = Holed::new(&near);
    let at = HEADER.len() as u64;
    let starts = [at, FAR, 3 * FAR];
    holed.put(starts[1], &b);
    holed.put(starts[2], &c);
    let log = holed.open(Reading::Map);
    let mut scanned = scanned(&near);
    scanned.end = log.len();
    scanned.draft.as_mut().unwrap().start = starts.to_vec();
    let index = finish(scanned, &log, None, 0, false).unwrap();
    assert_eq!(index.segments.len(), 3);
    for ((id, at), line) in ["a", "b", "c"].into_iter().zip(starts).zip([a, b, c]) {
        assert_found(&index, &log, id, at, &line);
    }
    assert_eq!(index.parent(2).unwrap(), Some(1));
}

#[test]
fn more_entries_than_slots_can_number_are_refused_and_none_is_left_out() {
    let log = format!("{HEADER}{}", entry("a", "null"));
    let file = LogFile::in_memory(std::path::Path::new("log"), log.clone().into());
    for (base, fits) in [(NONE - 2, true), (NONE - 1, false), (NONE, false)] {
        let mut scanned = scanned(&log);
        scanned.draft.as_mut().unwrap().base = base;
        match finish(scanned, &file, None, 0, false) {
            Err(Stop::Trouble(Trouble::Log(error))) => {
                assert!(!fits);
                assert_eq!(error.code(), Code::Unsupported);
                assert!(error.to_string().contains("4,294,967,294"), "{error}");
            }
            // What a first slot of that number belongs behind is not there.
            _ => assert!(fits),
        }
    }
}
