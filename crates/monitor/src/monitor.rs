//! The monitor: tables and code, shared by all sessions. How it steps over an event is in `step`.

mod step;

use std::sync::Arc;

use referee_theory::{Machine, Role, State, Transition, Type, Value, Vocabulary};

use crate::code::Code;
use crate::deadline::Times;
use crate::event::{Channel, Party};
use crate::labels::{LabelId, Labels};
use crate::layout::{Layout, Slot};
use crate::outlook::Outlook;
use crate::registry::{Predicate, Registry};
use crate::session::Session;
use crate::synthesis::{self, SynthesisError};
use crate::table::Table;

/// A monitor for one role of a protocol. Immutable and shared by all its sessions and threads.
pub struct Monitor {
    pub(crate) vocabulary: Arc<Vocabulary>,
    pub(crate) machine: Machine,
    pub(crate) labels: Labels,
    /// The channels: for peer `p`, `2p` leads to it and `2p + 1` comes from it; with several peers two more
    /// stand for whichever fits. Numbers beyond are strangers.
    pub(crate) peers: Box<[Role]>,
    /// The place of each role among `peers`, [`PROCESS`], or the stranger's.
    pub(crate) places: Box<[u32]>,
    /// The channels of each role, where both ends are named.
    pub(crate) ends: Box<[Ends]>,
    pub(crate) table: Table,
    /// One for each transition of the machine, in its order.
    pub(crate) edges: Box<[Edge]>,
    pub(crate) checks: Box<[Check]>,
    pub(crate) names: Box<[Option<Arc<str>>]>,
    pub(crate) composites: Box<[Type]>,
    pub(crate) binds: Box<[Bind]>,
    pub(crate) computed: Box<[Computed]>,
    pub(crate) releases: Box<[Slot]>,
    pub(crate) codes: Box<[Code]>,
    pub(crate) predicates: Box<[Arc<dyn Predicate>]>,
    pub(crate) predicate_names: Box<[Arc<str>]>,
    pub(crate) layout: Layout,
    pub(crate) outlook: Outlook,
    pub(crate) fingerprint: u64,
    /// If messages have times.
    pub(crate) times: Option<Box<Times>>,
    /// A session before its first event.
    pub(crate) start: Session,
}

/// The place of the monitor's own role.
pub(crate) const PROCESS: u32 = u32::MAX;

/// The channels between the monitor's role and another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    pub(crate) outgoing: Channel,
    pub(crate) incoming: Channel,
    /// Whether this is the monitor's role itself, which then speaks to itself as to a stranger.
    pub(crate) own: bool,
}

/// A transition, compiled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) target: u32,
    /// Whether nothing follows the checks: no assertion, nothing to keep or to forget.
    pub(crate) simple: bool,
    /// The masks of the first four checks, the first in the lowest bits; 0 where a mask does not decide.
    pub(crate) masks: u64,
    /// `checks[first_check..][..fields]` and `names` likewise.
    pub(crate) first_check: u32,
    pub(crate) fields: u16,
    /// Whether the target is final.
    pub(crate) ends: bool,
    pub(crate) binds: (u32, u16),
    pub(crate) computed: (u32, u16),
    pub(crate) releases: (u32, u16),
    /// Into `codes`, or [`NO_CODE`].
    pub(crate) assertion: u32,
}

pub(crate) const NO_CODE: u32 = u32::MAX;

/// What a field may hold: the kinds of value it admits as bits, or else a type to look at closely.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Check {
    pub(crate) mask: u16,
    /// Into `composites`, if `mask` is 0.
    pub(crate) composite: u32,
}

/// A field that is kept.
#[derive(Clone, Debug)]
pub(crate) struct Bind {
    pub(crate) field: u16,
    pub(crate) slot: Slot,
    pub(crate) ty: Type,
}

/// Recursion data that is computed.
#[derive(Clone, Debug)]
pub(crate) struct Computed {
    /// Where it is kept; `None` if nothing reads it later.
    pub(crate) slot: Option<Slot>,
    pub(crate) ty: Type,
    /// Into `codes`.
    pub(crate) code: u32,
}

impl Monitor {
    /// The monitor of `machine`'s role (ECOOP'21, Definition 9 and Section 5.1). The predicates that
    /// assertions call are taken from `registry`.
    ///
    /// # Errors
    /// Everything that stands in the way: missing predicates, assertions that are not well typed or read
    /// variables that may not be bound, a machine that is not deterministic.
    pub fn synthesise(
        machine: &Machine,
        vocabulary: &Arc<Vocabulary>,
        registry: &Registry,
    ) -> Result<Self, SynthesisError> {
        synthesis::synthesise(machine, vocabulary, registry)
    }

    /// A new session, before its first event. Allocates nothing, unless recursion data begin with more than a scalar.
    #[must_use]
    pub fn session(&self) -> Session {
        self.start.clone()
    }

    /// The machine it was made from.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The names behind the numbers.
    #[must_use]
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// A number that differs between monitors of different protocols, and with every change to one.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Whether `session` is over: nothing more may happen.
    #[must_use]
    pub fn is_over(&self, session: &Session) -> bool {
        self.transitions(session.state).is_empty()
    }

    /// What may happen next in `session`.
    #[must_use]
    pub fn expected(&self, session: &Session) -> &[Transition] {
        self.transitions(session.state)
    }

    /// The variables that later assertions read, as they are bound in `session`.
    #[must_use]
    pub fn bound(&self, session: &Session) -> Vec<(Arc<str>, Value)> {
        let live = self.layout.live(session.state);
        live.map(|v| (Arc::clone(&v.name), session.value(v.slot, &v.ty))).collect()
    }

    /// What may happen in `state`; nothing in one of another monitor's.
    pub(crate) fn transitions(&self, state: u32) -> &[Transition] {
        if (state as usize) < self.machine.state_count() {
            self.machine.transitions(State(state))
        } else {
            &[]
        }
    }

    /// What the protocol's text calls `state`.
    pub(crate) fn state_name(&self, state: u32) -> String {
        if (state as usize) < self.machine.state_count() {
            self.machine.state_name(State(state))
        } else {
            format!("q{state}")
        }
    }

    /// The party called `name`: a role, or a stranger.
    #[must_use]
    pub fn party(&self, name: &str) -> Party {
        self.vocabulary.find_role(name).map_or(Party::Stranger, Party::Role)
    }

    /// The label called `text`.
    #[must_use]
    #[inline]
    pub fn label(&self, text: &str) -> LabelId {
        self.labels.find(text)
    }

    /// Whom a message from `from` is for, where nobody says so.
    #[must_use]
    pub fn opposite(&self, from: Party) -> Party {
        match from {
            Party::Process => Party::Environment,
            Party::Role(role) if role == self.machine.role() => Party::Environment,
            Party::Role(_) | Party::Environment | Party::Stranger => Party::Process,
        }
    }

    /// The channel of messages from `from` to `to`. Messages between others than the monitor's role are on
    /// a channel that it lets pass without looking.
    #[must_use]
    #[inline]
    pub fn channel(&self, from: Party, to: Party) -> Channel {
        if let (Party::Role(from), Party::Role(to)) = (from, to)
            && let (Some(from), Some(to)) = (self.ends.get(from.index()), self.ends.get(to.index()))
        {
            return match (from.own, to.own) {
                (true, _) => to.outgoing,
                (false, true) => from.incoming,
                (false, false) => Channel::UNCONCERNED,
            };
        }
        self.nameless_channel(from, to)
    }

    #[inline(never)]
    fn nameless_channel(&self, from: Party, to: Party) -> Channel {
        match (self.place(from), self.place(to)) {
            (PROCESS, PROCESS) => self.table.channel(self.stranger() * 2),
            (PROCESS, to) => self.table.channel(to * 2),
            (from, PROCESS) => self.table.channel(from * 2 + 1),
            _ => Channel::UNCONCERNED,
        }
    }

    fn place(&self, party: Party) -> u32 {
        match party {
            Party::Process => PROCESS,
            // With one peer its own channel, with several the last.
            Party::Environment => self.stranger().wrapping_sub(1),
            Party::Role(role) => self.places.get(role.index()).copied().unwrap_or(self.stranger()),
            Party::Stranger => self.stranger(),
        }
    }

    fn stranger(&self) -> u32 {
        self.table.channels() / 2
    }
}

impl std::fmt::Debug for Monitor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Monitor")
            .field("role", &self.vocabulary.role_name(self.machine.role()))
            .field("states", &self.machine.state_count())
            .finish_non_exhaustive()
    }
}
