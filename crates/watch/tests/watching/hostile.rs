//! Lines that nobody sane would write: each is an event, a violation or malformed, never a crash.

use referee_watch::Options;

use crate::support::{AUTH, bytes, monitor, text};

const NUMBERS: &str = "protocol P(role a, role b) { rec X { N(n: int) from a to b; continue X; } }";

fn one(payload: &str) -> String {
    let monitor = monitor(NUMBERS, "a");
    let log = format!("{{\"from\":\"a\",\"to\":\"b\",\"label\":\"N\",\"payload\":{payload}}}");
    let (told, _) = text(&monitor, &log, Options::default());
    told.first().map_or_else(|| "fine".to_owned(), |told| told.split_once(' ').unwrap().1.to_owned())
}

#[test]
fn numbers_are_ints_only_if_they_fit() {
    for fine in ["{\"n\":1}", "[1]", "1", "{\"n\":-9223372036854775808}", "{ \"n\" : 9223372036854775807 }"] {
        assert_eq!(one(fine), "fine", "{fine}");
    }
    let wrong = [
        "{\"n\":9223372036854775808}",
        "{\"n\":-9223372036854775809}",
        "{\"n\":1.0}",
        "{\"n\":1e3}",
        "{\"n\":\"1\"}",
        "{\"n\":null}",
        "{\"n\":true}",
        "{\"n\":[1]}",
        "{}",
        "[]",
        "null",
        "{\"n\":1,\"m\":2}",
        "{\"n\":1,\"n\":1}",
        "{\"m\":1}",
        "[1,2]",
        "{\"n\":123456789012345678901234567890}",
    ];
    for wrong in wrong {
        assert!(one(wrong).contains("event 0 type by a"), "{wrong}: {}", one(wrong));
    }
    assert!(one("{\"n\":1e999}").contains("event 0 malformed by a"), "{}", one("{\"n\":1e999}"));
    for malformed in
        ["{\"n\":NaN}", "{\"n\":01}", "{\"n\":+1}", "{\"n\":}", "{\"n\":1", "{n:1}", "{\"n\":\"\\ud800\"}"]
    {
        assert!(one(malformed).starts_with("malformed: "), "{malformed}: {}", one(malformed));
    }
}

#[test]
fn nesting_is_no_way_to_exhaust_the_stack() {
    let nested = |depth: usize| format!("{{\"n\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    assert!(one(&nested(10)).contains("type by a"));
    assert!(one(&nested(100)).contains("by a"), "{}", one(&nested(100)));
    assert!(
        one(&nested(1_000_000)).starts_with("malformed: nested deeper"),
        "{}",
        &one(&nested(1_000_000))[..60]
    );
}

#[test]
fn keys_of_an_event_may_not_be_repeated() {
    let monitor = monitor(NUMBERS, "a");
    let log = r#"{"from":"a","from":"b","label":"N","payload":[1]}"#;
    let (told, _) = text(&monitor, log, Options::default());
    assert!(told[0].starts_with("log:1 malformed: a key of the event appears twice"), "{told:?}");
    let log = r#"{"x":1,"x":2,"from":"a","label":"N","payload":[1],"end":"b"}"#;
    assert!(text(&monitor, log, Options::default()).0.is_empty());
}

#[test]
fn names_may_be_escaped_and_sessions_may_be_anything_scalar() {
    let monitor = monitor(NUMBERS, "a");
    let log = r#"{"session":"\u0031","from":"\u0061","to":"b","label":"\u004e","payload":{"\u006e":1}}
{"session":1,"from":"a","label":"N","payload":[2]}
{"session":true,"from":"a","label":"N","payload":[2]}
{"session":null,"from":"a","label":"N","payload":[2]}
{"session":[1],"from":"a","label":"N","payload":[2]}
{"session":"s","from":7,"label":"N"}
{"session":"s","from":"a","label":null}
{"session":"s","from":"a","label":{}}
"#;
    let (told, sums) = text(&monitor, log, Options::default());
    assert_eq!(sums.counts.sessions, 4, "{told:?}");
    assert_eq!(sums.counts.events, 5, "{told:?}");
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(told[0].starts_with("log:5 malformed: its session is an object or array"), "{told:?}");
    assert!(told[1].starts_with("log:6 session s event 0 order by 7"), "{told:?}");
}

#[test]
fn session_keys_have_a_longest_length() {
    let monitor = monitor(NUMBERS, "a");
    let line = |n: usize| {
        format!("{{\"session\":\"{}\",\"from\":\"a\",\"label\":\"N\",\"payload\":[1]}}\n", "k".repeat(n))
    };
    let (told, sums) = text(&monitor, &[line(4096), line(4097)].concat(), Options::default());
    assert_eq!(told, ["log:2 malformed: its session key is longer than 4096 bytes"]);
    assert_eq!(sums.counts.sessions, 1);
}

#[test]
fn lines_have_a_longest_length() {
    let monitor = monitor(NUMBERS, "a");
    let event = "{\"from\":\"a\",\"label\":\"N\",\"payload\":[1]}\n";
    let long = |n: usize| {
        format!("{{\"from\":\"a\",\"label\":\"N\",\"payload\":[1],\"x\":\"{}\"}}\n", "y".repeat(n))
    };
    let endless = "z".repeat(5000);
    let log = [event, &long(100), event, &long(5000), event, &endless].concat();
    for (threads, chunk) in [(1, 64), (2, 1000), (1, 1 << 20)] {
        let options = Options { max_line: 1000, threads, chunk, ..Options::default() };
        let (told, sums) = text(&monitor, &log, options);
        assert_eq!(
            told,
            ["log:4 malformed: longer than 1000 bytes", "log:6 malformed: longer than 1000 bytes"]
        );
        assert_eq!(sums.counts.events, 4);
    }
}

#[test]
fn what_is_not_utf8_is_malformed_and_the_rest_is_judged() {
    let monitor = monitor(AUTH, "client");
    let mut log = Vec::new();
    log.extend(b"{\"from\":\"client\",\"label\":\"Auth\",\"payload\":[\"bob\",\"\xff\"]}\n");
    log.extend("{\"from\":\"client\",\"label\":\"Auth\",\"payload\":[\"bob\",\"ü\"]}\n".as_bytes());
    log.extend(b"\x80\n\n{\"from\":\"server\",\"label\":\"Succ\",\"payload\":[\"t\"]}\n\xf0\x9f");
    let (told, sums) = bytes(&monitor, &log, Options::default());
    assert_eq!(told, [1, 3, 6].map(|line| format!("log:{line} malformed: not UTF-8 where it is read")));
    assert_eq!((sums.counts.events, sums.counts.sessions), (2, 1));
}

/// Every line with one byte changed is an event, a violation or malformed, and the lines after it are judged.
#[test]
fn one_wrong_byte_spoils_one_line_at_most() {
    let monitor = monitor(NUMBERS, "a");
    let event = "{\"session\":\"s\",\"from\":\"a\",\"to\":\"b\",\"label\":\"N\",\"payload\":{\"n\":12},\"time\":1.5e3}";
    for at in 0..event.len() {
        for byte in [b'"', b'\\', b'{', b'}', b'[', b']', b',', b':', b'0', b'-', b'.', b' ', 0, 0x7f, 0xff] {
            let mut log = event.as_bytes().to_vec();
            log[at] = byte;
            log.extend(b"\n{\"session\":\"t\",\"from\":\"a\",\"label\":\"N\",\"payload\":[\"x\"]}\n");
            let (told, sums) = bytes(&monitor, &log, Options::default());
            assert!(told.len() <= 2, "{told:?}");
            assert!(
                told.last().unwrap().starts_with("log:2 session t event 0 type"),
                "{at} {byte}: {told:?}"
            );
            assert_eq!(sums.counts.events + sums.counts.malformed, 2);
        }
    }
}
