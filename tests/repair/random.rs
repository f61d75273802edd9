//! Generated logs with random damage: which lines it touched is known, so all others must stand in the
//! copy byte for byte.

use std::collections::HashSet;

use leaflog::generate::Shape;
use leaflog::naive::{ReadOptions, Replay};
use leaflog::{Code, FixKind, Format, Orphans};

use super::check::{Copy, blank_trimmed, check, repair, unnumbered};

/// Random numbers, the same for the same seed everywhere.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        usize::try_from(mixed % limit.max(1) as u64).expect("below the limit")
    }
}

/// A line of the original, and whether damage came upon it.
struct Line {
    bytes: Vec<u8>,
    touched: bool,
}

/// Damages a log of whole lines; the first line may be hit too.
fn damage(lines: &mut Vec<Line>, dice: &mut Dice) {
    let at = dice.below(lines.len());
    let (len, count) = (lines[at].bytes.len(), lines.len());
    let byte = dice.below(len);
    let line = &mut lines[at];
    let was_touched = std::mem::replace(&mut line.touched, true);
    match dice.below(13) {
        0 => line.bytes[byte] ^= 1 << dice.below(8),
        1 => drop(line.bytes.drain(byte..(byte + 1 + dice.below(40)).min(len))),
        2 => drop(line.bytes.splice(byte..byte, vec![0; 1 + dice.below(50)])),
        3 => line.bytes[byte..].iter_mut().for_each(|byte| *byte = 0),
        4 => drop(line.bytes.splice(byte..byte, *b"\n")),
        5 => line.bytes.truncate(byte),
        6 => {
            // The beginning of a line that was torn, and this one behind it.
            let torn = line.bytes[..byte].to_vec();
            drop(line.bytes.splice(0..0, torn));
        }
        7 => drop(lines.remove(at)),
        8 => {
            // The line itself is whole, wherever it stands.
            let bytes = lines[at].bytes.clone();
            lines[at].touched = was_touched;
            let place = at + 1 + dice.below(lines.len() - at);
            let touched = true;
            lines.insert(place, Line { bytes, touched });
        }
        9 => number(&mut line.bytes, dice.below(200)),
        10 if at + 1 < count => {
            let next = lines.remove(at + 1);
            lines[at].bytes.extend_from_slice(&next.bytes);
        }
        11 => {
            lines[at].touched = was_touched;
            let junk: [&[u8]; 6] = [b"null", b"{}", b"\xff\xfe", b"{\"a\":\"", b"\0\0\0", b"["];
            let bytes = junk[dice.below(junk.len())].to_vec();
            let touched = true;
            lines.insert(at + 1, Line { bytes, touched });
        }
        _ => drop(line.bytes.splice(byte..byte, *b"\t\x01")),
    }
}

/// Gives a line another number in the sequence.
fn number(line: &mut Vec<u8>, number: usize) {
    let text = String::from_utf8_lossy(line).into_owned();
    if let Some((before, after)) = text.rsplit_once("\"seq\":") {
        let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
        *line = format!("{before}\"seq\":{number}{rest}").into_bytes();
    }
}

/// Lines of the source that the copy does not hold as they stand.
fn missing<'l>(lines: &'l [Line], copy: &Copy) -> Vec<&'l [u8]> {
    let held: HashSet<&[u8]> = copy.log.split(|&byte| byte == b'\n').collect();
    let is_renumbered = copy.actions().contains(&FixKind::Renumbered) || copy.done.fix_count > 100;
    let numbers: HashSet<Vec<u8>> = if is_renumbered {
        held.iter().map(|line| unnumbered(line)).collect()
    } else {
        HashSet::new()
    };
    // A line that came twice may have been damaged the second time: then that one counts, as in reading.
    let overridden: HashSet<&[u8]> = if copy.actions().contains(&FixKind::DuplicateDropped) {
        copy.dropped.split(|&byte| byte == b'\n').collect()
    } else {
        HashSet::new()
    };
    let whole = lines.iter().filter(|line| !line.touched);
    whole
        .map(|line| &line.bytes[..])
        .filter(|line| {
            !held.contains(line)
                && !numbers.contains(&unnumbered(line))
                && !overridden.contains(line)
        })
        .collect()
}

fn unsupported(log: &[u8]) -> bool {
    Replay::from_bytes(log, ReadOptions::default()).is_err_and(|e| e.code() == Code::Unsupported)
}

/// Damages a log in a way that a seed says, repairs it in both ways and checks everything.
pub fn check_damaged(format: Format, seed: u64) {
    let mut log = Vec::new();
    Shape::new(format, 40)
        .branches(3)
        .compact_every(15)
        .payload(20)
        .seed(seed)
        .write_to(&mut log)
        .expect("written");
    let mut dice = Dice(seed);
    let mut lines: Vec<Line> = log
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| Line {
            bytes: line.to_vec(),
            touched: false,
        })
        .collect();
    for _ in 0..=dice.below(6) {
        damage(&mut lines, &mut dice);
    }
    // Bytes were never cut down to nothing but blanks: lines stay lines.
    lines.retain(|line| !blank_trimmed(&line.bytes).is_empty());
    let mut damaged = Vec::new();
    for line in &lines {
        damaged.extend_from_slice(&line.bytes);
        damaged.push(b'\n');
    }
    if dice.below(4) == 0 {
        damaged.extend_from_slice(b"{\"kind\":\"entry\",\"type\":\"mess");
    }
    // Lines are cut, and the seed makes the whole log again.
    let what = |error: &dyn std::fmt::Display| {
        let lines = damaged.split(|&byte| byte == b'\n');
        let shown = lines.map(|line| line[..line.len().min(150)].escape_ascii().to_string());
        let shown: Vec<String> = shown.collect();
        format!("{format}, seed {seed}: {error}\n{}", shown.join("\n"))
    };
    match check(&damaged) {
        Err(error) => panic!("{}", what(&error)),
        // A header that says another version is not mended.
        Ok(None) if unsupported(&damaged) => {}
        Ok(None) => panic!("{}", what(&"refused")),
        Ok(Some(copy)) => {
            let linked = repair(&damaged, Orphans::Relink).expect("repaired");
            for copy in [copy, linked] {
                if let Some(lost) = missing(&lines, &copy).first() {
                    panic!(
                        "{}",
                        what(&format!("a whole line is lost: {}", lost.escape_ascii()))
                    );
                }
            }
        }
    }
}
