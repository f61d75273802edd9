//! Small JSON helpers: is a text JSON, which parts does an object or array have, what does a string say.
//! For the naive replay only. They never recurse, never build a tree and never change a spelling.

use std::borrow::Cow;

use serde_json::value::RawValue;

/// The largest whole number that every reader of JSON reads exactly.
const MAX_WHOLE: i64 = (1 << 53) - 1;

/// The one JSON value that the text is, without the white space around it.
///
/// `RawValue` checks the grammar without recursion and without reading numbers or surrogates,
/// so depth, `1e999` and lone surrogates pass.
pub(super) fn checked(text: &str) -> Option<&str> {
    serde_json::from_str::<&RawValue>(text)
        .ok()
        .map(RawValue::get)
}

/// The fields of an object, in the order they stand there.
pub(super) struct Fields<'a> {
    list: Vec<Field<'a>>,
}

struct Field<'a> {
    key: Cow<'a, str>,
    value: &'a str,
    /// Where the value starts in the object's text.
    at: usize,
}

impl<'a> Fields<'a> {
    /// The fields of a checked JSON text; none if it is no object.
    pub(super) fn of(object: &'a str) -> Self {
        let mut list = Vec::new();
        if is_object(object) {
            let mut parts = values(object).into_iter();
            while let (Some((_, key)), Some((at, value))) = (parts.next(), parts.next()) {
                list.push(Field {
                    key: decode(key),
                    value,
                    at,
                });
            }
        }
        Self { list }
    }

    /// The raw value of a key, `null` included. Where a key is repeated the last one counts.
    pub(super) fn get(&self, key: &str) -> Option<&'a str> {
        self.last(key).map(|field| field.value)
    }

    /// The raw value of a key, where `null` counts as absent.
    pub(super) fn some(&self, key: &str) -> Option<&'a str> {
        self.get(key).filter(|value| !is_null(value))
    }

    /// The decoded value of a key that holds a string.
    pub(super) fn string(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key).and_then(string)
    }

    /// Whether the key holds exactly this string.
    pub(super) fn is(&self, key: &str, text: &str) -> bool {
        self.string(key).is_some_and(|value| value == text)
    }

    /// The keys as they decode, in order.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|field| field.key.as_ref())
    }

    fn last(&self, key: &str) -> Option<&Field<'a>> {
        self.list.iter().rev().find(|field| field.key == key)
    }
}

/// The raw elements of a checked JSON text; none if it is no array.
pub(super) fn elements(array: &str) -> Vec<&str> {
    if !is_array(array) {
        return Vec::new();
    }
    values(array).into_iter().map(|(_, value)| value).collect()
}

/// The object with one value replaced where the last such key stands, or added at its end.
pub(super) fn with_field(object: &str, key: &str, value: &str) -> String {
    let fields = Fields::of(object);
    let (before, middle, after) = if let Some(field) = fields.last(key) {
        let end = field.at.saturating_add(field.value.len());
        (object.get(..field.at), String::new(), object.get(end..))
    } else {
        let comma = if fields.list.is_empty() { "" } else { "," };
        let end = object.len().saturating_sub(1);
        let name = format!("{comma}\"{key}\":");
        (object.get(..end), name, object.get(end..))
    };
    let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
    format!("{before}{middle}{value}{after}")
}

/// The values directly inside an object (keys and values in turn) or array, each with its place.
fn values(container: &str) -> Vec<(usize, &str)> {
    let bytes = container.as_bytes();
    let mut found = Vec::new();
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' | b',' | b':' => at += 1,
            b'}' | b']' => break,
            _ => {
                let end = value_end(bytes, at);
                found.push((at, container.get(at..end).unwrap_or_default()));
                at = end;
            }
        }
    }
    found
}

/// One past the end of the value that starts here.
fn value_end(bytes: &[u8], start: usize) -> usize {
    match bytes.get(start) {
        Some(b'"') => string_end(bytes, start),
        Some(b'{' | b'[') => container_end(bytes, start).unwrap_or(bytes.len()),
        _ => {
            let mut end = start + 1;
            while let Some(byte) = bytes.get(end) {
                if matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b',' | b'}' | b']') {
                    break;
                }
                end += 1;
            }
            end
        }
    }
}

/// One past the quote that closes the string that starts here, or the end of the text.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// One past the bracket that closes the one that opens here. The text need not be JSON: if a
/// value starts here, this is its end, and checking the span tells whether one does.
pub(super) fn container_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = start;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = string_end(bytes, at);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// What a raw string says; `None` for any other value.
pub(super) fn string(raw: &str) -> Option<Cow<'_, str>> {
    is_string(raw).then(|| decode(raw))
}

/// The text of a raw string, each lone surrogate as U+FFFD.
fn decode(raw: &str) -> Cow<'_, str> {
    let inner = raw
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .unwrap_or(raw);
    if !inner.contains('\\') {
        return Cow::Borrowed(inner);
    }
    let mut text = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some((plain, escape)) = rest.split_once('\\') {
        text.push_str(plain);
        let mut chars = escape.chars();
        let letter = chars.next();
        rest = chars.as_str();
        match letter {
            Some('b') => text.push('\u{8}'),
            Some('f') => text.push('\u{c}'),
            Some('n') => text.push('\n'),
            Some('r') => text.push('\r'),
            Some('t') => text.push('\t'),
            Some('u') => {
                let (character, after) = code_point(rest);
                text.push(character);
                rest = after;
            }
            Some(other) => text.push(other),
            None => {}
        }
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// The character of a `\u` escape, given what follows the `u`, and what follows the escape.
fn code_point(digits: &str) -> (char, &str) {
    let Some((unit, rest)) = four_digits(digits) else {
        return (char::REPLACEMENT_CHARACTER, digits);
    };
    if (0xD800..0xDC00).contains(&unit) {
        let low = rest.strip_prefix("\\u").and_then(four_digits);
        if let Some((low, after)) = low
            && (0xDC00..0xE000).contains(&low)
        {
            let code = 0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
            let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
            return (character, after);
        }
    }
    // A surrogate that is left alone is no character.
    let character = char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER);
    (character, rest)
}

fn four_digits(text: &str) -> Option<(u32, &str)> {
    let unit = u32::from_str_radix(text.get(..4)?, 16).ok()?;
    Some((unit, text.get(4..)?))
}

/// Whether a raw value is an object.
pub(super) fn is_object(raw: &str) -> bool {
    raw.starts_with('{')
}

/// Whether a raw value is an array.
pub(super) fn is_array(raw: &str) -> bool {
    raw.starts_with('[')
}

/// Whether a raw value is a string.
pub(super) fn is_string(raw: &str) -> bool {
    raw.starts_with('"')
}

/// Whether a raw value is `null`.
pub(super) fn is_null(raw: &str) -> bool {
    raw == "null"
}

/// The value of a number, infinite where it is out of range; `None` for any other value.
pub(super) fn number(raw: &str) -> Option<f64> {
    let numeric = raw.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    numeric.then(|| raw.parse().ok()).flatten()
}

/// A number without a fraction of at most 2^53 - 1, however it is spelled (`3`, `3.0`, `3e0`).
pub(super) fn whole(raw: &str) -> Option<i64> {
    let value = number(raw)?;
    if value.fract() != 0.0 {
        return None;
    }
    Some(cut(value)).filter(|whole| (-MAX_WHOLE..=MAX_WHOLE).contains(whole))
}

/// A number without its fraction: the nearest whole number that fits.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the cast keeps to the range of i64, which is what is asked for"
)]
pub(super) fn cut(value: f64) -> i64 {
    value.trunc() as i64
}

/// What was found, for a sentence: the type, and a short value itself.
pub(super) fn found(raw: Option<&str>) -> String {
    match raw {
        None => "nothing".to_owned(),
        Some(raw) if is_object(raw) => "an object".to_owned(),
        Some(raw) if is_array(raw) => "an array".to_owned(),
        Some(raw) if is_string(raw) => format!("the string {}", excerpt(raw)),
        Some(raw) => excerpt(raw),
    }
}

/// The start of a text for a sentence, without control characters.
pub(super) fn excerpt(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut short = String::new();
    for (count, character) in text.chars().enumerate() {
        if count == LONGEST {
            short.push('…');
            break;
        }
        if character.is_control() {
            short.extend(character.escape_default());
        } else {
            short.push(character);
        }
    }
    short
}
