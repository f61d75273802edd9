//! `leaflog tree`: the branches of a session as a tree, straight runs folded, with labels, lanes and
//! the current leaf marked. Prints no texts of messages.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use leaflog::{Overview, TreeNode};
use serde::Serialize;

use super::Exit;
use super::args::{Opening, Salvage};
use super::failure::Failure;
use super::forest::{Forest, Step};
use super::out::{CYAN, DIM, GREEN, Out, YELLOW};
use super::text::{clean, count, counted};

/// Print the branches of a session as a tree
///
/// The path to the current leaf runs straight down at the left, branches stand to its right above
/// what goes on. Entries that only lead on are folded into one line; those with a label, a lane, a
/// branch or the current leaf are shown. With --json {leaf, nodes: [{id, parent, role, kind, label,
/// lanes, leaf}]}, in the order of the file; `kind` is message, compaction or other.
#[derive(Debug, Args)]
pub(crate) struct Tree {
    /// The log
    file: PathBuf,
    #[command(flatten)]
    salvage: Salvage,
    #[command(flatten)]
    pub(crate) opening: Opening,
}

impl Tree {
    pub(crate) fn run(self, out: &mut Out) -> Result<Exit, Failure> {
        let session = self.opening.session(&self.file, self.salvage.salvage)?;
        let nodes = session.tree()?;
        let overview = session.overview()?;
        let marks = Marks::of(&overview);
        if out.json() {
            objects(&nodes, &marks, out)?;
            return Ok(Exit::Done);
        }
        draw(&nodes, &marks, out)?;
        out.note_damage(&self.file, &overview)?;
        Ok(Exit::Done)
    }
}

/// What is marked in the tree, by the ids of entries.
struct Marks<'a> {
    leaf: Option<&'a str>,
    labels: HashMap<&'a str, &'a str>,
    lanes: HashMap<&'a str, Vec<&'a str>>,
}

impl<'a> Marks<'a> {
    fn of(overview: &'a Overview) -> Self {
        let mut lanes: HashMap<&str, Vec<&str>> = HashMap::new();
        for (lane, leaf) in &overview.lanes {
            if let Some(leaf) = leaf {
                lanes.entry(leaf).or_default().push(lane);
            }
        }
        let labels = overview.labels.iter();
        Self {
            leaf: overview.leaf.as_deref(),
            labels: labels
                .map(|(id, label)| (id.as_str(), label.as_str()))
                .collect(),
            lanes,
        }
    }

    fn lanes(&self, id: &str) -> &[&'a str] {
        self.lanes.get(id).map(Vec::as_slice).unwrap_or_default()
    }

    fn has(&self, id: &str) -> bool {
        self.leaf == Some(id) || self.labels.contains_key(id) || self.lanes.contains_key(id)
    }
}

fn draw(nodes: &[TreeNode], marks: &Marks<'_>, out: &mut Out) -> io::Result<()> {
    let parents: Vec<Option<usize>> = nodes.iter().map(|node| node.parent).collect();
    let current = nodes.iter().rposition(|node| marks.leaf == Some(&node.id));
    let forest = Forest::new(&parents, current);
    forest.draw(
        |node| nodes.get(node).is_some_and(|node| marks.has(&node.id)),
        |node| nodes.get(node).is_some_and(|node| node.is_compaction),
        |step| match step {
            Step::Node { node, level, opens } => match nodes.get(node) {
                Some(entry) => {
                    column(level, opens, out)?;
                    entry_line(entry, marks, forest.is_cut(node), out)
                }
                None => Ok(()),
            },
            Step::Run {
                level,
                entries,
                tallied,
            } => {
                column(level, false, out)?;
                let compactions = match tallied {
                    0 => String::new(),
                    tallied => format!(" ({})", counted(tallied, "compaction")),
                };
                let text = format!("… {} entries{compactions} …", count(entries));
                let text = out.paint(DIM, text).to_string();
                writeln!(out, "{text}")
            }
        },
    )
}

/// The lines of the columns to the left.
fn column(level: usize, opens: bool, out: &mut Out) -> io::Result<()> {
    let bars = if opens {
        level.saturating_sub(1)
    } else {
        level
    };
    for _ in 0..bars {
        out.write_all("│ ".as_bytes())?;
    }
    if opens && level > 0 {
        out.write_all("├─".as_bytes())?;
    }
    Ok(())
}

fn entry_line(entry: &TreeNode, marks: &Marks<'_>, cycle: bool, out: &mut Out) -> io::Result<()> {
    write!(
        out,
        "{} {}",
        clean(&entry.id),
        entry.role.unwrap_or(kind(entry))
    )?;
    for lane in marks.lanes(&entry.id) {
        let lane = out.paint(CYAN, format!("[{}]", clean(lane))).to_string();
        write!(out, " {lane}")?;
    }
    if let Some(label) = marks.labels.get(entry.id.as_str()) {
        let label = out
            .paint(YELLOW, format!("\"{}\"", clean(label)))
            .to_string();
        write!(out, " {label}")?;
    }
    if marks.leaf == Some(&entry.id) {
        let leaf = out.paint(GREEN, "← leaf").to_string();
        write!(out, " {leaf}")?;
    }
    if entry.is_orphan {
        write!(out, " (its parent is not in the file)")?;
    }
    if cycle {
        write!(out, " (its parents lead back to it)")?;
    }
    writeln!(out)
}

fn kind(entry: &TreeNode) -> &'static str {
    match (entry.is_message, entry.is_compaction) {
        (true, _) => "message",
        (false, true) => "compaction",
        (false, false) => "other",
    }
}

/// An entry as JSON.
#[derive(Serialize)]
struct Object<'a> {
    id: &'a str,
    parent: Option<&'a str>,
    role: Option<&'static str>,
    kind: &'static str,
    label: Option<&'a str>,
    lanes: &'a [&'a str],
    leaf: bool,
}

/// Writes the tree as one object, entry by entry.
fn objects(nodes: &[TreeNode], marks: &Marks<'_>, out: &mut Out) -> io::Result<()> {
    out.write_all(b"{\"leaf\":")?;
    serde_json::to_writer(&mut *out, &marks.leaf)?;
    out.write_all(b",\"nodes\":[")?;
    for (at, node) in nodes.iter().enumerate() {
        if at > 0 {
            out.write_all(b",")?;
        }
        let parent = node.parent.and_then(|parent| nodes.get(parent));
        let object = Object {
            id: &node.id,
            parent: parent.map(|parent| parent.id.as_str()),
            role: node.role,
            kind: kind(node),
            label: marks.labels.get(node.id.as_str()).copied(),
            lanes: marks.lanes(&node.id),
            leaf: marks.leaf == Some(&node.id),
        };
        serde_json::to_writer(&mut *out, &object)?;
    }
    out.write_all(b"]}\n")
}
