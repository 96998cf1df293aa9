//! Times in logs: RFC 3339, or numbers.

/// What a time may look like, for messages.
pub(crate) const FORMATS: &str = "RFC 3339 (2026-02-03T04:05:06.789Z), or a number of seconds, milliseconds, microseconds or \
                                  nanoseconds since 1970";

/// Nanoseconds since 1970 of `text`: an RFC 3339 time, or a number.
///
/// Numbers are taken by their size: below 10¹¹ as seconds, below 10¹⁴ as milliseconds, below 10¹⁷ as
/// microseconds, else as nanoseconds. So are the times of this century told apart, and small numbers that
/// count from some start are seconds.
pub(crate) fn parse(text: &str) -> Option<i64> {
    let text = text.trim();
    // Whole numbers are scaled exactly.
    if let Ok(whole) = text.parse::<i64>() {
        let scale = match whole.unsigned_abs() {
            0..100_000_000_000 => 1_000_000_000,
            100_000_000_000..100_000_000_000_000 => 1_000_000,
            100_000_000_000_000..100_000_000_000_000_000 => 1000,
            _ => 1,
        };
        return whole.checked_mul(scale);
    }
    if let Ok(number) = text.parse::<f64>() {
        let scale = match number.abs() {
            _ if !number.is_finite() => return None,
            size if size < 1e11 => 1e9,
            size if size < 1e14 => 1e6,
            size if size < 1e17 => 1e3,
            _ => 1.0,
        };
        return Some((number * scale) as i64);
    }
    rfc3339(text.as_bytes())
}

fn rfc3339(text: &[u8]) -> Option<i64> {
    let number = |from: usize, to: usize| -> Option<i64> {
        text.get(from..to)?
            .iter()
            .try_fold(0_i64, |value, byte| byte.is_ascii_digit().then(|| value * 10 + i64::from(byte - b'0')))
    };
    let mark =
        |at: usize, allowed: &[u8]| text.get(at).is_some_and(|byte| allowed.contains(byte)).then_some(());
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    mark(4, b"-").and(mark(7, b"-")).and(mark(10, b"Tt ")).and(mark(13, b":")).and(mark(16, b":"))?;
    // A leap second is 60.
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let mut at = 19;
    let mut nanoseconds = 0;
    if mark(at, b".,").is_some() {
        at += 1;
        let mut scale = 100_000_000;
        let first = at;
        while let Some(digit @ b'0'..=b'9') = text.get(at) {
            nanoseconds += i64::from(digit - b'0') * scale;
            scale /= 10;
            at += 1;
        }
        if at == first {
            return None;
        }
    }
    let offset = match text.get(at) {
        Some(b'Z' | b'z') if text.len() == at + 1 => 0,
        Some(sign @ (b'+' | b'-')) if text.len() == at + 6 => {
            mark(at + 3, b":")?;
            let minutes = number(at + 1, at + 3)? * 60 + number(at + 4, at + 6)?;
            if *sign == b'-' { -minutes } else { minutes }
        }
        _ => return None,
    };
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset * 60;
    seconds.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
}

/// Days since 1970-01-01, by counting from March so that leap days come last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn times_are_nanoseconds() {
        assert_eq!(parse("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(parse("2000-02-29T12:00:00.5+01:00"), Some(951_822_000_500_000_000));
        assert_eq!(parse("1969-12-31T23:59:59.999999999Z"), Some(-1));
        assert_eq!(parse("2024-03-01 00:00:00Z"), Some(1_709_251_200_000_000_000));
        assert_eq!(parse("1.5"), Some(1_500_000_000));
        assert_eq!(parse("1709251200"), Some(1_709_251_200_000_000_000));
        assert_eq!(parse("1709251200123"), Some(1_709_251_200_123_000_000));
        assert_eq!(parse("1709251200123456789"), Some(1_709_251_200_123_456_789));
        for bad in [
            "",
            "now",
            "2024-13-01T00:00:00Z",
            "2024-01-01T00:00:00",
            "2024-01-01T00:00:00.Z",
            "NaN",
            "inf",
            "9999-12-31T23:59:59Z",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
