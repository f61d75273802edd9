//! P3: appends, with the index kept.

use std::io::Write;

use leaflog::{Durability, NewEntry, OpenOptions, Session, SessionStorage};

use crate::scene::Scene;
use crate::support::figures::{Series, seconds};
use crate::support::report::{Goal, Target, count, size, time};
use crate::support::writing::{append_some, message, raw, writer};

pub fn run(scene: &mut Scene) -> Target {
    let mut target = Target::new(
        "P3",
        format!(
            "append {} lines of some 300 bytes, index kept",
            count(scene.entries)
        ),
    );
    with_the_system(&mut target, scene);
    on_the_disk(&mut target, scene);
    by_threads(&target, scene);
    target
}

fn with_the_system(target: &mut Target, scene: &Scene) {
    const ROUNDS: u64 = 50;
    let path = scene.file("append.jsonl");
    let session = writer(&path, Durability::Process);
    let new = message();
    let first = session.append_entry(new.clone(), "main").expect("appends");
    let line = [&first.bytes[..], b"\n"].concat();
    let mut file = raw(&scene.file("append.raw"));
    let each = scene.entries / ROUNDS;
    let (mut raws, mut owns) = (Series::default(), Series::default());
    for _ in 0..ROUNDS {
        raws.each(each, |_| file.write_all(&line).expect("written"));
        append_some(&session, &new, each, &mut owns);
    }
    let lanes = session.lanes().expect("lanes");
    let leaf = lanes[0].leaf.as_deref().expect("a leaf");
    let last = session.entry(leaf).expect("answers").expect("found");
    assert_eq!(last.seq, Some(each * ROUNDS + 1));
    let (closing, ()) = seconds(|| session.close().expect("closes"));
    let found = OpenOptions::new().verify(&path).expect("verifies");
    assert!(found.is_clean(), "{found:?}");
    target.find(
        owns.over(&raws),
        "times a bare write, `Durability::Process`",
        format!("{} and {}", time(owns.median()), time(raws.median())),
        Goal::AtMost(1.25),
    );
    let (early, late) = owns.ends();
    target.find(
        late.over(&early),
        "times the first fifth of the appends in the last fifth",
        format!("{} and {}", time(late.median()), time(early.median())),
        Goal::AtMost(1.25),
    );
    target.note(&format!("closing takes {}", time(closing)));
}

fn on_the_disk(target: &mut Target, scene: &Scene) {
    let session = writer(&scene.file("durable.jsonl"), Durability::Disk);
    let new = message();
    let first = session.append_entry(new.clone(), "main").expect("appends");
    let line = [&first.bytes[..], b"\n"].concat();
    let mut file = raw(&scene.file("durable.raw"));
    let (mut raws, mut owns) = (Series::default(), Series::default());
    for _ in 0..60 {
        raws.each(25, |_| {
            file.write_all(&line).expect("written");
            file.sync_data().expect("synced");
        });
        append_some(&session, &new, 25, &mut owns);
    }
    target.find(
        owns.over(&raws),
        "times a bare write and flush, `Durability::Disk`",
        format!("{} and {}", time(owns.median()), time(raws.median())),
        Goal::AtMost(1.1),
    );
}

/// Eight threads that append lines of 4 to 300 KB on two lanes of one session.
fn by_threads(target: &Target, scene: &Scene) {
    const THREADS: u64 = 8;
    let each = (scene.entries / 500).clamp(20, 2_000);
    let path = scene.file("threads.jsonl");
    let session = writer(&path, Durability::Process);
    session.create_lane("side", None).expect("a lane");
    let text = "the quick brown fox jumps over the lazy dog ".repeat(7_000);
    let append = |thread: u64, number: u64| {
        let lane = ["main", "side"][usize::try_from(thread % 2).expect("few")];
        let len = 4_000 + (number * 7919 + thread * 104_729) % 296_000;
        let text = &text[..usize::try_from(len).expect("small")];
        let fields = format!("{{\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}");
        let new = NewEntry::new("message", fields);
        session.append_entry(new, lane).expect("appends").id
    };
    let (seconds, ids) = seconds(|| {
        std::thread::scope(|scope| {
            let append = &append;
            let one = |thread| move || (0..each).map(|number| append(thread, number)).collect();
            let running: Vec<_> = (0..THREADS)
                .map(|thread| scope.spawn(one(thread)))
                .collect();
            let ended = running
                .into_iter()
                .map(|thread| thread.join().expect("ended"));
            ended.collect::<Vec<Vec<String>>>().concat()
        })
    });
    session.close().expect("closes");
    let found = OpenOptions::new().verify(&path).expect("verifies");
    assert!(found.is_clean(), "{found:?}");
    let session = Session::open(&path).expect("opens");
    for id in &ids {
        let entry = session.entry(id).expect("answers");
        assert!(entry.is_some(), "{id} is gone");
    }
    let lines = session.mutations().expect("lines");
    let numbers = lines.map(|line| line.expect("a line").seq);
    assert!(numbers.eq(1..=THREADS * each + 1));
    target.note(&format!(
        "{THREADS} threads, {each} appends each of 4 to 300 KB on two lanes: {} in {}; all there, one sequence, no torn line",
        size(found.bytes),
        time(seconds)
    ));
    drop(session);
    std::fs::remove_file(&path).expect("removed");
}
