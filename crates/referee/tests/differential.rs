//! The command line against Definition 3 of FMSD'15: random formulas as text, random traces as JSON lines and as plain
//! actions, and the event at which `referee watch` first reports a violation.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests throughout")]

use std::collections::HashMap;
use std::fmt::Write as _;
use std::process::Command;

use referee_reference::shml::{
    Action, ActionPattern, Direction, Formula, Pattern, System, Value, first_violation,
};
use referee_testkit::choices::{Choices as _, Random};
use referee_testkit::formulas::{action, formula, relevant_trace};
use serde_json::json;

/// A value in JSON: tuples are told from lists.
fn value(value: &Value) -> serde_json::Value {
    match value {
        Value::Atom(name) => json!(name),
        Value::Int(number) => json!(number),
        Value::Tuple(parts) => json!({"tuple": parts.iter().map(self::value).collect::<Vec<_>>()}),
        Value::List(parts) => parts.iter().map(self::value).collect(),
    }
}

/// An action as a message: what is received comes from `world`, what is sent goes there.
fn event(action: &Action) -> serde_json::Value {
    let process = value(&action.process);
    let (from, to, label) = match action.direction {
        Direction::Input => (json!("world"), process, "In"),
        Direction::Output => (process, json!("world"), "Out"),
    };
    json!({"from": from, "to": to, "label": label, "payload": [value(&action.value)]})
}

fn pattern(pattern: &Pattern) -> String {
    let list = |parts: &[Pattern]| parts.iter().map(self::pattern).collect::<Vec<_>>().join(", ");
    match pattern {
        Pattern::Any => "_".to_owned(),
        Pattern::Variable(name) => name.clone(),
        Pattern::Value(known) => constant(known),
        Pattern::Tuple(parts) => format!("{{tuple: [{}]}}", list(parts)),
        Pattern::List(parts) => format!("[{}]", list(parts)),
        Pattern::Bind(_) | Pattern::Use(_) => panic!("the formula is not resolved yet: {pattern:?}"),
    }
}

fn constant(known: &Value) -> String {
    let list = |parts: &[Value]| parts.iter().map(constant).collect::<Vec<_>>().join(", ");
    match known {
        Value::Atom(name) => format!("\"{name}\""),
        Value::Int(number) => number.to_string(),
        Value::Tuple(parts) => format!("{{tuple: [{}]}}", list(parts)),
        Value::List(parts) => format!("[{}]", list(parts)),
    }
}

fn message(pattern: &ActionPattern) -> String {
    let role = match &pattern.process {
        Pattern::Any => "_".to_owned(),
        Pattern::Variable(name) => format!("${name}"),
        known => known.to_string(),
    };
    let value = self::pattern(&pattern.value);
    match pattern.direction {
        Direction::Input => format!("world -> {role} : In({value})"),
        Direction::Output => format!("{role} -> world : Out({value})"),
    }
}

/// The formula about messages instead of actions.
fn native(formula: &Formula) -> String {
    match formula {
        Formula::Ff => "ff".to_owned(),
        Formula::Tt => "tt".to_owned(),
        Formula::Variable(name) => name.clone(),
        Formula::And(left, right) => format!("({} and {})", native(left), native(right)),
        Formula::Max(name, body) => format!("max {name}.({})", native(body)),
        Formula::Necessity(pattern, next) => format!("[{}]({})", message(pattern), native(next)),
    }
}

/// The first violations that `referee watch` reports, by property.
fn watch(number: u64, properties: &str, events: &str, form: &str) -> HashMap<String, i64> {
    let path = |what: &str| {
        std::env::temp_dir()
            .join(format!("referee-differential-{}-{number}-{form}.{what}", std::process::id()))
    };
    let (property_file, event_file) = (path("hml"), path("log"));
    std::fs::write(&property_file, properties).unwrap();
    std::fs::write(&event_file, events).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_referee"))
        .args(["watch", "--format", "json", "--events-format", form, "--property"])
        .args([&property_file, &event_file])
        .output()
        .unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
    let mut found = HashMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let verdict: serde_json::Value = serde_json::from_str(line).unwrap();
        if verdict["verdict"] == "violation" {
            let name = verdict["property"].as_str().unwrap().to_owned();
            assert!(found.insert(name, verdict["event"].as_i64().unwrap()).is_none(), "{line}: twice");
        }
    }
    for file in [property_file, event_file] {
        std::fs::remove_file(file).unwrap();
    }
    found
}

#[test]
fn the_first_violation_is_that_of_definition_3() {
    const FILES: u64 = 60;
    const FORMULAS: usize = 40;
    let mut violated = 0;
    for seed in 0..FILES {
        let mut random = Random::new(seed);
        let formulas: Vec<Formula> = (0..FORMULAS).map(|size| formula(&mut random, 2 + size % 12)).collect();
        let mut trace = relevant_trace(&mut random, &formulas[0], 3);
        for _ in 0..2 {
            let about = random.choose(FORMULAS);
            trace.extend(relevant_trace(&mut random, &formulas[about], 2));
            trace.push(action(&mut random));
        }
        let (mut plain, mut messages) = (String::new(), String::new());
        for (number, formula) in formulas.iter().enumerate() {
            let _ = writeln!(plain, "property p{number} {{ {formula} }}");
            let _ = writeln!(messages, "property p{number} {{ {} }}", native(formula));
        }
        let actions: String = trace.iter().map(|action| format!("{action}\n")).collect();
        let json: String = trace.iter().map(|action| format!("{}\n", event(action))).collect();
        let system = System::of_traces(std::slice::from_ref(&trace));
        let by_actions = watch(seed, &plain, &actions, "actions");
        let by_json = watch(seed, &messages, &json, "jsonl");
        for (number, formula) in formulas.iter().enumerate() {
            let expected = first_violation(&system, &trace, &formula.resolve());
            let name = format!("p{number}");
            let place = format!("seed {seed}: {formula} on {actions}");
            assert_eq!(by_actions.get(&name).copied(), expected, "{place}");
            assert_eq!(by_json.get(&name).copied(), expected, "as {}: {place}", native(formula));
            violated += usize::from(expected.is_some());
        }
    }
    assert!(violated > 300, "{violated}");
}
