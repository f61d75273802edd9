//! The commands that write, as a user meets them: what they append and make, what they refuse, and
//! what a reader that follows a log sees of it. Runs the built program.

#![cfg(feature = "cli")]

#[path = "support/program.rs"]
mod support;

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::{Place, code, error, good, keys, lines, object, program, run, sorted, text};

const USER: &str = r#"{"message":{"role":"user","content":"and now?"}}"#;

/// A case of each format that can be written, what a message of it is, and an id for it.
const FORMATS: [(&str, &str, &str); 3] = [
    ("plain-pi-v4", USER, "n1"),
    ("plain-pi-v3", USER, "0000c0de"),
    (
        "plain-codebot",
        r#"{"role":"user","content":[{"type":"text","text":"and now?"}]}"#,
        "0000c0de",
    ),
];

fn leaf(file: &str) -> String {
    let info = object(&["info", file, "--json"]);
    info["leaf"].as_str().unwrap().to_owned()
}

#[test]
fn an_appended_message_is_the_last_one_of_the_next_snapshot() {
    for (case, data, id) in FORMATS {
        let place = Place::new();
        let file = place.case(case);
        let before = object(&["snapshot", &file, "--json"]);
        let bytes = fs::read(&file).unwrap();
        let args = ["append", &file, "--kind", "message", "--data", data];
        assert_eq!(
            good(&[&args[..], &["--id", id]].concat()),
            format!("{id}\n")
        );
        let after = object(&["snapshot", &file, "--json"]);
        assert_eq!(after["leaf"], id);
        let (old, new) = (&before["messages"], after["messages"].as_array().unwrap());
        assert_eq!(new[..new.len() - 1], old.as_array().unwrap()[..]);
        assert!(new.last().unwrap().to_string().contains("and now?"));

        let stored = object(&[&args[..], &["--json", "--no-index"]].concat());
        assert_eq!(
            keys(&stored),
            sorted("path session_id id kind parent lane seq offset")
        );
        assert_eq!(
            (&stored["parent"], &stored["kind"]),
            (&json!(id), &json!("message"))
        );
        let lane = if case.ends_with("v4") {
            json!("main")
        } else {
            Value::Null
        };
        assert_eq!(stored["lane"], lane);
        let written = fs::read(&file).unwrap();
        assert_eq!(written[..bytes.len()], bytes);
        let offset = usize::try_from(stored["offset"].as_u64().unwrap()).unwrap();
        let line: Value = serde_json::from_slice(&written[offset..]).unwrap();
        assert_eq!(line["id"], stored["id"]);
        let listed = lines(&["log", &file, "--json"]);
        assert_eq!(listed.last().unwrap()["seq"], stored["seq"]);
        good(&["verify", &file]);
        // Small logs get no sidecar, and nothing else is left beside the log.
        assert_eq!(place.names().len(), 1);
    }
}

#[test]
fn data_comes_from_standard_input_too() {
    let place = Place::new();
    let file = place.case("plain-pi-v4");
    let mut child = program()
        .args(["append", &file, "--kind", "message", "--data", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Line breaks between fields are none in the log.
    let data = USER.replace(',', ",\n  ");
    child
        .stdin
        .take()
        .unwrap()
        .write_all(data.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 0);
    assert_eq!(text(&output.stdout).trim_end(), leaf(&file));
}

#[test]
fn without_data_an_entry_has_no_fields_of_its_own() {
    let place = Place::new();
    let file = place.case("plain-codebot");
    let stored = object(&["append", &file, "--kind", "goal_state", "--json"]);
    let shown = object(&["show", &file, stored["id"].as_str().unwrap(), "--json"]);
    assert_eq!(shown["data"], json!({}));
}

#[test]
fn an_entry_can_go_on_from_an_earlier_one_in_every_format() {
    for (case, data, _) in FORMATS {
        let place = Place::new();
        let file = place.case(case);
        let path = object(&["path", &file, "--json"])["ids"].clone();
        let at = path[1].as_str().unwrap();
        let args = [
            "append", &file, "--kind", "message", "--data", data, "--at", at,
        ];
        let stored = object(&[&args[..], &["--json"]].concat());
        assert_eq!(stored["parent"], at);
        let new = stored["id"].as_str().unwrap();
        let expected = json!([path[0], at, new]);
        assert_eq!(object(&["path", &file, "--json"])["ids"], expected);
        let moved = lines(&["log", &file, "--kind", "lane", "--json"]).len();
        assert_eq!(moved, usize::from(case.ends_with("v4")));
        good(&["verify", &file]);
    }
}

#[test]
fn what_is_refused_leaves_the_log_as_it_was() {
    for (case, data, id) in FORMATS {
        let place = Place::new();
        let file = place.case(case);
        let bytes = fs::read(&file).unwrap();
        let own = leaf(&file);
        let refused = |extra: &[&str]| {
            let args = ["append", &file, "--kind", "message", "--json"];
            let error = error(&[&args[..], extra].concat());
            assert_eq!(error["path"], file.as_str(), "{extra:?}");
            assert_eq!(fs::read(&file).unwrap(), bytes, "{extra:?}");
            error["code"].as_str().unwrap().to_owned()
        };
        assert_eq!(refused(&["--data", "[1]"]), "invalid_payload");
        assert_eq!(refused(&["--data", "{"]), "invalid_payload");
        assert_eq!(refused(&["--data", data, "--lane", "no"]), "invalid_lane");
        assert_eq!(refused(&["--data", data, "--at", "ffffffff"]), "not_found");
        assert_eq!(refused(&["--data", "[]", "--at", &own]), "invalid_payload");
        if case != "plain-pi-v3" {
            let taken = if case.ends_with("v4") {
                own
            } else {
                id.to_owned()
            };
            if case.ends_with("v4") {
                let at = ["--data", data, "--id", &taken, "--at", &taken];
                assert_eq!(refused(&at), "already_exists");
                assert_eq!(refused(&["--data", data, "--id", &taken]), "already_exists");
            }
        }
        assert_eq!(place.names().len(), 1);
    }
}

#[test]
fn appending_needs_a_session_that_can_be_written() {
    let place = Place::new();
    let missing = place.text("no.jsonl");
    let args = |file: &str| {
        error(&[
            "append", file, "--kind", "message", "--data", USER, "--json",
        ])
    };
    let error = args(&missing);
    assert_eq!(error["code"], "not_found");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("--create FORMAT")
    );
    assert!(place.names().is_empty());
    for case in ["migration-pi-v1", "migration-pi-v2"] {
        let file = place.text("old.jsonl");
        let format = case.trim_start_matches("migration-");
        good(&["gen", &file, "--entries", "5", "--format", format]);
        let error = args(&file);
        assert_eq!(error["code"], "unsupported");
        assert!(error["message"].as_str().unwrap().contains("convert"));
        fs::remove_file(&file).unwrap();
    }
}

#[test]
fn a_torn_last_line_is_kept_beside_and_cut_off_at_the_first_append() {
    let place = Place::new();
    let torn = place.case("plain-pi-v4");
    let bytes = fs::read(&torn).unwrap();
    fs::write(&torn, &bytes[..bytes.len() - 5]).unwrap();
    let strict = ["append", &torn, "--kind", "custom", "--strict", "--json"];
    assert_eq!(support::error(&strict)["code"], "invalid_entry");
    let unnamed = r#"{"customType":"x"}"#;
    good(&["append", &torn, "--kind", "custom", "--data", unnamed]);
    good(&["verify", &torn]);
    let names = place.names();
    assert!(
        names.iter().any(|name| name.contains(".torn-")),
        "{names:?}"
    );
}

#[test]
fn a_session_can_begin_with_its_first_entry() {
    let place = Place::new();
    for (format, (_, data, _)) in ["pi-v4", "pi-v3", "codebot-v3"].iter().zip(FORMATS) {
        let file = place.text(&format!("{format}.jsonl"));
        let make = ["append", &file, "--create", format, "--json", "--kind"];
        let bad = [&make[..], &["message", "--data", "[]"]].concat();
        assert_eq!(error(&bad)["code"], "invalid_payload");
        assert!(!place.path(&format!("{format}.jsonl")).exists());
        let good_args = [&make[..], &["message", "--data", data, "--cwd", "/work"]].concat();
        let stored = object(&good_args);
        let info = object(&["info", &file, "--json"]);
        assert_eq!(info["format"], *format);
        assert_eq!(
            (&info["cwd"], &info["leaf"]),
            (&json!("/work"), &stored["id"])
        );
        assert_eq!(info["session_id"], stored["session_id"]);
        good(&["verify", &file]);
        let bytes = fs::read(&file).unwrap();
        assert_eq!(error(&good_args)["code"], "already_exists");
        assert_eq!(fs::read(&file).unwrap(), bytes);
    }
    let file = place.text("setup.jsonl");
    let model = r#"{"provider":"p","modelId":"m"}"#;
    let make = ["append", &file, "--create", "pi-v3", "--json"];
    let setup = [&make[..], &["--kind", "model_change", "--data", model]].concat();
    assert_eq!(error(&setup)["code"], "unsupported");
    assert_eq!(place.names().len(), 3);
    let odd = run(&["append", &file, "--kind", "message", "--cwd", "/work"]);
    assert_eq!(code(&odd), 2);
}

#[test]
fn records_go_to_their_lane_in_pi_v4_only() {
    let place = Place::new();
    let file = place.case("plain-pi-v4");
    let start = r#"{"sourceLeafId":null,"intent":{"kind":"run"}}"#;
    let args = ["--record", "--kind", "operation_started", "--data", start];
    let args = [&args[..], &["--id", "op1", "--json"]].concat();
    let stored = object(&[&["append", &file], &args[..]].concat());
    assert_eq!(
        (&stored["id"], &stored["lane"]),
        (&json!("op1"), &json!("main"))
    );
    let info = object(&["info", &file, "--json"]);
    assert_eq!(info["open_operations"]["main"], json!(["op1"]));
    let again = args
        .iter()
        .map(|arg| if *arg == "op1" { "op2" } else { arg });
    let again: Vec<&str> = ["append", &file].into_iter().chain(again).collect();
    assert_eq!(error(&again)["code"], "storage");
    let v3 = place.case("plain-pi-v3");
    let refused = error(&[&["append", &v3], &args[..]].concat());
    assert_eq!(refused["code"], "unsupported");
}

#[test]
fn a_log_that_another_process_writes_is_locked() {
    let place = Place::new();
    let file = place.case("plain-pi-v4");
    let writer = leaflog::OpenOptions::new().write(true).open(&file).unwrap();
    let bytes = fs::read(&file).unwrap();
    for args in [
        &[
            "append", &file, "--kind", "message", "--data", USER, "--json",
        ][..],
        &["branch", &file, "e2", "--json"],
    ] {
        assert_eq!(error(args)["code"], "locked");
    }
    assert_eq!(fs::read(&file).unwrap(), bytes);
    // Who only reads is not kept out.
    good(&["fork", &file, "-o", &place.text("fork.jsonl")]);
    drop(writer);
    good(&["append", &file, "--kind", "message", "--data", USER]);
}

#[test]
fn appends_of_many_processes_make_one_sound_log() {
    let place = Place::new();
    let file = place.case("plain-pi-v4");
    let appended: usize = std::thread::scope(|scope| {
        let racers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let args = [
                        "append", &file, "--kind", "message", "--data", USER, "--json",
                    ];
                    let outputs = (0..5).map(|_| run(&args));
                    let (good, bad): (Vec<_>, Vec<_>) = outputs.partition(|one| code(one) == 0);
                    for output in bad {
                        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
                        assert_eq!(value["error"]["code"], "locked");
                    }
                    good.len()
                })
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).sum()
    });
    assert!(appended > 0);
    good(&["verify", &file, "--strict"]);
    let path = object(&["path", &file, "--json"]);
    assert_eq!(path["ids"].as_array().unwrap().len(), 4 + appended);
}

#[test]
fn branch_moves_lanes_and_makes_them() {
    let place = Place::new();
    let file = place.case("plain-pi-v4");
    assert_eq!(good(&["branch", &file, "e2"]), "main at e2 (was e4)\n");
    assert_eq!(good(&["path", &file]), "e1\ne2\n");
    let made = object(&["branch", &file, "e3", "--lane", "side", "--new", "--json"]);
    let expected = json!({"path": file, "lane": "side", "leaf": "e3", "before": null});
    assert_eq!(made, expected);
    let args = ["append", &file, "--kind", "message", "--data", USER];
    let stored = object(&[&args[..], &["--lane", "side", "--json"]].concat());
    assert_eq!(
        (&stored["lane"], &stored["parent"]),
        (&json!("side"), &json!("e3"))
    );
    let info = object(&["info", &file, "--json"]);
    assert_eq!(info["lanes"], json!({"main": "e2", "side": stored["id"]}));
    good(&["verify", &file]);

    let bytes = fs::read(&file).unwrap();
    for (args, refused) in [
        (&["nothing"][..], "not_found"),
        (&["e1", "--lane", "no"], "invalid_lane"),
        (&["e1", "--lane", "side", "--new"], "already_exists"),
    ] {
        let error = error(&[&["branch", &file, "--json"], args].concat());
        assert_eq!(error["code"], refused);
        assert_eq!(error["path"], file.as_str());
    }
    assert_eq!(fs::read(&file).unwrap(), bytes);
}

#[test]
fn branch_says_what_to_do_where_the_format_has_no_lanes() {
    let place = Place::new();
    for case in ["plain-pi-v3", "plain-codebot"] {
        let file = place.case(case);
        let bytes = fs::read(&file).unwrap();
        let error = error(&["branch", &file, &leaf(&file), "--json"]);
        assert_eq!(error["code"], "unsupported");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("leaflog append FILE --at ID"), "{message}");
        assert_eq!(fs::read(&file).unwrap(), bytes);
    }
}

#[test]
fn a_fork_is_a_sound_session_of_its_own() {
    for (case, _, _) in FORMATS {
        let place = Place::new();
        let file = place.case(case);
        let source = fs::read(&file).unwrap();
        let snapshot = object(&["snapshot", &file, "--json"]);
        let own = leaf(&file);
        let out = place.text("fork.jsonl");
        let forked = object(&["fork", &file, "-o", &out, "--id", "mine", "--json"]);
        assert_eq!(
            keys(&forked),
            sorted("path session_id format entries bytes")
        );
        assert_eq!(
            (&forked["path"], &forked["session_id"]),
            (&json!(out), &json!("mine"))
        );
        assert_eq!(
            fs::metadata(&out).unwrap().len(),
            forked["bytes"].as_u64().unwrap()
        );
        let copy = object(&["snapshot", &out, "--json"]);
        assert_eq!(copy["messages"], snapshot["messages"]);
        good(&["verify", &out]);

        let refused = error(&["fork", &file, "-o", &out, "--json"]);
        assert_eq!(refused["code"], "already_exists");
        let unknown = error(&["fork", &file, "--at", "ffffffff", "--json"]);
        assert_eq!(unknown["code"], "invalid_fork_target");

        let before = place.text("before.jsonl");
        good(&["fork", &file, "--before", &own, "-o", &before]);
        let shorter = object(&["snapshot", &before, "--json"])["messages"].clone();
        let all = snapshot["messages"].as_array().unwrap();
        assert_eq!(shorter.as_array().unwrap()[..], all[..all.len() - 1]);
        let tree = place.text("tree.jsonl");
        good(&["fork", &file, "--tree", "-o", &tree, "--cwd", "/other"]);
        assert_eq!(object(&["info", &tree, "--json"])["cwd"], "/other");
        good(&["verify", &before, &tree]);
        assert_eq!(fs::read(&file).unwrap(), source);
        assert_eq!(code(&run(&["fork", &file, "--tree", "--at", &own])), 2);
    }
}

#[test]
fn a_fork_without_a_name_stands_beside_its_source() {
    for (case, _, _) in FORMATS {
        let place = Place::new();
        let file = place.case(case);
        let forked = object(&["fork", &file, "--json"]);
        let (path, id) = (forked["path"].as_str().unwrap(), &forked["session_id"]);
        let id = id.as_str().unwrap();
        let name = path.rsplit('/').next().unwrap();
        assert!(place.names().contains(&name.to_owned()), "{path}");
        assert!(name.ends_with(&format!("_{id}.jsonl")), "{name}");
        assert_eq!(object(&["info", path, "--json"])["session_id"], id);
        let answer = good(&["fork", &file]);
        assert!(
            answer.contains("_") && answer.contains(".jsonl: "),
            "{answer}"
        );
        let taken = error(&["fork", &file, "--id", id, "--json"]);
        assert_eq!(taken["code"], "already_exists");
        assert_eq!(place.names().len(), 3);
    }
}

#[test]
fn convert_tells_what_changed_and_leaves_the_source_alone() {
    let place = Place::new();
    for format in ["pi-v1", "pi-v2", "pi-v3"] {
        let file = place.text(&format!("{format}.jsonl"));
        good(&[
            "gen",
            &file,
            "--entries",
            "60",
            "--compact-every",
            "20",
            "--format",
            format,
        ]);
        let source = fs::read(&file).unwrap();
        let out = place.text(&format!("{format}-new.jsonl"));
        let done = object(&["convert", &file, "--to", "pi-v4", "-o", &out, "--json"]);
        assert_eq!(
            keys(&done),
            sorted("path session_id from to entries bytes damage changes change_count")
        );
        assert_eq!(
            (&done["from"], &done["to"]),
            (&json!(format), &json!("pi-v4"))
        );
        let contexts = [&file, &out].map(|file| object(&["snapshot", file, "--json"]));
        assert_eq!(contexts[0]["messages"], contexts[1]["messages"]);
        good(&["verify", &out]);
        let again = ["convert", &file, "--to", "pi-v4", "-o", &out];
        let bytes = fs::read(&out).unwrap();
        assert_eq!(
            error(&[&again[..], &["--json"]].concat())["code"],
            "already_exists"
        );
        assert_eq!(fs::read(&out).unwrap(), bytes);
        assert_eq!(fs::read(&file).unwrap(), source);
    }
    let file = place.case("plain-pi-v4");
    let out = place.text("none.jsonl");
    let refused = error(&["convert", &file, "--to", "pi-v4", "-o", &out, "--json"]);
    assert_eq!(refused["code"], "unsupported");
    assert_eq!(
        code(&run(&["convert", &file, "--to", "pi-v3", "-o", &out])),
        2
    );
}

#[test]
fn convert_lists_what_is_not_as_it_was() {
    let place = Place::new();
    let lines = [
        r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-07-14T09:00:00Z","cwd":"/w"}"#,
        r#"{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-07-14T09:00:01Z","message":{"role":"user","content":"a secret"}}"#,
        r#"{"type":"context_edit","id":"00000002","parentId":"00000001","timestamp":"2026-07-14T09:00:02Z","targetId":"00000001","replacement":{"content":"nothing"}}"#,
    ];
    let file = place.file("s.jsonl", lines.join("\n") + "\n");
    let out = place.text("new.jsonl");
    let answer = good(&["convert", &file, "--to", "pi-v4", "-o", &out]);
    let told: Vec<&str> = answer.lines().collect();
    assert!(told[0].contains("pi-v3 to pi-v4, s1, "), "{answer}");
    assert!(told[0].ends_with(", 1 change"), "{answer}");
    assert!(told[1].starts_with("  00000001: "), "{answer}");
    assert!(!fs::read_to_string(&out).unwrap().contains("a secret"));
}

/// A log that is followed, and the lines that come.
struct Followed {
    child: Child,
    lines: Option<BufReader<std::process::ChildStdout>>,
}

impl Followed {
    fn new(args: &[&str]) -> Self {
        let mut child = program()
            .args(["log", "--follow"])
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = child.stdout.take().map(BufReader::new);
        Self { child, lines }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.as_mut().unwrap().read_line(&mut line).unwrap();
        line
    }

    fn value(&mut self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }

    /// Its exit code, what it printed at the end, and what it complained about.
    fn end(mut self) -> (i32, String, String) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "it goes on");
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut rest = String::new();
        if let Some(mut lines) = self.lines.take() {
            lines.read_to_string(&mut rest).unwrap();
        }
        let mut complaints = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        stderr.read_to_string(&mut complaints).unwrap();
        (self.child.wait().unwrap().code().unwrap(), rest, complaints)
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn follow_shows_what_other_processes_append_and_ends_with_its_reader() {
    let place = Place::new();
    let file = place.case("plain-pi-v4");
    let mut followed = Followed::new(&[&file, "--json", "--after", "2"]);
    assert_eq!(
        (&followed.value()["id"], &followed.value()["id"]),
        (&json!("e3"), &json!("e4"))
    );
    let append = ["append", &file, "--kind", "message", "--data", USER, "--id"];
    for id in ["n1", "n2"] {
        good(&[&append[..], &[id]].concat());
        let value = followed.value();
        assert_eq!(keys(&value), sorted("seq kind id line offset raw"));
        assert_eq!(value["id"], id);
        assert_eq!(value["raw"]["id"], id);
    }
    let last = lines(&["log", &file, "--json"]).pop().unwrap();
    assert_eq!(
        last["line"],
        fs::read_to_string(&file).unwrap().lines().count()
    );
    // Nothing more comes, and nobody reads.
    drop(followed.lines.take());
    if cfg!(not(unix)) {
        good(&[&append[..], &["n3"]].concat());
    }
    let (code, _, complaints) = followed.end();
    assert_eq!((code, complaints.as_str()), (0, ""));
}

#[test]
fn follow_shows_people_the_kinds_that_they_ask_for() {
    let place = Place::new();
    let file = place.case("plain-pi-v4");
    let mut followed = Followed::new(&[&file, "--kind", "custom", "--no-index"]);
    good(&["append", &file, "--kind", "message", "--data", USER]);
    let note = r#"{"customType":"note"}"#;
    good(&[
        "append", &file, "--kind", "custom", "--data", note, "--id", "n9",
    ]);
    let line = followed.line();
    assert!(line.contains(" custom ") && line.contains(" n9 "), "{line}");
}

#[test]
fn follow_shows_no_line_before_it_is_finished() {
    let place = Place::new();
    let file = place.case("plain-pi-v4");
    let entry = |id: &str, parent: &str, seq: u64| {
        format!(
            r#"{{"kind":"entry","lane":"main","type":"custom","id":"{id}","customType":"x","parentId":"{parent}","seq":{seq},"timestamp":1784019600000}}"#
        )
    };
    let mut log = OpenOptions::new().append(true).open(&file).unwrap();
    let seq = lines(&["log", &file, "--json"]).pop().unwrap()["seq"]
        .as_u64()
        .unwrap();
    let (one, two) = (entry("n1", "e4", seq + 1), entry("n2", "n1", seq + 2));
    // A strict reader takes an unfinished line for no damage either.
    let after = seq.to_string();
    let mut followed = Followed::new(&[&file, "--json", "--strict", "--after", &after]);
    log.write_all(&one.as_bytes()[..30]).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    log.write_all(&one.as_bytes()[30..]).unwrap();
    // A whole object without its newline is not finished.
    std::thread::sleep(Duration::from_millis(500));
    log.write_all(format!("\n{two}\n").as_bytes()).unwrap();
    assert_eq!(
        (&followed.value()["id"], &followed.value()["id"]),
        (&json!("n1"), &json!("n2"))
    );
    log.write_all(b"{torn\n").unwrap();
    let (code, rest, _) = followed.end();
    assert_eq!(code, 1);
    let error: Value = serde_json::from_str(&rest).unwrap();
    assert_eq!(error["error"]["code"], "invalid_entry");
    assert!(error["error"]["line"].is_u64());
}

#[test]
fn follow_ends_when_the_log_is_cut_replaced_or_removed() {
    type Change = fn(&str);
    let cases: [(Change, &str, &str); 4] = [
        (
            |file| fs::write(file, "").unwrap(),
            "invalid_entry",
            "log truncated",
        ),
        (
            |file| {
                let bytes = fs::read(file).unwrap();
                fs::write(format!("{file}.new"), &bytes).unwrap();
                fs::rename(format!("{file}.new"), file).unwrap();
            },
            "storage",
            "another file",
        ),
        (
            |file| {
                let text = fs::read_to_string(file).unwrap();
                fs::write(file, text.replace("q2", "Q2")).unwrap();
            },
            "invalid_entry",
            "written over",
        ),
        (
            |file| fs::remove_file(file).unwrap(),
            "not_found",
            "cannot open it",
        ),
    ];
    for (change, expected, words) in cases {
        let place = Place::new();
        let file = place.case("plain-pi-v4");
        let mut followed = Followed::new(&[&file, "--json"]);
        for _ in 0..lines(&["log", &file, "--json"]).len() {
            followed.line();
        }
        change(&file);
        let (code, rest, _) = followed.end();
        assert_eq!(code, 1);
        let value: Value = serde_json::from_str(&rest).unwrap();
        assert_eq!(value["error"]["code"], expected, "{rest}");
        let message = value["error"]["message"].as_str().unwrap();
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn wrong_usage_is_an_object_for_who_reads_json() {
    let place = Place::new();
    let file = place.case("plain-pi-v4");
    for args in [
        &["append", &file, "--json"][..],
        &["info", &file, "--json", "--nonsense"],
        &["fork", &file, "--json", "--at", "e1", "--tree"],
        &["gen", "-", "--entries", "1", "--json"],
        &["nonsense", "--json"],
    ] {
        let output = run(args);
        assert_eq!(code(&output), 2, "{args:?}");
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            keys(&value["error"]),
            sorted("code line message offset path")
        );
        assert_eq!(value["error"]["code"], "usage");
        let message = value["error"]["message"].as_str().unwrap();
        assert!(
            !message.contains('\n') && !message.contains("Usage:"),
            "{message}"
        );
        assert!(output.stderr.is_empty(), "{args:?}");
    }
    let output = run(&["append", &file]);
    assert_eq!(code(&output), 2);
    assert!(output.stdout.is_empty() && text(&output.stderr).contains("--kind"));
}

#[test]
fn info_tells_people_where_the_sidecar_is() {
    let place = Place::new();
    let file = place.case("plain-pi-v4");
    assert!(!good(&["info", &file]).contains("\nsidecar "));
    good(&["index", &file]);
    let answer = good(&["info", &file]);
    assert!(
        answer.contains(&format!("sidecar         {file}.idx\n")),
        "{answer}"
    );
}

#[test]
fn help_completions_and_the_manual_know_the_commands_that_write() {
    let (manual, script) = (good(&["man"]), good(&["completions", "bash"]));
    for command in ["append", "branch", "fork", "convert", "repair"] {
        assert!(good(&[command, "--help"]).contains("Usage: leaflog"));
        assert!(script.contains(command));
        assert!(manual.contains(&format!("LEAFLOG {}", command.to_uppercase())));
    }
    assert!(manual.contains("\\-\\-follow"));
}

#[test]
fn an_index_follows_what_is_appended() {
    let place = Place::new();
    let file = place.generated("s.jsonl", "3000");
    let (indexes, more) = (place.text("indexes"), ["--data", USER]);
    good(&["index", &file, "--index-dir", &indexes]);
    let args = [
        "append",
        &file,
        "--kind",
        "message",
        "--index-dir",
        &indexes,
    ];
    good(&[&args[..], &more].concat());
    let info = object(&["info", &file, "--index-dir", &indexes, "--json"]);
    assert_eq!(info["index"]["state"], "fresh");
    assert_eq!(place.names(), ["indexes", "s.jsonl"]);
}

#[cfg(unix)]
#[test]
fn the_readme_shows_what_writing_prints() {
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let (_, section) = readme.split_once("\n## Writing\n").unwrap();
    let example = section.split("```\n").nth(1).unwrap();
    let place = Place::new();
    let programs = std::path::Path::new(env!("CARGO_BIN_EXE_leaflog")).parent();
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let paths = programs
        .map(Into::into)
        .into_iter()
        .chain(std::env::split_paths(&paths));
    let paths = std::env::join_paths(paths).unwrap();
    let mut commands = 0;
    for shown in example.split("$ ").filter(|shown| !shown.is_empty()) {
        let (command, answer) = shown.split_once('\n').unwrap();
        let output = std::process::Command::new("sh")
            .args(["-c", command])
            .current_dir(place.path(""))
            .env("PATH", &paths)
            .env_remove("COLUMNS")
            .output()
            .unwrap();
        assert_eq!(
            text(&output.stdout),
            answer,
            "{command}: {}",
            text(&output.stderr)
        );
        commands += 1;
    }
    assert!(commands > 5);
}

/// A limit on the size of files is a full disk, and no signal that ends the program.
#[cfg(unix)]
#[test]
fn where_no_file_may_grow_reading_answers_and_writing_fails_and_nothing_is_left_over() {
    let place = Place::new();
    let file = place.generated("long.jsonl", "3000");
    let log = fs::read(&file).unwrap();
    assert!(log.len() > 1 << 20, "one that gets a sidecar");
    let folder = place.text("");
    let cache = Place::new();
    let under_limit = |blocks: &str, args: &[&str]| {
        let limited = format!("ulimit -f {blocks}; exec \"$@\"");
        std::process::Command::new("bash")
            .args(["-c", &limited, "bash", env!("CARGO_BIN_EXE_leaflog")])
            .args(args)
            .env("XDG_CACHE_HOME", cache.path(""))
            .stdin(Stdio::null())
            .output()
            .unwrap()
    };
    for blocks in ["0", "4"] {
        for args in [
            &["path", &file][..],
            &["info", &file],
            &["snapshot", &file],
            &["ls", &folder],
        ] {
            let output = under_limit(blocks, args);
            let told = text(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{args:?}: {told}");
            assert!(!output.stdout.is_empty(), "{args:?}");
        }
        let args = ["append", &file, "--kind", "message", "--data", USER];
        let output = under_limit(blocks, &args);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains("long.jsonl"), "{told}");
        assert_eq!(fs::read(&file).unwrap(), log);
        // A catalog of so few logs is small enough for the larger limit.
        let mut made = place.names();
        made.retain(|name| blocks == "0" || name != ".leaflog-catalog");
        assert_eq!(made, ["long.jsonl"]);
        // Where no sidecar can stand beside the log, the cache is tried.
        let kept = cache.path("leaflog");
        let left = fs::read_dir(&kept).map_or(0, Iterator::count);
        assert_eq!(left, 0, "{}", kept.display());
    }
}

#[test]
fn what_is_no_entry_in_pi_v4_is_refused_with_what_writes_it() {
    let place = Place::new();
    let file = place.case("plain-pi-v4");
    for (kind, function) in [
        ("label", "set_label"),
        ("name", "set_name"),
        ("session_info", "set_name"),
        ("lane", "leaflog branch"),
    ] {
        let told = error(&["append", &file, "--kind", kind, "--json"]);
        assert_eq!(told["code"], "invalid_payload");
        let message = told["message"].as_str().unwrap();
        assert!(message.contains(function), "{kind}: {message}");
    }
}
