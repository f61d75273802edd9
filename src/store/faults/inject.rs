//! One call of the disk fails, in each way, at each place of a history. The call of the store that met
//! it succeeds all the same or says what is wrong, and nothing but it is missing.

use super::faulty::Fault;
use super::histories;
use super::run::Run;
use crate::{Durability, Format};

/// Runs a history once for each call of the disk and each way it can fail; how often that was.
fn all(format: Format, durability: Durability, history: fn(&mut Run), least: usize) {
    let mut run = Run::new(format, durability, None);
    history(&mut run);
    let trace = run.trace();
    let calls = run.calls;
    assert!(!run.has_tripped());
    run.end();
    let mut runs = 0;
    for (at, op) in trace.iter().enumerate() {
        for &fault in Fault::of(*op) {
            let mut run = Run::new(format, durability, Some((at, fault)));
            history(&mut run);
            assert!(run.has_tripped(), "{op:?} {at} {fault:?} was not met");
            run.end();
            runs += 1;
        }
    }
    println!(
        "{format}, {durability:?}: {runs} runs of {calls} calls of the store with {} of the disk",
        trace.len()
    );
    assert!(runs > least, "only {runs} runs");
}

#[test]
fn whatever_fails_in_a_pi_v4_session_leaves_what_was_acknowledged() {
    all(Format::PiV4, Durability::Process, histories::v4, 500);
}

#[test]
fn whatever_fails_in_a_flushed_pi_v4_session_leaves_what_was_acknowledged() {
    all(Format::PiV4, Durability::Disk, histories::v4, 700);
}

#[test]
fn whatever_fails_in_a_pi_v3_session_leaves_what_was_acknowledged() {
    for durability in [Durability::Process, Durability::Disk] {
        all(Format::PiV3, durability, histories::v3, 200);
    }
}

#[test]
fn whatever_fails_in_a_codebot_session_leaves_what_was_acknowledged() {
    for durability in [Durability::Process, Durability::Disk] {
        all(Format::CodebotV3, durability, histories::codebot, 150);
    }
}
