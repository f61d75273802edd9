//! Resuming against full replay, by criterion: `cargo bench --bench replay`.

mod support;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use leaflog::naive::{self, ReadOptions};
use leaflog::{At, IndexMode, OpenOptions};
use simd_json::OwnedValue;
use support::replay::{Replay, assert_same};

fn resume_and_replay(c: &mut Criterion) {
    let scratch = support::Scratch::new();
    let mut group = c.benchmark_group("resume");
    group.sample_size(10);
    for entries in [1_000, 10_000, 100_000] {
        let path = scratch.file(&format!("{entries}.jsonl"));
        support::logs::session(&path, entries);
        let options = OpenOptions::new().index(IndexMode::Always);
        let open = || {
            options
                .open(&path)
                .and_then(|session| session.snapshot(At::Current))
                .expect("a snapshot")
        };
        let first = open();
        assert_same(&first, &Replay::<OwnedValue>::of(&path).messages);
        assert_same(&first, &Replay::<serde_json::Value>::of(&path).messages);
        let mut bench = |name: &str, run: &dyn Fn()| {
            group.bench_with_input(BenchmarkId::new(name, entries), &entries, |b, _| {
                b.iter(run)
            });
        };
        bench("index", &|| drop(black_box(open())));
        bench("simd-json replay", &|| {
            drop(black_box(Replay::<OwnedValue>::of(&path)));
        });
        bench("serde_json replay", &|| {
            drop(black_box(Replay::<serde_json::Value>::of(&path)));
        });
        if entries <= 10_000 {
            bench("naive replay", &|| {
                let replay = naive::Replay::open(&path, ReadOptions::default()).expect("readable");
                black_box(replay.snapshot(At::Current, false).expect("a snapshot"));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, resume_and_replay);
criterion_main!(benches);
