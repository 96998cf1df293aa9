//! Times as logs write them.

use Directive::{Blank, Day, Fraction, Hour, Minute, Month, MonthName, Second, Text, Year, Zone, ZoneName};
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
    assumed_year: i64,
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
            written if written.contains('%') => Kind::Written(directives(written)?),
            other => {
                return Err(SourceError::new(format!(
                    "`{other}` is no format of times: rfc3339, unix, unix-ms, unix-us, unix-ns, syslog, clf, or directives such as `%d/%b/%Y:%H:%M:%S %z`"
                )));
            }
        };
        Ok(Self { kind, zone: 0, year: None, assumed_year: 1970 })
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

    pub(crate) fn assume_year(&mut self, year: i64) {
        self.assumed_year = year;
    }

    /// Nanoseconds since 1970.
    #[must_use]
    pub fn read(&self, text: &str) -> Option<i64> {
        match &self.kind {
            Kind::Rfc3339 => self.written(RFC3339, text),
            Kind::Unix(scale) => unix(text, *scale),
            Kind::Written(directives) => self.written(directives, text),
            Kind::Syslog if text.starts_with(|c: char| c.is_ascii_digit()) => self.written(RFC3339, text),
            Kind::Syslog => self.written(SYSLOG, text),
        }
    }

    fn written(&self, directives: &[Directive], text: &str) -> Option<i64> {
        let bytes = text.as_bytes();
        let mut at = 0;
        let (mut year, mut month, mut day) = (self.year.unwrap_or(self.assumed_year), 1, 1);
        let (mut hour, mut minute, mut second, mut nanoseconds) = (0, 0, 0, 0);
        let mut zone = self.zone;
        for directive in directives {
            match directive {
                Year => year = digits(bytes, &mut at, 4, 4)?,
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
                Hour => hour = digits(bytes, &mut at, 2, 2)?,
                Minute => minute = digits(bytes, &mut at, 2, 2)?,
                Second => second = digits(bytes, &mut at, 2, 2)?,
                Fraction => nanoseconds = fraction(bytes, &mut at)?,
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
        let date = Date::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?).ok()?;
        let midnight = Offset::UTC.to_timestamp(date.at(0, 0, 0, 0)).ok()?.as_second();
        let seconds = midnight + hour * 3600 + minute * 60 + second - zone;
        seconds.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
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
    Some(sign * (hours * 3600 + minutes * 60))
}

/// `UTC` or `GMT`, in seconds. Other abbreviations mean different zones in different places, and none is guessed.
fn named_zone(bytes: &[u8], at: &mut usize) -> Option<i64> {
    matches!(bytes.get(*at..*at + 3)?, b"UTC" | b"GMT").then_some(())?;
    *at += 3;
    Some(0)
}

/// A number with up to nine decimals, exactly.
fn unix(text: &str, scale: i64) -> Option<i64> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    let whole: i64 = whole.parse().ok()?;
    let mut value = whole.checked_mul(scale)?;
    let mut unit = scale;
    for digit in rest.bytes() {
        unit /= 10;
        value = value.checked_add(i64::from(digit.is_ascii_digit().then(|| digit - b'0')?) * unit)?;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(format: &str, text: &str) -> Option<i64> {
        let mut format = TimeFormat::parse(format).unwrap().in_zone(Some("+01:00")).unwrap();
        format.assume_year(2026);
        format.read(text)
    }

    #[test]
    fn times_are_read_as_they_are_written() {
        const SECOND: i64 = 1_000_000_000;
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
}
