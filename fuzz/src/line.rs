//! A line, read by each of the library's parsers and by serde_json: whether it is JSON, the whole
//! value, where the fields of the envelope stand, and what they say in each format.

use leaflog::fuzzing::{FORMATS, KEYS, Line, PARSERS, Parser, Takes};

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
            let must_take = match parser.takes {
                Takes::All => true,
                Takes::AllLines => is_utf8 && !line.contains(&b'\n'),
                // It leaves what it refuses to one that is exact.
                Takes::Some => false,
            };
            if must_take && expected.is_some() {
                return Err(in_parser("refuses what is JSON".to_owned()));
            }
            continue;
        };
        let Some(expected) = expected else {
            return Err(in_parser("accepts what is no JSON".to_owned()));
        };
        if parser.takes != Takes::All && !is_utf8 {
            return Err(in_parser("accepts what is not UTF-8".to_owned()));
        }
        compare(parser, line, &text, expected, &read).map_err(in_parser)?;
        if !read.meanings.is_empty() {
            let first = meanings.get_or_insert_with(|| read.meanings.clone());
            same("meanings", first, &read.meanings).map_err(in_parser)?;
        }
    }
    Ok(())
}

/// Compares what one parser says of a line with the reference.
fn compare(parser: &Parser, line: &[u8], text: &str, expected: &str, read: &Line) -> Checked {
    let is_utf8 = text.as_bytes() == line;
    if let Some(tree) = &read.tree {
        let expected = reference::tree(expected, parser.levels);
        same("value", &expected, tree)?;
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
