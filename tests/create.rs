//! Sessions are made, forked and removed whole or not at all, whoever else does the same meanwhile.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use leaflog::generate::Shape;
use leaflog::{Code, CreateOptions, ForkScope, Format, OpenOptions, Repository, Session};

fn options(id: &str, format: Format) -> CreateOptions {
    CreateOptions {
        id: Some(id.to_owned()),
        format: Some(format),
        ..CreateOptions::in_folder("/home/dev/app")
    }
}

/// All files below a folder, by their paths in it.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for item in fs::read_dir(next).expect("a folder") {
            let path = item.expect("an item").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let path = path.strip_prefix(folder).expect("inside");
                found.push(path.to_str().expect("text").to_owned());
            }
        }
    }
    found.sort();
    found
}

fn code<T>(result: leaflog::Result<T>) -> Option<Code> {
    result.err().map(|error| error.code())
}

#[test]
fn new_sessions_stand_where_their_programs_look_for_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("deep/root");
    let repository = Repository::new(&root);
    let session = repository
        .create(&options("c1", Format::CodebotV3))
        .expect("made");
    assert_eq!(
        (session.session_id(), session.format()),
        ("c1".to_owned(), Format::CodebotV3)
    );
    let session = repository
        .create(&options("p4", Format::PiV4))
        .expect("made");
    assert_eq!(
        session.overview().expect("read").cwd.as_deref(),
        Some("/home/dev/app")
    );
    let names = files(&root);
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names[0].starts_with("--home-dev-app--/2") && names[0].ends_with("Z_p4.jsonl"));
    assert!(names[1].starts_with('2') && names[1].ends_with("_c1.jsonl"));
    assert_eq!(names[1].len(), "YYYY-MM-DD_c1.jsonl".len());
    for name in &names {
        let strict = OpenOptions::new().strict(true).open(root.join(name));
        strict.expect("a clean session");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(&root), 0o700);
        assert_eq!(mode(&root.join("--home-dev-app--")), 0o700);
        for name in &names {
            assert_eq!(mode(&root.join(name)), 0o600, "{name}");
        }
    }
    let id = repository
        .create(&CreateOptions::in_folder("/w"))
        .expect("made")
        .session_id();
    assert_eq!((id.len(), &id[14..15]), (36, "7"));
    let codebot = CreateOptions {
        id: None,
        ..options("", Format::CodebotV3)
    };
    assert_eq!(
        repository
            .create(&codebot)
            .expect("made")
            .session_id()
            .len(),
        8
    );
}

#[test]
fn what_a_format_or_a_folder_cannot_hold_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("root");
    let repository = Repository::new(&root);
    let long = "x".repeat(300);
    for id in [
        "../../x",
        "/etc/x",
        "a/b",
        "a\0",
        "a\n",
        "",
        ".",
        "..",
        "é",
        long.as_str(),
    ] {
        for format in [Format::CodebotV3, Format::PiV3, Format::PiV4] {
            let refused = code(repository.create(&options(id, format)));
            assert_eq!(refused, Some(Code::InvalidPayload), "{id:?}");
        }
        assert_eq!(code(repository.delete(id)), None, "{id:?}");
        assert_eq!(code(repository.open(id)), Some(Code::NotFound), "{id:?}");
    }
    let nul = CreateOptions::in_folder("/w\0");
    assert_eq!(code(repository.create(&nul)), Some(Code::InvalidPayload));
    for format in [Format::PiV1, Format::PiV2] {
        assert_eq!(
            code(repository.create(&options("a", format))),
            Some(Code::Unsupported)
        );
    }
    let parent = CreateOptions {
        parent: Some("p".to_owned()),
        ..options("a", Format::CodebotV3)
    };
    assert_eq!(code(repository.create(&parent)), Some(Code::Unsupported));
    let metadata = |text: &str, format| CreateOptions {
        metadata: Some(text.to_owned()),
        ..options("a", format)
    };
    assert_eq!(
        code(repository.create(&metadata("{}", Format::PiV3))),
        Some(Code::Unsupported)
    );
    assert_eq!(
        code(repository.create(&metadata("[]", Format::PiV4))),
        Some(Code::InvalidPayload)
    );
    assert!(
        !root.exists(),
        "something was made for a session that was refused"
    );

    for (number, cwd) in ["../../x", "/..", "a\nb", long.as_str(), ""]
        .into_iter()
        .enumerate()
    {
        let id = format!("s{number}");
        let session = repository
            .create(&CreateOptions {
                id: Some(id),
                ..CreateOptions::in_folder(cwd)
            })
            .expect("made");
        let path = session.log_path().canonicalize().expect("there");
        assert!(
            path.starts_with(root.canonicalize().expect("there")),
            "{path:?}"
        );
        assert_eq!(
            repository.list_in(cwd).expect("listed").sessions.len(),
            1,
            "{cwd:?}"
        );
    }
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
}

#[test]
fn one_id_is_one_session_in_whatever_folder_and_format() {
    let folder = tempfile::tempdir().expect("a folder");
    let repository = Repository::new(folder.path());
    repository
        .create(&options("a_b", Format::PiV4))
        .expect("made");
    let elsewhere = CreateOptions {
        cwd: "/other".to_owned(),
        ..options("a_b", Format::PiV4)
    };
    assert_eq!(
        code(repository.create(&elsewhere)),
        Some(Code::AlreadyExists)
    );
    let other = options("a_b", Format::CodebotV3);
    assert_eq!(code(repository.create(&other)), Some(Code::AlreadyExists));
    repository
        .create(&options("b", Format::CodebotV3))
        .expect("another id");
    let named =
        "{\"kind\":\"header\",\"version\":4,\"id\":\"hand\",\"createdAt\":1,\"cwd\":\"/\"}\n";
    fs::write(folder.path().join("made_by_hand.jsonl"), named).expect("written");
    assert_eq!(
        code(repository.create(&options("hand", Format::PiV4))),
        Some(Code::AlreadyExists)
    );
}

#[test]
fn of_threads_that_make_one_id_one_wins() {
    for format in [Format::PiV4, Format::CodebotV3] {
        let folder = tempfile::tempdir().expect("a folder");
        for round in 0..20 {
            let barrier = Barrier::new(8);
            let results: Vec<_> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..8)
                    .map(|number| {
                        let (barrier, folder) = (&barrier, folder.path());
                        scope.spawn(move || {
                            let repository = Repository::new(folder);
                            let options = CreateOptions {
                                // Some of them in other folders, where names alone would not meet.
                                cwd: format!("/w{}", number % 2),
                                ..options(&format!("s{round}"), format)
                            };
                            barrier.wait();
                            code(repository.create(&options))
                        })
                    })
                    .collect();
                threads
                    .into_iter()
                    .map(|thread| thread.join().expect("no panic"))
                    .collect()
            });
            let made = results.iter().filter(|code| code.is_none()).count();
            assert_eq!(made, 1, "{results:?}");
            let others = results.iter().flatten();
            assert!(
                others.clone().all(|code| *code == Code::AlreadyExists),
                "{results:?}"
            );
        }
        let names = files(folder.path());
        assert_eq!(names.len(), 20, "{names:?}");
    }
}

/// Runs one of the tests below in a process of its own, with a folder to work in.
fn process(test: &str, folder: &Path) -> Child {
    Command::new(std::env::current_exe().expect("the test"))
        .args(["--exact", test])
        .env("LEAFLOG_TEST_FOLDER", folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a process")
}

/// The folder of a process that another test started; none when it is run as a test, where it
/// does nothing.
fn folder_of_process() -> Option<std::path::PathBuf> {
    std::env::var_os("LEAFLOG_TEST_FOLDER").map(Into::into)
}

#[test]
fn makes_ten_sessions() {
    let Some(folder) = folder_of_process() else {
        return;
    };
    let repository = Repository::new(folder);
    for number in 0..10 {
        match code(repository.create(&options(&format!("s{number}"), Format::PiV4))) {
            None | Some(Code::AlreadyExists) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn of_processes_that_make_one_id_one_wins() {
    let folder = tempfile::tempdir().expect("a folder");
    let children: Vec<_> = (0..4)
        .map(|_| process("makes_ten_sessions", folder.path()))
        .collect();
    for mut child in children {
        assert!(child.wait().expect("an end").success());
    }
    assert_eq!(files(folder.path()).len(), 10);
    assert_eq!(
        Repository::new(folder.path())
            .list()
            .expect("listed")
            .sessions
            .len(),
        10
    );
}

#[test]
fn forks_again_and_again() {
    let Some(folder) = folder_of_process() else {
        return;
    };
    let source = Session::open(folder.join("source.jsonl")).expect("a session");
    for number in 0.. {
        let target = folder.join(format!("fork{number}.jsonl"));
        let done = source.fork_to(target, &ForkScope::Tree, &CreateOptions::default());
        done.expect("a fork");
    }
}

#[test]
fn a_process_that_is_killed_leaves_no_half_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut log = Vec::new();
    Shape::new(Format::PiV4, 20_000)
        .write_to(&mut log)
        .expect("written");
    fs::write(folder.path().join("source.jsonl"), &log).expect("written");
    for round in 0..4 {
        for name in files(folder.path()) {
            if name.starts_with("fork") {
                fs::remove_file(folder.path().join(name)).expect("removed");
            }
        }
        let mut child = process("forks_again_and_again", folder.path());
        let started = Instant::now();
        while files(folder.path())
            .iter()
            .filter(|name| name.starts_with("fork"))
            .count()
            < 2
        {
            assert!(
                started.elapsed() < Duration::from_secs(60),
                "no fork was made"
            );
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(7 * round));
        child.kill().expect("killed");
        child.wait().expect("an end");
        for name in files(folder.path()) {
            if name.starts_with("fork") && name.ends_with(".jsonl") {
                let path = folder.path().join(&name);
                let session = OpenOptions::new().strict(true).open(path).expect("whole");
                assert_eq!(session.overview().expect("read").entries, 20_000, "{name}");
            }
        }
    }
    // The next one sweeps what was left.
    let source = Session::open(folder.path().join("source.jsonl")).expect("a session");
    let target = folder.path().join("last.jsonl");
    source
        .fork_to(target, &ForkScope::Tree, &CreateOptions::default())
        .expect("a fork");
    let left: Vec<_> = files(folder.path());
    assert!(
        left.iter().all(|name| !name.ends_with(".draft")),
        "{left:?}"
    );
}

#[test]
fn deleting_takes_all_that_belongs_to_the_session_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let repository = Repository::new(folder.path());
    assert_eq!(
        code(Repository::new(folder.path().join("none")).delete("a")),
        None
    );
    let path = repository
        .create(&options("a", Format::PiV4))
        .expect("made")
        .log_path()
        .to_owned();
    repository
        .create(&options("b_a", Format::PiV4))
        .expect("made");
    let beside = |ending: &str| format!("{}{ending}", path.display());
    fs::write(beside(".idx"), "index").expect("written");
    fs::write(beside(".torn-12"), "torn").expect("written");
    fs::write(beside(".torn-x"), "someone's").expect("written");
    let writer = fs::File::options()
        .write(true)
        .open(&path)
        .expect("the log");
    writer.lock().expect("locked");
    assert_eq!(code(repository.delete("a")), Some(Code::Locked));
    assert!(path.exists());
    drop(writer);
    repository.delete("a").expect("deleted");
    repository.delete("a").expect("deleted again");
    assert_eq!(code(repository.open("a")), Some(Code::NotFound));
    let left = files(folder.path());
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left.iter().any(|name| name.ends_with("_b_a.jsonl")));
    // A log that no longer opens goes by its name.
    fs::write(&path, "{broken\n").expect("written");
    repository.delete("a").expect("deleted");
    assert!(!path.exists());
}

#[test]
fn a_fork_in_a_repository_is_a_session_like_any_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let repository = Repository::new(folder.path());
    let source = repository
        .create(&options("s", Format::PiV4))
        .expect("made");
    let fork = repository
        .fork("s", &ForkScope::default(), &CreateOptions::default())
        .expect("a fork");
    let (one, other) = (
        source.overview().expect("read"),
        fork.overview().expect("read"),
    );
    assert_eq!(other.parent, Some(one.session_id));
    assert_eq!(other.cwd, one.cwd);
    assert_eq!(fork.log_path().parent(), source.log_path().parent());
    let taken = CreateOptions {
        id: Some("s".to_owned()),
        ..CreateOptions::default()
    };
    assert_eq!(
        code(repository.fork("s", &ForkScope::Tree, &taken)),
        Some(Code::AlreadyExists)
    );
    let moved = CreateOptions::in_folder("/elsewhere");
    let moved = repository
        .fork("s", &ForkScope::Tree, &moved)
        .expect("a fork");
    assert_eq!(
        moved.overview().expect("read").cwd.as_deref(),
        Some("/elsewhere")
    );
    assert_eq!(
        code(repository.fork("x", &ForkScope::Tree, &CreateOptions::default())),
        Some(Code::NotFound)
    );
    assert_eq!(repository.list().expect("listed").sessions.len(), 3);
}
