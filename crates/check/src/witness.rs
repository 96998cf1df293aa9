//! Witnesses: an execution from the initial configuration, and what everything looks like at its end.

use referee_theory::{Action, Message, Role, State};

use crate::graph::Graph;
use crate::model::{Model, Move};
use crate::properties::Property;

/// One step of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Who acts.
    pub role: Role,
    /// Whether it sends or receives.
    pub action: Action,
    /// The other end of the channel.
    pub peer: Role,
    /// What travels.
    pub message: Message,
}

/// Where one role stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The role.
    pub role: Role,
    /// Its local state.
    pub state: State,
    /// What it could do there: what it waits for, or what it wants to send. Empty: it has ended.
    pub offers: Vec<Step>,
}

/// What is left in one channel that is not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// The sender; `None` for a mailbox shared by several.
    pub from: Option<Role>,
    /// The receiver.
    pub to: Role,
    /// Sender and message of each entry, head first.
    pub messages: Vec<(Role, Message)>,
}

/// A configuration as people read it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Situation {
    /// Where each role stands, in the order of roles.
    pub standings: Vec<Standing>,
    /// The channels that are not empty.
    pub queues: Vec<Queue>,
}

/// What exactly fails at the end of a witness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The head of this channel is never received.
    Unreceived {
        /// Who sent it.
        from: Role,
        /// Who should receive it.
        to: Role,
        /// The message.
        message: Message,
    },
    /// This role waits for ever.
    Stuck {
        /// The role.
        role: Role,
    },
    /// This role can make some of its sends but not this one.
    Blocked {
        /// The step whose channel is full.
        send: Step,
    },
    /// This role can receive, and another sender's message can come in between.
    Race {
        /// The reception that is possible.
        first: Step,
        /// The reception that is or becomes possible too.
        second: Step,
    },
    /// This send can never be made within the bound before its role moves.
    Unsendable {
        /// The send.
        send: Step,
    },
    /// The channels can never all be emptied.
    Unstable,
}

impl Failure {
    /// The actions it is about, where it is about actions.
    #[must_use]
    pub fn actions(&self) -> Vec<Step> {
        match *self {
            Self::Blocked { send } | Self::Unsendable { send } => vec![send],
            Self::Race { first, second } => vec![first, second],
            Self::Unreceived { .. } | Self::Stuck { .. } | Self::Unstable => Vec::new(),
        }
    }
}

/// A real execution of the unreduced system that ends where a property fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// What fails.
    pub property: Property,
    /// The bound within which the execution stays.
    pub bound: u32,
    /// The steps, from the initial configuration.
    pub steps: Vec<Step>,
    /// Whether no shorter execution violates the property under this bound.
    pub shortest: bool,
    /// What exactly fails at the end.
    pub failure: Failure,
    /// Everything at the end.
    pub end: Situation,
    /// The above in words.
    pub explanation: String,
}

impl Witness {
    /// The role the failure is about, if it is about one.
    #[must_use]
    pub fn role(&self) -> Option<Role> {
        match self.failure {
            Failure::Unreceived { to, .. } => Some(to),
            Failure::Stuck { role } => Some(role),
            Failure::Blocked { send } | Failure::Unsendable { send } => Some(send.role),
            Failure::Race { first, .. } => Some(first.role),
            Failure::Unstable => None,
        }
    }
}

pub(crate) fn step_of(step: &Move) -> Step {
    Step {
        role: Role(step.role as u16),
        action: if step.sends { Action::Send } else { Action::Receive },
        peer: step.peer,
        message: step.message,
    }
}

/// The steps of a path of labels.
pub(crate) fn steps_of(model: &Model, labels: &[u32]) -> Vec<Step> {
    labels.iter().map(|&label| step_of(&model.moves[label as usize])).collect()
}

/// `state` as people read it.
pub(crate) fn situation(graph: &Graph<'_>, state: u32) -> Situation {
    let (model, words) = (graph.model, graph.words(state));
    let standings = (0..model.role_count())
        .map(|role| {
            let local = graph.layout.local(words, role);
            let offers = model.moves_of(role, local).iter().map(step_of).collect();
            Standing { role: Role(role as u16), state: State(local), offers }
        })
        .collect();
    let queues = model
        .channels
        .iter()
        .enumerate()
        .filter(|(channel, _)| graph.layout.length(words, *channel) > 0)
        .map(|(channel, queue)| Queue {
            from: queue.from,
            to: queue.to,
            messages: (0..graph.layout.length(words, channel))
                .map(|at| queue.symbols[graph.layout.symbol(words, channel, at) as usize])
                .collect(),
        })
        .collect();
    Situation { standings, queues }
}
