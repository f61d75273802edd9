//! What a fork takes along of a session, as the rows of the new one: entries first, then lanes,
//! the name and the labels, under numbers of their own. The source is read and never changed.

use ahash::AHashMap;

use super::row::{Class, Row, Standing};
use super::session::lost;
use super::{Filter, Now, Rows, Walk};
use crate::contract::{ForkScope, Lane, Order, Position};
use crate::error::{Code, Error, Result};
use crate::format::{Line, label_line, lane_line, name_line, renumbered};
use crate::store::entry::Entry;

/// The rows of a fork, and where it stands after them.
pub(super) fn rows_of<R: Rows>(source: &R, scope: &ForkScope) -> Result<(Vec<Row>, Now)> {
    source.freeze()?;
    let from = source.now()?;
    let (entries, lanes) = match scope {
        ForkScope::Tree => (all(source)?, from.head.lanes()),
        ForkScope::Branch { entry, position } => {
            let main = from.head.lane("main")?.lane.leaf.clone();
            let target = target(source, entry.as_deref(), *position, main)?;
            let entries = match &target {
                Some(target) => path(source, target)?,
                None => Vec::new(),
            };
            let main = Lane {
                name: "main".to_owned(),
                leaf: target,
            };
            (entries, vec![main])
        }
    };
    let mut copy = Copy::default();
    for entry in &entries {
        copy.entry(entry)?;
    }
    for lane in &lanes {
        copy.written(|line, seq| lane_line(line, seq, &lane.name, lane.leaf.as_deref()))?;
    }
    if let Some(name) = &from.totals.name {
        copy.written(|line, seq| name_line(line, seq, Some(name)))?;
    }
    let labels = source.labels()?;
    for entry in &entries {
        if let Some(label) = labels.get(&entry.id) {
            copy.written(|line, seq| label_line(line, seq, &entry.id, Some(label)))?;
        }
    }
    Ok((copy.rows, copy.now))
}

/// The entry that a branch fork ends with.
fn target<R: Rows>(
    source: &R,
    asked: Option<&str>,
    position: Option<Position>,
    main: Option<String>,
) -> Result<Option<String>> {
    let Some(id) = asked.or(main.as_deref()) else {
        return Ok(None);
    };
    let entry = source.find(Class::Entry, id)?;
    let message = entry.filter(|entry| entry.kind == "message");
    let entry = message.ok_or_else(|| {
        Error::new(
            Code::InvalidForkTarget,
            format!(
                "a fork starts at a message, and `{id}` is no entry of that type; name one that is"
            ),
        )
    })?;
    let default = match asked {
        None => Position::At,
        Some(_) => Position::Before,
    };
    Ok(match position.unwrap_or(default) {
        Position::At => Some(entry.id),
        Position::Before => entry.parent,
    })
}

fn all<R: Rows>(source: &R) -> Result<Vec<Entry>> {
    let found = source.scan(&Filter {
        class: Some(Class::Entry),
        order: Order::OldestFirst,
        ..Filter::default()
    })?;
    Ok(found.into_iter().map(|(_, entry)| entry).collect())
}

fn path<R: Rows>(source: &R, leaf: &str) -> Result<Vec<Entry>> {
    let standing = source.standing(leaf)?.ok_or_else(|| lost(leaf))?;
    source.walk(
        standing,
        &Walk {
            filter: Filter {
                class: Some(Class::Entry),
                order: Order::OldestFirst,
                ..Filter::default()
            },
            ..Walk::default()
        },
    )
}

/// The rows that are made so far.
#[derive(Default)]
struct Copy {
    rows: Vec<Row>,
    now: Now,
    standings: AHashMap<String, Standing>,
    line: Line,
}

impl Copy {
    /// An entry with its own id, parent and bytes, on no lane.
    fn entry(&mut self, entry: &Entry) -> Result<()> {
        let object = renumbered(&entry.bytes, self.now.head.next()?);
        let row = object.and_then(|object| Row::of(&object));
        let mut row = row.ok_or_else(|| lost(&entry.id))?;
        let parent = match &row.parent {
            None => None,
            Some(parent) => Some(*self.standings.get(parent).ok_or_else(|| lost(parent))?),
        };
        let standing = row.stand_on(parent);
        self.standings.insert(entry.id.clone(), standing);
        self.add(row);
        Ok(())
    }

    fn written(&mut self, write: impl FnOnce(&mut Line, u64)) -> Result<()> {
        write(&mut self.line, self.now.head.next()?);
        let row = Row::of(self.line.object()).ok_or_else(|| lost("a fact"))?;
        self.add(row);
        Ok(())
    }

    fn add(&mut self, row: Row) {
        self.now.take(&row);
        self.rows.push(row);
    }
}
