//! What an answer of `referee check` is about: calls and their interruptions, copies, components, the protocols of a file that an option
//! is about; and that what is drawn and listed is so.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test reads files and fails by panicking"
)]

#[path = "support/process.rs"]
mod process;

use process::referee;
use serde_json::{Value, json};

/// Exit status and text of a check of `input`.
fn said(language: &str, options: &[&str], input: &str) -> (i32, String) {
    let output = referee(&[&["check", "-", "--language", language], options].concat(), input);
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), text)
}

/// The JSON contract's answer about `input`.
fn answered(language: &str, options: &[&str], input: &str) -> Value {
    let fixed = ["check", "-", "--language", language, "--format", "json"];
    let output = referee(&[&fixed[..], options].concat(), input);
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A file that is removed in the end.
struct Temporary(std::path::PathBuf);

impl Temporary {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("referee-scope-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

const CALL: &str = "protocol Call(role client, role server) per id: string {
  Request(id: string) from client to server;
  Result(id: string) from server to client;
}";

/// `Request 7, Cancel 7` is right, and no machine has `Cancel`.
#[test]
fn what_an_interruption_may_violate_is_not_said_to_hold() {
    let interrupted = format!("{CALL} interrupted by Cancel(id: string) from client");
    let property = |name: &str, label: &str| {
        let formula = format!("property p {{ max X.([client -> server : {label}]ff and [_]X) }}");
        Temporary::new(name, &formula)
    };
    let cancel = property("cancel.hml", "Cancel");
    let asked = ["--property", cancel.path()];
    let (status, text) = said("scr", &asked, &interrupted);
    assert!(
        status == 3 && text.contains("interruptions (`Cancel` from `client`) are not looked at"),
        "{text}"
    );
    let answer = &answered("scr", &asked, &interrupted)["compatibility"];
    assert_eq!((&answer["verdict"], &answer["uninterrupted"]), (&json!("safe"), &json!(true)));
    assert_eq!(answer["properties"][0]["reason"]["code"], "interruption");
    // What is violated without an interruption is violated.
    let result = property("request.hml", "Request");
    assert_eq!(said("scr", &["--property", result.path()], &interrupted).0, 1);
    // Without interruptions all is as it was.
    let answer = &answered("scr", &asked, CALL)["compatibility"];
    assert_eq!(
        (&answer["properties"][0]["verdict"], &answer["uninterrupted"]),
        (&json!("holds"), &json!(false))
    );
}

/// Calls are not explored beside what opens them: what its channels hold is not all they hold.
#[test]
fn no_length_of_queues_is_told_where_there_are_calls() {
    let rpc = "protocol Rpc(role client, role server) { Hello() from client to server; open Call(client, server); Bye() from client to server; }";
    let text = format!("{CALL}\n{rpc}");
    let answer = answered("scr", &["--mailbox"], &text);
    for protocol in answer["protocols"].as_array().unwrap() {
        let found = &protocol["compatibility"];
        assert_eq!(found["verdict"], "safe", "{found:#}");
        assert_eq!((&found["complete"], &found["largest_queue"]), (&Value::Null, &Value::Null), "{found:#}");
        assert_eq!(found["bounds"][0]["largest_queue"], Value::Null);
    }
    let (status, text) = said("scr", &["--mailbox"], &text);
    assert!(status == 0 && !text.contains("ever holds more"), "{text}");
}

#[test]
fn a_role_has_one_component() {
    let (first, second) =
        (Temporary::new("one.kmc", "A: B!a; end"), Temporary::new("two.kmc", "A: B!z; end"));
    let (one, two) = (format!("A={}", first.path()), format!("A={}", second.path()));
    let (status, text) = said("kmc", &["--with", &two, "--with", &one], "A: B!a; end  B: A?a; end");
    assert!(status == 2 && text.contains("one component in the place of `A`"), "{text}");
    assert_eq!(said("kmc", &["--with", &one], "A: B!a; end  B: A?a; end").0, 0);
}

#[test]
fn a_component_of_another_role_is_called_that() {
    let component =
        Temporary::new("a.fsm", ".name A\n.outputs\n.state graph\nq0 1 ! a q1\n.marking q0\n.end\n");
    let with = format!("C={}", component.path());
    let (status, text) = said("kmc", &["--with", &with], "A: B!a; C!b; end  B: A?a; end  C: A?b; end");
    assert!(status == 2 && text.contains("is the machine of `A`, not of `C`"), "{text}");
}

/// A round with all copies is one transition after the other of the interleaved machine: it would hold up the other blocks, and safe copies
/// would be called unsafe.
#[test]
fn copies_in_blocks_side_by_side_are_refused() {
    let text = "protocol P(role C, role W[n]) { par { B() from W to C; } and { E() from W to C; } }";
    let (status, said_of_it) = said("scr", &["--instances", "W=1..2"], text);
    assert!(status == 2 && said_of_it.contains("`C` deals with `W` in one block of a `par`"), "{said_of_it}");
    let two = "protocol P(role C, role W, role V) {
        par { B() from W to C; B() from V to C; } and { E() from W to C; E() from V to C; } }";
    assert_eq!(said("scr", &[], two).0, 0, "the same written out is safe");
    // Where nobody who deals with copies is in two blocks, rounds hold up nobody.
    let apart = "protocol P(role C, role D, role W[n]) { par { B() from W to C; } and { E() from W to D; } }";
    assert_eq!(said("scr", &["--instances", "W=1..3"], apart).0, 0);
}

#[test]
fn options_are_about_the_protocols_that_have_the_role() {
    let text = "protocol P(role C, role W[n]) { do Q(C, W); do Q(W, C); }
        protocol Q(role x, role y) { A() from x to y; B() from y to x; }";
    for option in [["--instances", "W=1..3"], ["--may-wait", "W"], ["--faults", "lossy=C->W"]] {
        let (status, text) = said("scr", &option, text);
        assert!(status < 2 && text.contains("protocol Q (x, y)"), "{option:?}: {text}");
    }
    let unknown = [
        (["--instances", "Z=1..3"], "no protocol has a role `Z`: P has C, W; Q has x, y"),
        (["--may-wait", "Z"], "no protocol has a role `Z`"),
        (["--faults", "crash=Z"], "no protocol has a role `Z`"),
        (["--faults", "lossy=C->x"], "no protocol has both `C` and `x`"),
        (["--instances", "x=1..3"], "no protocol declares `x` as `role x[n]`"),
    ];
    for (option, why) in unknown {
        let (status, text) = said("scr", &option, text);
        assert!(status == 2 && text.contains(why), "{option:?}: {text}");
    }
}

/// "The first for which the verdict is worst."
#[test]
fn a_property_that_holds_with_every_number_is_told_of_the_first() {
    let property = Temporary::new("ok.hml", "property ok { max X.([A -> B : z]ff and [_]X) }");
    let options = ["--instances", "B=1..3", "--property", property.path()];
    let answer = answered("kmc", &options, "A: B!a; end  B: A?a; end");
    let found = &answer["compatibility"]["properties"][0];
    assert_eq!((&found["verdict"], &found["copies"]), (&json!("holds"), &json!(1)));
}

#[test]
fn a_violation_before_any_message_is_said_to_be_one() {
    let property = Temporary::new("ff.hml", "property p { ff }");
    let (status, text) = said("kmc", &["--property", property.path()], "A: B!a; end  B: A?a; end");
    assert!(status == 1 && text.ends_with("`p` fails: it is violated before any message\n"), "{text}");
}

/// The message was received; it is its copy that stays.
#[test]
fn the_copy_of_a_duplicated_message_is_crossed_out() {
    let (_, text) = said("kmc", &["--faults", "duplicate=A->B"], "A: B!a; end  B: A?a; end");
    let line = |what: &str| text.lines().position(|line| line.contains(what));
    let (received, again, crossed) = (line("a ────────────────▶"), line("will come again"), line("✗  │"));
    assert!(received.is_some() && received < again && again < crossed, "{text}");
}

#[test]
fn what_has_no_room_under_a_diagram_is_said_in_words() {
    let long = |name: &str| format!("{name}_of_a_message_with_a_long_name");
    let (a, b) = (long("a"), long("b"));
    let text = format!(
        "A: {{B!{a}; end, B!{b}; end}}  B: {{A?{a}; C?z; end, A?{b}; C?{a}; end}}  C: {{B?{a}; end, B?{b}; end}}"
    );
    let (_, said) = said("kmc", &[], &text);
    let end: Vec<&str> = said.lines().skip_while(|line| line.trim() != "at the end").collect();
    assert!(end.len() > 3 && end[1].trim() == "A: has ended", "{said}");
}

#[test]
fn a_long_list_is_cut() {
    let system = |sent: usize, received: usize| {
        let all = |count, sign: char, peer| {
            (0..count).map(|n| format!("{peer}{sign}l{n}; end")).collect::<Vec<_>>().join(", ")
        };
        format!("A: {{{}}}  B: {{{}}}", all(sent, '!', 'B'), all(received, '?', 'A'))
    };
    let (status, text) = said("kmc", &[], &system(2000, 1999));
    assert!(status == 1 && text.contains("`l6`, `l7` or 1991 others from `A`"), "{text}");
    assert!(text.len() < 5000, "{text}");
    let (_, text) = said("kmc", &[], &system(12, 11));
    assert!(text.contains("`l9` or `l10` from `A`"), "{text}");
}

/// RFC 3986; SARIF 2.1.0, section 3.4.3.
#[test]
fn files_are_uris_in_sarif() {
    let folder = std::env::temp_dir().join(format!("referee-scope-{}-Grö ße", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("ä#1?:100%.kmc");
    std::fs::write(&file, "A: B!a; end  B: A?b; end").unwrap();
    let output = referee(&["check", file.to_str().unwrap(), "--format", "sarif"], "");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let place = &answer["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    let uri = place["artifactLocation"]["uri"].as_str().unwrap();
    assert!(uri.ends_with("Gr%C3%B6%20%C3%9Fe/%C3%A4%231%3F%3A100%25.kmc"), "{uri}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// Two streams that never wait for each other fill their channels for ever, and each is safe: `docs/concurrency.md`, section 3.
#[test]
fn blocks_between_two_roles_are_checked_each_by_itself() {
    let stream = |from: &str, to: &str, x: &str| {
        format!("{{ rec {x} {{ {x}() from {from} to {to}; continue {x}; }} }}")
    };
    let (one, other) = (stream("p", "q", "X"), stream("q", "p", "Y"));
    let text = format!("protocol P(role p, role q) {{ par {one} and {other} }}");
    let found = &answered("scr", &[], &text)["compatibility"];
    assert_eq!((&found["verdict"], &found["complete"]), (&json!("safe"), &json!(false)), "{found:#}");
    assert!(found["rests_on"].as_str().unwrap().contains("each block of a `par` is safe"), "{found:#}");
    // What the definition does not cover stays as it was, with advice that a `par` can follow.
    let three = format!("protocol P(role p, role q, role r) {{ par {one} and {} }}", stream("q", "r", "Y"));
    let (status, text) = said("scr", &[], &three);
    assert!(status == 3 && text.contains("blocks of a `par` make such states"), "{text}");
}
