//! Does a component, given as a machine, do what its monitor allows, whatever the others do? (RV'23, Definition 13)
//!
//! The component is run beside its monitor, in every order, with every message the monitor lets through: that is
//! what satisfaction asks, for the monitor's inputs are those of the role's relative types. A component fails if
//! it can send or end when its monitor does not allow it, or waits although the protocol waits for it. Messages
//! that it has not read yet are kept up to a capacity per sender; where that was not enough the answer says so.
//! Values are not known here, so assertions are not looked at.
//!
//! A role of a system of machines has no relative types. Its monitor is its machine: one that allows what the machine does, in its order.

use std::collections::VecDeque;

use referee_check::Component;
use referee_theory::{Action, Machine, Message, Role, State, System, Transition, Vocabulary};
use rustc_hash::FxHashMap;

use super::engine::Dependencies;
use super::network::Network;

/// How far to look.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// What the component sees of dependencies.
    pub dependencies: Dependencies,
    /// How many unread messages of one sender are kept.
    pub capacity: usize,
    /// After how many situations to give up.
    pub situations: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { dependencies: Dependencies::Deliver, capacity: 4, situations: 1_000_000 }
    }
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conformance {
    /// Whether it conforms; `None`: there is no answer within the bounds.
    pub conforms: Option<bool>,
    /// What is wrong, or why there is no answer.
    pub explanation: Option<String>,
    /// Whether a monitor would blame the component for it; nobody is blamed for waiting.
    pub blamed: bool,
    /// What happens until then.
    pub steps: Vec<Step>,
    /// How many situations were looked at.
    pub situations: usize,
    /// Whether no message was kept back for want of capacity: then the answer holds without bounds.
    pub exact: bool,
}

/// One step of an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A message or a dependency comes from the monitor of this role.
    Arrives(Role, String),
    /// The component sends.
    Sends(Role, String),
    /// The component reads what has arrived from this role.
    Reads(Role, String),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Situation {
    component: State,
    monitor: State,
    /// What the component has not read, in the order in which it came.
    unread: Vec<(Role, Message)>,
}

/// Whether `component` conforms to `role` in `network`.
#[must_use]
pub fn conform(network: &Network, role: Role, component: &Component<'_>, bounds: &Bounds) -> Conformance {
    let (monitor, vocabulary) = (network.system().machine(role), network.vocabulary());
    search(Search::new(monitor, vocabulary, Some(network), component, bounds))
}

/// Whether `component` does what the machine of `role` in `system` does, in its order. There is no answer where a monitor could not
/// follow the machine itself: in states that both send and receive, where receptions race, and where the same message leads two ways.
#[must_use]
pub fn conform_to_machine(
    system: &System,
    role: Role,
    component: &Component<'_>,
    bounds: &Bounds,
) -> Conformance {
    let (monitor, vocabulary) = (system.machine(role), system.vocabulary());
    let roles: Vec<Option<Role>> = vocabulary.roles().map(Some).collect();
    let itself = Component { machine: monitor, vocabulary, roles: &roles };
    let beside = |component| search(Search::new(monitor, vocabulary, None, component, bounds));
    match beside(&itself) {
        Conformance { conforms: Some(true), .. } => beside(component),
        follows => {
            let name = vocabulary.role_name(role);
            let why = format!("a monitor could not follow the machine of `{name}` itself");
            Conformance { conforms: None, explanation: Some(why), blamed: false, ..follows }
        }
    }
}

fn search(mut search: Search<'_>) -> Conformance {
    let (component, monitor) = (search.component.machine.initial(), search.monitor.initial());
    search.reach(Situation { component, monitor, unread: Vec::new() }, None);
    while let Some(at) = search.pending.pop_front() {
        if let Some(wrong) = search.expand(at) {
            let blamed = matches!(wrong, Wrong::Deviates(_));
            let (Wrong::Deviates(why) | Wrong::Waits(why)) = wrong;
            return Conformance { blamed, ..search.answer(Some(false), why, at) };
        }
        if search.found.len() > search.bounds.situations {
            let why = format!("more than {} situations", search.bounds.situations);
            return search.answer(None, why, at);
        }
    }
    if let Some(blocked) = search.blocked_by_capacity() {
        let why = format!("more than {} messages of one sender would have to wait", search.bounds.capacity);
        return search.answer(None, why, blocked);
    }
    Conformance {
        conforms: Some(true),
        explanation: None,
        blamed: false,
        steps: Vec::new(),
        situations: search.found.len(),
        exact: search.exact,
    }
}

/// Why a component does not play a role.
enum Wrong {
    /// A monitor sees it, and blames the component.
    Deviates(String),
    /// It waits for ever.
    Waits(String),
}

struct Found {
    situation: Situation,
    from: Option<(usize, Step)>,
    /// Whether something waited for want of capacity, and nothing else could happen.
    blocked: bool,
}

struct Search<'a> {
    monitor: &'a Machine,
    vocabulary: &'a Vocabulary,
    /// Whose dependencies the monitor tells and is told, if it does.
    network: Option<&'a Network>,
    component: &'a Component<'a>,
    bounds: &'a Bounds,
    found: Vec<Found>,
    known: FxHashMap<Situation, usize>,
    pending: VecDeque<usize>,
    exact: bool,
}

impl<'a> Search<'a> {
    fn new(
        monitor: &'a Machine,
        vocabulary: &'a Vocabulary,
        network: Option<&'a Network>,
        component: &'a Component<'a>,
        bounds: &'a Bounds,
    ) -> Self {
        let (found, known, pending) = (Vec::new(), FxHashMap::default(), VecDeque::new());
        Self { monitor, vocabulary, network, component, bounds, found, known, pending, exact: true }
    }

    fn name(&self, role: Role) -> &str {
        self.vocabulary.role_name(role)
    }

    fn label(&self, message: Message) -> &str {
        self.vocabulary.label_of(message)
    }

    fn is_dependency(&self, message: Message) -> bool {
        self.network.is_some_and(|network| network.is_dependency(message))
    }

    /// Takes note of `situation`, the monitor having told whom it has to tell.
    fn reach(&mut self, mut situation: Situation, from: Option<(usize, Step)>) {
        while let [told] = self.monitor.transitions(situation.monitor)
            && told.action == Action::Send
            && self.is_dependency(told.message)
        {
            situation.monitor = told.target;
        }
        if self.known.contains_key(&situation) {
            return;
        }
        let index = self.found.len();
        self.known.insert(situation.clone(), index);
        self.found.push(Found { situation, from, blocked: false });
        self.pending.push_back(index);
    }

    /// Everything that can happen; or what is wrong.
    fn expand(&mut self, at: usize) -> Option<Wrong> {
        let situation = self.found[at].situation.clone();
        let monitor = self.monitor;
        let expected = monitor.transitions(situation.monitor);
        let receptions = || expected.iter().filter(|step| step.action == Action::Receive);
        let told = receptions().any(|t| self.is_dependency(t.message));
        // Who is not told cannot know that it has to wait: neither its messages nor its end are judged yet.
        let untold = told && self.bounds.dependencies == Dependencies::Hide;
        let mut possible = false;
        let mut kept_back = false;
        for transition in receptions() {
            match self.arrival(&situation, transition) {
                Some(next) => {
                    possible = true;
                    let step = Step::Arrives(transition.peer, self.label(transition.message).to_owned());
                    self.reach(next, Some((at, step)));
                }
                None => kept_back = true,
            }
        }
        let actions = self.component.machine.transitions(situation.component);
        for action in actions {
            let peer = self.component.roles.get(action.peer.index()).copied().flatten();
            let label = self.component.vocabulary.label_of(action.message).to_owned();
            let mut next = Situation { component: action.target, ..situation.clone() };
            match (action.action, peer) {
                (Action::Send, _) if untold => {}
                (Action::Send, peer) => {
                    let allowed = expected.iter().find(|t| {
                        t.action == Action::Send && Some(t.peer) == peer && self.same(t.message, action)
                    });
                    let Some(allowed) = allowed else {
                        return Some(Wrong::Deviates(self.wrong_send(peer, &label, expected)));
                    };
                    possible = true;
                    next.monitor = allowed.target;
                    self.reach(next, Some((at, Step::Sends(allowed.peer, label))));
                }
                (Action::Receive, Some(peer)) => {
                    let head = situation.unread.iter().position(|(from, _)| *from == peer);
                    if let Some(head) = head
                        && self.same(situation.unread[head].1, action)
                    {
                        possible = true;
                        next.unread.remove(head);
                        self.reach(next, Some((at, Step::Reads(peer, label))));
                    }
                }
                (Action::Receive, None) => {}
            }
        }
        if kept_back {
            self.exact = false;
            self.found[at].blocked = !possible;
            return None;
        }
        let is_final = actions.is_empty();
        let only_waits = actions.iter().all(|action| action.action == Action::Receive);
        match (is_final, expected.is_empty()) {
            (true, true) => None,
            (true, false) if untold => None,
            (true, false) => Some(Wrong::Deviates(format!("it ends, but {}", self.expectation(expected)))),
            (false, _) if possible => None,
            // Who is not told cannot know that nothing more comes.
            (false, true) if self.bounds.dependencies == Dependencies::Hide && only_waits => None,
            (false, true) => {
                Some(Wrong::Waits("the protocol is over for it, but it does not end".to_owned()))
            }
            (false, false) => {
                Some(Wrong::Waits(format!("it waits for ever, but {}", self.expectation(expected))))
            }
        }
    }

    /// What follows when `transition` of the monitor brings something; `None` for want of capacity.
    fn arrival(&self, situation: &Situation, transition: &Transition) -> Option<Situation> {
        let mut next = Situation { monitor: transition.target, ..situation.clone() };
        if self.is_dependency(transition.message) {
            // A choice of one branch is never told for the first time.
            let again = self.monitor.transitions(situation.monitor).len() == 1;
            match self.bounds.dependencies {
                Dependencies::Hide => return Some(next),
                Dependencies::DeliverOnce if again => return Some(next),
                Dependencies::Deliver | Dependencies::DeliverOnce => {}
            }
        }
        let waiting = situation.unread.iter().filter(|(from, _)| *from == transition.peer).count();
        if waiting >= self.bounds.capacity {
            return None;
        }
        next.unread.push((transition.peer, transition.message));
        Some(next)
    }

    /// Whether the component's action is about `message`: the same label, and the same payload types if it gives any.
    fn same(&self, message: Message, action: &Transition) -> bool {
        let (ours, theirs) = (self.vocabulary.spec(message), self.component.vocabulary.spec(action.message));
        // A dependency is read like a message of its label.
        let label = match self.network.and_then(|network| network.told(message)) {
            Some(label) => self.vocabulary.label_name(label),
            None => self.label(message),
        };
        let types = || ours.fields.iter().map(|f| &f.ty).eq(theirs.fields.iter().map(|f| &f.ty));
        label == self.component.vocabulary.label_of(action.message) && (theirs.fields.is_empty() || types())
    }

    fn wrong_send(&self, peer: Option<Role>, label: &str, expected: &[Transition]) -> String {
        let to = peer.map_or("somebody the protocol does not know".to_owned(), |peer| {
            format!("`{}`", self.name(peer))
        });
        if expected.is_empty() {
            return format!("it sends `{label}` to {to}, but the protocol is over for it");
        }
        format!("it sends `{label}` to {to}, but {}", self.expectation(expected))
    }

    fn expectation(&self, expected: &[Transition]) -> String {
        let mut parts: Vec<(Action, Role, Vec<String>)> = Vec::new();
        for step in expected {
            let label = format!("`{}`", self.label(step.message));
            match parts.iter_mut().find(|(action, peer, _)| (*action, *peer) == (step.action, step.peer)) {
                Some((.., labels)) => labels.push(label),
                None => parts.push((step.action, step.peer, vec![label])),
            }
        }
        let texts = parts.into_iter().map(|(action, peer, labels)| {
            let (labels, peer) = (labels.join(" or "), self.name(peer));
            match action {
                Action::Send => format!("it has to send {labels} to `{peer}`"),
                Action::Receive => format!("{labels} from `{peer}` comes first"),
            }
        });
        match texts.collect::<Vec<_>>().join(" or ") {
            text if text.is_empty() => "nothing is expected".to_owned(),
            text => text,
        }
    }

    /// A situation in which nothing could happen but for the capacity.
    fn blocked_by_capacity(&self) -> Option<usize> {
        self.found.iter().position(|found| found.blocked)
    }

    fn answer(&self, conforms: Option<bool>, explanation: String, at: usize) -> Conformance {
        let mut steps = Vec::new();
        let mut next = Some(at);
        while let Some(at) = next {
            next = self.found[at].from.as_ref().map(|(before, step)| {
                steps.push(step.clone());
                *before
            });
        }
        steps.reverse();
        // What is wrong is wrong whatever the capacity.
        let exact = conforms == Some(false) || (conforms.is_some() && self.exact);
        let (explanation, situations) = (Some(explanation), self.found.len());
        Conformance { conforms, explanation, blamed: false, steps, situations, exact }
    }
}
