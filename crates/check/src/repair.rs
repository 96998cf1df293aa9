//! Single edits of one machine that make an unsafe system safe, tried by the checker itself: a label renamed, a message dropped, a
//! message added. Where the witnesses point; what is meant is for people to say.

use std::sync::atomic::AtomicBool;

use referee_theory::{Action, Machine, MachineBuilder, Message, Origin, Role, State, System, Transition};

use crate::check::{Options, check};
use crate::verdict::Verdict;
use crate::witness::{Fact, Step, Violation, Witness};

/// A single edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    /// This step has another message.
    Rename {
        /// The step.
        step: Step,
        /// Its new message.
        to: Message,
    },
    /// This step is left out.
    Drop {
        /// The step.
        step: Step,
    },
    /// Before the role gets to a state, it does this.
    Add {
        /// The role.
        role: Role,
        /// The state.
        before: State,
        /// Only where this step leads there, not where others do.
        after: Option<Step>,
        /// Whether it sends or receives.
        action: Action,
        /// The other end.
        peer: Role,
        /// The message.
        message: Message,
    },
}

/// An edit, and the system that it makes safe.
#[derive(Clone, Debug)]
pub struct Fix {
    /// The edit.
    pub edit: Edit,
    /// The system with it.
    pub system: System,
}

/// The most edits that are tried, and that are told of.
const TRIED: usize = 200;
const TOLD: usize = 5;
/// The most configurations of one try.
const STATES: usize = 20_000;

/// Single edits that make `system` safe, found where `witnesses` of it point. Those that were found when `cancel` is set.
#[must_use]
pub fn fixes(system: &System, witnesses: &[&Witness], options: &Options, cancel: &AtomicBool) -> Vec<Fix> {
    let mut edits: Vec<Edit> = Vec::new();
    for edit in witnesses.iter().flat_map(|witness| candidates(witness)) {
        if !edits.contains(&edit) {
            edits.push(edit);
        }
    }
    let limits = Options { max_states: options.max_states.min(STATES), max_witnesses: 1, ..*options };
    let mut found = Vec::new();
    for edit in edits.into_iter().take(TRIED) {
        if found.len() == TOLD || cancel.load(std::sync::atomic::Ordering::Relaxed) {
            break;
        }
        let Some(edited) = edit.applied(system) else { continue };
        if let Verdict::Safe { .. } = check(&edited, &limits, Some(cancel), &mut ()).verdict {
            found.push(Fix { edit, system: edited });
        }
    }
    found
}

/// Edits that might help, the likeliest first.
fn candidates(witness: &Witness) -> Vec<Edit> {
    let mut edits = Vec::new();
    let next = witness.facts.iter().find_map(|fact| match fact {
        Fact::Next { from, to, message, .. } => Some((*from, *to, *message)),
        _ => None,
    });
    // The step by which the message came into its channel: the last of its kind, which is where it went wrong.
    let sent = next.and_then(|(from, to, message)| {
        let is_it = |step: &&Step| {
            (step.role, step.peer, step.message) == (from, to, message) && step.action == Action::Send
        };
        witness.steps.iter().rev().find(is_it).copied()
    });
    for fact in &witness.facts {
        let Fact::Waits { offers, .. } = fact else { continue };
        for offer in offers {
            if let (Some((from, to, message)), Some(Violation::UnexpectedMessage)) = (next, witness.violation)
                && (offer.peer, offer.role) == (from, to)
            {
                edits.push(Edit::Rename { step: *offer, to: message });
                edits.extend(sent.map(|step| Edit::Rename { step, to: offer.message }));
            }
            edits.push(Edit::Drop { step: *offer });
            edits.extend(additions(witness, offer.peer, Action::Send, offer.role, offer.message));
        }
    }
    edits.extend(sent.map(|step| Edit::Drop { step }));
    if let Some((from, to, message)) = next {
        edits.extend(additions(witness, to, Action::Receive, from, message));
    }
    edits
}

/// One more action of `role` before the state in which `witness` leaves it: wherever it comes from, or only after its last step.
fn additions(witness: &Witness, role: Role, action: Action, peer: Role, message: Message) -> Vec<Edit> {
    let standing = witness.end.standings.iter().find(|standing| standing.role == role);
    let Some(before) = standing.map(|standing| standing.state) else { return Vec::new() };
    let last = witness.steps.iter().rev().find(|step| step.role == role && step.target == before);
    let add = |after: Option<Step>| Edit::Add { role, before, after, action, peer, message };
    std::iter::once(add(None)).chain(last.map(|&step| add(Some(step)))).collect()
}

impl Edit {
    /// Whose machine it is about.
    #[must_use]
    pub fn role(&self) -> Role {
        match self {
            Self::Rename { step, .. } | Self::Drop { step } => step.role,
            Self::Add { role, .. } => *role,
        }
    }

    /// The name scripts see.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Rename { .. } => "rename",
            Self::Drop { .. } => "drop",
            Self::Add { .. } => "add",
        }
    }

    /// Where the text has the step that is changed, or beside which one is added.
    #[must_use]
    pub fn origin(&self, system: &System) -> Origin {
        match self {
            Self::Rename { step, .. } | Self::Drop { step } | Self::Add { after: Some(step), .. } => {
                step.origin
            }
            Self::Add { role, before, .. } => match neighbour(system.machine(*role), *before) {
                Some((_, step)) => step.origin,
                None => Origin::NONE,
            },
        }
    }

    /// The edit in words.
    #[must_use]
    pub fn text(&self, system: &System) -> String {
        let vocabulary = system.vocabulary();
        let name = |role: Role| vocabulary.role_name(role);
        let label = |message: Message| vocabulary.shown_label(message);
        let does = |role: Role, action: Action, peer: Role| match action {
            Action::Send => format!("`{}` sends to `{}`", name(role), name(peer)),
            Action::Receive => format!("`{}` receives from `{}`", name(role), name(peer)),
        };
        match self {
            Self::Rename { step, to } if label(step.message) == label(*to) => format!(
                "change the payload of `{}`, which {}, to that of `{}`",
                vocabulary.display(step.message),
                does(step.role, step.action, step.peer),
                vocabulary.display(*to)
            ),
            Self::Rename { step, to } => format!(
                "rename `{}`, which {}, to `{}`",
                label(step.message),
                does(step.role, step.action, step.peer),
                label(*to)
            ),
            Self::Drop { step } => {
                let is_choice = system.machine(step.role).transitions(step.source).len() > 1;
                let what = if is_choice { "the branch that begins with " } else { "" };
                let did = does(step.role, step.action, step.peer);
                format!("drop {what}`{}`, which {did}", label(step.message))
            }
            Self::Add { role, before, after, action, peer, message } => {
                let beside = |side: &str, action: Action, message: Message, peer: Role| {
                    let (verb, to) = match action {
                        Action::Send => ("sends", "to"),
                        Action::Receive => ("receives", "from"),
                    };
                    format!("{side} it {verb} `{}` {to} `{}`", label(message), name(peer))
                };
                let place = match (after, neighbour(system.machine(*role), *before)) {
                    (Some(step), _) => beside("after", step.action, step.message, step.peer),
                    (None, Some((side, step))) => beside(side, step.action, step.message, step.peer),
                    (None, None) => "as all it does".to_owned(),
                };
                format!("add `{}`, which {}, {place}", label(*message), does(*role, *action, *peer))
            }
        }
    }

    /// `system` with this edit; `None` if it changes nothing.
    fn applied(&self, system: &System) -> Option<System> {
        let machine = system.machine(self.role());
        let mut draft = Draft::of(machine);
        match self {
            Self::Rename { step, to } => draft.find(step)?.message = *to,
            Self::Drop { step } => draft.drop(step)?,
            Self::Add { before, after, action, peer, message, .. } => {
                let added = draft.states;
                draft.states += 1;
                match after {
                    None => draft.redirect(*before, State(added)),
                    // The only way there is the whole way there.
                    Some(_) if draft.is_only_way(*before) => return None,
                    Some(step) => draft.find(step)?.target = State(added),
                }
                let (action, peer, message) = (*action, *peer, *message);
                let transition = Transition { action, peer, message, target: *before, origin: Origin::NONE };
                draft.transitions.push((State(added), transition));
            }
        }
        let machines = system.machines().iter().filter(|other| other.role() != self.role()).cloned();
        let vocabulary = std::sync::Arc::clone(system.vocabulary());
        Some(System::new(vocabulary, machines.chain([draft.finish(machine)]).collect::<Vec<_>>()))
    }
}

/// A step of `machine` beside `state`, and where it is that something happens before `state`: behind the one step that leads
/// there, else before the step that comes next, or behind each that leads there.
fn neighbour(machine: &Machine, state: State) -> Option<(&'static str, Transition)> {
    let mut before = machine.all_transitions().iter().filter(|step| step.target == state);
    let first = before.next();
    let is_only = before.next().is_none() && machine.initial() != state;
    match (first, machine.transitions(state)) {
        (Some(step), _) if is_only => Some(("after", *step)),
        (_, [next]) => Some(("before", *next)),
        (_, [next, ..]) => Some(("before the choice in which", *next)),
        (Some(step), []) => Some(("wherever it ends, as after", *step)),
        (None, []) => None,
    }
}

/// A machine that is being edited.
struct Draft {
    states: u32,
    initial: State,
    transitions: Vec<(State, Transition)>,
}

impl Draft {
    fn of(machine: &Machine) -> Self {
        let all =
            machine.states().flat_map(|state| machine.transitions(state).iter().map(move |t| (state, *t)));
        let states = crate::model::narrow(machine.state_count());
        Self { states, initial: machine.initial(), transitions: all.collect() }
    }

    fn position(&self, step: &Step) -> Option<usize> {
        self.transitions.iter().position(|(source, transition)| {
            *source == step.source
                && transition.target == step.target
                && transition.action == step.action
                && transition.peer == step.peer
                && transition.message == step.message
        })
    }

    fn find(&mut self, step: &Step) -> Option<&mut Transition> {
        let at = self.position(step)?;
        Some(&mut self.transitions[at].1)
    }

    /// Without `step`: a choice has one branch less; what is no choice goes on behind it.
    fn drop(&mut self, step: &Step) -> Option<()> {
        let at = self.position(step)?;
        let (source, transition) = self.transitions.remove(at);
        if !self.transitions.iter().any(|(other, _)| *other == source) {
            if transition.target == source {
                return None;
            }
            self.redirect(source, transition.target);
        }
        Some(())
    }

    /// Whether no more than one transition, or the beginning, leads to `state`.
    fn is_only_way(&self, state: State) -> bool {
        let ways = self.transitions.iter().filter(|(_, transition)| transition.target == state).count();
        ways + usize::from(self.initial == state) < 2
    }

    /// Lets everything that leads to `from` lead to `to`.
    fn redirect(&mut self, from: State, to: State) {
        for (_, transition) in &mut self.transitions {
            if transition.target == from {
                transition.target = to;
            }
        }
        if self.initial == from {
            self.initial = to;
        }
    }

    fn finish(self, original: &Machine) -> Machine {
        let mut builder = MachineBuilder::with_states_of(original.role(), original);
        for _ in original.state_count()..self.states as usize {
            builder.add_state();
        }
        for (source, transition) in self.transitions {
            builder.add_transition(source, transition);
        }
        builder.finish_from(self.initial)
    }
}
