//! Where catalogs stand, and which listings share one.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

use leaflog::{IndexMode, OpenOptions};

use super::place::{Place, names, pi, titles};

fn always() -> OpenOptions {
    OpenOptions::new().index(IndexMode::Always)
}

#[test]
fn a_catalog_is_for_its_owner_alone() {
    let place = Place::with_sessions();
    place.remember();
    let mode = fs::metadata(place.catalog())
        .expect("a catalog")
        .permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
}

#[test]
fn a_folder_that_cannot_be_written_is_listed_without_a_catalog() {
    let place = Place::with_sessions();
    place.settle();
    let set = |mode| {
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(place.path(), mode).expect("set");
    };
    set(0o500);
    // Some users may write everywhere.
    let may_write = fs::write(place.file("probe"), b"").is_ok();
    for _ in 0..2 {
        place.list_with(&OpenOptions::new());
        place.list();
    }
    assert_eq!(place.catalog().exists(), may_write);
    set(0o700);
}

#[test]
fn a_folder_for_sidecars_has_the_catalogs_of_all_folders() {
    let indexes = Place::new();
    let folder = indexes.file("new/indexes");
    let options = always().index_dir(&folder);
    let (one, two) = (Place::with_sessions(), Place::new());
    two.write("1_a.jsonl", &pi("other", "other"));
    for _ in 0..2 {
        one.settle();
        one.list_with(&options);
        two.list_with(&options);
    }
    let catalogs = || {
        let mut names = names(&folder);
        names.retain(|name| name.ends_with(".catalog"));
        names
    };
    assert_eq!(catalogs().len(), 2);
    for place in [&one, &two] {
        assert!(!place.catalog().exists());
        place.list_with(&options.clone().strict(true));
    }
    assert_eq!(catalogs().len(), 4);
    // They are found by other ways to the same folder.
    let roundabout = one.path().join("--w--/..");
    let options = options.index(IndexMode::Always);
    super::place::list(&roundabout, &options);
    assert_eq!(catalogs().len(), 4);
}

#[test]
fn listings_whose_options_change_answers_have_catalogs_of_their_own() {
    let place = Place::with_sessions();
    for _ in 0..3 {
        place.settle();
        for (strict, salvage) in [(false, false), (true, false), (false, true), (true, true)] {
            place.list_with(&always().strict(strict).salvage(salvage));
        }
    }
    let mut catalogs = place.names();
    catalogs.retain(|name| name.starts_with(".leaflog"));
    assert_eq!(
        catalogs,
        [
            ".leaflog-catalog",
            ".leaflog-catalog-salvage",
            ".leaflog-catalog-strict",
            ".leaflog-catalog-strict-salvage"
        ]
    );
    // One under the name of another is none.
    fs::copy(place.file(".leaflog-catalog-strict"), place.catalog()).expect("copied");
    assert!(titles(&place.list()).contains(&"delta"));
}

#[test]
fn a_folder_and_the_one_it_stands_in_have_catalogs_of_their_own() {
    let place = Place::with_sessions();
    place.remember();
    let inner = place.file("--w--");
    let found = super::place::list(&inner, &always());
    assert_eq!(titles(&found), ["gamma"]);
    assert!(inner.join(".leaflog-catalog").exists());
    place.list();
    assert_eq!(place.list_believing().1, 0);
    // A catalog that was moved into another folder is of no file in it.
    fs::copy(place.catalog(), inner.join(".leaflog-catalog")).expect("copied");
    let found = super::place::list(&inner, &always());
    assert_eq!(titles(&found), ["gamma"]);
}

#[test]
fn names_that_are_no_text_are_remembered_too() {
    let place = Place::with_sessions();
    let name = OsStr::from_bytes(b"7_\xff\xfe.jsonl");
    if fs::write(place.path().join(name), pi("odd", "oddly")).is_err() {
        // Not every file system takes them.
        return;
    }
    place.remember();
    assert_eq!(place.list_believing().1, 0);
    assert!(titles(&place.list()).contains(&"oddly"));
}
