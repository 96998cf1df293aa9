//! What `referee check` says is so: about properties, faults, copies, limits and options that do not go together.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test reads files and fails by panicking"
)]

#[path = "support/process.rs"]
mod process;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use process::referee;
use serde_json::Value;

/// Exit status and text of a check of `input`.
fn said(language: &str, options: &[&str], input: &str) -> (i32, String) {
    let output = referee(&[&["check", "-", "--language", language], options].concat(), input);
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), text)
}

/// `compatibility` of the JSON contract.
fn answered(options: &[&str], input: &str) -> Value {
    let fixed = ["check", "-", "--language", "kmc", "--format", "json"];
    let output = referee(&[&fixed[..], options].concat(), input);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    value["compatibility"].clone()
}

fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("referee-compatibility-{}-{name}", std::process::id()))
}

const LOGIN: &str = "A: B!login; B?ok; B!quit; end\nB: A?login; A!ok; A?exit; end";

#[test]
fn an_unsafe_answer_does_not_rest_on_safety() {
    let rests_on = answered(&[], LOGIN)["rests_on"].as_str().unwrap().to_owned();
    assert!(rests_on.ends_with("and exhaustive within the bound"), "{rests_on}");
}

#[test]
fn completeness_that_was_not_asked_is_null() {
    let answer = answered(&[], "A: rec x . B!a; x  B: rec x . A?a; x");
    let asked = answer["bounds"].as_array().unwrap().iter().any(|bound| !bound["complete"].is_null());
    assert_eq!(answer["complete"].is_null(), !asked, "{answer:#}");
}

#[test]
fn options_that_mean_nothing_are_refused() {
    let (status, text) = said("kmc", &["--faults", "lossy=A->A"], LOGIN);
    assert!(status == 2 && text.contains("no channel from `A` to `A`"), "{text}");
    let (status, text) = said("kmc", &["--fair", "--no-fair"], LOGIN);
    assert!(status == 2 && text.contains("cannot be used with"), "{text}");
    let (_, text) = said("kmc", &["--may-wait", "A"], LOGIN);
    assert!(text.contains("`A` does not wait in its initial state"), "{text}");
    let (_, text) = said("kmc", &["--faults", "crash=A,crash=A", "--minimal-fix"], LOGIN);
    assert!(text.contains("edits are not tried") && !text.contains("A may crash, A may crash"), "{text}");
}

#[test]
fn a_violated_property_is_said_first_and_drawn() {
    let (property, drawing) = (temporary("never.hml"), temporary("never.svg"));
    std::fs::write(&property, "property never { max X.([A -> B : b]ff and [Z -> B : z]ff and [_]X) }")
        .unwrap();
    let system = "A: {B!a; end, B!b; B?c; end}  B: {A?a; end, A?b; A!c; end}";
    let options = ["--property", property.to_str().unwrap(), "--witness-svg", drawing.to_str().unwrap()];
    let (status, text) = said("kmc", &options, system);
    let remarks = &answered(&options, system)["properties"][0]["remarks"];
    assert_eq!(remarks[0], "property `never`: there is no role `Z` in the protocol");
    let is_drawn = std::fs::remove_file(&drawing).is_ok();
    std::fs::remove_file(&property).unwrap();
    assert!(status == 1 && is_drawn && !text.contains("there is no counterexample"), "{text}");
    assert!(text.find("violated: property `never`").unwrap() < text.find("safe:").unwrap(), "{text}");
    assert!(text.contains("there is no label `z` in the protocol"), "{text}");
    assert!(text.contains("there is no role `Z` in the protocol"), "{text}");
    // What is still in its channel is not crossed out.
    assert!(text.contains('○') && !text.lines().skip(1).any(|line| line.contains('✗')), "{text}");
}

#[test]
fn a_label_that_is_no_mistake_is_not_corrected() {
    assert!(said("kmc", &[], LOGIN).1.contains("did you mean `exit`?"));
    let (_, text) = said("kmc", &["--faults", "lossy=A->B"], "A: B!a; B!b; end  B: A?a; A?b; end");
    assert!(text.contains("unsafe") && !text.contains("did you mean"), "{text}");
    let vote = "protocol V(role c, role w[n]) { Ask() from c to w;
                choice at w { Yes() from w to c; } or { No() from w to c; } }";
    let (_, text) = said("scr", &["--instances", "w=1..3"], vote);
    assert!(!text.contains("did you mean"), "{text}");
}

#[test]
fn lists_of_problems_name_the_assumptions() {
    let options = ["--faults", "lossy=A->B", "--format", "github"];
    let (_, text) = said("kmc", &options, "A: B!a; end  B: A?a; end");
    assert!(text.contains("at most 1 fault"), "{text}");
}

/// What is waited for and not shown is hinted at.
#[test]
fn a_box_that_has_no_room_says_so() {
    let text = said("kmc", &[], "A: B!z; end  B: {A?a; end, A?b; end, A?c; end, A?d; end}").1;
    assert!(text.contains('…'), "{text}");
}

/// Places are found in one pass: the time is not the square of the length.
#[test]
fn long_texts_are_read_in_linear_time() {
    let line = |peer: &str, action: char| format!("{peer}{action}m; ").repeat(30_000);
    let system = format!("A: {}end B: {}end", line("B", '!'), line("A", '?'));
    let begin = Instant::now();
    let (status, text) = said("kmc", &["--max-states", "10"], &system);
    assert_eq!(status, 3, "{text}");
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
}

/// Each kind of violation that the JSON contract knows has a page.
#[test]
fn every_kind_of_violation_is_explained() {
    let schema: Value = serde_json::from_slice(&referee(&["check", "--schema"], "").stdout).unwrap();
    let kinds = schema["$defs"]["witness"]["properties"]["violation"]["enum"].as_array().unwrap().clone();
    let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
    assert_eq!(kinds.len(), 6, "{kinds:?}");
    for word in kinds.into_iter().chain(["CSA"]) {
        assert!(referee(&["explain", word], "").status.success(), "{word}");
    }
}

/// A label is suggested only where the sender can have meant it.
#[test]
fn a_branch_that_is_missing_is_said_to_be_missing() {
    let (_, text) = said("kmc", &[], "A: {B!go; end, B!stop; end}  B: A?go; end");
    assert!(text.contains("`B` has no branch for `stop` there") && !text.contains("did you mean"), "{text}");
}

/// Who waits for one that waits itself comes after that one.
#[test]
fn causes_come_before_symptoms() {
    let (_, text) = said("kmc", &[], "B: C?go; end  C: D?n; B!go; end  D: end");
    let (cause, symptom) =
        (text.find("`C` waits for `n`").unwrap(), text.find("`B` waits for `go`").unwrap());
    assert!(
        text.contains("unsafe: `C` waits for `n` from `D`, which has ended") && cause < symptom,
        "{text}"
    );
}

/// What is never received is crossed out, also where the sentence is about something else.
#[test]
fn what_is_never_received_is_crossed_out() {
    let (_, text) = said("kmc", &[], "A: B!junk; {C!hi; end, C!ho; end}  B: end  C: A?hi; end");
    let line = text.lines().find(|line| line.contains(" junk ")).unwrap();
    assert!(line.contains('✗'), "{text}");
}

/// With room for five, `C` comes to take `b`: where the bound alone may be the reason, nothing is said to be lost.
#[test]
fn what_a_larger_bound_may_help_is_not_crossed_out() {
    let system = "A: B?go; rec x. {C!b; x, C!b; B?m; x}
                  B: A!go; rec x. A!m; A!m; A!m; A!m; A!m; C!c; x
                  C: rec x. B?c; A?b; x";
    let (status, text) = said("kmc", &[], system);
    assert!(status == 3 && text.contains("may be due to the bound alone"), "{text}");
    assert!(!text.contains('✗'), "{text}");
}

/// A number of copies of which no more is known does not hide another that is unsafe.
#[test]
fn an_unsafe_number_of_copies_is_the_answer() {
    let system = ".outputs .state graph\nq0 1 ! b q1\nq0 1 ! a q1\nq1 1 ? a q2\nq2 1 ? a q3\nq3 1 ! b q3\nq3 1 ! a q3\n.marking q0 .end
.outputs .state graph\nq0 0 ? b q1\nq0 0 ? a q1\nq1 0 ! a q2\nq2 0 ! a q3\nq3 0 ? b q3\nq3 0 ? a q3\nq1 0 ? a q3\n.marking q0 .end\n";
    let (status, text) = said("fsm", &["--instances", "0=1..3"], system);
    let of = |copies: u32| text.lines().find(|line| line.contains(&format!("0 × {copies}: "))).unwrap();
    assert!(of(1).contains("unknown") && of(2).contains("unsafe"), "{text}");
    assert!(status == 1 && text.contains("  unsafe: "), "{text}");
}

#[test]
fn what_is_never_received_says_why() {
    let (_, text) = said("kmc", &[], "A: B!x; rec l. B!a; B?b; l  B: rec l. {A?a; A!b; l, A?c; end}");
    assert!(text.contains("unsafe"), "{text}");
    let (_, text) = said("kmc", &[], "A: B!x; end  B: rec l. C!a; C?b; l  C: rec l. B?a; B!b; l");
    let why = "`B` never receives `x` from `A`: no state that `B` can still reach receives it; the last";
    assert!(text.contains(why), "{text}");
}

#[test]
fn a_component_with_one_type_is_enough() {
    let [component, protocol] = ["component.kmc", "protocol.kmc"].map(temporary);
    std::fs::write(&component, "A: B!login; B?ok; end").unwrap();
    std::fs::write(&protocol, LOGIN).unwrap();
    let with = format!("A={}", component.display());
    let output = referee(&["check", protocol.to_str().unwrap(), "--with", &with], "");
    let text = String::from_utf8(output.stdout).unwrap();
    // It is not safe, so the monitor does not blame it "all the same".
    assert!(text.contains("a monitor of `A` would blame it: ") && text.contains("unsafe"), "{text}");
    for file in [component, protocol] {
        std::fs::remove_file(file).unwrap();
    }
}

#[test]
fn edits_that_are_not_found_are_told_of() {
    let (_, text) = said("kmc", &["--minimal-fix"], "A: B!a; end  B: C?b; D?c; end  C: end  D: end");
    assert!(text.contains("-: --minimal-fix: no single edit was found"), "{text}");
}

/// Each reason of the JSON contract has a page.
#[test]
fn every_reason_is_explained() {
    let schema: Value = serde_json::from_str(include_str!("../src/command/check/schema.json")).unwrap();
    let codes = schema["$defs"]["reason"]["properties"]["code"]["enum"].as_array().unwrap();
    assert!(codes.len() > 10);
    for code in codes {
        let output = referee(&["explain", code.as_str().unwrap()], "");
        assert!(output.status.success(), "{code}");
    }
}

/// Both commands tell the same notion: who waits for an answer that does not come is not blamed.
#[test]
fn check_and_conform_agree_about_a_component() {
    let [component, protocol] = ["waits.kmc", "choice.kmc"].map(temporary);
    std::fs::write(&component, "client: server!Login; server?Ok; end").unwrap();
    let text = "client: server!Login; {server?Ok; end, server?No; end}
server: client?Login; {client!Ok; end, client!No; end}";
    std::fs::write(&protocol, text).unwrap();
    let [file, protocol_file] = [&component, &protocol].map(|path| path.to_str().unwrap());
    let conforms = referee(&["conform", "--role", "client", file, protocol_file], "");
    let with = format!("client={file}");
    let output = referee(&["check", protocol_file, "--with", &with, "--format", "json"], "");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(conforms.status.code(), Some(0));
    assert_eq!(answer["compatibility"]["with"][0]["plays"], true, "{answer}");
    for file in [component, protocol] {
        std::fs::remove_file(file).unwrap();
    }
}

/// Where only the payloads differ, these are told.
#[test]
fn payloads_that_differ_are_told() {
    let (_, text) = said("kmc", &["--minimal-fix"], "A: B!price<int>; end  B: A?price<string>; end");
    let why = "`B` waits for `price(string)` from `A`, but the next message from `A` is `price(int)`";
    assert!(text.contains(why), "{text}");
    assert!(text.contains("change the payload of `price(string)`"), "{text}");
    assert!(!text.contains("to `price`"), "{text}");
}

/// A limit that ended the exploration comes before what a condition of the theorem says.
#[test]
fn a_limit_is_the_reason() {
    let commit = "C: P!p; Q!p; {P?yes; Q?yes; P!go; Q!go; end, Q?yes; P?yes; P!go; Q!go; end}
        P: C?p; C!yes; C?go; end  Q: C?p; C!yes; C?go; end";
    assert!(said("kmc", &[], commit).1.contains("safe"));
    for format in ["text", "github", "sarif", "json"] {
        let (_, text) = said("kmc", &["--max-states", "15", "--format", format], commit);
        assert!(text.contains("the limit on configurations was reached"), "{format}: {text}");
        assert!(!text.contains("receive from one peer at a time"), "{format}: {text}");
    }
    // There is no smaller bound than one.
    let (_, text) = said("kmc", &["--max-states", "2", "--k", "1"], commit);
    assert!(text.contains("what to do: raise it\n"), "{text}");
}

/// A label that the sender sends elsewhere is not what it meant.
#[test]
fn a_label_that_is_known_is_not_suggested() {
    let (_, text) = said("kmc", &["--may-wait", "S"], "C: S!req; S!bye; end  S: rec x. C?req; x");
    assert!(text.contains("`S` has no branch for `bye` there") && !text.contains("did you mean"), "{text}");
}

/// With more room it would go on: who stands before a full channel does not "never send".
#[test]
fn a_full_channel_is_told_with_faults() {
    let text = "A: C!a; C!a; B!a; end  B: A?a; C!go; end  C: B?go; A?a; A?a; end";
    let (_, text) = said("kmc", &["--k", "1", "--faults", "lossy=B->A"], text);
    assert!(text.contains("`A` is about to send `a` to `C`, for which there is no room"), "{text}");
    assert!(!text.contains("never sends that"), "{text}");
}

/// What is violated for some values is not drawn as if it were for all.
#[test]
fn a_property_that_depends_on_values_is_not_drawn_as_violated() {
    let file = temporary("values.hml");
    std::fs::write(&file, "property y5 { max X.([b -> a : Get(5)]ff and [_]X) }").unwrap();
    let protocol =
        "protocol V(role a, role b) { Set(x: int) from a to b where x == 3; Get(y: int) from b to a; }";
    let (_, text) = said("scr", &["--property", file.to_str().unwrap()], protocol);
    assert!(text.contains("`y5` is violated for some"), "{text}");
    std::fs::remove_file(file).unwrap();
}
