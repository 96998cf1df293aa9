//! k-safety and completeness asked of representatives only (`docs/checking.md`, "Symmetry").
//!
//! What a channel's head becomes is followed along edges under the renamings that made their targets representatives,
//! so strongly connected components do not help: sweeps go on until nothing is gained.

use crate::examine::{Answers, Questions, Reduction, largest_queue, search};
use crate::explore::symmetric::Symmetric;
use crate::explore::{Explored, Limits, Observer, Stop, explore};
use crate::find::Finder;
use crate::graph::Graph;
use crate::model::{Model, StateKind};
use crate::packed::Packed;
use crate::properties::Property;
use crate::reach::StateSet;
use crate::report::BoundReport;
use crate::store::{Words, zeros};
use crate::symmetry::{Canon, Symmetry};
use crate::verdict::Ground;
use crate::witness::{Witness, steps_of};

/// How many representatives that violate k-safety are looked at for a violation that is real.
const STARTS: usize = 8;

/// Representatives of TS_k.
pub(crate) struct Quotient<'m> {
    pub(crate) graph: Graph<'m>,
    renamings: Packed,
    /// How many configurations and transitions TS_k has.
    pub(crate) configurations: usize,
    pub(crate) transitions: usize,
    pub(crate) stopped: Option<Stop>,
}

/// What was found out about all of TS_k.
pub(crate) struct Found {
    /// Representatives at which some head is never received, and at which some role waits for ever.
    pub(crate) reception: StateSet,
    pub(crate) progress: StateSet,
    /// The most messages in one queue, if no send is blocked.
    pub(crate) largest_queue: Option<u32>,
}

impl Found {
    pub(crate) fn is_safe(&self) -> bool {
        self.reception.is_empty() && self.progress.is_empty()
    }
}

impl<'m> Quotient<'m> {
    pub(crate) fn explore(
        model: &'m Model,
        symmetry: &Symmetry,
        bound: u32,
        limits: Limits<'_>,
        observer: &mut dyn Observer,
    ) -> Self {
        let mut selection = Symmetric::new(model, symmetry);
        let Explored { graph, stopped } = explore(model, bound, None, &mut selection, limits, observer);
        let Symmetric { renamings, configurations, transitions, .. } = selection;
        Self { graph, renamings, configurations, transitions, stopped }
    }

    /// What the representatives say; `None` if that needs more than `room` bytes.
    pub(crate) fn ask(&self, symmetry: &Symmetry, room: usize) -> Option<Found> {
        let model = self.graph.model;
        let channels = model.channels.len();
        let numbers = channels + model.role_count();
        let width = numbers.div_ceil(64).max(1);
        let states = self.graph.states();
        let tables = symmetry.len() * numbers * size_of::<u32>();
        if (states as usize * width * size_of::<u64>()).saturating_add(tables) > room {
            return None;
        }
        // By renaming and new number of a channel or role: its old one.
        let backwards: Vec<Vec<u32>> = (0..symmetry.len() as u32)
            .map(|number| {
                let renaming = symmetry.get(number);
                let roles = renaming.roles.iter().map(|&role| role + channels as u32);
                let mut old = vec![0; numbers];
                (0..).zip(renaming.channels.iter().copied().chain(roles)).for_each(|(number, new)| {
                    old[new as usize] = number;
                });
                old
            })
            .collect();
        let mut received = vec![0_u64; states as usize * width];
        let mut changed = true;
        while changed {
            changed = false;
            for state in (0..states).rev() {
                changed |= self.gain(state, &backwards, width, &mut received);
            }
        }
        let mut reception = StateSet::new(states);
        let mut progress = StateSet::new(states);
        for state in 0..states {
            let words = &self.graph.words(state);
            let known = &received[state as usize * width..(state as usize + 1) * width];
            let comes = |number: usize| known[number / 64] >> (number % 64) & 1 == 1;
            if (0..channels).any(|channel| self.graph.layout.length(words, channel) > 0 && !comes(channel)) {
                reception.insert(state);
            }
            let waits = |role: usize| {
                model.local(role, self.graph.layout.local(words, role)).kind == StateKind::Receiving
            };
            if (0..model.role_count()).any(|role| waits(role) && !comes(channels + role)) {
                progress.insert(state);
            }
        }
        Some(Found { reception, progress, largest_queue: largest_queue(&self.graph) })
    }

    /// Adds to what is received after `state` what its edges receive and what is received after their targets; whether
    /// anything was new.
    fn gain(&self, state: u32, backwards: &[Vec<u32>], width: usize, received: &mut [u64]) -> bool {
        let channels = self.graph.model.channels.len();
        let own = state as usize * width;
        let mut changed = false;
        let mut add = |received: &mut [u64], number: usize| {
            let word = &mut received[own + number / 64];
            changed |= *word >> (number % 64) & 1 == 0;
            *word |= 1 << (number % 64);
        };
        for edge in self.graph.row(state) {
            let step = &self.graph.model.moves[self.graph.label(edge) as usize];
            if !step.sends {
                add(received, step.channel as usize);
                add(received, channels + step.role as usize);
            }
            let old = &backwards[self.renamings.get(edge) as usize];
            let target = self.graph.target(edge) as usize * width;
            for at in 0..width {
                let mut left = received[target + at];
                while left != 0 {
                    let number = at * 64 + left.trailing_zeros() as usize;
                    left &= left - 1;
                    add(received, old[number] as usize);
                }
            }
        }
        changed
    }

    /// What is reported of this bound if it is interrupted.
    pub(crate) fn interrupted(&self) -> BoundReport {
        let memory = self.graph.memory() + self.renamings.memory();
        let k = self.graph.layout.bound();
        BoundReport {
            representatives: Some(self.graph.states() as usize),
            ..BoundReport::interrupted(k, self.configurations, self.transitions, memory)
        }
    }

    /// What is reported of this bound; `failing` is known not to hold.
    pub(crate) fn report(&self, found: &Found, failing: Option<Property>) -> BoundReport {
        let fails = |property: Property| (failing == Some(property)).then_some(false);
        BoundReport {
            k: self.graph.layout.bound(),
            reduction: Reduction::None,
            states: self.configurations,
            transitions: self.transitions,
            representatives: Some(self.graph.states() as usize),
            memory: self.graph.memory() + self.renamings.memory(),
            obi: fails(Property::OutputIndependence),
            sibi: fails(Property::ChainedInputIndependence),
            cibi: fails(Property::ChainedInputIndependence),
            exhaustive: None,
            eventual_reception: Some(found.reception.is_empty()),
            progress: Some(found.progress.is_empty()),
            stable: None,
            complete: Some(found.largest_queue.is_some()),
            largest_queue: found.largest_queue,
            stopped: None,
        }
    }

    /// Violations that are real whatever the bound, shown by real executions: what follows a configuration that is
    /// represented is explored without symmetry, as long as that is at most `states` configurations.
    pub(crate) fn witnesses(
        &self,
        symmetry: &Symmetry,
        found: &Found,
        limits: Limits<'_>,
        states: usize,
        most: usize,
    ) -> Option<(Vec<Witness>, Ground)> {
        let model = self.graph.model;
        let limits = limits.beside(self.graph.memory()).at_most(states);
        let violates = |&state: &u32| found.reception.contains(state) || found.progress.contains(state);
        (0..self.graph.states()).filter(violates).take(STARTS).find_map(|state| {
            let (labels, start) = self.lift(symmetry, state)?;
            let bound = self.graph.layout.bound();
            let after = search(model, bound, Some(&start), Reduction::None, limits, &mut ());
            if after.stopped.is_some() {
                return None;
            }
            let answers = Answers::of(&after.graph, Questions::SafetyOnly, Reduction::None, limits)?;
            let finder = Finder::new(&after.graph, &answers, true, limits);
            let (mut witnesses, ground) = finder.real_violations(None, most)?;
            witnesses.iter_mut().for_each(|witness| witness.precede(steps_of(model, &labels)));
            Some((witnesses, ground))
        })
    }

    /// A real execution to a configuration that `state` represents, as labels, and that configuration.
    pub(crate) fn lift(&self, symmetry: &Symmetry, state: u32) -> Option<(Vec<u32>, Words)> {
        let Graph { model, layout, .. } = &self.graph;
        let (path, _) = self.graph.shortest(|at| at == state)?;
        let mut canon = Canon::new(model, symmetry);
        let mut real = zeros(layout.width());
        let mut labels = Vec::with_capacity(path.len());
        let mut at = 0;
        for label in path {
            at = self.graph.edges(at).find(|&(other, _)| other == label)?.1;
            let wanted = self.graph.words(at);
            let enabled = (0..model.role_count()).flat_map(|role| {
                let groups = model.groups_of(role, layout.local(&real, role));
                groups.iter().flat_map(|group| layout.enabled(&real, model, group))
            });
            let (label, next) = enabled.into_iter().find_map(|&label| {
                let mut next = real.clone();
                layout.fire(&mut next, &model.moves[label as usize]);
                let mut image = next.clone();
                canon.representative(layout, &mut image);
                (image == wanted).then_some((label, next))
            })?;
            labels.push(label);
            real = next;
        }
        Some((labels, real))
    }
}
