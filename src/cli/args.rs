//! The arguments of the program: the list of commands and the options that several of them share.
//! One definition gives parsing, help, man page and completion. It never acts on what it parsed.

use std::path::PathBuf;

use clap::{Args, ColorChoice, Parser, Subcommand};

use super::{
    append, branch, completions, convert, demo, fork, generate, index, info, log, ls, man, path,
    repair, show, snapshot, tree, verify,
};

/// An indexed store for the sessions of AI coding agents.
///
/// A session is a JSON Lines file that only grows; leaflog reads the formats of codebot (version 3)
/// and pi (versions 1 to 4). The file stays the truth; a sidecar index beside it, FILE.idx, makes
/// resuming a long session fast. Only `append` and `branch` write to a log, and only at its end.
#[derive(Debug, Parser)]
#[command(
    name = "leaflog",
    version,
    max_term_width = 100,
    after_long_help = "Exit codes: 0 done; 1 failed, or `verify` found something wrong; 2 wrong usage.\n\
        Damage in a log that was read around is reported on standard error and is no failure."
)]
pub(crate) struct Cli {
    /// When to colour what people read; `auto` means on a terminal, and not if NO_COLOR is set
    #[arg(long, global = true, value_enum, default_value_t = ColorChoice::Auto, value_name = "WHEN")]
    pub(crate) color: ColorChoice,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What the program can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(demo::Demo),
    Gen(generate::Generate),
    Index(index::Index),
    Info(info::Info),
    Snapshot(snapshot::Snapshot),
    Path(path::Path),
    Show(show::Show),
    Log(log::Log),
    Tree(tree::Tree),
    Ls(ls::Ls),
    Append(append::Append),
    Branch(branch::Branch),
    Fork(fork::Fork),
    Convert(convert::Convert),
    Repair(repair::Repair),
    Verify(verify::Verify),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Command {
    /// Whether answers and errors are wanted as JSON.
    pub(crate) fn json(&self) -> bool {
        match self {
            Self::Demo(demo) => demo.json,
            Self::Gen(generate) => generate.json,
            Self::Index(index) => index.common.json,
            Self::Info(info) => info.opening.common.json,
            Self::Snapshot(snapshot) => snapshot.opening.common.json,
            Self::Path(path) => path.opening.common.json,
            Self::Show(show) => show.opening.common.json,
            Self::Log(log) => log.opening.common.json,
            Self::Tree(tree) => tree.opening.common.json,
            Self::Ls(ls) => ls.opening.common.json,
            Self::Append(append) => append.opening.common.json,
            Self::Branch(branch) => branch.opening.common.json,
            Self::Fork(fork) => fork.opening.common.json,
            Self::Convert(convert) => convert.opening.common.json,
            Self::Repair(repair) => repair.json,
            Self::Verify(verify) => verify.opening.common.json,
            Self::Completions(_) | Self::Man(_) => false,
        }
    }
}

/// Options of all commands that open sessions.
#[derive(Clone, Debug, Args)]
pub(crate) struct Common {
    /// Keep sidecar indexes, and what `ls` remembers, in this folder instead of beside the logs
    #[arg(long, value_name = "DIR")]
    pub(crate) index_dir: Option<PathBuf>,
    /// Refuse a log with any damage, naming the first damaged line and its byte offset, instead of
    /// reading around it
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print JSON, and nothing else, on standard output; a failure prints
    /// {"error": {code, message, path, line, offset}}, wrong usage with the code `usage`
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of the commands that can do without a sidecar too.
#[derive(Clone, Debug, Args)]
pub(crate) struct Opening {
    #[command(flatten)]
    pub(crate) common: Common,
    /// Read the whole log, and neither read nor write a sidecar index, nor what `ls` remembers; wins
    /// over --index-dir
    #[arg(long)]
    pub(crate) no_index: bool,
}

/// The option of the commands that can go on where a log is broken.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Salvage {
    /// Open a log without a usable header too, and cut a path that is not whole at its break
    #[arg(long)]
    pub(crate) salvage: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn the_definition_of_the_arguments_holds_together() {
        Cli::command().debug_assert();
    }
}
