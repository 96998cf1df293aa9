//! Times as logs write them, and the years that they do not write.

use super::*;

/// 2026-02-03T04:05:06Z.
const THEN: i64 = 1_770_091_506 * SECOND;

fn read(format: &str, text: &str) -> Option<i64> {
    let format = TimeFormat::parse(format).unwrap().in_zone(Some("+01:00")).unwrap();
    Calendar::new(THEN).read(&format, text).map(|time| time.nanoseconds)
}

#[test]
fn times_are_read_as_they_are_written() {
    assert_eq!(read("rfc3339", "2026-02-03T04:05:06.5Z"), Some(THEN + SECOND / 2));
    assert_eq!(read("syslog", "Feb  3 05:05:06"), Some(THEN));
    assert_eq!(read("syslog", "2026-02-03T04:05:06Z"), Some(THEN));
    assert_eq!(read("clf", "03/Feb/2026:04:05:06 +0000"), Some(THEN));
    assert_eq!(read("%Y-%m-%d %H:%M:%S%f", "2026-02-03 05:05:06,250"), Some(THEN + SECOND / 4));
    assert_eq!(read("%Y-%m-%d %H:%M:%S %Z", "2026-02-03 04:05:06 UTC"), Some(THEN));
    assert_eq!(read("unix", "1770091506.123456"), Some(THEN + 123_456_000));
    assert_eq!(read("unix-ms", "1770091506123"), Some(THEN + 123_000_000));
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

/// The years of these times of one log, which is read on the given day.
fn years(now: &str, times: &[&str]) -> Vec<i64> {
    let day = TimeFormat::parse("%Y-%m-%d %H").unwrap();
    let format = TimeFormat::parse("syslog").unwrap();
    let noon = Calendar::new(0).read(&day, &format!("{now} 12")).unwrap().nanoseconds;
    let mut calendar = Calendar::new(noon);
    let year = |text: &&str| {
        let time = calendar.read(&format, &format!("{text} 12:00:00")).unwrap().nanoseconds;
        let text = Timestamp::from_nanosecond(i128::from(time)).unwrap().to_string();
        text[..4].parse::<i64>().unwrap()
    };
    times.iter().map(year).collect()
}

#[test]
fn a_year_that_is_not_written_is_that_in_which_the_log_goes_on() {
    // Nothing is from the future; clocks may differ by a day.
    assert_eq!(years("2026-11-19", &["Feb  3", "Nov 19"]), [2026, 2026]);
    assert_eq!(years("2026-11-19", &["Nov 20", "Nov 21"]), [2026, 2026]);
    assert_eq!(years("2026-11-19", &["Nov 22", "Jan  5", "Nov 19"]), [2025, 2026, 2026]);
    // The year ends while the log is written, and lines of New Year's Eve come in any order.
    assert_eq!(years("2027-01-02", &["Dec 31", "Jan  1", "Dec 31", "Jan  2"]), [2026, 2027, 2026, 2027]);
    // A log that is followed goes on after the day on which reading began.
    assert_eq!(years("2026-12-30", &["Dec 30", "Dec 31", "Jan  1", "Jan  9"]), [2026, 2026, 2027, 2027]);
    // More than half a year passes without a line.
    assert_eq!(years("2026-11-19", &["Jan  5", "Oct  3"]), [2026, 2026]);
    // One wrong line does not shift what follows it.
    assert_eq!(years("2026-11-19", &["Jun  5", "Oct 31", "Jun  5", "Jun  6"]), [2026, 2026, 2026, 2026]);
    assert_eq!(years("2026-06-05", &["Jun  4", "Dec 31", "Jun  5"]), [2026, 2025, 2026]);
    // Leap days are in leap years.
    assert_eq!(years("2026-11-19", &["Feb 29", "Mar  1"]), [2024, 2024]);
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
        let read = Calendar::new(THEN).read(&format, text).unwrap();
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
        Calendar::new(THEN).read(&format, text).unwrap().write(&mut out);
        assert_eq!(out, written, "{text}");
    }
    assert!(TimeFormat::parse("%Y-%m-%d").is_err());
}

#[test]
fn a_year_that_is_said_is_that_of_the_first_line() {
    let format = TimeFormat::parse("syslog").unwrap().in_year(Some(2019));
    let mut calendar = Calendar::new(THEN);
    let mut year = |text: &str| {
        let time = calendar.read(&format, text).unwrap().nanoseconds;
        Timestamp::from_nanosecond(i128::from(time)).unwrap().to_string()[..4].to_owned()
    };
    let lines =
        ["Dec 31 23:59:59", "Jan  1 00:00:01", "Dec 31 23:59:58", "Jul  1 00:00:00", "Dec 30 00:00:00"];
    assert_eq!(lines.map(&mut year), ["2019", "2020", "2019", "2020", "2020"]);
    assert_eq!(calendar.assumed, (false, true));
}
