//! The program `leaflog`: the library at a prompt. Only maps what a command came to to an exit code;
//! the commands are in `cli`.

#![deny(unsafe_code)]

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run().into()
}
