//! Catalogs of folders: what is remembered is what the logs say, is believed of none that could have
//! changed, and nothing that stands in the catalog's place changes a listing.

#![cfg(unix)]

#[path = "catalog/place.rs"]
mod place;

#[path = "catalog/changes.rs"]
mod changes;
#[path = "catalog/damage.rs"]
mod damage;
#[path = "catalog/places.rs"]
mod places;

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use leaflog::{
    Code, CreateOptions, ForkScope, IndexMode, NewEntry, OpenOptions, Repository, SessionStorage,
};

use place::{Place, assert_same, codebot, list, pi, pi_v4, titles};

#[test]
fn an_unchanged_folder_is_listed_from_its_catalog_and_no_log_is_read() {
    let place = Place::with_sessions();
    place.remember();
    let (found, read) = place.list_believing();
    assert_same(&found, &place.list());
    assert_eq!(read, 0);
    assert_eq!(titles(&found), ["alpha", "betas", "delta", "gamma"]);
    assert_eq!(found.warnings.len(), 2);
    // Each answer comes from there, that of a log that is no session too.
    let before = fs::read(place.catalog()).expect("a catalog");
    for title in ["alpha", "betas", "delta", "gamma"] {
        place.forge_title(title, &title.to_uppercase());
    }
    place.forge_title("not a session", "NOT A SESSION");
    let (found, read) = place.list_believing();
    assert_eq!(titles(&found), ["ALPHA", "BETAS", "DELTA", "GAMMA"]);
    let told = |text: &str| found.warnings.iter().any(|it| it.message().contains(text));
    assert!(told("NOT A SESSION"), "{:?}", found.warnings);
    assert_eq!(read, 0);
    // Where all is known nothing is written.
    let written = fs::metadata(place.catalog()).expect("a catalog");
    place.list_believing();
    let now = fs::metadata(place.catalog()).expect("a catalog");
    assert_eq!(written.modified().ok(), now.modified().ok());
    fs::write(place.catalog(), before).expect("written");
    place.list();
}

#[test]
fn without_an_index_the_catalog_is_neither_read_nor_written() {
    let place = Place::with_sessions();
    let options = OpenOptions::new().index(IndexMode::Memory);
    list(place.path(), &options);
    assert!(!place.catalog().exists());
    place.remember();
    place.forge_title("alpha", "ALPHA");
    let before = fs::read(place.catalog()).expect("a catalog");
    assert!(titles(&list(place.path(), &options)).contains(&"alpha"));
    assert_eq!(fs::read(place.catalog()).expect("a catalog"), before);
}

#[test]
fn few_small_logs_get_no_catalog_unasked_and_many_do() {
    let place = Place::with_sessions();
    place.settle();
    let options = OpenOptions::new();
    place.list_with(&options);
    assert!(!place.catalog().exists());
    for number in 0..80 {
        place.write(
            &format!("{number}_x.jsonl"),
            &pi(&format!("x{number}"), "hello"),
        );
    }
    place.settle();
    place.list_with(&options);
    assert!(place.catalog().exists());
    place.list_with(&options);
    // Where there is one it is kept.
    for number in 0..80 {
        fs::remove_file(place.file(&format!("{number}_x.jsonl"))).expect("removed");
    }
    place.list_with(&options);
    assert!(fs::metadata(place.catalog()).expect("a catalog").len() < 4096);
}

#[test]
fn many_logs_are_read_with_progress_over_all_of_them() {
    let place = Place::new();
    let mut bytes = 0;
    for number in 0..300 {
        let text = "much to say ".repeat(number % 40);
        let log = pi_v4(&format!("x{number}"), &text);
        bytes += log.len() as u64;
        place.write(&format!("--{}--/{number}.jsonl", number % 7), &log);
    }
    let (calls, last) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (seen, end) = (Arc::clone(&calls), Arc::clone(&last));
    let options = OpenOptions::new().progress(move |done, total| {
        assert!(done <= total && total == bytes, "{done} of {total}");
        seen.fetch_add(1, Ordering::Relaxed);
        end.store(done, Ordering::Relaxed);
    });
    place.settle();
    let found = list(place.path(), &options);
    assert_eq!(last.load(Ordering::Relaxed), bytes);
    assert!(calls.load(Ordering::Relaxed) >= 300);
    assert_same(&found, &place.list());
    assert_eq!(found.sessions.len(), 300);
}

#[test]
fn sessions_are_handed_out_one_by_one_as_they_are_listed() {
    let place = Place::with_sessions();
    let options = OpenOptions::new().index(IndexMode::Always);
    let repository = Repository::new(place.path()).with_options(options);
    for _ in 0..3 {
        place.settle();
        let (mut sessions, mut warnings) = (Vec::new(), 0);
        let each = repository.list_each(|found| match found {
            Ok(info) => sessions.push(info),
            Err(_) => warnings += 1,
        });
        each.expect("a listing");
        let listing = repository.list().expect("a listing");
        assert_eq!(sessions.len(), listing.sessions.len());
        assert!(listing.sessions.iter().all(|info| sessions.contains(info)));
        assert_eq!(warnings, listing.warnings.len());
    }
    let missing = Repository::new(place.file("missing"));
    let mut found = 0;
    missing.list_each(|_| found += 1).expect("nothing yet");
    assert_eq!(found, 0);
}

#[test]
fn what_a_repository_makes_and_removes_is_listed_at_once() {
    let place = Place::with_sessions();
    let options = OpenOptions::new().index(IndexMode::Always);
    let repository = Repository::new(place.path()).with_options(options);
    place.remember();
    let new = CreateOptions {
        id: Some("new".to_owned()),
        ..CreateOptions::in_folder("/work")
    };
    let session = repository.create(&new).expect("made");
    assert_eq!(place.list().sessions.len(), 5);
    for text in ["one", "two"] {
        let fields = format!(r#"{{"message":{{"role":"user","content":"{text}"}}}}"#);
        session
            .append_entry(NewEntry::new("message", fields), "main")
            .expect("appended");
        assert!(titles(&place.list()).contains(&"one"));
    }
    session.close().expect("closed");
    let fork = repository.fork("new", &ForkScope::Tree, &CreateOptions::default());
    let fork = fork.expect("forked").session_id();
    assert_eq!(place.list().sessions.len(), 6);
    let recent = repository.most_recent_read_only().expect("an answer");
    let expected = place.list().sessions[0].id.clone();
    assert_eq!(recent.expect("a session").session_id(), expected);
    place.remember();
    for id in ["new", &fork, "b"] {
        repository.delete(id).expect("deleted");
        assert!(place.catalog().exists());
        assert!(place.list().sessions.iter().all(|info| info.id != id));
        assert_eq!(
            repository.open(id).expect_err("gone").code(),
            Code::NotFound
        );
    }
    // Nothing of what was deleted is kept.
    let catalog = fs::read(place.catalog()).expect("a catalog");
    assert!(!catalog.windows(5).any(|text| text == b"betas"));
    // It stands for no session, whatever is asked for.
    assert_eq!(
        repository.open("leaflog-catalog").expect_err("none").code(),
        Code::NotFound
    );
    repository.delete(".leaflog-catalog").expect("nothing");
    assert!(place.catalog().exists());
}

#[test]
fn what_is_too_long_to_be_remembered_is_read_each_time() {
    let place = Place::with_sessions();
    let long = codebot("long", "x").replace("/home/dev/app", &"/very/long".repeat(10_000));
    let len = long.len() as u64;
    place.write("9_long.jsonl", &long);
    place.remember();
    assert!(fs::metadata(place.catalog()).expect("a catalog").len() < 10_000);
    assert_eq!(place.list_believing().1, len);
    place.list();
}
