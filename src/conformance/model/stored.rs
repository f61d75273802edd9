//! One session of the model: what was written, as items and as the bytes of a log, and what a fork
//! takes of it. It refuses nothing; that is done before.

use super::check;
use super::lines;
use crate::contract::{CreateOptions, ForkScope, Lane, LogItem, NewEntry, NewRecord, Position, pi};
use crate::error::{Code, Error, Result};
use crate::model::{Format, Overview};
use crate::naive::{ReadOptions, Replay};
use crate::store::Entry;

/// An entry, and what it was made of.
#[derive(Clone)]
pub(super) struct Node {
    pub(super) new: NewEntry,
    pub(super) entry: Entry,
}

/// One session.
pub(super) struct Stored {
    pub(super) id: String,
    pub(super) format: Format,
    pub(super) options: CreateOptions,
    pub(super) created: i64,
    /// Whether somebody has it open for writing.
    pub(super) written_to: bool,
    /// Without codebot's header.
    pub(super) nodes: Vec<Node>,
    pub(super) items: Vec<LogItem>,
    log: String,
    /// Where `main` stands, in formats without lanes.
    pub(super) leaf: Option<String>,
    replay: Option<Replay>,
    overview: Option<Overview>,
}

/// What a fork begins with.
pub(super) struct Copied {
    nodes: Vec<Node>,
    lanes: Vec<Lane>,
    name: Option<String>,
    labels: Vec<(String, String)>,
}

impl Stored {
    pub(super) fn new(format: Format, id: &str, created: i64, options: &CreateOptions) -> Self {
        let header = lines::header(format, id, created, options);
        let mut stored = Self {
            id: id.to_owned(),
            format,
            options: options.clone(),
            created,
            written_to: true,
            nodes: Vec::new(),
            items: Vec::new(),
            log: header.clone(),
            leaf: None,
            replay: None,
            overview: None,
        };
        if format == Format::CodebotV3 {
            stored.items.push(LogItem::Entry(Entry {
                id: "h0".to_owned(),
                parent: None,
                kind: "header".to_owned(),
                time: Some(created),
                lane: None,
                seq: Some(1),
                offset: None,
                bytes: header.trim_end().as_bytes().to_vec(),
            }));
            stored.leaf = Some("h0".to_owned());
        }
        stored
    }

    /// The whole log, read again by the naive replay.
    pub(super) fn replay(&mut self) -> Result<&Replay> {
        if self.replay.is_none() {
            let read = Replay::from_bytes(self.log.as_bytes(), ReadOptions::default())?;
            self.replay = Some(read);
        }
        let none = || Error::new(Code::Storage, "the model has no replay");
        self.replay.as_ref().ok_or_else(none)
    }

    /// The log as it was before its first entry.
    pub(super) fn header_alone(&self) -> Result<Replay> {
        let end = self.log.find('\n').map_or(self.log.len(), |end| end + 1);
        let header = self.log.get(..end).unwrap_or_default();
        Replay::from_bytes(header.as_bytes(), ReadOptions::default())
    }

    /// Facts, totals, lanes and open operations, by the naive replay.
    pub(super) fn overview(&mut self) -> Result<&Overview> {
        if self.overview.is_none() {
            self.overview = Some(self.replay()?.overview());
        }
        let none = || Error::new(Code::Storage, "the model has no overview");
        self.overview.as_ref().ok_or_else(none)
    }

    /// Whether another process would see it: pi v3 waits for the first message.
    pub(super) fn is_saved(&self) -> bool {
        let spoken = |node: &Node| {
            let fields = check::raw(node.new.fields()).ok();
            let message = fields.and_then(|fields| check::raw(fields.get("message")?.get()).ok());
            let role = message.and_then(|message| check::string(&message, "role"));
            node.new.kind() == "message" && matches!(role.as_deref(), Some("user" | "assistant"))
        };
        self.format != Format::PiV3 || self.nodes.iter().any(spoken)
    }

    /// Where a session of a format without lanes stands when it is opened.
    pub(super) fn last(&self) -> Option<String> {
        self.entries().next_back().map(|entry| entry.id.clone())
    }

    /// Forgets where it stood.
    pub(super) fn stand_on_last(&mut self) {
        self.leaf = self.last();
    }

    pub(super) fn next_seq(&self) -> u64 {
        self.items.last().map_or(1, |item| item.seq() + 1)
    }

    fn write(&mut self, line: &str, item: LogItem) {
        self.log.push_str(line);
        self.items.push(item);
        self.replay = None;
        self.overview = None;
    }

    pub(super) fn lanes(&mut self) -> Result<Vec<Lane>> {
        if self.format != Format::PiV4 {
            return Ok(vec![Lane {
                name: "main".to_owned(),
                leaf: self.leaf.clone(),
            }]);
        }
        let lanes = self.overview()?.lanes.clone().into_iter();
        Ok(lanes.map(|(name, leaf)| Lane { name, leaf }).collect())
    }

    pub(super) fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.items.iter().filter_map(|item| match item {
            LogItem::Entry(entry) => Some(entry),
            _ => None,
        })
    }

    pub(super) fn records(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.items.iter().filter_map(|item| match item {
            LogItem::Record(record) => Some(record),
            _ => None,
        })
    }

    pub(super) fn entry(&self, id: &str) -> Option<&Entry> {
        self.entries().find(|entry| entry.id == id)
    }

    /// The entries from one to its root.
    pub(super) fn path(&self, start: &str) -> Vec<&Entry> {
        let mut path = Vec::new();
        let mut next = self.entry(start);
        while let Some(entry) = next {
            path.push(entry);
            let parent = entry.parent.as_deref();
            next = parent.and_then(|parent| self.entry(parent));
        }
        path
    }

    pub(super) fn add_entry(
        &mut self,
        new: &NewEntry,
        id: &str,
        parent: Option<&str>,
        lane: Option<&str>,
        time: i64,
    ) -> Entry {
        let seq = self.next_seq();
        let lane = lane.filter(|_| self.format == Format::PiV4);
        let line = lines::entry(self.format, new, id, parent, lane, seq, time);
        let entry = Entry {
            id: id.to_owned(),
            parent: parent.map(str::to_owned),
            kind: new.kind().to_owned(),
            time: Some(time),
            lane: lane.map(str::to_owned),
            seq: Some(seq),
            offset: None,
            bytes: line.trim_end_matches('\n').as_bytes().to_vec(),
        };
        self.write(&line, LogItem::Entry(entry.clone()));
        self.leaf = Some(id.to_owned());
        self.nodes.push(Node {
            new: new.clone(),
            entry: entry.clone(),
        });
        entry
    }

    pub(super) fn add_record(&mut self, new: &NewRecord, id: &str, time: i64) -> Entry {
        let seq = self.next_seq();
        let line = lines::record(new, id, seq, time);
        let run = check::raw(new.fields()).ok();
        let record = Entry {
            id: id.to_owned(),
            parent: run.and_then(|fields| check::string(&fields, "runId")),
            kind: new.kind().to_owned(),
            time: Some(time),
            lane: Some(new.lane().to_owned()),
            seq: Some(seq),
            offset: None,
            bytes: line.trim_end_matches('\n').as_bytes().to_vec(),
        };
        self.write(&line, LogItem::Record(record.clone()));
        record
    }

    pub(super) fn add_lane(&mut self, lane: &str, leaf: Option<&str>) {
        let seq = self.next_seq();
        let item = LogItem::Lane {
            seq,
            lane: lane.to_owned(),
            leaf: leaf.map(str::to_owned),
        };
        self.write(&lines::lane(seq, lane, leaf), item);
    }

    pub(super) fn add_name(&mut self, name: Option<&str>) {
        let seq = self.next_seq();
        let item = LogItem::Name {
            seq,
            name: name.map(str::to_owned),
        };
        self.write(&lines::name(seq, name), item);
    }

    pub(super) fn add_label(&mut self, target: &str, label: Option<&str>) {
        let seq = self.next_seq();
        let item = LogItem::Label {
            seq,
            target: target.to_owned(),
            label: label.map(str::to_owned),
        };
        self.write(&lines::label(seq, target, label), item);
    }

    /// What a fork takes along.
    pub(super) fn copied(&mut self, scope: &ForkScope) -> Result<Copied> {
        let overview = self.overview()?.clone();
        let lanes = self.lanes()?;
        let (mut nodes, lanes) = match scope {
            ForkScope::Tree => (self.nodes.clone(), lanes),
            ForkScope::Branch { entry, position } => {
                let leaf = self.fork_leaf(entry.as_deref(), *position, &lanes)?;
                let path = self.path(leaf.as_deref().unwrap_or_default());
                let on_path = |node: &&Node| path.iter().any(|entry| entry.id == node.entry.id);
                let nodes = self.nodes.iter().filter(on_path).cloned().collect();
                let main = Lane {
                    name: "main".to_owned(),
                    leaf,
                };
                (nodes, vec![main])
            }
        };
        let branch = *scope != ForkScope::Tree;
        if branch && self.format == Format::PiV3 {
            nodes = without_labels(nodes);
        }
        let label = |node: &Node| {
            let id = &node.entry.id;
            Some((id.clone(), overview.labels.get(id)?.clone()))
        };
        // The label entries of pi v3 come along with a whole tree.
        let labels = if branch || self.format == Format::PiV4 {
            nodes.iter().filter_map(label).collect()
        } else {
            Vec::new()
        };
        Ok(Copied {
            nodes,
            lanes,
            name: overview.name,
            labels,
        })
    }

    /// The entry that a fork of one branch ends with.
    fn fork_leaf(
        &self,
        entry: Option<&str>,
        position: Option<Position>,
        lanes: &[Lane],
    ) -> Result<Option<String>> {
        let main = lanes.iter().find(|lane| lane.name == "main");
        let last = self.last();
        let stands = match self.format {
            Format::PiV4 => main.and_then(|lane| lane.leaf.as_deref()),
            // Where a writer has moved to is not written down.
            _ => last.as_deref(),
        };
        // codebot's header is where an empty session stands.
        let stands = stands.filter(|leaf| self.nodes.iter().any(|node| node.entry.id == *leaf));
        let Some(target) = entry.or(stands) else {
            return Ok(None);
        };
        let default = if entry.is_some() {
            Position::Before
        } else {
            Position::At
        };
        // Only pi v4 wants a message where nobody named an entry.
        let any = entry.is_none() && self.format != Format::PiV4;
        match self.entry(target) {
            Some(found) if any || found.kind == "message" => {
                Ok(match position.unwrap_or(default) {
                    Position::At => Some(found.id.clone()),
                    Position::Before => found.parent.clone(),
                })
            }
            _ => Err(Error::new(
                Code::InvalidForkTarget,
                format!("`{target}` is no message"),
            )),
        }
    }

    /// Begins with what another session had.
    pub(super) fn take(&mut self, copied: Copied) {
        for node in &copied.nodes {
            let time = node.entry.time.unwrap_or_default();
            let parent = node.entry.parent.as_deref();
            self.add_entry(&node.new, &node.entry.id, parent, None, time);
        }
        if self.format != Format::PiV4 {
            for (nth, (target, label)) in copied.labels.iter().enumerate() {
                let parent = self.leaf.clone();
                let id = format!("f{nth:07x}");
                let new = pi::label(target, Some(label));
                self.add_entry(&new, &id, parent.as_deref(), None, self.created);
            }
            return;
        }
        for lane in &copied.lanes {
            self.add_lane(&lane.name, lane.leaf.as_deref());
        }
        if copied.name.is_some() {
            self.add_name(copied.name.as_deref());
        }
        for (target, label) in &copied.labels {
            self.add_label(target, Some(label));
        }
    }
}

/// The path of pi v3 without its labels, chained over the gaps.
fn without_labels(nodes: Vec<Node>) -> Vec<Node> {
    let mut kept: Vec<Node> = Vec::new();
    // Labels that wait for the entry behind them, which takes their place for compactions.
    let mut waiting: Vec<String> = Vec::new();
    let mut moved: Vec<(String, String)> = Vec::new();
    for mut node in nodes {
        if node.new.kind() == "label" {
            waiting.push(node.entry.id);
            continue;
        }
        let id = node.entry.id.clone();
        moved.extend(waiting.drain(..).map(|label| (label, id.clone())));
        node.entry.parent = kept.last().map(|before| before.entry.id.clone());
        if node.new.kind() == "compaction" {
            for (label, to) in &moved {
                let key = |id: &str| format!("\"firstKeptEntryId\":\"{id}\"");
                node.new.fields = node.new.fields.replace(&key(label), &key(to));
            }
        }
        kept.push(node);
    }
    kept
}
