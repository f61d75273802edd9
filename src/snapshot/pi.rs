//! pi's context: v1 to v3 with kept ranges and edits, v4 with retained tails.

use ahash::AHashMap;

use super::{Source, Trail, raw, setter, text_field};
use crate::format::{Kind, Role, State, entry_time};
use crate::index::{Answer, Class, Flags, Slot, Trouble};
use crate::json::{Document, Grammar, Json, Node, Number, lossy};
use crate::model::{Format, Messages, Model, Snapshot};

pub(super) fn fill(source: Source<'_>, trail: &Trail, snapshot: &mut Snapshot) -> Answer<()> {
    let mut entries = Vec::with_capacity(trail.live.len() + 1);
    if let Some(compaction) = trail.compaction {
        entries.push(compaction);
        if source.index.format != Format::PiV4 {
            entries.extend(kept_entries(source, trail, compaction)?);
        }
    }
    entries.extend_from_slice(&trail.live);
    let edits = Edits::among(source, &entries)?;
    let mut bytes = 0usize;
    for &slot in &entries {
        bytes = bytes.saturating_add(source.index.message_len(slot)?);
    }
    // The index is not asked for more room than the log can fill.
    let bytes = bytes.min(usize::try_from(source.log.len()).unwrap_or(0));
    let mut messages = Messages::with_capacity(entries.len(), bytes);
    for (number, &slot) in entries.iter().enumerate() {
        let first = number == 0 && Some(slot) == trail.compaction;
        edits.apply(source, slot, first, &mut messages)?;
    }
    snapshot.messages = messages;
    fill_state(source, trail, snapshot)
}

/// The entries before a compaction that it keeps.
pub(super) fn kept_entries(
    source: Source<'_>,
    trail: &Trail,
    compaction: Slot,
) -> Answer<Vec<Slot>> {
    let index = source.index;
    let first = source.with_object(compaction, |object| {
        // Version 1 counts the parsed lines, the header being 0.
        let place = object.field("firstKeptEntryIndex").and_then(Json::number);
        let by_place = place
            .filter(|_| index.format == Format::PiV1)
            .map(Number::real)
            .filter(|place| *place >= 0.0 && place.fract() == 0.0);
        Some((by_place, text_field(object, "firstKeptEntryId")))
    })?;
    let first = match first {
        (Some(place), _) if place >= 1.0 && place <= f64::from(index.slots()) => {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "whole and in range"
            )]
            let line = place as Slot;
            Some(line - 1)
        }
        (Some(_), _) => None,
        (None, Some(id)) => index.slot_of(source.log, &id, Class::Entry)?,
        (None, None) => None,
    };
    let Some(first) = first else {
        return Ok(Vec::new());
    };
    let mut kept = trail.kept_before(source, compaction, first)?;
    let mut is_system = Vec::with_capacity(kept.len());
    for &slot in &kept {
        let flags = index.flags(slot)?;
        is_system.push(
            index.kind(slot)? == Kind::Message
                && !flags.has(Flags::INERT)
                && flags.role() == Role::System,
        );
    }
    let mut is_system = is_system.into_iter();
    kept.retain(|_| !is_system.next().unwrap_or(false));
    Ok(kept)
}

/// The context edits among some entries: the last one for each target.
pub(super) struct Edits {
    /// By the slot of the target: the content to put there, or none to remove the messages.
    pub(super) by_target: AHashMap<Slot, Option<String>>,
}

impl Edits {
    pub(super) fn among(source: Source<'_>, entries: &[Slot]) -> Answer<Self> {
        let mut by_target = AHashMap::new();
        if source.index.format == Format::PiV4 {
            return Ok(Self { by_target });
        }
        for &slot in entries {
            if source.index.kind(slot)? != Kind::ContextEdit
                || source.index.flags(slot)?.has(Flags::INERT)
            {
                continue;
            }
            let (target, content) = source.with_object(slot, |object| {
                let content = object.field("replacement")?.field("content");
                Some((
                    text_field(object, "targetId")?,
                    content.map(|content| lossy(content.raw()).into_owned()),
                ))
            })?;
            if let Some(target) = source.index.slot_of(source.log, &target, Class::Entry)? {
                by_target.insert(target, content);
            }
        }
        Ok(Self { by_target })
    }

    /// Adds what an entry contributes, edited.
    pub(super) fn apply(
        &self,
        source: Source<'_>,
        slot: Slot,
        first: bool,
        messages: &mut Messages,
    ) -> Answer<()> {
        match self.by_target.get(&slot) {
            None => contribute(source, slot, first, messages),
            Some(None) => Ok(()),
            Some(Some(content)) => {
                let mut own = Messages::default();
                contribute(source, slot, first, &mut own)?;
                for message in own.iter() {
                    messages.push(&edited(message, content));
                }
                Ok(())
            }
        }
    }
}

/// A message with another content, if its role lets it be edited.
fn edited(message: &str, content: &str) -> String {
    let Ok(document) = Grammar::parse(message.as_bytes()) else {
        return message.to_owned();
    };
    let role = text_field(document.root(), "role").map_or(Role::None, |role| Role::of(&role));
    match role {
        Role::Assistant | Role::Tool if content.starts_with('"') => {
            let block = format!("[{{\"type\":\"text\",\"text\":{content}}}]");
            raw::with_field(document.root(), "content", &block)
        }
        Role::User | Role::Assistant | Role::Tool | Role::Custom => {
            raw::with_field(document.root(), "content", content)
        }
        _ => message.to_owned(),
    }
}

/// Adds the messages of an entry. `first` says that it is the compaction that counts.
fn contribute(source: Source<'_>, slot: Slot, first: bool, messages: &mut Messages) -> Answer<()> {
    let (kind, flags) = source.index.kind_and_flags(slot)?;
    if flags.has(Flags::INERT) {
        return Ok(());
    }
    let format = source.index.format;
    let is_v4 = format == Format::PiV4;
    match kind {
        Kind::Message => message(source, slot, flags, messages),
        Kind::Compaction if first => {
            let texts = source.with_object(slot, |object| Some(compaction(object, format)))?;
            for text in &texts {
                messages.push(text);
            }
            Ok(())
        }
        Kind::BranchSummary => {
            let text = source.with_object(slot, |object| Some(branch_summary(object, format)))?;
            if let Some(text) = text {
                messages.push(&text);
            }
            Ok(())
        }
        Kind::CustomMessage if !is_v4 => {
            let text = source.with_object(slot, |object| Some(custom_message(object, format)))?;
            messages.push(&text);
            Ok(())
        }
        _ => Ok(()),
    }
}

fn message(source: Source<'_>, slot: Slot, flags: Flags, messages: &mut Messages) -> Answer<()> {
    let is_v4 = source.index.format == Format::PiV4;
    if is_v4 && flags.has(Flags::DEFERRED) {
        return Ok(());
    }
    let json = raw::payload(source, slot)?;
    let role = flags.role();
    let needs_content = !is_v4
        && flags.has(Flags::NO_CONTENT)
        && matches!(
            role,
            Role::System | Role::User | Role::Assistant | Role::Tool
        );
    let is_hook = role == Role::Hook && matches!(source.index.format, Format::PiV1 | Format::PiV2);
    if !needs_content && !is_hook {
        messages.push(&lossy(&json));
        return Ok(());
    }
    let document = Grammar::parse(&json).map_err(|_| Trouble::Index)?;
    let text = if is_hook {
        raw::with_field(document.root(), "role", "\"custom\"")
    } else {
        raw::with_field(
            document.root(),
            "content",
            if role == Role::System { "\"\"" } else { "[]" },
        )
    };
    messages.push(&text);
    Ok(())
}

fn compaction(object: Node<'_>, format: Format) -> Vec<String> {
    let mut texts = Vec::new();
    if format != Format::PiV4
        && let Some(system) = object
            .field("systemMessage")
            .filter(|system| system.is_object())
    {
        texts.push(lossy(system.raw()).into_owned());
    }
    let mut made = raw::Made::role("compactionSummary");
    made.copy(object, "summary");
    made.copy(object, "tokensBefore");
    timestamp(&mut made, object, format);
    texts.push(made.finish());
    if format == Format::PiV4 {
        let tail = object
            .field("retainedTail")
            .into_iter()
            .flat_map(Json::items);
        texts.extend(tail.map(|message| lossy(message.raw()).into_owned()));
    }
    texts
}

fn branch_summary(object: Node<'_>, format: Format) -> Option<String> {
    text_field(object, "summary").filter(|summary| !summary.is_empty())?;
    let mut made = raw::Made::role("branchSummary");
    made.copy(object, "summary");
    made.copy(object, "fromId");
    timestamp(&mut made, object, format);
    Some(made.finish())
}

fn custom_message(object: Node<'_>, format: Format) -> String {
    let mut made = raw::Made::role("custom");
    made.copy(object, "customType");
    match object.field("content").filter(|content| !content.is_null()) {
        Some(content) => made.raw("content", &lossy(content.raw())),
        None => made.raw("content", "[]"),
    }
    made.copy(object, "display");
    made.copy(object, "details");
    timestamp(&mut made, object, format);
    made.finish()
}

/// The time of a made-up message: in milliseconds up to v3, as the entry spells it in v4.
fn timestamp(made: &mut raw::Made, object: Node<'_>, format: Format) {
    let time = entry_time(format, object);
    match object.field("timestamp") {
        Some(value) if format == Format::PiV4 && time.is_some() => {
            made.raw("timestamp", &lossy(value.raw()))
        }
        _ => made.timestamp(time),
    }
}

fn fill_state(source: Source<'_>, trail: &Trail, snapshot: &mut Snapshot) -> Answer<()> {
    snapshot.reasoning_effort = Some(match setter(trail, State::Effort) {
        Some(slot) => source.with_object(slot, |object| text_field(object, "thinkingLevel"))?,
        None => "off".to_owned(),
    });
    if let Some(slot) = setter(trail, State::Model) {
        let model = source.with_object(slot, |object| {
            // A model change names it itself, an assistant message inside.
            let (from, key) = match object
                .field("message")
                .filter(|_| text_field(object, "type").as_deref() == Some("message"))
            {
                Some(message) => (message, "model"),
                None => (object, "modelId"),
            };
            Some(Model {
                provider: text_field(from, "provider"),
                model: text_field(from, key),
            })
        })?;
        snapshot.model = Some(model);
    }
    if let Some(slot) = setter(trail, State::Tools) {
        let tools = source.with_object(slot, |object| {
            let names = object.field("activeToolNames")?;
            Some(
                names
                    .items()
                    .filter_map(|name| name.text().map(std::borrow::Cow::into_owned))
                    .collect(),
            )
        })?;
        snapshot.active_tools = Some(tools);
    }
    Ok(())
}
