//! A folder of sessions whose listings are held against those that read every log, and catalogs that
//! say something else than the logs do.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use leaflog::{IndexMode, Listing, OpenOptions, Repository};
use tempfile::TempDir;
use xxhash_rust::xxh3::xxh3_64;

/// Where the moment stands that a catalog was begun at, in nanoseconds since 1970.
pub const MOMENT: usize = 24;

pub struct Place {
    folder: TempDir,
}

impl Place {
    pub fn new() -> Self {
        // In memory where that can be: thousands of listings write a file each.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Self {
            folder: folder.expect("a folder"),
        }
    }

    /// With some sessions, good and bad, in the folder and in one inside.
    pub fn with_sessions() -> Self {
        let place = Self::new();
        place.write("1_a.jsonl", &codebot("a", "alpha"));
        place.write("2_b.jsonl", &pi_v4("b", "betas"));
        place.write("--w--/3_c.jsonl", &pi("c", "gamma"));
        place.write("4_torn.jsonl", &format!("{}{{torn\n", pi("d", "delta")));
        place.write("5_none.jsonl", "{\"no\":\"header\"}\n");
        place.write(
            "6_later.jsonl",
            &pi("e", "x").replace("\"version\":3", "\"version\":99"),
        );
        place
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.file(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(&path, text).expect("written");
        path
    }

    pub fn catalog(&self) -> PathBuf {
        self.file(".leaflog-catalog")
    }

    /// The names in the folder.
    pub fn names(&self) -> Vec<String> {
        names(self.path())
    }

    /// Waits until what is written now is newer than all that was.
    pub fn settle(&self) {
        let begun = self.tick();
        while self.tick() <= begun {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The time that the file system gives a file that is made now.
    fn tick(&self) -> SystemTime {
        let file = tempfile::tempfile_in(self.path()).expect("a file");
        let made = file.metadata().expect("a file");
        made.modified().expect("a time")
    }

    /// What is listed with the index asked for, as it is with every log read.
    pub fn list(&self) -> Listing {
        self.list_with(&OpenOptions::new().index(IndexMode::Always))
    }

    pub fn list_with(&self, options: &OpenOptions) -> Listing {
        let expected = list(self.path(), &options.clone().index(IndexMode::Memory));
        let found = list(self.path(), options);
        assert_same(&found, &expected);
        found
    }

    /// What is listed, whatever the logs say, and how many bytes of logs were read for it.
    pub fn list_believing(&self) -> (Listing, u64) {
        let read = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&read);
        let options = OpenOptions::new()
            .index(IndexMode::Always)
            .progress(move |done, _| {
                seen.fetch_max(done, Ordering::Relaxed);
            });
        let listing = list(self.path(), &options);
        (listing, read.load(Ordering::Relaxed))
    }

    /// Lists until all is remembered that can be.
    pub fn remember(&self) {
        self.settle();
        self.list();
        assert!(self.catalog().exists());
    }

    /// Changes the catalog, and makes its checksum right again.
    pub fn forge(&self, change: impl FnOnce(&mut Vec<u8>)) {
        forge(&self.catalog(), change);
    }

    /// Makes the catalog say another title than the log, so that whoever believes it is known by that.
    pub fn forge_title(&self, from: &str, to: &str) {
        self.forge(|bytes| replace(bytes, from, to));
    }
}

pub fn names(folder: &Path) -> Vec<String> {
    let items = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> = items
        .map(|item| {
            item.expect("an item")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

pub fn list(folder: &Path, options: &OpenOptions) -> Listing {
    let repository = Repository::new(folder).with_options(options.clone());
    repository.list().expect("a listing")
}

pub fn assert_same(found: &Listing, expected: &Listing) {
    assert_eq!(found.sessions, expected.sessions);
    let told = |listing: &Listing| -> Vec<String> {
        let warnings = listing.warnings.iter();
        warnings
            .map(|warning| format!("{} {warning}", warning.code()))
            .collect()
    };
    assert_eq!(told(found), told(expected));
}

/// The titles of the sessions, in order.
pub fn titles(listing: &Listing) -> Vec<&str> {
    let sessions = listing.sessions.iter();
    let mut titles: Vec<&str> = sessions.filter_map(|info| info.title.as_deref()).collect();
    titles.sort_unstable();
    titles
}

pub fn forge(catalog: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(catalog).expect("a catalog");
    bytes.truncate(bytes.len() - 8);
    change(&mut bytes);
    let hash = xxh3_64(&bytes);
    bytes.extend_from_slice(&hash.to_le_bytes());
    fs::write(catalog, bytes).expect("written");
}

/// Replaces a text by one of the same length.
pub fn replace(bytes: &mut [u8], from: &str, to: &str) {
    assert_eq!(from.len(), to.len());
    let places = bytes.windows(from.len());
    let at = places
        .enumerate()
        .find(|(_, text)| *text == from.as_bytes());
    let (at, _) = at.expect("the text");
    bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
}

pub fn set_modified(path: &Path, time: SystemTime) {
    let file = File::options().write(true).open(path).expect("a file");
    file.set_modified(time).expect("set");
}

/// A session of codebot with one message.
pub fn codebot(id: &str, text: &str) -> String {
    format!(
        r#"{{"kind":"header","id":"h0","timestamp":"2026-07-14T08:00:00Z","data":{{"version":3,"session_id":"{id}","cwd":"/home/dev/app","created":"2026-07-14T08:00:00Z"}}}}
{{"kind":"message","id":"00000001","parent_id":"h0","timestamp":"2026-07-14T09:01:00Z","data":{{"role":"user","content":[{{"type":"text","text":"{text}"}}]}}}}
"#
    )
}

/// A session of pi v3 with one message.
pub fn pi(id: &str, text: &str) -> String {
    format!(
        r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2026-07-14T08:00:00.000Z","cwd":"/w"}}
{{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-07-14T09:02:00.000Z","message":{{"role":"user","content":"{text}"}}}}
"#
    )
}

/// A session of pi v4 with one message.
pub fn pi_v4(id: &str, text: &str) -> String {
    format!(
        r#"{{"kind":"header","version":4,"id":"{id}","createdAt":1784016000000,"cwd":"/w","parentSessionId":"before"}}
{{"kind":"entry","lane":"main","type":"message","id":"00000001","message":{{"role":"user","content":"{text}"}},"parentId":null,"seq":1,"timestamp":1784019600000}}
"#
    )
}
