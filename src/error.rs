//! The one error type of the crate: what went wrong, as a code to match on and a sentence to read,
//! and where. Every layer makes it; the layer that knows a position fills it in.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What kind of failure an [`Error`] is, for a caller to match on.
///
/// ```
/// assert_eq!(leaflog::Code::InvalidEntry.as_str(), "invalid_entry");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// No such session, entry or lane target.
    NotFound,
    /// The id or name is taken.
    AlreadyExists,
    /// The log breaks the rules of its format.
    InvalidEntry,
    /// A payload does not decode.
    InvalidPayload,
    /// No such lane.
    InvalidLane,
    /// The query cannot be answered by any log.
    InvalidQuery,
    /// The entry cannot be forked from.
    InvalidForkTarget,
    /// The operating system or the disk refused.
    Storage,
    /// Another process writes this session.
    Locked,
    /// The format, or its version, cannot do this.
    Unsupported,
    /// The session was closed.
    Closed,
}

impl Code {
    /// The code as the command line and other languages spell it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::AlreadyExists => "already_exists",
            Self::InvalidEntry => "invalid_entry",
            Self::InvalidPayload => "invalid_payload",
            Self::InvalidLane => "invalid_lane",
            Self::InvalidQuery => "invalid_query",
            Self::InvalidForkTarget => "invalid_fork_target",
            Self::Storage => "storage",
            Self::Locked => "locked",
            Self::Unsupported => "unsupported",
            Self::Closed => "closed",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A failure, with where it happened.
///
/// `Display` prints the place and the sentence (`session.jsonl: line 4, byte 312: …`); the
/// underlying cause, if any, is only in [`source`](std::error::Error::source).
///
/// ```
/// let error = leaflog::Session::open("no/such/session.jsonl").unwrap_err();
/// assert_eq!(error.code(), leaflog::Code::NotFound);
/// assert!(error.to_string().contains("no/such/session.jsonl"));
/// ```
#[derive(Debug)]
pub struct Error {
    inner: Box<Inner>,
}

#[derive(Debug)]
struct Inner {
    code: Code,
    message: String,
    path: Option<PathBuf>,
    line: Option<u64>,
    offset: Option<u64>,
    source: Option<io::Error>,
}

impl Error {
    /// A failure with a sentence that says what was expected, what was found and what to do.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            inner: Box::new(Inner {
                code,
                message: message.into(),
                path: None,
                line: None,
                offset: None,
                source: None,
            }),
        }
    }

    /// A failure of the operating system. A file that does not exist is [`Code::NotFound`],
    /// all else [`Code::Storage`].
    #[must_use]
    pub fn io(doing: &str, path: &Path, source: io::Error) -> Self {
        let code = if source.kind() == io::ErrorKind::NotFound {
            Code::NotFound
        } else {
            Code::Storage
        };
        let remedy = match source.kind() {
            io::ErrorKind::NotFound => "; check the path",
            io::ErrorKind::PermissionDenied => "; its owner must allow it",
            _ => "",
        };
        let cause = plain_cause(&source);
        let mut error = Self::new(code, format!("cannot {doing}: {cause}{remedy}"));
        error.inner.path = Some(path.to_owned());
        error.inner.source = Some(source);
        error
    }

    /// The same error with the file it is about, unless it names one already.
    #[must_use]
    pub fn at_path(mut self, path: &Path) -> Self {
        if self.inner.path.is_none() {
            self.inner.path = Some(path.to_owned());
        }
        self
    }

    /// The same error with the line (counted from 1) and the byte offset of that line's start.
    #[must_use]
    pub fn at_line(mut self, line: u64, offset: u64) -> Self {
        self.inner.line = Some(line);
        self.inner.offset = Some(offset);
        self
    }

    /// What kind of failure it is.
    #[must_use]
    pub fn code(&self) -> Code {
        self.inner.code
    }

    /// The sentence, without the place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.inner.message
    }

    /// The file it is about.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.inner.path.as_deref()
    }

    /// The line it is about, counted from 1.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        self.inner.line
    }

    /// The byte offset of the start of that line.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        self.inner.offset
    }
}

/// The operating system's words without the trailing `(os error N)`.
fn plain_cause(source: &io::Error) -> String {
    let text = source.to_string();
    match text.find(" (os error ") {
        Some(at) => text.get(..at).unwrap_or(&text).to_owned(),
        None => text,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.inner.path {
            write!(f, "{}: ", path.display())?;
        }
        match (self.inner.line, self.inner.offset) {
            (Some(line), Some(offset)) => write!(f, "line {line}, byte {offset}: ")?,
            (Some(line), None) => write!(f, "line {line}: ")?,
            (None, Some(offset)) => write!(f, "byte {offset}: ")?,
            (None, None) => {}
        }
        f.write_str(&self.inner.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.inner.source.as_ref().map(|source| source as _)
    }
}
