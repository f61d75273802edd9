//! What a listing shows of each log of a folder: what is known of those that are as they were, and
//! what the others say when they are opened. Knows no order.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use super::SessionInfo;
use super::catalog::{Catalog, Sorted};
use super::scan::{Log, Scan};
use crate::error::{Code, Result};
use crate::log::{LogFile, Reading};
use crate::store::state::SMALL_LOG;
use crate::store::{OpenOptions, Session};

/// A session, or what is wrong with a file.
pub(super) type Answer = Result<SessionInfo>;

/// A second thread is worth its start from so many logs on.
const MANY: usize = 16;

/// Hands out all sessions of a folder and what is wrong with other files, as they become known.
pub(super) fn each(
    folder: &Path,
    options: &OpenOptions,
    found: &mut dyn FnMut(Answer),
) -> Result<()> {
    let mut scan = match Scan::of(folder) {
        // Before the first session is made there need be no folder.
        Err(error) if error.code() == Code::NotFound => return Ok(()),
        scan => scan?,
    };
    for warning in std::mem::take(&mut scan.warnings) {
        found(Err(warning));
    }
    let catalog = Catalog::of(folder, options);
    let sorted = catalog
        .as_ref()
        .and_then(|catalog| catalog.sort(&scan, found))
        .unwrap_or_else(|| Sorted::unknown(&scan));
    let mut writing = catalog
        .as_ref()
        .and_then(|catalog| catalog.begin(&scan, &sorted));
    read_all(&sorted.unread, options, |log, read| {
        if let Some(writing) = writing.as_mut().filter(|_| read.is_same) {
            writing.add(log, &read.answer);
        }
        found(read.answer);
    });
    if let (Some(catalog), Some(writing)) = (&catalog, writing) {
        catalog.finish(writing, &sorted);
    }
    Ok(())
}

/// What a log says.
struct Read {
    answer: Answer,
    /// The file that was read is the one that the log was when the folder was looked at. Whether it
    /// was written since is up to its stamp; but names and links may lead elsewhere and back.
    is_same: bool,
}

fn read(log: &Log, mut options: OpenOptions) -> Read {
    // A small log is read whole and let go again: mapping it would cost more than it saves.
    if log.stamp.is_some_and(|stamp| stamp.len < SMALL_LOG) {
        options = options.reading(Reading::Read);
    }
    let mut is_same = false;
    let say = || {
        let is_it = |file: &LogFile| log.stamp.is_some_and(|stamp| stamp.is_of(file));
        let file = LogFile::open(&log.path, options.reading)?;
        is_same = is_it(&file);
        let session = Session::open_log(file, options)?;
        let info = session.info();
        // A wrong index makes a session open its log again.
        is_same &= info.is_ok() && is_it(&session.state().log);
        info
    };
    let answer = say().map_err(|error| error.at_path(&log.path));
    Read { answer, is_same }
}

/// Opens logs one after the other, many of them on two threads, and hands out what they say on this
/// one.
fn read_all<'s>(logs: &[&'s Log], options: &OpenOptions, mut found: impl FnMut(&'s Log, Read)) {
    let work = &Work::new(logs, options);
    let is_shared =
        logs.len() >= MANY && thread::available_parallelism().is_ok_and(|count| count.get() > 1);
    thread::scope(|scope| {
        let (send, receive) = mpsc::channel();
        let help = move || {
            while let Some(read) = work.next() {
                if send.send(read).is_err() {
                    break;
                }
            }
        };
        if is_shared {
            // Where no thread can be had, this one does it all.
            let _ = thread::Builder::new().spawn_scoped(scope, help);
        } else {
            drop(help);
        }
        while let Some((log, read)) = work.next() {
            found(log, read);
            for (log, read) in receive.try_iter() {
                found(log, read);
            }
        }
        for (log, read) in receive {
            found(log, read);
        }
    });
    work.finish();
}

/// Logs that are to be read, by whichever thread comes for the next one.
struct Work<'w, 's> {
    logs: &'w [&'s Log],
    next: AtomicUsize,
    options: &'w OpenOptions,
    /// Bytes of all of them.
    total: u64,
    /// Bytes of them that were read.
    done: Arc<AtomicU64>,
}

impl<'w, 's> Work<'w, 's> {
    fn new(logs: &'w [&'s Log], options: &'w OpenOptions) -> Self {
        let stamps = logs.iter().filter_map(|log| log.stamp);
        Self {
            logs,
            next: AtomicUsize::new(0),
            options,
            total: stamps.fold(0, |sum, stamp| sum.saturating_add(stamp.len)),
            done: Arc::default(),
        }
    }

    fn next(&self) -> Option<(&'s Log, Read)> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let log = *self.logs.get(number)?;
        Some((log, read(log, self.watched())))
    }

    /// The options for one log, whose progress is a part of that of all.
    fn watched(&self) -> OpenOptions {
        let options = self.options.clone();
        let Some(call) = options.progress.clone() else {
            return options;
        };
        let (all, total) = (Arc::clone(&self.done), self.total);
        let own = AtomicU64::new(0);
        options.progress(move |done, _| {
            let more = done.saturating_sub(own.fetch_max(done, Ordering::Relaxed));
            let before = all.fetch_add(more, Ordering::Relaxed);
            // A log may have grown meanwhile.
            call(before.saturating_add(more).min(total), total);
        })
    }

    /// All is done, whatever could not be read.
    fn finish(&self) {
        if let Some(call) = self
            .options
            .progress
            .as_ref()
            .filter(|_| !self.logs.is_empty())
        {
            call(self.total, self.total);
        }
    }
}
