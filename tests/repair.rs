//! A repaired log reads without a report, holds every line that had no damage byte for byte, and loses
//! nothing that is not in the file beside it.

mod support;

#[path = "repair/check.rs"]
mod check;
#[path = "repair/kinds.rs"]
mod kinds;
#[path = "repair/lines.rs"]
mod lines;
#[path = "repair/random.rs"]
mod random;
#[path = "repair/sequence.rs"]
mod sequence;

use std::fs;

use check::check;
use leaflog::Format;
use proptest::prelude::*;
use support::logs;

#[test]
fn every_handed_case_is_repaired_or_refused_as_it_reads() {
    let mut repaired = 0;
    for item in fs::read_dir("tests/cases").expect("cases") {
        let path = item.expect("a case").path();
        if path.extension().is_some_and(|it| it == "jsonl") {
            let log = fs::read(&path).expect("a log");
            let copy = check(&log).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            repaired += usize::from(copy.is_some());
        }
    }
    // All but an empty file, another program's and one of a later version.
    assert!(repaired >= 53, "{repaired}");
}

#[test]
fn every_nasty_log_is_repaired_or_refused_as_it_reads() {
    for (name, log) in logs::corpus() {
        if let Err(error) = check(&log) {
            panic!("{name}: {error}\n{}", logs::show(&log));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_log_is_repaired(log in logs::any_log()) {
        if let Err(error) = check(&log) {
            prop_assert!(false, "{error}\n{}", logs::show(&log));
        }
    }
}

/// Seeds that each format is tried with; `LEAFLOG_REPAIRS` asks for more.
fn seeds() -> u64 {
    std::env::var("LEAFLOG_REPAIRS").map_or(100, |text| text.parse().expect("a number"))
}

fn damaged_logs(format: Format) {
    for seed in 0..seeds() {
        random::check_damaged(format, seed);
    }
}

#[test]
fn damaged_logs_of_codebot_keep_every_whole_line() {
    damaged_logs(Format::CodebotV3);
}

#[test]
fn damaged_logs_of_pi_v1_keep_every_whole_line() {
    damaged_logs(Format::PiV1);
}

#[test]
fn damaged_logs_of_pi_v2_keep_every_whole_line() {
    damaged_logs(Format::PiV2);
}

#[test]
fn damaged_logs_of_pi_v3_keep_every_whole_line() {
    damaged_logs(Format::PiV3);
}

#[test]
fn damaged_logs_of_pi_v4_keep_every_whole_line() {
    damaged_logs(Format::PiV4);
}
