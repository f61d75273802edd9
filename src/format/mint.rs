//! Ids for what is new: unique everywhere, and later ones sort behind earlier ones. Asks only the
//! clock and the system's randomness.

use std::time::{SystemTime, UNIX_EPOCH};

/// A UUID of version 7. Those of one process are in order even within a millisecond.
pub(crate) fn uuid_v7() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// 8 hexadecimal digits of 4 random bytes. They repeat: among some ten thousand of one file two
/// are likely equal, so whoever makes one looks whether it is in use.
pub(crate) fn hex_id() -> String {
    let (.., tail) = uuid::Uuid::new_v4().as_u64_pair();
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
    use super::uuid_v7;

    #[test]
    fn later_ids_sort_behind_earlier_ones() {
        let ids: Vec<String> = (0..10_000).map(|_| uuid_v7()).collect();
        assert!(ids.is_sorted());
        assert!(ids.windows(2).all(|pair| pair.first() != pair.last()));
    }
}
