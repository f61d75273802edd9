//! A folder in memory, where the system has one, for checks that need files. Each thread has one, and
//! keeps it for all its checks.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A new folder, which goes away with it.
pub fn folder() -> Result<TempDir, String> {
    let made = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    made.map_err(|error| format!("no temporary folder: {error}"))
}

/// Calls with the path of a log in this thread's folder. What was left there is gone.
pub fn with_log<T>(call: impl FnOnce(&Path) -> Result<T, String>) -> Result<T, String> {
    thread_local! {
        static KEPT: Result<TempDir, String> = folder();
    }
    KEPT.with(|folder| {
        let folder = folder.as_ref().map_err(Clone::clone)?.path();
        let log = folder.join("session.jsonl");
        let done = call(&log);
        for file in [sidecar(&log), log] {
            // It need not be there.
            let _ = std::fs::remove_file(file);
        }
        done
    })
}

/// The place of the sidecar beside a log.
pub fn sidecar(log: &Path) -> PathBuf {
    let mut path = log.as_os_str().to_owned();
    path.push(".idx");
    path.into()
}

/// Writes a file.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    std::fs::write(path, bytes).map_err(|error| format!("writing {}: {error}", path.display()))
}
