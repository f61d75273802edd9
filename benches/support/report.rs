//! What was found, told as it is known, and as rows of Markdown in the end.

use std::fmt;

use super::figures::Ratio;

/// What a figure must be.
#[derive(Clone, Copy, Debug)]
pub enum Goal {
    AtMost(f64),
    AtLeast(f64),
}

impl Goal {
    fn is_met(self, value: f64) -> bool {
        match self {
            Self::AtMost(most) => value <= most,
            Self::AtLeast(least) => value >= least,
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // As it was set, without the zeros of a measured figure.
        let plain = |goal: f64| match goal {
            1000.0.. => figure(goal),
            _ => format!("{goal}"),
        };
        match self {
            Self::AtMost(most) => write!(f, "at most {}", plain(*most)),
            Self::AtLeast(least) => write!(f, "at least {}", plain(*least)),
        }
    }
}

/// One figure that has a goal.
#[derive(Clone, Debug)]
struct Finding {
    figure: Ratio,
    goal: Goal,
    /// What the figure counts, as it follows a number: "times the same of 10,000 entries".
    unit: String,
    /// What it was made of: "98 µs and 92 µs".
    of: String,
}

impl Finding {
    fn verdict(&self) -> &'static str {
        if self.goal.is_met(self.figure.value) {
            "met"
        } else {
            "missed"
        }
    }

    /// The figure, and where it was in the middle half of the rounds.
    fn with_spread(&self) -> String {
        let Ratio { value, low, high } = self.figure;
        let (value, low, high) = (figure(value), figure(low), figure(high));
        if low == high {
            value
        } else {
            format!("{value} ({low} to {high})")
        }
    }
}

/// A target and all that was found for it.
#[derive(Clone, Debug)]
pub struct Target {
    number: &'static str,
    what: String,
    findings: Vec<Finding>,
}

impl Target {
    /// Begins one. `what` says what was measured, with sizes.
    pub fn new(number: &'static str, what: impl Into<String>) -> Self {
        let what = what.into();
        println!("\n{number} {what}");
        Self {
            number,
            what,
            findings: Vec::new(),
        }
    }

    /// Adds a figure with a goal, and tells it.
    pub fn find(&mut self, figure: Ratio, unit: &str, of: String, goal: Goal) {
        let finding = Finding {
            figure,
            goal,
            unit: unit.to_owned(),
            of,
        };
        println!(
            "   {} {unit}: {}; target {goal}: {}",
            finding.with_spread(),
            finding.of,
            finding.verdict()
        );
        self.findings.push(finding);
    }

    /// Tells what has no goal.
    pub fn note(&self, text: &str) {
        println!("   {text}");
    }

    fn place(&self) -> u32 {
        self.number.trim_start_matches('P').parse().unwrap_or(0)
    }

    fn joined(&self, cell: impl Fn(&Finding) -> String) -> String {
        self.findings
            .iter()
            .map(cell)
            .collect::<Vec<_>>()
            .join("; ")
    }
}

/// Prints all targets as rows for the README, one each, and for `docs/performance.md`, one a figure.
pub fn print_tables(targets: &mut [Target]) {
    targets.sort_by_key(Target::place);
    println!("\n| | what | target | measured | command |\n|---|---|---|---|---|");
    for target in &*targets {
        println!(
            "| {} | {} | {} | {} | `cargo bench --bench targets -- {0}` |",
            target.number,
            target.what,
            target.joined(|finding| format!("{} {}", finding.goal, finding.unit)),
            target.joined(|finding| match finding.verdict() {
                "met" => figure(finding.figure.value),
                verdict => format!("{}, {verdict}", figure(finding.figure.value)),
            })
        );
    }
    println!("\n| | target | measured (middle half of the rounds) | of | |\n|---|---|---|---|---|");
    for target in &*targets {
        for finding in &target.findings {
            println!(
                "| {} | {} {} | {} | {} | {} |",
                target.number,
                finding.goal,
                finding.unit,
                finding.with_spread(),
                finding.of,
                finding.verdict()
            );
        }
    }
}

/// Three digits or so.
pub fn figure(value: f64) -> String {
    match value {
        0.0..9.995 => format!("{value:.2}"),
        9.995..99.95 => format!("{value:.1}"),
        _ => count(value.round() as u64),
    }
}

/// A whole number, its thousands parted.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut parted = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            parted.push(',');
        }
        parted.push(digit);
    }
    parted
}

/// Seconds in a unit that suits them.
pub fn time(seconds: f64) -> String {
    let (value, unit) = match seconds {
        0.0..1e-6 => (seconds * 1e9, "ns"),
        1e-6..1e-3 => (seconds * 1e6, "µs"),
        1e-3..1.0 => (seconds * 1e3, "ms"),
        _ => (seconds, "s"),
    };
    format!("{} {unit}", figure(value))
}

/// Bytes in a unit that suits them.
pub fn size(bytes: u64) -> String {
    let value = bytes as f64;
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} KB", figure(value / 1e3)),
        1_000_000..1_000_000_000 => format!("{} MB", figure(value / 1e6)),
        _ => format!("{} GB", figure(value / 1e9)),
    }
}
