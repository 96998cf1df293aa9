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
    zone: Option<i64>,
    year: Option<i64>,
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
        Ok(Self { kind, zone: None, year: None })
    }

    pub(crate) fn in_zone(mut self, zone: Option<&str>) -> Result<Self, SourceError> {
        let Some(written) = zone else { return Ok(self) };
        let mut at = 0;
        let seconds = offset(written.as_bytes(), &mut at).filter(|_| at == written.len());
        if seconds.is_none() {
            return Err(SourceError::new(format!("`{written}` is no zone: write `Z` or `+01:00`")));
        }
        self.zone = seconds;
        Ok(self)
    }

    pub(crate) fn in_year(mut self, year: Option<i64>) -> Self {
        self.year = year;
        self
    }

    fn written(&self, directives: &[Directive], text: &str) -> Option<Moment> {
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
                Zone => zone = Some(offset(bytes, &mut at)?),
                ZoneName => zone = Some(named_zone(bytes, &mut at)?),
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
        let seconds = hour * 3600 + minute * 60 + second - zone.unwrap_or_default();
        Some(Moment { year, month, day, seconds, nanoseconds, resolution, has_zone: zone.is_some() })
    }
}

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

/// A time as it was written, perhaps without its year.
struct Moment {
    year: Option<i64>,
    month: i64,
    day: i64,
    /// After midnight in Greenwich.
    seconds: i64,
    nanoseconds: i64,
    resolution: i64,
    has_zone: bool,
}

impl Moment {
    /// Nanoseconds since 1970, if it was in `year`.
    fn in_year(&self, year: i64) -> Option<i64> {
        let date =
            Date::new(year.try_into().ok()?, self.month.try_into().ok()?, self.day.try_into().ok()?).ok()?;
        let midnight = Offset::UTC.to_timestamp(date.at(0, 0, 0, 0)).ok()?.as_second();
        (midnight + self.seconds).checked_mul(SECOND)?.checked_add(self.nanoseconds)
    }
}

const SECOND: i64 = 1_000_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// The mean year of the Gregorian calendar.
const YEAR: i64 = 31_556_952 * SECOND;
/// So much earlier than a line before it a line may be, without a year having passed in between.
const MAX_DISORDER: i64 = 30 * DAY;
/// The 29th of February comes at least this often.
const LEAP_YEARS: i64 = 8;

/// The times of one log. Those without a year are in the year in which the log goes on: not in the future at its beginning, and
/// then on and on.
#[derive(Debug)]
pub(crate) struct Calendar {
    now: i64,
    /// The latest time without a year so far.
    latest: Option<i64>,
    /// The time that was read last: mostly many lines have the same one.
    text: String,
    time: Option<Time>,
    /// Whether some times had no year, and whether some had no zone, so that these were taken for granted.
    pub(crate) assumed: (bool, bool),
}

impl Calendar {
    /// For a log that is read at `now`, in nanoseconds since 1970.
    pub(crate) fn new(now: i64) -> Self {
        Self { now, latest: None, text: String::new(), time: None, assumed: (false, false) }
    }

    /// When it was.
    pub(crate) fn read(&mut self, format: &TimeFormat, text: &str) -> Option<Time> {
        if self.text != text {
            self.text.clear();
            self.text.push_str(text);
            self.time = self.look(format, text);
        }
        self.time
    }

    fn look(&mut self, format: &TimeFormat, text: &str) -> Option<Time> {
        let moment = match &format.kind {
            Kind::Unix(scale) => return unix(text, *scale),
            Kind::Written(directives) => format.written(directives, text)?,
            Kind::Syslog if !text.starts_with(|c: char| c.is_ascii_digit()) => {
                format.written(SYSLOG, text)?
            }
            Kind::Rfc3339 | Kind::Syslog => format.written(RFC3339, text)?,
        };
        self.assumed.0 |= moment.year.is_none() && format.year.is_none();
        self.assumed.1 |= !moment.has_zone;
        let nanoseconds = match moment.year {
            Some(year) => moment.in_year(year)?,
            None => {
                let time = self.infer(&moment, format.year)?;
                self.latest = self.latest.max(Some(time));
                time
            }
        };
        Some(Time { nanoseconds, resolution: moment.resolution })
    }

    /// When a moment without a year was. A log goes on: the first year in which it does is right, unless that is in the future; what
    /// is neither is out of order, and near.
    fn infer(&self, moment: &Moment, first: Option<i64>) -> Option<i64> {
        let around = |time: i64| 1970 + time.div_euclid(YEAR);
        let is_past = |time: &i64| *time <= self.now.saturating_add(DAY);
        let Some(latest) = self.latest else {
            if let Some(year) = first {
                return moment.in_year(year);
            }
            let year = around(self.now) + 1;
            return (0..=LEAP_YEARS + 1).filter_map(|back| moment.in_year(year - back)).find(is_past);
        };
        let year = around(latest);
        let candidates = || (year - 1..=year + 1).filter_map(|year| moment.in_year(year));
        let goes_on = |time: &i64| *time >= latest.saturating_sub(MAX_DISORDER) && is_past(time);
        candidates().find(goes_on).or_else(|| candidates().min_by_key(|time| time.abs_diff(latest)))
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
mod tests;
