//! Puts bytes of a log together: strings, numbers, ids, times, whole lines.
//! For the generator only. It knows no kinds of entries and decides nothing.

use std::io;

use super::Shape;
use super::random::{Ids, Random, to_u64, to_usize};
use super::text::{Look, Words};
use crate::Format;

/// 2026-07-14T09:00:00Z in milliseconds. Every session starts here.
const START: u64 = 1_784_019_600_000;

/// Lines are handed on in pieces of about this size.
const PIECE: usize = 64 * 1024;

/// The largest payload that is taken seriously.
const MAX_PAYLOAD: u64 = 1 << 30;

pub(super) struct Pen<'w, W> {
    pub(super) format: Format,
    pub(super) random: Random,
    pub(super) ids: Ids,
    out: &'w mut W,
    line: Vec<u8>,
    words: Words,
    payload: u64,
    now: u64,
    stamp: Vec<u8>,
    seq: u64,
    fresh: u64,
    lines: u64,
    bytes: u64,
}

impl<'w, W: io::Write> Pen<'w, W> {
    pub(super) fn new(shape: &Shape, out: &'w mut W) -> Self {
        let format = shape.format;
        let mut random = Random::new(shape.seed);
        let ids = Ids::new(&mut random);
        let payload = to_u64(shape.payload).min(MAX_PAYLOAD);
        // A short session does not pay for a long session's variety.
        let stock = payload
            .saturating_mul(shape.entries)
            .clamp(4 << 10, 128 << 10);
        let codebot = format == Format::CodebotV3;
        let words = Words::new(&mut random, to_usize(stock), codebot);
        let mut pen = Self {
            format,
            random,
            ids,
            out,
            line: Vec::with_capacity(PIECE * 2),
            words,
            payload,
            now: START,
            stamp: Vec::with_capacity(40),
            seq: 0,
            fresh: 0,
            lines: 0,
            bytes: 0,
        };
        pen.set_stamp();
        pen
    }

    /// Ends the line; hands on what has gathered when it is enough.
    pub(super) fn end_line(&mut self) -> io::Result<()> {
        self.line.push(b'\n');
        self.lines += 1;
        if self.line.len() >= PIECE {
            self.hand_on()?;
        }
        Ok(())
    }

    /// Hands on the rest. Gives bytes and lines written.
    pub(super) fn finish(mut self) -> io::Result<(u64, u64)> {
        self.hand_on()?;
        self.out.flush()?;
        Ok((self.bytes, self.lines))
    }

    fn hand_on(&mut self) -> io::Result<()> {
        self.out.write_all(&self.line)?;
        self.bytes += to_u64(self.line.len());
        self.line.clear();
        Ok(())
    }

    pub(super) fn put(&mut self, text: &str) {
        self.line.extend_from_slice(text.as_bytes());
    }

    pub(super) fn number(&mut self, number: u64) {
        push_number(&mut self.line, number, 1);
    }

    /// A sum of money in billionths, as a JSON number.
    pub(super) fn money(&mut self, billionths: u64) {
        push_number(&mut self.line, billionths / 1_000_000_000, 1);
        push_fraction(&mut self.line, billionths % 1_000_000_000);
    }

    /// The id of an entry with its quotes.
    pub(super) fn entry_id(&mut self, number: u32) {
        self.line.push(b'"');
        let id = self.entry_number(number);
        push_hex(&mut self.line, u64::from(id), 8);
        self.line.push(b'"');
    }

    /// The id of an entry as a number of eight hex digits.
    pub(super) fn entry_number(&self, number: u32) -> u32 {
        match self.format {
            // No ids are stored; readers number the lines.
            Format::PiV1 => number,
            _ => self.ids.entry(number),
        }
    }

    /// The id of a tool call or record with its quotes.
    pub(super) fn wide_id(&mut self, prefix: &str, number: u64) {
        self.line.push(b'"');
        self.put(prefix);
        let id = self.ids.wide(number);
        push_hex(&mut self.line, id, 16);
        self.line.push(b'"');
    }

    /// A number for [`wide_id`](Self::wide_id) that was not given before.
    pub(super) fn fresh_number(&mut self) -> u64 {
        self.fresh += 1;
        self.fresh
    }

    /// A number in hex digits.
    pub(super) fn hex(&mut self, number: u64, digits: u32) {
        push_hex(&mut self.line, number, digits);
    }

    /// About how much text the next message has: a third to the double of the payload, the payload on average.
    pub(super) fn message_len(&mut self) -> u64 {
        // The lower two thirds of the range are as wide as the upper third is far away.
        let payload = self.payload;
        if self.random.below(5) < 3 {
            self.random.between(payload / 3, payload)
        } else {
            self.random.between(payload, payload * 2)
        }
    }

    /// Text inside a string.
    pub(super) fn text(&mut self, look: Look, len: u64) {
        self.words.text(&mut self.random, &mut self.line, look, len);
    }

    /// Lets some time pass.
    pub(super) fn advance(&mut self, most_ms: u64) {
        self.now += self.random.between(1, most_ms);
        if self.format != Format::PiV4 {
            self.set_stamp();
        }
    }

    /// The time in milliseconds.
    pub(super) fn millis(&mut self) {
        self.number(self.now);
    }

    /// The time as the format's entries spell it, with quotes if it is a string.
    pub(super) fn time(&mut self) {
        if self.format == Format::PiV4 {
            self.millis();
        } else {
            self.line.push(b'"');
            self.line.extend_from_slice(&self.stamp);
            self.line.push(b'"');
        }
    }

    /// The next number of pi v4's sequence.
    pub(super) fn next_seq(&mut self) {
        self.seq += 1;
        self.number(self.seq);
    }

    fn set_stamp(&mut self) {
        let seconds = self.now / 1000;
        let millis = self.now % 1000;
        self.stamp.clear();
        if self.format == Format::CodebotV3 {
            // A Go program's local time: nanoseconds without trailing zeros, and an offset.
            let nanos = millis * 1_000_000 + self.random.below(1_000_000);
            push_date_time(&mut self.stamp, seconds + 2 * 3600);
            push_fraction(&mut self.stamp, nanos);
            self.stamp.extend_from_slice(b"+02:00");
        } else {
            push_date_time(&mut self.stamp, seconds);
            self.stamp.push(b'.');
            push_number(&mut self.stamp, millis, 3);
            self.stamp.push(b'Z');
        }
    }
}

/// The digit of a number below 16.
fn digit(value: u64) -> u8 {
    let value = u8::try_from(value & 15).unwrap_or(0);
    if value < 10 {
        b'0' + value
    } else {
        b'a' + value - 10
    }
}

fn push_hex(line: &mut Vec<u8>, number: u64, digits: u32) {
    line.extend((0..digits).rev().map(|at| digit(number >> (4 * at))));
}

/// A number in decimal with at least `least` digits.
fn push_number(line: &mut Vec<u8>, mut number: u64, least: usize) {
    let mut digits = [b'0'; 20];
    let mut used = 0;
    for place in digits.iter_mut().rev() {
        *place = digit(number % 10);
        number /= 10;
        used += 1;
        if number == 0 && used >= least {
            break;
        }
    }
    line.extend_from_slice(digits.get(digits.len() - used..).unwrap_or_default());
}

/// Billionths as a decimal fraction without trailing zeros; nothing if there are none.
fn push_fraction(line: &mut Vec<u8>, billionths: u64) {
    if billionths == 0 {
        return;
    }
    line.push(b'.');
    push_number(line, billionths, 9);
    while line.last() == Some(&b'0') {
        line.pop();
    }
}

/// `YYYY-MM-DDTHH:MM:SS` from seconds since 1970.
fn push_date_time(line: &mut Vec<u8>, seconds: u64) {
    // Days are counted from 0000-03-01, so that a leap day is the last of its year.
    let days = seconds / 86_400 + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let second = seconds % 86_400;
    push_number(line, year, 4);
    for (mark, value) in [
        (b'-', month),
        (b'-', day),
        (b'T', second / 3600),
        (b':', second / 60 % 60),
        (b':', second % 60),
    ] {
        line.push(mark);
        push_number(line, value, 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut line = Vec::new();
        write(&mut line);
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn numbers_are_written_in_full() {
        assert_eq!(written(|line| push_number(line, 0, 1)), "0");
        assert_eq!(written(|line| push_number(line, 7, 3)), "007");
        assert_eq!(
            written(|line| push_number(line, u64::MAX, 1)),
            u64::MAX.to_string()
        );
        assert_eq!(written(|line| push_hex(line, 0xab_cdef, 8)), "00abcdef");
        assert_eq!(written(|line| push_fraction(line, 4_500_000)), ".0045");
        assert_eq!(written(|line| push_fraction(line, 0)), "");
    }

    #[test]
    fn times_follow_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00"),
            (951_782_400, "2000-02-29T00:00:00"),
            (4_107_542_399, "2100-02-28T23:59:59"),
            (4_107_542_400, "2100-03-01T00:00:00"),
            (START / 1000, "2026-07-14T09:00:00"),
        ] {
            assert_eq!(written(|line| push_date_time(line, seconds)), expected);
        }
    }
}
