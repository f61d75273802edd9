//! Damage to the sequence and the lanes of pi v4, each kind by itself.

use leaflog::naive::{ReadOptions, Replay};
use leaflog::{FixKind, Orphans};

use super::check::repair;
use super::lines::{V4, actions, context, log, mended, on_lane, record, v4};

#[test]
fn a_lost_line_of_pi_v4_leaves_all_numbers_as_they_are_when_relinked() {
    let source = log(&[V4, &v4("a", "", 1), &v4("c", "b", 3), &v4("d", "c", 4)]);
    let linked = repair(&source, Orphans::Relink).expect("repaired");
    let lost = r#"{"kind":"entry","lane":"main","type":"custom","id":"b","customType":"leaflog.lost","data":{},"parentId":"a","seq":2,"timestamp":1784019601000}"#;
    assert_eq!(
        linked.log,
        log(&[
            V4,
            &v4("a", "", 1),
            lost,
            &v4("c", "b", 3),
            &v4("d", "c", 4)
        ])
    );
    assert_eq!(actions(&linked), [FixKind::StandInPlaced]);
    // Its number was the only one missing: it went on from where the lane stood.
    assert_eq!(mended(&source).log, linked.log);
}

#[test]
fn a_lost_line_among_others_cuts_the_path_and_moves_the_lane() {
    let source = log(&[V4, &v4("a", "", 1), &v4("c", "b", 2), &v4("d", "c", 3)]);
    let cut = mended(&source);
    assert!(
        cut.text()
            .contains(r#"{"kind":"lane","seq":3,"lane":"main","leafId":"b"}"#)
    );
    assert!(cut.text().contains(&v4("c", "b", 4)) && cut.text().contains(&v4("d", "c", 5)));
    assert_eq!(context(&cut.log).len(), 2);
}

#[test]
fn a_gap_takes_the_stand_in_that_a_later_line_needs() {
    let note = record("abort_requested", "r", "main", 3, r#","runId":"x""#);
    let source = log(&[V4, &v4("a", "", 1), &note, &v4("c", "b", 4)]);
    let linked = repair(&source, Orphans::Relink).expect("repaired");
    let lines: Vec<&str> = std::str::from_utf8(&linked.log)
        .expect("UTF-8")
        .lines()
        .collect();
    assert!(lines[2].contains(r#""id":"b""#) && lines[2].contains(r#""seq":2"#));
    assert_eq!(&lines[3..], [&*note, &v4("c", "b", 4)]);
}

#[test]
fn gaps_are_filled_with_lines_that_change_nothing() {
    let source = log(&[V4, &v4("a", "", 1), &v4("b", "a", 1002)]);
    let copy = mended(&source);
    assert_eq!((copy.done.kept, copy.done.added), (3, 1000));
    assert!(
        copy.text()
            .contains(r#"{"kind":"lane","seq":500,"lane":"main","leafId":"a"}"#)
    );
    let copy = mended(&log(&[
        V4,
        &v4("a", "", 1),
        &v4("b", "a", 1003),
        &v4("c", "b", 1004),
    ]));
    assert_eq!(
        copy.log,
        log(&[V4, &v4("a", "", 1), &v4("b", "a", 2), &v4("c", "b", 3)])
    );
    assert_eq!(actions(&copy), [FixKind::Renumbered]);
}

#[test]
fn one_wrong_number_changes_one_line() {
    let source = log(&[V4, &v4("a", "", 1), &v4("b", "a", 77), &v4("c", "b", 3)]);
    let copy = mended(&source);
    assert_eq!(
        copy.log,
        log(&[V4, &v4("a", "", 1), &v4("b", "a", 2), &v4("c", "b", 3)])
    );
    assert!(copy.dropped.is_empty());
}

#[test]
fn lines_without_a_number_get_one() {
    let none = v4("a", "", 1).replace(r#""seq":1,"#, "");
    let bad = v4("b", "a", 2).replace(r#""seq":2"#, r#""seq":"2""#);
    let copy = mended(&log(&[V4, &none, &bad]));
    assert_eq!(context(&copy.log).len(), 2);
    assert_eq!(actions(&copy), [FixKind::Renumbered]);
}

#[test]
fn lanes_that_were_never_made_are_made_where_their_next_entry_goes_on() {
    let started = record("step_attempt", "r", "second", 3, "");
    let entry = on_lane("second", "b", "a", 4);
    let source = log(&[V4, &v4("a", "", 1), &started, &entry]);
    let copy = mended(&source);
    let lane = r#"{"kind":"lane","seq":2,"lane":"second","leafId":"a"}"#;
    assert_eq!(
        copy.log,
        log(&[V4, &v4("a", "", 1), lane, &started, &entry])
    );
}

#[test]
fn an_entry_that_strays_from_its_lane_takes_the_lane_along() {
    let source = log(&[V4, &v4("a", "", 1), &v4("b", "a", 2), &v4("c", "a", 4)]);
    let copy = mended(&source);
    let lane = r#"{"kind":"lane","seq":3,"lane":"main","leafId":"a"}"#;
    assert_eq!(
        copy.log,
        log(&[
            V4,
            &v4("a", "", 1),
            &v4("b", "a", 2),
            lane,
            &v4("c", "a", 4)
        ])
    );
}

#[test]
fn records_without_a_lane_stay_without_effect() {
    let bad = record("operation_started", "r", "main", 1, "").replace(r#""main""#, "7");
    let copy = mended(&log(&[V4, &bad]));
    assert_eq!(actions(&copy), [FixKind::FieldMended]);
    let replay = Replay::from_bytes(&copy.log, ReadOptions::default()).expect("a session");
    assert!(replay.overview().open_operations.is_empty());
    assert_eq!(replay.overview().records, 1);
}

#[test]
fn lanes_and_labels_on_what_is_lost_stand_on_a_stand_in() {
    let lane = r#"{"kind":"lane","seq":2,"lane":"second","leafId":"x"}"#;
    let label = r#"{"kind":"fact","seq":4,"fact":"label","targetId":"y","label":"l"}"#;
    let copy = mended(&log(&[V4, lane, label]));
    let text = copy.text();
    assert!(text.contains(lane) && text.contains(label));
    assert_eq!(actions(&copy)[0], FixKind::StandInMade);
    let empty = r#"{"kind":"lane","seq":1,"lane":"second","leafId":""}"#;
    let copy = mended(&log(&[V4, empty]));
    assert_eq!(copy.log, log(&[V4, &empty.replace("\"\"", "null")]));
    let empty = label.replace("\"y\"", "\"\"").replace("4", "1");
    assert_eq!(mended(&log(&[V4, &empty])).dropped, log(&[&empty]));
}

#[test]
fn a_parent_behind_its_child_comes_before_it_in_pi_v4() {
    let source = log(&[V4, &v4("b", "a", 2), &v4("a", "", 1), &v4("c", "b", 3)]);
    let copy = mended(&source);
    assert_eq!(
        copy.log,
        log(&[V4, &v4("a", "", 1), &v4("b", "a", 2), &v4("c", "b", 3)])
    );
    assert_eq!(actions(&copy), [FixKind::LineMoved]);
}

#[test]
fn a_cycle_of_pi_v4_is_broken_too() {
    let copy = mended(&log(&[V4, &v4("a", "b", 1), &v4("b", "a", 2)]));
    assert_eq!(copy.log, log(&[V4, &v4("a", "", 1), &v4("b", "a", 2)]));
    assert_eq!(copy.dropped, log(&[&v4("a", "b", 1)]));
}

#[test]
fn an_id_of_an_entry_and_of_a_record_stays_with_the_entry() {
    let shared = record("abort_requested", "a", "main", 2, r#","runId":"x""#);
    let copy = mended(&log(&[V4, &v4("a", "", 1), &shared]));
    assert!(copy.text().contains(r#""id":"a.record""#));
    assert_eq!(actions(&copy), [FixKind::RecordRenamed]);
    assert_eq!(copy.dropped, log(&[&shared]));
    // As one that is named and missing would be.
    let copy = mended(&log(&[V4, &v4("b", "a", 1), &shared]));
    assert!(copy.text().contains(r#""id":"a.record""#));
}

#[test]
fn a_lane_or_fact_that_comes_again_with_its_number_is_folded() {
    let lane = r#"{"kind":"lane","seq":1,"lane":"second","leafId":null}"#;
    let source = log(&[V4, lane, &on_lane("second", "a", "", 2)]);
    let copy = mended(&[source.clone(), log(&[lane])].concat());
    assert_eq!(copy.log, source);
}

#[test]
fn of_several_open_operations_the_last_one_stays_open() {
    let source = log(&[
        V4,
        &record(
            "operation_started",
            "a",
            "main",
            1,
            r#","intent":{"kind":"run"}"#,
        ),
        &record(
            "operation_started",
            "b",
            "main",
            2,
            r#","intent":{"kind":"run"}"#,
        ),
    ]);
    let copy = mended(&source);
    assert_eq!(actions(&copy), [FixKind::OperationFinished]);
    let replay = Replay::from_bytes(&copy.log, ReadOptions::default()).expect("a session");
    assert_eq!(replay.overview().open_operations["main"], ["b"]);
}

#[test]
fn gaps_are_filled_in_proportion_to_the_log() {
    let mut lines = vec![V4.to_owned()];
    lines.extend((1..200).map(|number| {
        let seq = number * 900;
        format!(r#"{{"kind":"fact","seq":{seq},"fact":"name","name":"n"}}"#)
    }));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let copy = mended(&log(&lines));
    assert_eq!(actions(&copy), [FixKind::GapFilled, FixKind::Renumbered]);
    assert!(copy.done.added < 1200, "{}", copy.done.added);
}

#[test]
fn a_number_that_is_none_is_set_aside_with_its_line() {
    let odd = v4("a", "", 1).replace("\"seq\":1", r#""seq":{"precious":"text"}"#);
    assert!(odd.contains("precious"));
    let copy = mended(&log(&[V4, &odd]));
    assert!(copy.text().contains(&v4("a", "", 1)));
    assert_eq!(copy.dropped, format!("{odd}\n").into_bytes());
}

#[test]
fn a_record_gives_its_id_up_to_the_stand_in_of_an_entry() {
    let started = record(
        "operation_started",
        "x",
        "main",
        1,
        r#","intent":{"kind":"run"}"#,
    );
    // Checked by `mended`: the copy is clean, and a copy of it is the same.
    mended(&log(&[V4, &started, &v4("b", "x", 2)]));
    let label = r#"{"kind":"fact","seq":2,"fact":"label","targetId":"x","label":"l"}"#;
    mended(&log(&[V4, &started, label]));
}
