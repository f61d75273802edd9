//! Statements that depend on what is asked: filters, and walks along a path. A statement's text
//! depends only on which conditions there are, so that few of them are ever prepared.

use super::sql::{KEPT, Value, signed};
use super::{Filter, Walk};
use crate::contract::Order;

/// A statement with its values.
pub(super) struct Statement<'v> {
    pub(super) sql: String,
    pub(super) values: Vec<Value<'v>>,
}

impl<'v> Statement<'v> {
    fn of(session: i64) -> Self {
        Self {
            sql: String::new(),
            values: vec![Value::Int(session)],
        }
    }

    /// The rows of a session that match a filter. Where a type is asked for, its index finds them:
    /// joined by itself, since SQLite would else rather read the session from its end, however far
    /// back the last row of the type is.
    pub(super) fn scan(session: i64, filter: &Filter<'v>) -> Self {
        let mut statement = Self::of(session);
        let by_type = filter.class.is_some() && filter.kind.is_some();
        let condition = statement.condition(filter, if by_type { "k" } else { "n" });
        let index = if by_type { "node k CROSS JOIN " } else { "" };
        let found = if by_type {
            " AND k.session = ?1 AND n.seq = k.seq"
        } else {
            ""
        };
        statement.sql = format!(
            "SELECT {KEPT} FROM {index}node n CROSS JOIN object o
             WHERE n.session = ?1{found} AND o.num = n.object AND {condition}"
        );
        statement.end(filter, if by_type { "k" } else { "n" });
        statement
    }

    /// The matching entries of a path from its end toward the root, up to a bound. The walk counts
    /// what it has found, so that it goes no further than it must. A parent has a smaller number; a row that
    /// says otherwise is damaged, and ends the walk, which would never end else.
    pub(super) fn walk_up(session: i64, from: u64, walk: &Walk<'v>) -> Self {
        let mut statement = Self::of(session);
        let from = statement.value(Value::Int(signed(from)));
        let matches = statement.condition(&walk.filter, "n");
        let stops = statement.stops(walk);
        let floor = statement.floor(walk);
        let limit = limit_of(&walk.filter).unwrap_or(i64::MAX);
        let limit = statement.value(Value::Int(limit));
        statement.sql = format!(
            "WITH RECURSIVE walk (seq, up, hits, stop) AS (
                 SELECT n.seq, n.up, CASE WHEN {matches} THEN 1 ELSE 0 END, CASE WHEN {stops} THEN 1 ELSE 0 END
                 FROM node n WHERE n.session = ?1 AND n.seq = {from}
                 UNION ALL
                 SELECT n.seq, n.up, walk.hits + CASE WHEN {matches} THEN 1 ELSE 0 END,
                     CASE WHEN {stops} THEN 1 ELSE 0 END
                 FROM walk CROSS JOIN node n
                 WHERE n.session = ?1 AND n.seq = walk.up AND n.seq < walk.seq AND walk.stop = 0 AND walk.hits < {limit}{floor}
             )
             SELECT {KEPT} FROM walk CROSS JOIN node n CROSS JOIN object o
             WHERE n.session = ?1 AND n.seq = walk.seq AND o.num = n.object AND {matches}"
        );
        statement.end(&walk.filter, "n");
        statement
    }

    /// The matching entries of a path from its root on, up to the first one that is a bound.
    pub(super) fn walk_down(session: i64, from: u64, walk: &Walk<'v>) -> Self {
        let mut statement = Self::of(session);
        let from = statement.value(Value::Int(signed(from)));
        let matches = statement.condition(&walk.filter, "n");
        let stops = statement.stops(walk);
        let floor = statement.floor(walk);
        let mut before_stop = String::new();
        if walk.stop_at_kind.is_some() || walk.stop_at_id.is_some() {
            let last = statement.value(Value::Int(i64::MAX));
            before_stop = format!(
                " AND n.seq <= (SELECT coalesce(min(walk.seq), {last}) FROM walk WHERE walk.stop = 1)"
            );
        }
        statement.sql = format!(
            "WITH RECURSIVE walk (seq, up, stop) AS (
                 SELECT n.seq, n.up, CASE WHEN {stops} THEN 1 ELSE 0 END
                 FROM node n WHERE n.session = ?1 AND n.seq = {from}
                 UNION ALL
                 SELECT n.seq, n.up, CASE WHEN {stops} THEN 1 ELSE 0 END
                 FROM walk CROSS JOIN node n
                 WHERE n.session = ?1 AND n.seq = walk.up AND n.seq < walk.seq{floor}
             )
             SELECT {KEPT} FROM walk CROSS JOIN node n CROSS JOIN object o
             WHERE n.session = ?1 AND n.seq = walk.seq AND o.num = n.object AND {matches}{before_stop}"
        );
        statement.end(&walk.filter, "n");
        statement
    }

    /// Takes in a value; the text that stands for it.
    fn value(&mut self, value: Value<'v>) -> String {
        self.values.push(value);
        format!("?{}", self.values.len())
    }

    /// What a filter asks of a row `n`; of its columns that the index of types has, of `indexed`.
    fn condition(&mut self, filter: &Filter<'v>, indexed: &str) -> String {
        let mut parts = Vec::new();
        if let Some(class) = filter.class {
            let value = self.value(Value::Int(class.number()));
            // Without a type that index gives rows in another order than the sequence's: it is not
            // to be used then.
            let plus = if filter.kind.is_some() { "" } else { "+" };
            parts.push(format!("{plus}{indexed}.class = {value}"));
        }
        for (row, column, text) in [
            (indexed, "type", filter.kind),
            ("n", "custom", filter.custom),
            ("n", "lane", filter.lane),
            ("n", "run", filter.run),
            ("n", "operation", filter.operation),
        ] {
            if let Some(text) = text {
                let value = self.value(Value::Text(text));
                parts.push(format!("{row}.{column} = {value}"));
            }
        }
        for (sign, number) in [(">", filter.above), ("<", filter.below)] {
            if let Some(number) = number {
                let value = self.value(Value::Int(signed(number)));
                parts.push(format!("{indexed}.seq {sign} {value}"));
            }
        }
        if parts.is_empty() {
            parts.push("1 = 1".to_owned());
        }
        parts.join(" AND ")
    }

    fn stops(&mut self, walk: &Walk<'v>) -> String {
        let mut parts = Vec::new();
        for (column, text) in [("type", walk.stop_at_kind), ("id", walk.stop_at_id)] {
            if let Some(text) = text {
                let value = self.value(Value::Text(text));
                parts.push(format!("n.{column} = {value}"));
            }
        }
        if parts.is_empty() {
            parts.push("1 = 0".to_owned());
        }
        parts.join(" OR ")
    }

    fn floor(&mut self, walk: &Walk<'v>) -> String {
        match walk.floor {
            Some(floor) => {
                let value = self.value(Value::Int(signed(floor)));
                format!(" AND n.seq >= {value}")
            }
            None => String::new(),
        }
    }

    /// The order, which on a path is that of the sequence too, and the limit.
    fn end(&mut self, filter: &Filter<'v>, row: &str) {
        let order = match filter.order {
            Order::NewestFirst => " DESC",
            Order::OldestFirst => "",
        };
        self.sql.push_str(&format!(" ORDER BY {row}.seq{order}"));
        if let Some(limit) = limit_of(filter) {
            let value = self.value(Value::Int(limit));
            self.sql.push_str(" LIMIT ");
            self.sql.push_str(&value);
        }
    }
}

fn limit_of(filter: &Filter<'_>) -> Option<i64> {
    filter
        .limit
        .map(|limit| i64::try_from(limit).unwrap_or(i64::MAX))
}
