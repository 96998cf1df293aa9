//! Algorithm 2 of CAV'19: the least bound at which the premises of Theorem 5 hold, and what is to be
//! said when there is none.

use std::cell::OnceCell;
use std::sync::atomic::AtomicBool;

use referee_theory::System;

use crate::csa::Shape;
use crate::examine::{Answers, Examined, Questions, Reduction, examine};
use crate::explore::{Limits, Observer, Stop};
use crate::faults::Faults;
use crate::find::Finder;
use crate::model::{Model, Semantics};
use crate::properties::{Property, has_race};
use crate::quotient::Quotient;
use crate::report::{BoundReport, Report};
use crate::symmetry::Symmetry;
use crate::unknown::{ended, stopped, stopped_after, unknown};
use crate::verdict::{
    Completeness, Ground, InputGround, OutputGround, Premises, Reason, SafeGround, Verdict,
};
use crate::witness::Witness;

/// Of the memory that is allowed, one part of so many is left for what the allocator rounds up.
const ROUNDING: usize = 16;

/// What to check and how far to go.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The smallest bound tried.
    pub min_k: u32,
    /// The largest bound tried.
    pub max_k: u32,
    /// Which part of TS_k is explored.
    pub reduction: Reduction,
    /// How messages travel.
    pub semantics: Semantics,
    /// The most configurations of one exploration.
    pub max_states: usize,
    /// The most bytes of one exploration, and of all that is resident but a constant (`docs/limits.md`).
    pub max_memory: usize,
    /// How many threads may explore.
    pub threads: usize,
    /// Whether the stable property is asked for; it needs [`Reduction::None`].
    pub stable: bool,
    /// Whether choices are fair: whoever chooses again and again takes each branch again and again. Not with faults.
    pub fair: bool,
    /// Up to this many configurations, a negative answer from a reduced graph is looked at again without
    /// reduction, for the shortest witness.
    pub witness_states: usize,
    /// The most violations, of different kinds and roles, that are told of.
    pub max_witnesses: usize,
    /// From this many configurations on, where a system has identical roles and only k-safety and completeness are
    /// asked, one configuration stands for all that differ only by which of these roles is which; `usize::MAX`: never.
    pub symmetry_from: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            min_k: 1,
            max_k: 4,
            reduction: Reduction::Sound,
            semantics: Semantics::PeerToPeer,
            max_states: usize::MAX,
            max_memory: usize::MAX,
            threads: 1,
            stable: false,
            fair: true,
            witness_states: 100_000,
            max_witnesses: 8,
            symmetry_from: 50_000,
        }
    }
}

impl Options {
    /// Only the bound `k`.
    #[must_use]
    pub fn exactly(k: u32) -> Self {
        Self { min_k: k, max_k: k, ..Self::default() }
    }

    pub(crate) fn limits<'a>(&self, cancel: Option<&'a AtomicBool>) -> Limits<'a> {
        Limits {
            states: self.max_states,
            memory: self.max_memory - self.max_memory / ROUNDING,
            cancel,
            threads: self.threads,
            stability: self.stable,
            keep_edges: true,
        }
    }
}

/// Checks `system`: properties of its shape, of each bound, and the verdict.
///
/// `cancel` may be set by another thread: the exploration then stops, and the verdict says so.
#[must_use]
pub fn check(
    system: &System,
    options: &Options,
    cancel: Option<&AtomicBool>,
    observer: &mut dyn Observer,
) -> Report {
    check_under(system, None, options, cancel, observer)
}

/// As [`check`](check()), with `faults` if there may be some. The verdict then is for executions with at most so many, and
/// unless everything was explored for the last bound only. States of witnesses are those of [`Faults::applied`].
#[must_use]
pub fn check_under(
    system: &System,
    faults: Option<&Faults>,
    options: &Options,
    cancel: Option<&AtomicBool>,
    observer: &mut dyn Observer,
) -> Report {
    let shape = Shape::of(system);
    let model = Model::faulty(system, options.semantics, faults);
    let limits = options.limits(cancel).beside(model.memory());
    let mut checker = Checker {
        shape: &shape,
        model: &model,
        options,
        limits,
        observer,
        bounds: Vec::new(),
        complete: None,
        limit: None,
        race: None,
        symmetry: OnceCell::new(),
    };
    let mut verdict = checker.run();
    if !options.fair && faults.is_none() {
        verdict = checker.without_fairness(verdict);
    }
    let Checker { bounds, complete, limit, .. } = checker;
    Report { shape, semantics: options.semantics, bounds, verdict, complete, limit }
}

pub(crate) struct Checker<'a> {
    pub(crate) shape: &'a Shape,
    pub(crate) model: &'a Model,
    pub(crate) options: &'a Options,
    pub(crate) limits: Limits<'a>,
    pub(crate) observer: &'a mut dyn Observer,
    pub(crate) bounds: Vec<BoundReport>,
    complete: Option<Completeness>,
    pub(crate) limit: Option<(Stop, u32)>,
    /// Where one role can receive from two at once: then no larger bound meets the premises.
    pub(crate) race: Option<Witness>,
    symmetry: OnceCell<Option<Symmetry>>,
}

/// What was explored of a bound.
enum Seen<'m> {
    Graph(Box<Examined<'m>>),
    /// Representatives only, and what they decide.
    Classes(BoundReport, Option<Verdict>),
}

impl<'a> Checker<'a> {
    /// Bound after bound until one decides; only when none does are the bounds looked at again, without
    /// reduction, for violations that the reduced graphs do not show to be real.
    fn run(&mut self) -> Verdict {
        let mut last = None;
        for k in self.options.min_k..=self.options.max_k {
            // Two bounds are never held at once: that is what the limit on memory is about.
            drop(last.take());
            let examined = match self.examine(k) {
                Seen::Graph(examined) => *examined,
                Seen::Classes(bound, verdict) => {
                    self.bounds.push(bound);
                    match verdict {
                        Some(verdict) => return verdict,
                        None => continue,
                    }
                }
            };
            self.bounds.push(BoundReport::of(&examined));
            self.note(&examined);
            if let Some(verdict) = self.decide(k, &examined) {
                return verdict;
            }
            if self.race.is_none() && self.is_plain() && examined.reduction == Reduction::None {
                let answers = examined.answers.as_ref();
                self.race = answers
                    .and_then(|answers| Finder::new(&examined.graph, answers, true, self.limits).open_race());
            }
            if examined.answers.is_none() {
                // A part of a graph says nothing: it makes room for another look at smaller ones.
                let verdict = stopped(k, &examined);
                drop(examined);
                return self.look_again(self.limits).or_else(|| self.known_before(k)).unwrap_or(verdict);
            }
            last = Some((k, examined));
        }
        let Some((k, examined)) = last else {
            return unknown(Reason::NoBound, "no bound was tried", "try at least one");
        };
        let limits = self.limits.beside(examined.memory(&self.limits));
        self.look_again(limits).unwrap_or_else(|| self.conclude(k, &examined))
    }

    /// What the bound before `k` says, where `k` was too large: why a larger limit may not help either.
    fn known_before(&mut self, k: u32) -> Option<Verdict> {
        let (stop, _) = self.limit.filter(|(stop, _)| *stop != Stop::Cancelled)?;
        let before = k.checked_sub(1).filter(|before| *before >= self.options.min_k)?;
        match self.examine(before) {
            Seen::Graph(examined) if examined.answers.is_some() => {
                Some(match self.conclude(before, &examined) {
                    // With faults, of which it is said of one bound only.
                    Verdict::Safe { k: safe, .. } => stopped_after(stop, k, safe),
                    verdict => verdict,
                })
            }
            _ => None,
        }
    }

    /// Whether the paper is about such systems: communicating session automata with one channel per pair.
    pub(crate) fn is_plain(&self) -> bool {
        self.options.semantics == Semantics::PeerToPeer && self.shape.is_csa() && self.model.faults.is_none()
    }

    /// Keeps what a graph says about the whole system, and why it says nothing.
    fn note(&mut self, examined: &Examined<'_>) {
        let k = examined.graph.layout.bound();
        if let Some(stop) = examined.stopped {
            self.limit = Some((stop, k));
        }
        if let Some(largest_queue) = examined.answers.as_ref().and_then(|answers| answers.largest_queue?) {
            self.complete.get_or_insert(Completeness { k, largest_queue });
        }
    }

    /// The reduction is used only where it is justified: for communicating session automata with one channel
    /// per pair whose reduced graph is bound independent. Otherwise all of TS_k is explored.
    fn examine(&mut self, k: u32) -> Seen<'a> {
        let (reduction, questions) = match self.options.reduction {
            Reduction::Sound | Reduction::None if self.race.is_some() => (Reduction::None, Questions::Race),
            Reduction::Sound | Reduction::None if !self.is_plain() => {
                (Reduction::None, Questions::SafetyOnly)
            }
            Reduction::Paper
                if self.options.semantics == Semantics::Mailbox || self.model.faults.is_some() =>
            {
                (Reduction::None, Questions::SafetyOnly)
            }
            other => (other, Questions::Premises),
        };
        if reduction == Reduction::None && questions != Questions::Premises {
            let failing = self.race.is_some().then_some(Property::ChainedInputIndependence);
            return self.everything(k, questions, failing, self.limits);
        }
        let examined = examine(self.model, k, reduction, questions, self.limits, self.observer);
        let justified = examined.answers.as_ref().is_none_or(|answers| self.independent(answers).is_ok());
        if reduction != Reduction::Sound || justified {
            return Seen::Graph(Box::new(examined));
        }
        let limits = self.limits.beside(examined.memory(&self.limits));
        // What does not hold of the reduced graph does not hold of TS_k either (Lemmas 3, 34, 35).
        let failing = examined.answers.as_ref().and_then(|answers| self.independent(answers).err());
        let failing = failing.filter(|&property| property != Property::StrongInputIndependence);
        match self.everything(k, questions, failing, limits) {
            Seen::Graph(full) if full.stopped.is_none_or(|stop| stop == Stop::Cancelled) => Seen::Graph(full),
            Seen::Graph(full) => {
                self.note(&full);
                Seen::Graph(Box::new(Examined { telling: false, ..examined }))
            }
            classes => classes,
        }
    }

    /// TS_k; of a large one representatives only, where these can tell what is asked: k-safety and completeness, for the
    /// premises do not hold, or not because of `failing`.
    fn everything(
        &mut self,
        k: u32,
        questions: Questions,
        failing: Option<Property>,
        limits: Limits<'a>,
    ) -> Seen<'a> {
        let from = self.options.symmetry_from;
        let all = |limits: Limits<'_>, observer: &mut dyn Observer| {
            examine(self.model, k, Reduction::None, questions, limits, observer)
        };
        let only_safety = questions != Questions::Premises || failing.is_some();
        if !only_safety || limits.stability || limits.states <= from {
            return Seen::Graph(Box::new(all(limits, self.observer)));
        }
        // What there is to tell if the check is interrupted before all of TS_k is explored once more.
        let mut so_far = BoundReport::interrupted(k, 0, 0, 0);
        if from > 0 {
            let small = all(limits.at_most(from), self.observer);
            if small.stopped != Some(Stop::States) {
                return Seen::Graph(Box::new(small));
            }
            let (states, transitions) = (small.graph.states() as usize, small.graph.transitions());
            so_far = BoundReport::interrupted(k, states, transitions, small.graph.memory());
        }
        match self.by_classes(k, failing, limits, &mut so_far) {
            Some((bound, verdict)) if verdict.is_some() || k < self.options.max_k => {
                Seen::Classes(bound, verdict)
            }
            _ if limits.cancelled() => {
                self.limit = Some((Stop::Cancelled, k));
                let verdict = ended(k, Stop::Cancelled, so_far.states, so_far.transitions);
                Seen::Classes(so_far, Some(verdict))
            }
            _ => {
                let full = examine(self.model, k, Reduction::None, questions, limits, self.observer);
                Seen::Graph(Box::new(full))
            }
        }
    }

    /// What one configuration for each class of TS_k says, if the system has symmetry and that is enough. `so_far` then is how far
    /// their exploration came.
    fn by_classes(
        &mut self,
        k: u32,
        failing: Option<Property>,
        limits: Limits<'a>,
        so_far: &mut BoundReport,
    ) -> Option<(BoundReport, Option<Verdict>)> {
        let symmetry = self.symmetry.get_or_init(|| Symmetry::of(self.model, limits)).as_ref()?;
        let classes = Quotient::explore(self.model, symmetry, k, limits, self.observer);
        *so_far = classes.interrupted();
        let room = limits.memory.saturating_sub(classes.graph.memory());
        let found = if classes.stopped.is_none() { classes.ask(symmetry, room)? } else { return None };
        let bound = classes.report(&found, failing);
        let verdict = if found.is_safe() {
            found.largest_queue.map(|_| Verdict::Safe { k, ground: SafeGround::Complete })
        } else {
            let (witnesses, ground) = classes.witnesses(
                symmetry,
                &found,
                limits,
                self.options.witness_states,
                self.options.max_witnesses,
            )?;
            is_unsafe(k, ground, witnesses)
        };
        if let Some(largest_queue) = found.largest_queue {
            self.complete.get_or_insert(Completeness { k, largest_queue });
        }
        Some((bound, verdict))
    }

    /// The bound independence premises of Theorem 5, or the property that fails.
    fn independent(&self, answers: &Answers) -> Result<Premises, Property> {
        let output = if self.shape.is_send_directed() {
            OutputGround::SendDirected
        } else if answers.is_output_independent() == Some(true) {
            OutputGround::OutputIndependent
        } else {
            return Err(Property::OutputIndependence);
        };
        let input = if self.shape.is_receive_directed() {
            InputGround::ReceiveDirected
        } else if answers.is_strong() == Some(true) {
            InputGround::StrongInputIndependent
        } else {
            match answers.is_chained() {
                Some(true) => InputGround::ChainedInputIndependent,
                Some(false) => return Err(Property::ChainedInputIndependence),
                None => return Err(Property::StrongInputIndependence),
            }
        };
        Ok(Premises { output, input })
    }

    /// Safe by Theorem 5 or because this is all there is, or a violation that this graph shows to be real.
    fn decide(&mut self, k: u32, examined: &Examined<'_>) -> Option<Verdict> {
        let answers = examined.answers.as_ref()?;
        let premises = self.premises(examined, answers);
        if answers.is_safe() {
            let compatible = premises.ok().map(SafeGround::Compatible);
            let ground = compatible.or(answers.is_complete().then_some(SafeGround::Complete))?;
            return Some(Verdict::Safe { k, ground });
        }
        let full = examined.reduction == Reduction::None;
        let finder = Finder::new(&examined.graph, answers, full, self.limits);
        // Algorithm 1 as printed proves nothing: its violations must be real on their own.
        let lemma = premises.ok().filter(|_| examined.reduction != Reduction::Paper).map(Ground::Premises);
        if full || lemma.is_some() || finder.looks_real() { self.violated(k, examined, lemma) } else { None }
    }

    /// The shortest real violation, from the full graph if that is small enough.
    fn violated(&mut self, k: u32, examined: &Examined<'_>, lemma: Option<Ground>) -> Option<Verdict> {
        let again = self.full(k, examined, self.options.witness_states);
        if let Some(again) = &again {
            self.note(again);
        }
        let from = again.as_ref().unwrap_or(examined);
        let finder =
            Finder::new(&from.graph, from.answers.as_ref()?, from.reduction == Reduction::None, self.limits);
        let (witnesses, ground) = finder.real_violations(lemma, self.options.max_witnesses)?;
        is_unsafe(k, ground, witnesses)
    }

    /// Every bound once more, without reduction, as long as the graphs are small.
    fn look_again(&mut self, limits: Limits<'_>) -> Option<Verdict> {
        let mut budget = self.options.witness_states;
        let reduced = |bound: &&BoundReport| {
            bound.reduction == Reduction::Paper
                || bound.reduction == Reduction::Sound && bound.safe() != Some(true)
        };
        let bounds: Vec<u32> = self.bounds.iter().filter(reduced).map(|bound| bound.k).collect();
        for k in bounds {
            let limits = limits.at_most(budget);
            let full = examine(self.model, k, Reduction::None, Questions::SafetyOnly, limits, &mut ());
            budget = budget.saturating_sub(full.graph.states() as usize);
            let Some(answers) = &full.answers else { break };
            self.note(&full);
            if answers.is_safe() && answers.is_complete() {
                return Some(Verdict::Safe { k, ground: SafeGround::Complete });
            }
            let finder = Finder::new(&full.graph, answers, true, limits);
            if let Some((witnesses, ground)) = finder.real_violations(None, self.options.max_witnesses) {
                return is_unsafe(k, ground, witnesses);
            }
        }
        None
    }

    fn conclude(&self, k: u32, examined: &Examined<'_>) -> Verdict {
        let Some(answers) = &examined.answers else {
            return stopped(k, examined);
        };
        if self.model.faults.is_some() && answers.is_safe() {
            return Verdict::Safe { k, ground: SafeGround::Bounded };
        }
        let premises = self.premises(examined, answers);
        let again = self.full(k, examined, self.options.witness_states);
        let from = again.as_ref().unwrap_or(examined);
        let answers = from.answers.as_ref().unwrap_or(answers);
        let finder = Finder::new(&from.graph, answers, from.reduction == Reduction::None, self.limits);
        self.unknown(k, &finder, premises)
    }

    /// All premises of Theorem 5 but k-safety.
    fn premises(&self, examined: &Examined<'_>, answers: &Answers) -> Result<Premises, Option<Property>> {
        if !self.is_plain() {
            return Err(None);
        }
        let premises = self.independent(answers).map_err(Some)?;
        // The tool's version of Algorithm 1 may leave a race unseen: see `explore/paper.rs`.
        if examined.reduction == Reduction::Paper
            && !self.shape.is_receive_directed()
            && has_race(&examined.graph)
        {
            return Err(Some(Property::ChainedInputIndependence));
        }
        if answers.is_exhaustive() == Some(true) { Ok(premises) } else { Err(Some(Property::Exhaustivity)) }
    }

    /// The same bound without reduction, if it has at most `most` configurations.
    fn full<'g>(&self, k: u32, examined: &Examined<'g>, most: usize) -> Option<Examined<'g>> {
        if examined.reduction == Reduction::None {
            return None;
        }
        let limits = self.limits.beside(examined.memory(&self.limits)).at_most(most);
        let model = examined.graph.model;
        let full = examine(model, k, Reduction::None, Questions::Premises, limits, &mut ());
        full.answers.is_some().then_some(full)
    }
}

fn is_unsafe(k: u32, ground: Ground, witnesses: Vec<Witness>) -> Option<Verdict> {
    let mut witnesses = witnesses.into_iter();
    let witness = Box::new(witnesses.next()?);
    Some(Verdict::Unsafe { k, ground, witness, others: witnesses.collect() })
}
