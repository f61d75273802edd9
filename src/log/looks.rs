//! When a file that another program may change is looked at again: before each use, but for those
//! of a fast run. Knows no file; whoever asks brings the look.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Uses that begin this soon one after the other, in nanoseconds, are taken for a run, in which
/// nobody in this process can have touched the file in between.
const RUN: u64 = 4_000;
/// In a run the file is looked at this often, in nanoseconds.
const LOOK: u64 = 1_000_000;

/// When a file was used last, and looked at.
#[derive(Debug)]
pub(crate) struct Looks {
    begun: Instant,
    /// In nanoseconds since then, and never 0: that is for what has not been.
    used: AtomicU64,
    looked: AtomicU64,
}

impl Looks {
    pub(crate) fn new() -> Self {
        Self {
            begun: Instant::now(),
            used: AtomicU64::new(0),
            looked: AtomicU64::new(0),
        }
    }

    /// Looks, unless that was done just now in the same run. A look that failed is done again by the
    /// next one who asks, however soon. A look is a system call, a good part of what small uses cost.
    pub(crate) fn look<E>(&self, look: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let now = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let now = now.max(1);
        let used = self.used.swap(now, Ordering::Relaxed);
        let looked = self.looked.load(Ordering::Relaxed);
        if looked > 0 && now.saturating_sub(used) < RUN && now.saturating_sub(looked) < LOOK {
            return Ok(());
        }
        let outcome = look();
        let looked = if outcome.is_ok() { now } else { 0 };
        self.looked.store(looked, Ordering::Relaxed);
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::Looks;

    #[test]
    fn a_look_that_failed_is_done_again_however_soon() {
        let looks = Looks::new();
        let count = Cell::new(0);
        let look = |outcome: Result<(), ()>| {
            looks.look(|| {
                count.set(count.get() + 1);
                outcome
            })
        };
        assert_eq!(look(Ok(())), Ok(()));
        assert_eq!(count.get(), 1);
        // In a run it is left out, and if it was done it failed: then each further one is done.
        while look(Err(())).is_ok() {
            assert_eq!(count.get(), 1);
        }
        for before in 2..100 {
            assert_eq!(count.get(), before);
            assert_eq!(look(Err(())), Err(()));
        }
    }
}
