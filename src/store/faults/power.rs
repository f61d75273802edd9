//! Power cuts in a session that is written with `Durability::Disk`: at each moment, each image that
//! may be left is opened, read and written on.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::calls::calls;
use super::images::{Choice, Images};
use super::world::{World, assert_right, folder};
use crate::contract::{SessionStorage, codebot, pi};
use crate::disk::recording::Recording;
use crate::model::Format;
use crate::store::{Durability, IndexMode, OpenOptions};

/// More choices than this are drawn, not tried one by one.
const MOST: usize = 1 << 6;

/// The choices at one moment: all where they are few.
fn choices(images: &Images, seed: u64) -> Vec<Choice> {
    let (names, lengths, blocks) = images.open();
    let blocks = u32::try_from(blocks).unwrap().min(63);
    let all = (names + 1) * (lengths + 1) * (1usize << blocks.min(20));
    if all <= MOST {
        let of_blocks = |names, lengths| {
            (0..1u64 << blocks).map(move |blocks| Choice {
                names,
                lengths,
                blocks,
            })
        };
        let of_lengths = |names| (0..=lengths).flat_map(move |lengths| of_blocks(names, lengths));
        return (0..=names).flat_map(of_lengths).collect();
    }
    // A generator of the kind that C has; what it draws only has to be spread.
    let mut state = seed.wrapping_mul(2) + 1;
    let mut draw = move |most: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(state >> 33).unwrap() % (most + 1)
    };
    let mut drawn: Vec<Choice> = (0..MOST)
        .map(|_| Choice {
            names: draw(names),
            lengths: draw(lengths),
            blocks: u64::try_from(draw(1 << 30)).unwrap() << 32
                | u64::try_from(draw(1 << 30)).unwrap(),
        })
        .collect();
    for blocks in [0, u64::MAX] {
        drawn.push(Choice {
            names,
            lengths,
            blocks,
        });
    }
    drawn
}

/// The logs in a folder.
fn logs(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for item in fs::read_dir(folder).unwrap() {
            let path = item.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|it| it == "jsonl") {
                found.push(path);
            }
        }
    }
    found
}

/// Reads and writes what is left.
fn check(left: &Path, acknowledged: &[String], has_session: bool) {
    let options = OpenOptions::new().index(IndexMode::Always);
    let mut found = false;
    for path in logs(left) {
        let is_main = path.to_string_lossy().ends_with("_s.jsonl");
        found |= is_main;
        let expected = if is_main { acknowledged } else { &[] };
        let session = options.open(&path).unwrap();
        assert_right(&session, &path, expected);
        let new = if session.format() == Format::CodebotV3 {
            codebot::model_change("p", "last")
        } else {
            pi::model_change("p", "last")
        };
        drop(session);
        let session = options.clone().write(true).open(&path).unwrap();
        let id = session.append_entry(new, "main").unwrap().id;
        session.close().unwrap();
        let session = options.open(&path).unwrap();
        let mut expected = expected.to_vec();
        expected.push(id);
        assert_right(&session, &path, &expected);
    }
    assert!(found || !has_session, "the session is gone");
}

fn cut_everywhere(format: Format) {
    let disk = Recording::new();
    let mut world = World::new(format, Durability::Disk, disk.shared());
    // After so much was done, these ids were acknowledged; and from when on there is a session.
    let mut moments: Vec<(usize, Vec<String>)> = Vec::new();
    for (name, call) in calls(format) {
        let is_tear = name.starts_with("tear");
        if is_tear {
            // Nobody flushes what another program leaves, and the record does not have it.
            continue;
        }
        let outcome = call(&mut world);
        assert!(outcome.is_ok(), "{name}: {outcome:?}");
        moments.push((disk.len(), world.acknowledged.clone()));
    }
    let from = world.folder().to_owned();
    let (mut cuts, mut images_seen, mut distinct) = (0, 0, BTreeSet::new());
    let mut images = Images::default();
    for (number, done) in disk.done().iter().enumerate() {
        images.add(done);
        // What was acknowledged by calls that had ended.
        let ended = moments.iter().rposition(|(done, _)| *done <= number + 1);
        let acknowledged = ended
            .map(|last| moments[last].1.clone())
            .unwrap_or_default();
        cuts += 1;
        for choice in choices(&images, u64::try_from(number).unwrap()) {
            let left = folder();
            images.write(choice, &from, left.path());
            images_seen += 1;
            // The same image again says the same.
            let key = key_of(left.path());
            if !distinct.insert((key, acknowledged.len())) {
                continue;
            }
            println!("{format}: cut after {number} of the record, {done:.60?}, {choice:?}");
            check(left.path(), &acknowledged, !acknowledged.is_empty());
        }
    }
    println!(
        "{format}: {cuts} moments, {images_seen} images, {} of them distinct",
        distinct.len()
    );
    assert!(distinct.len() > 300, "{}", distinct.len());
}

/// A number for all that is in a folder.
fn key_of(folder: &Path) -> u64 {
    use xxhash_rust::xxh3::Xxh3;
    let mut hash = Xxh3::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        let mut items: Vec<PathBuf> = fs::read_dir(folder)
            .unwrap()
            .map(|item| item.unwrap().path())
            .collect();
        items.sort();
        for path in items {
            if path.is_dir() {
                open.push(path);
            } else {
                hash.update(path.file_name().unwrap().as_encoded_bytes());
                hash.update(&fs::read(&path).unwrap());
            }
        }
    }
    hash.digest()
}

#[test]
fn no_power_cut_takes_an_acknowledged_entry_of_a_pi_v4_session() {
    cut_everywhere(Format::PiV4);
}

#[test]
fn no_power_cut_takes_an_acknowledged_entry_of_a_pi_v3_session() {
    cut_everywhere(Format::PiV3);
}

#[test]
fn no_power_cut_takes_an_acknowledged_entry_of_a_codebot_session() {
    cut_everywhere(Format::CodebotV3);
}
