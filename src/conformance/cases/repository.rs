//! Many sessions: making, listing, opening, deleting; closed sessions and read-only ones.

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::Duration;

use crate::conformance::failure::{Outcome, ensure, refused, same, some};
use crate::conformance::scene::{Live, Scene, append};
use crate::conformance::state::State;
use crate::contract::{BranchBounds, CreateOptions, EntryQuery, ForkScope, RecordQuery};
use crate::error::Code;
use crate::model::{At, Format};

pub(super) fn create_list_and_open(scene: &Scene<'_>) -> Outcome {
    same(
        "sessions at first",
        scene.repository.list()?.sessions.len(),
        0,
    )?;
    same(
        "the latest of none",
        scene.repository.most_recent()?.is_none(),
        true,
    )?;
    let session = scene.create("one")?;
    append(&session, scene.say().user("persisted"))?;
    session.set_name(Some("Name"))?;
    let metadata = session.metadata()?;
    same("id", &*metadata.id, "one")?;
    same("cwd", metadata.cwd.as_deref(), Some("/work"))?;
    same("format", metadata.format, scene.can.format)?;
    let listing = scene.repository.list()?;
    same("warnings", format!("{:?}", listing.warnings), "[]")?;
    same("sessions", listing.sessions.len(), 1)?;
    let info = some("a listed session", listing.sessions.into_iter().next())?;
    same("listed id", &*info.id, "one")?;
    same("listed name", info.name.as_deref(), Some("Name"))?;
    same("listed format", info.format, scene.can.format)?;
    same("listed cwd", &info.cwd, &metadata.cwd)?;
    same("listed parent", &info.parent, &metadata.parent)?;
    same("when it was made", info.created, metadata.created)?;
    same("listed messages", info.message_count, 1)?;
    let again = scene.repository.create(&scene.options("one"));
    refused("the same id again", again, Code::AlreadyExists)?;
    let state = State::of(&*session)?;
    session.close()?;
    if !scene.can.persistent {
        return Ok(());
    }
    let again = scene.repository.create(&scene.options("one"));
    refused("the same id again, closed", again, Code::AlreadyExists)?;
    let repository = scene.fixture.repository()?;
    let opened = scene.keep("one", repository.open("one")?);
    State::of(&*opened)?.same_as(&state)
}

pub(super) fn ids_are_made_and_checked(scene: &Scene<'_>) -> Outcome {
    let mut made = BTreeSet::new();
    let mut order = Vec::new();
    for _ in 0..3 {
        let options = CreateOptions {
            id: None,
            ..scene.options("")
        };
        let session = scene.repository.create(&options)?;
        let id = session.metadata()?.id;
        let session = scene.keep(&id, session);
        append(&session, scene.say().user("hi"))?;
        made.insert(id.clone());
        order.push(id);
        sleep(Duration::from_millis(3));
    }
    same("distinct ids", made.len(), 3)?;
    if scene.can.format != Format::CodebotV3 {
        // codebot's own ids are short and random.
        let sorted: Vec<String> = made.into_iter().collect();
        same("ids in the order of time", sorted, order)?;
    }
    for bad in ["", "-a", "a-", ".", "..", "a/b", "a b", "../a", "é", "a\0b"] {
        let made = scene.repository.create(&scene.options(bad));
        let what = format!("the session id {bad:?}");
        refused(&what, made, Code::InvalidPayload)?;
        refused(&what, scene.repository.open(bad), Code::NotFound)?;
    }
    for format in [Format::PiV1, Format::PiV2] {
        let options = CreateOptions {
            format: Some(format),
            ..scene.options("old")
        };
        let made = scene.repository.create(&options);
        refused("a format that is only read", made, Code::Unsupported)?;
    }
    same("sessions", scene.repository.list()?.sessions.len(), 3)?;
    let session = scene.create("A1.b_c-d")?;
    append(&session, scene.say().user("hi"))?;
    same("id", &*session.metadata()?.id, "A1.b_c-d")
}

pub(super) fn delete_is_idempotent(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("one")?;
    append(&session, scene.say().user("hi"))?;
    let other = scene.create("other")?;
    append(&other, scene.say().user("hi"))?;
    scene.close("one")?;
    scene.repository.delete("one")?;
    refused("open", scene.repository.open("one"), Code::NotFound)?;
    let reading = scene.repository.open_read_only("one");
    refused("open_read_only", reading, Code::NotFound)?;
    scene.repository.delete("one")?;
    scene.repository.delete("never there")?;
    let listing = scene.repository.list()?;
    same("sessions", listing.sessions.len(), 1)?;
    same("warnings", format!("{:?}", listing.warnings), "[]")?;
    let again = scene.create("one")?;
    same("a new one is empty", again.stats()?.message_count, 0)?;
    append(&again, scene.say().user("again"))?;
    same("messages", again.stats()?.message_count, 1)
}

pub(super) fn a_second_writer_is_refused(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    append(&session, scene.say().user("hi"))?;
    scene.unchanged(&session, || {
        let second = scene.repository.open("session");
        refused("a second writer", second, Code::Locked)?;
        if scene.can.persistent {
            let second = scene.fixture.repository()?.open("session");
            refused("a second writer elsewhere", second, Code::Locked)?;
        }
        Ok(())
    })?;
    append(&session, scene.say().user("more"))?;
    same("messages", session.stats()?.message_count, 2)
}

pub(super) fn a_closed_session_answers_closed(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    let root = append(&session, scene.say().user("hi"))?.id;
    session.sync()?;
    session.close()?;
    session.close()?;
    let code = Code::Closed;
    refused("metadata", session.metadata(), code)?;
    refused("lanes", session.lanes(), code)?;
    refused("move_lane", session.move_lane("main", Some(&root)), code)?;
    let appended = session.append_entry(scene.say().note("1"), "main");
    refused("append_entry", appended, code)?;
    refused("entry", session.entry(&root), code)?;
    let all = EntryQuery::default();
    refused("find_entries", session.find_entries(&all), code)?;
    let path = session.find_entries_on_branch(&all, &BranchBounds::from(&*root));
    refused("find_entries_on_branch", path, code)?;
    let records = session.find_records(&RecordQuery::default());
    refused("find_records", records, code)?;
    let open = session.find_open_operations("main", None);
    refused("find_open_operations", open, code)?;
    refused("log", session.log(None, None), code)?;
    refused("name", session.name(), code)?;
    refused("set_name", session.set_name(Some("x")), code)?;
    refused("label", session.label(&root), code)?;
    refused("stats", session.stats(), code)?;
    refused("snapshot", session.snapshot(At::Current), code)?;
    refused("sync", session.sync(), code)?;
    if scene.can.lanes {
        refused("create_lane", session.create_lane("x", None), code)?;
    }
    if scene.can.labels {
        refused("set_label", session.set_label(&root, None), code)?;
    }
    if scene.can.records {
        let appended = session.append_record(super::started("main", "run"));
        refused("append_record", appended, code)?;
    }
    if scene.can.persistent {
        let again = scene.keep("session", scene.repository.open("session")?);
        same("what was appended", again.entry(&root)?.is_some(), true)?;
        append(&again, scene.say().note("2"))?;
    }
    Ok(())
}

pub(super) fn the_latest_session_comes_first(scene: &Scene<'_>) -> Outcome {
    let speak = |session: &Live| -> Outcome {
        // Messages of pi carry a time of their own, by which pi v3 lists.
        let text = match scene.can.format {
            Format::CodebotV3 => scene.say().message_json("user", "hi"),
            _ => r#"{"role":"user","content":"hi"}"#.to_owned(),
        };
        sleep(Duration::from_millis(5));
        append(session, scene.say().message(&text))?;
        Ok(())
    };
    let old = scene.create("old")?;
    speak(&old)?;
    let new = scene.create("new")?;
    speak(&new)?;
    let order = || -> Outcome<Vec<String>> {
        let listing = scene.repository.list()?;
        Ok(listing.sessions.into_iter().map(|info| info.id).collect())
    };
    same("order", order()?, ["new", "old"])?;
    speak(&old)?;
    same("order after the old one was used", order()?, ["old", "new"])?;
    if !scene.can.persistent {
        return Ok(());
    }
    scene.close("old")?;
    scene.close("new")?;
    let repository = scene.fixture.repository()?;
    let latest = some("the latest", repository.most_recent()?)?;
    let latest = scene.keep("old", latest);
    same("the latest", &*latest.metadata()?.id, "old")
}

pub(super) fn reading_beside_a_writer(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    let root = append(&session, scene.say().user("hi"))?.id;
    let reader = scene.repository.open_read_only("session")?;
    State::of(&*reader)?.same_as(&State::of(&*session)?)?;
    let code = Code::Unsupported;
    scene.unchanged(&session, || {
        let appended = reader.append_entry(scene.say().user("lost"), "main");
        refused("append_entry", appended, code)?;
        refused("set_name", reader.set_name(Some("x")), code)?;
        refused("set_label", reader.set_label(&root, Some("x")), code)?;
        refused("create_lane", reader.create_lane("x", None), code)?;
        let appended = reader.append_record(super::started("main", "run"));
        refused("append_record", appended, code)
    })?;
    reader.close()?;
    refused("a closed reader", reader.name(), Code::Closed)?;
    append(&session, scene.say().user("more"))?;
    let reader = scene.repository.open_read_only("session")?;
    State::of(&*reader)?.same_as(&State::of(&*session)?)?;
    reader.close()?;
    Ok(())
}

pub(super) fn what_the_maker_gave_is_kept(scene: &Scene<'_>) -> Outcome {
    let with = CreateOptions {
        metadata: Some(r#"{"b":1.50,"a":["x"]}"#.to_owned()),
        ..scene.options("with-metadata")
    };
    if scene.can.metadata {
        let session = scene.keep("with-metadata", scene.repository.create(&with)?);
        let metadata = session.metadata()?;
        same("metadata", metadata.metadata, with.metadata)?;
        for bad in ["[]", "1", "{", "", "{} {}"] {
            let options = CreateOptions {
                metadata: Some(bad.to_owned()),
                ..scene.options("bad")
            };
            let made = scene.repository.create(&options);
            refused("metadata that are no object", made, Code::InvalidPayload)?;
        }
    } else {
        let made = scene.repository.create(&with);
        refused("metadata", made, Code::Unsupported)?;
    }
    let somewhere = CreateOptions {
        cwd: "some/where".to_owned(),
        ..scene.options("somewhere")
    };
    let session = scene.keep("somewhere", scene.repository.create(&somewhere)?);
    append(&session, scene.say().user("here"))?;
    let cwd = session.metadata()?.cwd;
    let absolute = std::path::absolute("some/where").unwrap_or_default();
    let absolute = Some(absolute.to_string_lossy().into_owned());
    same("working directory", &cwd, &absolute)?;
    let nowhere = CreateOptions {
        cwd: String::new(),
        ..scene.options("fork-of-somewhere")
    };
    let fork = scene
        .repository
        .fork("somewhere", &ForkScope::default(), &nowhere)?;
    let fork = scene.keep("fork-of-somewhere", fork);
    same("working directory of a fork", fork.metadata()?.cwd, cwd)?;
    let with = CreateOptions {
        parent: Some("parent".to_owned()),
        ..scene.options("with-parent")
    };
    if scene.can.parents {
        let session = scene.keep("with-parent", scene.repository.create(&with)?);
        same("parent", session.metadata()?.parent, with.parent)?;
    } else {
        let made = scene.repository.create(&with);
        refused("a parent", made, Code::Unsupported)?;
    }
    let sessions = scene.repository.list()?.sessions;
    ensure(sessions.iter().all(|info| info.id != "bad"), || {
        "a session that was refused is listed".to_owned()
    })
}
