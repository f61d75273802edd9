//! Times as logs write them, in milliseconds since 1970.

use crate::json::{Json, Number};

/// The largest distance from 1970 that a JavaScript date can hold.
const RANGE: i64 = 8_640_000_000_000_000;

/// RFC 3339: seconds and zone required.
pub(crate) fn rfc_value<'a, V: Json<'a>>(value: V) -> Option<i64> {
    let text = value.text()?;
    parse(text.as_bytes(), true)
}

/// ISO 8601 text, or a number of milliseconds.
pub(crate) fn iso_value<'a, V: Json<'a>>(value: V) -> Option<i64> {
    match value.text() {
        Some(text) => parse_iso(&text),
        None => millis_value(value),
    }
}

/// A number of milliseconds within range.
pub(crate) fn millis_value<'a, V: Json<'a>>(value: V) -> Option<i64> {
    match value.number()? {
        Number::Whole(whole) => Some(whole),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the range is checked right after"
        )]
        Number::Real(real) => (real.abs() <= 9e15).then_some(real as i64),
    }
    .filter(|millis| (-RANGE..=RANGE).contains(millis))
}

/// ISO 8601 as section 3 of `docs/formats.md` states it.
pub(crate) fn parse_iso(text: &str) -> Option<i64> {
    parse(text.as_bytes(), false)
}

fn parse(text: &[u8], strict: bool) -> Option<i64> {
    let (date, rest) = text.split_at_checked(10)?;
    let [y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1] = *date else {
        return None;
    };
    let year = two(y0, y1)? * 100 + two(y2, y3)?;
    let (month, day) = (two(m0, m1)?, two(d0, d1)?);
    if !(1..=12).contains(&month) || day < 1 || day > month_length(year, month) {
        return None;
    }
    let midnight = days_from_civil(year, month, day) * 86_400_000;
    if rest.is_empty() {
        return (!strict).then_some(midnight);
    }
    let [b'T' | b't' | b' ', h0, h1, b':', min0, min1, rest @ ..] = rest else {
        return None;
    };
    let (hour, minute) = (two(*h0, *h1)?, two(*min0, *min1)?);
    let (second, fraction, rest) = match rest {
        [b':', s0, s1, rest @ ..] => {
            let (millis, rest) = fraction(rest)?;
            (two(*s0, *s1)?, millis, rest)
        }
        rest if !strict => (0, 0, rest),
        _ => return None,
    };
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let offset = match rest {
        [b'Z' | b'z'] => 0,
        [] if !strict => 0,
        [sign @ (b'+' | b'-'), oh0, oh1, b':', om0, om1] => {
            let (hours, minutes) = (two(*oh0, *oh1)?, two(*om0, *om1)?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            let offset = (hours * 60 + minutes) * 60_000;
            if *sign == b'+' { offset } else { -offset }
        }
        _ => return None,
    };
    let time = ((hour * 60 + minute) * 60 + second.min(59)) * 1000 + fraction;
    Some(midnight + time - offset)
}

fn two(tens: u8, ones: u8) -> Option<i64> {
    (tens.is_ascii_digit() && ones.is_ascii_digit())
        .then(|| i64::from(tens - b'0') * 10 + i64::from(ones - b'0'))
}

/// The milliseconds of a fraction, cut, and what follows it.
fn fraction(text: &[u8]) -> Option<(i64, &[u8])> {
    let [b'.', digits @ ..] = text else {
        return Some((0, text));
    };
    let count = digits
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if count == 0 {
        return None;
    }
    let (digits, rest) = digits.split_at(count);
    let mut millis = 0;
    for place in 0..3 {
        millis = millis * 10 + digits.get(place).map_or(0, |digit| i64::from(digit - b'0'));
    }
    Some((millis, rest))
}

fn month_length(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar, by counting years from March so that
/// the leap day comes last.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// A time in milliseconds since 1970 as `YYYY-MM-DDTHH:MM:SS.mmmZ`.
///
/// ```
/// assert_eq!(leaflog::format_time(1_784_019_600_000), "2026-07-14T09:00:00.000Z");
/// ```
#[must_use]
pub fn format_time(millis: i64) -> String {
    let days = millis.div_euclid(86_400_000);
    let time = millis.rem_euclid(86_400_000);
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        time / 3_600_000,
        time / 60_000 % 60,
        time / 1000 % 60,
        time % 1000
    )
}

/// A time in nanoseconds since 1970 as Go's RFC 3339 writes it: as many decimals as it takes.
pub(crate) fn format_nanos(nanos: u64) -> String {
    let millis = i64::try_from(nanos / 1_000_000).unwrap_or(i64::MAX);
    let mut text = format_time(millis);
    // `.mmmZ` is replaced.
    text.truncate(text.len() - 5);
    let below = format!("{:09}", nanos % 1_000_000_000);
    let below = below.trim_end_matches('0');
    if !below.is_empty() {
        text.push('.');
        text.push_str(below);
    }
    text.push('Z');
    text
}

#[cfg(test)]
mod tests {
    use super::{format_time, parse, parse_iso};

    #[test]
    fn times_read_as_the_table_says() {
        assert_eq!(parse_iso("1970-01-01"), Some(0));
        assert_eq!(
            parse_iso("2026-07-14T09:00:00.000Z"),
            Some(1_784_019_600_000)
        );
        assert_eq!(
            parse_iso("2026-07-14T11:00:00.5+02:00"),
            Some(1_784_019_600_500)
        );
        assert_eq!(parse_iso("2026-07-14 09:00"), Some(1_784_019_600_000));
        assert_eq!(
            parse(b"2026-07-14T09:00:00.123456789-00:30", true),
            Some(1_784_021_400_123)
        );
        assert_eq!(parse(b"2026-07-14T09:00Z", true), None);
        assert_eq!(parse(b"2026-07-14T09:00:00", true), None);
        assert_eq!(parse_iso("2024-02-29"), Some(1_709_164_800_000));
        for bad in [
            "soon",
            "",
            "2023-02-29",
            "2026-13-01",
            "2026-07-14T24:00Z",
            "2026-07-14T09:00:00.Z",
            "2026-07-14T09:00:00+25:00",
            "2026-07-14T",
        ] {
            assert_eq!(parse_iso(bad), None, "{bad}");
        }
    }

    #[test]
    fn nanoseconds_are_written_without_trailing_zeros() {
        for (nanos, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (1_784_019_600_000_000_001, "2026-07-14T09:00:00.000000001Z"),
            (1_784_019_600_120_000_000, "2026-07-14T09:00:00.12Z"),
        ] {
            assert_eq!(super::format_nanos(nanos), text);
        }
    }

    #[test]
    fn text_and_time_are_inverse_over_eight_centuries() {
        for day in (-200_000..100_000).step_by(97) {
            let millis = day * 86_400_000 + 12_345_678;
            assert_eq!(parse_iso(&format_time(millis)), Some(millis));
        }
    }
}
