//! What of a line changes in a fork, as ranges of its bytes; all other bytes stay. The places of
//! pi's own spelling are found from both ends of the line, others by the exact grammar.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::error::Result;
use crate::json::{Document, Grammar, Json};
use crate::store::publish::Out;

/// Ranges of a line and what stands there instead, in order and apart from each other.
pub(in crate::store) type Splices = Vec<(Range<usize>, Vec<u8>)>;

/// Writes an object with its splices, and a newline.
pub(super) fn write(out: &mut Out, object: &[u8], splices: &Splices) -> Result<()> {
    let mut done = 0;
    for (range, new) in splices {
        out.put(object.get(done..range.start).unwrap_or_default())?;
        out.put(new)?;
        done = range.end;
    }
    out.put(object.get(done..).unwrap_or_default())?;
    out.put(b"\n")
}

/// The places in a pi v4 entry that a fork changes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Numbered {
    /// The lane with the comma behind it.
    pub(super) lane: Option<Range<usize>>,
    /// The digits of the number.
    pub(super) seq: Range<usize>,
}

/// Finds lane and number of an entry as pi writes it:
/// `{"kind":"entry","lane":"main",…,"seq":7,"timestamp":8}`. None for any other spelling.
///
/// The object is whole JSON, so its last brace closes it. From there back, digits, key and comma,
/// digits, key and comma can only be its last two fields: the quote that opens each key has a comma
/// before it and no backslash. The same goes for its first fields from the front. A second lane
/// between them would be spelled `"lane"`, or with an escape of one of its letters, which all start
/// with `\u006`: a line that has either anywhere is left to the grammar.
pub(super) fn as_written(object: &[u8]) -> Option<Numbered> {
    static LANE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"lane\""));
    static ESCAPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\\u006"));
    let rest = before_digits(object.strip_suffix(b"}")?)?;
    let rest = rest.strip_suffix(b",\"timestamp\":")?;
    let number = before_digits(rest)?;
    let seq = number.len()..rest.len();
    let rest = number.strip_suffix(b",\"seq\":")?;
    let start = b"{\"kind\":\"entry\",".len();
    let rest = rest.strip_prefix(b"{\"kind\":\"entry\",")?;
    let mut lane = None;
    let mut middle = rest;
    if let Some(name) = rest.strip_prefix(b"\"lane\":\"") {
        let end = memchr::memchr2(b'"', b'\\', name)?;
        middle = name.get(end..)?.strip_prefix(b"\",")?;
        lane = Some(start..start + (rest.len() - middle.len()));
    }
    let is_plain = LANE.find(middle).is_none() && ESCAPE.find(middle).is_none();
    is_plain.then_some(Numbered { lane, seq })
}

/// What stands before the digits at the end of a text; none if there are none.
fn before_digits(text: &[u8]) -> Option<&[u8]> {
    let last = text.iter().rposition(|byte| !byte.is_ascii_digit())?;
    (last + 1 < text.len()).then(|| text.get(..=last).unwrap_or_default())
}

/// The splices that take fields out of an object, whatever their spelling, and give others a value:
/// where the one that counts stands, or at the end. None if it is no object.
pub(in crate::store) fn exact(
    object: &[u8],
    remove: &[&str],
    set: &[(&str, &str)],
) -> Option<Splices> {
    let document = Grammar::parse(object).ok()?;
    let root = document.root();
    let end = root.span().end.checked_sub(1)?;
    let mut splices = Splices::new();
    let mut places: Vec<Option<Range<usize>>> = vec![None; set.len()];
    // Where the last field that stays ends, once there is one.
    let mut kept: Option<usize> = None;
    // Where fields to take out began, with none before them that stays.
    let mut front: Option<usize> = None;
    let mut before = 0;
    for (key, value) in root.members() {
        let name = key.text().unwrap_or_default();
        if remove.contains(&&*name) {
            match kept {
                // With the comma before it.
                Some(_) => splices.push((before..value.span().end, Vec::new())),
                None => front = front.or(Some(key.span().start)),
            }
        } else {
            if let Some(start) = front.take() {
                splices.push((start..key.span().start, Vec::new()));
            }
            kept = Some(value.span().end);
            if let Some(place) = set.iter().position(|(key, _)| *key == name)
                && let Some(place) = places.get_mut(place)
            {
                *place = Some(value.span());
            }
        }
        before = value.span().end;
    }
    if let Some(start) = front {
        splices.push((start..before, Vec::new()));
    }
    let mut added = Vec::new();
    for ((key, value), place) in set.iter().zip(places) {
        match place {
            Some(place) => splices.push((place, value.as_bytes().to_vec())),
            None => {
                let comma = if kept.is_none() && added.is_empty() {
                    ""
                } else {
                    ","
                };
                added.extend_from_slice(format!("{comma}\"{key}\":{value}").as_bytes());
            }
        }
    }
    if !added.is_empty() {
        splices.push((end..end, added));
    }
    splices.sort_by_key(|(range, _)| (range.start, range.end));
    Some(splices)
}

#[cfg(test)]
mod tests {
    use super::{Splices, as_written, exact};

    fn applied(object: &str, splices: &Splices) -> String {
        let mut text = String::new();
        let mut done = 0;
        for (range, new) in splices {
            assert!(done <= range.start, "{splices:?}");
            text.push_str(&object[done..range.start]);
            text.push_str(std::str::from_utf8(new).unwrap());
            done = range.end;
        }
        text + &object[done..]
    }

    #[test]
    fn own_spelling_is_found_from_both_ends_and_any_doubt_goes_to_the_grammar() {
        let line = r#"{"kind":"entry","lane":"main","type":"custom","id":"a","parentId":null,"seq":12,"timestamp":34}"#;
        let found = as_written(line.as_bytes()).unwrap();
        assert_eq!(&line[found.lane.unwrap()], r#""lane":"main","#);
        assert_eq!(&line[found.seq], "12");
        let forked =
            r#"{"kind":"entry","type":"custom","id":"a","parentId":null,"seq":12,"timestamp":34}"#;
        assert_eq!(as_written(forked.as_bytes()).unwrap().lane, None);
        for doubtful in [
            r#"{"kind":"entry","type":"custom","lane":"x","id":"a","seq":1,"timestamp":2}"#,
            r#"{"kind":"entry","lane":"m","\u006cane":"x","id":"a","seq":1,"timestamp":2}"#,
            r#"{"kind":"entry","lane":"m\"","id":"a","seq":1,"timestamp":2}"#,
            r#"{"kind":"entry","lane":"m","id":"a","seq":-1,"timestamp":2}"#,
            r#"{"kind":"entry","lane":"m","id":"a","data":{"seq":1,"timestamp":2}}"#,
            r#"{"kind":"entry","lane":"m","id":"a","seq":1,"timestamp":2 }"#,
            r#"{"kind":"entry","lane":"m","id":"a\",\"seq":1,"timestamp":2}"#,
            r#"{"kind":"entry","seq":1,"lane":"m","id":"a","timestamp":2}"#,
        ] {
            assert_eq!(as_written(doubtful.as_bytes()), None, "{doubtful}");
        }
    }

    #[test]
    fn fields_are_taken_out_and_set_however_they_are_spelled() {
        let cases = [
            (r#"{"l":1,"a":2,"l":3}"#, r#"{"a":9}"#),
            (r#"{ "l" : 1 , "l":2, "a" :2 , "l" : 3 }"#, r#"{ "a" :9 }"#),
            (r#"{"a":1,"l":[{}],"l":2,"b":3}"#, r#"{"a":9,"b":3}"#),
            (r#"{"l":1}"#, r#"{"a":9}"#),
            (r#"{}"#, r#"{"a":9}"#),
            (r#"{"b":1}"#, r#"{"b":1,"a":9}"#),
            (r#"{"a":1,"\u0061":2}"#, r#"{"a":1,"\u0061":9}"#),
        ];
        for (object, wanted) in cases {
            let splices = exact(object.as_bytes(), &["l"], &[("a", "9")]).unwrap();
            assert_eq!(applied(object, &splices), wanted);
        }
    }
}
