//! A plain second reading of single lines: serde_json says what is JSON and where values stand, this
//! file what a string, a number, a time and an envelope say. Shares no code with the library.

use leaflog::Format;
use leaflog::fuzzing::{Envelope, Tree};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The one value that a text is, without the white space around it; none if it is no JSON.
pub fn value(text: &str) -> Option<&str> {
    serde_json::from_str::<&RawValue>(text)
        .ok()
        .map(RawValue::get)
}

/// The keys of an object, decoded, and its raw values, in order.
pub fn members(object: &str) -> Vec<(String, &str)> {
    if !object.starts_with('{') {
        return Vec::new();
    }
    let members = serde_json::from_str::<Members<'_>>(object);
    members.map(|it| it.0).unwrap_or_default()
}

/// The raw elements of an array.
pub fn elements(array: &str) -> Vec<&str> {
    if !array.starts_with('[') {
        return Vec::new();
    }
    let elements = serde_json::from_str::<Vec<&RawValue>>(array);
    elements
        .map(|list| list.into_iter().map(RawValue::get).collect())
        .unwrap_or_default()
}

struct Members<'a>(Vec<(String, &'a str)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some((key, value)) = map.next_entry::<Text, &RawValue>()? {
                    members.push((key.0, value.get()));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

/// A string read as bytes: serde_json refuses lone surrogates in text, but not in bytes.
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Text;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Text, E> {
                Ok(Text(without_surrogates(bytes)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Text, E> {
                Ok(Text(text.to_owned()))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

/// A text that may hold surrogates in the way of UTF-8, each of them as U+FFFD.
fn without_surrogates(bytes: &[u8]) -> String {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&first, after)) = rest.split_first() {
        if let [0xED, 0xA0..=0xBF, _, after @ ..] = rest {
            out.extend_from_slice("\u{FFFD}".as_bytes());
            rest = after;
        } else {
            out.push(first);
            rest = after;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// What a raw string says; none for other values.
pub fn string(raw: &str) -> Option<String> {
    if !raw.starts_with('"') {
        return None;
    }
    serde_json::from_str::<Text>(raw).ok().map(|text| text.0)
}

/// A number by the standard library's parsers; none for other values.
pub fn number(raw: &str) -> Option<Tree> {
    if !raw.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
        return None;
    }
    Some(match raw.parse() {
        Ok(whole) => Tree::Whole(whole),
        Err(_) => Tree::Real(raw.parse().ok()?),
    })
}

/// A raw value, down to so many levels.
pub fn tree(raw: &str, levels: usize) -> Tree {
    if let Some(text) = string(raw) {
        return Tree::Text(text);
    }
    if let Some(number) = number(raw) {
        return number;
    }
    match raw {
        "true" => return Tree::Truth(true),
        "false" => return Tree::Truth(false),
        "null" => return Tree::Null,
        _ => {}
    }
    let Some(levels) = levels.checked_sub(1) else {
        return Tree::Deeper;
    };
    if raw.starts_with('[') {
        let list = elements(raw).into_iter();
        return Tree::List(list.map(|item| tree(item, levels)).collect());
    }
    let fields = members(raw).into_iter();
    Tree::Object(
        fields
            .map(|(key, value)| (key, tree(value, levels)))
            .collect(),
    )
}

/// The raw value of the last field with a key.
pub fn last<'a>(members: &[(String, &'a str)], key: &str) -> Option<&'a str> {
    let found = members.iter().rev().find(|(name, _)| name == key);
    found.map(|(_, value)| *value)
}

/// The farthest time from 1970, in milliseconds.
const FARTHEST: i64 = 8_640_000_000_000_000;

/// The time of a raw value in `timestamp`, by the table of section 3 of `docs/formats.md`.
pub fn time_of(format: Format, raw: &str) -> Option<i64> {
    let millis = || {
        let time = match number(raw)? {
            Tree::Whole(whole) => whole,
            Tree::Real(real) if real.abs() <= FARTHEST as f64 => real as i64,
            _ => return None,
        };
        (-FARTHEST..=FARTHEST).contains(&time).then_some(time)
    };
    match format {
        Format::CodebotV3 => time(&string(raw)?, true),
        Format::PiV4 => millis(),
        _ => match string(raw) {
            Some(text) => time(&text, false),
            None => millis(),
        },
    }
}

/// A written time in milliseconds since 1970. `strict`: with seconds and zone.
pub fn time(text: &str, strict: bool) -> Option<i64> {
    let bytes = text.as_bytes();
    // The shape with every digit as `0`; the fraction apart.
    let (whole, fraction) = match bytes.get(19..) {
        Some([b'.', rest @ ..]) => {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits == 0 {
                return None;
            }
            let (digits, zone) = rest.split_at(digits);
            let whole = [&bytes[..19], zone].concat();
            let first: Vec<u8> = digits.iter().copied().chain(*b"000").take(3).collect();
            let millis: i64 = std::str::from_utf8(&first).ok()?.parse().ok()?;
            // A fraction needs seconds before it.
            if bytes.get(16) != Some(&b':') {
                return None;
            }
            (whole, millis)
        }
        _ => (bytes.to_vec(), 0),
    };
    let shape: Vec<u8> = whole
        .iter()
        .map(|&byte| match byte {
            b'0'..=b'9' => b'0',
            b't' | b' ' => b'T',
            b'z' => b'Z',
            b'-' | b'+' => b'-',
            // Not to be taken for one of the others.
            b'T' | b'Z' | b':' => byte,
            _ => b'?',
        })
        .collect();
    let (seconds, zone) = match shape.as_slice() {
        b"0000-00-00" if !strict => (false, ""),
        b"0000-00-00T00:00" if !strict => (false, ""),
        b"0000-00-00T00:00Z" if !strict => (false, "Z"),
        b"0000-00-00T00:00-00:00" if !strict => (false, "+"),
        b"0000-00-00T00:00:00" if !strict => (true, ""),
        b"0000-00-00T00:00:00Z" => (true, "Z"),
        b"0000-00-00T00:00:00-00:00" => (true, "+"),
        _ => return None,
    };
    if whole[4] != b'-' || whole[7] != b'-' {
        return None;
    }
    let digits = |at: usize, count: usize| -> Option<i64> {
        let text = std::str::from_utf8(whole.get(at..at + count)?).ok()?;
        text.parse().ok()
    };
    let (year, month, day) = (digits(0, 4)?, digits(5, 2)?, digits(8, 2)?);
    let (hour, minute) = (digits(11, 2).unwrap_or(0), digits(14, 2).unwrap_or(0));
    let second = if seconds { digits(17, 2)? } else { 0 };
    if !(1..=12).contains(&month) || day == 0 || day > days_of_month(year, month) {
        return None;
    }
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let offset = if zone == "+" {
        let at = whole.len() - 6;
        let (hours, minutes) = (digits(at + 1, 2)?, digits(at + 4, 2)?);
        if hours > 23 || minutes > 59 {
            return None;
        }
        let offset = hours * 60 + minutes;
        if whole[at] == b'+' { offset } else { -offset }
    } else {
        0
    };
    let mut days = day - 1;
    for month in 1..month {
        days += days_of_month(year, month);
    }
    for year in year.min(1970)..year.max(1970) {
        days += if is_before_1970(year) {
            -days_of_year(year)
        } else {
            days_of_year(year)
        };
    }
    Some(((days * 24 + hour) * 60 + minute - offset) * 60_000 + second.min(59) * 1000 + fraction)
}

fn is_before_1970(year: i64) -> bool {
    year < 1970
}

fn days_of_year(year: i64) -> i64 {
    (1..=12).map(|month| days_of_month(year, month)).sum()
}

/// Days of a month of the Gregorian calendar.
pub fn days_of_month(year: i64, month: i64) -> i64 {
    let is_leap = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0);
    match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The envelope of an object, by section 3 of `docs/formats.md`. None for the lines of pi v4 that
/// are neither entries nor records.
pub fn envelope(format: Format, members: &[(String, &str)]) -> Option<Envelope> {
    let raw = |key: &str| last(members, key);
    let text = |key: &str| raw(key).and_then(string);
    let skipped = Some(Envelope::default());
    let is_codebot = format == Format::CodebotV3;
    let kind_key = if is_codebot { "kind" } else { "type" };
    let mut is_record = false;
    match format {
        Format::PiV4 => match text("kind").as_deref() {
            Some("entry") => {}
            Some("record") => is_record = true,
            None | Some("header") => return skipped,
            Some(_) => return None,
        },
        Format::CodebotV3 => {}
        _ if text("type").as_deref() == Some("session") => return skipped,
        Format::PiV1 if text("type").is_none() => return skipped,
        _ => {}
    }
    let has_id = format != Format::PiV1;
    let id = text("id").filter(|id| !id.is_empty());
    if has_id && id.is_none() {
        return skipped;
    }
    let parent_key = match (is_record, is_codebot) {
        (true, _) => "runId",
        (_, true) => "parent_id",
        _ => "parentId",
    };
    let seq = raw("seq").and_then(|raw| match number(raw)? {
        Tree::Whole(whole) => u64::try_from(whole).ok(),
        Tree::Real(real) if real.fract() == 0.0 && real > 0.0 && real < 1e17 => Some(real as u64),
        _ => None,
    });
    let is_v4 = format == Format::PiV4;
    Some(Envelope {
        kept: true,
        id: id.filter(|_| has_id),
        parent: text(parent_key).filter(|parent| has_id && (is_record || !parent.is_empty())),
        kind: Some(text(kind_key).unwrap_or_default()),
        lane: text("lane").filter(|_| is_v4),
        time: raw("timestamp").and_then(|raw| time_of(format, raw)),
        seq: seq.filter(|&seq| is_v4 && (1..=9_007_199_254_740_991).contains(&seq)),
    })
}
