//! Queries over entries, paths and the log: filters, limits, cursors, both orders, bounds.

use crate::conformance::failure::{Outcome, ensure, refused, same, some};
use crate::conformance::scene::{Live, Scene, append, ids};
use crate::contract::{BranchBounds, EntryQuery, LogItem, Order, RecordQuery};
use crate::error::Code;

fn of(kind: Option<&str>) -> EntryQuery {
    EntryQuery {
        kind: kind.map(str::to_owned),
        ..EntryQuery::default()
    }
}

fn oldest(kind: Option<&str>) -> EntryQuery {
    EntryQuery {
        order: Order::OldestFirst,
        ..of(kind)
    }
}

pub(super) fn invalid_queries_are_refused_before_reading(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    let none = EntryQuery {
        limit: Some(0),
        ..EntryQuery::default()
    };
    let code = Code::InvalidQuery;
    let check = || {
        refused("find_entries", session.find_entries(&none), code)?;
        // The start is missing too: what is wrong with the query comes first.
        let bounds = BranchBounds::from("missing");
        let found = session.find_entries_on_branch(&none, &bounds);
        refused("find_entries_on_branch", found, code)?;
        let query = RecordQuery {
            limit: Some(0),
            ..RecordQuery::default()
        };
        refused("find_records", session.find_records(&query), code)?;
        for kind in [None, Some("step_attempt".to_owned())] {
            let query = RecordQuery {
                operation_kind: Some("run".to_owned()),
                kind,
                ..RecordQuery::default()
            };
            let found = session.find_records(&query);
            refused("an operation kind without its type", found, code)?;
        }
        for lane in ["main", "nowhere"] {
            let found = session.find_open_operations(lane, Some(0));
            refused("find_open_operations", found, code)?;
        }
        refused("log", session.log(None, Some(0)), code)?;
        refused("log", session.log(Some(1000), Some(0)), code)
    };
    check()?;
    append(&session, scene.say().user("root"))?;
    scene.unchanged(&session, check)
}

/// A message, a note, a compaction, a note, a message.
fn five(scene: &Scene<'_>, session: &Live) -> Outcome<[String; 5]> {
    let say = scene.say();
    Ok([
        append(session, say.user("root"))?.id,
        append(session, say.note("1"))?.id,
        append(session, say.compaction("summary"))?.id,
        append(session, say.note("2"))?.id,
        append(session, say.assistant("tail"))?.id,
    ])
}

pub(super) fn filters_limits_and_cursors(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    let [root, old, compact, new, tail] = five(scene, &session)?;
    let note = scene.say().note_kind();
    let find = |query: &EntryQuery| -> Outcome<Vec<String>> {
        let found = session.find_entries(query)?;
        // codebot's header is an entry too.
        let found = found.into_iter().filter(|entry| entry.kind != "header");
        Ok(found.map(|entry| entry.id).collect())
    };
    let seq = |id: &str| -> Outcome<u64> { some("seq", session.entry(id)?.and_then(|e| e.seq)) };
    let newest = [&tail, &new, &compact, &old, &root];
    same("all", find(&of(None))?, newest.map(Clone::clone))?;
    let all = [&root, &old, &compact, &new, &tail];
    same(
        "all, oldest first",
        find(&oldest(None))?,
        all.map(Clone::clone),
    )?;
    same("notes", find(&of(Some(note)))?, [new.clone(), old.clone()])?;
    same(
        "notes, oldest first",
        find(&oldest(Some(note)))?,
        [old.clone(), new.clone()],
    )?;
    same(
        "messages",
        find(&of(Some("message")))?,
        [tail.clone(), root.clone()],
    )?;
    same(
        "a kind that there is not",
        find(&of(Some("no_such_kind")))?.len(),
        0,
    )?;
    same("an empty kind", find(&of(Some("")))?.len(), 0)?;
    let query = EntryQuery {
        limit: Some(2),
        after_seq: Some(seq(&old)?),
        ..oldest(None)
    };
    same(
        "a page, oldest first",
        find(&query)?,
        [compact.clone(), new.clone()],
    )?;
    let query = EntryQuery {
        limit: Some(2),
        after_seq: Some(seq(&new)?),
        ..of(None)
    };
    same(
        "a page, newest first",
        find(&query)?,
        [compact.clone(), old.clone()],
    )?;
    let query = EntryQuery {
        limit: Some(1),
        after_seq: Some(seq(&new)?),
        ..of(Some(note))
    };
    same(
        "the limit counts what matches",
        find(&query)?,
        [old.clone()],
    )?;
    let query = EntryQuery {
        limit: Some(usize::MAX),
        ..of(Some("message"))
    };
    same("a limit beyond all", find(&query)?, [tail.clone(), root])?;
    for (after, query) in [(0, of(None)), (u64::MAX, oldest(None))] {
        let query = EntryQuery {
            after_seq: Some(after),
            ..query
        };
        same("behind the last", find(&query)?.len(), 0)?;
    }
    for (after, query) in [(u64::MAX, of(None)), (0, oldest(None))] {
        let query = EntryQuery {
            after_seq: Some(after),
            ..query
        };
        same("before the first", find(&query)?.len(), 5)?;
    }
    let custom = |custom: &str| EntryQuery {
        custom_type: Some(custom.to_owned()),
        ..EntryQuery::default()
    };
    if note == "custom" {
        same("notes by custom type", find(&custom("note"))?, [new, old])?;
        let both = EntryQuery {
            kind: Some("message".to_owned()),
            ..custom("note")
        };
        same("messages of a custom type", find(&both)?.len(), 0)?;
    }
    same("another custom type", find(&custom("other"))?.len(), 0)
}

pub(super) fn branch_queries_go_along_one_path(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    let [root, old, compact, new, tail] = five(scene, &session)?;
    session.move_lane("main", Some(&old))?;
    let side = append(&session, scene.say().user("side"))?.id;
    let note = scene.say().note_kind();
    let find = |query: &EntryQuery, start: &str| -> Outcome<Vec<String>> {
        let found = session.find_entries_on_branch(query, &BranchBounds::from(start))?;
        let found = found.into_iter().filter(|entry| entry.kind != "header");
        Ok(found.map(|entry| entry.id).collect())
    };
    let path = [&root, &old, &compact, &new, &tail].map(Clone::clone);
    same(
        "path, oldest first",
        find(&oldest(None), &tail)?,
        path.clone(),
    )?;
    let mut turned = path;
    turned.reverse();
    same("path", find(&of(None), &tail)?, turned)?;
    same(
        "the other path",
        find(&of(None), &side)?,
        [side.clone(), old.clone(), root.clone()],
    )?;
    same(
        "a part of a path",
        find(&of(None), &old)?,
        [old.clone(), root.clone()],
    )?;
    let limited = EntryQuery {
        limit: Some(1),
        ..of(Some(note))
    };
    same("the latest note", find(&limited, &tail)?, [new.clone()])?;
    let limited = EntryQuery {
        order: Order::OldestFirst,
        ..limited
    };
    same("the first note", find(&limited, &tail)?, [old.clone()])?;
    let cursor = some("seq", session.entry(&compact)?.and_then(|entry| entry.seq))?;
    let query = EntryQuery {
        after_seq: Some(cursor),
        ..of(None)
    };
    same("behind a cursor", find(&query, &tail)?, [old, root])?;
    let query = EntryQuery {
        after_seq: Some(cursor),
        ..oldest(None)
    };
    same("above a cursor", find(&query, &tail)?, [new, tail])
}

pub(super) fn branch_bounds_are_inclusive(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    let [root, old, compact, new, tail] = five(scene, &session)?;
    let note = scene.say().note_kind();
    let find = |query: EntryQuery, kind: Option<&str>, id: Option<&str>| -> Outcome<Vec<String>> {
        let bounds = BranchBounds {
            start: tail.clone(),
            stop_at_kind: kind.map(str::to_owned),
            stop_at_id: id.map(str::to_owned),
        };
        let found = session.find_entries_on_branch(&query, &bounds)?;
        let found = found.into_iter().filter(|entry| entry.kind != "header");
        Ok(found.map(|entry| entry.id).collect())
    };
    let found = find(of(None), Some("compaction"), None)?;
    same(
        "down to the compaction",
        found,
        [tail.clone(), new.clone(), compact.clone()],
    )?;
    let found = find(of(Some("message")), Some("compaction"), None)?;
    same("messages since the compaction", found, [tail.clone()])?;
    let found = find(of(None), None, Some(&compact))?;
    same(
        "down to an id",
        found,
        [tail.clone(), new.clone(), compact.clone()],
    )?;
    let found = find(of(Some(note)), None, Some(&tail))?;
    same("a start that is the bound", found.len(), 0)?;
    let found = find(of(None), None, Some(&tail))?;
    same("a start that is the bound", found, [tail.clone()])?;
    let found = find(of(None), Some(note), Some(&old))?;
    same(
        "the bound that comes first",
        found,
        [tail.clone(), new.clone()],
    )?;
    let found = find(of(None), Some("no_such_kind"), Some("no such id"))?;
    same("bounds that match nothing", found.len(), 5)?;
    let found = find(oldest(None), Some(note), None)?;
    same(
        "from the root to the first note",
        found,
        [root.clone(), old.clone()],
    )?;
    let found = find(oldest(None), None, Some(&new))?;
    let expected = [&root, &old, &compact, &new].map(Clone::clone);
    same("from the root to an id", found, expected)?;
    let found = find(oldest(Some("message")), None, Some(&new))?;
    same("messages from the root to an id", found, [root.clone()])?;
    let limited = EntryQuery {
        limit: Some(1),
        ..oldest(Some(note))
    };
    let found = find(limited, None, Some(&tail))?;
    same("a limit before the bound", found, [old])?;
    let found = find(oldest(None), None, Some(&root))?;
    same("a root that is the bound", found, [root])
}

pub(super) fn a_missing_start_is_not_found(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    let missing = BranchBounds::from("missing");
    let find = || session.find_entries_on_branch(&of(None), &missing);
    refused("a missing start, nothing written", find(), Code::NotFound)?;
    append(&session, scene.say().user("root"))?;
    refused("a missing start", find(), Code::NotFound)?;
    let empty = session.find_entries_on_branch(&of(None), &BranchBounds::default());
    refused("an empty start", empty, Code::NotFound)?;
    same("an unknown entry", session.entry("missing")?, None)?;
    if scene.can.records {
        session.append_record(super::started("main", "run"))?;
        let record = session.find_entries_on_branch(&of(None), &BranchBounds::from("run"));
        refused("a record as the start", record, Code::NotFound)?;
    }
    Ok(())
}

pub(super) fn the_log_is_read_in_pages(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    five(scene, &session)?;
    session.set_name(Some("Name"))?;
    let all = session.log(None, None)?;
    let mut pages = Vec::new();
    let mut after = None;
    loop {
        let page = session.log(after, Some(2))?;
        ensure(page.len() <= 2, || {
            format!("a page of 2 has {} items", page.len())
        })?;
        let Some(last) = page.last() else {
            break;
        };
        after = Some(last.seq());
        pages.extend(page);
    }
    same("the pages together", &pages, &all)?;
    let last = all.last().map_or(0, LogItem::seq);
    same("behind the end", session.log(Some(last), None)?.len(), 0)?;
    same(
        "far behind the end",
        session.log(Some(u64::MAX), None)?.len(),
        0,
    )?;
    same(
        "from the start",
        session.log(Some(0), None)?.len(),
        all.len(),
    )?;
    let entries = session.find_entries(&oldest(None))?;
    let in_log: Vec<&str> = all
        .iter()
        .filter_map(|item| match item {
            LogItem::Entry(entry) => Some(&*entry.id),
            _ => None,
        })
        .collect();
    same("entries and log", ids(&entries), in_log)
}
