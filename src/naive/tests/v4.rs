//! Tests of pi v4: sequence, lanes, facts, records, operations and contexts.

use super::*;

const HEADER: &str = r#"{"kind":"header","version":4,"id":"s","createdAt":5}"#;

/// A header and mutations behind it, each with the next `seq` and a time unless they have their own.
fn log(mutations: &[&str]) -> String {
    let mut log = file(&[HEADER]);
    for (number, fields) in mutations.iter().enumerate() {
        let seq = number + 1;
        log.push_str(&format!("{{\"seq\":{seq},\"timestamp\":{seq},{fields}}}\n"));
    }
    log
}

fn entry(id: &str, parent: &str, fields: &str) -> String {
    format!(r#""kind":"entry","lane":"main","id":"{id}","parentId":{parent},{fields}"#)
}

fn found(mutations: &[&str]) -> Vec<(u64, ReportCode, bool)> {
    reports(&read(log(mutations)))
}

#[test]
fn the_sequence_goes_on_from_what_it_finds() {
    let numbers = [
        "1", "3", "4", "2", "3", "\"4\"", "5", "0", "-7", "8.0", "9e0", "1.5", "11",
    ];
    let mut log = file(&[HEADER]);
    for number in numbers {
        log.push_str(&format!("{{\"kind\":\"news\",\"seq\":{number}}}\n"));
    }
    log.push_str("{\"kind\":\"news\"}\n{\"kind\":\"news\",\"seq\":13}\n");
    let replay = read(&log);
    let lines: Vec<_> = reports(&replay).iter().map(|report| report.0).collect();
    assert_eq!(lines, [3, 5, 7, 9, 10, 13, 15]);
    assert!(
        reports(&replay)
            .iter()
            .all(|report| report.1 == ReportCode::Seq && !report.2)
    );
    assert_eq!(replay.overview().kinds["news"], 15);
}

#[test]
fn mutations_that_cannot_be_kept_are_skipped_and_not_counted_in_the_sequence() {
    let bad = [
        (r#"{"seq":1,"kind":7}"#, ReportCode::BadField),
        (r#"{"seq":1}"#, ReportCode::BadField),
        (HEADER, ReportCode::BadField),
        (
            r#"{"seq":1,"kind":"entry","type":"x"}"#,
            ReportCode::MissingId,
        ),
        (
            r#"{"seq":1,"kind":"record","type":"x","id":1}"#,
            ReportCode::BadField,
        ),
        (r#"{"seq":1,"kind":"lane"}"#, ReportCode::BadField),
        (
            r#"{"seq":1,"kind":"lane","lane":"x","leafId":1}"#,
            ReportCode::BadField,
        ),
        (r#"{"seq":1,"kind":"fact"}"#, ReportCode::BadField),
        (
            r#"{"seq":1,"kind":"fact","fact":"name","name":1}"#,
            ReportCode::BadField,
        ),
        (
            r#"{"seq":1,"kind":"fact","fact":"label","label":"x"}"#,
            ReportCode::BadField,
        ),
        (
            r#"{"seq":1,"kind":"fact","fact":"label","targetId":"a","label":[]}"#,
            ReportCode::BadField,
        ),
    ];
    for (line, code) in bad {
        let replay = read(file(&[HEADER, line, r#"{"seq":1,"kind":"news"}"#]));
        assert_eq!(reports(&replay), [(2, code, true)], "{line}");
        assert_eq!(replay.overview().kinds.values().sum::<u64>(), 1, "{line}");
        let spliced = read(file(&[HEADER, &format!("{{{line}")]));
        assert_eq!(
            reports(&spliced),
            [(2, ReportCode::NotJson, true)],
            "{line}"
        );
    }
}

#[test]
fn an_entry_must_stand_on_the_leaf_of_its_lane() {
    let a = entry("a", "null", r#""type":"x""#);
    let b = entry("b", "null", r#""type":"x""#);
    let c = entry("c", r#""a""#, r#""type":"x""#);
    let forked = r#""kind":"entry","id":"d","parentId":"a","type":"x""#;
    let odd = r#""kind":"entry","lane":7,"id":"e","parentId":"d","type":"x""#;
    let expected = [
        (3, ReportCode::BadField, false),
        (4, ReportCode::BadField, false),
        (6, ReportCode::BadField, false),
    ];
    let replay = read(log(&[&a, &b, &c, forked, odd]));
    assert_eq!(reports(&replay), expected);
    assert_eq!(replay.overview().leaf.as_deref(), Some("c"));
    assert_eq!(replay.path(At::Current).unwrap(), ["a", "c"]);
}

#[test]
fn a_missing_parent_is_reported_once_and_breaks_the_path() {
    let lost = entry("a", r#""gone""#, r#""type":"x""#);
    let replay = read(log(&[&lost]));
    assert_eq!(reports(&replay), [(2, ReportCode::MissingParent, false)]);
    let error = replay.snapshot(At::Current, false).unwrap_err();
    assert_eq!((error.code(), error.line()), (Code::InvalidEntry, Some(2)));
    assert!(error.message().contains("\"gone\"") && error.message().contains("\"a\""));
    let salvaged = replay.snapshot(At::Current, true).unwrap();
    assert_eq!((salvaged.path_entries, salvaged.salvaged), (1, true));
    // A parent that comes later is there, only not where the lane stood.
    let late = entry("gone", r#""a""#, r#""type":"x""#);
    let expected = [
        (2, ReportCode::BadField, false),
        (2, ReportCode::Cycle, false),
        (3, ReportCode::Cycle, false),
    ];
    assert_eq!(found(&[&lost, &late]), expected);
}

#[test]
fn lanes_are_made_by_lane_lines_and_by_entries_that_need_them() {
    let a = entry("a", "null", r#""type":"x""#);
    let side = r#""kind":"entry","lane":"side","id":"b","type":"x""#;
    let replay = read(log(&[
        &a,
        side,
        r#""kind":"lane","lane":"third","leafId":"gone""#,
        r#""kind":"lane","lane":"main","leafId":null"#,
    ]));
    let expected = [
        (3, ReportCode::MissingLane, false),
        (4, ReportCode::MissingParent, false),
    ];
    assert_eq!(reports(&replay), expected);
    let lanes = replay.overview().lanes;
    assert_eq!(
        json!(lanes),
        json!([["main", null], ["side", "b"], ["third", "gone"]])
    );
    assert_eq!(replay.path(At::Current).unwrap(), [""; 0]);
    assert_eq!(replay.path(At::Lane("side")).unwrap(), ["b"]);
    let error = replay.path(At::Lane("third")).unwrap_err();
    assert_eq!(error.code(), Code::InvalidEntry);
    assert!(error.message().contains("gone"), "{error}");
    let salvaged = replay.snapshot(At::Lane("third"), true).unwrap();
    assert_eq!((salvaged.leaf, salvaged.salvaged), (None, true));
    assert_eq!(
        replay.path(At::Lane("none")).unwrap_err().code(),
        Code::InvalidLane
    );
    let at_leaf = replay.snapshot(At::Leaf("a"), false).unwrap();
    assert_eq!(at_leaf.lane, None, "an entry is asked for, not a lane");
}

#[test]
fn facts_are_the_latest_and_absent_clears() {
    let a = entry("a", "null", r#""type":"x""#);
    let replay = read(log(&[
        &a,
        r#""kind":"fact","fact":"label","targetId":"a","label":"x""#,
        r#""kind":"fact","fact":"label","targetId":"gone","label":"""#,
        r#""kind":"fact","fact":"name","name":"one""#,
        r#""kind":"fact","fact":"name","name":"""#,
        r#""kind":"fact","fact":"mood","name":1"#,
    ]));
    let overview = replay.overview();
    assert_eq!(reports(&replay), [(4, ReportCode::MissingParent, false)]);
    assert_eq!(overview.name.as_deref(), Some(""));
    assert_eq!(json!(overview.labels), json!({"a": "x", "gone": ""}));
    let kinds = json!({"x": 1, "fact/label": 2, "fact/name": 2, "fact/mood": 1});
    assert_eq!(json!(overview.kinds), kinds);
    let cleared = read(log(&[
        r#""kind":"fact","fact":"name","name":"one""#,
        r#""kind":"fact","fact":"name","name":null"#,
    ]));
    assert_eq!(cleared.overview().name, None);
}

#[test]
fn entries_and_records_share_ids_but_do_not_replace_each_other() {
    let record = |id: &str| format!(r#""kind":"record","lane":"main","type":"x","id":"{id}""#);
    let a = entry("a", "null", r#""type":"x""#);
    let replay = read(log(&[
        &a,
        &record("a"),
        &record("b"),
        &entry("b", r#""a""#, r#""type":"x""#),
    ]));
    let expected = [
        (3, ReportCode::DuplicateId, false),
        (5, ReportCode::DuplicateId, false),
    ];
    assert_eq!(reports(&replay), expected);
    let overview = replay.overview();
    assert_eq!((overview.entries, overview.records), (2, 2));
    assert_eq!(overview.kinds["record/x"], 2);
    assert_eq!(replay.path(At::Current).unwrap(), ["a", "b"]);
    let lonely = read(log(&[&record("r")]));
    assert_eq!(
        lonely.path(At::Leaf("r")).unwrap_err().code(),
        Code::NotFound
    );
}

#[test]
fn operations_are_open_in_their_lane_until_a_later_finish() {
    let start = |id: &str, lane: &str| {
        format!(r#""kind":"record","type":"operation_started","id":"{id}","lane":{lane}"#)
    };
    let finish = |id: &str, run: &str, lane: &str| {
        format!(
            r#""kind":"record","type":"operation_finished","id":"{id}","lane":{lane},"runId":"{run}""#
        )
    };
    let (main, side) = (r#""main""#, r#""side""#);
    let replay = read(log(&[
        &finish("f0", "z", main),
        &start("z", main),
        &start("b", main),
        &start("a", main),
        &finish("f1", "b", main),
        r#""kind":"lane","lane":"side","leafId":null"#,
        &start("s", side),
        &finish("f2", "s", main),
        &start("t", side),
        &finish("f3", "t", side),
        &start("lost", r#""nowhere""#),
        &start("lost2", "7"),
    ]));
    let open = replay.overview().open_operations;
    assert_eq!(json!(open), json!({"main": ["z", "a"], "side": ["s"]}));
    let expected = [
        (12, ReportCode::MissingLane, false),
        (13, ReportCode::MissingLane, false),
    ];
    assert_eq!(reports(&replay), expected);
}

#[test]
fn usage_is_summed_over_records_each_id_once() {
    let usage = |id: &str, usage: &str| {
        format!(r#""kind":"record","type":"usage","id":"{id}","lane":"main","usage":{usage}"#)
    };
    let replay = read(log(&[
        &usage("a", r#"{"cacheRead":100}"#),
        &usage(
            "a",
            r#"{"cacheRead":1.9,"input":2,"cacheWrite":"3","totalTokens":1e999,"cost":{"total":0.5}}"#,
        ),
        &usage(
            "b",
            r#"{"cacheRead":1e1,"input":-1,"totalTokens":9007199254740993,"cost":{"total":0.25}}"#,
        ),
        &usage("c", "7"),
        &usage("d", r#"{"totalTokens":null,"cost":7}"#),
    ]));
    let expected = [
        (3, ReportCode::DuplicateId, false),
        (5, ReportCode::BadPayload, false),
    ];
    assert_eq!(reports(&replay), expected);
    let stats = replay.overview().stats;
    assert_eq!((stats.cached_tokens, stats.uncached_tokens), (11, 1));
    assert_eq!(stats.total_tokens, 9_007_199_254_740_993);
    assert!((stats.cost_total - 0.75).abs() < f64::EPSILON);
}

#[test]
fn times_are_numbers_and_the_newest_is_the_update() {
    let replay = read(file(&[
        HEADER,
        r#"{"seq":1,"kind":"entry","id":"a","type":"x","timestamp":"1970-01-01"}"#,
        r#"{"seq":2,"kind":"record","id":"b","lane":"main","type":"x","timestamp":70}"#,
        r#"{"seq":3,"kind":"record","id":"c","lane":"main","type":"x"}"#,
        r#"{"seq":4,"kind":"lane","lane":"main","leafId":"a"}"#,
    ]));
    let expected = [
        (2, ReportCode::BadTimestamp, false),
        (4, ReportCode::BadTimestamp, false),
    ];
    assert_eq!(reports(&replay), expected);
    assert_eq!(replay.overview().updated, Some(70));
    assert_eq!(read(HEADER).overview().updated, Some(5));
}

#[test]
fn a_compaction_replaces_what_came_before_it() {
    let replay = read(log(&[
        &entry(
            "a",
            "null",
            r#""type":"message","message":{"role":"assistant","model":"m"}"#,
        ),
        &entry(
            "b",
            r#""a""#,
            r#""type":"active_tools_change","activeToolNames":["r\u0065ad"]"#,
        ),
        &entry(
            "c",
            r#""b""#,
            r#""type":"compaction","summary":"s","retainedTail":[ {"n":1e2} ],"tokensBefore":9"#,
        ),
        &entry(
            "d",
            r#""c""#,
            r#""type":"message","message":{"role":"assistant","stopReason":"deferred","provider":"p"}"#,
        ),
        &entry("e", r#""d""#, r#""type":"branch_summary","summary":"t""#),
        &entry("f", r#""e""#, r#""type":"branch_summary""#),
        &entry("g", r#""f""#, r#""type":"custom","data":{}"#),
        &entry(
            "h",
            r#""g""#,
            r#""type":"message","message":{"role":"user","content":null}"#,
        ),
    ]));
    let expected = [
        r#"{"role":"compactionSummary","summary":"s","tokensBefore":9,"timestamp":3}"#,
        r#"{"n":1e2}"#,
        r#"{"role":"branchSummary","summary":"t","timestamp":5}"#,
        r#"{"role":"user","content":null}"#,
    ];
    assert_eq!(messages(&replay), expected);
    let snapshot = snapshot(&replay);
    let model = snapshot.model.unwrap();
    assert_eq!((model.provider.as_deref(), model.model), (Some("p"), None));
    assert_eq!(snapshot.active_tools, Some(vec!["read".to_owned()]));
    assert_eq!(snapshot.path_entries, 8);
}

#[test]
fn built_messages_give_the_time_as_it_is_spelled_or_null() {
    let line = |seq: u8, time: &str| {
        format!(
            r#"{{"seq":{seq},"kind":"entry","id":"{seq}","type":"branch_summary","summary":"s","timestamp":{time}}}"#
        )
    };
    let replay = read(file(&[
        HEADER,
        &line(1, "1.50e1"),
        &line(2, "\"1970-01-01\""),
    ]));
    let time = |id| {
        let snapshot = replay.snapshot(At::Leaf(id), false).unwrap();
        let message = snapshot.messages.get(0).unwrap().to_owned();
        Fields::of(&message).get("timestamp").unwrap().to_owned()
    };
    assert_eq!(
        (time("1"), time("2")),
        ("1.50e1".to_owned(), "null".to_owned())
    );
}

#[test]
fn payloads_of_another_shape_do_nothing() {
    let bad = [
        r#""type":"message","message":"x""#,
        r#""type":"model_change","provider":1"#,
        r#""type":"thinking_level_change""#,
        r#""type":"active_tools_change","activeToolNames":["a",1]"#,
        r#""type":"active_tools_change""#,
        r#""type":"compaction","retainedTail":[1]"#,
        r#""type":"branch_summary","summary":{}"#,
    ];
    for fields in bad {
        let replay = read(log(&[&entry("a", "null", fields)]));
        assert_eq!(
            reports(&replay),
            [(2, ReportCode::BadPayload, false)],
            "{fields}"
        );
        let snapshot = snapshot(&replay);
        assert!(
            snapshot.messages.is_empty() && snapshot.model.is_none(),
            "{fields}"
        );
        assert_eq!(snapshot.active_tools, None);
    }
}
