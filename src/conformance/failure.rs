//! What a case says when a backend does not do what it must, and the checks that say it.

use std::fmt;

use crate::error::{Code, Error};

/// What a backend did, and what it should have done.
///
/// ```
/// let failure = leaflog::conformance::Failure::new("expected 1 entry, found none");
/// assert_eq!(failure.to_string(), "expected 1 entry, found none");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Failure {
    case: Option<&'static str>,
    text: String,
}

/// What a step of a case comes to.
pub(super) type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// A failure with a sentence.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            case: None,
            text: text.into(),
        }
    }

    pub(super) fn in_case(mut self, case: &'static str) -> Self {
        self.case = Some(case);
        self
    }

    /// The same, with what was being done before it.
    pub(super) fn during(mut self, what: &str) -> Self {
        self.text = format!("{what}: {}", self.text);
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(case) = self.case {
            write!(f, "{case}: ")?;
        }
        f.write_str(&self.text)
    }
}

/// As it is displayed: tests that return a failure print it so.
impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Failure {}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::new(format!(
            "a call that should succeed answered `{}`: {error}",
            error.code()
        ))
    }
}

/// Something must be so.
pub(super) fn ensure(so: bool, what: impl FnOnce() -> String) -> Outcome {
    if so {
        Ok(())
    } else {
        Err(Failure::new(what()))
    }
}

/// Two values must be equal.
pub(super) fn same<T: PartialEq<U> + fmt::Debug, U: fmt::Debug>(
    what: &str,
    found: T,
    expected: U,
) -> Outcome {
    ensure(found == expected, || {
        format!("{what}: expected {expected:?}, found {found:?}")
    })
}

/// A call must be refused with a code.
pub(super) fn refused<T>(what: &str, result: Result<T, Error>, code: Code) -> Outcome {
    match result {
        Ok(_) => Err(Failure::new(format!(
            "{what}: expected the error `{code}`, but the call succeeded"
        ))),
        Err(error) if error.code() == code => Ok(()),
        Err(error) => Err(Failure::new(format!(
            "{what}: expected the error `{code}`, found `{}`: {error}",
            error.code()
        ))),
    }
}

/// There must be something.
pub(super) fn some<T>(what: &str, found: Option<T>) -> Outcome<T> {
    found.ok_or_else(|| Failure::new(format!("{what}: expected one, found none")))
}
