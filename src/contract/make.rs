//! What a caller hands in to have something made: sessions, forks, entries, records.

use crate::model::Format;

/// How a session is made.
///
/// ```
/// use leaflog::CreateOptions;
///
/// let options = CreateOptions { id: Some("s1".to_owned()), ..CreateOptions::in_folder("/work") };
/// assert_eq!(options.cwd, "/work");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CreateOptions {
    /// The session's id: letters, digits, `-`, `_` and `.`, starting and ending with a letter or
    /// digit. A time-ordered one (UUID version 7) is made if none is given.
    pub id: Option<String>,
    /// The working directory that the session belongs to, made absolute. An empty one is that of
    /// the process, and in a fork that of the source.
    pub cwd: String,
    /// The parent session: an id (pi v4), the path of a file (pi v3).
    pub parent: Option<String>,
    /// A JSON object of the caller's own (pi v4).
    pub metadata: Option<String>,
    /// The format; the backend's own if none is given. Only files know others than pi v4.
    pub format: Option<Format>,
}

impl CreateOptions {
    /// Options for a session that belongs to a working directory.
    #[must_use]
    pub fn in_folder(cwd: impl Into<String>) -> Self {
        Self {
            cwd: cwd.into(),
            ..Self::default()
        }
    }
}

/// What of a session a fork takes along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForkScope {
    /// One path, put on the lane `main`.
    Branch {
        /// The entry to fork at, which must be a message; where `main` stands if none is given.
        entry: Option<String>,
        /// Whether the path ends at the entry or before it. If none is given: at it where no
        /// entry was named, else before it.
        position: Option<Position>,
    },
    /// All entries and all lanes.
    Tree,
}

impl Default for ForkScope {
    fn default() -> Self {
        Self::Branch {
            entry: None,
            position: None,
        }
    }
}

impl ForkScope {
    /// The path that ends with an entry.
    #[must_use]
    pub fn at(entry: impl Into<String>) -> Self {
        Self::Branch {
            entry: Some(entry.into()),
            position: Some(Position::At),
        }
    }

    /// The path that ends with the parent of an entry: to say something else in its place.
    #[must_use]
    pub fn before(entry: impl Into<String>) -> Self {
        Self::Branch {
            entry: Some(entry.into()),
            position: Some(Position::Before),
        }
    }
}

/// Where a fork ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Position {
    /// With the parent of the entry.
    Before,
    /// With the entry.
    At,
}

/// An entry to append: its kind and its own fields. Parent, sequence number and time are given
/// by the store; so is the id, unless the caller has one.
///
/// The modules `codebot` and `pi` make those of their formats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEntry {
    pub(crate) id: Option<String>,
    pub(crate) kind: String,
    pub(crate) fields: String,
}

impl NewEntry {
    /// An entry of a kind with its own fields, a JSON object: codebot's `data`, for pi the fields
    /// beside `type`, `id`, `parentId`, `seq`, `timestamp` and `lane`.
    ///
    /// ```
    /// let note = leaflog::NewEntry::new("custom", r#"{"customType":"note","data":1}"#).with_id("n1");
    /// assert_eq!((note.id(), note.kind()), (Some("n1"), "custom"));
    /// ```
    #[must_use]
    pub fn new(kind: impl Into<String>, fields: impl Into<String>) -> Self {
        Self {
            id: None,
            kind: kind.into(),
            fields: fields.into(),
        }
    }

    /// The same with an id of the caller's: any text in pi v4, 8 lower-case hexadecimal digits in
    /// codebot and pi v3.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// The id, if the caller has one.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The kind or type.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The entry's own fields, a JSON object.
    #[must_use]
    pub fn fields(&self) -> &str {
        &self.fields
    }
}

/// An execution record to append (pi v4): its type, lane and own fields. Sequence number and time
/// are given by the store; so is the id, unless the caller has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRecord {
    pub(crate) id: Option<String>,
    pub(crate) kind: String,
    pub(crate) lane: String,
    pub(crate) fields: String,
}

impl NewRecord {
    /// A record of a type on a lane with its own fields, a JSON object.
    ///
    /// ```
    /// use leaflog::NewRecord;
    ///
    /// let done = NewRecord::new("operation_finished", "main", r#"{"runId":"r1","outcome":"completed"}"#);
    /// assert_eq!((done.kind(), done.lane()), ("operation_finished", "main"));
    /// ```
    #[must_use]
    pub fn new(
        kind: impl Into<String>,
        lane: impl Into<String>,
        fields: impl Into<String>,
    ) -> Self {
        Self {
            id: None,
            kind: kind.into(),
            lane: lane.into(),
            fields: fields.into(),
        }
    }

    /// The same with an id of the caller's.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// The id, if the caller has one.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The type.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The lane.
    #[must_use]
    pub fn lane(&self) -> &str {
        &self.lane
    }

    /// The record's own fields, a JSON object.
    #[must_use]
    pub fn fields(&self) -> &str {
        &self.fields
    }
}
