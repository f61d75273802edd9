//! Times: what a timestamp of each format says, in milliseconds since 1970.
//! For the naive replay only. It never knows the time of day and never guesses a zone: none means UTC.

use super::json;

/// The largest distance from 1970 that counts as a time, in milliseconds.
const FARTHEST: f64 = 8.64e15;

/// The time of a raw value that holds an RFC 3339 string.
pub(super) fn rfc3339(raw: &str) -> Option<i64> {
    let text = json::string(raw)?;
    parse(&text, Zone::Required)
}

/// The time of a raw value that holds an ISO 8601 string or a number of milliseconds.
pub(super) fn iso8601_or_millis(raw: &str) -> Option<i64> {
    match json::string(raw) {
        Some(text) => parse(&text, Zone::Optional),
        None => millis(raw),
    }
}

/// The time of a raw value that holds a number of milliseconds.
pub(super) fn millis(raw: &str) -> Option<i64> {
    json::number(raw)
        .filter(|number| number.abs() <= FARTHEST)
        .map(json::cut)
}

/// What may be left out of a written time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Zone {
    /// RFC 3339: time of day, seconds and zone must be there.
    Required,
    /// ISO 8601: a date alone, or no seconds, or no zone will do.
    Optional,
}

fn parse(text: &str, zone: Zone) -> Option<i64> {
    let mut rest = Rest(text.as_bytes());
    let year = rest.digits(4)?;
    rest.byte(b"-")?;
    let month = rest.digits(2)?;
    rest.byte(b"-")?;
    let day = rest.digits(2)?;
    if !(1..=12).contains(&month) || !(1..=days_in_month(year, month)).contains(&day) {
        return None;
    }
    let midnight = days_from_civil(year, month, day) * 86_400_000;
    if rest.0.is_empty() {
        return (zone == Zone::Optional).then_some(midnight);
    }
    rest.byte(b"Tt ")?;
    let hour = rest.digits(2)?;
    rest.byte(b":")?;
    let minute = rest.digits(2)?;
    let (second, fraction) = if rest.byte(b":").is_some() {
        (rest.digits(2)?, rest.fraction()?)
    } else if zone == Zone::Optional {
        (0, 0)
    } else {
        return None;
    };
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let offset = rest.offset(zone)?;
    // A leap second has no number of its own in milliseconds since 1970.
    let seconds = hour * 3600 + minute * 60 + second.min(59) - offset;
    rest.0
        .is_empty()
        .then_some(midnight + seconds * 1000 + fraction)
}

/// What is left to read of a written time.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    /// Exactly so many digits.
    fn digits(&mut self, count: usize) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        self.0 = rest;
        let value = |sum: i64, digit: &u8| sum * 10 + i64::from(digit - b'0');
        Some(digits.iter().fold(0, value))
    }

    /// One of these bytes.
    fn byte(&mut self, any_of: &[u8]) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        if !any_of.contains(first) {
            return None;
        }
        self.0 = rest;
        Some(*first)
    }

    /// A point and digits, or nothing: milliseconds, the finer digits cut off.
    fn fraction(&mut self) -> Option<i64> {
        if self.byte(b".").is_none() {
            return Some(0);
        }
        let mut millis = 0;
        let mut weight = 100;
        let mut digit = self.digits(1)?;
        loop {
            millis += digit * weight;
            weight /= 10;
            match self.digits(1) {
                Some(next) => digit = next,
                None => return Some(millis),
            }
        }
    }

    /// The zone's distance from UTC in seconds.
    fn offset(&mut self, zone: Zone) -> Option<i64> {
        if self.0.is_empty() && zone == Zone::Optional {
            return Some(0);
        }
        let sign = match self.byte(b"Zz+-")? {
            b'+' => 1,
            b'-' => -1,
            _ => return Some(0),
        };
        let hours = self.digits(2)?;
        self.byte(b":")?;
        let minutes = self.digits(2)?;
        (hours <= 23 && minutes <= 59).then_some(sign * (hours * 3600 + minutes * 60))
    }
}

fn days_in_month(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a day of the Gregorian calendar, counted in years that start in
/// March so that the leap day comes last.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}
