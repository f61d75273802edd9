//! Entries and lanes: one sequence, parents from the lane, names for good, ids used once.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::started;
use crate::conformance::failure::{Failure, Outcome, ensure, refused, same, some};
use crate::conformance::scene::{Scene, all_entries, append, id_of, ids, leaf};
use crate::conformance::state::plain;
use crate::contract::{BranchBounds, EntryQuery, LaneView, LogItem, Order, RecordQuery};
use crate::error::Code;

pub(super) fn one_sequence_over_all_mutations(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    let before = session.log(None, None)?.len();
    let root = append(&session, scene.say().user("root"))?;
    let note = append(&session, scene.say().note("1"))?;
    same(
        "parent of the second entry",
        note.parent.as_deref(),
        Some(&*root.id),
    )?;
    ensure(
        root.time.is_some_and(|time| time > 1_500_000_000_000),
        || format!("expected a time in milliseconds, found {:?}", root.time),
    )?;
    if scene.can.lanes {
        same("parent of the root", root.parent.clone(), None::<String>)?;
        session.create_lane("thread", Some(&root.id))?;
        let child = session.append_entry(scene.say().note("2"), "thread")?;
        same(
            "parent on the lane",
            child.parent.as_deref(),
            Some(&*root.id),
        )?;
        same("lane", child.lane.as_deref(), Some("thread"))?;
        let run = session.append_record(started("thread", "run"))?;
        same("seq of the record", run.seq, Some(5))?;
        session.set_name(Some("Example"))?;
        session.set_label(&root.id, Some("checkpoint"))?;
        session.move_lane("main", Some(&child.id))?;
        let kinds: Vec<&str> = session.log(None, None)?.iter().map(kind_of).collect();
        let expected = [
            "entry", "entry", "lane", "entry", "record", "name", "label", "lane",
        ];
        same("kinds in the log", kinds, expected)?;
        let stand: Vec<_> = session
            .lanes()?
            .into_iter()
            .map(|lane| (lane.name, lane.leaf))
            .collect();
        let on = |name: &str| (name.to_owned(), Some(child.id.clone()));
        same("lanes", stand, [on("main"), on("thread")])?;
    } else if scene.can.labels {
        session.set_name(Some("Example"))?;
        session.set_label(&root.id, Some("checkpoint"))?;
        let entries = all_entries(&session)?;
        let kinds: Vec<&str> = entries.iter().map(|entry| &*entry.kind).collect();
        same(
            "kinds",
            kinds,
            ["message", "custom", "session_info", "label"],
        )?;
    }
    let log = session.log(None, None)?;
    let seqs: Vec<u64> = log.iter().map(LogItem::seq).collect();
    let expected: Vec<u64> = (1..).take(log.len()).collect();
    same("numbers in the log", seqs, expected)?;
    let in_log = log.get(before).cloned();
    let in_log = match in_log {
        Some(LogItem::Entry(entry)) => Some(plain(entry)),
        _ => None,
    };
    same(
        "the first entry in the log",
        in_log,
        Some(plain(root.clone())),
    )?;
    let found = session.entry(&root.id)?.map(plain);
    same("the entry by its id", found, Some(plain(root)))
}

fn kind_of(item: &LogItem) -> &'static str {
    match item {
        LogItem::Entry(_) => "entry",
        LogItem::Record(_) => "record",
        LogItem::Lane { .. } => "lane",
        LogItem::Name { .. } => "name",
        LogItem::Label { .. } => "label",
        LogItem::Other { .. } => "other",
    }
}

pub(super) fn records_and_lane_moves_commit_apart(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    let root = append(&session, scene.say().user("root"))?;
    if scene.lacks_records(&session)? {
        return Ok(());
    }
    let finish = session.append_record(super::finished("main", "finish", "run"))?;
    same("seq of the record", finish.seq, Some(2))?;
    same(
        "leaf after a record",
        leaf(&session)?,
        Some(root.id.clone()),
    )?;
    session.move_lane("main", None)?;
    same("leaf after the move", leaf(&session)?, None::<String>)?;
    scene.unchanged(&session, || {
        let moved = session.move_lane("main", Some("missing"));
        refused("a move to no entry", moved, Code::NotFound)?;
        let moved = session.move_lane("main", Some("finish"));
        refused("a move to a record", moved, Code::NotFound)
    })?;
    let log = session.log(None, None)?;
    same(
        "numbers",
        log.iter().map(LogItem::seq).collect::<Vec<_>>(),
        [1, 2, 3],
    )?;
    let last = log.last().cloned();
    let expected = LogItem::Lane {
        seq: 3,
        lane: "main".to_owned(),
        leaf: None,
    };
    same("the move in the log", last, Some(expected))?;
    same("record as an entry", session.entry("finish")?, None)
}

pub(super) fn failed_lane_calls_change_nothing(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    append(&session, scene.say().user("root"))?;
    scene.unchanged(&session, || {
        let appended = session.append_entry(scene.say().user("lost"), "nowhere");
        refused("an entry on an unknown lane", appended, Code::InvalidLane)?;
        let moved = session.move_lane("nowhere", None);
        refused("a move of an unknown lane", moved, Code::InvalidLane)?;
        let moved = session.move_lane("main", Some("missing"));
        refused("a move to no entry", moved, Code::NotFound)?;
        if scene.can.lanes {
            let made = session.create_lane("main", None);
            refused("a lane of a name in use", made, Code::AlreadyExists)?;
            let made = session.create_lane("thread", Some("missing"));
            refused("a lane on no entry", made, Code::NotFound)?;
        }
        if scene.can.records {
            let appended = session.append_record(started("nowhere", "run"));
            refused("a record on an unknown lane", appended, Code::InvalidLane)?;
        }
        Ok(())
    })?;
    if scene.lacks_lanes(&session)? {
        return Ok(());
    }
    session.create_lane("thread", None)?;
    let seq = session.log(None, None)?.last().map(LogItem::seq);
    same("no number was used up", seq, Some(2))
}

pub(super) fn duplicate_ids_are_refused(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    let shared = append(&session, scene.say().user("root"))?.id;
    scene.unchanged(&session, || {
        let again = scene.say().note("1").with_id(&*shared);
        let again = session.append_entry(again, "main");
        refused("an entry with an entry's id", again, Code::AlreadyExists)?;
        if scene.can.records {
            let again = session.append_record(started("main", &shared));
            refused("a record with an entry's id", again, Code::AlreadyExists)?;
        }
        Ok(())
    })?;
    if scene.lacks_records(&session)? {
        return Ok(());
    }
    session.append_record(started("main", "run"))?;
    scene.unchanged(&session, || {
        let again = session.append_entry(scene.say().note("1").with_id("run"), "main");
        refused("an entry with a record's id", again, Code::AlreadyExists)?;
        let again = session.append_record(super::finished("main", "run", "run"));
        refused("a record with a record's id", again, Code::AlreadyExists)
    })
}

pub(super) fn ids_of_the_caller_are_kept(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    let id = id_of(scene, "provisioned");
    let entry = append(&session, scene.say().user("root").with_id(&*id))?;
    same("id", &entry.id, &id)?;
    same("leaf", leaf(&session)?, Some(id.clone()))?;
    same("entry", session.entry(&id)?.map(plain), Some(plain(entry)))?;
    if scene.can.any_id {
        let odd = append(&session, scene.say().note("1").with_id("Ünüsual \"id\"\n"))?;
        let found = session.entry("Ünüsual \"id\"\n")?.map(plain);
        same("entry with an unusual id", found, Some(plain(odd)))?;
        return scene.unchanged(&session, || {
            let empty = session.append_entry(scene.say().note("2").with_id(""), "main");
            refused("an empty id", empty, Code::InvalidPayload)
        });
    }
    scene.unchanged(&session, || {
        for id in ["word", "0123ABCD", "0123456", "012345678", "h0"] {
            let odd = session.append_entry(scene.say().note("1").with_id(id), "main");
            let Err(error) = odd else {
                return Err(Failure::new(format!("the id `{id}` was accepted")));
            };
            // codebot's header has an id of its own.
            let taken = id == "h0" && error.code() == Code::AlreadyExists;
            ensure(taken || error.code() == Code::Unsupported, || {
                format!("the id `{id}`: expected `unsupported`, found {error}")
            })?;
        }
        Ok(())
    })
}

pub(super) fn lanes_share_the_tree(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    let root = append(&session, scene.say().user("root"))?;
    if scene.lacks_lanes(&session)? {
        return Ok(());
    }
    session.create_lane("thread", Some(&root.id))?;
    let main = append(&session, scene.say().user("main"))?;
    let thread = session.append_entry(scene.say().user("thread"), "thread")?;
    let names: Vec<_> = session
        .lanes()?
        .into_iter()
        .map(|lane| (lane.name, lane.leaf))
        .collect();
    let expected = [
        ("main".to_owned(), Some(main.id.clone())),
        ("thread".to_owned(), Some(thread.id.clone())),
    ];
    same("lanes", names, expected)?;
    let oldest = EntryQuery {
        order: Order::OldestFirst,
        ..EntryQuery::default()
    };
    for tip in [&main, &thread] {
        let path = session.find_entries_on_branch(&oldest, &BranchBounds::from(&*tip.id))?;
        same("path", ids(&path), [&*root.id, &*tip.id])?;
    }
    Ok(())
}

pub(super) fn lanes_on_one_leaf_diverge(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    let root = append(&session, scene.say().user("root"))?;
    if scene.lacks_lanes(&session)? {
        return Ok(());
    }
    session.create_lane("one", Some(&root.id))?;
    session.create_lane("other", Some(&root.id))?;
    session.create_lane("empty", None)?;
    let one = session.append_entry(scene.say().note("1"), "one")?;
    let other = session.append_entry(scene.say().note("2"), "other")?;
    let empty = session.append_entry(scene.say().note("3"), "empty")?;
    let parents = [one.parent, other.parent, empty.parent];
    let root = Some(root.id);
    same("parents", parents, [root.clone(), root.clone(), None])?;
    same("leaf of main", leaf(&session)?, root)
}

pub(super) fn lane_views_remember_no_leaf(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    let main = LaneView::of(&*session, "main");
    let root = main.append(scene.say().user("root"))?;
    same("leaf of the view", main.leaf()?, Some(root.id.clone()))?;
    let next = append(&session, scene.say().user("next"))?;
    same("leaf of the view", main.leaf()?, Some(next.id.clone()))?;
    let messages = EntryQuery {
        kind: Some("message".to_owned()),
        ..EntryQuery::default()
    };
    let path = main.find(&messages)?;
    same("path of the view", ids(&path), [&*next.id, &*root.id])?;
    let nowhere = LaneView::of(&*session, "nowhere");
    refused("a view of no lane", nowhere.leaf(), Code::InvalidLane)?;
    let none = EntryQuery {
        limit: Some(0),
        ..EntryQuery::default()
    };
    refused("a limit of 0", nowhere.find(&none), Code::InvalidQuery)?;
    if scene.lacks_lanes(&session)? {
        return Ok(());
    }
    session.create_lane("thread", None)?;
    let thread = LaneView::of(&*session, "thread");
    same("an empty lane", thread.find(&messages)?.len(), 0)?;
    thread.move_to(Some(&root.id))?;
    let child = thread.append(scene.say().user("thread"))?;
    same("parent", child.parent.as_deref(), Some(&*root.id))?;
    same("leaf of main", main.leaf()?, Some(next.id))
}

pub(super) fn lane_names_stay_taken(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    if scene.lacks_lanes(&session)? {
        return Ok(());
    }
    session.create_lane("thread", None)?;
    session.append_record(started("thread", "old-run"))?;
    let target = r#"{"type":"message","id":"queued","message":{"role":"user","content":"q"}}"#;
    let queued = crate::pi::queue_enqueued("thread", "nextRun", None, target).with_id("queue");
    session.append_record(queued)?;
    session.move_lane("thread", None)?;
    scene.unchanged(&session, || {
        let again = session.create_lane("thread", None);
        refused("the name again", again, Code::AlreadyExists)
    })?;
    let query = RecordQuery {
        lane: Some("thread".to_owned()),
        ..RecordQuery::default()
    };
    let found = session.find_records(&query)?;
    same("its records", ids(&found), ["queue", "old-run"])
}

pub(super) fn moving_main_makes_a_branch(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    let root = append(&session, scene.say().user("root"))?;
    append(&session, scene.say().assistant("left"))?;
    session.move_lane("main", Some(&root.id))?;
    same(
        "leaf after the move",
        leaf(&session)?,
        Some(root.id.clone()),
    )?;
    let right = append(&session, scene.say().assistant("right"))?;
    same("parent", right.parent.as_deref(), Some(&*root.id))?;
    same("leaf", leaf(&session)?, Some(right.id))?;
    same("entries", all_entries(&session)?.len(), 3)
}

pub(super) fn concurrent_writes_have_one_order(scene: &Scene<'_>) -> Outcome {
    const EACH: u64 = 24;
    let session = scene.create("session")?;
    let root = append(&session, scene.say().user("root"))?;
    let mut lanes = vec!["main", "main"];
    if scene.can.lanes {
        session.create_lane("thread", Some(&root.id))?;
        lanes.extend(["thread", "thread"]);
    }
    // A call that returned before another one began must have the lower number.
    let clock = AtomicU64::new(0);
    let done = Mutex::new(Vec::new());
    let say = scene.say();
    let write = |lane: &str| -> Outcome {
        for n in 0..EACH {
            let began = clock.fetch_add(1, Ordering::SeqCst);
            let entry = session.append_entry(say.note(&n.to_string()), lane)?;
            let ended = clock.fetch_add(1, Ordering::SeqCst);
            let seq = some("seq", entry.seq)?;
            if let Ok(mut done) = done.lock() {
                done.push((seq, began, ended, entry.id));
            }
        }
        Ok(())
    };
    std::thread::scope(|threads| {
        let writers: Vec<_> = lanes
            .iter()
            .map(|lane| threads.spawn(|| write(lane)))
            .collect();
        for writer in writers {
            let outcome = writer.join();
            outcome.unwrap_or_else(|_| Err(Failure::new("a writer panicked")))?;
        }
        Ok::<(), Failure>(())
    })?;
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_unstable();
    let seqs: BTreeSet<u64> = done.iter().map(|(seq, ..)| *seq).collect();
    same("distinct numbers", seqs.len(), done.len())?;
    let mut latest = 0;
    for (seq, began, ended, _) in &done {
        ensure(*ended > latest, || {
            format!(
                "number {seq} went to a call that had returned before an earlier number's began"
            )
        })?;
        latest = latest.max(*began);
    }
    let log = session.log(None, None)?;
    let numbers: Vec<u64> = log.iter().map(LogItem::seq).collect();
    let expected: Vec<u64> = (1..).take(log.len()).collect();
    same("numbers in the log", numbers, expected)?;
    for (seq, _, _, id) in &done {
        let item = log.iter().find(|item| item.seq() == *seq);
        let found = matches!(item, Some(LogItem::Entry(entry)) if entry.id == *id);
        ensure(found, || {
            format!("expected the entry `{id}` at number {seq} of the log")
        })?;
    }
    // Each lane is one chain.
    for lane in ["main", "thread"].iter().take(lanes.len() / 2) {
        let path = LaneView::of(&*session, *lane).find(&EntryQuery {
            kind: Some(scene.say().note_kind().to_owned()),
            ..EntryQuery::default()
        })?;
        same("entries on the lane's path", path.len(), 48)?;
    }
    Ok(())
}
