//! Messages as they stand in the log, and messages made up of raw values.

use std::borrow::Cow;

use super::Source;
use crate::format::payload_key;
use crate::index::{Answer, Slot, Trouble};
use crate::json::{Document, Grammar, Json, Node, lossy};

/// The raw message of an entry of kind `message`.
pub(super) fn payload(source: Source<'_>, slot: Slot) -> Answer<Cow<'_, [u8]>> {
    let (bytes, place) = source.index.object_and_payload(source.log, slot)?;
    let range = match place {
        Some(range) => range,
        None => {
            let document = Grammar::parse(&bytes).map_err(|_| Trouble::Index)?;
            document
                .span(payload_key(source.index.format))
                .ok_or(Trouble::Index)?
        }
    };
    let text = match &bytes {
        Cow::Borrowed(bytes) => {
            Cow::Borrowed(bytes.get(range).ok_or(Trouble::Index)?.trim_ascii_end())
        }
        Cow::Owned(bytes) => Cow::Owned(
            bytes
                .get(range)
                .ok_or(Trouble::Index)?
                .trim_ascii_end()
                .to_vec(),
        ),
    };
    // An index that points elsewhere is told from a line by its shape here, and by its id before.
    if text.first() == Some(&b'{') && text.last() == Some(&b'}') {
        Ok(text)
    } else {
        Err(Trouble::Index)
    }
}

/// A JSON object that is put together field by field from raw values.
pub(super) struct Made {
    text: String,
}

impl Made {
    /// Starts with the role.
    pub(super) fn role(role: &str) -> Self {
        Self {
            text: format!("{{\"role\":\"{role}\""),
        }
    }

    /// Adds a field with the raw value that an object has under a key; nothing if it has none.
    pub(super) fn copy(&mut self, object: Node<'_>, key: &str) {
        if let Some(value) = object.field(key) {
            self.raw(key, &lossy(value.raw()));
        }
    }

    /// Adds a field with a raw value.
    pub(super) fn raw(&mut self, key: &str, value: &str) {
        self.text.push_str(",\"");
        self.text.push_str(key);
        self.text.push_str("\":");
        self.text.push_str(value);
    }

    /// Adds the time in milliseconds, or null.
    pub(super) fn timestamp(&mut self, millis: Option<i64>) {
        let value = millis.map_or_else(|| "null".to_owned(), |millis| millis.to_string());
        self.raw("timestamp", &value);
    }

    pub(super) fn finish(mut self) -> String {
        self.text.push('}');
        self.text
    }
}

/// An object's text with the value of its last field of a name replaced, or the field added at the
/// end if there is none.
pub(super) fn with_field(object: Node<'_>, key: &str, value: &str) -> String {
    let text = object.raw();
    let base = object.span().start;
    if let Some(old) = object.field(key) {
        let span = old.span();
        let before = text.get(..span.start - base).unwrap_or_default();
        let after = text.get(span.end - base..).unwrap_or_default();
        return format!("{}{value}{}", lossy(before), lossy(after));
    }
    let body = text.strip_suffix(b"}").unwrap_or(text);
    let comma = if object.members().next().is_none() {
        ""
    } else {
        ","
    };
    format!("{}{comma}\"{key}\":{value}}}", lossy(body))
}
