//! Each kind of damage by itself, in the format where it shows best.

use std::fs;

use leaflog::{Code, FixKind, Format, OpenOptions, Orphans};

use super::check::{folder, repair};
use super::lines::{CODEBOT, PI, V1, V4, actions, codebot, context, log, mended, pi, record, v4};

#[test]
fn a_log_without_damage_is_copied_byte_for_byte_and_nothing_is_reported() {
    let (a, b) = (pi("a", "", "x"), pi("b", "a", "y"));
    let source = format!("\n{PI}\r\n  {a}\t\n\r\n\n{b}\n").into_bytes();
    let copy = mended(&source);
    assert_eq!(copy.log, source);
    assert_eq!((copy.done.fix_count, copy.done.dropped_path), (0, None));
    assert_eq!((copy.done.lines, copy.done.kept), (6, 6));
}

#[test]
fn nul_runs_a_byte_order_mark_and_a_missing_newline_are_framing_only() {
    let a = pi("a", "", "x");
    let source = format!("\u{FEFF}{PI}\n\0\0\0\n\0{a}\0\0\n{}", pi("b", "a", "y"));
    let copy = mended(source.as_bytes());
    assert_eq!(copy.log, log(&[PI, &a, &pi("b", "a", "y")]));
    use FixKind::{BomDropped, NewlineAdded, NulsRemoved};
    assert_eq!(
        actions(&copy),
        [BomDropped, NulsRemoved, NulsRemoved, NewlineAdded]
    );
    assert!(copy.dropped.is_empty());
}

#[test]
fn nuls_in_the_middle_of_an_object_are_left_out() {
    let a = pi("a", "", "xy");
    let copy = mended(&log(&[PI, &a.replace("xy", "x\0\0y")]));
    assert_eq!(copy.log, log(&[PI, &a]));
}

#[test]
fn a_torn_tail_is_cut_and_kept_beside() {
    let source = [log(&[PI, &pi("a", "", "x")]), b"{\"type\":\"mess".to_vec()].concat();
    let copy = mended(&source);
    assert_eq!(actions(&copy), [FixKind::TailDropped]);
    assert_eq!(copy.dropped, b"{\"type\":\"mess\n");
    assert_eq!((copy.done.kept, copy.done.dropped), (2, 1));
}

#[test]
fn objects_on_one_line_are_parted() {
    let (a, b) = (pi("a", "", "x"), pi("b", "a", "y"));
    let copy = mended(&log(&[PI, &format!("{a}{b}")]));
    assert_eq!(copy.log, log(&[PI, &a, &b]));
    assert_eq!(actions(&copy), [FixKind::ObjectsParted]);
}

#[test]
fn a_whole_object_behind_a_torn_one_is_kept() {
    let a = codebot("a", "h0");
    let copy = mended(&log(&[CODEBOT, &format!("{{\"ki{a}")]));
    assert_eq!(copy.log, log(&[CODEBOT, &a]));
    assert_eq!(copy.dropped, b"{\"ki\n");
    assert_eq!(actions(&copy), [FixKind::PrefixDropped]);
}

#[test]
fn whole_objects_before_text_that_is_none_are_kept() {
    let (a, b) = (pi("a", "", "x"), pi("b", "a", "y"));
    // A newline that became another letter.
    let copy = mended(&log(&[PI, &format!("{a}*{b}")]));
    assert_eq!(copy.log, log(&[PI, &a, &b]));
    let copy = mended(&log(&[PI, &format!("{a}{b}xyz")]));
    assert_eq!(copy.log, log(&[PI, &a, &b]));
    assert!(actions(&copy).contains(&FixKind::RestDropped));
}

#[test]
fn a_string_broken_by_newlines_is_joined_again() {
    let whole = pi("a", "", "one\\r\\n\\ntwo");
    let broken = pi("a", "", "one\r\n\ntwo");
    let copy = mended(&log(&[PI, &broken, &pi("b", "a", "y")]));
    assert_eq!(copy.log, log(&[PI, &whole, &pi("b", "a", "y")]));
    let fix = &copy.done.fixes[0];
    assert_eq!((fix.line, fix.action), (2, FixKind::LinesJoined));
    assert_eq!(copy.dropped, format!("{broken}\n").into_bytes());
}

#[test]
fn newlines_between_tokens_and_in_names_are_left_out() {
    let whole = pi("a", "", "x");
    for broken in [
        whole.replace(":null", ":nu\nll"),
        whole.replace(",\"message\"", ",\n\"message\""),
        whole.replace("\"type\":\"message\"", "\"ty\npe\":\"mes\nsage\""),
    ] {
        assert_eq!(mended(&log(&[PI, &broken])).log, log(&[PI, &whole]));
    }
    let header = PI.replace("sess", "se\nss");
    assert_eq!(mended(&log(&[&header, &whole])).log, log(&[PI, &whole]));
}

#[test]
fn control_characters_in_strings_become_escapes() {
    let copy = mended(&log(&[PI, &pi("a", "", "x\ty\u{1}")]));
    assert_eq!(copy.log, log(&[PI, &pi("a", "", "x\\ty\\u0001")]));
    assert_eq!(actions(&copy), [FixKind::ControlsEscaped]);
    assert_eq!(copy.dropped, log(&[&pi("a", "", "x\ty\u{1}")]));
}

#[test]
fn a_torn_line_before_a_whole_one_is_not_joined_with_it() {
    let b = pi("b", "", "y");
    let copy = mended(&log(&[
        PI,
        "{\"type\":\"message\",\"id\":\"a\",\"x\":\"un",
        &b,
    ]));
    assert_eq!(copy.log, log(&[PI, &b]));
    assert_eq!(actions(&copy), [FixKind::LineDropped]);
}

#[test]
fn the_same_line_again_is_folded_and_another_one_with_its_id_counts() {
    let (a, b) = (pi("a", "", "x"), pi("b", "a", "y"));
    let copy = mended(&log(&[PI, &a, &b, &a]));
    assert_eq!(copy.log, log(&[PI, &a, &b]));
    assert_eq!(actions(&copy), [FixKind::DuplicateFolded]);
    assert!(copy.dropped.is_empty());
    let other = pi("a", "", "z");
    let copy = mended(&log(&[PI, &a, &b, &other]));
    assert_eq!(copy.log, log(&[PI, &b, &other]));
    assert_eq!(copy.dropped, log(&[&a]));
}

#[test]
fn a_line_that_had_to_be_put_together_never_takes_the_place_of_a_whole_one() {
    let a = pi("a", "", "x");
    let copy = mended(&log(&[PI, &a, &pi("a", "", "other\nlines")]));
    assert_eq!(copy.log, log(&[PI, &a]));
    assert_eq!(actions(&copy), [FixKind::DuplicateDropped]);
}

#[test]
fn lines_of_pi_v1_may_be_the_same_and_keep_their_places() {
    let message = r#"{"type":"message","timestamp":"2026-07-14T09:00:01.000Z","message":{"role":"user","content":"x"}}"#;
    let compaction = r#"{"type":"compaction","timestamp":"2026-07-14T09:00:02.000Z","summary":"s","firstKeptEntryIndex":2,"tokensBefore":1}"#;
    let source = log(&[V1, message, message, message, compaction]);
    assert_eq!(mended(&source).log, source);
    let damaged = log(&[V1, message, "{broken", message, message, compaction]);
    let copy = mended(&damaged);
    assert_eq!(copy.log, source);
    assert_eq!(context(&copy.log), context(&damaged));
}

#[test]
fn orphans_get_a_stand_in_and_begin_their_path_there() {
    let (a, c) = (codebot("a", "h0"), codebot("c", "b"));
    let source = log(&[CODEBOT, &a, &c, &codebot("d", "b")]);
    let lost = r#"{"kind":"lost","id":"b","parent_id":"h0","timestamp":"2026-07-14T09:00:01.000Z","data":{}}"#;
    let copy = mended(&source);
    assert_eq!(copy.log, log(&[CODEBOT, &a, lost, &c, &codebot("d", "b")]));
    assert_eq!(actions(&copy), [FixKind::StandInMade]);
    assert_eq!(context(&copy.log).len(), 1);
    let linked = repair(&source, Orphans::Relink).expect("repaired");
    assert_eq!(
        linked.log,
        log(&[
            CODEBOT,
            &a,
            &lost.replace("h0", "a"),
            &c,
            &codebot("d", "b")
        ])
    );
    assert_eq!(context(&linked.log).len(), 2);
}

#[test]
fn an_orphan_is_not_hung_on_what_hangs_on_it() {
    // `x` comes first and hangs on `c`, the orphan.
    let source = log(&[PI, &pi("x", "c", "x"), &pi("c", "b", "c")]);
    let linked = repair(&source, Orphans::Relink).expect("repaired");
    assert!(linked.text().contains(r#""id":"b","parentId":null"#));
}

#[test]
fn entries_of_codebot_without_a_parent_hang_on_the_header() {
    let rootless = codebot("a", "").replace(r#","parent_id":"""#, "");
    let copy = mended(&log(&[CODEBOT, &rootless]));
    assert!(copy.text().contains(r#""parent_id":"h0""#));
    assert_eq!(actions(&copy), [FixKind::ParentReplaced]);
    assert_eq!(copy.dropped, log(&[&rootless]));
}

#[test]
fn a_cycle_is_broken_at_its_first_entry() {
    let (a, b, c) = (codebot("a", "b"), codebot("b", "c"), codebot("c", "a"));
    let copy = mended(&log(&[CODEBOT, &a, &b, &c, &codebot("d", "d")]));
    assert_eq!(
        copy.log,
        log(&[CODEBOT, &codebot("a", "h0"), &b, &c, &codebot("d", "h0")])
    );
    assert_eq!(copy.dropped, log(&[&a, &codebot("d", "d")]));
}

#[test]
fn a_bad_time_becomes_that_of_the_entry_before() {
    let bad = pi("b", "a", "y").replace("2026-07-14T09:00:01.000Z", "soon");
    let none = pi("c", "b", "z").replace(r#""timestamp":"2026-07-14T09:00:01.000Z","#, "");
    let source = log(&[PI, &pi("a", "", "x"), &bad, &none]);
    let copy = mended(&source);
    assert_eq!(
        actions(&copy),
        [FixKind::TimeReplaced, FixKind::TimeReplaced]
    );
    assert_eq!(copy.text().matches("2026-07-14T09:00:01.000Z").count(), 3);
    assert_eq!(copy.dropped, log(&[&bad, &none]));
}

#[test]
fn a_bad_payload_is_kept_where_it_does_nothing() {
    let bad = [
        (
            PI,
            pi("a", "", "x").replace(r#"{"role":"user","content":"x"}"#, "7"),
        ),
        (
            CODEBOT,
            codebot("a", "h0")
                .replace("[{", "{\"x\":[{")
                .replace("}]}}", "}]}}}"),
        ),
        (
            V4,
            v4("a", "", 1).replace(r#"{"role":"user","content":"a"}"#, "[]"),
        ),
        (V4, record("usage", "r", "main", 1, r#","usage":null"#)),
        (
            V4,
            v4("a", "", 1).replace(r#""message","id""#, r#"null,"id""#),
        ),
        (
            V1,
            r#"{"type":"compaction","summary":[],"timestamp":"2026-07-14T09:00:01Z"}"#.to_owned(),
        ),
    ];
    for (header, line) in bad {
        let copy = mended(&log(&[header, &line]));
        assert_eq!(actions(&copy), [FixKind::PayloadKept], "{line}");
        assert!(copy.text().contains(&line), "{line}");
        assert_eq!(copy.dropped, log(&[&line]));
        assert!(context(&copy.log).is_empty());
    }
}

#[test]
fn bytes_that_are_not_utf8_become_replacement_characters() {
    let line = pi("a", "", "x?y").into_bytes();
    let bad: Vec<u8> = line
        .iter()
        .map(|&b| if b == b'?' { 0xff } else { b })
        .collect();
    let copy = mended(&[log(&[PI]), bad.clone(), b"\n".to_vec()].concat());
    assert_eq!(copy.log, log(&[PI, &pi("a", "", "x\u{FFFD}y")]));
    assert_eq!(copy.dropped, [bad, b"\n".to_vec()].concat());
}

#[test]
fn a_parent_of_another_type_is_written_as_none() {
    let bad = pi("a", "", "x").replace(r#""parentId":null"#, r#""parentId":7"#);
    let copy = mended(&log(&[PI, &bad]));
    assert_eq!(copy.log, log(&[PI, &pi("a", "", "x")]));
    assert_eq!(actions(&copy), [FixKind::FieldMended]);
}

#[test]
fn a_lost_header_is_made_anew_with_the_id_of_the_file() {
    let folder = folder();
    for (name, line, id) in [
        ("2026-07-14_abcd0123.jsonl", codebot("a", "h0"), "abcd0123"),
        (
            "2026-07-14T09-00-00-000Z_my-id.jsonl",
            pi("a", "", "x"),
            "my-id",
        ),
        (
            "2026-07-14T09-00-00-001Z_other.jsonl",
            v4("a", "", 1),
            "other",
        ),
    ] {
        let (path, target) = (
            folder.path().join(name),
            folder.path().join(format!("{id}.out")),
        );
        fs::write(&path, log(&[&line])).expect("written");
        let done = leaflog::repair(&path, &target, Orphans::Cut, &OpenOptions::new());
        let done = done.expect("repaired");
        assert_eq!(done.session_id, id);
        assert_eq!(
            (done.kept, done.added, done.fixes[0].action),
            (1, 1, FixKind::HeaderMade)
        );
        let session = leaflog::Session::open(&target).expect("a session");
        assert_eq!(session.session_id(), id);
        let made = session.overview().expect("an overview").created;
        assert_eq!(made, Some(1_784_019_601_000));
    }
}

#[test]
fn a_broken_header_gives_what_it_has_to_the_new_one() {
    let broken = CODEBOT.replace(r#""version":3,"#, "");
    let copy = mended(&log(&[&broken, &codebot("a", "h0")]));
    assert_eq!(copy.done.session_id, "s1");
    assert!(copy.text().contains(r#""cwd":"/w""#));
    assert_eq!(copy.dropped, log(&[&broken]));
    // One letter of it is another: it has no shape any more, but what follows has.
    let broken = PI.replace("type", "tipe");
    assert_eq!(
        mended(&log(&[&broken, &pi("a", "", "x")])).done.format,
        Format::PiV3
    );
}

#[test]
fn a_header_behind_other_lines_or_behind_torn_text_comes_first() {
    let a = pi("a", "", "x");
    let copy = mended(&log(&[&a, PI, &pi("b", "a", "y")]));
    assert_eq!(copy.log, log(&[PI, &a, &pi("b", "a", "y")]));
    assert_eq!(actions(&copy), [FixKind::HeaderMoved]);
    let copy = mended(&log(&[&format!("{{\"ty{PI}"), &a]));
    assert_eq!(copy.log, log(&[PI, &a]));
    let copy = mended(&log(&[&format!("\0\0{PI}"), &a]));
    assert_eq!(copy.log, log(&[PI, &a]));
}

#[test]
fn a_second_header_is_left_out() {
    let other = CODEBOT.replace("s1", "s2");
    for (header, other, line) in [
        (CODEBOT, &*other, codebot("a", "h0")),
        (PI, PI, pi("a", "", "x")),
        (V4, V4, v4("a", "", 1)),
    ] {
        let copy = mended(&log(&[header, &line, other]));
        assert_eq!(copy.log, log(&[header, &line]));
        assert_eq!(copy.done.session_id, "s1");
        assert_eq!(copy.dropped, log(&[other]));
    }
}

#[test]
fn what_is_no_session_is_refused_and_nothing_is_made() {
    let later = PI.replace("3", "9");
    for (text, code) in [
        ("", Code::InvalidEntry),
        ("\n\0\0\n", Code::InvalidEntry),
        ("{\"a\":1}\n{\"b\":\"type\"}\n", Code::InvalidEntry),
        (&*later, Code::Unsupported),
    ] {
        let error = repair(text.as_bytes(), Orphans::Cut)
            .map(|_| ())
            .unwrap_err();
        assert_eq!(error.code(), code, "{text:?}");
    }
}

#[test]
fn no_file_is_ever_written_over() {
    let folder = folder();
    let path = folder.path().join("s.jsonl");
    let damaged = log(&[PI, "{broken"]);
    fs::write(&path, &damaged).expect("written");
    let repair = |target: &str| {
        let target = folder.path().join(target);
        leaflog::repair(&path, target, Orphans::Cut, &OpenOptions::new())
    };
    assert_eq!(repair("s.jsonl").unwrap_err().code(), Code::AlreadyExists);
    fs::write(folder.path().join("out.dropped"), b"mine").expect("written");
    assert_eq!(repair("out").unwrap_err().code(), Code::AlreadyExists);
    assert!(!folder.path().join("out").exists());
    assert_eq!(
        fs::read(folder.path().join("out.dropped")).expect("there"),
        b"mine"
    );
    assert_eq!(fs::read(&path).expect("there"), damaged);
}

#[test]
fn a_source_that_somebody_writes_is_read_as_it_was_when_it_was_opened() {
    let folder = folder();
    let (path, target) = (
        folder.path().join("s.jsonl"),
        folder.path().join("s.repaired"),
    );
    fs::write(&path, log(&[PI, &pi("a", "", "x")])).expect("written");
    let writer = OpenOptions::new()
        .write(true)
        .open(&path)
        .expect("a writer");
    let done = leaflog::repair(&path, &target, Orphans::Cut, &OpenOptions::new());
    assert_eq!(done.expect("repaired").fix_count, 0);
    drop(writer);
}

#[test]
fn a_hundred_fixes_are_listed_and_all_are_counted() {
    let mut lines = vec![PI.to_owned()];
    lines.extend((0..150).map(|number| format!("{{broken {number}")));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let copy = mended(&log(&lines));
    assert_eq!((copy.done.fixes.len(), copy.done.fix_count), (100, 150));
    assert_eq!(copy.done.dropped, 150);
}
