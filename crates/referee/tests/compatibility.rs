//! What `referee check` says is so: about properties, faults, copies, limits and options that do not go together.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test reads files and fails by panicking"
)]

#[path = "support/process.rs"]
mod process;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use process::referee;
use serde_json::{Value, json};

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
    let ci = said("kmc", &[&options[..], &["--format", "github"]].concat(), system).1;
    let remarks = &answered(&options, system)["properties"][0]["remarks"];
    assert_eq!(remarks[0], "property `never`: there is no role `Z` in the protocol");
    let is_drawn = std::fs::remove_file(&drawing).is_ok();
    std::fs::remove_file(&property).unwrap();
    assert!(status == 1 && is_drawn && !text.contains("there is no counterexample"), "{text}");
    assert!(text.find("violated: property `never`").unwrap() < text.find("safe:").unwrap(), "{text}");
    assert!(text.contains("there is no label `z` in the protocol"), "{text}");
    assert!(text.contains("there is no role `Z` in the protocol"), "{text}");
    // Where the answer about it is, and where continuous integration reads it.
    assert!(
        text.find("there is no role `Z`").unwrap() < text.find("property `never` fails").unwrap(),
        "{text}"
    );
    assert!(ci.contains("::warning file=-,title=property::property `never`: there is no role `Z`"), "{ci}");
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

/// Each kind of violation, each ground and each reason that the JSON contract knows has a page.
#[test]
fn every_word_of_the_contract_is_explained() {
    let schema: Value = serde_json::from_slice(&referee(&["check", "--schema"], "").stdout).unwrap();
    let of = |object: &str, key: &str| -> Vec<String> {
        let words = schema["$defs"][object]["properties"][key]["enum"].as_array().unwrap();
        words.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let words = [of("witness", "violation"), of("witness", "ground"), of("reason", "code")];
    assert_eq!(words.each_ref().map(Vec::len), [6, 4, 12], "{words:?}");
    let others = ["CSA", "complete", "faults", "fairness"].map(str::to_owned);
    for word in words.concat().into_iter().chain(others) {
        assert!(referee(&["explain", &word], "").status.success(), "{word}");
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

/// What one copy may do, two may not: a property is asked of each number.
#[test]
fn properties_are_asked_of_every_number_of_copies() {
    let [property, protocol] = ["turns.hml", "turns.scr"].map(temporary);
    std::fs::write(&property, "property once { [_ -> _ : Go][_ -> _ : Go]ff }\n").unwrap();
    std::fs::write(&protocol, "protocol T(role a, role w[n]) { Go() from a to w; Done() from w to a; }\n")
        .unwrap();
    let [property_file, protocol_file] = [&property, &protocol].map(|path| path.to_str().unwrap());
    let arguments = ["check", protocol_file, "--property", property_file, "--instances"];
    let output = referee(&[&arguments[..], &["w=1"]].concat(), "");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
    let arguments = [&arguments[..], &["w=1..3"]].concat();
    let output = referee(&arguments, "");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("property `once` fails with w × 2: this execution violates it"), "{text}");
    let output = referee(&[&arguments[..], &["--format", "json"]].concat(), "");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let said = &answer["compatibility"]["properties"][0];
    assert_eq!((&said["verdict"], &said["copies"]), (&"unsafe".into(), &2.into()), "{answer}");
    for file in [property, protocol] {
        std::fs::remove_file(file).unwrap();
    }
}

/// The state of a role that has crashed is none of its machine's.
#[test]
fn a_crash_in_the_execution_of_a_property_has_its_name() {
    let property = temporary("crash.hml");
    std::fs::write(&property, "property once { max X.([A -> B : c]ff and [_]X) }\n").unwrap();
    let kmc = "A: B!a; B!a; B!c; end  B: A?a; A?a; A?c; end";
    let fsm = ".name A\n.outputs\n.state graph\ns0 B ! a s1\ns1 B ! a s2\ns2 B ! c s3\n.marking s0\n.end\n
.name B\n.outputs\n.state graph\ns0 A ? a s1\ns1 A ? a s2\ns2 A ? c s3\n.marking s0\n.end\n";
    for (language, system) in [("kmc", kmc), ("fsm", fsm)] {
        let asked = ["--property", property.to_str().unwrap(), "--faults", "crash=B", "--format", "json"];
        let output = referee(&[&["check", "-", "--language", language][..], &asked].concat(), system);
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let execution = &answer["compatibility"]["properties"][0]["witness"];
        let steps = execution["steps"].as_array().unwrap();
        let crash = steps.iter().find(|step| step["action"] == "crash");
        let states: Vec<&Value> =
            execution["end"]["roles"].as_array().unwrap().iter().map(|role| &role["state"]).collect();
        assert_eq!(output.status.code(), Some(1), "{answer}");
        assert!(crash.is_some_and(|crash| crash["to_state"] == "crashed"), "{answer}");
        assert!(states.contains(&&"crashed".into()), "{answer}");
    }
    std::fs::remove_file(property).unwrap();
}

/// What is not received yet is drawn so where the property is about who received first.
#[test]
fn events_of_a_property_are_drawn_in_their_order() {
    let property = temporary("first.hml");
    std::fs::write(&property, "property first { max X.([D ? y][B ? x]ff and [_]X) }\n").unwrap();
    let system = "A: B!x; end  B: A?x; end  C: D!y; end  D: C?y; end";
    let (_, text) = said("kmc", &["--property", property.to_str().unwrap()], system);
    let line = |label: &str| {
        let arrow = |line: &str| line.contains(&format!(" {label} ")) && line.contains('▶');
        text.lines().position(arrow).unwrap_or_else(|| panic!("{text}"))
    };
    assert!(line("y") < line("x"), "{text}");
    std::fs::remove_file(property).unwrap();
}

/// What is safe stays so where more is allowed.
#[test]
fn copies_of_a_role_that_may_wait_are_no_reason_to_know_less() {
    let pool = "protocol Pool(role m, role w[n]) { rec X { choice at m { Task() from m to w; Done() from w to m; continue X; } \
                or { Stop() from m to w; } } }";
    for may in [&[][..], &["--may-wait", "w"], &["--may-wait", "m"]] {
        let (status, text) = said("scr", &[&["--instances", "w=2"], may].concat(), pool);
        assert_eq!(status, 0, "{text}");
    }
}

/// Who waits for ever does not play the role, but no monitor blames it.
#[test]
fn a_component_that_waits_is_not_blamed() {
    let [component, protocol] = ["mute.kmc", "asked.kmc"].map(temporary);
    std::fs::write(&component, "A: B?never; end").unwrap();
    std::fs::write(&protocol, LOGIN).unwrap();
    let [component_file, protocol_file] = [&component, &protocol].map(|path| path.to_str().unwrap());
    let with = format!("A={component_file}");
    let text = String::from_utf8(referee(&["check", protocol_file, "--with", &with], "").stdout).unwrap();
    assert!(
        text.contains("it does not play `A`: it waits for ever") && !text.contains("would blame"),
        "{text}"
    );
    let output = referee(&["check", protocol_file, "--with", &with, "--format", "json"], "");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let with = &answer["compatibility"]["with"][0];
    assert_eq!((&with["plays"], &with["blamed"]), (&false.into(), &Value::Null), "{answer}");
    assert!(with["why"].as_str().unwrap().contains("waits for ever"), "{answer}");
    for file in [component, protocol] {
        std::fs::remove_file(file).unwrap();
    }
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

/// `text` with the edit `fix` of the JSON contract, by hand; `None` where that is not one place of the text.
fn edited(text: &str, fix: &Value) -> Option<String> {
    let offset = |line: &str, column: &str| {
        let [line, column] = [line, column].map(|key| fix[key].as_u64().unwrap() as usize);
        text.split_inclusive('\n').take(line - 1).map(str::len).sum::<usize>() + column - 1
    };
    let (start, end) = (offset("line", "column"), offset("end_line", "end_column"));
    let message = fix["message"].as_str().unwrap();
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let (before, step, after) = (&text[..start], &text[start..end], &text[end..]);
    match fix["action"].as_str().unwrap() {
        "rename" => {
            let label = step.find(['!', '?']).unwrap() + 1;
            Some([before, &step[..label], quoted[3], after].concat())
        }
        "drop" if message.contains("the branch") => {
            let mut depth = 0;
            let stop = after.find(|c| {
                depth += i32::from(c == '{') - i32::from(c == '}');
                depth < 0 || depth == 0 && c == ','
            });
            let rest = &after[stop.unwrap()..];
            Some(match (rest.strip_prefix(','), before.trim_end().strip_suffix(',')) {
                (Some(rest), _) => before.to_owned() + rest,
                (None, before) => before.unwrap().to_owned() + rest,
            })
        }
        "drop" => Some(before.to_owned() + after.trim_start().strip_prefix(';').unwrap()),
        "add" => {
            let does = if message.split(", ").nth(1).unwrap().contains("sends") { "!" } else { "?" };
            let added = [" ", quoted[2], does, quoted[0], "; "].concat();
            let mut depth = 0;
            let choice = before.rfind(|c| {
                depth += i32::from(c == '}') - i32::from(c == '{');
                depth < 0
            });
            let at = match message.split(", ").nth(2).unwrap() {
                place if place.starts_with("after it") => end + after.find(';').unwrap() + 1,
                place if place.starts_with("before it") => start,
                place if place.starts_with("before the choice") => choice.unwrap(),
                _ => return None,
            };
            Some([&text[..at], &added, &text[at..]].concat())
        }
        other => panic!("{other}"),
    }
}

/// Whoever makes a suggested edit where the text has it gets what is safe: mistakes of all kinds in real protocols.
#[test]
fn suggested_edits_of_the_text_make_it_safe() {
    let known = ["two-buyer", "oauth2", "kerberos", "needham-schroeder", "double-buffering", "philosophers"];
    let mut made = std::collections::BTreeMap::new();
    for name in known {
        let path = format!("{}/../../examples/known/{name}.kmc", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let steps = text.match_indices(['!', '?']).map(|(at, _)| at);
        for (number, at) in steps.enumerate().filter(|(number, _)| number % 2 == 0) {
            let begin = text[..at].rfind(|c: char| !c.is_alphanumeric()).unwrap() + 1;
            let end = at + 1 + text[at + 1..].find(|c: char| !c.is_alphanumeric() && c != '_').unwrap();
            let wrong = match number % 4 {
                0 => text[..=at].to_owned() + "oops" + &text[end..],
                _ => text[..begin].to_owned() + text[end..].trim_start().strip_prefix(';').unwrap(),
            };
            // Of some the text is wrong, too.
            for fix in answered(&["--minimal-fix"], &wrong)["fixes"].as_array().into_iter().flatten() {
                let Some(right) = edited(&wrong, fix) else { continue };
                assert_eq!(answered(&[], &right)["verdict"], "safe", "{fix:#}\n{wrong}\n{right}");
                *made.entry(fix["action"].as_str().unwrap().to_owned()).or_insert(0) += 1;
            }
        }
    }
    assert!(made.len() == 3 && made.values().all(|count| *count > 5), "{made:?}");
}

/// Bytes that are no text are called so, and nothing is suggested in their place.
#[test]
fn what_is_not_utf_8_is_said() {
    let path = temporary("latin.kmc");
    std::fs::write(&path, b"A: B!caf\xe9; end\nB: A?caf\xe9; end\n").unwrap();
    let output = referee(&["check", path.to_str().unwrap()], "");
    std::fs::remove_file(&path).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let says = text.contains("this is not UTF-8") && text.contains("save the file as UTF-8");
    assert!(output.status.code() == Some(2) && says && !text.contains('+'), "{text}");
}

/// A role that one file of several does not have is that file's mistake: the others are answered.
#[test]
fn an_option_that_one_file_cannot_answer_leaves_the_others() {
    let paths = ["one.kmc", "two.kmc"].map(temporary);
    std::fs::write(&paths[0], "A: B!a; end  B: A?a; end").unwrap();
    std::fs::write(&paths[1], "C: D!a; end  D: C?a; end").unwrap();
    let files = paths.each_ref().map(|path| path.to_str().unwrap());
    let check = |options: &[&str]| referee(&[&["check", "--may-wait", "B"], options, &files].concat(), "");
    let document = check(&["--format", "json"]);
    let text = String::from_utf8(check(&[]).stdout).unwrap();
    paths.iter().for_each(|path| std::fs::remove_file(path).unwrap());
    assert_eq!(document.status.code(), Some(2));
    let answers: Value = serde_json::from_slice(&document.stdout).unwrap();
    let [answer] = &answers.as_array().unwrap()[..] else { panic!("{answers:#}") };
    assert_eq!(
        (answer["file"].as_str(), answer["compatibility"]["verdict"].as_str()),
        (Some(files[0]), Some("safe"))
    );
    let said = String::from_utf8(document.stderr).unwrap();
    assert!(said.contains(&format!("{}: there is no role `B` to wait", files[1])), "{said}");
    assert!(text.contains("1 could not be checked") && !text.contains(&format!("✓ {}", files[1])), "{text}");
}

/// A text that does not come is not waited for longer than is allowed.
#[test]
fn the_limit_on_time_covers_reading() {
    let path = temporary("pipe.kmc");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    // Opened for reading as well, so that neither end waits for the other to be opened.
    let end = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    for options in [vec![path.to_str().unwrap()], vec!["-", "--property", path.to_str().unwrap()]] {
        let output =
            referee(&[vec!["check", "--max-time", "1"], options].concat(), "A: B!a; end  B: A?a; end");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.code() == Some(3) && said.contains("(--max-time) was reached while `"),
            "{said}"
        );
    }
    drop(end);
    std::fs::remove_file(&path).unwrap();
}

/// The two transitions that are mixed are the actions that the reason is about.
#[test]
fn a_defect_of_a_machine_names_its_actions() {
    let reason = &answered(&[], "A: rec x. {B!a; x, B?b; x}  B: rec y. {A?a; y, A!b; y}")["reason"];
    let action = |number: usize, key: &str| reason["actions"][number][key].clone();
    assert_eq!((&reason["code"], &reason["role"]), (&json!("mixed-state"), &json!("A")), "{reason:#}");
    assert_eq!((action(0, "action"), action(0, "label")), (json!("send"), json!("a")));
    assert_eq!(
        (action(1, "action"), action(1, "label"), action(1, "line")),
        (json!("receive"), json!("b"), json!(1))
    );
}

/// What was found at the bound before a limit is told, and raising the limit is advised where it may help only.
#[test]
fn a_limit_hides_nothing() {
    let racy = "A: rec x. C!a; x  B: rec y. C!b; y  C: rec z. {A?a; z, B?b; z}";
    let answer = answered(&["--max-states", "5"], racy);
    let said = |key: &str| answer["reason"][key].as_str().unwrap().to_owned();
    assert_eq!((&answer["limit"], said("code").as_str()), (&json!("states"), "limit"));
    let begins = "the limit on configurations was reached at k = 2 before everything was looked at. With 1 message per channel `C` can";
    assert!(said("message").starts_with(begins), "{answer:#}");
    assert!(
        said("advice").starts_with("what is received first") && !said("advice").contains("limit"),
        "{answer:#}"
    );
    let mixed = "A: rec x. {B!a; x, B?b; x}  B: rec y. {A?a; y, A!b; y}";
    let answer = answered(&["--max-states", "10"], mixed);
    assert_eq!(
        (&answer["limit"], &answer["reason"]["advice"]),
        (&json!("states"), &json!("let one of them go first"))
    );
}

/// With faults, of which the answer is for one bound, what a smaller one shows is told, too.
#[test]
fn a_limit_hides_no_smaller_room() {
    let endless = "A: rec x. B!a; x  B: rec y. A?a; y";
    let reason = &answered(&["--faults", "lossy=A->B", "--max-states", "5"], endless)["reason"];
    let ends = "was reached at k = 2 before everything was looked at. With 1 message per channel it is safe";
    assert!(reason["code"] == "limit" && reason["message"].as_str().unwrap().ends_with(ends), "{reason:#}");
}

/// No bound has room for all that `A` may send to `B`, and a larger one is an answer all the same.
#[test]
fn that_no_bound_has_room_for_all_is_not_that_none_helps() {
    let system = "A: rec x. {B!a; x, C!b; x}  B: D?go; rec y. A?a; y  C: rec z. A?b; z
                  D: E!m; E!m; E!m; E!m; E!m; F!n; B!go; end  F: D?n; E!ok; end  E: F?ok; D?m; D?m; D?m; D?m; D?m; end";
    let reason = &answered(&[], system)["reason"];
    assert_eq!(
        (&reason["code"], &reason["growth"]["no_bound_suffices"]),
        (&json!("obi"), &json!(false)),
        "{reason:#}"
    );
    let says = |key: &str, what: &str| assert!(reason[key].as_str().unwrap().contains(what), "{reason:#}");
    says("message", "no bound leaves room for all of it");
    says("advice", "a larger k may help all the same");
    assert_eq!(answered(&["--max-k", "5"], system)["verdict"], "safe");
}

/// "It plays the role" is said where that is good news.
#[test]
fn a_component_that_leaves_a_message_plays_nothing() {
    let [component, protocol] = ["leaves.kmc", "sends.kmc"].map(temporary);
    std::fs::write(&component, "B: A?a; A?c; end").unwrap();
    std::fs::write(&protocol, "A: B!a; B!b; end  B: A?a; A?b; end").unwrap();
    let with = format!("B={}", component.display());
    let output = referee(&["check", protocol.to_str().unwrap(), "--with", &with], "");
    [component, protocol].iter().for_each(|path| std::fs::remove_file(path).unwrap());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.code() == Some(1) && !text.contains("which it plays"), "{text}");
    assert!(text.contains("a monitor of `B` never blames it: what it sends, the role may send"), "{text}");
}

/// What no order of the protocol's messages violates holds, also where no bound has room for everything.
#[test]
fn what_nothing_can_violate_holds() {
    let property = temporary("nothing.hml");
    std::fs::write(&property, "property p { max X.([B -> A : a]ff and [_]X) }").unwrap();
    let endless = "A: rec x. B!a; x  B: rec y. A?a; y";
    let answer = answered(&["--property", property.to_str().unwrap()], endless);
    std::fs::remove_file(&property).unwrap();
    let found = &answer["properties"][0];
    assert_eq!((&found["verdict"], &found["k"]), (&json!("holds"), &json!(0)), "{found:#}");
}
