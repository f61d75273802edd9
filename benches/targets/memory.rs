//! P5: memory of a process that resumes.

use crate::resume;
use crate::scene::Scene;
use crate::support::figures::Ratio;
use crate::support::report::{Goal, Target, count, size};

pub fn run(scene: &mut Scene) -> Target {
    let log = scene.large();
    let mut target = Target::new(
        "P5",
        format!(
            "private memory of a process that opens and snapshots {} entries",
            count(scene.entries)
        ),
    );
    let told = resume::process(&log.path);
    let Some(private) = told.private else {
        target.note("not known on this system");
        return target;
    };
    let beside = private.saturating_sub(told.messages);
    target.find(
        Ratio::of(beside as f64 / f64::from(1 << 20)),
        "MiB beside its messages",
        format!("{} with {} of messages", size(private), size(told.messages)),
        Goal::AtMost(16.0),
    );
    target
}
