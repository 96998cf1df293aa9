//! A monitor as a picture and JSON. Its text and table are those of [`MonitorView`].

use referee_draw::{Edge, EdgeStyle, Graph, Node, NodeKind};
use referee_monitor::{BranchView, MonitorView, Side};
use referee_theory::expr::written_name;
use serde_json::{Value, json};

/// The monitor as a graph: an edge per message, with what must hold for it to pass.
#[must_use]
pub fn graph(monitor: &MonitorView) -> Graph {
    let mut graph = Graph::new(format!("monitor of {}", monitor.role));
    let nodes: Vec<_> = monitor
        .states
        .iter()
        .enumerate()
        .map(|(index, state)| {
            let kind = NodeKind::of_state(index == 0, state.branches.is_empty());
            graph.add_node(Node::new(&*state.name).kind(kind))
        })
        .collect();
    for (state, node) in monitor.states.iter().zip(&nodes) {
        for branch in &state.branches {
            let Some(target) = nodes.get(branch.target) else { continue };
            let style = match branch.sender {
                Side::Process => EdgeStyle::Send,
                Side::Environment => EdgeStyle::Receive,
            };
            let mut edge = Edge::new(*node, *target).line(message(branch)).style(style);
            if let Some(assertion) = &branch.assertion {
                edge = edge.line(format!("{assertion} else {}", branch.assertion_rejection));
            }
            graph.add_edge(edge);
        }
    }
    graph
}

/// `▷Auth(string, string) else noP`.
fn message(branch: &BranchView) -> String {
    let types: Vec<String> = branch.fields.iter().map(|(_, ty)| ty.to_string()).collect();
    format!("{}{}({}) else {}", branch.input(), branch.label, types.join(", "), branch.rejection)
}

/// States and what each takes, with the verdicts.
#[must_use]
pub fn to_json(monitor: &MonitorView) -> Value {
    let name = |index: usize| monitor.states.get(index).map(|state| &*state.name);
    let states: Vec<Value> = monitor
        .states
        .iter()
        .map(|state| {
            let branches: Vec<Value> = state
                .branches
                .iter()
                .map(|branch| {
                    let fields = branch.fields.iter();
                    let fields: Vec<Value> =
                        fields.map(|(name, ty)| json!({"name": name, "type": ty.to_string()})).collect();
                    let from = match branch.sender {
                        Side::Process => &monitor.role,
                        Side::Environment => &branch.peer,
                    };
                    json!({
                        "from": &**from,
                        "label": branch.label,
                        "payload": fields,
                        "assertion": branch.assertion,
                        "updates": branch.updates,
                        "verdict": branch.rejection.to_string(),
                        "assertion_verdict": branch.assertion.as_ref().map(|_| branch.assertion_rejection.to_string()),
                        "target": name(branch.target),
                    })
                })
                .collect();
            let kept = state.kept.iter();
            let kept: Vec<Value> =
                kept.map(|(name, ty)| json!({"name": written_name(name), "type": ty.to_string()})).collect();
            json!({"state": state.name, "kept": kept, "accepts": branches})
        })
        .collect();
    json!({"role": &*monitor.role, "initial": name(0), "initial_values": monitor.initial, "states": states})
}
