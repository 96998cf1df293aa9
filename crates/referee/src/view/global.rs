//! A global protocol as a picture and JSON.

use referee_draw::{Edge, EdgeStyle, Graph, Node, NodeKind};
use referee_theory::{Global, GlobalType, NodeId};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use super::{payload_json, signature};

/// The protocol as a graph: a node per exchange, an edge per message.
#[must_use]
pub fn graph(name: &str, global: &GlobalType) -> Graph {
    let vocabulary = global.vocabulary();
    let mut graph = Graph::new(format!("protocol {name}"));
    let mut nodes: FxHashMap<NodeId, referee_draw::NodeId> = FxHashMap::default();
    let mut pending = Vec::new();
    let mut node_of = |at: NodeId, graph: &mut Graph, pending: &mut Vec<NodeId>| {
        let at = unfold(global, at);
        *nodes.entry(at).or_insert_with(|| {
            let initial = pending.is_empty() && graph.nodes().is_empty();
            pending.push(at);
            let (label, kind) = match global.node(at) {
                Global::Exchange(exchange) => {
                    let kind = if initial { NodeKind::Initial } else { NodeKind::Normal };
                    (vocabulary.role_name(exchange.sender).to_owned(), kind)
                }
                Global::Par(_) => {
                    ("par".to_owned(), if initial { NodeKind::Initial } else { NodeKind::Normal })
                }
                _ => ("end".to_owned(), if initial { NodeKind::InitialFinal } else { NodeKind::Final }),
            };
            graph.add_node(Node::new(label).kind(kind))
        })
    };
    node_of(global.root(), &mut graph, &mut pending);
    while let Some(at) = pending.pop() {
        let exchange = match global.node(at) {
            Global::Exchange(exchange) => exchange,
            Global::Par(par) => {
                let from = node_of(at, &mut graph, &mut pending);
                let blocks = par.blocks.iter().map(|block| (*block, "and"));
                for (part, line) in blocks.chain([(par.next, "then")]) {
                    let to = node_of(part, &mut graph, &mut pending);
                    graph.add_edge(Edge::new(from, to).line(line).style(EdgeStyle::Plain));
                }
                continue;
            }
            _ => continue,
        };
        for branch in &exchange.branches {
            let from = node_of(at, &mut graph, &mut pending);
            let to = node_of(branch.next, &mut graph, &mut pending);
            let receiver = vocabulary.role_name(branch.receiver);
            let line = format!("→ {receiver}: {}", signature(vocabulary, branch.message));
            graph.add_edge(Edge::new(from, to).line(line).style(EdgeStyle::Plain));
        }
    }
    graph
}

/// What stands at `node` once definitions and calls are followed. Terminates: recursion is guarded.
fn unfold(global: &GlobalType, mut node: NodeId) -> NodeId {
    loop {
        match global.node(node) {
            Global::Rec(rec) => node = rec.body,
            Global::Call(call) => node = call.target,
            Global::End | Global::Exchange(_) | Global::Par(_) | Global::Join(_) => return node,
        }
    }
}

/// The protocol as a list of nodes that refer to one another by index.
#[must_use]
pub fn to_json(name: Option<&str>, global: &GlobalType) -> Value {
    let vocabulary = global.vocabulary();
    let nodes: Vec<Value> = global
        .nodes()
        .map(|(_, node)| match node {
            Global::End => json!({"kind": "end"}),
            Global::Join(par) => json!({"kind": "join", "par": par.0}),
            Global::Par(par) => json!({
                "kind": "par", "blocks": par.blocks.iter().map(|block| block.0).collect::<Vec<_>>(),
                "next": par.next.0,
            }),
            Global::Call(call) => json!({
                "kind": "call", "target": call.target.0,
                "arguments": call.arguments.iter().map(ToString::to_string).collect::<Vec<_>>(),
            }),
            Global::Rec(rec) => json!({
                "kind": "rec", "name": &*rec.name, "body": rec.body.0,
                "parameters": rec.parameters.iter().map(|parameter| json!({
                    "name": &*parameter.name, "type": parameter.ty.to_string(),
                    "roles": parameter.roles.iter().map(|role| vocabulary.role_name(*role)).collect::<Vec<_>>(),
                    "initial": parameter.initial.to_string(),
                })).collect::<Vec<_>>(),
            }),
            Global::Exchange(exchange) => json!({
                "kind": "exchange", "sender": vocabulary.role_name(exchange.sender),
                "branches": exchange.branches.iter().map(|branch| {
                    let spec = vocabulary.spec(branch.message);
                    json!({
                        "receiver": vocabulary.role_name(branch.receiver),
                        "label": vocabulary.label_name(spec.label),
                        "payload": payload_json(vocabulary, branch.message),
                        "assertion": spec.assertion.as_ref().map(ToString::to_string),
                        "times": spec.timing.as_ref().map(ToString::to_string),
                        "next": branch.next.0,
                    })
                }).collect::<Vec<_>>(),
            }),
        })
        .collect();
    json!({
        "name": name,
        "roles": vocabulary.roles().map(|role| vocabulary.role_name(role)).collect::<Vec<_>>(),
        "root": global.root().0,
        "nodes": nodes,
    })
}
