//! Which file a log is and when it was written last, closely enough that two equal stamps mean equal
//! bytes: if the file was not written in the same tick of the clock in which the first was taken.

use std::fs::Metadata;
use std::path::Path;

use crate::log::LogFile;

/// What the system says of a file that changes whenever its bytes do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store::repository) struct Stamp {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(in crate::store::repository) len: u64,
    /// When it was written last, in nanoseconds since 1970. A program can set it.
    pub(super) modified: i64,
    /// When anything about it changed last, which no program can set.
    pub(super) changed: i64,
}

impl Stamp {
    /// Of the file that a path leads to.
    pub(in crate::store::repository) fn at(path: &Path) -> Option<Self> {
        Self::of(&std::fs::metadata(path).ok()?)
    }

    /// None for what is no regular file, for times that 64 bits cannot say, and on systems that do not
    /// tell when anything about a file changed last.
    pub(in crate::store::repository) fn of(metadata: &Metadata) -> Option<Self> {
        if !metadata.is_file() {
            return None;
        }
        #[cfg(unix)]
        {
            use crate::log::nanos;
            use std::os::unix::fs::MetadataExt;
            Some(Self {
                device: metadata.dev(),
                inode: metadata.ino(),
                len: metadata.len(),
                modified: nanos(metadata.mtime(), metadata.mtime_nsec())?,
                changed: nanos(metadata.ctime(), metadata.ctime_nsec())?,
            })
        }
        #[cfg(not(unix))]
        None
    }

    /// Whether a log that was opened is this file, at this length.
    pub(in crate::store::repository) fn is_of(&self, log: &LogFile) -> bool {
        let opened = log.identity();
        (opened.device, opened.inode, log.len()) == (self.device, self.inode, self.len)
    }
}

/// Clocks of different devices may differ by this much, in nanoseconds, and file systems may count in
/// steps of some seconds.
const SLACK: i64 = 60_000_000_000;

/// A moment by the clock that the files of a device are stamped with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) nanos: i64,
    pub(super) device: u64,
}

impl Moment {
    /// When a file was made that is just made.
    pub(super) fn of(made: &Metadata) -> Option<Self> {
        let stamp = Stamp::of(made)?;
        Some(Self {
            nanos: stamp.modified.max(stamp.changed),
            device: stamp.device,
        })
    }

    /// Whether a file was written before this moment for sure, so that whatever is written to it at
    /// or behind the moment gives it another stamp. Git's rule for its index: one that was written in
    /// the same tick of the clock may be written again in that tick.
    pub(super) fn is_behind(&self, stamp: &Stamp) -> bool {
        let slack = if self.device == stamp.device {
            0
        } else {
            SLACK
        };
        stamp.modified.max(stamp.changed).saturating_add(slack) < self.nanos
    }

    /// Whether the system's clock says that this is yet to come: it was set back since.
    pub(super) fn is_to_come(&self) -> bool {
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .ok()
            .and_then(|since| i64::try_from(since.as_nanos()).ok())
            .unwrap_or(0);
        self.nanos > now.saturating_add(SLACK)
    }
}

#[cfg(test)]
mod tests {
    use super::{Moment, SLACK, Stamp};

    fn stamp(device: u64, modified: i64, changed: i64) -> Stamp {
        Stamp {
            device,
            inode: 1,
            len: 1,
            modified,
            changed,
        }
    }

    #[test]
    fn only_what_is_strictly_older_on_the_same_clock_is_behind_a_moment() {
        let moment = Moment {
            nanos: 1_000,
            device: 7,
        };
        assert!(moment.is_behind(&stamp(7, 999, 999)));
        for (modified, changed) in [(1_000, 999), (999, 1_000), (1_001, 0), (0, i64::MAX)] {
            assert!(!moment.is_behind(&stamp(7, modified, changed)));
        }
    }

    #[test]
    fn files_of_another_device_must_be_older_by_a_minute() {
        let moment = Moment {
            nanos: SLACK + 1_000,
            device: 7,
        };
        assert!(moment.is_behind(&stamp(8, 999, 999)));
        assert!(!moment.is_behind(&stamp(8, 1_000, 999)));
    }

    #[test]
    fn a_moment_far_behind_now_is_to_come() {
        let at = |nanos| Moment { nanos, device: 0 };
        assert!(at(i64::MAX).is_to_come());
        assert!(!at(1_784_019_600_000_000_000).is_to_come() || !at(0).is_to_come());
        assert!(!at(0).is_to_come());
    }
}
