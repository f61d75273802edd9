//! `leaflog completions`: a completion script for a shell, made from the definition of the arguments.

use std::io::Write;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::Exit;
use super::args::Cli;
use super::failure::Failure;
use super::out::Out;

/// Print a completion script for a shell
///
/// For bash, for instance: leaflog completions bash > ~/.local/share/bash-completion/completions/leaflog
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, out: &mut Out) -> Result<Exit, Failure> {
        // The generator panics where it cannot write, so it writes to memory.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "leaflog", &mut script);
        out.write_all(&script)?;
        Ok(Exit::Done)
    }
}
