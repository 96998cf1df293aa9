//! Leaving out of a witness the steps of roles that have nothing to do with the mistake.
//!
//! The steps of some roles, with all that has to happen before them, are an execution by themselves: a step comes after the earlier
//! steps of its role, a reception after its message was sent, a send after room was made for it, and in a mailbox also after what was
//! sent there before. If the mistake is there at the end of that execution, it is shown by that one. Up to the last fault all stays
//! as it was.

use crate::faults::Fault;
use crate::find::Finder;
use crate::obstacle::{Future, Obstacle, obstacles};
use crate::reach::StateSet;
use crate::verdict::Ground;
use crate::witness::Fact;

/// How many configurations that can follow are looked at to see whether the mistake is there; in larger graphs nothing is left out.
const MAX_STATES: usize = 1 << 20;

/// An execution that shows an obstacle, and on which ground it stays.
pub(crate) struct Shown {
    pub(crate) labels: Vec<u32>,
    pub(crate) state: u32,
    pub(crate) obstacle: Obstacle,
    pub(crate) ground: Option<Ground>,
}

impl Finder<'_> {
    /// `shown` without the steps that are not needed for it, unless those are needed to see that it holds whatever the bound.
    pub(crate) fn without_bystanders(&self, shown: Shown, blocked: &StateSet) -> Shown {
        self.shorter(&shown, blocked).unwrap_or(shown)
    }

    fn shorter(&self, shown: &Shown, blocked: &StateSet) -> Option<Shown> {
        let turn = shown.obstacle.facts.iter().find_map(|fact| match fact {
            Fact::Loop { first } => Some(*first),
            _ => None,
        });
        let (before, turn) = shown.labels.split_at(turn.unwrap_or(shown.labels.len()));
        let roles = self.involved(&shown.obstacle, turn);
        let mut labels = self.needed(before, &roles)?;
        if labels.len() == before.len() {
            return None;
        }
        let state = self.follow(0, &labels)?;
        if self.follow(state, turn)? != state {
            return None;
        }
        let is_it = |other: &Obstacle| {
            let same =
                other.violation == shown.obstacle.violation && other.is_plain() == shown.obstacle.is_plain();
            other.failure == shown.obstacle.failure && (same || !turn.is_empty())
        };
        let ground = match shown.ground {
            // Others may fill channels now.
            Some(Ground::NothingBlocked) if blocked.contains(state) => Some(Ground::NothingHelps),
            ground => ground,
        };
        let here = match ground {
            Some(Ground::NothingHelps) => self.hopeless(state),
            _ => {
                let reachable = self.reachable_within(state, MAX_STATES)?;
                obstacles(self.graph, state, &Future::within(self.graph, &reachable), !turn.is_empty())
            }
        };
        let mut obstacle = here.into_iter().find(is_it)?;
        if !turn.is_empty() {
            obstacle.violation = shown.obstacle.violation;
            obstacle.facts.push(Fact::Loop { first: labels.len() });
            labels.extend(turn);
        }
        Some(Shown { labels, state, obstacle, ground })
    }

    /// By role: whether `obstacle` is about it, or it moves in the loop `turn`.
    fn involved(&self, obstacle: &Obstacle, turn: &[u32]) -> Vec<bool> {
        let mut roles = vec![false; self.graph.model.role_count()];
        for fact in &obstacle.facts {
            match fact {
                Fact::Waits { role, .. }
                | Fact::Ended { role }
                | Fact::Crashed { role }
                | Fact::NeverMoves { role } => roles[role.index()] = true,
                Fact::AboutToSend { send } => roles[send.role.index()] = true,
                Fact::Next { from, to, .. } | Fact::NeverSends { from, to, .. } => {
                    roles[from.index()] = true;
                    roles[to.index()] = true;
                }
                Fact::NeverReceives { to, .. } => roles[to.index()] = true,
                Fact::Loop { .. } => {}
            }
        }
        for &label in turn {
            roles[self.graph.model.moves[label as usize].role as usize] = true;
        }
        roles
    }

    /// The steps of `roles` among `labels`, which begin in the first configuration, and all that has to happen before them.
    fn needed(&self, labels: &[u32], roles: &[bool]) -> Option<Vec<u32>> {
        let (model, layout) = (self.graph.model, &self.graph.layout);
        let step = |label: u32| &model.moves[label as usize];
        let undeliverable = |label: u32| step(label).fault == Some(Fault::Undeliverable);
        let is_fault = |&label: &u32| step(label).fault.is_some() && !undeliverable(label);
        let (fixed, labels) = labels.split_at(labels.iter().rposition(is_fault).map_or(0, |last| last + 1));
        let start = self.graph.words(self.follow(0, fixed)?);
        let room = layout.bound() as usize;
        // By channel: the numbers of the steps that send to it and take from it, and how much it holds before all of them.
        let mut sent = vec![Vec::new(); model.channels.len()];
        let mut taken = vec![Vec::new(); model.channels.len()];
        let held: Vec<usize> =
            (0..model.channels.len()).map(|at| layout.length(&start, at) as usize).collect();
        let mut last = vec![None; model.role_count()];
        // By step: those that have to come right before it.
        let mut causes: Vec<[Option<usize>; 3]> = Vec::with_capacity(labels.len());
        for (number, &label) in labels.iter().enumerate() {
            let step = step(label);
            let channel = step.channel as usize;
            let (sent, taken): (&mut Vec<usize>, &mut Vec<usize>) = (&mut sent[channel], &mut taken[channel]);
            let earlier = last[step.role as usize].replace(number);
            causes.push(if undeliverable(label) {
                [earlier, None, None]
            } else if step.sends {
                let full = (held[channel] + sent.len()).checked_sub(room);
                let before = sent.last().copied();
                sent.push(number);
                [earlier, full.and_then(|at| taken.get(at).copied()), before]
            } else {
                let own = taken.len().checked_sub(held[channel]).and_then(|at| sent.get(at).copied());
                taken.push(number);
                [earlier, own, None]
            });
        }
        let mut needed: Vec<bool> = labels.iter().map(|&label| roles[step(label).role as usize]).collect();
        for number in (0..labels.len()).rev() {
            if needed[number] {
                causes[number].iter().flatten().for_each(|&cause| needed[cause] = true);
            }
        }
        let left = labels.iter().zip(needed).filter(|(_, needed)| *needed).map(|(&label, _)| label);
        Some(fixed.iter().copied().chain(left).collect())
    }

    /// Where `labels` lead from `state`, if the graph has them.
    pub(crate) fn follow(&self, state: u32, labels: &[u32]) -> Option<u32> {
        labels.iter().try_fold(state, |at, label| {
            self.graph.all_edges(at).find(|(other, _)| other == label).map(|(_, target)| target)
        })
    }
}
