//! Formulas and traces of actions: all small ones, random larger ones with data, and the cases of the corpus.
//!
//! Formulas are those of `referee_reference::shml`; as text (`to_string`) they are properties in the plain form, which
//! is how a test hands them to the product.

use referee_reference::shml::{Action, ActionPattern, Direction, Formula, Pattern, Value};

use crate::choices::Choices;
use crate::corpus::corpus_root;

/// An atom.
#[must_use]
pub fn atom(name: &str) -> Value {
    Value::Atom(name.to_owned())
}

/// `process?value`.
#[must_use]
pub fn input(process: &str, value: Value) -> Action {
    Action { direction: Direction::Input, process: atom(process), value }
}

/// The pattern that matches `action` alone.
#[must_use]
pub fn exactly(action: &Action) -> ActionPattern {
    ActionPattern {
        direction: action.direction,
        process: Pattern::Value(action.process.clone()),
        value: Pattern::Value(action.value.clone()),
    }
}

/// All closed and guarded formulas of at most `size` connectives over `patterns`, `tt` left out. The variables of nested
/// recursions are distinct.
#[must_use]
pub fn formulas(size: usize, patterns: &[ActionPattern]) -> Vec<Formula> {
    (1..=size).flat_map(|size| exactly_as_large(size, patterns, 0, 0)).collect()
}

/// Those of exactly `size`, under `depth` recursions of which the outer `guarded` may be called.
fn exactly_as_large(size: usize, patterns: &[ActionPattern], guarded: usize, depth: usize) -> Vec<Formula> {
    let mut all = Vec::new();
    if size == 1 {
        all.push(Formula::Ff);
        all.extend((0..guarded).map(|number| Formula::Variable(format!("X{number}"))));
        return all;
    }
    for next in exactly_as_large(size - 1, patterns, depth, depth) {
        for pattern in patterns {
            all.push(Formula::Necessity(pattern.clone(), next.clone().into()));
        }
    }
    for body in exactly_as_large(size - 1, patterns, guarded, depth + 1) {
        all.push(Formula::Max(format!("X{depth}"), body.into()));
    }
    for left_size in 1..size - 1 {
        let rights = exactly_as_large(size - 1 - left_size, patterns, guarded, depth);
        for left in exactly_as_large(left_size, patterns, guarded, depth) {
            for right in &rights {
                all.push(Formula::And(left.clone().into(), right.clone().into()));
            }
        }
    }
    all
}

/// All traces of at most `length` of these actions, the empty one included, shorter ones first.
#[must_use]
pub fn traces(length: usize, actions: &[Action]) -> Vec<Vec<Action>> {
    let mut all = vec![Vec::new()];
    let mut last = all.clone();
    for _ in 0..length {
        let longer = last.iter().flat_map(|trace: &Vec<Action>| {
            actions.iter().map(|action| [&trace[..], std::slice::from_ref(action)].concat())
        });
        last = longer.collect();
        all.extend(last.iter().cloned());
    }
    all
}

/// A value of a small world, so that equal ones are frequent.
pub fn value(choices: &mut impl Choices, depth: usize) -> Value {
    match choices.choose(if depth == 0 { 5 } else { 8 }) {
        0 => atom("a"),
        1 => atom("b"),
        2 => atom("p"),
        3 => Value::Int(0),
        4 => Value::Int(1),
        5 | 6 => Value::Tuple((0..=choices.choose(2)).map(|_| value(choices, depth - 1)).collect()),
        _ => Value::List((0..choices.choose(3)).map(|_| value(choices, depth - 1)).collect()),
    }
}

/// An action of the same small world.
pub fn action(choices: &mut impl Choices) -> Action {
    let direction = if choices.choose(2) == 0 { Direction::Input } else { Direction::Output };
    let process = [atom("p"), atom("q"), atom("a")][choices.choose(3)].clone();
    Action { direction, process, value: value(choices, 1) }
}

fn pattern(choices: &mut impl Choices, depth: usize) -> Pattern {
    match choices.choose(if depth == 0 { 6 } else { 8 }) {
        0 => Pattern::Any,
        1 => Pattern::Variable("U".to_owned()),
        2 => Pattern::Variable("V".to_owned()),
        3 => Pattern::Variable("W".to_owned()),
        4 | 5 => Pattern::Value(value(choices, 0)),
        _ => Pattern::Tuple((0..=choices.choose(2)).map(|_| pattern(choices, depth - 1)).collect()),
    }
}

/// A pattern of actions, with variables.
pub fn action_pattern(choices: &mut impl Choices) -> ActionPattern {
    let direction = if choices.choose(2) == 0 { Direction::Input } else { Direction::Output };
    let process = match choices.choose(5) {
        0 => Pattern::Any,
        1 => Pattern::Variable("U".to_owned()),
        2 => Pattern::Value(atom("q")),
        _ => Pattern::Value(atom("p")),
    };
    ActionPattern { direction, process, value: pattern(choices, 1) }
}

/// A closed, guarded formula of about `size` connectives, with data. Recursion is frequent: loops matter most.
pub fn formula(choices: &mut impl Choices, size: usize) -> Formula {
    formula_under(choices, size, 0, 0)
}

fn formula_under(choices: &mut impl Choices, size: usize, guarded: usize, depth: usize) -> Formula {
    if size <= 1 {
        return match choices.choose(if guarded == 0 { 4 } else { 8 }) {
            0..=2 => Formula::Ff,
            3 => Formula::Tt,
            number => Formula::Variable(format!("X{}", number % guarded)),
        };
    }
    match choices.choose(8) {
        0..=3 => {
            let pattern = action_pattern(choices);
            Formula::Necessity(pattern, formula_under(choices, size - 1, depth, depth).into())
        }
        4 | 5 if depth < 3 => {
            let body = formula_under(choices, size - 1, guarded, depth + 1);
            Formula::Max(format!("X{depth}"), body.into())
        }
        _ => {
            let left = 1 + choices.choose(size - 1);
            let left_part = formula_under(choices, left, guarded, depth);
            Formula::And(left_part.into(), formula_under(choices, size - left, guarded, depth).into())
        }
    }
}

/// A trace that `formula` often has something to say about: each action matches one of its patterns, or is random.
pub fn relevant_trace(choices: &mut impl Choices, formula: &Formula, length: usize) -> Vec<Action> {
    let mut patterns = Vec::new();
    collect(formula, &mut patterns);
    (0..length)
        .map(|_| {
            if patterns.is_empty() || choices.choose(5) == 0 {
                return action(choices);
            }
            let pattern = patterns[choices.choose(patterns.len())];
            let process = match instance(choices, &pattern.process) {
                process @ Value::Atom(_) => process,
                _ => atom("p"),
            };
            Action { direction: pattern.direction, process, value: instance(choices, &pattern.value) }
        })
        .collect()
}

fn collect<'a>(formula: &'a Formula, patterns: &mut Vec<&'a ActionPattern>) {
    match formula {
        Formula::Necessity(pattern, next) => {
            patterns.push(pattern);
            collect(next, patterns);
        }
        Formula::And(left, right) => {
            collect(left, patterns);
            collect(right, patterns);
        }
        Formula::Max(_, body) => collect(body, patterns),
        Formula::Ff | Formula::Tt | Formula::Variable(_) => {}
    }
}

fn instance(choices: &mut impl Choices, pattern: &Pattern) -> Value {
    match pattern {
        Pattern::Value(value) => value.clone(),
        Pattern::Tuple(parts) => Value::Tuple(parts.iter().map(|part| instance(choices, part)).collect()),
        Pattern::List(parts) => Value::List(parts.iter().map(|part| instance(choices, part)).collect()),
        _ => value(choices, 0),
    }
}

/// A case of the corpus: a formula, a trace, what the system can do, and when it is violated.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name.
    pub id: String,
    /// The formula as text.
    pub formula: String,
    /// The actions as text.
    pub trace: Vec<String>,
    /// What the system can do; `None`: at least the trace.
    pub system_traces: Option<Vec<Vec<String>>>,
    /// −1 before any event; `None`: not violated.
    pub first_violation: Option<i64>,
}

/// The cases of the corpus; `None` where there is no corpus.
///
/// # Panics
/// If the file is not as its description says.
#[must_use]
pub fn cases() -> Option<Vec<Case>> {
    let path = corpus_root()?.join("hml/cases.json");
    let text = std::fs::read_to_string(path).ok()?;
    let file: serde_json::Value = serde_json::from_str(&text).ok()?;
    let strings = |value: &serde_json::Value| -> Option<Vec<String>> {
        value.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
    };
    file["cases"]
        .as_array()?
        .iter()
        .map(|case| {
            Some(Case {
                id: case["id"].as_str()?.to_owned(),
                formula: case["formula"].as_str()?.to_owned(),
                trace: strings(&case["trace"])?,
                system_traces: match case.get("system_traces") {
                    Some(traces) => Some(traces.as_array()?.iter().map(strings).collect::<Option<_>>()?),
                    None => None,
                },
                first_violation: case["first_violation_index"].as_i64(),
            })
        })
        .collect()
}
