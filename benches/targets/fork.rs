//! P8: a branch becomes a session of its own.

use std::fs::File;

use leaflog::{At, CreateOptions, ForkScope, Session};

use crate::scene::Scene;
use crate::support::figures::Series;
use crate::support::report::{Goal, Target, size, time};

pub fn run(scene: &mut Scene) -> Target {
    let log = scene.large();
    let session = Session::open(&log.path).expect("opens");
    let (target_path, copy_path) = (scene.file("fork.jsonl"), scene.file("copy"));
    let (mut forks, mut copies) = (Series::default(), Series::default());
    let mut bytes = 0;
    for round in 0..7 {
        let options = CreateOptions::in_folder("/w");
        let scope = ForkScope::default();
        forks.time(|| {
            let fork = session.fork_to(&target_path, &scope, &options);
            fork.expect("a fork")
        });
        bytes = std::fs::metadata(&target_path).expect("a file").len();
        if round == 0 {
            let forked = Session::open(&target_path).expect("opens");
            let (source, copy) = (session.path(At::Current), forked.path(At::Current));
            assert_eq!(copy.expect("a path"), source.expect("a path"));
        }
        copies.time(|| {
            let mut from = File::open(&target_path).expect("a file");
            let mut to = File::create(&copy_path).expect("a file");
            std::io::copy(&mut from, &mut to).expect("copied");
            to.sync_all().expect("synced");
        });
        std::fs::remove_file(&target_path).expect("removed");
        std::fs::remove_file(&copy_path).expect("removed");
    }
    let mut target = Target::new("P8", format!("fork of a branch, {}", size(bytes)));
    target.find(
        copies.over(&forks),
        "times the speed of copying the file",
        format!("{} and {}", time(forks.median()), time(copies.median())),
        Goal::AtLeast(0.5),
    );
    target
}
