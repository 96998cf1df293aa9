//! The engine: one role's multiparty monitor, compiled, and its sessions (RV'23, Figure 3).
//!
//! An [`Engine`] is shared by all sessions of its role; a [`Run`] is one of them, a small value. Whoever moves
//! bytes tells the engine what happened ([`Engine::component_sends`], [`Engine::arrives`], [`Engine::component_ends`],
//! [`Engine::told`]) and does what the [`Effect`]s say, in their order. Nothing here waits, reads a clock or does
//! I/O, and messages are whatever type `T` their owner keeps them in, lent out to be looked at ([`Lend`]).
//!
//! | Figure 3 | here |
//! |---|---|
//! | MON-OUT | [`Effect::Send`] |
//! | MON-IN | [`Effect::Deliver`], [`Effect::DeliverDependency`] |
//! | MON-OUT-DEP | [`Effect::Inform`], at once, before anything else of the session |
//! | MON-END | [`Effect::Finished`] |
//! | ERROR-OUT, ERROR-IN, ERROR-END, ERROR-MON | [`Effect::Report`], with the role to blame |
//! | PAR-ERROR | [`Engine::told`], [`Effect::Tell`] |
//! | OUT-MON-BUF, the buffer n⃗ | [`Engine::arrives`]; bounded: a full buffer hands the message back |
//! | the buffer m⃗ | its owner's; bounded by [`Engine::component_takes`] |
//!
//! [`Lend`]: crate::Lend

mod bytes;
mod notice;
mod ruling;
mod run;
mod step;
mod times;

use std::sync::Arc;

use referee_theory::{Action, Label, Machine, Message, Role, State, Vocabulary};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

pub use notice::{Breach, Notice, Rule};
pub use run::{Arrival, Effect, Finding, Full, Run, Status, Turn};
pub use times::{ArrivalTimes, Judging};

use super::network::Network;
use crate::event::Channel;
use crate::labels::{LabelId, Labels};
use crate::monitor::Monitor;
use crate::policy::Policy;
use crate::registry::Registry;
use crate::synthesis::SynthesisError;

/// What a component gets to see of dependency messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dependencies {
    /// All of them, as in the paper.
    #[default]
    Deliver,
    /// Of two about one choice only the first, as RelaMon's components expect.
    DeliverOnce,
    /// None: the component knows nothing of them. What it sends while its monitor is still to be told waits.
    Hide,
}

/// How one role is monitored.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// What happens to what is wrong.
    pub policy: Policy,
    /// What the component sees of dependencies.
    pub dependencies: Dependencies,
    /// How many messages of one sender may wait in a session.
    pub capacity: usize,
    /// How the times of its protocol are judged, if they are.
    pub judging: Option<Judging>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { policy: Policy::Halt, dependencies: Dependencies::Deliver, capacity: 64, judging: None }
    }
}

/// The monitor of one role, ready to run.
#[derive(Debug)]
pub struct Engine {
    monitor: Monitor,
    role: Role,
    settings: Settings,
    duties: Box<[Duty]>,
    /// The labels that are told, by their text …
    told: Labels,
    /// … and as numbers: the protocol's, and the monitor's of the message that tells it.
    told_as: Box<[(Label, LabelId)]>,
    /// From each role to this one.
    incoming: Box<[Channel]>,
    /// By state: whether the component may yet have something to send.
    speaks: Box<[bool]>,
}

/// What happens next in a state.
#[derive(Clone, Debug)]
enum Duty {
    /// The component ends.
    End,
    /// The component sends.
    Send,
    /// The monitor tells.
    Inform { to: Role, label: Label, edge: u32 },
    /// A message for the component.
    Receive { from: Role },
    /// The monitor is told.
    Learn { from: Role, after: Confirms },
}

/// Whether a dependency repeats what somebody else told before.
#[derive(Clone, Debug)]
enum Confirms {
    Nobody,
    These(SmallVec<[Role; 2]>),
}

impl Engine {
    /// The engine of `role` in `network`. Predicates that assertions call are taken from `registry`. Whether the
    /// network may be deployed at all is [`Network::deployable`].
    ///
    /// # Errors
    /// As [`Monitor::synthesise`].
    pub fn new(
        network: &Network,
        role: Role,
        registry: &Registry,
        settings: Settings,
    ) -> Result<Self, SynthesisError> {
        let vocabulary = network.vocabulary();
        let machine = network.system().machine(role);
        let monitor = Monitor::synthesise(machine, vocabulary, registry)?;
        let told = |message| Some((network.told(message)?, monitor.label(vocabulary.label_of(message))));
        let labels: Vec<(Label, LabelId)> = vocabulary.messages().filter_map(told).collect();
        // Who tells what on the way into each state.
        let mut told_before: FxHashMap<(State, Message), SmallVec<[Role; 2]>> = FxHashMap::default();
        for told in machine.all_transitions() {
            if told.action == Action::Receive && network.is_dependency(told.message) {
                let before = told_before.entry((told.target, told.message)).or_default();
                if !before.contains(&told.peer) {
                    before.push(told.peer);
                }
            }
        }
        let mut first_edge = 0;
        let mut duties = Vec::with_capacity(machine.state_count());
        for state in machine.states() {
            let transitions = machine.transitions(state);
            duties.push(match transitions.first() {
                None => Duty::End,
                Some(first) => match (first.action, network.is_dependency(first.message)) {
                    (Action::Send, false) => Duty::Send,
                    (Action::Send, true) => {
                        let label = network.told(first.message).unwrap_or(Label(0));
                        Duty::Inform { to: first.peer, label, edge: first_edge }
                    }
                    (Action::Receive, false) => Duty::Receive { from: first.peer },
                    (Action::Receive, true) if transitions.len() > 1 => {
                        Duty::Learn { from: first.peer, after: Confirms::Nobody }
                    }
                    // A choice of one branch is never told: here another role told the same before.
                    (Action::Receive, true) => {
                        let who = told_before.get(&(state, first.message)).cloned().unwrap_or_default();
                        Duty::Learn { from: first.peer, after: Confirms::These(who) }
                    }
                },
            });
            first_edge += u32::try_from(transitions.len()).unwrap_or(u32::MAX);
        }
        let incoming = vocabulary.roles().map(|from| monitor.channel(from.into(), role.into())).collect();
        let told =
            Labels::new(labels.iter().map(|(label, _)| vocabulary.label_name(*label).into()).collect());
        let told_as = labels.into();
        let speaks = speaking(machine, &duties);
        Ok(Self { monitor, role, settings, duties: duties.into(), told, told_as, incoming, speaks })
    }

    /// Whether the component has nothing more to send, however `run` goes on.
    #[must_use]
    pub fn has_said_all<T>(&self, run: &Run<T>) -> bool {
        !self.speaks.get(run.session.state as usize).copied().unwrap_or(true)
    }

    /// Whose monitor it is.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// The names behind the numbers.
    #[must_use]
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        self.monitor.vocabulary()
    }

    /// How the role is monitored.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The monitor of single messages that it is made of.
    #[must_use]
    pub fn monitor(&self) -> &Monitor {
        &self.monitor
    }

    /// Whom `run` waits for.
    #[must_use]
    pub fn turn<T>(&self, run: &Run<T>) -> Turn {
        match self.duty(run.session.state) {
            Duty::End => Turn::End,
            // The monitor tells at once, so nobody sees it wait there.
            Duty::Send | Duty::Inform { .. } => Turn::Component,
            Duty::Receive { from } => Turn::Message(*from),
            Duty::Learn { from, .. } => Turn::Dependency(*from),
        }
    }

    fn duty(&self, state: u32) -> &Duty {
        self.duties.get(state as usize).unwrap_or(&Duty::End)
    }
}

/// By state of `machine`: whether a state in which the component sends can be reached from it.
fn speaking(machine: &Machine, duties: &[Duty]) -> Box<[bool]> {
    let mut before: Vec<Vec<State>> = vec![Vec::new(); duties.len()];
    for state in machine.states() {
        for transition in machine.transitions(state) {
            before[transition.target.index()].push(state);
        }
    }
    let mut speaks: Box<[bool]> = duties.iter().map(|duty| matches!(duty, Duty::Send)).collect();
    let mut open: Vec<State> = machine.states().filter(|state| speaks[state.index()]).collect();
    while let Some(state) = open.pop() {
        for earlier in &before[state.index()] {
            if !std::mem::replace(&mut speaks[earlier.index()], true) {
                open.push(*earlier);
            }
        }
    }
    speaks
}
