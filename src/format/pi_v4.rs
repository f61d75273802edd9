//! pi v4: entries, records, lanes and facts in one sequence.

use std::borrow::Cow;

use super::{
    Entry, Fact, Kind, Meaning, Mutation, Place, Record, Sequence, State, Usage, bad_payload,
    checked_time, id_of, is_list_of_objects, is_text, kind_of, parent_of, pi_v3, present, text_of,
    time,
};
use crate::json::{Json, Number};
use crate::log::Finding;
use crate::model::ReportCode;

/// The largest number that JavaScript counts to exactly.
const MAX_SAFE: i64 = (1 << 53) - 1;

/// The envelope of a mutation.
struct Envelope<V> {
    object: V,
    kind_of_entry: Option<V>,
    id: Option<V>,
    parent: Option<V>,
    lane: Option<V>,
    timestamp: Option<V>,
    message: Option<V>,
}

pub(super) fn interpret<'a, V: Json<'a>>(object: V, first_text: bool) -> Meaning<'a> {
    let mut findings = Vec::new();
    let (mut kind, mut seq) = (None, None);
    let mut envelope = Envelope {
        object,
        kind_of_entry: None,
        id: None,
        parent: None,
        lane: None,
        timestamp: None,
        message: None,
    };
    for (key, value) in object.fields() {
        match &*key {
            b"kind" => kind = Some(value),
            b"seq" => seq = Some(value),
            b"type" => envelope.kind_of_entry = Some(value),
            b"id" => envelope.id = Some(value),
            b"parentId" => envelope.parent = Some(value),
            b"lane" => envelope.lane = Some(value),
            b"timestamp" => envelope.timestamp = Some(value),
            b"message" => envelope.message = Some(value),
            _ => {}
        }
    }
    let mutation = match text_of(kind) {
        None => Err(Finding::skipped(
            ReportCode::BadField,
            "expected `kind` to be a string, found none",
        )),
        Some(kind) => match &*kind {
            "entry" => entry(&envelope, first_text, &mut findings).map(Mutation::Entry),
            "record" => record(&envelope, &mut findings).map(Mutation::Record),
            "lane" => lane(&envelope),
            "fact" => fact(object).map(Mutation::Fact),
            "header" => Err(Finding::skipped(
                ReportCode::BadField,
                "a second header; only the first one counts",
            )),
            _ => Ok(Mutation::Other { kind }),
        },
    };
    match mutation {
        Ok(mutation) => Meaning {
            mutation: Some(mutation),
            sequence: sequence(seq),
            findings,
            id_place: Place::of(envelope.id),
            payload_place: Place::of(envelope.message),
        },
        Err(finding) => Meaning {
            findings: vec![finding],
            ..Meaning::default()
        },
    }
}

fn sequence<'a, V: Json<'a>>(seq: Option<V>) -> Sequence {
    let whole = match seq.and_then(Json::number) {
        Some(Number::Whole(whole)) => Some(whole),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "whole and within range, as checked"
        )]
        Some(Number::Real(real)) if real.fract() == 0.0 && real.abs() < 9e15 => Some(real as i64),
        _ => None,
    };
    whole
        .filter(|whole| (1..=MAX_SAFE).contains(whole))
        .and_then(|whole| u64::try_from(whole).ok())
        .map_or(Sequence::Bad, Sequence::Number)
}

fn entry<'a, V: Json<'a>>(
    envelope: &Envelope<V>,
    first_text: bool,
    findings: &mut Vec<Finding>,
) -> Result<Entry<'a>, Finding> {
    let id = id_of(envelope.id)?;
    let kind_name = kind_of("type", envelope.kind_of_entry, findings);
    let lane = text_of(envelope.lane);
    if lane.is_none() && envelope.lane.is_some() {
        findings.push(Finding::kept(
            ReportCode::BadField,
            "expected `lane` to be a string, found another type; read as absent",
        ));
    }
    let mut entry = Entry {
        id: Some(id),
        parent: parent_of("parentId", envelope.parent, findings),
        lane,
        kind: entry_kind(&kind_name),
        time: checked_time(
            envelope.timestamp.and_then(time::millis_value),
            "a number of milliseconds",
            findings,
        ),
        ..Entry::default()
    };
    if let Some(kind) = entry.kind
        && !read_payload(
            kind,
            envelope.object,
            envelope.message,
            first_text,
            &mut entry,
        )
    {
        entry.inert = true;
        bad_payload(&kind_name, findings);
    }
    entry.activity = entry.time;
    entry.kind_name = kind_name;
    Ok(entry)
}

pub(super) fn entry_kind(name: &str) -> Option<Kind> {
    Some(match name {
        "message" => Kind::Message,
        "model_change" => Kind::ModelChange,
        "thinking_level_change" => Kind::EffortChange,
        "active_tools_change" => Kind::ActiveTools,
        "compaction" => Kind::Compaction,
        "branch_summary" => Kind::BranchSummary,
        "custom" => Kind::Custom,
        _ => return None,
    })
}

pub(super) fn read_payload<'a, V: Json<'a>>(
    kind: Kind,
    object: V,
    message: Option<V>,
    first_text: bool,
    entry: &mut Entry<'a>,
) -> bool {
    match kind {
        Kind::Message => pi_v3::read_message(message, first_text, entry),
        Kind::ModelChange => pi_v3::read_model_change(object, entry),
        Kind::EffortChange => pi_v3::read_effort_change(object, entry),
        Kind::ActiveTools => {
            entry.sets = Some(State::Tools);
            present(object.field("activeToolNames"))
                .is_some_and(|names| names.is_array() && names.items().all(Json::is_text))
        }
        Kind::Compaction => {
            entry.sets = Some(State::Compaction);
            is_text(object.field("summary")) && is_list_of_objects(object.field("retainedTail"))
        }
        Kind::BranchSummary => is_text(object.field("summary")),
        _ => true,
    }
}

fn record<'a, V: Json<'a>>(
    envelope: &Envelope<V>,
    findings: &mut Vec<Finding>,
) -> Result<Record<'a>, Finding> {
    let object = envelope.object;
    let id = id_of(envelope.id)?;
    let kind_name = kind_of("type", envelope.kind_of_entry, findings);
    let kind = record_kind(&kind_name);
    let mut usage = None;
    if kind == Kind::UsageRecord {
        match object.field("usage").filter(|usage| usage.is_object()) {
            Some(counts) => usage = Some(read_usage(counts)),
            None => bad_payload("usage", findings),
        }
    }
    Ok(Record {
        id,
        lane: text_of(envelope.lane),
        kind,
        time: checked_time(
            envelope.timestamp.and_then(time::millis_value),
            "a number of milliseconds",
            findings,
        ),
        run: text_of(object.field("runId")),
        usage,
        kind_name,
    })
}

pub(crate) fn record_kind(name: &str) -> Kind {
    match name {
        "operation_started" => Kind::OperationStarted,
        "abort_requested" => Kind::AbortRequested,
        "operation_finished" => Kind::OperationFinished,
        "step_attempt" => Kind::StepAttempt,
        "tool_started" => Kind::ToolStarted,
        "queue_enqueued" => Kind::QueueEnqueued,
        "queue_cancelled" => Kind::QueueCancelled,
        "write_deferred" => Kind::WriteDeferred,
        "usage" => Kind::UsageRecord,
        _ => Kind::OtherRecord,
    }
}

/// The parent that the line of an entry names and its number, where they stand as pi writes them: with
/// the time they end the object. None if they stand otherwise, which the whole line tells.
pub(super) fn ending(object: &[u8]) -> Option<(&str, u64)> {
    let (rest, _) = before_digits(object.strip_suffix(b"}")?)?;
    let (rest, seq) = before_digits(rest.strip_suffix(b",\"timestamp\":")?)?;
    let rest = rest.strip_suffix(b"\",\"seq\":")?;
    // Outside of a string no quote is escaped, and no brace came since the object's own.
    let start = memchr::memrchr(b'"', rest)? + 1;
    let (before, parent) = rest.split_at_checked(start)?;
    let is_plain = !parent.is_empty() && memchr::memchr(b'\\', parent).is_none();
    let stands_there = is_plain && before.ends_with(b",\"parentId\":\"");
    let is_counted = i64::try_from(seq).is_ok_and(|seq| (1..=MAX_SAFE).contains(&seq));
    let parent = std::str::from_utf8(parent).ok()?;
    (stands_there && is_counted).then_some((parent, seq))
}

/// A whole number that bytes end with, and what stands before it.
fn before_digits(bytes: &[u8]) -> Option<(&[u8], u64)> {
    let start = bytes.iter().rposition(|byte| !byte.is_ascii_digit())? + 1;
    let (before, digits) = bytes.split_at_checked(start)?;
    let number = digits.iter().try_fold(0_u64, |number, digit| {
        number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    });
    number
        .filter(|_| !digits.is_empty())
        .map(|number| (before, number))
}

fn read_usage<'a, V: Json<'a>>(usage: V) -> Usage {
    let tokens = |key| whole(usage.field(key));
    let cost = usage
        .field("cost")
        .and_then(|cost| cost.field("total"))
        .and_then(Json::number);
    Usage {
        cached: tokens("cacheRead"),
        uncached: tokens("input").saturating_add(tokens("cacheWrite")),
        total: tokens("totalTokens"),
        cost: cost
            .map(Number::real)
            .filter(|cost| cost.is_finite())
            .unwrap_or(0.0),
    }
}

/// A token count: cut to a whole number, 0 for what is none.
fn whole<'a, V: Json<'a>>(value: Option<V>) -> i64 {
    match value.and_then(Json::number) {
        Some(Number::Whole(whole)) => whole,
        #[expect(
            clippy::cast_possible_truncation,
            reason = "floats beyond the range saturate"
        )]
        Some(Number::Real(real)) if real.is_finite() => real as i64,
        _ => 0,
    }
}

fn lane<'a, V: Json<'a>>(envelope: &Envelope<V>) -> Result<Mutation<'a>, Finding> {
    let Some(lane) = text_of(envelope.lane) else {
        return Err(Finding::skipped(
            ReportCode::BadField,
            "expected `lane` to be a string",
        ));
    };
    let leaf = envelope.object.field("leafId");
    if !is_text(leaf) {
        return Err(Finding::skipped(
            ReportCode::BadField,
            "expected `leafId` to be a string or null",
        ));
    }
    Ok(Mutation::Lane {
        lane,
        leaf: text_of(leaf),
    })
}

fn fact<'a, V: Json<'a>>(object: V) -> Result<Fact<'a>, Finding> {
    let Some(fact) = text_of(object.field("fact")) else {
        return Err(Finding::skipped(
            ReportCode::BadField,
            "expected `fact` to be a string",
        ));
    };
    match &*fact {
        "name" => {
            let name = object.field("name");
            if !is_text(name) {
                return Err(Finding::skipped(
                    ReportCode::BadField,
                    "expected `name` to be a string",
                ));
            }
            Ok(Fact::Name(text_of(name).map(Cow::into_owned)))
        }
        "label" => {
            let label = object.field("label");
            match text_of(object.field("targetId")) {
                Some(target) if is_text(label) => Ok(Fact::Label {
                    target,
                    label: text_of(label),
                }),
                _ => Err(Finding::skipped(
                    ReportCode::BadField,
                    "expected `targetId` and `label` to be strings",
                )),
            }
        }
        _ => Ok(Fact::Other { name: fact }),
    }
}

#[cfg(test)]
mod tests {
    use super::ending;

    #[test]
    fn parent_and_number_are_read_at_the_end_only_where_they_are_sure_to_stand_there() {
        let line = |end: &str| format!(r#"{{"type":"custom","id":"b"{end}}}"#);
        for (end, found) in [
            (
                r#","parentId":"a","seq":12,"timestamp":34"#,
                Some(("a", 12)),
            ),
            (r#","parentId":"\u00E4","seq":1,"timestamp":2"#, None),
            (r#","parentId":"ä","seq":1,"timestamp":2"#, Some(("ä", 1))),
            (r#","parentId":"","seq":1,"timestamp":2"#, None),
            (r#","parentId":null,"seq":1,"timestamp":2"#, None),
            (r#","parentId":"a","seq":1,"timestamp":-2"#, None),
            (r#","parentId":"a","seq":0,"timestamp":2"#, None),
            (
                r#","parentId":"a","seq":9007199254740991,"timestamp":2"#,
                Some(("a", 9_007_199_254_740_991)),
            ),
            (
                r#","parentId":"a","seq":9007199254740992,"timestamp":2"#,
                None,
            ),
            (
                r#","parentId":"a","seq":99999999999999999999,"timestamp":2"#,
                None,
            ),
            (r#","parentId":"a","seq":1e2,"timestamp":2"#, None),
            (r#","parentId":"a","seq":1,"timestamp":2.5"#, None),
            (r#","parentId": "a","seq":1,"timestamp":2"#, None),
            (r#","data":"x,\"parentId":"a","seq":1,"timestamp":2"#, None),
            (r#","data":{"parentId":"a","seq":1,"timestamp":2}"#, None),
            (
                r#","data":"\"parentId\":\"a\",\"seq\":1,\"timestamp\":2""#,
                None,
            ),
        ] {
            let line = line(end);
            assert_eq!(ending(line.as_bytes()), found, "{line}");
        }
        for bad in [
            &b""[..],
            b"}",
            b"1}",
            b",\"timestamp\":}",
            b"\",\"seq\":,\"timestamp\":}",
        ] {
            assert_eq!(ending(bad), None);
        }
    }
}
