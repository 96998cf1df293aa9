//! A [`System`] compiled for execution: every transition numbered, every channel that can ever carry a
//! message numbered, every message numbered within its channel.
//!
//! The semantics is decided here and nowhere else: [`Semantics::PeerToPeer`] gives one FIFO channel per
//! ordered pair of roles (CAV'19, Definition 3), [`Semantics::Mailbox`] one queue per receiver whose
//! entries remember their sender. Everything downstream only knows numbered channels. The bound is not
//! part of the model: see `layout.rs`.

mod groups;

pub(crate) use groups::{Group, Groups};

use referee_theory::{Action, Machine, Message, Origin, Role, State, System};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::faults::{Fault, FaultTable};

/// How messages travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Semantics {
    /// One FIFO channel per ordered pair of roles.
    #[default]
    PeerToPeer,
    /// One FIFO queue per receiver, shared by all its senders. No theorem lifts a bounded answer.
    Mailbox,
}

/// What a local state can do (CAV'19, Section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StateKind {
    /// No outgoing transition.
    Final,
    /// Only sends.
    Sending,
    /// Only receives.
    Receiving,
    /// Sends and receives: not allowed in a communicating session automaton.
    Mixed,
}

/// The symbol of a reception whose message nobody ever sends on that channel.
pub(crate) const NEVER_SENT: u32 = u32::MAX;

/// So often the machines of a system are held while it is checked: by the text, by whoever asks, and by its model.
const SYSTEMS: usize = 4;

/// The number of no move.
pub(crate) const NO_MOVE: u32 = u32::MAX;

/// One transition of one machine, or what may go wrong with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Move {
    pub(crate) role: u32,
    pub(crate) source: u32,
    pub(crate) target: u32,
    pub(crate) sends: bool,
    pub(crate) channel: u32,
    /// The message's number within its channel.
    pub(crate) symbol: u32,
    pub(crate) peer: Role,
    pub(crate) message: Message,
    pub(crate) origin: Origin,
    pub(crate) fault: Option<Fault>,
}

/// A FIFO queue.
#[derive(Clone, Debug)]
pub(crate) struct Channel {
    /// `None` for a mailbox.
    pub(crate) from: Option<Role>,
    pub(crate) to: Role,
    /// What can be in it: sender and message of each symbol.
    pub(crate) symbols: Vec<(Role, Message)>,
    /// A role has no channel to itself (Section 2): such transitions never fire.
    pub(crate) usable: bool,
}

/// The moves of one local state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Local {
    pub(crate) first: u32,
    pub(crate) end: u32,
    pub(crate) kind: StateKind,
    /// Whether its role may wait for ever in it.
    pub(crate) accepting: bool,
}

/// A system ready to be explored.
#[derive(Clone, Debug)]
pub struct Model {
    pub(crate) system: System,
    pub(crate) semantics: Semantics,
    pub(crate) moves: Vec<Move>,
    pub(crate) channels: Vec<Channel>,
    /// `locals[offsets[role] + state]`.
    pub(crate) locals: Vec<Local>,
    pub(crate) offsets: Vec<u32>,
    pub(crate) groups: Groups,
    /// For each channel, its rank in the order of (sender name, receiver name).
    pub(crate) channel_rank: Vec<u32>,
    /// What may go wrong, if something may; then the moves with a fault come after all others.
    pub(crate) faults: Option<FaultTable>,
}

impl Model {
    /// Compiles `system`. Messages are compared by label and payload types
    /// ([`wire_signature`](referee_theory::Vocabulary::wire_signature)): the two ends of a channel may check
    /// different assertions about the same message. Equal transitions written twice are one transition, as the
    /// paper's δ is a set.
    #[must_use]
    pub fn new(system: &System, semantics: Semantics) -> Self {
        let mut builder = Builder {
            system,
            semantics,
            channels: Vec::new(),
            index: FxHashMap::default(),
            symbols: Vec::new(),
        };
        builder.declare_channels();
        let mut moves: Vec<Move> = Vec::new();
        let mut locals = Vec::new();
        let mut offsets = Vec::with_capacity(system.machines().len() + 1);
        for machine in system.machines() {
            offsets.push(narrow(locals.len()));
            for state in machine.states() {
                let first = moves.len();
                let mut seen = FxHashSet::default();
                for transition in machine.transitions(state) {
                    let sends = transition.action == Action::Send;
                    let (channel, symbol) =
                        builder.place(machine.role(), transition.peer, transition.message, sends);
                    let this = Move {
                        role: u32::from(machine.role().0),
                        source: state.0,
                        target: transition.target.0,
                        sends,
                        channel,
                        symbol,
                        peer: transition.peer,
                        message: transition.message,
                        origin: transition.origin,
                        fault: None,
                    };
                    let message = system.vocabulary().wire_signature(transition.message);
                    if seen.insert((sends, transition.peer, message, transition.target)) {
                        moves.push(this);
                    }
                }
                let kind = kind_of(machine, state);
                let accepting = machine.is_accepting(state);
                locals.push(Local { first: narrow(first), end: narrow(moves.len()), kind, accepting });
            }
        }
        offsets.push(narrow(locals.len()));
        let channels = builder.channels;
        let channel_rank = rank_channels(&channels, &sorted_by_name(system));
        let groups = Groups::new(&locals, &moves);
        Self {
            system: system.clone(),
            semantics,
            moves,
            channels,
            locals,
            offsets,
            groups,
            channel_rank,
            faults: None,
        }
    }

    /// Bytes held by it, and by the system it is the model of in other places.
    pub(crate) fn memory(&self) -> usize {
        let machine = |machine: &Machine| {
            size_of_val(machine.all_transitions()) + machine.state_count() * size_of::<u32>()
        };
        let system: usize = self.system.machines().iter().map(machine).sum();
        SYSTEMS * system
            + self.moves.capacity() * size_of::<Move>()
            + self.locals.capacity() * size_of::<Local>()
            + self.groups.memory()
    }

    /// The system this is the model of.
    #[must_use]
    pub fn system(&self) -> &System {
        &self.system
    }

    /// How messages travel.
    #[must_use]
    pub fn semantics(&self) -> Semantics {
        self.semantics
    }

    pub(crate) fn role_count(&self) -> usize {
        self.offsets.len() - 1
    }

    pub(crate) fn local(&self, role: usize, state: u32) -> Local {
        self.locals[(self.offsets[role] + state) as usize]
    }

    /// The groups of moves of `state` of `role`.
    #[inline]
    pub(crate) fn groups_of(&self, role: usize, state: u32) -> &[Group] {
        self.groups.of((self.offsets[role] + state) as usize)
    }

    pub(crate) fn moves_of(&self, role: usize, state: u32) -> &[Move] {
        let local = self.local(role, state);
        &self.moves[local.first as usize..local.end as usize]
    }

    /// What `state` of `role` can do.
    #[must_use]
    pub fn state_kind(&self, role: Role, state: State) -> StateKind {
        self.local(role.index(), state.0).kind
    }
}

fn kind_of(machine: &Machine, state: State) -> StateKind {
    let transitions = machine.transitions(state);
    let sends = transitions.iter().filter(|t| t.action == Action::Send).count();
    match (transitions.len(), sends) {
        (0, _) => StateKind::Final,
        (all, sends) if all == sends => StateKind::Sending,
        (_, 0) => StateKind::Receiving,
        _ => StateKind::Mixed,
    }
}

struct Builder<'a> {
    system: &'a System,
    semantics: Semantics,
    channels: Vec<Channel>,
    index: FxHashMap<(Option<Role>, Role), u32>,
    /// Per channel: the symbol of each (sender, signature).
    symbols: Vec<FxHashMap<(Role, Message), u32>>,
}

impl Builder<'_> {
    /// Symbols come from sends only, so they must all be known before the first reception is placed.
    fn declare_channels(&mut self) {
        for machine in self.system.machines() {
            for transition in machine.all_transitions() {
                match transition.action {
                    Action::Send => {
                        let channel = self.channel(machine.role(), transition.peer) as usize;
                        let signature = self.system.vocabulary().wire_signature(transition.message);
                        let next = narrow(self.channels[channel].symbols.len());
                        let known = &mut self.symbols[channel];
                        if let std::collections::hash_map::Entry::Vacant(slot) =
                            known.entry((machine.role(), signature))
                        {
                            slot.insert(next);
                            self.channels[channel].symbols.push((machine.role(), transition.message));
                        }
                    }
                    Action::Receive => {
                        self.channel(transition.peer, machine.role());
                    }
                }
            }
        }
    }

    fn channel(&mut self, from: Role, to: Role) -> u32 {
        let from = match self.semantics {
            Semantics::PeerToPeer => Some(from),
            Semantics::Mailbox => None,
        };
        *self.index.entry((from, to)).or_insert_with(|| {
            self.channels.push(Channel { from, to, symbols: Vec::new(), usable: from != Some(to) });
            self.symbols.push(FxHashMap::default());
            narrow(self.channels.len() - 1)
        })
    }

    fn place(&mut self, role: Role, peer: Role, message: Message, sends: bool) -> (u32, u32) {
        let (from, to) = if sends { (role, peer) } else { (peer, role) };
        let channel = self.channel(from, to);
        let signature = self.system.vocabulary().wire_signature(message);
        let symbol = self.symbols[channel as usize].get(&(from, signature)).copied().unwrap_or(NEVER_SENT);
        (channel, symbol)
    }
}

fn sorted_by_name(system: &System) -> Vec<u32> {
    let mut roles: Vec<Role> = system.roles().collect();
    roles.sort_by_key(|&role| system.vocabulary().role_name(role));
    roles.into_iter().map(|role| u32::from(role.0)).collect()
}

fn rank_channels(channels: &[Channel], by_name: &[u32]) -> Vec<u32> {
    let mut rank = vec![0_u32; by_name.len()];
    for (position, &role) in by_name.iter().enumerate() {
        rank[role as usize] = narrow(position);
    }
    let key = |channel: &Channel| {
        (channel.from.map_or(u32::MAX, |role| rank[role.index()]), rank[channel.to.index()])
    };
    let mut order: Vec<usize> = (0..channels.len()).collect();
    order.sort_by_key(|&index| key(&channels[index]));
    let mut ranks = vec![0; channels.len()];
    for (position, index) in order.into_iter().enumerate() {
        ranks[index] = narrow(position);
    }
    ranks
}

/// Counts of machines, transitions and channels stay far below 2³².
pub(crate) fn narrow(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// How many bits tell `count` values apart.
pub(crate) fn bits_for(count: u32) -> u32 {
    if count <= 1 { 0 } else { u32::BITS - (count - 1).leading_zeros() }
}
