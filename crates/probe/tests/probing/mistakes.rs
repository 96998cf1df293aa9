//! Peers that are wrong: what is said of them, with the shortest trace, and that it can be seen again.

use referee_probe::{Options, Prober, Reaction, Report, Script, ScriptStep};
use referee_wire::Sender;

use crate::memory::{End, Server, options, player, probe};
use crate::tours::ADDER;

/// An adder that answers with what `sum` makes of the two numbers; the messages of a connection are counted from 1.
fn adder(sum: impl Fn(i64, i64, usize) -> String + Send + Sync + 'static) -> Server {
    Server::new(move |mut end: End, _| {
        let mut count = 0;
        while let Some(line) = end.line() {
            let message: serde_json::Value = serde_json::from_str(&line).unwrap();
            if message["type"] != "Add" {
                return;
            }
            count += 1;
            let number = |key: &str| message[key].as_i64().unwrap();
            end.say(&sum(number("left"), number("right"), count));
        }
    })
}

fn right(left: i64, right: i64) -> String {
    format!(r#"{{"type":"Sum","total":{}}}"#, left + right)
}

#[test]
fn a_wrong_sum_is_found_and_shortened_and_seen_again() {
    let wrong =
        || adder(|a, b, _| if a == 2 { r#"{"type":"Sum","total":-1}"#.to_owned() } else { right(a, b) });
    // The first values are right, and a tour has enough of one; a walk goes on.
    let tours = Options { walks: 0, ..options() };
    let examples = "[messages]\nAdd = [{left = 1}, {left = 3}, {left = 2}]";
    let report = Prober::new(&player(ADDER, Sender::Client, examples), wrong(), tours).run().unwrap();
    assert!(report.finding.is_none(), "{report}");
    let report = Prober::new(&player(ADDER, Sender::Client, examples), wrong(), options()).run().unwrap();
    assert_eq!(report.finding.unwrap().trace.len(), 1);
    let examples = "[messages]\nAdd = [{left = 2}]";
    let report = Prober::new(&player(ADDER, Sender::Client, examples), wrong(), options()).run().unwrap();
    let finding = report.finding.as_ref().unwrap();
    assert_eq!(
        (finding.verdict.kind.as_str(), finding.verdict.blame.as_deref()),
        ("assertion", Some("server"))
    );
    assert!(finding.reproduced && finding.trace.len() == 1, "{report}");

    let json = serde_json::to_string(&finding.script).unwrap();
    let script = Script::parse(&json).unwrap();
    let again = Prober::new(&player(ADDER, Sender::Client, ""), wrong(), options()).replay(&script).unwrap();
    assert_eq!(again.finding.unwrap().verdict.kind, "assertion");
    let fixed = adder(|a, b, _| right(a, b));
    let short = Options { timeout: std::time::Duration::from_millis(20), ..options() };
    let fixed = Prober::new(&player(ADDER, Sender::Client, ""), fixed, short).replay(&script).unwrap();
    assert!(fixed.finding.is_none());
}

/// Wrong after `Bad`, which is the last message that is tried.
const LOOP: &str = "protocol P(role client, role server) { rec L { choice at client {
    A() from client to server; OkA() from server to client; continue L; }
    or { B() from client to server; OkB() from server to client; continue L; }
    or { Bad() from client to server; OkBad() from server to client; continue L; } } }";

fn answering(with: impl Fn(&str) -> String + Send + Sync + 'static) -> Server {
    Server::new(move |mut end: End, _| {
        while let Some(line) = end.line() {
            let message: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
            let label = message["type"].as_str().unwrap_or("?").to_owned();
            end.say(&format!(r#"{{"type":"{}"}}"#, with(&label)));
        }
    })
}

#[test]
fn loops_are_left_out_of_a_trace() {
    let server = answering(|label| if label == "Bad" { "OkA".to_owned() } else { format!("Ok{label}") });
    let report = probe(LOOP, server, options());
    let finding = report.finding.unwrap();
    assert_eq!(finding.trace, ["client: Bad()"]);
    assert_eq!(finding.shortened_by, 4);
    assert_eq!(finding.verdict.got.as_deref(), Some("OkA"));
    assert_eq!(finding.script.steps.len(), 1);
    assert!(matches!(&finding.script.steps[0], ScriptStep::Send { label, .. } if label == "Bad"));
}

#[test]
fn a_mistake_that_needs_its_history_keeps_it() {
    let server = Server::new(|mut end: End, _| {
        let mut seen = 0;
        while let Some(line) = end.line() {
            seen += usize::from(line.contains("\"A\""));
            let label =
                ["A", "B", "Bad"].into_iter().find(|label| line.contains(&format!("\"{label}\""))).unwrap();
            let answer =
                if label == "Bad" && seen > 0 { "Nonsense".to_owned() } else { format!("Ok{label}") };
            end.say(&format!(r#"{{"type":"{answer}"}}"#));
        }
    });
    let short = Options { timeout: std::time::Duration::from_secs(1), ..options() };
    let finding = probe(LOOP, server, short).finding.unwrap();
    assert_eq!(finding.trace, ["client: A()", "server: OkA()", "client: Bad()"]);
    assert_eq!((finding.verdict.kind.as_str(), finding.reproduced), ("label", true));
}

#[test]
fn ends_surplus_and_garbage_are_found() {
    let kind = |server: Server| probe(ADDER, server, options()).finding.map(|finding| finding.verdict.kind);
    let closes = Server::new(|mut end: End, _| {
        end.line();
    });
    assert_eq!(kind(closes).as_deref(), Some("premature-end"));
    assert_eq!(kind(adder(|_, _, _| "garbage".to_owned())).as_deref(), Some("malformed"));
    assert_eq!(kind(adder(|a, b, _| format!("{}\n{}", right(a, b), right(a, b)))).as_deref(), Some("order"));
    assert_eq!(kind(adder(|_, _, _| r#"{"type":"Sum","total":"3"}"#.to_owned())).as_deref(), Some("type"));
    let after = Server::new(|mut end: End, _| {
        while let Some(line) = end.line() {
            let is_add = line.contains("Add");
            let message: serde_json::Value = serde_json::from_str(&line).unwrap();
            let number = |key: &str| message[key].as_i64().unwrap_or(0);
            end.say(&right(number("left"), number("right")));
            if !is_add {
                return;
            }
        }
    });
    assert_eq!(kind(after).as_deref(), Some("after-end"));
}

#[test]
fn who_closes_once_is_not_blamed() {
    let server = Server::new(|mut end: End, number| {
        while let Some(line) = end.line() {
            let message: serde_json::Value = serde_json::from_str(&line).unwrap();
            if number == 0 || message["type"] != "Add" {
                return;
            }
            let number = |key: &str| message[key].as_i64().unwrap();
            end.say(&right(number("left"), number("right")));
        }
    });
    let short = Options { timeout: std::time::Duration::from_millis(300), ..options() };
    let report = probe(ADDER, server, short);
    assert!(report.finding.is_none() && !report.is_conclusive(), "{report}");
    assert!(report.not_judged[0].ends_with("not seen again"), "{report}");
    assert_eq!(report.transitions.covered, 3, "{report}");
}

fn mutated(server: Server, refusals: &str) -> Report {
    let examples = format!("refusals = [{refusals}]");
    let wrong = Options { mutations: 20, timeout: std::time::Duration::from_secs(2), ..options() };
    Prober::new(&player(STRICT, Sender::Client, &examples), server, wrong).run().unwrap()
}

const STRICT: &str = "protocol P(role client, role server) { choice at client { Hello(n: int) from client to server where n > 0;
    choice at server { Ok() from server to client; Work() from client to server; Done() from server to client; }
    or { No() from server to client; } } or { Quit() from client to server; Done() from server to client; } }";

/// Answers as the protocol says what is right, and `wrong` to the rest.
fn strict(wrong: Option<&'static str>) -> Server {
    Server::new(move |mut end: End, number| {
        let mut state = 0;
        while let Some(line) = end.line() {
            let positive = line.starts_with('{') && !line.contains("\"n\":0") && !line.contains("\"n\":-");
            let answer = match state {
                0 if line.contains("\"Hello\"") && positive => {
                    state = if number % 2 == 0 { 1 } else { 2 };
                    if state == 1 { "Ok" } else { "No" }
                }
                0 if line.starts_with("{") && line.contains("\"Quit\"") => "Done",
                1 if line.starts_with("{") && line.contains("\"Work\"") => "Done",
                _ => match wrong {
                    Some(answer) => answer,
                    None => return,
                },
            };
            end.say(&format!(r#"{{"type":"{answer}"}}"#));
        }
    })
}

#[test]
fn wrong_messages_are_refused_by_closing_or_with_a_refusal() {
    for (server, refusals) in [(strict(None), ""), (strict(Some("No")), "'No'")] {
        let report = mutated(server, refusals);
        assert!(report.finding.is_none(), "{report}");
        // `Work` at the beginning, `Hello` below its bound, a wrong byte; after `Ok`: `Hello`, `Quit`, a wrong byte.
        assert!(report.mutations.len() >= 5, "{report}");
        assert!(
            report.mutations.iter().all(|o| matches!(o.reaction, Reaction::Refused(_) | Reaction::Closed)),
            "{report}"
        );
        assert!(report.is_conclusive(), "{report}");
    }
}

#[test]
fn what_accepts_wrong_messages_is_found_only_where_refusals_are_known() {
    let report = mutated(strict(Some("Ok")), "'No'");
    let finding = report.finding.as_ref().unwrap();
    assert_eq!(
        (finding.verdict.kind.as_str(), finding.verdict.blame.as_deref()),
        ("accepted", Some("server"))
    );
    assert!(matches!(finding.script.steps.last(), Some(ScriptStep::Wrong { .. })));
    let report = mutated(strict(Some("Ok")), "");
    assert!(report.finding.is_none() && !report.is_conclusive(), "{report}");
}
