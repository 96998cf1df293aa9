//! Keyed sub-sessions: which protocols another one opens, and where they are open (`docs/concurrency.md`, section 2).
//!
//! `open P` and `close P` are no messages, so they are no nodes of a global type either. What they change is kept beside it, by message: what
//! was open before it, and what is open at the place that it leads to.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::global::GlobalType;
use crate::machine::{Machine, MachineBuilder, State, Transition};
use crate::payload::Type;
use crate::vocabulary::{Message, Origin, Role};

/// Whether a sub-protocol is open at a place of its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Before `open`, or behind `close` and the message after it.
    Closed,
    /// From `open` on. In a final state the parent rests: it is not over.
    Open,
    /// Behind `close`, before the parent's next message, which waits for the calls.
    Closing,
    /// The parent is over, and it was open then.
    Ended,
}

/// The stage of each sub-protocol.
pub type Stages = Arc<[Stage]>;

/// What makes a protocol one that runs once for each value of a key.
#[derive(Clone, Debug)]
pub struct KeyedBy {
    /// The field of its messages that is the key.
    pub field: Arc<str>,
    /// The key's type. One that is opaque stands for numbers and texts.
    pub ty: Type,
    /// The message that interrupts a call.
    pub interrupt: Option<Interrupt>,
}

/// `interrupted by M from r`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupt {
    /// What is sent.
    pub message: Message,
    /// Who sends it.
    pub sender: Role,
    /// Who receives it.
    pub receiver: Role,
    /// Its place in the text.
    pub origin: Origin,
}

/// A protocol that another one opens, with the roles that play in it.
#[derive(Clone, Debug)]
pub struct SubProtocol {
    /// What the text calls it.
    pub name: Arc<str>,
    /// The protocol, whose roles have the names of those of the parent that play them. It has a key.
    pub global: Arc<GlobalType>,
    /// The same for all that are opened of one declaration.
    pub declared: usize,
    /// The first `open` in the text.
    pub origin: Origin,
}

impl SubProtocol {
    /// `Call(client, server)`.
    #[must_use]
    pub fn signature(&self) -> String {
        let vocabulary = self.global.vocabulary();
        let roles: Vec<&str> = vocabulary.roles().map(|role| vocabulary.role_name(role)).collect();
        format!("{}({})", self.name, roles.join(", "))
    }
}

/// What is open around a message, or around a `par`.
#[derive(Clone, Debug)]
pub struct Spot {
    /// Where it is sent.
    pub before: Stages,
    /// At the place that it leads to, before anything else is sent.
    pub after: Stages,
    /// If the protocol may be over with it.
    pub end: Option<Stages>,
}

/// What a protocol opens, and where it is open.
#[derive(Clone, Debug)]
pub struct Calls {
    /// The sub-protocols, in the order of the text.
    pub subs: Vec<SubProtocol>,
    /// By place in the text: of each message, and of each `par`.
    pub spots: FxHashMap<Origin, Spot>,
    /// Where the protocol begins; if it has no message, where it ends as well.
    pub start: Stages,
}

impl Spot {
    /// What is open once the message was sent, but for what is opened or closed behind it.
    #[must_use]
    pub fn sent(&self) -> Vec<Stage> {
        let closed = |stage: &Stage| if *stage == Stage::Closing { Stage::Closed } else { *stage };
        self.before.iter().map(closed).collect()
    }
}

impl Calls {
    /// `machine` of the parent, with a final state of its own for each way in which it may be over, and for each state the stages there.
    #[must_use]
    pub fn stages(&self, machine: &Machine) -> (Machine, Vec<Stages>) {
        let mut builder = MachineBuilder::with_states_of(machine.role(), machine);
        let mut finals: FxHashMap<(State, &[Stage]), State> = FxHashMap::default();
        for state in machine.states() {
            for transition in machine.transitions(state) {
                let mut target = transition.target;
                if machine.is_final(target) {
                    target = *finals
                        .entry((target, self.end(transition.origin)))
                        .or_insert_with(|| builder.add_state());
                }
                builder.add_transition(state, Transition { target, ..*transition });
            }
        }
        let machine = builder.finish();
        let mut stages: Vec<Stages> = vec![Arc::clone(&self.start); machine.state_count()];
        for state in machine.states() {
            for transition in machine.transitions(state) {
                let Some(spot) = self.spots.get(&transition.origin) else { continue };
                stages[state.index()] = Arc::clone(&spot.before);
                if let (true, Some(end)) = (machine.is_final(transition.target), &spot.end) {
                    stages[transition.target.index()] = Arc::clone(end);
                }
            }
        }
        (machine, stages)
    }

    /// `machine` of the parent, whose states say what is open there, and whether it is being closed.
    #[must_use]
    pub fn named(&self, machine: &Machine) -> Machine {
        let (machine, stages) = self.stages(machine);
        let mut builder = MachineBuilder::new(machine.role());
        for (state, stages) in machine.states().zip(stages) {
            let mut name = machine.state_name(state);
            for (stage, sub) in stages.iter().zip(&self.subs) {
                match stage {
                    Stage::Closed => {}
                    Stage::Open => name += &format!(", open {}", sub.signature()),
                    Stage::Closing => name += &format!(", close {}", sub.signature()),
                    Stage::Ended => name += &format!(", ended {}", sub.signature()),
                }
            }
            let state = builder.add_named_state(&name);
            machine.transitions(state).iter().for_each(|step| builder.add_transition(state, *step));
        }
        builder.finish()
    }

    /// Whether all parts, `parent` among them, are between the same two roles. Then nothing need be kept: the first message that a role waits for is
    /// the head of its only channel (`docs/concurrency.md`, section 3).
    #[must_use]
    pub fn nothing_is_kept(&self, parent: &GlobalType) -> bool {
        let roles = |global: &GlobalType| global.vocabulary().roles().len();
        roles(parent) == 2 && self.subs.iter().all(|sub| roles(&sub.global) == 2)
    }

    fn end(&self, message: Origin) -> &[Stage] {
        self.spots.get(&message).and_then(|spot| spot.end.as_deref()).unwrap_or(&self.start)
    }
}

impl GlobalType {
    /// Says that the protocol runs once for each value of a key.
    pub fn key_by(&mut self, keyed: KeyedBy) {
        self.extras_mut().keyed = Some(keyed);
    }

    /// What makes it a protocol that runs once for each value of a key, if it is one.
    #[must_use]
    pub fn keyed(&self) -> Option<&KeyedBy> {
        self.sub_sessions.as_ref()?.keyed.as_ref()
    }

    /// Says which protocols it opens, and where.
    pub fn open_calls(&mut self, calls: Calls) {
        self.extras_mut().calls = Some(calls);
    }

    /// The protocols that it opens, and where, if it opens any.
    #[must_use]
    pub fn calls(&self) -> Option<&Calls> {
        self.sub_sessions.as_ref()?.calls.as_ref()
    }

    fn extras_mut(&mut self) -> &mut SubSessions {
        Arc::make_mut(self.sub_sessions.get_or_insert_default())
    }
}

/// What a protocol has to do with sub-sessions. Most have nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct SubSessions {
    keyed: Option<KeyedBy>,
    calls: Option<Calls>,
}
