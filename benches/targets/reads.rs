//! P9: single entries, at random.

use std::hint::black_box;

use leaflog::Session;

use crate::scene::Scene;
use crate::support::figures::{Ratio, Series};
use crate::support::report::{Goal, Target, count, time};

pub fn run(scene: &mut Scene) -> Target {
    let log = scene.large();
    let session = Session::open(&log.path).expect("opens");
    let (ids, entries) = some_ids(&session);
    let mut target = Target::new(
        "P9",
        format!("one entry by its id, of {}, at random", count(entries)),
    );
    let store = scene.store();
    for id in ids.iter().take(1000) {
        let own = session.entry(id).expect("answers").expect("found");
        assert_eq!(Some(own.text().into_owned()), store.entry(id));
    }
    let (mut owns, mut rows) = (Series::default(), Series::default());
    // Several times over the same ones, so that both have their pages mapped.
    for chunk in (0..5).flat_map(|_| ids.chunks(500)) {
        let at = |number: u64| &*chunk[usize::try_from(number).expect("small")];
        let count = chunk.len() as u64;
        owns.each(count, |number| {
            black_box(session.entry(at(number)).expect("answers"));
        });
        rows.each(count, |number| {
            black_box(store.entry(at(number)));
        });
    }
    target.find(
        Ratio::of(owns.median() * 1e6),
        "µs an entry",
        "median of rounds of 500".to_owned(),
        Goal::AtMost(1.0),
    );
    target.find(
        rows.over(&owns),
        "times as fast as SQLite by primary key",
        format!("{} and {}", time(owns.median()), time(rows.median())),
        Goal::AtLeast(5.0),
    );
    target
}

/// Ids of a session, and how many entries it has.
fn some_ids(session: &Session) -> (Vec<String>, u64) {
    let nodes = session.tree().expect("nodes");
    let mut state = 7_u64;
    // Copies: whoever asks for an id has it at hand, and the first to ask would wait for all of them.
    let ids = (0..20_000).map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let place = (state >> 33) % nodes.len() as u64;
        nodes[usize::try_from(place).expect("small")].id.clone()
    });
    (ids.collect(), nodes.len() as u64)
}
