//! What happens to the files of a session while nobody has it open: a write that was cut off by the
//! end of a process, a sidecar that is gone or no longer what it was. None of it may be seen in an
//! answer. For sessions that are files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::dice::Dice;

/// Something that befalls a session's files.
#[derive(Clone, Copy, Debug)]
pub(super) enum Damage {
    /// The log ends in a part of a line.
    TornTail(u64),
    /// The sidecar is gone.
    NoSidecar,
    /// The sidecar is not what it was.
    GarbledSidecar(u64),
}

/// Lines of each format, and what a file system may leave behind: a part of one is no line.
const TAILS: [&str; 5] = [
    r#"{"kind":"message","id":"0a0a0a0a","parent_id":"h0","timestamp":"2026-07-14T09:00:00Z","data":{"role":"user","content":[{"type":"text","text":"{\"id\":\"é\"}"}]}}"#,
    r#"{"type":"custom","id":"0b0b0b0b","parentId":null,"timestamp":"2026-07-14T09:00:00.000Z","customType":"c","data":{"id":{"id":{}}}}"#,
    r#"{"kind":"entry","lane":"main","type":"custom","id":"x","customType":"c","parentId":null,"seq":9,"timestamp":1}"#,
    r#"[{"kind":"fact","seq":1,"fact":"name","name":"torn"}]"#,
    "\0\0\0\0\0\0\0\0\0\0\0\0",
];

impl Damage {
    /// Does it to a log, or to the sidecar beside it.
    pub(super) fn happen(self, log: &Path) -> io::Result<()> {
        match self {
            Self::TornTail(seed) => {
                let mut dice = Dice::new(seed);
                let line = dice.pick(&TAILS).copied().unwrap_or_default().as_bytes();
                // All of it would be a line, though none with a newline.
                let end = 1 + dice.below(line.len().saturating_sub(1));
                let mut bytes = fs::read(log)?;
                bytes.extend_from_slice(line.get(..end).unwrap_or_default());
                fs::write(log, bytes)
            }
            Self::NoSidecar => match fs::remove_file(sidecar_of(log)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                done => done,
            },
            Self::GarbledSidecar(seed) => {
                let mut dice = Dice::new(seed);
                let path = sidecar_of(log);
                let mut bytes = fs::read(&path).unwrap_or_default();
                match dice.below(4) {
                    0 => bytes.truncate(dice.below(bytes.len() + 1)),
                    1 => bytes.extend_from_slice(&dice.roll().to_le_bytes()),
                    _ => {
                        for _ in 0..=dice.below(8) {
                            let at = dice.below(bytes.len());
                            if let Some(byte) = bytes.get_mut(at) {
                                *byte ^= 1 << dice.below(8);
                            }
                        }
                    }
                }
                fs::write(&path, bytes)
            }
        }
    }
}

/// The sidecar's place beside a log.
fn sidecar_of(log: &Path) -> PathBuf {
    let mut path = log.as_os_str().to_owned();
    path.push(".idx");
    path.into()
}
