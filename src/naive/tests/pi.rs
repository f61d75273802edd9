//! Tests of pi v1 to v3: contexts, edits, ids by position, and what a listing shows.

use super::*;

const V3: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-07-14T09:00:00Z"}"#;
const V1: &str = r#"{"type":"session","id":"s","timestamp":"2026-07-14T09:00:00Z"}"#;

/// A header and a chain of entries behind it, with ids 1, 2, 3 …, all at one millisecond past 1970.
fn chain(header: &str, entries: &[&str]) -> Replay {
    let mut log = file(&[header]);
    for (number, fields) in entries.iter().enumerate() {
        let id = number + 1;
        let line = format!(r#"{{"id":"{id}","parentId":"{number}","timestamp":1.9,{fields}}}"#);
        // The first has no parent.
        log.push_str(&line.replace(r#""parentId":"0""#, r#""parentId":null"#));
        log.push('\n');
    }
    read(&log)
}

fn message(fields: &str) -> String {
    format!(r#""type":"message","message":{{{fields}}}"#)
}

/// The messages of a v3 chain.
fn context(entries: &[&str]) -> Vec<String> {
    messages(&chain(V3, entries))
}

#[test]
fn content_that_is_not_there_is_filled_in_where_it_stood() {
    let filled = context(&[
        &message(r#""role":"user","content":null,"x":1"#),
        &message(r#""role":"assistant""#),
        &message(r#""role":"system","content":null"#),
        &message(r#""content":[1],"role":"toolResult","\u0063ontent":null,"y":2"#),
        &message(r#""role":"custom","content":null"#),
        &message(""),
    ]);
    let expected = [
        r#"{"role":"user","content":[],"x":1}"#,
        r#"{"role":"assistant","content":[]}"#,
        r#"{"role":"system","content":""}"#,
        r#"{"content":[1],"role":"toolResult","\u0063ontent":[],"y":2}"#,
        r#"{"role":"custom","content":null}"#,
        "{}",
    ];
    assert_eq!(filled, expected);
}

#[test]
fn edits_replace_or_remove_and_the_last_one_counts() {
    let edited = context(&[
        &message(r#""role":"user","content":"a""#),
        &message(r#""role":"assistant","content":"b""#),
        &message(r#""role":"toolResult""#),
        &message(r#""role":"bashExecution","content":"d""#),
        r#""type":"custom_message","customType":"c","content":"e""#,
        r#""type":"context_edit","targetId":"1","replacement":null"#,
        r#""type":"context_edit","targetId":"1","replacement":{"content":"A"}"#,
        r#""type":"context_edit","targetId":"2","replacement":{"content":"B"}"#,
        r#""type":"context_edit","targetId":"3","replacement":{"content":[{"t":1}]}"#,
        r#""type":"context_edit","targetId":"4","replacement":{"content":"D"}"#,
        r#""type":"context_edit","targetId":"5","replacement":{"content":"E"}"#,
    ]);
    let expected = [
        r#"{"role":"user","content":"A"}"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"B"}]}"#,
        r#"{"role":"toolResult","content":[{"t":1}]}"#,
        r#"{"role":"bashExecution","content":"d"}"#,
        r#"{"role":"custom","customType":"c","content":"E","timestamp":1}"#,
    ];
    assert_eq!(edited, expected);
}

#[test]
fn edits_of_another_shape_do_nothing() {
    let replay = chain(
        V3,
        &[
            &message(r#""role":"user","content":"a""#),
            r#""type":"context_edit","targetId":"1""#,
            r#""type":"context_edit","targetId":"1","replacement":{}"#,
            r#""type":"context_edit","targetId":"1","replacement":{"content":null}"#,
            r#""type":"context_edit","replacement":null"#,
        ],
    );
    let expected: Vec<_> = (3..=6)
        .map(|line| (line, ReportCode::BadPayload, false))
        .collect();
    assert_eq!(reports(&replay), expected);
    assert_eq!(messages(&replay), [r#"{"role":"user","content":"a"}"#]);
}

#[test]
fn edits_outside_the_context_do_not_count() {
    let edited = context(&[
        r#""type":"context_edit","targetId":"2","replacement":null"#,
        &message(r#""role":"user","content":"a""#),
        r#""type":"compaction","summary":"s","firstKeptEntryId":"2""#,
    ]);
    assert_eq!(edited[1], r#"{"role":"user","content":"a"}"#);
}

#[test]
fn a_compaction_keeps_entries_but_no_system_messages_and_no_older_compactions() {
    let kept = context(&[
        &message(r#""role":"user","content":"gone""#),
        &message(r#""role":"user","content":"kept""#),
        &message(r#""role":"system","content":"gone""#),
        r#""type":"compaction","summary":"older","firstKeptEntryId":"1""#,
        r#""type":"branch_summary","summary":"b","fromId":"9""#,
        r#""type":"compaction","summary":"s","systemMessage":{"role":"system"},"tokensBefore":1e2,"firstKeptEntryId":"2""#,
        &message(r#""role":"system","content":"new""#),
    ]);
    let expected = [
        r#"{"role":"system"}"#,
        r#"{"role":"compactionSummary","summary":"s","tokensBefore":1e2,"timestamp":1}"#,
        r#"{"role":"user","content":"kept"}"#,
        r#"{"role":"branchSummary","summary":"b","fromId":"9","timestamp":1}"#,
        r#"{"role":"system","content":"new"}"#,
    ];
    assert_eq!(kept, expected);
}

#[test]
fn a_compaction_of_another_shape_is_none() {
    let kept = context(&[
        &message(r#""role":"user","content":"a""#),
        r#""type":"compaction","summary":7"#,
        r#""type":"compaction","summary":"s","systemMessage":"x""#,
        r#""type":"compaction","summary":"s","firstKeptEntryId":3"#,
    ]);
    assert_eq!(kept, [r#"{"role":"user","content":"a"}"#]);
}

#[test]
fn made_up_messages_keep_spellings_and_leave_out_what_is_not_there() {
    let log = file(&[
        V3,
        r#"{"type":"custom_message","id":"1","timestamp":"soon","content":null,"details":{"n":1e999},"display":false}"#,
        r#"{"type":"branch_summary","id":"2","parentId":"1","timestamp":"1970-01-01","summary":"\u0041"}"#,
        r#"{"type":"branch_summary","id":"3","parentId":"2","timestamp":0,"summary":""}"#,
    ]);
    let expected = [
        r#"{"role":"custom","content":[],"display":false,"details":{"n":1e999},"timestamp":null}"#,
        r#"{"role":"branchSummary","summary":"\u0041","timestamp":0}"#,
    ];
    assert_eq!(messages(&read(&log)), expected);
}

#[test]
fn model_and_level_come_from_the_whole_path() {
    let replay = chain(
        V3,
        &[
            r#""type":"thinking_level_change","thinkingLevel":"high""#,
            r#""type":"model_change","provider":"p","modelId":"m""#,
            &message(r#""role":"assistant","model":"n""#),
            &message(r#""role":"assistant","model":7"#),
            &message(r#""role":"user","model":"u""#),
            r#""type":"thinking_level_change","thinkingLevel":null"#,
            r#""type":"compaction","summary":"s""#,
        ],
    );
    let snapshot = snapshot(&replay);
    let model = snapshot.model.unwrap();
    assert_eq!((model.provider, model.model.as_deref()), (None, Some("n")));
    assert_eq!(snapshot.reasoning_effort.as_deref(), Some("high"));
}

#[test]
fn v1_entries_have_ids_by_position() {
    let log = file(&[
        V1,
        r#"{"type":"message","timestamp":0,"message":{"role":"user","content":"1"}}"#,
        r#"{"timestamp":0}"#,
        r#"{"type":"session","id":"t"}"#,
        r#"{"type":"message","id":7,"parentId":7,"timestamp":0,"message":{"role":"hookMessage","content":"2"}}"#,
        r#"{"type":"context_edit","timestamp":0,"targetId":"00000002","replacement":{"content":"two"}}"#,
        r#"{"type":"compaction","timestamp":0,"summary":"s","firstKeptEntryIndex":2.0,"firstKeptEntryId":"00000001"}"#,
    ]);
    let replay = read(&log);
    let expected = [
        (3, ReportCode::BadField, true),
        (4, ReportCode::BadField, true),
    ];
    assert_eq!(reports(&replay), expected);
    let ids = ["00000001", "00000002", "00000003", "00000004"];
    assert_eq!(replay.entry_ids(), ids);
    assert_eq!(replay.path(At::Current).unwrap(), ids);
    let expected = [
        r#"{"role":"compactionSummary","summary":"s","timestamp":0}"#,
        r#"{"role":"custom","content":"two"}"#,
    ];
    assert_eq!(messages(&replay), expected);
}

#[test]
fn a_v1_compaction_without_an_index_names_its_id() {
    let lines = |index: &str| {
        let compaction = format!(
            r#"{{"type":"compaction","timestamp":0,"summary":"s",{index}"firstKeptEntryId":"00000001"}}"#
        );
        let user = r#"{"type":"message","timestamp":0,"message":{"role":"user","content":"1"}}"#;
        messages(&read(file(&[V1, user, &compaction]))).len()
    };
    assert_eq!(lines(""), 2);
    assert_eq!(lines(r#""firstKeptEntryIndex":"1","#), 2);
    assert_eq!(lines(r#""firstKeptEntryIndex":1,"#), 2);
    assert_eq!(lines(r#""firstKeptEntryIndex":0,"#), 1);
    assert_eq!(lines(r#""firstKeptEntryIndex":9,"#), 1);
}

#[test]
fn hook_messages_are_custom_in_v2_and_stay_in_v3() {
    let hook = message(r#""role":"hookMessage","content":"x""#);
    let v2 = V3.replace(r#""version":3"#, r#""version":2"#);
    assert_eq!(
        messages(&chain(&v2, &[&hook])),
        [r#"{"role":"custom","content":"x"}"#]
    );
    assert_eq!(
        messages(&chain(V3, &[&hook])),
        [r#"{"role":"hookMessage","content":"x"}"#]
    );
}

#[test]
fn a_later_line_of_an_id_wins_for_children_before_it_too() {
    let log = file(&[
        V3,
        r#"{"type":"message","id":"a","timestamp":0,"message":{"role":"user","content":"old"}}"#,
        r#"{"type":"message","id":"b","parentId":"a","timestamp":0,"message":{"role":"user","content":"b"}}"#,
        r#"{"type":"message","id":"a","parentId":"root","timestamp":0,"message":{"role":"user","content":"new"}}"#,
        r#"{"type":"x","id":"root","timestamp":0}"#,
    ]);
    let replay = read(&log);
    assert_eq!(reports(&replay), [(4, ReportCode::DuplicateId, false)]);
    assert_eq!(replay.path(At::Leaf("b")).unwrap(), ["root", "a", "b"]);
    assert_eq!(replay.entry_ids(), ["b", "a", "root"]);
    let texts = first_texts(&replay.snapshot(At::Leaf("b"), false).unwrap());
    assert_eq!(texts, json!([["user", "new"], ["user", "b"]]));
    assert_eq!(replay.overview().stats.message_count, 2);
    assert_eq!(replay.overview().kinds["message"], 3);
}

#[test]
fn a_cycle_is_an_error_with_salvage_cut() {
    let log = file(&[V3, r#"{"type":"x","id":"a","parentId":"a","timestamp":0}"#]);
    let replay = read(&log);
    assert_eq!(reports(&replay), [(2, ReportCode::Cycle, false)]);
    assert_eq!(
        replay.path(At::Current).unwrap_err().code(),
        Code::InvalidEntry
    );
    let salvaged = replay.snapshot(At::Current, true).unwrap();
    assert_eq!((salvaged.path_entries, salvaged.salvaged), (1, true));
}

#[test]
fn names_and_labels_are_the_latest_in_the_file() {
    let replay = chain(
        V3,
        &[
            r#""type":"session_info","name":"one""#,
            r#""type":"label","targetId":"1","label":"x""#,
            r#""type":"label","targetId":"2","label":"y""#,
            r#""type":"label","targetId":"1","label":"""#,
            r#""type":"label","targetId":"nowhere","label":"z""#,
            r#""type":"session_info","name":" two\n""#,
            r#""type":"session_info","name":7"#,
            r#""type":"label","label":"bad""#,
        ],
    );
    let overview = replay.overview();
    assert_eq!(overview.name.as_deref(), Some("two"));
    assert_eq!(json!(overview.labels), json!({"2": "y", "nowhere": "z"}));
    let at_first = replay.snapshot(At::Leaf("1"), false).unwrap();
    assert_eq!(at_first.name.as_deref(), Some("two"));
    let cleared = chain(
        V3,
        &[
            r#""type":"session_info","name":"one""#,
            r#""type":"session_info""#,
        ],
    );
    assert_eq!(cleared.overview().name, None);
}

#[test]
fn the_listing_shows_text_and_time_of_messages() {
    let replay = chain(
        V3,
        &[
            &message(r#""role":"user","content":"""#),
            &message(
                r#""role":"user","content":[{"type":"image"},{"type":"text","text":"a"},{"type":"text","text":"b"}],"timestamp":50"#,
            ),
            &message(r#""role":"assistant","content":[],"timestamp":1e300"#),
            &message(r#""role":"toolResult","content":[],"timestamp":99"#),
        ],
    );
    let overview = replay.overview();
    assert_eq!(overview.first_message.as_deref(), Some("a b"));
    assert_eq!(overview.updated, Some(50));
    let plain = chain(V3, &[&message(r#""role":"user","content":"hi""#)]);
    assert_eq!(plain.overview().first_message.as_deref(), Some("hi"));
    assert_eq!(plain.overview().updated, Some(1));
}

#[test]
fn an_empty_session_has_an_empty_snapshot() {
    let snapshot = snapshot(&read(V3));
    assert_eq!((snapshot.leaf, snapshot.path_entries), (None, 0));
    assert!(snapshot.messages.is_empty() && !snapshot.salvaged);
    assert_eq!(snapshot.reasoning_effort.as_deref(), Some("off"));
}
