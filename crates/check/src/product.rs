//! Properties of one's own (`docs/checking.md`, "Properties of one's own"): formulas over the messages that are sent and received,
//! asked of every execution within a bound.
//!
//! The product of TS_k, explored without reduction, and the residuals of a property (`residual.rs`) is searched breadth first, so
//! that the execution that violates the property is a shortest one. What a message carries is not known (`matching.rs`): a
//! violation that depends on it is not one.

mod matching;
mod residual;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use referee_theory::System;
use referee_theory::property::{EventKind, Polarity, Property, Scope};

use self::matching::{Certainty, ProtocolEvent};
use self::residual::Residuals;
use crate::check::Options;
use crate::examine::{Reduction, is_complete, search};
use crate::explore::{Explored, Limits, Observer, Progress, Stop};
use crate::faults::{Fault, Faults};
use crate::graph::Graph;
use crate::keys::Keys;
use crate::model::{Model, Move};
use crate::segments::Segments;
use crate::witness::{Situation, Step, situation, steps_of};

/// What is said of one property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropertyAnswer {
    /// What it is called.
    pub name: Arc<str>,
    /// The last bound that was explored; 0 if none was.
    pub k: u32,
    /// How many configurations of the product were found there.
    pub states: usize,
    /// The answer.
    pub judgement: Judgement,
}

/// Whether a property holds of every execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// No execution violates it, under any bound.
    Holds,
    /// This one does, whatever the messages carry.
    Violated(Execution),
    /// There is no answer.
    Unknown(Doubt),
}

/// Why it is not known whether a property holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// No execution within the bound violates it, but not everything was explored.
    Bound,
    /// This execution violates it for some values that the messages may carry.
    Values(Execution),
    /// The exploration was stopped.
    Stopped(Stop),
    /// No execution of a call violates it that nobody interrupts, and interruptions are in no machine. Said by whoever knows the protocol.
    Interrupted,
    /// It is too large.
    TooLarge,
    /// It is satisfied by events, and never violated by any.
    NeverViolated,
    /// It is about keys of recorded events other than the session.
    Keyed,
    /// It is about processes.
    PerProcess,
    /// It speaks of time, and a protocol is checked without.
    Timed,
}

impl Doubt {
    /// The code scripts see.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Bound => "bound",
            Self::Values(_) => "values",
            Self::Stopped(_) => "limit",
            Self::Interrupted => "interruption",
            Self::TooLarge => "too-large",
            Self::NeverViolated => "never-violated",
            Self::Keyed => "keys",
            Self::PerProcess => "processes",
            Self::Timed => "time",
        }
    }
}

/// An execution that violates a property with its last step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The bound within which it stays.
    pub bound: u32,
    /// The steps, from the initial configuration. No shorter execution within the bound violates the property.
    pub steps: Vec<Step>,
    /// Everything at the end.
    pub end: Situation,
    /// Whether receptions are events of the property, besides sends.
    pub receptions: bool,
}

impl Judgement {
    /// `holds`, `unsafe` or `unknown`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Violated(_) => "unsafe",
            Self::Unknown(_) => "unknown",
        }
    }

    /// The execution that shows it, if one does.
    #[must_use]
    pub fn execution(&self) -> Option<&Execution> {
        match self {
            Self::Violated(execution) | Self::Unknown(Doubt::Values(execution)) => Some(execution),
            Self::Holds | Self::Unknown(_) => None,
        }
    }
}

/// Asks `properties` of every execution of `system`, with `faults` if there may be some, bound after bound until each is
/// answered.
#[must_use]
pub fn check_properties(
    system: &System,
    properties: &[Arc<Property>],
    faults: Option<&Faults>,
    options: &Options,
    cancel: Option<&AtomicBool>,
    observer: &mut dyn Observer,
) -> Vec<PropertyAnswer> {
    let model = Model::faulty(system, options.semantics, faults);
    let limits = options.limits(cancel).beside(model.memory());
    let mut asked: Vec<Asked<'_>> = properties.iter().map(|property| Asked::new(property, &model)).collect();
    for k in options.min_k..=options.max_k {
        if asked.iter().all(|asked| asked.settled) {
            break;
        }
        let Explored { graph, stopped } = search(&model, k, None, Reduction::None, limits, observer);
        let complete = stopped.is_none() && is_complete(&graph);
        for asked in asked.iter_mut().filter(|asked| !asked.settled) {
            asked.ask(&graph, stopped, complete, limits, observer);
        }
    }
    asked.into_iter().map(|asked| asked.answer).collect()
}

/// A property and what is known about it.
struct Asked<'p> {
    residuals: Option<Residuals<'p>>,
    /// By move: the event that it is.
    events: Vec<Option<ProtocolEvent>>,
    /// Whether receptions are events, besides sends.
    receptions: bool,
    answer: PropertyAnswer,
    settled: bool,
}

impl<'p> Asked<'p> {
    fn new(property: &'p Property, model: &Model) -> Self {
        let session =
            |key: &referee_theory::property::Key| matches!(key.steps(), [name] if &**name == "session");
        let residuals = match property.scope() {
            _ if property.is_timed() => Err(Doubt::Timed),
            Scope::PerKey(keys) if !keys.iter().all(session) => Err(Doubt::Keyed),
            Scope::PerProcess(_) => Err(Doubt::PerProcess),
            Scope::Stream | Scope::PerKey(_) => match property.polarity() {
                // `tt` alone is about no event.
                Some(Polarity::Satisfaction) if !property.patterns().is_empty() => Err(Doubt::NeverViolated),
                _ => Residuals::new(property).transpose().map_err(|_| Doubt::TooLarge),
            },
        };
        // Receptions are events only for properties that speak of them: `[a -> b : x][b -> a : y]ff` means the next message.
        let receptions = property.patterns().iter().any(|pattern| pattern.kind == Some(EventKind::Receive));
        let events: Vec<_> = model.moves.iter().map(|step| event(model, step, receptions)).collect();
        let (residuals, judgement) = match residuals {
            Ok(None) => (None, Judgement::Holds),
            Ok(Some(mut residuals)) => match residuals.is_never_violated(&events) {
                true => (None, Judgement::Holds),
                false => (Some(residuals), Judgement::Unknown(Doubt::Bound)),
            },
            Err(doubt) => (None, Judgement::Unknown(doubt)),
        };
        let name = Arc::clone(property.name());
        let answer = PropertyAnswer { name, k: 0, states: 0, judgement };
        Self { events, receptions, answer, settled: residuals.is_none(), residuals }
    }

    /// Searches the product with `graph`, which is everything if `complete` and a part if `stopped`.
    fn ask(
        &mut self,
        graph: &Graph<'_>,
        stopped: Option<Stop>,
        complete: bool,
        limits: Limits<'_>,
        observer: &mut dyn Observer,
    ) {
        let Some(residuals) = &mut self.residuals else { return };
        let mut product = Product::new(graph, limits);
        let ended = product.search(residuals, &self.events, observer);
        self.answer.k = graph.layout.bound();
        self.answer.states = product.nodes.len();
        let execution = |node| product.execution(node, self.receptions);
        (self.answer.judgement, self.settled) = match (ended, stopped) {
            (Ended::Violated(node), _) => (Judgement::Violated(execution(node)), true),
            (Ended::TooLarge, _) => (Judgement::Unknown(Doubt::TooLarge), true),
            (Ended::Stopped(stop), _) | (_, Some(stop)) => (Judgement::Unknown(Doubt::Stopped(stop)), true),
            (Ended::All { possible: Some(node) }, _) => {
                (Judgement::Unknown(Doubt::Values(execution(node))), complete)
            }
            (Ended::All { possible: None }, _) if complete => (Judgement::Holds, true),
            // What a smaller bound has shown to depend on values still does.
            (Ended::All { possible: None }, _) => return,
        };
    }
}

fn event(model: &Model, step: &Move, receptions: bool) -> Option<ProtocolEvent> {
    if step.fault == Some(Fault::Crash) {
        return None;
    }
    let own = referee_theory::Role(step.role as u16);
    let (from, to) = if step.sends { (own, step.peer) } else { (step.peer, own) };
    (step.sends || receptions).then(|| ProtocolEvent::new(model.system(), step.sends, from, to, step.message))
}

/// How a search of a product ended.
enum Ended {
    /// At a configuration in which the property is violated.
    Violated(u32),
    /// Everything was seen; `possible` is the first configuration in which it is violated for some values.
    All {
        possible: Option<u32>,
    },
    Stopped(Stop),
    TooLarge,
}

/// Configurations with residuals, in the order in which they were found.
struct Product<'g> {
    graph: &'g Graph<'g>,
    limits: Limits<'g>,
    /// The nodes: a configuration below a residual.
    nodes: Keys,
    /// By node: the node before it, and the label that leads from there.
    before: Segments<(u32, u32)>,
}

fn joined(state: u32, residual: u32) -> u64 {
    u64::from(residual) << u32::BITS | u64::from(state)
}

/// How many nodes are expanded between two looks at the limits.
const TICK: usize = 1 << 9;
/// How many new ones each may have, for what is counted before it is there.
const AHEAD: usize = 8;

impl<'g> Product<'g> {
    fn new(graph: &'g Graph<'g>, limits: Limits<'g>) -> Self {
        let mut nodes = Keys::new(u64::BITS);
        nodes.intern(joined(0, 0));
        Self { graph, limits, nodes, before: Segments::filled(1, (0, 0)) }
    }

    fn search(
        &mut self,
        residuals: &mut Residuals<'_>,
        events: &[Option<ProtocolEvent>],
        observer: &mut dyn Observer,
    ) -> Ended {
        let mut possible = None;
        let mut at = 0;
        while at < self.nodes.len() {
            let node = self.nodes.get(at as u32);
            let (state, residual) = (node as u32, (node >> u32::BITS) as u32);
            match residuals.is_violated(residual) {
                Certainty::Yes => return Ended::Violated(at as u32),
                Certainty::Perhaps => possible = possible.or(Some(at as u32)),
                Certainty::No => {}
            }
            if at % TICK == 0
                && let Some(stop) = self.exceeded(residuals.memory(), observer)
            {
                return Ended::Stopped(stop);
            }
            if !residuals.is_settled(residual) {
                for (label, target) in self.graph.all_edges(state) {
                    let next = match &events[label as usize] {
                        None => Ok(residual),
                        Some(event) => residuals.after(residual, label, event),
                    };
                    let Ok(next) = next else { return Ended::TooLarge };
                    if self.nodes.intern(joined(target, next)) as usize == self.before.len() {
                        self.before.push((at as u32, label));
                    }
                }
            }
            at += 1;
        }
        Ended::All { possible }
    }

    /// The limit that is exceeded, where residuals take `residuals` bytes.
    fn exceeded(&self, residuals: usize, observer: &mut dyn Observer) -> Option<Stop> {
        let ahead = TICK * AHEAD;
        let memory =
            self.graph.memory() + residuals + self.nodes.memory_with(ahead) + self.before.memory_with(ahead);
        let (bound, states) = (self.graph.layout.bound(), self.nodes.len());
        observer.progress(Progress { bound, states, transitions: states, memory });
        if self.limits.cancelled() {
            Some(Stop::Cancelled)
        } else if states > self.limits.states.min(u32::MAX as usize / 2) {
            Some(Stop::States)
        } else if memory > self.limits.memory {
            Some(Stop::Memory)
        } else {
            None
        }
    }

    /// The execution that leads to `node`, of a property whose events are `receptions` as well or not.
    fn execution(&self, node: u32, receptions: bool) -> Execution {
        let mut labels = Vec::new();
        let mut at = node;
        while at != 0 {
            let (before, label) = self.before.get(at as usize);
            labels.push(label);
            at = before;
        }
        labels.reverse();
        Execution {
            bound: self.graph.layout.bound(),
            steps: steps_of(self.graph.model, &labels),
            end: situation(self.graph, self.nodes.get(node) as u32),
            receptions,
        }
    }
}
