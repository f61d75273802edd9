//! The commands of the program, one file each, and what they share. Called by `main` alone; reads
//! sessions only through the public library, and never writes to a log.

mod args;
mod completions;
mod demo;
mod exit;
mod facts;
mod failure;
mod forest;
mod generate;
mod index;
mod info;
mod log;
mod ls;
mod man;
mod message;
mod open;
mod out;
mod path;
mod progress;
mod scratch;
mod show;
mod snapshot;
mod text;
mod tree;
mod verify;

use std::io::{self, Write};

use clap::Parser;

use args::{Cli, Command};
pub(crate) use exit::Exit;
use failure::Failure;
use out::Out;

/// Runs the command that the arguments name.
pub(crate) fn run() -> Exit {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let mut out = Out::new(cli.color, cli.command.json());
    let result = dispatch(cli.command, &mut out);
    settle(result, &mut out)
}

fn dispatch(command: Command, out: &mut Out) -> Result<Exit, Failure> {
    match command {
        Command::Demo(demo) => demo.run(out),
        Command::Gen(generate) => generate.run(out),
        Command::Index(index) => index.run(out),
        Command::Info(info) => info.run(out),
        Command::Snapshot(snapshot) => snapshot.run(out),
        Command::Path(path) => path.run(out),
        Command::Show(show) => show.run(out),
        Command::Log(log) => log.run(out),
        Command::Tree(tree) => tree.run(out),
        Command::Ls(ls) => ls.run(out),
        Command::Verify(verify) => verify.run(out),
        Command::Completions(completions) => completions.run(out),
        Command::Man(man) => man.run(out),
    }
}

/// Says what went wrong, and writes out what is still held back.
fn settle(result: Result<Exit, Failure>, out: &mut Out) -> Exit {
    let (exit, told) = match result {
        Ok(exit) => (exit, out.flush()),
        Err(Failure::Session(error)) => {
            let told = out.error(&error).and_then(|()| out.flush());
            (Exit::Failed, told)
        }
        Err(Failure::Output(error)) => (Exit::Done, Err(error)),
        Err(Failure::Usage(error)) => return usage(&error),
    };
    match told {
        Ok(()) => exit,
        // Whoever closed the pipe has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => exit,
        Err(error) => {
            out.complain(&format!("cannot write to standard output: {error}"));
            Exit::Failed
        }
    }
}

/// Help and version texts, and complaints about arguments. A closed pipe is no reason to say more.
fn usage(error: &clap::Error) -> Exit {
    let _ = error.print();
    if error.use_stderr() {
        Exit::Usage
    } else {
        Exit::Done
    }
}
