//! What the sessions of a listener go by: protocol, codec, policy. Compiled once, shared by all of them.

use std::sync::Arc;

use referee_monitor::{Ahead, KeyedMonitor, LabelId, Monitor, Party, Policy, Side};
use referee_theory::{Action as Exchange, Machine, Role, State};
use referee_wire::{Codec, Readings, Sender, Table, TableError};

use crate::deadline::Deadlines;
use crate::property::Properties;
use crate::redact::Redaction;
use crate::refusal::Refusals;

/// What the sessions between two parties go by.
#[derive(Debug)]
pub struct TwoPartyRules {
    pub(crate) monitor: Arc<Monitor>,
    /// What the client and the server are called.
    pub(crate) roles: [String; 2],
    pub(crate) ahead: Ahead,
    pub(crate) codec: Codec,
    pub(crate) readings: Readings,
    /// The monitor's number of each of the codec's messages.
    pub(crate) labels: Box<[LabelId]>,
    /// Whether messages say which session they are of.
    pub(crate) spans: bool,
    owing: Owing,
    /// The monitor of the protocol, where that opens sub-sessions: `monitor` then takes every message at any time.
    pub(crate) calls: Option<Arc<KeyedMonitor>>,
    /// Who must still say something, in the protocol and in each of its sub-sessions.
    owing_in: Vec<Owing>,
    pub(crate) options: Options,
}

/// Who must still say something in which state.
#[derive(Debug)]
struct Owing {
    /// For each state: whether the session can come to its end although the client, or the server, says nothing.
    silent: [Box<[bool]>; 2],
    /// For each state: whether an end can be reached.
    finite: Box<[bool]>,
}

impl Owing {
    fn new(monitor: &Monitor, client: &str) -> Self {
        let machine = monitor.machine();
        let is_own = monitor.vocabulary().role_name(machine.role()) == client;
        let own = if is_own { Exchange::Send } else { Exchange::Receive };
        Self {
            silent: [own, own.dual()].map(|action| can_end(machine, |t| t != action)),
            finite: can_end(machine, |_| true),
        }
    }

    fn can_end(&self, state: State) -> bool {
        debug_assert!(state.index() < self.finite.len(), "{state:?} is none of the machine");
        self.finite.get(state.index()).copied().unwrap_or(true)
    }

    fn owes(&self, sender: Sender, state: State) -> bool {
        let silent = &self.silent[sender.index()];
        self.can_end(state) && !silent.get(state.index()).copied().unwrap_or(true)
    }
}

/// What can be chosen, whatever the protocol.
#[derive(Debug)]
pub struct Options {
    /// What happens to wrong messages.
    pub policy: Policy,
    /// Which of them are refused instead.
    pub refusals: Option<Refusals>,
    /// Whether the client, and the server, may send before its turn.
    pub pipelining: [bool; 2],
    /// How many bytes of a message may be needed to judge it.
    pub max_message: usize,
    /// Whether a session with a longer message goes on without being inspected, instead of being closed.
    pub pass_beyond_limit: bool,
    /// What the client, and the server, is sent before it is closed.
    pub close_messages: [Vec<u8>; 2],
    /// What may not be shown.
    pub redaction: Redaction,
    /// Properties of the messages of each connection.
    pub properties: Option<Properties>,
    /// Whether each message is recorded: [`Engine::take_messages`](crate::Engine::take_messages).
    pub record: bool,
    /// What is done about the protocol's times.
    pub deadlines: Deadlines,
    /// What no byte takes longer than between here and a side, in nanoseconds.
    pub tolerance: i64,
    /// What the client, and the server, is sent instead of its close message where the other side did not answer in time.
    pub timeout_answers: [Vec<u8>; 2],
    /// How many bytes may wait for their turn beside others, where the protocol opens sub-sessions.
    pub max_waiting: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            policy: Policy::Halt,
            refusals: None,
            pipelining: [true, false],
            max_message: 1 << 20,
            pass_beyond_limit: false,
            close_messages: [Vec::new(), Vec::new()],
            redaction: Redaction::default(),
            properties: None,
            record: false,
            deadlines: Deadlines::Off,
            tolerance: 0,
            timeout_answers: [Vec::new(), Vec::new()],
            max_waiting: 256 << 10,
        }
    }
}

impl TwoPartyRules {
    /// The rules of `monitor`, whose messages `table` reads; `client` is the role that connects.
    ///
    /// # Errors
    /// Everything that is wrong with the table.
    pub fn compile(monitor: Arc<Monitor>, client: Role, table: &Table) -> Result<Self, Vec<TableError>> {
        let ahead = Ahead::new(&monitor);
        let codec = Codec::compile(table, &monitor, client)?;
        let readings = Readings::new(&codec, &monitor, &ahead)?;
        let labels = codec.messages().iter().map(|known| monitor.label(&known.name)).collect();
        let vocabulary = monitor.vocabulary();
        let server = vocabulary.roles().find(|role| *role != client).unwrap_or(client);
        Ok(Self {
            roles: [client, server].map(|role| vocabulary.role_name(role).to_owned()),
            owing: Owing::new(&monitor, vocabulary.role_name(client)),
            calls: None,
            owing_in: Vec::new(),
            spans: table.session.is_some() && !codec.has_exchanges(),
            ahead,
            codec,
            readings,
            labels,
            monitor,
            options: Options::default(),
        })
    }

    /// These rules, which were compiled for the alphabet of `calls`, with these sub-sessions.
    #[must_use]
    pub fn with_calls(self, calls: Arc<KeyedMonitor>) -> Self {
        let monitors =
            std::iter::once(calls.parent_monitor()).chain(calls.subs().iter().map(|sub| sub.monitor()));
        let owing_in = monitors.map(|monitor| Owing::new(monitor, &self.roles[0])).collect();
        Self { owing_in, calls: Some(calls), ..self }
    }

    /// The monitor of a protocol that opens sub-sessions, if it does.
    #[must_use]
    pub fn calls(&self) -> Option<&Arc<KeyedMonitor>> {
        self.calls.as_ref()
    }

    /// As [`owes`](Self::owes), in a state of the protocol that opens sub-sessions, or of the sub-session with this number.
    pub(crate) fn owes_in(&self, sub: Option<usize>, sender: Sender, state: State) -> bool {
        let owing = self.owing_in.get(sub.map_or(0, |sub| sub + 1));
        owing.is_some_and(|owing| owing.owes(sender, state))
    }

    /// These rules, with `options`.
    #[must_use]
    pub fn with_options(self, options: Options) -> Self {
        Self { options, ..self }
    }

    /// The monitor of the protocol.
    #[must_use]
    pub fn monitor(&self) -> &Arc<Monitor> {
        &self.monitor
    }

    /// What the client and the server are called.
    #[must_use]
    pub fn roles(&self) -> &[String; 2] {
        &self.roles
    }

    /// The codec.
    #[must_use]
    pub fn codec(&self) -> &Codec {
        &self.codec
    }

    /// What may be sent ahead of its turn.
    #[must_use]
    pub fn ahead(&self) -> &Ahead {
        &self.ahead
    }

    /// How bytes are read in each state.
    #[must_use]
    pub fn readings(&self) -> &Readings {
        &self.readings
    }

    /// What the policy is called.
    #[must_use]
    pub fn policy_name(&self) -> &'static str {
        if self.options.refusals.is_some() { "reject" } else { self.options.policy.name() }
    }

    /// What was chosen.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Whether sessions have several connections at once, and what they have seen is [shared](crate::SharedSessions).
    #[must_use]
    pub fn shares_sessions(&self) -> bool {
        self.codec.has_exchanges()
    }

    /// Whether messages say which session they are of, so that a session spans connections.
    #[must_use]
    pub fn spans_connections(&self) -> bool {
        self.spans
    }

    /// Whether the times of the protocol are looked at. Those of sessions that span connections are not.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        self.monitor.is_timed() && self.options.deadlines != Deadlines::Off && !self.spans
    }

    /// The side that `sender` is in the monitor's eyes.
    #[inline]
    #[must_use]
    pub fn side(&self, sender: Sender) -> Side {
        if self.codec.is_process(sender) { Side::Process } else { Side::Environment }
    }

    /// The party that `sender` is in the monitor's eyes.
    pub(crate) fn party(&self, sender: Sender) -> Party {
        party(self.side(sender))
    }

    /// Whether `sender` must still say something before the session can end. In a state from which no end can be reached,
    /// leaving is the only way to end, so nobody must.
    #[must_use]
    pub fn owes(&self, sender: Sender, state: State) -> bool {
        self.owing.owes(sender, state)
    }

    /// Whether the session can come to its end from `state`.
    pub(crate) fn can_end(&self, state: State) -> bool {
        self.owing.can_end(state)
    }
}

pub(crate) fn party(side: Side) -> Party {
    match side {
        Side::Process => Party::Process,
        Side::Environment => Party::Environment,
    }
}

/// The states from which an end can be reached by transitions whose actions are `allowed`.
fn can_end(machine: &Machine, allowed: impl Fn(Exchange) -> bool) -> Box<[bool]> {
    let count = machine.state_count();
    let mut sources: Vec<Vec<State>> = vec![Vec::new(); count];
    let mut found = vec![false; count];
    let mut open = Vec::new();
    for state in machine.states() {
        let transitions = machine.transitions(state);
        if transitions.is_empty() {
            found[state.index()] = true;
            open.push(state);
        }
        for transition in transitions.iter().filter(|t| allowed(t.action)) {
            sources[transition.target.index()].push(state);
        }
    }
    while let Some(state) = open.pop() {
        for source in &sources[state.index()] {
            if !std::mem::replace(&mut found[source.index()], true) {
                open.push(*source);
            }
        }
    }
    found.into()
}

#[cfg(test)]
mod tests {
    use referee_monitor::Registry;
    use referee_theory::{MachineBuilder, Origin, Transition, Vocabulary};

    use super::*;

    /// The rules of a machine of `role`: who speaks in each state, and where that leads.
    fn rules(role: &str, steps: &[(Sender, usize)]) -> TwoPartyRules {
        let mut vocabulary = Vocabulary::new();
        let (client, server) = (vocabulary.add_role("client"), vocabulary.add_role("server"));
        let own = vocabulary.find_role(role).unwrap();
        let message = vocabulary.add_plain_message("M");
        let mut machine = MachineBuilder::new(own);
        let states: Vec<State> = (0..=steps.len()).map(|_| machine.add_state()).collect();
        for (from, (sender, to)) in steps.iter().enumerate() {
            let sends = (*sender == Sender::Client) == (own == client);
            let action = if sends { Exchange::Send } else { Exchange::Receive };
            let peer = if own == client { server } else { client };
            let transition = Transition { action, peer, message, target: states[*to], origin: Origin::NONE };
            machine.add_transition(states[from], transition);
        }
        let monitor = Monitor::synthesise(&machine.finish(), &Arc::new(vocabulary), &Registry::new());
        let table = Table::parse("kind = 'text'\nmessages.M = 'M'").unwrap();
        TwoPartyRules::compile(Arc::new(monitor.unwrap()), client, &table).unwrap()
    }

    #[test]
    fn who_owes_what() {
        let hi_quit_bye = [(Sender::Server, 1), (Sender::Client, 2), (Sender::Server, 3)];
        for role in ["client", "server"] {
            let rules = rules(role, &hi_quit_bye);
            assert_eq!(rules.roles(), &["client", "server"]);
            let owes = |sender| [0, 1, 2, 3].map(|state| rules.owes(sender, State(state)));
            assert_eq!(owes(Sender::Client), [true, true, false, false]);
            assert_eq!(owes(Sender::Server), [true, true, true, false]);
        }
    }

    #[test]
    fn a_protocol_without_end_may_be_left() {
        let rules = rules("client", &[(Sender::Client, 1), (Sender::Server, 0)]);
        assert!(!rules.owes(Sender::Client, State(0)) && !rules.owes(Sender::Server, State(1)));
    }
}
