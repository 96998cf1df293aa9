//! A counterexample as JSON, and the hint beside it. As a diagram: `execution.rs`.

use std::fmt;
use std::rc::Rc;

use referee_check::{Execution, Fact, Fault, Ground, Situation, Step, Violation, Witness};
use referee_syntax::diagnostics::suggest;
use referee_theory::{Action, Origin, System, Transition};
use serde_json::{Value, json};

use crate::Extent;

/// A place in a text: line and column of its beginning and its end, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, if it is another one than the protocol's: an imported one, or a component's.
    pub file: Option<Rc<str>>,
    /// Where it begins.
    pub line: usize,
    /// Where it begins.
    pub column: usize,
    /// Where it ends.
    pub end_line: usize,
    /// Where it ends.
    pub end_column: usize,
}

impl Place {
    /// Where `extent` is.
    #[must_use]
    pub fn new(extent: &Extent<'_>) -> Self {
        let Extent { imported, start, end } = extent;
        let file = imported.map(Rc::from);
        Self { file, line: start.line, column: start.column, end_line: end.line, end_column: end.column }
    }
}

impl fmt::Display for Place {
    /// "line 3", "line 3 of `server.fsm`".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            None => write!(f, "line {}", self.line),
            Some(file) => write!(f, "line {} of `{file}`", self.line),
        }
    }
}

/// The place of each origin that has one.
pub type Places<'a> = &'a dyn Fn(Origin) -> Option<Place>;

/// "did you mean `exit`?", where another message comes than the one that is waited for; "`B` has no branch for `stop` there",
/// where no other label can be meant.
#[must_use]
pub fn hint(witness: &Witness, system: &System) -> Option<String> {
    let vocabulary = system.vocabulary();
    let (from, to, wrong) = witness.facts.iter().find_map(|fact| match fact {
        Fact::Next { from, to, message, .. } => Some((*from, *to, vocabulary.label_of(*message))),
        _ => None,
    })?;
    // Where the receiver takes such a message elsewhere, the label is not the mistake.
    let takes = |step: &Transition| {
        step.action == Action::Receive && step.peer == from && vocabulary.label_of(step.message) == wrong
    };
    if witness.violation != Some(Violation::UnexpectedMessage)
        || system.machine(to).all_transitions().iter().any(takes)
    {
        return None;
    }
    let offers = witness.facts.iter().find_map(|fact| match fact {
        Fact::Waits { offers, .. } => Some(offers),
        _ => None,
    })?;
    let labels: Vec<&str> = offers
        .iter()
        .filter(|step| step.peer == from)
        .map(|step| vocabulary.label_of(step.message))
        .filter(|label| *label != wrong)
        .collect();
    if labels.is_empty() {
        return None;
    }
    // A label that the sender knows, here or elsewhere, is not what it meant.
    let sends = |label: &&str| {
        system.machine(from).all_transitions().iter().any(|step| {
            (step.action, step.peer) == (Action::Send, to) && vocabulary.label_of(step.message) == *label
        })
    };
    let meant = match labels[..] {
        [only] => Some(only),
        _ => suggest::closest(wrong, labels),
    };
    Some(match meant.filter(|label| !sends(label)) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("`{}` has no branch for `{wrong}` there", vocabulary.role_name(to)),
    })
}

/// One step: who does what, with whom, between which states, and where the text says so.
#[must_use]
pub fn step_to_json(step: &Step, system: &System, places: Places<'_>) -> Value {
    let vocabulary = system.vocabulary();
    let machine = system.machine(step.role);
    let crash = step.fault == Some(Fault::Crash);
    let mut value = json!({
        "role": vocabulary.role_name(step.role),
        "action": match step.action {
            _ if crash => "crash",
            Action::Send => "send",
            Action::Receive => "receive",
        },
        "peer": (!crash).then(|| vocabulary.role_name(step.peer)),
        "label": (!crash).then(|| vocabulary.label_of(step.message)),
        "fault": step.fault.map(Fault::name),
        "from_state": machine.state_name(step.source),
        "to_state": machine.state_name(step.target),
        "file": null, "line": null, "column": null, "end_line": null, "end_column": null,
    });
    if let Some(place) = places(step.origin) {
        value["file"] = place.file.as_deref().into();
        value["line"] = place.line.into();
        value["column"] = place.column.into();
        value["end_line"] = place.end_line.into();
        value["end_column"] = place.end_column.into();
    }
    value
}

/// The execution, what fails at its end, where each role stands and what is left in each channel.
#[must_use]
pub fn to_json(witness: &Witness, system: &System, places: Places<'_>) -> Value {
    let vocabulary = system.vocabulary();
    let name = |role| vocabulary.role_name(role);
    let step = |step: &Step| step_to_json(step, system, places);
    let round = witness.facts.iter().find_map(|fact| match fact {
        Fact::Loop { first } => Some(*first),
        _ => None,
    });
    json!({
        "property": witness.property.name(),
        "violation": witness.violation.map(Violation::name),
        "k": witness.bound,
        "role": witness.role().map(name),
        "steps": witness.steps.iter().map(step).collect::<Vec<_>>(),
        "point_of_no_return": witness.point_of_no_return,
        "loop_from": round,
        "ground": witness.ground.map(Ground::name),
        "shortest": witness.shortest,
        "explanation": witness.explanation,
        "hint": hint(witness, system),
        "end": end_to_json(&witness.end, system, places),
    })
}

/// An execution that violates a property with its last step.
#[must_use]
pub fn execution_to_json(execution: &Execution, system: &System, places: Places<'_>) -> Value {
    json!({
        "k": execution.bound,
        "steps": execution.steps.iter().map(|step| step_to_json(step, system, places)).collect::<Vec<_>>(),
        "end": end_to_json(&execution.end, system, places),
    })
}

/// Where each role stands and what is left in each channel.
fn end_to_json(end: &Situation, system: &System, places: Places<'_>) -> Value {
    let vocabulary = system.vocabulary();
    let name = |role| vocabulary.role_name(role);
    let roles: Vec<Value> = end
        .standings
        .iter()
        .map(|standing| {
            let offers = standing.offers.iter().map(|step| step_to_json(step, system, places));
            json!({
                "role": name(standing.role),
                "state": system.machine(standing.role).state_name(standing.state),
                "offers": offers.collect::<Vec<_>>(),
            })
        })
        .collect();
    let channels: Vec<Value> = end
        .queues
        .iter()
        .map(|queue| {
            let labels: Vec<&str> = queue.messages.iter().map(|(_, m)| vocabulary.label_of(*m)).collect();
            json!({"from": queue.from.map(name), "to": name(queue.to), "messages": labels})
        })
        .collect();
    json!({"roles": roles, "channels": channels})
}
