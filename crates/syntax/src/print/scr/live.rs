//! Which recursion data are read behind a place: a text must not leave their recursion before it.

use std::sync::Arc;

use referee_theory::expr::Expr;
use referee_theory::{Global, GlobalType, NodeId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::structure::{Place, Structure};

/// By node, the data that the text reads there or later, before they get new values.
pub(super) struct Live<'a> {
    global: &'a GlobalType,
    at: FxHashMap<NodeId, FxHashSet<&'a str>>,
}

impl<'a> Live<'a> {
    pub(super) fn of(global: &'a GlobalType) -> Self {
        let mut live = Self { global, at: FxHashMap::default() };
        let parameters = global.nodes().filter_map(|(_, node)| match node {
            Global::Rec(rec) => Some(&rec.parameters),
            _ => None,
        });
        let data: FxHashSet<&str> = parameters.flatten().map(|parameter| &*parameter.name).collect();
        if !data.is_empty() {
            live.search(&data);
        }
        live
    }

    fn search(&mut self, data: &FxHashSet<&'a str>) {
        let global = self.global;
        let mut before: FxHashMap<NodeId, Vec<NodeId>> = FxHashMap::default();
        let mut pending: Vec<(&'a str, NodeId)> = Vec::new();
        let mut read = |expr: &'a Arc<Expr>, node: NodeId| {
            let names = expr.free_variables().into_iter().filter(|name| data.contains(&***name));
            pending.extend(names.map(|name| (&**name, node)));
        };
        for (node, content) in global.nodes() {
            content.for_each_child(|child| before.entry(child).or_default().push(node));
            match content {
                Global::Exchange(exchange) => {
                    for branch in &exchange.branches {
                        let spec = global.vocabulary().spec(branch.message);
                        let times = spec.timing.iter().flat_map(|timing| timing.lengths());
                        spec.assertion.iter().chain(times).for_each(|expr| read(expr, node));
                    }
                }
                Global::Rec(rec) => {
                    for parameter in &rec.parameters {
                        read(&parameter.initial, node);
                        parameter.refinement.iter().for_each(|refinement| read(refinement, rec.body));
                    }
                }
                Global::Call(call) => {
                    call.arguments.iter().for_each(|argument| read(argument, node));
                    if let Global::Rec(rec) = global.node(call.target) {
                        before.entry(rec.body).or_default().push(node);
                    }
                }
                Global::End | Global::Par(_) | Global::Join(_) => {}
            }
        }
        while let Some((name, node)) = pending.pop() {
            if self.at.entry(node).or_default().insert(name) {
                let earlier = before.get(&node).into_iter().flatten();
                pending.extend(
                    earlier.filter(|earlier| !self.assigns(**earlier, name)).map(|earlier| (name, *earlier)),
                );
            }
        }
    }

    /// Whether passing `node` gives the data called `name` another value.
    fn assigns(&self, node: NodeId, name: &str) -> bool {
        let rec = match self.global.node(node) {
            Global::Rec(rec) => Some(rec),
            Global::Call(call) if !call.arguments.is_empty() => match self.global.node(call.target) {
                Global::Rec(rec) => Some(rec),
                _ => None,
            },
            _ => None,
        };
        rec.is_some_and(|rec| rec.parameters.iter().any(|parameter| *parameter.name == *name))
    }

    /// Whether all recursions between `start` and `place` may end before `place`: nobody reads their data from there on.
    pub(super) fn may_leave(&self, structure: &Structure, start: NodeId, place: Place) -> bool {
        let Some(read) = place.node().and_then(|node| self.at.get(&node)) else { return true };
        let declares = |node: NodeId| match self.global.node(node) {
            Global::Rec(rec) => rec.parameters.iter().any(|parameter| read.contains(&*parameter.name)),
            _ => false,
        };
        !region(self.global, structure, start, place).into_iter().any(declares)
    }
}

/// The nodes from `start` up to `place`, exclusively.
pub(super) fn region(
    global: &GlobalType,
    structure: &Structure,
    start: NodeId,
    place: Place,
) -> FxHashSet<NodeId> {
    let (mut seen, mut pending) = (FxHashSet::default(), vec![start]);
    while let Some(node) = pending.pop() {
        if structure.place(node) != place && seen.insert(node) {
            global.node(node).for_each_child(|child| pending.push(child));
        }
    }
    seen
}
