//! Measuring in a process of its own: the same program, with other arguments, that prints one JSON object.

use std::ffi::OsStr;
use std::process::Command;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The first argument of such a process.
const MARK: &str = "--one";

/// Runs this program for one measurement.
pub fn run<T: DeserializeOwned>(arguments: &[&OsStr]) -> T {
    let program = std::env::current_exe().expect("this program");
    let mut command = Command::new(program);
    let output = command.arg(MARK).args(arguments).output().expect("run");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {told}");
    serde_json::from_slice(&output.stdout).expect("one object")
}

/// The arguments, if this is such a process.
pub fn arguments() -> Option<Vec<String>> {
    let mut arguments = std::env::args().skip(1);
    (arguments.next()? == MARK).then(|| arguments.collect())
}

/// What such a process answers with.
pub fn answer(what: &impl Serialize) {
    println!("{}", serde_json::to_string(what).expect("written"));
}
