//! A player: one side of a protocol with its codec, compiled. What probes and mocks play.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use referee_monitor::{Monitor, Party};
use referee_session::{Options, TwoPartyRules};
use referee_theory::{Action, Machine, Message, Origin, Role, State, Transition};
use referee_wire::{Codec, Encoder, MessageId, Sender, Table};

use crate::calls::CallRules;
use crate::examples::Examples;

/// One side of a protocol.
#[derive(Debug)]
pub struct Player {
    rules: Arc<TwoPartyRules>,
    encoder: Encoder,
    own: Sender,
    examples: Examples,
    /// How messages are matched by ids, if they are.
    calls: Option<CallRules>,
    /// Every transition that has bytes, grouped by its source.
    edges: Vec<Edge>,
    /// `edges[starts[s]..starts[s + 1]]` leave the state `s`, if it is the first of its class.
    starts: Vec<usize>,
    /// For each state the first with the same behaviour: what is covered there is covered here.
    classes: Vec<State>,
}

/// A transition of the machine, as a player sees it.
#[derive(Clone, Debug)]
pub struct Edge {
    /// Its number: the index into [`Player::edges`].
    pub number: usize,
    /// Where it begins.
    pub source: State,
    /// Where it leads.
    pub target: State,
    /// Whether the player sends it.
    pub is_own: bool,
    /// The message's label.
    pub label: Arc<str>,
    /// Where the protocol says so.
    pub origin: Origin,
    /// Why the player cannot send it, whatever its fields are.
    pub obstacle: Option<String>,
    pub(crate) message: Message,
    pub(crate) id: Option<MessageId>,
}

/// Why a side cannot be played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unplayable(String);

impl fmt::Display for Unplayable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unplayable {}

impl Player {
    /// The side `own` of the protocol of `monitor`, whose messages `table` reads and writes; `client` is the role that connects.
    ///
    /// # Errors
    /// The table does not fit, needs what a player does not do, or an example is about nothing.
    pub fn new(
        monitor: &Arc<Monitor>,
        client: Role,
        table: &Table,
        (own, pipelining): (Sender, [bool; 2]),
        examples: Examples,
    ) -> Result<Self, Unplayable> {
        if table.session.is_some() {
            return Err(Unplayable(
                "its sessions span connections; a player has one connection at a time".to_owned(),
            ));
        }
        let rules = TwoPartyRules::compile(Arc::clone(monitor), client, table).map_err(|errors| {
            let first = errors.first().map(ToString::to_string);
            Unplayable(first.unwrap_or_else(|| "the codec does not fit the protocol".to_owned()))
        })?;
        let rules = Arc::new(rules.with_options(Options { pipelining, ..Options::default() }));
        let encoder = Encoder::new(table, rules.codec());
        let mut player = Self {
            rules,
            encoder,
            own,
            examples,
            calls: CallRules::of(table),
            edges: Vec::new(),
            starts: vec![0],
            classes: classes(monitor.machine()),
        };
        player.collect(table);
        player.check_examples()?;
        Ok(player)
    }

    fn collect(&mut self, table: &Table) {
        let monitor = Arc::clone(self.rules.monitor());
        let (machine, vocabulary) = (monitor.machine(), monitor.vocabulary());
        let is_silent =
            |label: &str| table.messages.iter().any(|(name, entry)| name == label && entry.silent);
        for state in machine.states() {
            let is_first = self.representative(state) == state;
            for transition in machine.transitions(state).iter().filter(|_| is_first) {
                let label = vocabulary.label_of(transition.message);
                // It stands for the other side's going on, and nobody sends it.
                if !is_silent(label) {
                    let edge = self.edge(state, transition, label);
                    self.edges.push(edge);
                }
            }
            self.starts.push(self.edges.len());
        }
    }

    fn edge(&self, source: State, transition: &Transition, label: &str) -> Edge {
        let is_process = self.codec().is_process(self.own);
        let is_own = (transition.action == Action::Send) == is_process;
        let sender = if is_own { self.own } else { self.own.other() };
        let id = self.codec().find(sender, label);
        let obstacle = match id {
            _ if is_own && self.examples.is_skipped(label) => Some("it is to be skipped".to_owned()),
            _ if !is_own || self.has_raw_example(label) => None,
            Some(id) => self.encoder.obstacle(id).map(str::to_owned),
            None => Some("the codec has no such message".to_owned()),
        };
        Edge {
            number: self.edges.len(),
            source,
            target: self.representative(transition.target),
            is_own,
            label: label.into(),
            origin: transition.origin,
            obstacle,
            message: transition.message,
            id,
        }
    }

    fn has_raw_example(&self, label: &str) -> bool {
        use crate::examples::MessageExample;
        self.examples.message(label).iter().any(|example| matches!(example, MessageExample::Raw(_)))
    }

    /// What is said about no message is a slip of the pen, and the values would never be sent.
    fn check_examples(&self) -> Result<(), Unplayable> {
        let known = self.codec().messages();
        for (label, field) in self.examples.mentioned() {
            let mut fits = known.iter().filter(|known| label.is_empty() || *known.name == *label);
            let has = |field: &str| known_fields(&mut fits.clone(), field);
            let problem = match field {
                None => fits.next().is_none().then(|| format!("there is no message `{label}`")),
                Some(field) if !label.is_empty() && fits.clone().next().is_none() => {
                    Some(format!("there is no message `{label}`, so it has no field `{field}`"))
                }
                Some(field) => (!has(field)).then(|| match label {
                    "" => format!("no message has a field `{field}`"),
                    label => format!("`{label}` has no field `{field}`"),
                }),
            };
            if let Some(problem) = problem {
                return Err(Unplayable(format!("examples: {problem}")));
            }
        }
        Ok(())
    }

    /// What its conversations go by.
    #[must_use]
    pub fn rules(&self) -> &Arc<TwoPartyRules> {
        &self.rules
    }

    /// The monitor of the protocol.
    #[must_use]
    pub fn monitor(&self) -> &Arc<Monitor> {
        self.rules.monitor()
    }

    /// The codec.
    #[must_use]
    pub fn codec(&self) -> &Codec {
        self.rules.codec()
    }

    pub(crate) fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    pub(crate) fn calls(&self) -> Option<&CallRules> {
        self.calls.as_ref()
    }

    pub(crate) fn examples(&self) -> &Examples {
        &self.examples
    }

    /// Which side it is.
    #[must_use]
    pub fn own(&self) -> Sender {
        self.own
    }

    /// The role that it plays.
    #[must_use]
    pub fn role(&self) -> &str {
        &self.rules.roles()[self.own.index()]
    }

    /// The role that its peer plays.
    #[must_use]
    pub fn peer_role(&self) -> &str {
        &self.rules.roles()[self.own.other().index()]
    }

    /// Every transition that has bytes.
    #[must_use]
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The transitions that leave `state`.
    #[must_use]
    pub fn edges_of(&self, state: State) -> &[Edge] {
        let state = self.representative(state);
        let bounds = (self.starts.get(state.index()), self.starts.get(state.index() + 1));
        let (Some(from), Some(to)) = bounds else { return &[] };
        self.edges.get(*from..*to).unwrap_or_default()
    }

    /// The first state with the same behaviour as `state`.
    #[must_use]
    pub fn representative(&self, state: State) -> State {
        self.classes.get(state.index()).copied().unwrap_or(state)
    }

    /// How many states the machine has.
    #[must_use]
    pub fn state_count(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// What the protocol's text calls `state`.
    #[must_use]
    pub fn state_name(&self, state: State) -> String {
        self.monitor().machine().state_name(state)
    }

    /// The two ends of what the player, or its peer, sends.
    pub(crate) fn parties(&self, is_own: bool) -> (Party, Party) {
        if self.codec().is_process(self.own) == is_own {
            (Party::Process, Party::Environment)
        } else {
            (Party::Environment, Party::Process)
        }
    }
}

/// For each state of `machine` the first that is bisimilar to it, messages being the same only with the same names and assertions.
fn classes(machine: &Machine) -> Vec<State> {
    /// How often classes are split: machines in which they would have to be more often keep their states.
    const MAX_ROUNDS: usize = 256;
    let count = machine.state_count();
    let mut class = vec![0_usize; count];
    let mut known = 1;
    for _ in 0..MAX_ROUNDS {
        let mut numbers = HashMap::new();
        let next: Vec<usize> = machine
            .states()
            .map(|state| {
                let moves = machine.transitions(state).iter();
                let mut moves: Vec<_> =
                    moves.map(|t| (t.action, t.message, class.get(t.target.index()).copied())).collect();
                moves.sort_unstable();
                let fresh = numbers.len();
                *numbers.entry((class.get(state.index()).copied(), moves)).or_insert(fresh)
            })
            .collect();
        let found = numbers.len();
        class = next;
        if found == known {
            let mut first: HashMap<usize, State> = HashMap::new();
            return machine
                .states()
                .map(|state| *first.entry(class.get(state.index()).copied().unwrap_or(0)).or_insert(state))
                .collect();
        }
        known = found;
    }
    machine.states().collect()
}

fn known_fields<'a>(fits: &mut impl Iterator<Item = &'a referee_wire::Known>, field: &str) -> bool {
    fits.any(|known| known.fields.iter().any(|of| of.name.as_deref() == Some(field)))
}
