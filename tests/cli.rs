//! The program as a user meets it: answers, exit codes, what it prints and what it never does. Runs
//! the built program on the cases and on sessions that it generates.

#![cfg(feature = "cli")]

#[path = "support/program.rs"]
mod support;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use serde_json::Value;

use support::{Place, code, error, good, keys, lines, object, program, run, sorted, text};

const HEADER: &str = concat!(
    r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-07-14T09:00:00Z","cwd":"/w"}"#,
    "\n"
);

#[test]
fn info_prints_the_stated_object() {
    let place = Place::new();
    let file = place.case("facts-records-pi-v4");
    let info = object(&["info", &file, "--json"]);
    assert_eq!(
        keys(&info),
        sorted(
            "format session_id cwd created parent name leaf lanes labels open_operations stats \
             entries records lines bytes index reports report_count"
        )
    );
    assert_eq!(info["format"], "pi-v4");
    assert_eq!(info["created"], "2026-07-14T09:00:00.000Z");
    assert_eq!(info["lanes"]["main"], "e4");
    assert_eq!(info["labels"]["e2"], "keep");
    assert_eq!(info["open_operations"]["main"][0], "op1");
    assert_eq!(info["index"]["state"], "none");
    assert_eq!(keys(&info["index"]), ["bytes", "reason", "state"]);
    assert_eq!(
        keys(&info["stats"]),
        sorted("message_count cached_tokens uncached_tokens total_tokens cost_total")
    );

    let damaged = object(&["info", &place.case("bad-line-mid-codebot"), "--json"]);
    assert_eq!(damaged["report_count"], 1);
    assert_eq!(
        keys(&damaged["reports"][0]),
        ["code", "detail", "line", "offset", "skipped"]
    );
    assert_eq!(damaged["reports"][0]["code"], "not_json");
}

#[test]
fn info_tells_people_about_lanes_kinds_and_damage() {
    let place = Place::new();
    let answer = good(&["info", &place.case("lanes-pi-v4")]);
    assert!(answer.contains("format          pi-v4\n"), "{answer}");
    assert!(answer.contains("lanes           main at "), "{answer}");
    assert!(answer.contains("kinds           message "), "{answer}");
    assert!(answer.contains("branches        "), "{answer}");
    let answer = good(&["info", &place.case("bad-line-mid-codebot")]);
    assert!(
        answer.contains("damage          1 report\n  line 4, byte 544: not_json, skipped"),
        "{answer}"
    );
}

#[test]
fn snapshot_prints_the_stated_object_with_messages_as_they_are_stored() {
    let place = Place::new();
    let message = r#"{"role":"user","content":"\ud800 \u00e9","n":1e999,"m":1.0,"big":123456789012345678901234567890, "x" : {}}"#;
    let entry = format!(
        r#"{{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-07-14T09:00:01Z","message":{message}}}"#
    );
    let file = place.file("s.jsonl", format!("{HEADER}{entry}\n"));
    for extra in [&[][..], &["--no-index"]] {
        let args = [&["snapshot", &file, "--json"], extra].concat();
        let answer = good(&args);
        assert!(
            answer.contains(&format!(r#""messages":[{message}]"#)),
            "{answer}"
        );
        assert_eq!(answer.lines().count(), 1);
    }
    let state = object(&[
        "snapshot",
        &place.case("state-survives-compaction-codebot"),
        "--json",
    ]);
    assert_eq!(
        keys(&state),
        sorted(
            "format session_id lane leaf name messages model reasoning_effort plan goal \
             active_tools path_entries salvaged"
        )
    );
    assert_eq!(keys(&state["model"]), ["model", "provider"]);
    assert_eq!(keys(&state["plan"]), ["phase", "pre_mode", "slug"]);
    assert!(state["goal"].is_object());
    assert_eq!(state["salvaged"], false);
}

#[test]
fn a_goal_keeps_its_spelling() {
    let place = Place::new();
    let log = concat!(
        r#"{"kind":"header","id":"h0","timestamp":"2026-07-14T09:00:00Z","data":{"version":3,"session_id":"a"}}"#,
        "\n",
        r#"{"kind":"goal_state","id":"1","parent_id":"h0","timestamp":"2026-07-14T09:00:01Z","data":{"n":1.50,"t":"\udfff"}}"#,
        "\n"
    );
    let answer = good(&["snapshot", &place.file("g.jsonl", log), "--json"]);
    assert!(
        answer.contains(r#""goal":{"n":1.50,"t":"\udfff"}"#),
        "{answer}"
    );
}

#[test]
fn snapshot_shows_people_a_header_and_a_line_a_message() {
    let place = Place::new();
    let file = place.case("plain-pi-v4");
    let answer = good(&["snapshot", &file]);
    let lines: Vec<&str> = answer.lines().collect();
    assert!(lines[0].starts_with("pi-v4 s4 at "), "{answer}");
    assert_eq!(
        &lines[1..],
        ["user: q1", "assistant: r1", "user: q2", "assistant: r2"]
    );
    let shorter = good(&["snapshot", &file, "--leaf", "e2"]);
    assert_eq!(shorter.lines().count(), 3);
}

#[test]
fn lanes_and_leaves_that_are_not_there_are_refused() {
    let place = Place::new();
    let v4 = place.case("lanes-pi-v4");
    assert_eq!(
        error(&["snapshot", &v4, "--lane", "no", "--json"])["code"],
        "invalid_lane"
    );
    assert_eq!(
        error(&["snapshot", &v4, "--leaf", "no", "--json"])["code"],
        "not_found"
    );
    assert_eq!(error(&["path", &v4, "no", "--json"])["code"], "not_found");
    let v3 = place.case("plain-pi-v3");
    assert_eq!(
        error(&["snapshot", &v3, "--lane", "main", "--json"])["code"],
        "unsupported"
    );
    assert_eq!(
        code(&run(&["snapshot", &v4, "--lane", "a", "--leaf", "b"])),
        2
    );
}

#[test]
fn path_prints_ids_from_the_root_one_a_line() {
    let place = Place::new();
    let file = place.case("plain-pi-v4");
    assert_eq!(good(&["path", &file]), "e1\ne2\ne3\ne4\n");
    assert_eq!(good(&["path", &file, "e2", "--no-index"]), "e1\ne2\n");
    let path = object(&["path", &file, "e3", "--json"]);
    assert_eq!(
        path,
        serde_json::json!({"leaf": "e3", "ids": ["e1", "e2", "e3"]})
    );
}

#[test]
fn a_broken_path_is_refused_and_cut_with_salvage_the_same_with_and_without_an_index() {
    let place = Place::new();
    let file = place.case("missing-parent-codebot");
    assert_eq!(error(&["path", &file, "--json"])["code"], "invalid_entry");
    let cut = object(&["path", &file, "--salvage", "--json"]);
    assert!(!cut["ids"].as_array().unwrap().is_empty());
    assert_eq!(
        cut,
        object(&["path", &file, "--salvage", "--json", "--no-index"])
    );
    let snapshot = object(&["snapshot", &file, "--salvage", "--json"]);
    assert_eq!(snapshot["salvaged"], true);
    assert_eq!(
        snapshot,
        object(&["snapshot", &file, "--salvage", "--json", "--no-index"])
    );
}

#[test]
fn a_log_without_its_header_opens_with_salvage_only() {
    let place = Place::new();
    let file = place.case("header-missing-codebot");
    for command in ["info", "snapshot", "path", "tree", "log"] {
        assert_eq!(
            error(&[command, &file, "--json"])["code"],
            "invalid_entry",
            "{command}"
        );
        good(&[command, &file, "--json", "--salvage"]);
    }
    good(&["show", &file, "00000001", "--salvage"]);
}

#[test]
fn show_prints_entries_and_records_pretty_raw_or_as_one_line() {
    let place = Place::new();
    let file = place.case("facts-records-pi-v4");
    let raw = good(&["show", &file, "u1", "--raw"]);
    let log = fs::read_to_string(&file).unwrap();
    assert!(log.contains(&raw) && raw.starts_with(r#"{"kind":"record","type":"usage""#));
    assert_eq!(good(&["show", &file, "u1", "--json"]), raw);
    let pretty = good(&["show", &file, "e1"]);
    assert!(
        pretty.starts_with("{\n  \"kind\": \"entry\",\n"),
        "{pretty}"
    );
    assert_eq!(
        error(&["show", &file, "nobody", "--json"])["code"],
        "not_found"
    );
    assert_eq!(code(&run(&["show", &file, "u1", "--raw", "--json"])), 2);
}

#[test]
fn log_prints_kept_lines_and_filters_by_number_and_kind() {
    let place = Place::new();
    let file = place.case("facts-records-pi-v4");
    let all = lines(&["log", &file, "--json"]);
    assert_eq!(all.len(), 11);
    let log = fs::read_to_string(&file).unwrap();
    for (line, object) in log
        .lines()
        .skip(1)
        .zip(good(&["log", &file, "--json"]).lines())
    {
        assert!(object.ends_with(&format!(",\"raw\":{line}}}")), "{object}");
    }
    assert_eq!(keys(&all[0]), sorted("seq kind id line offset raw"));
    assert_eq!(all[0]["line"], 2);
    assert_eq!(all[0]["offset"], log.find('\n').unwrap() + 1);
    let kinds = |args: &[&str]| -> Vec<String> {
        let args = [&["log", file.as_str(), "--json"], args].concat();
        let kinds = lines(&args).into_iter();
        kinds
            .map(|line| line["kind"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(kinds(&["--after", "8"]), ["fact/label"; 3]);
    assert_eq!(kinds(&["--kind", "fact/name"]), ["fact/name"; 2]);
    assert_eq!(
        kinds(&["--kind", "record", "--kind", "fact/name"]),
        [
            "record/operation_started",
            "record/usage",
            "fact/name",
            "fact/name"
        ]
    );
    let people = good(&["log", &file, "--kind", "message"]);
    assert!(
        people.lines().next().unwrap().ends_with("user: q1"),
        "{people}"
    );
}

#[test]
fn tree_folds_runs_and_marks_lanes_labels_and_the_leaf() {
    let place = Place::new();
    let file = place.case("facts-records-pi-v4");
    assert_eq!(
        good(&["tree", &file]),
        "e1 user\ne2 assistant \"keep\"\ne3 user\ne4 assistant [main] ← leaf\n"
    );
    let tree = object(&["tree", &file, "--json"]);
    assert_eq!(keys(&tree), ["leaf", "nodes"]);
    assert_eq!(
        tree["nodes"][1],
        serde_json::json!({"id": "e2", "parent": "e1", "role": "assistant", "kind": "message",
            "label": "keep", "lanes": [], "leaf": false})
    );
    assert_eq!(tree["nodes"][3]["lanes"], serde_json::json!(["main"]));
    assert_eq!(tree["nodes"][3]["leaf"], true);
    assert!(tree["nodes"][0]["parent"].is_null());

    let branches = good(&["tree", &place.case("branch-codebot")]);
    assert!(branches.contains("├─"), "{branches}");
    let long = good(&["tree", &place.generated("g.jsonl", "2000")]);
    assert!(
        long.contains(" entries") && long.lines().count() < 100,
        "{long}"
    );
    let cycle = good(&["tree", &place.case("cycle-codebot")]);
    assert!(cycle.contains("its parents lead back to it"), "{cycle}");
}

#[test]
fn verify_fails_only_where_something_is_wrong() {
    let place = Place::new();
    let (fine, damaged) = (
        place.case("plain-pi-v4"),
        place.case("bad-line-mid-codebot"),
    );
    let object = object(&["verify", &fine, "--json"]);
    assert_eq!(
        keys(&object),
        sorted(
            "path ok lines bytes entries leaves index_checked reports report_count problems \
             problem_count"
        )
    );
    assert_eq!(
        (&object["ok"], &object["index_checked"]),
        (&Value::Bool(true), &Value::Bool(false))
    );
    let output = run(&["verify", &damaged, &fine, "--json"]);
    assert_eq!(code(&output), 1);
    let answers = text(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let ok: Vec<bool> = answers.map(|answer: Value| answer["ok"] == true).collect();
    assert_eq!(ok, [false, true]);
    assert_eq!(code(&run(&["verify", &damaged])), 1);
}

#[test]
fn verify_checks_the_index_and_notices_one_that_was_of_no_use() {
    let place = Place::new();
    let file = place.generated("g.jsonl", "500");
    good(&["index", &file]);
    assert_eq!(object(&["verify", &file, "--json"])["index_checked"], true);
    let index = place.path("g.jsonl.idx");
    let mut bytes = fs::read(&index).unwrap();
    bytes[0] ^= 0x5a;
    fs::write(&index, bytes).unwrap();
    let output = run(&["verify", &file, "--json"]);
    assert_eq!(code(&output), 1);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["problems"][0]["place"], "index");
}

#[test]
fn index_says_rebuilt_fresh_and_extended() {
    let place = Place::new();
    let file = place.case("plain-pi-v3");
    let built = object(&["index", &file, "--json"]);
    assert_eq!(
        keys(&built),
        sorted("path state reason lines_read bytes index_path")
    );
    assert_eq!(built["state"], "rebuilt");
    assert_eq!(built["index_path"], format!("{file}.idx"));
    assert_eq!(object(&["index", &file, "--json"])["state"], "fresh");
    let line = r#"{"type":"message","id":"0000000a","parentId":"00000004","timestamp":"2026-07-14T09:01:00Z","message":{"role":"user","content":"more"}}"#;
    let mut log = fs::read(&file).unwrap();
    log.extend_from_slice(format!("{line}\n").as_bytes());
    fs::write(&file, log).unwrap();
    let answer = good(&["index", &file]);
    assert!(answer.contains(": extended by 1 line (index "), "{answer}");
    assert_eq!(
        object(&["info", &file, "--json"])["index"]["state"],
        "fresh"
    );
}

#[test]
fn sidecars_go_where_they_are_asked_to_and_nowhere_with_no_index() {
    let place = Place::new();
    let file = place.case("plain-pi-v3");
    fs::create_dir(place.path("elsewhere")).unwrap();
    let elsewhere = place.text("elsewhere");
    let built = object(&["index", &file, "--index-dir", &elsewhere, "--json"]);
    assert!(
        built["index_path"]
            .as_str()
            .unwrap()
            .starts_with(&elsewhere)
    );
    let state =
        |args: &[&str]| object(&[&["info", &file, "--json"], args].concat())["index"].clone();
    assert_eq!(state(&["--index-dir", &elsewhere])["state"], "fresh");
    assert_eq!(state(&[])["state"], "none");
    let none = state(&["--no-index", "--index-dir", &elsewhere]);
    assert_eq!(
        (&none["state"], &none["bytes"]),
        (&Value::from("none"), &Value::from(0))
    );
    assert_eq!(place.names(), ["elsewhere", "plain-pi-v3.jsonl"]);
}

#[test]
fn several_files_go_on_after_one_that_fails() {
    let place = Place::new();
    let (one, two) = (place.case("plain-pi-v3"), place.case("plain-codebot"));
    let output = run(&["index", &one, "no/such/file", &two]);
    assert_eq!(code(&output), 1);
    assert_eq!(text(&output.stdout).lines().count(), 2);
    assert!(text(&output.stderr).starts_with("leaflog: no/such/file: "));
}

#[test]
fn exit_codes_tell_done_failed_and_wrong_usage_apart() {
    let place = Place::new();
    let file = place.case("plain-pi-v3");
    for args in [
        &["--help"][..],
        &["--version"],
        &["info", &file],
        &["help", "ls"],
    ] {
        assert_eq!(code(&run(args)), 0, "{args:?}");
    }
    for args in [&["info", "no/such/file"][..], &["ls", "no/such/folder"]] {
        let output = run(args);
        assert_eq!(code(&output), 1, "{args:?}");
        assert!(output.stdout.is_empty());
        assert!(
            text(&output.stderr).starts_with("leaflog: no/such/"),
            "{args:?}"
        );
    }
    for args in [
        &[][..],
        &["frobnicate"],
        &["info"],
        &["index"],
        &["info", &file, "--frob"],
        &["gen", "x"],
        &["demo", "--entries", "0"],
        &["completions", "tcsh"],
    ] {
        let output = run(args);
        assert_eq!(code(&output), 2, "{args:?}");
        assert!(output.stdout.is_empty(), "{args:?}");
    }
}

#[test]
fn failures_are_objects_where_json_is_asked_for() {
    let missing = error(&["info", "no/such/file", "--json"]);
    assert_eq!(missing["code"], "not_found");
    assert_eq!(missing["path"], "no/such/file");
    assert!(missing["line"].is_null() && missing["offset"].is_null());
    for command in ["snapshot", "path", "log", "tree", "verify", "index", "ls"] {
        assert_eq!(
            error(&[command, "no/such/file", "--json"])["code"],
            "not_found",
            "{command}"
        );
    }
}

#[test]
fn strict_refusals_carry_line_and_offset() {
    let place = Place::new();
    let file = place.case("bad-line-mid-codebot");
    for command in ["info", "snapshot", "path", "log", "tree", "index"] {
        let error = error(&[command, &file, "--strict", "--json"]);
        assert_eq!(error["code"], "invalid_entry", "{command}");
        assert_eq!(
            (&error["line"], &error["offset"]),
            (&Value::from(4), &Value::from(544))
        );
    }
    let replayed = error(&["info", &file, "--strict", "--json", "--no-index"]);
    assert_eq!(replayed["line"], 4);
    good(&["info", &place.case("plain-codebot"), "--strict"]);
}

#[test]
fn damage_is_a_short_warning_and_no_failure() {
    let place = Place::new();
    let file = place.case("bad-line-mid-codebot");
    let output = run(&["snapshot", &file]);
    assert_eq!(code(&output), 0);
    assert_eq!(
        text(&output.stderr),
        format!("leaflog: {file}: 1 damaged line was read around (leaflog info shows them)\n")
    );
    assert!(run(&["snapshot", &file, "--json"]).stderr.is_empty());
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let place = Place::new();
    let file = place.generated("g.jsonl", "20000");
    good(&["index", &file]);
    for args in [
        &["log", &file][..],
        &["log", &file, "--json"],
        &["snapshot", &file, "--json", "--leaf", "nobody"],
        &["path", &file],
        &["tree", &file, "--json"],
        &["gen", "-", "--entries", "20000"],
        &["man"],
        &["completions", "bash"],
    ] {
        let mut child = program()
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut complaints = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut complaints)
            .unwrap();
        let status = child.wait().unwrap();
        // A failure that nobody listens to is still one.
        let expected = i32::from(args.contains(&"nobody"));
        assert_eq!(status.code(), Some(expected), "{args:?}: {complaints}");
        assert_eq!(complaints, "", "{args:?}");
    }
}

#[test]
fn a_reader_that_stops_after_a_line_has_got_that_line() {
    let place = Place::new();
    let file = place.generated("g.jsonl", "5000");
    let mut child = program()
        .args(["log", &file, "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut answers = BufReader::new(child.stdout.take().unwrap());
    answers.read_line(&mut line).unwrap();
    drop(answers);
    assert!(line.starts_with(r#"{"seq":1,"#), "{line}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_under_the_answers_is_a_failure() {
    let place = Place::new();
    let file = place.case("plain-pi-v3");
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let output = program()
        .args(["info", &file])
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(code(&output), 1);
    assert!(text(&output.stderr).starts_with("leaflog: cannot write to standard output"));
}

#[test]
fn control_characters_of_a_session_never_reach_a_terminal() {
    let place = Place::new();
    let evil = "\\u001b]0;x\\u0007\\r\\u009b31m\u{7f}\u{202e}\u{2066}\u{9b}";
    let entry = |id: &str, parent: &str, rest: &str| {
        format!(
            "{{\"kind\":\"entry\",\"lane\":\"main\",\"id\":\"{id}\",\"parentId\":{parent},{rest},\"timestamp\":1784019601000}}\n"
        )
    };
    let log = [
        format!("{{\"kind\":\"header\",\"version\":4,\"id\":\"s{evil}\",\"createdAt\":1784019600000,\"cwd\":\"/{evil}\"}}\n"),
        entry(&format!("a{evil}"), "null", &format!("\"type\":\"message\",\"seq\":1,\"message\":{{\"role\":\"user\",\"content\":\"hi{evil}\"}}")),
        entry("b", &format!("\"a{evil}\""), &format!("\"type\":\"odd{evil}\",\"seq\":2,\"x{evil}\":\"{evil}\"")),
        format!("{{\"kind\":\"fact\",\"seq\":3,\"fact\":\"label\",\"targetId\":\"b\",\"label\":\"l{evil}\"}}\n"),
        format!("{{\"kind\":\"fact\",\"seq\":4,\"fact\":\"name\",\"name\":\"n{evil}\"}}\n"),
        format!("{{\"kind\":\"lane\",\"seq\":5,\"lane\":\"lane{evil}\",\"leafId\":\"b\"}}\n"),
        format!("broken {evil}\n"),
    ]
    .concat();
    let file = place.file("s.jsonl", log);
    for args in [
        &["info", &file][..],
        &["info", &file, "--no-index"],
        &["snapshot", &file],
        &["path", &file],
        &["show", &file, "b"],
        &["log", &file],
        &["tree", &file],
        &["verify", &file],
        &["ls", &file],
        &["snapshot", &file, "--leaf", "\u{1b}[31m"],
    ] {
        let output = run(args);
        for (name, bytes) in [("out", &output.stdout), ("err", &output.stderr)] {
            let bad = text(bytes).chars().find(|c| {
                (c.is_control() && *c != '\n')
                    || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            });
            assert_eq!(bad, None, "{args:?} {name}");
        }
        assert!(output.stdout.len() + output.stderr.len() > 1);
    }
    let raw = run(&["show", &file, "b", "--raw"]).stdout;
    assert!(text(&raw).contains('\u{202e}') && text(&raw).contains('\u{7f}'));
    assert!(good(&["snapshot", &file, "--json"]).contains('\u{202e}'));
}

#[test]
fn colours_are_for_terminals_or_when_asked_for() {
    let place = Place::new();
    let file = place.case("facts-records-pi-v4");
    assert!(!good(&["tree", &file]).contains('\u{1b}'));
    assert!(good(&["tree", &file, "--color", "always"]).contains("\u{1b}["));
    assert!(!good(&["tree", &file, "--color", "always", "--json"]).contains('\u{1b}'));
}

#[test]
fn no_command_changes_a_log() {
    let place = Place::new();
    let names = [
        "facts-records-pi-v4",
        "torn-tail-codebot",
        "nul-line-pi-v3",
        "v1-pi",
    ];
    for name in names {
        let file = place.case(name);
        let before = fs::read(&file).unwrap();
        for index in [&[][..], &["--no-index"]] {
            for command in ["info", "snapshot", "path", "log", "tree", "verify", "ls"] {
                for json in [&[][..], &["--json"]] {
                    run(&[&[command, file.as_str()], index, json].concat());
                }
            }
            run(&[&["show", &file, "00000001"], index].concat());
        }
        run(&["index", &file]);
        run(&["gen", &file, "--entries", "3"]);
        assert_eq!(fs::read(&file).unwrap(), before, "{name}");
    }
}

#[cfg(unix)]
#[test]
fn ls_lists_sessions_newest_first_and_warns_of_odd_files() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let place = Place::new();
    place.case("plain-pi-v3");
    place.case("torn-tail-codebot");
    fs::create_dir(place.path("inner")).unwrap();
    fs::rename(
        place.case("facts-records-pi-v4"),
        place.path("inner/v4.jsonl"),
    )
    .unwrap();
    fs::create_dir(place.path("folder.jsonl")).unwrap();
    place.file("binary.jsonl", [0u8, 255, 10, 13, 200]);
    place.file("notes.txt", "no session");
    symlink(place.path("nowhere"), place.path("dangling.jsonl")).unwrap();
    let fifo = Command::new("mkfifo")
        .arg(place.path("pipe.jsonl"))
        .status();
    assert!(fifo.unwrap().success());
    let secret = place.case("plain-codebot");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o000)).unwrap();
    let readable_all_the_same = fs::File::open(&secret).is_ok();

    let folder = place.text("");
    let output = run(&["ls", &folder, "--json"]);
    assert_eq!(code(&output), 0);
    let rows: Vec<Value> = text(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(rows.len(), 3 + usize::from(readable_all_the_same));
    for row in &rows {
        assert_eq!(
            keys(row),
            sorted("id path format cwd name title created updated message_count bytes damaged")
        );
    }
    let updated: Vec<&str> = rows
        .iter()
        .map(|row| row["updated"].as_str().unwrap())
        .collect();
    assert!(
        updated.is_sorted_by(|one, other| one >= other),
        "{updated:?}"
    );
    let damaged: Vec<&Value> = rows.iter().filter(|row| row["damaged"] == true).collect();
    assert_eq!(damaged.len(), 1);
    assert!(
        damaged[0]["path"]
            .as_str()
            .unwrap()
            .ends_with("torn-tail-codebot.jsonl")
    );
    let warnings = text(&output.stderr);
    for odd in [
        "folder.jsonl",
        "binary.jsonl",
        "dangling.jsonl",
        "pipe.jsonl",
    ] {
        assert!(warnings.contains(odd), "{odd}: {warnings}");
    }
    assert_eq!(warnings.contains("plain-codebot"), !readable_all_the_same);
    assert!(!warnings.contains("notes.txt"));

    let people = good(&["ls", &folder]);
    assert!(people.starts_with("updated (UTC)"), "{people}");
    assert_eq!(people.lines().count(), rows.len() + 1);
}

#[test]
fn ls_takes_single_logs_and_several_folders() {
    let place = Place::new();
    let file = place.case("facts-records-pi-v4");
    let one = lines(&["ls", &file, "--json"]);
    assert_eq!(one[0]["title"], "Second");
    assert_eq!(
        one,
        lines(&["ls", place.path("").to_str().unwrap(), "--json"])
            .iter()
            .map(|row| {
                let mut row = row.clone();
                row["path"] = Value::from(file.clone());
                row
            })
            .collect::<Vec<_>>()
    );
    let output = run(&["ls", "no/such", &file, "--json"]);
    assert_eq!(code(&output), 1);
    assert_eq!(text(&output.stdout).lines().count(), 2);
    fs::create_dir(place.path("empty")).unwrap();
    assert_eq!(good(&["ls", &place.text("empty")]), "");
}

#[test]
fn ls_shows_the_file_that_other_commands_take() {
    let place = Place::new();
    fs::create_dir(place.path("--work--")).unwrap();
    fs::rename(
        place.case("facts-records-pi-v4"),
        place.path("--work--/a b.jsonl"),
    )
    .unwrap();
    place.case("plain-pi-v3");
    let here = |args: &[&str], columns: &str| {
        let mut program = program();
        program.args(args).current_dir(place.path(""));
        let output = program.env("COLUMNS", columns).output().unwrap();
        assert_eq!(code(&output), 0, "{}", text(&output.stderr));
        text(&output.stdout).to_owned()
    };
    let wide = here(&["ls"], "200");
    assert!(wide.contains(" './--work--/a b.jsonl'  "), "{wide}");
    assert!(wide.contains(" plain-pi-v3.jsonl  "), "{wide}");
    here(&["path", "./--work--/a b.jsonl"], "200");
    here(&["path", "plain-pi-v3.jsonl"], "200");
    // The file stands whole, the title has what is left, the others give way.
    let narrow = here(&["ls"], "60");
    let head = narrow.lines().next().unwrap();
    assert!(head.ends_with("title") && !head.contains("cwd"), "{narrow}");
    let most = "2026-07-14 09:00:00        9       9 KiB  './--work--/a b.jsonl'  ".len() + 20;
    assert!(
        narrow.lines().all(|row| row.chars().count() <= most),
        "{narrow}"
    );
    let folder = place.text("");
    let elsewhere = good(&["ls", &folder]);
    assert!(
        elsewhere.contains(&place.text("plain-pi-v3.jsonl")),
        "{elsewhere}"
    );
}

#[test]
fn ls_lists_a_session_once_however_often_it_is_named() {
    let place = Place::new();
    let file = place.case("plain-pi-v3");
    place.file("binary.jsonl", [0u8, 255, 10, 13, 200]);
    let folder = place.text("");
    let again = place.text(".");
    let output = run(&["ls", &folder, &folder, &again, &file, "--json"]);
    assert_eq!(code(&output), 0);
    assert_eq!(text(&output.stdout).lines().count(), 1);
    assert_eq!(text(&output.stderr).lines().count(), 1);
}

#[test]
fn log_warns_of_a_kind_that_no_line_has() {
    let place = Place::new();
    let file = place.case("facts-records-pi-v4");
    let output = run(&["log", &file, "--kind", "compactoin", "--kind", "message"]);
    assert_eq!(code(&output), 0);
    let warnings = text(&output.stderr);
    assert_eq!(warnings.lines().count(), 1, "{warnings}");
    for part in ["`compactoin`", "message", "fact/name"] {
        assert!(warnings.contains(part), "{part}: {warnings}");
    }
    assert!(text(&output.stdout).contains(" message "));
    let output = run(&["log", &file, "--kind", "fact", "--after", "9999"]);
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn info_says_of_what_the_size_of_an_index_is() {
    let place = Place::new();
    let file = place.case("plain-codebot");
    let small = good(&["info", &file]);
    assert!(small.contains("KiB in memory)"), "{small}");
    assert!(!small.contains("tokens"), "{small}");
    good(&["index", &file]);
    assert!(!good(&["info", &file]).contains("in memory"));
}

#[test]
fn gen_writes_the_same_bytes_each_time_and_over_no_file() {
    let place = Place::new();
    for format in ["codebot-v3", "pi-v1", "pi-v2", "pi-v3", "pi-v4"] {
        let (one, two) = (
            place.text(&format!("{format}.a")),
            place.text(&format!("{format}.b")),
        );
        let args = [
            "--entries",
            "300",
            "--format",
            format,
            "--compact-every",
            "50",
            "--seed",
            "7",
        ];
        let written = object(&[&["gen", &one, "--json"], &args[..]].concat());
        assert_eq!(
            keys(&written),
            sorted("path format entries lines bytes leaf")
        );
        good(&[&["gen", two.as_str()], &args[..]].concat());
        let bytes = fs::read(&one).unwrap();
        assert_eq!(bytes, fs::read(&two).unwrap());
        assert_eq!(bytes, run(&[&["gen", "-"], &args[..]].concat()).stdout);
        assert_eq!(written["bytes"], bytes.len());
        let info = object(&["info", &one, "--json"]);
        assert_eq!(
            (&info["format"], &info["leaf"]),
            (&written["format"], &written["leaf"])
        );
        assert_eq!(info["report_count"], 0);
        assert_eq!(
            error(&[&["gen", &one, "--json"], &args[..]].concat())["code"],
            "already_exists"
        );
        assert_eq!(bytes, fs::read(&one).unwrap());
    }
}

#[test]
fn demo_compares_both_ways_and_leaves_nothing_behind() {
    let place = Place::new();
    let demo = |args: &[&str]| {
        let output = program()
            .args(args)
            .env("TMPDIR", place.path(""))
            .output()
            .unwrap();
        assert_eq!(code(&output), 0, "{}", text(&output.stderr));
        text(&output.stdout).to_owned()
    };
    let measured: Value =
        serde_json::from_str(&demo(&["demo", "--entries", "2000", "--json"])).unwrap();
    assert_eq!(
        keys(&measured),
        sorted(
            "entries log_bytes replay_ms index_build_ms index_bytes resume_ms ratio \
             live_messages live_message_bytes log_bytes_read index_bytes_read path"
        )
    );
    let live = measured["live_messages"].as_u64().unwrap();
    assert!((150..=250).contains(&live), "{live}");
    assert!(measured["path"].is_null());
    assert!(place.names().is_empty());
    let people = demo(&["demo", "--entries", "2000", "--keep"]);
    assert!(
        people.contains("full replay") && people.contains("times as fast"),
        "{people}"
    );
    assert_eq!(place.names().len(), 1);
    assert!(people.contains(&place.names()[0]));
}

#[test]
fn completions_and_the_manual_name_every_command() {
    let manual = good(&["man"]);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = good(&["completions", shell]);
        for command in [
            "demo", "gen", "index", "info", "snapshot", "path", "show", "log", "tree", "ls",
            "verify",
        ] {
            assert!(script.contains(command), "{shell} {command}");
            assert!(manual.contains(&format!("LEAFLOG {}", command.to_uppercase())));
        }
    }
    assert!(manual.contains("\\-\\-compact\\-every"), "{manual}");
}

#[test]
fn every_command_explains_itself() {
    for command in [
        "demo",
        "gen",
        "index",
        "info",
        "snapshot",
        "path",
        "show",
        "log",
        "tree",
        "ls",
        "verify",
        "completions",
        "man",
    ] {
        let help = good(&[command, "--help"]);
        assert!(help.contains("Usage: leaflog"), "{command}");
    }
}
