//! Forks: what of a session another one begins with.

use super::{started, used};
use crate::conformance::failure::{Outcome, ensure, refused, same};
use crate::conformance::scene::{Live, Scene, all_entries, append, ids, leaf};
use crate::conformance::state::State;
use crate::contract::{CreateOptions, ForkScope, LogItem, Position, pi};
use crate::error::Code;
use crate::model::{Format, Stats};

/// The ids of the messages, oldest first.
fn messages(session: &Live) -> Outcome<Vec<String>> {
    let mut entries = all_entries(session)?;
    entries.retain(|entry| entry.kind == "message");
    Ok(entries.into_iter().map(|entry| entry.id).collect())
}

fn parent_of_fork(scene: &Scene<'_>, source: &Live, fork: &Live) -> Outcome {
    let parent = fork.metadata()?.parent;
    let expected = match scene.can.format {
        _ if !scene.can.parents => None,
        Format::PiV4 => Some(source.metadata()?.id),
        _ => {
            let path = source.metadata()?.path;
            path.map(|path| path.to_string_lossy().into_owned())
        }
    };
    same("parent of the fork", parent, expected)
}

pub(super) fn a_branch_fork_takes_the_path(scene: &Scene<'_>) -> Outcome {
    let source = scene.create("source")?;
    let say = scene.say();
    let root = append(&source, say.user("root"))?.id;
    let shared = append(&source, say.assistant("shared"))?.id;
    let side = append(&source, say.user("side"))?.id;
    if scene.can.labels {
        source.set_label(&shared, Some("copied"))?;
        source.set_label(&side, Some("left behind"))?;
    }
    source.move_lane("main", Some(&shared))?;
    if scene.can.lanes {
        source.create_lane("thread", Some(&side))?;
    }
    source.set_name(Some("Source"))?;
    let tip = append(&source, say.user("tip"))?.id;
    if scene.can.records {
        source.append_record(started("main", "run"))?;
        let usage = used([10, 3, 2, 20], 10.0);
        source.append_record(pi::usage("main", "adjustment", &usage, None))?;
    }
    let before = State::of(&*source)?;
    let fork = scene.fork("source", &ForkScope::at(&*tip), "branch-fork")?;
    State::of(&*source)?.same_as(&before)?;
    same(
        "messages",
        messages(&fork)?,
        [root.clone(), shared.clone(), tip.clone()],
    )?;
    same("name", fork.name()?.as_deref(), Some("Source"))?;
    if scene.can.labels {
        same(
            "copied label",
            fork.label(&shared)?.as_deref(),
            Some("copied"),
        )?;
        same("the other label", fork.label(&side)?, None::<String>)?;
    }
    same("the other branch", fork.entry(&side)?, None)?;
    let stats = Stats {
        message_count: 3,
        ..Stats::default()
    };
    same("stats", fork.stats()?, stats)?;
    same("cwd", fork.metadata()?.cwd.as_deref(), Some("/work"))?;
    parent_of_fork(scene, &source, &fork)?;
    if scene.can.lanes {
        same("lanes", fork.lanes()?.len(), 1)?;
        same("leaf", leaf(&fork)?, Some(tip.clone()))?;
        same(
            "records",
            fork.find_records(&crate::RecordQuery::default())?.len(),
            0,
        )?;
        let kinds = forked(&fork)?;
        let expected = ["entry", "entry", "entry", "lane", "name", "label"].map(str::to_owned);
        same("log of the fork", kinds, expected)?;
        let open = fork.find_open_operations("main", None)?;
        same("open operations", open.len(), 0)?;
        let parents: Vec<_> = all_entries(&fork)?.into_iter().map(|e| e.parent).collect();
        same("parents", parents, [None, Some(root), Some(shared)])?;
    }
    Ok(())
}

/// The kinds of the items in the log, which must be numbered from 1.
fn forked(fork: &Live) -> Outcome<Vec<String>> {
    let log = fork.log(None, None)?;
    let numbers: Vec<u64> = log.iter().map(LogItem::seq).collect();
    same(
        "numbers",
        numbers,
        (1..).take(log.len()).collect::<Vec<u64>>(),
    )?;
    let kind = |item: &LogItem| match item {
        LogItem::Entry(_) => "entry".to_owned(),
        LogItem::Lane { .. } => "lane".to_owned(),
        LogItem::Name { .. } => "name".to_owned(),
        LogItem::Label { .. } => "label".to_owned(),
        other => format!("{other:?}"),
    };
    Ok(log.iter().map(kind).collect())
}

pub(super) fn a_fork_goes_on_by_itself(scene: &Scene<'_>) -> Outcome {
    let source = scene.create("source")?;
    let tip = append(&source, scene.say().user("tip"))?.id;
    let fork = scene.fork("source", &ForkScope::default(), "fork")?;
    let other = append(&source, scene.say().user("goes on"))?.id;
    let stood = leaf(&fork)?;
    let after = append(&fork, scene.say().user("after"))?;
    same("parent", &after.parent, &stood)?;
    same(
        "messages of the fork",
        messages(&fork)?,
        [tip.clone(), after.id.clone()],
    )?;
    same(
        "messages of the source",
        messages(&source)?,
        [tip.clone(), other],
    )?;
    same("count", fork.stats()?.message_count, 2)?;
    let taken = scene
        .repository
        .fork("source", &ForkScope::default(), &scene.options("fork"));
    refused("a fork with an id in use", taken, Code::AlreadyExists)?;
    let missing = scene
        .repository
        .fork("missing", &ForkScope::default(), &scene.options("x"));
    refused("a fork of no session", missing, Code::NotFound)?;
    // A fork of a fork, with an id that is made.
    let options = CreateOptions {
        id: None,
        ..scene.options("")
    };
    let again = scene
        .repository
        .fork("fork", &ForkScope::at(&*tip), &options)?;
    let id = again.metadata()?.id;
    let again = scene.keep(&id, again);
    same("messages of the second fork", messages(&again)?, [tip])?;
    parent_of_fork(scene, &fork, &again)
}

pub(super) fn a_closed_source_stays_as_it_is(scene: &Scene<'_>) -> Outcome {
    let source = scene.create("source")?;
    let tip = append(&source, scene.say().user("tip"))?.id;
    let before = State::of(&*source)?;
    if !scene.can.persistent {
        return Ok(());
    }
    scene.close("source")?;
    for (scope, id) in [(ForkScope::default(), "branch"), (ForkScope::Tree, "tree")] {
        let fork = scene.fork("source", &scope, id)?;
        same("messages", messages(&fork)?, [tip.clone()])?;
    }
    let source = scene.keep("source", scene.repository.open("source")?);
    State::of(&*source)?.same_as(&before)
}

pub(super) fn a_tree_fork_takes_everything(scene: &Scene<'_>) -> Outcome {
    let source = scene.create("source")?;
    let say = scene.say();
    let root = append(&source, say.user("root"))?.id;
    let main = append(&source, say.user("main"))?.id;
    source.move_lane("main", Some(&root))?;
    let side = append(&source, say.user("side"))?.id;
    if scene.can.labels {
        source.set_label(&main, Some("tip"))?;
    }
    if scene.can.lanes {
        source.create_lane("thread", Some(&main))?;
        source.create_lane("empty", None)?;
        source.append_record(started("thread", "run"))?;
        source.set_name(Some("Source"))?;
    }
    let fork = scene.fork("source", &ForkScope::Tree, "tree-fork")?;
    same(
        "messages",
        messages(&fork)?,
        [root, main.clone(), side.clone()],
    )?;
    parent_of_fork(scene, &source, &fork)?;
    same("count", fork.stats()?.message_count, 3)?;
    if scene.can.labels {
        same("label", fork.label(&main)?.as_deref(), Some("tip"))?;
    }
    if !scene.can.lanes {
        return Ok(());
    }
    same("lanes", fork.lanes()?, source.lanes()?)?;
    same("name", fork.name()?.as_deref(), Some("Source"))?;
    let kinds = forked(&fork)?;
    let expected = [
        "entry", "entry", "entry", "lane", "lane", "lane", "name", "label",
    ];
    same("log of the fork", kinds, expected.map(str::to_owned))?;
    let lane = |seq, name: &str, leaf: Option<&str>| LogItem::Lane {
        seq,
        lane: name.to_owned(),
        leaf: leaf.map(str::to_owned),
    };
    let lanes = [
        lane(4, "main", Some(&side)),
        lane(5, "thread", Some(&main)),
        lane(6, "empty", None),
    ];
    same("lanes in the log", fork.log(Some(3), Some(3))?, lanes)
}

pub(super) fn forks_end_at_or_before_a_message(scene: &Scene<'_>) -> Outcome {
    let source = scene.create("source")?;
    let root = append(&source, scene.say().user("root"))?.id;
    let tail = append(&source, scene.say().user("tail"))?.id;
    let before = State::of(&*source)?;
    let scope = |entry: Option<&str>, position: Option<Position>| ForkScope::Branch {
        entry: entry.map(str::to_owned),
        position,
    };
    let both = vec![root.clone(), tail.clone()];
    for (id, scope, expected) in [
        ("by-id", scope(Some(&tail), None), vec![root.clone()]),
        ("before-id", ForkScope::before(&*tail), vec![root.clone()]),
        ("at-id", ForkScope::at(&*tail), both.clone()),
        ("default", scope(None, None), both.clone()),
        (
            "before-default",
            scope(None, Some(Position::Before)),
            vec![root.clone()],
        ),
        ("at-default", scope(None, Some(Position::At)), both),
        ("before-root", ForkScope::before(&*root), Vec::new()),
    ] {
        let fork = scene.fork("source", &scope, id)?;
        same(id, messages(&fork)?, expected.clone())?;
        if scene.can.lanes {
            same(id, leaf(&fork)?, expected.last().cloned())?;
        }
    }
    State::of(&*source)?.same_as(&before)
}

pub(super) fn other_fork_targets_are_refused(scene: &Scene<'_>) -> Outcome {
    let source = scene.create("source")?;
    append(&source, scene.say().user("root"))?;
    let note = append(&source, scene.say().note("1"))?.id;
    if scene.can.records {
        source.append_record(started("main", "run"))?;
    }
    scene.unchanged(&source, || {
        let mut scopes = vec![
            ForkScope::at(&*note),
            ForkScope::before(&*note),
            ForkScope::at("missing"),
            ForkScope::before("missing"),
            ForkScope::at("run"),
            ForkScope::at(""),
        ];
        if scene.can.format == Format::PiV4 {
            // Elsewhere names and labels are entries, on which a session often stands.
            scopes.push(ForkScope::default());
        }
        for scope in scopes {
            let fork = scene
                .repository
                .fork("source", &scope, &scene.options("fork"));
            let what = format!("a fork with {scope:?}");
            refused(&what, fork, Code::InvalidForkTarget)?;
        }
        Ok(())
    })?;
    let listing = scene.repository.list()?;
    let listed: Vec<&str> = listing.sessions.iter().map(|info| &*info.id).collect();
    same("sessions", listed, ["source"])?;
    refused("open", scene.repository.open("fork"), Code::NotFound)
}

pub(super) fn a_cleared_name_is_not_forked(scene: &Scene<'_>) -> Outcome {
    let source = scene.create("source")?;
    let root = append(&source, scene.say().user("root"))?.id;
    source.set_name(Some("Temporary"))?;
    source.set_name(None)?;
    let fork = scene.fork("source", &ForkScope::at(&*root), "fork")?;
    same("name", fork.name()?, None::<String>)?;
    let tree = scene.fork("source", &ForkScope::Tree, "tree")?;
    same("name", tree.name()?, None::<String>)?;
    if scene.can.facts {
        let kinds = forked(&fork)?;
        ensure(kinds == ["entry", "lane"], || {
            format!("log of the fork: found {kinds:?}")
        })?;
    }
    Ok(())
}

pub(super) fn an_empty_session_forks_empty(scene: &Scene<'_>) -> Outcome {
    if scene.can.saved_from_first_message {
        // There is nothing to fork before the first message.
        let source = scene.create("source")?;
        append(&source, scene.say().user("root"))?;
        return Ok(());
    }
    let source = scene.create("source")?;
    if scene.can.facts {
        source.set_name(Some("Empty"))?;
        for (scope, id) in [(ForkScope::default(), "branch"), (ForkScope::Tree, "tree")] {
            let fork = scene.fork("source", &scope, id)?;
            let entries = all_entries(&fork)?;
            same("entries", ids(&entries).len(), 0)?;
            same("leaf", leaf(&fork)?, None::<String>)?;
            same("name", fork.name()?.as_deref(), Some("Empty"))?;
            let root = append(&fork, scene.say().user("root"))?;
            same("parent", root.parent, None::<String>)?;
        }
    }
    Ok(())
}
