//! Strings between their quotes and in memory. Decoding never fails: what is no character
//! becomes U+FFFD.

use std::borrow::Cow;

/// Decodes what stands between the quotes of a JSON string.
///
/// Lone surrogate escapes and invalid UTF-8 become U+FFFD, as does any escape that is none.
pub(crate) fn decode(raw: &[u8]) -> Cow<'_, str> {
    let Some(first) = memchr::memchr(b'\\', raw) else {
        return lossy(raw);
    };
    let mut out = Vec::with_capacity(raw.len());
    let (plain, mut rest) = raw.split_at(first);
    out.extend_from_slice(plain);
    while let [b'\\', escape, after @ ..] = rest {
        let after = match escape {
            b'u' => {
                let (character, after) = unicode(after);
                let mut utf8 = [0; 4];
                out.extend_from_slice(character.encode_utf8(&mut utf8).as_bytes());
                after
            }
            other => {
                out.push(simple(*other));
                after
            }
        };
        let next = memchr::memchr(b'\\', after).unwrap_or(after.len());
        let (plain, tail) = after.split_at(next);
        out.extend_from_slice(plain);
        rest = tail;
    }
    match String::from_utf8(out) {
        Ok(text) => Cow::Owned(text),
        Err(bad) => Cow::Owned(String::from_utf8_lossy(bad.as_bytes()).into_owned()),
    }
}

/// The byte that a one-letter escape stands for.
fn simple(escape: u8) -> u8 {
    match escape {
        b'b' => 0x08,
        b'f' => 0x0C,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        other => other,
    }
}

/// The character of the four digits after `\u`, with a second `\uXXXX` where both make a pair,
/// and what follows.
fn unicode(digits: &[u8]) -> (char, &[u8]) {
    let Some((unit, after)) = code_unit(digits) else {
        return (char::REPLACEMENT_CHARACTER, digits);
    };
    if (0xD800..0xDC00).contains(&unit)
        && let [b'\\', b'u', low @ ..] = after
        && let Some((second, after_pair)) = code_unit(low)
        && (0xDC00..0xE000).contains(&second)
    {
        let scalar = 0x10000 + ((unit - 0xD800) << 10) + (second - 0xDC00);
        return (
            char::from_u32(scalar).unwrap_or(char::REPLACEMENT_CHARACTER),
            after_pair,
        );
    }
    (
        char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER),
        after,
    )
}

/// Four hexadecimal digits and what follows.
fn code_unit(digits: &[u8]) -> Option<(u32, &[u8])> {
    let (four, after) = digits.split_at_checked(4)?;
    let mut unit = 0;
    for &digit in four {
        unit = unit * 16 + char::from(digit).to_digit(16)?;
    }
    Some((unit, after))
}

/// The bytes as text, each maximal invalid sequence as U+FFFD.
pub(crate) fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    match simdutf8::basic::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn escapes_decode_and_lone_surrogates_become_replacement_characters() {
        assert_eq!(decode(br"plain"), "plain");
        assert_eq!(decode(br#"a\n\"\\\/\u0041"#), "a\n\"\\/A");
        assert_eq!(decode(br"\ud83d\ude00"), "\u{1F600}");
        assert_eq!(decode(br"r\ud83d2"), "r\u{FFFD}2");
        assert_eq!(decode(br"\ud83d\u0041"), "\u{FFFD}A");
        assert_eq!(decode(br"\ude00\ud83d"), "\u{FFFD}\u{FFFD}");
        assert_eq!(decode(b"r\xff2"), "r\u{FFFD}2");
        assert_eq!(decode(b"\\n\xff"), "\n\u{FFFD}");
        assert_eq!(decode(br"\u12"), "\u{FFFD}12");
    }
}
