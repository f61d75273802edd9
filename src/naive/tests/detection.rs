//! Tests of the first object: formats, versions, and files without a header.

use super::*;
use crate::model::Format;

const CODEBOT_ENTRY: &str =
    r#"{"kind":"telemetry","id":"a","timestamp":"2026-07-14T09:00:00Z","data":{}}"#;

#[test]
fn versions_decide_by_value() {
    let formats = [
        (r#"{"type":"session","id":"s"}"#, Format::PiV1),
        (
            r#"{"type":"session","id":"s","version":null}"#,
            Format::PiV1,
        ),
        (r#"{"type":"session","id":"s","version":2}"#, Format::PiV2),
        (r#"{"type":"session","id":"s","version":3.0}"#, Format::PiV3),
        (r#"{"kind":"header","id":"s","version":4}"#, Format::PiV4),
        (
            r#"{"kind":"header","id":"h0","data":{"version":3}}"#,
            Format::CodebotV3,
        ),
        (
            r#"{"kind":"header","version":4,"data":{"version":3}}"#,
            Format::CodebotV3,
        ),
    ];
    for (header, format) in formats {
        assert_eq!(read(header).overview().format, format, "{header}");
    }
}

#[test]
fn other_versions_are_unsupported_and_both_are_named() {
    let headers = [
        (
            r#"{"kind":"header","id":"h0","data":{"version":99}}"#,
            "99",
            "3",
        ),
        (r#"{"kind":"header","id":"s","version":"4"}"#, "\"4\"", "4"),
        (
            r#"{"type":"session","id":"s","version":7}"#,
            "7",
            "1, 2, 3 and 4",
        ),
        (
            r#"{"type":"session","id":"s","version":0}"#,
            "0",
            "1, 2, 3 and 4",
        ),
    ];
    for (header, found, known) in headers {
        for options in [ReadOptions::default(), STRICT, SALVAGE] {
            let error = refused(header, options);
            assert_eq!(error.code(), Code::Unsupported, "{header}: {error}");
            assert!(error.message().contains(found), "{error}");
            assert!(error.message().contains(known), "{error}");
            assert_eq!((error.line(), error.offset()), (Some(1), Some(0)));
        }
    }
}

#[test]
fn headers_without_what_they_need_are_invalid() {
    let headers = [
        r#"{"kind":"header","id":"h0"}"#,
        r#"{"kind":"header","id":"h0","data":{"version":null}}"#,
        r#"{"kind":"header","id":"s"}"#,
        r#"{"kind":"header","version":4}"#,
        r#"{"type":"session","version":3}"#,
        r#"{"type":"session","version":3,"id":""}"#,
        r#"{"type":"session","version":3,"id":7}"#,
        r#"{"hello":"world"}"#,
        "{}",
    ];
    for header in headers {
        let error = refused(header, ReadOptions::default());
        assert_eq!(error.code(), Code::InvalidEntry, "{header}");
        assert_eq!(error.line(), Some(1), "{header}");
    }
    let error = refused(r#"{"hello":"world"}"#, ReadOptions::default());
    assert!(error.message().contains("hello"), "{error}");
    assert!(error.message().contains("codebot"), "{error}");
}

#[test]
fn files_without_an_object_are_invalid() {
    for log in [
        "",
        "\n\n",
        " \t\r\n",
        "\0\0\0",
        "\u{feff}",
        "[1]\n42\n",
        "{torn",
    ] {
        for options in [ReadOptions::default(), SALVAGE, STRICT] {
            assert_eq!(refused(log, options).code(), Code::InvalidEntry, "{log:?}");
        }
    }
}

#[test]
fn lines_before_the_header_are_reported() {
    let header = r#"{"type":"session","version":3,"id":"s"}"#;
    let replay = read(file(&["{broken", "", "[]", header]));
    let expected = [
        (1, ReportCode::NotJson, true),
        (3, ReportCode::NotObject, true),
    ];
    assert_eq!(reports(&replay), expected);
    assert_eq!(replay.overview().lines, 4);
}

#[test]
fn the_header_says_who_the_session_is() {
    let pi = read(
        r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-07-14T09:00:00Z","cwd":"/a","parentSession":"/old"}"#,
    );
    let overview = pi.overview();
    assert_eq!(overview.session_id, "s1");
    assert_eq!(overview.cwd.as_deref(), Some("/a"));
    assert_eq!(overview.parent.as_deref(), Some("/old"));
    assert_eq!(overview.created, Some(1_784_019_600_000));
    assert_eq!(overview.updated, overview.created);
    assert!(overview.kinds.is_empty());

    let v4 = read(
        r#"{"kind":"header","version":4,"id":"s4","createdAt":5,"cwd":"/b","legacyParentSessionPath":"/p"}"#,
    );
    assert_eq!(v4.overview().parent.as_deref(), Some("/p"));
    assert_eq!(v4.overview().created, Some(5));
    assert!(v4.overview().kinds.is_empty());

    let codebot = read(
        r#"{"kind":"header","id":"h0","timestamp":"2026-07-14T09:00:00Z","data":{"version":3,"session_id":"c1","name":"N","created":"then"}}"#,
    );
    let overview = codebot.overview();
    assert_eq!(overview.session_id, "c1");
    assert_eq!(overview.name.as_deref(), Some("N"));
    assert_eq!(overview.created, Some(1_784_019_600_000));
    assert_eq!(overview.kinds["header"], 1);
    assert_eq!(
        (overview.entries, overview.leaf.as_deref()),
        (1, Some("h0"))
    );
}

#[test]
fn salvage_takes_the_format_from_the_first_object() {
    let first = [
        (r#"{"kind":"lane","lane":"x","seq":1}"#, Format::PiV4),
        (r#"{"kind":"fact","fact":"name","seq":1}"#, Format::PiV4),
        (r#"{"type":"custom","id":"a"}"#, Format::PiV3),
        (r#"{"type":"custom"}"#, Format::PiV1),
        (CODEBOT_ENTRY, Format::CodebotV3),
    ];
    for (object, format) in first {
        let replay = Replay::from_bytes(object.as_bytes(), SALVAGE).unwrap();
        let overview = replay.overview();
        assert_eq!(overview.format, format, "{object}");
        assert_eq!(overview.session_id, "");
        assert_eq!(overview.kinds.values().sum::<u64>(), 1, "{object}");
        assert_eq!(
            refused(object, ReadOptions::default()).code(),
            Code::InvalidEntry
        );
    }
    assert_eq!(refused("{}", SALVAGE).code(), Code::InvalidEntry);
}

#[test]
fn an_object_behind_a_torn_one_begins_a_log_only_as_a_header() {
    let spliced = format!("{{\"torn{CODEBOT_ENTRY}");
    let header =
        r#"{"kind":"header","id":"h0","timestamp":"2026-07-14T09:00:00Z","data":{"version":3}}"#;
    let log = file(&[&spliced, header]);
    let expected = [(1, ReportCode::NotJson, true)];
    assert_eq!(reports(&read(&log)), expected);
    // Salvage reads a log with a header as it is read without; only of one that has none, it is enough.
    let salvaged = Replay::from_bytes(log.as_bytes(), SALVAGE).unwrap();
    assert_eq!(reports(&salvaged), expected);
    let headless = Replay::from_bytes(file(&[&spliced]).as_bytes(), SALVAGE).unwrap();
    assert_eq!(reports(&headless), [(1, ReportCode::Spliced, false)]);
    let begun = read(format!("xx{header}\n"));
    assert_eq!(reports(&begun), [(1, ReportCode::Spliced, false)]);
    assert_eq!(begun.entry_ids(), ["h0"]);
}
