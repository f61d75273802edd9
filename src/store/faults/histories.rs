//! The histories that disks fail in: every kind of call, in the order of a working day.

use super::run::Run;
use crate::{Format, NewEntry, codebot, pi};

/// A message of the user with a text.
pub(super) fn said(format: Format, text: &str) -> NewEntry {
    match format {
        Format::CodebotV3 => codebot::message(&format!(
            r#"{{"role":"user","content":[{{"type":"text","text":"{text}"}}]}}"#
        )),
        _ => pi::message(&format!(r#"{{"role":"user","content":"{text}"}}"#)),
    }
}

/// A long one: more than a block.
fn long(format: Format, text: &str) -> NewEntry {
    said(format, &format!("{text}{}", "long ".repeat(1800)))
}

/// A session of pi v4, its fork, a torn tail, and the end of both.
pub(super) fn v4(run: &mut Run) {
    let of = |text: &str| said(Format::PiV4, text);
    run.create();
    let first = run.entry("main", of);
    run.entry("main", |text| long(Format::PiV4, text));
    run.sync();
    // So many that the index is merged.
    for round in 0..12 {
        match round % 6 {
            0 => run.name(Some("a name")),
            1 => run.label(first, Some("label")),
            2 => {
                let started = run.record("main", |_| {
                    pi::operation_started("main", None, r#"{"kind":"run","input":[]}"#)
                });
                let id = run.id(started);
                run.record("main", |_| {
                    pi::operation_finished("main", &id, "completed", None)
                });
            }
            3 if round < 6 => run.lane("side", Some(first), true),
            3 => run.lane("side", None, false),
            4 => run.label(first, None),
            _ => {
                run.record("main", |_| {
                    pi::usage("main", "adjustment", r#"{"totalTokens":1}"#, None)
                });
            }
        }
        let lane = if round > 3 && round % 2 == 0 {
            "side"
        } else {
            "main"
        };
        run.entry(lane, of);
        run.sync();
    }
    run.name(None);
    run.look("half-way");
    run.close();
    run.open(0);
    run.entry("main", of);
    run.tear();
    run.entry("main", of);
    run.fork();
    run.entry("main", of);
    run.sync();
    run.close();
    run.open(0);
    run.entry("side", |text| {
        pi::custom("note", Some(&format!("\"{text}\"")))
    });
    run.delete();
    run.create();
    run.entry("main", of);
}

/// A session of pi v3: it appears with its first message; converted to pi v4 in the end.
pub(super) fn v3(run: &mut Run) {
    let of = |text: &str| said(Format::PiV3, text);
    run.create();
    run.name(Some("early"));
    run.entry("main", |text| {
        pi::custom("note", Some(&format!("\"{text}\"")))
    });
    run.sync();
    let first = run.entry("main", of);
    run.entry("main", |text| long(Format::PiV3, text));
    run.label(first, Some("label"));
    run.sync();
    run.name(Some("later"));
    run.entry("main", |_| pi::thinking_level_change("high"));
    run.tear();
    run.entry("main", of);
    run.sync();
    run.fork();
    run.entry("main", of);
    run.close();
    run.open(0);
    run.convert();
    run.open(0);
    run.delete();
}

/// A session of codebot.
pub(super) fn codebot(run: &mut Run) {
    let of = |text: &str| said(Format::CodebotV3, text);
    run.create();
    run.entry("main", of);
    run.name(Some("a name"));
    run.sync();
    run.entry("main", |text| long(Format::CodebotV3, text));
    run.entry("main", |_| codebot::model_change("p", "m"));
    run.tear();
    run.entry("main", of);
    run.sync();
    run.fork();
    run.entry("main", of);
    run.close();
    run.open(0);
    run.delete();
}
