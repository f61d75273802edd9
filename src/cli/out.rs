//! The one way to print: answers to standard output, all else to standard error. Every write gives
//! an `io::Result`, so that a closed pipe ends a command quietly; nothing here panics.

use std::fmt;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::path::Path;

use anstream::AutoStream;
use clap::ColorChoice;
use clap::builder::styling::{AnsiColor, Style};
use leaflog::Overview;
use serde::Serialize;

use super::text::{clean, count, counted};

/// What stands out.
pub(crate) const BOLD: Style = Style::new().bold();
/// What may be passed over.
pub(crate) const DIM: Style = Style::new().dimmed();
/// What is as it should be, and where the conversation stands.
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
/// Names given by people.
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default();
/// What deserves a look.
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
const RED: Style = AnsiColor::Red.on_default().bold();

/// Columns that are assumed where the width is not known.
const WIDTH: usize = 100;

/// Where the program's answers and complaints go.
pub(crate) struct Out {
    answers: BufWriter<StdoutLock<'static>>,
    colour: bool,
    error_colour: bool,
    json: bool,
    width: Option<usize>,
}

impl Out {
    /// Takes standard output.
    pub(crate) fn new(colour: ColorChoice, json: bool) -> Self {
        let stdout = io::stdout().lock();
        Self {
            colour: !json && coloured(colour, &stdout),
            error_colour: coloured(colour, &io::stderr().lock()),
            answers: BufWriter::with_capacity(64 << 10, stdout),
            json,
            width: columns(),
        }
    }

    /// Whether answers are JSON.
    pub(crate) fn json(&self) -> bool {
        self.json
    }

    /// How many characters a line for people should have at most.
    pub(crate) fn width(&self) -> usize {
        self.width.unwrap_or(WIDTH)
    }

    /// How many characters a line has room for, if that is known: of a pipe it is not.
    pub(crate) fn room(&self) -> Option<usize> {
        self.width
    }

    /// Whether nobody can read what is printed any more, as far as that can be told without printing.
    #[cfg(unix)]
    pub(crate) fn is_closed(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let gone = PollFlags::ERR | PollFlags::HUP;
        let mut stdout = [PollFd::new(self.answers.get_ref(), PollFlags::empty())];
        let asked = poll(&mut stdout, Some(&Timespec::default()));
        asked.is_ok() && stdout.iter().any(|one| one.revents().intersects(gone))
    }

    /// Whether nobody can read what is printed any more; the next line that is printed tells.
    #[cfg(not(unix))]
    pub(crate) fn is_closed(&self) -> bool {
        false
    }

    /// A value in a style, where colours are wanted.
    pub(crate) fn paint<T: fmt::Display>(&self, style: Style, value: T) -> Painted<T> {
        Painted {
            style: self.colour.then_some(style),
            value,
        }
    }

    /// Prints a value as JSON, on one line.
    pub(crate) fn object(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.answers, value)?;
        self.answers.write_all(b"\n")
    }

    /// Says that something failed: as JSON with the answers if those are JSON, else to people.
    pub(crate) fn error(&mut self, error: &leaflog::Error) -> io::Result<()> {
        if self.json {
            return self.object(&ErrorObject::of(error));
        }
        let mut text = error.to_string();
        if let Some(cause) = std::error::Error::source(error) {
            let cause = cause.to_string();
            // The sentence mostly has the system's words already, without the number.
            let words = cause.split(" (os error ").next().unwrap_or_default();
            if !text.contains(words) {
                text.push_str(": ");
                text.push_str(&cause);
            }
        }
        self.answers.flush()?;
        self.complain(&text);
        Ok(())
    }

    /// Says as JSON that the arguments make no sense, from what there is to say to people.
    pub(crate) fn misuse(&mut self, text: &str) -> io::Result<()> {
        let text = text.trim().strip_prefix("error: ").unwrap_or(text);
        // The help for people that follows is not about what is wrong.
        let said = text.split("\n\n").take_while(|part| {
            !(part.starts_with("Usage:") || part.starts_with("For more information"))
        });
        let said: Vec<String> = said
            .map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        self.object(&ErrorObject {
            error: ErrorFields {
                code: "usage",
                message: &said.join("; "),
                path: None,
                line: None,
                offset: None,
            },
        })
    }

    /// Tells people something that is no failure. Programs that read JSON find it in the answer.
    pub(crate) fn note(&mut self, text: &str) -> io::Result<()> {
        if self.json {
            return Ok(());
        }
        self.warn(text)
    }

    /// Warns, whatever form the answers have.
    pub(crate) fn warn(&mut self, text: &str) -> io::Result<()> {
        self.answers.flush()?;
        self.say(YELLOW, text);
        Ok(())
    }

    /// A short line if there was damage to read around.
    pub(crate) fn note_damage(&mut self, file: &Path, overview: &Overview) -> io::Result<()> {
        if overview.report_count == 0 {
            return Ok(());
        }
        let told = u64::try_from(overview.reports.len()).unwrap_or(u64::MAX);
        let mut lines: Vec<u64> = overview.reports.iter().map(|report| report.line).collect();
        lines.dedup();
        let damage = match (told < overview.report_count, lines.len()) {
            (true, _) => format!(
                "damaged lines were read around, with {} reports",
                count(overview.report_count)
            ),
            (false, 1) => "1 damaged line was read around".to_owned(),
            (false, lines) => format!(
                "{} were read around",
                counted(u64::try_from(lines).unwrap_or(u64::MAX), "damaged line")
            ),
        };
        self.note(&format!(
            "{}: {damage} (leaflog info shows them)",
            file.display()
        ))
    }

    /// Says that something failed on standard error.
    pub(crate) fn complain(&mut self, text: &str) {
        self.say(RED, text);
    }

    /// One line on standard error; there is nobody left to tell if that fails.
    fn say(&self, style: Style, text: &str) {
        let name = Painted {
            style: self.error_colour.then_some(style),
            value: "leaflog:",
        };
        let _ = writeln!(io::stderr().lock(), "{name} {}", clean(text));
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.answers.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.answers.flush()
    }
}

/// Whether a stream takes colours: what was asked for, else what it is and what NO_COLOR says.
fn coloured(choice: ColorChoice, stream: &impl anstream::stream::RawStream) -> bool {
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => AutoStream::choice(stream) != anstream::ColorChoice::Never,
    }
}

/// The width that the shell or the terminal tells, if they do.
fn columns() -> Option<usize> {
    let terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    std::env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.parse().ok())
        .or_else(terminal)
        .filter(|columns| (20..=10_000).contains(columns))
}

/// Whether progress may be drawn.
pub(crate) fn stderr_is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// A value in a style.
pub(crate) struct Painted<T> {
    style: Option<Style>,
    value: T,
}

impl<T: fmt::Display> fmt::Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.style {
            None => self.value.fmt(f),
            Some(style) => {
                write!(f, "{style}")?;
                self.value.fmt(f)?;
                write!(f, "{style:#}")
            }
        }
    }
}

/// A failure as JSON.
#[derive(Serialize)]
struct ErrorObject<'a> {
    error: ErrorFields<'a>,
}

#[derive(Serialize)]
struct ErrorFields<'a> {
    code: &'static str,
    message: &'a str,
    path: Option<String>,
    line: Option<u64>,
    offset: Option<u64>,
}

impl<'a> ErrorObject<'a> {
    fn of(error: &'a leaflog::Error) -> Self {
        Self {
            error: ErrorFields {
                code: error.code().as_str(),
                message: error.message(),
                path: error.path().map(|path| path.display().to_string()),
                line: error.line(),
                offset: error.offset(),
            },
        }
    }
}
