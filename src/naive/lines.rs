//! Lines: where each one starts, and what objects it holds, whole, damaged or beside damage.
//! For the naive replay only. It knows no format: whether an object is worth rescuing it asks its caller.

use super::json;
use super::log::{Finding, Place};
use crate::model::ReportCode;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// What stands between two newlines.
pub(super) struct Line<'a> {
    /// The bytes, without the newline and without a byte order mark.
    pub(super) bytes: &'a [u8],
    /// The line's number and the offset of its first byte.
    pub(super) place: Place,
    /// Whether a newline follows.
    pub(super) ended: bool,
}

/// The lines of a log, in order.
pub(super) fn split(log: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let mut place = Place { line: 0, offset: 0 };
    let mut next = 0_u64;
    log.split_inclusive(|byte| *byte == b'\n')
        .map(move |whole| {
            place = Place {
                line: place.line + 1,
                offset: next,
            };
            next = next.saturating_add(u64::try_from(whole.len()).unwrap_or(u64::MAX));
            let (bytes, ended) = match whole.strip_suffix(b"\n") {
                Some(bytes) => (bytes, true),
                None => (whole, false),
            };
            let bytes = match bytes.strip_prefix(BYTE_ORDER_MARK) {
                Some(rest) if place.line == 1 => rest,
                _ => bytes,
            };
            Line {
                bytes,
                place,
                ended,
            }
        })
}

/// What a line holds.
pub(super) enum Content {
    /// White space.
    Blank,
    /// NUL bytes: reported, but there was nothing to keep.
    Nothing(Finding),
    /// No object that could be kept.
    Skipped(Finding),
    /// Objects, each to be read as a line of its own, and what was found about them.
    Objects(Vec<String>, Vec<Finding>),
}

/// Takes a line apart. `keeps` says whether the format can keep an object; only an object behind
/// a torn one is asked for.
pub(super) fn classify(line: &Line<'_>, keeps: &dyn Fn(&str) -> bool) -> Content {
    let bytes = trim(line.bytes, is_space);
    if bytes.is_empty() {
        return Content::Blank;
    }
    let text = String::from_utf8_lossy(bytes);
    if let Some(value) = json::checked(&text) {
        return if json::is_object(value) {
            Content::Objects(vec![value.to_owned()], invalid_utf8(bytes))
        } else {
            let detail = format!("expected an object, found {}", json::found(Some(value)));
            Content::Skipped(Finding::new(ReportCode::NotObject, detail))
        };
    }
    if bytes.iter().all(|byte| is_padding(*byte)) {
        let detail = "expected an object, found nothing but NUL bytes";
        return Content::Nothing(Finding::new(ReportCode::NulBytes, detail));
    }
    if let Some(content) = padded_or_several(bytes) {
        return content;
    }
    // An object that a torn last line ends in is a part of what was being written.
    if line.ended
        && let Some(content) = spliced(bytes, keeps)
    {
        return content;
    }
    let shown = json::excerpt(&text);
    Content::Skipped(if line.ended {
        let detail = format!("expected an object, found text that is no JSON: {shown}");
        Finding::new(ReportCode::NotJson, detail)
    } else {
        let detail = format!("expected an object and a newline, found an unfinished line: {shown}");
        Finding::new(ReportCode::TornTail, detail)
    })
}

/// Whole objects with nothing but NUL bytes and white space around them.
fn padded_or_several(bytes: &[u8]) -> Option<Content> {
    let mut objects = Vec::new();
    let mut findings = Vec::new();
    let mut rest = trim(bytes, is_padding);
    while !rest.is_empty() {
        if rest.first() != Some(&b'{') {
            return None;
        }
        let end = json::container_end(rest, 0)?;
        let (object, after) = rest.split_at_checked(end)?;
        let text = String::from_utf8_lossy(object);
        objects.push(json::checked(&text)?.to_owned());
        if findings.is_empty() {
            findings = invalid_utf8(object);
        }
        rest = trim(after, is_padding);
    }
    if objects.len() > 1 {
        let detail = format!("expected one object, found {} in a row", objects.len());
        findings.push(Finding::new(ReportCode::TwoObjects, detail));
    }
    // Inside an object a NUL byte would have been no JSON.
    if bytes.contains(&0) {
        findings.push(nul_bytes());
    }
    Some(Content::Objects(objects, findings))
}

/// The whole object at the end of a line whose start was torn off by a crash.
fn spliced(bytes: &[u8], keeps: &dyn Fn(&str) -> bool) -> Option<Content> {
    let unpadded = trim(bytes, is_padding);
    let start = object_start(unpadded)?;
    let (torn, whole) = unpadded.split_at_checked(start)?;
    let text = String::from_utf8_lossy(whole);
    let object = json::checked(&text)?;
    if !keeps(object) {
        return None;
    }
    let detail = format!(
        "expected one object, found a whole one behind {} bytes that are none: {}",
        torn.len(),
        json::excerpt(&String::from_utf8_lossy(torn))
    );
    let mut findings = invalid_utf8(whole);
    findings.push(Finding::new(ReportCode::Spliced, detail));
    if bytes.last() == Some(&0) {
        findings.push(nul_bytes());
    }
    Some(Content::Objects(vec![object.to_owned()], findings))
}

/// Where the brace stands that the brace at the very end closes, reading strings backwards.
///
/// In JSON a quote outside a string has no backslash before it, and one inside has an odd number,
/// so this finds the start of any object that ends here; there cannot be two.
fn object_start(bytes: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut end = bytes.len();
    if bytes.last() != Some(&b'}') {
        return None;
    }
    while let Some((last, before)) = bytes.get(..end)?.split_last() {
        end = before.len();
        match last {
            b'"' => {
                let backslashes = before.iter().rev().take_while(|byte| **byte == b'\\');
                if backslashes.count() % 2 == 0 {
                    in_string = !in_string;
                }
            }
            b'}' if !in_string => depth += 1,
            b'{' if !in_string => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(end);
                }
            }
            _ => {}
        }
    }
    None
}

fn invalid_utf8(bytes: &[u8]) -> Vec<Finding> {
    if std::str::from_utf8(bytes).is_ok() {
        return Vec::new();
    }
    let detail = "expected UTF-8, found other bytes inside a string; they read as U+FFFD";
    vec![Finding::new(ReportCode::InvalidUtf8, detail)]
}

fn nul_bytes() -> Finding {
    Finding::new(
        ReportCode::NulBytes,
        "expected an object alone, found NUL bytes beside it",
    )
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

fn is_padding(byte: u8) -> bool {
    byte == 0 || is_space(byte)
}

fn trim(bytes: &[u8], unwanted: fn(u8) -> bool) -> &[u8] {
    let start = bytes.iter().position(|byte| !unwanted(*byte));
    let end = bytes.iter().rposition(|byte| !unwanted(*byte));
    match (start, end) {
        (Some(start), Some(end)) => bytes.get(start..=end).unwrap_or_default(),
        _ => &[],
    }
}
