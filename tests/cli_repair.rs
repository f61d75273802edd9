//! `repair` at the prompt: what it makes, what it tells, and how it ends. Runs the built program.

#![cfg(feature = "cli")]

#[path = "support/program.rs"]
#[allow(dead_code, reason = "only a part of it is used here")]
mod support;

use std::fs;

use serde_json::json;
use support::{Place, code, error, good, keys, object, run, sorted};

#[test]
fn repair_tells_what_it_mended_and_how_to_go_on() {
    let place = Place::new();
    let file = place.case("torn-tail-codebot");
    let source = fs::read(&file).unwrap();
    let answer = good(&["repair", &file]);
    let told: Vec<&str> = answer.lines().collect();
    assert!(told[0].starts_with(&format!("{file}.repaired: codebot-v3 ")));
    assert!(told[0].contains(", 1 thing mended; "), "{answer}");
    assert!(told[1].contains(": tail_dropped: "), "{answer}");
    assert_eq!(
        told[2],
        format!("not in the copy as it stood: {file}.repaired.dropped")
    );
    assert!(told[3].starts_with(&format!("next: leaflog verify {file}.repaired, ")));
    assert_eq!(fs::read(&file).unwrap(), source);
    good(&["verify", &format!("{file}.repaired")]);
    // A listing shows the session once.
    let sessions = good(&["ls", place.path("").to_str().unwrap()]);
    assert_eq!(sessions.lines().count(), 2, "{sessions}");
}

#[test]
fn every_damaged_case_is_repaired_with_exit_code_0_and_then_verifies() {
    let place = Place::new();
    let mut repaired = 0;
    for item in fs::read_dir("tests/cases").unwrap() {
        let name = item.unwrap().file_name().into_string().unwrap();
        let Some(name) = name.strip_suffix(".jsonl") else {
            continue;
        };
        let file = place.case(name);
        let out = place.text(&format!("{name}.out"));
        let args = ["repair", &file, "-o", &out, "--relink"];
        if code(&run(&args)) == 0 {
            good(&["verify", &out]);
            repaired += 1;
        } else {
            assert!(["empty-file", "not-a-session", "version-99-codebot"].contains(&name));
        }
    }
    assert!(repaired >= 53, "{repaired}");
}

#[test]
fn with_json_repair_prints_one_object() {
    let place = Place::new();
    let (file, out) = (place.case("missing-parent-codebot"), place.text("out"));
    let done = object(&["repair", &file, "-o", &out, "--json"]);
    let fields = "path dropped_path format session_id lines bytes kept changed added dropped fixes fix_count";
    assert_eq!(keys(&done), sorted(fields));
    assert_eq!(done["path"], json!(out));
    assert_eq!(done["dropped_path"], json!(null));
    let fix = &done["fixes"][0];
    assert_eq!(keys(fix), ["action", "detail", "line", "offset"]);
    assert_eq!(fix["action"], "stand_in_made");
    let again = error(&["repair", &file, "-o", &out, "--json"]);
    assert_eq!(again["code"], "already_exists");
    let refused = error(&["repair", &place.case("version-99-codebot"), "--json"]);
    assert_eq!(refused["code"], "unsupported");
}

#[test]
fn a_log_without_damage_has_nothing_to_mend() {
    let place = Place::new();
    let file = place.case("plain-pi-v4");
    let answer = good(&["repair", &file]);
    assert!(answer.contains("nothing to mend"), "{answer}");
    assert_eq!(answer.lines().count(), 1);
    let copy = fs::read(format!("{file}.repaired")).unwrap();
    assert_eq!(copy, fs::read(&file).unwrap());
}

#[test]
fn a_sidecar_of_a_file_that_had_the_copys_name_before_is_gone() {
    let place = Place::new();
    let file = place.case("bad-line-mid-codebot");
    let stale = format!("{file}.repaired.idx");
    std::fs::write(&stale, b"leaflogI").unwrap();
    good(&["repair", &file]);
    assert!(!std::path::Path::new(&stale).exists());
    good(&["verify", &format!("{file}.repaired")]);
}
