//! Resuming against full replay, by criterion: `cargo bench --bench replay`.

mod support;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use leaflog::naive::{ReadOptions, Replay};
use leaflog::{At, IndexMode, OpenOptions};

fn resume_and_replay(c: &mut Criterion) {
    let scratch = support::Scratch::new();
    let mut group = c.benchmark_group("resume");
    group.sample_size(10);
    for entries in [1_000, 10_000, 100_000] {
        let path = scratch.file(&format!("{entries}.jsonl"));
        support::session(&path, entries);
        let options = OpenOptions::new().index(IndexMode::Always);
        let open = || {
            options
                .open(&path)
                .and_then(|session| session.snapshot(At::Current))
                .expect("a snapshot")
        };
        support::assert_same(&open(), &support::full_replay(&path));
        group.bench_with_input(BenchmarkId::new("index", entries), &entries, |b, _| {
            b.iter(|| black_box(open()))
        });
        group.bench_with_input(
            BenchmarkId::new("simd-json replay", entries),
            &entries,
            |b, _| {
                b.iter(|| black_box(support::full_replay(&path)));
            },
        );
        if entries <= 10_000 {
            group.bench_with_input(
                BenchmarkId::new("naive replay", entries),
                &entries,
                |b, _| {
                    b.iter(|| {
                        let replay = Replay::open(&path, ReadOptions::default()).expect("readable");
                        black_box(replay.snapshot(At::Current, false).expect("a snapshot"))
                    });
                },
            );
        }
    }
    group.finish();
}

criterion_group!(benches, resume_and_replay);
criterion_main!(benches);
