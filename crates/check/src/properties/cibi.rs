//! k-CIBI (CAV'19, Definitions 11 and 26): after `qp?a` no rival `sp!b` is ever sent that does not
//! depend on that reception.
//!
//! Dependence is followed along a path as it spreads: the receiver depends, whatever it sends from then on
//! depends, whoever takes such a message depends. Only messages carry dependence, never the room a reception
//! makes in a channel: room depends on the bound, messages do not (that is why the paper's relation, which
//! also relates a reception to a later send on the same channel, is read as "send, then its reception", as
//! the paper's Lemma 25 and its own tool read it). This is decided on pairs of a configuration and what
//! depends in it; k-CIBI is only asked for when k-SIBI fails, and the number of pairs is limited.

use rustc_hash::{FxHashMap, FxHashSet};

use super::independence::{fires_rival, races};
use crate::graph::Graph;
use crate::model::Move;
use crate::reach::StateSet;

/// The answer: where it fails, or that it took too much.
#[derive(Debug)]
pub(crate) enum Chained {
    /// A configuration at which it fails that no other one precedes in breadth-first order; empty if it holds.
    Decided(StateSet),
    /// More pairs than allowed.
    TooMany,
}

/// Whether a rival message can be sent independently of the reception that must exclude it, and where first.
pub(crate) fn chained_input(graph: &Graph<'_>, most: usize) -> Chained {
    let rivals = races(graph);
    let search = |label: u32| {
        let rivals = rivals.of(label);
        (!rivals.is_empty()).then(|| Search::new(graph, label, rivals))
    };
    let mut searches: Vec<Option<Search<'_>>> = (0..).take(graph.model.moves.len()).map(search).collect();
    let mut budget = most;
    let mut exceeded = false;
    // What a search has seen cannot fail, or it would have ended: the first start that fails is the first of all.
    let first = graph.shortest(|state| {
        graph.edges(state).any(|(label, target)| {
            let Some(search) = &mut searches[label as usize] else { return false };
            fires_rival(graph, state, search.rivals)
                || search.fails_from(target, &mut budget).unwrap_or_else(|| {
                    exceeded = true;
                    true
                })
        })
    });
    if exceeded {
        return Chained::TooMany;
    }
    let mut bad = StateSet::new(graph.states());
    if let Some((_, state)) = first {
        bad.insert(state);
    }
    Chained::Decided(bad)
}

/// Whether after the reception `label`, which leads to `target`, what `rival` receives is sent independently of it.
pub(crate) fn sent_independently(graph: &Graph<'_>, label: u32, rival: u32, target: u32) -> bool {
    Search::new(graph, label, &[rival]).fails_from(target, &mut usize::MAX.clone()) == Some(true)
}

/// What depends on the first reception: the same for many configurations.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Taint {
    /// Roles that depend, sorted.
    roles: Vec<u32>,
    /// For each channel whose sender depends: how many messages at its head do not, sorted by channel.
    fresh: Vec<(u32, u32)>,
}

/// The search for rivals of one reception that are sent independently of it.
struct Search<'a> {
    graph: &'a Graph<'a>,
    receiver: u32,
    rivals: &'a [u32],
    /// By label: whether it sends what a rival receives.
    sends_rival: Vec<bool>,
    taints: Vec<Taint>,
    numbers: FxHashMap<Taint, u32>,
    /// A taint and the channel from which a message is taken that does not depend: the taint then.
    taken: FxHashMap<(u32, u32), u32>,
    /// Pairs of a configuration and a taint.
    seen: FxHashSet<u64>,
    agenda: Vec<(u32, u32)>,
}

impl<'a> Search<'a> {
    fn new(graph: &'a Graph<'a>, label: u32, rivals: &'a [u32]) -> Self {
        let moves = &graph.model.moves;
        let is_rival = |step: &Move| {
            let same = |rival: &Move| (rival.channel, rival.symbol) == (step.channel, step.symbol);
            step.sends && rivals.iter().any(|&rival| same(&moves[rival as usize]))
        };
        Self {
            graph,
            receiver: moves[label as usize].role,
            rivals,
            sends_rival: moves.iter().map(is_rival).collect(),
            taints: Vec::new(),
            numbers: FxHashMap::default(),
            taken: FxHashMap::default(),
            seen: FxHashSet::default(),
            agenda: Vec::new(),
        }
    }

    /// Whether a rival can be sent independently after the reception that leads to `state`; `None` when the
    /// budget is used up.
    fn fails_from(&mut self, state: u32, budget: &mut usize) -> Option<bool> {
        let nothing = Taint { roles: Vec::new(), fresh: Vec::new() };
        let taint = self.tainted(nothing, self.receiver, state);
        self.visit(state, taint, budget)?;
        while let Some((state, taint)) = self.agenda.pop() {
            for (label, target) in self.graph.edges(state) {
                if self.sends_rival[label as usize] && !self.depends(taint, self.role(label)) {
                    return Some(true);
                }
                let next = self.step(taint, label, target);
                self.visit(target, next, budget)?;
            }
        }
        Some(false)
    }

    /// `None` when the budget is used up.
    fn visit(&mut self, state: u32, taint: u32, budget: &mut usize) -> Option<()> {
        if self.can_fail(taint) && self.seen.insert(u64::from(state) << 32 | u64::from(taint)) {
            *budget = budget.checked_sub(1)?;
            self.agenda.push((state, taint));
        }
        Some(())
    }

    fn role(&self, label: u32) -> u32 {
        self.graph.model.moves[label as usize].role
    }

    fn depends(&self, taint: u32, role: u32) -> bool {
        self.taints[taint as usize].roles.binary_search(&role).is_ok()
    }

    /// Once every rival's sender depends, nothing can go wrong any more.
    fn can_fail(&self, taint: u32) -> bool {
        let sender = |rival: u32| u32::from(self.graph.model.moves[rival as usize].peer.0);
        self.rivals.iter().any(|&rival| !self.depends(taint, sender(rival)))
    }

    /// What depends after `label`, which leads to `target`.
    fn step(&mut self, taint: u32, label: u32, target: u32) -> u32 {
        let step = &self.graph.model.moves[label as usize];
        if step.sends {
            return taint;
        }
        let known = &self.taints[taint as usize];
        let Ok(at) = known.fresh.binary_search_by_key(&step.channel, |&(channel, _)| channel) else {
            return taint;
        };
        match known.fresh[at].1 {
            0 if known.roles.binary_search(&step.role).is_ok() => taint,
            0 => self.tainted(known.clone(), step.role, target),
            _ => {
                if let Some(&next) = self.taken.get(&(taint, step.channel)) {
                    return next;
                }
                let mut next = known.clone();
                next.fresh[at].1 -= 1;
                let next = self.number(next);
                self.taken.insert((taint, step.channel), next);
                next
            }
        }
    }

    /// `role` depends from `state` on as well: what is in its channels was sent before.
    fn tainted(&mut self, mut taint: Taint, role: u32, state: u32) -> u32 {
        let words = &self.graph.words(state);
        for (channel, queue) in self.graph.model.channels.iter().enumerate() {
            if queue.from.is_some_and(|from| u32::from(from.0) == role) {
                taint.fresh.push((channel as u32, self.graph.layout.length(words, channel)));
            }
        }
        taint.roles.push(role);
        taint.roles.sort_unstable();
        taint.fresh.sort_unstable();
        self.number(taint)
    }

    fn number(&mut self, taint: Taint) -> u32 {
        let next = self.taints.len() as u32;
        *self.numbers.entry(taint).or_insert_with_key(|taint| {
            self.taints.push(taint.clone());
            next
        })
    }
}
