//! Rows in tables: every statement there is, over a connection that runs them. One that speaks
//! another dialect of SQL can be put below.
//!
//! What such a backend, for example one for PostgreSQL, has to write:
//!
//! * a [`Connection`]: running a statement with the values `?1`, `?2`, … (there `$1`, `$2`, …),
//!   transactions for writing, a read that goes on seeing the same state (there a transaction of
//!   isolation level `repeatable read`);
//! * the tables of `tables.rs` in its own types (there `bigint generated always as identity`,
//!   `bytea`, `double precision`, without `strict` and `without rowid`), and where their version
//!   stands;
//! * a [`Place`](super::Place), as `sqlite` has one: connecting, and a lock for the one writer of a
//!   session that a lost connection gives back (there `pg_try_advisory_lock` with the number of the
//!   session, and a number of the locks' own).
//!
//! All else in the statements is SQL that both know. `CROSS JOIN` fixes the order of joins where
//! SQLite would take its reading order from it.

use ahash::AHashMap;
use parking_lot::Mutex;

use super::guard::Guard;
use super::row::{Class, Effect, Row, Standing};
use super::statement::Statement;
use super::{Filter, NewSession, Now, Rows, Totals, Walk};
use crate::contract::{Lane, Metadata, Order};
use crate::error::Result;
use crate::model::{Format, Stats};
use crate::store::entry::Entry;
use crate::store::rules::{Head, OpenLane};

/// A value that a statement is given.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'v> {
    Null,
    Int(i64),
    Real(f64),
    Text(&'v str),
    Bytes(&'v [u8]),
}

impl<'v> Value<'v> {
    pub(super) fn text(text: Option<&'v str>) -> Self {
        text.map_or(Self::Null, Self::Text)
    }

    pub(super) fn number(number: Option<u64>) -> Self {
        number.map_or(Self::Null, |number| Self::Int(signed(number)))
    }

    pub(super) fn int(number: Option<i64>) -> Self {
        number.map_or(Self::Null, Self::Int)
    }
}

/// One row of an answer, its columns counted from 0. Null and a wrong type are none.
pub(super) trait Columns {
    fn int(&self, at: usize) -> Option<i64>;
    fn real(&self, at: usize) -> Option<f64>;
    fn text(&self, at: usize) -> Option<String>;
    fn bytes(&self, at: usize) -> Option<Vec<u8>>;

    fn number(&self, at: usize) -> Option<u64> {
        self.int(at).map(unsigned)
    }
}

/// A connection to a database.
pub(super) trait Connection: Send {
    /// Runs a statement that answers nothing.
    fn run(&mut self, sql: &str, values: &[Value<'_>]) -> Result<()>;

    /// Runs a statement and hands out the rows of its answer.
    fn ask(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
        each: &mut dyn FnMut(&dyn Columns),
    ) -> Result<()>;

    /// Runs statements that count together or, after an error, not at all.
    fn together(&mut self, work: &mut dyn FnMut(&mut Self) -> Result<()>) -> Result<()>;

    /// From now on answers are as of now.
    fn freeze(&mut self) -> Result<()>;

    /// Puts on the disk what was committed.
    fn sync(&mut self) -> Result<()>;
}

/// A session in tables.
pub(super) struct SqlRows<C> {
    pub(super) connection: Mutex<C>,
    pub(super) session: i64,
    pub(super) metadata: Metadata,
    pub(super) _writing: Option<Guard>,
}

/// The columns that an entry or record is made of, in the order of [`kept`].
pub(super) const KEPT: &str = "n.class, n.seq, n.type, n.id, n.parent, n.lane, n.time, o.bytes";

fn kept(columns: &dyn Columns) -> (Class, Entry) {
    let class = columns.int(0).and_then(Class::from_number);
    let entry = Entry {
        seq: columns.number(1),
        kind: columns.text(2).unwrap_or_default(),
        id: columns.text(3).unwrap_or_default(),
        parent: columns.text(4),
        lane: columns.text(5),
        time: columns.int(6),
        offset: None,
        bytes: columns.bytes(7).unwrap_or_default(),
    };
    (class.unwrap_or(Class::Fact), entry)
}

impl<C: Connection> Rows for SqlRows<C> {
    fn metadata(&self) -> Result<Metadata> {
        Ok(self.metadata.clone())
    }

    fn now(&self) -> Result<Now> {
        let mut connection = self.connection.lock();
        let session = Value::Int(self.session);
        let mut now = None;
        connection.ask(
            "SELECT seq, name, messages, cached, uncached, tokens, cost, bytes, updated, first_message
             FROM session WHERE num = ?1",
            &[session],
            &mut |columns| now = Some((columns.number(0), totals(columns, 1))),
        )?;
        let Some((seq, totals)) = now else {
            return Err(super::repository::unknown_session(&self.metadata.id));
        };
        let mut head = Head {
            seq: seq.unwrap_or(0),
            lanes: Vec::new(),
            only_main: false,
        };
        connection.ask(
            "SELECT name, leaf FROM lane WHERE session = ?1 ORDER BY made",
            &[session],
            &mut |columns| {
                let name = columns.text(0).unwrap_or_default();
                head.lanes.push(OpenLane {
                    lane: Lane {
                        name,
                        leaf: columns.text(1),
                    },
                    open: Vec::new(),
                });
            },
        )?;
        connection.ask(
            "SELECT lane, id FROM operation WHERE session = ?1 ORDER BY seq",
            &[session],
            &mut |columns| {
                let lane = columns.text(0);
                let open = head
                    .lanes
                    .iter_mut()
                    .find(|open| Some(&open.lane.name) == lane.as_ref());
                if let (Some(open), Some(id)) = (open, columns.text(1)) {
                    open.open.push(id);
                }
            },
        )?;
        Ok(Now { head, totals })
    }

    fn label(&self, target: &str) -> Result<Option<String>> {
        let mut label = None;
        self.connection.lock().ask(
            "SELECT label FROM label WHERE session = ?1 AND target = ?2",
            &[Value::Int(self.session), Value::Text(target)],
            &mut |columns| label = columns.text(0),
        )?;
        Ok(label)
    }

    fn labels(&self) -> Result<AHashMap<String, String>> {
        let mut labels = AHashMap::new();
        self.connection.lock().ask(
            "SELECT target, label FROM label WHERE session = ?1",
            &[Value::Int(self.session)],
            &mut |columns| {
                if let (Some(target), Some(label)) = (columns.text(0), columns.text(1)) {
                    labels.insert(target, label);
                }
            },
        )?;
        Ok(labels)
    }

    fn is_used(&self, id: &str) -> Result<bool> {
        let mut used = false;
        self.connection.lock().ask(
            "SELECT 1 FROM node WHERE session = ?1 AND id = ?2",
            &[Value::Int(self.session), Value::Text(id)],
            &mut |_| used = true,
        )?;
        Ok(used)
    }

    fn find(&self, class: Class, id: &str) -> Result<Option<Entry>> {
        let mut found = None;
        let sql = format!(
            "SELECT {KEPT} FROM node n CROSS JOIN object o
             WHERE n.session = ?1 AND n.id = ?2 AND n.class = ?3 AND o.num = n.object"
        );
        self.connection.lock().ask(
            &sql,
            &[
                Value::Int(self.session),
                Value::Text(id),
                Value::Int(class.number()),
            ],
            &mut |columns| found = Some(kept(columns).1),
        )?;
        Ok(found)
    }

    fn standing(&self, id: &str) -> Result<Option<Standing>> {
        let mut standing = None;
        self.connection.lock().ask(
            "SELECT seq, up, depth, model, effort, tools, compaction FROM node
             WHERE session = ?1 AND id = ?2 AND class = 0",
            &[Value::Int(self.session), Value::Text(id)],
            &mut |columns| {
                standing = Some(Standing {
                    seq: columns.number(0).unwrap_or(0),
                    up: columns.number(1),
                    depth: columns.number(2).unwrap_or(0),
                    model: columns.number(3),
                    effort: columns.number(4),
                    tools: columns.number(5),
                    compaction: columns.number(6),
                });
            },
        )?;
        Ok(standing)
    }

    fn scan(&self, filter: &Filter<'_>) -> Result<Vec<(Class, Entry)>> {
        let statement = Statement::scan(self.session, filter);
        let mut found = Vec::new();
        self.connection
            .lock()
            .ask(&statement.sql, &statement.values, &mut |columns| {
                found.push(kept(columns));
            })?;
        Ok(found)
    }

    fn walk(&self, from: Standing, walk: &Walk<'_>) -> Result<Vec<Entry>> {
        let statement = match walk.filter.order {
            Order::NewestFirst => Statement::walk_up(self.session, from.seq, walk),
            Order::OldestFirst => Statement::walk_down(self.session, from.seq, walk),
        };
        let mut found = Vec::new();
        self.connection
            .lock()
            .ask(&statement.sql, &statement.values, &mut |columns| {
                found.push(kept(columns).1);
            })?;
        Ok(found)
    }

    fn insert(&self, row: &Row, totals: &Totals) -> Result<()> {
        self.connection.lock().together(&mut |connection| {
            insert(connection, self.session, row)?;
            stand(connection, self.session, row.seq, totals)
        })
    }

    fn freeze(&self) -> Result<()> {
        self.connection.lock().freeze()
    }

    fn sync(&self) -> Result<()> {
        self.connection.lock().sync()
    }
}

fn totals(columns: &dyn Columns, from: usize) -> Totals {
    Totals {
        name: columns.text(from),
        stats: Stats {
            message_count: columns.number(from + 1).unwrap_or(0),
            cached_tokens: columns.int(from + 2).unwrap_or(0),
            uncached_tokens: columns.int(from + 3).unwrap_or(0),
            total_tokens: columns.int(from + 4).unwrap_or(0),
            cost_total: columns.real(from + 5).unwrap_or(0.0),
        },
        bytes: columns.number(from + 6).unwrap_or(0),
        updated: columns.int(from + 7),
        first_message: columns.text(from + 8),
    }
}

/// Adds a row and what it changes, totals aside.
fn insert(connection: &mut impl Connection, session: i64, row: &Row) -> Result<()> {
    let mut object = 0;
    connection.ask(
        "INSERT INTO object (bytes) VALUES (?1) RETURNING num",
        &[Value::Bytes(&row.object)],
        &mut |columns| object = columns.int(0).unwrap_or(0),
    )?;
    let of = |part: fn(Standing) -> Option<u64>| Value::number(row.standing.and_then(part));
    let own = Value::Int(session);
    let seq = Value::Int(signed(row.seq));
    connection.run(
        "INSERT INTO node (session, seq, class, type, id, parent, lane, run, operation, custom, time,
             up, depth, model, effort, tools, compaction, object)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
        &[
            own,
            seq,
            Value::Int(row.class.number()),
            Value::Text(&row.kind),
            Value::text(row.id.as_deref()),
            Value::text(row.parent.as_deref()),
            Value::text(row.lane.as_deref()),
            Value::text(row.run.as_deref()),
            Value::text(row.operation.as_deref()),
            Value::text(row.custom.as_deref()),
            Value::int(row.time),
            of(|standing| standing.up),
            of(|standing| Some(standing.depth)),
            of(|standing| standing.model),
            of(|standing| standing.effort),
            of(|standing| standing.tools),
            of(|standing| standing.compaction),
            Value::Int(object),
        ],
    )?;
    let lane = Value::text(row.lane.as_deref());
    let id = Value::text(row.id.as_deref());
    let parent = Value::text(row.parent.as_deref());
    match (row.class, &row.effect) {
        (Class::Entry, _) if row.lane.is_some() => connection.run(
            "UPDATE lane SET leaf = ?3 WHERE session = ?1 AND name = ?2",
            &[own, lane, id],
        ),
        (Class::Lane, _) => connection.run(
            "INSERT INTO lane (session, name, leaf, made) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (session, name) DO UPDATE SET leaf = excluded.leaf",
            &[own, lane, parent, seq],
        ),
        (_, Effect::Started) => connection.run(
            "INSERT INTO operation (session, seq, lane, id) VALUES (?1, ?2, ?3, ?4)",
            &[own, seq, lane, id],
        ),
        (_, Effect::Finished(run)) => connection.run(
            "DELETE FROM operation WHERE session = ?1 AND lane = ?2 AND id = ?3",
            &[own, lane, Value::Text(run)],
        ),
        (_, Effect::Label(Some(label))) => connection.run(
            "INSERT INTO label (session, target, label) VALUES (?1, ?2, ?3)
             ON CONFLICT (session, target) DO UPDATE SET label = excluded.label",
            &[own, parent, Value::Text(label)],
        ),
        (_, Effect::Label(None)) => connection.run(
            "DELETE FROM label WHERE session = ?1 AND target = ?2",
            &[own, parent],
        ),
        _ => Ok(()),
    }
}

/// Says where a session stands.
fn stand(connection: &mut impl Connection, session: i64, seq: u64, totals: &Totals) -> Result<()> {
    let stats = &totals.stats;
    connection.run(
        "UPDATE session SET seq = ?2, name = ?3, messages = ?4, cached = ?5, uncached = ?6, tokens = ?7,
             cost = ?8, bytes = ?9, updated = ?10, first_message = ?11
         WHERE num = ?1",
        &[
            Value::Int(session),
            Value::Int(signed(seq)),
            Value::text(totals.name.as_deref()),
            Value::Int(signed(stats.message_count)),
            Value::Int(stats.cached_tokens),
            Value::Int(stats.uncached_tokens),
            Value::Int(stats.total_tokens),
            Value::Real(stats.cost_total),
            Value::Int(signed(totals.bytes)),
            Value::int(totals.updated),
            Value::text(totals.first_message.as_deref()),
        ],
    )
}

/// Adds a session, and gives it a number; none if the id is in use.
pub(super) fn add_session(
    connection: &mut impl Connection,
    new: &NewSession,
) -> Result<Option<i64>> {
    let metadata = &new.metadata;
    let mut number = None;
    connection.ask(
        "INSERT INTO session (id, created, cwd, parent, metadata, seq, messages, cached, uncached, tokens,
             cost, bytes)
         VALUES (?1, ?2, ?3, ?4, ?5, 0, 0, 0, 0, 0, 0.0, 0)
         ON CONFLICT (id) DO NOTHING RETURNING num",
        &[
            Value::Text(&metadata.id),
            Value::int(metadata.created),
            Value::text(metadata.cwd.as_deref()),
            Value::text(metadata.parent.as_deref()),
            Value::text(metadata.metadata.as_deref()),
        ],
        &mut |columns| number = columns.int(0),
    )?;
    let Some(session) = number else {
        return Ok(None);
    };
    for lane in Head::default().lanes() {
        connection.run(
            "INSERT INTO lane (session, name, leaf, made) VALUES (?1, ?2, NULL, 0)",
            &[Value::Int(session), Value::Text(&lane.name)],
        )?;
    }
    for row in &new.rows {
        insert(connection, session, row)?;
    }
    stand(connection, session, new.now.head.seq, &new.now.totals)?;
    Ok(Some(session))
}

/// All sessions, or the one with an id.
pub(super) fn sessions(
    connection: &mut impl Connection,
    id: Option<&str>,
) -> Result<Vec<(i64, Metadata, Totals)>> {
    let one = if id.is_some() { "WHERE id = ?1" } else { "" };
    let sql = format!(
        "SELECT num, id, created, cwd, parent, metadata,
             name, messages, cached, uncached, tokens, cost, bytes, updated, first_message
         FROM session {one}"
    );
    let values: Vec<Value<'_>> = id.into_iter().map(Value::Text).collect();
    let mut found = Vec::new();
    connection.ask(&sql, &values, &mut |columns| {
        let metadata = Metadata {
            id: columns.text(1).unwrap_or_default(),
            created: columns.int(2),
            cwd: columns.text(3),
            parent: columns.text(4),
            format: Format::PiV4,
            path: None,
            metadata: columns.text(5),
        };
        found.push((columns.int(0).unwrap_or(0), metadata, totals(columns, 6)));
    })?;
    Ok(found)
}

/// Removes a session with all its rows.
pub(super) fn remove_session(connection: &mut impl Connection, session: i64) -> Result<()> {
    for sql in [
        "DELETE FROM object WHERE num IN (SELECT object FROM node WHERE session = ?1)",
        "DELETE FROM node WHERE session = ?1",
        "DELETE FROM lane WHERE session = ?1",
        "DELETE FROM operation WHERE session = ?1",
        "DELETE FROM label WHERE session = ?1",
        "DELETE FROM session WHERE num = ?1",
    ] {
        connection.run(sql, &[Value::Int(session)])?;
    }
    Ok(())
}

/// A number of the sequence as databases keep it.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number that a database kept.
fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
