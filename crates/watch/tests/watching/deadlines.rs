//! Deadlines of protocols by the times of events.

use std::fmt::Write as _;
use std::time::Duration;

use referee_watch::Options;

use crate::support::{monitor, text};

const CALLS: &str = "protocol Calls(role client, role server) {
    rec Next {
        choice at client {
            Request(id: int) from client to server;
            Reply(id: int) from server to client within 5s of Request;
            continue Next;
        } or {
            Bye() from client to server;
        }
    }
}";

fn event(session: &str, from: &str, label: &str, time: &str) -> String {
    let payload = if label == "Bye" { "{}" } else { "{\"id\":1}" };
    format!(
        "{{\"session\":\"{session}\",\"from\":\"{from}\",\"label\":\"{label}\",\"payload\":{payload},\"time\":{time}}}\n"
    )
}

fn request(session: &str, time: &str) -> String {
    event(session, "client", "Request", time)
}

fn reply(session: &str, time: &str) -> String {
    event(session, "server", "Reply", time)
}

#[test]
fn a_reply_that_does_not_come_is_told_when_the_watermark_passes() {
    let monitor = monitor(CALLS, "client");
    let late = "log:1 session a event 0 deadline by server: no `Reply` came within 5 s of `Request`";
    for (log, options, expected, pending) in [
        // In time, to the last moment.
        (request("a", "1.0") + &reply("a", "6.0"), Options::default(), &[][..], 0),
        // Another session moves the watermark, and the late reply is not told again.
        (request("a", "1.0") + &request("b", "6.2") + &reply("a", "6.3"), Options::default(), &[late], 1),
        (request("a", "1.0") + &reply("a", "9.0"), Options::default(), &[late], 0),
        // The end of the input is not the end of time.
        (request("a", "1.0"), Options::default(), &[], 1),
        (request("a", "1.0"), Options { until: Some(6_000_000_000), ..Options::default() }, &[], 1),
        (request("a", "1.0"), Options { until: Some(7_000_000_000), ..Options::default() }, &[late], 0),
        // The tolerance counts twice for what was handed over.
        (
            request("a", "1.0") + &reply("a", "9.0"),
            Options { tolerance: Duration::from_secs(2), ..Options::default() },
            &[],
            0,
        ),
        // It is one violation for each obligation, and the session goes on.
        (
            request("a", "1.0") + &reply("a", "9.0") + &request("a", "10.0") + &reply("a", "20.0"),
            Options::default(),
            &[late, "log:3 session a event 2 deadline by server: no `Reply` came within 5 s of `Request`"],
            0,
        ),
    ] {
        let (told, summary) = text(&monitor, &log, options);
        assert_eq!(told, expected, "{log}");
        assert_eq!(summary.pending, pending, "{log}");
        assert_eq!(summary.counts.violated, expected.len() as u64);
    }
}

#[test]
fn pipelined_requests_have_their_turn() {
    // Each answer within two seconds of the one before, the last ten seconds after its request: nobody is late.
    let text_of = "protocol P(role client, role server) {
        A() from client to server; B() from client to server;
        X() from server to client within 3s of A; Y() from server to client within 3s; }";
    let monitor = monitor(text_of, "server");
    let event = |from: &str, label: &str, time: u32| {
        format!("{{\"session\":\"s\",\"from\":\"{from}\",\"label\":\"{label}\",\"time\":{time}}}\n")
    };
    let log = event("client", "A", 0)
        + &event("client", "B", 10)
        + &event("server", "X", 13)
        + &event("server", "Y", 16);
    assert_eq!(text(&monitor, &log, Options::default()).0, [""; 0]);
}

#[test]
fn the_first_message_is_in_time() {
    let monitor = monitor(
        "protocol P(role client, role server) { A() from client to server after 5s within 6s; }",
        "client",
    );
    let log = "{\"session\":\"s\",\"from\":\"client\",\"label\":\"A\",\"time\":1}\n";
    assert_eq!(text(&monitor, log, Options::default()).0, [""; 0]);
}

#[test]
fn whole_seconds_blame_nobody_who_may_be_in_time() {
    let monitor = monitor(
        "protocol P(role client, role server) {
            A() from client to server; B() from server to client within 1500ms; C() from client to server after 1500ms; }",
        "client",
    );
    let event = |from: &str, label: &str, time: u32| {
        format!("{{\"session\":\"s\",\"from\":\"{from}\",\"label\":\"{label}\",\"time\":{time}}}\n")
    };
    let log = event("client", "A", 1) + &event("server", "B", 3) + &event("client", "C", 4);
    let (told, summary) = text(&monitor, &log, Options::default());
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0].starts_with("log:2 session s event 1 deadline by ?: `B` came about 2 s after `A`"),
        "{told:?}"
    );
    assert!(
        told[1].starts_with("log:3 session s event 2 early by ?: `C` came about 1 s after `B`"),
        "{told:?}"
    );
    assert_eq!((summary.counts.violated, summary.counts.uncertain), (0, 2));
    let log = event("client", "A", 1) + &event("server", "B", 4) + &event("client", "C", 4);
    let (told, summary) = text(&monitor, &log, Options::default());
    assert_eq!(summary.counts.violated, 2, "{told:?}");
}

#[test]
fn what_has_no_time_or_comes_too_late_is_not_judged_by_time() {
    let monitor = monitor(CALLS, "client");
    let without = "{\"session\":\"a\",\"from\":\"client\",\"label\":\"Request\",\"payload\":{\"id\":1}}\n";
    let (told, summary) = text(
        &monitor,
        &(without.to_owned() + &request("b", "1.0") + &request("c", "20.0")),
        Options::default(),
    );
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0].contains("its time cannot be read") && told[1].contains("session b event 0 deadline"),
        "{told:?}"
    );
    assert_eq!(summary.counts.malformed, 1);
    let out_of_order = request("a", "10.0") + &request("b", "1.0") + &request("c", "30.0");
    let (told, _) = text(&monitor, &out_of_order, Options::default());
    assert!(told[0].contains("too late for its time to be judged"), "{told:?}");
    assert!(told[1..].iter().all(|told| told.contains("session a")), "{told:?}");
    let reordered = Options { reorder: Some(Duration::from_secs(60)), ..Options::default() };
    let (told, _) = text(&monitor, &out_of_order, reordered);
    assert_eq!(told.len(), 2, "{told:?}");
}

#[test]
fn threads_and_chunks_change_nothing() {
    let monitor = monitor(CALLS, "server");
    let mut log = String::new();
    let mut seed = 7_u64;
    let mut random = move |bound: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % bound
    };
    // When each of the sessions asked, if it waits; and how many answers came more than five seconds later.
    let mut asked = vec![None; 40];
    let (mut time, mut late) = (0_u64, 0);
    for _ in 0..5_000 {
        time += random(400);
        let at = random(40);
        let session = format!("s{at}");
        let now = format!("{}.{:03}", time / 1000, time % 1000);
        match asked[at as usize].take() {
            None => {
                asked[at as usize] = Some(time);
                log += &request(&session, &now);
            }
            Some(before) => {
                late += u64::from(time - before > 5_000);
                let _ = write!(log, "{}", reply(&session, &now));
            }
        }
    }
    let waiting = asked.iter().flatten().filter(|before| time - **before > 5_000).count() as u64;
    let (expected, sums) = text(&monitor, &log, Options { all: true, ..Options::default() });
    assert_eq!(sums.counts.violated, late + waiting);
    assert!(late > 500 && expected.len() as u64 == late + waiting);
    for threads in 1..=4 {
        for chunk in [300, 1 << 16] {
            let (told, found) =
                text(&monitor, &log, Options { all: true, threads, chunk, ..Options::default() });
            assert!(told == expected, "{threads} threads, chunks of {chunk}");
            assert_eq!((found.counts, found.pending), (sums.counts, sums.pending));
        }
    }
}
