//! `leaflog verify`: reads everything of a log and compares its index with it. The only command that
//! fails because of damage; it repairs nothing in a log.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use leaflog::{Problem, Report, Verification};
use serde::Serialize;

use super::Exit;
use super::args::Opening;
use super::failure::Failure;
use super::out::{GREEN, Out, YELLOW};
use super::progress::Progress;
use super::text::{clean, count, counted, size};

/// Read everything: every line, the index against the log, the path of every leaf
///
/// Exits with 1 if anything is wrong: a damaged line, a path that is not whole, an index that does
/// not say what the log says. A byte order mark, blank lines and a missing last newline are not wrong.
/// With --strict it stops at the first damaged line of a log. `repair` mends what is damaged. The first 100 damaged lines and the first 100 other problems are
/// listed, all are counted. With --json one object a file, {path, ok, lines, bytes, entries, leaves,
/// index_checked, reports, report_count, problems, problem_count}.
#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// The logs
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) opening: Opening,
}

#[derive(Serialize)]
struct Object<'a> {
    path: String,
    ok: bool,
    lines: u64,
    bytes: u64,
    entries: u64,
    leaves: u64,
    index_checked: bool,
    reports: &'a [Report],
    report_count: u64,
    problems: &'a [Problem],
    problem_count: u64,
}

impl Verify {
    pub(crate) fn run(self, out: &mut Out) -> Result<Exit, Failure> {
        let mut exit = Exit::Done;
        for file in &self.files {
            match self.verify(file) {
                Ok(found) => {
                    tell(&found, file, out)?;
                    if !found.is_clean() {
                        exit = exit.and(Exit::Failed);
                    }
                }
                Err(error) => {
                    out.error(&error)?;
                    exit = exit.and(Exit::Failed);
                }
            }
        }
        Ok(exit)
    }

    fn verify(&self, file: &Path) -> leaflog::Result<Verification> {
        let progress = Progress::new("verifying");
        let watched = progress.clone();
        let found = self
            .opening
            .options()
            .progress(move |done, total| watched.of(done, total))
            .verify(file);
        progress.finish();
        found
    }
}

fn tell(found: &Verification, file: &Path, out: &mut Out) -> Result<(), Failure> {
    let path = file.display().to_string();
    if out.json() {
        out.object(&Object {
            path,
            ok: found.is_clean(),
            lines: found.lines,
            bytes: found.bytes,
            entries: found.entries,
            leaves: found.leaves,
            index_checked: found.index_checked,
            reports: &found.reports,
            report_count: found.report_count,
            problems: &found.problems,
            problem_count: found.problem_count,
        })?;
        return Ok(());
    }
    let index = if found.index_checked {
        "index compared"
    } else {
        "no index to compare"
    };
    let wrong = found.report_count.saturating_add(found.problem_count);
    let verdict = if wrong == 0 {
        out.paint(GREEN, "good".to_owned()).to_string()
    } else {
        let wrong = format!("{} wrong", counted(wrong, "thing"));
        out.paint(YELLOW, wrong).to_string()
    };
    writeln!(
        out,
        "{}: {verdict}; {} and {} read, {} followed, {index}",
        clean(&path),
        counted(found.lines, "line"),
        size(found.bytes),
        counted(found.leaves, "path"),
    )?;
    for report in &found.reports {
        writeln!(out, "  {}", report_line(report))?;
    }
    more(found.reports.len(), found.report_count, out)?;
    for problem in &found.problems {
        writeln!(out, "  {}: {}", problem.place, clean(&problem.detail))?;
    }
    more(found.problems.len(), found.problem_count, out)?;
    // A sidecar is made again by whoever opens the log.
    if found.report_count > 0 || found.problems.iter().any(|it| it.place != "index") {
        writeln!(
            out,
            "next: leaflog repair {} makes a cleaned copy",
            clean(&path)
        )?;
    }
    Ok(())
}

/// A report on one line.
pub(crate) fn report_line(report: &Report) -> String {
    let kept = if report.skipped { "skipped" } else { "kept" };
    format!(
        "line {}, byte {}: {}, {kept}: {}",
        report.line,
        report.offset,
        report.code,
        clean(&report.detail)
    )
}

/// Says how many are not listed.
pub(crate) fn more(listed: usize, all: u64, out: &mut Out) -> Result<(), Failure> {
    let left = all.saturating_sub(u64::try_from(listed).unwrap_or(u64::MAX));
    if left > 0 {
        writeln!(out, "  … and {} more", count(left))?;
    }
    Ok(())
}
