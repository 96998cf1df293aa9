//! What nuScr's pragmas ask of refinements: that they can be satisfied, and that nobody gets stuck because of them.
//!
//! nuScr asks an SMT solver; here it is linear arithmetic ([`referee_theory::linear`]). What that does not decide is
//! said, never passed over. As in nuScr, what was asserted on the way holds, and of recursion data what their
//! refinements say.

use std::collections::BTreeMap;
use std::sync::Arc;

use referee_theory::expr::Expr;
use referee_theory::linear::{Answer, Condition, NotLinear};
use referee_theory::{MessageSpec, Type, Vocabulary};
use rustc_hash::FxHashSet;

use super::graph::{Raw, RawId, RawMessage};
use super::refine::Answered;
use crate::diagnostics::Diagnostic;
use crate::diagnostics::assertions::{answers_for_others, may_be_stuck, not_decided, unsatisfiable};
use crate::source::Span;

/// So many places are looked at, each way to one by itself.
const MAX_VISITS: usize = 4096;

/// What is asked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asked {
    pub(super) satisfiability: bool,
    pub(super) progress: bool,
    /// That the sender knows what it needs to check each refinement.
    pub(super) sender: bool,
    /// That the receiver does.
    pub(super) receiver: bool,
}

/// What holds on the way, and the types of the variables.
#[derive(Clone, Default)]
struct Facts {
    asserted: Vec<Arc<Expr>>,
    types: BTreeMap<Arc<str>, Type>,
}

impl Facts {
    fn forget(&mut self, names: &FxHashSet<Arc<str>>) {
        self.asserted.retain(|expr| !expr.free_variables().iter().any(|name| names.contains(*name)));
    }

    /// The facts once `spec` has been sent, before its assertion.
    fn bind(&self, spec: &MessageSpec) -> Self {
        let mut bound = self.clone();
        let named = spec.fields.iter().filter_map(|field| Some((field.name.clone()?, field.ty.clone())));
        let named: Vec<(Arc<str>, Type)> = named.collect();
        bound.forget(&named.iter().map(|(name, _)| Arc::clone(name)).collect());
        bound.types.extend(named);
        bound
    }

    fn condition(&self, expr: &Expr) -> Result<Condition, NotLinear> {
        Condition::of(expr, &|name| self.types.get(name).cloned())
    }

    /// All that holds. What is not linear is left out, and `Err` says so.
    fn all(&self) -> Result<Condition, NotLinear> {
        self.asserted.iter().try_fold(Condition::always(), |all, expr| all.and(&self.condition(expr)?))
    }
}

/// What is wrong with the refinements of the protocol that starts at `root`.
pub(super) fn validate(
    nodes: &[Raw],
    root: RawId,
    vocabulary: &Vocabulary,
    asked: Asked,
    answered: &[Answered],
) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    let is_asked = asked.satisfiability || asked.progress;
    if !is_asked && answered.is_empty() {
        return diagnostics;
    }
    // Whether a branch begins there: then the choice was looked at.
    let mut pending = vec![(root, Facts::default(), false)];
    let mut visits = 0;
    while let Some((at, mut facts, begins_branch)) = pending.pop() {
        visits += 1;
        if visits > MAX_VISITS {
            let span = heads(nodes, at).first().map_or_else(Default::default, |head| head.span);
            diagnostics
                .extend(is_asked.then(|| not_decided(span, "there are too many ways through the protocol")));
            break;
        }
        if asked.progress && !begins_branch {
            diagnostics.extend(stuck(&heads(nodes, at), &facts, vocabulary, &nodes[at.index()]));
        }
        match &nodes[at.index()] {
            Raw::End | Raw::Call { .. } | Raw::Join => {}
            // Each block by itself, and what follows without what they assert.
            Raw::Par { parts, .. } => {
                pending.extend(parts.iter().map(|part| (*part, facts.clone(), false)));
            }
            Raw::Choice { branches, .. } => {
                pending.extend(branches.iter().map(|next| (*next, facts.clone(), true)))
            }
            Raw::Rec { parameters, refinements, body, .. } => {
                facts.forget(&bound_in(nodes, *body, vocabulary));
                facts.types.extend(parameters.iter().map(|p| (Arc::clone(&p.name), p.ty.clone())));
                facts.asserted.extend(refinements.iter().cloned());
                pending.push((*body, facts, begins_branch));
            }
            Raw::Message(message) => {
                let spec = vocabulary.spec(message.message);
                let mut after = facts.bind(spec);
                let here = answered.iter().filter(|answered| answered.message == at);
                diagnostics.extend(here.flat_map(|answered| blamed(answered, message, &after, vocabulary)));
                after.asserted.extend(spec.assertion.clone());
                if let (true, Some(assertion)) = (asked.satisfiability, &spec.assertion) {
                    match after.all().map(|all| all.can_hold()) {
                        Ok(Answer::Yes) => {}
                        Ok(Answer::No) => {
                            diagnostics.push(unsatisfiable(message.span, &assertion.to_string()));
                            // Nothing behind it ever happens.
                            continue;
                        }
                        Ok(Answer::Undecided) | Err(NotLinear) => {
                            let why = format!("whether `{assertion}` can be satisfied");
                            diagnostics.push(not_decided(message.span, &why));
                        }
                    }
                }
                pending.push((message.next, after, false));
            }
        }
    }
    // Where the only message can never be sent, it need not be said that its sender is stuck, nor where that is said that it cannot help it.
    let of = |code: &str| -> FxHashSet<Span> {
        diagnostics.iter().filter(|found| found.code.id == code).map(|found| found.span).collect()
    };
    let (impossible, stuck) = (of("RF0319"), of("RF0320"));
    let mut seen = FxHashSet::default();
    diagnostics.retain(|found| {
        let (at, id) = (found.span, found.code.id);
        let follows = match id {
            "RF0320" => impossible.contains(&at),
            "RF0322" => impossible.contains(&at) || stuck.contains(&at),
            _ => false,
        };
        seen.insert((id, at)) && !follows
    });
    diagnostics
}

/// The conditions that the sender of `message` answers for, and that need not hold where `facts` do.
fn blamed(
    answered: &Answered,
    message: &RawMessage,
    facts: &Facts,
    vocabulary: &Vocabulary,
) -> Vec<Diagnostic> {
    let mut facts = facts.clone();
    facts.asserted.extend(answered.own.clone());
    // What is not linear says nothing here.
    let linear = facts.asserted.iter().filter(|expr| facts.condition(expr).is_ok()).cloned().collect();
    facts.asserted = linear;
    let holds = |condition: &&Expr| {
        let fails = || -> Result<Answer, NotLinear> {
            Ok(facts.all()?.and(&facts.condition(condition)?.not()?)?.can_hold())
        };
        fails() == Ok(Answer::No)
    };
    let open = answered.conditions.iter().filter(|condition| !holds(condition));
    let (sender, label) = (vocabulary.role_name(message.sender), vocabulary.label_of(message.message));
    let said = |condition: &Expr| {
        let refinement = Span { start: condition.place().start, end: condition.place().end };
        answers_for_others(message.span, refinement, (sender, label), &condition.to_string())
    };
    open.map(said).collect()
}

/// Whether none of `heads` may be possible, and what is there.
fn stuck(heads: &[RawMessage], facts: &Facts, vocabulary: &Vocabulary, at: &Raw) -> Option<Diagnostic> {
    // What stands behind a recursion or a branch is looked at where it stands.
    let first = heads.first().filter(|_| matches!(at, Raw::Message(_) | Raw::Choice { .. }))?;
    let span = if let Raw::Choice { span, .. } = at { *span } else { first.span };
    let possible = || -> Result<Answer, NotLinear> {
        let mut none = facts.all()?;
        for head in heads {
            let spec = vocabulary.spec(head.message);
            let Some(assertion) = &spec.assertion else { return Ok(Answer::No) };
            let own: Vec<Arc<str>> = spec.fields.iter().filter_map(|field| field.name.clone()).collect();
            let can = facts.bind(spec).condition(assertion)?.without(&own)?;
            none = none.and(&can.not()?)?;
        }
        Ok(none.can_hold())
    };
    match possible() {
        Ok(Answer::No) => None,
        Ok(Answer::Yes) => Some(may_be_stuck(span, vocabulary.role_name(first.sender))),
        Ok(Answer::Undecided) | Err(NotLinear) => {
            Some(not_decided(span, "whether one of these messages is always possible"))
        }
    }
}

/// The messages that can come first at `start`.
fn heads(nodes: &[Raw], start: RawId) -> Vec<RawMessage> {
    let mut heads = Vec::new();
    let mut seen = FxHashSet::default();
    let mut pending = vec![start];
    while let Some(at) = pending.pop() {
        if !seen.insert(at) {
            continue;
        }
        match &nodes[at.index()] {
            Raw::End | Raw::Join => {}
            Raw::Message(message) => heads.push(*message),
            Raw::Call { target, .. } => pending.push(*target),
            node => pending.extend(node.children().iter().rev()),
        }
    }
    heads
}

/// The names that are bound in the body of a recursion.
fn bound_in(nodes: &[Raw], body: RawId, vocabulary: &Vocabulary) -> FxHashSet<Arc<str>> {
    let mut bound = FxHashSet::default();
    let mut seen = FxHashSet::default();
    let mut pending = vec![body];
    while let Some(at) = pending.pop() {
        if !seen.insert(at) {
            continue;
        }
        let node = &nodes[at.index()];
        match node {
            Raw::Message(message) => {
                let fields = vocabulary.spec(message.message).fields.iter();
                bound.extend(fields.filter_map(|field| field.name.clone()));
            }
            Raw::Rec { parameters, .. } => bound.extend(parameters.iter().map(|p| Arc::clone(&p.name))),
            Raw::End | Raw::Choice { .. } | Raw::Call { .. } | Raw::Par { .. } | Raw::Join => {}
        }
        pending.extend(node.children());
    }
    bound
}
