//! Whether everything leads back to the start.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};

use rustc_hash::FxHashSet;

use crate::graph::Graph;
use crate::segments::SEGMENT;

/// How many sweeps are worth it.
const SWEEPS: usize = 12;
/// From how many a search is made, and how far.
const FEW: u32 = 64;
const NEARBY: usize = 10_000;
/// How many configurations a thread looks at before it asks for more.
const BLOCK: u32 = 1 << 13;

/// Whether every configuration leads back to the initial one, if a few sweeps show it: it does if each but the first
/// leads to one with a smaller number.
///
/// What is noted of a configuration is a number that it is known to lead to, at first its own; it only ever becomes smaller
/// and is true at any time, so threads may sweep at once, whatever they see of each other. The first sweep goes up and
/// notes the smallest target. Configurations without a smaller one are *open*; the other sweeps go down over these, and
/// follow what is noted of their targets, of what these lead to, and so on. From the last few a search is made.
pub(super) fn leads_back(graph: &Graph<'_>, threads: usize) -> bool {
    let states = graph.states();
    let least = Least::new(states);
    let blocks = states.div_ceil(BLOCK);
    let mut before = u32::MAX;
    for sweep in 0..SWEEPS {
        let next = AtomicU32::new(0);
        let work = || {
            let mut found = Swept::default();
            loop {
                let block = next.fetch_add(1, Ordering::Relaxed);
                if block >= blocks || found.stuck {
                    return found;
                }
                if sweep == 0 {
                    let first = block * BLOCK;
                    (first..states.min(first + BLOCK)).for_each(|state| found.visit(graph, &least, state));
                } else {
                    let first = (blocks - 1 - block) * BLOCK;
                    let open = (first..states.min(first + BLOCK)).rev().filter(|&state| least.is_open(state));
                    open.for_each(|state| found.look_again(graph, &least, state));
                }
            }
        };
        let found = if threads < 2 {
            work()
        } else {
            rayon::broadcast(|context| if context.index() < threads { work() } else { Swept::default() })
                .into_iter()
                .fold(Swept::default(), Swept::and)
        };
        if found.stuck || found.open == before {
            return false;
        }
        if found.open <= FEW {
            let mut open = (1..states).filter(|&state| least.is_open(state));
            return open.all(|state| finds_smaller(graph, &least, state));
        }
        before = found.open;
    }
    false
}

/// Whether a search from `state` soon comes to something that leads to a smaller number.
fn finds_smaller(graph: &Graph<'_>, least: &Least, state: u32) -> bool {
    let mut seen = FxHashSet::from_iter([state]);
    let mut agenda = VecDeque::from([state]);
    while let Some(at) = agenda.pop_front() {
        for (_, target) in graph.edges(at) {
            if least.get(target) < state {
                return true;
            }
            if seen.len() < NEARBY && seen.insert(target) {
                agenda.push_back(target);
            }
        }
    }
    false
}

/// What a sweep over some configurations has found.
#[derive(Clone, Copy, Debug, Default)]
struct Swept {
    /// How many are not known to lead to a smaller number.
    open: u32,
    /// Whether one leads nowhere.
    stuck: bool,
}

impl Swept {
    fn and(self, other: Self) -> Self {
        Self { open: self.open + other.open, stuck: self.stuck || other.stuck }
    }

    fn visit(&mut self, graph: &Graph<'_>, least: &Least, state: u32) {
        let (mut smallest, mut edges) = (state, 0);
        for (_, target) in graph.edges(state) {
            edges += 1;
            smallest = smallest.min(target);
        }
        self.stuck |= edges == 0;
        self.note(least, state, smallest);
    }

    fn look_again(&mut self, graph: &Graph<'_>, least: &Least, state: u32) {
        let follow = |(_, mut at): (u32, u32)| {
            while at > state && !least.is_open(at) {
                at = least.get(at);
            }
            at
        };
        self.note(least, state, graph.edges(state).map(follow).fold(state, u32::min));
    }

    /// Notes that `state`, which is open, leads to `smallest`.
    fn note(&mut self, least: &Least, state: u32, smallest: u32) {
        if smallest < state {
            least.of(state).store(smallest, Ordering::Relaxed);
        } else {
            self.open += 1;
        }
    }
}

/// A number that each configuration is known to lead to, at first its own. In segments as large as those of the
/// table of configurations, which is not needed any more: they take its place.
struct Least(Vec<Vec<AtomicU32>>);

impl Least {
    const SHIFT: u32 = (SEGMENT / size_of::<AtomicU32>()).ilog2();

    fn new(states: u32) -> Self {
        let segment = |first: u32| {
            let end = states.min(first.saturating_add(1 << Self::SHIFT));
            (first..end).map(AtomicU32::new).collect()
        };
        Self((0..states).step_by(1 << Self::SHIFT).map(segment).collect())
    }

    #[inline]
    fn of(&self, state: u32) -> &AtomicU32 {
        &self.0[(state >> Self::SHIFT) as usize][(state & ((1 << Self::SHIFT) - 1)) as usize]
    }

    #[inline]
    fn get(&self, state: u32) -> u32 {
        self.of(state).load(Ordering::Relaxed)
    }

    /// Whether `state` is not known to lead to a smaller number.
    #[inline]
    fn is_open(&self, state: u32) -> bool {
        self.get(state) == state
    }
}

#[cfg(test)]
mod tests {
    use referee_testkit::systems::Alphabet;

    use super::*;
    use crate::examine::{Reduction, search};
    use crate::explore::parallel::explore_parallel;
    use crate::model::{Model, Semantics};
    use crate::reach::{Components, tarjan};
    use crate::{UNLIMITED, generate};

    /// A yes is never wrong, by one thread or two, of a graph that one thread explored or two; and pipelines get one.
    #[test]
    fn a_yes_means_one_component() {
        let mut found = [0; 2];
        let mut compare = |model: &Model, k: u32| {
            let alone = search(model, k, None, Reduction::None, UNLIMITED, &mut ()).graph;
            let limits = crate::explore::Limits { threads: 3, ..UNLIMITED };
            let shared = explore_parallel(model, k, false, limits, &mut ()).graph;
            assert_eq!((alone.states(), alone.transitions()), (shared.states(), shared.transitions()));
            let yes = |graph: &Graph<'_>| {
                // Where there is but one configuration, and no edge, the question is not asked.
                if graph.transitions() == 0 {
                    return false;
                }
                let Components::General { count, .. } = tarjan(graph) else { return false };
                let answers = [1, 2].map(|threads| leads_back(graph, threads));
                assert!(count == 1 || answers == [false, false]);
                found[0] += usize::from(count == 1);
                found[1] += usize::from(answers[0]);
                answers == [true, true]
            };
            [&alone, &shared].map(yes) == [true, true]
        };
        let alphabet = Alphabet::new(2, 1);
        for first in alphabet.machines(0, 3) {
            for second in alphabet.machines(1, 2) {
                let system = alphabet.system([first.clone(), second]);
                compare(&Model::new(&system, Semantics::PeerToPeer), 2);
            }
        }
        assert!(compare(&Model::new(&generate::pipeline(3, 2), Semantics::PeerToPeer), 1));
        assert!(found[0] > 20 && found[1] * 10 > found[0] * 9, "{found:?}");
    }
}
