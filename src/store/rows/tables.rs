//! The tables that sessions as rows are kept in, and their version. Change one and raise the other:
//! what an earlier version made must be read, or changed when it is opened.

/// The version of the tables.
pub(super) const VERSION: i64 = 1;

/// The tables.
///
/// `node` has a narrow row a mutation, so that walks and filters read little; what it was written
/// as stands in `object`, and is read for answers only. The parent of an entry is known by its
/// number too (`up`), so that a step of a walk is one look-up in the primary key, and so is what
/// sets the state at an entry, so that a resume need not walk the whole path.
pub(super) const TABLES: &str = "
CREATE TABLE session (
    num INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    created INTEGER,
    cwd TEXT,
    parent TEXT,
    metadata TEXT,
    seq INTEGER NOT NULL,
    name TEXT,
    messages INTEGER NOT NULL,
    cached INTEGER NOT NULL,
    uncached INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    cost REAL NOT NULL,
    bytes INTEGER NOT NULL,
    updated INTEGER,
    first_message TEXT
) STRICT;
CREATE TABLE object (
    num INTEGER PRIMARY KEY,
    bytes BLOB NOT NULL
) STRICT;
CREATE TABLE node (
    session INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    class INTEGER NOT NULL,
    type TEXT NOT NULL,
    id TEXT,
    parent TEXT,
    lane TEXT,
    run TEXT,
    operation TEXT,
    custom TEXT,
    time INTEGER,
    up INTEGER,
    depth INTEGER,
    model INTEGER,
    effort INTEGER,
    tools INTEGER,
    compaction INTEGER,
    object INTEGER NOT NULL,
    PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX node_id ON node (session, id) WHERE id IS NOT NULL;
CREATE INDEX node_type ON node (session, class, type, seq);
CREATE TABLE lane (
    session INTEGER NOT NULL,
    name TEXT NOT NULL,
    leaf TEXT,
    made INTEGER NOT NULL,
    PRIMARY KEY (session, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE operation (
    session INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    lane TEXT NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE label (
    session INTEGER NOT NULL,
    target TEXT NOT NULL,
    label TEXT NOT NULL,
    PRIMARY KEY (session, target)
) STRICT, WITHOUT ROWID;
";
