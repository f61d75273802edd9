//! A stored line with another place in the sequence or in the tree: single values are replaced, all
//! other bytes stay as they were written.

use super::parent_key;
use crate::json::{Document, Grammar, Json};
use crate::model::Format;

/// The object of a pi v4 entry under another number, on no lane: what a fork copies. None if it is
/// no JSON object.
pub(crate) fn renumbered(object: &[u8], seq: u64) -> Option<Vec<u8>> {
    spliced(object, &["lane"], ("seq", &seq.to_string()))
}

/// The object of a pi v4 entry with another parent. None if it is no JSON object.
pub(crate) fn reparented(object: &[u8], parent: Option<&str>) -> Option<Vec<u8>> {
    let value = match parent {
        Some(id) => serde_json::Value::String(id.to_owned()).to_string(),
        None => "null".to_owned(),
    };
    spliced(object, &[], (parent_key(Format::PiV4), &value))
}

/// An object without some of its members, and with another value for one.
fn spliced(object: &[u8], drop: &[&str], (key, value): (&str, &str)) -> Option<Vec<u8>> {
    let document = Grammar::parse(object).ok()?;
    let root = document.root();
    if !root.is_object() {
        return None;
    }
    let mut out = Vec::with_capacity(object.len() + value.len());
    let mut before: Option<usize> = None;
    let mut is_first = true;
    for (name, member) in root.members() {
        let text = name.text().unwrap_or_default();
        // What stands between two members belongs to the later one, less before the first kept.
        let from = before.unwrap_or(0);
        let gap = object.get(from..name.span().start)?;
        let last = before.replace(member.span().end);
        if drop.contains(&&*text) {
            if last.is_none() {
                out.extend_from_slice(gap);
            }
            continue;
        }
        if !is_first || last.is_none() {
            out.extend_from_slice(gap);
        }
        is_first = false;
        if text == key {
            out.extend_from_slice(object.get(name.span().start..member.span().start)?);
            out.extend_from_slice(value.as_bytes());
        } else {
            out.extend_from_slice(object.get(name.span().start..member.span().end)?);
        }
    }
    out.extend_from_slice(object.get(before.unwrap_or(0)..)?);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::{renumbered, reparented};

    fn text(bytes: Option<Vec<u8>>) -> String {
        String::from_utf8(bytes.unwrap()).unwrap()
    }

    #[test]
    fn only_the_number_and_the_lane_change() {
        let written = br#"{"kind":"entry", "lane" : "main","id":"a","seq":12 ,"x":[1.50, {"seq":3,"lane":"b"}] }"#;
        assert_eq!(
            text(renumbered(written, 7)),
            r#"{"kind":"entry","id":"a","seq":7 ,"x":[1.50, {"seq":3,"lane":"b"}] }"#
        );
    }

    #[test]
    fn a_lane_that_is_first_last_or_repeated_leaves_no_comma_behind() {
        assert_eq!(
            text(renumbered(br#"{"lane":"m","seq":1}"#, 2)),
            r#"{"seq":2}"#
        );
        assert_eq!(
            text(renumbered(br#"{"seq":1,"lane":"m"}"#, 2)),
            r#"{"seq":2}"#
        );
        assert_eq!(
            text(renumbered(
                br#"{"lane":"a","lane":"b","seq":1,"lane":"c"}"#,
                2
            )),
            r#"{"seq":2}"#
        );
        assert_eq!(text(renumbered(br#"{"seq":1}"#, 2)), r#"{"seq":2}"#);
    }

    #[test]
    fn a_parent_is_replaced_by_a_string_or_null() {
        let written = br#"{"id":"a","parentId":"p","seq":1}"#;
        assert_eq!(
            text(reparented(written, Some("q\""))),
            r#"{"id":"a","parentId":"q\"","seq":1}"#
        );
        assert_eq!(
            text(reparented(written, None)),
            r#"{"id":"a","parentId":null,"seq":1}"#
        );
        assert_eq!(reparented(b"[1]", None), None);
    }
}
