//! How the branches of a choice begin: with recursions that carry data, or with one message for several branches.

use std::sync::Arc;

use referee_theory::expr::{Expr, Node};
use referee_theory::global::Parameter;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Flattening;
use crate::diagnostics::assertions::{data_before_choice, hidden_data};
use crate::scr::graph::{Chooser, Raw, RawId, RawMessage};
use crate::source::Span;

/// So many branches are compared with one another.
const FEW: usize = 8;

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
        let choice = self.push(Raw::Choice { at, branches: nexts.clone(), span });
        self.factored.insert(nexts, choice);
        choice
    }
}
