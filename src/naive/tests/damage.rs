//! Tests of damaged lines and of what strict reading makes of them.

use super::*;

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-07-14T09:00:00Z"}"#;

/// An entry of no known type, and so without a payload that could be bad.
fn entry(id: &str) -> String {
    format!(r#"{{"type":"x","id":"{id}","timestamp":"2026-07-14T09:00:00Z"}}"#)
}

/// Reads a header and then these bytes; gives the ids and the reports of the second line.
fn second_line(bytes: impl AsRef<[u8]>) -> (Vec<String>, Vec<(ReportCode, bool)>) {
    let mut log = file(&[HEADER]).into_bytes();
    log.extend_from_slice(bytes.as_ref());
    let replay = read(&log);
    let overview = replay.overview();
    let reports = overview.reports.iter().map(|report| {
        assert_eq!((report.line, report.offset), (2, HEADER.len() as u64 + 1));
        assert!(!report.detail.is_empty());
        (report.code, report.skipped)
    });
    (replay.entry_ids(), reports.collect())
}

#[test]
fn whole_objects_survive_what_stands_beside_them() {
    use ReportCode::{InvalidUtf8, NulBytes, Spliced, TwoObjects};
    let (a, b) = (entry("a"), entry("b"));
    let cases: Vec<(String, &[&str], &[ReportCode])> = vec![
        (format!("{a}\r\n"), &["a"], &[]),
        (format!(" \t{a} \n"), &["a"], &[]),
        (a.clone(), &["a"], &[]),
        (format!("\0\0{a}\n"), &["a"], &[NulBytes]),
        (format!("{a}\0 \0"), &["a"], &[NulBytes]),
        (format!("{a}{b}\n"), &["a", "b"], &[TwoObjects]),
        (format!("{a} \0 {b}"), &["a", "b"], &[NulBytes, TwoObjects]),
        (format!("\0{a}{b}\0"), &["a", "b"], &[NulBytes, TwoObjects]),
        (format!("{{\"type\":\"x\",\"id{a}\n"), &["a"], &[Spliced]),
        (format!("{{\"text\":\"a\\\\{a}\n"), &["a"], &[Spliced]),
        (format!("42{a}\n"), &["a"], &[Spliced]),
        (format!("{a}]{b}\n"), &["b"], &[Spliced]),
        (format!("{{\"to\0\0{a}\0\n"), &["a"], &[NulBytes, Spliced]),
    ];
    for (line, ids, codes) in cases {
        let (got, found) = second_line(&line);
        assert_eq!(got, ids, "{line:?}");
        let expected: Vec<_> = codes.iter().map(|code| (*code, false)).collect();
        assert_eq!(found, expected, "{line:?}");
    }
    let invalid = b"{\"type\":\"x\",\"id\":\"a\xFF\",\"timestamp\":0}\n";
    let (ids, found) = second_line(invalid);
    assert_eq!(ids, ["a\u{fffd}"]);
    assert_eq!(found, [(InvalidUtf8, false)]);
    let torn = [b"{\"caf\xC3".as_slice(), invalid].concat();
    let expected = [(InvalidUtf8, false), (Spliced, false)];
    assert_eq!(second_line(torn).1, expected);
}

#[test]
fn lines_without_a_whole_object_are_skipped() {
    use ReportCode::{BadField, MissingId, NotJson, NotObject, TornTail};
    let a = entry("a");
    let cases = [
        ("null\n".to_owned(), NotObject),
        ("[]\n".to_owned(), NotObject),
        (" 42 ".to_owned(), NotObject),
        ("\"text\"\n".to_owned(), NotObject),
        ("{not json}\n".to_owned(), NotJson),
        ("{not json}".to_owned(), TornTail),
        ("\u{a0}{}\n".to_owned(), NotJson),
        (format!("{a},\n"), NotJson),
        (format!("{a}{{\"torn"), TornTail),
        ("{\"id\":\"a\tb\"}\n".to_owned(), NotJson),
        ("{\"id\":\"a\",}\n".to_owned(), NotJson),
        ("{\"id\":01}\n".to_owned(), NotJson),
        ("{\"id\":\"a\\x\"}\n".to_owned(), NotJson),
        ("{torn{\"type\":\"x\"}\n".to_owned(), NotJson),
        ("{\"\u{feff}{}\n".to_owned(), NotJson),
        ("{}\n".to_owned(), MissingId),
        ("{\"id\":null}\n".to_owned(), MissingId),
        ("{\"id\":\"\"}\n".to_owned(), MissingId),
        ("{\"id\":7}\n".to_owned(), BadField),
        (HEADER.to_owned(), BadField),
    ];
    for (line, code) in cases {
        let (ids, found) = second_line(&line);
        assert!(ids.is_empty(), "{line:?}");
        assert_eq!(found, [(code, true)], "{line:?}");
    }
    let outside = b"{\"type\":\"x\",\xFF\"id\":\"a\"}\n";
    assert_eq!(second_line(outside).1, [(NotJson, true)]);
}

#[test]
fn a_line_of_nul_bytes_held_nothing() {
    let (ids, found) = second_line(" \0\0\r\n");
    assert!(ids.is_empty());
    assert_eq!(found, [(ReportCode::NulBytes, false)]);
}

#[test]
fn a_byte_order_mark_is_passed_over_at_the_start_only() {
    let marked = format!("\u{feff}{HEADER}\n\u{feff}{}\n", entry("a"));
    let replay = read(&marked);
    // Elsewhere it is text that a whole object stands behind.
    assert_eq!(reports(&replay), [(2, ReportCode::Spliced, false)]);
    assert_eq!(replay.overview().bytes, marked.len() as u64);
}

#[test]
fn two_objects_on_a_line_are_each_read_as_a_line() {
    let (ids, found) = second_line(format!("{}{{}}\n", entry("a")));
    assert_eq!(ids, ["a"]);
    let expected = [
        (ReportCode::MissingId, true),
        (ReportCode::TwoObjects, false),
    ];
    assert_eq!(found, expected);
}

#[test]
fn escapes_and_repeated_keys_are_read_as_javascript_reads_them() {
    let line =
        r#"{"type":"x","id":"z","\u0069d":"\ud83d\ude00\ud83d\u0041\ude00\/","timestamp":0}"#;
    let (ids, found) = second_line(line);
    assert_eq!(ids, ["😀\u{fffd}A\u{fffd}/"]);
    assert!(found.is_empty());
}

#[test]
fn depth_and_size_are_no_damage() {
    let depth = 1_000_000;
    let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let objects = format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    let line = |payload: &str, id: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","timestamp":0,"message":{{"role":"user","content":{payload}}}}}"#
        )
    };
    let log = file(&[
        HEADER,
        &line(&deep, "a"),
        &line(&objects, "b"),
        &deep,
        &deep[1..],
    ]);
    let replay = read(&log);
    let expected = [
        (4, ReportCode::NotObject, true),
        (5, ReportCode::NotJson, true),
    ];
    assert_eq!(reports(&replay), expected);
    assert_eq!(messages(&replay).len(), 1);
    let spliced = format!("{}{}\n", "{".repeat(depth), line(&objects, "c"));
    assert_eq!(second_line(spliced).1, [(ReportCode::Spliced, false)]);
}

#[test]
fn what_an_unfinished_last_line_ends_in_is_no_line() {
    let torn = format!(
        "{{\"type\":\"message\",\"id\":\"b\",\"message\":{}",
        entry("a")
    );
    let (ids, found) = second_line(&torn);
    assert_eq!(ids, Vec::<String>::new());
    assert_eq!(found, [(ReportCode::TornTail, true)]);
}

#[test]
fn long_runs_of_anything_are_read_in_one_pass() {
    let size = 300_000;
    let runs = [
        "{", "}", "\"", "\\", "{}", "\0", "{\"", "\"}", "\\\"}", "[{", "{\"a\":{", " ",
    ];
    for run in runs {
        second_line(run.repeat(size));
        second_line(format!("{{\"{}\"}}", run.repeat(size)));
    }
}

#[test]
fn reports_are_listed_up_to_a_hundred_and_all_counted() {
    let mut log = file(&[HEADER]);
    log.push_str(&"x\n".repeat(150));
    let overview = read(&log).overview();
    assert_eq!((overview.reports.len(), overview.report_count), (100, 150));
    assert_eq!(overview.reports[99].line, 101);
}

#[test]
fn strict_reading_refuses_at_the_first_report() {
    let (a, b) = (entry("a"), entry("b"));
    let error = refused(file(&[HEADER, &a, "", "{broken", &b, "[]"]), STRICT);
    assert_eq!(error.code(), Code::InvalidEntry);
    assert_eq!(error.line(), Some(4));
    assert_eq!(error.offset(), Some((HEADER.len() + a.len() + 3) as u64));
    assert!(error.message().contains("not_json"), "{error}");
    let unknown = refused(
        file(&["{broken", r#"{"type":"session","id":"s","version":9}"#]),
        STRICT,
    );
    assert_eq!(
        (unknown.code(), unknown.line()),
        (Code::InvalidEntry, Some(1))
    );
    let nul = refused("\0\n", STRICT);
    assert_eq!((nul.code(), nul.line()), (Code::InvalidEntry, Some(1)));
}

#[test]
fn strict_reading_knows_the_whole_file() {
    let cyclic = r#"{"type":"x","id":"b","parentId":"b","timestamp":0}"#;
    let error = refused(file(&[HEADER, &entry("a"), cyclic, "{broken"]), STRICT);
    assert_eq!(error.line(), Some(3));
    assert!(error.message().contains("cycle"), "{error}");
}

#[test]
fn strict_reading_takes_an_orphan_for_a_root_where_the_format_does() {
    let orphan = r#"{"type":"x","id":"b","parentId":"gone","timestamp":0}"#;
    let replay = Replay::from_bytes(file(&[HEADER, orphan]).as_bytes(), STRICT).unwrap();
    assert_eq!(reports(&replay), [(2, ReportCode::MissingParent, false)]);
    assert_eq!(replay.path(At::Current).unwrap(), ["b"]);
}
