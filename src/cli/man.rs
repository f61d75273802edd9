//! `leaflog man`: the manual page, made from the definition of the arguments: one page for the
//! program with a section for each command.

use std::io::{self, Write};

use clap::{Args, Command, CommandFactory};
use clap_mangen::Man as Page;

use super::Exit;
use super::args::Cli;
use super::failure::Failure;
use super::out::Out;

/// Print the manual page
///
/// To read it: leaflog man | man -l -
#[derive(Debug, Args)]
pub(crate) struct Man {}

impl Man {
    pub(crate) fn run(self, out: &mut Out) -> Result<Exit, Failure> {
        let mut program = Cli::command();
        program.build();
        out.write_all(&page(&program)?)?;
        Ok(Exit::Done)
    }
}

/// The page in roff.
fn page(program: &Command) -> io::Result<Vec<u8>> {
    let mut roff = Vec::new();
    let whole = Page::new(program.clone());
    whole.render_title(&mut roff)?;
    whole.render_name_section(&mut roff)?;
    whole.render_synopsis_section(&mut roff)?;
    whole.render_description_section(&mut roff)?;
    whole.render_options_section(&mut roff)?;
    for command in program.get_subcommands() {
        if command.get_name() != "help" {
            section(command, &mut roff)?;
        }
    }
    whole.render_extra_section(&mut roff)?;
    whole.render_version_section(&mut roff)?;
    Ok(roff)
}

/// One command: its parts are sections of their own pages, and come one level lower here.
fn section(command: &Command, roff: &mut Vec<u8>) -> io::Result<()> {
    // What every command has is told once, at the top.
    let told = ["color", "help"];
    let command = told.into_iter().fold(command.clone(), |command, name| {
        command.mut_arg(name, |arg| arg.hide(true))
    });
    let name = command.get_name().to_uppercase();
    let page = Page::new(command);
    let mut parts = Vec::new();
    page.render_synopsis_section(&mut parts)?;
    page.render_description_section(&mut parts)?;
    page.render_options_section(&mut parts)?;
    writeln!(roff, ".SH \"LEAFLOG {name}\"")?;
    for line in parts.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_prefix(b".SH ") {
            Some(heading) => {
                roff.extend_from_slice(b".SS ");
                roff.extend_from_slice(heading);
            }
            None => roff.extend_from_slice(line),
        }
    }
    Ok(())
}
