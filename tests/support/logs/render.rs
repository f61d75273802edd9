//! Writes operations as lines of a format.
//! For the strategies only. Every line is one JSON object; damage comes later.

use leaflog::Format;

use super::ops::{Id, Lane, Op, Parent, Record, Ref, Seq, Style, Time, Value, What};
use super::texts::{
    Fields, ODD, ODD_TIMES, UNKNOWN, add, add_some, nth, quoted, styled, text, usage,
};

/// 2026-07-14T09:00:00Z in milliseconds.
pub(super) const START: u64 = 1_784_019_600_000;

const MISSING: &str = "0000dead";

/// The header and one or two lines for each operation.
pub fn lines<'a>(format: Format, ops: impl IntoIterator<Item = &'a Op>) -> Vec<Vec<u8>> {
    let mut writer = Writer::new(format);
    for op in ops {
        writer.write(op);
    }
    writer.lines
}

/// The same, with something of each operation and the line that it made: the last one, if it made two.
pub fn lines_with<T: Clone>(
    format: Format,
    ops: &[(Op, Option<T>)],
) -> (Vec<Vec<u8>>, Vec<(usize, T)>) {
    let mut writer = Writer::new(format);
    let mut places = Vec::new();
    for (op, with) in ops {
        writer.write(op);
        if let Some(with) = with {
            places.push((writer.lines.len() - 1, with.clone()));
        }
    }
    (writer.lines, places)
}

/// The header of a format.
pub fn header(format: Format) -> String {
    match format {
        Format::CodebotV3 => concat!(
            r#"{"kind":"header","id":"h0","timestamp":"2026-07-14T09:00:00Z","data":{"version":3,"#,
            r#""session_id":"a1b2c3d4","cwd":"/home/dev/app","created":"2026-07-14T09:00:00Z"}}"#
        ),
        Format::PiV4 => {
            r#"{"kind":"header","version":4,"id":"s4","createdAt":1784019600000,"cwd":"/home/dev/app"}"#
        }
        Format::PiV1 => concat!(
            r#"{"type":"session","id":"s1","timestamp":"2026-07-14T09:00:00.000Z","#,
            r#""cwd":"/home/dev/app","provider":"p","modelId":"m","thinkingLevel":"off"}"#
        ),
        Format::PiV2 => concat!(
            r#"{"type":"session","version":2,"id":"s2","timestamp":"2026-07-14T09:00:00.000Z","#,
            r#""cwd":"/home/dev/app"}"#
        ),
        _ => concat!(
            r#"{"type":"session","version":3,"id":"s3","timestamp":"2026-07-14T09:00:00.000Z","#,
            r#""cwd":"/home/dev/app"}"#
        ),
    }
    .to_owned()
}

pub(super) struct Writer {
    pub(super) format: Format,
    pub(super) lines: Vec<Vec<u8>>,
    /// Ids given so far, without those of records.
    entries: Vec<String>,
    records: Vec<String>,
    started: Vec<String>,
    /// Lane names with their leaves; for the other formats only the first counts.
    lanes: Vec<(String, Option<String>)>,
    next: u64,
    seq: u64,
}

impl Writer {
    fn new(format: Format) -> Self {
        Self {
            format,
            lines: vec![header(format).into_bytes()],
            entries: Vec::new(),
            records: Vec::new(),
            started: Vec::new(),
            lanes: vec![("main".to_owned(), None)],
            next: 1,
            seq: 0,
        }
    }

    pub(super) fn is_codebot(&self) -> bool {
        self.format == Format::CodebotV3
    }

    fn is_v4(&self) -> bool {
        self.format == Format::PiV4
    }

    fn fresh(&self, ahead: u64) -> String {
        format!("{:08x}", self.next + ahead)
    }

    fn back(&self, back: u8) -> Option<String> {
        back_in(&self.entries, back)
    }

    fn finish(&mut self, fields: Fields, style: &[Style]) {
        self.lines.push(styled(fields, style).into_bytes());
    }

    fn write(&mut self, op: &Op) {
        if self.is_v4() {
            match &op.what {
                What::MoveLane { lane, leaf } => return self.move_lane(op, *lane, *leaf),
                What::Record(record) => return self.record(op, record),
                What::NameFact(name) => return self.fact(op, "name", None, *name),
                What::LabelFact { target, label } => {
                    // A label needs something to stand on.
                    let none = self.entries.is_empty() && matches!(target, Ref::Back(_));
                    let fact = if none { "note" } else { "label" };
                    return self.fact(op, fact, Some(*target), *label);
                }
                What::OtherFact => return self.fact(op, "colour", None, Value::Text(0)),
                What::Unknown(kind) if kind % 2 == 1 => {
                    let mut fields = Fields::new();
                    add(&mut fields, "kind", quoted(nth(UNKNOWN, *kind)));
                    self.add_seq(&mut fields, op.seq);
                    return self.finish(fields, &op.style);
                }
                _ => {}
            }
        }
        self.entry(op);
    }

    /// The id for a line, as spelled with quotes; none if the field is absent. And the plain id.
    fn id(&mut self, choice: Id, record: bool) -> (Option<String>, Option<String>) {
        let fresh = self.fresh(0);
        self.next += 1;
        let fresh = if record { format!("r{fresh}") } else { fresh };
        let (own, other) = if record {
            (&self.records, &self.entries)
        } else {
            (&self.entries, &self.records)
        };
        let id = match choice {
            Id::Fresh => fresh,
            Id::Again(back) => back_in(own, back).unwrap_or(fresh),
            Id::Other(back) => back_in(other, back).unwrap_or(fresh),
            Id::Odd(odd) => {
                let odd = match odd {
                    0 => Some("\"\""),
                    1 => Some("null"),
                    2 => None,
                    3 => Some("7"),
                    4 => Some("[\"00000001\"]"),
                    5 => Some("\"h0\""),
                    6 => Some("\"\\ud800\""),
                    _ => Some("\"an id with spaces, \\\"quotes\\\" and é\""),
                };
                return (odd.map(str::to_owned), None);
            }
        };
        (Some(quoted(&id)), Some(id))
    }

    pub(super) fn reference(&self, reference: Ref) -> Option<String> {
        match reference {
            Ref::Back(back) => Some(quoted(
                &self.back(back).unwrap_or_else(|| MISSING.to_owned()),
            )),
            Ref::Missing => Some(quoted(MISSING)),
            // The id of the line being written is already given.
            Ref::Own => Some(quoted(&format!("{:08x}", self.next - 1))),
            Ref::Next => Some(quoted(&self.fresh(0))),
            Ref::Null => Some("null".to_owned()),
            Ref::Absent => None,
            Ref::Odd(0) => Some("\"\"".to_owned()),
            Ref::Odd(1) => Some("\"h0\"".to_owned()),
            Ref::Odd(odd) => Some(nth(ODD, odd).to_owned()),
        }
    }

    fn add_seq(&mut self, fields: &mut Fields, seq: Seq) {
        let next = self.seq + 1;
        let (number, spelled) = match seq {
            Seq::Next => (next, None),
            Seq::Skip(by) => (next + u64::from(by), None),
            Seq::Back(by) => (self.seq.saturating_sub(u64::from(by)), None),
            Seq::Odd(odd) => {
                let odd = [
                    "",
                    "null",
                    "\"1\"",
                    "0",
                    "-1",
                    "1.5",
                    "1e2",
                    "9007199254740991",
                    "9007199254740992",
                    "99999999999999999999999",
                    "1e400",
                    "{}",
                ][usize::from(odd) % 12];
                (next, Some(odd))
            }
        };
        match spelled {
            Some("") => {}
            Some(spelled) => add(fields, "seq", spelled),
            None => add(fields, "seq", number.to_string()),
        }
        self.seq = match spelled {
            Some("1e2") => 100,
            Some("9007199254740991") => 9_007_199_254_740_991,
            _ if number == 0 => next,
            _ => number,
        };
    }

    fn entry(&mut self, op: &Op) {
        let lane = match op.lane {
            Lane::Known(at) if self.is_v4() => Some(usize::from(at) % self.lanes.len()),
            _ if self.is_v4() => None,
            _ => Some(0),
        };
        let leaf = match lane {
            Some(at) => self.lanes[at].1.clone(),
            None => self.back(0),
        };
        let root = if self.is_codebot() { "\"h0\"" } else { "null" };
        let spelled = |id: Option<&String>| id.map_or(root.to_owned(), |id| quoted(id));
        let parent = match op.parent {
            Parent::Leaf => Some(spelled(leaf.as_ref())),
            Parent::Back(back) => {
                let target = self.back(back);
                self.turn(op, lane, leaf.as_deref(), target.as_deref());
                Some(spelled(target.as_ref()))
            }
            Parent::Root => {
                self.turn(op, lane, leaf.as_deref(), None);
                Some(root.to_owned())
            }
            Parent::Missing => Some(quoted(MISSING)),
            Parent::Own => Some(quoted(&self.fresh(0))),
            Parent::Next => Some(quoted(&self.fresh(1))),
            Parent::Odd(0) => None,
            Parent::Odd(1) => Some("\"\"".to_owned()),
            // In pi v4 an entry that is not the lane's leaf.
            Parent::Odd(2 | 3) => Some(spelled(self.back(2).as_ref())),
            Parent::Odd(4) => Some("null".to_owned()),
            Parent::Odd(odd) => Some(nth(ODD, odd).to_owned()),
        };

        let (id, plain) = self.id(op.id, false);
        let (kind, own) = self.payload(op);
        let time = self.time(op.time);
        let mut fields = Fields::new();
        match self.format {
            Format::CodebotV3 => {
                add(&mut fields, "kind", kind);
                add_some(&mut fields, "id", id);
                add_some(&mut fields, "parent_id", parent);
                add_some(&mut fields, "timestamp", time);
                fields.extend(own);
            }
            Format::PiV4 => {
                add(&mut fields, "kind", "\"entry\"");
                add_some(&mut fields, "lane", self.lane(op.lane, lane));
                add(&mut fields, "type", kind);
                add_some(&mut fields, "id", id);
                fields.extend(own);
                add_some(&mut fields, "parentId", parent);
                self.add_seq(&mut fields, op.seq);
                add_some(&mut fields, "timestamp", time);
            }
            Format::PiV1 => {
                add(&mut fields, "type", kind);
                if !matches!(op.id, Id::Fresh) {
                    add_some(&mut fields, "id", id);
                }
                add_some(&mut fields, "timestamp", time);
                fields.extend(own);
            }
            _ => {
                add(&mut fields, "type", kind);
                add_some(&mut fields, "id", id);
                add_some(&mut fields, "parentId", parent);
                add_some(&mut fields, "timestamp", time);
                fields.extend(own);
            }
        }
        if let Some(plain) = plain {
            self.entries.push(plain.clone());
            match (lane, op.lane) {
                (Some(at), _) => self.lanes[at].1 = Some(plain),
                // A lane that was not there before is from now on.
                (None, Lane::Unknown) => self.lanes.push((self.unknown_lane(), Some(plain))),
                _ => {}
            }
        }
        self.finish(fields, &op.style);
    }

    /// pi v4: the line that moves a lane before an entry that does not follow its leaf.
    fn turn(&mut self, op: &Op, lane: Option<usize>, leaf: Option<&str>, target: Option<&str>) {
        let Some(at) = lane.filter(|_| self.is_v4() && leaf != target) else {
            return;
        };
        let mut fields = Fields::new();
        add(&mut fields, "kind", "\"lane\"");
        self.add_seq(&mut fields, op.seq);
        add(&mut fields, "lane", quoted(&self.lanes[at].0));
        let leaf = target.map_or("null".to_owned(), quoted);
        add(&mut fields, "leafId", leaf);
        self.finish(fields, &[]);
    }

    fn unknown_lane(&self) -> String {
        format!("unknown-{}", self.lanes.len())
    }

    /// A lane's name as it is written.
    fn lane(&self, choice: Lane, known: Option<usize>) -> Option<String> {
        match (choice, known) {
            (_, Some(at)) => Some(quoted(&self.lanes[at].0)),
            (Lane::Unknown, _) => Some(quoted(&self.unknown_lane())),
            (Lane::Odd(0), _) => Some("\"\"".to_owned()),
            (Lane::Odd(1), _) => Some("\"\\u006dain\"".to_owned()),
            (Lane::Odd(odd), _) => Some(nth(ODD, odd).to_owned()),
            _ => None,
        }
    }

    fn move_lane(&mut self, op: &Op, lane: u8, leaf: Ref) {
        let name = match lane {
            0 => "main".to_owned(),
            lane => format!("thread-{lane}"),
        };
        self.next += 1;
        let target = match leaf {
            Ref::Back(back) => self.back(back),
            Ref::Missing => Some(MISSING.to_owned()),
            _ => None,
        };
        let spelled = match leaf {
            Ref::Back(_) => Some(target.as_deref().map_or("null".to_owned(), quoted)),
            leaf => self.reference(leaf),
        };
        let mut fields = Fields::new();
        add(&mut fields, "kind", "\"lane\"");
        self.add_seq(&mut fields, op.seq);
        match op.lane {
            Lane::Odd(odd) => add(&mut fields, "lane", nth(ODD, odd)),
            _ => {
                add(&mut fields, "lane", quoted(&name));
                match self.lanes.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, leaf)) => *leaf = target,
                    None => self.lanes.push((name, target)),
                }
            }
        }
        add_some(&mut fields, "leafId", spelled);
        self.finish(fields, &op.style);
    }

    fn fact(&mut self, op: &Op, fact: &str, target: Option<Ref>, value: Value) {
        let mut fields = Fields::new();
        add(&mut fields, "kind", "\"fact\"");
        self.next += 1;
        self.add_seq(&mut fields, op.seq);
        add(&mut fields, "fact", quoted(fact));
        if let Some(target) = target {
            add_some(&mut fields, "targetId", self.reference(target));
        }
        let key = if target.is_some() { "label" } else { "name" };
        add_some(&mut fields, key, text(value));
        self.finish(fields, &op.style);
    }

    fn record(&mut self, op: &Op, record: &Record) {
        let (id, plain) = self.id(op.id, true);
        let run = |back: u8| {
            let run = back_in(&self.started, back);
            quoted(&run.unwrap_or_else(|| MISSING.to_owned()))
        };
        let (kind, own): (&str, Vec<(&str, String)>) = match record {
            Record::Started { kind, leaf } => {
                let kind = ["run", "compaction", "navigation"][usize::from(*kind) % 3];
                let intent = format!("{{\"kind\":\"{kind}\"}}");
                let leaf = self.reference(*leaf).unwrap_or("null".to_owned());
                (
                    "operation_started",
                    vec![("sourceLeafId", leaf), ("intent", intent)],
                )
            }
            Record::Finished(back) => (
                "operation_finished",
                vec![("runId", run(*back)), ("outcome", quoted("completed"))],
            ),
            Record::FinishedMissing => ("operation_finished", vec![("outcome", "null".to_owned())]),
            Record::Abort(back) => ("abort_requested", vec![("runId", run(*back))]),
            Record::Step(back) => (
                "step_attempt",
                vec![
                    ("runId", run(*back)),
                    ("step", "1".to_owned()),
                    ("attempt", "1".to_owned()),
                ],
            ),
            Record::ToolStarted(back) => (
                "tool_started",
                vec![
                    ("runId", run(*back)),
                    ("toolCallId", quoted("c0")),
                    ("effectiveArgs", "{}".to_owned()),
                ],
            ),
            Record::Enqueued => (
                "queue_enqueued",
                vec![("queue", quoted("next")), ("target", "{}".to_owned())],
            ),
            Record::Cancelled => ("queue_cancelled", vec![("entryId", quoted("00000001"))]),
            Record::Deferred(back) => ("write_deferred", vec![("runId", run(*back))]),
            Record::Usage(at) => (
                "usage",
                vec![("cause", quoted("run")), ("usage", usage(*at).to_owned())],
            ),
            Record::Unknown => ("note", Vec::new()),
        };
        let lane = match op.lane {
            Lane::Known(at) => Some(usize::from(at) % self.lanes.len()),
            Lane::Absent => Some(0),
            _ => None,
        };
        let mut fields = Fields::new();
        add(&mut fields, "kind", "\"record\"");
        add(&mut fields, "type", quoted(kind));
        add_some(&mut fields, "id", id);
        add_some(&mut fields, "lane", self.lane(op.lane, lane));
        self.add_seq(&mut fields, op.seq);
        add_some(&mut fields, "timestamp", self.time(op.time));
        for (key, value) in own {
            add(&mut fields, key, value);
        }
        if let Some(plain) = plain {
            if kind == "operation_started" {
                self.started.push(plain.clone());
            }
            self.records.push(plain);
        }
        self.finish(fields, &op.style);
    }

    fn time(&self, time: Time) -> Option<String> {
        let (minutes, spelling) = match time {
            Time::Good(minutes, spelling) => (minutes % 60, spelling),
            Time::Odd(odd) => {
                let odd = nth(ODD_TIMES, odd);
                return (!odd.is_empty()).then(|| odd.to_owned());
            }
        };
        let second = self.next % 60;
        let millis = START + u64::from(minutes) * 60_000 + second * 1000;
        let text = match (self.format, spelling) {
            (Format::PiV4, _) => return Some(millis.to_string()),
            (Format::CodebotV3, 1) => format!("2026-07-14T09:{minutes:02}:{second:02}.123456789Z"),
            (Format::CodebotV3, 2) => format!("2026-07-14T11:{minutes:02}:{second:02}.5+02:00"),
            (Format::CodebotV3, _) => format!("2026-07-14T09:{minutes:02}:{second:02}Z"),
            (_, 1) => return Some(millis.to_string()),
            (_, 2) => format!("2026-07-14T04:{minutes:02}:{second:02}-05:00"),
            _ => format!("2026-07-14T09:{minutes:02}:{second:02}.000Z"),
        };
        Some(quoted(&text))
    }
}

fn back_in(list: &[String], back: u8) -> Option<String> {
    let back = usize::from(back).checked_rem(list.len())?;
    list.get(list.len() - 1 - back).cloned()
}
