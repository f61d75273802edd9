//! Payloads: bad ones are refused before anything is stored, odd ones stay as they are spelled.

use super::started;
use crate::conformance::failure::{Outcome, ensure, refused, same, some};
use crate::conformance::scene::{Scene, all_entries, append, leaf};
use crate::conformance::state::{State, plain, plain_all};
use crate::contract::{LogItem, NewEntry, NewRecord, codebot, pi};
use crate::error::Code;
use crate::model::{At, Format};

pub(super) fn what_was_read_can_be_changed(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    let mut stored = append(&session, scene.say().user("root"))?;
    session.set_name(Some("Name"))?;
    if scene.can.records {
        session.append_record(started("main", "run"))?;
    }
    let before = State::of(&*session)?;
    stored.id.push('x');
    stored.bytes.clear();
    for item in &mut session.log(None, None)? {
        match item {
            LogItem::Entry(entry) | LogItem::Record(entry) => entry.bytes.reverse(),
            LogItem::Name { name, .. } => *name = None,
            _ => {}
        }
    }
    let mut lanes = session.lanes()?;
    lanes.clear();
    let mut metadata = session.metadata()?;
    metadata.id.clear();
    for open in &mut session.find_open_operations("main", None)? {
        open.bytes.clear();
    }
    State::of(&*session)?.same_as(&before)
}

pub(super) fn terminate_survives(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    if scene.can.format != Format::PiV4 {
        // Other formats have no such field beside the message; there the payload says it.
        append(&session, scene.say().user("root"))?;
        return Ok(());
    }
    let message = r#"{"role":"toolResult","toolCallId":"call-1","toolName":"example","content":[{"type":"text","text":"done"}],"isError":false,"timestamp":1}"#;
    let entry = append(&session, pi::tool_result(message, true))?;
    let found = some("entry", session.entry(&entry.id)?)?;
    let text = found.text();
    ensure(text.contains("\"terminate\":true"), || {
        format!("expected `\"terminate\":true` in the entry, found {text}")
    })?;
    let snapshot = session.snapshot(At::Current)?;
    same(
        "messages",
        snapshot.messages.iter().collect::<Vec<_>>(),
        [message],
    )?;
    same("entries", plain_all(all_entries(&session)?), [plain(entry)])
}

pub(super) fn bad_entries_are_refused_before_storing(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    let stood = leaf(&session)?;
    let attempt = || {
        for (what, bad) in scene.say().bad() {
            let result = session.append_entry(bad, "main");
            refused(what, result, Code::InvalidPayload)?;
        }
        if scene.can.format == Format::CodebotV3 {
            return Ok(());
        }
        for own in ["id", "parentId", "timestamp", "type"] {
            let fields = format!(r#"{{"customType":"note","{own}":"x"}}"#);
            let result = session.append_entry(NewEntry::new("custom", fields), "main");
            refused("a field that the store gives", result, Code::InvalidPayload)?;
        }
        for (kind, fields) in [
            ("custom", "{}"),
            ("model_change", r#"{"provider":"p"}"#),
            ("branch_summary", r#"{"summary":"s"}"#),
            ("compaction", r#"{"tokensBefore":1}"#),
            ("thinking_level_change", "{}"),
            ("message", "{}"),
        ] {
            let result = session.append_entry(NewEntry::new(kind, fields), "main");
            refused("a field that is missing", result, Code::InvalidPayload)?;
        }
        Ok(())
    };
    scene.unchanged(&session, attempt)?;
    same("leaf", leaf(&session)?, stood.clone())?;
    let good = append(&session, scene.say().user("good"))?;
    same("parent of the first good one", good.parent, stood)?;
    scene.unchanged(&session, attempt)
}

pub(super) fn bad_records_are_refused_before_storing(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    append(&session, scene.say().user("root"))?;
    if scene.lacks_records(&session)? {
        return Ok(());
    }
    scene.unchanged(&session, || {
        for (kind, fields) in [
            ("no_such_type", "{}"),
            ("", "{}"),
            ("usage", "{}"),
            ("usage", r#"{"usage":1}"#),
            ("usage", "undefined"),
            (
                "tool_started",
                r#"{"runId":"r","effectiveArgs":{"value":1n}}"#,
            ),
            ("tool_started", r#"{"runId":"r"} {}"#),
            ("operation_started", "{}"),
            ("operation_started", r#"{"intent":{"kind":"other"}}"#),
            ("operation_finished", "{}"),
            ("operation_finished", r#"{"runId":1}"#),
            ("abort_requested", r#"{"runId":"r","seq":7}"#),
            ("abort_requested", r#"{"runId":"r","lane":"main"}"#),
        ] {
            let result = session.append_record(NewRecord::new(kind, "main", fields));
            let what = format!("a record `{kind}` with {fields}");
            refused(&what, result, Code::InvalidPayload)?;
        }
        Ok(())
    })?;
    let good = session.append_record(started("main", "run"))?;
    same("seq of the first good one", good.seq, Some(2))
}

pub(super) fn odd_payloads_are_kept_as_they_are(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    append(&session, scene.say().user("root"))?;
    for odd in [
        r#"{"a":1.50,"b":1e2,"c":-0,"d":123456789012345678901234567890}"#,
        r#"[1e999,-1e-999]"#,
        r#""lone \ud800 surrogate""#,
        r#""\u0041\/\u2028 é ✓ 𝄞""#,
        "\"\u{2028}\u{2029}\u{85}\u{feff}\"",
        r#"{"z":1,"a":{"z":[ ],"a": { }},"":null}"#,
        r#"{"id":"x","type":"y","seq":9,"parentId":null}"#,
        r#""\u0000""#,
    ] {
        let entry = append(&session, scene.say().note(odd))?;
        let found = some("entry", session.entry(&entry.id)?)?;
        let text = found.text();
        ensure(text.contains(odd), || {
            format!("expected {odd} in the entry, found {text}")
        })?;
    }
    let deep = format!("{}{}", "[".repeat(900), "]".repeat(900));
    append(&session, scene.say().note(&deep))?;
    scene.unchanged(&session, || {
        let deep = format!("{}{}", "[".repeat(1100), "]".repeat(1100));
        let result = session.append_entry(scene.say().note(&deep), "main");
        refused("more than 1,024 levels", result, Code::InvalidPayload)
    })
}

pub(super) fn line_breaks_between_tokens_are_taken_out(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    append(&session, scene.say().user("root"))?;
    let entry = append(
        &session,
        scene
            .say()
            .note("{\n  \"a\": [1,\r\n 2],\n \"b c\": \"d  e\" }"),
    )?;
    let found = some("entry", session.entry(&entry.id)?)?;
    let text = found.text();
    let one_line = r#"{"a":[1,2],"b c":"d  e"}"#;
    ensure(text.contains(one_line), || {
        format!("expected {one_line} in the entry, found {text}")
    })
}

pub(super) fn long_thinking_is_cut(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    if scene.can.format != Format::CodebotV3 {
        let long = "x".repeat(5000);
        let entry = append(&session, scene.say().user(&long))?;
        return ensure(entry.text().contains(&long), || {
            "a long text was cut in a format that keeps all".to_owned()
        });
    }
    let message = |thinking: &str| {
        codebot::message(&format!(
            r#"{{"role":"assistant","content":[{{"type":"thinking","thinking":"{thinking}"}}]}}"#
        ))
    };
    let whole = append(&session, message(&"é".repeat(200)))?;
    ensure(whole.text().contains(&"é".repeat(200)), || {
        format!(
            "200 characters of thinking should stay, found {}",
            whole.text()
        )
    })?;
    let cut = append(&session, message(&"é".repeat(201)))?;
    let expected = format!("\"{}…\"", "é".repeat(199));
    ensure(cut.text().contains(&expected), || {
        format!(
            "201 characters should be stored as 199 and `…`, found {}",
            cut.text()
        )
    })
}
