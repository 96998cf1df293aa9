//! How the branches of a choice begin: with recursions that carry data, or with one message for several branches.

use std::sync::Arc;

use referee_theory::Role;
use referee_theory::expr::{Expr, Node};
use referee_theory::global::Parameter;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Flattening;
use crate::diagnostics::assertions::{data_before_choice, hidden_data};
use crate::diagnostics::structure::may_wait_in_one_branch;
use crate::scr::graph::{Chooser, Raw, RawId, RawMessage};
use crate::source::Span;

/// So many branches are compared with one another.
const FEW: usize = 8;

/// A message is brought before so many others at most.
const MAX_PASSED: usize = 32;

impl Flattening<'_> {
    /// The recursions with data that a branch of the choice `start` begins with, outer ones first.
    pub(super) fn entered_with_data(&mut self, start: RawId) -> Vec<RawId> {
        let mut entered: Vec<RawId> = Vec::new();
        if self.declared.is_empty() {
            return entered;
        }
        let mut seen = FxHashSet::default();
        let mut pending = vec![start];
        while let Some(raw) = pending.pop() {
            if !seen.insert(raw) {
                continue;
            }
            match &self.nodes[raw.index()] {
                Raw::End | Raw::Message(_) | Raw::Par { .. } | Raw::Join => continue,
                Raw::Call { target, arguments, span } => {
                    let same = |(parameter, argument): (&Parameter, &Arc<Expr>)| matches!(argument.node(), Node::Variable(name) if *name == parameter.name);
                    if let Raw::Rec { parameters, .. } = &self.nodes[target.index()]
                        && !parameters.iter().zip(arguments).all(same)
                    {
                        self.diagnostics.push(data_before_choice(*span));
                    }
                    continue;
                }
                Raw::Rec { parameters, .. } if !parameters.is_empty() => entered.push(raw),
                Raw::Rec { .. } | Raw::Choice { .. } => {}
            }
            pending.extend(self.nodes[raw.index()].children().iter().rev());
        }
        for &rec in &entered {
            let Raw::Rec { parameters, .. } = &self.nodes[rec.index()] else { continue };
            for parameter in parameters {
                let same_name = self.declared.get(&parameter.name).into_iter().flatten();
                if let Some(other) = same_name.copied().find(|origin| *origin != parameter.origin) {
                    let (span, other) = (self.origins.span(parameter.origin), self.origins.span(other));
                    self.diagnostics.push(hidden_data(span, other, &parameter.name));
                }
            }
        }
        entered
    }

    /// Branches that begin with the same message become one, and the choice between what follows them is made behind it, by one
    /// role. Each role's machine is then what the subset construction makes of its machines in the branches; whether they
    /// get on with each other is for projection and the checker to say.
    pub(super) fn factor(&mut self, heads: Vec<RawMessage>, at: &Chooser, span: Span) -> Vec<RawMessage> {
        let key = |head: &RawMessage| (head.sender, head.receiver, head.message);
        let is_new = |at: usize| heads[..at].iter().all(|earlier| key(earlier) != key(&heads[at]));
        // Nearly always they are few and all begin differently.
        if heads.len() <= FEW && (0..heads.len()).all(is_new) {
            return heads;
        }
        let mut first: FxHashMap<_, usize> = FxHashMap::default();
        let mut groups: Vec<Vec<RawMessage>> = Vec::new();
        for head in heads {
            let group = *first.entry(key(&head)).or_insert(groups.len());
            match groups.get_mut(group) {
                Some(alike) => alike.push(head),
                None => groups.push(vec![head]),
            }
        }
        let hidden = match at {
            Chooser::Hidden { by, first, second } => Some((*by, *first, *second)),
            _ => None,
        };
        let one = |alike: Vec<RawMessage>| match &alike[..] {
            [head, second, ..] => {
                let mut nexts: Vec<RawId> = alike.iter().map(|head| head.next).collect();
                nexts.sort_unstable();
                nexts.dedup();
                let (by, first, second) = hidden.unwrap_or((head.sender, head.span, second.span));
                // To wait for it in vain is fine only where every branch says so.
                if let Some(certain) = alike.iter().find(|head| !head.may_wait)
                    && let Some(annotated) = alike.iter().find(|head| head.may_wait)
                {
                    self.diagnostics.push(may_wait_in_one_branch(annotated.span, certain.span));
                }
                RawMessage {
                    next: self.factored(nexts, Chooser::Hidden { by, first, second }, span),
                    may_wait: alike.iter().all(|head| head.may_wait),
                    connects: alike.iter().all(|head| head.connects),
                    ..*head
                }
            }
            _ => alike[0],
        };
        groups.into_iter().map(one).collect()
    }

    /// The choice between `nexts`, made once.
    fn factored(&mut self, nexts: Vec<RawId>, at: Chooser, span: Span) -> RawId {
        if let [only] = nexts[..] {
            return only;
        }
        if let Some(&known) = self.factored.get(&nexts) {
            return known;
        }
        let branches = self.reordered(&nexts, &at);
        let choice = self.push(Raw::Choice { at, branches, span });
        self.factored.insert(nexts, choice);
        choice
    }

    /// `nexts` so that each begins with a message of one role, if the order of messages that have no role in common can be changed
    /// to that end: such an order is nobody's, and every role's machine stays what it was. Otherwise as they are.
    fn reordered(&mut self, nexts: &[RawId], at: &Chooser) -> Vec<RawId> {
        let first = |next: &RawId| match &self.nodes[next.index()] {
            Raw::Message(message) => Some(message.sender),
            _ => None,
        };
        let chooser = if let Chooser::Hidden { by, .. } = at { Some(*by) } else { None };
        let mut senders: Vec<Role> = nexts.iter().filter_map(first).collect();
        senders.dedup();
        if senders.len() < 2 {
            return nexts.to_vec();
        }
        let forward = |sender| {
            let found = nexts.iter().map(|next| self.brought_forward(*next, sender));
            found.collect::<Option<Vec<_>>>()
        };
        let Some(found) = chooser.into_iter().chain(senders).find_map(forward) else { return nexts.to_vec() };
        let one = |(next, passed): (&RawId, Vec<RawMessage>)| self.in_order(*next, passed);
        nexts.iter().zip(found).map(one).collect()
    }

    /// What the first message of `sender` behind `start` passes to get there, and last that message: nothing if it is there, or
    /// if no message is. `None` if it cannot get there.
    fn brought_forward(&self, start: RawId, sender: Role) -> Option<Vec<RawMessage>> {
        let (mut at, mut passed) = (start, Vec::<RawMessage>::new());
        loop {
            let Raw::Message(message) = &self.nodes[at.index()] else {
                return passed.is_empty().then_some(passed);
            };
            if passed.iter().any(|earlier| !self.independent(earlier, message)) {
                if message.sender == sender {
                    return None;
                }
            } else if message.sender == sender {
                if !passed.is_empty() {
                    passed.push(*message);
                }
                return Some(passed);
            }
            if passed.len() == MAX_PASSED {
                return None;
            }
            passed.push(*message);
            at = message.next;
        }
    }

    /// Whether nobody can tell in which order these two come: they have no role in common, and nothing of the one counts for the other.
    fn independent(&self, one: &RawMessage, other: &RawMessage) -> bool {
        let specs = [one, other].map(|message| self.vocabulary.spec(message.message));
        let reads = |reader: usize| {
            let names = specs[1 - reader].fields.iter().filter_map(|field| field.name.as_ref());
            let read = specs[reader].assertion.iter().flat_map(|assertion| assertion.free_variables());
            let read: Vec<&Arc<str>> = read.collect();
            names.into_iter().any(|name| read.contains(&name))
        };
        let same_names = || {
            let names = |spec: usize| specs[spec].fields.iter().filter_map(|field| field.name.as_ref());
            names(0).any(|name| names(1).any(|other| other == name))
        };
        let roles = [other.sender, other.receiver];
        !roles.contains(&one.sender)
            && !roles.contains(&one.receiver)
            && specs.iter().all(|spec| spec.timing.is_none())
            && !reads(0)
            && !reads(1)
            && !same_names()
    }

    /// `start` with the last of `passed`, which are the first messages behind it, before the others.
    fn in_order(&mut self, start: RawId, mut passed: Vec<RawMessage>) -> RawId {
        let Some(first) = passed.pop() else { return start };
        let mut next = first.next;
        for message in passed.into_iter().rev() {
            next = self.push(Raw::Message(RawMessage { next, ..message }));
        }
        self.push(Raw::Message(RawMessage { next, ..first }))
    }
}
