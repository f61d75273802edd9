//! When a file that another program may change is looked at again: before each use, but for those
//! of a fast run. Knows no file and no clock; whoever asks brings the look and the time.

use std::sync::atomic::{AtomicU64, Ordering};

/// A use that begins this soon after the end of the one before, in nanoseconds, goes on with its run, in
/// which nobody in this process can have touched the file in between. How long uses take does not count:
/// else what made one slow would have the next ones look, and looking would keep them slow.
const RUN: u64 = 4_000;
/// In a run the file is looked at this often, in nanoseconds.
const LOOK: u64 = 1_000_000;

/// When the last use of a file ended, and when it was looked at, in nanoseconds since 1970; 0: not yet.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    ended: AtomicU64,
    looked: AtomicU64,
}

impl Looks {
    /// Looks before a use that begins now, unless that was done just now in the same run. A look that
    /// failed is done again by the next one who asks, however soon; so is one that lies ahead, on a
    /// clock that was set back. A look is a system call, a good part of what small uses cost.
    pub(crate) fn look<E>(&self, now: u64, look: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        // Threads that come at once may take each other's times: all of them are of the same run.
        let ended = self.ended.load(Ordering::Relaxed);
        let looked = self.looked.load(Ordering::Relaxed);
        let is_within = |since: u64, most: u64| since > 0 && since <= now && now - since < most;
        if is_within(ended, RUN) && is_within(looked, LOOK) {
            return Ok(());
        }
        let outcome = look();
        let looked = if outcome.is_ok() { now } else { 0 };
        self.looked.store(looked, Ordering::Relaxed);
        outcome
    }

    /// A use ended now.
    pub(crate) fn used(&self, now: u64) {
        self.ended.store(now, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::{LOOK, Looks, RUN};

    /// A use without length at a time; whether that came to a look.
    fn is_looked_at(looks: &Looks, now: u64, outcome: Result<(), ()>) -> bool {
        let done = Cell::new(false);
        let told = looks.look(now, || {
            done.set(true);
            outcome
        });
        assert_eq!(told, if done.get() { outcome } else { Ok(()) });
        looks.used(now);
        done.get()
    }

    #[test]
    fn how_long_a_use_takes_does_not_end_a_run() {
        let looks = Looks::default();
        let mut now = 1 << 60;
        assert!(is_looked_at(&looks, now, Ok(())));
        for _ in 0..10 {
            looks.used(now + 10 * RUN);
            now += 11 * RUN - 1;
            assert!(!is_looked_at(&looks, now, Ok(())));
        }
    }

    #[test]
    fn a_look_is_left_out_in_a_run_only_and_not_for_long() {
        let looks = Looks::default();
        let start = 1 << 60;
        assert!(is_looked_at(&looks, start, Ok(())));
        assert!(is_looked_at(&looks, start + RUN, Ok(())));
        let steps = (1..).map(|step| start + RUN + step * (RUN - 1));
        for now in steps.take_while(|now| now - start - RUN < LOOK) {
            assert!(!is_looked_at(&looks, now, Ok(())));
        }
        assert!(is_looked_at(&looks, start + RUN + LOOK, Ok(())));
    }

    #[test]
    fn a_look_that_failed_is_done_again_however_soon() {
        let looks = Looks::default();
        assert!(is_looked_at(&looks, 1000, Ok(())));
        assert!(!is_looked_at(&looks, 1001, Err(())));
        assert!(is_looked_at(&looks, 1001 + RUN, Err(())));
        for now in 1002 + RUN..1100 + RUN {
            assert!(is_looked_at(&looks, now, Err(())));
        }
        assert!(is_looked_at(&looks, 1100 + RUN, Ok(())));
        assert!(!is_looked_at(&looks, 1101 + RUN, Ok(())));
    }

    #[test]
    fn a_clock_that_was_set_back_leaves_no_look_out() {
        let looks = Looks::default();
        assert!(is_looked_at(&looks, 1 << 50, Ok(())));
        assert!(is_looked_at(&looks, 1 << 40, Ok(())));
        assert!(!is_looked_at(&looks, (1 << 40) + 1, Ok(())));
    }
}
