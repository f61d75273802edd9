//! Whatever callers hand in is refused with nothing changed, or reads back as it was stored.

use std::fs;

use leaflog::naive::{ReadOptions, Replay};
use leaflog::{Code, CreateOptions, Format, NewEntry, NewRecord, Session, SessionStorage};

use super::{user, user_with};
use crate::support::disk::{always, right};

const FORMATS: [Format; 3] = [Format::PiV4, Format::PiV3, Format::CodebotV3];

struct Begun {
    session: Session,
    _folder: tempfile::TempDir,
}

fn begun(format: Format) -> Begun {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let folder = folder.expect("a folder");
    let format = Some(format);
    let options = CreateOptions {
        format,
        ..CreateOptions::in_folder("/w")
    };
    let session = always()
        .create(folder.path().join("s.jsonl"), &options)
        .expect("a session");
    Begun {
        session,
        _folder: folder,
    }
}

/// Appends what may be refused, and whether it was not.
fn is_taken(session: &Session, new: NewEntry) -> bool {
    let shown = format!("{:.200}", format!("{new:?}"));
    let before = fs::read(session.log_path()).expect("the log");
    match session.append_entry(new, "main") {
        Ok(entry) => {
            let found = session.entry(&entry.id).expect("read");
            assert_eq!(found.as_ref(), Some(&entry), "{shown}");
            true
        }
        Err(error) => {
            let codes = [Code::InvalidPayload, Code::Unsupported];
            assert!(codes.contains(&error.code()), "{shown}: {error}");
            assert_eq!(
                fs::read(session.log_path()).expect("the log"),
                before,
                "{shown}"
            );
            false
        }
    }
}

/// The log is sound for both readers, and they say the same.
fn assert_sound(session: &Session) {
    let log = fs::read(session.log_path()).expect("the log");
    right(session, &log).expect("the answers of the replay");
    always()
        .strict(true)
        .open(session.log_path())
        .expect("a sound log");
    let strict = ReadOptions {
        strict: true,
        salvage: false,
    };
    Replay::from_bytes(&log, strict).expect("a sound log");
}

fn nested(depth: usize) -> String {
    format!(",\"x\":{}{}", "[".repeat(depth), "]".repeat(depth))
}

#[test]
fn odd_fields_are_kept_and_those_of_the_store_are_refused_however_they_are_spelled() {
    let kept = [
        r#","x":"\ud83d""#,
        r#","x":1e999,"y":-0,"z":123456789012345678901234567890"#,
        ",\n\"x\":\r\n[1,\t2]\n",
        ",\"x\":\"\u{2028}\u{85}\u{feff}\"",
        r#","x":1,"x":2,"":3,"__proto__":4"#,
        &nested(1000),
        &format!(",\"{}\":1", "k".repeat(70_000)),
    ];
    let refused = [
        ",\"x\":\"a\nb\"",
        ",\"x\":\"a\0b\"",
        ",\"x\":NaN",
        r#","x":01"#,
        r#","x":"\q""#,
        ",",
        "}",
        r#"},"a":{"b":1"#,
        "}\n{\"a\":1",
        &nested(1025),
        &nested(500_000),
    ];
    for format in FORMATS {
        let Begun { session, _folder } = begun(format);
        session
            .append_entry(user(format, "x"), "main")
            .expect("appends");
        for more in kept {
            assert!(
                is_taken(&session, user_with(format, "x", more)),
                "{format} {more:.40}"
            );
        }
        for more in refused {
            assert!(
                !is_taken(&session, user_with(format, "x", more)),
                "{format} {more:.40}"
            );
        }
        let own: &[&str] = match format {
            // The fields of codebot are an object of their own.
            Format::CodebotV3 => &[],
            Format::PiV4 => &["id", "\\u0069d", "p\\u0061rentId", "seq", "lane", "kind"],
            _ => &["id", "\\u0069d", "p\\u0061rentId", "type", "timestamp"],
        };
        for key in own {
            let more = format!(",\"{key}\":null");
            assert!(
                !is_taken(&session, user_with(format, "x", &more)),
                "{format} {key}"
            );
        }
        assert_sound(&session);
    }
}

#[test]
fn kinds_with_odd_fields_are_refused_or_make_a_sound_log() {
    let kinds = [
        "message",
        "custom",
        "header",
        "session",
        "",
        "a\nb",
        "label",
        "context_edit",
        "compaction",
        "session_info",
        "goal_state",
        "record",
        "entry",
        "lane",
        "fact",
        "usage",
        "plan_state",
        "model_change",
        "thinking_level_change",
        "active_tools_change",
        "branch_summary",
        "unknown",
    ];
    let fields = [
        "",
        "{",
        "{}",
        "null",
        "[]",
        "{}{}",
        "\u{a0}{}",
        "{,}",
        "{\"message\":{}}",
        "{}\0",
    ];
    for format in FORMATS {
        let Begun { session, _folder } = begun(format);
        session
            .append_entry(user(format, "x"), "main")
            .expect("appends");
        for kind in kinds {
            for fields in fields {
                is_taken(&session, NewEntry::new(kind, fields));
            }
        }
        assert_sound(&session);
    }
}

#[test]
fn ids_lanes_names_and_labels_may_be_any_text() {
    let Begun { session, _folder } = begun(Format::PiV4);
    let long = "n".repeat(70_000);
    let odd = [
        " ",
        "\0",
        "a\nb",
        "\"",
        "\\",
        "main ",
        "Main",
        "\u{2028}",
        "\u{feff}x",
        "\\u0062",
        &long,
    ];
    for text in odd {
        let shown = format!("{text:.20?}");
        session.create_lane(text, None).expect(&shown);
        assert!(
            is_taken(&session, user(Format::PiV4, "x").with_id(text)),
            "{shown}"
        );
        session
            .append_entry(user(Format::PiV4, "x"), text)
            .expect(&shown);
        let start = r#"{"sourceLeafId":null,"intent":{"kind":"run"}}"#;
        let start = NewRecord::new("operation_started", text, start);
        session.append_record(start.clone()).expect(&shown);
        let second = session.append_record(start).expect_err(&shown);
        assert_eq!(second.code(), Code::Storage);
        session.set_name(Some(text)).expect(&shown);
        session.set_label(text, Some(text)).expect(&shown);
        let fresh = always()
            .strict(true)
            .open(session.log_path())
            .expect(&shown);
        assert_eq!(fresh.name().expect(&shown).as_deref(), Some(text));
        assert_eq!(fresh.label(text).expect(&shown).as_deref(), Some(text));
        assert_eq!(
            fresh.find_open_operations(text, None).expect(&shown).len(),
            1
        );
    }
    assert_sound(&session);
    assert!(!is_taken(&session, user(Format::PiV4, "x").with_id("")));
    for unknown in ["", "nobody", "\0\0"] {
        let refused = session.set_label(unknown, Some("x")).expect_err("none");
        assert_eq!(refused.code(), Code::NotFound);
        let refused = session.move_lane("main", Some(unknown)).expect_err("none");
        assert_eq!(refused.code(), Code::NotFound);
    }
}
