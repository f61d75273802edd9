//! One call of the disk fails, in each way, at each place of a history. The call of the store that met
//! it succeeds all the same or says what is wrong, and nothing but it is missing.

use std::fs;
use std::sync::Arc;

use super::faulty::{Fault, Faulty};
use super::histories;
use super::run::Run;
use crate::disk::DiskRef;
use crate::{Code, Durability, Format, OpenOptions, Orphans};

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
            // How often a sidecar is written again depends on how long ago the log was: the last calls
            // may be missing in a run that was slower or faster than the first.
            let is_met = (0..20).any(|_| {
                let mut run = Run::new(format, durability, Some((at, fault)));
                history(&mut run);
                let is_met = run.has_tripped();
                run.end();
                is_met
            });
            assert!(is_met, "{op:?} {at} {fault:?} was not met");
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
fn whatever_fails_in_a_repair_leaves_a_whole_copy_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (folder.path().join("source"), folder.path().join("target"));
    let dropped = folder.path().join("target.dropped");
    let entry = r#"{"kind":"entry","type":"custom","id":"e","parentId":null,"lane":"main","seq":1,"timestamp":1,"customType":"n"}"#;
    let header = r#"{"kind":"header","version":4,"id":"s","createdAt":1,"cwd":"/w"}"#;
    let log = format!("{header}\n{entry}\nno line\n");
    fs::write(&source, &log).unwrap();
    let run = |plan| {
        let disk = Arc::new(Faulty::planned(plan));
        let options = OpenOptions::new().disk(DiskRef::new(disk.clone()));
        let done = crate::repair(&source, &target, Orphans::default(), &options);
        (done.map(|_| ()), disk)
    };
    let (done, disk) = run(None);
    done.unwrap();
    let copy = fs::read(&target).unwrap();
    let mut runs = 0;
    for (at, op) in disk.trace().into_iter().enumerate() {
        for &fault in Fault::of(op) {
            let _ = fs::remove_file(&target);
            let _ = fs::remove_file(&dropped);
            let (done, disk) = run(Some((at, fault)));
            assert!(disk.has_tripped(), "{op:?} {at}");
            let tell = format!("{op:?} {at} {fault:?}: {done:?}");
            match done {
                Ok(()) => {
                    assert_eq!(fs::read(&target).unwrap(), copy, "{tell}");
                    assert_eq!(fs::read(&dropped).unwrap(), b"no line\n", "{tell}");
                }
                Err(error) => {
                    assert_eq!(error.code(), Code::Storage, "{tell}");
                    let is_there = target.exists() || dropped.exists();
                    assert!(!is_there || disk.is_stuck(), "{tell}");
                    if target.exists() {
                        assert_eq!(fs::read(&target).unwrap(), copy, "{tell}");
                    }
                    if dropped.exists() {
                        assert_eq!(fs::read(&dropped).unwrap(), b"no line\n", "{tell}");
                    }
                }
            }
            assert_eq!(fs::read_to_string(&source).unwrap(), log, "{tell}");
            runs += 1;
        }
    }
    println!("repair: {runs} runs");
    assert!(runs > 40, "only {runs} runs");
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
