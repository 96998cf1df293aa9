//! One role's monitor on RelaMon's wire, without I/O: bodies in, actions out.
//!
//! RelaMon sends the label and the value as two bodies, and dependencies look like labels. What a body is depends on the
//! state in which it is processed, so bodies are queued for each sender, and the engine gets whole messages when it is
//! ready for them.

use std::collections::VecDeque;
use std::sync::Arc;

use hyper::body::Bytes;
use referee_monitor::multiparty::{Arrival, Dependencies, Effect, Engine, Network, Notice, Run, Status};
use referee_monitor::{Party, Policy};
use referee_theory::{Action, Machine, Role, Vocabulary};
use serde_json::Value;

use super::envelope::{Envelope, LabelledMessage, lend};

/// Bodies that may be in flight to the component, and to other monitors.
const MAX_IN_FLIGHT: usize = 64;

/// What the caller has to do, in this order.
#[derive(Debug)]
pub(super) enum AdapterAction {
    /// Post to the component.
    Component(Bytes),
    /// Post a dependency to the monitor of a role, before the message it is about.
    Inform(Role, Bytes),
    /// Post to the monitor of a role.
    Monitor(Role, Bytes),
    /// A violation was found here: notify the component and all other monitors.
    Violated(Box<Notice>),
    /// Another monitor reported a violation: notify the component.
    ForwardNotice(Box<Notice>),
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
pub(super) struct RoleAdapter {
    engine: Engine,
    turns: Vec<Turn>,
    /// Indexed by role and state: whether every continuation involves that role.
    involved: Vec<Vec<bool>>,
    run: Run<LabelledMessage>,
    component: VecDeque<Envelope>,
    /// Bodies from monitors, indexed by sender.
    monitors: Vec<VecDeque<Envelope>>,
    /// Indexed by sender: whether its monitor is RelaMon's own. Those do not wait for responses, so their requests may be
    /// reordered.
    foreign: Vec<bool>,
    /// Whether unexpected bodies are judged now, although expected ones may be in flight.
    flushing: bool,
    /// Nothing is delivered before the component was told to begin.
    started: bool,
    /// Whether it is being told.
    starting: bool,
    /// Whether the component is gone although it may still be told something.
    gone: bool,
    undelivered: usize,
    unsent: usize,
}

impl RoleAdapter {
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
                    let notice_received = transitions.iter().filter_map(|t| network.told(t.message));
                    let labels = notice_received.map(|label| vocabulary.label_name(label).into()).collect();
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
            flushing: false,
            started: false,
            starting: false,
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

    /// Whether one more body of `sender` may be queued now.
    pub(super) fn has_room(&self, sender: &str) -> bool {
        let waiting = match self.vocabulary().find_role(sender) {
            Some(role) if role != self.role() => self.monitors[role.index()].len(),
            _ => self.component.len(),
        };
        self.run.status() == Status::Halted
            || (waiting < self.engine.settings().capacity && self.unsent < MAX_IN_FLIGHT)
    }

    /// Queues a body of the component or of another monitor. Monitors send only messages to this role, so anything else is from
    /// the component.
    pub(super) fn take(&mut self, envelope: Envelope) -> Vec<AdapterAction> {
        let mut actions = Vec::new();
        let sender = self.vocabulary().find_role(&envelope.sender);
        let here = self.vocabulary().find_role(&envelope.receiver) == Some(self.role());
        match sender {
            Some(sender) if sender == self.role() => self.component.push_back(envelope),
            Some(sender) if here => self.monitors[sender.index()].push_back(envelope),
            _ => {
                let (from, to) = (envelope.sender, envelope.receiver);
                return self
                    .malformed_body(format!("a message from `{from}` to `{to}` is not this component's"));
            }
        }
        self.advance(&mut actions);
        actions
    }

    /// The component posted a malformed body.
    pub(super) fn malformed_body(&mut self, why: String) -> Vec<AdapterAction> {
        let mut actions = Vec::new();
        self.component_sends(Party::Stranger, LabelledMessage::malformed(why), &mut actions);
        self.advance(&mut actions);
        actions
    }

    /// The monitor of `peer` is RelaMon's own.
    pub(super) fn mark_foreign(&mut self, peer: Role) {
        self.foreign[peer.index()] = true;
    }

    /// Whether only unexpected bodies have arrived from a foreign monitor, which may have been reordered.
    pub(super) fn is_reordering(&self) -> bool {
        let Some(from) = self.awaited() else { return false };
        let queue = &self.monitors[from.index()];
        self.foreign[from.index()] && !queue.is_empty() && !queue.iter().any(|body| self.fits(body))
    }

    /// The reordering timeout has passed: unexpected bodies are judged as they are.
    pub(super) fn flush_reordered(&mut self) -> Vec<AdapterAction> {
        let mut actions = Vec::new();
        if self.is_reordering() {
            self.flushing = true;
            self.advance(&mut actions);
            self.flushing = false;
        }
        actions
    }

    /// The sender whose body is processed next.
    fn awaited(&self) -> Option<Role> {
        match self.turn() {
            _ if !self.started || self.run.status() != Status::Running => None,
            Turn::Receive { from, .. } | Turn::Learn { from, .. } => Some(*from),
            Turn::End | Turn::Send(_) => None,
        }
    }

    /// Whether `body` is expected in the present state.
    fn fits(&self, body: &Envelope) -> bool {
        match self.turn() {
            Turn::Receive { branches, .. } => expected(branches, body).is_some(),
            Turn::Learn { labels, .. } => labels.iter().any(|label| body.payload.as_str() == Some(label)),
            Turn::End | Turn::Send(_) => false,
        }
    }

    /// Moves an expected body to the front where bodies may be reordered. Whether there is one to judge.
    fn sort(&mut self) -> bool {
        let Some(from) = self.awaited().filter(|from| self.foreign[from.index()] && !self.flushing) else {
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
    pub(super) fn set_starting(&mut self) {
        self.starting = true;
    }

    /// Whether the component was told to begin.
    pub(super) fn is_started(&self) -> bool {
        self.started
    }

    /// The component was told to begin.
    pub(super) fn start(&mut self) -> Vec<AdapterAction> {
        (self.starting, self.started) = (true, true);
        let mut actions = Vec::new();
        self.advance(&mut actions);
        actions
    }

    /// The component accepted a body.
    pub(super) fn delivered(&mut self) -> Vec<AdapterAction> {
        self.undelivered = self.undelivered.saturating_sub(1);
        let mut actions = Vec::new();
        self.advance(&mut actions);
        actions
    }

    /// Another monitor accepted a body.
    pub(super) fn sent(&mut self) {
        self.unsent = self.unsent.saturating_sub(1);
    }

    /// The component is gone.
    pub(super) fn component_gone(&mut self) -> Vec<AdapterAction> {
        self.gone = true;
        let mut actions = Vec::new();
        self.advance(&mut actions);
        actions
    }

    /// Another monitor reports a violation.
    pub(super) fn notice_received(&mut self, notice: &Notice) -> Vec<AdapterAction> {
        self.with_engine(|engine, run, out| engine.told(run, notice, out))
    }

    /// The monitor of `peer`, which this one needs, is gone: a fault.
    pub(super) fn monitor_gone(&mut self, peer: Role) -> Vec<AdapterAction> {
        let name = |role| self.vocabulary().role_name(role);
        let sentence =
            format!("the monitor of `{}` is gone, and `{}` needs it", name(peer), name(self.role()));
        self.fail(sentence)
    }

    /// The monitor of `peer` was restarted and has lost the session: a fault.
    pub(super) fn monitor_anew(&mut self, peer: Role) -> Vec<AdapterAction> {
        self.fail(format!("the monitor of `{}` was started anew", self.vocabulary().role_name(peer)))
    }

    /// Ends the session as a fault: nobody is to blame.
    fn fail(&mut self, sentence: String) -> Vec<AdapterAction> {
        let halted = self.engine.settings().policy == Policy::Halt;
        let notice = Notice::fault(self.role(), sentence, self.run.events(), halted);
        let mut actions = self.notice_received(&notice);
        for action in &mut actions {
            if let AdapterAction::ForwardNotice(notice) = action {
                *action = AdapterAction::Violated(notice.clone());
            }
        }
        actions
    }

    /// The role whose message or dependency is awaited; before the start, one that has begun already.
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

    /// Whether the monitor of `peer` is still needed: it takes part in every continuation, or is awaited.
    pub(super) fn needs(&self, peer: Role) -> bool {
        let involved = self.involved[peer.index()].get(self.run.state().index()).is_some_and(|is| *is);
        let running = self.started && self.run.status() == Status::Running;
        self.waits_for() == Some(peer) || (running && involved && self.monitors[peer.index()].is_empty())
    }

    /// Whether the protocol is over at this role, and everything was delivered.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.turn(), Turn::End)
            && self.undelivered == 0
            && self.unsent == 0
            && self.run.status() != Status::Halted
    }

    /// Whether the component has ended correctly, and everything it sent was delivered.
    pub(super) fn is_finished(&self) -> bool {
        self.run.status() == Status::Finished && self.unsent == 0
    }

    /// The state of the session, for `/sessions`.
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

    /// Processes whatever can be processed now.
    fn advance(&mut self, actions: &mut Vec<AdapterAction>) {
        while matches!(self.run.status(), Status::Running | Status::Lost) {
            if !(self.take_input(actions) || self.take_output(actions)) {
                break;
            }
        }
        if self.run.status() == Status::Halted {
            self.component.clear();
            self.monitors.iter_mut().for_each(VecDeque::clear);
        }
        // A component that knows the choice need not wait for the repetition.
        let again = matches!(self.turn(), Turn::Learn { labels, .. } if labels.len() == 1);
        let once = self.engine.settings().dependencies == Dependencies::DeliverOnce;
        if self.gone && !(again && once) {
            actions.extend(self.with_engine(|engine, run, out| engine.component_ends(run, &lend, out)));
            self.downgrade_to_fault(actions);
        }
    }

    /// Gives the engine the body it waits for from another monitor, if it has arrived.
    fn take_input(&mut self, actions: &mut Vec<AdapterAction>) -> bool {
        if !self.started || self.undelivered >= MAX_IN_FLIGHT || !self.sort() {
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
            for action in made {
                // The component is sent the body unchanged.
                actions.push(match action {
                    AdapterAction::Component(_) => AdapterAction::Component(envelope.body.clone()),
                    other => other,
                });
            }
            return true;
        }
        let Some(message) = whole(queue, |first| expected(branches, first)) else { return false };
        actions.extend(self.with_engine(|engine, run, out| {
            let _ = engine.arrives(run, from, Arrival::Message(message), &lend, out);
        }));
        true
    }

    /// Gives the engine what the component sent.
    fn take_output(&mut self, actions: &mut Vec<AdapterAction>) -> bool {
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
        let message = whole(&mut self.component, |first| {
            let fits = |b: &&Branch| Some(b.peer) == to && first.payload.as_str() == Some(&b.label);
            branches.iter().find(fits).map(|branch| branch.fields)
        });
        let Some(message) = message else { return false };
        self.component_sends(to.map_or(Party::Stranger, Party::Role), message, actions);
        true
    }

    fn component_sends(&mut self, to: Party, message: LabelledMessage, actions: &mut Vec<AdapterAction>) {
        actions.extend(self.with_engine(|engine, run, out| {
            // Messages that have to wait are not offered.
            let _ = engine.component_sends(run, to, message, &lend, out);
        }));
        self.downgrade_to_fault(actions);
    }

    /// A component that was not told to begin may be in a session that this process has lost: violations become faults.
    fn downgrade_to_fault(&self, actions: &mut [AdapterAction]) {
        if self.starting {
            return;
        }
        let name = self.vocabulary().role_name(self.role());
        let sentence =
            format!("no session has begun, but for `{name}`: its monitor may have been started anew");
        for action in actions {
            if let AdapterAction::Violated(notice) = action {
                **notice = Notice::fault(self.engine.role(), sentence.clone(), notice.event, notice.halted);
            }
        }
    }

    fn with_engine(
        &mut self,
        step: impl FnOnce(&Engine, &mut Run<LabelledMessage>, &mut dyn FnMut(Effect<LabelledMessage>)),
    ) -> Vec<AdapterAction> {
        let mut actions = Vec::new();
        let vocabulary = self.engine.vocabulary();
        let own = vocabulary.role_name(self.engine.role());
        step(&self.engine, &mut self.run, &mut |effect| match effect {
            Effect::Deliver { message, .. } => {
                actions.extend(message.bodies.into_iter().map(AdapterAction::Component))
            }
            Effect::DeliverDependency { from, label } => {
                let from = vocabulary.role_name(from);
                let body = Envelope::dependency(from, own, vocabulary.label_name(label));
                actions.push(AdapterAction::Component(body));
            }
            Effect::Send { to, message, .. } => {
                actions.extend(message.bodies.into_iter().map(|body| AdapterAction::Monitor(to, body)));
            }
            Effect::Inform { to, label } => {
                let name = vocabulary.role_name(to);
                let body = Envelope::dependency(own, name, vocabulary.label_name(label));
                actions.push(AdapterAction::Inform(to, body));
            }
            Effect::Report(notice) => actions.push(AdapterAction::Violated(notice)),
            Effect::Tell(notice) => actions.push(AdapterAction::ForwardNotice(notice)),
            Effect::Finished => actions.push(AdapterAction::Finished),
            // Times are not judged here.
            Effect::Untimely { .. } => {}
        });
        actions.sort_by_key(|action| !matches!(action, AdapterAction::Inform(..)));
        for action in &actions {
            match action {
                AdapterAction::Component(_) => self.undelivered += 1,
                AdapterAction::Inform(..) | AdapterAction::Monitor(..) => self.unsent += 1,
                _ => {}
            }
        }
        actions
    }
}

/// Indexed by state of `machine`: whether every continuation has a transition with `role`.
fn involves(machine: &Machine, role: Role) -> Vec<bool> {
    let mut involved = vec![false; machine.states().len()];
    // The transitions that are not known to lead there, and the predecessors of each state.
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

/// How many fields follow the label `first`, if it is one of `branches`.
fn expected(branches: &[Branch], first: &Envelope) -> Option<usize> {
    branches.iter().find(|branch| first.payload.as_str() == Some(&branch.label)).map(|branch| branch.fields)
}

/// Whether the first message in `queue` is complete.
fn is_whole(queue: &VecDeque<Envelope>, fields: impl FnOnce(&Envelope) -> Option<usize>) -> bool {
    queue.front().is_some_and(|first| queue.len() > usize::from(fields(first).unwrap_or(0) > 0))
}

/// Takes the first message out of `queue` if it is complete. `fields` says how many fields follow its label; an unexpected
/// label is a message of its own.
fn whole(
    queue: &mut VecDeque<Envelope>,
    fields: impl Fn(&Envelope) -> Option<usize>,
) -> Option<LabelledMessage> {
    if !is_whole(queue, &fields) {
        return None;
    }
    let fields = fields(queue.front()?).unwrap_or(0);
    let first = queue.pop_front()?;
    let receiver = first.receiver.clone();
    let mut message = LabelledMessage::of_label(first);
    if fields > 0 {
        let second = queue.pop_front()?;
        if second.receiver != receiver {
            let why = format!("the value for `{receiver}` went to `{}`", second.receiver);
            return Some(LabelledMessage::malformed(why));
        }
        message.value = Some(second.payload);
        message.spread = fields > 1;
        message.bodies.push(second.body);
    }
    Some(message)
}

#[cfg(test)]
mod tests;
