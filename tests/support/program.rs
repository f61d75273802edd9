//! The program as the tests run it, and folders for it to work in.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

pub fn program() -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_leaflog"));
    program.stdin(Stdio::null()).env_remove("COLUMNS");
    // Sidecars that find no place beside their log must not go to a real user's cache.
    program.env(
        "XDG_CACHE_HOME",
        std::env::temp_dir().join("leaflog-cli-tests"),
    );
    program
}

pub fn run(args: &[&str]) -> Output {
    program().args(args).output().unwrap()
}

pub fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

pub fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Runs a command that must succeed, and gives its standard output.
pub fn good(args: &[&str]) -> String {
    let output = run(args);
    assert_eq!(code(&output), 0, "{args:?}: {}", text(&output.stderr));
    text(&output.stdout).to_owned()
}

pub fn lines(args: &[&str]) -> Vec<Value> {
    let answer = good(args);
    let values = answer.lines().map(serde_json::from_str);
    values.collect::<Result<_, _>>().unwrap()
}

/// The one object that a command must print.
pub fn object(args: &[&str]) -> Value {
    let mut values = lines(args);
    assert_eq!(values.len(), 1, "{args:?}");
    values.remove(0)
}

/// The error that a command must print.
pub fn error(args: &[&str]) -> Value {
    let output = run(args);
    assert_eq!(code(&output), 1, "{args:?}");
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let fields = ["code", "line", "message", "offset", "path"];
    assert_eq!(keys(&value["error"]), fields);
    assert_eq!(keys(&value), ["error"]);
    value["error"].clone()
}

/// Names of an object's fields, sorted.
pub fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    keys.sort_unstable();
    keys
}

pub fn sorted<'a>(names: &'a str) -> Vec<&'a str> {
    let mut names: Vec<&'a str> = names.split_whitespace().collect();
    names.sort_unstable();
    names
}

pub struct Place(TempDir);

impl Place {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// A copy of a case.
    pub fn case(&self, name: &str) -> String {
        let file = format!("{name}.jsonl");
        let source = Path::new("tests/cases").join(&file);
        fs::copy(&source, self.path(&file)).unwrap();
        self.text(&file)
    }

    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        fs::write(self.path(name), bytes).unwrap();
        self.text(name)
    }

    pub fn generated(&self, name: &str, entries: &str) -> String {
        let file = self.text(name);
        good(&[
            "gen",
            &file,
            "--entries",
            entries,
            "--branches",
            "5",
            "--compact-every",
            "100",
        ]);
        file
    }

    pub fn names(&self) -> Vec<String> {
        let items = fs::read_dir(self.0.path()).unwrap();
        let names = items.map(|item| item.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}
