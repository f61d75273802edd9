//! Sessions, names and folders made by somebody who means harm: nothing leads out of the sessions
//! folder, nothing that a terminal would obey is printed, nothing is followed into a surprise.

#![cfg(all(unix, feature = "cli"))]

#[expect(dead_code, reason = "it runs the program on files of its own")]
#[path = "support/program.rs"]
mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use leaflog::{
    Code, CreateOptions, ForkScope, Format, IndexMode, MemoryRepository, OpenOptions, Repository,
    SessionRepository, SessionStorage, SqliteRepository, pi,
};
use support::{program, text};

/// What a terminal obeys, what reorders text, and what ends lines in some programs.
const EVIL: &str = "A\u{1b}[31m\u{1b}]0;t\u{7}\u{8}\u{7f}\u{9b}2J\u{90}\u{0}\r\n\tB\u{202e}\u{2066}\u{200f}\u{2028}C";

/// What no id and no directory of a session may do.
fn names() -> Vec<String> {
    let mut names: Vec<String> = [
        "",
        ".",
        "..",
        "../../x",
        "..\\..\\x",
        "/etc/x",
        "C:\\x",
        "a/b",
        "a\0b",
        "a\nb",
        "\u{1b}[31m",
        "-",
        "-rf",
        ".hidden",
        "a.",
        "con:",
        "a b",
        "ä",
        "~",
        "*",
        "$(x)",
        "%2e%2e",
    ]
    .map(str::to_owned)
    .into();
    names.push("x".repeat(300));
    names.push("é".repeat(300));
    names.push(EVIL.to_owned());
    names
}

/// All files and folders below one, by path.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for item in fs::read_dir(folder).unwrap() {
            let path = item.unwrap().path();
            if path.symlink_metadata().unwrap().is_dir() {
                open.push(path.clone());
            }
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn no_id_and_no_working_directory_leads_out_of_the_folder() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("deep/in/here/sessions");
    let files = Repository::new(&folder);
    let memory = MemoryRepository::new();
    let database = SqliteRepository::open(place.path().join("databases/one"));
    let database = database.unwrap();
    let mut made = 0;
    for format in [Format::CodebotV3, Format::PiV3, Format::PiV4] {
        for name in names() {
            let options = |id: Option<&str>, cwd: &str| CreateOptions {
                id: id.map(str::to_owned),
                cwd: cwd.to_owned(),
                format: Some(format),
                ..CreateOptions::default()
            };
            // Ids: refused, or a plain name.
            match files.create(&options(Some(&name), "/w")) {
                Ok(session) => {
                    made += 1;
                    assert!(!name.contains(['/', '\\', '\0']), "{name:?}");
                    drop(session);
                    files.delete(&name).unwrap();
                }
                Err(error) => {
                    assert_eq!(error.code(), Code::InvalidPayload, "{name:?}: {error}");
                    if format == Format::PiV4 {
                        for other in [&memory as &dyn SessionRepository, &database] {
                            let Err(error) = other.create(&options(Some(&name), "/w")) else {
                                panic!("{name:?} was taken");
                            };
                            assert_eq!(error.code(), Code::InvalidPayload, "{name:?}");
                        }
                    }
                }
            }
            // Asking for one that is not there touches nothing.
            assert_eq!(files.open(&name).unwrap_err().code(), Code::NotFound);
            files.delete(&name).unwrap();
            // Working directories: the session stands in the folder, whatever they say.
            match files.create(&options(None, &name)) {
                Ok(session) => {
                    made += 1;
                    if format == Format::PiV3 {
                        let text = r#"{"role":"user","content":"hi"}"#;
                        session.append_entry(pi::message(text), "main").unwrap();
                    }
                    let id = session.session_id().to_owned();
                    drop(session);
                    assert_eq!(files.open(&id).unwrap().session_id(), id);
                }
                Err(error) => {
                    assert_eq!(error.code(), Code::InvalidPayload, "{name:?}: {error}");
                    assert!(name.contains('\0'), "{name:?}: {error}");
                }
            }
        }
    }
    assert!(made > 60, "{made}");
    for path in below(place.path()) {
        let is_above = folder.starts_with(&path);
        let is_database = path.starts_with(place.path().join("databases"));
        assert!(
            path.starts_with(&folder) || is_above || is_database,
            "{path:?}"
        );
        let mode = path.symlink_metadata().unwrap().permissions().mode() & 0o777;
        if path.starts_with(&folder) || path.extension().is_some() {
            assert_eq!(mode & 0o077, 0, "{path:?} is {mode:o}");
        }
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(!name.chars().any(char::is_control), "{path:?}");
    }
}

#[test]
fn ids_that_a_log_claims_lead_nowhere_either() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("sessions");
    fs::create_dir(&folder).unwrap();
    for (number, name) in names().into_iter().enumerate() {
        let id = serde_json::to_string(&name).unwrap();
        let cwd = serde_json::to_string(&format!("/w/{name}")).unwrap();
        let log = format!(
            "{{\"kind\":\"header\",\"version\":4,\"id\":{id},\"createdAt\":1,\"cwd\":{cwd}}}\n\
             {{\"kind\":\"entry\",\"lane\":\"main\",\"type\":\"message\",\"id\":\"e\",\"message\":{{\"role\":\"user\",\"content\":\"hi\"}},\"parentId\":null,\"seq\":1,\"timestamp\":1}}\n"
        );
        fs::write(folder.join(format!("{number}.jsonl")), log).unwrap();
    }
    let repository = Repository::new(&folder);
    for name in names() {
        // A log with an id that no session may have can be read, and forked under a good one.
        let Ok(session) = repository.open(&name) else {
            continue;
        };
        assert_eq!(session.session_id(), name);
        drop(session);
        let scope = ForkScope::Tree;
        match repository.fork(&name, &scope, &CreateOptions::default()) {
            Ok(fork) => assert_ne!(fork.session_id(), name),
            // The working directory that the log claims may be no path.
            Err(error) => assert_eq!(error.code(), Code::InvalidPayload, "{name:?}: {error}"),
        }
        repository.delete(&name).unwrap();
    }
    for path in below(place.path()) {
        assert!(path.starts_with(&folder), "{path:?}");
    }
}

/// A log with hostile text in each place that has text.
fn evil_log(format: Format) -> String {
    let evil = serde_json::to_string(EVIL).unwrap();
    let lines = match format {
        Format::CodebotV3 => vec![
            format!(
                r#"{{"kind":"header","id":"h0","timestamp":{evil},"data":{{"version":3,"session_id":{evil},"name":{evil},"cwd":{evil},"created":{evil}}}}}"#
            ),
            format!(
                r#"{{"kind":"message","id":{evil},"parent_id":"h0","timestamp":"2026-07-14T09:00:00Z","data":{{"role":"user","content":[{{"type":"text","text":{evil}}},{{"type":{evil},"text":{evil}}},{{"type":"toolCall","tool_call":{{"id":{evil},"name":{evil},"args":{evil}}}}}],"timestamp":{evil}}}}}"#
            ),
            format!(
                r#"{{"kind":"model_change","id":"m","parent_id":{evil},"timestamp":{evil},"data":{{"provider":{evil},"model":{evil}}}}}"#
            ),
            format!(
                r#"{{"kind":"reasoning_effort_change","id":"n","parent_id":"m","timestamp":{evil},"data":{{"level":{evil}}}}}"#
            ),
            format!(
                r#"{{"kind":"plan_state","id":"p","parent_id":"n","timestamp":{evil},"data":{{"phase":{evil},"slug":{evil},"pre_mode":{evil}}}}}"#
            ),
            format!(
                r#"{{"kind":"goal_state","id":"g","parent_id":"p","timestamp":{evil},"data":{{"x":{evil}}}}}"#
            ),
            format!(
                r#"{{"kind":{evil},"id":"u","parent_id":"g","timestamp":{evil},"data":{{"x":{evil}}}}}"#
            ),
            format!(
                r#"{{"kind":"message","id":"x","parent_id":{missing},"timestamp":{evil},"data":{{"role":{evil},"content":[]}}}}"#,
                missing = serde_json::to_string(&format!("lost{EVIL}")).unwrap()
            ),
            format!(
                r#"{{"kind":"message","id":"y","parent_id":"u","timestamp":{evil},"data":{{"role":"assistant","content":[{{"type":"text","text":{evil}}}]}}}}"#
            ),
        ],
        Format::PiV4 => vec![
            format!(
                r#"{{"kind":"header","version":4,"id":{evil},"createdAt":1,"cwd":{evil},"parentSessionId":{evil},"metadata":{{"x":{evil}}}}}"#
            ),
            format!(
                r#"{{"kind":"entry","lane":"main","type":"message","id":{evil},"message":{{"role":"user","content":{evil}}},"parentId":null,"seq":1,"timestamp":1}}"#
            ),
            format!(r#"{{"kind":"lane","seq":2,"lane":{evil},"leafId":{evil}}}"#),
            format!(
                r#"{{"kind":"fact","seq":3,"fact":"label","targetId":{evil},"label":{evil}}}"#
            ),
            format!(r#"{{"kind":"fact","seq":4,"fact":"name","name":{evil}}}"#),
            format!(
                r#"{{"kind":"record","type":"operation_started","id":"r{evil}","lane":{evil},"seq":5,"timestamp":1,"intent":{{"kind":{evil}}}}}"#,
            )
            .replace(&format!("\"r{evil}\""), &serde_json::to_string(&format!("r{EVIL}")).unwrap()),
            format!(r#"{{"kind":"record","type":{evil},"id":"q","lane":{evil},"seq":6,"timestamp":1}}"#),
            format!(r#"{{"kind":"fact","seq":7,"fact":{evil},"x":{evil}}}"#),
            format!(r#"{{"kind":{evil},"seq":8}}"#),
            format!(
                r#"{{"kind":"entry","lane":{evil},"type":"active_tools_change","id":"t","activeToolNames":[{evil}],"parentId":{evil},"seq":9,"timestamp":1}}"#
            ),
            format!(
                r#"{{"kind":"entry","lane":"main","type":{evil},"id":"z","data":{evil},"parentId":{evil},"seq":10,"timestamp":1}}"#
            ),
        ],
        _ => vec![
            format!(
                r#"{{"type":"session","version":3,"id":{evil},"timestamp":{evil},"cwd":{evil},"parentSession":{evil}}}"#
            ),
            format!(
                r#"{{"type":"message","id":{evil},"parentId":null,"timestamp":{evil},"message":{{"role":"user","content":{evil}}}}}"#
            ),
            format!(
                r#"{{"type":"session_info","id":"i","parentId":{evil},"timestamp":{evil},"name":{evil}}}"#
            ),
            format!(
                r#"{{"type":"label","id":"l","parentId":"i","timestamp":{evil},"targetId":{evil},"label":{evil}}}"#
            ),
            format!(
                r#"{{"type":{evil},"id":"u","parentId":"l","timestamp":{evil},"customType":{evil}}}"#
            ),
            format!(
                r#"{{"type":"custom_message","id":"c","parentId":"u","timestamp":{evil},"customType":{evil},"content":{evil}}}"#
            ),
            format!(
                r#"{{"type":"message","id":"b","parentId":"c","timestamp":{evil},"message":{{"role":"assistant","provider":{evil},"model":{evil},"content":[{{"type":"toolCall","name":{evil},"arguments":{{"x":{evil}}}}}]}}}}"#
            ),
        ],
    };
    // Raw control characters are no JSON: the lines are skipped and told of.
    format!("{}\n{{\"x\":\"{EVIL}\"}}\n", lines.join("\n"))
}

/// What must not come out: characters that a terminal obeys, save ends of lines and tabs.
#[track_caller]
fn assert_clean(printed: &[u8], what: &str) {
    let bad = text(printed).chars().find(|&c| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    });
    assert_eq!(bad, None, "{what}: {:?}", text(printed));
}

#[test]
fn no_command_prints_what_a_terminal_obeys() {
    let place = tempfile::tempdir().unwrap();
    for format in [Format::CodebotV3, Format::PiV3, Format::PiV4] {
        // The file's own name is hostile too, as far as a file system takes it.
        let name = EVIL.replace(['\0', '/'], "");
        let folder = place.path().join(format!("{format}{name}"));
        fs::create_dir(&folder).unwrap();
        let path = folder.join(format!("{name}.jsonl"));
        fs::write(&path, evil_log(format)).unwrap();
        let file = path.to_str().unwrap();
        let out = folder.join("out.jsonl");
        let out = out.to_str().unwrap();
        let evil_id = EVIL.replace('\0', "");
        let commands: Vec<Vec<&str>> = vec![
            vec!["info", file],
            vec!["index", file],
            vec!["snapshot", file],
            vec!["snapshot", file, "--salvage"],
            vec!["snapshot", file, "--lane", &evil_id],
            vec!["snapshot", file, "--leaf", &evil_id],
            vec!["path", file],
            vec!["path", file, "x"],
            vec!["path", file, &evil_id],
            vec!["show", file, "b"],
            vec!["show", file, "y"],
            vec!["show", file, "q"],
            vec!["show", file, &evil_id],
            vec!["log", file],
            vec!["log", file, "--kind", &evil_id],
            vec!["log", file, "--strict"],
            vec!["tree", file],
            vec!["ls", folder.to_str().unwrap()],
            vec!["ls", &evil_id],
            vec!["verify", file],
            vec!["verify", file, "--strict"],
            vec!["fork", file, "-o", out],
            vec!["fork", file, "--at", &evil_id],
            vec!["fork", file, "--tree", "-o", file],
            vec!["convert", file, "--to", "pi-v4", "-o", out],
            vec!["convert", file, "--to", &evil_id, "-o", out],
            vec!["append", file, "--kind", &evil_id, "--data", &evil_id],
            vec![
                "append", file, "--kind", "message", "--data", "{}", "--lane", &evil_id,
            ],
            vec![
                "append", file, "--kind", "message", "--data", "{}", "--at", &evil_id,
            ],
            vec![
                "append", file, "--kind", "custom", "--data", "{}", "--id", &evil_id,
            ],
            vec!["branch", file, &evil_id],
            vec!["branch", file, "z", "--lane", &evil_id],
            vec!["gen", file, "--entries", &evil_id],
            vec!["gen", file, "--entries", "1"],
            vec![&evil_id],
            vec!["info", file, &evil_id],
            vec!["info", &evil_id],
        ];
        for arguments in commands {
            let output = program().args(&arguments).output().unwrap();
            let what = format!("{arguments:?}");
            assert_clean(&output.stdout, &what);
            assert_clean(&output.stderr, &what);
            assert!(matches!(output.status.code(), Some(0..=2)), "{what}");
        }
    }
}

#[test]
fn a_log_that_is_a_link_is_the_file_it_leads_to_and_is_removed_as_a_link() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("sessions");
    let outside = Repository::new(place.path().join("outside"));
    let options = CreateOptions {
        id: Some("s".to_owned()),
        ..CreateOptions::in_folder("/w")
    };
    let session = outside.create(&options).unwrap();
    let real = session.log_path().to_owned();
    session.close().unwrap();
    fs::create_dir(&folder).unwrap();
    let link = folder.join("1_s.jsonl");
    symlink(&real, &link).unwrap();

    let repository =
        Repository::new(&folder).with_options(OpenOptions::new().index(IndexMode::Always));
    let session = repository.open("s").unwrap();
    // One file, one writer, whichever name it is opened by.
    assert_eq!(outside.open("s").unwrap_err().code(), Code::Locked);
    let said = r#"{"role":"user","content":"hi"}"#;
    session.append_entry(pi::message(said), "main").unwrap();
    session.close().unwrap();
    assert!(fs::read_to_string(&real).unwrap().contains("hi"));
    // What belongs to the link stands beside the link.
    assert_eq!(below(&folder), [link.clone(), folder.join("1_s.jsonl.idx")]);
    repository.delete("s").unwrap();
    assert!(below(&folder).is_empty());
    assert!(fs::read_to_string(&real).unwrap().contains("hi"));
}

#[test]
fn nothing_is_written_through_a_link_that_leads_nowhere_yet() {
    let place = tempfile::tempdir().unwrap();
    let victim = place.path().join("victim");
    let link = place.path().join("new.jsonl");
    symlink(&victim, &link).unwrap();
    let options = CreateOptions::in_folder("/w");
    let error = OpenOptions::new().create(&link, &options).unwrap_err();
    assert_eq!(error.code(), Code::AlreadyExists);
    let source = OpenOptions::new().create(place.path().join("s.jsonl"), &options);
    let error = source
        .unwrap()
        .fork_to(&link, &ForkScope::Tree, &options)
        .unwrap_err();
    assert_eq!(error.code(), Code::AlreadyExists);

    // A torn last line is kept under a name of its own, past a link of the usual one.
    let torn = place.path().join("t.jsonl");
    let log = "{\"kind\":\"header\",\"version\":4,\"id\":\"t\",\"createdAt\":1,\"cwd\":\"/\"}\n";
    fs::write(&torn, format!("{log}{{\"torn")).unwrap();
    symlink(&victim, format!("{}.torn-{}", torn.display(), log.len())).unwrap();
    let session = OpenOptions::new().write(true).open(&torn).unwrap();
    session.set_name(Some("n")).unwrap();
    drop(session);
    let kept = format!("{}.torn-{}-1", torn.display(), log.len());
    assert_eq!(fs::read_to_string(kept).unwrap(), "{\"torn");

    // Neither is a sidecar.
    let session = place.path().join("s.jsonl");
    symlink(&victim, place.path().join("s.jsonl.idx")).unwrap();
    symlink(&victim, place.path().join(".s.jsonl.idx.tmp")).unwrap();
    let always = OpenOptions::new().index(IndexMode::Always);
    drop(always.open(&session).unwrap());
    assert!(
        place
            .path()
            .join("s.jsonl.idx")
            .symlink_metadata()
            .unwrap()
            .is_file()
    );
    assert!(!victim.exists());
}
