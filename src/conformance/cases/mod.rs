//! The cases, one file for each part of the contract. Each plays in a place of its own and asks
//! nothing of the backend but the contract.

mod crash;
mod facts;
mod forks;
mod lanes;
mod payloads;
mod queries;
mod random;
mod records;
mod repository;
mod snapshots;

use super::Case;
use crate::contract::{NewRecord, pi};

/// All of them, in the order of the list that also makes the tests.
pub(super) static ALL: &[Case] = crate::conformance_tests!(@list table);

/// A run that starts on a lane.
pub(super) fn started(lane: &str, id: &str) -> NewRecord {
    operation(lane, id, "run")
}

/// An operation of a kind that starts on a lane.
pub(super) fn operation(lane: &str, id: &str, kind: &str) -> NewRecord {
    let intent = match kind {
        "run" => r#"{"kind":"run","originalPrompt":[],"initialMessages":[]}"#.to_owned(),
        "navigation" => r#"{"kind":"navigation","targetId":null,"summarize":false}"#.to_owned(),
        kind => format!(r#"{{"kind":"{kind}","resultEntryId":"{id}-result"}}"#),
    };
    pi::operation_started(lane, None, &intent).with_id(id)
}

/// An operation that ends.
fn finished(lane: &str, id: &str, run: &str) -> NewRecord {
    pi::operation_finished(lane, run, "completed", None).with_id(id)
}

/// What something used: input, cache read, cache write, total, cost.
pub(super) fn used(counts: [i64; 4], cost: f64) -> String {
    let [input, read, write, total] = counts;
    format!(
        r#"{{"input":{input},"output":0,"cacheRead":{read},"cacheWrite":{write},"totalTokens":{total},"cost":{{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":{cost}}}}}"#
    )
}
