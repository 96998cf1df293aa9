//! Times of messages (docs/time.md, section 1): what is read, what is refused, how it is written.

use referee_syntax::convert::{Subject, Target};
use referee_syntax::scr::format;
use referee_syntax::{Analysis, Language, parse};
use referee_theory::timing::known;
use referee_theory::{Global, Since};

/// The codes that `body` of a protocol between client and server gets, in order.
fn codes(body: &str) -> Vec<&'static str> {
    let text = format!("protocol P(role client, role server, role third) {{ {body} }}");
    let analysis = Analysis::of(parse(&text, Language::Scr));
    let found = analysis.diagnostics.iter().filter(|found| found.code.id != "RF0103");
    found.map(|found| found.code.id).filter(|id| id.starts_with("RF09") || id.starts_with("RF03")).collect()
}

#[test]
fn each_rule_has_its_code() {
    let request = "Request(x: int, f: float, s: string) from client to server; third() from server to third;";
    for (body, expected) in [
        ("Reply() from server to client within 5s;", &[][..]),
        ("Reply() from server to client within 5s of Request;", &[]),
        ("Reply() from server to client after 1s within 5s;", &[]),
        ("Reply() from server to client within 5s after 100ms where x > 0;", &[]),
        ("Reply() from server to client where x > 0 within 5s after 100ms;", &[]),
        ("Reply() from server to client within 1.5 * x of any;", &[]),
        ("Reply() from server to client within x > 3 ? f : 2 * x + 500ms;", &[]),
        ("Reply(x: int) from server to client within x;", &[]),
        ("Reply(y: int) from server to client within y;", &["RF0302"]),
        ("Reply() from server to client within 0s;", &["RF0901"]),
        ("Reply() from server to client after 0;", &["RF0901"]),
        ("Reply() from server to client within 2 - 3;", &["RF0901"]),
        ("Reply() from server to client within s;", &["RF0902"]),
        ("Reply() from server to client within x > 3;", &["RF0902"]),
        ("Reply() from server to client within f(x);", &["RF0902"]),
        ("Reply() from server to client within 5s of Nothing;", &["RF0903"]),
        ("Reply() from server to client within 5s of Reply;", &["RF0903"]),
        ("Reply() from client to server within 5s of third;", &["RF0903"]),
        ("Reply() from third to client within x;", &["RF0904"]),
        ("Reply() from server to client within 5s within 6s;", &["RF0907"]),
        ("Reply() from server to client after 5s within 2s;", &["RF0910"]),
        ("A() from server to client after 5s; B() from server to client within 2s of Request;", &["RF0910"]),
        ("A() from server to client; B() from server to client within 2s of Request;", &[]),
        ("A() from client to server; B() from server to client within 2s of Request;", &["RF0913"]),
        ("choice at server within 5s { A() from server to client; } or { B() from server to client; }", &[]),
        (
            "choice at server within 5s { A() from server to client within 1s; } or { B() from server to client within 2s; }",
            &["RF0911"],
        ),
        (
            "choice at server { A() from server to client within 1s; } or { B() from server to client; }",
            &["RF0912"],
        ),
        ("A() from server to client within 1s; @\"may wait\"", &["RF0912"]),
        (
            "choice at server within 5s { rec X { A() from server to client; } } or { B() from server to client; }",
            &["RF0905"],
        ),
        ("A() from server to client within [0;1] using x and resetting (x);", &["RF0906"]),
        ("A() from server to client within ]0;1[ using x and resetting ();", &["RF0906"]),
        (
            "A() from server to client [@server: x < 1, reset(x)]; B() from server to client @<x < 1>;",
            &["RF0906"],
        ),
    ] {
        assert_eq!(codes(&format!("{request} {body}")), expected, "{body}");
    }
}

#[test]
fn a_label_counts_only_if_it_always_comes() {
    let choice = "choice at client { Order() from client to server; } or { Query() from client to server; }";
    assert_eq!(codes(&format!("{choice} A() from server to client within 5s of Order;")), ["RF0903"]);
    // It must come before the loop, or in each round before.
    let rounds =
        "rec X { Ping() from client to server; Pong() from server to client within 5s of NAME; continue X; }";
    assert_eq!(codes(&rounds.replace("NAME", "Ping")), [""; 0]);
    assert_eq!(codes(&rounds.replace("NAME", "Pong")), ["RF0903"]);
}

/// The times of each message, in the order of the nodes.
fn times(text: &str) -> Vec<String> {
    let analysis = Analysis::of(parse(text, Language::Scr));
    assert!(!analysis.diagnostics.iter().any(|found| found.is_error()), "{text}: {:?}", analysis.diagnostics);
    let Some(Subject::Global(_, global, _)) = Subject::of(&analysis.document, None) else { panic!("{text}") };
    let vocabulary = global.vocabulary();
    let mut all = Vec::new();
    for (_, node) in global.nodes() {
        let Global::Exchange(exchange) = node else { continue };
        for branch in &exchange.branches {
            let spec = vocabulary.spec(branch.message);
            let timing = spec.timing.as_ref().map_or_else(String::new, |timing| format!(" {timing}"));
            all.push(format!("{}{timing}", vocabulary.label_of(branch.message)));
        }
    }
    all.sort_unstable();
    all
}

#[test]
fn a_choice_gives_its_deadline_to_first_messages() {
    let text = "protocol P(role a, role b, role c) {
        choice at a within 1500ms {
            A() from a to b, c; Z() from a to b;
        } or {
            choice at a { B() from a to b within 7s; } or { C() from a to b after 1s; }
            C() from a to c;
        }
    }";
    let found = times(text);
    assert_eq!(found, ["A", "A within 1500ms", "B within 7s", "C", "C after 1s within 1500ms", "Z"]);
}

#[test]
fn a_parameter_stands_for_the_message_that_was_given() {
    let text = "aux protocol Ask<sig S>(role a, role b) { S from a to b; R() from b to a within 5s of S; }
        protocol P(role a, role b) { do Ask<Hello()>(a, b); }";
    assert_eq!(times(text), ["Hello", "R within 5s of Hello"]);
}

#[test]
fn what_is_written_is_read_again() {
    let text = "protocol P(role a, role b) {
  Hello(keepalive: int) from a to b;
  choice at b within 30s {
    Ok() from b to a after 100ms within 5s of Hello where keepalive > 0;
  } or {
    No() from b to a;
  }
  Ping() from a to b within 1.5 * keepalive of any;
}
";
    assert_eq!(format(text).expect("formatted"), text);
    let loose = "protocol P(role a,role b){Hello(keepalive:int) from a to b;choice at b within /* how long */ 30s{Ok() from b to a where keepalive>0 within 5s of Hello after 100ms;}or{No() from b to a;}Ping() from a to b within 1.5*keepalive of any;}";
    let formatted = format(loose).expect("formatted");
    assert_eq!(formatted, format(&formatted).expect("formatted"));
    assert_eq!(times(&formatted), times(text));
    let analysis = Analysis::of(parse(text, Language::Scr));
    let subject = Subject::of(&analysis.document, None).expect("a protocol");
    let printed = subject.convert(Target::Scr, None).expect("printed");
    assert_eq!(times(&printed), times(text), "{printed}");
    // What has no times leaves them out, and nothing else.
    for target in [Target::NuScr, Target::Gt, Target::GtJson, Target::Kmc, Target::Fsm] {
        if let Ok(converted) = subject.convert(target, None) {
            assert!(!converted.contains("within"), "{converted}");
        }
    }
}

#[test]
fn constants_are_exact() {
    let text =
        "protocol P(role a, role b) { A() from a to b within 0.1s; B() from b to a within 2 * 1.5m of A; }";
    let analysis = Analysis::of(parse(text, Language::Scr));
    let Some(Subject::Global(_, global, _)) = Subject::of(&analysis.document, None) else { panic!() };
    let vocabulary = global.vocabulary();
    let timed = vocabulary.messages().filter_map(|message| vocabulary.spec(message).timing.clone());
    let withins: Vec<_> = timed.filter_map(|timing| timing.within.clone()).collect();
    let lengths: Vec<_> = withins.iter().map(|within| known(&within.length)).collect();
    assert_eq!(lengths, [Some(180_000_000_000), Some(100_000_000)]);
    assert_eq!(withins[0].since, Since::Label("A".into()));
}

/// Receivers do not answer for times: with three roles only the sender's machine has them; with two, both.
#[test]
fn machines_carry_times() {
    let body = "A() from a to b; B() from b to a within 5s;";
    for (roles, carried) in [("role a, role b", 2), ("role a, role b, role c", 1)] {
        let more = if carried == 1 { "C() from a to c;" } else { "" };
        let text = format!("protocol P({roles}) {{ {body} {more} }}");
        let analysis = Analysis::of(parse(&text, Language::Scr));
        let Some(Subject::Global(_, global, _)) = Subject::of(&analysis.document, None) else { panic!() };
        let machines = global.vocabulary().roles().map(|role| global.project(role).expect("projected"));
        let timed = machines.filter(|machine| {
            let mut all = machine.all_transitions().iter();
            all.any(|transition| global.vocabulary().spec(transition.message).timing.is_some())
        });
        assert_eq!(timed.count(), carried, "{text}");
    }
}
