//! Writes the seeds of all targets: `cargo run --example seeds` in this folder. Small files, the same
//! each time; seeds that were added by hand stay.

use std::fs;
use std::path::{Path, PathBuf};

use leaflog_fuzz::log::{HEADERS, ON_DISK, SALVAGE};
use leaflog_fuzz::mutate::Dice;
use leaflog_fuzz::recipe::Shape;
use leaflog_fuzz::{decoders, sidecar};

fn main() -> std::io::Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let cases = cases(&here.join("../tests/cases"))?;
    for (target, seeds) in [
        ("line", lines(&cases)),
        ("log", logs(&cases)),
        ("sidecar", sidecars()),
        ("operations", operations()),
        ("decoders", all_decoders()),
        ("oversized", recipes()),
    ] {
        let folder = here.join("corpus").join(target);
        fs::create_dir_all(&folder)?;
        for (name, bytes) in seeds {
            fs::write(folder.join(name), bytes)?;
        }
    }
    Ok(())
}

type Seeds = Vec<(String, Vec<u8>)>;

/// The small logs among the handed cases.
fn cases(folder: &Path) -> std::io::Result<Seeds> {
    let mut found = Vec::new();
    for file in fs::read_dir(folder)? {
        let path: PathBuf = file?.path();
        let bytes = fs::read(&path)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        if path.extension().is_some_and(|it| it == "jsonl") && bytes.len() < 4096 {
            found.push((name.into_owned(), bytes));
        }
    }
    found.sort();
    Ok(found)
}

/// Lines of the cases that say something of their own, and odd ones.
fn lines(cases: &Seeds) -> Seeds {
    let mut seeds = Seeds::new();
    for (name, log) in cases {
        let longest = log.split(|&byte| byte == b'\n').max_by_key(|it| it.len());
        seeds.push((name.clone(), longest.unwrap_or_default().to_vec()));
    }
    let odd: [&[u8]; 16] = [
        br#"{"id":"a","id":"b","\u0069d":"c"}"#,
        br#"{"kind":"record","type":"usage","id":"r","lane":"main","seq":3.0,"timestamp":1e3,"runId":"r0","usage":{"cost":{"total":0.1}}}"#,
        br#"{"kind":"lane","lane":"side","leafId":null,"seq":1}"#,
        br#"{"kind":"fact","fact":"label","targetId":"a","label":"\ud83d\ude00\ud83d","seq":2}"#,
        br#"[1,-0,0.0,-0.0,1e999,-1e-999,9223372036854775807,9223372036854775808,18446744073709551616]"#,
        br#"{"x":2.2250738585072011e-308,"y":123456789012345678901234567890.5e-10,"z":1E400}"#,
        b"{\"id\":\"\xff\xed\xa0\x80\xf0\x90\"}",
        b"{\"id\" :\t\"a\" , \"timestamp\"\r:\n\"2026-07-14\"  ,\"type\":\"x\" }  ",
        br#""\u0000\u001f\"\\\/\b\f\n\r\t""#,
        br#"{"":{"":[{},[],"",null,true,false]}}"#,
        br#"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["x"]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"#,
        b"nul",
        b"{\"a\":01}",
        b"{\"a\":1,}",
        b"{\"type\":\"session\",\"version\":3}x",
        b"\"a\x01b\"",
    ];
    for (number, line) in odd.iter().enumerate() {
        seeds.push((format!("odd-{number:02}"), line.to_vec()));
    }
    seeds
}

/// The cases whole, under a first byte that adds no header.
fn logs(cases: &Seeds) -> Seeds {
    let mut seeds = Seeds::new();
    for (number, (name, log)) in cases.iter().enumerate() {
        let mode = [0, ON_DISK, SALVAGE, SALVAGE | ON_DISK][number % 4];
        seeds.push((name.clone(), [&[mode], log.as_slice()].concat()));
    }
    // Entries under each header, some that only salvage reads.
    for header in 0..HEADERS.len() {
        let mut log = vec![header as u8 | SALVAGE];
        for line in [
            r#"{"kind":"entry","type":"message","id":"a","parentId":null,"parent_id":"h0","seq":1,"timestamp":1,"lane":"main","message":{"role":"user","content":"hi"},"data":{"role":"user","content":[{"type":"text","text":"hi"}]}}"#,
            r#"{"kind":"message","type":"compaction","id":"b","parentId":"a","parent_id":"a","timestamp":"2026-07-14T09:00:01Z","summary":"s","firstKeptEntryId":"a","data":{"role":"assistant","content":[{"type":"toolCall","tool_call":{"id":"c"}}]}}"#,
            r#"{"kind":"record","type":"operation_started","id":"r","lane":"main","seq":2,"timestamp":2,"intent":{"kind":"run"}}"#,
            r#"{"kind":"lane","lane":"side","leafId":"a","seq":3}"#,
            r#"{"type":"context_edit","id":"c","parentId":"b","timestamp":5,"targetId":"a","replacement":{"content":"x"}}"#,
        ] {
            log.extend_from_slice(line.as_bytes());
            log.push(b'\n');
        }
        seeds.push((format!("header-{header}"), log));
    }
    seeds
}

/// Each kind of change of each log's sidecar, in some ways, with and without forged checksums.
fn sidecars() -> Seeds {
    let mut dice = Dice::new(1);
    let mut seeds = Seeds::new();
    for log in 0..7 {
        for (name, bits) in [
            ("damaged", 0),
            ("believed", sidecar::OWN),
            ("read", sidecar::READ),
            ("forged", sidecar::FORGED),
            ("forged-believed", sidecar::FORGED | sidecar::OWN),
        ] {
            let mut seed = vec![log | bits, dice.roll() as u8];
            for kind in 0..6 {
                let kind = (kind * 2 + dice.below(2)) as u8;
                let rest = dice.roll().to_le_bytes();
                seed.extend([kind, rest[0], rest[1], rest[2], rest[3]]);
                if name != "damaged" {
                    break;
                }
            }
            seeds.push((format!("{name}-{log}"), seed));
        }
    }
    seeds.push(("good".to_owned(), vec![2, 3]));
    seeds.push(("empty".to_owned(), vec![sidecar::RAW]));
    seeds.push((
        "other-layout".to_owned(),
        [&[sidecar::RAW, 0], b"leaflogI\x01\0\0\0".as_slice()].concat(),
    ));
    seeds
}

/// Histories of some length for each backend; kinds of calls in turns, the rare ones as often as
/// the common ones.
fn operations() -> Seeds {
    let kinds = [
        0, 2, 4, 30, 33, 42, 47, 53, 56, 60, 63, 65, 70, 76, 80, 82, 84, 88, 91, 93, 95, 96, 98,
        100, 102, 103,
    ];
    let mut dice = Dice::new(2);
    let mut seeds = Seeds::new();
    for backend in 0..8 {
        for length in [6, 40] {
            let mut seed = vec![backend];
            for call in 0..length {
                let kind = if call < 2 || dice.below(3) == 0 {
                    dice.below(28) as u8
                } else {
                    dice.pick(&kinds).copied().unwrap_or(0)
                };
                let rest = dice.roll().to_le_bytes();
                seed.extend([kind, rest[0], rest[1]]);
            }
            seeds.push((format!("backend-{backend}-{length:02}"), seed));
        }
    }
    seeds
}

fn all_decoders() -> Seeds {
    let texts: [&[u8]; 28] = [
        br"\ud83d\ude00 \ud83d \ude00\ud83d x\u0041\n\/",
        b"\\u00e9\xe9\\\\\xff",
        "é✓\u{1F600}".as_bytes(),
        b"2026-07-14T09:00:00.123456Z",
        b"2026-07-14t23:59:60+23:59",
        b"2024-02-29",
        b"1900-02-29T00:00Z",
        b"0000-01-01 00:00:00-00:30",
        b"2026-07-14T09:00:00.",
        b"1784019600000",
        b"-8.64e15",
        b"8640000000000001",
        b"9007199254740993.5",
        b"1e999",
        b"-0",
        b"4.9406564584124654e-324",
        b"179769313486231580793728971405301e277",
        br#" { "a" : [ 1 , "x y" , { } ] , "b" : [ ] , "a" : "\" , " } "#,
        br#"[[],{},[{}],"{",1e5,"\\"]"#,
        b"not json \xff",
        b"session-1.2_3",
        b"-session",
        b"a.",
        br#"p{"kind":"entry", "lane" : "main","id":"a","parentId":null,"seq":12 ,"x":[1.50, {"seq":3}] }"#,
        br#"0{"lane":1,"parentId":"b","\u0070arentId":{},"seq":[],"lane":{}}"#,
        b"pnot an object",
        "1234567890123456789012345678901234567890123456789012345678901234567890123456789é".as_bytes(),
        "12345678901234567890123456789012345678901234567890123456789012345678901234567890✓".as_bytes(),
    ];
    let which = [
        0, 0, 0, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6, 7, 7,
    ];
    let mut seeds = Seeds::new();
    for (number, (text, which)) in texts.iter().zip(which).enumerate() {
        seeds.push((format!("text-{number:02}"), [&[which], *text].concat()));
    }
    for number in [0, 1, 951_782_400_000_u64, u64::MAX, u64::MAX >> 1] {
        let bytes = number.to_le_bytes();
        seeds.push((
            format!("time-{number}"),
            [&[2 + decoders::COUNT], bytes.as_slice()].concat(),
        ));
    }
    seeds
}

/// Each shape, small and less small, in some format.
fn recipes() -> Seeds {
    let mut dice = Dice::new(3);
    let mut seeds = Seeds::new();
    for (number, shape) in Shape::ALL.iter().enumerate() {
        for (name, size) in [("small", 110), ("middle", 160)] {
            let format = dice.below(4) as u8 | if dice.below(2) == 0 { 0x80 } else { 0 };
            let seed = vec![
                number as u8,
                format,
                size,
                dice.roll() as u8,
                dice.roll() as u8,
            ];
            seeds.push((format!("{shape:?}-{name}").to_lowercase(), seed));
        }
    }
    seeds
}
