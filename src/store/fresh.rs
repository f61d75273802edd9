//! What is made up when a caller gives none: ids, and the time. Ids are random enough never to
//! meet in one session; they keep no secret.

use std::time::{SystemTime, UNIX_EPOCH};

/// Nanoseconds since 1970; 0 on a clock that stands before that.
pub(super) fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| u64::try_from(since.as_nanos()).ok())
        .unwrap_or(0)
}

/// 64 random bits, of the kind that the tables of the standard library are seeded with.
pub(super) fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
    hasher.write_u64(now());
    hasher.finish()
}

/// 8 hexadecimal digits: the ids of codebot's sessions and entries, and of pi's entries.
pub(super) fn short_id() -> String {
    format!("{:08x}", random() >> 32)
}

/// A UUID of version 7: ids that sort by the time they were made at, in nanoseconds.
pub(super) fn time_id(nanos: u64) -> String {
    let millis = nanos / 1_000_000;
    let random = random();
    format!(
        "{:08x}-{:04x}-7{:03x}-{:04x}-{:012x}",
        millis >> 16,
        millis & 0xFFFF,
        random >> 52,
        0x8000 | ((random >> 38) & 0x3FFF),
        self::random() & 0xFFFF_FFFF_FFFF,
    )
}

#[cfg(test)]
mod tests {
    use super::{short_id, time_id};

    #[test]
    fn ids_have_their_shape_and_sort_by_time() {
        let id = time_id(1_784_019_600_000_000_000);
        assert_eq!((id.len(), &id[14..15]), (36, "7"));
        assert!(matches!(&id[19..20], "8" | "9" | "a" | "b"));
        assert!(id < time_id(1_784_019_601_000_000_000));
        assert_eq!(short_id().len(), 8);
        assert_ne!(time_id(0), time_id(0));
    }
}
