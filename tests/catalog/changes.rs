//! What changed since a folder was listed is read again, and nothing else; what could have changed
//! unseen is not believed.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, symlink};

use leaflog::IndexMode;
use leaflog::OpenOptions;

use super::place::{MOMENT, Place, assert_same, codebot, list, pi, pi_v4, set_modified, titles};

#[test]
fn a_log_that_grew_is_read_again_and_only_that_one() {
    let place = Place::with_sessions();
    place.remember();
    place.forge_title("alpha", "ALPHA");
    let path = place.file("2_b.jsonl");
    let mut file = File::options().append(true).open(&path).expect("a log");
    for (line, title) in [("{torn", "betas"), ("\n", "betas")] {
        file.write_all(line.as_bytes()).expect("written");
        place.settle();
        let (found, read) = place.list_believing();
        assert_eq!(read, fs::metadata(&path).expect("a log").len());
        assert_eq!(titles(&found), ["ALPHA", title, "delta", "gamma"]);
        assert!(
            found
                .sessions
                .iter()
                .any(|info| info.id == "b" && info.damaged)
        );
    }
    assert_eq!(place.list_believing().1, 0);
}

#[test]
fn other_bytes_of_the_same_length_are_seen_whatever_time_is_set() {
    let place = Place::with_sessions();
    for (number, text) in ["other", "again"].into_iter().enumerate() {
        place.remember();
        let path = place.file("2_b.jsonl");
        let before = fs::metadata(&path).expect("a log");
        let other = pi_v4("b", text);
        match number {
            0 => fs::write(&path, &other).expect("written"),
            _ => {
                // By another file under its name.
                fs::write(place.file("new"), &other).expect("written");
                fs::rename(place.file("new"), &path).expect("renamed");
            }
        }
        set_modified(&path, before.modified().expect("a time"));
        let now = fs::metadata(&path).expect("a log");
        assert_eq!(
            (now.len(), now.mtime_nsec()),
            (before.len(), before.mtime_nsec())
        );
        assert!(titles(&place.list()).contains(&text));
    }
}

#[test]
fn a_file_that_was_older_all_along_is_another_one_by_its_number() {
    let place = Place::with_sessions();
    // Made before the catalog: its times are as believable as those of the log.
    let other = place.write("other", &pi_v4("b", "other"));
    let path = place.file("2_b.jsonl");
    let time = fs::metadata(&path)
        .expect("a log")
        .modified()
        .expect("a time");
    set_modified(&other, time);
    place.remember();
    fs::rename(&other, &path).expect("renamed");
    assert_eq!(titles(&place.list()), ["alpha", "delta", "gamma", "other"]);
}

#[test]
fn what_vanished_drops_out_and_what_is_new_comes_in() {
    let place = Place::with_sessions();
    place.remember();
    fs::remove_file(place.file("1_a.jsonl")).expect("removed");
    assert_eq!(titles(&place.list()), ["betas", "delta", "gamma"]);
    place.write("7_f.jsonl", &codebot("f", "newer"));
    place.write("--new--/8_g.jsonl", &pi("g", "newest"));
    assert_eq!(
        titles(&place.list()),
        ["betas", "delta", "gamma", "newer", "newest"]
    );
    place.remember();
    assert_eq!(place.list_believing().1, 0);
    fs::remove_dir_all(place.file("--new--")).expect("removed");
    assert_eq!(titles(&place.list()), ["betas", "delta", "gamma", "newer"]);
    let catalog = fs::read(place.catalog()).expect("a catalog");
    for gone in ["alpha", "newest", "--new--"] {
        let kept = catalog
            .windows(gone.len())
            .any(|text| text == gone.as_bytes());
        assert!(!kept, "{gone}");
    }
    for name in place.names() {
        if name.ends_with(".jsonl") {
            fs::remove_file(place.file(&name)).expect("removed");
        }
    }
    fs::remove_dir_all(place.file("--w--")).expect("removed");
    assert!(place.list().sessions.is_empty());
    assert!(place.list().warnings.is_empty());
}

#[test]
fn a_log_is_listed_where_it_stands_now() {
    let place = Place::with_sessions();
    place.remember();
    let rename = |from: &str, to: &str| {
        fs::rename(place.file(from), place.file(to)).expect("renamed");
        place.list();
    };
    rename("1_a.jsonl", "1_z.jsonl");
    rename("1_z.jsonl", "--w--/1_z.jsonl");
    rename("--w--", "--v--");
    place.remember();
    // Two that change their names.
    rename("2_b.jsonl", "x");
    rename("4_torn.jsonl", "2_b.jsonl");
    rename("x", "4_torn.jsonl");
    // Of the same name in another folder.
    place.write("3_c.jsonl", &pi("other", "other"));
    place.remember();
    fs::create_dir(place.file("x")).expect("made");
    rename("3_c.jsonl", "x/3_c.jsonl");
    rename("--v--/3_c.jsonl", "3_c.jsonl");
    assert_eq!(
        titles(&place.list()),
        ["alpha", "betas", "delta", "gamma", "other"]
    );
}

#[test]
fn a_link_is_what_it_leads_to() {
    let place = Place::with_sessions();
    let elsewhere = Place::new();
    let one = elsewhere.write("one.jsonl", &pi("one", "one of"));
    let two = elsewhere.write("two.jsonl", &pi("two", "two of"));
    let link = place.file("9_link.jsonl");
    symlink(&one, &link).expect("linked");
    place.remember();
    assert_eq!(place.list_believing().1, 0);
    fs::write(&one, pi("one", "change")).expect("written");
    assert!(titles(&place.list()).contains(&"change"));
    place.remember();
    fs::remove_file(&link).expect("removed");
    symlink(&two, &link).expect("linked");
    assert!(titles(&place.list()).contains(&"two of"));
    place.remember();
    fs::remove_file(&two).expect("removed");
    assert_eq!(place.list().warnings.len(), 3);
    fs::rename(&one, &two).expect("renamed");
    assert!(titles(&place.list()).contains(&"change"));
    // A folder that is a link is not looked into.
    symlink(elsewhere.path(), place.file("folder")).expect("linked");
    place.list();
    // And what is no file is asked each time.
    fs::remove_file(&link).expect("removed");
    fs::create_dir(&link).expect("made");
    assert_eq!(place.list().warnings.len(), 3);
    fs::remove_dir(&link).expect("removed");
    place.write("9_link.jsonl", &pi("last", "a file"));
    assert!(titles(&place.list()).contains(&"a file"));
}

#[test]
fn what_is_written_in_the_same_tick_as_the_catalog_is_seen() {
    let place = Place::with_sessions();
    let path = place.file("2_b.jsonl");
    for round in 0..400 {
        fs::write(&path, pi_v4("b", &format!("{round:05}"))).expect("written");
        place.list();
        // While the catalog of this listing is as old as the log at the most.
        fs::write(&path, pi_v4("b", &format!("{:05}", round + 50_000))).expect("written");
        place.list();
    }
}

#[test]
fn a_log_is_believed_only_if_it_is_older_than_the_catalog() {
    let place = Place::with_sessions();
    place.remember();
    place.forge_title("betas", "BETAS");
    let log = fs::metadata(place.file("2_b.jsonl")).expect("a log");
    let changed = log.ctime() * 1_000_000_000 + log.ctime_nsec();
    for (moment, title) in [(changed + 1, "BETAS"), (changed, "betas")] {
        let forged = fs::read(place.catalog()).expect("a catalog");
        place.forge(|bytes| bytes[MOMENT..MOMENT + 8].copy_from_slice(&moment.to_le_bytes()));
        let (found, _) = place.list_believing();
        assert!(titles(&found).contains(&title), "{title}: {found:?}");
        fs::write(place.catalog(), forged).expect("written");
    }
}

#[test]
fn a_log_is_believed_only_if_all_of_its_stamp_is_as_it_was() {
    let place = Place::with_sessions();
    place.remember();
    place.forge_title("betas", "BETAS");
    let forged = fs::read(place.catalog()).expect("a catalog");
    let log = fs::metadata(place.file("2_b.jsonl")).expect("a log");
    let nanos = |seconds: i64, nanos: i64| (seconds * 1_000_000_000 + nanos).cast_unsigned();
    let stamp = [
        log.dev(),
        log.ino(),
        log.len(),
        nanos(log.mtime(), log.mtime_nsec()),
        nanos(log.ctime(), log.ctime_nsec()),
    ];
    let bytes = stamp.map(u64::to_le_bytes).concat();
    let at = forged
        .windows(bytes.len())
        .position(|window| window == bytes);
    let at = at.expect("the stamp");
    let believed = || titles(&place.list_believing().0).contains(&"BETAS");
    assert!(believed());
    for byte in 0..bytes.len() {
        place.forge(|catalog| catalog[at + byte] ^= 1);
        assert!(!believed(), "byte {byte} of the stamp");
        fs::write(place.catalog(), &forged).expect("written");
    }
    assert!(believed());
}

#[test]
fn a_catalog_of_the_future_is_not_believed_and_made_anew() {
    let place = Place::with_sessions();
    place.remember();
    place.forge_title("betas", "BETAS");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let soon = i64::try_from(now.expect("a time").as_nanos()).expect("a time") + 3_600_000_000_000;
    for moment in [soon, i64::MAX] {
        place.forge(|bytes| bytes[MOMENT..MOMENT + 8].copy_from_slice(&moment.to_le_bytes()));
        place.list();
        let bytes = fs::read(place.catalog()).expect("a catalog");
        let taken = i64::from_le_bytes(bytes[MOMENT..MOMENT + 8].try_into().expect("eight"));
        assert!(taken < soon);
        assert_eq!(place.list_believing().1, 0);
    }
}

#[test]
fn listings_and_writers_at_once_end_with_what_the_logs_say() {
    let place = Place::with_sessions();
    let options = OpenOptions::new().index(IndexMode::Always);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (place, options) = (&place, &options);
            scope.spawn(move || {
                for round in 0..60 {
                    let name = format!("{thread}_own.jsonl");
                    let log = pi_v4(&format!("own{thread}"), &format!("{round:03}"));
                    fs::write(place.file(&name), log).expect("written");
                    let found = list(place.path(), options);
                    let id = format!("own{thread}");
                    let own = found.sessions.iter().find(|info| info.id == id);
                    // Nobody else writes it: what is listed is what was written just now.
                    let title = own.and_then(|info| info.title.clone());
                    assert_eq!(title, Some(format!("{round:03}")));
                    if round % 3 == 0 {
                        fs::remove_file(place.file(&name)).expect("removed");
                    }
                }
            });
        }
    });
    let found = place.list();
    place.remember();
    assert_same(&place.list(), &found);
    assert!(place.names().iter().all(|name| !name.ends_with(".tmp")));
}
