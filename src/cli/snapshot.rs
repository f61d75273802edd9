//! `leaflog snapshot`: the context that a harness resumes with, as JSON for machines or a line a
//! message for people. Messages are printed as they are stored and never parsed and written anew.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use leaflog::{At, Format, Messages, Model, Plan};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::Exit;
use super::args::{Opening, Salvage};
use super::failure::Failure;
use super::message::message_line;
use super::out::{BOLD, DIM, Out};
use super::text::{clean, counted};

/// Print the context that a harness resumes with: messages, model, effort, state
///
/// For people a line about the session, then each message, oldest first, as its role and the first
/// line of its text, cut to the width of the terminal (COLUMNS, else 100). With --json the messages
/// are printed whole, as they are stored: {format, session_id, lane, leaf, name, messages, model,
/// reasoning_effort, plan, goal, active_tools, path_entries, salvaged}.
#[derive(Debug, Args)]
pub(crate) struct Snapshot {
    /// The log
    file: PathBuf,
    /// End at the leaf of this lane (pi-v4 only) [default: main]
    #[arg(long, value_name = "NAME", conflicts_with = "leaf")]
    lane: Option<String>,
    /// End at the entry with this id
    #[arg(long, value_name = "ID")]
    leaf: Option<String>,
    #[command(flatten)]
    salvage: Salvage,
    #[command(flatten)]
    pub(crate) opening: Opening,
}

impl Snapshot {
    pub(crate) fn run(self, out: &mut Out) -> Result<Exit, Failure> {
        let salvage = self.salvage.salvage;
        let source = self.opening.source(&self.file, salvage)?;
        let at = match (&self.lane, &self.leaf) {
            (Some(lane), _) => At::Lane(lane),
            (None, Some(leaf)) => At::Leaf(leaf),
            (None, None) => At::Current,
        };
        let snapshot = source.snapshot(at, salvage)?;
        if out.json() {
            out.object(&Object::of(&snapshot))?;
            return Ok(Exit::Done);
        }
        people(&snapshot, out)?;
        out.note_damage(&self.file, &source.overview()?)?;
        if snapshot.salvaged {
            let kept = counted(snapshot.path_entries, "entry");
            out.note(&format!(
                "{}: the path is not whole; the {kept} behind its break are shown",
                self.file.display()
            ))?;
        }
        Ok(Exit::Done)
    }
}

fn people(snapshot: &leaflog::Snapshot, out: &mut Out) -> io::Result<()> {
    let mut facts = vec![match &snapshot.leaf {
        Some(leaf) => format!("at {}", clean(leaf)),
        None => "empty".to_owned(),
    }];
    if let Some(lane) = &snapshot.lane {
        facts.push(format!("lane {}", clean(lane)));
    }
    if let Some(name) = snapshot.name.as_ref().filter(|name| !name.is_empty()) {
        facts.push(format!("\"{}\"", clean(name)));
    }
    if let Some(model) = &snapshot.model {
        let parts = [&model.provider, &model.model];
        let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        facts.push(format!("model {}", clean(&parts.join("/"))));
    }
    if let Some(effort) = &snapshot.reasoning_effort {
        facts.push(format!("effort {}", clean(effort)));
    }
    let messages = u64::try_from(snapshot.messages.len()).unwrap_or(u64::MAX);
    facts.push(counted(messages, "message"));
    facts.push(counted(snapshot.path_entries, "path entry"));
    let id = out.paint(BOLD, clean(&snapshot.session_id)).to_string();
    let rest = out.paint(DIM, facts.join(", ")).to_string();
    writeln!(out, "{} {id} {rest}", snapshot.format)?;
    let width = out.width();
    for message in snapshot.messages.iter() {
        writeln!(out, "{}", message_line(message, width))?;
    }
    Ok(())
}

/// A snapshot as JSON.
#[derive(Serialize)]
struct Object<'a> {
    format: Format,
    session_id: &'a str,
    lane: Option<&'a str>,
    leaf: Option<&'a str>,
    name: Option<&'a str>,
    messages: &'a Messages,
    model: Option<&'a Model>,
    reasoning_effort: Option<&'a str>,
    plan: Option<&'a Plan>,
    #[serde(serialize_with = "as_stored")]
    goal: Option<&'a str>,
    active_tools: Option<&'a [String]>,
    path_entries: u64,
    salvaged: bool,
}

impl<'a> Object<'a> {
    fn of(snapshot: &'a leaflog::Snapshot) -> Self {
        Self {
            format: snapshot.format,
            session_id: &snapshot.session_id,
            lane: snapshot.lane.as_deref(),
            leaf: snapshot.leaf.as_deref(),
            name: snapshot.name.as_deref(),
            messages: &snapshot.messages,
            model: snapshot.model.as_ref(),
            reasoning_effort: snapshot.reasoning_effort.as_deref(),
            plan: snapshot.plan.as_ref(),
            goal: snapshot.goal.as_deref(),
            active_tools: snapshot.active_tools.as_deref(),
            path_entries: snapshot.path_entries,
            salvaged: snapshot.salvaged,
        }
    }
}

/// A JSON text as it stands, or null.
fn as_stored<S: Serializer>(json: &Option<&str>, serializer: S) -> Result<S::Ok, S::Error> {
    let raw: Option<&RawValue> = json
        .map(serde_json::from_str)
        .transpose()
        .map_err(serde::ser::Error::custom)?;
    raw.serialize(serializer)
}
