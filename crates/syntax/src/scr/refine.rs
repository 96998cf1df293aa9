//! Refinements of recursion data, `rec X [n<A>: (n: int{n >= 0}) = e]`, as conditions of messages.
//!
//! What must hold of the data when a recursion is entered or continued is part of the condition of the message
//! before: `M() from A to B; continue X [n - 1];` means `M() from A to B where n - 1 >= 0; continue X [n - 1];`, and
//! who sends that message answers for it. Where a branch of a choice begins with a recursion, the first message of the
//! branch has the condition. Where a protocol begins with one, the values are constants and are checked here.

use std::sync::Arc;

use referee_theory::expr::{Expr, MAX_DEPTH, NoExternals, Node, Value, eval};
use referee_theory::global::Parameter;
use referee_theory::{MessageSpec, Role, Vocabulary};
use rustc_hash::{FxHashMap, FxHashSet};

use super::graph::{Raw, RawId};
use crate::diagnostics::Diagnostic;
use crate::diagnostics::assertions::{captured, wrong_initial_value};
use crate::diagnostics::lexical::nested_too_deep;
use crate::source::Span;

/// Conditions that the sender of a message answers for although nothing that it can choose there counts for them.
pub(super) struct Answered {
    /// The message.
    pub(super) message: RawId,
    /// What its text asks of it.
    pub(super) own: Option<Arc<Expr>>,
    pub(super) conditions: Vec<Expr>,
}

/// Adds refinements to the conditions of messages. Returns what is wrong with them.
pub(super) fn refine(
    nodes: &mut [Raw],
    root: RawId,
    vocabulary: &mut Vocabulary,
) -> (Vec<Diagnostic>, Vec<Answered>) {
    let refined = |node: &Raw| matches!(node, Raw::Rec { refinements, .. } if !refinements.is_empty());
    if !nodes.iter().any(refined) {
        return (Vec::new(), Vec::new());
    }
    let mut diagnostics: Vec<Diagnostic> =
        conditions(nodes, root).iter().filter_map(wrong_at_the_beginning).collect();
    let mut added: FxHashMap<usize, Vec<Expr>> = FxHashMap::default();
    for (index, node) in nodes.iter().enumerate() {
        match node {
            Raw::Message(message) => added.entry(index).or_default().extend(conditions(nodes, message.next)),
            Raw::Choice { branches, .. } => {
                for &branch in branches {
                    begin_branch(nodes, branch, vocabulary, &mut added, &mut diagnostics);
                }
            }
            Raw::End | Raw::Rec { .. } | Raw::Call { .. } | Raw::Par { .. } | Raw::Join => {}
        }
    }
    let answered = answered(nodes, vocabulary, &added);
    for (index, mut conditions) in added {
        let Raw::Message(message) = &mut nodes[index] else { continue };
        let Some(place) = conditions.first().map(Expr::place) else { continue };
        let spec = vocabulary.spec(message.message).clone();
        if let Some(own) = &spec.assertion {
            conditions.insert(0, Expr::clone(own));
        }
        match Expr::new(Node::And(conditions.into()), place) {
            Ok(all) => {
                let spec = MessageSpec { assertion: Some(Arc::new(all)), ..spec };
                message.message = vocabulary.add_message(spec);
            }
            Err(_) => diagnostics.push(nested_too_deep(span(&place), MAX_DEPTH)),
        }
    }
    (diagnostics, answered)
}

/// Which of the `added` conditions of messages read values that others have settled, where the sender has no other message to send.
fn answered(nodes: &[Raw], vocabulary: &Vocabulary, added: &FxHashMap<usize, Vec<Expr>>) -> Vec<Answered> {
    let is_choice = |node: &&Raw| matches!(node, Raw::Choice { .. });
    let chosen: FxHashSet<RawId> =
        nodes.iter().filter(is_choice).flat_map(|node| first_messages(nodes, node)).collect();
    let settled = settled(nodes, vocabulary);
    let nobody = FxHashSet::default();
    let mut found = Vec::new();
    for (&index, conditions) in added {
        let at = RawId(u32::try_from(index).unwrap_or(u32::MAX));
        let Raw::Message(message) = &nodes[index] else { continue };
        let spec = vocabulary.spec(message.message);
        let is_field = |name: &Arc<str>| spec.fields.iter().any(|field| field.name.as_ref() == Some(name));
        let is_others = |condition: &&Expr| {
            let read = condition.free_variables();
            let mut by = read.iter().flat_map(|name| settled.get(&***name).unwrap_or(&nobody)).peekable();
            let is_own = by.peek().is_some() && by.all(|role| *role == message.sender);
            !is_own && !read.into_iter().any(is_field)
        };
        let conditions: Vec<Expr> = conditions.iter().filter(is_others).cloned().collect();
        if !conditions.is_empty() && !chosen.contains(&at) {
            found.push(Answered { message: at, own: spec.assertion.clone(), conditions });
        }
    }
    found
}

/// The messages that `choice` can begin with.
fn first_messages(nodes: &[Raw], choice: &Raw) -> Vec<RawId> {
    let (mut found, mut seen) = (Vec::new(), FxHashSet::default());
    let mut pending = choice.children().to_vec();
    while let Some(at) = pending.pop() {
        match &nodes[at.index()] {
            _ if !seen.insert(at) => {}
            Raw::Message(_) => found.push(at),
            Raw::Call { target, .. } => pending.push(*target),
            node => pending.extend(node.children()),
        }
    }
    found
}

/// By variable, who has a say in its value: who sends a field of that name, and for recursion data whoever has in what they are
/// computed from.
fn settled(nodes: &[Raw], vocabulary: &Vocabulary) -> FxHashMap<Arc<str>, FxHashSet<Role>> {
    let mut settled: FxHashMap<Arc<str>, FxHashSet<Role>> = FxHashMap::default();
    let mut computed: Vec<(&Arc<str>, &Arc<Expr>)> = Vec::new();
    for node in nodes {
        match node {
            Raw::Message(message) => {
                let fields = vocabulary.spec(message.message).fields.iter();
                for name in fields.filter_map(|field| field.name.clone()) {
                    settled.entry(name).or_default().insert(message.sender);
                }
            }
            Raw::Rec { parameters, .. } => computed.extend(parameters.iter().map(|p| (&p.name, &p.initial))),
            Raw::Call { target, arguments, .. } => {
                let Raw::Rec { parameters, .. } = &nodes[target.index()] else { continue };
                computed.extend(parameters.iter().map(|parameter| &parameter.name).zip(arguments));
            }
            Raw::End | Raw::Choice { .. } | Raw::Par { .. } | Raw::Join => {}
        }
    }
    loop {
        let mut has_grown = false;
        for (name, value) in &computed {
            let read = value.free_variables();
            let by: Vec<Role> =
                read.iter().filter_map(|read| settled.get(&***read)).flatten().copied().collect();
            let known = settled.entry(Arc::clone(name)).or_default();
            for role in by {
                has_grown |= known.insert(role);
            }
        }
        if !has_grown {
            return settled;
        }
    }
}

/// What must hold of the data that get values between `start` and the next message.
fn conditions(nodes: &[Raw], start: RawId) -> Vec<Expr> {
    let mut values: FxHashMap<Arc<str>, Expr> = FxHashMap::default();
    let mut conditions = Vec::new();
    let mut seen = FxHashSet::default();
    let mut at = start;
    // Without a message in between, nothing comes round twice unless the recursion is unguarded.
    while seen.insert(at) {
        let (rec, new) = match &nodes[at.index()] {
            Raw::Rec { parameters, .. } => (at, parameters.iter().map(|p| Arc::clone(&p.initial)).collect()),
            Raw::Call { target, arguments, .. } => (*target, arguments.clone()),
            Raw::End | Raw::Message(_) | Raw::Choice { .. } | Raw::Par { .. } | Raw::Join => break,
        };
        let Raw::Rec { parameters, refinements, body, .. } = &nodes[rec.index()] else { break };
        let new: Vec<Arc<Expr>> = new;
        if !new.is_empty() {
            assign(&mut values, parameters, &new);
            conditions.extend(refinements.iter().filter_map(|refinement| put_in(refinement, &values)));
        }
        at = *body;
    }
    conditions
}

fn assign(values: &mut FxHashMap<Arc<str>, Expr>, parameters: &[Parameter], new: &[Arc<Expr>]) {
    let computed: Vec<Option<Expr>> = new.iter().map(|value| put_in(value, values)).collect();
    for (parameter, value) in parameters.iter().zip(computed) {
        if let Some(value) = value {
            values.insert(Arc::clone(&parameter.name), value);
        }
    }
}

/// `expr` with `values` for variables. Too deep ones are left out: [`nested_too_deep`] is reported where they stand.
fn put_in(expr: &Expr, values: &FxHashMap<Arc<str>, Expr>) -> Option<Expr> {
    expr.substitute(&|name| values.get(name).cloned()).ok()
}

/// Where a branch begins with a recursion, its first messages have the refinements as conditions: by then the data
/// have their values.
fn begin_branch(
    nodes: &[Raw],
    branch: RawId,
    vocabulary: &Vocabulary,
    added: &mut FxHashMap<usize, Vec<Expr>>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut pending = vec![(branch, Vec::<Arc<Expr>>::new())];
    let mut seen = FxHashSet::default();
    while let Some((at, mut around)) = pending.pop() {
        if !seen.insert(at) {
            continue;
        }
        match &nodes[at.index()] {
            Raw::End | Raw::Call { .. } | Raw::Par { .. } | Raw::Join => {}
            Raw::Rec { refinements, body, .. } => {
                around.extend(refinements.iter().cloned());
                pending.push((*body, around));
            }
            Raw::Choice { branches, .. } => {
                pending.extend(branches.iter().map(|branch| (*branch, around.clone())));
            }
            Raw::Message(message) => {
                let fields = &vocabulary.spec(message.message).fields;
                for refinement in around {
                    let free = refinement.free_variables();
                    let own = fields.iter().filter_map(|field| field.name.as_ref());
                    if let Some(name) = own.into_iter().find(|name| free.contains(name)) {
                        diagnostics.push(captured(message.span, span(&refinement.place()), name));
                        continue;
                    }
                    let conditions = added.entry(at.index()).or_default();
                    if !conditions.contains(&refinement) {
                        conditions.push(Expr::clone(&refinement));
                    }
                }
            }
        }
    }
}

/// What is wrong with `condition`, which must hold before the first message.
fn wrong_at_the_beginning(condition: &Expr) -> Option<Diagnostic> {
    let none: std::collections::HashMap<Arc<str>, Value> = std::collections::HashMap::new();
    match eval(condition, &none, &NoExternals) {
        Ok(Value::Bool(true)) => None,
        Ok(_) => Some(wrong_initial_value(span(&condition.place()), &condition.to_string(), None)),
        Err(error) => {
            let why = error.to_string();
            Some(wrong_initial_value(span(&condition.place()), &condition.to_string(), Some(&why)))
        }
    }
}

fn span(place: &referee_theory::expr::Place) -> Span {
    Span { start: place.start, end: place.end }
}
