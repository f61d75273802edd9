//! A temporary folder that goes away with its owner, whatever happens in between.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use leaflog::{Error, Result};

/// A folder of our own; dropping it removes it with all that is in it, unless it is kept.
pub(crate) struct Scratch {
    path: PathBuf,
    keep: bool,
}

impl Scratch {
    /// Makes a folder that no one else has.
    pub(crate) fn new(keep: bool) -> Result<Self> {
        let nanos = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_nanos());
        let name = format!("leaflog-demo-{}-{nanos:x}", std::process::id());
        let path = std::env::temp_dir().join(name);
        // Fails if somebody has it already, rather than share it.
        fs::create_dir(&path).map_err(|error| Error::io("create the folder", &path, error))?;
        Ok(Self { path, keep })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.keep {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Scratch;

    #[test]
    fn the_folder_goes_with_its_owner_unless_it_is_kept() {
        let gone = {
            let scratch = Scratch::new(false).unwrap();
            std::fs::write(scratch.path().join("file"), "x").unwrap();
            scratch.path().to_owned()
        };
        assert!(!gone.exists());
        let kept = Scratch::new(true).unwrap().path().to_owned();
        assert!(kept.is_dir());
        std::fs::remove_dir(kept).unwrap();
    }
}
