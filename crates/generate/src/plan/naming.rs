//! What the types and methods of an endpoint are called.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use referee_theory::{Machine, State, Type, Vocabulary};

use super::{FieldPlan, Kind, Plan, RecordPlan, StatePlan, StepPlan};
use crate::names::{Scope, capitalised, upper_camel};

/// Types that a file of some target has besides those of the protocol.
pub(super) const TYPES: [&str; 96] = [
    "Any",
    "Array",
    "ArrayLike",
    "AsyncGenerator",
    "AsyncIterable",
    "BigInt",
    "BinaryIO",
    "Boolean",
    "BrokenPipeError",
    "Callable",
    "Clone",
    "Connection",
    "ConnectionResetError",
    "Date",
    "Debug",
    "Duration",
    "End",
    "Ended",
    "Err",
    "Error",
    "Exception",
    "Expect",
    "Failure",
    "Field",
    "Final",
    "FinalizationRegistry",
    "Function",
    "Infinity",
    "Into",
    "Iterable",
    "Iterator",
    "JSON",
    "Json",
    "JsonLines",
    "L",
    "Late",
    "Link",
    "Map",
    "Mapping",
    "Math",
    "Members",
    "Message",
    "NaN",
    "NoReturn",
    "None",
    "Number",
    "OSError",
    "Object",
    "Ok",
    "Opaque",
    "Option",
    "Ordered",
    "OverflowError",
    "Parser",
    "Partial",
    "PartialEq",
    "Pattern",
    "Peer",
    "PredicateFailed",
    "Promise",
    "Protocol",
    "ReadonlyMap",
    "Received",
    "Record",
    "RecursionError",
    "Refused",
    "Result",
    "Self",
    "Sequence",
    "Session",
    "SessionError",
    "Set",
    "Signature",
    "Some",
    "Start",
    "StartEvent",
    "String",
    "Symbol",
    "SyntaxError",
    "T",
    "TextDecoder",
    "TextEncoder",
    "ToOwned",
    "ToString",
    "TypeAlias",
    "TypeError",
    "TypeVar",
    "Uint8Array",
    "Undefined",
    "UnicodeDecodeError",
    "Used",
    "Value",
    "ValueError",
    "Vec",
    "Violated",
    "WrongType",
];

impl Plan {
    /// A name for each record type, from the message and the field that have it first.
    pub(super) fn name_records(&mut self, names: &mut Scope) {
        let mut found: Vec<RecordPlan> = Vec::new();
        for message in &self.messages {
            for field in &message.fields {
                let mut pending = vec![(format!("{}{}", message.name, upper_camel(&field.wire)), &field.ty)];
                while let Some((name, ty)) = pending.pop() {
                    match ty {
                        Type::Record(fields) if found.iter().all(|record| record.fields != *fields) => {
                            let inner =
                                fields.iter().map(|(part, ty)| (format!("{name}{}", upper_camel(part)), ty));
                            pending.extend(inner);
                            found.push(RecordPlan { name: names.claim(&name), fields: Arc::clone(fields) });
                        }
                        Type::List(element) => pending.push((name, element)),
                        Type::Tuple(parts) => pending.extend(parts.iter().map(|ty| (name.clone(), ty))),
                        _ => {}
                    }
                }
            }
        }
        self.records = found;
    }

    /// A name for each step of a state, which makes its method and the variant of its event.
    pub(super) fn name_steps(&self, kind: Kind, peers: &[String], steps: &mut [StepPlan]) {
        let labels: Vec<&str> = steps.iter().map(|step| &*self.messages[step.message].label).collect();
        let preposition = if kind == Kind::Sends { "To" } else { "From" };
        let mut taken = Scope::with(&["Self", "New", "Link", "Abort"]);
        let mut names = Vec::new();
        for (label, step) in labels.iter().zip(&*steps) {
            let mut name = upper_camel(label);
            if labels.iter().filter(|other| *other == label).count() > 1 {
                name.push_str(preposition);
                name.push_str(&upper_camel(&peers[step.peer]));
            }
            // What asks whether a message is right has a name, too.
            let all = |number: usize| {
                let name = if number == 1 { name.clone() } else { format!("{name}{number}") };
                vec![name.clone(), format!("Admits{name}"), format!("Computes{name}")]
            };
            names.push(taken.claim_all(all).swap_remove(0));
        }
        for (step, name) in steps.iter_mut().zip(names) {
            step.name = name;
        }
    }
}

/// The types that targets make of a state: itself, what arrives there, and each message that does.
pub(super) fn type_names(state: &StatePlan) -> Vec<String> {
    type_names_of(&state.name, state)
}

/// The same if the state had this name.
fn type_names_of(name: &str, state: &StatePlan) -> Vec<String> {
    let events = state.steps.iter().map(|step| format!("{name}Got{}", step.name));
    [name.to_owned(), format!("{name}Event")].into_iter().chain(events).collect()
}

/// Names the states: `Start`, `End`, and for the others what led to them first: `AfterAuth`; with what was before that where it is needed to tell them
/// apart.
pub(super) fn name_states(machine: &Machine, vocabulary: &Vocabulary, states: &mut [StatePlan]) {
    let mut ways: Vec<Vec<String>> = vec![Vec::new(); machine.state_count()];
    // States are numbered in breadth-first order: the first transition into a state comes from one that has its way.
    for state in machine.states() {
        for transition in machine.transitions(state) {
            let target = transition.target.index();
            if target == 0 || !ways[target].is_empty() {
                continue;
            }
            let mut way = ways[state.index()].clone();
            way.push(capitalised(vocabulary.label_of(transition.message)));
            ways[target] = way;
        }
    }
    let mut taken = Scope::with(&TYPES);
    let mut alike: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (at, way) in ways.iter().enumerate() {
        alike.entry(way.last().map_or("", String::as_str)).or_default().insert(at);
    }
    let name = |state: State| {
        if machine.is_final(state) && state != machine.initial() {
            return "End".to_owned();
        }
        if state == machine.initial() {
            return "Start".to_owned();
        }
        let way = &ways[state.index()];
        let last = way.last().map_or("", String::as_str);
        // The shortest way back that tells it from the others; numbers where three steps do not.
        let shared = |length: usize| {
            let alike = alike.get(last).into_iter().flatten();
            alike.filter(|&&other| ways[other].ends_with(&way[way.len() - length..])).count()
        };
        let length = (1..=3.min(way.len())).find(|length| shared(*length) == 1);
        let name = format!(
            "After{}",
            length.map_or_else(|| last.to_owned(), |length| way[way.len() - length..].concat())
        );
        let names = |number: usize| {
            let name = if number == 1 { name.clone() } else { format!("{name}{number}") };
            type_names_of(&name, &states[state.index()])
        };
        taken.claim_all(names).swap_remove(0)
    };
    let names: Vec<String> = machine.states().map(name).collect();
    for (state, name) in states.iter_mut().zip(names) {
        state.name = name;
    }
}

/// What the fields of a message are called, each `written` as a target writes it.
pub(crate) fn field_names(fields: &[FieldPlan], written: impl Fn(&str) -> String) -> Vec<String> {
    let mut scope = Scope::default();
    let name = |(at, field): (usize, &FieldPlan)| match &field.variable {
        Some(name) => written(name),
        None => format!("field{}", at + 1),
    };
    fields.iter().enumerate().map(|field| scope.claim(&name(field))).collect()
}
