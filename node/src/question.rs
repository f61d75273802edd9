//! What can be asked, as the JSON text in which it comes from `lib/`.

use leaflog::{
    BranchBounds, CreateOptions, EntryQuery, ForkScope, Format, NewEntry, NewRecord, Order,
    Position, RecordQuery,
};
use serde::Deserialize;
use serde_json::value::RawValue;

/// What a session can be asked or told.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum Call {
    Metadata,
    Lanes,
    CreateLane {
        lane: String,
        to: Option<String>,
    },
    MoveLane {
        lane: String,
        to: Option<String>,
    },
    AppendEntry(Entry),
    AppendRecord(Entry),
    Entry(String),
    FindEntries(Entries),
    FindEntriesOnBranch {
        start: String,
        stop_at_type: Option<String>,
        stop_at_id: Option<String>,
        entries: Entries,
    },
    FindRecords(Records),
    FindOpenOperations {
        lane: String,
        limit: Option<usize>,
    },
    Log {
        after_seq: Option<u64>,
        limit: Option<usize>,
    },
    Name,
    SetName(Option<String>),
    Label(String),
    SetLabel {
        id: String,
        label: Option<String>,
    },
    Stats,
    Snapshot {
        lane: Option<String>,
        leaf: Option<String>,
    },
    Verify,
    Sync,
    Close,
}

/// An entry or a record to append.
#[derive(Deserialize)]
pub(crate) struct Entry {
    id: Option<String>,
    kind: String,
    lane: String,
    fields: Box<RawValue>,
}

impl Entry {
    /// The entry, and the lane that it goes to.
    pub(crate) fn into_entry(self) -> (NewEntry, String) {
        let new = NewEntry::new(self.kind, self.fields.get());
        let new = match self.id {
            Some(id) => new.with_id(id),
            None => new,
        };
        (new, self.lane)
    }

    pub(crate) fn into_record(self) -> NewRecord {
        let new = NewRecord::new(self.kind, self.lane, self.fields.get());
        match self.id {
            Some(id) => new.with_id(id),
            None => new,
        }
    }
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Ordered {
    #[default]
    NewestFirst,
    OldestFirst,
}

impl From<Ordered> for Order {
    fn from(order: Ordered) -> Self {
        match order {
            Ordered::NewestFirst => Self::NewestFirst,
            Ordered::OldestFirst => Self::OldestFirst,
        }
    }
}

/// Which entries are wanted.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entries {
    r#type: Option<String>,
    custom_type: Option<String>,
    #[serde(default)]
    order: Ordered,
    limit: Option<usize>,
    after_seq: Option<u64>,
}

impl From<Entries> for EntryQuery {
    fn from(entries: Entries) -> Self {
        Self {
            kind: entries.r#type,
            custom_type: entries.custom_type,
            order: entries.order.into(),
            limit: entries.limit,
            after_seq: entries.after_seq,
        }
    }
}

/// Which records are wanted.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Records {
    lane: Option<String>,
    r#type: Option<String>,
    run_id: Option<String>,
    operation_kind: Option<String>,
    after_seq: Option<u64>,
    #[serde(default)]
    order: Ordered,
    limit: Option<usize>,
}

impl From<Records> for RecordQuery {
    fn from(records: Records) -> Self {
        Self {
            lane: records.lane,
            kind: records.r#type,
            run_id: records.run_id,
            operation_kind: records.operation_kind,
            after_seq: records.after_seq,
            order: records.order.into(),
            limit: records.limit,
        }
    }
}

/// Part of a path.
pub(crate) fn bounds(
    start: String,
    stop_at_kind: Option<String>,
    stop_at_id: Option<String>,
) -> BranchBounds {
    BranchBounds {
        start,
        stop_at_kind,
        stop_at_id,
    }
}

/// Where sessions are kept, and how they are opened.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Keeping {
    pub(crate) folder: Option<String>,
    pub(crate) database: Option<String>,
    pub(crate) index: Option<Indexed>,
    pub(crate) index_dir: Option<String>,
    #[serde(default)]
    pub(crate) flush: bool,
}

/// Where the index of a session lives.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Indexed {
    Auto,
    Always,
    Memory,
}

/// A session by its file, or by its id.
#[derive(Deserialize)]
pub(crate) struct Named {
    pub(crate) id: Option<String>,
    pub(crate) path: Option<String>,
}

/// How a session is made.
#[derive(Deserialize)]
pub(crate) struct Made {
    id: Option<String>,
    cwd: Option<String>,
    parent: Option<String>,
    metadata: Option<Box<RawValue>>,
    format: Option<Format>,
}

impl From<Made> for CreateOptions {
    fn from(made: Made) -> Self {
        Self {
            id: made.id,
            cwd: made.cwd.unwrap_or_default(),
            parent: made.parent,
            metadata: made.metadata.map(|json| json.get().to_owned()),
            format: made.format,
        }
    }
}

/// What of a session a fork takes along.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Scope {
    Tree,
    Branch {
        entry: Option<String>,
        position: Option<Ends>,
    },
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Ends {
    Before,
    At,
}

impl From<Scope> for ForkScope {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::Tree => Self::Tree,
            Scope::Branch { entry, position } => Self::Branch {
                entry,
                position: position.map(|position| match position {
                    Ends::Before => Position::Before,
                    Ends::At => Position::At,
                }),
            },
        }
    }
}

/// How a session comes to be open.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum Opening {
    Create(Made),
    Open {
        named: Named,
        read_only: bool,
    },
    Fork {
        source: Named,
        scope: Scope,
        made: Made,
    },
}

/// What a place can be asked or told.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Asked {
    Delete(Named),
    /// Every session with its title.
    Listing,
    /// Every session of pi v4 with all that its header says.
    Headers,
}
