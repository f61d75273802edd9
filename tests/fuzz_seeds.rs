//! What fuzz targets check, on every committed seed, without a fuzzer: findings of the past are among
//! the seeds, and the checks themselves are kept running.

#[allow(dead_code, reason = "fuzz targets use the rest")]
#[path = "../fuzz/src/lib.rs"]
mod fuzz;

use std::fs;

/// Runs a check on all seeds of a target.
fn run(target: &str, check: impl Fn(&[u8]) -> Result<(), String>) {
    let folder = format!("{}/fuzz/corpus/{target}", env!("CARGO_MANIFEST_DIR"));
    let mut seeds = 0;
    for file in fs::read_dir(&folder).expect("seeds") {
        let path = file.expect("a seed").path();
        let seed = fs::read(&path).expect("readable");
        if let Err(difference) = check(&seed) {
            panic!("{}: {difference}", path.display());
        }
        seeds += 1;
    }
    assert!(seeds > 15, "{target} has {seeds} seeds");
}

#[test]
fn seeds_of_lines_read_alike_in_every_parser() {
    run("line", fuzz::line::check);
}

#[test]
fn seeds_of_logs_read_as_the_naive_replay_says() {
    run("log", fuzz::log::check);
}

#[test]
fn changed_lines_of_seeds_read_as_the_naive_replay_says() {
    let mut dice = fuzz::mutate::Dice::new(7);
    let dice = std::cell::RefCell::new(&mut dice);
    run("log", |seed| {
        let (mode, log) = seed.split_first().unwrap_or((&0, &[]));
        for _ in 0..8 {
            let changed = fuzz::mutate::lines(log, &mut dice.borrow_mut());
            fuzz::log::check(&[&[*mode], changed.as_slice()].concat())?;
        }
        Ok(())
    });
}

#[test]
fn seeds_of_sidecars_change_no_answer() {
    run("sidecar", fuzz::sidecar::check);
}

#[test]
fn a_sidecar_whose_checksums_are_made_right_again_is_the_sidecar_that_it_was() {
    // That forging means anything is seen by what it leaves alone.
    let log = fuzz::log::HEADERS[3].repeat(1);
    let good = leaflog::fuzzing::sidecar(log.as_bytes(), &[], 1).expect("a sidecar");
    let mut forged = good.clone();
    fuzz::forge::forge(&mut forged);
    assert_eq!(forged, good);
    forged[64] ^= 1;
    let changed = forged.clone();
    fuzz::forge::forge(&mut forged);
    assert_ne!(forged, changed);
}

#[test]
fn seeds_of_operations_agree_with_the_model() {
    run("operations", fuzz::operations::check);
}

#[test]
fn seeds_of_decoders_decode_as_the_plain_reading_says() {
    run("decoders", fuzz::decoders::check);
}

#[test]
fn seeds_of_large_logs_are_read_right() {
    run("oversized", |seed| fuzz::oversized::check(seed, None));
}
