//! A multiparty monitor as text, a picture and JSON.

use referee_draw::{Edge, EdgeStyle, Graph, Node, NodeId, NodeKind};
use referee_monitor::multiparty::{RoleMonitor, Term, TermId};
use referee_theory::Vocabulary;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use super::{payload_json, signature};

/// `c = mu X.c?s{login<>.c!{a}(login).X, quit<>.c!{a}(quit).end}`.
#[must_use]
pub fn text(monitor: &RoleMonitor) -> String {
    format!("{} = {}\n", monitor.vocabulary().role_name(monitor.role()), monitor.to_text())
}

/// The role, its monitor in the paper's notation, and the monitor as a list of nodes, of which the first is
/// where it starts.
#[must_use]
pub fn to_json(monitor: &RoleMonitor) -> Value {
    let vocabulary = monitor.vocabulary();
    let name = |role| vocabulary.role_name(role);
    let mut order = vec![monitor.root()];
    let mut number: FxHashMap<TermId, usize> = FxHashMap::from_iter([(monitor.root(), 0)]);
    let mut nodes = Vec::new();
    while let Some(&node) = order.get(nodes.len()) {
        let mut number_of = |next: TermId| {
            *number.entry(next).or_insert_with(|| {
                order.push(next);
                order.len() - 1
            })
        };
        nodes.push(match monitor.term(node) {
            Term::End => json!({"kind": "end"}),
            Term::Call { level } => json!({"kind": "call", "level": level}),
            Term::Rec { level, body } => {
                json!({"kind": "rec", "level": level, "name": monitor.name(node), "body": number_of(*body)})
            }
            Term::Inform { informed, label, next } => {
                let informed: Vec<&str> = informed.iter().map(|role| name(*role)).collect();
                json!({"kind": "dependency-output", "informed": informed,
                       "label": vocabulary.label_name(*label), "next": number_of(*next)})
            }
            Term::Learn { informer, second, branches } => {
                let informers: Vec<&str> = [*informer].into_iter().chain(*second).map(name).collect();
                let branches: Vec<Value> = branches
                    .iter()
                    .map(|(label, next)| {
                        json!({"label": vocabulary.label_name(*label), "next": number_of(*next)})
                    })
                    .collect();
                json!({"kind": "dependency-input", "informers": informers, "branches": branches})
            }
            Term::Output { peer, branches } | Term::Input { peer, branches } => {
                let sends = matches!(monitor.term(node), Term::Output { .. });
                let branches: Vec<Value> = branches
                    .iter()
                    .map(|(message, next)| {
                        let spec = vocabulary.spec(*message);
                        let assertion = spec.assertion.as_ref().map(ToString::to_string);
                        let updates: Vec<String> = spec.updates.iter().map(ToString::to_string).collect();
                        json!({"label": vocabulary.label_of(*message), "payload": payload_json(vocabulary, *message),
                               "assertion": assertion, "times": spec.timing.as_ref().map(ToString::to_string), "updates": updates, "next": number_of(*next)})
                    })
                    .collect();
                json!({"kind": if sends { "output" } else { "input" }, "peer": name(*peer), "branches": branches})
            }
        });
    }
    let followed = monitor.followed().iter().map(|followed| vocabulary.label_of(followed.message));
    json!({
        "role": name(monitor.role()),
        "kind": "multiparty",
        "monitor": monitor.to_text(),
        "follows": followed.collect::<Vec<_>>(),
        "nodes": nodes,
    })
}

/// The monitor as a graph: solid edges are what the component does, dashed ones what monitors tell each other.
#[must_use]
pub fn graph(monitor: &RoleMonitor) -> Graph {
    let vocabulary = monitor.vocabulary();
    let title = format!("multiparty monitor of {}", vocabulary.role_name(monitor.role()));
    let mut drawing = Drawing {
        monitor,
        vocabulary,
        graph: Graph::new(title),
        nodes: FxHashMap::default(),
        pending: Vec::new(),
    };
    drawing.place(monitor.root(), Vec::new(), true);
    while let Some((term, scope, from)) = drawing.pending.pop() {
        drawing.edges(term, &scope, from);
    }
    drawing.graph
}

/// The definitions in force, by level.
type Scope = Vec<Option<TermId>>;

struct Drawing<'a> {
    monitor: &'a RoleMonitor,
    vocabulary: &'a Vocabulary,
    graph: Graph,
    nodes: FxHashMap<(TermId, Scope), NodeId>,
    pending: Vec<(TermId, Scope, NodeId)>,
}

impl Drawing<'_> {
    /// The node of `term` under `scope`; definitions and calls are followed, and telling nobody is nothing.
    fn place(&mut self, mut term: TermId, mut scope: Scope, initial: bool) -> NodeId {
        // Ends: recursion is guarded.
        loop {
            match self.monitor.term(term) {
                Term::Rec { level, body } => {
                    scope.resize(*level as usize, None);
                    scope.push(Some(term));
                    term = *body;
                }
                Term::Call { level } => match scope.get(*level as usize).copied().flatten() {
                    Some(definition) => term = definition,
                    None => break,
                },
                Term::Inform { informed, next, .. } if informed.is_empty() => term = *next,
                Term::End => {
                    scope.clear();
                    break;
                }
                Term::Inform { .. } | Term::Learn { .. } | Term::Output { .. } | Term::Input { .. } => break,
            }
        }
        if let Some(&known) = self.nodes.get(&(term, scope.clone())) {
            return known;
        }
        let end = matches!(self.monitor.term(term), Term::End);
        let label = if end { "end".to_owned() } else { self.nodes.len().to_string() };
        let node = self.graph.add_node(Node::new(label).kind(NodeKind::of_state(initial, end)));
        self.nodes.insert((term, scope.clone()), node);
        self.pending.push((term, scope, node));
        node
    }

    fn edges(&mut self, term: TermId, scope: &Scope, from: NodeId) {
        let vocabulary = self.vocabulary;
        let name = |role| vocabulary.role_name(role);
        let mut edges: Vec<(TermId, String, EdgeStyle)> = Vec::new();
        match self.monitor.term(term) {
            Term::Output { peer, branches } => edges.extend(branches.iter().map(|(message, next)| {
                (*next, format!("{}!{}", name(*peer), signature(vocabulary, *message)), EdgeStyle::Send)
            })),
            Term::Input { peer, branches } => edges.extend(branches.iter().map(|(message, next)| {
                (*next, format!("{}?{}", name(*peer), signature(vocabulary, *message)), EdgeStyle::Receive)
            })),
            Term::Inform { informed, label, next } => {
                let informed: Vec<&str> = informed.iter().map(|role| name(*role)).collect();
                let line = format!("{{{}}}!({})", informed.join(","), vocabulary.label_name(*label));
                edges.push((*next, line, EdgeStyle::Dependency));
            }
            Term::Learn { informer, second, branches } => {
                edges.extend(branches.iter().map(|(label, next)| {
                    let also = second.map_or(String::new(), |second| format!(",{}", name(second)));
                    let line = format!("{}{also}?({})", name(*informer), vocabulary.label_name(*label));
                    (*next, line, EdgeStyle::Dependency)
                }))
            }
            Term::End | Term::Rec { .. } | Term::Call { .. } => {}
        }
        for (next, line, style) in edges {
            let to = self.place(next, scope.clone(), false);
            self.graph.add_edge(Edge::new(from, to).line(line).style(style));
        }
    }
}
