//! The indexed reader says what the naive replay says, on any log.

mod support;

use leaflog::naive::{ReadOptions, Replay};
use leaflog::{IndexMode, OpenOptions, Reading};
use proptest::prelude::*;
use support::{agree, logs};

fn check(log: &[u8], salvage: bool) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let path = folder.path().join("session.jsonl");
    std::fs::write(&path, log).map_err(|e| e.to_string())?;
    for reading in [Reading::Map, Reading::Read] {
        let options = OpenOptions::new().index(IndexMode::Memory).reading(reading);
        agree::compare(&path, &options, salvage)?;
    }
    let options = OpenOptions::new().index(IndexMode::Always);
    for state in ["no sidecar", "fresh sidecar"] {
        agree::compare(&path, &options, salvage).map_err(|e| format!("{state}: {e}"))?;
    }
    match std::fs::read(&path) {
        Ok(after) if after == log => Ok(()),
        _ => Err("the log was changed".to_owned()),
    }
}

fn checked(log: &[u8], salvage: bool) -> Result<(), TestCaseError> {
    check(log, salvage).map_err(|difference| {
        let smallest = logs::fewest_lines(log, |log| check(log, salvage).is_err());
        let difference = check(&smallest, salvage).err().unwrap_or(difference);
        TestCaseError::fail(format!("{}\n{difference}", logs::show(&smallest)))
    })
}

#[test]
fn the_corpus_reads_alike() {
    for (name, log) in logs::corpus() {
        for salvage in [false, true] {
            if let Err(difference) = check(&log, salvage) {
                panic!(
                    "{name} (salvage {salvage}):\n{}\n{difference}",
                    logs::show(&log)
                );
            }
        }
    }
}

#[test]
fn the_handed_cases_read_alike() {
    for file in std::fs::read_dir("tests/cases").expect("cases") {
        let path = file.expect("case").path();
        if path
            .extension()
            .is_some_and(|extension| extension == "jsonl")
        {
            let log = std::fs::read(&path).expect("readable");
            for salvage in [false, true] {
                if let Err(difference) = check(&log, salvage) {
                    panic!("{}: {difference}", path.display());
                }
            }
        }
    }
}

/// What a damaged line before the header holds tells the format with salvage, but not where the header
/// follows.
#[test]
fn an_object_within_a_damaged_line_before_the_header_does_not_tell_the_format() {
    let log = br#"x{"kind":"note","type":"note","id":"0000aaab"}
{"type":"session","version":3,"id":"s3","timestamp":"2026-07-14T09:00:00.000Z","cwd":"/home/dev/app"}
{"type":"thinking_level_change","id":"00000001","parentId":null,"timestamp":"2026-07-14T09:00:01.000Z","thinkingLevel":"low"}
"#;
    // The header may be the last line too, and have no newline.
    let last = log
        .split(|&byte| byte == b'\n')
        .take(2)
        .collect::<Vec<_>>()
        .join(&b'\n');
    for log in [&log[..], &last] {
        for salvage in [false, true] {
            let options = ReadOptions {
                salvage,
                ..ReadOptions::default()
            };
            let replay = Replay::from_bytes(log, options).expect("opens");
            assert_eq!(replay.overview().format, leaflog::Format::PiV3);
            assert_eq!(check(log, salvage), Ok(()));
        }
    }
}

/// The position of a break is that of the entry at which the walk ends.
#[test]
fn a_cycle_is_found_at_the_entry_that_comes_a_second_time() {
    let case = std::fs::read_to_string("tests/cases/plain-codebot.jsonl").expect("case");
    let log: String = case.split_inclusive('\n').take(5).collect();
    let log = log.replacen(r#""parent_id":"h0""#, r#""parent_id":"00000004""#, 1);
    let last = log.trim_end().rfind('\n').map(|newline| newline + 1);
    let replay = Replay::from_bytes(log.as_bytes(), ReadOptions::default()).expect("opens");
    let error = replay
        .path(leaflog::At::Leaf("00000004"))
        .expect_err("a cycle");
    let offset = last.and_then(|last| u64::try_from(last).ok());
    assert_eq!((error.line(), error.offset()), (Some(5), offset));
    let error = replay
        .path(leaflog::At::Leaf("00000002"))
        .expect_err("a cycle");
    assert_eq!(error.line(), Some(3));
    assert_eq!(check(log.as_bytes(), false), Ok(()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(400), max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_log_reads_alike(log in logs::any_log()) {
        checked(&log, false)?;
    }

    /// A log with a header is read the same, whatever salvage would make of what stands before it.
    #[test]
    fn salvage_changes_nothing_about_a_log_with_a_header(log in logs::any_log()) {
        if let Ok(plain) = Replay::from_bytes(&log, ReadOptions::default()) {
            let salvage = ReadOptions { salvage: true, ..ReadOptions::default() };
            let salvaged = Replay::from_bytes(&log, salvage).map(|replay| replay.overview());
            prop_assert_eq!(Ok(plain.overview()), salvaged.map_err(|error| error.to_string()), "{}", logs::show(&log));
        }
    }

    #[test]
    fn any_log_reads_alike_with_salvage(log in logs::any_log()) {
        checked(&log, true)?;
    }

    #[test]
    fn a_clean_log_reads_alike(log in logs::clean_log()) {
        checked(&log, false)?;
    }
}

#[test]
fn strict_reading_refuses_a_file_without_a_header_at_its_first_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session.jsonl");
    for (log, line, offset) in [
        (&b"\n\0\n"[..], 2, 1),
        (b"{torn\n\0\n", 1, 0),
        (b"[]\n{\"no\":\"header\"}\n", 1, 0),
        (b"[]\n{\"kind\":\"header\",\"version\":9}\n", 1, 0),
        (b"{\"x\":\"\xff\"}\n", 1, 0),
        (b"\n{\"kind\":\"head", 2, 1),
        (b"x\n{\"kind\":\"head", 1, 0),
    ] {
        std::fs::write(&path, log).expect("written");
        for options in [
            OpenOptions::new(),
            OpenOptions::new().index(IndexMode::Always),
        ] {
            let error = options.strict(true).open(&path).expect_err("refused");
            let place = (error.code(), error.line(), error.offset());
            let expected = (leaflog::Code::InvalidEntry, Some(line), Some(offset));
            assert_eq!(place, expected, "{}", logs::show(log));
        }
        check(log, false).expect("as the naive replay says");
    }
}
