//! Witnesses: an execution from the initial configuration, and what everything looks like at its end.

use referee_theory::{Action, Message, Origin, Role, State};

use crate::faults::Fault;
use crate::graph::Graph;
use crate::model::{Model, Move};
use crate::properties::Property;
use crate::verdict::Ground;

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
    /// Where the role is before.
    pub source: State,
    /// Where it is afterwards.
    pub target: State,
    /// Where the protocol's text says so.
    pub origin: Origin,
    /// What goes wrong, if something does.
    pub fault: Option<Fault>,
}

/// Where one role stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The role.
    pub role: Role,
    /// Its local state.
    pub state: State,
    /// What it could do there: what it waits for, or what it wants to send. Empty: it has ended, or crashed.
    pub offers: Vec<Step>,
    /// Whether it has crashed.
    pub crashed: bool,
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
    /// This role can receive, and another sender's message, which it could receive instead, is sent without waiting
    /// for that.
    Race {
        /// The reception that is possible.
        first: Step,
        /// The reception of the other message.
        second: Step,
        /// Whether both are possible at the end of the witness. Otherwise no explored configuration has both.
        together: bool,
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
            Self::Race { first, second, .. } => vec![first, second],
            Self::Unreceived { .. } | Self::Stuck { .. } | Self::Unstable => Vec::new(),
        }
    }
}

/// What kind of mistake a violation of safety is, the likeliest causes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Violation {
    /// A role waits for messages of a peer, and the next one from there is another.
    UnexpectedMessage,
    /// Roles wait for each other in a cycle.
    WaitCycle,
    /// A role waits for messages that nobody can ever send any more.
    NeverSent,
    /// A message stays in its channel: its receiver has ended or does something else for good.
    OrphanMessage,
    /// The others go round a loop for ever in which it is never received; the witness ends with that loop.
    Starved,
    /// A role is about to send into a channel or mailbox that is full for good within the bound.
    BlockedSend,
}

impl Violation {
    /// The name scripts see.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::UnexpectedMessage => "unexpected-message",
            Self::WaitCycle => "wait-cycle",
            Self::NeverSent => "never-sent",
            Self::OrphanMessage => "orphan-message",
            Self::Starved => "starved",
            Self::BlockedSend => "blocked-send",
        }
    }

    /// Whether a configuration of which `facts` are true shows it. What somebody who goes on never does only a loop can show.
    pub(crate) fn is_plain(self, facts: &[Fact]) -> bool {
        let mut facts = facts.iter();
        match self {
            Self::UnexpectedMessage | Self::WaitCycle => true,
            Self::NeverSent => {
                !facts.any(|fact| matches!(fact, Fact::NeverSends { .. } | Fact::AboutToSend { .. }))
            }
            Self::OrphanMessage => facts.any(|fact| matches!(fact, Fact::Ended { .. } | Fact::Waits { .. })),
            Self::Starved | Self::BlockedSend => false,
        }
    }
}

/// Something that is so in the last configuration of a witness, or in everything that can follow it: explanations are
/// made of these, and the reference checks each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// The role is in a state in which it can do nothing but receive one of these.
    Waits {
        /// The role.
        role: Role,
        /// What it waits for.
        offers: Vec<Step>,
    },
    /// This is the next message that `to` would take: from its mailbox, or from its channel from `from`.
    Next {
        /// Who sent it.
        from: Role,
        /// Whom it is for.
        to: Role,
        /// The message.
        message: Message,
        /// Whether it is the next of all.
        mailbox: bool,
    },
    /// The role has ended.
    Ended {
        /// The role.
        role: Role,
    },
    /// The role has crashed.
    Crashed {
        /// The role.
        role: Role,
    },
    /// The role is in a state in which it can make this send.
    AboutToSend {
        /// The send.
        send: Step,
    },
    /// Whatever follows, the role does nothing.
    NeverMoves {
        /// The role.
        role: Role,
    },
    /// Whatever follows, this is not sent.
    NeverSends {
        /// The sender.
        from: Role,
        /// The receiver.
        to: Role,
        /// The message.
        message: Message,
    },
    /// Whatever follows, nothing is taken from this channel, or mailbox.
    NeverReceives {
        /// The sender; `None` for a mailbox.
        from: Option<Role>,
        /// The receiver.
        to: Role,
    },
    /// The steps from this number on can be repeated for ever: they lead back to the configuration before them, but for
    /// more in channels from which none of them takes.
    Loop {
        /// The number of the first of them.
        first: usize,
    },
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
    /// After how many of the steps the property is violated: for k-safety, from there on this very mistake can no longer be
    /// avoided, and what follows shows it.
    pub point_of_no_return: usize,
    /// Whether no shorter execution than up to that point violates the property under this bound.
    pub shortest: bool,
    /// What kind of mistake it is, where safety is violated.
    pub violation: Option<Violation>,
    /// Why what follows the end cannot help whatever the bound, where safety is violated and that is so.
    pub ground: Option<Ground>,
    /// What the explanation is made of, where safety is violated.
    pub facts: Vec<Fact>,
    /// What exactly fails at the end.
    pub failure: Failure,
    /// Everything at the end.
    pub end: Situation,
    /// The above in words.
    pub explanation: String,
}

impl Witness {
    /// Puts `steps` before the witness, which began where they end.
    pub(crate) fn precede(&mut self, steps: Vec<Step>) {
        let count = steps.len();
        self.steps.splice(0..0, steps);
        self.point_of_no_return += count;
        for fact in &mut self.facts {
            if let Fact::Loop { first } = fact {
                *first += count;
            }
        }
    }

    /// Whether the end shows a violation of safety: the wrong message is next; all that could help have ended, or wait for ever; or
    /// those that could go round the loop at the end. Otherwise it is known, on its [`ground`](Self::ground), from the point of no return on,
    /// which is the end.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        let loops = self.facts.iter().any(|fact| matches!(fact, Fact::Loop { .. }));
        loops || self.violation.is_some_and(|violation| violation.is_plain(&self.facts))
    }

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

    /// Whether it tells of the same violation: of the same kind and role. A cycle of roles that wait for each other is one
    /// violation, whichever of them it is told of.
    pub(crate) fn tells_of_same(&self, other: &Self) -> bool {
        let cycles = self.violation == Some(Violation::WaitCycle);
        let same_role = self.role() == other.role() || cycles && self.waiting() == other.waiting();
        // A message that nobody ever takes is one problem, whether the others go round a loop meanwhile or not.
        let left = matches!(self.failure, Failure::Unreceived { .. }) && self.failure == other.failure;
        let stays =
            |witness: &Self| matches!(witness.violation, Some(Violation::OrphanMessage | Violation::Starved));
        self.violation == other.violation && same_role || left && stays(self) && stays(other)
    }

    /// The roles of which it is said that they wait, in the order of their numbers.
    fn waiting(&self) -> Vec<Role> {
        let waits = |fact: &Fact| match fact {
            Fact::Waits { role, .. } => Some(*role),
            _ => None,
        };
        let mut roles: Vec<Role> = self.facts.iter().filter_map(waits).collect();
        roles.sort_unstable();
        roles
    }
}

pub(crate) fn step_of(step: &Move) -> Step {
    Step {
        role: Role(step.role as u16),
        action: if step.sends { Action::Send } else { Action::Receive },
        peer: step.peer,
        message: step.message,
        source: State(step.source),
        target: State(step.target),
        origin: step.origin,
        fault: step.fault,
    }
}

/// The steps of a path of labels.
pub(crate) fn steps_of(model: &Model, labels: &[u32]) -> Vec<Step> {
    labels.iter().map(|&label| step_of(&model.moves[label as usize])).collect()
}

/// `state` as people read it.
pub(crate) fn situation(graph: &Graph<'_>, state: u32) -> Situation {
    let (model, words) = (graph.model, &graph.words(state));
    let standings = (0..model.role_count())
        .map(|role| {
            let local = graph.layout.local(words, role);
            let offers = model.moves_of(role, local).iter().map(step_of).collect();
            let crashed = model.is_crashed(role, local);
            Standing { role: Role(role as u16), state: State(local), offers, crashed }
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
