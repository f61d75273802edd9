//! Reading pi v4: entries, records, lanes and facts, and the sequence that runs over all of them.
//! For the reading loop only. What only the whole file can tell waits for `finish`; the tree itself is not walked.

use std::collections::{BTreeMap, HashMap};

use super::envelope::{self, object, objects, string, text, texts, unexpected};
use super::json::{self, Fields};
use super::log::{Entry, Finding, Log, Place, Reports};
use super::time;
use crate::model::ReportCode;

/// The lane that every log has.
pub(super) const MAIN: &str = "main";

/// What the mutations of a file have done beside the tree.
#[derive(Default)]
pub(super) struct Mutations {
    /// Lanes and their leaves, in order of creation.
    pub(super) lanes: Vec<(String, Option<String>)>,
    lane_by_name: HashMap<String, usize>,
    /// The latest name fact.
    pub(super) name: Option<String>,
    pub(super) labels: BTreeMap<String, String>,
    /// Open operations by lane, each with the number of starts before it.
    open: BTreeMap<String, HashMap<String, u64>>,
    starts: u64,
    seq: i64,
    strays: Vec<Stray>,
    targets: Vec<Target>,
}

/// An entry whose parent is not where its lane stood. Damage of its own only if that parent exists.
struct Stray {
    place: Place,
    parent: Option<String>,
    detail: String,
}

/// An entry that a lane or a label points to.
struct Target {
    place: Place,
    id: String,
    detail: String,
}

impl Mutations {
    /// The state before the first mutation.
    pub(super) fn begin() -> Self {
        let mut mutations = Self::default();
        mutations.set_leaf(MAIN, None);
        mutations
    }

    /// The leaf of a lane, if there is such a lane.
    pub(super) fn leaf(&self, lane: &str) -> Option<Option<&str>> {
        let index = *self.lane_by_name.get(lane)?;
        let (_, leaf) = self.lanes.get(index)?;
        Some(leaf.as_deref())
    }

    /// Moves a lane, made where there is none.
    fn set_leaf(&mut self, lane: &str, to: Option<String>) {
        let index = self.lane_by_name.get(lane).copied();
        if let Some((_, leaf)) = index.and_then(|index| self.lanes.get_mut(index)) {
            *leaf = to;
        } else {
            self.lane_by_name.insert(lane.to_owned(), self.lanes.len());
            self.lanes.push((lane.to_owned(), to));
        }
    }

    /// The operations that are open, by lane, oldest first.
    pub(super) fn open_operations(&self) -> BTreeMap<String, Vec<String>> {
        let mut by_lane = BTreeMap::new();
        for (lane, open) in &self.open {
            let mut ids: Vec<_> = open.iter().map(|(id, start)| (*start, id)).collect();
            ids.sort_unstable();
            let ids: Vec<_> = ids.into_iter().map(|(_, id)| id.clone()).collect();
            if !ids.is_empty() {
                by_lane.insert(lane.clone(), ids);
            }
        }
        by_lane
    }
}

/// Why the object cannot be kept, or its kind.
pub(super) fn identify(fields: &Fields<'_>) -> Result<String, Finding> {
    let kind = string(fields, "kind").map_err(Finding::bad_field)?;
    match kind.as_ref() {
        "header" => {
            let detail = "expected a mutation, found a second header";
            return Err(Finding::bad_field(detail));
        }
        "entry" | "record" => drop(envelope::id(fields)?),
        "lane" => {
            string(fields, "lane").map_err(Finding::bad_field)?;
            text(fields, "leafId").map_err(Finding::bad_field)?;
        }
        "fact" => fact(fields).map_err(Finding::bad_field)?,
        _ => {}
    }
    Ok(kind.into_owned())
}

fn fact(fields: &Fields<'_>) -> Result<(), String> {
    match string(fields, "fact")?.as_ref() {
        "name" => texts(fields, &["name"]),
        "label" => {
            string(fields, "targetId")?;
            texts(fields, &["label"])
        }
        _ => Ok(()),
    }
}

/// Takes one object behind the header.
pub(super) fn take(log: &mut Log, object: String, place: Place, reports: &mut Reports) {
    let fields = Fields::of(&object);
    let kind = match identify(&fields) {
        Ok(kind) => kind,
        Err(finding) => return reports.skipped(place, finding),
    };
    take_seq(&mut log.mutations, &fields, place, reports);
    match kind.as_str() {
        "entry" => take_entry(log, object, place, reports),
        "record" => take_record(log, object, place, reports),
        "lane" => {
            let lane = fields.string("lane").unwrap_or_default();
            let leaf = fields.string("leafId").map(String::from);
            if let Some(id) = leaf.clone() {
                let detail = format!("expected the leaf of lane \"{lane}\" in the file");
                log.mutations.targets.push(Target { place, id, detail });
            }
            log.mutations.set_leaf(&lane, leaf);
            log.count(kind);
        }
        "fact" => {
            let name = fields.string("fact").unwrap_or_default();
            match name.as_ref() {
                "name" => log.mutations.name = fields.string("name").map(String::from),
                "label" => take_label(&mut log.mutations, &fields, place),
                _ => {}
            }
            log.count(format!("fact/{name}"));
        }
        _ => log.count(kind),
    }
}

fn take_seq(mutations: &mut Mutations, fields: &Fields<'_>, place: Place, reports: &mut Reports) {
    let raw = fields.get("seq");
    let expected = mutations.seq.saturating_add(1);
    let seq = raw.and_then(json::whole);
    if seq != Some(expected) {
        let detail = unexpected("seq", &expected.to_string(), raw);
        reports.kept(place, Finding::new(ReportCode::Seq, detail));
    }
    mutations.seq = seq.filter(|seq| *seq > 0).unwrap_or(expected);
}

fn take_entry(log: &mut Log, object: String, place: Place, reports: &mut Reports) {
    let fields = Fields::of(&object);
    let id = fields.string("id").unwrap_or_default().into_owned();
    let kind = envelope::kind(&fields, "type", place, reports);
    let parent = envelope::parent(&fields, "parentId", place, reports);
    let time = take_time(&fields, place, reports);
    let good = envelope::good(entry_payload(&kind, &fields), place, reports);
    log.report_duplicate(&id, place, reports);
    if fields.get("lane").is_some() {
        match string(&fields, "lane") {
            Ok(lane) => {
                advance(
                    &mut log.mutations,
                    &lane,
                    &id,
                    parent.as_deref(),
                    place,
                    reports,
                );
            }
            Err(detail) => reports.kept(place, Finding::bad_field(detail)),
        }
    }
    log.count(kind.clone());
    log.entries.add(Entry {
        id,
        parent,
        kind,
        time,
        good,
        place,
        object,
    });
}

/// Moves the lane of an entry to the entry.
fn advance(
    mutations: &mut Mutations,
    lane: &str,
    id: &str,
    parent: Option<&str>,
    place: Place,
    reports: &mut Reports,
) {
    let known = mutations.leaf(lane);
    if known.is_none() {
        let detail = format!("expected a lane that was created, found \"{lane}\"");
        reports.kept(place, Finding::new(ReportCode::MissingLane, detail));
    }
    let leaf = known.flatten();
    if known.is_some() && parent != leaf {
        let quoted = |id: Option<&str>| id.map_or("none".to_owned(), |id| format!("\"{id}\""));
        let detail = format!(
            "expected the parent of \"{id}\" to be the leaf of lane \"{lane}\", {}, found {}",
            quoted(leaf),
            quoted(parent)
        );
        let parent = parent.map(str::to_owned);
        mutations.strays.push(Stray {
            place,
            parent,
            detail,
        });
    }
    mutations.set_leaf(lane, Some(id.to_owned()));
}

fn take_record(log: &mut Log, object: String, place: Place, reports: &mut Reports) {
    let fields = Fields::of(&object);
    let id = fields.string("id").unwrap_or_default().into_owned();
    let kind = envelope::kind(&fields, "type", place, reports);
    let time = take_time(&fields, place, reports);
    let good = envelope::good(record_payload(&kind, &fields), place, reports);
    log.report_duplicate(&id, place, reports);
    match fields.string("lane") {
        Some(lane) if log.mutations.leaf(&lane).is_some() => {
            operate(&mut log.mutations, &lane, &kind, &id, &fields);
        }
        _ => {
            let detail = unexpected("lane", "a lane that was created", fields.get("lane"));
            reports.kept(place, Finding::new(ReportCode::MissingLane, detail));
        }
    }
    log.count(format!("record/{kind}"));
    log.records.add(Entry {
        id,
        parent: None,
        kind,
        time,
        good,
        place,
        object,
    });
}

/// Opens or closes an operation. Starting one that is open leaves it as it is.
fn operate(mutations: &mut Mutations, lane: &str, kind: &str, id: &str, fields: &Fields<'_>) {
    match kind {
        "operation_started" => {
            mutations.starts += 1;
            let open = mutations.open.entry(lane.to_owned()).or_default();
            open.entry(id.to_owned()).or_insert(mutations.starts);
        }
        "operation_finished" => {
            let run = fields.string("runId");
            if let (Some(open), Some(run)) = (mutations.open.get_mut(lane), run) {
                open.remove(run.as_ref());
            }
        }
        _ => {}
    }
}

fn take_label(mutations: &mut Mutations, fields: &Fields<'_>, place: Place) {
    let id = fields.string("targetId").unwrap_or_default().into_owned();
    match fields.string("label") {
        Some(label) => mutations.labels.insert(id.clone(), label.into_owned()),
        None => mutations.labels.remove(&id),
    };
    let detail = "expected the target of a label in the file".to_owned();
    mutations.targets.push(Target { place, id, detail });
}

fn take_time(fields: &Fields<'_>, place: Place, reports: &mut Reports) -> Option<i64> {
    let expected = "a number of milliseconds within 8.64e15 of 1970";
    envelope::time(fields, time::millis, expected, place, reports)
}

/// Reports what the whole file had to be read for.
pub(super) fn finish(log: &Log, reports: &mut Reports) {
    for stray in &log.mutations.strays {
        let parent = stray.parent.as_deref();
        if parent.is_none_or(|parent| log.entries.has(parent)) {
            reports.kept(stray.place, Finding::bad_field(stray.detail.clone()));
        }
    }
    for target in &log.mutations.targets {
        if !log.entries.has(&target.id) {
            let detail = format!("{}, found no entry \"{}\"", target.detail, target.id);
            reports.kept(
                target.place,
                Finding::new(ReportCode::MissingParent, detail),
            );
        }
    }
}

fn entry_payload(kind: &str, fields: &Fields<'_>) -> Result<(), String> {
    match kind {
        "message" => object(fields, "message").map(drop),
        "model_change" => texts(fields, &["provider", "modelId"]),
        "thinking_level_change" => string(fields, "thinkingLevel").map(drop),
        "active_tools_change" => tool_names(fields).map(drop),
        "compaction" => {
            texts(fields, &["summary"])?;
            objects(fields, "retainedTail").map(drop)
        }
        "branch_summary" => texts(fields, &["summary"]),
        _ => Ok(()),
    }
}

fn record_payload(kind: &str, fields: &Fields<'_>) -> Result<(), String> {
    match kind {
        "usage" => object(fields, "usage").map(drop),
        _ => Ok(()),
    }
}

/// The names in `activeToolNames`, which must be an array of strings.
pub(super) fn tool_names(fields: &Fields<'_>) -> Result<Vec<String>, String> {
    let key = "activeToolNames";
    let raw = fields.get(key);
    let array = raw.filter(|raw| json::is_array(raw));
    let array = array.ok_or_else(|| unexpected(key, "an array of strings", raw))?;
    json::elements(array)
        .into_iter()
        .map(|element| match json::string(element) {
            Some(name) => Ok(name.into_owned()),
            None => Err(unexpected(key, "an array of strings", Some(element))),
        })
        .collect()
}
