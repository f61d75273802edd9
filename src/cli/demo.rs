//! `leaflog demo`: a long synthetic session, resumed by full replay and through the index, with both
//! times. It checks that both answers are the same before it prints anything.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use clap::Args;
use leaflog::generate::Shape;
use leaflog::naive::{ReadOptions, Replay};
use leaflog::{
    At, BytesRead, Code, Error, Format, IndexMode, IndexState, OpenOptions, Result, Snapshot,
};
use serde::Serialize;

use super::Exit;
use super::failure::Failure;
use super::generate::write_new;
use super::open::open;
use super::out::{BOLD, Out};
use super::progress::Spinner;
use super::scratch::Scratch;
use super::text::{count, size};

/// How often the session is resumed through the index; the median counts.
const ROUNDS: usize = 15;
/// About how many entries follow the last compaction.
const LIVE: u64 = 200;

/// Make a long session in a temporary folder and resume it by full replay and through the index
///
/// Prints both times in milliseconds with what was read; the time through the index is the median of
/// 15 rounds. The answers of both are compared, and a difference is a failure. With --json prints
/// {entries, log_bytes, replay_ms, index_build_ms, index_bytes, resume_ms, ratio, live_messages,
/// live_message_bytes, log_bytes_read, index_bytes_read, path}; `path` is the folder if it was kept.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// How many entries the session has; each is about 1 KB
    #[arg(long, value_name = "N", default_value_t = 200_000,
        value_parser = clap::value_parser!(u64).range(1..=u64::from(u32::MAX)))]
    entries: u64,
    /// Keep the folder, and print where it is
    #[arg(long)]
    keep: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// What was measured.
#[derive(Serialize)]
struct Measured {
    entries: u64,
    log_bytes: u64,
    replay_ms: f64,
    index_build_ms: f64,
    index_bytes: u64,
    resume_ms: f64,
    /// Full replay to resuming.
    ratio: f64,
    live_messages: usize,
    /// Bytes of the messages of the snapshot together.
    live_message_bytes: usize,
    /// Bytes of log and index that resuming looked at.
    log_bytes_read: u64,
    index_bytes_read: u64,
    /// The folder, if it was kept.
    path: Option<String>,
}

impl Demo {
    pub(crate) fn run(self, out: &mut Out) -> std::result::Result<Exit, Failure> {
        let scratch = Scratch::new(self.keep)?;
        let log = scratch.path().join("session.jsonl");
        let shape = Shape::new(Format::PiV4, self.entries)
            .compact_every(spacing(self.entries))
            .payload(600);
        let written = write_new(&shape, &log)?;
        let (replay_time, replayed) = replay(&log)?;
        let (build_time, index_bytes) = build(&log)?;
        let (resume_time, resumed, read) = resume(&log)?;
        if replayed != resumed {
            let message = "full replay and index give different snapshots, which must never be; \
                `leaflog verify` may tell why";
            return Err(Error::new(Code::Storage, message).at_path(&log).into());
        }
        let measured = Measured {
            entries: self.entries,
            log_bytes: written.bytes,
            replay_ms: millis(replay_time),
            index_build_ms: millis(build_time),
            index_bytes,
            resume_ms: millis(resume_time),
            ratio: replay_time.as_secs_f64() / resume_time.as_secs_f64().max(1e-9),
            live_messages: resumed.messages.len(),
            live_message_bytes: resumed.messages.bytes(),
            log_bytes_read: read.log,
            index_bytes_read: read.index,
            path: self.keep.then(|| scratch.path().display().to_string()),
        };
        if out.json() {
            out.object(&measured)?;
        } else {
            measured.print(out)?;
        }
        Ok(Exit::Done)
    }
}

impl Measured {
    fn print(&self, out: &mut Out) -> std::io::Result<()> {
        let live = u64::try_from(self.live_messages).unwrap_or(u64::MAX);
        let live_bytes = u64::try_from(self.live_message_bytes).unwrap_or(u64::MAX);
        let ratio = format!("{:.0} times as fast", self.ratio);
        let ratio = out.paint(BOLD, ratio).to_string();
        let rows = [
            (
                "session",
                format!("{} entries, {}", count(self.entries), size(self.log_bytes)),
            ),
            (
                "live path",
                format!("{} messages, {}", count(live), size(live_bytes)),
            ),
            (
                "full replay",
                format!(
                    "{:.3} ms, {} of log read",
                    self.replay_ms,
                    size(self.log_bytes)
                ),
            ),
            (
                "index build",
                format!(
                    "{:.3} ms, {} written",
                    self.index_build_ms,
                    size(self.index_bytes)
                ),
            ),
            (
                "resume",
                format!(
                    "{:.3} ms through the index, {} of log and {} of index read",
                    self.resume_ms,
                    size(self.log_bytes_read),
                    size(self.index_bytes_read)
                ),
            ),
            ("", ratio),
        ];
        for (name, value) in rows {
            writeln!(out, "{name:<12}{value}")?;
        }
        if let Some(path) = &self.path {
            writeln!(out, "{:<12}{path}", "kept in")?;
        }
        Ok(())
    }
}

/// Entries between compactions so that about [`LIVE`] of them follow the last one. The first
/// compaction comes after half of that.
fn spacing(entries: u64) -> u64 {
    let behind_the_last = |spacing: u64| entries.saturating_sub(spacing / 2) % spacing;
    let candidates = (LIVE * 3 / 2)..=(LIVE * 5 / 2);
    candidates
        .min_by_key(|spacing| behind_the_last(*spacing).abs_diff(LIVE))
        .unwrap_or(2 * LIVE)
}

fn replay(log: &Path) -> Result<(Duration, Snapshot)> {
    let _spinner = Spinner::new("full replay");
    let began = Instant::now();
    let snapshot = Replay::open(log, ReadOptions::default())?.snapshot(At::Current, false)?;
    Ok((began.elapsed(), snapshot))
}

fn build(log: &Path) -> Result<(Duration, u64)> {
    let began = Instant::now();
    let session = open(OpenOptions::new().index(IndexMode::Always), log)?;
    let time = began.elapsed();
    let status = session.index_status();
    match status.path {
        Some(_) => Ok((time, status.bytes)),
        None => {
            let message = "the index could not be written; is there room in the temporary folder?";
            Err(Error::new(Code::Storage, message).at_path(log))
        }
    }
}

fn resume(log: &Path) -> Result<(Duration, Snapshot, BytesRead)> {
    let mut times = Vec::with_capacity(ROUNDS);
    let mut last = None;
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let session = OpenOptions::new().index(IndexMode::Always).open(log)?;
        let snapshot = session.snapshot(At::Current)?;
        times.push(began.elapsed());
        let state = session.index_status().state;
        if state != IndexState::Fresh {
            let message =
                format!("expected a fresh index, found it {state:?}; did the log change?");
            return Err(Error::new(Code::Storage, message).at_path(log));
        }
        last = Some((snapshot, session.bytes_read()));
    }
    times.sort();
    match (times.get(ROUNDS / 2), last) {
        (Some(median), Some((snapshot, read))) => Ok((*median, snapshot, read)),
        _ => Err(Error::new(
            Code::InvalidQuery,
            "there was no round to measure",
        )),
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::{LIVE, spacing};

    #[test]
    fn about_two_hundred_entries_follow_the_last_compaction() {
        for entries in [1000, 1999, 2000, 12_345, 200_000, 1_000_003] {
            let spacing = spacing(entries);
            let behind = (entries - spacing / 2) % spacing;
            assert!(behind.abs_diff(LIVE) <= 20, "{entries}: {behind}");
        }
    }
}
