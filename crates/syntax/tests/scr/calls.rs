//! Keyed sub-sessions: what is open where, and that what is printed is the same.

use referee_syntax::document::Content;
use referee_syntax::{Language, parse, print, scr};
use referee_theory::calls::Calls;
use referee_theory::{GlobalType, Stage};

const CALL: &str = "protocol Call(role client, role server) per id: string {
  Request(id: string, method: string) from client to server;
  choice at server {
    Result(id: string) from server to client;
  } or {
    Error(id: string, code: int) from server to client;
  }
} interrupted by Cancel(id: string) from client
";

fn rpc(body: &str) -> String {
    format!("{CALL}\nprotocol Rpc(role client, role server) {{\n{body}\n}}\n")
}

/// The last protocol of `text`, which has no errors.
#[track_caller]
fn last(text: &str) -> GlobalType {
    let document = parse(text, Language::Scr);
    assert!(document.is_usable(), "{text}\n{:#?}", document.diagnostics);
    let Content::Global(protocols) = document.content else { panic!("{text}") };
    GlobalType::clone(protocols.last().and_then(|protocol| protocol.global.as_ref()).expect("a protocol"))
}

/// The stages in each state of the client, in the order of the states, and which are final.
fn stages(global: &GlobalType) -> Vec<(Vec<Stage>, bool)> {
    let client = global.vocabulary().find_role("client").expect("a role");
    let machine = global.project(client).expect("a projection");
    let (machine, stages) = global.calls().expect("calls").stages(&machine);
    machine.states().zip(stages).map(|(state, stages)| (stages.to_vec(), machine.is_final(state))).collect()
}

#[track_caller]
fn expect(body: &str, expected: &[(Stage, bool)]) {
    let found = stages(&last(&rpc(body)));
    let found: Vec<(Stage, bool)> = found.into_iter().map(|(stages, over)| (stages[0], over)).collect();
    assert_eq!(found, expected, "{body}");
}

#[test]
fn the_stage_of_each_state() {
    use Stage::{Closed, Closing, Ended, Open};
    expect(
        "Hello() from client to server; open Call(client, server); Bye() from client to server;",
        &[(Closed, false), (Open, false), (Ended, true)],
    );
    expect("Hello() from client to server; open Call(client, server);", &[(Closed, false), (Open, true)]);
    expect("open Call(client, server);", &[(Open, true)]);
    expect(
        "open Call(client, server); A() from server to client; close Call; Bye() from client to server;",
        &[(Open, false), (Closing, false), (Closed, true)],
    );
    // The end is no place where ways meet.
    expect(
        "choice at server { Fail() from server to client; }
         or { Ok() from server to client; open Call(client, server); }",
        &[(Closed, false), (Closed, true), (Open, true)],
    );
    expect(
        "choice at server { Rest() from server to client; open Call(client, server); }
         or { Ok() from server to client; open Call(client, server); Bye() from client to server; }",
        &[(Closed, false), (Open, true), (Open, false), (Ended, true)],
    );
    // Round by round.
    expect(
        "rec X { open Call(client, server); A() from server to client; close Call; B() from client to server; continue X; }",
        &[(Open, false), (Closing, false)],
    );
    // Beside a `par`, and behind it.
    expect(
        "open Call(client, server); par { A() from client to server; } and { B() from server to client; }",
        &[(Open, false), (Open, false), (Open, false), (Ended, true)],
    );
    expect(
        "par { A() from client to server; } and { B() from server to client; } open Call(client, server);",
        &[(Closed, false), (Closed, false), (Closed, false), (Open, true)],
    );
    // In another protocol that is done.
    let text = format!(
        "{CALL} aux protocol Work(role a, role b) {{ W() from a to b; open Call(a, b); V() from a to b; close Call; }}
         protocol Rpc(role client, role server) {{ do Work(client, server); Bye() from client to server; }}"
    );
    let found: Vec<Stage> = stages(&last(&text)).into_iter().map(|(stages, _)| stages[0]).collect();
    assert_eq!(found, [Closed, Open, Closing, Closed]);
}

#[test]
fn both_directions_are_two() {
    let global = last(&rpc(
        "open Call(client, server); open Call(server, client); A() from server to client; close Call(client, server);
         B() from client to server; close Call; C() from server to client;",
    )
    .replace(
        " interrupted by Cancel(id: string) from client",
        "",
    ));
    let calls = global.calls().expect("calls");
    let signatures: Vec<String> = calls.subs.iter().map(|sub| sub.signature()).collect();
    assert_eq!(signatures, ["Call(client, server)", "Call(server, client)"]);
    use Stage::{Closed, Closing, Open};
    let found: Vec<Vec<Stage>> = stages(&global).into_iter().map(|(stages, _)| stages).collect();
    assert_eq!(found, [[Open, Open], [Closing, Open], [Closed, Closing], [Closed, Closed]]);
}

/// Whether two protocols open the same at the same places.
fn same(one: &GlobalType, other: &GlobalType) {
    assert_eq!(one.calls().is_some(), other.calls().is_some());
    let of = |calls: &Calls| calls.subs.iter().map(|sub| sub.signature()).collect::<Vec<_>>();
    assert_eq!(one.calls().map(of), other.calls().map(of));
    if one.calls().is_some() {
        assert_eq!(stages(one), stages(other));
    }
}

#[test]
fn what_was_printed_is_the_same_protocol() {
    for body in [
        "Hello() from client to server; open Call(client, server); Bye() from client to server;",
        "open Call(client, server);",
        "open Call(client, server); A() from server to client; close Call; Bye() from client to server;",
        "rec X { open Call(client, server); A() from server to client; close Call; B() from client to server; continue X; }",
        "choice at server { Fail() from server to client; } or { Ok() from server to client; open Call(client, server); }",
        "choice at server { A() from server to client; } or { B() from server to client; } open Call(client, server); C() from client to server;",
        "par { A() from client to server; } and { B() from server to client; } open Call(client, server);",
        "par { A() from client to server; } and { B() from server to client; } open Call(client, server); C() from client to server;",
    ] {
        let text = rpc(body);
        let global = last(&text);
        let printed = print::scr("Rpc", &global, &[]).expect("a text");
        same(&global, &last(&printed));
        assert_eq!(print::scr("Rpc", &last(&printed), &[]).expect("a text"), printed);
        assert!(
            printed.contains("per id: string {")
                && printed.contains("} interrupted by Cancel(id: string) from client\n"),
            "{printed}"
        );
        assert!(print::gt(&global).is_err() && print::nuscr("Rpc", &global).is_err());
        // The formatter keeps all of it.
        let formatted = scr::format(&text).expect("a text");
        assert_eq!(scr::format(&formatted).expect("a text"), formatted);
        same(&global, &last(&formatted));
    }
    let call = last(CALL);
    let printed = print::scr("Call", &call, &[]).expect("a text");
    assert_eq!(printed, CALL);
    assert!(call.keyed().is_some_and(|keyed| keyed.interrupt.is_some()));
}

#[test]
fn words_are_still_names() {
    let text = "protocol open(role per, role close) {
  open() from per to close;
  close(interrupted: int) from close to per;
  open from per to close;
}
";
    let document = parse(text, Language::Scr);
    assert!(document.is_usable(), "{:#?}", document.diagnostics);
    assert_eq!(scr::format(text).expect("a text"), text);
}

#[test]
fn comments_stay_around_what_interrupts() {
    let text = "protocol Call(role a, role b) per id: int {
  M(id: int) from a to b;
  N(id: int) from b to a;
} // behind the body
interrupted by C(id: int) from a // behind it
";
    let formatted = scr::format(text).expect("a text");
    assert_eq!(formatted, text);
}

/// Codes of what is wrong, each once.
fn codes(text: &str) -> Vec<&'static str> {
    let document = parse(text, Language::Scr);
    let mut codes: Vec<&str> =
        document.diagnostics.iter().filter(|found| found.is_error()).map(|found| found.code.id).collect();
    codes.dedup();
    codes
}

#[test]
fn every_rule_has_a_diagnostic() {
    let open = "open Call(client, server);";
    let bye = "Bye() from client to server;";
    for (body, code) in [
        // K2, and what is none of its cases: no key, another channel.
        (format!("Result(id: string) from server to client; {open}"), "RF0241"),
        (format!("Cancel(id: string) from client to server; {open}"), "RF0241"),
        (format!("Result(other: string) from server to client; {open}"), ""),
        (format!("Result(id: string) from client to server; {open}"), ""),
        // K4
        (
            format!(
                "choice at client {{ A() from client to server; {open} }} or {{ B() from client to server; }} {bye}"
            ),
            "RF0243",
        ),
        (
            format!(
                "choice at client {{ {open} A() from client to server; }} or {{ B() from client to server; }}"
            ),
            "RF0243",
        ),
        (
            format!(
                "choice at client {{ rec X {{ {open} A() from client to server; close Call; {bye} continue X; }} }} or {{ B() from client to server; }}"
            ),
            "RF0243",
        ),
        (
            format!(
                "par {{ A() from client to server; {open} B() from client to server; }} and {{ C() from server to client; }}"
            ),
            "RF0243",
        ),
        (
            format!("rec X {{ A() from client to server; {open} B() from server to client; continue X; }}"),
            "RF0243",
        ),
        // K5
        (format!("{open} A() from client to server; close Call; Bye() from server to client;"), "RF0244"),
        (format!("{open} A() from client to server; close Call;"), "RF0244"),
        (
            format!(
                "{open} A() from client to server; close Call; choice at server {{ B() from server to client; }} or {{ C() from server to client; }}"
            ),
            "RF0244",
        ),
        (
            format!(
                "{open} A() from client to server; close Call; choice at client {{ B() from client to server; }} or {{ C() from client to server; }}"
            ),
            "",
        ),
        (
            format!(
                "{open} A() from client to server; close Call; par {{ B() from client to server; }} and {{ C() from server to client; }}"
            ),
            "RF0244",
        ),
        // K7
        (format!("{open} {open} {bye}"), "RF0246"),
        (format!("close Call; {bye}"), "RF0246"),
        (format!("{open} A() from client to server; close Call; {open} {bye}"), "RF0246"),
        (format!("rec X {{ {open} A() from client to server; close Call; continue X; }}"), "RF0246"),
        (
            format!(
                "{open} A() from client to server; close Call; B() from client to server; close Call; {bye}"
            ),
            "RF0246",
        ),
        // No such protocol, wrong roles, `do`.
        ("open Nothing(client, server);".to_owned(), "RF0101"),
        ("open Call(client);".to_owned(), "RF0107"),
        ("open Call(client, nobody);".to_owned(), "RF0103"),
        ("open Call(client, client);".to_owned(), "RF0108"),
        ("do Call(client, server);".to_owned(), "RF0249"),
        (format!("{open} {bye}"), ""),
    ] {
        let found = codes(&rpc(&body));
        let expected: Vec<&str> = if code.is_empty() { vec![] } else { vec![code] };
        assert_eq!(found, expected, "{body}");
    }
    let parent = "protocol Rpc(role client, role server) { open Call(client, server); A() from server to client; close Call; B() from client to server; }";
    for (call, code) in [
        // K1
        ("per id: string { A1() from client to server; }", "RF0240"),
        ("per id: string { A1(id: int) from client to server; }", "RF0240"),
        ("per id: bool { A1(id: bool) from client to server; }", "RF0240"),
        (
            "per id: int { A1(id: int) from client to server; B1(id: int) from server to client; } interrupted by C1() from client",
            "RF0240",
        ),
        // K3
        ("per id: int { A1(id: int) from client to server; open Call(client, server); }", "RF0242"),
        ("per id: int { A1(id: int) from client to server where id > other; }", "RF0302"),
        // K6
        (
            "per id: int { A1(id: int) from client to server; rec X { B1(id: int) from server to client; continue X; } }",
            "RF0245",
        ),
        // K8
        (
            "per id: int { A1(id: int) from client to server; B1(id: int) from server to client; } interrupted by C1(id: int) from nobody",
            "RF0103",
        ),
        (
            "per id: int { A1(id: int) from client to server; B1(id: int) from server to client; } interrupted by A1(id: int) from client",
            "RF0247",
        ),
        ("{ A1(id: int) from client to server; } interrupted by C1(id: int) from client", "RF0247"),
        // K9
        (
            "per id: int { A1(id: int) from client to server; B1(id: int) from server to client; A1(id: int) from client to server; }",
            "RF0248",
        ),
        (
            "per id: int { par { A1(id: int) from client to server; } and { B1(id: int) from server to client; } }",
            "RF0248",
        ),
        ("per id: int { }", "RF0248"),
        (
            "per id: int { A1(id: int) from client to server within 5s; B1(id: int) from server to client; }",
            "RF0250",
        ),
    ] {
        let found = codes(&format!("protocol Call(role client, role server) {call}\n{parent}"));
        assert!(found.contains(&code), "{call}: {found:?}");
    }
    // Opener: of three roles, who begins calls takes part in the message before.
    let three = |before: &str| {
        format!(
            "{CALL} protocol Rpc(role client, role server, role log) {{ {before} open Call(client, server); A() from server to log; }}"
        )
    };
    assert_eq!(codes(&three("S() from server to log;")), ["RF0244"]);
    assert_eq!(codes(&three("S() from client to log;")), [""; 0]);
    // Two sub-protocols with one label are wrong even if they are never open together.
    let text = format!(
        "{CALL} protocol Other(role client, role server) per id: string {{ Ask(id: string) from client to server; Result(id: string) from server to client; }}
         protocol Rpc(role client, role server) {{ open Call(client, server); A() from server to client; close Call; B() from client to server; open Other(client, server); }}"
    );
    assert_eq!(codes(&text), ["RF0241"]);
}
