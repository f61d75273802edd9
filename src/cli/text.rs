//! Text for people: cleaned of what a terminal would obey, cut to a width, numbers and times with
//! units. Whatever comes from a session goes through here before it is printed in human form.

use std::fmt::{self, Write};

/// A text without control characters, to be printed.
pub(crate) struct Clean<'a> {
    text: &'a str,
    lines: bool,
}

/// One line: line breaks and tabs become spaces.
pub(crate) fn clean(text: &str) -> Clean<'_> {
    Clean { text, lines: false }
}

/// Several lines: line breaks and tabs stay.
pub(crate) fn clean_lines(text: &str) -> Clean<'_> {
    Clean { text, lines: true }
}

impl fmt::Display for Clean<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Most text has nothing to drop, and goes out in one piece then.
        let mut rest = self.text;
        while let Some((at, found)) = rest.char_indices().find(|&(_, c)| self.changes(c)) {
            f.write_str(rest.get(..at).unwrap_or_default())?;
            if matches!(found, '\n' | '\t' | '\r') {
                f.write_char(' ')?;
            }
            rest = rest.get(at + found.len_utf8()..).unwrap_or_default();
        }
        f.write_str(rest)
    }
}

impl Clean<'_> {
    fn changes(&self, c: char) -> bool {
        is_unsafe(c) && !(self.lines && matches!(c, '\n' | '\t'))
    }
}

/// Characters that a terminal obeys instead of showing them, or that reorder the text around them.
fn is_unsafe(c: char) -> bool {
    matches!(c,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{61c}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The first line that is not blank, cleaned and cut.
pub(crate) fn first_line(text: &str, columns: usize) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty());
    cut(line.unwrap_or_default().trim(), columns)
}

/// A text as one clean line of at most so many characters, `…` for what was cut.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    // A line may be megabytes long; only what can be shown is cleaned, with room for what is dropped.
    let enough = columns.saturating_add(1).saturating_mul(8);
    let end = text.char_indices().nth(enough).map(|(at, _)| at);
    let head = end.map_or(text, |end| text.get(..end).unwrap_or(text));
    let line = clean(head).to_string();
    if end.is_none() && line.chars().count() <= columns {
        return line;
    }
    let mut kept: String = line.chars().take(columns.saturating_sub(1)).collect();
    kept.truncate(kept.trim_end().len());
    kept.push('…');
    kept
}

/// The end of a text, as it matters for folders: `…` for what was cut in front.
pub(crate) fn cut_front(text: &str, columns: usize) -> String {
    let line = clean(text).to_string();
    let length = line.chars().count();
    if length <= columns {
        return line;
    }
    let skipped = length.saturating_sub(columns.saturating_sub(1));
    std::iter::once('…')
        .chain(line.chars().skip(skipped))
        .collect()
}

/// A number of bytes with a binary unit.
pub(crate) fn size(bytes: u64) -> String {
    let mut unit = "B";
    let mut divisor = 1u64;
    for (next, larger) in [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)] {
        if bytes >= larger {
            (unit, divisor) = (next, larger);
        }
    }
    if divisor == 1 {
        return format!("{bytes} B");
    }
    let (whole, rest) = (bytes / divisor, bytes % divisor);
    format!("{whole}.{} {unit}", rest * 10 / divisor)
}

/// A number with commas between its thousands.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number that may be negative, with commas between its thousands.
pub(crate) fn signed(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", count(number.unsigned_abs()))
}

/// A count with its noun, in the plural where it is not one.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let number_text = count(number);
    match noun.strip_suffix("ry") {
        _ if number == 1 => format!("{number_text} {noun}"),
        Some(stem) => format!("{number_text} {stem}ries"),
        None => format!("{number_text} {noun}s"),
    }
}

/// A time in milliseconds since 1970 as `2026-07-14 09:00:00`, in UTC.
pub(crate) fn time(millis: i64) -> String {
    let text = leaflog::format_time(millis);
    let seconds = text.split('.').next().unwrap_or_default();
    seconds.replacen('T', " ", 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_dropped() {
        let evil = "a\u{1b}[31mb\u{7f}\u{9b}31m\u{202e}c\u{2066}d\0";
        assert_eq!(clean(evil).to_string(), "a[31mb31mcd");
        assert_eq!(clean("a\nb\tc").to_string(), "a b c");
        assert_eq!(clean_lines("a\n\tb\r\u{8}").to_string(), "a\n\tb ");
        assert_eq!(clean("grüße 日本").to_string(), "grüße 日本");
    }

    #[test]
    fn a_cut_text_has_at_most_the_columns_asked_for() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdef", 5), "abcd…");
        assert_eq!(cut("ab cdef", 4), "ab…");
        assert_eq!(cut(&"\u{1b}".repeat(1000), 5), "…");
        assert_eq!(first_line("\n  \n one\ntwo", 10), "one");
        assert_eq!(cut_front("/home/dev/app", 8), "…dev/app");
    }

    #[test]
    fn sizes_counts_and_times_carry_their_units() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1024), "1.0 KiB");
        assert_eq!(size(1_572_864), "1.5 MiB");
        assert_eq!(size(u64::MAX), "17179869183.9 GiB");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(counted(1, "line"), "1 line");
        assert_eq!(counted(1000, "line"), "1,000 lines");
        assert_eq!(counted(2, "entry"), "2 entries");
        assert_eq!(signed(-1_234), "-1,234");
        assert_eq!(time(1_784_019_600_000), "2026-07-14 09:00:00");
    }
}
