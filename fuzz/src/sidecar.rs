//! Any bytes as the sidecar of a good log. Damage must never change an answer. Where the checksums are
//! made right again the sidecar may lie, and its answers with it: then nothing may panic or hang.
//!
//! The input is a list of changes to a real sidecar, or the sidecar itself. Its second byte says which
//! question is asked first, and whether the session is opened for writing.

use std::path::Path;
use std::sync::OnceLock;

use leaflog::generate::Shape;
use leaflog::naive::{ReadOptions, Replay};
use leaflog::{At, EntryQuery, Format, OpenOptions, Reading, Session, SessionStorage, fuzzing};

use super::answers::Answers;
use super::forge::{HEADER, forge, frames, put, seal, word};
use super::{Checked, place, same};

/// The bits of the first byte: checksums are made right after the changes; the sidecar names the log
/// by its true identity, so that it is believed without a look at the log's bytes; the log is read,
/// not mapped; what follows is the sidecar, not a list of changes.
pub const FORGED: u8 = 0x80;
pub const OWN: u8 = 0x40;
pub const READ: u8 = 0x20;
pub const RAW: u8 = 0x10;

/// The log of pi v1 among the subjects.
const V1: usize = 3;

/// More changes than this say nothing new.
const CHANGES: usize = 24;

/// A log, what is to be answered, and its sidecar.
struct Subject {
    log: Vec<u8>,
    answers: Answers,
    sidecar: Vec<u8>,
    /// The places that are changed: all but most of the padding.
    places: Vec<usize>,
}

/// The logs: each format, one with odd lines, one whose index was merged, one without entries.
fn subjects() -> &'static [Subject] {
    static MADE: OnceLock<Vec<Subject>> = OnceLock::new();
    MADE.get_or_init(|| {
        let v4 = log_of(Format::PiV4);
        let many: Vec<usize> = lengths(&v4).collect();
        let logs = [
            (log_of(Format::CodebotV3), vec![9, 30]),
            (log_of(Format::PiV3), vec![9, 30]),
            (v4.clone(), vec![9, 30]),
            (log_of(Format::PiV1), vec![9]),
            (odd(), vec![]),
            // More often extended than frames may count.
            (v4, (5..many.len() - 1).step_by(2).collect()),
            (super::log::HEADERS[3].as_bytes().to_vec(), vec![]),
        ];
        logs.into_iter().map(subject).collect()
    })
}

/// How long a log was after each of its lines.
fn lengths(log: &[u8]) -> impl Iterator<Item = usize> {
    let ends = log.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    ends.map(|(at, _)| at + 1)
}

fn log_of(format: Format) -> Vec<u8> {
    let mut log = Vec::new();
    let shape = Shape::new(format, 40).branches(3).compact_every(15);
    let made = shape.payload(8).write_to(&mut log);
    made.expect("memory takes all that is written");
    log
}

/// A log of codebot's with an id that comes again, a child before its parent and a cycle.
fn odd() -> Vec<u8> {
    let line = |id: &str, parent: &str| {
        format!(
            "{{\"kind\":\"message\",\"id\":\"{id}\",\"parent_id\":\"{parent}\",\"timestamp\":\"2026-07-14T09:00:01Z\",\"data\":{{\"role\":\"user\",\"content\":[]}}}}\n"
        )
    };
    let mut log = super::log::HEADERS[1].to_owned();
    for (id, parent) in [
        ("a", "h0"),
        ("b", "a"),
        ("child", "late"),
        ("late", "b"),
        ("a", "b"),
        ("x", "y"),
        ("y", "x"),
        ("c", "nobody"),
    ] {
        log.push_str(&line(id, parent));
    }
    log.push_str("{\"torn\n\0\0\n");
    log.into_bytes()
}

fn subject((log, grown): (Vec<u8>, Vec<usize>)) -> Subject {
    let lengths: Vec<usize> = {
        let all: Vec<usize> = lengths(&log).collect();
        grown
            .into_iter()
            .filter_map(|line| all.get(line).copied())
            .collect()
    };
    let replay = Replay::from_bytes(&log, ReadOptions::default());
    // All entries of such a log are on one page of the columns.
    let answers = Answers::of(&replay.expect("a session"), 8);
    let sidecar = fuzzing::sidecar(&log, &lengths, 0x5eed).expect("a sidecar");
    let mut zeros = 0;
    let places = (0..sidecar.len()).filter(|&at| {
        zeros = if sidecar[at] == 0 { zeros + 1 } else { 0 };
        zeros <= 16
    });
    Subject {
        places: places.collect(),
        log,
        answers,
        sidecar,
    }
}

/// Puts a sidecar beside a log and asks.
pub fn check(data: &[u8]) -> Checked {
    let (&mode, rest) = data.split_first().unwrap_or((&0, &[]));
    let (&turn, rest) = rest.split_first().unwrap_or((&0, &[]));
    let all = subjects();
    let subject = &all[usize::from(mode & 0x0f) % all.len()];
    place::with_log(|path| {
        place::write(path, &subject.log)?;
        let mut sidecar = if mode & RAW != 0 {
            rest.to_vec()
        } else {
            let mut sidecar = subject.sidecar.clone();
            if mode & OWN != 0 {
                own(&mut sidecar, path);
            }
            change(&mut sidecar, rest, subject, all);
            sidecar
        };
        if mode & FORGED != 0 {
            forge(&mut sidecar);
        }
        place::write(&place::sidecar(path), &sidecar)?;
        let reading = if mode & READ != 0 {
            Reading::Read
        } else {
            Reading::Map
        };
        // Who writes needs more of a sidecar than who reads. pi v1 is read only.
        let write = turn & 4 != 0 && usize::from(mode & 0x0f) % all.len() != V1;
        let options = OpenOptions::new().reading(reading).write(write);
        let opened = options.open(path);
        if mode & FORGED != 0 {
            if let Ok(session) = opened {
                ask(&session);
            }
            // Its counts are compared with the log's; it must come to an end too.
            let _ = options.verify(path);
            return Ok(());
        }
        let session = opened.map_err(|e| e.to_string())?;
        subject.answers.check(&session, usize::from(turn))?;
        if turn & 3 == 3 {
            subject.answers.check_entries(&session, &subject.log)?;
        }
        drop(session);
        let after = std::fs::read(path).map_err(|e| e.to_string())?;
        same("the log", &subject.log, &after)
    })
}

/// Asks for everything, whatever the answers are.
fn ask(session: &Session) {
    let _ = session.overview();
    let _ = session.tree();
    let _ = session.branches();
    let _ = session.info();
    let _ = session.log(None, None);
    let _ = session.find_entries(&EntryQuery::default());
    let ids: Vec<String> = match session.mutations() {
        Ok(lines) => lines.filter_map(|line| line.ok()?.id).collect(),
        Err(_) => Vec::new(),
    };
    let leaves = ids.iter().map(|id| At::Leaf(id));
    for at in leaves.chain([At::Current, At::Lane("main")]) {
        let _ = session.path(at);
        let _ = session.snapshot(at);
        let _ = session.salvage(at);
    }
    for id in &ids {
        let _ = session.entry(id);
        let _ = session.record(id);
        let _ = session.label(id);
    }
}

/// Has the last frame name the log's file.
fn own(sidecar: &mut [u8], log: &Path) {
    #[cfg(unix)]
    if let (Some(last), Ok(metadata)) = (frames(sidecar).last(), std::fs::metadata(log)) {
        use std::os::unix::fs::MetadataExt;
        let nanos = metadata.mtime() * 1_000_000_000 + metadata.mtime_nsec();
        let start = last.start;
        put(sidecar, start + 144, metadata.dev());
        put(sidecar, start + 152, metadata.ino());
        put(sidecar, start + 160, u64::try_from(nanos).unwrap_or(0));
        put(sidecar, start + 168, metadata.len());
        seal(sidecar, start);
    }
    #[cfg(not(unix))]
    let _ = (sidecar, log);
}

/// Numbers that are the limit of something.
const NUMBERS: [u64; 12] = [
    0,
    1,
    2,
    255,
    4096,
    0xffff,
    0xffff_fffe,
    0xffff_ffff,
    0x1_0000_0000,
    u64::MAX >> 1,
    u64::MAX - 1,
    u64::MAX,
];

/// Reads changes of five bytes each and makes them.
fn change(sidecar: &mut Vec<u8>, changes: &[u8], subject: &Subject, all: &[Subject]) {
    for bytes in changes.chunks_exact(5).take(CHANGES) {
        let &[kind, a, b, c, d] = bytes else { continue };
        let number = usize::from(a) << 8 | usize::from(b);
        let at = subject.places[number % subject.places.len()];
        let frames = frames(sidecar);
        let frame = |number: u8| {
            frames
                .get(usize::from(number) % frames.len().max(1))
                .cloned()
        };
        match kind % 12 {
            0 => {
                if let Some(byte) = sidecar.get_mut(at) {
                    *byte ^= c;
                }
            }
            1 => {
                if let Some(byte) = sidecar.get_mut(at) {
                    *byte = c;
                }
            }
            2 => put(sidecar, at / 8 * 8, NUMBERS[usize::from(c) % NUMBERS.len()]),
            3 => {
                let number = NUMBERS[usize::from(c) % NUMBERS.len()] as u32;
                if let Some(place) = sidecar.get_mut(at / 4 * 4..at / 4 * 4 + 4) {
                    place.copy_from_slice(&number.to_le_bytes());
                }
            }
            4 => sidecar.truncate(at),
            5 => {
                if let (Some(one), Some(other)) = (frame(a), frame(b)) {
                    let (first, last) = if one.start < other.start {
                        (one, other)
                    } else {
                        (other, one)
                    };
                    if first.end <= last.start {
                        let swapped = [
                            &sidecar[..first.start],
                            &sidecar[last.clone()],
                            &sidecar[first.end..last.start],
                            &sidecar[first.clone()],
                            &sidecar[last.end..],
                        ]
                        .concat();
                        *sidecar = swapped;
                    }
                }
            }
            6 => {
                if let Some(frame) = frame(a) {
                    sidecar.drain(frame);
                }
            }
            7 => {
                if let Some(frame) = frame(a) {
                    let copy = sidecar[frame].to_vec();
                    sidecar.extend(copy);
                }
            }
            8 => {
                // From here on it is another log's.
                let other = &all[usize::from(c) % all.len()].sidecar;
                sidecar.truncate(at);
                sidecar.extend_from_slice(other.get(at..).unwrap_or_default());
            }
            9 => {
                // The same bytes at another place of about the same kind.
                let from = subject.places[(number + usize::from(d)) % subject.places.len()];
                let len = usize::from(c) % 64;
                if from + len <= sidecar.len() && at + len <= sidecar.len() {
                    sidecar.copy_within(from..from + len, at);
                }
            }
            10 => {
                // A field of a header, a little off.
                if let Some(frame) = frame(a) {
                    let field = frame.start + 16 + usize::from(b) % ((HEADER - 24) / 8) * 8;
                    let then = word(sidecar, field).unwrap_or(0);
                    put(sidecar, field, then.wrapping_add_signed(i64::from(c as i8)));
                }
            }
            _ => {
                let at = at.min(sidecar.len());
                sidecar.splice(at..at, [c, d, c]);
            }
        }
        // What grows by copies would only be slow.
        sidecar.truncate(1 << 19);
    }
}
