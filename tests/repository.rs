//! Folders of sessions as the two programs lay them out, and what else may lie in them.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use leaflog::{
    At, Code, CreateOptions, ForkScope, Format, IndexMode, IndexState, Listing, OpenOptions,
    Repository,
};
use tempfile::TempDir;

/// A folder that remembers what was written into it.
struct Folder {
    folder: TempDir,
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl Folder {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
            files: Vec::new(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn add(&mut self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, &bytes).expect("written");
        self.files.push((path.clone(), bytes.as_ref().to_vec()));
        path
    }

    fn repository(&self) -> Repository {
        Repository::new(self.folder.path())
    }

    /// What is listed; all files are as they were.
    fn list(&self) -> Listing {
        let listing = self.repository().list().expect("a listing");
        for (path, bytes) in &self.files {
            assert!(fs::read(path).expect("a file") == *bytes, "{path:?}");
        }
        listing
    }
}

fn ids(listing: &Listing) -> Vec<&str> {
    listing.sessions.iter().map(|info| &*info.id).collect()
}

/// The files that were warned of, by their names.
fn warned(listing: &Listing) -> Vec<String> {
    let name = |path: &Path| path.file_name().expect("a name").display().to_string();
    let mut names: Vec<String> = (listing.warnings.iter())
        .map(|warning| name(warning.path().expect("a path")))
        .collect();
    names.sort();
    names
}

/// A session of codebot with one message, written in a minute of that hour.
fn codebot(id: &str, minute: u32, text: &str) -> String {
    format!(
        r#"{{"kind":"header","id":"h0","timestamp":"2026-07-14T08:00:00Z","data":{{"version":3,"session_id":"{id}","cwd":"/home/dev/app","created":"2026-07-14T08:00:00Z"}}}}
{{"kind":"message","id":"00000001","parent_id":"h0","timestamp":"2026-07-14T09:{minute:02}:00Z","data":{{"role":"user","content":[{{"type":"text","text":"{text}"}}]}}}}
"#
    )
}

/// A session of pi v3 with one message.
fn pi(id: &str, cwd: &str, minute: u32, text: &str) -> String {
    let time = 1_784_019_600_000 + 60_000 * u64::from(minute);
    format!(
        r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2026-07-14T08:00:00.000Z","cwd":"{cwd}"}}
{{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-07-14T09:{minute:02}:00.000Z","message":{{"role":"user","content":"{text}","timestamp":{time}}}}}
"#
    )
}

/// A session of pi v4 with one message, written so many seconds behind nine o'clock.
fn pi_v4(id: &str, seconds: u64, text: &str) -> String {
    let time = 1_784_019_600_000 + 1000 * seconds;
    format!(
        r#"{{"kind":"header","version":4,"id":"{id}","createdAt":1784016000000,"cwd":"/home/dev/app"}}
{{"kind":"entry","lane":"main","type":"message","id":"00000001","message":{{"role":"user","content":"{text}","timestamp":{time}}},"parentId":null,"seq":1,"timestamp":{time}}}
"#
    )
}

#[test]
fn sessions_side_by_side_are_listed_newest_first() {
    let mut folder = Folder::new();
    folder.add("2026-07-14T08-00-00_old.jsonl", codebot("old", 1, "first"));
    let newest = folder.add("2026-07-14T08-00-01_new.jsonl", codebot("new", 59, "last"));
    folder.add(
        "2026-07-14T08-00-02_mid.jsonl",
        codebot("mid", 30, "middle"),
    );
    let listing = folder.list();
    assert_eq!(ids(&listing), ["new", "mid", "old"]);
    assert!(listing.warnings.is_empty(), "{:?}", listing.warnings);
    let info = &listing.sessions[0];
    assert_eq!(info.path, Some(newest.clone()));
    assert_eq!(info.format, Format::CodebotV3);
    assert_eq!(info.cwd.as_deref(), Some("/home/dev/app"));
    assert_eq!(
        (info.name.as_deref(), info.title.as_deref()),
        (None, Some("last"))
    );
    assert_eq!(info.created, Some(1_784_016_000_000));
    assert_eq!(info.updated, Some(1_784_019_600_000 + 59 * 60_000));
    assert_eq!(info.message_count, 1);
    assert_eq!(info.bytes, fs::metadata(&newest).expect("a file").len());
    assert!(!info.damaged);
    let recent = folder
        .repository()
        .most_recent_read_only()
        .expect("an answer");
    assert_eq!(recent.expect("a session").session_id(), "new");
}

#[test]
fn sessions_in_a_folder_for_each_working_directory_are_listed_together() {
    let mut folder = Folder::new();
    folder.add(
        "--home-dev-app--/1_a.jsonl",
        pi("a", "/home/dev/app", 10, "one"),
    );
    folder.add(
        "--home-dev-app--/2_b.jsonl",
        pi("b", "/home/dev/app", 40, "two"),
    );
    folder.add("--tmp--/3_c.jsonl", pi("c", "/tmp", 20, "three"));
    folder.add("4_d.jsonl", pi_v4("d", 30 * 60, "four"));
    // No session's place is deeper than that.
    folder.add("--tmp--/deeper/5_e.jsonl", pi("e", "/tmp", 50, "five"));
    fs::create_dir(folder.path("--empty--")).expect("a folder");
    let listing = folder.list();
    assert_eq!(ids(&listing), ["b", "d", "c", "a"]);
    assert!(listing.warnings.is_empty(), "{:?}", listing.warnings);
    let titles: Vec<&str> = listing
        .sessions
        .iter()
        .filter_map(|info| info.title.as_deref())
        .collect();
    assert_eq!(titles, ["two", "four", "three", "one"]);
    let cwds: Vec<&str> = listing
        .sessions
        .iter()
        .filter_map(|info| info.cwd.as_deref())
        .collect();
    assert_eq!(
        cwds,
        ["/home/dev/app", "/home/dev/app", "/tmp", "/home/dev/app"]
    );
}

#[test]
fn a_name_is_the_title_and_the_first_message_stands_in_for_it() {
    let mut folder = Folder::new();
    let named = |line: &str| format!("{}{line}\n", pi("named", "/", 50, "said"));
    folder.add(
        "1_named.jsonl",
        named(
            r#"{"type":"session_info","id":"00000002","parentId":"00000001","timestamp":"2026-07-14T09:51:00.000Z","name":" A name "}"#,
        ),
    );
    folder.add(
        "2_cleared.jsonl",
        format!(
            "{}{}\n{}\n",
            pi_v4("cleared", 40 * 60, "asked"),
            r#"{"kind":"fact","seq":2,"fact":"name","name":"A name"}"#,
            r#"{"kind":"fact","seq":3,"fact":"name"}"#
        ),
    );
    let long = "é".repeat(200);
    folder.add("3_long.jsonl", codebot("long", 30, &long));
    let header = codebot("silent", 20, "x");
    let header = header.lines().next().expect("a header");
    folder.add("4_silent.jsonl", format!("{header}\n"));
    let listing = folder.list();
    assert_eq!(ids(&listing), ["named", "cleared", "long", "silent"]);
    let shown: Vec<(Option<&str>, Option<&str>)> = listing
        .sessions
        .iter()
        .map(|info| (info.name.as_deref(), info.title.as_deref()))
        .collect();
    let cut = long.chars().take(77).chain("...".chars());
    let cut = cut.collect::<String>();
    assert_eq!(
        shown,
        [
            (Some("A name"), Some("A name")),
            (None, Some("asked")),
            (None, Some(&*cut)),
            (None, None)
        ]
    );
}

#[test]
fn a_session_without_a_time_of_its_own_is_as_old_as_its_file() {
    let mut folder = Folder::new();
    let timeless = r#"{"kind":"header","id":"h0","data":{"version":3,"session_id":"timeless"}}"#;
    let path = folder.add("1_timeless.jsonl", format!("{timeless}\n"));
    folder.add("2_a.jsonl", codebot("a", 1, "x"));
    let file = File::options().write(true).open(path).expect("the log");
    for (seconds, order) in [
        (1_000, ["a", "timeless"]),
        (1_800_000_000, ["timeless", "a"]),
    ] {
        let time = UNIX_EPOCH + Duration::from_secs(seconds);
        file.set_modified(time).expect("a time");
        let listing = folder.list();
        assert_eq!(ids(&listing), order);
    }
}

#[test]
fn a_session_is_opened_by_its_id_whatever_its_file_is_called() {
    let mut folder = Folder::new();
    folder.add("2026_one.jsonl", codebot("one", 1, "first"));
    folder.add("--tmp--/2026_two.jsonl", pi("two", "/tmp", 2, "second"));
    folder.add("whatever.jsonl", pi_v4("three", 3, "third"));
    // A name that ends with the id of another session.
    folder.add("2026_four.jsonl", codebot("not four", 4, "fourth"));
    folder.add("--tmp--/copy.jsonl", pi("four", "/tmp", 5, "fifth"));
    let repository = folder.repository();
    for (id, text) in [
        ("one", "first"),
        ("two", "second"),
        ("three", "third"),
        ("not four", "fourth"),
        ("four", "fifth"),
    ] {
        let session = repository.open_read_only(id).expect("a session");
        assert_eq!(session.session_id(), id);
        let snapshot = session.snapshot(At::Current).expect("a snapshot");
        let message = snapshot.messages.get(0).expect("a message");
        assert!(message.contains(text), "{message}");
    }
    for id in [
        "",
        "o",
        "2026_one",
        "one.jsonl",
        "../one",
        "five",
        "*",
        "\0",
    ] {
        let error = repository.open_read_only(id).expect_err(id);
        assert_eq!(error.code(), Code::NotFound, "{id}");
        assert!(error.message().contains(id), "{error}");
        assert_eq!(error.path(), Some(folder.folder.path()));
    }
}

#[test]
fn the_options_of_a_repository_are_those_of_its_sessions() {
    let mut folder = Folder::new();
    let path = folder.add("1_a.jsonl", codebot("a", 1, "x"));
    folder.add("2_bad.jsonl", format!("{}{{torn\n", codebot("bad", 2, "x")));
    let tolerant = folder.list();
    assert_eq!(ids(&tolerant), ["bad", "a"]);
    let damaged: Vec<bool> = tolerant.sessions.iter().map(|it| it.damaged).collect();
    assert_eq!(damaged, [true, false]);
    let strict = folder
        .repository()
        .with_options(OpenOptions::new().strict(true));
    let listing = strict.list().expect("a listing");
    assert_eq!(ids(&listing), ["a"]);
    assert_eq!(warned(&listing), ["2_bad.jsonl"]);
    assert_eq!(listing.warnings[0].code(), Code::InvalidEntry);
    assert_eq!(listing.warnings[0].line(), Some(3));
    let indexed = OpenOptions::new().index(IndexMode::Always);
    let repository = folder.repository().with_options(indexed);
    repository.list().expect("a listing");
    let status = repository
        .open_read_only("a")
        .expect("a session")
        .index_status();
    assert_eq!(status.state, IndexState::Fresh);
    assert_eq!(status.path, Some(path.with_extension("jsonl.idx")));
    // Sidecars are no sessions.
    let listing = folder.list();
    assert_eq!(ids(&listing), ["bad", "a"]);
    assert!(listing.warnings.is_empty(), "{:?}", listing.warnings);
}

#[test]
fn an_empty_folder_has_no_sessions_and_a_missing_one_is_an_error() {
    let folder = Folder::new();
    assert!(folder.list().sessions.is_empty());
    let recent = folder
        .repository()
        .most_recent_read_only()
        .expect("an answer");
    assert!(recent.is_none());
    let error = folder
        .repository()
        .open_read_only("x")
        .expect_err("no session");
    assert_eq!(error.code(), Code::NotFound);
    let missing = Repository::new(folder.path("missing"));
    let error = missing.open_read_only("x").expect_err("no folder");
    assert_eq!(error.code(), Code::NotFound);
    assert_eq!(error.path(), Some(&*folder.path("missing")));
    let listing = missing.list().expect("an answer");
    assert!(listing.sessions.is_empty() && listing.warnings.is_empty());
    assert!(!folder.path("missing").exists(), "listing makes none");
    let none = missing.most_recent().expect("an answer");
    assert!(none.is_none());
    fs::write(folder.path("file"), b"x").expect("written");
    let error = Repository::new(folder.path("file")).list();
    assert_eq!(error.expect_err("no folder").code(), Code::Storage);
}

#[test]
fn files_that_are_no_sessions_are_warnings_and_others_are_passed_over() {
    let mut folder = Folder::new();
    folder.add("1_a.jsonl", codebot("a", 1, "x"));
    folder.add(
        "2_binary.jsonl",
        (0..=255).cycle().take(100_000).collect::<Vec<u8>>(),
    );
    folder.add("3_empty.jsonl", b"");
    folder.add("4_other.jsonl", b"{\"hello\":\"world\"}\n");
    folder.add(
        "5_version.jsonl",
        codebot("v", 1, "x").replace("\"version\":3", "\"version\":99"),
    );
    folder.add("6_nul.jsonl", vec![0; 10_000]);
    fs::write(folder.path("1_a.jsonl.idx"), b"junk").expect("written");
    folder.add("1_a.jsonl.bak", codebot("bak", 2, "x"));
    folder.add("notes.txt", b"x");
    folder.add("JSONL", b"x");
    folder.add(".jsonl", codebot("hidden", 2, "x"));
    fs::create_dir(folder.path("7_folder.jsonl")).expect("a folder");
    folder.add("7_folder.jsonl/inside.jsonl", codebot("inside", 3, "x"));
    let listing = folder.list();
    assert_eq!(ids(&listing), ["a"]);
    assert_eq!(
        warned(&listing),
        [
            "2_binary.jsonl",
            "3_empty.jsonl",
            "4_other.jsonl",
            "5_version.jsonl",
            "6_nul.jsonl",
            "7_folder.jsonl"
        ]
    );
    for warning in &listing.warnings {
        let name = warning.path().expect("a path").display().to_string();
        let code = match name {
            name if name.contains("5_version") => Code::Unsupported,
            name if name.contains("7_folder") => Code::Storage,
            _ => Code::InvalidEntry,
        };
        assert_eq!(warning.code(), code, "{warning}");
    }
    assert_eq!(
        folder
            .repository()
            .open_read_only("a")
            .expect("a session")
            .session_id(),
        "a"
    );
}

#[cfg(unix)]
#[test]
fn links_and_pipes_never_block_a_listing() {
    use std::os::unix::fs::symlink;
    let mut folder = Folder::new();
    let real = folder.add("elsewhere/real.txt", codebot("linked", 2, "x"));
    folder.add("1_a.jsonl", codebot("a", 1, "x"));
    let pipe = std::process::Command::new("mkfifo")
        .arg(folder.path("2_pipe.jsonl"))
        .status();
    assert!(pipe.expect("mkfifo").success());
    symlink(&real, folder.path("3_link.jsonl")).expect("linked");
    symlink("nowhere", folder.path("4_dangling.jsonl")).expect("linked");
    symlink("5_itself.jsonl", folder.path("5_itself.jsonl")).expect("linked");
    symlink("/dev/zero", folder.path("6_endless.jsonl")).expect("linked");
    symlink("2_pipe.jsonl", folder.path("7_pipe.jsonl")).expect("linked");
    symlink("nowhere", folder.path("8_dangling")).expect("linked");
    symlink(".", folder.path("9_again")).expect("linked");
    let socket = std::os::unix::net::UnixListener::bind(folder.path("socket.jsonl"));
    let _socket = socket.expect("a socket");
    let listing = folder.list();
    assert_eq!(ids(&listing), ["linked", "a"]);
    assert_eq!(
        warned(&listing),
        [
            "2_pipe.jsonl",
            "4_dangling.jsonl",
            "5_itself.jsonl",
            "6_endless.jsonl",
            "7_pipe.jsonl",
            "socket.jsonl"
        ]
    );
    let session = folder
        .repository()
        .open_read_only("linked")
        .expect("a session");
    assert_eq!(session.log_path(), folder.path("3_link.jsonl"));
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_read_is_a_warning() {
    use std::os::unix::fs::PermissionsExt;
    let mut folder = Folder::new();
    folder.add("1_a.jsonl", codebot("a", 1, "x"));
    folder.add("closed/2_b.jsonl", codebot("b", 2, "x"));
    folder.add("3_c.jsonl", codebot("c", 3, "x"));
    let mode = |name: &str, mode| {
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(folder.path(name), mode).expect("a mode");
    };
    mode("closed", 0o000);
    mode("3_c.jsonl", 0o000);
    let is_open = fs::read_dir(folder.path("closed")).is_ok();
    let listing = folder.repository().list().expect("a listing");
    mode("closed", 0o700);
    mode("3_c.jsonl", 0o600);
    if is_open {
        eprintln!("not tested: this user may read what nobody may");
        return;
    }
    assert_eq!(ids(&listing), ["a"]);
    assert_eq!(warned(&listing), ["3_c.jsonl", "closed"]);
    assert!(listing.warnings.iter().all(|it| it.code() == Code::Storage));
}

#[test]
fn a_listing_goes_on_when_a_session_grows_or_goes_meanwhile() {
    let mut folder = Folder::new();
    for number in 0..40 {
        let name = format!("{number}_{number}.jsonl");
        folder.add(&name, codebot(&number.to_string(), number, "x"));
    }
    let repository = folder.repository();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for round in 0..20 {
                for number in 0..20 {
                    let path = folder.path(&format!("{number}_{number}.jsonl"));
                    if round % 2 == 0 {
                        let file = File::options().append(true).create(true).open(&path);
                        let line = b"{\"kind\":\"message\"}\n";
                        file.expect("the log").write_all(line).expect("written");
                    } else {
                        fs::remove_file(&path).expect("removed");
                    }
                }
            }
        });
        while !writer.is_finished() {
            let listing = repository.list().expect("a listing");
            let left = listing.sessions.iter().filter(|it| it.id.len() > 1);
            assert!(left.count() >= 20, "{listing:?}");
        }
    });
}

#[test]
fn of_two_sessions_with_one_id_each_is_forked_and_removed_by_its_file() {
    let mut folder = Folder::new();
    let one = folder.add("--a--/1_same.jsonl", pi("same", "/a", 1, "one"));
    let other = folder.add("--b--/2_same.jsonl", pi("same", "/b", 2, "other"));
    let repository = folder.repository();
    for (path, text) in [(&one, "one"), (&other, "other")] {
        let options = CreateOptions::default();
        let fork = repository.fork_path(path, &ForkScope::Tree, &options);
        let fork = fork.expect("a fork");
        let messages = fork.snapshot(At::Current).expect("a snapshot").messages;
        assert!(messages.get(0).is_some_and(|said| said.contains(text)));
        let own = fork.log_path().to_owned();
        drop(fork);
        repository.delete_path(&own).expect("gone");
        assert!(!own.exists());
    }
    repository.delete_path(&one).expect("gone");
    repository.delete_path(&one).expect("gone already");
    assert!(!one.exists() && other.exists());
    assert_eq!(ids(&repository.list().expect("a listing")), ["same"]);
}

#[test]
fn a_file_that_is_no_session_is_not_removed() {
    let mut folder = Folder::new();
    let notes = folder.add("notes.jsonl", "mine\n");
    let inner = folder.path("inner");
    fs::create_dir(&inner).expect("a folder");
    for path in [&notes, &inner] {
        let error = folder.repository().delete_path(path).unwrap_err();
        assert_eq!(error.code(), Code::InvalidEntry);
        assert!(path.exists());
    }
}

#[test]
fn a_session_that_is_open_for_writing_is_not_removed_by_its_file() {
    let mut folder = Folder::new();
    let path = folder.add("1_held.jsonl", pi("held", "/a", 1, "one"));
    let repository = folder.repository();
    let writer = repository.open_path(&path).expect("a writer");
    let error = repository.delete_path(&path).unwrap_err();
    assert_eq!(error.code(), Code::Locked);
    drop(writer);
    repository.delete_path(&path).expect("gone");
}
