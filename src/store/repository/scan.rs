//! The files of a folder that should be sessions: `*.jsonl` right in it and in the folders right inside
//! it. Looks at names, and where asked at what the system says of each file; opens none.

use std::ffi::{OsStr, OsString};
use std::fs::DirEntry;
use std::io;
use std::path::{Path, PathBuf};

use super::catalog::Stamp;
use crate::error::{Error, Result};

/// How a log's name ends.
const ENDING: &[u8] = b".jsonl";

/// A file that should be a session, as the system describes it.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) path: PathBuf,
    /// The number of its folder among those of the scan.
    pub(super) folder: usize,
    /// Of the file that a link leads to. None for what is no regular file, of which opening tells what
    /// is wrong, and where the system tells too little.
    pub(super) stamp: Option<Stamp>,
}

impl Log {
    /// The name in its folder.
    pub(super) fn name(&self) -> &[u8] {
        self.path
            .file_name()
            .map(OsStr::as_encoded_bytes)
            .unwrap_or_default()
    }
}

/// All of them.
#[derive(Debug)]
pub(super) struct Scan {
    /// The names of the folders that were looked into; the first is empty, for the folder itself.
    pub(super) folders: Vec<OsString>,
    pub(super) logs: Vec<Log>,
    /// Folders that could not be read.
    pub(super) warnings: Vec<Error>,
}

impl Scan {
    /// Looks at each file once.
    pub(super) fn of(root: &Path) -> Result<Self> {
        let mut logs = Vec::new();
        let (folders, warnings) = each(root, |number, path, item| {
            logs.push(Log {
                stamp: look(&path, item),
                path,
                folder: number,
            });
        })?;
        Ok(Self {
            folders,
            logs,
            warnings,
        })
    }
}

/// The paths alone, in order. Folders that cannot be read are passed over.
pub(super) fn paths(root: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    each(root, |_, path, _| paths.push(path))?;
    paths.sort();
    Ok(paths)
}

/// Hands out each log with the number of its folder. Gives the names of the folders, and what went
/// wrong with those inside.
fn each(
    root: &Path,
    mut found: impl FnMut(usize, PathBuf, &DirEntry),
) -> Result<(Vec<OsString>, Vec<Error>)> {
    let mut inside = Vec::new();
    collect(root, Some(&mut inside), |path, item| found(0, path, item))
        .map_err(|e| Error::io("list it", root, e))?;
    inside.sort();
    let mut folders = vec![OsString::new()];
    let mut warnings = Vec::new();
    for name in inside {
        let folder = root.join(&name);
        let number = folders.len();
        folders.push(name);
        if let Err(error) = collect(&folder, None, |path, item| found(number, path, item)) {
            warnings.push(Error::io("list it", &folder, error));
        }
    }
    Ok((folders, warnings))
}

fn collect(
    folder: &Path,
    mut folders: Option<&mut Vec<OsString>>,
    mut found: impl FnMut(PathBuf, &DirEntry),
) -> io::Result<()> {
    for item in std::fs::read_dir(folder)? {
        let item = item?;
        let name = item.file_name();
        let is_log = name
            .as_encoded_bytes()
            .strip_suffix(ENDING)
            .is_some_and(|stem| !stem.is_empty());
        if is_log {
            // Opening tells whether it is a file; a folder of such a name gets a warning there.
            found(folder.join(name), &item);
        } else if let Some(folders) = folders.as_deref_mut()
            && item.file_type()?.is_dir()
        {
            folders.push(name);
        }
    }
    Ok(())
}

/// What the system says of a log.
fn look(path: &Path, item: &DirEntry) -> Option<Stamp> {
    // Asked in the open folder, which saves the system the way there; but a link is not followed then.
    let metadata = item.metadata().ok()?;
    if metadata.is_symlink() {
        return Stamp::at(path);
    }
    Stamp::of(&metadata)
}
