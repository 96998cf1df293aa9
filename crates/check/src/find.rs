//! Finding witnesses in an examined graph: which configuration, what exactly fails there, and whether it
//! fails whatever the bound.

use crate::examine::{Answers, has_blocked_send};
use crate::explain::explain;
use crate::graph::Graph;
use crate::model::StateKind;
use crate::properties::independence::races;
use crate::properties::{Chained, Property};
use crate::reach::StateSet;
use crate::saturate::Saturation;
use crate::verdict::Ground;
use crate::witness::{Failure, Witness, situation, step_of, steps_of};

/// How many configurations may be tested for a violation that no bound helps.
const CANDIDATES: usize = 10_000;
/// How many when it is only to be seen whether a closer look is worth it.
const FEW: usize = 4;

/// A graph in which witnesses are looked for.
pub(crate) struct Finder<'a> {
    pub(crate) graph: &'a Graph<'a>,
    pub(crate) answers: &'a Answers,
    /// Whether the graph is all of TS_k.
    pub(crate) full: bool,
}

impl Finder<'_> {
    /// A shortest execution to a violation of k-safety that is one whatever the bound. `premises` is the
    /// ground that holds for every violation, if there is one.
    pub(crate) fn real_violation(&self, premises: Option<Ground>) -> Option<(Witness, Ground)> {
        if self.answers.is_safe() {
            return None;
        }
        let blocked = self.blocks();
        let mut tested = 0;
        let mut found = None;
        let (labels, state) = self.graph.shortest(|state| {
            if !self.violates_safety(state) {
                return false;
            }
            if let Some(ground) = premises {
                found = self.failure(state).map(|failure| (failure, ground));
            } else if self.full && !blocked.contains(state) {
                found = self.failure(state).map(|failure| (failure, Ground::NothingBlocked));
            } else if tested < CANDIDATES {
                tested += 1;
                found = self.saturated(state).map(|failure| (failure, Ground::NothingHelps));
            }
            found.is_some()
        })?;
        let ((property, failure), ground) = found?;
        Some((self.witness(property, failure, &labels, state), ground))
    }

    /// Whether one of a few configurations near the end of everything violates k-safety whatever the bound.
    pub(crate) fn looks_real(&self) -> bool {
        let last = self.answers.components.endings().filter(|&state| self.violates_safety(state));
        last.take(FEW).any(|state| self.saturated(state).is_some())
    }

    /// A shortest execution to a violation of k-safety, real or not.
    pub(crate) fn any_violation(&self) -> Option<Witness> {
        let (labels, state) = self.graph.shortest(|state| self.violates_safety(state))?;
        let (property, failure) = self.failure(state)?;
        Some(self.witness(property, failure, &labels, state))
    }

    /// A shortest execution to where `property` fails.
    pub(crate) fn violation(&self, property: Property) -> Option<Witness> {
        let independence = self.answers.independence.as_ref();
        let bad = match property {
            Property::OutputIndependence => &independence?.output,
            Property::StrongInputIndependence => &independence?.strong,
            Property::ChainedInputIndependence => match &independence?.chained {
                Some(Chained::Decided(bad)) => bad,
                _ => return None,
            },
            Property::Exhaustivity => &independence?.exhaustive,
            Property::Stability => self.answers.stable.as_ref()?,
            Property::EventualReception => &self.answers.reception,
            Property::Progress => &self.answers.progress,
        };
        if bad.is_empty() {
            return None;
        }
        let (labels, state) = self.graph.shortest(|state| bad.contains(state))?;
        let failure = match property {
            Property::OutputIndependence => self.blocked_send(state),
            Property::StrongInputIndependence | Property::ChainedInputIndependence => self.race(state),
            Property::Exhaustivity => self.unsendable(state),
            Property::Stability => Some(Failure::Unstable),
            Property::EventualReception => self.unreceived(state, &self.reachable(state)),
            Property::Progress => self.stuck(state, &self.reachable(state)),
        }?;
        Some(self.witness(property, failure, &labels, state))
    }

    /// A shortest execution to where one role can receive from two channels at once. In a larger bound it still can:
    /// then neither k-SIBI nor k-CIBI holds.
    pub(crate) fn open_race(&self) -> Option<Witness> {
        let model = self.graph.model;
        let race = |state: u32| {
            let words = self.graph.words(state);
            (0..model.role_count()).find_map(|role| {
                let groups = model.groups_of(role, self.graph.layout.local(words, role)).iter();
                let mut ready = groups
                    .filter(|group| !group.sends)
                    .filter_map(|group| self.graph.layout.enabled(words, model, group).first());
                Some((*ready.next()?, *ready.next()?))
            })
        };
        let (labels, state) = self.graph.shortest(|state| race(state).is_some())?;
        let (first, second) = race(state)?;
        let step = |label: u32| step_of(&model.moves[label as usize]);
        let failure = Failure::Race { first: step(first), second: step(second) };
        Some(self.witness(Property::ChainedInputIndependence, failure, &labels, state))
    }

    fn witness(&self, property: Property, failure: Failure, labels: &[u32], state: u32) -> Witness {
        let end = situation(self.graph, state);
        let (model, bound) = (self.graph.model, self.graph.layout.bound());
        let explanation = explain(model.system(), model.semantics(), bound, &failure, &end);
        let steps = steps_of(model, labels);
        Witness { property, bound, steps, shortest: self.full, failure, end, explanation }
    }

    fn violates_safety(&self, state: u32) -> bool {
        self.answers.reception.contains(state) || self.answers.progress.contains(state)
    }

    /// The configurations from which a send that is blocked by a full channel can be reached.
    fn blocks(&self) -> StateSet {
        let graph = self.graph;
        let masks =
            self.answers.components.eventually(graph, |state| u64::from(has_blocked_send(graph, state)));
        let mut set = StateSet::new(graph.states());
        for state in 0..graph.states() {
            if masks[self.answers.components.of(state)] != 0 {
                set.insert(state);
            }
        }
        set
    }

    /// Everything reachable from `state`.
    fn reachable(&self, state: u32) -> StateSet {
        let mut seen = StateSet::new(self.graph.states());
        seen.insert(state);
        let mut agenda = vec![state];
        while let Some(at) = agenda.pop() {
            for (_, target) in self.graph.edges(at) {
                if seen.insert(target) {
                    agenda.push(target);
                }
            }
        }
        seen
    }

    /// What of k-safety fails at `state`: progress first, since a stuck role is what a designer looks for.
    fn failure(&self, state: u32) -> Option<(Property, Failure)> {
        let reachable = self.reachable(state);
        if self.answers.progress.contains(state) {
            return self.stuck(state, &reachable).map(|failure| (Property::Progress, failure));
        }
        self.unreceived(state, &reachable).map(|failure| (Property::EventualReception, failure))
    }

    fn stuck(&self, state: u32, reachable: &StateSet) -> Option<Failure> {
        let mut moves = vec![false; self.graph.model.role_count()];
        self.each_label(reachable, |label| {
            moves[self.graph.model.moves[label as usize].role as usize] = true
        });
        let waits = |role: &usize| self.waits(state, *role);
        let role = (0..moves.len()).filter(waits).find(|&role| !moves[role])?;
        Some(Failure::Stuck { role: referee_theory::Role(role as u16) })
    }

    fn unreceived(&self, state: u32, reachable: &StateSet) -> Option<Failure> {
        let mut received = vec![false; self.graph.model.channels.len()];
        self.each_label(reachable, |label| {
            let step = &self.graph.model.moves[label as usize];
            received[step.channel as usize] |= !step.sends;
        });
        let channel =
            (0..received.len()).find(|&channel| self.holds(state, channel) && !received[channel])?;
        Some(self.orphan(state, channel))
    }

    fn each_label(&self, states: &StateSet, mut visit: impl FnMut(u32)) {
        for state in (0..self.graph.states()).filter(|&state| states.contains(state)) {
            for (label, _) in self.graph.edges(state) {
                visit(label);
            }
        }
    }

    fn waits(&self, state: u32, role: usize) -> bool {
        self.graph.model.local(role, self.graph.local(state, role)).kind == StateKind::Receiving
    }

    fn holds(&self, state: u32, channel: usize) -> bool {
        self.graph.layout.length(self.graph.words(state), channel) > 0
    }

    fn orphan(&self, state: u32, channel: usize) -> Failure {
        let queue = &self.graph.model.channels[channel];
        let head = self.graph.layout.symbol(self.graph.words(state), channel, 0);
        let (from, message) = queue.symbols[head as usize];
        Failure::Unreceived { from, to: queue.to, message }
    }

    /// What fails at `state` even if channels had room for everything.
    fn saturated(&self, state: u32) -> Option<(Property, Failure)> {
        let saturation = Saturation::of(self.graph.model, &self.graph.layout, self.graph.words(state));
        for (role, &moves) in saturation.moves.iter().enumerate() {
            if !moves && self.waits(state, role) {
                let role = referee_theory::Role(role as u16);
                return Some((Property::Progress, Failure::Stuck { role }));
            }
        }
        let orphan = |channel: &usize| !saturation.received[*channel] && self.holds(state, *channel);
        let channel = (0..saturation.received.len()).find(orphan)?;
        Some((Property::EventualReception, self.orphan(state, channel)))
    }

    fn blocked_send(&self, state: u32) -> Option<Failure> {
        let words = self.graph.words(state);
        for role in 0..self.graph.model.role_count() {
            if crate::properties::independence::splits_sends(self.graph, words, role) {
                let moves = self.graph.model.moves_of(role, self.graph.layout.local(words, role));
                let blocked =
                    moves.iter().find(|m| m.sends && !self.graph.layout.has_room(words, m.channel))?;
                return Some(Failure::Blocked { send: step_of(blocked) });
            }
        }
        None
    }

    fn race(&self, state: u32) -> Option<Failure> {
        let model = self.graph.model;
        let rivals = races(self.graph);
        let mut first = None;
        for (label, target) in self.graph.edges(state) {
            let candidates = rivals.of(label);
            if candidates.is_empty() {
                continue;
            }
            let fired: Vec<u32> = self.graph.edges(state).map(|(label, _)| label).collect();
            let mut sent = vec![false; model.moves.len()];
            self.each_label(&self.reachable(target), |label| sent[label as usize] = true);
            let comes = |rival: &&u32| {
                let rival_move = &model.moves[**rival as usize];
                fired.contains(rival)
                    || model.moves.iter().zip(&sent).any(|(step, &sent)| {
                        sent && step.sends
                            && step.channel == rival_move.channel
                            && step.symbol == rival_move.symbol
                    })
            };
            if let Some(&second) = candidates.iter().find(comes) {
                first = Some((label, second));
                break;
            }
        }
        let (first, second) = first?;
        let step = |label: u32| step_of(&model.moves[label as usize]);
        Some(Failure::Race { first: step(first), second: step(second) })
    }

    fn unsendable(&self, state: u32) -> Option<Failure> {
        let model = self.graph.model;
        let words = self.graph.words(state);
        for role in 0..model.role_count() {
            let local = model.local(role, self.graph.layout.local(words, role));
            let mut wanted: Vec<u32> =
                (local.first..local.end).filter(|&number| model.moves[number as usize].sends).collect();
            if wanted.is_empty() {
                continue;
            }
            // What can be reached without moving `role`.
            let mut seen = StateSet::new(self.graph.states());
            seen.insert(state);
            let mut agenda = vec![state];
            while let Some(at) = agenda.pop() {
                for (label, target) in self.graph.edges(at) {
                    wanted.retain(|&number| number != label);
                    if model.moves[label as usize].role as usize != role && seen.insert(target) {
                        agenda.push(target);
                    }
                }
            }
            if let Some(&send) = wanted.first() {
                return Some(Failure::Unsendable { send: step_of(&model.moves[send as usize]) });
            }
        }
        None
    }
}
