//! Finding witnesses in an examined graph: which configuration, what exactly fails there, and whether it
//! fails whatever the bound.

use crate::examine::{Answers, has_blocked_send};
use crate::explain::explain;
use crate::explore::Limits;
use crate::graph::Graph;
use crate::obstacle::Obstacle;
use crate::properties::independence::races;
use crate::properties::{Chained, Property, sent_independently};
use crate::reach::StateSet;
use crate::saturate::Saturation;
use crate::show::Violated;
use crate::verdict::Ground;
use crate::witness::{Failure, Witness, situation, step_of, steps_of};

/// How many configurations may be tested for a violation that no bound helps.
const CANDIDATES: usize = 10_000;
/// How many when it is only to be seen whether a closer look is worth it.
const FEW: usize = 4;
/// In graphs of at most this many configurations more than one violation is looked for …
const SMALL: usize = 200_000;
/// … at no more ends than this …
const FURTHER: usize = 200;
/// … and where no more violations begin than this.
const FURTHER_BEGINNINGS: usize = 20;

/// A graph in which witnesses are looked for.
pub(crate) struct Finder<'a> {
    pub(crate) graph: &'a Graph<'a>,
    pub(crate) answers: &'a Answers,
    /// Whether the graph is all of TS_k.
    pub(crate) full: bool,
    /// Whether an execution may be prolonged beyond the bound where nothing within it shows the mistake.
    pub(crate) beyond: bool,
    /// What ends the search for more than the first violation, and for a better view of it.
    pub(crate) limits: Limits<'a>,
}

impl<'a> Finder<'a> {
    pub(crate) fn new(graph: &'a Graph<'a>, answers: &'a Answers, full: bool, limits: Limits<'a>) -> Self {
        Self { graph, answers, full, beyond: true, limits }
    }
}

impl Finder<'_> {
    /// A shortest execution to a violation of k-safety that is one whatever the bound, prolonged until the mistake is
    /// plain; then further ones of other kinds and roles, at most `most` in all. `premises` is the ground that holds for
    /// every violation, if there is one.
    pub(crate) fn real_violations(
        &self,
        premises: Option<Ground>,
        most: usize,
    ) -> Option<(Vec<Witness>, Ground)> {
        if self.answers.is_safe() {
            return None;
        }
        let blocked = self.blocks();
        let mut tested = 0;
        let mut ground_at = |state: u32| {
            if !self.violates_safety(state) {
                None
            } else if premises.is_some() {
                premises
            } else if self.full && !blocked.contains(state) {
                Some(Ground::NothingBlocked)
            } else if tested < CANDIDATES {
                tested += 1;
                self.is_hopeless(state).then_some(Ground::NothingHelps)
            } else {
                None
            }
        };
        let mut found = None;
        let mut doubtful = false;
        let (labels, state) = self.graph.shortest(|state| {
            found = ground_at(state);
            doubtful |= found.is_none() && self.violates_safety(state);
            found.is_some()
        })?;
        let ground = found?;
        let mut witnesses =
            self.shown(&labels, state, found, Violated { after: labels.len(), blocked: &blocked });
        // What violates k-safety earlier may do so whatever the bound, for a reason that no ground shows.
        witnesses.iter_mut().for_each(|witness| witness.shortest &= !doubtful);
        if most > 1 && self.graph.states() as usize <= SMALL {
            self.further(&mut witnesses, most, &mut ground_at, &blocked);
        }
        witnesses.truncate(most.max(1));
        (!witnesses.is_empty()).then_some((witnesses, ground))
    }

    /// Whether one of a few configurations near the end of everything violates k-safety whatever the bound.
    pub(crate) fn looks_real(&self) -> bool {
        let last = self.answers.components.endings().filter(|&state| self.violates_safety(state));
        last.take(FEW).any(|state| self.is_hopeless(state))
    }

    /// A shortest execution to a violation of k-safety, real or not.
    pub(crate) fn any_violation(&self) -> Option<Witness> {
        let (labels, state) = self.graph.shortest(|state| self.violates_safety(state))?;
        let violated = Violated { after: labels.len(), blocked: &StateSet::new(0) };
        self.shown(&labels, state, None, violated).into_iter().next()
    }

    /// Adds violations of other kinds and roles, from bottom components and, where room is not what they are about, from
    /// wherever else they begin.
    fn further(
        &self,
        witnesses: &mut Vec<Witness>,
        most: usize,
        ground_at: &mut dyn FnMut(u32) -> Option<Ground>,
        blocked: &StateSet,
    ) {
        let components = &self.answers.components;
        let mut visited = Vec::new();
        let (mut ends, mut others) = (Vec::new(), Vec::new());
        let tree = self.graph.tree(|state| {
            if !self.violates_safety(state) {
                return;
            }
            if !self.answers.is_bottom(self.graph, state) {
                others.extend((others.len() < FURTHER_BEGINNINGS).then_some(state));
            } else if ends.len() < FURTHER && !visited.contains(&components.of(state)) {
                visited.push(components.of(state));
                ends.push(state);
            }
        });
        let bottoms = ends.len();
        for (number, state) in ends.into_iter().chain(others).enumerate() {
            if witnesses.len() >= most || self.limits.cancelled() {
                break;
            }
            let Some(ground) = ground_at(state) else { continue };
            let told = |failure: &Failure, witnesses: &[Witness]| {
                witnesses.iter().any(|known| known.failure == *failure && known.is_shown())
            };
            if number >= bottoms {
                let is_new = |obstacle: &Obstacle| !told(&obstacle.failure, witnesses);
                if ground != Ground::NothingHelps || !self.hopeless(state).iter().any(is_new) {
                    continue;
                }
            }
            let labels = self.graph.path_to(state, &tree);
            let before = self.first(&labels, |state| ground_at(state).is_some());
            let violated = Violated { after: before, blocked };
            for mut witness in self.shown(&labels, state, Some(ground), violated) {
                if witness.is_shown() {
                    // It tells more than the same where it only begins.
                    witnesses.retain(|known| known.is_shown() || known.failure != witness.failure);
                } else if witnesses.iter().any(|known| known.failure == witness.failure) {
                    continue;
                }
                if !witnesses.iter().any(|known| known.tells_of_same(&witness)) {
                    witness.shortest = false;
                    witnesses.push(witness);
                }
            }
        }
    }

    /// After how many of `labels` there is a configuration that is `wanted`, or else all of them.
    fn first(&self, labels: &[u32], mut wanted: impl FnMut(u32) -> bool) -> usize {
        let mut state = 0;
        for (count, label) in labels.iter().enumerate() {
            if wanted(state) {
                return count;
            }
            match self.graph.all_edges(state).find(|(other, _)| other == label) {
                Some((_, target)) => state = target,
                None => break,
            }
        }
        labels.len()
    }

    /// After how many of `labels` k-safety is violated.
    pub(crate) fn first_unsafe(&self, labels: &[u32]) -> usize {
        self.first(labels, |state| self.violates_safety(state))
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
            Property::EventualReception | Property::Progress => return self.any_violation(),
        };
        if bad.is_empty() {
            return None;
        }
        let (labels, state) = self.graph.shortest(|state| bad.contains(state))?;
        let failure = match property {
            Property::OutputIndependence => self.blocked_send(state),
            Property::StrongInputIndependence | Property::ChainedInputIndependence => {
                // Where both messages are there it is plain.
                if let Some(open) = self.open_race() {
                    return Some(Witness { property, ..open });
                }
                self.unseen_race(state, property)
            }
            Property::Exhaustivity => self.unsendable(state),
            _ => Some(Failure::Unstable),
        }?;
        Some(self.witness(property, failure, &labels, state))
    }

    /// A shortest execution to where one role can receive from two channels at once. In a larger bound it still can:
    /// then neither k-SIBI nor k-CIBI holds.
    pub(crate) fn open_race(&self) -> Option<Witness> {
        let model = self.graph.model;
        let race = |state: u32| {
            let words = &self.graph.words(state);
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
        let failure = Failure::Race { first: step(first), second: step(second), together: true };
        Some(self.witness(Property::ChainedInputIndependence, failure, &labels, state))
    }

    pub(crate) fn witness(
        &self,
        property: Property,
        failure: Failure,
        labels: &[u32],
        state: u32,
    ) -> Witness {
        let end = situation(self.graph, state);
        let (model, bound) = (self.graph.model, self.graph.layout.bound());
        let explanation = explain(model.system(), model.semantics(), bound, &failure, &end);
        let steps = steps_of(model, labels);
        Witness {
            property,
            bound,
            point_of_no_return: steps.len(),
            steps,
            shortest: self.full,
            violation: None,
            ground: None,
            facts: Vec::new(),
            failure,
            end,
            explanation,
        }
    }

    fn violates_safety(&self, state: u32) -> bool {
        self.answers.reception.contains(state) || self.answers.progress.contains(state)
    }

    /// The configurations from which a send that is blocked by a full channel can be reached.
    pub(crate) fn blocks(&self) -> StateSet {
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
    pub(crate) fn reachable(&self, state: u32) -> StateSet {
        // INVARIANT: there are no more configurations than that.
        self.reachable_within(state, usize::MAX).unwrap_or_else(|| StateSet::new(0))
    }

    /// The same, unless these are more than `most` configurations.
    pub(crate) fn reachable_within(&self, state: u32, most: usize) -> Option<StateSet> {
        let mut seen = StateSet::new(self.graph.states());
        seen.insert(state);
        let (mut agenda, mut count) = (vec![state], 1);
        while let Some(at) = agenda.pop() {
            for (_, target) in self.graph.edges(at) {
                if seen.insert(target) {
                    agenda.push(target);
                    count += 1;
                }
            }
            if count > most {
                return None;
            }
        }
        Some(seen)
    }

    fn each_label(&self, states: &StateSet, mut visit: impl FnMut(u32)) {
        for state in (0..self.graph.states()).filter(|&state| states.contains(state)) {
            for (label, _) in self.graph.edges(state) {
                visit(label);
            }
        }
    }

    pub(crate) fn saturation(&self, state: u32) -> Saturation {
        Saturation::of(self.graph.model, &self.graph.layout, &self.graph.words(state))
    }

    /// Whether something fails at `state` even if channels had room for everything.
    fn is_hopeless(&self, state: u32) -> bool {
        !self.hopeless(state).is_empty()
    }

    fn blocked_send(&self, state: u32) -> Option<Failure> {
        let words = &self.graph.words(state);
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

    /// A reception at `state` and a rival of it that is sent later: under k-CIBI without depending on it.
    fn unseen_race(&self, state: u32, property: Property) -> Option<Failure> {
        let moves = &self.graph.model.moves;
        let rivals = races(self.graph);
        let later = |target: u32, label: u32, rival: u32| {
            if property == Property::ChainedInputIndependence {
                return sent_independently(self.graph, label, rival, target);
            }
            let mut sent = false;
            let wanted = &moves[rival as usize];
            self.each_label(&self.reachable(target), |label| {
                let step = &moves[label as usize];
                sent |= step.sends && (step.channel, step.symbol) == (wanted.channel, wanted.symbol);
            });
            sent
        };
        self.graph.edges(state).find_map(|(label, target)| {
            let &second = rivals.of(label).iter().find(|&&rival| later(target, label, rival))?;
            let step = |label: u32| step_of(&moves[label as usize]);
            Some(Failure::Race { first: step(label), second: step(second), together: false })
        })
    }

    fn unsendable(&self, state: u32) -> Option<Failure> {
        let model = self.graph.model;
        let words = &self.graph.words(state);
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
