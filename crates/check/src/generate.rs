//! Families of systems, for benchmarks and experiments: hard in different ways, of any size.

use std::sync::Arc;

use referee_theory::{
    Action, Machine, MachineBuilder, Message, Origin, Role, State, System, Transition, Vocabulary,
};

/// Builds machines over one vocabulary.
struct Family {
    vocabulary: Vocabulary,
    machines: Vec<Machine>,
}

impl Family {
    fn new(names: impl IntoIterator<Item = String>) -> Self {
        let mut vocabulary = Vocabulary::new();
        for name in names {
            vocabulary.add_role(&name);
        }
        Self { vocabulary, machines: Vec::new() }
    }

    fn messages(&mut self, count: usize) -> Vec<Message> {
        (0..count).map(|index| self.vocabulary.add_plain_message(&label(index))).collect()
    }

    fn add(&mut self, machine: Sketch) {
        self.machines.push(machine.builder.finish());
    }

    fn finish(self) -> System {
        System::new(Arc::new(self.vocabulary), self.machines)
    }
}

/// One machine in the making.
struct Sketch {
    builder: MachineBuilder,
    states: Vec<State>,
}

impl Sketch {
    fn new(index: usize, states: usize) -> Self {
        let mut builder = MachineBuilder::new(role(index));
        let states = (0..states).map(|_| builder.add_state()).collect();
        Self { builder, states }
    }

    fn step(&mut self, from: usize, action: Action, peer: usize, message: Message, to: usize) {
        let transition =
            Transition { action, peer: role(peer), message, target: self.states[to], origin: Origin::NONE };
        self.builder.add_transition(self.states[from], transition);
    }

    fn send(&mut self, from: usize, peer: usize, message: Message, to: usize) {
        self.step(from, Action::Send, peer, message, to);
    }

    fn receive(&mut self, from: usize, peer: usize, message: Message, to: usize) {
        self.step(from, Action::Receive, peer, message, to);
    }
}

fn role(index: usize) -> Role {
    Role(u16::try_from(index).unwrap_or(u16::MAX))
}

fn label(index: usize) -> String {
    let letter = char::from(b'a' + u8::try_from(index % 26).unwrap_or(0));
    if index < 26 { letter.to_string() } else { format!("{letter}{}", index / 26) }
}

/// `name0`, `name1` and so on.
fn numbered(name: &str, count: usize) -> impl Iterator<Item = String> {
    (0..count).map(move |index| format!("{name}{index}"))
}

/// A server and its clients.
fn served(clients: usize) -> impl Iterator<Item = String> {
    std::iter::once("server".to_owned()).chain(numbered("client", clients))
}

/// The benchmark family of CAV'19, Section 6: `m` pairs of roles; each sends `k` messages to its partner,
/// then receives `k`; every message is one of `n`. k-MC for every bound.
#[must_use]
pub fn exchange(n: usize, k: usize, m: usize) -> System {
    let mut family = Family::new(numbered("role", 2 * m));
    let messages = family.messages(n);
    for index in 0..2 * m {
        let partner = index ^ 1;
        let mut sketch = Sketch::new(index, 2 * k + 1);
        for at in 0..k {
            for &message in &messages {
                sketch.send(at, partner, message, at + 1);
                sketch.receive(k + at, partner, message, k + at + 1);
            }
        }
        family.add(sketch);
    }
    family.finish()
}

/// A ring of `roles` roles that pass `tokens` tokens on for ever, each of one of `labels` kinds chosen anew at
/// every hop.
#[must_use]
pub fn ring(roles: usize, tokens: usize, labels: usize) -> System {
    let mut family = Family::new(numbered("station", roles));
    let messages = family.messages(labels);
    for index in 0..roles {
        let (before, after) = ((index + roles - 1) % roles, (index + 1) % roles);
        let mut sketch = Sketch::new(index, 2);
        let (wait, pass) = if index < tokens { (1, 0) } else { (0, 1) };
        for &message in &messages {
            sketch.receive(wait, before, message, pass);
            sketch.send(pass, after, message, wait);
        }
        family.add(sketch);
    }
    family.finish()
}

/// A producer, `stages` forwarding stages and a consumer, for ever, with `labels` kinds of items. A stage
/// forwards the kind it received.
#[must_use]
pub fn pipeline(stages: usize, labels: usize) -> System {
    let last = stages + 1;
    let names = std::iter::once("producer".to_owned()).chain(numbered("stage", stages));
    let mut family = Family::new(names.chain(["consumer".to_owned()]));
    let messages = family.messages(labels);
    for index in 0..=last {
        let mut sketch = Sketch::new(index, 1 + labels);
        for (kind, &message) in messages.iter().enumerate() {
            if index == 0 {
                sketch.send(0, 1, message, 0);
            } else if index == last {
                sketch.receive(0, stages, message, 0);
            } else {
                sketch.receive(0, index - 1, message, 1 + kind);
                sketch.send(1 + kind, index + 1, message, 0);
            }
        }
        family.add(sketch);
    }
    family.finish()
}

/// A server that takes one request from each of `clients` clients in turn, for ever, and answers each with
/// one of `answers` answers, the last of which ends that client's requests for this round.
#[must_use]
pub fn star(clients: usize, answers: usize) -> System {
    let mut family = Family::new(served(clients));
    let messages = family.messages(answers + 1);
    let mut server = Sketch::new(0, 2 * clients);
    for client in 0..clients {
        let (take, answer) = (2 * client, 2 * client + 1);
        let next = 2 * ((client + 1) % clients);
        server.receive(take, client + 1, messages[0], answer);
        for (at, &message) in messages[1..].iter().enumerate() {
            let target = if at + 1 == answers { next } else { take };
            server.send(answer, client + 1, message, target);
        }
    }
    family.add(server);
    for client in 0..clients {
        let mut sketch = Sketch::new(client + 1, 2);
        sketch.send(0, 0, messages[0], 1);
        for &message in &messages[1..] {
            sketch.receive(1, 0, message, 0);
        }
        family.add(sketch);
    }
    family.finish()
}

/// A server that takes the request of whichever of `clients` clients asks first, for ever, and answers it with one of
/// `answers` answers. Receptions race; all clients are alike.
#[must_use]
pub fn open_star(clients: usize, answers: usize) -> System {
    let mut family = Family::new(served(clients));
    let messages = family.messages(answers + 1);
    let mut server = Sketch::new(0, clients + 1);
    for client in 1..=clients {
        server.receive(0, client, messages[0], client);
        for &message in &messages[1..] {
            server.send(client, client, message, 0);
        }
    }
    family.add(server);
    for client in 1..=clients {
        let mut sketch = Sketch::new(client, 2);
        sketch.send(0, 0, messages[0], 1);
        for &message in &messages[1..] {
            sketch.receive(1, 0, message, 0);
        }
        family.add(sketch);
    }
    family.finish()
}

/// Dining philosophers who ask their forks by messages: roles 0.. are philosophers, then forks. A fork serves
/// whoever asks first, so receptions race. If `polite`, the last philosopher takes its forks in the other order.
#[must_use]
pub fn philosophers(count: usize, polite: bool) -> System {
    let mut family = Family::new(numbered("philosopher", count).chain(numbered("fork", count)));
    let messages = family.messages(3);
    let [take, granted, release] = [messages[0], messages[1], messages[2]];
    for index in 0..count {
        let (mut first, mut second) = (count + index, count + (index + 1) % count);
        if polite && index + 1 == count {
            (first, second) = (second, first);
        }
        let mut sketch = Sketch::new(index, 6);
        sketch.send(0, first, take, 1);
        sketch.receive(1, first, granted, 2);
        sketch.send(2, second, take, 3);
        sketch.receive(3, second, granted, 4);
        sketch.send(4, first, release, 5);
        sketch.send(5, second, release, 0);
        family.add(sketch);
    }
    for index in 0..count {
        let mut sketch = Sketch::new(count + index, 5);
        for (at, owner) in [index, (index + count - 1) % count].into_iter().enumerate() {
            let (asked, held) = (1 + 2 * at, 2 + 2 * at);
            sketch.receive(0, owner, take, asked);
            sketch.send(asked, owner, granted, held);
            sketch.receive(held, owner, release, 0);
        }
        family.add(sketch);
    }
    family.finish()
}

/// `left` and `right` side by side, without a message between them. Both have roles numbered as in this file.
#[must_use]
pub fn beside(left: &System, right: &System) -> System {
    let offset = left.machines().len();
    let mut family = Family::new(numbered("role", offset + right.machines().len()));
    for (system, offset) in [(left, 0), (right, offset)] {
        for machine in system.machines() {
            let mut sketch = Sketch::new(offset + machine.role().index(), machine.state_count());
            for state in machine.states() {
                for transition in machine.transitions(state) {
                    let message =
                        family.vocabulary.add_plain_message(system.vocabulary().label_of(transition.message));
                    let peer = offset + transition.peer.index();
                    sketch.step(
                        state.0 as usize,
                        transition.action,
                        peer,
                        message,
                        transition.target.0 as usize,
                    );
                }
            }
            family.add(sketch);
        }
    }
    family.finish()
}

/// The size of a random system.
#[derive(Clone, Copy, Debug)]
pub struct RandomShape {
    /// How many roles.
    pub roles: usize,
    /// How many states each machine has at most.
    pub states: usize,
    /// How many labels there are.
    pub labels: usize,
    /// How many transitions a state has at most.
    pub branches: usize,
}

/// A random system of communicating session automata; the same seed gives the same system.
#[must_use]
pub fn random(shape: RandomShape, seed: u64) -> System {
    let mut state = seed;
    // SplitMix64.
    let mut below = |n: usize| {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ (z >> 31)) % (n.max(1) as u64)).unwrap_or(0)
    };
    let mut family = Family::new(numbered("role", shape.roles));
    let messages = family.messages(shape.labels);
    for index in 0..shape.roles {
        let mut sketch = Sketch::new(index, shape.states);
        for from in 0..shape.states {
            let action = match below(7) {
                0 if from > 0 => continue,
                1..=3 => Action::Send,
                _ => Action::Receive,
            };
            let mut used = Vec::new();
            for _ in 0..=below(shape.branches) {
                let peer = (index + 1 + below(shape.roles.saturating_sub(1))) % shape.roles;
                let message = below(messages.len());
                if peer != index && !used.contains(&(peer, message)) {
                    used.push((peer, message));
                    sketch.step(from, action, peer, messages[message], below(shape.states));
                }
            }
        }
        family.add(sketch);
    }
    family.finish()
}
