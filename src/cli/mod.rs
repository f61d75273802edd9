//! The commands of the program, one file each, and what they share. Called by `main` alone; reads and
//! writes sessions only through the public library.

mod append;
mod args;
mod branch;
mod completions;
mod convert;
mod demo;
mod exit;
mod facts;
mod failure;
mod forest;
mod fork;
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
mod repair;
mod scratch;
mod show;
mod snapshot;
mod text;
mod tree;
mod verify;

use std::ffi::OsString;
use std::io::{self, Write};

use clap::{ColorChoice, Parser};

use args::{Cli, Command};
pub(crate) use exit::Exit;
use failure::Failure;
use out::Out;
use text::clean_lines;

/// Runs the command that the arguments name.
pub(crate) fn run() -> Exit {
    take_full_files_as_errors();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if wants_json(std::env::args_os()) => {
            return usage(&error, &mut Out::new(ColorChoice::Never, true));
        }
        Err(error) => return usage(&error, &mut Out::new(ColorChoice::Auto, false)),
    };
    let mut out = Out::new(cli.color, cli.command.json());
    let result = dispatch(cli.command, &mut out);
    settle(result, &mut out)
}

/// A write past the limit on the size of files (`ulimit -f`) fails like one to a full disk, where the
/// signal that comes with it would end the program: with nothing said, and drafts left over. An index
/// that cannot be written is no reason to give no answer.
#[cfg(unix)]
fn take_full_files_as_errors() {
    use signal_hook::{consts::SIGXFSZ, flag};
    // Nobody asks the flag: that somebody takes the signal is enough. Where that fails, all is as it was.
    let _ = flag::register(SIGXFSZ, std::sync::Arc::default());
}

#[cfg(not(unix))]
fn take_full_files_as_errors() {}

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
        Command::Append(append) => append.run(out),
        Command::Branch(branch) => branch.run(out),
        Command::Fork(fork) => fork.run(out),
        Command::Convert(convert) => convert.run(out),
        Command::Repair(repair) => repair.run(out),
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
        Err(Failure::Usage(error)) => return usage(&error, out),
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

/// Help and version texts, and complaints about arguments, which are an object for who reads JSON. A
/// closed pipe is no reason to say more.
fn usage(error: &clap::Error, out: &mut Out) -> Exit {
    if !error.use_stderr() {
        let _ = error.print();
        return Exit::Done;
    }
    let text = error.to_string();
    if out.json() {
        let _ = out.misuse(&text).and_then(|()| out.flush());
        return Exit::Usage;
    }
    // Wrong arguments are repeated in it; they may be names that somebody else chose.
    let printable = clean_lines(&text).to_string();
    let _ = if printable == text {
        error.print()
    } else {
        io::stderr().write_all(printable.as_bytes())
    };
    Exit::Usage
}

/// Whether arguments that could not be parsed ask for JSON.
fn wants_json(args: impl Iterator<Item = OsString>) -> bool {
    args.take_while(|arg| arg != "--")
        .any(|arg| arg == "--json")
}

#[cfg(test)]
mod tests {
    use super::wants_json;

    #[test]
    fn json_is_asked_for_by_the_option_alone() {
        let wants = |args: &[&str]| wants_json(args.iter().map(Into::into));
        assert!(wants(&["leaflog", "info", "--json"]));
        assert!(!wants(&["leaflog", "info", "--", "--json"]));
        assert!(!wants(&["leaflog", "info", "json"]));
    }
}
