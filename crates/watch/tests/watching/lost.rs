//! Events that could not be read, sessions that began before the log: nothing is hidden, and nobody is blamed for how
//! it was read (docs/uncertainty.md).

use std::io::Write as _;

use referee_watch::{Input, Options, SessionEnds};

use crate::support::{AUTH, bytes, monitor, run, text};

const PING: &str = "protocol P(role pinger, role ponger) {
    rec X { Ping() from pinger to ponger; Pong() from ponger to pinger; continue X; }
}";

/// Three steps, then the end.
const ORDER: &str = "protocol P(role client, role server) {
    Login() from client to server; Welcome() from server to client; Buy() from client to server;
}";

fn event(session: &str, label: &str) -> String {
    let from = if ["Pong", "Welcome"].contains(&label) { ["ponger", "server"] } else { ["pinger", "client"] };
    let from = if ["Ping", "Pong"].contains(&label) { from[0] } else { from[1] };
    format!("{{\"session\":\"{session}\",\"from\":\"{from}\",\"label\":\"{label}\"}}\n")
}

/// The label with a byte of Latin-1 in it.
fn spoiled(session: &str, label: &str) -> Vec<u8> {
    let line = event(session, label);
    let at = line.find(label).unwrap() + 1;
    let mut line = line.into_bytes();
    line.insert(at, 0xe9);
    line
}

#[test]
fn what_nobody_reads_hides_no_event() {
    let monitor = monitor(PING, "pinger");
    for junk in [&b"\"x\xff\""[..], b"\"\\xff\"", b"NaN", b"{\"a\":1,\"a\":[[[\"\\q\"]]]}"] {
        let mut line = b"{\"agent\":".to_vec();
        line.extend(junk);
        line.extend(b",\"session\":\"1\",\"from\":\"ponger\",\"label\":\"Pong\"}\n");
        let (told, sums) = bytes(&monitor, &line, Options::default());
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].starts_with("log:1 session 1 event 0 order by ponger"), "{told:?}");
        assert_eq!((sums.counts.malformed, sums.counts.events), (0, 1));
    }
}

#[test]
fn a_lost_answer_blames_nobody_and_blame_returns() {
    let monitor = monitor(PING, "pinger");
    let mut log = event("1", "Ping").into_bytes();
    log.extend(spoiled("1", "Pong"));
    log.extend(event("1", "Ping").bytes());
    let (told, sums) = bytes(&monitor, &log, Options::default());
    assert_eq!(told, ["log:2 malformed: not UTF-8 where it is read"]);
    assert_eq!((sums.counts.violated, sums.counts.malformed, sums.counts.lost_anywhere), (0, 1, 0));
    assert!(sums.counts.is_incomplete());
    // One state is left: who is wrong now is blamed.
    log.extend(event("1", "Ping").bytes());
    let (told, _) = bytes(&monitor, &log, Options::default());
    assert!(told[1].starts_with("log:4 session 1 event 2 order by pinger"), "{told:?}");
}

#[test]
fn what_no_state_explains_is_a_violation_without_blame() {
    let monitor = monitor(ORDER, "client");
    let mut log = event("1", "Login").into_bytes();
    log.extend(spoiled("1", "Welcome"));
    log.extend(event("1", "Login").bytes());
    let (told, sums) = bytes(&monitor, &log, Options::default());
    assert!(
        told[1].starts_with("log:3 session 1 event 1 order by ?: `Login` from client is possible in none"),
        "{told:?}"
    );
    assert_eq!(sums.counts.violated, 1);
}

/// A line whose session cannot be told explains one gap, in one session, and no more.
#[test]
fn one_bad_line_does_not_disarm_the_log() {
    let monitor = monitor(ORDER, "client");
    let bad = "\u{1}what was this?\n";
    let gap = |session: &str| event(session, "Welcome");
    let (told, sums) = text(&monitor, &format!("{bad}{}", gap("1")), Options::default());
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((sums.counts.excused, sums.counts.violated), (1, 0));
    let (told, sums) = text(&monitor, &format!("{bad}{}{}", gap("1"), gap("2")), Options::default());
    assert!(told[1].starts_with("log:3 session 2 event 0 order by ?"), "{told:?}");
    assert_eq!((sums.counts.excused, sums.counts.violated), (1, 1));
    // It explains nothing that was before it, and nothing that one event cannot explain.
    let (told, _) = text(&monitor, &format!("{}{bad}", gap("1")), Options::default());
    assert!(told[0].starts_with("log:1 session 1 event 0 order by server"), "{told:?}");
    let (told, _) = text(&monitor, &format!("{bad}{}", event("1", "Buy")), Options::default());
    assert!(told[1].starts_with("log:2 session 1 event 0 order by ?"), "{told:?}");
    // Sessions that need nothing are judged as ever, and blamed.
    let log = format!("{bad}{}{}", event("3", "Login"), event("3", "Login"));
    let (told, _) = text(&monitor, &log, Options::default());
    assert!(told[1].starts_with("log:3 session 3 event 1 order by client"), "{told:?}");
}

#[test]
fn the_number_of_threads_decides_nothing_about_gaps() {
    let monitor = monitor(ORDER, "client");
    let mut log = String::new();
    for n in 0..400 {
        let key = n.to_string();
        log += &match n % 5 {
            0 => "junk\n".to_owned(),
            1 | 2 => event(&key, "Welcome") + &event(&key, "Buy"),
            3 => event(&key, "Login") + &event(&key, "Buy"),
            _ => event(&key, "Login") + &event(&key, "Welcome"),
        };
    }
    let (one, sums) = text(&monitor, &log, Options::default());
    assert_eq!((sums.counts.excused, sums.counts.violated), (80, 160));
    for (threads, chunk) in [(2, 100), (4, 1000), (3, 1 << 20)] {
        let options = Options { threads, chunk, ..Options::default() };
        let (more, other) = text(&monitor, &log, options);
        assert_eq!((&more, other.counts), (&one, sums.counts));
    }
}

#[test]
fn lines_that_have_nothing_of_an_event_explain_nothing() {
    let monitor = monitor(ORDER, "client");
    let log = format!("{{\"level\":\"info\"}}\n{}", event("1", "Welcome"));
    let (told, sums) = text(&monitor, &log, Options::default());
    assert!(told[1].starts_with("log:2 session 1 event 0 order by server"), "{told:?}");
    assert_eq!(sums.counts.lost_anywhere, 0);
}

#[test]
fn values_that_were_lost_are_unknown_and_known_again() {
    let monitor = monitor(AUTH, "client");
    let auth = "{\"from\":\"client\",\"label\":\"Auth\",\"payload\":[\"bob\",\"x\"]}\n";
    let succ = |tok: &str| format!("{{\"from\":\"server\",\"label\":\"Succ\",\"payload\":[\"{tok}\"]}}\n");
    let get =
        |tok: &str| format!("{{\"from\":\"client\",\"label\":\"Get\",\"payload\":[\"r\",\"{tok}\"]}}\n");
    let lost = "{\"from\":\"server\",\"label\":\"Succ\",\"payload\":[\"\\ud800\"]}\n";
    let (told, _) = text(&monitor, &[auth, &succ("t"), &get("u")].concat(), Options::default());
    assert!(told[0].contains("assertion by client"), "{told:?}");
    let (told, sums) = text(&monitor, &[auth, lost, &get("u")].concat(), Options::default());
    assert_eq!((told.len(), sums.counts.violated), (1, 0), "{told:?}");
}

#[test]
fn a_session_may_have_begun_before_the_log() {
    let monitor = monitor(ORDER, "client");
    let joined = || Options { join: true, ..Options::default() };
    for whole in [["Login", "Welcome", "Buy"]] {
        for cut in 0..3 {
            let log: String = whole[cut..].iter().map(|label| event("1", label)).collect();
            assert!(text(&monitor, &log, joined()).0.is_empty(), "{log}");
        }
    }
    // What every state excludes is found, but who was wrong before is not known.
    let log = event("1", "Welcome") + &event("1", "Welcome");
    let (told, _) = text(&monitor, &log, joined());
    assert!(told[0].starts_with("log:2 session 1 event 1 order by ?"), "{told:?}");
    // An answer to a request before the log, and the next request: nobody is blamed.
    let log = event("1", "Buy") + &event("1", "Login");
    let (told, _) = text(&monitor, &log, joined());
    assert!(told[0].contains("after-end by ?"), "{told:?}");
    // Who was seen to begin is judged as ever.
    let log = event("1", "Login") + &event("1", "Login");
    let (told, _) = text(&monitor, &log, joined());
    assert!(told[0].starts_with("log:2 session 1 event 1 order by client"), "{told:?}");
}

#[test]
fn a_gzip_that_is_cut_gives_what_can_be_read() {
    let monitor = monitor(PING, "pinger");
    let log: String = (0..5000).map(|n| event(&n.to_string(), "Ping")).collect();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(log.as_bytes()).unwrap();
    let whole = encoder.finish().unwrap();
    let cut = whole[..whole.len() * 2 / 3].to_vec();
    let input = vec![Input::stream("log", std::io::Cursor::new(cut))];
    let (told, sums) = run(&monitor, input, Options::default()).unwrap();
    assert!(sums.counts.events > 1000, "{:?}", sums.counts);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("the rest of the input cannot be decompressed"), "{told:?}");
    assert!(sums.counts.is_incomplete());
}

#[test]
fn with_several_peers_a_gap_is_followed_as_long_as_nothing_overtakes() {
    let monitor = monitor(crate::support::TWO_PEERS, "a");
    let line = |from: &str, label: &str| {
        format!(
            "{{\"session\":\"1\",\"from\":\"{from}\",\"to\":\"a\",\"label\":\"{label}\",\"payload\":[1]}}\n"
        )
    };
    let lost = "{\"session\":\"1\",\"from\":\"b\",\"label\":[]}\n";
    let (told, sums) =
        text(&monitor, &[lost, &line("c", "Two"), &line("b", "One")].concat(), Options::default());
    assert_eq!((told.len(), sums.counts.violated), (1, 0), "{told:?}");
}

#[test]
fn keys_that_are_used_again_begin_another_session() {
    let monitor = monitor(ORDER, "client");
    let at = |label: &str, time: u32| event("7", label).replace('}', &format!(",\"time\":{time}}}"));
    let log = at("Login", 0)
        + &at("Welcome", 1)
        + &at("Login", 100)
        + &at("Welcome", 101)
        + &at("Buy", 102)
        + &at("Login", 103);
    let told = |session_ends: SessionEnds| {
        let (told, sums) = text(&monitor, &log, Options { session_ends, ..Options::default() });
        (told.iter().map(|told| told.split_once(" session").unwrap().0.to_owned()).collect::<Vec<_>>(), sums)
    };
    assert_eq!(told(SessionEnds::default()).0, ["log:3"]);
    let idle = Some(std::time::Duration::from_secs(50));
    assert_eq!(told(SessionEnds { idle, labels: Vec::new() }).0, ["log:6"]);
    let labels = vec!["Buy".to_owned()];
    let (found, sums) = told(SessionEnds { idle, labels: labels.clone() });
    assert_eq!((found.len(), sums.counts.sessions, sums.open), (0, 3, 1));
    // However few are remembered, and whoever is dropped meanwhile.
    for (ended_sessions, idle_sessions) in [(0, None), (1, Some(1)), (100, Some(2))] {
        let session_ends = SessionEnds { idle, labels: labels.clone() };
        let options = Options { session_ends, ended_sessions, idle_sessions, ..Options::default() };
        let many: String = (0..50).map(|n| log.replace("\"7\"", &format!("\"{}\"", n % 5))).collect();
        let (told, _) = text(&monitor, &many, options);
        assert!(told.iter().all(|told| !told.contains("after-end")), "{told:?}");
    }
}

/// Who is seen to begin is who begins with what only the beginning explains: a state that was worked out from an unsolicited answer is
/// no beginning, and the requester that goes on from there is not to blame for it.
#[test]
fn joining_after_an_unsolicited_answer_blames_nobody() {
    let monitor = monitor(
        "protocol R(role a, role b) {
            rec L {
                choice at a {
                    A() from a to b;
                    choice at b { X() from b to a; continue L; }
                    or { Y() from b to a;
                        choice at a { C() from a to b; Z() from b to a; continue L; }
                        or { A() from a to b; B() from a to b; W() from b to a; continue L; }
                    }
                } or { D() from a to b; }
            }
        }",
        "a",
    );
    let line = |label: &str| {
        let (from, to) = if ["X", "Y", "Z", "W"].contains(&label) { ("b", "a") } else { ("a", "b") };
        format!("{{\"session\":\"1\",\"from\":\"{from}\",\"to\":\"{to}\",\"label\":\"{label}\"}}\n")
    };
    let log = |labels: &[&str]| labels.iter().map(|label| line(label)).collect::<String>();
    // Of the whole log, b's second answer is wrong; of what follows it, nobody can tell.
    let (told, _) = text(&monitor, &log(&["A", "Y", "X", "A", "B", "W", "D"]), Options::default());
    assert!(told[0].contains("event 2 order by b"), "{told:?}");
    let joined = || Options { join: true, ..Options::default() };
    let (told, _) = text(&monitor, &log(&["X", "A", "B", "W", "D"]), joined());
    assert!(told[0].contains("event 2 order by ?"), "{told:?}");
    // Whose first event only the beginning explains began here, and is blamed.
    let (told, _) = text(&monitor, &log(&["D", "A"]), joined());
    assert!(told[0].contains("event 1 after-end by a"), "{told:?}");
    // A first event that was lost is no beginning.
    let (told, _) = text(&monitor, &(line("A").replace("\"A\"", "[]") + &log(&["D", "A"])), joined());
    assert!(told[1].contains("by ?"), "{told:?}");
}
