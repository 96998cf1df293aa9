//! Machines and systems: finite communicating automata (CAV'19, Section 2).
//!
//! A [`Machine`] is one role's behaviour: numbered states and transitions that send to or receive from a
//! peer. A [`System`] is one machine per role over FIFO channels, one per ordered pair of roles. Neither
//! knows how it is executed: `referee-check` explores systems, `referee-monitor` steps machines.

use std::sync::Arc;

use crate::vocabulary::{Message, Origin, Role, Vocabulary};

/// A state of a [`Machine`]: 0-based, numbered in breadth-first order from the initial state when the
/// machine was built by [`MachineBuilder::finish`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct State(pub u32);

impl State {
    /// This state as a table index.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The direction of a transition, seen from the machine's own role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// The machine puts the message into the channel to its peer.
    Send,
    /// The machine takes the message from the channel from its peer.
    Receive,
}

impl Action {
    /// `!` or `?`.
    #[must_use]
    pub fn symbol(self) -> char {
        match self {
            Self::Send => '!',
            Self::Receive => '?',
        }
    }

    /// The other direction.
    #[must_use]
    pub fn dual(self) -> Self {
        match self {
            Self::Send => Self::Receive,
            Self::Receive => Self::Send,
        }
    }
}

/// One step of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Transition {
    /// Send or receive.
    pub action: Action,
    /// The other end of the channel.
    pub peer: Role,
    /// What travels.
    pub message: Message,
    /// Where the machine is afterwards.
    pub target: State,
    /// Where the protocol's text says so.
    pub origin: Origin,
}

/// One role's communicating automaton. Its initial state is `State(0)`; a state without outgoing
/// transitions is final.
#[derive(Clone, Debug)]
pub struct Machine {
    role: Role,
    /// `transitions[offsets[s]..offsets[s + 1]]` leave state `s`.
    // INVARIANT: one more entry than there are states, ascending.
    offsets: Vec<u32>,
    transitions: Vec<Transition>,
    names: Option<Vec<Arc<str>>>,
    /// Where the role may wait for ever.
    // INVARIANT: sorted, each state once.
    accepting: Vec<State>,
}

impl Machine {
    /// The machine of a role that does nothing.
    #[must_use]
    pub fn idle(role: Role) -> Self {
        Self { role, offsets: vec![0, 0], transitions: Vec::new(), names: None, accepting: Vec::new() }
    }

    /// The same machine, which may also wait for ever in `state`.
    #[must_use]
    pub fn accepting(mut self, state: State) -> Self {
        if let Err(at) = self.accepting.binary_search(&state) {
            self.accepting.insert(at, state);
        }
        self
    }

    /// The same machine, which may wait for ever nowhere.
    #[must_use]
    pub fn without_accepting(self) -> Self {
        Self { accepting: Vec::new(), ..self }
    }

    /// The same machine with one more state, called `name`, that no transition enters or leaves.
    #[must_use]
    pub fn with_final_state(mut self, name: &str) -> Self {
        let mut names: Vec<Arc<str>> = self.states().map(|state| self.state_name(state).into()).collect();
        names.push(name.into());
        self.names = Some(names);
        self.offsets.extend(self.offsets.last().copied());
        self
    }

    /// Whether the role may wait for ever in `state`: a server that outlives its clients.
    #[must_use]
    pub fn is_accepting(&self, state: State) -> bool {
        self.accepting.binary_search(&state).is_ok()
    }

    /// The states in which the role may wait for ever.
    #[must_use]
    pub fn accepting_states(&self) -> &[State] {
        &self.accepting
    }

    /// Whose behaviour this is.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// The initial state.
    #[must_use]
    pub fn initial(&self) -> State {
        State(0)
    }

    /// How many states there are.
    #[must_use]
    pub fn state_count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// All states.
    pub fn states(&self) -> impl ExactSizeIterator<Item = State> + use<> {
        (0..u32::try_from(self.state_count()).unwrap_or(u32::MAX)).map(State)
    }

    /// What can happen in `state`, in the order in which the protocol gives it.
    #[must_use]
    pub fn transitions(&self, state: State) -> &[Transition] {
        let from = self.offsets[state.index()] as usize;
        let to = self.offsets[state.index() + 1] as usize;
        &self.transitions[from..to]
    }

    /// Every transition of the machine, grouped by source state.
    #[must_use]
    pub fn all_transitions(&self) -> &[Transition] {
        &self.transitions
    }

    /// Whether nothing can happen in `state`.
    #[must_use]
    pub fn is_final(&self, state: State) -> bool {
        self.transitions(state).is_empty()
    }

    /// What the source text calls `state`: `.fsm` files name their states, others get `q0`, `q1`, ….
    #[must_use]
    pub fn state_name(&self, state: State) -> String {
        match &self.names {
            Some(names) => names[state.index()].to_string(),
            None => format!("q{}", state.0),
        }
    }

    /// Whether the states carry names from the source text.
    #[must_use]
    pub fn has_state_names(&self) -> bool {
        self.names.is_some()
    }

    /// Two transitions of one state with the same action, peer and label: a deterministic machine has none.
    #[must_use]
    pub fn first_nondeterminism(&self, vocabulary: &Vocabulary) -> Option<(State, Transition, Transition)> {
        let mut seen = rustc_hash::FxHashMap::default();
        for state in self.states() {
            seen.clear();
            for transition in self.transitions(state) {
                let key = (transition.action, transition.peer, vocabulary.label(transition.message));
                if let Some(earlier) = seen.insert(key, *transition) {
                    return Some((state, earlier, *transition));
                }
            }
        }
        None
    }
}

/// Builds a [`Machine`] state by state; [`finish`](Self::finish) drops what is unreachable and numbers
/// the rest in breadth-first order, so that equal behaviour written differently gets equal numbers.
#[derive(Clone, Debug)]
pub struct MachineBuilder {
    role: Role,
    states: u32,
    transitions: Vec<(State, Transition)>,
    names: Option<Vec<Arc<str>>>,
    accepting: Vec<State>,
}

impl MachineBuilder {
    /// A machine for `role` without states. The first state added is the initial one unless
    /// [`finish_from`](Self::finish_from) says otherwise.
    #[must_use]
    pub fn new(role: Role) -> Self {
        Self { role, states: 0, transitions: Vec::new(), names: None, accepting: Vec::new() }
    }

    /// A machine for `role` with the states of `machine`: their names, and where it accepts, without transitions.
    #[must_use]
    pub fn with_states_of(role: Role, machine: &Machine) -> Self {
        let mut builder = Self::new(role);
        for state in machine.states() {
            if machine.has_state_names() {
                builder.add_named_state(&machine.state_name(state));
            } else {
                builder.add_state();
            }
            if machine.is_accepting(state) {
                builder.accept(state);
            }
        }
        builder
    }

    /// A new state without transitions.
    pub fn add_state(&mut self) -> State {
        let state = State(self.states);
        self.states += 1;
        if let Some(names) = &mut self.names {
            names.push(format!("q{}", state.0).into());
        }
        state
    }

    /// A new state that the text calls `name`.
    pub fn add_named_state(&mut self, name: &str) -> State {
        if self.names.is_none() {
            let earlier = 0..self.states;
            self.names = Some(earlier.map(|index| format!("q{index}").into()).collect());
        }
        let state = self.add_state();
        if let Some(names) = &mut self.names {
            names[state.index()] = name.into();
        }
        state
    }

    /// Adds `transition` to what can happen in `source`.
    pub fn add_transition(&mut self, source: State, transition: Transition) {
        self.transitions.push((source, transition));
    }

    /// Lets the role wait for ever in `state`.
    pub fn accept(&mut self, state: State) {
        self.accepting.push(state);
    }

    /// How many states were added so far.
    #[must_use]
    pub fn state_count(&self) -> usize {
        self.states as usize
    }

    /// The machine that starts in the first state added.
    #[must_use]
    pub fn finish(self) -> Machine {
        self.finish_from(State(0))
    }

    /// The machine that starts in `initial`.
    #[must_use]
    pub fn finish_from(self, initial: State) -> Machine {
        if self.states == 0 {
            return Machine::idle(self.role);
        }
        let count = self.states as usize;
        // Where the transitions of each state begin, once they are grouped by source.
        let mut starts = vec![0_u32; count + 1];
        for (source, _) in &self.transitions {
            starts[source.index() + 1] += 1;
        }
        for state in 0..count {
            starts[state + 1] += starts[state];
        }
        let mut grouped = vec![0_u32; self.transitions.len()];
        let mut free = starts.clone();
        for (index, (source, _)) in (0..).zip(&self.transitions) {
            let slot = &mut free[source.index()];
            grouped[*slot as usize] = index;
            *slot += 1;
        }
        let outgoing = |state: State| {
            let range = starts[state.index()] as usize..starts[state.index() + 1] as usize;
            grouped[range].iter().map(|&index| &self.transitions[index as usize].1)
        };
        const UNSEEN: u32 = u32::MAX;
        let mut number = vec![UNSEEN; count];
        let mut order = vec![initial];
        number[initial.index()] = 0;
        let mut next = 0;
        while let Some(&state) = order.get(next) {
            next += 1;
            for transition in outgoing(state) {
                let slot = &mut number[transition.target.index()];
                if *slot == UNSEEN {
                    *slot = u32::try_from(order.len()).unwrap_or(UNSEEN);
                    order.push(transition.target);
                }
            }
        }
        let mut offsets = Vec::with_capacity(order.len() + 1);
        let mut transitions = Vec::with_capacity(self.transitions.len());
        offsets.push(0);
        for &state in &order {
            let renumbered = |t: &Transition| Transition { target: State(number[t.target.index()]), ..*t };
            transitions.extend(outgoing(state).map(renumbered));
            offsets.push(u32::try_from(transitions.len()).unwrap_or(u32::MAX));
        }
        let names =
            self.names.map(|names| order.iter().map(|state| Arc::clone(&names[state.index()])).collect());
        let kept = self.accepting.iter().map(|state| number[state.index()]).filter(|&state| state != UNSEEN);
        let machine = Machine { role: self.role, offsets, transitions, names, accepting: Vec::new() };
        kept.fold(machine, |machine, state| machine.accepting(State(state)))
    }
}

/// One machine per role, connected by FIFO channels, one per ordered pair of roles.
#[derive(Clone, Debug)]
pub struct System {
    vocabulary: Arc<Vocabulary>,
    // INVARIANT: `machines[r]` is the machine of `Role(r)`, for every role of the vocabulary.
    machines: Vec<Machine>,
}

impl System {
    /// The system of `machines`; a role of the vocabulary without a machine does nothing.
    #[must_use]
    pub fn new(vocabulary: Arc<Vocabulary>, machines: impl IntoIterator<Item = Machine>) -> Self {
        let mut slots: Vec<Machine> = vocabulary.roles().map(Machine::idle).collect();
        for machine in machines {
            let slot = machine.role().index();
            slots[slot] = machine;
        }
        Self { vocabulary, machines: slots }
    }

    /// The names behind the numbers.
    #[must_use]
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// All machines, indexed by role.
    #[must_use]
    pub fn machines(&self) -> &[Machine] {
        &self.machines
    }

    /// The machine of `role`.
    #[must_use]
    pub fn machine(&self, role: Role) -> &Machine {
        &self.machines[role.index()]
    }

    /// All roles.
    pub fn roles(&self) -> impl DoubleEndedIterator<Item = Role> + ExactSizeIterator + use<> {
        self.vocabulary.roles()
    }
}
