//! The k-bounded semantics with one mailbox per receiver instead of a channel per pair: not in the paper, transcribed
//! from Definition 3 with w_q in place of w_pq and entries that remember their sender.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use referee_theory::{Action, Message, Role, State, System};

use super::outgoing;
use super::properties::{Kind, kind};

/// Control states, and what is in each mailbox that is not empty, head first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Configuration {
    /// The control state, by role.
    pub locals: Vec<State>,
    /// Sender and message, by receiver.
    pub mailboxes: BTreeMap<Role, VecDeque<(Role, Message)>>,
}

/// Everything k-reachable, with who moves, what it does, from or to whom.
#[derive(Clone, Debug)]
pub struct Mailboxes {
    /// The configurations; the initial one is number 0.
    pub states: Vec<Configuration>,
    /// By source: role, action, owner of the mailbox, target.
    pub edges: Vec<Vec<(Role, Action, Role, usize)>>,
    /// Whether some role could send into a mailbox that holds k messages.
    pub blocked: bool,
}

/// TS_k with mailboxes.
#[must_use]
pub fn transition_system(system: &System, bound: usize) -> Mailboxes {
    let locals = system.machines().iter().map(|machine| machine.initial()).collect();
    let mut all = Mailboxes {
        states: vec![Configuration { locals, mailboxes: BTreeMap::new() }],
        edges: Vec::new(),
        blocked: false,
    };
    while all.edges.len() < all.states.len() {
        let source = all.states[all.edges.len()].clone();
        let mut row = Vec::new();
        for role in system.roles() {
            for (act, target) in outgoing(system, role, source.locals[role.index()]) {
                let mut next = source.clone();
                next.locals[role.index()] = target;
                let owner = if act.action == Action::Send { act.peer } else { role };
                match act.action {
                    Action::Send => {
                        let mailbox = next.mailboxes.entry(act.peer).or_default();
                        if mailbox.len() == bound {
                            all.blocked = true;
                            continue;
                        }
                        mailbox.push_back((role, act.message));
                    }
                    Action::Receive => {
                        let Some(mailbox) = next.mailboxes.get_mut(&role) else { continue };
                        if mailbox.pop_front() != Some((act.peer, act.message)) {
                            continue;
                        }
                        if mailbox.is_empty() {
                            next.mailboxes.remove(&role);
                        }
                    }
                }
                let known = all.states.iter().position(|state| *state == next);
                let number = known.unwrap_or_else(|| {
                    all.states.push(next);
                    all.states.len() - 1
                });
                row.push((role, act.action, owner, number));
            }
        }
        all.edges.push(row);
    }
    all
}

impl Mailboxes {
    /// Definition 4 within the bound: what heads a mailbox can be taken, and who waits can receive.
    #[must_use]
    pub fn is_safe(&self, system: &System) -> bool {
        (0..self.states.len()).all(|state| {
            let takers = self.takers(state);
            let configuration = &self.states[state];
            configuration.mailboxes.keys().all(|owner| takers.contains(owner))
                && system.roles().all(|role| {
                    kind(system, role, configuration.locals[role.index()]) != Kind::Receiving
                        || takers.contains(&role)
                })
        })
    }

    /// The most messages in one mailbox.
    #[must_use]
    pub fn largest(&self) -> usize {
        let lengths = self.states.iter().flat_map(|state| state.mailboxes.values().map(VecDeque::len));
        lengths.max().unwrap_or(0)
    }

    /// The roles that receive something after `start`.
    fn takers(&self, start: usize) -> BTreeSet<Role> {
        let mut seen = BTreeSet::from([start]);
        let mut agenda = vec![start];
        let mut takers = BTreeSet::new();
        while let Some(state) = agenda.pop() {
            for &(role, action, _, target) in &self.edges[state] {
                if action == Action::Receive {
                    takers.insert(role);
                }
                if seen.insert(target) {
                    agenda.push(target);
                }
            }
        }
        takers
    }
}
