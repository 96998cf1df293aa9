//! Full merging: what a role can do next, given all the places it may be in.

use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use super::{Conflict, Disagreement, Item, Projection};
use crate::assertion::BranchId;
use crate::global::{Branch, NodeId};
use crate::machine::Action;
use crate::vocabulary::{Label, Message, Origin, Role};

/// A transition of the projection, and the nodes it may lead to.
pub(super) struct Merged {
    pub(super) action: Action,
    pub(super) peer: Role,
    pub(super) message: Message,
    pub(super) origin: Origin,
    pub(super) nexts: SmallVec<[NodeId; 1]>,
    /// The branches that it stands for.
    branches: SmallVec<[BranchId; 1]>,
}

impl Merged {
    fn new(action: Action, peer: Role, message: Message, branch: &Branch, id: BranchId) -> Self {
        let (nexts, branches) = (smallvec![branch.next], smallvec![id]);
        Self { action, peer, message, origin: branch.origin, nexts, branches }
    }

    fn join(&mut self, branch: &Branch, id: BranchId) {
        self.nexts.push(branch.next);
        self.branches.push(id);
    }
}

type Key = (Role, Label);

/// Transitions in the order of the text, found again by peer and label. A few are searched one by one; only
/// large choices get an index.
#[derive(Default)]
struct Transitions {
    all: SmallVec<[Merged; 2]>,
    keys: SmallVec<[Key; 2]>,
    index: FxHashMap<Key, usize>,
}

impl Transitions {
    const FEW: usize = 16;

    fn push(&mut self, key: Key, transition: Merged) {
        if self.all.len() == Self::FEW {
            self.index = self.keys.iter().copied().zip(0..).collect();
        }
        if self.all.len() >= Self::FEW {
            self.index.insert(key, self.all.len());
        }
        self.keys.push(key);
        self.all.push(transition);
    }

    fn find(&mut self, key: Key) -> Option<&mut Merged> {
        let at = if self.all.len() <= Self::FEW {
            self.keys.iter().position(|known| *known == key)?
        } else {
            *self.index.get(&key)?
        };
        self.all.get_mut(at)
    }
}

impl Projection<'_> {
    /// The transitions of the state `items`, each with the nodes it may lead to.
    pub(super) fn merge(&self, items: &[Item]) -> Result<SmallVec<[Merged; 2]>, Disagreement> {
        let Some(&first) = items.first() else { return Ok(SmallVec::new()) };
        let vocabulary = self.global.vocabulary();
        let mut merged = Transitions::default();
        for &item in items {
            match (first, item) {
                (Item::End, Item::End) => {}
                (Item::End, _) | (_, Item::End) => {
                    return Err(Disagreement(Conflict::EndOrAction, first, item));
                }
                (Item::Send(_), Item::Send(node)) => {
                    let exchange = self.exchange(node);
                    if item != first && exchange.branches.len() != merged.all.len() {
                        return Err(Disagreement(Conflict::DifferentSends, first, item));
                    }
                    for (index, branch) in exchange.branches.iter().enumerate() {
                        let key = (branch.receiver, vocabulary.label(branch.message));
                        let id = (node, index);
                        let message = self.global.as_enforced(id, branch.message, true);
                        if item == first {
                            merged.push(key, Merged::new(Action::Send, branch.receiver, message, branch, id));
                            continue;
                        }
                        match merged.find(key) {
                            Some(known) if vocabulary.same_signature(known.message, message) => {
                                known.join(branch, id);
                            }
                            _ => return Err(Disagreement(Conflict::DifferentSends, first, item)),
                        }
                    }
                }
                (Item::Receive(..), Item::Receive(node, index)) => {
                    let exchange = self.exchange(node);
                    let branch = &exchange.branches[index as usize];
                    if exchange.sender != self.sender_of(first) {
                        return Err(Disagreement(Conflict::DifferentSenders, first, item));
                    }
                    let key = (exchange.sender, vocabulary.label(branch.message));
                    let id = (node, index as usize);
                    let message = self.global.as_enforced(id, branch.message, false);
                    match merged.find(key) {
                        None => {
                            let received = Merged::new(Action::Receive, exchange.sender, message, branch, id);
                            merged.push(key, received);
                        }
                        Some(known) => {
                            if !vocabulary.same_signature(known.message, message) {
                                let (bare, other) = (
                                    vocabulary.without_assertion(known.message),
                                    vocabulary.without_assertion(message),
                                );
                                if !vocabulary.same_signature(bare, other) {
                                    let same_label = |&&other: &&Item| self.label_of(other) == Some(key.1);
                                    let other = items.iter().find(same_label).copied().unwrap_or(first);
                                    return Err(Disagreement(Conflict::DifferentPayloads, other, item));
                                }
                                // The receiver cannot tell which assertion applies; the sender can.
                                known.message = bare;
                            }
                            known.join(branch, id);
                        }
                    }
                }
                (Item::Fork(_), _) | (_, Item::Fork(_)) => {
                    return Err(Disagreement(Conflict::BlocksOrAction, first, item));
                }
                (Item::Send(_), Item::Receive(..)) | (Item::Receive(..), Item::Send(_)) => {
                    return Err(Disagreement(Conflict::SendOrReceive, first, item));
                }
            }
        }
        for transition in &mut merged.all {
            let branches = transition.branches.iter().copied();
            transition.message = self.global.with_updates(self.role, branches, transition.message);
        }
        Ok(merged.all)
    }
}
