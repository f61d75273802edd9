//! Logs that are large in one way: answers are right, and what is allocated stays in proportion to the
//! log. Time is what the fuzzer's own limit is for.

use leaflog::{At, OpenOptions, Session, fuzzing};

use super::answers::{Answers, replay};
use super::recipe::{Recipe, Shape};
use super::{Checked, same};

/// Up to this length the naive replay is asked too, which is not made for large logs.
const NAIVE: usize = 1 << 16;

/// Bytes allocated so far, all together.
pub type Meter<'m> = &'m dyn Fn() -> usize;

/// What may be allocated beside what grows with the log: buffers that are there for any.
const BESIDE: usize = 4 << 20;

/// What may be allocated for a byte of the log, summed over all that is done. About twice of what
/// the worst recipe took: arrays in arrays, each read by the exact grammar in several turns, take
/// 375 bytes a byte; a line of two bytes that is no entry takes 150, since it is reported.
fn a_byte(shape: Shape) -> usize {
    match shape {
        Shape::Text
        | Shape::Key
        | Shape::Id
        | Shape::Digits
        | Shape::Entries
        | Shape::Duplicates
        | Shape::Backwards
        | Shape::Cycle
        | Shape::Labels
        | Shape::Compactions => 60,
        _ => 750,
    }
}

/// Makes the log of a recipe and reads it.
pub fn check(data: &[u8], meter: Option<Meter<'_>>) -> Checked {
    let recipe = Recipe::read(data);
    let (log, entries) = recipe.log();
    let told = |e: String| {
        // A difference of megabytes is shown in part.
        let shown: String = e.chars().take(2000).collect();
        format!("{recipe:?}: {shown}")
    };
    measured(&recipe, &log, entries, meter).map_err(told)?;
    if log.len() <= NAIVE {
        let session = open(&log)?;
        let replay = replay(&log, false, false).map_err(|e| format!("{recipe:?}: naive {e:?}"))?;
        Answers::of(&replay, 6).check(&session, 0).map_err(told)?;
    }
    Ok(())
}

fn open(log: &[u8]) -> Result<Session, String> {
    fuzzing::open(log.to_vec(), &OpenOptions::new()).map_err(|e| e.to_string())
}

fn measured(
    recipe: &Recipe,
    log: &[u8],
    entries: Option<usize>,
    meter: Option<Meter<'_>>,
) -> Checked {
    let before = meter.map_or(0, |meter| meter());
    let session = open(log)?;
    let overview = session.overview().map_err(|e| e.to_string())?;
    let newlines = log.iter().filter(|&&byte| byte == b'\n').count();
    let lines = newlines + usize::from(log.last() != Some(&b'\n'));
    same("lines", &(lines as u64), &overview.lines)?;
    if let Some(entries) = entries {
        // Without ids every line with a type is an entry.
        if recipe.format != 4 {
            same("entries", &(entries as u64), &overview.entries)?;
        }
    }
    // Damage in these is an answer too.
    let _ = session.snapshot(At::Current);
    let _ = session.salvage(At::Current);
    let _ = session.path(At::Current);
    if let Some(leaf) = &overview.leaf {
        let entry = session.entry(leaf).map_err(|e| e.to_string())?;
        if entry.is_some_and(|entry| {
            entry
                .decode::<serde_json::Value>()
                .is_ok_and(|it| !it.is_object())
        }) {
            return Err(format!("the entry `{leaf}` is no object"));
        }
    }
    let found = session.entry("no such id").map_err(|e| e.to_string())?;
    same("an id that is not there", &true, &found.is_none())?;
    let allocated = meter.map_or(0, |meter| meter()) - before;
    let most = a_byte(recipe.shape) * log.len() + BESIDE;
    if allocated > most {
        return Err(format!(
            "{allocated} bytes were allocated for a log of {}: expected at most {most}",
            log.len()
        ));
    }
    Ok(())
}
