//! All small systems, and seeded random ones.
//!
//! A machine is enumerated as a table: each state is final, sends or receives, and has a partial function
//! from (peer, label) to states. Only tables that are numbered breadth first from their initial state are
//! kept, so that each machine comes once.

use std::sync::Arc;

use referee_theory::{
    Action, Machine, MachineBuilder, Message, Origin, Role, State, System, Transition, Vocabulary,
};

/// A small seeded generator of numbers (SplitMix64).
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The generator of `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next_u64() % (n.max(1) as u64)).unwrap_or(0)
    }
}

/// All systems of two roles with at most `states` states over `labels` labels.
pub fn all_pairs(labels: usize, states: usize, mut visit: impl FnMut(&System)) {
    let alphabet = Alphabet::new(2, labels);
    let right = alphabet.machines(1, states);
    for left in alphabet.machines(0, states) {
        for right in &right {
            visit(&alphabet.system([left.clone(), right.clone()]));
        }
    }
}

/// `count` random systems, the same for the same `seed`.
pub fn sampled(
    roles: usize,
    labels: usize,
    states: usize,
    count: usize,
    seed: u64,
    mut visit: impl FnMut(&System),
) {
    let alphabet = Alphabet::new(roles, labels);
    let mut rng = Rng::new(seed);
    for _ in 0..count {
        let machines: Vec<_> =
            (0..roles).map(|role| alphabet.random_machine(role, states, 3, &mut rng)).collect();
        visit(&alphabet.system(machines));
    }
}

/// Names and messages for a family of systems.
#[derive(Clone, Debug)]
pub struct Alphabet {
    vocabulary: Arc<Vocabulary>,
    messages: Vec<Message>,
}

impl Alphabet {
    /// Roles `A`, `B`, … and labels `a`, `b`, ….
    #[must_use]
    pub fn new(roles: usize, labels: usize) -> Self {
        let mut vocabulary = Vocabulary::new();
        for role in 0..roles {
            vocabulary.add_role(&letter(b'A', role));
        }
        let messages = (0..labels).map(|label| vocabulary.add_plain_message(&letter(b'a', label))).collect();
        Self { vocabulary: Arc::new(vocabulary), messages }
    }

    /// The system of `machines`.
    #[must_use]
    pub fn system(&self, machines: impl IntoIterator<Item = Machine>) -> System {
        System::new(Arc::clone(&self.vocabulary), machines)
    }

    /// Every communicating session automaton of `role` with at most `states` states.
    #[must_use]
    pub fn machines(&self, role: usize, states: usize) -> Vec<Machine> {
        let slots = self.slots(role);
        (1..=states)
            .flat_map(|count| tables(count, slots.len()))
            .filter(is_canonical)
            .map(|table| self.machine(role, &slots, &table))
            .collect()
    }

    /// A random communicating session automaton: about one state in `rest` is final.
    #[must_use]
    pub fn random_machine(&self, role: usize, states: usize, rest: usize, rng: &mut Rng) -> Machine {
        let slots = self.slots(role);
        let table: Table = (0..states)
            .map(|state| {
                let kind = if state > 0 && rng.below(rest) == 0 { 0 } else { [1, 2][rng.below(2)] };
                let mut targets = vec![None; slots.len()];
                if kind > 0 {
                    targets[rng.below(slots.len())] = Some(rng.below(states));
                    while rng.below(2) == 0 {
                        targets[rng.below(slots.len())] = Some(rng.below(states));
                    }
                }
                (kind, targets)
            })
            .collect();
        self.machine(role, &slots, &table)
    }

    /// `machine` from the other side: what it sends `role` receives, and the other way round.
    #[must_use]
    pub fn dual(&self, machine: &Machine, role: usize) -> Machine {
        let mut builder = MachineBuilder::new(Role(u16::try_from(role).unwrap_or(u16::MAX)));
        for _ in machine.states() {
            builder.add_state();
        }
        for state in machine.states() {
            for t in machine.transitions(state) {
                builder.add_transition(
                    state,
                    Transition { action: t.action.dual(), peer: machine.role(), ..*t },
                );
            }
        }
        builder.finish()
    }

    fn slots(&self, role: usize) -> Vec<(Role, Message)> {
        self.vocabulary
            .roles()
            .filter(|peer| peer.index() != role)
            .flat_map(|peer| self.messages.iter().map(move |&message| (peer, message)))
            .collect()
    }

    fn machine(&self, role: usize, slots: &[(Role, Message)], table: &Table) -> Machine {
        let mut builder = MachineBuilder::new(Role(u16::try_from(role).unwrap_or(u16::MAX)));
        let states: Vec<State> = table.iter().map(|_| builder.add_state()).collect();
        for (state, (kind, targets)) in states.iter().zip(table) {
            let action = if *kind == 1 { Action::Send } else { Action::Receive };
            for (&(peer, message), target) in slots.iter().zip(targets) {
                if let Some(target) = target {
                    let target = states[*target];
                    builder.add_transition(
                        *state,
                        Transition { action, peer, message, target, origin: Origin::NONE },
                    );
                }
            }
        }
        builder.finish()
    }
}

fn letter(first: u8, index: usize) -> String {
    char::from(first + u8::try_from(index).unwrap_or(0)).to_string()
}

/// By state: 0 final, 1 sends, 2 receives; and where each slot leads.
type Table = Vec<(u8, Vec<Option<usize>>)>;

fn tables(states: usize, slots: usize) -> Vec<Table> {
    let mut functions = vec![Vec::new()];
    for _ in 0..slots {
        functions = functions
            .into_iter()
            .flat_map(|function: Vec<Option<usize>>| {
                (0..=states).map(move |target| {
                    let mut function = function.clone();
                    function.push(target.checked_sub(1));
                    function
                })
            })
            .collect();
    }
    let mut rows = vec![(0, vec![None; slots])];
    for kind in [1, 2] {
        rows.extend(functions.iter().filter(|f| f.iter().any(Option::is_some)).map(|f| (kind, f.clone())));
    }
    let mut all = vec![Vec::new()];
    for _ in 0..states {
        all = all
            .into_iter()
            .flat_map(|table: Table| {
                rows.iter().map(move |row| {
                    let mut table = table.clone();
                    table.push(row.clone());
                    table
                })
            })
            .collect();
    }
    all
}

fn is_canonical(table: &Table) -> bool {
    let mut order = vec![0];
    let mut next = 0;
    while let Some(&state) = order.get(next) {
        next += 1;
        for target in table[state].1.iter().flatten() {
            if !order.contains(target) {
                order.push(*target);
            }
        }
    }
    order.len() == table.len() && order.iter().enumerate().all(|(at, &state)| at == state)
}
