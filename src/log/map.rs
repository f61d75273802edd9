//! Read-only file mappings: beside the scanner's vector instructions the one place with `unsafe` code.
//!
//! The contract with the rest of the crate: only a length known to be complete is mapped, and
//! before each operation on a file its length is compared with the mapping, but for those of a fast
//! run, in which that is done once in a while (`looks.rs`).
#![allow(unsafe_code)]

use std::fs::File;
use std::io;

use memmap2::{Advice, Mmap, MmapOptions};

/// A mapped prefix of a file.
#[derive(Debug)]
pub(crate) struct Map {
    bytes: Mmap,
}

impl Map {
    /// Maps the first `len` bytes of a file that has at least that many.
    pub(crate) fn of(file: &File, len: usize) -> io::Result<Self> {
        if cfg!(miri) {
            // Miri maps no files and would stop at the attempt: whoever asks reads instead.
            return Err(io::ErrorKind::Unsupported.into());
        }
        // SAFETY: a mapping is sound as long as its bytes do not change or vanish while a slice of
        // it is alive. Logs are only ever appended to, behind the mapped length, and sidecars are
        // appended to or replaced by a rename, which leaves the mapped file alone. A foreign
        // program that rewrites or truncates a file in place breaks that assumption: rewritten
        // bytes are read as data that is checked wherever it is used (ids, checksums, UTF-8, JSON),
        // never as pointers or lengths into memory; a truncated file raises SIGBUS on access behind
        // its new end, which ends the process. `Reading::Read` avoids the mapping, and with it both.
        let bytes = unsafe { MmapOptions::new().len(len).map(file)? };
        Ok(Self { bytes })
    }

    /// Tells the system that pages will be wanted here and there: no readahead.
    pub(crate) fn expect_random_reads(&self) {
        #[cfg(unix)]
        // Advice only: without it the mapping works as well.
        let _ = self.bytes.advise(Advice::Random);
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes
    }
}
