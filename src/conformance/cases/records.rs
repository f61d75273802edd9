//! Execution records: what finds them, and which operations are open.

use super::{finished, operation, started};
use crate::conformance::failure::{Outcome, refused, same, some};
use crate::conformance::scene::{Scene, append, ids, leaf};
use crate::conformance::state::{plain, plain_all};
use crate::contract::{Order, RecordQuery, pi};
use crate::error::Code;

fn step(lane: &str, id: &str, run: &str) -> crate::NewRecord {
    let step = pi::StepAttempt {
        run,
        step: "assistant",
        attempt: 1,
        result_entry: "result",
        compaction_reason: None,
    };
    pi::step_attempt(lane, &step).with_id(id)
}

pub(super) fn records_are_found_by_what_they_say(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    if scene.lacks_records(&session)? {
        return Ok(());
    }
    session.append_record(started("main", "run-1"))?;
    session.append_record(step("main", "step-1", "run-1"))?;
    session.create_lane("thread", None)?;
    session.append_record(started("thread", "run-2"))?;
    let second = session.append_record(step("thread", "step-2", "run-2"))?;
    same(
        "what a record belongs to",
        second.parent.as_deref(),
        Some("run-2"),
    )?;
    same("its lane", second.lane.as_deref(), Some("thread"))?;
    let all = RecordQuery::default;
    let find = |query: RecordQuery| -> Outcome<Vec<String>> {
        let found = session.find_records(&query)?;
        Ok(found.into_iter().map(|record| record.id).collect())
    };
    let own = |text: &str| Some(text.to_owned());
    same("all", find(all())?, ["step-2", "run-2", "step-1", "run-1"])?;
    let thread = RecordQuery {
        lane: own("thread"),
        ..all()
    };
    same("by lane", find(thread)?, ["step-2", "run-2"])?;
    let steps = RecordQuery {
        kind: own("step_attempt"),
        order: Order::OldestFirst,
        ..all()
    };
    same("by type, oldest first", find(steps)?, ["step-1", "step-2"])?;
    let run = RecordQuery {
        run_id: own("run-1"),
        ..all()
    };
    same("by run", find(run.clone())?, ["step-1", "run-1"])?;
    let run = RecordQuery {
        after_seq: Some(1),
        ..run
    };
    same("by run above a number", find(run)?, ["step-1"])?;
    let above = RecordQuery {
        after_seq: Some(2),
        ..all()
    };
    same(
        "above a number, newest first",
        find(above.clone())?,
        ["step-2", "run-2"],
    )?;
    let above = RecordQuery {
        order: Order::OldestFirst,
        ..above
    };
    same(
        "above a number, oldest first",
        find(above)?,
        ["run-2", "step-2"],
    )?;
    let one = RecordQuery {
        limit: Some(1),
        ..all()
    };
    same("with a limit", find(one.clone())?, ["step-2"])?;
    let one = RecordQuery {
        order: Order::OldestFirst,
        ..one
    };
    same("with a limit, oldest first", find(one)?, ["run-1"])?;
    let one = RecordQuery {
        limit: Some(1),
        lane: own("main"),
        ..all()
    };
    same("the limit counts what matches", find(one)?, ["step-1"])?;
    for none in [
        RecordQuery {
            lane: own("nowhere"),
            ..all()
        },
        RecordQuery {
            kind: own("usage"),
            ..all()
        },
        RecordQuery {
            run_id: own("step-1"),
            ..all()
        },
        RecordQuery {
            after_seq: Some(u64::MAX),
            ..all()
        },
        RecordQuery {
            lane: own("main"),
            run_id: own("run-2"),
            ..all()
        },
    ] {
        same("what matches nothing", find(none)?.len(), 0)?;
    }
    let first = some("record", session.find_records(&all())?.into_iter().next())?;
    same("the record as it was returned", plain(first), plain(second))
}

pub(super) fn operations_are_found_by_their_kind(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    if scene.lacks_records(&session)? {
        return Ok(());
    }
    for (id, kind) in [
        ("run-old", "run"),
        ("compaction", "compaction"),
        ("navigation", "navigation"),
    ] {
        session.append_record(operation("main", id, kind))?;
        session.append_record(finished("main", &format!("{id}-finished"), id))?;
    }
    session.append_record(started("main", "run-new"))?;
    let find = |kind: &str, order: Order, limit: Option<usize>| -> Outcome<Vec<String>> {
        let found = session.find_records(&RecordQuery {
            kind: Some("operation_started".to_owned()),
            operation_kind: Some(kind.to_owned()),
            order,
            limit,
            ..RecordQuery::default()
        })?;
        Ok(found.into_iter().map(|record| record.id).collect())
    };
    same(
        "runs",
        find("run", Order::OldestFirst, None)?,
        ["run-old", "run-new"],
    )?;
    same(
        "the latest run",
        find("run", Order::NewestFirst, Some(1))?,
        ["run-new"],
    )?;
    for kind in ["compaction", "navigation"] {
        same(kind, find(kind, Order::NewestFirst, None)?, [kind])?;
    }
    same(
        "another kind",
        find("other", Order::NewestFirst, None)?.len(),
        0,
    )
}

pub(super) fn queue_cancellation_consumes_nothing(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    if scene.lacks_records(&session)? {
        return Ok(());
    }
    let target = r#"{"type":"message","id":"queued","message":{"role":"user","content":"q"}}"#;
    let queued = pi::queue_enqueued("main", "nextRun", None, target).with_id("enqueue");
    session.append_record(queued)?;
    let cancel = pi::queue_cancelled("main", None, "queued").with_id("cancel");
    let cancel = session.append_record(cancel)?;
    same("seq", cancel.seq, Some(2))?;
    same("what it belongs to", cancel.parent.clone(), None::<String>)?;
    same("the queued entry", session.entry("queued")?, None)?;
    same("leaf", leaf(&session)?, None::<String>)?;
    let found = session.find_records(&RecordQuery {
        kind: Some("queue_cancelled".to_owned()),
        ..RecordQuery::default()
    })?;
    same("cancellations", plain_all(found), [plain(cancel)])?;
    same("log", session.log(None, None)?.len(), 2)?;
    // The id that waited is free for the entry itself.
    let entry = append(&session, scene.say().user("queued").with_id("queued"))?;
    same("seq of the entry", entry.seq, Some(3))
}

pub(super) fn one_open_operation_a_lane(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    if scene.lacks_records(&session)? {
        return Ok(());
    }
    let open = || session.find_open_operations("main", Some(2));
    same("before", open()?.len(), 0)?;
    let first = plain(session.append_record(started("main", "first"))?);
    same("open", plain_all(open()?), [first.clone()])?;
    scene.unchanged(&session, || {
        for kind in ["run", "compaction", "navigation"] {
            let second = session.append_record(operation("main", "second", kind));
            refused("a second open operation", second, Code::Storage)?;
        }
        Ok(())
    })?;
    session.append_record(pi::abort_requested("main", "first").with_id("abort"))?;
    session.append_record(finished("main", "other-finish", "other"))?;
    same("still open", plain_all(open()?), [first])?;
    session.append_record(finished("main", "finish", "first"))?;
    same("after the finish", open()?.len(), 0)?;
    session.append_record(started("main", "second"))?;
    same("the next one", ids(&open()?), ["second"])
}

pub(super) fn an_earlier_finish_closes_no_later_start(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    if scene.lacks_records(&session)? {
        return Ok(());
    }
    session.append_record(finished("main", "early", "run"))?;
    let run = session.append_record(started("main", "run"))?;
    let open = session.find_open_operations("main", Some(2))?;
    same("open", plain_all(open), [plain(run)])
}

pub(super) fn open_operations_are_scoped_by_lane_and_limit(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    if scene.lacks_records(&session)? {
        return Ok(());
    }
    session.create_lane("thread", None)?;
    session.append_record(started("main", "main-run"))?;
    session.append_record(operation("thread", "thread-navigation", "navigation"))?;
    // Another lane's finish does not close it.
    session.append_record(finished("thread", "stray", "main-run"))?;
    for limit in [None, Some(1), Some(2)] {
        let open = session.find_open_operations("main", limit)?;
        same("on main", ids(&open), ["main-run"])?;
        let open = session.find_open_operations("thread", limit)?;
        same("on the thread", ids(&open), ["thread-navigation"])?;
    }
    same(
        "on no lane",
        session.find_open_operations("nowhere", None)?.len(),
        0,
    )
}
