use std::path::Path;

use super::{FREE, Keeps, MOST_LINES, Reader, WORTH, What};
use crate::error::Error;
use crate::log::LogFile;
use crate::model::Format;

/// Reads a log of one line again and again. How often an object was tried to be put together, and how
/// many bytes were looked at in vain.
fn work(lines: &[&[u8]], times: usize) -> (u64, u64, u64) {
    let text = lines.concat().repeat(times);
    let len = u64::try_from(text.len()).unwrap();
    let log = LogFile::in_memory(Path::new("log"), text);
    let mut reader = Reader::new(&log);
    let mut held = 0;
    while reader
        .read(Keeps::Format(Format::PiV3), |_| Ok::<_, Error>(()))
        .unwrap()
    {
        held = held.max(reader.ahead.len());
        assert!(held <= MOST_LINES);
    }
    (reader.attempts, reader.spent, len)
}

#[test]
fn putting_objects_together_stays_in_proportion_whatever_the_lines_say() {
    let hostile: [&[&[u8]]; 6] = [
        &[b"{\"a\":\"\n"],
        &[b"{\n"],
        &[b"{\",\":\"\n", b":\"\n"],
        &[b"{\"a\":{\"a\":[\"\n"],
        &[b"{\"id\":\"a\",\"b\":\"\n", b"x\n", b"{}\n"],
        &[b"{\"type\":\"message\",\"id\":\"a\",\"x\":\"{\n"],
    ];
    for lines in hostile {
        let times = 4_000_000 / lines.concat().len();
        let (attempts, spent, len) = work(lines, times);
        // One attempt may go over what is allowed, by what it looks at.
        let most = WORTH * len + FREE + (1 << 20);
        assert!(
            spent <= most,
            "{spent} of {len} bytes in {attempts} attempts"
        );
        assert!(attempts > 1000, "{attempts}");
    }
}

#[test]
fn attempts_are_allowed_again_where_a_log_goes_on() {
    let whole = br#"{"type":"message","id":"a","parentId":null,"timestamp":0,"message":{}}"#;
    let mut text = b"{\"a\":\"\n".repeat(2_000_000);
    for _ in 0..300_000 {
        text.extend_from_slice(whole);
        text.push(b'\n');
    }
    text.extend_from_slice(
        b"{\"type\":\"message\",\"id\":\"b\",\"message\":{\"content\":\"one\ntwo\"}}\n",
    );
    let log = LogFile::in_memory(Path::new("log"), text);
    let mut reader = Reader::new(&log);
    let mut last = Vec::new();
    while reader
        .read(Keeps::Format(Format::PiV3), |found| {
            if let What::Object(object) = found.what {
                last = object.text.to_vec();
            }
            Ok::<_, Error>(())
        })
        .unwrap()
    {}
    assert_eq!(
        String::from_utf8(last).unwrap(),
        r#"{"type":"message","id":"b","message":{"content":"one\ntwo"}}"#
    );
}

#[test]
fn an_object_is_joined_from_a_thousand_lines_behind_the_first_and_no_more() {
    for (lines, is_joined) in [(MOST_LINES, true), (MOST_LINES + 1, false)] {
        let mut text = br#"{"type":"message","id":"b","message":{"content":""#.to_vec();
        text.extend(b"\n".repeat(lines));
        text.extend(b"\"}}\n");
        let log = LogFile::in_memory(Path::new("log"), text);
        let mut objects = 0;
        let mut reader = Reader::new(&log);
        while reader
            .read(Keeps::Format(Format::PiV3), |found| {
                objects += usize::from(matches!(found.what, What::Object(_)));
                Ok::<_, Error>(())
            })
            .unwrap()
        {}
        assert_eq!(objects, usize::from(is_joined));
    }
}
