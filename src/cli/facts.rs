//! The overview of a session as aligned lines of names and values, for `leaflog info`. Long lists
//! are cut, and say by how much.

use std::io::{self, Write};
use std::path::Path;

use leaflog::{Format, IndexStatus, Overview};

use super::failure::Failure;
use super::out::{CYAN, DIM, Out, YELLOW};
use super::text::{clean, count, counted, signed, size, time};
use super::verify::{more, report_line};

/// How many lanes, labels or kinds are listed.
const MOST_ITEMS: usize = 20;
/// How many damaged lines are listed.
const MOST_REPORTS: usize = 10;

/// Prints it.
pub(crate) fn print(
    file: &Path,
    overview: &Overview,
    index: &IndexStatus,
    branches: Option<u64>,
    out: &mut Out,
) -> Result<(), Failure> {
    header(file, overview, out)?;
    positions(overview, out)?;
    totals(overview, branches, out)?;
    let state = match index.state {
        leaflog::IndexState::Fresh => "fresh",
        leaflog::IndexState::Extended => "extended",
        leaflog::IndexState::Rebuilt => "rebuilt",
        _ => "none",
    };
    let mut text = state.to_owned();
    if let Some(reason) = &index.reason {
        text.push_str(&format!(": {reason}"));
    }
    if index.bytes > 0 {
        let place = if index.path.is_some() {
            ""
        } else {
            " in memory"
        };
        text.push_str(&format!(" ({}{place})", size(index.bytes)));
    }
    line("index", &text, out)?;
    if let Some(path) = &index.path {
        line("sidecar", &path.display().to_string(), out)?;
    }
    if overview.report_count == 0 {
        return Ok(line("damage", "none", out)?);
    }
    let damage = counted(overview.report_count, "report");
    let damage = out.paint(YELLOW, damage).to_string();
    name("damage", out)?;
    writeln!(out, "{damage}")?;
    for report in overview.reports.iter().take(MOST_REPORTS) {
        writeln!(out, "  {}", report_line(report))?;
    }
    more(
        overview.reports.len().min(MOST_REPORTS),
        overview.report_count,
        out,
    )
}

fn header(file: &Path, overview: &Overview, out: &mut Out) -> io::Result<()> {
    line("file", &file.display().to_string(), out)?;
    line("format", overview.format.as_str(), out)?;
    line("session", &overview.session_id, out)?;
    let title = overview.name.as_ref().or(overview.first_message.as_ref());
    for (name, text) in [
        ("name", overview.name.as_ref()),
        ("begins", title.filter(|_| overview.name.is_none())),
        ("cwd", overview.cwd.as_ref()),
        ("parent", overview.parent.as_ref()),
    ] {
        if let Some(text) = text {
            line(name, text, out)?;
        }
    }
    for (name, millis) in [("created", overview.created), ("updated", overview.updated)] {
        if let Some(millis) = millis {
            line(name, &format!("{} UTC", time(millis)), out)?;
        }
    }
    Ok(())
}

fn positions(overview: &Overview, out: &mut Out) -> io::Result<()> {
    line("leaf", overview.leaf.as_deref().unwrap_or("none"), out)?;
    let lanes = overview.lanes.iter();
    let lanes =
        lanes.map(|(lane, leaf)| format!("{lane} at {}", leaf.as_deref().unwrap_or("none")));
    list("lanes", lanes, out)?;
    let labels = overview.labels.iter();
    list(
        "labels",
        labels.map(|(id, label)| format!("{id} \"{label}\"")),
        out,
    )?;
    let open = overview.open_operations.iter();
    let open = open.flat_map(|(lane, ids)| ids.iter().map(move |id| format!("{id} in {lane}")));
    list("open operations", open, out)
}

fn totals(overview: &Overview, branches: Option<u64>, out: &mut Out) -> io::Result<()> {
    let stats = &overview.stats;
    line("messages", &count(stats.message_count), out)?;
    // Other formats have no records of usage to sum up.
    if overview.format == Format::PiV4 && (stats.total_tokens != 0 || stats.cost_total != 0.0) {
        let tokens = format!(
            "{} ({} cached, {} not), cost {:.4}",
            signed(stats.total_tokens),
            signed(stats.cached_tokens),
            signed(stats.uncached_tokens),
            stats.cost_total
        );
        line("tokens", &tokens, out)?;
    }
    let entries = match overview.records {
        0 => count(overview.entries),
        records => format!(
            "{}, and {}",
            count(overview.entries),
            counted(records, "record")
        ),
    };
    line("entries", &entries, out)?;
    // The most frequent kinds matter most, should there be too many to list.
    let mut kinds: Vec<_> = overview.kinds.iter().collect();
    kinds.sort_by_key(|(kind, number)| (std::cmp::Reverse(**number), kind.as_str()));
    let kinds = kinds.into_iter();
    list(
        "kinds",
        kinds.map(|(kind, number)| format!("{kind} {}", count(*number))),
        out,
    )?;
    if let Some(branches) = branches {
        line("branches", &count(branches), out)?;
    }
    line("lines", &count(overview.lines), out)?;
    let bytes = match overview.bytes {
        few @ ..1024 => counted(few, "byte"),
        bytes => format!("{} ({})", size(bytes), counted(bytes, "byte")),
    };
    line("size", &bytes, out)
}

/// One item a line, the name before the first.
fn list(label: &str, items: impl Iterator<Item = String>, out: &mut Out) -> io::Result<()> {
    let mut left = 0u64;
    for (at, item) in items.enumerate() {
        match at {
            0 => line(label, &item, out)?,
            1..MOST_ITEMS => line("", &item, out)?,
            _ => left += 1,
        }
    }
    if left > 0 {
        name("", out)?;
        let text = out
            .paint(DIM, format!("… and {} more", count(left)))
            .to_string();
        writeln!(out, "{text}")?;
    }
    Ok(())
}

fn line(label: &str, value: &str, out: &mut Out) -> io::Result<()> {
    name(label, out)?;
    writeln!(out, "{}", clean(value))
}

fn name(label: &str, out: &mut Out) -> io::Result<()> {
    let label = out.paint(CYAN, format!("{label:<16}")).to_string();
    write!(out, "{label}")
}
