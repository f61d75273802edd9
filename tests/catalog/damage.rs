//! Whatever stands where a catalog should changes no listing, and gives way to a good one.

use std::fs::{self, File};
use std::os::unix::fs::symlink;

use super::place::{Place, forge, pi};

/// A folder with a small catalog, and its bytes.
fn small() -> (Place, Vec<u8>) {
    let place = Place::new();
    place.write("1.jsonl", &pi("a", "alpha"));
    place.write("w/2.jsonl", &pi("b", "betas"));
    place.write("3.jsonl", "{}\n");
    place.remember();
    let catalog = fs::read(place.catalog()).expect("a catalog");
    (place, catalog)
}

#[test]
fn no_flipped_bit_changes_a_listing() {
    let (place, good) = small();
    for at in 0..good.len() {
        for bit in 0..8 {
            let mut bytes = good.clone();
            bytes[at] ^= 1 << bit;
            fs::write(place.catalog(), &bytes).expect("written");
            place.list();
            let now = fs::read(place.catalog()).expect("a catalog");
            assert!(now != bytes, "byte {at}, bit {bit}: it stayed");
            assert_eq!(now.len(), good.len());
        }
    }
}

#[test]
fn no_length_of_a_catalog_changes_a_listing() {
    let (place, good) = small();
    for len in 0..good.len() {
        fs::write(place.catalog(), &good[..len]).expect("written");
        place.list();
        assert_eq!(
            fs::metadata(place.catalog()).expect("a catalog").len(),
            good.len() as u64
        );
    }
    let longer = [&good[..], &good[..]].concat();
    fs::write(place.catalog(), longer).expect("written");
    place.list();
    assert_eq!(
        fs::metadata(place.catalog()).expect("a catalog").len(),
        good.len() as u64
    );
}

#[test]
fn bytes_that_lie_under_a_right_checksum_bring_nothing_down() {
    let (place, good) = small();
    for at in 0..good.len() - 8 {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            fs::write(place.catalog(), &good).expect("written");
            forge(&place.catalog(), |bytes| bytes[at] = value);
            // What is said is up to the liar; that something is said is not.
            let (found, _) = place.list_believing();
            assert_eq!(
                found.sessions.len() + found.warnings.len(),
                3,
                "byte {at}, {value}"
            );
        }
    }
    for len in 0..good.len() - 8 {
        fs::write(place.catalog(), &good).expect("written");
        forge(&place.catalog(), |bytes| bytes.truncate(len));
        let (found, _) = place.list_believing();
        assert_eq!(
            found.sessions.len() + found.warnings.len(),
            3,
            "{len} bytes"
        );
    }
}

#[test]
fn what_is_no_catalog_in_its_place_is_left_or_replaced() {
    let place = Place::with_sessions();
    place.settle();
    fs::write(place.catalog(), b"notes\n").expect("written");
    place.list();
    assert_eq!(place.list_believing().1, 0);
    // A file so large is none of them, and is not read.
    File::create(place.catalog())
        .and_then(|file| file.set_len(2 << 30))
        .expect("made");
    place.list();
    assert_eq!(place.list_believing().1, 0);
    // What a link leads to is somebody else's.
    let other = place.file("other");
    fs::rename(place.catalog(), &other).expect("renamed");
    forge(&other, |bytes| {
        super::place::replace(bytes, "alpha", "ALPHA")
    });
    let bytes = fs::read(&other).expect("a file");
    symlink(&other, place.catalog()).expect("linked");
    place.list();
    assert_eq!(fs::read(&other).expect("a file"), bytes);
    assert!(!place.catalog().is_symlink());
    // Nothing takes the place of a folder, and a listing goes without.
    fs::remove_file(place.catalog()).expect("removed");
    fs::create_dir(place.catalog()).expect("made");
    fs::write(place.catalog().join("mine"), b"x").expect("written");
    place.list();
    assert!(place.list_believing().1 > 0);
    assert!(place.catalog().join("mine").exists());
    assert!(place.names().iter().all(|name| !name.ends_with(".tmp")));
}

#[test]
fn what_killed_listings_left_goes_with_the_next_catalog() {
    let place = Place::with_sessions();
    for left in ["..leaflog-catalog.tmp", "..leaflog-catalog.3.tmp"] {
        fs::write(place.file(left), b"leaflogC half of it").expect("written");
    }
    place.remember();
    assert!(
        place.names().iter().all(|name| !name.ends_with(".tmp")),
        "{:?}",
        place.names()
    );
    assert_eq!(place.list_believing().1, 0);
}
