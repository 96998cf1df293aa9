//! Property monitors: Definition 3 of FMSD'15 over a stream of events, with data.
//!
//! What is kept of a property along a stream is the set of its residuals that can still give the verdict. A
//! residual is a modality of the formula and the values of the variables that it or what follows still reads.
//! An event is consumed by every residual: those whose pattern matches go on with what stands behind it,
//! unfolded up to the next modalities; all others are dropped, because `[α]φ` says nothing about what is not
//! an `α`. Equal residuals are one, so memory is bounded by what is still possible, not by the stream.
//!
//! Residuals with the same values form one *submonitor*: a control state (`automaton`) and a row of values
//! (`rows`). Where a set of matches leads from a control state is worked out once. A formula without data has one
//! submonitor without values: a table. Many submonitors (`index`) are found by the values that the event must
//! have, and those that nothing tells apart move together. Where `and` meets `or`, residuals are grouped in
//! `clauses`. Of many properties (`family`) an event costs as much as those it can move.
//!
//! Satisfaction is the same with the roles of the constants, the connectives and the modalities exchanged, which
//! [`Judged`](referee_theory::property::Judged) takes care of.
//!
//! ```text
//! Property ──Program::new──▶ Program ──Automaton::new──▶ Automaton (grows as states are met)
//!                                                          │
//!                              EventView ──step──▶ Instance ──▶ Verdict
//! ```

mod automaton;
mod clauses;
mod datum;
mod derivation;
mod family;
mod index;
mod letters;
mod levels;
mod matcher;
mod program;
mod reason;
mod rest;
mod rows;
mod timed;
mod waiting;
mod window;

use std::fmt;
use std::sync::Arc;

use referee_theory::expr::Node;
use referee_theory::property::{
    EventPattern, EventView, Formula, FormulaId, Polarity, Property, Scope, Slot, Term, TimeBound, Value,
    WindowSpan,
};
use referee_theory::time;

use self::automaton::{Automaton, StateId};
use self::clauses::Clauses;
use self::datum::Datum;
use self::index::Index;
use self::matcher::{Bound, Matcher};
use self::program::Program;
use self::rows::{Row, Submonitor, Submonitors};
use self::timed::{Progress, Timed};

pub use self::derivation::{Derivation, DerivationFlaw, DerivationRule, DerivationStep};
pub use self::family::{PropertyBundle, PropertyFamily, PropertyMemories, PropertyStep};
pub use self::program::TooLarge;
pub use self::reason::Reason;
pub use self::rest::Indifference;

/// How many bytes a key of an instance may have: keys are kept for every instance. What has a longer one is not observed.
pub const MAX_KEY: usize = 4096;

/// A property that can be monitored.
#[derive(Clone, Debug)]
pub struct PropertyMonitor {
    property: Arc<Property>,
    program: Program,
    /// Which processes get an instance, if instances are per process.
    start: Option<Matcher>,
    automaton: Automaton,
    /// With more submonitors than this, they are looked for by their values.
    few: usize,
}

/// Why a property has no monitor.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PropertyProblem {
    /// No stream leads to a verdict.
    NoVerdict {
        /// What the property is called.
        name: Arc<str>,
    },
    /// It has too many combinations.
    TooLarge(TooLarge),
}

impl fmt::Display for PropertyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoVerdict { name } => write!(f, "property `{name}` can never give a verdict"),
            Self::TooLarge(problem) => problem.fmt(f),
        }
    }
}

impl std::error::Error for PropertyProblem {}

/// What a monitor says about an instance. It is final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PropertyVerdict {
    /// The events so far violate the property, whatever comes.
    Violation,
    /// The events so far satisfy the property, whatever comes.
    Satisfaction,
    /// More submonitors would be needed than may be kept: nothing more can be said.
    ResourceLimit,
}

impl PropertyVerdict {
    /// The word for it in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Violation => "violation",
            Self::Satisfaction => "satisfaction",
            Self::ResourceLimit => "resource-limit",
        }
    }
}

impl From<Polarity> for PropertyVerdict {
    fn from(polarity: Polarity) -> Self {
        match polarity {
            Polarity::Violation => Self::Violation,
            Polarity::Satisfaction => Self::Satisfaction,
        }
    }
}

/// One property over one stream.
#[derive(Clone, Debug)]
pub struct PropertyInstance(State);

#[derive(Clone, Debug)]
enum State {
    /// No verdict can be given any more, or one was given.
    Done,
    /// A formula without data.
    Table(StateId),
    Few(Submonitors),
    Many(Box<Index>),
    Mixed(Box<Clauses>),
    Timed(Box<Timed>),
}

/// From how many submonitors on looking them up is worth it.
const FEW: usize = 16;

/// What stepping learns about a property: where sets of matches lead. Each thread has its own.
#[derive(Clone, Debug)]
pub struct PropertyMemory {
    automaton: Automaton,
    /// Room for submonitors to come.
    spare: Submonitors,
    /// Whether something about times had no value.
    fault: bool,
    /// Why the last verdict was given.
    reason: Option<Reason>,
}

impl PropertyMonitor {
    /// The monitor of `property`.
    ///
    /// # Errors
    /// If it can never give a verdict, or is too large.
    pub fn new(property: Arc<Property>) -> Result<Self, PropertyProblem> {
        let no_verdict = || PropertyProblem::NoVerdict { name: Arc::clone(property.name()) };
        let judged = property.judged().ok_or_else(no_verdict)?;
        let program = Program::new(&property, judged).map_err(PropertyProblem::TooLarge)?;
        let start = match property.scope() {
            Scope::PerProcess(scope) => Some(Matcher::new(&scope.start, &[], &program.levels)),
            Scope::Stream | Scope::PerKey(_) => None,
        };
        let given: &[Slot] = start.as_ref().map(|start| &*start.binds).unwrap_or_default();
        let automaton = match program.plain && !property.is_timed() {
            true => Automaton::new(&program, given),
            false => Automaton::default(),
        };
        Ok(Self { program, start, automaton, property, few: FEW })
    }

    /// The same monitor, which looks submonitors up by their values as soon as there are more than `few`. That changes
    /// costs and no verdict.
    #[must_use]
    pub fn indexed_beyond(self, few: usize) -> Self {
        Self { few, ..self }
    }

    /// The property.
    #[must_use]
    pub fn property(&self) -> &Arc<Property> {
        &self.property
    }

    /// The verdict that is given before any event, if the formula is already decided.
    #[must_use]
    pub fn verdict_at_start(&self) -> Option<PropertyVerdict> {
        self.program.is_over_at_start().then(|| self.program.polarity.into())
    }

    /// What is learned while stepping, before the first step.
    #[must_use]
    pub fn memory(&self) -> PropertyMemory {
        PropertyMemory {
            automaton: self.automaton.clone(),
            spare: Submonitors::new(),
            fault: false,
            reason: None,
        }
    }

    /// A new instance, if `event` starts one: any event does, unless instances are per process. The instance has
    /// not yet seen the event.
    #[must_use]
    pub fn begin(&self, event: &EventView<'_>) -> Option<PropertyInstance> {
        self.begin_anew(event, 0)
    }

    /// As [`begin`](Self::begin), of an instance that has had `events` before.
    #[must_use]
    pub fn begin_anew(&self, event: &EventView<'_>, events: u64) -> Option<PropertyInstance> {
        let mut given: Bound<'_> = Bound::new();
        if let Some(start) = &self.start
            && !start.matches(event, &[], &mut given)
        {
            return None;
        }
        Some(self.instance(&given, event.time, events))
    }

    fn instance(&self, given: &[Term<'_>], time: Option<i64>, events: u64) -> PropertyInstance {
        if self.program.is_over_at_start() {
            return PropertyInstance(State::Done);
        }
        if !self.program.plain || self.property.is_timed() {
            let given: Vec<Datum> = given.iter().map(|term| Datum::of(*term)).collect();
            let slots = self.start.as_ref().map(|start| &*start.binds).unwrap_or_default();
            if self.property.is_timed() {
                let timed = Timed::new(&self.program, slots, &given, time.unwrap_or_default(), events);
                return PropertyInstance(State::Timed(Box::new(timed)));
            }
            return PropertyInstance(State::Mixed(Box::new(Clauses::new(&self.program, slots, &given))));
        }
        let given: Row = given.iter().map(|term| Datum::of(*term)).collect();
        let of = |template: &automaton::Template| Submonitor {
            state: template.state,
            row: rows::build(template, &given, &[]),
        };
        match &*self.automaton.start {
            [only] if !self.program.has_data() => PropertyInstance(State::Table(only.state)),
            all => PropertyInstance(State::Few(all.iter().map(of).collect())),
        }
    }

    /// Steps `instance` over `event`; a verdict if this event decides. At most `limit` submonitors are kept.
    #[inline]
    pub fn step(
        &self,
        memory: &mut PropertyMemory,
        instance: &mut PropertyInstance,
        event: &EventView<'_>,
        limit: usize,
    ) -> Option<PropertyVerdict> {
        let (program, automaton) = (&self.program, &mut memory.automaton);
        match &mut instance.0 {
            State::Done => None,
            State::Table(state) => {
                let mut bound = Bound::new();
                let mask = rows::mask(program, automaton, *state, &[], event, &mut bound);
                let outcome = automaton.outcome(program, *state, mask);
                let outcome = automaton.outcomes.get(outcome as usize)?;
                if let Some(next) = outcome.stays {
                    *state = next;
                    return None;
                }
                if outcome.over {
                    return self.decide(memory, instance, Some(event));
                }
                leave_table(outcome, instance);
                None
            }
            State::Few(submonitors) => {
                if rows::step(program, automaton, submonitors, &mut memory.spare, event) {
                    return self.decide(memory, instance, Some(event));
                }
                if submonitors.is_empty() {
                    instance.0 = State::Done;
                } else if submonitors.len() > self.few.min(limit) {
                    return self.outgrow(memory, instance, limit);
                }
                None
            }
            State::Many(index) => {
                if index.step(program, automaton, event) {
                    return self.decide(memory, instance, Some(event));
                }
                match index.len() {
                    0 => instance.0 = State::Done,
                    count if count > limit => return give_up(instance),
                    _ => {}
                }
                None
            }
            State::Timed(timed) => {
                // Without its time an event cannot be judged: who steps has said so.
                let progress = timed.step(program, event, event.time?, limit);
                memory.fault |= timed.windows().fault.take();
                self.proceed(memory, instance, progress, Some(event))
            }
            State::Mixed(clauses) => match clauses.step(program, event, limit) {
                Some(true) => self.decide(memory, instance, Some(event)),
                Some(false) if clauses.len() == 0 => {
                    instance.0 = State::Done;
                    None
                }
                Some(false) if clauses.len() <= limit => None,
                _ => give_up(instance),
            },
        }
    }

    fn proceed(
        &self,
        memory: &mut PropertyMemory,
        instance: &mut PropertyInstance,
        progress: Progress,
        event: Option<&EventView<'_>>,
    ) -> Option<PropertyVerdict> {
        match progress {
            Progress::Going => None,
            Progress::Done => {
                instance.0 = State::Done;
                None
            }
            Progress::Limit => give_up(instance),
            Progress::Verdict => self.decide(memory, instance, event),
        }
    }

    /// For how long the exact time of an event can matter to the verdicts that later events give, in nanoseconds: not at all where only
    /// `expect` asks for times, for whoever advances a deadline knows what it did not see; for ever where a variable keeps the time.
    #[must_use]
    pub fn time_horizon(&self) -> i64 {
        let property = &self.property;
        let of_node = |number: usize| match property.node(FormulaId(number as u32)) {
            Formula::Timed { bound: TimeBound::Never, duration, .. } => match duration.node() {
                Node::Literal(Value::Duration(length)) => *length,
                _ => i64::MAX,
            },
            _ => 0,
        };
        let of_span = |span: &WindowSpan| match span {
            WindowSpan::Duration(length) => *length,
            WindowSpan::Day => time::DAY,
            WindowSpan::Last(_) | WindowSpan::LastOf(..) => 0,
        };
        let of_pattern = |pattern: &EventPattern| match pattern.at {
            Some(_) => i64::MAX,
            None => pattern.windows.iter().map(|(_, window)| of_span(&window.span)).max().unwrap_or(0),
        };
        let patterns = property.patterns().iter().flat_map(EventPattern::with_inner).map(of_pattern);
        (0..property.node_count()).map(of_node).chain(patterns).max().unwrap_or(0)
    }

    /// When `instance` next wants to be told what time it is: as soon as it is later than this. Properties without times never do.
    #[must_use]
    pub fn next_deadline(&self, instance: &PropertyInstance) -> Option<i64> {
        match &instance.0 {
            State::Timed(timed) => timed.next_deadline(&self.program),
            _ => None,
        }
    }

    /// Tells `instance` that all events before `time` are known; a verdict if a deadline has passed by which something was
    /// expected. `time` never goes back.
    pub fn advance(
        &self,
        memory: &mut PropertyMemory,
        instance: &mut PropertyInstance,
        time: i64,
    ) -> Option<PropertyVerdict> {
        let State::Timed(timed) = &mut instance.0 else { return None };
        let progress = timed.advance(&self.program, time);
        self.proceed(memory, instance, progress, None)
    }

    #[cold]
    fn decide(
        &self,
        memory: &mut PropertyMemory,
        instance: &mut PropertyInstance,
        event: Option<&EventView<'_>>,
    ) -> Option<PropertyVerdict> {
        memory.reason = self.reason(memory, &instance.0, event);
        instance.0 = State::Done;
        Some(self.program.polarity.into())
    }

    #[cold]
    fn outgrow(
        &self,
        memory: &mut PropertyMemory,
        instance: &mut PropertyInstance,
        limit: usize,
    ) -> Option<PropertyVerdict> {
        let State::Few(submonitors) = &mut instance.0 else { return None };
        if submonitors.len() > limit {
            return give_up(instance);
        }
        let submonitors = std::mem::take(submonitors);
        instance.0 = State::Many(Box::new(Index::new(&self.program, &mut memory.automaton, submonitors)));
        None
    }
}

#[cold]
fn leave_table(outcome: &automaton::Outcome, instance: &mut PropertyInstance) {
    // More than one state without data only if one has more patterns than a mask has bits.
    let row = |template: &automaton::Template| Submonitor { state: template.state, row: Row::new() };
    instance.0 = match &*outcome.templates {
        [] => State::Done,
        all => State::Few(all.iter().map(row).collect()),
    };
}

#[cold]
fn give_up(instance: &mut PropertyInstance) -> Option<PropertyVerdict> {
    instance.0 = State::Done;
    Some(PropertyVerdict::ResourceLimit)
}

impl PropertyMemory {
    /// Whether something about times had no value in the last steps: an event that could not be judged.
    pub fn take_fault(&mut self) -> bool {
        std::mem::take(&mut self.fault)
    }

    /// Why the last verdict was given, if there is more to say than which event gave it.
    pub fn take_reason(&mut self) -> Option<Reason> {
        self.reason.take()
    }
}

impl PropertyInstance {
    /// One that will say nothing.
    #[must_use]
    pub fn done() -> Self {
        Self(State::Done)
    }

    /// Whether no verdict will be given any more.
    #[must_use]
    pub fn is_done(&self) -> bool {
        matches!(self.0, State::Done)
    }

    /// How many submonitors it keeps.
    #[must_use]
    pub fn submonitors(&self) -> usize {
        match &self.0 {
            State::Done => 0,
            State::Table(_) => 1,
            State::Few(submonitors) => submonitors.len(),
            State::Many(index) => index.len(),
            State::Mixed(clauses) => clauses.len(),
            State::Timed(timed) => timed.len(),
        }
    }
}
