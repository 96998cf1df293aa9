//! `referee watch --property` and `referee verify-verdict` as scripts rely on them.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "tests throughout")]

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

fn file(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("referee-properties-{}-{name}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path
}

fn referee(arguments: &[&str], files: &[&PathBuf]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_referee")).args(arguments).args(files).output().unwrap()
}

fn lines(output: &Output) -> Vec<Value> {
    String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Every case of the corpus in which the system can do what the trace says: a monitor sees only what was done.
#[test]
fn the_cases_of_the_corpus() {
    let Some(root) = referee_testkit::corpus::corpus_root() else {
        eprintln!("skipped: there is no corpus beside the repository");
        return;
    };
    let cases: Value = serde_json::from_slice(&std::fs::read(root.join("hml/cases.json")).unwrap()).unwrap();
    let mut checked = 0;
    for case in cases["cases"].as_array().unwrap() {
        if case.get("system_traces").is_some() {
            continue;
        }
        let id = case["id"].as_str().unwrap();
        let property = file(&format!("{id}.hml"), case["formula"].as_str().unwrap());
        let actions: Vec<&str> =
            case["trace"].as_array().unwrap().iter().map(|a| a.as_str().unwrap()).collect();
        let events = file(&format!("{id}.txt"), &actions.join("\n"));
        let arguments =
            ["watch", "--events-format", "actions", "--format", "json", "--explain", "--property"];
        let output = referee(&arguments, &[&property, &events]);
        let verdicts = lines(&output);
        let found = verdicts.first().map_or(Value::Null, |verdict| verdict["event"].clone());
        assert_eq!(found, case["first_violation_index"], "{id}");
        let status = match (verdicts.is_empty(), actions.is_empty()) {
            (false, _) => 1,
            (true, false) => 0,
            // Where there is no event there is no answer.
            (true, true) => 3,
        };
        assert_eq!(output.status.code(), Some(status), "{id}");
        let told = file(&format!("{id}.verdicts"), &String::from_utf8_lossy(&output.stdout));
        let verified =
            referee(&["verify-verdict", "--events-format", "actions", "--property"], &[&property, &told]);
        assert_eq!(verified.status.code(), Some(0), "{id}: {}", String::from_utf8_lossy(&verified.stdout));
        checked += 1;
        for path in [property, events, told] {
            std::fs::remove_file(path).unwrap();
        }
    }
    assert!(checked > 70, "{checked} cases");
}

#[test]
fn a_verdict_that_was_changed_is_not_derived() {
    let property = file("once.hml", "[wrk?{req,C,N}][C!{rply,N}][C!{rply,N}]ff");
    let events = file("once.txt", "wrk?{req,c1,7}\nc1!{rply,7}\nc1!{rply,7}\n");
    let arguments = ["watch", "--events-format", "actions", "--format", "json", "--explain", "--property"];
    let output = referee(&arguments, &[&property, &events]);
    let verdict = &lines(&output)[0];
    assert_eq!(verdict["kind"], "property");
    assert_eq!(verdict["event"], 2);
    assert_eq!(verdict["values"], serde_json::json!({"C": "c1", "N": "7"}));
    let status = |verdict: &Value| {
        let told = file("once.verdicts", &verdict.to_string());
        referee(&["verify-verdict", "--events-format", "actions", "--property"], &[&property, &told])
            .status
            .code()
    };
    assert_eq!(status(verdict), Some(0));
    for (key, value) in [
        ("/event", serde_json::json!(1)),
        ("/verdict", serde_json::json!("satisfaction")),
        ("/events/2", serde_json::json!("c2!{rply,7}")),
        ("/derivation/0/bound/1/1", serde_json::json!("8")),
    ] {
        let mut changed = verdict.clone();
        *changed.pointer_mut(key).unwrap() = value;
        assert_eq!(status(&changed), Some(1), "{key}");
    }
    let mut without = verdict.clone();
    without.as_object_mut().unwrap().remove("derivation");
    assert_eq!(status(&without), Some(2));
}

#[test]
fn a_wrong_call_is_said_to_be_one() {
    let property = file("call.hml", "[a?b]ff");
    let events = file("call.txt", "a?b\n");
    for arguments in [
        vec!["watch", "--events-format", "actions", "--protocol"],
        vec!["watch", "--reorder", "5s", "--events-format", "actions", "--property"],
        vec!["watch", "--role", "a", "--property"],
    ] {
        assert_eq!(referee(&arguments, &[&property, &events]).status.code(), Some(2), "{arguments:?}");
    }
    let broken = file("broken.hml", "[a?b");
    assert_eq!(referee(&["watch", "--property"], &[&broken, &events]).status.code(), Some(2));
    let text =
        referee(&["watch", "--explain", "--events-format", "actions", "--property"], &[&property, &events]);
    let shown = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(
        shown.contains("violation of `property`, event 0") && shown.contains("1 event in 1 instance"),
        "{shown}"
    );
}

/// Events of several instances derive nothing about one, and a verdict is about its own key, session and values.
#[test]
fn a_verdict_about_another_instance_is_not_derived() {
    let property = file("slice.hml", "property once for each id { [_ -> _ : A(x)][_ -> _ : A(x)]ff }");
    let line = |id: u32| format!(r#"{{"id":{id},"from":"a","to":"b","label":"A","payload":{{"x":3}}}}"#);
    let events = file("slice.jsonl", &format!("{}\n{}\n", line(1), line(1)));
    let output = referee(&["watch", "--format", "json", "--explain", "--property"], &[&property, &events]);
    let verdict = &lines(&output)[0];
    let status = |verdict: &Value| {
        let told = file("slice.verdicts", &verdict.to_string());
        referee(&["verify-verdict", "--property"], &[&property, &told]).status.code()
    };
    assert_eq!((status(verdict), &verdict["key"]), (Some(0), &serde_json::json!("1")), "{verdict}");
    for (key, value) in [
        ("/events/1", serde_json::json!(line(2))),
        ("/key", serde_json::json!("777")),
        ("/key", Value::Null),
        ("/session", serde_json::json!("5")),
        ("/values/x", serde_json::json!("4")),
    ] {
        let mut changed = verdict.clone();
        *changed.pointer_mut(key).unwrap() = value;
        assert_eq!(status(&changed), Some(1), "{key}");
    }
}

/// However many ways events are sliced, a line that is no event is one, and is said to be where its flaw is.
#[test]
fn a_line_that_is_no_event_is_told_once() {
    let text = "property a {[_][_]ff}\nproperty b for each x {[_][_]ff}\nproperty c for each y {[_][_]ff}";
    let property = file("slices.hml", text);
    let events = file("slices.jsonl", "{\"x\":1,\"payload\":{\"a\":1,\"a\":2}}\n{\"x\":1}\n");
    let output = referee(&["watch", "--property"], &[&property, &events]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(said.matches("column").count(), 1, "{said}");
    assert!(said.contains("column 25"), "{said}");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains("1 line\n") && shown.contains("1 event in 2 instances"), "{shown}");
}

#[test]
fn a_key_that_no_event_has_is_warned_of() {
    let property = file("nokey.hml", "property p for each nosuchkey {[_][_]ff}");
    let events = file("nokey.jsonl", "{\"x\":1}\n{\"x\":1}\n");
    let output = referee(&["watch", "--property"], &[&property, &events]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("nothing was judged"), "{said}");
    assert_eq!(output.status.code(), Some(3));
}
