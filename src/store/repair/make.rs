//! The lines that a repair makes: stand-ins for what is lost, and lines of the source with single
//! fields changed. Knows the formats' fields and nothing of other lines.

use super::lines::Object;
use super::survey::{Class, Item};
use crate::format::{format_time, interpret, kind_key, parent_key};
use crate::json::{Document, Json};
use crate::model::{Format, ReportCode};
use crate::store::fork::{Splices, exact};

/// The type that says what a `custom` entry of pi, or the kind of a codebot entry, stands for.
const LOST: &str = "leaflog.lost";
const DAMAGED: &str = "leaflog.damaged";

/// A text as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn nullable(text: Option<&str>) -> String {
    text.map_or_else(|| "null".to_owned(), quoted)
}

/// A time that can be written with four digits of a year.
pub(super) fn in_years(time: i64) -> i64 {
    time.clamp(-62_167_219_200_000, 253_402_300_799_999)
}

/// A time as the entries of a format have it.
pub(super) fn timestamp(format: Format, time: i64) -> String {
    match format {
        Format::PiV4 => time.max(0).to_string(),
        _ => quoted(&format_time(in_years(time))),
    }
}

/// A place for a line of pi v4.
#[derive(Clone, Copy, Debug)]
pub(super) struct InSequence<'a> {
    pub(super) seq: u64,
    pub(super) lane: Option<&'a str>,
}

/// The line of an entry that is named and missing.
pub(super) fn stand_in(
    format: Format,
    id: &str,
    parent: Option<&str>,
    time: i64,
    place: Option<InSequence<'_>>,
) -> String {
    let (id, time) = (quoted(id), timestamp(format, time));
    match (format, place) {
        (Format::CodebotV3, _) => {
            let parent = parent.map_or_else(String::new, |parent| {
                format!(",\"parent_id\":{}", quoted(parent))
            });
            format!("{{\"kind\":\"lost\",\"id\":{id}{parent},\"timestamp\":{time},\"data\":{{}}}}")
        }
        (_, None) => format!(
            "{{\"type\":\"custom\",\"customType\":\"{LOST}\",\"data\":{{}},\"id\":{id},\"parentId\":{},\"timestamp\":{time}}}",
            nullable(parent)
        ),
        (_, Some(place)) => format!(
            "{{\"kind\":\"entry\"{},\"type\":\"custom\",\"id\":{id},\"customType\":\"{LOST}\",\"data\":{{}},\"parentId\":{},\"seq\":{},\"timestamp\":{time}}}",
            lane_field(place.lane),
            nullable(parent),
            place.seq
        ),
    }
}

fn lane_field(lane: Option<&str>) -> String {
    lane.map_or_else(String::new, |lane| format!(",\"lane\":{}", quoted(lane)))
}

/// The record that finishes an operation whose own end is lost (pi v4).
pub(super) fn finish(id: &str, lane: &str, run: &str, seq: u64, time: i64) -> String {
    format!(
        "{{\"kind\":\"record\",\"type\":\"operation_finished\",\"id\":{},\"lane\":{},\"runId\":{},\"outcome\":\"failed\",\
         \"error\":{{\"code\":\"{LOST}\",\"message\":\"the record of its end is lost\"}},\"seq\":{seq},\"timestamp\":{}}}",
        quoted(id),
        quoted(lane),
        quoted(run),
        timestamp(Format::PiV4, time)
    )
}

/// What has to change in an object before it is written.
#[derive(Debug, Default)]
pub(super) struct Edit {
    /// The payload does not decode: it is kept in an entry that does nothing.
    pub(super) is_inert: bool,
    /// A time in place of one that is none.
    pub(super) time: Option<i64>,
    pub(super) parent: Option<Option<String>>,
    pub(super) id: Option<String>,
    /// The lane is left out.
    pub(super) drops_lane: bool,
    /// A lane stands on no entry.
    pub(super) drops_leaf: bool,
    /// The lane of a record that has none.
    pub(super) lane: Option<&'static str>,
}

impl Edit {
    /// What an object needs by itself. `time` is the time for one that has none.
    pub(super) fn of(format: Format, object: &Object<'_>, item: &Item<'_>, time: i64) -> Self {
        let mut edit = Self::default();
        if !item.is_damaged {
            return edit;
        }
        let root = object.document.root();
        let meaning = interpret(format, root, false);
        let has = |code: ReportCode| meaning.findings.iter().any(|it| it.code == code);
        if meaning.mutation.is_none() {
            // Only codebot's header is kept in spite of that.
            edit.id = item.id.as_deref().map(str::to_owned);
            edit.time = entry_time_missing(format, object).then_some(time);
        }
        let is_text = |key: &str| root.field(key).and_then(Json::text).is_some();
        if item.class == Class::Lane {
            edit.drops_leaf = true;
            return edit;
        }
        edit.is_inert = has(ReportCode::BadPayload) || !is_text(kind_key(format));
        if has(ReportCode::BadTimestamp) {
            edit.time = Some(time);
        }
        if item.refers.is_none()
            && item.class == Class::Entry
            && format != Format::PiV1
            && root
                .field(parent_key(format))
                .is_some_and(|parent| !parent.is_null() && parent.text().as_deref() != Some(""))
        {
            edit.parent = Some(None);
        }
        if item.class == Class::Entry && format.has_lanes() {
            edit.drops_lane = root.field("lane").is_some() && !is_text("lane");
        }
        edit
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.is_inert
            && self.time.is_none()
            && self.parent.is_none()
            && self.id.is_none()
            && !self.drops_lane
            && !self.drops_leaf
            && self.lane.is_none()
    }

    /// The object as it is to be written, with another number if one is given.
    pub(super) fn apply(
        &self,
        format: Format,
        object: &Object<'_>,
        item: &Item<'_>,
        seq: Option<u64>,
    ) -> Vec<u8> {
        if self.is_inert {
            return self.inert(format, object, item, seq);
        }
        let mut remove: Vec<&str> = Vec::new();
        let mut set: Vec<(&str, String)> = Vec::new();
        if let Some(time) = self.time {
            set.push(("timestamp", timestamp(format, time)));
        }
        if let Some(parent) = &self.parent {
            match parent {
                None if format == Format::CodebotV3 => remove.push(parent_key(format)),
                parent => set.push((parent_key(format), nullable(parent.as_deref()))),
            }
        }
        if let Some(id) = &self.id {
            set.push(("id", quoted(id)));
        }
        if self.drops_lane {
            remove.push("lane");
        }
        if self.drops_leaf {
            set.push(("leafId", nullable(None)));
        }
        if let Some(lane) = self.lane {
            set.push(("lane", quoted(lane)));
        }
        if let Some(seq) = seq {
            set.push(("seq", seq.to_string()));
        }
        let set: Vec<(&str, &str)> = set.iter().map(|(key, value)| (*key, &**value)).collect();
        // An object that was parsed splices.
        let splices = exact(object.text, &remove, &set).unwrap_or_default();
        spliced(object.text, &splices)
    }

    /// An entry or record with the same place that does nothing and keeps the object as its data.
    fn inert(
        &self,
        format: Format,
        object: &Object<'_>,
        item: &Item<'_>,
        seq: Option<u64>,
    ) -> Vec<u8> {
        let id = self.id.as_deref().or(item.id.as_deref());
        let id = quoted(id.unwrap_or_default());
        let parent = match &self.parent {
            Some(parent) => parent.as_deref(),
            None => item.refers.as_deref(),
        };
        let time = match self.time {
            Some(time) => timestamp(format, time),
            None => {
                // A good time stays as it was spelled.
                let value = object.document.root().field("timestamp");
                let raw = value.map_or_else(Vec::new, |value| value.raw().to_vec());
                String::from_utf8(raw).unwrap_or_default()
            }
        };
        let lane = self
            .lane
            .or(item.lane.as_deref())
            .filter(|_| !self.drops_lane);
        let seq = seq.unwrap_or(item.seq);
        let (start, end) = match (format, item.class) {
            (Format::CodebotV3, _) => {
                let parent = parent.map_or_else(String::new, |parent| {
                    format!(",\"parent_id\":{}", quoted(parent))
                });
                let start = format!(
                    "{{\"kind\":\"damaged\",\"id\":{id}{parent},\"timestamp\":{time},\"data\":"
                );
                (start, "}".to_owned())
            }
            (Format::PiV1, _) => (
                format!("{{\"type\":\"custom\",\"customType\":\"{DAMAGED}\",\"data\":"),
                format!(",\"timestamp\":{time}}}"),
            ),
            (Format::PiV4, Class::Record) => (
                // The one record that says nothing: an adjustment of the usage by nothing.
                format!(
                    "{{\"kind\":\"record\",\"type\":\"usage\",\"id\":{id}{},\"cause\":\"adjustment\",\
                     \"usage\":{{\"input\":0,\"output\":0,\"cacheRead\":0,\"cacheWrite\":0,\"totalTokens\":0,\
                     \"cost\":{{\"input\":0,\"output\":0,\"cacheRead\":0,\"cacheWrite\":0,\"total\":0}}}},\
                     \"details\":{{\"customType\":\"{DAMAGED}\",\"data\":",
                    lane_field(lane)
                ),
                format!("}},\"seq\":{seq},\"timestamp\":{time}}}"),
            ),
            (Format::PiV4, _) => (
                format!(
                    "{{\"kind\":\"entry\"{},\"type\":\"custom\",\"id\":{id},\"customType\":\"{DAMAGED}\",\"data\":",
                    lane_field(lane)
                ),
                format!(
                    ",\"parentId\":{},\"seq\":{seq},\"timestamp\":{time}}}",
                    nullable(parent)
                ),
            ),
            _ => (
                format!("{{\"type\":\"custom\",\"customType\":\"{DAMAGED}\",\"data\":"),
                format!(
                    ",\"id\":{id},\"parentId\":{},\"timestamp\":{time}}}",
                    nullable(parent)
                ),
            ),
        };
        [start.as_bytes(), object.text, end.as_bytes()].concat()
    }
}

fn entry_time_missing(format: Format, object: &Object<'_>) -> bool {
    crate::format::entry_time(format, object.document.root()).is_none()
}

/// An object with its splices.
fn spliced(object: &[u8], splices: &Splices) -> Vec<u8> {
    let mut out = Vec::with_capacity(object.len());
    let mut done = 0;
    for (range, new) in splices {
        out.extend_from_slice(object.get(done..range.start).unwrap_or_default());
        out.extend_from_slice(new);
        done = range.end;
    }
    out.extend_from_slice(object.get(done..).unwrap_or_default());
    out
}
