//! Crash points: a log that ends inside its last line opens to the state before that line.

use std::path::Path;

use super::started;
use crate::conformance::failure::{Failure, Outcome, ensure, same, some};
use crate::conformance::scene::{Live, Scene, append};
use crate::conformance::state::State;

/// Objects that would be lines of each format.
const LOOKALIKE: &str = r#"[{"kind":"message","id":"x1","data":{"role":"user"}},{"type":"custom","id":"x2","customType":"c"},{"kind":"fact","seq":9,"fact":"name","name":"x"},{"kind":"entry","type":"custom","id":"x3","customType":"c","parentId":null,"seq":9,"timestamp":1}]"#;

/// Appends one more thing.
type Step = fn(&Scene<'_>, &Live) -> Outcome;

/// The last line may be any of these; each has its own case of what may be lost.
fn steps(scene: &Scene<'_>) -> Vec<Step> {
    let mut steps: Vec<Step> = vec![
        |scene, session| append(session, scene.say().user("é ✓")).map(drop),
        |scene, session| append(session, scene.say().note("{\"a\":[1,\"}\"]}")).map(drop),
        |_, session| Ok(session.set_name(Some("Näme"))?),
        // Parts of these look like lines of their own.
        |scene, session| append(session, scene.say().calls_a_tool("call-1")).map(drop),
        |scene, session| append(session, scene.say().note(LOOKALIKE)).map(drop),
    ];
    if scene.can.records {
        steps.extend::<[Step; 5]>([
            |_, session| Ok(session.append_record(started("main", "run")).map(drop)?),
            |_, session| Ok(session.create_lane("thread", None)?),
            |_, session| Ok(session.move_lane("main", None)?),
            |_, session| Ok(session.set_name(None)?),
            |scene, session| {
                session
                    .append_entry(scene.say().user("q"), "thread")
                    .map(drop)
                    .map_err(Failure::from)
            },
        ]);
    }
    steps
}

pub(super) fn a_torn_last_line_is_as_if_not_written(scene: &Scene<'_>) -> Outcome {
    let session = scene.create("session")?;
    append(&session, scene.say().user("root"))?;
    let Some(folder) = scene.fixture.folder() else {
        return Ok(());
    };
    let path = some("the path of the log", session.metadata()?.path)?;
    let inside = path.strip_prefix(&folder).map_err(|_| {
        Failure::new(format!(
            "expected the log below {}, found it at {}",
            folder.display(),
            path.display()
        ))
    })?;
    for step in steps(scene) {
        let mut before = State::of(&*session)?;
        if !scene.can.lanes {
            before.on_its_last_entry();
        }
        step(scene, &session)?;
        session.sync()?;
        let log =
            std::fs::read(&path).map_err(|e| Failure::new(format!("reading the log: {e}")))?;
        let whole = log.strip_suffix(b"\n").unwrap_or(&log);
        let start = whole
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        // Without its newline the last line is whole, and counts.
        for end in start..whole.len() {
            let torn = log.get(..end).unwrap_or_default();
            check(scene, inside, torn, &before).map_err(|failure| {
                failure.during(&format!("cut at byte {end} of {}", log.len()))
            })?;
        }
    }
    Ok(())
}

/// The torn log, in a fresh place, is the session as it was.
fn check(scene: &Scene<'_>, inside: &Path, torn: &[u8], before: &State) -> Outcome {
    let fixture = scene.factory.fixture()?;
    let folder = some("the folder of a fixture", fixture.folder())?;
    let path = folder.join(inside);
    let place = || -> std::io::Result<()> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&path, torn)
    };
    place().map_err(|e| Failure::new(format!("putting the log there: {e}")))?;
    let repository = fixture.repository()?;
    let reader = repository.open_read_only("session")?;
    State::of(&*reader)?.same_as(before)?;
    reader.close()?;
    let writer: Live = repository.open("session")?.into();
    State::of(&*writer)?.same_as(before)?;
    let next = append(&writer, scene.say().user("goes on"))?;
    let after = State::of(&*writer)?;
    same(
        "items after another append",
        after.log.len(),
        before.log.len() + 1,
    )?;
    writer.close()?;
    let again = repository.open("session")?;
    ensure(again.entry(&next.id)?.is_some(), || {
        "what was appended behind a torn line is gone".to_owned()
    })?;
    State::of(&*again)?.same_as(&after)?;
    again.close()?;
    Ok(())
}
