//! The stores that keep sessions as rows: against each other, and against the reader of files.

#[path = "backends/log.rs"]
mod log;
#[path = "backends/sqlite.rs"]
mod sqlite;

use leaflog::{
    At, BranchBounds, Code, CreateOptions, EntryQuery, ForkScope, Format, MemoryRepository,
    NewEntry, NewRecord, Order, RecordQuery, SessionRepository, SessionStorage, SqliteRepository,
};

use log::agrees_with_its_log;

type Storage = Box<dyn SessionStorage>;

/// Runs a test on each store.
fn on_each(test: impl Fn(&dyn SessionRepository)) {
    test(&MemoryRepository::new());
    let folder = tempfile::tempdir().unwrap();
    test(&SqliteRepository::open(folder.path().join("deep/er/sessions.db")).unwrap());
}

fn named(id: &str) -> CreateOptions {
    CreateOptions {
        id: Some(id.to_owned()),
        ..CreateOptions::in_folder("/work")
    }
}

fn message(id: &str, role: &str, text: &str) -> NewEntry {
    let fields = format!(r#"{{"message":{{"role":"{role}","content":"{text}"}}}}"#);
    NewEntry::new("message", fields).with_id(id)
}

fn started(id: &str, lane: &str) -> NewRecord {
    let fields = r#"{"sourceLeafId":null,"intent":{"kind":"run"}}"#;
    NewRecord::new("operation_started", lane, fields).with_id(id)
}

fn finished(run: &str, lane: &str) -> NewRecord {
    let fields = format!(r#"{{"runId":"{run}","outcome":"completed"}}"#);
    NewRecord::new("operation_finished", lane, fields)
}

fn ids(entries: leaflog::Result<Vec<leaflog::Entry>>) -> Vec<String> {
    entries.unwrap().into_iter().map(|entry| entry.id).collect()
}

fn code<T>(result: leaflog::Result<T>) -> Code {
    result.err().unwrap().code()
}

#[test]
fn a_conversation_reads_as_its_log_does() {
    on_each(|repository| {
        let session = repository.create(&named("s1")).unwrap();
        agrees_with_its_log(repository, &*session);
        let add = |entry: NewEntry| session.append_entry(entry, "main").unwrap();
        add(NewEntry::new(
            "thinking_level_change",
            r#"{"thinkingLevel":"high"}"#,
        ));
        add(message("u1", "user", "hello"));
        add(NewEntry::new(
            "message",
            r#"{"message":{"role":"assistant","provider":"p","model":"m","content":[]}}"#,
        ));
        add(NewEntry::new(
            "active_tools_change",
            r#"{"activeToolNames":["a","b"]}"#,
        ));
        session.create_lane("side", Some("u1")).unwrap();
        session
            .append_entry(message("u2", "user", "other"), "side")
            .unwrap();
        let kept = r#"{"summary":"so far","retainedTail":[{"role":"user","content":"kept"}],"tokensBefore":9}"#;
        add(NewEntry::new("compaction", kept).with_id("c1"));
        add(message("u3", "user", "more"));
        session.set_name(Some("a \"name\"")).unwrap();
        session.set_label("u1", Some("first")).unwrap();
        session.append_record(started("r1", "side")).unwrap();
        let usage = r#"{"cause":"x","usage":{"input":5,"cacheRead":2,"cacheWrite":1,"totalTokens":8,"cost":{"total":0.25}}}"#;
        session
            .append_record(NewRecord::new("usage", "main", usage))
            .unwrap();
        agrees_with_its_log(repository, &*session);

        let snapshot = session.snapshot(At::Current).unwrap();
        assert_eq!(snapshot.messages.len(), 3);
        assert_eq!(snapshot.path_entries, 6);
        assert_eq!(snapshot.reasoning_effort.as_deref(), Some("high"));
        assert_eq!(snapshot.model.unwrap().model.as_deref(), Some("m"));
        assert_eq!(code(session.snapshot(At::Leaf("r1"))), Code::NotFound);
        assert_eq!(code(session.snapshot(At::Lane("no"))), Code::InvalidLane);

        for scope in [
            ForkScope::Tree,
            ForkScope::default(),
            ForkScope::at("u1"),
            ForkScope::before("u3"),
        ] {
            let fork = repository
                .fork("s1", &scope, &CreateOptions::in_folder("/fork"))
                .unwrap();
            assert_eq!(fork.metadata().unwrap().parent.as_deref(), Some("s1"));
            assert_eq!(fork.name().unwrap().as_deref(), Some("a \"name\""));
            assert!(
                fork.find_records(&RecordQuery::default())
                    .unwrap()
                    .is_empty()
            );
            assert_eq!(fork.log(None, None).unwrap()[0].seq(), 1);
            agrees_with_its_log(repository, &*fork);
            fork.append_entry(message("next", "user", "on"), "main")
                .unwrap();
            agrees_with_its_log(repository, &*fork);
        }
        let refused = repository.fork("s1", &ForkScope::at("c1"), &CreateOptions::default());
        assert_eq!(code(refused), Code::InvalidForkTarget);
    });
}

#[test]
fn a_refused_call_changes_nothing() {
    on_each(|repository| {
        let session = repository.create(&named("s1")).unwrap();
        session
            .append_entry(message("a", "user", "1"), "main")
            .unwrap();
        session.append_record(started("r", "main")).unwrap();
        let before = (session.log(None, None).unwrap(), session.lanes().unwrap());
        let bad = || NewEntry::new("message", "{}").with_id("a");
        let again = || message("a", "user", "2");
        let as_record = message("r", "user", "2");
        assert_eq!(
            code(session.append_entry(bad(), "no")),
            Code::InvalidPayload
        );
        assert_eq!(code(session.append_entry(again(), "no")), Code::InvalidLane);
        assert_eq!(
            code(session.append_entry(again(), "main")),
            Code::AlreadyExists
        );
        assert_eq!(
            code(session.append_entry(as_record, "main")),
            Code::AlreadyExists
        );
        assert_eq!(
            code(session.append_record(started("a", "main"))),
            Code::AlreadyExists
        );
        assert_eq!(
            code(session.append_record(started("r2", "main"))),
            Code::Storage
        );
        assert_eq!(
            code(session.append_record(started("r2", "no"))),
            Code::InvalidLane
        );
        assert_eq!(code(session.create_lane("main", None)), Code::AlreadyExists);
        assert_eq!(code(session.create_lane("l", Some("r"))), Code::NotFound);
        assert_eq!(code(session.move_lane("l", None)), Code::InvalidLane);
        assert_eq!(code(session.move_lane("main", Some("x"))), Code::NotFound);
        assert_eq!(code(session.set_label("x", None)), Code::NotFound);
        assert_eq!(
            before,
            (session.log(None, None).unwrap(), session.lanes().unwrap())
        );
        let next = session.append_entry(message("b", "user", "2"), "main");
        assert_eq!(next.unwrap().seq, Some(3));
        session.append_record(finished("r", "main")).unwrap();
        session.append_record(started("r2", "main")).unwrap();
        assert_eq!(ids(session.find_open_operations("main", None)), ["r2"]);
    });
}

#[test]
fn queries_hold_to_their_bounds() {
    on_each(|repository| {
        let session = repository.create(&named("s1")).unwrap();
        for number in 1..=6 {
            let kind = if number % 3 == 0 { "custom" } else { "message" };
            let fields = r#"{"customType":"t","message":{"role":"user","content":""}}"#;
            let entry = NewEntry::new(kind, fields).with_id(number.to_string());
            session.append_entry(entry, "main").unwrap();
        }
        let query = |order, limit, after_seq| EntryQuery {
            order,
            limit,
            after_seq,
            ..EntryQuery::default()
        };
        let (new, old) = (Order::NewestFirst, Order::OldestFirst);
        assert_eq!(
            ids(session.find_entries(&query(new, Some(2), Some(5)))),
            ["4", "3"]
        );
        assert_eq!(
            ids(session.find_entries(&query(old, Some(2), Some(2)))),
            ["3", "4"]
        );
        let customs = EntryQuery {
            custom_type: Some("t".to_owned()),
            ..EntryQuery::default()
        };
        assert_eq!(ids(session.find_entries(&customs)), ["6", "3"]);
        let to_custom = BranchBounds {
            stop_at_kind: Some("custom".to_owned()),
            ..BranchBounds::from("5")
        };
        let branch =
            |query, bounds: &BranchBounds| ids(session.find_entries_on_branch(&query, bounds));
        assert_eq!(branch(query(new, None, None), &to_custom), ["5", "4", "3"]);
        assert_eq!(branch(query(old, None, None), &to_custom), ["1", "2", "3"]);
        assert_eq!(branch(query(old, Some(1), Some(1)), &to_custom), ["2"]);
        assert_eq!(branch(query(new, Some(1), Some(4)), &to_custom), ["3"]);
        let to_id = BranchBounds {
            stop_at_id: Some("4".to_owned()),
            ..BranchBounds::from("6")
        };
        assert_eq!(branch(customs.clone(), &to_id), ["6"]);
        let nowhere = session.find_entries_on_branch(&customs, &BranchBounds::from("x"));
        assert_eq!(code(nowhere), Code::NotFound);
        assert_eq!(
            code(session.find_entries(&query(new, Some(0), None))),
            Code::InvalidQuery
        );

        session.append_record(started("r1", "main")).unwrap();
        session.append_record(finished("r1", "main")).unwrap();
        session.append_record(started("r2", "main")).unwrap();
        let of_run = |order| RecordQuery {
            run_id: Some("r1".to_owned()),
            after_seq: Some(6),
            order,
            ..RecordQuery::default()
        };
        let kinds = |order| -> Vec<String> {
            let found = session.find_records(&of_run(order)).unwrap();
            found.into_iter().map(|record| record.kind).collect()
        };
        assert_eq!(kinds(new), ["operation_finished", "operation_started"]);
        assert_eq!(kinds(old), ["operation_started", "operation_finished"]);
        let runs = RecordQuery {
            kind: Some("operation_started".to_owned()),
            operation_kind: Some("run".to_owned()),
            after_seq: Some(7),
            ..RecordQuery::default()
        };
        assert_eq!(ids(session.find_records(&runs)), ["r2"]);
        assert_eq!(session.log(Some(7), Some(1)).unwrap()[0].seq(), 8);
    });
}

#[test]
fn sessions_are_made_found_and_removed() {
    on_each(|repository| {
        let options = CreateOptions {
            metadata: Some("{\"a\": 1}".to_owned()),
            parent: Some("p".to_owned()),
            ..named("s1")
        };
        let session = repository.create(&options).unwrap();
        assert_eq!(code(repository.create(&options)), Code::AlreadyExists);
        assert_eq!(
            code(repository.create(&named("../x"))),
            Code::InvalidPayload
        );
        let other = CreateOptions {
            format: Some(Format::PiV3),
            ..CreateOptions::default()
        };
        assert_eq!(code(repository.create(&other)), Code::Unsupported);
        let about = session.metadata().unwrap();
        assert_eq!(about.metadata.as_deref(), Some("{\"a\": 1}"));

        session
            .append_entry(message("a", "user", "one"), "main")
            .unwrap();
        assert_eq!(code(repository.open("s1")), Code::Locked);
        assert_eq!(code(repository.delete("s1")), Code::Locked);
        let reader = repository.open_read_only("s1").unwrap();
        assert_eq!(reader.metadata().unwrap(), about);
        assert_eq!(code(reader.set_name(None)), Code::Unsupported);
        session.set_name(Some("n")).unwrap();
        assert_eq!(reader.name().unwrap().as_deref(), Some("n"));
        assert_eq!(reader.lanes().unwrap(), session.lanes().unwrap());

        session.close().unwrap();
        session.close().unwrap();
        assert_eq!(code(session.lanes()), Code::Closed);
        assert_eq!(code(session.set_name(None)), Code::Closed);
        let again = repository.most_recent().unwrap().unwrap();
        assert_eq!(again.metadata().unwrap(), about);
        drop(again);
        repository.delete("s1").unwrap();
        repository.delete("s1").unwrap();
        assert_eq!(code(repository.open("s1")), Code::NotFound);
        assert!(repository.list().unwrap().sessions.is_empty());
    });
}

/// Numbers that look random and are the same in each run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % sides
    }
}

/// One call, valid or not, and what came of it.
fn random_call(dice: &mut Dice, session: &dyn SessionStorage) -> String {
    let lane = ["main", "a", "b", "none"][usize::try_from(dice.roll(4)).unwrap()];
    let id = format!("e{}", dice.roll(80));
    let target = (dice.roll(4) > 0).then_some(&*id);
    let text = (dice.roll(3) > 0).then_some("text");
    let entry = |kind: &str, fields: &str| {
        let new = NewEntry::new(kind, fields).with_id(&*id);
        session.append_entry(new, lane).map(drop)
    };
    let result = match dice.roll(16) {
        0 => session.create_lane(lane, target),
        1 => session.move_lane(lane, target),
        2 => session.set_name(text),
        3 => session.set_label(&id, text),
        4 => session.append_record(started(&id, lane)).map(drop),
        5 => session.append_record(finished(&id, lane)).map(drop),
        6 => entry("model_change", r#"{"provider":"p","modelId":"m"}"#),
        7 => entry("thinking_level_change", r#"{"thinkingLevel":"low"}"#),
        8 => entry("active_tools_change", r#"{"activeToolNames":[]}"#),
        9 => entry(
            "compaction",
            r#"{"summary":"s","retainedTail":[],"tokensBefore":1}"#,
        ),
        10 => entry("branch_summary", r#"{"summary":"s","fromId":"e1"}"#),
        11 => entry(
            "message",
            r#"{"message":{"role":"assistant","model":"x","content":[]}}"#,
        ),
        12 => entry("message", r#"{"message":7}"#),
        _ => entry("message", r#"{"message":{"role":"user","content":"hi"}}"#),
    };
    match result {
        Ok(()) => "ok".to_owned(),
        Err(error) => error.code().to_string(),
    }
}

#[test]
fn random_histories_read_the_same_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = SqliteRepository::open(folder.path().join("s.db")).unwrap();
    let memory = MemoryRepository::new();
    for seed in 0..6 {
        let options = named(&format!("s{seed}"));
        let stores: [(&dyn SessionRepository, Storage); 2] = [
            (&memory, memory.create(&options).unwrap()),
            (&sqlite, sqlite.create(&options).unwrap()),
        ];
        let mut dice = [Dice(seed), Dice(seed)];
        for _ in 0..150 {
            let [one, other] = &mut dice;
            assert_eq!(
                random_call(one, &*stores[0].1),
                random_call(other, &*stores[1].1)
            );
        }
        for (repository, session) in &stores {
            agrees_with_its_log(*repository, &**session);
            let id = session.metadata().unwrap().id;
            let fork = repository
                .fork(&id, &ForkScope::Tree, &CreateOptions::default())
                .unwrap();
            agrees_with_its_log(*repository, &*fork);
        }
        let before = stores[1].1.log(None, None).unwrap();
        stores[1].1.close().unwrap();
        let again = SqliteRepository::open(folder.path().join("s.db")).unwrap();
        let again = again.open(&format!("s{seed}")).unwrap();
        assert_eq!(again.log(None, None).unwrap(), before);
        agrees_with_its_log(&sqlite, &*again);
    }
}

#[test]
fn eight_threads_write_one_session_and_sessions_of_their_own() {
    on_each(|repository| {
        let shared = repository.create(&named("shared")).unwrap();
        let own: Vec<_> = (0..8)
            .map(|_| repository.create(&CreateOptions::default()).unwrap())
            .collect();
        std::thread::scope(|scope| {
            for own in &own {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let hi = r#"{"message":{"role":"user","content":"hi"}}"#;
                        let seq = own.append_entry(NewEntry::new("message", hi), "main");
                        let shared = shared.append_entry(NewEntry::new("message", hi), "main");
                        assert!(shared.unwrap().seq >= seq.unwrap().seq);
                    }
                });
            }
        });
        assert_eq!(shared.stats().unwrap().message_count, 400);
        assert_eq!(shared.snapshot(At::Current).unwrap().path_entries, 400);
        agrees_with_its_log(repository, &*shared);
    });
}
