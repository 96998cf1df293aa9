//! One role's monitor on RelaMon's wire, without I/O: bodies in, orders out.
//!
//! RelaMon sends the label and the value as two bodies, and dependencies look like labels. What a body is depends
//! on the state in which it is taken, so bodies wait here, one queue for each sender, and the engine is given whole
//! messages, each when it is ready for it.

use std::collections::VecDeque;
use std::sync::Arc;

use hyper::body::Bytes;
use referee_monitor::multiparty::{Arrival, Dependencies, Effect, Engine, Network, Notice, Run, Status};
use referee_monitor::{Party, Policy};
use referee_theory::{Action, Machine, Role, Vocabulary};
use serde_json::Value;

use super::envelope::{Envelope, Parcel, lend};

/// How many messages may be on their way to the component, and how many to other monitors.
const UNDER_WAY: usize = 64;

/// What is to be done, in this order.
#[derive(Debug)]
pub(super) enum Order {
    /// Post to the component.
    Component(Bytes),
    /// Post a dependency to the monitor of a role: before what it is about goes to anybody.
    Inform(Role, Bytes),
    /// Post to the monitor of a role.
    Monitor(Role, Bytes),
    /// A violation was found here: tell the component and all other monitors.
    Violated(Box<Notice>),
    /// A violation was found elsewhere: tell the component.
    Told(Box<Notice>),
    /// The component ended when it should.
    Finished,
}

/// What a state waits for.
enum Turn {
    End,
    Send(Vec<Branch>),
    Receive {
        from: Role,
        branches: Vec<Branch>,
    },
    /// A dependency, one of `labels`; a single one can only repeat what another monitor told.
    Learn {
        from: Role,
        labels: Vec<Box<str>>,
    },
}

struct Branch {
    peer: Role,
    label: Box<str>,
    fields: usize,
}

/// One role's monitor and its only session.
pub(super) struct Station {
    engine: Engine,
    turns: Vec<Turn>,
    /// By role and state: whether whatever happens from there involves that role.
    involved: Vec<Vec<bool>>,
    run: Run<Parcel>,
    component: VecDeque<Envelope>,
    /// By sender.
    monitors: Vec<VecDeque<Envelope>>,
    /// By sender: whether its monitor is one of RelaMon's, which wait for no answers: what they post may overtake what they
    /// posted before.
    foreign: Vec<bool>,
    /// Whether what does not fit is judged although something that fits may be under way.
    insists: bool,
    /// Nothing is delivered before the component was told to begin.
    started: bool,
    /// Whether it is being told.
    summoned: bool,
    /// Whether the component is gone although it may still be told something.
    gone: bool,
    undelivered: usize,
    unsent: usize,
}

impl Station {
    pub(super) fn new(engine: Engine, network: &Network) -> Self {
        let machine = network.system().machine(engine.role());
        let vocabulary = network.vocabulary();
        let turns = machine.states().map(|state| {
            let transitions = machine.transitions(state);
            let Some(first) = transitions.first() else { return Turn::End };
            let branch = |t: &referee_theory::Transition| Branch {
                peer: t.peer,
                label: vocabulary.label_of(t.message).into(),
                fields: vocabulary.spec(t.message).fields.len(),
            };
            match (first.action, network.is_dependency(first.message)) {
                (Action::Send, _) => Turn::Send(transitions.iter().map(branch).collect()),
                (Action::Receive, true) => {
                    let told = transitions.iter().filter_map(|t| network.told(t.message));
                    let labels = told.map(|label| vocabulary.label_name(label).into()).collect();
                    Turn::Learn { from: first.peer, labels }
                }
                (Action::Receive, false) => {
                    Turn::Receive { from: first.peer, branches: transitions.iter().map(branch).collect() }
                }
            }
        });
        Self {
            turns: turns.collect(),
            involved: vocabulary.roles().map(|role| involves(machine, role)).collect(),
            run: engine.run(u32::MAX),
            component: VecDeque::new(),
            monitors: vocabulary.roles().map(|_| VecDeque::new()).collect(),
            foreign: vocabulary.roles().map(|_| false).collect(),
            insists: false,
            started: false,
            summoned: false,
            gone: false,
            undelivered: 0,
            unsent: 0,
            engine,
        }
    }

    pub(super) fn role(&self) -> Role {
        self.engine.role()
    }

    pub(super) fn vocabulary(&self) -> &Arc<Vocabulary> {
        self.engine.vocabulary()
    }

    /// Whether one more body of `sender` may be taken now.
    pub(super) fn has_room(&self, sender: &str) -> bool {
        let waiting = match self.vocabulary().find_role(sender) {
            Some(role) if role != self.role() => self.monitors[role.index()].len(),
            _ => self.component.len(),
        };
        self.run.status() == Status::Halted
            || (waiting < self.engine.settings().capacity && self.unsent < UNDER_WAY)
    }

    /// Takes a body, of the component or of another monitor. Monitors pass on nothing but messages to this role, so
    /// whatever is neither comes from the component.
    pub(super) fn take(&mut self, envelope: Envelope) -> Vec<Order> {
        let mut orders = Vec::new();
        let sender = self.vocabulary().find_role(&envelope.sender);
        let here = self.vocabulary().find_role(&envelope.receiver) == Some(self.role());
        match sender {
            Some(sender) if sender == self.role() => self.component.push_back(envelope),
            Some(sender) if here => self.monitors[sender.index()].push_back(envelope),
            _ => {
                let (from, to) = (envelope.sender, envelope.receiver);
                return self.stray(format!("a message from `{from}` to `{to}` is not this component's"));
            }
        }
        self.advance(&mut orders);
        orders
    }

    /// The component posted something that is no message.
    pub(super) fn stray(&mut self, why: String) -> Vec<Order> {
        let mut orders = Vec::new();
        self.component_sends(Party::Stranger, Parcel::malformed(why), &mut orders);
        self.advance(&mut orders);
        orders
    }

    /// The monitor of `peer` is one of RelaMon's.
    pub(super) fn mark_foreign(&mut self, peer: Role) {
        self.foreign[peer.index()] = true;
    }

    /// Whether something has come from a monitor of RelaMon's that may have overtaken what fits.
    pub(super) fn is_puzzled(&self) -> bool {
        let Some(from) = self.awaited() else { return false };
        let queue = &self.monitors[from.index()];
        self.foreign[from.index()] && !queue.is_empty() && !queue.iter().any(|body| self.fits(body))
    }

    /// Nothing that fits has come for long enough: what is there is judged as it is.
    pub(super) fn insist(&mut self) -> Vec<Order> {
        let mut orders = Vec::new();
        if self.is_puzzled() {
            self.insists = true;
            self.advance(&mut orders);
            self.insists = false;
        }
        orders
    }

    /// From whom something is to be taken now.
    fn awaited(&self) -> Option<Role> {
        match self.turn() {
            _ if !self.started || self.run.status() != Status::Running => None,
            Turn::Receive { from, .. } | Turn::Learn { from, .. } => Some(*from),
            Turn::End | Turn::Send(_) => None,
        }
    }

    /// Whether `body` is what the present state begins with.
    fn fits(&self, body: &Envelope) -> bool {
        match self.turn() {
            Turn::Receive { branches, .. } => expected(branches, body).is_some(),
            Turn::Learn { labels, .. } => labels.iter().any(|label| body.payload.as_str() == Some(label)),
            Turn::End | Turn::Send(_) => false,
        }
    }

    /// Puts what fits first, where what comes may be out of order. Whether there is something to judge.
    fn sort(&mut self) -> bool {
        let Some(from) = self.awaited().filter(|from| self.foreign[from.index()] && !self.insists) else {
            return true;
        };
        let Some(at) = self.monitors[from.index()].iter().position(|body| self.fits(body)) else {
            return false;
        };
        let queue = &mut self.monitors[from.index()];
        if let Some(body) = queue.remove(at) {
            queue.push_front(body);
        }
        true
    }

    /// The component is about to be told to begin.
    pub(super) fn summon(&mut self) {
        self.summoned = true;
    }

    /// Whether the component was told to begin.
    pub(super) fn is_started(&self) -> bool {
        self.started
    }

    /// The component was told to begin.
    pub(super) fn start(&mut self) -> Vec<Order> {
        (self.summoned, self.started) = (true, true);
        let mut orders = Vec::new();
        self.advance(&mut orders);
        orders
    }

    /// The component took a body.
    pub(super) fn delivered(&mut self) -> Vec<Order> {
        self.undelivered = self.undelivered.saturating_sub(1);
        let mut orders = Vec::new();
        self.advance(&mut orders);
        orders
    }

    /// Another monitor took a body.
    pub(super) fn sent(&mut self) {
        self.unsent = self.unsent.saturating_sub(1);
    }

    /// The component is gone.
    pub(super) fn component_gone(&mut self) -> Vec<Order> {
        self.gone = true;
        let mut orders = Vec::new();
        self.advance(&mut orders);
        orders
    }

    /// Another monitor tells of a violation.
    pub(super) fn told(&mut self, notice: &Notice) -> Vec<Order> {
        self.with_engine(|engine, run, out| engine.told(run, notice, out))
    }

    /// The monitor of `peer`, without which this one cannot go on, is gone. Whose fault that is nobody can tell.
    pub(super) fn monitor_gone(&mut self, peer: Role) -> Vec<Order> {
        let name = |role| self.vocabulary().role_name(role);
        let sentence =
            format!("the monitor of `{}` is gone, and `{}` needs it", name(peer), name(self.role()));
        self.fail(sentence)
    }

    /// The monitor of `peer` is another process than when the session began, and knows nothing of it.
    pub(super) fn monitor_anew(&mut self, peer: Role) -> Vec<Order> {
        self.fail(format!("the monitor of `{}` was started anew", self.vocabulary().role_name(peer)))
    }

    /// The session cannot go on, and nobody is to blame for it.
    fn fail(&mut self, sentence: String) -> Vec<Order> {
        let halted = self.engine.settings().policy == Policy::Halt;
        let notice = Notice::fault(self.role(), sentence, halted);
        let mut orders = self.told(&notice);
        for order in &mut orders {
            if let Order::Told(notice) = order {
                *order = Order::Violated(notice.clone());
            }
        }
        orders
    }

    /// Whose message or dependency it waits for; before the start, somebody who has begun already.
    pub(super) fn waits_for(&self) -> Option<Role> {
        if !self.started {
            return self.vocabulary().roles().find(|role| !self.monitors[role.index()].is_empty());
        }
        let (peer, branches) = match self.turn() {
            Turn::Receive { from, branches } => (*from, branches.as_slice()),
            Turn::Learn { from, .. } => (*from, &[][..]),
            Turn::End | Turn::Send(_) => return None,
        };
        // A label without its value is no message yet.
        let waits = !is_whole(&self.monitors[peer.index()], |first| expected(branches, first));
        (waits && self.run.status() == Status::Running).then_some(peer)
    }

    /// Whether the monitor of `peer` must be there. Whoever has ended as it may has no part in anything that can still
    /// happen here, but for what it sent and was not taken yet.
    pub(super) fn needs(&self, peer: Role) -> bool {
        let involved = self.involved[peer.index()].get(self.run.state().index()).is_some_and(|is| *is);
        let running = self.started && self.run.status() == Status::Running;
        self.waits_for() == Some(peer) || (running && involved && self.monitors[peer.index()].is_empty())
    }

    /// Whether the protocol asks nothing more of anyone here.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.turn(), Turn::End)
            && self.undelivered == 0
            && self.unsent == 0
            && self.run.status() != Status::Halted
    }

    /// Whether the component has ended as it may, and everyone has what it sent.
    pub(super) fn is_finished(&self) -> bool {
        self.run.status() == Status::Finished && self.unsent == 0
    }

    /// How it stands, for operators.
    pub(super) fn describe(&self) -> Value {
        let name = |role: Role| self.vocabulary().role_name(role);
        let waiting: serde_json::Map<String, Value> = self
            .vocabulary()
            .roles()
            .filter(|role| *role != self.role())
            .map(|role| (name(role).to_owned(), self.monitors[role.index()].len().into()))
            .collect();
        let turn = match self.turn() {
            Turn::End => "end",
            Turn::Send(_) => "component",
            Turn::Receive { .. } | Turn::Learn { .. } => "monitor",
        };
        serde_json::json!({
            "role": name(self.role()),
            "status": format!("{:?}", self.run.status()).to_lowercase(),
            "state": self.run.state().index(),
            "waits_on": turn,
            "waits_for": self.waits_for().map(name),
            "violations": self.run.violations(),
            "waiting": { "component": self.component.len(), "monitors": waiting },
            "under_way": { "component": self.undelivered, "monitors": self.unsent },
        })
    }

    fn turn(&self) -> &Turn {
        self.turns.get(self.run.state().index()).unwrap_or(&Turn::End)
    }

    fn hides(&self) -> bool {
        self.engine.settings().dependencies == Dependencies::Hide
    }

    /// Does everything that can be done now.
    fn advance(&mut self, orders: &mut Vec<Order>) {
        while matches!(self.run.status(), Status::Running | Status::Lost) {
            if !(self.take_input(orders) || self.take_output(orders)) {
                break;
            }
        }
        if self.run.status() == Status::Halted {
            self.component.clear();
            self.monitors.iter_mut().for_each(VecDeque::clear);
        }
        // Having been told once, a component need not wait until it is told again.
        let again = matches!(self.turn(), Turn::Learn { labels, .. } if labels.len() == 1);
        let once = self.engine.settings().dependencies == Dependencies::DeliverOnce;
        if self.gone && !(again && once) {
            orders.extend(self.with_engine(|engine, run, out| engine.component_ends(run, &lend, out)));
            self.excuse(orders);
        }
    }

    /// Gives the engine what it waits for from another monitor, if that is here.
    fn take_input(&mut self, orders: &mut Vec<Order>) -> bool {
        if !self.started || self.undelivered >= UNDER_WAY || !self.sort() {
            return false;
        }
        let lost = self.run.status() == Status::Lost;
        let state = self.run.state().index();
        let (from, branches, learns) = match self.turns.get(state) {
            Some(Turn::Receive { from, branches }) if !lost => (*from, branches.as_slice(), false),
            Some(Turn::Learn { from, .. }) if !lost => (*from, &[][..], true),
            Some(Turn::Send(_)) if !lost => return false,
            _ => {
                let any = self.vocabulary().roles().find(|role| !self.monitors[role.index()].is_empty());
                let Some(from) = any else { return false };
                (from, &[][..], false)
            }
        };
        let queue = &mut self.monitors[from.index()];
        if learns {
            let Some(envelope) = queue.pop_front() else { return false };
            let label = envelope.payload.as_str().unwrap_or_default().to_owned();
            let made = self.with_engine(|engine, run, out| {
                // Ready for it, so it does not wait.
                let _ = engine.arrives(run, from, Arrival::Dependency(&label), &lend, out);
            });
            for order in made {
                // The component is given the very bytes.
                orders.push(match order {
                    Order::Component(_) => Order::Component(envelope.body.clone()),
                    other => other,
                });
            }
            return true;
        }
        let Some(parcel) = whole(queue, |first| expected(branches, first)) else { return false };
        orders.extend(self.with_engine(|engine, run, out| {
            let _ = engine.arrives(run, from, Arrival::Message(parcel), &lend, out);
        }));
        true
    }

    /// Gives the engine what the component sent.
    fn take_output(&mut self, orders: &mut Vec<Order>) -> bool {
        let lost = self.run.status() == Status::Lost;
        if self.hides() && matches!(self.turn(), Turn::Learn { .. }) && !lost {
            return false;
        }
        let Some(first) = self.component.front() else { return false };
        let to = self.vocabulary().find_role(&first.receiver);
        let branches = match self.turns.get(self.run.state().index()) {
            Some(Turn::Send(branches)) if !lost => branches.as_slice(),
            _ => &[],
        };
        let parcel = whole(&mut self.component, |first| {
            let fits = |b: &&Branch| Some(b.peer) == to && first.payload.as_str() == Some(&b.label);
            branches.iter().find(fits).map(|branch| branch.fields)
        });
        let Some(parcel) = parcel else { return false };
        self.component_sends(to.map_or(Party::Stranger, Party::Role), parcel, orders);
        true
    }

    fn component_sends(&mut self, to: Party, parcel: Parcel, orders: &mut Vec<Order>) {
        orders.extend(self.with_engine(|engine, run, out| {
            // What would have to wait is not offered.
            let _ = engine.component_sends(run, to, parcel, &lend, out);
        }));
        self.excuse(orders);
    }

    /// A component that was not told to begin may go on with a session of which this process knows nothing, and have
    /// done nothing wrong there.
    fn excuse(&self, orders: &mut [Order]) {
        if self.summoned {
            return;
        }
        let name = self.vocabulary().role_name(self.role());
        let sentence =
            format!("no session has begun, but for `{name}`: its monitor may have been started anew");
        for order in orders {
            if let Order::Violated(notice) = order {
                **notice = Notice::fault(self.engine.role(), sentence.clone(), notice.halted);
            }
        }
    }

    fn with_engine(
        &mut self,
        step: impl FnOnce(&Engine, &mut Run<Parcel>, &mut dyn FnMut(Effect<Parcel>)),
    ) -> Vec<Order> {
        let mut orders = Vec::new();
        let vocabulary = self.engine.vocabulary();
        let own = vocabulary.role_name(self.engine.role());
        step(&self.engine, &mut self.run, &mut |effect| match effect {
            Effect::Deliver { message, .. } => {
                orders.extend(message.bodies.into_iter().map(Order::Component))
            }
            Effect::DeliverDependency { from, label } => {
                let from = vocabulary.role_name(from);
                let body = Envelope::dependency(from, own, vocabulary.label_name(label));
                orders.push(Order::Component(body));
            }
            Effect::Send { to, message, .. } => {
                orders.extend(message.bodies.into_iter().map(|body| Order::Monitor(to, body)));
            }
            Effect::Inform { to, label } => {
                let name = vocabulary.role_name(to);
                let body = Envelope::dependency(own, name, vocabulary.label_name(label));
                orders.push(Order::Inform(to, body));
            }
            Effect::Report(notice) => orders.push(Order::Violated(notice)),
            Effect::Tell(notice) => orders.push(Order::Told(notice)),
            Effect::Finished => orders.push(Order::Finished),
        });
        orders.sort_by_key(|order| !matches!(order, Order::Inform(..)));
        for order in &orders {
            match order {
                Order::Component(_) => self.undelivered += 1,
                Order::Inform(..) | Order::Monitor(..) => self.unsent += 1,
                _ => {}
            }
        }
        orders
    }
}

/// By state of `machine`: whether each way on from there leads to something with `role`.
fn involves(machine: &Machine, role: Role) -> Vec<bool> {
    let mut involved = vec![false; machine.states().len()];
    // Ways on that are not known to lead there, and from where a state is reached.
    let mut open: Vec<usize> = machine.states().map(|state| machine.transitions(state).len()).collect();
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); involved.len()];
    let mut found = Vec::new();
    for state in machine.states() {
        for transition in machine.transitions(state) {
            if transition.peer == role {
                open[state.index()] -= 1;
            } else {
                before[transition.target.index()].push(state.index());
            }
        }
        if open[state.index()] == 0 && !machine.transitions(state).is_empty() {
            found.push(state.index());
        }
    }
    while let Some(state) = found.pop() {
        involved[state] = true;
        for &earlier in &before[state] {
            open[earlier] -= 1;
            if open[earlier] == 0 {
                found.push(earlier);
            }
        }
    }
    involved
}

/// How many values follow the label `first` where one of `branches` is expected.
fn expected(branches: &[Branch], first: &Envelope) -> Option<usize> {
    branches.iter().find(|branch| first.payload.as_str() == Some(&branch.label)).map(|branch| branch.fields)
}

/// Whether all of the first message in `queue` is there.
fn is_whole(queue: &VecDeque<Envelope>, fields: impl FnOnce(&Envelope) -> Option<usize>) -> bool {
    queue.front().is_some_and(|first| queue.len() > usize::from(fields(first).unwrap_or(0) > 0))
}

/// Takes the first message out of `queue`, if all of it is there. `fields` says how many values follow its label;
/// a label that is not expected is a message of its own.
fn whole(queue: &mut VecDeque<Envelope>, fields: impl Fn(&Envelope) -> Option<usize>) -> Option<Parcel> {
    if !is_whole(queue, &fields) {
        return None;
    }
    let fields = fields(queue.front()?).unwrap_or(0);
    let first = queue.pop_front()?;
    let receiver = first.receiver.clone();
    let mut parcel = Parcel::of_label(first);
    if fields > 0 {
        let second = queue.pop_front()?;
        if second.receiver != receiver {
            let why = format!("the value for `{receiver}` went to `{}`", second.receiver);
            return Some(Parcel::malformed(why));
        }
        parcel.value = Some(second.payload);
        parcel.spread = fields > 1;
        parcel.bodies.push(second.body);
    }
    Some(parcel)
}

#[cfg(test)]
mod tests;
