//! The history that is run on disks that fail: every call that changes something, and reads between.

use super::world::World;
use crate::contract::{NewEntry, NewRecord, SessionStorage, codebot, pi};
use crate::error::Result;
use crate::model::Format;

/// One call: its name for reports, and what it does.
pub(super) type Call = (&'static str, fn(&mut World) -> Result<()>);

const TEXT: &str = r#"{"role":"user","content":"hi"}"#;

fn message(text: &str, format: Format) -> NewEntry {
    if format == Format::CodebotV3 {
        return codebot::message(&format!(
            "{{\"role\":\"user\",\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}"
        ));
    }
    pi::message(&format!("{{\"role\":\"user\",\"content\":\"{text}\"}}"))
}

fn say(world: &mut World) -> Result<()> {
    let new = message("hi", world.format);
    world.append(new, "main")
}

/// Longer than a block of a disk.
fn say_much(world: &mut World) -> Result<()> {
    let new = message(&"much ".repeat(3_000), world.format);
    world.append(new, "main")
}

fn model(world: &mut World) -> Result<()> {
    let new = match world.format {
        Format::CodebotV3 => codebot::model_change("p", "m"),
        _ => pi::model_change("p", "m"),
    };
    world.append(new, "main")
}

fn compact(world: &mut World) -> Result<()> {
    let first = world.acknowledged.last().cloned().unwrap_or_default();
    let new = match world.format {
        Format::CodebotV3 => codebot::compaction("so far", None),
        Format::PiV4 => pi::compaction("so far", &format!("[{TEXT}]"), 9, &pi::More::default()),
        _ => pi::compaction_v3("so far", &first, 9, &pi::More::default()),
    };
    world.append(new, "main")
}

fn custom(world: &mut World) -> Result<()> {
    world.append(pi::custom("note", Some("[1]")), "main")
}

fn record(world: &mut World, new: NewRecord) -> Result<()> {
    world.session()?.append_record(new).map(drop)
}

fn label(world: &mut World) -> Result<()> {
    let target = world.acknowledged.last().cloned().unwrap_or_default();
    world.session()?.set_label(&target, Some("here"))
}

fn unlabel(world: &mut World) -> Result<()> {
    let target = world.acknowledged.first().cloned().unwrap_or_default();
    world.session()?.set_label(&target, None)
}

fn name(world: &mut World) -> Result<()> {
    world.session()?.set_name(Some("a name"))
}

fn go_back(world: &mut World) -> Result<()> {
    let target = world.acknowledged.first().cloned();
    world.session()?.move_lane("main", target.as_deref())
}

fn both(format: Format) -> Vec<Call> {
    let mut calls: Vec<Call> = vec![
        ("make", World::create),
        ("say", say),
        ("model", model),
        ("say", say),
        ("read", World::read),
        ("say much", say_much),
        ("sync", |world| world.session()?.sync()),
        ("name", name),
        ("compact", compact),
        ("say", say),
        ("close", World::close),
        ("say", say),
        ("tear", World::tear),
        ("say", say),
        ("read", World::read),
        ("go back", go_back),
        ("say", say),
        ("fork", World::fork),
        ("read", World::read),
        ("tear whole", World::leave_no_newline),
        ("say", say),
        ("sync", |world| world.session()?.sync()),
        ("close", World::close),
        ("read", World::read),
        ("delete the fork", World::delete_fork),
        ("say", say),
    ];
    if format != Format::CodebotV3 {
        calls.extend([
            ("label", label as fn(&mut World) -> Result<()>),
            ("custom", custom),
            ("unlabel", unlabel),
        ]);
    }
    calls
}

/// All calls of a format, in order.
pub(super) fn calls(format: Format) -> Vec<Call> {
    let mut calls = both(format);
    if format == Format::PiV3 {
        calls.extend([
            ("convert", World::convert as fn(&mut World) -> Result<()>),
            ("tear", World::tear),
            ("tear", World::tear),
            ("say", say),
        ]);
    }
    if format == Format::PiV4 {
        calls.extend(lanes_and_records());
    }
    calls.extend([
        ("read", World::read as fn(&mut World) -> Result<()>),
        ("sync", |world| world.session()?.sync()),
        ("close", World::close),
        ("read", World::read),
        ("say", say),
    ]);
    calls
}

fn lanes_and_records() -> Vec<Call> {
    vec![
        ("effort", |world| {
            world.append(pi::thinking_level_change("high"), "main")
        }),
        ("tools", |world| {
            world.append(pi::active_tools_change(&["bash"]), "main")
        }),
        ("start", |world| {
            let new = pi::operation_started("main", None, r#"{"kind":"run"}"#).with_id("r1");
            record(world, new)
        }),
        ("abort", |world| {
            record(world, pi::abort_requested("main", "r1"))
        }),
        ("usage", |world| {
            let usage = r#"{"totalTokens":3}"#;
            record(world, pi::usage("main", "adjustment", usage, None))
        }),
        ("enqueue", |world| {
            let target = r#"{"type":"message","id":"q1"}"#;
            record(world, pi::queue_enqueued("main", "nextRun", None, target))
        }),
        ("cancel", |world| {
            record(world, pi::queue_cancelled("main", None, "q1"))
        }),
        ("finish", |world| {
            let new = pi::operation_finished("main", "r1", "aborted", None);
            record(world, new)
        }),
        ("read", World::read),
        ("lane", |world| {
            let at = world.acknowledged.first().cloned();
            world.session()?.create_lane("side", at.as_deref())
        }),
        ("say aside", |world| {
            // Refused where the lane could not be made.
            let new = message("aside", world.format);
            world.append(new, "side")
        }),
        ("move the lane", |world| {
            world.session()?.move_lane("side", None)
        }),
        ("say aside", |world| {
            let new = message("aside", world.format);
            world.append(new, "side")
        }),
        ("fork all", World::fork_tree),
        ("delete the fork", World::delete_fork),
        ("say much", say_much),
        ("tear", World::tear),
        ("name", name),
        ("summary", |world| {
            let from = world.acknowledged.first().cloned().unwrap_or_default();
            let new = pi::branch_summary(&from, "so", &pi::More::default());
            world.append(new, "main")
        }),
        ("close", World::close),
        ("say", say),
        ("say", say),
        ("custom", custom),
        ("label", label),
        ("sync", |world| world.session()?.sync()),
        ("unlabel", unlabel),
        ("say much", say_much),
        ("read", World::read),
    ]
}
