//! A role in several blocks of a `par` at once (`docs/concurrency.md`, section 1).
//!
//! Each block in which the role takes part is a *region*. With none the role goes on behind the `par`, with one it goes through that
//! block; with more it is in a *fork*: a configuration for each region. A move of a region is a move of the fork, and a fork all of
//! whose regions are over is what follows. The states of the projection are configurations, so its machine is the shuffle of
//! the regions' machines, followed by what follows.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::merge::Merged;
use super::{Conflict, Disagreement, Item, Items, Projection};
use crate::global::{Global, GlobalType, NodeId};
use crate::machine::Action;
use crate::vocabulary::{Label, Message, Origin, Role};

/// So many states a role may have in forks: blocks side by side multiply.
pub const MAX_INTERLEAVED: usize = 1 << 15;

/// Where a role is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Configuration {
    /// In front of these.
    Plain(Items),
    /// In several regions.
    Fork(Rc<Fork>),
}

/// Several regions, and what follows when all are over.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Fork {
    regions: Vec<Configuration>,
    joins: Rc<[NodeId]>,
    /// The `par`; of several that were merged, the first.
    pub(super) par: NodeId,
}

impl Configuration {
    /// Whether the role has nothing left to do in the region that is there.
    fn is_over(&self) -> bool {
        matches!(self, Self::Plain(items) if items.as_slice().iter().all(|item| *item == Item::End))
    }
}

/// A move of a configuration.
pub(super) struct Move {
    pub(super) action: Action,
    pub(super) peer: Role,
    pub(super) message: Message,
    pub(super) origin: Origin,
    pub(super) target: Configuration,
}

/// The blocks of each `par` that `role` takes part in.
pub(super) fn regions(global: &GlobalType, role: Role) -> FxHashMap<NodeId, Vec<usize>> {
    let mut regions: FxHashMap<NodeId, Vec<usize>> = FxHashMap::default();
    for (node, _) in global.exchanges().filter(|(_, exchange)| exchange.involves(role)) {
        for (par, block) in global.blocks_around(node) {
            let known = regions.entry(par).or_default();
            if let Err(at) = known.binary_search(&block) {
                known.insert(at, block);
            }
        }
    }
    regions
}

/// What tells the regions of forks that are merged apart.
type Key = (Action, Role, Label);

impl Projection<'_> {
    pub(super) fn regions_of(&self, par: NodeId) -> &[usize] {
        self.regions.get(&par).map_or(&[], |regions| regions)
    }

    /// Where the role goes on at the end of the only block of `par` that it takes part in.
    pub(super) fn after_block(&self, par: NodeId) -> Option<NodeId> {
        match self.global.node(par) {
            Global::Par(content) if self.regions_of(par).len() < 2 => Some(content.next),
            _ => None,
        }
    }

    /// Where the role is when the protocol is at one of `nodes`.
    pub(super) fn enter(&mut self, nodes: &[NodeId]) -> Result<Configuration, Disagreement> {
        let items = self.closure_of_all(nodes);
        let mut forks = Vec::new();
        let mut other = None;
        for item in items.as_slice() {
            match item {
                Item::Fork(par) => forks.push(*par),
                _ => other = Some(*item),
            }
        }
        match (forks.first(), other) {
            (None, _) => Ok(Configuration::Plain(items)),
            (Some(&par), Some(other)) => Err(Disagreement(Conflict::BlocksOrAction, Item::Fork(par), other)),
            (Some(_), None) => self.fork(&forks),
        }
    }

    /// The fork of all of `pars`, which the role cannot tell apart: regions that share a label are one region.
    fn fork(&mut self, pars: &[NodeId]) -> Result<Configuration, Disagreement> {
        let mut joins = Vec::new();
        let mut groups: Vec<(Vec<NodeId>, FxHashSet<Key>)> = Vec::new();
        for (index, &par) in pars.iter().enumerate() {
            let Global::Par(content) = self.global.node(par) else { continue };
            joins.push(content.next);
            let labels = if pars.len() > 1 { self.labels(par) } else { FxHashMap::default() };
            let disagree = || Disagreement(Conflict::DifferentBlocks, Item::Fork(pars[0]), Item::Fork(par));
            let mut taken = vec![false; groups.len()];
            for &block in self.regions_of(par) {
                let start = content.blocks[block];
                let own = labels.get(&block).cloned().unwrap_or_default();
                if index == 0 {
                    groups.push((vec![start], own));
                    continue;
                }
                let mut same = (0..groups.len()).filter(|group| !groups[*group].1.is_disjoint(&own));
                match (same.next(), same.next()) {
                    (Some(group), None) if !taken[group] => {
                        taken[group] = true;
                        groups[group].0.push(start);
                        groups[group].1.extend(own);
                    }
                    _ => return Err(disagree()),
                }
            }
            // What is one region for each must be so in the text of both, and labels must still tell regions apart.
            let apart = |at: usize| groups[..at].iter().all(|(_, labels)| labels.is_disjoint(&groups[at].1));
            if taken.contains(&false) || !(0..groups.len()).all(apart) {
                return Err(disagree());
            }
        }
        let mut regions = Vec::new();
        for (starts, _) in groups {
            match self.enter(&starts)? {
                // A region that is nothing but a fork: its regions are regions of this one.
                Configuration::Fork(inner) if self.is_final(&inner.joins) => {
                    regions.extend(inner.regions.iter().cloned());
                }
                region => regions.push(region),
            }
        }
        Ok(Configuration::Fork(Rc::new(Fork { regions, joins: joins.into(), par: pars[0] })))
    }

    /// Whether the role has nothing left to do at `nodes`.
    fn is_final(&mut self, nodes: &[NodeId]) -> bool {
        self.closure_of_all(nodes).as_slice().iter().all(|item| *item == Item::End)
    }

    /// What the role sends and receives in each block of `par`.
    fn labels(&self, par: NodeId) -> FxHashMap<usize, FxHashSet<Key>> {
        let mut labels: FxHashMap<usize, FxHashSet<Key>> = FxHashMap::default();
        for (node, exchange) in self.global.exchanges().filter(|(_, exchange)| exchange.involves(self.role)) {
            let Some((_, block)) = self.global.blocks_around(node).find(|(around, _)| *around == par) else {
                continue;
            };
            let own = labels.entry(block).or_default();
            for branch in &exchange.branches {
                let label = self.global.vocabulary().label(branch.message);
                if exchange.sender == self.role {
                    own.insert((Action::Send, branch.receiver, label));
                } else if branch.receiver == self.role {
                    own.insert((Action::Receive, exchange.sender, label));
                }
            }
        }
        labels
    }

    /// The moves of a configuration, and whether the role may stay there for ever.
    pub(super) fn moves(&mut self, configuration: &Configuration) -> Result<(Vec<Move>, bool), Disagreement> {
        let fork = match configuration {
            Configuration::Plain(items) => {
                let waits = self.waits(items.as_slice());
                let rest = if waits { items.without_end() } else { None };
                let merged = self.merge(rest.as_ref().unwrap_or(items).as_slice())?;
                let moves =
                    merged.into_iter().map(|Merged { action, peer, message, origin, nexts, .. }| {
                        Ok(Move { action, peer, message, origin, target: self.enter(&nexts)? })
                    });
                return Ok((moves.collect::<Result<_, _>>()?, waits));
            }
            Configuration::Fork(fork) => fork,
        };
        let (mut all, mut may_stay) = (Vec::new(), true);
        for (index, region) in fork.regions.iter().enumerate() {
            let (moves, waits) = self.moves(region)?;
            may_stay &= waits || region.is_over();
            for Move { action, peer, message, origin, target } in moves {
                let mut regions = fork.regions.clone();
                regions[index] = target;
                let target = if regions.iter().all(Configuration::is_over) {
                    self.enter(&fork.joins)?
                } else {
                    let (joins, par) = (Rc::clone(&fork.joins), fork.par);
                    Configuration::Fork(Rc::new(Fork { regions, joins, par }))
                };
                all.push(Move { action, peer, message, origin, target });
            }
        }
        Ok((all, may_stay))
    }
}
