//! One entry or record as it stands in the log.

use std::borrow::Cow;

use serde::de::DeserializeOwned;

use crate::contract::LogItem;
use crate::error::{Code, Error, Result};
use crate::format::{
    Fact, Mutation, entry_time, interpret, kind_key, name_of, parent_key, plain_ending,
};
use crate::index::{Answer, Class, Flags, Index, Slot, SlotColumns, Trouble, class_of};
use crate::json::{Document, Grammar, Json, lossy, pretty};
use crate::model::Format;
use crate::snapshot::Source;

/// Payloads nested deeper than this are not decoded.
const DEEPEST: usize = 1024;

/// An entry or an execution record.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// Its id; made up for pi v1.
    pub id: String,
    /// The parent entry that the line names, whether the file has it or not; for a record the
    /// operation that it belongs to.
    pub parent: Option<String>,
    /// The kind or type, as it is written.
    pub kind: String,
    /// When it was written, in milliseconds since 1970.
    pub time: Option<i64>,
    /// The lane that it was written on (pi v4).
    pub lane: Option<String>,
    /// Its number in the sequence; in formats without one its place among the entries of the file.
    pub seq: Option<u64>,
    /// The byte offset of the object in the log; none in a store without one.
    pub offset: Option<u64>,
    /// The object, byte for byte.
    pub bytes: Vec<u8>,
}

impl Entry {
    pub(super) fn read(source: Source<'_>, slot: Slot) -> Answer<Self> {
        let id = source.index.id(source.log, slot)?;
        let columns = source.index.columns(slot)?;
        Self::of(source, &columns, id, source.index.object(source.log, slot)?)
    }

    /// The entry or the record with an id.
    pub(super) fn named(source: Source<'_>, id: &str, class: Class) -> Answer<Option<Self>> {
        let found = source.index.object_of(source.log, id, class)?;
        found
            .map(|(columns, bytes)| Self::of(source, &columns, id.to_owned(), bytes))
            .transpose()
    }

    fn of(
        source: Source<'_>,
        columns: &SlotColumns<'_>,
        id: String,
        bytes: Cow<'_, [u8]>,
    ) -> Answer<Self> {
        let index = source.index;
        // Copied first: what follows finds it near, and the copy waits for the log alone.
        let bytes = bytes.into_owned();
        if let Some(kind) = name_of(index.format, columns.kind)
            && let (Some(time), Some(parent)) = (columns.time, columns.parent)
            && columns.lane.is_some() == index.format.has_lanes()
        {
            // It has a parent, which is in the file, a time, and a kind with one name: the columns say
            // all that the line says. Parent and number may stand in the line where they need no
            // search, which elsewhere they do.
            let (parent, seq) = match plain_ending(index.format, &bytes) {
                Some((parent, seq)) => (parent.to_owned(), seq),
                None => (index.id(source.log, parent)?, number(index, columns.slot)?),
            };
            return Ok(Self {
                id,
                parent: Some(parent),
                kind: kind.to_owned(),
                time: Some(time),
                lane: columns.lane.map(str::to_owned),
                seq: Some(seq),
                offset: Some(columns.start),
                bytes,
            });
        }
        let document = Grammar::parse(&bytes).map_err(|_| Trouble::Index)?;
        let object = document.root();
        let text = |key| object.field(key).and_then(Json::text).map(Cow::into_owned);
        let parent = match (class_of(columns.kind), index.format) {
            (Class::Record, _) => text("runId"),
            (Class::Entry, Format::PiV1) => columns
                .parent
                .map(|parent| index.id(source.log, parent))
                .transpose()?,
            _ => text(parent_key(index.format)).filter(|parent| !parent.is_empty()),
        };
        let own_lane = || text("lane").filter(|_| index.format.has_lanes());
        let kind = text(kind_key(index.format)).unwrap_or_default();
        let time = columns.time.or_else(|| entry_time(index.format, object));
        let lane = columns.lane.map(str::to_owned).or_else(own_lane);
        Ok(Self {
            id,
            parent,
            kind,
            time,
            lane,
            seq: Some(number(index, columns.slot)?),
            offset: Some(columns.start),
            bytes,
        })
    }

    /// The entry or the record that the object of a line holds; for stores of one's own.
    ///
    /// ```
    /// use leaflog::{Entry, Format};
    ///
    /// let line = br#"{"kind":"entry","lane":"main","type":"custom","id":"a","customType":"x","parentId":null,"seq":1,"timestamp":0}"#;
    /// let entry = Entry::from_line(Format::PiV4, line, 1).unwrap();
    /// assert_eq!((&*entry.id, &*entry.kind, entry.lane.as_deref()), ("a", "custom", Some("main")));
    /// ```
    #[must_use]
    pub fn from_line(format: Format, object: &[u8], seq: u64) -> Option<Self> {
        match LogItem::from_line(format, object, seq)? {
            LogItem::Entry(entry) | LogItem::Record(entry) => Some(entry),
            _ => None,
        }
    }

    /// The object as text, invalid UTF-8 as U+FFFD.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        lossy(&self.bytes)
    }

    /// The object over several lines, its tokens as they stand.
    #[must_use]
    pub fn pretty(&self) -> String {
        pretty(&self.bytes)
    }

    /// The object as a value of another type.
    ///
    /// # Errors
    ///
    /// `invalid_payload` if it is nested deeper than 1,024 levels, holds a lone surrogate escape or
    /// a number out of range, or does not fit the type.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T> {
        let bad = |what: String| {
            Error::new(
                Code::InvalidPayload,
                format!("entry `{}` does not decode: {what}", self.id),
            )
        };
        let depth = Grammar::parse(&self.bytes)
            .map(|document| document.depth())
            .unwrap_or(0);
        if depth > DEEPEST {
            return Err(bad(format!(
                "expected at most {DEEPEST} levels of nesting, found {depth}; its bytes are intact"
            )));
        }
        let text = self.text();
        let mut deserializer = serde_json::Deserializer::from_str(&text);
        // The limit was checked above; serde_json's own is lower.
        deserializer.disable_recursion_limit();
        T::deserialize(&mut deserializer).map_err(|error| bad(error.to_string()))
    }
}

impl LogItem {
    /// What the object of a line does to a session; for stores of one's own. Entries of pi v1
    /// come without an id, which is up to their place.
    #[must_use]
    pub fn from_line(format: Format, object: &[u8], seq: u64) -> Option<Self> {
        let document = Grammar::parse(object).ok()?;
        let own = |text: Cow<'_, str>| text.into_owned();
        Some(match interpret(format, document.root(), false).mutation? {
            Mutation::Entry(entry) => Self::Entry(Entry {
                id: entry.id.map(own).unwrap_or_default(),
                parent: entry.parent.map(own),
                kind: own(entry.kind_name),
                time: entry.time,
                lane: entry.lane.map(own),
                seq: Some(seq),
                offset: None,
                bytes: object.to_vec(),
            }),
            Mutation::Record(record) => Self::Record(Entry {
                id: own(record.id),
                parent: record.run.map(own),
                kind: own(record.kind_name),
                time: record.time,
                lane: record.lane.map(own),
                seq: Some(seq),
                offset: None,
                bytes: object.to_vec(),
            }),
            Mutation::Lane { lane, leaf } => Self::Lane {
                seq,
                lane: own(lane),
                leaf: leaf.map(own),
            },
            Mutation::Fact(Fact::Name(name)) => Self::Name { seq, name },
            Mutation::Fact(Fact::Label { target, label }) => Self::Label {
                seq,
                target: own(target),
                label: label.map(own),
            },
            Mutation::Fact(Fact::Other { name }) => Self::Other {
                seq,
                kind: format!("fact/{name}"),
            },
            Mutation::Other { kind } => Self::Other {
                seq,
                kind: own(kind),
            },
        })
    }
}

/// The number of an entry or a record in the sequence; its place among them in a format that has
/// none.
pub(super) fn number(index: &Index, slot: Slot) -> Answer<u64> {
    Ok(match index.seq(slot)? {
        Some(seq) => seq,
        None => u64::from(slot) + 1,
    })
}

/// Whether a slot counts: no later line has its id.
pub(super) fn counts(source: Source<'_>, slot: Slot) -> Answer<bool> {
    Ok(!source.index.flags(slot)?.has(Flags::OVERRIDDEN))
}

#[cfg(test)]
mod tests {
    use super::{DEEPEST, Entry};

    fn nested(depth: usize) -> Entry {
        let mut bytes = b"{\"a\":".to_vec();
        bytes.extend(std::iter::repeat_n(b'[', depth - 1));
        bytes.extend(std::iter::repeat_n(b']', depth - 1));
        bytes.push(b'}');
        Entry {
            id: "a".to_owned(),
            parent: None,
            kind: "message".to_owned(),
            time: None,
            lane: None,
            seq: None,
            offset: None,
            bytes,
        }
    }

    #[test]
    fn payloads_decode_down_to_the_limit_and_fail_with_a_reason_below_it() {
        assert!(nested(DEEPEST).decode::<serde_json::Value>().is_ok());
        let error = nested(DEEPEST + 1)
            .decode::<serde_json::Value>()
            .unwrap_err();
        assert_eq!(error.code(), crate::Code::InvalidPayload);
        assert!(error.message().contains("1025"), "{error}");
    }
}
