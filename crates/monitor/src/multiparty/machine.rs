//! Monitors as machines: what the component does and what the monitor tells or is told, as sends and
//! receptions. A dependency `l` is a message `(l)` without payload, in the same channel as the messages between
//! the two roles: the paper's buffers keep the order of everything that one sender sends.

use std::sync::Arc;

use referee_theory::{
    Action, Exchange, Global, GlobalType, Label, Machine, MachineBuilder, Message, NodeId, Origin, Role,
    State, Transition, Vocabulary,
};
use rustc_hash::FxHashMap;

use super::algorithm::{Duty, Synthesised};

/// The messages by which monitors tell each other a label.
#[derive(Clone, Debug)]
pub(super) struct Dependencies {
    /// The protocol's names, and those of the dependencies.
    pub(super) vocabulary: Arc<Vocabulary>,
    by_label: FxHashMap<Label, Message>,
    /// What is told by the messages from `first` on.
    labels: Vec<Label>,
    first: Message,
}

impl Dependencies {
    /// A dependency for each label of `vocabulary`, whose own numbers stay as they are.
    pub(super) fn new(vocabulary: &Vocabulary) -> Self {
        let mut extended = vocabulary.clone();
        let first = Message(u32::try_from(vocabulary.messages().len()).unwrap_or(u32::MAX));
        let (mut by_label, mut labels) = (FxHashMap::default(), Vec::new());
        for label in vocabulary.messages().map(|message| vocabulary.label(message)) {
            if by_label.contains_key(&label) {
                continue;
            }
            let mut text = format!("({})", vocabulary.label_name(label));
            // Labels from JSON may look like anything, also like a dependency.
            while extended.find_label(&text).is_some() {
                text = format!("({text})");
            }
            by_label.insert(label, extended.add_plain_message(&text));
            labels.push(label);
        }
        Self { vocabulary: Arc::new(extended), by_label, labels, first }
    }

    /// The message that tells `label`.
    pub(super) fn message(&self, label: Label) -> Message {
        self.by_label.get(&label).copied().unwrap_or(self.first)
    }

    /// The label that `message` tells, if it tells one.
    pub(super) fn told(&self, message: Message) -> Option<Label> {
        self.labels.get(message.index().checked_sub(self.first.index())?).copied()
    }
}

/// The machine of a role's monitor.
pub(super) fn machine(
    synthesised: &Synthesised,
    global: &GlobalType,
    dependencies: &Dependencies,
) -> Machine {
    let mut making = Making {
        synthesised,
        global,
        dependencies,
        builder: MachineBuilder::new(synthesised.monitor.role),
        states: FxHashMap::default(),
        pending: Vec::new(),
        end: None,
    };
    making.state(global.root());
    while let Some((node, state)) = making.pending.pop() {
        making.fill(node, state);
    }
    making.builder.finish()
}

struct Making<'a> {
    synthesised: &'a Synthesised,
    global: &'a GlobalType,
    dependencies: &'a Dependencies,
    builder: MachineBuilder,
    states: FxHashMap<NodeId, State>,
    pending: Vec<(NodeId, State)>,
    end: Option<State>,
}

impl Making<'_> {
    /// The state in which the monitor does what it does at `node`.
    fn state(&mut self, mut node: NodeId) -> State {
        // Ends: recursion is guarded, and a monitor has a loop only where its role does something in it.
        for _ in 0..=self.global.node_count() {
            match &self.synthesised.duties[node.index()] {
                Some(Duty::Same(other)) => node = *other,
                Some(Duty::End) | None => break,
                Some(Duty::Send(_) | Duty::Receive(_) | Duty::Learn(_)) => {
                    if let Some(&known) = self.states.get(&node) {
                        return known;
                    }
                    let state = self.builder.add_state();
                    self.states.insert(node, state);
                    self.pending.push((node, state));
                    return state;
                }
            }
        }
        match self.end {
            Some(end) => end,
            None => *self.end.insert(self.builder.add_state()),
        }
    }

    fn fill(&mut self, node: NodeId, state: State) {
        let Global::Exchange(exchange) = self.global.node(node) else { return };
        let synthesised = self.synthesised;
        match &synthesised.duties[node.index()] {
            Some(Duty::Send(informed)) => self.involved(node, exchange, state, Action::Send, informed),
            Some(Duty::Receive(informed)) => self.involved(node, exchange, state, Action::Receive, informed),
            Some(Duty::Learn(informers)) => {
                for branch in &exchange.branches {
                    let label = self.global.vocabulary().label(branch.message);
                    let told = self.dependencies.message(label);
                    let target = self.state(branch.next);
                    self.chain(state, Action::Receive, informers, told, target, branch.origin);
                }
            }
            Some(Duty::End | Duty::Same(_)) | None => {}
        }
    }

    fn involved(
        &mut self,
        node: NodeId,
        exchange: &Exchange,
        state: State,
        action: Action,
        informed: &[Role],
    ) {
        for (index, branch) in exchange.branches.iter().enumerate() {
            let sends = action == Action::Send;
            let peer = if sends { branch.receiver } else { exchange.sender };
            let message = self.global.message_as_checked((node, index), branch.message, sends);
            let label = self.global.vocabulary().label(branch.message);
            let after = self.state(branch.next);
            let target = if informed.is_empty() { after } else { self.builder.add_state() };
            let origin = branch.origin;
            self.builder.add_transition(state, Transition { action, peer, message, target, origin });
            let told = self.dependencies.message(label);
            if !informed.is_empty() {
                self.chain(target, Action::Send, informed, told, after, origin);
            }
        }
    }

    /// From `from` to `to` by one `message` to or from each of `peers` in turn.
    fn chain(
        &mut self,
        from: State,
        action: Action,
        peers: &[Role],
        message: Message,
        to: State,
        origin: Origin,
    ) {
        let mut at = from;
        for (index, &peer) in peers.iter().enumerate() {
            let target = if index + 1 == peers.len() { to } else { self.builder.add_state() };
            self.builder.add_transition(at, Transition { action, peer, message, target, origin });
            at = target;
        }
    }
}
