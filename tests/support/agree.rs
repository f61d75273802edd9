//! Compares the indexed reader with the naive replay on one log, in everything that both can say.

use std::path::Path;

use leaflog::naive::{ReadOptions, Replay};
use leaflog::{At, Error, OpenOptions, Overview, Session};

/// Opens a log both ways and compares all answers; the difference if there is one.
pub fn compare(path: &Path, options: &OpenOptions, salvage: bool) -> Result<(), String> {
    let bytes = std::fs::read(path).map_err(|e| e.to_string())?;
    let replay = Replay::from_bytes(
        &bytes,
        ReadOptions {
            strict: false,
            salvage,
        },
    );
    match (replay, options.clone().salvage(salvage).open(path)) {
        (Err(naive), Err(indexed)) => {
            same("open error", &place(&naive), &place(&indexed))?;
            compare_strict(&bytes, path, options, salvage)
        }
        (Ok(replay), Ok(session)) => {
            compare_answers(&replay, &session)?;
            compare_strict(&bytes, path, options, salvage)
        }
        (naive, indexed) => Err(format!(
            "naive {:?}, indexed {:?}",
            naive.map(|replay| replay.overview()),
            indexed.and_then(|session| session.overview())
        )),
    }
}

/// Compares an opened session with a replay of the same bytes.
pub fn compare_answers(replay: &Replay, session: &Session) -> Result<(), String> {
    same(
        "overview",
        &plain(replay.overview()),
        &plain(session.overview().map_err(|e| e.to_string())?),
    )?;
    let ids = replay.entry_ids();
    let tree: Vec<String> = session
        .tree()
        .map_err(|e| e.to_string())?
        .into_iter()
        .map(|node| node.id)
        .collect();
    same("entry ids", &ids, &tree)?;
    let overview = replay.overview();
    let leaves = ids.iter().map(|id| At::Leaf(id));
    let lanes = overview.lanes.iter().map(|(lane, _)| At::Lane(lane));
    let others = [
        At::Current,
        At::Leaf("no such id"),
        At::Lane("no such lane"),
        At::Lane("main"),
    ];
    for at in leaves.chain(lanes).chain(others) {
        let what = |question: &str| format!("{question} {at:?}");
        same(
            &what("snapshot"),
            &outcome(replay.snapshot(at, false)),
            &outcome(session.snapshot(at)),
        )?;
        same(
            &what("salvage"),
            &outcome(replay.snapshot(at, true)),
            &outcome(session.salvage(at)),
        )?;
        same(
            &what("path"),
            &outcome(replay.path(at)),
            &outcome(session.path(at)),
        )?;
    }
    for id in &ids {
        let entry = session.entry(id).map_err(|e| e.to_string())?;
        same("entry", &Some(id.clone()), &entry.map(|entry| entry.id))?;
    }
    Ok(())
}

fn compare_strict(
    bytes: &[u8],
    path: &Path,
    options: &OpenOptions,
    salvage: bool,
) -> Result<(), String> {
    let replay = Replay::from_bytes(
        bytes,
        ReadOptions {
            strict: true,
            salvage,
        },
    );
    let session = options.clone().salvage(salvage).strict(true).open(path);
    same(
        "strict",
        &replay.map(|_| ()).map_err(|e| place(&e)),
        &session.map(|_| ()).map_err(|e| place(&e)),
    )
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, naive: &T, indexed: &T) -> Result<(), String> {
    if naive == indexed {
        return Ok(());
    }
    Err(format!(
        "{what}:\n  naive   {naive:?}\n  indexed {indexed:?}"
    ))
}

/// The overview without the wording of its reports.
fn plain(mut overview: Overview) -> Overview {
    for report in &mut overview.reports {
        report.detail.clear();
    }
    overview
}

/// What a caller can match on in an error.
fn place(error: &Error) -> (leaflog::Code, Option<u64>, Option<u64>) {
    (error.code(), error.line(), error.offset())
}

fn outcome<T>(result: leaflog::Result<T>) -> Result<T, (leaflog::Code, Option<u64>, Option<u64>)> {
    result.map_err(|error| place(&error))
}
