//! P10: the same in SQLite.

use std::hint::black_box;

use leaflog::{At, Durability, Session, SessionStorage};

use crate::scene::Scene;
use crate::support;
use crate::support::figures::Series;
use crate::support::report::{Goal, Target, count, figure, time};
use crate::support::sqlite::{Store, Synchronous};
use crate::support::writing::{append_some, message, writer};

pub fn run(scene: &mut Scene) -> Target {
    let mut target = Target::new(
        "P10",
        format!(
            "against SQLite, prepared, WAL, warm, {} entries",
            count(scene.entries)
        ),
    );
    resume(&mut target, scene);
    for (name, level, durability, rounds, goal) in [
        ("off", Synchronous::Off, Durability::Process, (50, 200), 5.0),
        ("full", Synchronous::Full, Durability::Disk, (60, 25), 1.0),
    ] {
        let (owns, rows) = append(scene, name, level, durability, rounds);
        target.find(
            rows.over(&owns),
            &format!(
                "times as fast appending, `synchronous` {name} and `Durability::{durability:?}`"
            ),
            format!("{} and {}", time(owns.median()), time(rows.median())),
            Goal::AtLeast(goal),
        );
    }
    target
}

fn resume(target: &mut Target, scene: &mut Scene) {
    let log = scene.large();
    let path = scene.store_path();
    let store = scene.store();
    let (first, _) = support::resume(&log.path);
    assert_eq!(first.messages, store.resume());
    let session = Session::open(&log.path).expect("opens");
    let [mut owns, mut rows, mut opens, mut row_opens] = [(); 4].map(|()| Series::default());
    for _ in 0..300 {
        owns.time(|| black_box(session.snapshot(At::Current).expect("a snapshot")));
        rows.time(|| black_box(store.resume()));
    }
    // By itself: what opening leaves in the processor's caches is not what an open session finds there.
    for _ in 0..300 {
        opens.time(|| black_box(support::resume(&log.path)));
        row_opens.time(|| black_box(Store::open(&path, Synchronous::Off).resume()));
    }
    target.find(
        rows.over(&owns),
        "times as fast resuming, both open",
        format!("{} and {}", time(owns.median()), time(rows.median())),
        Goal::AtLeast(5.0),
    );
    target.note(&format!(
        "with opening {} and {}: {} times as fast; opening leaflog alone against SQLite held open: {} times",
        time(opens.median()),
        time(row_opens.median()),
        figure(row_opens.over(&opens).value),
        figure(rows.over(&opens).value)
    ));
}

/// Appends to both, each in a transaction of its own.
fn append(
    scene: &Scene,
    name: &str,
    level: Synchronous,
    durability: Durability,
    (rounds, each): (u64, u64),
) -> (Series, Series) {
    let session = writer(&scene.file(&format!("against-{name}.jsonl")), durability);
    let mut store = Store::open(&scene.file(&format!("against-{name}.db")), level);
    let new = message();
    let first = session.append_entry(new.clone(), "main").expect("appends");
    let (mut owns, mut rows) = (Series::default(), Series::default());
    let mut seq = 0;
    for _ in 0..rounds {
        append_some(&session, &new, each, &mut owns);
        rows.each(each, |_| {
            seq += 1;
            let id = format!("01890000-0000-7000-8000-{seq:012x}");
            let parent = format!("01890000-0000-7000-8000-{:012x}", seq - 1);
            store.append(seq, &id, &parent, &first.text());
        });
    }
    assert_eq!(store.count(), rounds * each);
    let overview = session.overview().expect("an overview");
    assert_eq!(overview.entries, rounds * each + 1);
    (owns, rows)
}
