//! Progress of long work, on standard error, only where that is a terminal and only once half a
//! second has gone by. Short work is never disturbed by it, and answers never pass through it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::out::stderr_is_terminal;

/// Work shorter than this shows nothing.
const PATIENCE: Duration = Duration::from_millis(500);

const BAR: &str = "{msg} [{bar:30}] {binary_bytes} of {binary_total_bytes}, {elapsed}";
const COUNT: &str = "{msg} {spinner} {binary_bytes}, {elapsed}";

/// Bytes that were done, of all there are if that is known.
#[derive(Clone)]
pub(crate) struct Progress {
    shared: Option<Arc<Shared>>,
}

struct Shared {
    what: String,
    began: Instant,
    over: AtomicBool,
    /// Bytes of files that were done before the one that is read now.
    before: AtomicU64,
    last: AtomicU64,
    bar: OnceLock<ProgressBar>,
}

impl Progress {
    /// Starts to watch work that `what` names.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        let shared = stderr_is_terminal().then(|| {
            Arc::new(Shared {
                what: what.into(),
                began: Instant::now(),
                over: AtomicBool::new(false),
                before: AtomicU64::new(0),
                last: AtomicU64::new(0),
                bar: OnceLock::new(),
            })
        });
        Self { shared }
    }

    /// Bytes done of one known total.
    pub(crate) fn of(&self, done: u64, total: u64) {
        if let Some(shared) = self.shared.as_deref() {
            shared.show(done, Some(total));
        }
    }

    /// Bytes done of one file among others: only their sum is shown.
    pub(crate) fn of_some_file(&self, done: u64) {
        if let Some(shared) = self.shared.as_deref() {
            let last = shared.last.swap(done, Ordering::Relaxed);
            if done < last {
                shared.before.fetch_add(last, Ordering::Relaxed);
            }
            let before = shared.before.load(Ordering::Relaxed);
            shared.show(before.saturating_add(done), None);
        }
    }

    /// Takes the bar away; later calls show nothing.
    pub(crate) fn finish(&self) {
        if let Some(shared) = self.shared.as_deref() {
            shared.over.store(true, Ordering::Relaxed);
            if let Some(bar) = shared.bar.get() {
                bar.finish_and_clear();
            }
        }
    }
}

impl Shared {
    fn show(&self, done: u64, total: Option<u64>) {
        if self.over.load(Ordering::Relaxed) || self.began.elapsed() < PATIENCE {
            return;
        }
        let bar = self.bar.get_or_init(|| {
            let (bar, template) = match total {
                Some(total) => (ProgressBar::new(total), BAR),
                None => (ProgressBar::new_spinner(), COUNT),
            };
            // No speed is shown: what was done before the bar came would count as its first step.
            bar.with_style(style(template))
                .with_message(self.what.clone())
                .with_elapsed(self.began.elapsed())
        });
        // One folder after the other may be read.
        if let Some(total) = total.filter(|&total| bar.length() != Some(total)) {
            bar.set_length(total);
        }
        bar.set_position(done);
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
}

/// Something turning while work goes on that tells nothing of its progress. Dropping it takes it away.
pub(crate) struct Spinner {
    running: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Spinner {
    /// Starts it.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        let what = what.into();
        let running = stderr_is_terminal().then(|| {
            let (stop, stopped) = mpsc::channel();
            let thread = thread::spawn(move || {
                if stopped.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                    let bar = ProgressBar::new_spinner()
                        .with_style(style("{msg} {spinner} {elapsed}"))
                        .with_message(what);
                    bar.enable_steady_tick(Duration::from_millis(100));
                    let _ = stopped.recv();
                    bar.finish_and_clear();
                }
            });
            (stop, thread)
        });
        Self { running }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            drop(stop);
            let _ = thread.join();
        }
    }
}
