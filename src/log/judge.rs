//! What a line that is not simply one JSON object still holds: the steps of section 1 of
//! `docs/formats.md`. Called for the few lines that the fast parser refuses or that hold no object.

use std::ops::Range;

use crate::json::{Document, Grammar, Json, is_space, trim};
use crate::model::ReportCode;

/// Something to report about a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) code: ReportCode,
    pub(crate) skipped: bool,
    pub(crate) detail: String,
}

impl Finding {
    pub(crate) fn kept(code: ReportCode, detail: impl Into<String>) -> Self {
        Self {
            code,
            skipped: false,
            detail: detail.into(),
        }
    }

    pub(crate) fn skipped(code: ReportCode, detail: impl Into<String>) -> Self {
        Self {
            code,
            skipped: true,
            detail: detail.into(),
        }
    }
}

/// The objects of a line, as ranges of it, and what is to be reported.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Judged {
    pub(crate) objects: Vec<Range<usize>>,
    pub(crate) findings: Vec<Finding>,
}

/// Judges a line. `keeps` says whether the format could keep an object that stands behind a torn
/// one; it is asked at most once.
pub(crate) fn judge(
    line: &[u8],
    terminated: bool,
    keeps: impl FnOnce(&Grammar<'_>) -> bool,
) -> Judged {
    let mut judged = Judged::default();
    let whole = trim(line);
    let text = line.get(whole.clone()).unwrap_or_default();
    if text.is_empty() {
        return judged;
    }
    let failure = match Grammar::parse(text) {
        Ok(document) if document.root().is_object() => {
            judged.keep(whole, &document);
            return judged;
        }
        Ok(_) => {
            judged.findings.push(Finding::skipped(
                ReportCode::NotObject,
                "expected a JSON object, found another JSON value",
            ));
            return judged;
        }
        Err(failure) => failure,
    };
    if sequence(line, &mut judged) {
        return judged;
    }
    // NUL bytes behind the object do not hide it.
    let visible = line
        .iter()
        .rposition(|&byte| byte != 0 && !is_space(byte))
        .map_or(0, |last| last + 1);
    // What a torn last line ends in is a part of it, however whole.
    if terminated
        && let Some(start) = last_object(line.get(..visible).unwrap_or_default())
        && let Ok(document) = Grammar::parse(line.get(start..visible).unwrap_or_default())
        && keeps(&document)
    {
        let torn = start - whole.start;
        judged.findings.push(Finding::kept(
            ReportCode::Spliced,
            format!("{torn} bytes of a torn object stand before a whole one, which was kept"),
        ));
        judged.keep(start..visible, &document);
        let nuls = line
            .get(visible..)
            .unwrap_or_default()
            .iter()
            .filter(|&&byte| byte == 0)
            .count();
        if nuls > 0 {
            judged.findings.push(passed_over(nuls));
        }
        return judged;
    }
    let at = whole.start + failure.at;
    let expected = failure.expected;
    judged.findings.push(if terminated {
        Finding::skipped(
            ReportCode::NotJson,
            format!("not JSON: expected {expected} at byte {at} of the line"),
        )
    } else {
        Finding::skipped(
            ReportCode::TornTail,
            format!("the last line is not finished: expected {expected} at byte {at} of it"),
        )
    });
    judged
}

impl Judged {
    fn keep(&mut self, object: Range<usize>, document: &Grammar<'_>) {
        if !document.is_utf8()
            && self
                .findings
                .iter()
                .all(|f| f.code != ReportCode::InvalidUtf8)
        {
            self.findings.push(Finding::kept(
                ReportCode::InvalidUtf8,
                "a string holds bytes that are not UTF-8; they read as U+FFFD",
            ));
        }
        self.objects.push(object);
    }
}

/// Steps 5 to 7: nothing but objects, NUL bytes and white space. False, with nothing changed, if
/// there is anything else.
fn sequence(line: &[u8], judged: &mut Judged) -> bool {
    let mut found = Judged::default();
    let mut nuls = 0usize;
    let mut at = 0;
    while let Some(&byte) = line.get(at) {
        if byte == 0 {
            nuls += 1;
            at += 1;
        } else if is_space(byte) {
            at += 1;
        } else {
            let rest = line.get(at..).unwrap_or_default();
            match Grammar::parse_prefix(rest) {
                Ok(document) if document.root().is_object() => {
                    let end = at + document.end();
                    found.keep(at..end, &document);
                    at = end;
                }
                _ => return false,
            }
        }
    }
    let objects = found.objects.len();
    if objects > 1 {
        found.findings.push(Finding::kept(
            ReportCode::TwoObjects,
            format!("{objects} objects stand on one line; each was read"),
        ));
    }
    if nuls > 0 {
        found.findings.push(passed_over(nuls));
    }
    *judged = found;
    true
}

fn passed_over(nuls: usize) -> Finding {
    Finding::kept(
        ReportCode::NulBytes,
        format!("{nuls} NUL bytes were passed over"),
    )
}

/// The start of the only object that can end where the line ends: the bracket that matches the
/// last one, strings respected. Any other start would leave brackets open or close them too early.
pub(crate) fn last_object(line: &[u8]) -> Option<usize> {
    let end = trim(line).end;
    if line.get(end.checked_sub(1)?) != Some(&b'}') {
        return None;
    }
    let mut depth = 0usize;
    let mut in_string = false;
    let mut at = end;
    while let Some(before) = at.checked_sub(1) {
        at = before;
        match line.get(at)? {
            b'"' => {
                let slashes = line
                    .get(..at)?
                    .iter()
                    .rev()
                    .take_while(|&&b| b == b'\\')
                    .count();
                if slashes % 2 == 0 {
                    in_string = !in_string;
                }
                // The slashes belong to this quote; counting them once keeps the walk linear.
                at -= slashes;
            }
            b'}' | b']' if !in_string => depth += 1,
            b'{' | b'[' if !in_string => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return (line.get(at) == Some(&b'{')).then_some(at);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{judge, last_object};
    use crate::json::{Document, Json};
    use crate::model::ReportCode;

    fn codes(line: &[u8]) -> (Vec<&[u8]>, Vec<(ReportCode, bool)>) {
        let judged = judge(line, true, |document| document.root().field("id").is_some());
        (
            judged
                .objects
                .into_iter()
                .map(|range| &line[range])
                .collect(),
            judged
                .findings
                .into_iter()
                .map(|f| (f.code, f.skipped))
                .collect(),
        )
    }

    #[test]
    fn every_step_of_the_table_gives_its_answer() {
        use ReportCode::*;
        let a: &[u8] = br#"{"id":"a"}"#;
        assert_eq!(codes(b"  \t\r"), (vec![], vec![]));
        assert_eq!(codes(b" {\"id\":\"a\"}\r"), (vec![a], vec![]));
        assert_eq!(
            codes(b"{\"id\":\"\xff\"}"),
            (vec![&b"{\"id\":\"\xff\"}"[..]], vec![(InvalidUtf8, false)])
        );
        assert_eq!(codes(b"{\"id\":1}\xff"), (vec![], vec![(NotJson, true)]));
        for other in [&b"null"[..], b"[]", b"42", b"\"x\""] {
            assert_eq!(codes(other), (vec![], vec![(NotObject, true)]));
        }
        assert_eq!(codes(b"\0\0 \0"), (vec![], vec![(NulBytes, false)]));
        assert_eq!(
            codes(b"\0{\"id\":\"a\"}\0\0"),
            (vec![a], vec![(NulBytes, false)])
        );
        assert_eq!(
            codes(b"{\"id\":\"a\"}{\"id\":\"a\"}"),
            (vec![a, a], vec![(TwoObjects, false)])
        );
        assert_eq!(
            codes(b"{\"id\":\"a\"}\0{\"id\":\"a\"}"),
            (vec![a, a], vec![(TwoObjects, false), (NulBytes, false)])
        );
        assert_eq!(
            codes(b"{\"id\":\"{\"id\":\"a\"}"),
            (vec![a], vec![(Spliced, false)])
        );
        assert_eq!(
            codes(b"{\"id\":\"{\"no\":\"a\"}"),
            (vec![], vec![(NotJson, true)])
        );
        assert_eq!(codes(b"{\"id\":\"a\"}x"), (vec![], vec![(NotJson, true)]));
        let torn = judge(b"{\"id\":", false, |_| true);
        assert_eq!(torn.findings[0].code, TornTail);
    }

    #[test]
    fn the_only_candidate_behind_a_torn_object_is_found_in_one_walk() {
        assert_eq!(last_object(br#"{"a":"{"b":"}\"{"}"#), Some(6));
        assert_eq!(last_object(br#"x":1,"data":{"id":"q"}}"#), None);
        assert_eq!(last_object(br"]}"), None);
        let mut long = br#"{"a":""#.to_vec();
        long.extend(std::iter::repeat_n(b'\\', 1_000_000));
        long.extend(br#""}"#);
        assert_eq!(last_object(&long), Some(0));
    }
}
