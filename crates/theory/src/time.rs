//! Times and durations: how they are read and written. Both are nanoseconds; a time counts from 1970, without leap seconds.

use jiff::Timestamp;

/// What a time may look like, for messages.
pub const FORMATS: &str = "RFC 3339 (2026-02-03T04:05:06.789Z), or a number of seconds, milliseconds, microseconds or \
                           nanoseconds since 1970";

/// The units of durations, the largest first, in nanoseconds.
const UNITS: [(&str, i64); 7] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// The nanoseconds of one day.
pub const DAY: i64 = 86_400_000_000_000;

/// The time `text` stands for: RFC 3339, or a number.
///
/// Numbers are taken by their size: below 10¹¹ as seconds, below 10¹⁴ as milliseconds, below 10¹⁷ as microseconds, else as
/// nanoseconds. So are the times of this century told apart, and small numbers that count from some start are seconds. They are read digit
/// by digit. RFC 3339 may lack seconds, or minutes as well; a leap second is the last nanosecond before it.
#[must_use]
pub fn read(text: &str) -> Option<i64> {
    let text = text.trim();
    if let Some((time, _)) = utc(text.as_bytes()) {
        return Some(time);
    }
    // Whole numbers are the most frequent.
    if let Ok(whole) = text.parse::<i64>() {
        return of_integer(whole);
    }
    match Decimal::read(text) {
        Some(number) => number.times_ten_to(number.unit()),
        None => rfc3339(text),
    }
}

/// What [`read`] and [`resolution`] say of `text`, in one go.
#[must_use]
pub fn read_with_resolution(text: &str) -> Option<(i64, i64)> {
    let text = text.trim();
    if let Some(found) = utc(text.as_bytes()) {
        return Some(found);
    }
    // A sign and an exponent are left to those two.
    if text.len() <= 18 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let whole: i64 = text.parse().ok()?;
        let scale = scale(whole);
        return Some((whole.checked_mul(scale)?, scale));
    }
    Some((read(text)?, resolution(text)))
}

/// The most frequent way to write a time, `2026-02-03T04:05:06.789Z`: when it was, and how exactly it says so. Everything else, and
/// what is no time, is left to [`rfc3339`].
fn utc(text: &[u8]) -> Option<(i64, i64)> {
    let (head, rest) = text.split_first_chunk::<19>()?;
    let number = |from: usize, length: usize| -> Option<i64> {
        head.get(from..from + length)?.iter().try_fold(0, |number, byte| {
            let digit = byte.wrapping_sub(b'0');
            (digit < 10).then(|| number * 10 + i64::from(digit))
        })
    };
    let separators = [head[4], head[7], head[10], head[13], head[16]];
    if separators != *b"--T::" {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 2)?, number(8, 2)?);
    let (hour, minute, second) = (number(11, 2)?, number(14, 2)?, number(17, 2)?);
    // Nanoseconds have room for these years; the last days of short months are left to the calendar.
    let is_plain = (1700..2200).contains(&year)
        && (1..=12).contains(&month)
        && (1..=28).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    if !is_plain {
        return None;
    }
    let (mut fraction, mut resolution) = (0, 1_000_000_000);
    let zone = match rest {
        [b'.', decimals @ .., b'Z'] if (1..=9).contains(&decimals.len()) => {
            for byte in decimals {
                let digit = byte.wrapping_sub(b'0');
                if digit > 9 {
                    return None;
                }
                resolution /= 10;
                fraction += i64::from(digit) * resolution;
            }
            true
        }
        [b'Z'] => true,
        _ => false,
    };
    if !zone {
        return None;
    }
    // Years begin in March, so that a leap day is the last of its year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1 - 719_468;
    Some((
        ((days * 24 + hour) * 60 + minute) * 60_000_000_000 + second * 1_000_000_000 + fraction,
        resolution,
    ))
}

/// As [`read`], of a number.
#[must_use]
pub fn of_integer(whole: i64) -> Option<i64> {
    whole.checked_mul(scale(whole))
}

/// How many nanoseconds the unit of a whole number has, by its size.
fn scale(whole: i64) -> i64 {
    match whole.unsigned_abs() {
        0..100_000_000_000 => 1_000_000_000,
        100_000_000_000..100_000_000_000_000 => 1_000_000,
        100_000_000_000_000..100_000_000_000_000_000 => 1000,
        _ => 1,
    }
}

/// As [`read`], of a number with a fraction: of the shortest decimal that stands for it.
#[must_use]
pub fn of_float(number: f64) -> Option<i64> {
    let number = Decimal::read(&number.to_string())?;
    number.times_ten_to(number.unit())
}

/// A number as it is written: `mantissa` · 10^`exponent`.
#[derive(Clone, Copy, Debug)]
struct Decimal {
    is_negative: bool,
    mantissa: u128,
    exponent: i32,
}

/// More digits than this say nothing that a time has room for.
const MAX_DIGITS: u32 = 36;

impl Decimal {
    fn read(text: &str) -> Option<Self> {
        let (number, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let unsigned = number.strip_prefix(['+', '-']).unwrap_or(number);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let mut found =
            Self { is_negative: number.starts_with('-'), mantissa: 0, exponent: power.parse().ok()? };
        for (digits, is_whole) in [(whole, true), (fraction, false)] {
            for digit in digits.bytes() {
                let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
                // Further digits before the point are only counted, and those behind it dropped.
                let has_room = found.digits() < MAX_DIGITS;
                if has_room {
                    found.mantissa = found.mantissa * 10 + u128::from(digit);
                }
                let shift = match (is_whole, has_room) {
                    (true, true) | (false, false) => 0,
                    (true, false) => 1,
                    (false, true) => -1,
                };
                found.exponent = found.exponent.checked_add(shift)?;
            }
        }
        Some(found)
    }

    fn digits(&self) -> u32 {
        self.mantissa.checked_ilog10().map_or(0, |log| log + 1)
    }

    /// How many digits stand before the point; not more than 0 of a fraction.
    fn whole_digits(&self) -> i32 {
        self.exponent.saturating_add(self.digits() as i32)
    }

    /// The power of ten that makes nanoseconds of it, by its size.
    fn unit(&self) -> i32 {
        match self.whole_digits() {
            ..=11 => 9,
            12..=14 => 6,
            15..=17 => 3,
            _ => 0,
        }
    }

    /// So many nanoseconds, cut, of a number whose unit is 10^`unit` of them.
    fn times_ten_to(self, unit: i32) -> Option<i64> {
        let exponent = self.exponent.saturating_add(unit);
        let scale = 10_u128.checked_pow(exponent.unsigned_abs());
        let size = match (exponent < 0, self.mantissa, scale) {
            (_, 0, _) | (true, _, None) => 0,
            (true, mantissa, Some(scale)) => mantissa / scale,
            (false, mantissa, scale) => mantissa.checked_mul(scale?)?,
        };
        let size = i128::try_from(size).ok()?;
        i64::try_from(if self.is_negative { -size } else { size }).ok()
    }
}

/// What of RFC 3339's hours, minutes and seconds `text` has, and where they stand.
fn clock_part(text: &str) -> Option<(usize, &str)> {
    let at = text.find(['T', 't', ' '])? + 1;
    let rest = text.get(at..)?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != ':').unwrap_or(rest.len());
    Some((at, rest.get(..end)?))
}

fn rfc3339(text: &str) -> Option<i64> {
    let (at, clock) = clock_part(text)?;
    let zone = text.get(at + clock.len()..)?;
    // No clock is a day ahead of another.
    if let Some((_, offset)) = zone.split_once(['+', '-'])
        && offset.get(..2).is_some_and(|hours| hours > "23")
    {
        return None;
    }
    match clock.bytes().filter(u8::is_ascii_digit).count() {
        2 | 4 => {
            let missing = if clock.len() > 2 { ":00" } else { ":00:00" };
            nanoseconds(format!("{}{missing}{zone}", text.get(..at + clock.len())?).parse().ok()?)
        }
        6 if clock.ends_with("60") => {
            let minute = at + clock.len() - 2;
            let before = format!("{}59{zone}", text.get(..minute)?);
            let second = nanoseconds(before.parse().ok()?)?.div_euclid(1_000_000_000);
            second.checked_mul(1_000_000_000)?.checked_add(999_999_999)
        }
        6 => nanoseconds(text.parse().ok()?),
        _ => None,
    }
}

/// How exactly `text`, which [`read`] reads, says when it was: the time was less than so many nanoseconds later.
#[must_use]
pub fn resolution(text: &str) -> i64 {
    let text = text.trim();
    let number = Decimal::read(text);
    let unit =
        match (number, clock_part(text).map(|(_, clock)| clock.bytes().filter(u8::is_ascii_digit).count())) {
            // The largest of the units that [`read`] takes numbers of this size for.
            (Some(number), _) => 10_i64.pow(number.unit().unsigned_abs()),
            (None, Some(2)) => 3_600_000_000_000,
            (None, Some(4)) => 60_000_000_000,
            (None, _) => 1_000_000_000,
        };
    let fraction = text.split_once(['.', ',']).map_or("", |(_, fraction)| fraction);
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    let divisor = 10_i64.checked_pow(u32::try_from(digits).unwrap_or(u32::MAX)).unwrap_or(i64::MAX);
    // With an exponent, digits say nothing.
    if number.is_some() && text.contains(['e', 'E']) { unit } else { (unit / divisor).max(1) }
}

/// The names of formats, for messages.
pub const NAMED: &str =
    "rfc3339, rfc2822, unix, unix-ms, unix-us, unix-ns, clf, or directives such as `%Y-%m-%d %H:%M:%S`";

/// The directives of a format that is written with them.
fn directives(format: &str) -> Option<&str> {
    match format {
        "clf" => Some("%d/%b/%Y:%H:%M:%S %z"),
        _ => Some(format).filter(|format| format.contains('%')),
    }
}

/// Whether [`read_as`] knows `format`.
#[must_use]
pub fn is_format(format: &str) -> bool {
    matches!(format, "rfc3339" | "rfc2822" | "unix" | "unix-ms" | "unix-us" | "unix-ns")
        || directives(format).is_some()
}

/// The time that `text` stands for in `format`: one of [`NAMED`], or directives of `strptime`, without a zone in UTC.
#[must_use]
pub fn read_as(format: &str, text: &str) -> Option<i64> {
    let text = text.trim();
    let unit = match format {
        "rfc3339" => return rfc3339(text),
        "rfc2822" => return nanoseconds(jiff::fmt::rfc2822::parse(text).ok()?.timestamp()),
        "unix" => 9,
        "unix-ms" => 6,
        "unix-us" => 3,
        "unix-ns" => 0,
        other => {
            let parsed = jiff::fmt::strtime::parse(directives(other)?, text).ok()?;
            let zoned =
                || Some(parsed.to_datetime().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp());
            return nanoseconds(parsed.to_timestamp().ok().or_else(zoned)?);
        }
    };
    Decimal::read(text)?.times_ten_to(unit)
}

fn nanoseconds(time: Timestamp) -> Option<i64> {
    i64::try_from(time.as_nanosecond()).ok()
}

/// `time` as RFC 3339.
#[must_use]
pub fn show(time: i64) -> String {
    Timestamp::from_nanosecond(time.into()).map_or_else(|_| time.to_string(), |time| time.to_string())
}

/// The duration `text` stands for: a number and a unit, `5s`, `1.5h`.
#[must_use]
pub fn read_duration(text: &str) -> Option<i64> {
    let end = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(end);
    let scale = UNITS.iter().find(|(name, _)| *name == unit)?.1;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole = whole.parse::<i64>().ok()?.checked_mul(scale)?;
    // Digit by digit, so that no rounding makes `0.1s` another duration than `100ms`.
    let mut nanoseconds = 0;
    let mut divisor = 10;
    for digit in fraction.bytes().take(18) {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
        nanoseconds += i128::from(scale) * i128::from(digit) / divisor;
        divisor *= 10;
    }
    whole.checked_add(i64::try_from(nanoseconds).ok()?)
}

/// `duration` with the largest unit of which it is a whole number.
#[must_use]
pub fn show_duration(duration: i64) -> String {
    let whole = UNITS.iter().find(|(name, scale)| *name != "d" && duration % scale == 0 && duration != 0);
    let (unit, scale) = whole.copied().unwrap_or(("s", 1_000_000_000));
    format!("{}{unit}", duration / scale)
}

/// `duration` for people: `5 s`, `1.5 ms`.
#[must_use]
pub fn words(duration: i64) -> String {
    let short = show_duration(duration);
    if let Some(at) = short.find(|c: char| c.is_ascii_alphabetic()).filter(|at| *at < 6) {
        let (number, unit) = short.split_at(at);
        return format!("{number} {unit}");
    }
    let below = |scale: &i64| duration.unsigned_abs() >= scale.unsigned_abs();
    let (unit, scale) = UNITS[3..].iter().find(|(_, scale)| below(scale)).copied().unwrap_or(("ns", 1));
    let sign = if duration < 0 { "-" } else { "" };
    let (whole, rest) =
        (duration.unsigned_abs() / scale.unsigned_abs(), duration.unsigned_abs() % scale.unsigned_abs());
    let fraction = format!("{rest:0digits$}", digits = scale.ilog10() as usize);
    format!("{sign}{whole}.{} {unit}", fraction.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_nanoseconds() {
        assert_eq!(read("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(read("2000-02-29T12:00:00.5+01:00"), Some(951_822_000_500_000_000));
        assert_eq!(read("1969-12-31T23:59:59.999999999Z"), Some(-1));
        assert_eq!(read("2024-03-01 00:00:00Z"), Some(1_709_251_200_000_000_000));
        assert_eq!(read("1.5"), Some(1_500_000_000));
        assert_eq!(read("1709251200"), Some(1_709_251_200_000_000_000));
        assert_eq!(read("1709251200123"), Some(1_709_251_200_123_000_000));
        assert_eq!(read("1709251200123456789"), Some(1_709_251_200_123_456_789));
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
            assert_eq!(read(bad), None, "{bad}");
        }
        assert_eq!(show(951_822_000_500_000_000), "2000-02-29T11:00:00.5Z");
    }

    /// What is read without the calendar is what the calendar says, and as exact.
    #[test]
    fn the_fast_way_is_the_slow_way() {
        let mut fast = 0;
        let mut seed = 1_u64;
        for _ in 0..40_000 {
            let mut random = |bound: u64| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (seed >> 33) % bound
            };
            let date = format!("{:04}-{:02}-{:02}", 1650 + random(600), random(14), random(33));
            let clock = format!("{:02}:{:02}:{:02}", random(26), random(62), random(62));
            let fraction = format!(".{:09}", random(1_000_000_000));
            let fraction = fraction.get(..random(12) as usize).unwrap_or(&fraction);
            let text = format!("{date}T{clock}{fraction}Z");
            let slow = rfc3339(&text).map(|time| (time, resolution(&text)));
            fast += u32::from(utc(text.as_bytes()).is_some());
            assert_eq!(read_with_resolution(&text), slow, "{text}");
        }
        assert!(fast > 15_000, "{fast}");
        for text in [
            "0",
            "7",
            "17000000000000",
            "1709251200123",
            "00000000000001",
            "-5",
            "1e3",
            "1.25",
            "99999999999",
        ] {
            assert_eq!(read_with_resolution(text), read(text).map(|time| (time, resolution(text))), "{text}");
        }
    }

    /// As doubles, a quarter of these were more than a hundred nanoseconds off.
    #[test]
    fn fractions_are_read_digit_by_digit() {
        for (text, nanoseconds) in [
            ("1770112800.001", 1_770_112_800_001_000_000),
            ("1770112801.123456789", 1_770_112_801_123_456_789),
            ("-0.5", -500_000_000),
            ("1.770112800001e9", 1_770_112_800_001_000_000),
            ("1770112800001.5", 1_770_112_800_001_500_000),
            ("+12.", 12_000_000_000),
            ("1770112800.0010000000000000000000000000000000000001", 1_770_112_800_001_000_000),
        ] {
            assert_eq!(read(text), Some(nanoseconds), "{text}");
        }
        for (number, nanoseconds) in [(1_770_112_800.123, 1_770_112_800_123_000_000), (1.5, 1_500_000_000)] {
            assert_eq!(of_float(number), Some(nanoseconds), "{number}");
        }
        assert_eq!(read_as("unix", "1770112800.123"), Some(1_770_112_800_123_000_000));
        for far in ["10000000000.5", "1.0e10", "12345678901234567890", "99999999999", "1e300", "-1e99", "."] {
            assert_eq!(read(far), None, "{far}");
        }
        assert_eq!((of_float(1e10), of_float(f64::NAN), of_float(f64::INFINITY)), (None, None, None));
    }

    #[test]
    fn times_may_lack_seconds_and_leap_seconds_come_after_all_others() {
        let minute = 1_770_112_800_000_000_000;
        for text in ["2026-02-03T10:00Z", "2026-02-03T10Z", "2026-02-03 11:00+01:00"] {
            assert_eq!(read(text), Some(minute), "{text}");
        }
        let leap =
            ["2016-12-31T23:59:59.7Z", "2016-12-31T23:59:60.2Z", "2017-01-01T00:59:60+01:00"].map(read);
        let second = 1_483_228_800_000_000_000;
        assert_eq!(leap, [Some(second - 300_000_000), Some(second - 1), Some(second - 1)]);
        assert_eq!((read("2026-02-03T10:00:00+24:00"), read("2026-02-03T1:00Z")), (None, None));
    }

    #[test]
    fn times_are_as_exact_as_they_are_written() {
        for (text, nanoseconds) in [
            ("2026-02-03T04:05:06Z", 1_000_000_000),
            ("2026-02-03T04:05:06.789+01:00", 1_000_000),
            ("2026-02-03T04:05:06.123456789Z", 1),
            ("12", 1_000_000_000),
            ("12.50", 10_000_000),
            ("1709251200123", 1_000_000),
            ("1709251200123456789", 1),
            ("1.7e9", 1_000_000_000),
            ("2026-02-03T04:05:06,5Z", 100_000_000),
            ("2026-02-03T04:05Z", 60_000_000_000),
            ("2026-02-03T04Z", 3_600_000_000_000),
        ] {
            assert_eq!(resolution(text), nanoseconds, "{text}");
        }
    }

    #[test]
    fn formats_have_names() {
        let second = Some(1_770_091_506_000_000_000);
        for (format, text) in [
            ("rfc3339", "2026-02-03T04:05:06Z"),
            ("rfc2822", "Tue, 3 Feb 2026 04:05:06 +0000"),
            ("unix", "1770091506"),
            ("unix", "1770091506.0"),
            ("unix-ms", "1770091506000"),
            ("unix-us", "1770091506000000"),
            ("unix-ns", "1770091506000000000"),
            ("clf", "03/Feb/2026:05:05:06 +0100"),
            ("%Y-%m-%d %H:%M:%S", "2026-02-03 04:05:06"),
        ] {
            assert!(is_format(format), "{format}");
            assert_eq!(read_as(format, text), second, "{format}: {text}");
            assert_eq!(read_as(format, "soon"), None, "{format}");
        }
        assert!(!is_format("iso") && read_as("iso", "2026-02-03T04:05:06Z").is_none());
        // A small number of milliseconds is not taken for seconds.
        assert_eq!((read_as("unix-ms", "5"), read("5")), (Some(5_000_000), Some(5_000_000_000)));
    }

    #[test]
    fn durations_have_units() {
        for (text, nanoseconds) in [("5s", 5_000_000_000), ("1.5h", 5_400_000_000_000), ("0.1s", 100_000_000)]
        {
            assert_eq!(read_duration(text), Some(nanoseconds), "{text}");
            assert_eq!(read_duration(&show_duration(nanoseconds)), Some(nanoseconds), "{text}");
        }
        assert_eq!([0, 90_000_000_000, 100_000_000].map(show_duration), ["0s", "90s", "100ms"]);
        let shown =
            [0, 100_000_000, 3_599_500_000_000, 3_599_000_000_001, -1_500_000_001, 1_234_567].map(words);
        assert_eq!(shown, ["0 s", "100 ms", "3599.5 s", "3599.000000001 s", "-1.500000001 s", "1.234567 ms"]);
        assert!(["5", "s", "5x", "1.xs", "99999999999d"].iter().all(|bad| read_duration(bad).is_none()));
    }
}
