//! A line, read by each of the library's parsers and by serde_json: whether it is JSON, the whole
//! value, where the fields of the envelope stand, and what they say in each format.

use leaflog::fuzzing::{DEEPEST, FORMATS, KEYS, Line, PARSERS};

use super::{Checked, reference, same};

/// Compares all parsers on one line.
pub fn check(line: &[u8]) -> Checked {
    let text = String::from_utf8_lossy(line);
    let is_utf8 = text.as_bytes() == line;
    let expected = reference::value(&text);
    let mut meanings: Option<Vec<String>> = None;
    for parser in &PARSERS {
        let in_parser = |difference: String| format!("{}: {difference}", parser.name);
        let Some(read) = (parser.read)(line) else {
            // One that is not exact leaves what it refuses to one that is.
            if parser.is_exact && expected.is_some() {
                return Err(in_parser("refuses what is JSON".to_owned()));
            }
            continue;
        };
        let Some(expected) = expected else {
            return Err(in_parser("accepts what is no JSON".to_owned()));
        };
        if !parser.is_exact && !is_utf8 {
            return Err(in_parser("accepts what is not UTF-8".to_owned()));
        }
        compare(line, &text, is_utf8, expected, &read).map_err(in_parser)?;
        if !read.meanings.is_empty() {
            let first = meanings.get_or_insert_with(|| read.meanings.clone());
            same("meanings", first, &read.meanings).map_err(in_parser)?;
        }
    }
    Ok(())
}

/// Compares what one parser says of a line with the reference.
fn compare(line: &[u8], text: &str, is_utf8: bool, expected: &str, read: &Line) -> Checked {
    if let Some(tree) = &read.tree {
        same("value", &reference::tree(expected, DEEPEST), tree)?;
    }
    if let Some(utf8) = read.utf8 {
        same("whether it is UTF-8", &is_utf8, &utf8)?;
    }
    let members = reference::members(expected);
    for (key, span) in KEYS.iter().zip(&read.spans) {
        let raw = reference::last(&members, key);
        let found = span.clone().map(|span| line.get(span).unwrap_or_default());
        let found = found.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        let space = [' ', '\t', '\r', '\n'];
        let found = found.as_deref().map(|text| text.trim_end_matches(space));
        same(&format!("the value of `{key}`"), &raw, &found)?;
        if let (Some(raw), Some(span)) = (raw, span)
            && is_utf8
        {
            let start = raw.as_ptr().addr() - text.as_ptr().addr();
            same(&format!("the place of `{key}`"), &start, &span.start)?;
        }
    }
    for (&format, found) in FORMATS.iter().zip(&read.envelopes) {
        if let Some(expected) = reference::envelope(format, &members) {
            same(&format!("the envelope in {format}"), &expected, found)?;
        } else if found.id.is_some() || !found.kept && found.seq.is_some() {
            return Err(format!("the envelope in {format}: {found:?}"));
        }
    }
    Ok(())
}
