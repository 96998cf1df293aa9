//! Networks of monitored blackboxes and their transitions (RV'23, Figures 2 and 3, Definition 3), rule by rule.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::rc::Rc;

use super::monitor::Monitor;
use crate::global::Branch;

/// What travels: `l<T>`, or the dependency `l` if there is no payload type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Message {
    /// l.
    pub label: String,
    /// T; `None` for a dependency.
    pub payload: Option<String>,
}

impl Message {
    /// `label<payload>`.
    #[must_use]
    pub fn data(label: &str, payload: &str) -> Self {
        Self { label: label.to_owned(), payload: Some(payload.to_owned()) }
    }

    /// The dependency `label`.
    #[must_use]
    pub fn dependency(label: &str) -> Self {
        Self { label: label.to_owned(), payload: None }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.payload {
            Some(payload) => write!(f, "{}<{payload}>", self.label),
            None => write!(f, "({})", self.label),
        }
    }
}

/// α, of one participant: the other one is named.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// τ.
    Tau,
    /// p!q(m).
    Output(String, Message),
    /// p?q(m).
    Input(String, Message),
    /// end.
    End,
}

/// P: a labelled transition system whose state 0 is where it starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Blackbox {
    /// What each state can do.
    pub transitions: Vec<Vec<(Action, usize)>>,
}

impl Blackbox {
    /// A component that does what `monitor` allows and nothing else: it offers every output, takes every input,
    /// and ends where it may. With `deaf`, it knows nothing of dependencies.
    #[must_use]
    pub fn following(monitor: &Monitor) -> Self {
        let mut made = Self::default();
        let mut known: BTreeMap<Monitor, usize> = BTreeMap::new();
        made.add(monitor, &mut known);
        made
    }

    fn add(&mut self, monitor: &Monitor, known: &mut BTreeMap<Monitor, usize>) -> usize {
        let mut monitor = monitor.unfold();
        while let Monitor::DependencyOutput(_, _, _, next) = monitor {
            monitor = next.unfold();
        }
        if let Some(&state) = known.get(&monitor) {
            return state;
        }
        let state = self.transitions.len();
        self.transitions.push(Vec::new());
        known.insert(monitor.clone(), state);
        let transitions = match &monitor {
            Monitor::Output(_, q, branches) => self.branches(branches, known, |branch| {
                Action::Output(q.clone(), Message::data(&branch.label, &branch.payload))
            }),
            Monitor::Input(_, q, branches) => self.branches(branches, known, |branch| {
                Action::Input(q.clone(), Message::data(&branch.label, &branch.payload))
            }),
            Monitor::DependencyInput(_, q, branches) => self.branches(branches, known, |branch| {
                Action::Input(q.clone(), Message::dependency(&branch.label))
            }),
            Monitor::End => {
                self.transitions.push(Vec::new());
                vec![(Action::End, self.transitions.len() - 1)]
            }
            _ => Vec::new(),
        };
        self.transitions[state] = transitions;
        state
    }

    fn branches(
        &mut self,
        branches: &[Branch<Monitor>],
        known: &mut BTreeMap<Monitor, usize>,
        action: impl Fn(&Branch<Monitor>) -> Action,
    ) -> Vec<(Action, usize)> {
        branches.iter().map(|branch| (action(branch), self.add(&branch.next, known))).collect()
    }
}

/// A buffer: the messages of each sender, the oldest first. Messages of different senders have no order.
pub type Buffer = BTreeMap<String, Vec<Message>>;

/// Adds `message` of `sender`.
pub fn push(buffer: &mut Buffer, sender: &str, message: Message) {
    buffer.entry(sender.to_owned()).or_default().push(message);
}

/// Takes the oldest message of `sender`.
pub fn pop(buffer: &mut Buffer, sender: &str) -> Option<Message> {
    let queue = buffer.get_mut(sender)?;
    let message = queue.remove(0);
    if queue.is_empty() {
        buffer.remove(sender);
    }
    Some(message)
}

fn head<'a>(buffer: &'a Buffer, sender: &str) -> Option<&'a Message> {
    buffer.get(sender)?.first()
}

/// `⟨p : P : m⃗⟩`, with P in some state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Buffered {
    /// p.
    pub role: String,
    /// P.
    pub blackbox: Rc<Blackbox>,
    /// The state of P.
    pub state: usize,
    /// m⃗.
    pub buffer: Buffer,
}

impl Buffered {
    /// The rules BUF-*.
    #[must_use]
    pub fn steps(&self) -> Vec<(Action, Self)> {
        let mut steps = Vec::new();
        for (action, state) in &self.blackbox.transitions[self.state] {
            let mut next = Self { state: *state, ..self.clone() };
            match action {
                // BUF-OUT, BUF-TAU, BUF-END.
                Action::Output(..) | Action::Tau | Action::End => steps.push((action.clone(), next)),
                // BUF-IN, BUF-IN-DEP.
                Action::Input(q, message) => {
                    if head(&self.buffer, q) == Some(message) {
                        pop(&mut next.buffer, q);
                        steps.push((Action::Tau, next));
                    }
                }
            }
        }
        steps
    }
}

/// `[⟨p : P : m⃗⟩ : M : n⃗]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Monitored {
    /// The component.
    pub component: Buffered,
    /// M, unfolded.
    pub monitor: Monitor,
    /// n⃗.
    pub buffer: Buffer,
}

/// What becomes of a monitored blackbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It goes on.
    On(Box<Monitored>),
    /// `error_{p}`.
    Error,
}

impl Monitored {
    /// The component at its start beside `monitor`, both buffers empty.
    #[must_use]
    pub fn new(role: &str, blackbox: Blackbox, monitor: &Monitor) -> Self {
        let blackbox = Rc::new(blackbox);
        let component = Buffered { role: role.to_owned(), blackbox, state: 0, buffer: Buffer::new() };
        Self { component, monitor: monitor.unfold(), buffer: Buffer::new() }
    }

    /// The rules MON-* and ERROR-*, each with its name. MON-REC is that monitors are kept unfolded.
    #[must_use]
    pub fn steps(&self) -> Vec<(&'static str, Action, Outcome)> {
        let mut steps = Vec::new();
        let mut on =
            |rule, action: Action, component: Option<Buffered>, monitor: &Monitor, buffer: Option<Buffer>| {
                let next = Self {
                    component: component.unwrap_or_else(|| self.component.clone()),
                    monitor: monitor.unfold(),
                    buffer: buffer.unwrap_or_else(|| self.buffer.clone()),
                };
                steps.push((rule, action, Outcome::On(Box::new(next))));
            };
        let telling = matches!(self.monitor, Monitor::DependencyOutput(..));
        let mut errors = Vec::new();
        for (action, component) in self.component.steps() {
            match (&action, &self.monitor) {
                (Action::Tau, monitor) => {
                    if *monitor != Monitor::Finished {
                        on("MON-TAU", Action::Tau, Some(component), monitor, None);
                    }
                }
                (Action::Output(q, message), monitor) => {
                    let allowed = match monitor {
                        Monitor::Output(_, r, branches) if q == r => find(branches, message, true),
                        _ => None,
                    };
                    match allowed {
                        Some(next) => on("MON-OUT", action.clone(), Some(component), next, None),
                        None if !telling => errors.push("ERROR-OUT"),
                        None => {}
                    }
                }
                (Action::End, monitor) => {
                    if *monitor == Monitor::End && self.buffer.is_empty() {
                        on("MON-END", Action::End, Some(component), &Monitor::Finished, None);
                    } else if !(self.buffer.is_empty() && (telling || *monitor == Monitor::End)) {
                        errors.push("ERROR-END");
                    }
                }
                (Action::Input(..), _) => {}
            }
        }
        match &self.monitor {
            Monitor::Input(_, q, branches) | Monitor::DependencyInput(_, q, branches) => {
                let data = matches!(self.monitor, Monitor::Input(..));
                if let Some(message) = head(&self.buffer, q) {
                    match find(branches, message, data) {
                        Some(next) => {
                            let (mut buffer, mut component) = (self.buffer.clone(), self.component.clone());
                            pop(&mut buffer, q);
                            push(&mut component.buffer, q, message.clone());
                            on("MON-IN", Action::Tau, Some(component), next, Some(buffer));
                        }
                        None => errors.push("ERROR-IN"),
                    }
                }
            }
            Monitor::DependencyOutput(p, informed, label, next) => {
                for q in informed {
                    let rest: BTreeSet<String> =
                        informed.iter().filter(|other| *other != q).cloned().collect();
                    let rest = Monitor::DependencyOutput(p.clone(), rest, label.clone(), next.clone());
                    on(
                        "MON-OUT-DEP",
                        Action::Output(q.clone(), Message::dependency(label)),
                        None,
                        &rest,
                        None,
                    );
                }
                if informed.is_empty() {
                    on("MON-OUT-DEP-EMPTY", Action::Tau, None, next, None);
                }
            }
            Monitor::Error => errors.push("ERROR-MON"),
            _ => {}
        }
        steps.extend(errors.into_iter().map(|rule| (rule, Action::Tau, Outcome::Error)));
        steps
    }
}

/// The continuation of the branch that `message` is, among branches with payloads or without.
fn find<'a>(branches: &'a [Branch<Monitor>], message: &Message, data: bool) -> Option<&'a Monitor> {
    let is = |branch: &&Branch<Monitor>| {
        branch.label == message.label
            && match &message.payload {
                Some(payload) => data && branch.payload == *payload,
                None => !data,
            }
    };
    branches.iter().find(is).map(|branch| &branch.next)
}

/// 𝒫: monitored blackboxes side by side, and error signals.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Network {
    /// By role.
    pub parts: BTreeMap<String, Monitored>,
    /// The participants of all error signals, if there is one.
    pub error: Option<BTreeSet<String>>,
}

impl Network {
    /// The network of `parts`.
    #[must_use]
    pub fn new(parts: impl IntoIterator<Item = Monitored>) -> Self {
        let parts = parts.into_iter().map(|part| (part.component.role.clone(), part)).collect();
        Self { parts, error: None }
    }

    /// The transitions of a closed network: who acts, by which rule, and what becomes of it. An output to a
    /// participant that is an error signal by now has no transition (PAR).
    #[must_use]
    pub fn steps(&self) -> Vec<(String, &'static str, Self)> {
        let mut steps = Vec::new();
        for (p, part) in &self.parts {
            for (rule, action, outcome) in part.steps() {
                let mut next = self.clone();
                match outcome {
                    Outcome::On(part) => {
                        next.parts.insert(p.clone(), *part);
                    }
                    Outcome::Error => {
                        next.parts.remove(p);
                        next.error.get_or_insert_default().insert(p.clone());
                    }
                }
                // OUT-MON-BUF.
                if let Action::Output(q, message) = action {
                    match next.parts.get_mut(&q) {
                        Some(receiver) => push(&mut receiver.buffer, p, message),
                        None => continue,
                    }
                }
                steps.push((p.clone(), rule, next));
            }
            // PAR-ERROR.
            if self.error.is_some() {
                let mut next = self.clone();
                next.parts.remove(p);
                next.error.get_or_insert_default().insert(p.clone());
                steps.push((p.clone(), "PAR-ERROR", next));
            }
        }
        steps
    }

    /// Whether every monitor has finished.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.error.is_none() && self.parts.values().all(|part| part.monitor == Monitor::Finished)
    }

    /// The longest queue of one sender in one buffer.
    #[must_use]
    pub fn longest_queue(&self) -> usize {
        let buffers = self.parts.values().flat_map(|part| [&part.buffer, &part.component.buffer]);
        buffers.flat_map(BTreeMap::values).map(Vec::len).max().unwrap_or(0)
    }
}
