//! Facts and totals: the latest value counts, clearing is kept, and usage sums up over lanes.

use super::used;
use crate::conformance::failure::{Outcome, ensure, refused, same};
use crate::conformance::scene::{Scene, all_entries, append};
use crate::contract::{LogItem, pi};
use crate::error::Code;

pub(super) fn the_latest_fact_counts(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    same("no name", session.name()?, None::<String>)?;
    let user = append(&session, scene.say().user("question"))?.id;
    let answer = append(&session, scene.say().assistant("answer"))?.id;
    session.set_name(Some("First"))?;
    session.set_name(Some("Second \"name\" ✓"))?;
    same(
        "name",
        session.name()?.as_deref(),
        Some("Second \"name\" ✓"),
    )?;
    if scene.lacks_labels(&session, &user)? {
        return Ok(());
    }
    same("no label", session.label(&user)?, None::<String>)?;
    session.set_label(&user, Some("keep"))?;
    session.set_label(&answer, Some("one"))?;
    session.set_label(&answer, Some("other"))?;
    session.set_label(&user, None)?;
    same("cleared label", session.label(&user)?, None::<String>)?;
    same("label", session.label(&answer)?.as_deref(), Some("other"))?;
    if !scene.can.facts {
        return Ok(());
    }
    let log = session.log(Some(4), None)?;
    let label = |seq, target: &str, label: Option<&str>| LogItem::Label {
        seq,
        target: target.to_owned(),
        label: label.map(str::to_owned),
    };
    let expected = [
        label(5, &user, Some("keep")),
        label(6, &answer, Some("one")),
        label(7, &answer, Some("other")),
        label(8, &user, None),
    ];
    same("labels in the log", log, expected)
}

pub(super) fn clearing_the_name_is_durable(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    append(&session, scene.say().user("question"))?;
    session.set_name(Some("Temporary"))?;
    session.set_name(None)?;
    same("name", session.name()?, None::<String>)?;
    if !scene.can.facts {
        let entries = all_entries(&session)?;
        let named = entries.iter().filter(|entry| entry.kind == "session_info");
        return same("names among the entries", named.count(), 2);
    }
    let expected = [
        LogItem::Name {
            seq: 2,
            name: Some("Temporary".to_owned()),
        },
        LogItem::Name { seq: 3, name: None },
    ];
    same("log", session.log(Some(1), None)?, expected)
}

pub(super) fn labels_need_an_entry(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    let user = append(&session, scene.say().user("question"))?.id;
    if scene.lacks_labels(&session, &user)? {
        return Ok(());
    }
    if scene.can.records {
        session.append_record(super::started("main", "run"))?;
    }
    scene.unchanged(&session, || {
        for target in ["missing", "run", ""] {
            for label in [Some("checkpoint"), None] {
                let set = session.set_label(target, label);
                refused("a label on no entry", set, Code::NotFound)?;
            }
        }
        Ok(())
    })?;
    same(
        "label of no entry",
        session.label("missing")?,
        None::<String>,
    )
}

pub(super) fn stats_are_summed_over_lanes(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    append(&session, scene.say().user("question"))?;
    let answer = append(&session, scene.say().assistant("answer"))?.id;
    append(&session, scene.say().note("1"))?;
    same("messages", session.stats()?.message_count, 2)?;
    if scene.lacks_records(&session)? {
        return Ok(());
    }
    let owner =
        format!(r#"{{"runId":"run","entryId":"{answer}","attempt":1,"stopReason":"stop"}}"#);
    let usage = used([10, 3, 2, 20], 10.0);
    session.append_record(pi::usage("main", "assistant", &usage, Some(&owner)))?;
    let nothing = used([0, 0, 0, 0], 0.0);
    session.append_record(pi::usage("main", "deferred_fetch", &nothing, Some(&owner)))?;
    session.create_lane("thread", Some(&answer))?;
    let less = used([-2, 0, 0, -2], -0.5);
    session.append_record(pi::usage("thread", "adjustment", &less, None))?;
    session.append_entry(scene.say().user("again"), "thread")?;
    let stats = session.stats()?;
    let counts = (
        stats.message_count,
        stats.cached_tokens,
        stats.uncached_tokens,
        stats.total_tokens,
    );
    same("messages and tokens", counts, (3, 3, 10, 18))?;
    ensure((stats.cost_total - 9.5).abs() < 1e-9, || {
        format!("cost: expected 9.5, found {}", stats.cost_total)
    })
}
