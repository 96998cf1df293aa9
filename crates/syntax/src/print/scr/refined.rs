//! Refinements of recursion data, which conditions of messages say as well: see `crate::scr::refine`. Where they are printed, those
//! conditions are not.

use std::sync::Arc;

use referee_theory::expr::{Expr, NoExternals, Node, Value, eval};
use referee_theory::{Branch, Global, GlobalType, NodeId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Whether reading the refinements of `global` again gives each message the conditions that it has.
pub(super) fn are_printed(global: &GlobalType) -> bool {
    let is_refined = |(_, node): (NodeId, &Global)| match node {
        Global::Rec(rec) => rec.parameters.iter().any(|parameter| parameter.refinement.is_some()),
        _ => false,
    };
    let holds = |condition: &Expr| {
        let nothing: FxHashMap<Arc<str>, Value> = FxHashMap::default();
        eval(condition, &nothing.into_iter().collect::<std::collections::HashMap<_, _>>(), &NoExternals)
            == Ok(Value::Bool(true))
    };
    let said = |(_, node): (NodeId, &Global)| match node {
        Global::Exchange(exchange) => exchange.branches.iter().all(|branch| own(global, branch).is_some()),
        _ => true,
    };
    global.nodes().any(is_refined)
        && asked(global, global.root()).iter().all(holds)
        && global.nodes().all(said)
}

/// The condition of the message of `branch` without what refinements ask of it; `None` if something is asked that it does not say.
pub(super) fn own(global: &GlobalType, branch: &Branch) -> Option<Option<Arc<Expr>>> {
    let assertion = &global.vocabulary().spec(branch.message).assertion;
    let asked = asked(global, branch.next);
    if asked.is_empty() {
        return Some(assertion.clone());
    }
    let assertion = assertion.as_ref()?;
    let mut left = conjuncts(assertion);
    for condition in asked.iter().flat_map(conjuncts).collect::<Vec<_>>().into_iter().rev() {
        left.remove(left.iter().rposition(|own| *own == condition)?);
    }
    match left.len() {
        0 => Some(None),
        1 => Some(left.pop().map(Arc::new)),
        _ => Expr::new(Node::And(left.into()), assertion.place()).ok().map(|all| Some(Arc::new(all))),
    }
}

/// What all has to hold for `expr` to hold: conjunctions of conjunctions are written as one.
fn conjuncts(expr: &Expr) -> Vec<Expr> {
    match expr.node() {
        Node::And(operands) => operands.to_vec(),
        _ => vec![expr.clone()],
    }
}

/// What refinements ask of the data that get values between `start` and the next message.
fn asked(global: &GlobalType, start: NodeId) -> Vec<Expr> {
    let mut values: FxHashMap<Arc<str>, Expr> = FxHashMap::default();
    let mut conditions = Vec::new();
    let mut seen = FxHashSet::default();
    let mut at = start;
    while seen.insert(at) {
        let (rec, new) = match global.node(at) {
            Global::Rec(rec) => (at, rec.parameters.iter().map(|p| Arc::clone(&p.initial)).collect()),
            Global::Call(call) => (call.target, call.arguments.clone()),
            Global::End | Global::Exchange(_) | Global::Par(_) | Global::Join(_) => break,
        };
        let Global::Rec(rec) = global.node(rec) else { break };
        let new: Vec<Arc<Expr>> = new;
        if !new.is_empty() {
            let put_in = |expr: &Expr| expr.substitute(&|name| values.get(name).cloned()).ok();
            let computed: Vec<Option<Expr>> = new.iter().map(|value| put_in(value)).collect();
            for (parameter, value) in rec.parameters.iter().zip(computed) {
                values.extend(value.map(|value| (Arc::clone(&parameter.name), value)));
            }
            let refinements = rec.parameters.iter().filter_map(|parameter| parameter.refinement.as_ref());
            conditions.extend(
                refinements
                    .filter_map(|refinement| refinement.substitute(&|name| values.get(name).cloned()).ok()),
            );
        }
        at = rec.body;
    }
    conditions
}
