//! Ids for what is new: unique everywhere, and later ones sort behind earlier ones. Asks only the
//! clock and the system's randomness.

use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use uuid::{Builder, Uuid};

/// What the last UUID of this process was made of.
static LAST: Mutex<Last> = Mutex::new(Last {
    millis: 0,
    tail: 0,
    step: 0,
});

struct Last {
    millis: u64,
    /// What follows the time: 74 bits, drawn once in a millisecond and counted on from there.
    tail: u128,
    step: u128,
}

/// Bits of a UUID of version 7 behind its time, in two pieces.
const TAIL: u32 = 74;
const SECOND: u32 = 62;

impl Last {
    /// The next one at a time. A clock that was set back does not set ids back.
    fn next(&mut self, millis: u64) -> Uuid {
        if millis > self.millis {
            let (high, low) = Uuid::new_v4().as_u64_pair();
            self.millis = millis;
            // The highest bit is left free, so that a millisecond has room for all that it may see.
            self.tail =
                (u128::from(high & 0x7FF) << SECOND) | u128::from(low & ((1 << SECOND) - 1));
            self.step = u128::from((high >> 32) | 1);
        } else {
            self.tail = (self.tail + self.step) & ((1 << TAIL) - 1);
        }
        let mut bytes = [0; 10];
        let first = (self.tail >> SECOND).to_be_bytes();
        let second = (self.tail & ((1 << SECOND) - 1)).to_be_bytes();
        // The two pieces stand at the ends of their numbers; version and variant go before them.
        if let (Some(high), Some(low)) = (first.last_chunk::<2>(), second.last_chunk::<8>()) {
            let (front, back) = bytes.split_at_mut(2);
            front.copy_from_slice(high);
            back.copy_from_slice(low);
        }
        Builder::from_unix_timestamp_millis(self.millis, &bytes).into_uuid()
    }
}

/// A UUID of version 7. Those of one process are in order even within a millisecond.
pub(crate) fn uuid_v7() -> String {
    uuid_v7_at(now_nanos())
}

/// The same for a time that was just asked for, in nanoseconds since 1970.
pub(crate) fn uuid_v7_at(nanos: u64) -> String {
    let id = LAST.lock().next(nanos / 1_000_000);
    let mut text = Uuid::encode_buffer();
    id.hyphenated().encode_lower(&mut text).to_owned()
}

/// 8 hexadecimal digits of 4 random bytes. They repeat: among some ten thousand of one file two
/// are likely equal, so whoever makes one looks whether it is in use.
pub(crate) fn hex_id() -> String {
    let (.., tail) = Uuid::new_v4().as_u64_pair();
    format!("{:08x}", tail & 0xffff_ffff)
}

/// Whether an id is of that shape.
pub(crate) fn is_hex_id(id: &str) -> bool {
    id.len() == 8 && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Nanoseconds since 1970; 0 for a clock that stands before it.
pub(crate) fn now_nanos() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| u64::try_from(since.as_nanos()).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{Last, uuid_v7};

    #[test]
    fn later_ids_sort_behind_earlier_ones() {
        let ids: Vec<String> = (0..10_000).map(|_| uuid_v7()).collect();
        assert!(ids.is_sorted());
        assert!(ids.windows(2).all(|pair| pair.first() != pair.last()));
    }

    #[test]
    fn ids_are_uuids_of_version_7_with_their_time_whatever_the_clock_does() {
        let mut last = Last {
            millis: 0,
            tail: 0,
            step: 0,
        };
        let clock = [7, 7, 9, 8, 9, 1 << 40, 3, 3];
        let ids = clock.map(|millis| last.next(millis));
        assert!(ids.is_sorted_by(|one, next| one < next));
        for (id, time) in ids.iter().zip([7, 7, 9, 9, 9, 1 << 40, 1 << 40, 1 << 40]) {
            assert_eq!(id.get_version_num(), 7);
            assert_eq!(id.get_variant(), uuid::Variant::RFC4122);
            assert_eq!(id.as_u64_pair().0 >> 16, time);
        }
    }

    #[test]
    fn two_processes_make_other_ids_in_the_same_millisecond() {
        let ids = || {
            let mut last = Last {
                millis: 0,
                tail: 0,
                step: 0,
            };
            (0..1000).map(|_| last.next(5)).collect::<Vec<_>>()
        };
        let (one, other) = (ids(), ids());
        assert!(one.iter().all(|id| !other.contains(id)));
    }
}
