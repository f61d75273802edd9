//! New ids: time-ordered ones, and the short ones of codebot and pi's command line.

use uuid::Uuid;

/// A UUID version 7: ids made later in this process sort later.
pub(crate) fn uuid_v7() -> String {
    Uuid::now_v7().to_string()
}

/// 8 hexadecimal digits of 4 random bytes. They repeat: about once in 65,536 ids of one file it
/// is likely that two are equal, so whoever makes one looks whether it is in use.
pub(crate) fn hex_id() -> String {
    let (.., tail) = Uuid::new_v4().as_u64_pair();
    format!("{:08x}", tail & 0xffff_ffff)
}

/// Whether an id is of that shape.
pub(crate) fn is_hex_id(id: &str) -> bool {
    id.len() == 8 && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}
