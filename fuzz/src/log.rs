//! A whole log of any format, read by the index and by the naive replay: tolerant, strict and with
//! salvage, from memory and now and then from a file with a sidecar.

use leaflog::{IndexMode, OpenOptions, Reading, Session, fuzzing};

use super::answers::{Answers, place, replay};
use super::{Checked, place as files, same};

/// Headers for logs to begin with, so that bytes get past the detection of the format. The first is
/// none: such a log must bring its own.
pub const HEADERS: [&str; 7] = [
    "",
    "{\"kind\":\"header\",\"id\":\"h0\",\"timestamp\":\"2026-07-14T09:00:00Z\",\"data\":{\"version\":3,\"session_id\":\"s\",\"cwd\":\"/w\",\"created\":\"2026-07-14T09:00:00Z\"}}\n",
    "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-07-14T09:00:00.000Z\",\"cwd\":\"/w\"}\n",
    "{\"kind\":\"header\",\"version\":4,\"id\":\"s\",\"createdAt\":1784019600000,\"cwd\":\"/w\"}\n",
    "{\"type\":\"session\",\"id\":\"s\",\"timestamp\":\"2026-07-14T09:00:00.000Z\",\"cwd\":\"/w\"}\n",
    "{\"type\":\"session\",\"version\":2,\"id\":\"s\",\"timestamp\":\"2026-07-14T09:00:00.000Z\",\"cwd\":\"/w\"}\n",
    "\u{feff}{\"kind\":\"header\",\"version\":4,\"id\":\"s\",\"createdAt\":null}\n",
];

/// The bits of the first byte.
pub const SALVAGE: u8 = 0x80;
/// Of so many entries the path and the snapshot are compared, of a longer log a part only.
const LEAVES: usize = 24;

/// From a file too.
pub const ON_DISK: u8 = 0x40;

/// The log that some bytes stand for: the first picks how it is read and its header.
pub fn parts(data: &[u8]) -> (u8, Vec<u8>) {
    let (&mode, rest) = data.split_first().unwrap_or((&0, &[]));
    let header = HEADERS[usize::from(mode & 0x3f) % HEADERS.len()];
    (mode, [header.as_bytes(), rest].concat())
}

/// Reads a log in all ways.
pub fn check(data: &[u8]) -> Checked {
    let (mode, log) = parts(data);
    let salvage = mode & SALVAGE != 0;
    let options = OpenOptions::new().salvage(salvage).index(IndexMode::Memory);
    let strict = fuzzing::open(log.clone(), &options.clone().strict(true));
    let strict = strict.map(drop).map_err(|e| place(&e));
    let expected = replay(&log, true, salvage).map(drop);
    same("strict", &expected, &strict)?;
    let opened = fuzzing::open(log.clone(), &options);
    let replay = match (replay(&log, false, salvage), &opened) {
        (Ok(replay), Ok(_)) => replay,
        (expected, opened) => {
            let found = opened.as_ref().map(drop).map_err(place);
            same("opening", &expected.map(drop), &found)?;
            return on_disk_too(mode, |path| {
                files::write(path, &log)?;
                let found = options.open(path);
                let found = found.as_ref().map(drop).map_err(place);
                same(
                    "opening on disk",
                    &found,
                    &opened.as_ref().map(drop).map_err(place),
                )
            });
        }
    };
    let session = opened.map_err(|e| e.to_string())?;
    let answers = Answers::of(&replay, LEAVES);
    let told = |how: &'static str| move |e: String| format!("{how}: {e}");
    answers.check(&session, 0)?;
    answers.check_entries(&session, &log)?;
    on_disk_too(mode, |path| {
        files::write(path, &log)?;
        let options = OpenOptions::new().salvage(salvage).index(IndexMode::Always);
        for how in ["no sidecar", "with a sidecar"] {
            let session = open(&options, path)?;
            answers.check(&session, 1).map_err(told(how))?;
        }
        let session = open(&options.clone().reading(Reading::Read), path)?;
        answers.check(&session, 1).map_err(told("read"))?;
        let found = options.verify(path).map_err(|e| e.to_string())?;
        let problems = found.problems.iter().filter(|it| it.place == "index");
        same("problems of the index", &0, &problems.count())?;
        let after = std::fs::read(path).map_err(|e| e.to_string())?;
        same("the log on disk", &log, &after)
    })
}

fn open(options: &OpenOptions, path: &std::path::Path) -> Result<Session, String> {
    options.open(path).map_err(|error| error.to_string())
}

fn on_disk_too(mode: u8, call: impl FnOnce(&std::path::Path) -> Checked) -> Checked {
    if mode & ON_DISK == 0 {
        return Ok(());
    }
    files::with_log(call)
}
