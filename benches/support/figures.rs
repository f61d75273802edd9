//! Times, and what they are together.

use std::time::Instant;

/// Runs something: its seconds, and its result.
pub fn seconds<T>(run: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = run();
    (start.elapsed().as_secs_f64(), result)
}

/// What one contender took, round by round.
#[derive(Clone, Debug, Default)]
pub struct Series(Vec<f64>);

impl Series {
    /// Runs something for a round and keeps its time.
    pub fn time<T>(&mut self, run: impl FnOnce() -> T) -> T {
        let (time, result) = seconds(run);
        self.0.push(time);
        result
    }

    /// Runs something some times for a round and keeps the time of one.
    pub fn each(&mut self, count: u64, mut run: impl FnMut(u64)) {
        let (time, ()) = seconds(|| (0..count).for_each(&mut run));
        self.0.push(time / count as f64);
    }

    /// Keeps a time that was measured elsewhere.
    pub fn push(&mut self, time: f64) {
        self.0.push(time);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Seconds, in the middle.
    pub fn median(&self) -> f64 {
        quartiles(self.0.clone()).1
    }

    /// The first fifth of the rounds, and the last.
    pub fn ends(&self) -> (Self, Self) {
        let fifth = (self.0.len() / 5).max(1);
        let late = self.0.len() - fifth;
        (
            Self(self.0[..fifth].to_vec()),
            Self(self.0[late..].to_vec()),
        )
    }

    /// Round by round, the times of two together.
    pub fn plus(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(a, b)| a + b).collect())
    }

    /// How many times another one's time this is: the median of the rounds, and the middle half of
    /// them, if both took turns; else that of the medians.
    pub fn over(&self, other: &Self) -> Ratio {
        if self.0.len() != other.0.len() {
            return Ratio::of(self.median() / other.median());
        }
        let rounds = self.0.iter().zip(&other.0).map(|(own, other)| own / other);
        let (low, value, high) = quartiles(rounds.collect());
        Ratio { value, low, high }
    }
}

/// A ratio, and between what it was in the middle half of the rounds.
#[derive(Clone, Copy, Debug)]
pub struct Ratio {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

impl Ratio {
    /// One that does not vary.
    pub fn of(value: f64) -> Self {
        Self {
            value,
            low: value,
            high: value,
        }
    }

    /// The same in another unit.
    pub fn times(self, factor: f64) -> Self {
        Self {
            value: self.value * factor,
            low: self.low * factor,
            high: self.high * factor,
        }
    }
}

fn quartiles(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    let at = |quarter: usize| values[(values.len() - 1) * quarter / 4];
    (at(1), at(2), at(3))
}
