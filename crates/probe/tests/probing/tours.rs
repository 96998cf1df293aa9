//! What tours reach, with which values, and what they say of the rest.

use referee_probe::{Count, Heard, Options, Peer as _, Prober};
use referee_wire::Sender;

use crate::memory::{Server, options, player, probe};

pub(crate) const ADDER: &str = "protocol Adder(role client, role server) { rec MORE { choice at client {
    Add(left: int, right: int) from client to server where left >= 0 && right >= 0;
    Sum(total: int) from server to client where total == left + right; continue MORE; }
    or { Bye() from client to server; } } }";

const AUTH: &str = "protocol Auth(role client, role server) { rec LOGIN {
    Auth(uname: string, pwd: string) from client to server where uname.matches(\"^[a-z]+[0-9]{2}$\") && pwd.size() >= 3;
    choice at server { Succ(tok: string) from server to client; rec SESSION { choice at client {
        Get(resource: string, reqTok: string) from client to server where reqTok == tok;
        choice at server { Res(content: string) from server to client; continue SESSION; }
        or { Timeout() from server to client; continue LOGIN; } }
      or { Rvk(rvkTok: string) from client to server where rvkTok == tok; } } }
    or { Fail(code: int) from server to client where code > 0; continue LOGIN; } } }";

fn whole(count: Count) -> bool {
    count.covered == count.total && count.total > 0
}

#[test]
fn everything_is_covered_where_the_peer_does_everything() {
    for text in [ADDER, AUTH] {
        let report = probe(text, Server::perfect(text, ""), options());
        assert!(report.finding.is_none() && report.is_conclusive(), "{report}");
        assert!(whole(report.states) && whole(report.transitions) && whole(report.branches), "{report}");
        assert!(report.uncovered.is_empty(), "{report}");
        assert!(report.timings.iter().all(|timing| timing.count > 0));
    }
}

#[test]
fn what_the_peer_never_chooses_is_said_with_what_lies_behind_it() {
    let server = Server::perfect(AUTH, "[weights]\nSucc = 0");
    let report = probe(AUTH, server, options());
    assert!(report.finding.is_none() && report.is_conclusive(), "{report}");
    let reason = |label: &str| {
        let found = report.uncovered.iter().find(|missing| missing.message.contains(label));
        found.map(|missing| missing.reason.clone()).unwrap_or_default()
    };
    assert!(reason("Succ").starts_with("server did not choose it in"), "{report}");
    assert!(reason("Get").contains("was not reached: server: Succ(tok: string) was not taken"), "{report}");
    assert_eq!(report.states.covered, 2, "{report}");
}

#[test]
fn an_assertion_that_nothing_fulfils_is_the_reason() {
    let text = "protocol P(role client, role server) { choice at client {
        A(x: int) from client to server where x > 5 && x < 3; } or { B() from client to server; } }";
    let report = probe(text, Server::perfect(text, ""), options());
    assert_eq!(report.transitions, Count { covered: 1, total: 2 });
    assert!(report.uncovered[0].reason.contains("`x > 5 && x < 3`"), "{report}");
}

#[test]
fn values_are_found_for_assertions() {
    for assertion in [
        "x == 77",
        "x > 1000000 && x % 2 == 0",
        "s == \"exactly\"",
        "s.startsWith(\"ab\") && s.size() == 2",
        "s.matches(\"^[A-Z]{3}-[0-9]+$\") && x == s.size()",
        "xs.size() == 2 && xs[0] < xs[1]",
        "x in [7, 8, 9] && !b",
        "p.a == x + 1 && p.b",
        "f > 2.5 && f < 3.5",
        "f * 2.0 > 9.5 && f < 5.0",
        "x * 3 + 4 == 337",
        "s.size() > 3",
        "s.size() == 17 && s.startsWith(\"ab\") && s.contains(\"mn\") && s.endsWith(\"yz\")",
        "xs.size() == 6",
        "p.a == 31 && !p.b",
    ] {
        let text = format!(
            "type Pair = {{ a: int, b: bool }};
             protocol P(role client, role server) {{
             A(x: int, s: string, xs: list<int>, b: bool, f: float, p: Pair) from client to server where {assertion}; }}"
        );
        let report = probe(&text, Server::perfect(&text, ""), options());
        assert!(whole(report.transitions), "{assertion}: {report}");
    }
}

#[test]
fn examples_come_first_and_steer_the_peer() {
    let text = "protocol P(role client, role server) { Name(name: string) from client to server;
        choice at server { Known() from server to client; } or { Unknown() from server to client; } }";
    let serve = || {
        Server::new(|mut end, _| {
            while let Some(line) = end.line() {
                end.say(if line.contains("alice") { r#"{"type":"Known"}"# } else { r#"{"type":"Unknown"}"# });
            }
        })
    };
    let without = probe(text, serve(), options());
    assert_eq!(without.branches, Count { covered: 1, total: 2 }, "{without}");
    let examples = "[fields]\nname = ['bob', 'alice']";
    let with = Prober::new(&player(text, Sender::Client, examples), serve(), options()).run().unwrap();
    assert!(whole(with.branches) && with.finding.is_none(), "{with}");
}

#[test]
fn silence_is_no_verdict_and_bounds_are_told() {
    let server = Server::new(|mut end, _| while end.line().is_some() {});
    let waits = Options { timeout: std::time::Duration::from_millis(10), ..options() };
    let report = probe(ADDER, server, waits);
    assert!(report.finding.is_none() && !report.is_conclusive(), "{report}");
    assert!(report.not_judged[0].starts_with("server said nothing in `q1`"), "{report}");
    let report = probe(AUTH, Server::perfect(AUTH, ""), Options { sessions: 1, length: 2, ..options() });
    assert_eq!(report.limit, Some("the limit of sessions is reached"));
    assert!(report.uncovered.iter().all(|missing| !missing.reason.is_empty()));
}

#[test]
fn a_mock_answers_a_client_that_does_not_wait() {
    let mut server = Server::perfect(ADDER, "");
    server.connect().unwrap();
    let add = |left: i64| format!("{{\"type\":\"Add\",\"left\":{left},\"right\":1}}\n");
    let all = format!("{}{}{}{{\"type\":\"Bye\"}}\n", add(1), add(5), add(7));
    server.send(all.as_bytes()).unwrap();
    let mut heard = String::new();
    while let Heard::Bytes(bytes) = server.receive(options().timeout) {
        heard += &String::from_utf8(bytes).unwrap();
    }
    let sums: Vec<&str> = heard.lines().collect();
    assert_eq!(sums.len(), 3, "{heard}");
    assert!(sums[0].contains("2") && sums[1].contains("6") && sums[2].contains("8"), "{heard}");
}
