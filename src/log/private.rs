//! Files and folders that only their owner may read: sessions, what is derived from them, and locks.

use std::fs::{DirBuilder, OpenOptions};
use std::path::Path;

use crate::error::{Error, Result};

/// Has a file that is made belong to its owner alone.
pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Makes a folder that only its owner may enter, and those above it, where they are missing.
pub(crate) fn make_folder(folder: &Path) -> Result<()> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(folder)
        .map_err(|e| Error::io("make the folder", folder, e))
}
