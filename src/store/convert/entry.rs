//! One entry of pi v1 to v3 as the line of a pi v4 entry: payload first, then parent, number, time.

use super::{ChangeKind, Writer};
use crate::format::{Kind, entry_time, text_of};
use crate::index::{Answer, Flags, Slot, Trouble};
use crate::json::{Document, Grammar, Json, Node};
use crate::model::Messages;
use crate::snapshot::{Context, Edit, contribute};

/// The fields that every entry of v1 to v3 has.
const ENVELOPE: [&str; 4] = ["type", "id", "parentId", "timestamp"];
/// The fields beside them that every entry of v4 has.
const TAKEN: [&str; 3] = ["kind", "lane", "seq"];

/// An entry in the making: its type, and its own fields as they will stand, each with a comma before.
struct Made {
    kind: String,
    fields: Vec<u8>,
    /// Whether the context shows the entry's time.
    shows_time: bool,
}

impl Made {
    fn new(kind: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            fields: Vec::new(),
            shows_time: false,
        }
    }

    fn field(&mut self, key: &str, value: &[u8]) {
        self.fields
            .extend_from_slice(format!(",\"{key}\":").as_bytes());
        self.fields.extend_from_slice(value);
    }

    fn text(&mut self, key: &str, value: &str) {
        self.field(key, serde_json::Value::from(value).to_string().as_bytes());
    }

    /// Takes over the fields of an object but for some, as they stand.
    fn own(&mut self, object: Node<'_>, without: &[&str]) {
        for (key, value) in object.members() {
            let name = key.text().unwrap_or_default();
            let left_out = [&ENVELOPE[..], &TAKEN, without].concat();
            if !left_out.contains(&&*name) {
                self.fields.push(b',');
                self.fields.extend_from_slice(key.raw());
                self.fields.push(b':');
                self.fields.extend_from_slice(value.raw());
            }
        }
    }

    /// An entry that the context does not show, with all that the old one had as its data.
    fn custom(kind: &str, object: Node<'_>) -> Self {
        let mut made = Self::new("custom");
        made.text("customType", kind);
        let mut data = Self::new("");
        for (key, value) in object.members() {
            if !ENVELOPE.contains(&&*key.text().unwrap_or_default()) {
                data.fields.push(b',');
                data.fields.extend_from_slice(key.raw());
                data.fields.push(b':');
                data.fields.extend_from_slice(value.raw());
            }
        }
        let inner = data.fields.strip_prefix(b",").unwrap_or_default();
        made.field("data", &[b"{", inner, b"}"].concat());
        made
    }
}

impl Writer<'_, '_> {
    pub(super) fn entry(&mut self, slot: Slot, parent: Option<Slot>) -> Answer<()> {
        let source = self.source;
        let bytes = source.index.object(source.log, slot)?;
        let document = Grammar::parse(&bytes).map_err(|_| Trouble::Index)?;
        let object = document.root();
        let made = self.made(slot, object)?;
        let parent = parent.map(|parent| self.id(parent)).transpose()?;
        let id = self.id(slot)?;
        let time = match source.index.time(slot)? {
            Some(time) => Some(time),
            None => entry_time(source.index.format, object),
        };
        let time = match time {
            Some(time) => {
                self.time = time;
                time.to_string()
            }
            None if made.shows_time => {
                self.change(
                    ChangeKind::Timestamp,
                    Some(slot),
                    "the time is none, and the context says so: it was left out, and strict reading will report it",
                )?;
                "null".to_owned()
            }
            None => {
                self.change(
                    ChangeKind::Timestamp,
                    Some(slot),
                    "the time is none; that of the entry before was written",
                )?;
                self.time.to_string()
            }
        };
        let text = |text: &str| serde_json::Value::from(text).to_string();
        let start = format!(
            "{{\"kind\":\"entry\",\"type\":{},\"id\":{}",
            text(&made.kind),
            text(&id)
        );
        let seq = self.number();
        let end = format!(
            ",\"parentId\":{},\"seq\":{seq},\"timestamp\":{time}}}\n",
            parent.as_deref().map_or_else(|| "null".to_owned(), text),
        );
        self.out.put(start.as_bytes())?;
        self.out.put(&made.fields)?;
        Ok(self.out.put(end.as_bytes())?)
    }

    fn made(&mut self, slot: Slot, object: Node<'_>) -> Answer<Made> {
        let (kind, flags) = self.source.index.kind_and_flags(slot)?;
        let name = text_of(object.field("type")).unwrap_or_default();
        if flags.has(Flags::INERT) || kind == Kind::Other {
            self.change(
                ChangeKind::Custom,
                Some(slot),
                &format!(
                    "an entry of type {name:?} that the context does not show was kept as `custom`"
                ),
            )?;
            return Ok(Made::custom(&name, object));
        }
        // In a custom entry everything is data.
        if !matches!(kind, Kind::Usage | Kind::ContextEdit) {
            self.check_fields(slot, object)?;
        }
        match kind {
            Kind::Message | Kind::CustomMessage | Kind::BranchSummary => {
                self.message(slot, kind, flags, object)
            }
            Kind::Compaction => self.compaction(slot, object),
            Kind::Usage | Kind::ContextEdit => Ok(Made::custom(&name, object)),
            _ => {
                let mut made = Made::new(&name);
                made.own(object, &[]);
                Ok(made)
            }
        }
    }

    /// Notes fields whose names are the store's own in v4.
    fn check_fields(&mut self, slot: Slot, object: Node<'_>) -> Answer<()> {
        for key in TAKEN {
            if object.field(key).is_some() {
                self.change(
                    ChangeKind::Field,
                    Some(slot),
                    &format!("the field `{key}` was left out"),
                )?;
            }
        }
        Ok(())
    }

    fn message(&mut self, slot: Slot, kind: Kind, flags: Flags, object: Node<'_>) -> Answer<Made> {
        let edit = self.edits.of_live(slot).cloned();
        let name = text_of(object.field("type")).unwrap_or_default();
        if edit == Some(None) {
            self.change(
                ChangeKind::Removed,
                Some(slot),
                "a context edit took the message out of the context; it is kept where the context does not show it",
            )?;
            if !flags.has(Flags::SETS_MODEL) {
                return Ok(Made::custom(&name, object));
            }
            // The message is gone from the context, the model that it named is not.
            let message = object.field("message").ok_or(Trouble::Index)?;
            let mut made = Made::new("model_change");
            for (key, from) in [("provider", "provider"), ("modelId", "model")] {
                if let Some(value) = message.field(from).filter(|value| value.text().is_some()) {
                    made.field(key, value.raw());
                }
            }
            made.field("message", message.raw());
            return Ok(made);
        }
        if kind == Kind::BranchSummary {
            let mut made = Made::new(&name);
            made.own(object, &[]);
            made.shows_time =
                text_of(object.field("summary")).is_some_and(|summary| !summary.is_empty());
            return Ok(made);
        }
        let mut plain = Messages::default();
        contribute(self.source, slot, false, None, &mut plain)?;
        let mut edited = Messages::default();
        contribute(self.source, slot, false, edit.as_ref(), &mut edited)?;
        if plain != edited {
            self.change(
                ChangeKind::Edited,
                Some(slot),
                "the message was written as a context edit left it; what it said before is lost",
            )?;
        }
        if flags.has(Flags::DEFERRED) {
            self.change(
                ChangeKind::Context,
                Some(slot),
                "the answer was put off (`stopReason` is `deferred`), which pi-v4 leaves out of the context",
            )?;
        }
        let mut made = Made::new("message");
        let text = edited.get(0).ok_or(Trouble::Index)?;
        if kind == Kind::Message {
            made.own(object, &["message"]);
        }
        made.field("message", text.as_bytes());
        Ok(made)
    }

    fn compaction(&mut self, slot: Slot, object: Node<'_>) -> Answer<Made> {
        let mut made = Made::new("compaction");
        made.own(
            object,
            &[
                "firstKeptEntryId",
                "firstKeptEntryIndex",
                "systemMessage",
                "retainedTail",
            ],
        );
        made.shows_time = true;
        let context = Context::of(self.source, slot)?;
        let own = context.edits(self.source)?;
        let edits = self.edits.of_tail(slot).unwrap_or(&own).clone();
        let mut tail = Messages::default();
        if object.field("systemMessage").is_some_and(Json::is_object) {
            self.system_message(slot, edits.get(&slot), &mut tail)?;
        }
        for &kept in &context.kept {
            contribute(self.source, kept, false, edits.get(&kept), &mut tail)?;
        }
        if object.field("retainedTail").is_some() {
            self.change(
                ChangeKind::Field,
                Some(slot),
                "the field `retainedTail` was left out",
            )?;
        }
        let list: Vec<&str> = tail.iter().collect();
        made.field("retainedTail", format!("[{}]", list.join(",")).as_bytes());
        Ok(made)
    }

    /// Puts the system message of a compaction into its tail, edited as the context shows it.
    fn system_message(
        &mut self,
        slot: Slot,
        edit: Option<&Edit>,
        tail: &mut Messages,
    ) -> Answer<()> {
        let mut own = Messages::default();
        contribute(self.source, slot, true, edit, &mut own)?;
        // Before the summary, unless an edit took both out.
        let Some(system) = own.get(0) else {
            return Ok(());
        };
        tail.push(system);
        self.change(
            ChangeKind::Moved,
            Some(slot),
            "the system message stands behind the summary, and no longer before it",
        )
    }
}
