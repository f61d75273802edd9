//! A plain store of sessions in SQLite, as one would write it: a row an entry, the path by a
//! recursive query from the leaf, statements prepared once.

use std::path::Path;

use leaflog::Messages;
use rusqlite::{Connection, params};
use serde::Deserialize;
use serde_json::value::RawValue;

/// What of an entry becomes a message.
#[derive(Deserialize)]
struct Body<'b> {
    #[serde(borrow)]
    message: Option<&'b RawValue>,
    #[serde(borrow)]
    summary: Option<&'b RawValue>,
    #[serde(borrow, rename = "tokensBefore")]
    tokens: Option<&'b RawValue>,
    #[serde(borrow)]
    timestamp: &'b RawValue,
    #[serde(borrow, rename = "retainedTail")]
    tail: Option<Vec<&'b RawValue>>,
}

pub struct Store {
    pub connection: Connection,
}

/// When a commit is safe.
#[derive(Clone, Copy)]
pub enum Synchronous {
    Off,
    Full,
}

impl Store {
    pub fn open(path: &Path, synchronous: Synchronous) -> Self {
        let connection = Connection::open(path).expect("a database");
        connection
            .pragma_update(None, "journal_mode", "wal")
            .expect("wal");
        let level = match synchronous {
            Synchronous::Off => "off",
            Synchronous::Full => "full",
        };
        connection
            .pragma_update(None, "synchronous", level)
            .expect("synchronous");
        connection
            .execute_batch(
                "create table if not exists entries(
                    seq integer primary key, id text not null unique, parent text, type text not null, body text not null);
                 create table if not exists lanes(name text primary key, leaf text);",
            )
            .expect("tables");
        Self { connection }
    }

    /// Takes in the entries of a pi v4 log, and where `main` stands.
    pub fn fill(&mut self, log: &Path) {
        let session = leaflog::Session::open(log).expect("a session");
        let leaf = session.overview().expect("an overview").leaf;
        let transaction = self.connection.transaction().expect("a transaction");
        {
            let mut insert = transaction
                .prepare("insert into entries values(?,?,?,?,?)")
                .expect("a statement");
            for mutation in session.mutations().expect("lines") {
                let mutation = mutation.expect("a line");
                let Some(id) = mutation.id.as_deref() else {
                    continue;
                };
                if mutation.kind.starts_with("record/") {
                    continue;
                }
                let text = mutation.text();
                let parent = text.rfind("\"parentId\":\"").map(|at| {
                    let rest = &text[at + 12..];
                    &rest[..rest.find('"').expect("a closing quote")]
                });
                insert
                    .execute(params![
                        mutation.seq.cast_signed(),
                        id,
                        parent,
                        mutation.kind,
                        text
                    ])
                    .expect("inserted");
            }
            transaction
                .execute("insert into lanes values('main',?)", params![leaf])
                .expect("inserted");
        }
        transaction.commit().expect("committed");
    }

    /// The messages of `main` from the newest compaction on.
    pub fn resume(&self) -> Messages {
        let mut query = self
            .connection
            .prepare_cached(
                "with recursive path(seq, parent, type, body) as (
                    select seq, parent, type, body from entries
                      where id = (select leaf from lanes where name = 'main')
                    union all
                    select e.seq, e.parent, e.type, e.body from path p join entries e on e.id = p.parent
                      where p.type <> 'compaction')
                 select type, body from path",
            )
            .expect("a statement");
        let mut rows = query.query([]).expect("rows");
        let mut path: Vec<(bool, String)> = Vec::new();
        while let Some(row) = rows.next().expect("a row") {
            let kind = row.get_ref(0).expect("a type").as_str().expect("text");
            let body = row.get(1).expect("a body");
            match kind {
                "message" => path.push((false, body)),
                "compaction" => path.push((true, body)),
                _ => {}
            }
        }
        let mut messages = Messages::default();
        for (is_compaction, body) in path.iter().rev() {
            let body: Body<'_> = serde_json::from_str(body).expect("an entry");
            if !is_compaction {
                messages.push(body.message.expect("a message").get());
                continue;
            }
            messages.push(&format!(
                "{{\"role\":\"compactionSummary\",\"summary\":{},\"tokensBefore\":{},\"timestamp\":{}}}",
                body.summary.expect("a summary").get(),
                body.tokens.expect("tokens").get(),
                body.timestamp.get()
            ));
            for message in body.tail.into_iter().flatten() {
                messages.push(message.get());
            }
        }
        messages
    }

    pub fn entry(&self, id: &str) -> Option<String> {
        let mut query = self
            .connection
            .prepare_cached("select body from entries where id = ?")
            .expect("a statement");
        query.query_row([id], |row| row.get(0)).ok()
    }

    /// How many entries there are.
    pub fn count(&self) -> u64 {
        let query = "select count(*) from entries";
        let count = self.connection.query_row(query, [], |row| row.get(0));
        count.map(i64::cast_unsigned).expect("a number")
    }

    /// Appends an entry on `main`, in a transaction of its own.
    pub fn append(&mut self, seq: u64, id: &str, parent: &str, body: &str) {
        let transaction = self.connection.transaction().expect("a transaction");
        {
            let mut insert = transaction
                .prepare_cached("insert into entries values(?,?,?,'message',?)")
                .expect("a statement");
            insert
                .execute(params![seq.cast_signed(), id, parent, body])
                .expect("inserted");
            let mut lane = transaction
                .prepare_cached("insert or replace into lanes values('main',?)")
                .expect("a statement");
            lane.execute([id]).expect("moved");
        }
        transaction.commit().expect("committed");
    }
}
