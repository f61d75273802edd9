//! The disk as the system has it. Stands behind every session outside of tests; each call is passed
//! on and nothing is remembered.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use super::Disk;

/// Has a file that is made belong to its owner alone.
pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// The disk of the system.
#[derive(Clone, Copy, Debug)]
pub(crate) struct System;

impl Disk for System {
    fn create(&self, path: &Path) -> io::Result<File> {
        private(File::options().read(true).append(true).create_new(true)).open(path)
    }

    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<usize> {
        file.write(bytes)
    }

    fn cut(&self, file: &File, len: u64) -> io::Result<()> {
        file.set_len(len)
    }

    fn sync_data(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    fn sync_all(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        // Other systems have no such call; their file systems keep names in order.
        if cfg!(unix) {
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn link(&self, file: &Path, name: &Path) -> io::Result<()> {
        std::fs::hard_link(file, name)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path)
    }
}
