//! Random histories: calls that follow from a seed, valid and invalid ones, made of a backend and of
//! the model in step. A difference is told with the fewest calls that show it.

mod answer;
mod call;
mod damage;
mod dice;
mod run;

use self::call::Call;
use self::dice::Dice;
use super::Factory;
use super::failure::{Failure, Outcome};

/// Calls that follow from a seed. Each draws from a die of its own, so that a history without some
/// of its calls is a history too.
///
/// ```
/// # #[cfg(feature = "conformance")] {
/// use leaflog::conformance::{History, ModelFactory};
///
/// History::new(7, 40).run(&ModelFactory::default()).unwrap();
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    seed: u64,
    calls: Vec<Call>,
}

/// Runs spent on looking for a shorter history.
const SHRINKS: usize = 400;

impl History {
    /// So many calls.
    #[must_use]
    pub fn new(seed: u64, calls: usize) -> Self {
        let mut dice = Dice::new(seed);
        let calls = (0..calls).map(|_| Call::draw(&mut dice)).collect();
        Self { seed, calls }
    }

    /// Calls as bytes say: three a call, the first for the kind of call. So who changes a byte
    /// changes a call, which is what a fuzzer wants. Some of these calls damage files of sessions
    /// between closing and opening, as the end of a process or a disk does; calls of
    /// [`new`](Self::new) do not.
    ///
    /// ```
    /// # #[cfg(feature = "conformance")] {
    /// use leaflog::conformance::{History, ModelFactory};
    ///
    /// History::read(b"append, branch, label").run(&ModelFactory::default()).unwrap();
    /// # }
    /// ```
    #[must_use]
    pub fn read(bytes: &[u8]) -> Self {
        let calls = bytes.chunks(3).map(Call::read).collect();
        Self { seed: 0, calls }
    }

    /// Makes the calls of a backend in a fresh place and of the model, and compares results, error
    /// codes and state.
    ///
    /// # Errors
    ///
    /// The first difference, with the fewest calls found that lead to one.
    pub fn run(&self, factory: &dyn Factory) -> Result<(), Failure> {
        let Err(mut failure) = run::run(factory, &self.calls) else {
            return Ok(());
        };
        let mut calls = self.calls.clone();
        let mut left = SHRINKS;
        let mut piece = calls.len().div_ceil(2);
        while piece > 0 && left > 0 {
            let mut at = 0;
            while at < calls.len() && left > 0 {
                let kept = calls.iter().take(at).chain(calls.iter().skip(at + piece));
                let shorter: Vec<Call> = kept.copied().collect();
                left -= 1;
                match run::run(factory, &shorter) {
                    Err(told) => {
                        failure = told;
                        calls = shorter;
                    }
                    Ok(()) => at += piece,
                }
            }
            piece /= 2;
        }
        Err(failure.during(&format!(
            "a history of {} of the {} calls of seed {}",
            calls.len(),
            self.calls.len(),
            self.seed
        )))
    }
}

/// Some fixed histories, short and long.
pub(super) fn some_agree(factory: &dyn Factory) -> Outcome {
    for seed in 0..12 {
        History::new(seed, 40).run(factory)?;
    }
    History::new(99, 250).run(factory)
}
