//! A JSON text laid out over several lines for people, its tokens as they stand.

use super::{Grammar, is_space, lossy};

/// Lays a JSON text out with two spaces a level. A text that is no JSON comes back as it is.
pub(crate) fn pretty(text: &[u8]) -> String {
    if Grammar::parse(text).is_err() {
        return lossy(text).into_owned();
    }
    let mut out = Vec::with_capacity(text.len() * 2);
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let token_end = match byte {
            b'"' => string_end(text, at),
            _ => at + 1,
        };
        let next = text
            .get(token_end..)
            .unwrap_or_default()
            .iter()
            .find(|&&b| !space(b));
        match byte {
            b'{' | b'[' => {
                out.push(byte);
                if !matches!(next, Some(b'}' | b']')) {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            b'}' | b']' => {
                if !matches!(out.last(), Some(b'{' | b'[')) {
                    depth = depth.saturating_sub(1);
                    line(&mut out, depth);
                }
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                line(&mut out, depth);
            }
            b':' => out.extend_from_slice(b": "),
            b if space(b) => {}
            _ => out.extend_from_slice(text.get(at..token_end).unwrap_or_default()),
        }
        at = token_end;
    }
    lossy(&out).into_owned()
}

/// A JSON text without white space between its tokens, the tokens as they stand.
pub(crate) fn compact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(['"', ' ', '\t', '\r', '\n']) {
        let (before, from) = rest.split_at(start);
        out.push_str(before);
        let end = match from.as_bytes().first() {
            Some(b'"') => string_end(from.as_bytes(), 0),
            _ => 0,
        };
        let (string, after) = from.split_at_checked(end).unwrap_or((from, ""));
        out.push_str(string);
        rest = after.trim_start_matches([' ', '\t', '\r', '\n']);
    }
    out.push_str(rest);
    out
}

fn space(byte: u8) -> bool {
    is_space(byte) || byte == b'\n'
}

/// Deeper than this all stays on one line, so that output stays in proportion.
const DEEPEST_INDENT: usize = 64;

fn line(out: &mut Vec<u8>, depth: usize) {
    if depth <= DEEPEST_INDENT {
        out.push(b'\n');
        out.resize(out.len() + 2 * depth, b' ');
    }
}

/// The place behind the string that opens at `start` in a valid text.
fn string_end(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::pretty;

    #[test]
    fn tokens_keep_their_spelling_and_empty_containers_their_line() {
        assert_eq!(
            pretty(br#"{"a":1e999,"b":[],"c":[{"d":"x\"{,"}]}"#),
            "{\n  \"a\": 1e999,\n  \"b\": [],\n  \"c\": [\n    {\n      \"d\": \"x\\\"{,\"\n    }\n  ]\n}"
        );
        assert_eq!(pretty(b"{broken"), "{broken");
    }
}
