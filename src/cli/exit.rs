//! The exit codes of the program, all in one table. Every command answers with one of them; nothing
//! else in the program ends the process.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// It is done. Damage that was read around is reported and is no failure.
    Done,
    /// It failed, or `verify` found something wrong.
    Failed,
    /// The arguments make no sense.
    Usage,
}

impl Exit {
    /// The number that the shell sees.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
        }
    }

    /// Of several files the worst one counts.
    #[must_use]
    pub(crate) fn and(self, other: Self) -> Self {
        self.max(other)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::Exit;

    #[test]
    fn codes_are_zero_one_and_two() {
        assert_eq!(
            [Exit::Done, Exit::Failed, Exit::Usage].map(Exit::code),
            [0, 1, 2]
        );
    }

    #[test]
    fn one_failed_file_of_several_fails_the_command() {
        assert_eq!(Exit::Done.and(Exit::Done), Exit::Done);
        assert_eq!(Exit::Done.and(Exit::Failed), Exit::Failed);
        assert_eq!(Exit::Failed.and(Exit::Done), Exit::Failed);
    }
}
