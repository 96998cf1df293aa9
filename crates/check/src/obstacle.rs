//! What stands in the way at the end of a witness, by kind, and the facts that say so.
//!
//! A [`Future`] says what can still happen after a configuration: within the explored graph, or under any bound by
//! over-approximation. From it and the configuration alone follow the [`Obstacle`]s: each is one of six kinds, and what is
//! said of it is made of [`Fact`]s, which `crates/reference` checks one by one.

use referee_theory::Role;

use crate::graph::Graph;
use crate::model::{Model, Move, NEVER_SENT, StateKind};
use crate::properties::Property;
use crate::properties::safety::on_cycle;
use crate::reach::StateSet;
use crate::saturate::Saturation;
use crate::witness::{Fact, Failure, Violation, step_of};

/// What can still happen after a configuration.
pub(crate) struct Future {
    /// By role.
    moves: Vec<bool>,
    /// By channel.
    receives: Vec<bool>,
    /// By channel and symbol.
    sends: Vec<Vec<bool>>,
    /// Whether what is said to happen does happen: an over-approximation only says what does not.
    certain: bool,
}

impl Future {
    /// What happens in the part `reachable` of `graph`.
    pub(crate) fn within(graph: &Graph<'_>, reachable: &StateSet) -> Self {
        Self::among(graph, (0..graph.states()).filter(|&state| reachable.contains(state)))
    }

    /// What happens in `states`.
    pub(crate) fn among(graph: &Graph<'_>, states: impl Iterator<Item = u32>) -> Self {
        let model = graph.model;
        let mut future = Self {
            moves: vec![false; model.role_count()],
            receives: vec![false; model.channels.len()],
            sends: model.channels.iter().map(|channel| vec![false; channel.symbols.len()]).collect(),
            certain: true,
        };
        for state in states {
            for (label, _) in graph.edges(state) {
                let step = &model.moves[label as usize];
                future.moves[step.role as usize] = true;
                match step.sends {
                    true => future.sends[step.channel as usize][step.symbol as usize] = true,
                    false => future.receives[step.channel as usize] = true,
                }
            }
        }
        future
    }

    /// What is not impossible under any bound.
    pub(crate) fn ever(saturation: Saturation) -> Self {
        Self {
            moves: saturation.moves,
            receives: saturation.received,
            sends: saturation.sent,
            certain: false,
        }
    }
}

/// Something that is wrong for good.
#[derive(Clone, Debug)]
pub(crate) struct Obstacle {
    pub(crate) violation: Violation,
    pub(crate) property: Property,
    pub(crate) failure: Failure,
    pub(crate) facts: Vec<Fact>,
    /// The roles that go on, of which one would have to help.
    pub(crate) others: Vec<u32>,
}

impl Obstacle {
    /// Causes before symptoms: by kind, and who waits for one that waits itself comes after that one.
    pub(crate) fn order(&self) -> (Violation, bool) {
        let waits = self.facts.iter().skip(1).any(|fact| matches!(fact, Fact::Waits { .. }));
        // Somebody who waits for one that stands before a full channel is a cause as much as one who waits for what never comes.
        let blocked = self.violation == Violation::BlockedSend && self.property == Property::Progress;
        let violation = if blocked { Violation::NeverSent } else { self.violation };
        (violation, violation == Violation::NeverSent && waits)
    }

    /// Whether the configuration itself shows it.
    pub(crate) fn is_plain(&self) -> bool {
        self.violation.is_plain(&self.facts)
    }
}

/// All that is wrong for good at `state`, the likeliest cause first. `goes_on`: whether the configuration is on a loop
/// of the explored graph.
pub(crate) fn obstacles(graph: &Graph<'_>, state: u32, future: &Future, goes_on: bool) -> Vec<Obstacle> {
    let look = Look { graph, model: graph.model, state, future, goes_on };
    let mut all: Vec<Obstacle> = (0..graph.model.role_count()).filter_map(|role| look.stuck(role)).collect();
    all.extend((0..graph.model.channels.len()).filter_map(|channel| look.unreceived(channel)));
    all.sort_by_key(Obstacle::order);
    all
}

struct Look<'a> {
    graph: &'a Graph<'a>,
    model: &'a Model,
    state: u32,
    future: &'a Future,
    goes_on: bool,
}

impl Look<'_> {
    fn kind(&self, role: usize) -> StateKind {
        self.model.local(role, self.graph.local(self.state, role)).kind
    }

    fn has_crashed(&self, role: usize) -> bool {
        self.model.is_crashed(role, self.graph.local(self.state, role))
    }

    fn moves(&self, role: usize) -> &[Move] {
        self.model.moves_of(role, self.graph.local(self.state, role))
    }

    fn holds(&self, channel: usize) -> bool {
        self.graph.layout.length(&self.graph.words(self.state), channel) > 0
    }

    /// Whether `role` waits for a message and never gets one.
    fn waits_for_ever(&self, role: usize) -> bool {
        self.kind(role) == StateKind::Receiving && !self.future.moves[role]
    }

    /// Whether `role`, which waits for ever, may: as the property has it.
    fn may_wait(&self, role: usize) -> bool {
        let channels = &self.model.channels;
        let own = |channel: &usize| channels[*channel].to.index() == role;
        let mut incoming = (0..channels.len()).filter(own);
        let stuck = |role: usize| self.waits_for_ever(role);
        self.model.local(role, self.graph.local(self.state, role)).accepting
            && incoming.all(|channel| {
                let comes = self.future.certain && self.future.sends[channel].contains(&true);
                !self.holds(channel) && !comes
            })
            && !on_cycle(role, self.model.role_count(), &stuck, &|role| self.peers(role))
    }

    fn waits(&self, role: usize) -> Fact {
        Fact::Waits { role: Role(role as u16), offers: self.moves(role).iter().map(step_of).collect() }
    }

    fn head(&self, channel: usize) -> (Role, referee_theory::Message) {
        let symbol = self.graph.layout.symbol(&self.graph.words(self.state), channel, 0);
        self.model.channels[channel].symbols[symbol as usize]
    }

    /// The peers that `role` waits for, each once.
    fn peers(&self, role: usize) -> Vec<usize> {
        let mut peers: Vec<usize> = Vec::new();
        for step in self.moves(role) {
            if !peers.contains(&step.peer.index()) {
                peers.push(step.peer.index());
            }
        }
        peers
    }

    fn stuck(&self, role: usize) -> Option<Obstacle> {
        if !self.waits_for_ever(role) || self.may_wait(role) {
            return None;
        }
        let this = Role(role as u16);
        let make = |violation, mut facts: Vec<Fact>, others| {
            facts.insert(0, self.waits(role));
            facts.push(Fact::NeverMoves { role: this });
            let (property, failure) = (Property::Progress, Failure::Stuck { role: this });
            Some(Obstacle { violation, property, failure, facts, others })
        };
        let blocked = self.moves(role).iter().map(|step| step.channel as usize).find(|&c| self.holds(c));
        if let Some(channel) = blocked {
            let (from, message) = self.head(channel);
            let mailbox = self.model.channels[channel].from.is_none();
            return make(
                Violation::UnexpectedMessage,
                vec![Fact::Next { from, to: this, message, mailbox }],
                Vec::new(),
            );
        }
        if let Some(cycle) = self.wait_cycle(role) {
            let rest = cycle[1..]
                .iter()
                .flat_map(|&other| [self.waits(other), Fact::NeverMoves { role: Role(other as u16) }]);
            return make(Violation::WaitCycle, rest.collect(), Vec::new());
        }
        let peers = self.peers(role);
        let going: Vec<u32> =
            peers.iter().filter(|&&peer| self.future.moves[peer]).map(|&peer| peer as u32).collect();
        let starved = self.goes_on && !going.is_empty();
        let mut facts = Vec::new();
        for peer in peers {
            facts.extend(self.why_not(peer, role));
        }
        // Who stands before a full channel would go on with more room.
        let blocked = facts.iter().all(|fact| matches!(fact, Fact::AboutToSend { .. }));
        let violation = match (starved, blocked && !facts.is_empty()) {
            (true, _) => Violation::Starved,
            (false, true) => Violation::BlockedSend,
            (false, false) => Violation::NeverSent,
        };
        make(violation, facts, going)
    }

    /// Why `peer` does not send what `role` waits for.
    fn why_not(&self, peer: usize, role: usize) -> Vec<Fact> {
        let this = Role(peer as u16);
        match self.kind(peer) {
            StateKind::Final if self.has_crashed(peer) => return vec![Fact::Crashed { role: this }],
            StateKind::Final => return vec![Fact::Ended { role: this }],
            StateKind::Receiving if !self.future.moves[peer] => {
                return vec![self.waits(peer), Fact::NeverMoves { role: this }];
            }
            _ => {}
        }
        if self.future.certain
            && !self.future.moves[peer]
            && let Some(send) = self.moves(peer).iter().find(|step| step.sends)
        {
            return vec![Fact::AboutToSend { send: step_of(send) }];
        }
        let wanted = self.moves(role).iter().filter(|step| step.peer == this);
        let never = |step: &Move| {
            step.symbol == NEVER_SENT || !self.future.sends[step.channel as usize][step.symbol as usize]
        };
        let (never, blocked): (Vec<&Move>, Vec<&Move>) = wanted.partition(|step| never(step));
        let send = self.moves(peer).iter().find(|step| step.sends);
        // What is blocked by a full channel is not "never sent" but "not within the bound".
        let facts = never.into_iter().map(|step| Fact::NeverSends {
            from: this,
            to: Role(role as u16),
            message: step.message,
        });
        let mut facts: Vec<Fact> = facts.collect();
        if let Some(send) = send.filter(|_| !blocked.is_empty()) {
            facts.push(Fact::AboutToSend { send: step_of(send) });
        }
        facts
    }

    /// Roles that wait for each other for ever, from `role` back to it, along empty channels.
    fn wait_cycle(&self, role: usize) -> Option<Vec<usize>> {
        let mut before: Vec<Option<usize>> = vec![None; self.model.role_count()];
        let mut order = vec![role];
        let mut next = 0;
        while let Some(&at) = order.get(next) {
            next += 1;
            for peer in self.peers(at) {
                if peer == role {
                    let mut cycle = vec![at];
                    while let Some(earlier) = before[cycle[cycle.len() - 1]] {
                        cycle.push(earlier);
                    }
                    cycle.reverse();
                    return Some(cycle);
                }
                let empty = |step: &Move| !self.holds(step.channel as usize);
                if before[peer].is_none() && self.waits_for_ever(peer) && self.moves(peer).iter().all(empty) {
                    before[peer] = Some(at);
                    order.push(peer);
                }
            }
        }
        None
    }

    fn unreceived(&self, channel: usize) -> Option<Obstacle> {
        if !self.holds(channel) || self.future.receives[channel] {
            return None;
        }
        let queue = &self.model.channels[channel];
        let to = queue.to;
        let (from, message) = self.head(channel);
        let mailbox = queue.from.is_none();
        let next = Fact::Next { from, to, message, mailbox };
        let never = Fact::NeverReceives { from: queue.from, to };
        let make = |violation, facts, others| {
            let (property, failure) =
                (Property::EventualReception, Failure::Unreceived { from, to, message });
            Some(Obstacle { violation, property, failure, facts, others })
        };
        let receiver = to.index();
        match self.kind(receiver) {
            StateKind::Final => {
                make(Violation::OrphanMessage, vec![next, Fact::Ended { role: to }, never], Vec::new())
            }
            // It waits for something else, which is told of by itself.
            _ if self.waits_for_ever(receiver) => {
                let expected = self.moves(receiver).iter().any(|step| step.channel as usize == channel);
                let facts = vec![next, self.waits(receiver), Fact::NeverMoves { role: to }, never];
                if expected { None } else { make(Violation::OrphanMessage, facts, Vec::new()) }
            }
            _ if self.goes_on && self.future.moves[receiver] => {
                make(Violation::Starved, vec![next, never], vec![receiver as u32])
            }
            _ if !self.future.moves[receiver] => {
                let send = self.moves(receiver).iter().find(|step| step.sends).map(step_of)?;
                make(Violation::BlockedSend, vec![Fact::AboutToSend { send }, next, never], Vec::new())
            }
            _ => make(Violation::OrphanMessage, vec![next, never], vec![receiver as u32]),
        }
    }
}
