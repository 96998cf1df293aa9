//! Coverage: which transitions were taken, which can still be, and by which way.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use referee_theory::State;
use serde::Serialize;

use crate::player::{Edge, Player};

/// How much of something was covered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// So much was.
    pub covered: usize,
    /// There is so much.
    pub total: usize,
}

/// What was taken, and how often in vain.
#[derive(Clone, Debug)]
pub struct Coverage {
    /// For each transition, how often it was taken.
    taken: Vec<u32>,
    /// For each transition, how often it was aimed at in vain.
    missed: Vec<u32>,
    /// For each transition, whether no values were found for it.
    unsolved: Vec<bool>,
    /// For each state, how often it was visited.
    visits: Vec<u32>,
    /// How often a transition is aimed at.
    attempts: u32,
}

impl Coverage {
    /// Of `player`'s machine, nothing taken yet; a transition is given up after `attempts`.
    #[must_use]
    pub fn new(player: &Player, attempts: u32) -> Self {
        let edges = player.edges().len();
        let states = player.state_count();
        Self {
            taken: vec![0; edges],
            missed: vec![0; edges],
            unsolved: vec![false; edges],
            visits: vec![0; states],
            attempts: attempts.max(1),
        }
    }

    /// How often the transition `edge` was taken.
    #[must_use]
    pub fn taken(&self, edge: usize) -> u32 {
        self.taken.get(edge).copied().unwrap_or(0)
    }

    /// How often the transition `edge` was aimed at in vain.
    #[must_use]
    pub fn missed(&self, edge: usize) -> u32 {
        self.missed.get(edge).copied().unwrap_or(0)
    }

    /// How often `state` was visited.
    #[must_use]
    pub fn visits(&self, state: State) -> u32 {
        self.visits.get(state.index()).copied().unwrap_or(0)
    }

    pub(crate) fn take(&mut self, edge: usize) {
        self.taken.get_mut(edge).into_iter().for_each(|count| *count += 1);
    }

    pub(crate) fn miss(&mut self, edge: usize, times: u32) {
        self.missed.get_mut(edge).into_iter().for_each(|count| *count = count.saturating_add(times));
    }

    /// No values were found for the transition `edge`.
    pub(crate) fn fail(&mut self, edge: usize) {
        self.miss(edge, 1);
        self.unsolved.get_mut(edge).into_iter().for_each(|unsolved| *unsolved = true);
    }

    /// Whether no values were found for the transition `edge`, at least once.
    pub(crate) fn is_unsolved(&self, edge: usize) -> bool {
        self.unsolved.get(edge).copied().unwrap_or(false)
    }

    pub(crate) fn visit(&mut self, state: State) {
        self.visits.get_mut(state.index()).into_iter().for_each(|count| *count += 1);
    }

    /// Whether `edge` was not taken, and it is not worth while to aim at it any more.
    pub(crate) fn is_given_up(&self, edge: &Edge) -> bool {
        self.taken(edge.number) == 0 && self.missed(edge.number) >= self.attempts
    }

    /// Whether `edge` can be part of a way.
    pub(crate) fn is_passable(&self, edge: &Edge) -> bool {
        edge.obstacle.is_none() && !self.is_given_up(edge)
    }

    /// Whether `edge` is still to be taken.
    pub(crate) fn is_open(&self, edge: &Edge) -> bool {
        self.taken(edge.number) == 0 && self.is_passable(edge)
    }

    /// How dear it is to take `edge`: what the peer rarely says is.
    fn cost(&self, edge: &Edge) -> u64 {
        let (visits, taken) = (u64::from(self.visits(edge.source)), u64::from(self.taken(edge.number)));
        if edge.is_own { 2 } else { 2 + 2 * visits / (taken + 1) }
    }

    /// The states that can be reached from `from`, each with its distance and the first transition of the way, by transitions
    /// that are `allowed`.
    pub(crate) fn ways(
        &self,
        player: &Player,
        from: State,
        allowed: impl Fn(&Edge) -> bool,
    ) -> Vec<Option<(u64, Option<usize>)>> {
        let mut ways: Vec<Option<(u64, Option<usize>)>> = vec![None; player.state_count()];
        let mut open = BinaryHeap::from([Reverse((0, from.0, None::<usize>))]);
        while let Some(Reverse((distance, state, first))) = open.pop() {
            let Some(way) = ways.get_mut(state as usize) else { continue };
            if way.is_some() {
                continue;
            }
            *way = Some((distance, first));
            for edge in player.edges_of(State(state)) {
                if self.is_passable(edge) && allowed(edge) {
                    let first = first.or(Some(edge.number));
                    open.push(Reverse((distance + self.cost(edge), edge.target.0, first)));
                }
            }
        }
        ways
    }

    /// The states that can be reached at all, whoever decides.
    fn reachable(player: &Player) -> Vec<bool> {
        let mut reached = vec![false; player.state_count()];
        let mut open = vec![player.monitor().machine().initial()];
        while let Some(state) = open.pop() {
            let Some(known) = reached.get_mut(state.index()) else { continue };
            if !std::mem::replace(known, true) {
                open.extend(player.edges_of(state).iter().map(|edge| edge.target));
            }
        }
        reached
    }

    /// States, transitions and branches: transitions of states that have several.
    #[must_use]
    pub fn counts(&self, player: &Player) -> [Count; 3] {
        let mut counts = [Count::default(); 3];
        let mut add = |kind: usize, is_covered: bool| {
            if let Some(count) = counts.get_mut(kind) {
                count.total += 1;
                count.covered += usize::from(is_covered);
            }
        };
        for (index, _) in Self::reachable(player).iter().enumerate().filter(|(_, reached)| **reached) {
            let state = State(u32::try_from(index).unwrap_or(u32::MAX));
            add(0, self.visits(state) > 0);
            let edges = player.edges_of(state);
            for edge in edges {
                add(1, self.taken(edge.number) > 0);
                if edges.len() > 1 {
                    add(2, self.taken(edge.number) > 0);
                }
            }
        }
        counts
    }

    /// The transitions that can be reached and were not taken.
    pub(crate) fn uncovered<'p>(&self, player: &'p Player) -> Vec<&'p Edge> {
        let reached = Self::reachable(player);
        let is_missing = |edge: &&Edge| {
            self.taken(edge.number) == 0 && reached.get(edge.source.index()).is_some_and(|reached| *reached)
        };
        player.edges().iter().filter(is_missing).collect()
    }
}
