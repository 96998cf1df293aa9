//! A relative type as a picture and JSON. Its text is [`RelativeType::to_text`].

use referee_draw::{Edge, EdgeStyle, Graph, Node, NodeId, NodeKind};
use referee_theory::relative::{Relative, RelativeId, RelativeType};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use super::{payload_json, signature};

/// The relative type as a graph: solid edges are exchanges, dashed ones dependencies.
#[must_use]
pub fn graph(relative: &RelativeType) -> Graph {
    let vocabulary = relative.vocabulary();
    let (p, q) = relative.pair();
    let title = format!("{} and {}", vocabulary.role_name(p), vocabulary.role_name(q));
    let mut graph = Graph::new(format!("relative type of {title}"));
    let mut drawing = Drawing { relative, nodes: FxHashMap::default(), pending: Vec::new() };
    let root = drawing.resolve(relative.root(), &mut Vec::new());
    let start = drawing.node(root, &mut graph, true);
    let _ = start;
    while let Some((at, scope)) = drawing.pending.pop() {
        let Some(&from) = drawing.nodes.get(&at) else { continue };
        let (branches, prefix, style) = match relative.node(at.0) {
            Relative::Exchange { sender, receiver, branches } => {
                let names = (vocabulary.role_name(*sender), vocabulary.role_name(*receiver));
                (branches, format!("{}→{}: ", names.0, names.1), EdgeStyle::Plain)
            }
            Relative::Dependency { informer, informed, branches, .. } => {
                let names = (vocabulary.role_name(*informer), vocabulary.role_name(*informed));
                (branches, format!("{}⇢{}: ", names.0, names.1), EdgeStyle::Dependency)
            }
            Relative::End | Relative::Rec { .. } | Relative::Call { .. } => continue,
        };
        for (message, next) in branches {
            let target = drawing.resolve(*next, &mut scope.clone());
            let to = drawing.node(target, &mut graph, false);
            let label = match style {
                EdgeStyle::Dependency => vocabulary.label_of(*message).to_owned(),
                _ => signature(vocabulary, *message),
            };
            graph.add_edge(Edge::new(from, to).line(format!("{prefix}{label}")).style(style));
        }
    }
    graph
}

/// A node under the recursions that enclose it: the definition in force at each level.
type Place = (RelativeId, Vec<Option<RelativeId>>);

struct Drawing<'a> {
    relative: &'a RelativeType,
    nodes: FxHashMap<Place, NodeId>,
    pending: Vec<(Place, Vec<Option<RelativeId>>)>,
}

impl Drawing<'_> {
    /// Follows definitions and calls to an exchange, a dependency or the end.
    fn resolve(&self, mut node: RelativeId, scope: &mut Vec<Option<RelativeId>>) -> Place {
        // Terminates: recursion is guarded.
        loop {
            match self.relative.node(node) {
                Relative::Rec { level, body } => {
                    let level = *level as usize;
                    scope.truncate(level);
                    scope.resize(level, None);
                    scope.push(Some(node));
                    node = *body;
                }
                Relative::Call { level } => match scope.get(*level as usize).copied().flatten() {
                    Some(definition) => node = definition,
                    None => return (node, Vec::new()),
                },
                Relative::End => return (node, Vec::new()),
                Relative::Exchange { .. } | Relative::Dependency { .. } => return (node, scope.clone()),
            }
        }
    }

    fn node(&mut self, place: Place, graph: &mut Graph, initial: bool) -> NodeId {
        if let Some(&known) = self.nodes.get(&place) {
            return known;
        }
        let end = matches!(self.relative.node(place.0), Relative::End);
        let kind = NodeKind::of_state(initial, end);
        let label = if end { "end".to_owned() } else { format!("{}", self.nodes.len()) };
        let node = graph.add_node(Node::new(label).kind(kind));
        self.nodes.insert(place.clone(), node);
        let scope = place.1.clone();
        self.pending.push((place, scope));
        node
    }
}

/// The pair, its type in the paper's notation, and the type as a list of nodes.
#[must_use]
pub fn to_json(relative: &RelativeType) -> Value {
    let vocabulary = relative.vocabulary();
    let (p, q) = relative.pair();
    let mut order = vec![relative.root()];
    let mut number: FxHashMap<RelativeId, usize> = FxHashMap::from_iter([(relative.root(), 0)]);
    let mut nodes = Vec::new();
    while let Some(&node) = order.get(nodes.len()) {
        let mut number_of = |next: RelativeId| {
            *number.entry(next).or_insert_with(|| {
                order.push(next);
                order.len() - 1
            })
        };
        nodes.push(match relative.node(node) {
            Relative::End => json!({"kind": "end"}),
            Relative::Call { level } => json!({"kind": "call", "level": level}),
            Relative::Rec { level, body } => {
                json!({"kind": "rec", "level": level, "name": relative.name(node), "body": number_of(*body)})
            }
            Relative::Exchange { sender, receiver, branches } => {
                let branches: Vec<Value> = branches
                    .iter()
                    .map(|(message, next)| {
                        json!({"label": vocabulary.label_of(*message),
                               "payload": payload_json(vocabulary, *message), "next": number_of(*next)})
                    })
                    .collect();
                json!({"kind": "exchange", "sender": vocabulary.role_name(*sender),
                       "receiver": vocabulary.role_name(*receiver), "branches": branches})
            }
            Relative::Dependency { informer, action, other, informed, branches } => {
                let branches: Vec<Value> = branches
                    .iter()
                    .map(|(message, next)| json!({"label": vocabulary.label_of(*message), "next": number_of(*next)}))
                    .collect();
                json!({"kind": if action.symbol() == '!' { "output-dependency" } else { "input-dependency" },
                       "informer": vocabulary.role_name(*informer), "other": vocabulary.role_name(*other),
                       "informed": vocabulary.role_name(*informed), "branches": branches})
            }
        });
    }
    json!({
        "pair": [vocabulary.role_name(p), vocabulary.role_name(q)],
        "type": relative.to_text(),
        "nodes": nodes,
    })
}
