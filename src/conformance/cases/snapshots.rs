//! Snapshots: the same calls give the same context, whatever the backend.

use crate::conformance::failure::{Outcome, refused, same};
use crate::conformance::scene::{Scene, append};
use crate::contract::pi;
use crate::error::Code;
use crate::model::{At, Model, Snapshot};

fn messages(snapshot: &Snapshot) -> Vec<&str> {
    snapshot.messages.iter().collect()
}

pub(super) fn a_snapshot_is_the_context_of_its_path(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    let say = scene.say();
    let first = append(&session, say.user("first"))?;
    append(&session, say.effort("high"))?;
    append(&session, say.model("openai", "gpt"))?;
    let before = append(&session, say.user("before"))?;
    let snapshot = session.snapshot(At::Leaf(&before.id))?;
    let [one, two] = ["first", "before"].map(|text| say.message_json("user", text));
    same("messages", messages(&snapshot), [&*one, &*two])?;
    append(&session, say.compaction("What was said."))?;
    let last = append(&session, say.user("last"))?;
    let snapshot = session.snapshot(At::Current)?;
    same("session", &*snapshot.session_id, "session")?;
    same("format", snapshot.format, scene.can.format)?;
    same("leaf", snapshot.leaf.as_deref(), Some(&*last.id))?;
    same(
        "lane",
        snapshot.lane.as_deref(),
        scene.can.lanes.then_some("main"),
    )?;
    let model = Model {
        provider: Some("openai".to_owned()),
        model: Some("gpt".to_owned()),
    };
    same("model", &snapshot.model, &Some(model))?;
    same("effort", snapshot.reasoning_effort.as_deref(), Some("high"))?;
    same("messages", snapshot.messages.len(), 2)?;
    let summary = snapshot.messages.get(0).unwrap_or_default();
    same(
        "the summary comes first",
        summary.contains("What was said."),
        true,
    )?;
    let last = say.message_json("user", "last");
    same("the last message", snapshot.messages.get(1), Some(&*last))?;
    let early = session.snapshot(At::Leaf(&first.id))?;
    same("messages at the first entry", messages(&early), [&*one])?;
    same("leaf", early.leaf.as_deref(), Some(&*first.id))?;
    same("cut", early.salvaged, false)?;
    same("lane", early.lane, None::<String>)
}

pub(super) fn each_lane_has_its_own_context(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    let say = scene.say();
    let root = append(&session, say.user("root"))?;
    if scene.lacks_lanes(&session)? {
        return Ok(());
    }
    session.create_lane("thread", Some(&root.id))?;
    session.append_entry(pi::active_tools_change(&["read"]), "thread")?;
    let retained = format!("[{}]", say.message_json("user", "kept"));
    let more = pi::More::default();
    session.append_entry(pi::compaction("sum", &retained, 5, &more), "thread")?;
    let tip = session.append_entry(say.user("tip"), "thread")?;
    append(&session, say.user("main"))?;
    let thread = session.snapshot(At::Lane("thread"))?;
    same("leaf", thread.leaf.as_deref(), Some(&*tip.id))?;
    same("lane", thread.lane.as_deref(), Some("thread"))?;
    same("messages", thread.messages.len(), 3)?;
    let [kept, last] = ["kept", "tip"].map(|text| say.message_json("user", text));
    let tail: Vec<&str> = thread.messages.iter().skip(1).collect();
    same("the kept message and the last", tail, [&*kept, &*last])?;
    same("tools", thread.active_tools, Some(vec!["read".to_owned()]))?;
    same("entries on the path", thread.path_entries, 4)?;
    let main = session.snapshot(At::Lane("main"))?;
    let [root, last] = ["root", "main"].map(|text| say.message_json("user", text));
    same("messages of main", messages(&main), [&*root, &*last])?;
    same(
        "tools of main",
        main.active_tools.clone(),
        None::<Vec<String>>,
    )?;
    let current = session.snapshot(At::Current)?;
    same("where the session stands", current, main)?;
    let none = session.snapshot(At::Lane("nowhere"));
    refused("a snapshot of no lane", none, Code::InvalidLane)
}

pub(super) fn snapshots_of_nothing(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    let empty = session.snapshot(At::Current)?;
    same("messages", empty.messages.len(), 0)?;
    same("model", empty.model, None)?;
    let missing = session.snapshot(At::Leaf("missing"));
    refused("a snapshot of no entry", missing, Code::NotFound)?;
    if scene.can.records {
        session.append_record(super::started("main", "run"))?;
        let record = session.snapshot(At::Leaf("run"));
        refused("a snapshot of a record", record, Code::NotFound)?;
    }
    Ok(())
}
