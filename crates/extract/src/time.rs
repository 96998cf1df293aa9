//! Times as logs write them.

use Directive::{Blank, Day, Fraction, Hour, Minute, Month, MonthName, Second, Text, Year, Zone, ZoneName};
use std::fmt::Write as _;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::Offset;

use crate::source::SourceError;

/// How times are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeFormat {
    kind: Kind,
    /// Seconds east of Greenwich, where the time does not say.
    zone: i64,
    year: Option<i64>,
    /// The year, the month and the day on which logs are read whose times have no year.
    today: (i64, i64, i64),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Rfc3339,
    /// A number of seconds, times this many nanoseconds.
    Unix(i64),
    /// Directives of `strptime`, one after the other.
    Written(Vec<Directive>),
    /// RFC 3339 where it begins with a digit, else RFC 3164's.
    Syslog,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Directive {
    Year,
    Month,
    MonthName,
    Day,
    Hour,
    Minute,
    Second,
    Fraction,
    Zone,
    ZoneName,
    Blank,
    Text(char),
}

impl TimeFormat {
    /// The format called `written` (`rfc3339`, `unix`, `unix-ms`, `unix-us`, `unix-ns`, `syslog`, `clf`), or written with `%`.
    ///
    /// # Errors
    /// If it is neither.
    pub fn parse(written: &str) -> Result<Self, SourceError> {
        let kind = match written {
            "rfc3339" => Kind::Rfc3339,
            "unix" => Kind::Unix(1_000_000_000),
            "unix-ms" => Kind::Unix(1_000_000),
            "unix-us" => Kind::Unix(1000),
            "unix-ns" => Kind::Unix(1),
            "syslog" => Kind::Syslog,
            "clf" => Kind::Written(directives("%d/%b/%Y:%H:%M:%S %z")?),
            written if written.contains('%') => match directives(written)? {
                found if found.contains(&Hour) => Kind::Written(found),
                _ => {
                    return Err(SourceError::new(format!("`{written}` says no hour (%H): a day is no time")));
                }
            },
            other => {
                return Err(SourceError::new(format!(
                    "`{other}` is no format of times: rfc3339, unix, unix-ms, unix-us, unix-ns, syslog, clf, or directives such as `%d/%b/%Y:%H:%M:%S %z`"
                )));
            }
        };
        Ok(Self { kind, zone: 0, year: None, today: (1970, 12, 31) })
    }

    pub(crate) fn in_zone(mut self, zone: Option<&str>) -> Result<Self, SourceError> {
        if let Some(zone) = zone {
            let mut at = 0;
            self.zone = offset(zone.as_bytes(), &mut at)
                .filter(|_| at == zone.len())
                .ok_or_else(|| SourceError::new(format!("`{zone}` is no zone: write `Z` or `+01:00`")))?;
        }
        Ok(self)
    }

    pub(crate) fn in_year(mut self, year: Option<i64>) -> Self {
        self.year = year;
        self
    }

    pub(crate) fn lacks_year(&self) -> bool {
        let lacks = match &self.kind {
            Kind::Written(directives) => !directives.contains(&Year),
            Kind::Syslog => true,
            Kind::Rfc3339 | Kind::Unix(_) => false,
        };
        lacks && self.year.is_none()
    }

    pub(crate) fn assume_today(&mut self, today: (i64, i64, i64)) {
        self.today = today;
    }

    /// When it was; `years` counts the years of times that have none.
    #[must_use]
    pub fn read(&self, text: &str, years: &mut Years) -> Option<Time> {
        match &self.kind {
            Kind::Rfc3339 => self.written(RFC3339, text, years),
            Kind::Unix(scale) => unix(text, *scale),
            Kind::Written(directives) => self.written(directives, text, years),
            Kind::Syslog if text.starts_with(|c: char| c.is_ascii_digit()) => {
                self.written(RFC3339, text, years)
            }
            Kind::Syslog => self.written(SYSLOG, text, years),
        }
    }

    fn written(&self, directives: &[Directive], text: &str, years: &mut Years) -> Option<Time> {
        let bytes = text.as_bytes();
        let mut at = 0;
        let (mut year, mut month, mut day) = (None, 1, 1);
        let (mut hour, mut minute, mut second, mut nanoseconds) = (0, 0, 0, 0);
        let mut zone = self.zone;
        let mut resolution = DAY;
        for directive in directives {
            match directive {
                Year => year = Some(digits(bytes, &mut at, 4, 4)?),
                Month => month = digits(bytes, &mut at, 2, 2)?,
                MonthName => {
                    let name = text.get(at..at + 3)?;
                    month = 1 + MONTHS.iter().position(|known| known.eq_ignore_ascii_case(name))? as i64;
                    at += 3;
                }
                Day => {
                    at += usize::from(bytes.get(at) == Some(&b' '));
                    day = digits(bytes, &mut at, 1, 2)?;
                }
                Hour => (hour, resolution) = (digits(bytes, &mut at, 2, 2)?, resolution.min(HOUR)),
                Minute => (minute, resolution) = (digits(bytes, &mut at, 2, 2)?, resolution.min(MINUTE)),
                Second => (second, resolution) = (digits(bytes, &mut at, 2, 2)?, resolution.min(SECOND)),
                Fraction => {
                    let start = at;
                    nanoseconds = fraction(bytes, &mut at)?;
                    let digits = u32::try_from(at - start).ok()?.saturating_sub(1);
                    resolution = resolution.min(SECOND / 10_i64.pow(digits.min(9)));
                }
                Zone => zone = offset(bytes, &mut at)?,
                ZoneName => zone = named_zone(bytes, &mut at)?,
                Blank => {
                    let start = at;
                    while bytes.get(at) == Some(&b' ') {
                        at += 1;
                    }
                    (at > start).then_some(())?;
                }
                Text('T') => at += usize::from(matches!(bytes.get(at)?, b'T' | b't' | b' ')),
                Text(c) => at = text.get(at..)?.starts_with(*c).then_some(at + c.len_utf8())?,
            }
        }
        (hour < 24 && minute < 60 && second <= 60 && at == bytes.len()).then_some(())?;
        if second == 60 {
            // As elsewhere: after all that is not in it, and before the next.
            (second, nanoseconds) = (59, SECOND - 1);
        }
        let year = year.unwrap_or_else(|| years.of(self, month, day));
        let date = Date::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?).ok()?;
        let midnight = Offset::UTC.to_timestamp(date.at(0, 0, 0, 0)).ok()?.as_second();
        let seconds = midnight + hour * 3600 + minute * 60 + second - zone;
        let nanoseconds = seconds.checked_mul(SECOND)?.checked_add(nanoseconds)?;
        Some(Time { nanoseconds, resolution })
    }
}

const SECOND: i64 = 1_000_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// When something was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time {
    /// Since 1970.
    pub nanoseconds: i64,
    /// It was less than so many nanoseconds later.
    pub resolution: i64,
}

impl Time {
    /// Writes it as JSON, so that `crates/watch` reads it as exactly as it is known: a number of seconds, or RFC 3339 without seconds, or
    /// without minutes.
    pub(crate) fn write(self, out: &mut String) {
        if self.resolution > SECOND {
            let shown = Timestamp::from_nanosecond(self.nanoseconds.into()).unwrap_or_default().to_string();
            let kept = if self.resolution < HOUR { "2026-02-03T10:00".len() } else { "2026-02-03T10".len() };
            let _ = write!(out, "\"{}Z\"", shown.get(..kept).unwrap_or_default());
            return;
        }
        let sign = if self.nanoseconds < 0 { "-" } else { "" };
        let (size, second) = (self.nanoseconds.unsigned_abs(), SECOND.unsigned_abs());
        let _ = write!(out, "{sign}{}", size / second);
        let digits = 9 - self.resolution.max(1).ilog10() as usize;
        // A leap second is written as the nanosecond that it is taken for.
        let digits = if digits == 0 && size % second != 0 { 9 } else { digits };
        if digits > 0 {
            let fraction = format!("{:09}", size % second);
            let _ = write!(out, ".{}", fraction.get(..digits).unwrap_or(&fraction));
        }
    }
}

/// The year of the lines of one input, whose times have none: it counts up when the month falls.
#[derive(Clone, Copy, Debug, Default)]
pub struct Years {
    /// The last one, and its month.
    last: Option<(i64, i64)>,
}

/// A month that is so many earlier than that of the line before is one of the next year.
const HALF_A_YEAR: i64 = 6;

impl Years {
    fn of(&mut self, format: &TimeFormat, month: i64, day: i64) -> i64 {
        let Some((year, before)) = self.last else {
            // The past rather than the future, but clocks differ.
            let (today, this_month, this_day) = format.today;
            let is_future = (month, day) > (this_month, this_day + 1)
                && !(this_day >= 28 && day == 1 && month == this_month + 1);
            let year = format.year.unwrap_or(today - i64::from(is_future));
            self.last = Some((year, month));
            return year;
        };
        if month - before > HALF_A_YEAR {
            // A line of last year that comes late.
            return year - 1;
        }
        let year = year + i64::from(before - month > HALF_A_YEAR);
        self.last = Some((year, month));
        year
    }
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

const RFC3339: &[Directive] = &[
    Year,
    Text('-'),
    Month,
    Text('-'),
    Day,
    Text('T'),
    Hour,
    Text(':'),
    Minute,
    Text(':'),
    Second,
    Fraction,
    Zone,
];
/// RFC 3164: `%b %e %H:%M:%S`.
const SYSLOG: &[Directive] = &[MonthName, Blank, Day, Blank, Hour, Text(':'), Minute, Text(':'), Second];

fn directives(written: &str) -> Result<Vec<Directive>, SourceError> {
    let mut found = Vec::new();
    let mut chars = written.chars();
    while let Some(c) = chars.next() {
        found.push(match c {
            '%' => match chars.next() {
                Some('Y') => Year,
                Some('m') => Month,
                Some('b') => MonthName,
                Some('d' | 'e') => Day,
                Some('H') => Hour,
                Some('M') => Minute,
                Some('S') => Second,
                Some('f') => Fraction,
                Some('z') => Zone,
                Some('Z') => ZoneName,
                other => {
                    let other = other.map(String::from).unwrap_or_default();
                    return Err(SourceError::new(format!(
                        "`%{other}` is not known in a time: %Y %m %b %d %e %H %M %S %f %z %Z"
                    )));
                }
            },
            ' ' => Blank,
            other => Text(other),
        });
    }
    Ok(found)
}

fn digits(bytes: &[u8], at: &mut usize, least: usize, most: usize) -> Option<i64> {
    let start = *at;
    let mut value = 0;
    while let Some(digit @ b'0'..=b'9') = bytes.get(*at).filter(|_| *at - start < most) {
        value = value * 10 + i64::from(digit - b'0');
        *at += 1;
    }
    (*at - start >= least).then_some(value)
}

/// `.123` or `,123`, or nothing.
fn fraction(bytes: &[u8], at: &mut usize) -> Option<i64> {
    if !matches!(bytes.get(*at), Some(b'.' | b',')) {
        return Some(0);
    }
    *at += 1;
    let (start, mut scale, mut value) = (*at, 100_000_000, 0);
    while let Some(digit @ b'0'..=b'9') = bytes.get(*at) {
        value += i64::from(digit - b'0') * scale;
        scale /= 10;
        *at += 1;
    }
    (*at > start).then_some(value)
}

/// `Z`, `+0100` or `+01:00`, in seconds.
fn offset(bytes: &[u8], at: &mut usize) -> Option<i64> {
    let sign = match bytes.get(*at)? {
        b'Z' | b'z' => {
            *at += 1;
            return Some(0);
        }
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    *at += 1;
    let hours = digits(bytes, at, 2, 2)?;
    *at += usize::from(bytes.get(*at) == Some(&b':'));
    let minutes = digits(bytes, at, 2, 2)?;
    (hours < 24 && minutes < 60).then_some(())?;
    Some(sign * (hours * 3600 + minutes * 60))
}

/// `UTC` or `GMT`, in seconds. Other abbreviations mean different zones in different places, and none is guessed.
fn named_zone(bytes: &[u8], at: &mut usize) -> Option<i64> {
    matches!(bytes.get(*at..*at + 3)?, b"UTC" | b"GMT").then_some(())?;
    *at += 3;
    Some(0)
}

/// A number with up to nine decimals, exactly.
fn unix(text: &str, scale: i64) -> Option<Time> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    let is_negative = whole.starts_with('-');
    let whole: i64 = whole.parse().ok()?;
    let mut nanoseconds = whole.checked_mul(scale)?;
    let mut resolution = scale;
    for digit in rest.bytes() {
        let digit = digit.is_ascii_digit().then(|| i64::from(digit - b'0'))?;
        resolution /= 10;
        let part = digit * resolution;
        nanoseconds = nanoseconds.checked_add(if is_negative { -part } else { part })?;
    }
    Some(Time { nanoseconds, resolution: resolution.max(1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(format: &str, text: &str) -> Option<i64> {
        let mut format = TimeFormat::parse(format).unwrap().in_zone(Some("+01:00")).unwrap();
        format.assume_today((2026, 11, 19));
        format.read(text, &mut Years::default()).map(|time| time.nanoseconds)
    }

    #[test]
    fn times_are_read_as_they_are_written() {
        assert_eq!(read("rfc3339", "2026-02-03T04:05:06.5Z"), Some(1_770_091_506 * SECOND + SECOND / 2));
        assert_eq!(read("syslog", "Feb  3 05:05:06"), Some(1_770_091_506 * SECOND));
        assert_eq!(read("syslog", "2026-02-03T04:05:06Z"), Some(1_770_091_506 * SECOND));
        assert_eq!(read("clf", "03/Feb/2026:04:05:06 +0000"), Some(1_770_091_506 * SECOND));
        assert_eq!(
            read("%Y-%m-%d %H:%M:%S%f", "2026-02-03 05:05:06,250"),
            Some(1_770_091_506 * SECOND + SECOND / 4)
        );
        assert_eq!(read("%Y-%m-%d %H:%M:%S %Z", "2026-02-03 04:05:06 UTC"), Some(1_770_091_506 * SECOND));
        assert_eq!(read("unix", "1770091506.123456"), Some(1_770_091_506 * SECOND + 123_456_000));
        assert_eq!(read("unix-ms", "1770091506123"), Some(1_770_091_506 * SECOND + 123_000_000));
        for (format, bad) in [
            ("rfc3339", "2026-13-03T04:05:06Z"),
            ("rfc3339", "2026-02-29T04:05:06Z"),
            ("%Y-%m-%d %H:%M:%S %Z", "2026-02-03 04:05:06 CET"),
            ("syslog", "Foo  3 05:05:06"),
            ("unix", "x"),
            ("unix", "1.x"),
            ("clf", "03/Feb/2026"),
        ] {
            assert_eq!(read(format, bad), None, "{bad}");
        }
        assert!(TimeFormat::parse("iso").is_err() && TimeFormat::parse("%q").is_err());
    }

    #[test]
    fn times_are_as_exact_as_they_are_written() {
        for (format, text, resolution) in [
            ("rfc3339", "2026-02-03T04:05:06Z", SECOND),
            ("rfc3339", "2026-02-03T04:05:06.25Z", SECOND / 100),
            ("syslog", "Feb  3 05:05:06", SECOND),
            ("unix", "1770091506", SECOND),
            ("unix", "1770091506.1", SECOND / 10),
            ("unix-us", "1770091506000000", 1000),
            ("%Y-%m-%d %H:%M", "2026-02-03 05:05", MINUTE),
            ("%Y-%m-%d %H", "2026-02-03 05", HOUR),
        ] {
            let format = TimeFormat::parse(format).unwrap();
            let read = format.read(text, &mut Years::default()).unwrap();
            assert_eq!(read.resolution, resolution, "{text}");
        }
        for (format, text, written) in [
            ("rfc3339", "2026-02-03T04:05:06Z", "1770091506"),
            ("rfc3339", "2026-02-03T04:05:06.250Z", "1770091506.250"),
            ("rfc3339", "1969-12-31T23:59:58.5Z", "-1.5"),
            ("unix-ns", "1770091506123456789", "1770091506.123456789"),
            ("%Y-%m-%d %H:%M", "2026-02-03 05:05", "\"2026-02-03T05:05Z\""),
            ("%Y-%m-%d %H", "2026-02-03 05", "\"2026-02-03T05Z\""),
            ("rfc3339", "2016-12-31T23:59:60Z", "1483228799.999999999"),
        ] {
            let (format, mut out) = (TimeFormat::parse(format).unwrap(), String::new());
            format.read(text, &mut Years::default()).unwrap().write(&mut out);
            assert_eq!(out, written, "{text}");
        }
        assert!(TimeFormat::parse("%Y-%m-%d").is_err());
    }

    #[test]
    fn years_count_up_over_new_year_and_none_is_in_the_future() {
        let read = |today, year, lines: &[&str]| {
            let mut format = TimeFormat::parse("syslog").unwrap().in_year(year);
            format.assume_today(today);
            let mut years = Years::default();
            let each =
                lines.iter().map(|line| format.read(line, &mut years).unwrap().nanoseconds / DAY / 365);
            each.map(|years| 1970 + years).collect::<Vec<_>>()
        };
        let over =
            ["Dec 31 23:59:59", "Jan  1 00:00:01", "Dec 31 23:59:58", "Jul  1 00:00:00", "Dec 30 00:00:00"];
        // (A day is counted as a 365th of a year, so that December of a year is the next one after 14 leap years.)
        let at = |year: i64| [year + 1, year + 1, year + 1, year + 1, year + 2];
        assert_eq!(read((2026, 1, 3), None, &over), at(2025));
        assert_eq!(read((2026, 11, 19), None, &over), at(2025));
        assert_eq!(read((2026, 12, 31), None, &over), at(2026));
        assert_eq!(read((2026, 11, 19), Some(2019), &over), at(2019));
        // Clocks differ by a day.
        assert_eq!(read((2026, 2, 28), None, &["Mar  1 00:00:00"]), [2026]);
        assert_eq!(read((2026, 2, 27), None, &["Mar  5 00:00:00"]), [2025]);
    }
}
