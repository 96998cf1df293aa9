//! A machine as a picture, a table and JSON.

use std::fmt::Write as _;

use referee_draw::{Edge, EdgeStyle, Graph, Node, NodeKind};
use referee_theory::{Action, Machine, State, Transition, Vocabulary};
use serde_json::{Value, json};

use super::{payload_json, signature};

/// The machine as a graph.
#[must_use]
pub fn graph(machine: &Machine, vocabulary: &Vocabulary) -> Graph {
    graph_labelled(machine, vocabulary, action)
}

/// The machine as a graph, with the names of fields in its labels: `B!m(x: int)`, as nuScr writes them.
#[must_use]
pub fn graph_with_fields(machine: &Machine, vocabulary: &Vocabulary) -> Graph {
    graph_labelled(machine, vocabulary, |transition, vocabulary| {
        let peer = vocabulary.role_name(transition.peer);
        let time = times(vocabulary, transition.message);
        format!("{peer}{}{}{time}", transition.action.symbol(), vocabulary.display(transition.message))
    })
}

fn graph_labelled(
    machine: &Machine,
    vocabulary: &Vocabulary,
    label: impl Fn(&Transition, &Vocabulary) -> String,
) -> Graph {
    let mut graph = Graph::new(format!("machine of {}", vocabulary.role_name(machine.role())));
    let mut nodes = Vec::new();
    for state in machine.states() {
        let kind = NodeKind::of_state(state == machine.initial(), machine.is_final(state));
        nodes.push(graph.add_node(Node::new(machine.state_name(state)).kind(kind)));
    }
    for state in machine.states() {
        for transition in machine.transitions(state) {
            let style = match transition.action {
                Action::Send => EdgeStyle::Send,
                Action::Receive => EdgeStyle::Receive,
            };
            let (from, to) = (nodes[state.index()], nodes[transition.target.index()]);
            graph.add_edge(Edge::new(from, to).line(label(transition, vocabulary)).style(style));
        }
    }
    graph
}

/// `server!Auth(string, string)`.
#[must_use]
pub fn action(transition: &Transition, vocabulary: &Vocabulary) -> String {
    let peer = vocabulary.role_name(transition.peer);
    let time = times(vocabulary, transition.message);
    format!("{peer}{}{}{time}", transition.action.symbol(), signature(vocabulary, transition.message))
}

/// ` within 5s`, or nothing.
pub(super) fn times(vocabulary: &Vocabulary, message: referee_theory::Message) -> String {
    vocabulary.spec(message).timing.as_ref().map(|timing| format!(" {timing}")).unwrap_or_default()
}

/// One line per transition, in columns.
#[must_use]
pub fn table(machine: &Machine, vocabulary: &Vocabulary) -> String {
    let role = vocabulary.role_name(machine.role());
    let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let states = count(machine.state_count(), "state");
    let transitions = count(machine.all_transitions().len(), "transition");
    let mut text = format!("{role}: {states}, {transitions}\n");
    for value in vocabulary.initial_values(machine.role()) {
        let _ = writeln!(text, "  {value}");
    }
    let name = |state: State| machine.state_name(state);
    let width = machine.states().map(|state| name(state).chars().count()).max().unwrap_or(0);
    let actions = machine.all_transitions().iter().map(|t| action(t, vocabulary).chars().count());
    let action_width = actions.max().unwrap_or(0);
    for state in machine.states() {
        let mark = if state == machine.initial() { "→" } else { " " };
        if machine.is_final(state) {
            let _ = writeln!(text, "{mark} {:width$}  end", name(state));
        }
        for transition in machine.transitions(state) {
            let action = action(transition, vocabulary);
            let target = name(transition.target);
            let _ = write!(text, "{mark} {:width$}  {action:action_width$}  {target}", name(state));
            if let Some(assertion) = &vocabulary.spec(transition.message).assertion {
                let _ = write!(text, "  where {assertion}");
            }
            for update in &*vocabulary.spec(transition.message).updates {
                let _ = write!(text, "  {update}");
            }
            text.push('\n');
        }
    }
    text
}

/// States and transitions.
#[must_use]
pub fn to_json(machine: &Machine, vocabulary: &Vocabulary) -> Value {
    let transitions: Vec<Value> = machine
        .states()
        .flat_map(|state| machine.transitions(state).iter().map(move |transition| (state, transition)))
        .map(|(state, transition)| {
            let spec = vocabulary.spec(transition.message);
            json!({
                "source": machine.state_name(state),
                "action": if transition.action == Action::Send { "send" } else { "receive" },
                "peer": vocabulary.role_name(transition.peer),
                "label": vocabulary.label_name(spec.label),
                "payload": payload_json(vocabulary, transition.message),
                "assertion": spec.assertion.as_ref().map(ToString::to_string),
                "times": spec.timing.as_ref().map(ToString::to_string),
                "updates": spec.updates.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "target": machine.state_name(transition.target),
            })
        })
        .collect();
    let finals = machine.states().filter(|state| machine.is_final(*state)).map(|s| machine.state_name(s));
    json!({
        "role": vocabulary.role_name(machine.role()),
        "states": machine.states().map(|state| machine.state_name(state)).collect::<Vec<_>>(),
        "initial": machine.state_name(machine.initial()),
        "initial_values": vocabulary.initial_values(machine.role()).iter().map(ToString::to_string).collect::<Vec<_>>(),
        "final": finals.collect::<Vec<_>>(),
        "transitions": transitions,
    })
}
