//! P7: a folder of sessions is listed.

use std::fs::{self, File, OpenOptions as FileOptions};
use std::hint::black_box;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use leaflog::generate::Shape;
use leaflog::{Format, IndexMode, Listing, OpenOptions, Repository};

use crate::scene::Scene;
use crate::support::figures::Series;
use crate::support::report::{Goal, Target, count, figure, size, time};

/// Folders for working directories, beside which half of the sessions stand.
const FOLDERS: u64 = 40;

pub fn run(scene: &mut Scene) -> Target {
    // 10,000 sessions, and fewer where the other targets are looked at quickly.
    let sessions = (scene.entries / 100).clamp(20, 10_000);
    let folder = scene.file("sessions");
    let (logs, bytes) = fill(&folder, sessions);
    let place = Place {
        catalog: folder.join(".leaflog-catalog"),
        whole: Repository::new(&folder).with_options(OpenOptions::new().index(IndexMode::Memory)),
        repository: Repository::new(&folder),
        folder,
        logs,
    };
    let what = format!(
        "list a folder of {} sessions, {}, once more",
        count(sessions),
        size(bytes)
    );
    let mut target = Target::new("P7", what);
    again(&place, &mut target);
    first(&place, &target);
    changed(&place, &target);
    fs::remove_dir_all(&place.folder).expect("removed");
    target
}

/// A folder of sessions, and how it is listed.
struct Place {
    folder: PathBuf,
    logs: Vec<PathBuf>,
    catalog: PathBuf,
    repository: Repository,
    /// Without a catalog.
    whole: Repository,
}

impl Place {
    fn list(&self) -> Listing {
        self.repository.list().expect("a listing")
    }

    fn list_whole(&self) -> Listing {
        self.whole.list().expect("a listing")
    }
}

/// Sessions of 1 to 100 entries of some 400 bytes, and how many bytes they have together.
fn fill(folder: &Path, sessions: u64) -> (Vec<PathBuf>, u64) {
    let mut bytes = 0;
    let logs = (0..sessions).map(|number| {
        let format = [Format::CodebotV3, Format::PiV4, Format::PiV3][number as usize % 3];
        let place = match number % 2 {
            0 => folder.to_owned(),
            _ => folder.join(format!("--work-{}--", number % FOLDERS)),
        };
        fs::create_dir_all(&place).expect("a folder");
        let path = place.join(format!("2026-07-14T09-00-00-{number:05}Z_{number}.jsonl"));
        let mut out = BufWriter::new(File::create(&path).expect("a new file"));
        let shape = Shape::new(format, 1 + number * 7919 % 100)
            .payload(120)
            .seed(number);
        bytes += shape.write_to(&mut out).expect("written").bytes;
        path
    });
    (logs.collect(), bytes)
}

fn assert_same(found: &Listing, expected: &Listing) {
    assert!(found.sessions == expected.sessions, "other sessions");
    let told = |listing: &Listing| -> Vec<String> {
        listing.warnings.iter().map(ToString::to_string).collect()
    };
    assert_eq!(told(found), told(expected));
}

/// What no listing can do without: the names, and what the system says of each file.
fn look(folder: &Path) -> u64 {
    let mut count = 0;
    for item in fs::read_dir(folder).expect("a folder") {
        let item = item.expect("an item");
        if item.file_type().expect("a kind").is_dir() {
            count += look(&item.path());
        } else {
            count += u64::from(black_box(item.metadata().expect("a file")).len() > 0);
        }
    }
    count
}

fn again(place: &Place, target: &mut Target) {
    let expected = place.list_whole();
    assert_eq!(expected.sessions.len(), place.logs.len());
    assert_same(&place.list(), &expected);
    let (mut looks, mut lists) = (Series::default(), Series::default());
    let (mut recents, mut wholes) = (Series::default(), Series::default());
    for round in 0..31 {
        looks.time(|| look(&place.folder));
        let found = lists.time(|| place.list());
        assert_same(&found, &expected);
        let recent = recents.time(|| place.repository.most_recent_read_only());
        let recent = recent.expect("an answer").expect("a session");
        assert_eq!(recent.session_id(), expected.sessions[0].id);
        if round % 8 == 0 {
            wholes.time(|| place.list_whole());
        }
    }
    target.find(
        lists.over(&looks),
        "times readdir + stat of all files",
        format!("{} and {}", time(lists.median()), time(looks.median())),
        Goal::AtMost(3.0),
    );
    target.note(&format!(
        "the most recent one, opened: {}, {} times readdir + stat; without a catalog {}",
        time(recents.median()),
        figure(recents.over(&looks).value),
        time(wholes.median())
    ));
}

/// All bytes of all logs by read(2), once.
fn read(logs: &[PathBuf]) -> u64 {
    let mut buffer = vec![0; 1 << 20];
    let mut bytes = 0;
    for log in logs {
        let mut file = File::open(log).expect("a log");
        loop {
            let count = file.read(&mut buffer).expect("readable");
            if count == 0 {
                break;
            }
            bytes += black_box(count) as u64;
        }
    }
    bytes
}

fn first(place: &Place, target: &Target) {
    let expected = place.list_whole();
    let (mut reads, mut lists) = (Series::default(), Series::default());
    for _ in 0..7 {
        reads.time(|| read(&place.logs));
        // Of few logs there is none.
        let _ = fs::remove_file(&place.catalog);
        let found = lists.time(|| place.list());
        assert_same(&found, &expected);
    }
    target.note(&format!(
        "for the first time, each log read once: {}; opening and reading each log once and no more {}",
        time(lists.median()),
        time(reads.median())
    ));
}

/// One log of all changes before each listing.
fn changed(place: &Place, target: &Target) {
    let (mut looks, mut lists) = (Series::default(), Series::default());
    for log in place.logs.iter().step_by(place.logs.len() / 15 + 1) {
        let mut file = FileOptions::new().append(true).open(log).expect("a log");
        file.write_all(b"{torn\n").expect("written");
        looks.time(|| look(&place.folder));
        let found = lists.time(|| place.list());
        assert_same(&found, &place.list_whole());
    }
    target.note(&format!(
        "after one log changed: {}, {} times readdir + stat",
        time(lists.median()),
        figure(lists.over(&looks).value)
    ));
}
