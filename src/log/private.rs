//! Files and folders that only their owner may read, and what puts their names on the disk.

use std::fs::{DirBuilder, File, OpenOptions};
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

/// The folder that a file is to stand in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Puts the names in a folder on the disk.
pub(crate) fn sync_folder(folder: &Path) -> Result<()> {
    // Other systems have no such call; their file systems keep names in order.
    if cfg!(unix) {
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(|e| Error::io("put its names on the disk", folder, e))?;
    }
    Ok(())
}
