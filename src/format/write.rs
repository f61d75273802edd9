//! The lines that a store writes, in the order of fields that each format's own writer uses, and
//! the check that a line is one before it is written. Knows no files and no other lines.

use std::borrow::Cow;

use super::time::{format_nanos, format_time};
use super::{Kind, Mutation, interpret, text_of};
use crate::contract::{CreateOptions, NewEntry, NewRecord};
use crate::error::{Code, Error, Result};
use crate::json::{Document, FastParser, Grammar, Json, PADDING, compact};
use crate::model::Format;

/// Payloads nested deeper than this would not be decoded again.
pub(crate) const DEEPEST: usize = 1024;

/// What a store gives an entry or a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Envelope<'a> {
    pub(crate) id: &'a str,
    pub(crate) parent: Option<&'a str>,
    /// The lane (pi v4).
    pub(crate) lane: &'a str,
    /// The number in the sequence (pi v4).
    pub(crate) seq: u64,
    /// Nanoseconds since 1970.
    pub(crate) nanos: u64,
}

impl Envelope<'_> {
    fn millis(&self) -> i64 {
        i64::try_from(self.nanos / 1_000_000).unwrap_or(i64::MAX)
    }
}

/// Writes the line of an entry, newline included, and checks it.
pub(crate) fn entry_line(
    line: &mut Line,
    format: Format,
    new: &NewEntry,
    envelope: &Envelope<'_>,
) -> Result<()> {
    let fields = own_fields(&new.fields)?;
    line.start();
    match format {
        Format::CodebotV3 => {
            let data = trimmed_thinking(&new.kind, &new.fields);
            line.text("{\"kind\":", &new.kind);
            line.text(",\"id\":", envelope.id);
            if let Some(parent) = envelope.parent {
                line.text(",\"parent_id\":", parent);
            }
            line.raw(",\"timestamp\":\"");
            line.raw(&format_nanos(envelope.nanos));
            line.raw("\",\"data\":");
            line.raw(&one_line(&data));
            line.raw("}");
        }
        Format::PiV4 => {
            line.text("{\"kind\":\"entry\",\"lane\":", envelope.lane);
            line.text(",\"type\":", &new.kind);
            line.text(",\"id\":", envelope.id);
            line.own(&fields);
            line.nullable(",\"parentId\":", envelope.parent);
            line.numbered(envelope);
        }
        Format::PiV1 | Format::PiV2 | Format::PiV3 => {
            // pi's writer puts the fields of an extension's entries first.
            let fields_first = matches!(&*new.kind, "custom" | "custom_message");
            line.text("{\"type\":", &new.kind);
            if fields_first {
                line.own(&fields);
            }
            line.text(",\"id\":", envelope.id);
            line.nullable(",\"parentId\":", envelope.parent);
            line.raw(",\"timestamp\":\"");
            line.raw(&format_time(envelope.millis()));
            line.raw("\"");
            if !fields_first {
                line.own(&fields);
            }
            line.raw("}");
        }
    }
    line.end();
    let id = envelope.id;
    line.check(&Expected::Entry { format, new, id }).map(|_| ())
}

/// What a record says that the rules of a session need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Starts an operation.
    Started,
    /// Finishes the operation with this id.
    Finished(String),
    /// Neither.
    Other,
}

/// Writes the line of a record (pi v4), newline included, and checks it. The run that it belongs
/// to comes back too.
pub(crate) fn record_line(
    line: &mut Line,
    new: &NewRecord,
    envelope: &Envelope<'_>,
) -> Result<(Step, Option<String>)> {
    let fields = own_fields(&new.fields)?;
    line.start();
    line.text("{\"kind\":\"record\",\"type\":", &new.kind);
    line.text(",\"id\":", envelope.id);
    line.text(",\"lane\":", envelope.lane);
    line.own(&fields);
    line.numbered(envelope);
    line.end();
    let id = envelope.id;
    line.check(&Expected::Record { new, id })
        .map_err(|error| refused(&new.fields, error))
}

/// Writes the line that makes or moves a lane (pi v4).
pub(crate) fn lane_line(line: &mut Line, seq: u64, lane: &str, leaf: Option<&str>) {
    line.start();
    line.raw("{\"kind\":\"lane\",\"seq\":");
    line.number(seq);
    line.text(",\"lane\":", lane);
    line.nullable(",\"leafId\":", leaf);
    line.raw("}");
    line.end();
}

/// Writes the line that names the session (pi v4).
pub(crate) fn name_line(line: &mut Line, seq: u64, name: Option<&str>) {
    line.start();
    line.raw("{\"kind\":\"fact\",\"seq\":");
    line.number(seq);
    line.raw(",\"fact\":\"name\"");
    if let Some(name) = name {
        line.text(",\"name\":", name);
    }
    line.raw("}");
    line.end();
}

/// Writes the line that labels an entry (pi v4).
pub(crate) fn label_line(line: &mut Line, seq: u64, target: &str, label: Option<&str>) {
    line.start();
    line.raw("{\"kind\":\"fact\",\"seq\":");
    line.number(seq);
    line.text(",\"fact\":\"label\",\"targetId\":", target);
    if let Some(label) = label {
        line.text(",\"label\":", label);
    }
    line.raw("}");
    line.end();
}

/// Writes the header of a new session. `parent` replaces the one of the options.
pub(crate) fn header_line(
    line: &mut Line,
    format: Format,
    id: &str,
    nanos: u64,
    options: &CreateOptions,
) -> Result<()> {
    let millis = i64::try_from(nanos / 1_000_000).unwrap_or(i64::MAX);
    line.start();
    match format {
        Format::CodebotV3 => {
            let time = format_nanos(nanos);
            line.text("{\"kind\":\"header\",\"id\":\"h0\",\"timestamp\":", &time);
            line.text(",\"data\":{\"version\":3,\"session_id\":", id);
            line.text(",\"cwd\":", &options.cwd);
            line.text(",\"created\":", &time);
            line.raw("}}");
        }
        Format::PiV4 => {
            line.text("{\"kind\":\"header\",\"version\":4,\"id\":", id);
            line.raw(",\"createdAt\":");
            line.raw(&millis.to_string());
            line.text(",\"cwd\":", &options.cwd);
            if let Some(parent) = &options.parent {
                line.text(",\"parentSessionId\":", parent);
            }
            if let Some(metadata) = &options.metadata {
                line.raw(",\"metadata\":");
                line.raw(&one_line(metadata));
            }
            line.raw("}");
        }
        Format::PiV1 | Format::PiV2 | Format::PiV3 => {
            line.text("{\"type\":\"session\",\"version\":3,\"id\":", id);
            line.text(",\"timestamp\":", &format_time(millis));
            line.text(",\"cwd\":", &options.cwd);
            if let Some(parent) = &options.parent {
                line.text(",\"parentSession\":", parent);
            }
            line.raw("}");
        }
    }
    line.end();
    line.check(&Expected::Header { format }).map(|_| ())
}

/// A line in the making, in buffers that are used again for the next one.
pub(crate) struct Line {
    bytes: Vec<u8>,
    scratch: Vec<u8>,
    parser: FastParser,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            bytes: Vec::new(),
            scratch: Vec::new(),
            parser: FastParser::new(),
        }
    }
}

/// Buffers grown beyond this by one line are given back.
const KEPT: usize = 1 << 20;

impl Line {
    /// The line with its newline.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The object of the line.
    pub(crate) fn object(&self) -> &[u8] {
        self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes)
    }

    fn start(&mut self) {
        if self.bytes.capacity() > KEPT {
            self.bytes = Vec::new();
        }
        self.bytes.clear();
    }

    fn end(&mut self) {
        self.bytes.push(b'\n');
    }

    fn raw(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// A key as it stands, and a text as a JSON string.
    fn text(&mut self, key: &str, text: &str) {
        self.raw(key);
        // Without a way out of the loop it takes many bytes at a time.
        let is_plain = text.bytes().fold(true, |plain, byte| {
            plain & (byte >= b' ') & (byte != b'"') & (byte != b'\\')
        });
        if is_plain {
            self.bytes.push(b'"');
            self.raw(text);
            self.bytes.push(b'"');
        } else {
            // Writing to a vector does not fail.
            let _ = serde_json::to_writer(&mut self.bytes, text);
        }
    }

    fn nullable(&mut self, key: &str, text: Option<&str>) {
        match text {
            Some(text) => self.text(key, text),
            None => {
                self.raw(key);
                self.raw("null");
            }
        }
    }

    fn number(&mut self, number: u64) {
        // Writing to a vector does not fail.
        let _ = serde_json::to_writer(&mut self.bytes, &number);
    }

    fn numbered(&mut self, envelope: &Envelope<'_>) {
        self.raw(",\"seq\":");
        self.number(envelope.seq);
        self.raw(",\"timestamp\":");
        self.number(envelope.nanos / 1_000_000);
        self.raw("}");
    }

    /// Fields of the caller's, with the comma before them.
    fn own(&mut self, fields: &str) {
        if !fields.is_empty() {
            self.raw(",");
            self.raw(fields);
        }
    }

    /// Parses the object of the line and compares it with what it should say.
    fn check(&mut self, expected: &Expected<'_>) -> Result<Said> {
        let len = self.object().len();
        if self.scratch.capacity() > KEPT && len < KEPT {
            self.scratch = Vec::new();
        }
        self.scratch.clear();
        self.scratch
            .extend_from_slice(self.bytes.get(..len).unwrap_or_default());
        self.scratch.resize(len + PADDING, 0);
        let Self {
            bytes,
            scratch,
            parser,
        } = self;
        if let Some(result) = parser.parse(scratch, len, |document| expected.at(document.root())) {
            return result;
        }
        // simd-json refuses what JavaScript writes: lone surrogates, numbers out of range.
        let text = bytes.get(..len).unwrap_or_default();
        let document = Grammar::parse(text).map_err(|syntax| {
            bad(&format!(
                "expected the fields to be a JSON object, found something that is none: with the store's own \
                 fields the line should have {} at byte {}",
                syntax.expected, syntax.at
            ))
        })?;
        if document.depth() > DEEPEST {
            return Err(bad(&format!(
                "expected at most {DEEPEST} levels of nesting, found {}",
                document.depth()
            )));
        }
        expected.at(document.root())
    }
}

/// What a record says that its store must know: its step, and the run that it belongs to.
type Said = (Step, Option<String>);

/// The entry that an entry of pi v3 speaks of.
pub(crate) fn target_of(object: &[u8]) -> Option<String> {
    let document = Grammar::parse(object).ok()?;
    text_of(document.root().field("targetId")).map(Cow::into_owned)
}

/// What a line must turn out to be when it is read.
enum Expected<'e> {
    Entry {
        format: Format,
        new: &'e NewEntry,
        id: &'e str,
    },
    Record {
        new: &'e NewRecord,
        id: &'e str,
    },
    Header {
        format: Format,
    },
}

/// The fields that the store gives, or that stand apart from the own ones; each stands once.
const CODEBOT_KEYS: [&str; 5] = ["kind", "id", "parent_id", "timestamp", "data"];
const PI_KEYS: [&str; 4] = ["type", "id", "parentId", "timestamp"];
const ENTRY_KEYS: [&str; 7] = ["kind", "lane", "type", "id", "parentId", "seq", "timestamp"];
const RECORD_KEYS: [&str; 6] = ["kind", "type", "id", "lane", "seq", "timestamp"];

impl Expected<'_> {
    fn at<'a, V: Json<'a>>(&self, object: V) -> Result<Said> {
        match *self {
            Self::Entry { format, new, id } => {
                entry_says(format, new, id, object).map(|()| (Step::Other, None))
            }
            Self::Record { new, id } => record_says(new, id, object),
            Self::Header { format } => header_says(format, object).map(|()| (Step::Other, None)),
        }
    }
}

fn entry_says<'a, V: Json<'a>>(format: Format, new: &NewEntry, id: &str, object: V) -> Result<()> {
    let keys: &[&str] = match format {
        Format::CodebotV3 => &CODEBOT_KEYS,
        Format::PiV4 => &ENTRY_KEYS,
        _ => &PI_KEYS,
    };
    each_once(object, keys, format == Format::CodebotV3)?;
    let meaning = interpret(format, object, false);
    let Some(Mutation::Entry(entry)) = &meaning.mutation else {
        return Err(not_of(format, &new.kind));
    };
    if matches!(entry.kind, None | Some(Kind::Header)) {
        return Err(bad(&format!(
            "expected a kind of entry that {format} has, found `{}`; it has {}",
            new.kind,
            super::entry_kinds(format).join(", ")
        )));
    }
    let own = |key| text_of(object.field(key)).is_some();
    let has_all = match (format, entry.kind()) {
        (Format::CodebotV3, Kind::ModelChange | Kind::EffortChange | Kind::SessionInfo) => true,
        (_, Kind::ModelChange) => own("provider") && own("modelId"),
        (Format::PiV4, Kind::Custom) => own("customType"),
        (Format::PiV1 | Format::PiV2 | Format::PiV3, Kind::Custom | Kind::CustomMessage) => {
            own("customType")
        }
        (Format::PiV4, Kind::Compaction) => {
            own("summary") && object.field("retainedTail").is_some_and(Json::is_array)
        }
        (Format::PiV4, Kind::ActiveTools) => {
            object.field("activeToolNames").is_some_and(Json::is_array)
        }
        (Format::PiV1 | Format::PiV2 | Format::PiV3, Kind::Compaction) => own("summary"),
        (_, Kind::BranchSummary) => own("summary") && own("fromId"),
        _ => true,
    };
    if !has_all || !meaning.findings.is_empty() || entry.id.as_deref() != Some(id) {
        return Err(not_of(format, &new.kind));
    }
    Ok(())
}

fn record_says<'a, V: Json<'a>>(new: &NewRecord, id: &str, object: V) -> Result<Said> {
    each_once(object, &RECORD_KEYS, false)?;
    let meaning = interpret(Format::PiV4, object, false);
    let record = match &meaning.mutation {
        Some(Mutation::Record(record)) if meaning.findings.is_empty() && record.id == id => record,
        _ => return Err(not_of(Format::PiV4, &new.kind)),
    };
    let intent = object
        .field("intent")
        .and_then(|intent| intent.field("kind"));
    let intent = text_of(intent).unwrap_or_default();
    let run = record.run.as_ref().map(|run| run.clone().into_owned());
    let step = match (record.kind, &run) {
        (Kind::OtherRecord, _) => {
            return Err(bad(&format!(
                "expected a type of record that pi-v4 has, found `{}`",
                new.kind
            )));
        }
        (Kind::OperationStarted, _) if !matches!(&*intent, "run" | "compaction" | "navigation") => {
            return Err(bad(&format!(
                "expected `intent.kind` to be `run`, `compaction` or `navigation`, found {}",
                if intent.is_empty() { "none" } else { &*intent }
            )));
        }
        (Kind::OperationStarted, _) => Step::Started,
        (Kind::OperationFinished, Some(run)) => Step::Finished(run.clone()),
        (Kind::OperationFinished, None) => {
            return Err(bad("expected `runId` to be a string, found none"));
        }
        _ => Step::Other,
    };
    Ok((step, run))
}

fn header_says<'a, V: Json<'a>>(format: Format, object: V) -> Result<()> {
    let keys: &[&str] = match format {
        Format::CodebotV3 => &["kind", "id", "timestamp", "data"],
        Format::PiV4 => &["kind", "version", "id", "createdAt", "cwd"],
        _ => &["type", "version", "id", "timestamp", "cwd"],
    };
    each_once(object, keys, format == Format::CodebotV3)?;
    let metadata = object.field("metadata");
    if metadata.is_some_and(|metadata| !metadata.is_object()) {
        return Err(bad("expected the metadata to be a JSON object"));
    }
    Ok(())
}

/// Checks that the store's own fields stand once, and nothing beside them if that is `all`.
fn each_once<'a, V: Json<'a>>(object: V, keys: &[&str], all: bool) -> Result<()> {
    let mut seen = 0u32;
    for (key, _) in object.fields() {
        let Some(place) = keys.iter().position(|own| *own == key) else {
            if all {
                return Err(bad(&format!(
                    "the fields go on with `{key}` behind their end"
                )));
            }
            continue;
        };
        if seen & (1 << place) != 0 {
            return Err(bad(&format!(
                "`{key}` is given by the store; leave it out of the fields"
            )));
        }
        seen |= 1 << place;
    }
    Ok(())
}

fn not_of(format: Format, kind: &str) -> Error {
    match shape_of(format, kind) {
        Some(shape) => bad(&format!(
            "expected {shape}, in the fields of `{kind}`; nothing was written"
        )),
        None => bad(&format!(
            "the fields do not have the shape of `{kind}`; nothing was written"
        )),
    }
}

/// What the fields of a kind must have.
fn shape_of(format: Format, kind: &str) -> Option<&'static str> {
    let codebot = format == Format::CodebotV3;
    Some(match kind {
        "message" if codebot => "`role`, a text, and `content`, a list of objects",
        "message" => "`message`, an object",
        "model_change" if codebot => "`provider` and `model`, texts",
        "model_change" => "`provider` and `modelId`, texts",
        "reasoning_effort_change" | "thinking_change" => "`level`, a text",
        "thinking_level_change" => "`thinkingLevel`, a text",
        "active_tools_change" => "`activeToolNames`, a list of texts",
        "compaction" if codebot => "`summary`, a text, and `messages`, a list of messages",
        "compaction" if format == Format::PiV4 => {
            "`summary`, a text, and `retainedTail`, a list of messages"
        }
        "compaction" => "`summary`, a text",
        "branch_summary" => "`fromId` and `summary`, texts",
        "custom" | "custom_message" => "`customType`, a text",
        "context_edit" => "`targetId`, a text, and `replacement`, null or an object with `content`",
        "label" => "`targetId`, a text, and maybe `label`, a text",
        "session_info" => "`name`, a text",
        "plan_state" => "`phase`, `slug` and `pre_mode`, texts",
        "usage" => "`usage`, an object",
        _ => return None,
    })
}

/// The error of a check, or that the caller's fields are no JSON, if that is what is behind it.
fn refused(fields: &str, error: Error) -> Error {
    match Grammar::parse(fields.as_bytes()) {
        Ok(_) => error,
        Err(syntax) => bad(&format!(
            "expected the fields to be a JSON object, found no JSON: expected {} at byte {} of them",
            syntax.expected, syntax.at
        )),
    }
}

fn bad(what: &str) -> Error {
    Error::new(Code::InvalidPayload, what)
}

/// What stands between the braces of an object, on one line. That it is no more than that shows
/// when the whole line is checked.
fn own_fields(fields: &str) -> Result<Cow<'_, str>> {
    let inner = fields
        .trim_matches(|c: char| c.is_ascii_whitespace())
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        .ok_or_else(|| bad("expected the fields to be a JSON object, `{…}`"))?;
    Ok(one_line(
        inner.trim_matches(|c: char| c.is_ascii_whitespace()),
    ))
}

/// A JSON text without line breaks: as it is if it has none, else without any white space
/// between its tokens.
fn one_line(text: &str) -> Cow<'_, str> {
    if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(compact(text))
}

/// codebot keeps so many characters of a thinking block.
const THINKING: usize = 200;

/// The data of a codebot message with long thinking blocks cut.
fn trimmed_thinking<'t>(kind: &str, data: &'t str) -> Cow<'t, str> {
    if kind != "message" || !data.contains("thinking") {
        return Cow::Borrowed(data);
    }
    let Ok(document) = Grammar::parse(data.as_bytes()) else {
        return Cow::Borrowed(data);
    };
    let mut out = String::new();
    let mut done = 0;
    let blocks = document.root().field("content");
    for block in blocks.into_iter().flat_map(Json::items) {
        let is_thinking = super::block_type(block).as_deref() == Some("thinking");
        let Some(thinking) = block.field("thinking").filter(|_| is_thinking) else {
            continue;
        };
        let text = thinking.text().unwrap_or_default();
        if text.chars().nth(THINKING).is_none() {
            continue;
        }
        let cut: String = text.chars().take(THINKING - 1).chain(['…']).collect();
        let span = thinking.span();
        out.push_str(data.get(done..span.start).unwrap_or_default());
        out.push_str(&serde_json::Value::String(cut).to_string());
        done = span.end;
    }
    if done == 0 {
        return Cow::Borrowed(data);
    }
    out.push_str(data.get(done..).unwrap_or_default());
    Cow::Owned(out)
}
