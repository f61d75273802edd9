//! Tests of codebot: paths that break, payloads, repair, and what a listing shows.

use super::*;

const HEADER: &str = r#"{"kind":"header","id":"h0","timestamp":"2026-07-14T09:00:00Z","data":{"version":3,"session_id":"c","name":"Old"}}"#;

fn entry(id: &str, parent: &str, kind: &str, data: &str) -> String {
    format!(
        r#"{{"kind":"{kind}","id":"{id}","parent_id":"{parent}","timestamp":"2026-07-14T09:00:01Z","data":{data}}}"#
    )
}

/// A header and a chain of entries behind it, with ids 1, 2, 3 …
fn chain(entries: &[(&str, &str)]) -> Replay {
    let mut log = file(&[HEADER]);
    let mut parent = "h0".to_owned();
    for (number, (kind, data)) in entries.iter().enumerate() {
        let id = (number + 1).to_string();
        log.push_str(&entry(&id, &parent, kind, data));
        log.push('\n');
        parent = id;
    }
    read(&log)
}

const MISSING: &str = r#"{"role":"tool","content":[{"type":"text","text":"\"Tool result missing (conversation was truncated or interrupted).\""}],"metadata":{"tool_call_id":ID,"is_error":true}}"#;

fn missing(id: &str) -> String {
    MISSING.replace("ID", id)
}

fn calling(ids: &[&str]) -> String {
    let blocks: Vec<_> = ids
        .iter()
        .map(|id| format!(r#"{{"type":"toolCall","tool_call":{{"id":{id}}}}}"#))
        .collect();
    format!(r#"{{"role":"assistant","content":[{}]}}"#, blocks.join(","))
}

fn answering(id: &str) -> String {
    format!(r#"{{"role":"tool","metadata":{{"tool_call_id":{id}}}}}"#)
}

/// What repair makes of these messages.
fn repaired(list: &[String]) -> Vec<String> {
    let entries: Vec<_> = list.iter().map(|data| ("message", data.as_str())).collect();
    messages(&chain(&entries))
}

#[test]
fn calls_get_answers_in_order_each_once_as_spelled() {
    let asked = calling(&[r#""a""#, r#""\u0062""#, r#""c""#, r#""b""#, r#""""#, "7"]);
    let answer = answering(r#""c""#);
    let expected = [
        asked.clone(),
        missing(r#""a""#),
        missing(r#""\u0062""#),
        answer.clone(),
    ];
    assert_eq!(repaired(&[asked, answer]), expected);
}

#[test]
fn only_the_run_directly_behind_the_call_answers_it() {
    let asked = calling(&[r#""a""#]);
    let user = r#"{"role":"user"}"#.to_owned();
    let late = answering(r#""a""#);
    let expected = [asked.clone(), missing(r#""a""#), user.clone(), late.clone()];
    assert_eq!(repaired(&[asked, user, late]), expected);
}

#[test]
fn answers_to_no_call_go_and_tools_without_an_answer_stay() {
    let stray = answering(r#""x""#);
    let plain = r#"{"role":"tool","metadata":{"tool_call_id":""}}"#.to_owned();
    let bare = r#"{"role":"tool"}"#.to_owned();
    assert_eq!(
        repaired(&[stray, plain.clone(), bare.clone()]),
        [plain, bare]
    );
}

#[test]
fn calls_of_other_roles_and_blocks_are_none() {
    let user = r#"{"role":"user","content":[{"type":"toolCall","tool_call":{"id":"a"}}]}"#;
    let use_block =
        r#"{"role":"assistant","content":[{"type":"tool_use","tool_call":{"id":"a"}}]}"#;
    let list = [user.to_owned(), use_block.to_owned()];
    assert_eq!(repaired(&list), list);
    assert_eq!(repaired(&[user.to_owned(), answering(r#""a""#)]), [user]);
}

#[test]
fn a_stray_answer_in_a_run_does_not_end_the_run() {
    let asked = calling(&[r#""a""#]);
    let (stray, good) = (answering(r#""x""#), answering(r#""a""#));
    assert_eq!(
        repaired(&[asked.clone(), stray, good.clone()]),
        [asked, good]
    );
}

#[test]
fn compaction_keeps_its_messages_and_the_state_before_it() {
    let replay = chain(&[
        ("model_change", r#"{"provider":"p"}"#),
        ("thinking_change", r#"{"level":"low"}"#),
        ("plan_state", r#"{"phase":"go","slug":null}"#),
        ("goal_state", r#"{ "n":1e999}"#),
        ("message", r#"{"role":"user"}"#),
        (
            "compaction",
            r#"{"summary":"s\u00e9","messages":[ {"role":"user","x":1} ]}"#,
        ),
        ("session_info", r#"{"name":""}"#),
    ]);
    let summary = r#"{"role":"user","content":[{"type":"text","text":"s\u00e9"}],"timestamp":"2026-07-14T09:00:01Z"}"#;
    assert_eq!(messages(&replay), [summary, r#"{"role":"user","x":1}"#]);
    let snapshot = snapshot(&replay);
    let model = snapshot.model.unwrap();
    assert_eq!((model.provider.as_deref(), model.model), (Some("p"), None));
    assert_eq!(snapshot.reasoning_effort.as_deref(), Some("low"));
    assert_eq!(snapshot.plan.unwrap().phase.as_deref(), Some("go"));
    assert_eq!(snapshot.goal.as_deref(), Some(r#"{ "n":1e999}"#));
    assert_eq!(snapshot.name, None, "an empty name on the path clears");
    assert_eq!(snapshot.path_entries, 8);
    assert_eq!(snapshot.lane, None);
}

#[test]
fn a_summary_without_a_written_time_has_none() {
    let line =
        r#"{"kind":"compaction","id":"1","parent_id":"h0","timestamp":7,"data":{"summary":"s"}}"#;
    let replay = read(file(&[HEADER, line]));
    let summary = r#"{"role":"user","content":[{"type":"text","text":"s"}]}"#;
    assert_eq!(messages(&replay), [summary]);
    assert_eq!(reports(&replay), [(2, ReportCode::BadTimestamp, false)]);
}

#[test]
fn payloads_of_another_shape_do_nothing_at_all() {
    let replay = chain(&[
        ("message", r#"{"role":"user"}"#),
        ("compaction", r#"{"summary":"s","messages":[{"role":1}]}"#),
        ("compaction", r#"{"summary":"s","messages":[1]}"#),
        ("compaction", r#"{"summary":[]}"#),
        ("message", r#"{"role":"user","content":"text"}"#),
        ("message", r#"{"role":"user","content":["text"]}"#),
        ("model_change", r#"{"provider":1}"#),
        ("reasoning_effort_change", r#"{"level":{}}"#),
        ("plan_state", r#"{"pre_mode":true}"#),
        ("session_info", r#"{"name":7}"#),
        ("goal_state", "null"),
        ("llm_call", "[]"),
    ]);
    let expected: Vec<_> = (3..=13)
        .map(|line| (line, ReportCode::BadPayload, false))
        .collect();
    assert_eq!(reports(&replay), expected);
    let snapshot = snapshot(&replay);
    assert_eq!(snapshot.messages.len(), 1);
    assert_eq!(
        (snapshot.model, snapshot.reasoning_effort, snapshot.goal),
        (None, None, None)
    );
    assert_eq!(snapshot.name.as_deref(), Some("Old"));
    assert_eq!(replay.overview().stats.message_count, 3);
}

#[test]
fn a_path_must_end_at_a_header() {
    let lost = r#"{"kind":"message","id":"1","timestamp":"2026-07-14T09:00:00Z","data":{}}"#;
    let replay = read(file(&[HEADER, lost]));
    let error = replay.path(At::Current).unwrap_err();
    assert_eq!((error.code(), error.line()), (Code::InvalidEntry, Some(2)));
    assert!(error.message().contains("h0"), "{error}");
    let salvaged = replay.snapshot(At::Current, true).unwrap();
    assert!(salvaged.salvaged);
    assert_eq!((salvaged.path_entries, salvaged.messages.len()), (1, 1));
}

#[test]
fn a_missing_parent_and_its_child_are_named() {
    let replay = read(file(&[HEADER, &entry("child", "gone", "message", "{}")]));
    assert_eq!(reports(&replay), [(2, ReportCode::MissingParent, false)]);
    let error = replay.snapshot(At::Current, false).unwrap_err();
    assert!(error.message().contains("\"gone\"") && error.message().contains("\"child\""));
    assert_eq!(error.offset(), Some(HEADER.len() as u64 + 1));
}

#[test]
fn a_cycle_is_reported_on_the_cycle_and_cut_before_it_comes_round() {
    let log = file(&[
        HEADER,
        &entry("a", "b", "message", r#"{"role":"user","n":"a"}"#),
        &entry("b", "a", "message", r#"{"role":"user","n":"b"}"#),
        &entry("in", "b", "message", r#"{"role":"user","n":"in"}"#),
    ]);
    let replay = read(&log);
    let expected = [(2, ReportCode::Cycle, false), (3, ReportCode::Cycle, false)];
    assert_eq!(reports(&replay), expected);
    let error = replay.path(At::Current).unwrap_err();
    assert_eq!((error.code(), error.line()), (Code::InvalidEntry, Some(3)));
    assert!(error.message().contains("\"b\""), "{error}");
    let salvaged = replay.snapshot(At::Leaf("in"), true).unwrap();
    assert_eq!((salvaged.path_entries, salvaged.salvaged), (3, true));
    assert_eq!(replay.path(At::Leaf("h0")).unwrap(), ["h0"]);
}

#[test]
fn a_later_line_of_an_id_can_close_a_cycle() {
    let log = file(&[
        HEADER,
        &entry("a", "h0", "x", "{}"),
        &entry("b", "a", "x", "{}"),
        &entry("a", "b", "x", "{}"),
    ]);
    let expected = [
        (3, ReportCode::Cycle, false),
        (4, ReportCode::DuplicateId, false),
        (4, ReportCode::Cycle, false),
    ];
    let replay = read(&log);
    assert_eq!(reports(&replay), expected);
    assert_eq!(replay.entry_ids(), ["h0", "b", "a"]);
    let overview = replay.overview();
    assert_eq!((overview.entries, overview.kinds["x"]), (3, 3));
}

#[test]
fn parents_and_kinds_of_other_types_are_read_as_none() {
    let line = r#"{"kind":7,"id":"1","parent_id":{},"timestamp":"2026-07-14T09:00:00Z"}"#;
    let replay = read(file(&[HEADER, line]));
    let expected = [
        (2, ReportCode::BadField, false),
        (2, ReportCode::BadField, false),
    ];
    assert_eq!(reports(&replay), expected);
    assert_eq!(replay.overview().kinds[""], 1);
}

#[test]
fn asking_for_what_is_not_there_is_an_error() {
    let replay = read(HEADER);
    let code = |at| replay.path(at).unwrap_err().code();
    assert_eq!(code(At::Leaf("gone")), Code::NotFound);
    assert_eq!(code(At::Lane("main")), Code::Unsupported);
    assert_eq!(
        replay.snapshot(At::Leaf("gone"), true).unwrap_err().code(),
        Code::NotFound
    );
}

#[test]
fn the_listing_shows_the_last_text_of_the_first_user_message() {
    let long = "é".repeat(81);
    let text = format!(
        r#"{{"role":"user","content":[{{"type":"text","text":"a"}},{{"type":"text","text":"{long}"}},{{"type":"text","text":""}}]}}"#
    );
    let replay = chain(&[
        (
            "message",
            r#"{"role":"user","metadata":{"injected":true},"content":[{"type":"text","text":"no"}]}"#,
        ),
        (
            "message",
            r#"{"role":"assistant","content":[{"type":"text","text":"no"}]}"#,
        ),
        (
            "message",
            r#"{"role":"user","content":[{"type":"text","text":""}]}"#,
        ),
        ("message", &text),
        ("session_info", r#"{"name":"New"}"#),
    ]);
    let overview = replay.overview();
    assert_eq!(
        overview.first_message,
        Some(format!("{}...", "é".repeat(77)))
    );
    assert_eq!(overview.name.as_deref(), Some("New"));
    assert_eq!(overview.updated, Some(1_784_019_601_000));
    let whole = "é".repeat(80);
    let text = format!(r#"{{"role":"user","content":[{{"type":"text","text":"{whole}"}}]}}"#);
    assert_eq!(
        chain(&[("message", &text)]).overview().first_message,
        Some(whole)
    );
}
