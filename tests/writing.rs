//! A session in a file that is open for writing: what it writes, what it refuses, and what a
//! reader and the naive replay make of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use leaflog::naive::Replay;
use leaflog::{
    At, Code, EntryQuery, IndexMode, IndexState, LogItem, NewEntry, NewRecord, OpenOptions, Order,
    Session, SessionStorage,
};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn log(&self, text: &str) -> PathBuf {
        let path = self.0.path().join("s.jsonl");
        fs::write(&path, text).expect("written");
        path
    }
}

const V4: &str = "{\"kind\":\"header\",\"version\":4,\"id\":\"s4\",\"createdAt\":1784019600000,\"cwd\":\"/w\",\"metadata\":{\"a\":1}}\n";
const V3: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s3\",\"timestamp\":\"2026-07-14T09:00:00.000Z\",\"cwd\":\"/w\"}\n";
const CODEBOT: &str = "{\"kind\":\"header\",\"id\":\"h0\",\"timestamp\":\"2026-07-14T09:00:00Z\",\"data\":{\"version\":3,\"session_id\":\"a1b2c3d4\",\"cwd\":\"/w\",\"created\":\"2026-07-14T09:00:00Z\"}}\n";

fn writer(path: &Path) -> Session {
    OpenOptions::new().write(true).open(path).expect("opens")
}

fn user(text: &str) -> NewEntry {
    NewEntry::new(
        "message",
        format!("{{\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}"),
    )
}

fn codebot_user(text: &str) -> NewEntry {
    NewEntry::new(
        "message",
        format!("{{\"role\":\"user\",\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}"),
    )
}

/// What the reference rules make of the file is what the session answers.
fn agrees_with_the_replay(session: &Session, path: &Path) {
    let replay = Replay::open(path, leaflog::naive::ReadOptions::default()).expect("replays");
    let expected = replay.snapshot(At::Current, false);
    let found = session.snapshot(At::Current);
    match (expected, found) {
        (Ok(expected), Ok(found)) => assert_eq!(found, expected),
        (expected, found) => panic!("{expected:?} and {found:?}"),
    }
    let mut overview = session.overview().expect("an overview");
    let expected = replay.overview();
    overview.reports.clone_from(&expected.reports);
    assert_eq!(overview, expected);
    assert_eq!(expected.report_count, 0, "{:?}", expected.reports);
}

#[test]
fn a_v4_session_is_written_in_the_order_of_fields_of_its_own_writer() {
    let folder = Folder::new();
    let path = folder.log(V4);
    let session = writer(&path);
    let root = session
        .append_entry(user("hi").with_id("e1"), "main")
        .expect("appends");
    assert_eq!((root.seq, root.parent.as_deref()), (Some(1), None));
    session.create_lane("side", Some("e1")).expect("a lane");
    let record = NewRecord::new(
        "operation_started",
        "side",
        r#"{"sourceLeafId":"e1","intent":{"kind":"run"}}"#,
    );
    session
        .append_record(record.with_id("r1"))
        .expect("a record");
    session.set_name(Some("Name \"x\"")).expect("named");
    session.set_label("e1", Some("start")).expect("labelled");
    session.set_label("e1", None).expect("cleared");
    let child = session
        .append_entry(user("more").with_id("e2"), "side")
        .expect("appends");
    assert_eq!(child.parent.as_deref(), Some("e1"));
    session.move_lane("main", None).expect("moved");

    let text = fs::read_to_string(&path).expect("text");
    let lines: Vec<&str> = text.lines().skip(1).collect();
    let times: Vec<String> = [&root, &child]
        .iter()
        .map(|e| e.time.expect("a time").to_string())
        .collect();
    assert_eq!(
        lines[0],
        format!(
            r#"{{"kind":"entry","lane":"main","type":"message","id":"e1","message":{{"role":"user","content":"hi"}},"parentId":null,"seq":1,"timestamp":{}}}"#,
            times[0]
        )
    );
    assert_eq!(
        lines[1],
        r#"{"kind":"lane","seq":2,"lane":"side","leafId":"e1"}"#
    );
    assert!(lines[2].starts_with(r#"{"kind":"record","type":"operation_started","id":"r1","lane":"side","sourceLeafId":"e1","intent":{"kind":"run"},"seq":3,"timestamp":"#), "{}", lines[2]);
    assert_eq!(
        lines[3],
        r#"{"kind":"fact","seq":4,"fact":"name","name":"Name \"x\""}"#
    );
    assert_eq!(
        lines[4],
        r#"{"kind":"fact","seq":5,"fact":"label","targetId":"e1","label":"start"}"#
    );
    assert_eq!(
        lines[5],
        r#"{"kind":"fact","seq":6,"fact":"label","targetId":"e1"}"#
    );
    assert_eq!(
        lines[6],
        format!(
            r#"{{"kind":"entry","lane":"side","type":"message","id":"e2","message":{{"role":"user","content":"more"}},"parentId":"e1","seq":7,"timestamp":{}}}"#,
            times[1]
        )
    );
    assert_eq!(
        lines[7],
        r#"{"kind":"lane","seq":8,"lane":"main","leafId":null}"#
    );
    agrees_with_the_replay(&session, &path);

    let log = session.log(Some(2), Some(3)).expect("a log");
    assert_eq!(log.iter().map(LogItem::seq).collect::<Vec<_>>(), [3, 4, 5]);
    assert_eq!(
        session
            .find_open_operations("side", None)
            .expect("some")
            .len(),
        1
    );
    assert_eq!(
        session.metadata().expect("some").metadata.as_deref(),
        Some("{\"a\":1}")
    );
    assert_eq!(
        session.name().expect("a name").as_deref(),
        Some("Name \"x\"")
    );
    assert_eq!(session.label("e1").expect("no label"), None);
    drop(session);
    let session = writer(&path);
    let record = NewRecord::new("operation_started", "side", r#"{"intent":{"kind":"run"}}"#);
    assert_eq!(
        session.append_record(record).expect_err("one open").code(),
        Code::Storage
    );
    assert_eq!(
        session
            .append_entry(user("x").with_id("r1"), "main")
            .expect_err("taken")
            .code(),
        Code::AlreadyExists
    );
    assert_eq!(
        session
            .append_entry(user("x"), "none")
            .expect_err("no lane")
            .code(),
        Code::InvalidLane
    );
    assert_eq!(
        session
            .append_entry(user("x"), "main")
            .expect("appends")
            .seq,
        Some(9)
    );
}

#[test]
fn codebot_and_pi_v3_sessions_are_written_as_their_own_writers_do() {
    let folder = Folder::new();
    let path = folder.log(CODEBOT);
    let session = writer(&path);
    let root = session
        .append_entry(codebot_user("q"), "main")
        .expect("appends");
    assert_eq!(root.parent.as_deref(), Some("h0"));
    let long = "x".repeat(250);
    let thinking = NewEntry::new(
        "message",
        format!(
            r#"{{"role":"assistant","content":[{{"type":"thinking","thinking":"{long}"}},{{"type":"text","text":"{long}"}}]}}"#
        ),
    );
    session.append_entry(thinking, "main").expect("appends");
    session.set_name(Some("n")).expect("named");
    session.move_lane("main", Some(&root.id)).expect("moved");
    session
        .append_entry(codebot_user("again"), "main")
        .expect("appends");
    assert_eq!(
        session
            .set_label(&root.id, Some("l"))
            .expect_err("none")
            .code(),
        Code::Unsupported
    );
    let record = NewRecord::new("abort_requested", "main", r#"{"runId":"x"}"#);
    assert_eq!(
        session.append_record(record).expect_err("none").code(),
        Code::Unsupported
    );
    let text = fs::read_to_string(&path).expect("text");
    assert!(text.lines().nth(1).expect("a line").starts_with(&format!(
        r#"{{"kind":"message","id":"{}","parent_id":"h0","timestamp":"2"#,
        root.id
    )));
    assert!(text.contains(&format!(r#""thinking":"{}…"}}"#, "x".repeat(199))));
    assert!(text.contains(&format!(r#""text":"{long}"}}"#)));
    agrees_with_the_replay(&session, &path);
    assert_eq!(session.path(At::Current).expect("a path").len(), 3);
    drop(session);

    let path = folder.log(V3);
    let session = writer(&path);
    let root = session.append_entry(user("q"), "main").expect("appends");
    let custom = NewEntry::new("custom", r#"{"customType":"note","data":1}"#);
    session.append_entry(custom, "main").expect("appends");
    session.set_label(&root.id, Some("mark")).expect("labelled");
    assert_eq!(
        session
            .set_label("ffffffff", Some("x"))
            .expect_err("unknown")
            .code(),
        Code::NotFound
    );
    session.set_name(Some(" two\r\nlines ")).expect("named");
    assert_eq!(
        session.name().expect("a name").as_deref(),
        Some("two lines")
    );
    let text = fs::read_to_string(&path).expect("text");
    assert!(
        text.lines()
            .nth(2)
            .expect("a line")
            .starts_with(r#"{"type":"custom","customType":"note","data":1,"id":""#)
    );
    agrees_with_the_replay(&session, &path);
}

#[test]
fn a_bad_payload_changes_nothing() {
    let folder = Folder::new();
    let path = folder.log(V4);
    let session = writer(&path);
    let before = fs::read(&path).expect("bytes");
    for (kind, fields) in [
        ("message", ""),
        ("message", "[]"),
        ("message", "{"),
        ("message", r#"{"message":1}"#),
        ("message", r#"{"message":{"role":"user"}},"x":{}"#),
        ("message", r#"{"message":{"role":"user"},"id":"other"}"#),
        ("message", r#"{"message":{"role":"user"},"seq":9}"#),
        (
            "message",
            r#"{"message":{"role":"user"},"p\u0061rentId":null}"#,
        ),
        ("message", r#"{"message":{"role":"user","x":NaN}}"#),
        ("custom", r#"{"data":1}"#),
        ("no_such_kind", "{}"),
        ("compaction", r#"{"summary":"s"}"#),
    ] {
        let error = session
            .append_entry(NewEntry::new(kind, fields), "main")
            .expect_err(fields);
        assert_eq!(
            error.code(),
            Code::InvalidPayload,
            "{kind} {fields}: {error}"
        );
    }
    let deep = format!(
        "{{\"customType\":\"x\",\"data\":{}1{}}}",
        "[".repeat(2000),
        "]".repeat(2000)
    );
    let error = session
        .append_entry(NewEntry::new("custom", deep), "main")
        .expect_err("deep");
    assert_eq!(error.code(), Code::InvalidPayload);
    for (kind, fields) in [
        ("operation_started", r#"{"intent":{"kind":"walk"}}"#),
        ("operation_finished", "{}"),
        ("usage", "{}"),
        ("no_such_type", "{}"),
    ] {
        let error = session
            .append_record(NewRecord::new(kind, "main", fields))
            .expect_err(fields);
        assert_eq!(
            error.code(),
            Code::InvalidPayload,
            "{kind} {fields}: {error}"
        );
    }
    assert_eq!(fs::read(&path).expect("bytes"), before);
    let entry = session.append_entry(
        NewEntry::new(
            "custom",
            "{\n \"customType\" : \"a b\\n\",\r\n\"data\": 1e999 }",
        ),
        "main",
    );
    let entry = entry.expect("several lines become one");
    assert_eq!(entry.seq, Some(1));
    assert!(
        entry
            .text()
            .contains(r#""customType":"a b\n","data":1e999,"#),
        "{}",
        entry.text()
    );
    agrees_with_the_replay(&session, &path);
}

#[test]
fn a_second_writer_is_refused_and_readers_go_on() {
    let folder = Folder::new();
    let path = folder.log(V4);
    let session = writer(&path);
    let reader = Session::open(&path).expect("opens");
    session.append_entry(user("one"), "main").expect("appends");
    let error = OpenOptions::new()
        .write(true)
        .open(&path)
        .expect_err("locked");
    assert_eq!(error.code(), Code::Locked);
    assert!(error.message().contains("this process"), "{error}");
    assert_eq!(
        reader
            .snapshot(At::Current)
            .expect("as it was")
            .messages
            .len(),
        0
    );
    assert!(reader.refresh().expect("refreshes"));
    assert_eq!(
        reader
            .snapshot(At::Current)
            .expect("as it is")
            .messages
            .len(),
        1
    );
    assert_eq!(
        reader
            .append_entry(user("x"), "main")
            .expect_err("reads only")
            .code(),
        Code::Unsupported
    );
    session.close().expect("closes");
    assert_eq!(
        session
            .append_entry(user("x"), "main")
            .expect_err("closed")
            .code(),
        Code::Closed
    );
    assert_eq!(
        session.snapshot(At::Current).expect_err("closed").code(),
        Code::Closed
    );
    session.close().expect("closes again");
    writer(&path)
        .append_entry(user("two"), "main")
        .expect("appends");
}

#[test]
fn a_torn_tail_is_kept_beside_and_cut_at_the_first_write() {
    let folder = Folder::new();
    let torn = "{\"kind\":\"entry\",\"lane\":\"ma";
    let path = folder.log(&format!("{V4}{torn}"));
    let session = writer(&path);
    assert!(
        fs::read_to_string(&path).expect("text").ends_with(torn),
        "opening cuts nothing"
    );
    session
        .append_entry(user("after"), "main")
        .expect("appends");
    let beside = folder.0.path().join(format!("s.jsonl.torn-{}", V4.len()));
    assert_eq!(fs::read_to_string(beside).expect("kept"), torn);
    agrees_with_the_replay(&session, &path);
    drop(session);

    // A whole object without its newline is an entry; the newline is added.
    let whole = fs::read_to_string(&path).expect("text");
    fs::write(&path, whole.trim_end()).expect("written");
    let session = writer(&path);
    assert_eq!(
        session.snapshot(At::Current).expect("some").messages.len(),
        1
    );
    session.append_entry(user("next"), "main").expect("appends");
    assert!(fs::read_to_string(&path).expect("text").starts_with(&whole));
    agrees_with_the_replay(&session, &path);
}

/// What another program does to a log.
type Breakage = fn(&Path);

#[test]
fn a_log_that_is_no_longer_what_it_was_is_not_written_to() {
    let folder = Folder::new();
    let broken: [(&str, Breakage, Code); 5] = [
        (
            "removed",
            |path| fs::remove_file(path).expect("removed"),
            Code::NotFound,
        ),
        (
            "replaced",
            |path| {
                let other = path.with_extension("new");
                fs::copy(path, &other).expect("copied");
                fs::rename(other, path).expect("renamed");
            },
            Code::Storage,
        ),
        (
            "moved",
            |path| fs::rename(path, path.with_extension("old")).expect("renamed"),
            Code::NotFound,
        ),
        (
            "truncated",
            |path| {
                let file = fs::OpenOptions::new()
                    .write(true)
                    .open(path)
                    .expect("opens");
                file.set_len(10).expect("cut");
            },
            Code::InvalidEntry,
        ),
        (
            "written",
            |path| {
                use std::io::Write;
                let mut file = fs::OpenOptions::new()
                    .append(true)
                    .open(path)
                    .expect("opens");
                file.write_all(b"{}\n").expect("written");
            },
            Code::Storage,
        ),
    ];
    for (what, break_it, code) in broken {
        let path = folder.log(V4);
        let session = writer(&path);
        session.append_entry(user("one"), "main").expect("appends");
        break_it(&path);
        let error = session.append_entry(user("two"), "main").expect_err(what);
        assert_eq!(error.code(), code, "{what}: {error}");
    }
}

#[test]
fn old_formats_are_read_only_and_say_what_to_do() {
    let folder = Folder::new();
    for version in ["1", "2"] {
        let path = folder.log(&V3.replace("\"version\":3", &format!("\"version\":{version}")));
        let error = OpenOptions::new()
            .write(true)
            .open(&path)
            .expect_err("read only");
        assert_eq!(error.code(), Code::Unsupported);
        assert!(error.message().contains("convert"), "{error}");
    }
}

#[test]
fn the_index_follows_many_appends_in_segments_and_is_fresh_after_closing() {
    let folder = Folder::new();
    let path = folder.log(V4);
    let session = OpenOptions::new()
        .write(true)
        .index(IndexMode::Always)
        .open(&path)
        .expect("opens");
    let mut last = String::new();
    for number in 0..30_000 {
        last = session
            .append_entry(user(&number.to_string()), "main")
            .expect("appends")
            .id;
        if number % 1000 == 0 {
            assert_eq!(
                session.entry(&last).expect("answers").expect("found").seq,
                Some(number + 1)
            );
        }
    }
    session.close().expect("closes");
    let found = OpenOptions::new().verify(&path).expect("verifies");
    assert!(found.is_clean() && found.index_checked, "{found:?}");
    let reader = Session::open(&path).expect("opens");
    assert_eq!(
        reader.index_status().state,
        leaflog::IndexState::Fresh,
        "{:?}",
        reader.index_status()
    );
    agrees_with_the_replay(&reader, &path);
    let newest = reader
        .find_entries(&EntryQuery {
            limit: Some(1),
            ..EntryQuery::default()
        })
        .expect("found");
    assert_eq!(newest[0].id, last);
    let query = EntryQuery {
        after_seq: Some(29_990),
        order: Order::OldestFirst,
        ..EntryQuery::default()
    };
    assert_eq!(reader.find_entries(&query).expect("found").len(), 10);
}

#[test]
fn closing_after_each_append_adds_little_to_a_large_sidecar() {
    let folder = Folder::new();
    let path = folder.log(V4);
    let options = OpenOptions::new().write(true).index(IndexMode::Always);
    let session = options.open(&path).expect("opens");
    for number in 0..20_000 {
        session
            .append_entry(user(&number.to_string()), "main")
            .expect("appends");
    }
    drop(session);
    let sidecar = path.with_extension("jsonl.idx");
    let size = || fs::metadata(&sidecar).expect("a sidecar").len();
    #[cfg(unix)]
    let inode = || std::os::unix::fs::MetadataExt::ino(&fs::metadata(&sidecar).expect("a sidecar"));
    #[cfg(unix)]
    let (large, first) = (size(), inode());
    for number in 0..50 {
        let session = options.open(&path).expect("opens");
        session
            .append_entry(user(&number.to_string()), "main")
            .expect("appends");
        session.close().expect("closes");
        let reader = Session::open(&path).expect("opens");
        assert_eq!(reader.index_status().state, leaflog::IndexState::Fresh);
        assert_eq!(
            reader.snapshot(At::Current).expect("some").messages.len(),
            20_001 + number
        );
    }
    #[cfg(unix)]
    assert_eq!(inode(), first, "the sidecar was written anew");
    assert!(size() < large + 60 * 64 * 1024, "{} and {large}", size());
    agrees_with_the_replay(&Session::open(&path).expect("opens"), &path);
}

#[test]
fn many_threads_write_one_sequence() {
    let folder = Folder::new();
    let path = folder.log(V4);
    let session = Arc::new(writer(&path));
    session.create_lane("side", None).expect("a lane");
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let session = Arc::clone(&session);
            let path = path.clone();
            scope.spawn(move || {
                let lane = if thread % 2 == 0 { "main" } else { "side" };
                for number in 0..200 {
                    let text = "y".repeat(4_000 + (number * 977 + thread * 31) % 30_000);
                    let entry = session.append_entry(user(&text), lane).expect("appends");
                    if number % 50 == thread {
                        let found = session.entry(&entry.id).expect("answers").expect("found");
                        assert_eq!(found, entry);
                        let reader = Session::open(&path).expect("opens");
                        let overview = reader.overview().expect("some");
                        // A line on its way may be seen as a torn tail, never as a line.
                        let torn = leaflog::ReportCode::TornTail;
                        let mut reports = overview.reports.iter();
                        assert!(reports.all(|report| report.code == torn), "{overview:?}");
                    }
                }
            });
        }
    });
    agrees_with_the_replay(&session, &path);
    let items = session.log(None, None).expect("a log");
    let numbers: Vec<u64> = items.iter().map(LogItem::seq).collect();
    assert_eq!(numbers, (1..=1601).collect::<Vec<u64>>());
}

#[test]
fn a_refused_first_call_leaves_a_torn_tail_where_it_is() {
    let folder = Folder::new();
    let text = format!("{V4}{{\"kind\":\"ent");
    let path = folder.log(&text);
    let session = writer(&path);
    let error = session.append_entry(NewEntry::new("message", "{}"), "main");
    assert_eq!(error.expect_err("no message").code(), Code::InvalidPayload);
    let error = session.append_entry(user("x"), "nowhere");
    assert_eq!(error.expect_err("no lane").code(), Code::InvalidLane);
    assert_eq!(fs::read_to_string(&path).expect("text"), text);
}

#[test]
fn asking_often_does_not_keep_the_sidecar_from_following() {
    let folder = Folder::new();
    let path = folder.log(V4);
    let session = writer(&path);
    let text = "x".repeat(400);
    for number in 0..20_000 {
        session.append_entry(user(&text), "main").expect("appends");
        if number % 100 == 0 {
            session.stats().expect("answers");
        }
    }
    // The thread that writes it may still be at work.
    let sidecar = path.with_extension("jsonl.idx");
    while !sidecar.exists() {
        std::thread::yield_now();
    }
}

/// Where a session says that it stands: its lane, and what a request would be made of.
fn stands_on(session: &Session) -> [Option<String>; 2] {
    let lanes = session.lanes().expect("lanes");
    let snapshot = session.snapshot(At::Current).expect("a snapshot");
    [lanes[0].leaf.clone(), snapshot.leaf]
}

#[test]
fn a_refused_entry_moves_no_session_back_that_has_no_file_yet() {
    let folder = Folder::new();
    let path = folder.0.path().join("s.jsonl");
    let options = leaflog::CreateOptions {
        format: Some(leaflog::Format::PiV3),
        ..leaflog::CreateOptions::in_folder("/w")
    };
    let session = OpenOptions::new().create(&path, &options).expect("made");
    let note = || leaflog::pi::custom("note", None);
    let first = session.append_entry(note(), "main").expect("written");
    session.append_entry(note(), "main").expect("written");
    session.move_lane("main", Some(&first.id)).expect("moved");
    let refused = session.append_entry(note().with_id(first.id.clone()), "main");
    assert_eq!(refused.expect_err("taken").code(), Code::AlreadyExists);
    assert!(!path.exists());
    assert_eq!(
        stands_on(&session),
        [Some(first.id.clone()), Some(first.id)]
    );
}

#[test]
fn an_index_that_is_made_anew_moves_no_session_back() {
    for (header, made) in [(V3, user as fn(&str) -> NewEntry), (CODEBOT, codebot_user)] {
        let folder = Folder::new();
        let path = folder.log(header);
        let options = OpenOptions::new().index(IndexMode::Always).write(true);
        let mut ids = Vec::new();
        let session = options.open(&path).expect("opens");
        for _ in 0..250 {
            let entry = session.append_entry(made("text"), "main");
            ids.push(entry.expect("written").id);
        }
        session.close().expect("closed");
        // In one frame. What is damaged is the second page of its columns, which only who asks for
        // the entries on it looks at.
        let sidecar = folder.0.path().join("s.jsonl.idx");
        fs::remove_file(&sidecar).expect("removed");
        drop(options.clone().write(false).open(&path).expect("opens"));
        let mut bytes = fs::read(&sidecar).expect("a sidecar");
        bytes[2 * 4096 + 8] ^= 1;
        fs::write(&sidecar, &bytes).expect("written");
        let session = options.open(&path).expect("opens");
        let moved = session.move_lane("main", Some(&ids[0]));
        moved.expect("moved");
        assert_eq!(session.index_status().state, IndexState::Fresh);
        assert!(session.entry(&ids[150]).expect("answered").is_some());
        assert_eq!(session.index_status().state, IndexState::Rebuilt);
        let there = Some(ids[0].clone());
        assert_eq!(stands_on(&session), [there.clone(), there.clone()]);
        let next = session.append_entry(made("next"), "main");
        assert_eq!(next.expect("written").parent, there);
        agrees_with_the_replay(&session, &path);
    }
}

#[test]
fn an_empty_id_is_refused_for_what_it_is() {
    let folder = Folder::new();
    let session = writer(&folder.log(V4));
    let note = NewEntry::new("custom", r#"{"customType":"note"}"#).with_id("");
    let record = NewRecord::new("abort_requested", "main", r#"{"runId":"r"}"#).with_id("");
    for error in [
        session.append_entry(note, "main").unwrap_err(),
        session.append_record(record).unwrap_err(),
    ] {
        assert_eq!(error.code(), Code::InvalidPayload);
        assert!(error.message().contains("id that is not empty"), "{error}");
    }
    assert!(session.log(None, None).expect("a log").is_empty());
}
