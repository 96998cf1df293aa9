//! Algorithm 2 of CAV'19: the least bound at which the premises of Theorem 5 hold, and what is to be
//! said when there is none.

use std::sync::atomic::AtomicBool;

use referee_theory::System;

use crate::csa::{Defect, Shape};
use crate::examine::{Answers, Examined, Reduction, examine};
use crate::explain::messages;
use crate::explore::{Limits, Observer, Stop};
use crate::find::Finder;
use crate::model::{Model, Semantics};
use crate::properties::{Property, has_race};
use crate::report::{BoundReport, Report};
use crate::verdict::{Ground, InputGround, OutputGround, Premises, Reason, Verdict};
use crate::witness::Witness;

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
    /// The most bytes of one exploration.
    pub max_memory: usize,
    /// How many threads may explore.
    pub threads: usize,
    /// Whether the stable property is asked for; it needs [`Reduction::None`].
    pub stable: bool,
    /// Up to this many configurations, a negative answer from a reduced graph is looked at again without
    /// reduction, for the shortest witness.
    pub witness_states: usize,
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
            witness_states: 100_000,
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
            memory: self.max_memory,
            cancel,
            threads: self.threads,
            stability: self.stable,
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
    let shape = Shape::of(system);
    let model = Model::new(system, options.semantics);
    let limits = options.limits(cancel);
    let mut checker = Checker { shape: &shape, model: &model, options, limits, observer, bounds: Vec::new() };
    let verdict = checker.run();
    let bounds = checker.bounds;
    Report { shape, semantics: options.semantics, bounds, verdict }
}

struct Checker<'a> {
    shape: &'a Shape,
    model: &'a Model,
    options: &'a Options,
    limits: Limits<'a>,
    observer: &'a mut dyn Observer,
    bounds: Vec<BoundReport>,
}

impl<'a> Checker<'a> {
    /// Bound after bound until one decides; only when none does are the bounds looked at again, without
    /// reduction, for violations that the reduced graphs do not show to be real.
    fn run(&mut self) -> Verdict {
        let mut last = None;
        for k in self.options.min_k..=self.options.max_k {
            let examined = self.examine(k);
            self.bounds.push(BoundReport::of(&examined));
            if let Some(verdict) = self.decide(k, &examined) {
                return verdict;
            }
            let stopped = examined.answers.is_none();
            last = Some((k, examined));
            if stopped {
                break;
            }
        }
        let Some((k, examined)) = last else { return unknown(Reason::NoBound, "no bound was tried") };
        self.look_again().unwrap_or_else(|| self.conclude(k, &examined))
    }

    /// The reduction is used only where it is justified: for communicating session automata with one channel
    /// per pair whose reduced graph is bound independent. Otherwise all of TS_k is explored.
    fn examine(&mut self, k: u32) -> Examined<'a> {
        let plain = self.options.semantics == Semantics::PeerToPeer && self.shape.is_csa();
        let reduction = match self.options.reduction {
            Reduction::Sound if !plain => Reduction::None,
            Reduction::Paper if self.options.semantics == Semantics::Mailbox => Reduction::None,
            other => other,
        };
        let examined = examine(self.model, k, reduction, self.limits, self.observer);
        let justified = examined.answers.as_ref().is_none_or(|answers| self.independent(answers).is_ok());
        if reduction != Reduction::Sound || justified {
            return examined;
        }
        let full = examine(self.model, k, Reduction::None, self.limits, self.observer);
        if full.stopped.is_none() || full.stopped == Some(Stop::Cancelled) {
            return full;
        }
        Examined { telling: false, ..examined }
    }

    /// The bound independence premises of Theorem 5, or the property that fails.
    fn independent(&self, answers: &Answers) -> Result<Premises, Property> {
        let output = if self.shape.is_send_directed() {
            OutputGround::SendDirected
        } else if answers.is_output_independent() {
            OutputGround::OutputIndependent
        } else {
            return Err(Property::OutputIndependence);
        };
        let input = if self.shape.is_receive_directed() {
            InputGround::ReceiveDirected
        } else if answers.strong.is_empty() {
            InputGround::StrongInputIndependent
        } else if answers.is_input_independent() {
            InputGround::ChainedInputIndependent
        } else if answers.is_chained().is_none() {
            return Err(Property::StrongInputIndependence);
        } else {
            return Err(Property::ChainedInputIndependence);
        };
        Ok(Premises { output, input })
    }

    /// Safe by Theorem 5, or a violation that this graph shows to be real.
    fn decide(&self, k: u32, examined: &Examined<'_>) -> Option<Verdict> {
        let answers = examined.answers.as_ref()?;
        let premises = self.premises(examined, answers);
        if answers.is_safe() {
            return premises.ok().map(|premises| Verdict::Safe { k, premises });
        }
        let full = examined.reduction == Reduction::None;
        let finder = Finder { graph: &examined.graph, answers, full };
        // Algorithm 1 as printed proves nothing: its violations must be real on their own.
        let lemma = premises.ok().filter(|_| examined.reduction != Reduction::Paper).map(Ground::Premises);
        if full || lemma.is_some() || finder.looks_real() { self.violated(k, examined, lemma) } else { None }
    }

    /// The shortest real violation, from the full graph if that is small enough.
    fn violated(&self, k: u32, examined: &Examined<'_>, lemma: Option<Ground>) -> Option<Verdict> {
        let again = self.full(k, examined, self.options.witness_states);
        let from = again.as_ref().unwrap_or(examined);
        let finder = Finder {
            graph: &from.graph,
            answers: from.answers.as_ref()?,
            full: from.reduction == Reduction::None,
        };
        let (witness, ground) = finder.real_violation(lemma)?;
        Some(Verdict::Unsafe { k, ground, witness: Box::new(witness) })
    }

    /// Every bound once more, without reduction, as long as the graphs are small.
    fn look_again(&self) -> Option<Verdict> {
        let mut budget = self.options.witness_states;
        for bound in self.bounds.iter().filter(|bound| bound.reduction != Reduction::None) {
            if bound.safe() == Some(true) && bound.reduction == Reduction::Sound {
                continue;
            }
            let limits = self.limits.at_most(budget);
            let full = examine(self.model, bound.k, Reduction::None, limits, &mut ());
            budget = budget.saturating_sub(full.graph.states() as usize);
            let Some(answers) = &full.answers else { break };
            let finder = Finder { graph: &full.graph, answers, full: true };
            if let Some((witness, ground)) = finder.real_violation(None) {
                return Some(Verdict::Unsafe { k: bound.k, ground, witness: Box::new(witness) });
            }
        }
        None
    }

    fn conclude(&self, k: u32, examined: &Examined<'_>) -> Verdict {
        let Some(answers) = &examined.answers else {
            return self.stopped(k, examined);
        };
        let premises = self.premises(examined, answers);
        let again = self.full(k, examined, self.options.witness_states);
        let from = again.as_ref().unwrap_or(examined);
        let answers = from.answers.as_ref().unwrap_or(answers);
        let finder = Finder { graph: &from.graph, answers, full: from.reduction == Reduction::None };
        self.unknown(k, &finder, premises)
    }

    /// All premises of Theorem 5 but k-safety.
    fn premises(&self, examined: &Examined<'_>, answers: &Answers) -> Result<Premises, Option<Property>> {
        if !self.shape.is_csa() || self.options.semantics == Semantics::Mailbox {
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
        if answers.exhaustive.is_empty() { Ok(premises) } else { Err(Some(Property::Exhaustivity)) }
    }

    /// The same bound without reduction, if it has at most `most` configurations.
    fn full<'g>(&self, k: u32, examined: &Examined<'g>, most: usize) -> Option<Examined<'g>> {
        if examined.reduction == Reduction::None {
            return None;
        }
        let limits = self.limits.at_most(most);
        let full = examine(examined.graph.model, k, Reduction::None, limits, &mut ());
        full.answers.is_some().then_some(full)
    }

    fn stopped(&self, k: u32, examined: &Examined<'_>) -> Verdict {
        let stop = examined.stopped.unwrap_or(Stop::Cancelled);
        let (states, transitions) = (examined.graph.states(), examined.graph.transitions());
        let (why, help) = match stop {
            Stop::States => ("the limit on configurations was reached", "raise it, or lower the bound"),
            Stop::Memory => ("the limit on memory was reached", "raise it, or lower the bound"),
            Stop::Cancelled => ("the check was cancelled", "let it run longer"),
        };
        let text =
            format!("{why} at k = {k} after {states} configurations and {transitions} transitions: {help}");
        unknown(Reason::Stopped { stop, k }, text)
    }

    fn unknown(&self, k: u32, finder: &Finder<'_>, premises: Result<Premises, Option<Property>>) -> Verdict {
        if self.options.semantics == Semantics::Mailbox {
            return unknown(
                Reason::Mailbox,
                format!(
                    "with mailboxes no theorem says more than was explored, and with {} per mailbox there is no \
                     violation that every bound has; a larger k may find one",
                    messages(k)
                ),
            );
        }
        if let Some(defect) = self.shape.defects.first() {
            return unknown(Reason::NotSessionAutomata(*defect), self.defect(defect));
        }
        match premises {
            Ok(_) => match finder.any_violation() {
                Some(witness) => {
                    let text = explained(&witness, "This may be due to the bound alone: a larger k may help");
                    unknown(Reason::Bound(Box::new(witness)), text)
                }
                None => unknown(
                    Reason::FalseAlarm { k },
                    format!(
                        "at k = {k} Algorithm 1 as printed ignores a pending action and reports a violation that \
                         the unreduced system does not have: use the sound reduction"
                    ),
                ),
            },
            Err(property) => {
                let property = property.unwrap_or(Property::Exhaustivity);
                let Some(witness) = finder.violation(property) else {
                    return unknown(
                        Reason::FalseAlarm { k },
                        format!(
                            "at k = {k} the graph of Algorithm 1 does not tell of {}: use the sound reduction",
                            property.name()
                        ),
                    );
                };
                let help = match property {
                    Property::OutputIndependence => {
                        "A larger k may help, or a choice between messages to one peer instead of several"
                    }
                    Property::Exhaustivity => "A larger k may help, unless that channel is never emptied",
                    _ => {
                        "What is received first must not depend on speed: receive from one peer at a time, or let one \
                         peer decide and tell the others"
                    }
                };
                let text = explained(&witness, help);
                if property == Property::StrongInputIndependence {
                    return unknown(Reason::ChainTooLong(Box::new(witness)), text);
                }
                unknown(Reason::Premise(Box::new(witness)), text)
            }
        }
    }

    fn defect(&self, defect: &Defect) -> String {
        let system = self.model.system();
        let vocabulary = system.vocabulary();
        let role = vocabulary.role_name(defect.role());
        let state = system.machine(defect.role()).state_name(defect.state());
        match defect {
            Defect::Mixed { send, receive, .. } => format!(
                "not a CSA, because state `{state}` of `{role}` mixes sending `{}` to `{}` and receiving `{}` from \
                 `{}`: let one of them go first",
                vocabulary.label_of(send.message),
                vocabulary.role_name(send.peer),
                vocabulary.label_of(receive.message),
                vocabulary.role_name(receive.peer),
            ),
            Defect::Nondeterministic { transitions: [first, _], .. } => format!(
                "not a CSA, because state `{state}` of `{role}` has two transitions for `{}{}{}`: use \
                 different labels, or choose after it",
                vocabulary.role_name(first.peer),
                first.action.symbol(),
                vocabulary.label_of(first.message),
            ),
        }
    }
}

fn unknown(reason: Reason, explanation: impl Into<String>) -> Verdict {
    Verdict::Unknown { reason, explanation: explanation.into() }
}

fn explained(witness: &Witness, help: &str) -> String {
    let (bound, property) = (messages(witness.bound), witness.property.name());
    format!("with {bound} per channel, {property} does not hold: {}. {help}", witness.explanation)
}
