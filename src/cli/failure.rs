//! What can end a command early: a failure of the library, output that cannot be written, or
//! arguments that contradict each other. It says nothing itself; `out` prints it.

use std::io;

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The library refused, or the system did behind it.
    Session(leaflog::Error),
    /// Standard output does not take what is written; mostly a closed pipe.
    Output(io::Error),
    /// Arguments that are fine one by one and not together.
    Usage(clap::Error),
}

impl From<leaflog::Error> for Failure {
    fn from(error: leaflog::Error) -> Self {
        Self::Session(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
