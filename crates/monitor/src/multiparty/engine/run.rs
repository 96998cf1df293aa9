//! One session of one role, and what its owner is asked to do.

use std::collections::VecDeque;

use referee_theory::{Label, Role, State};
use smallvec::SmallVec;

use super::notice::Notice;
use super::times::{ArrivalTimes, RunTimes};
use crate::event::Party;
use crate::session::Session;

/// One session of one role: where its monitor stands, and what waits for its turn. A session in which nothing
/// waits has allocated nothing but what its assertions keep.
#[derive(Clone, Debug)]
pub struct Run<T> {
    pub(super) session: Session,
    /// What waits, in the order in which it came; of one sender it is taken in this order.
    pub(super) waiting: VecDeque<Waiting<T>>,
    /// How many messages the component's side can still take.
    pub(super) room: u32,
    pub(super) status: Status,
    /// Whether the component has ended while its monitor was still to be told something.
    pub(super) gone: bool,
    /// Whether a value that later assertions read was not of its type.
    pub(super) unsure: bool,
    /// Whether something that is no step was let through, here or elsewhere: nobody knows where the components are, and
    /// what they wait for.
    pub(super) adrift: bool,
    /// Where times are judged.
    pub(super) times: Option<Box<RunTimes>>,
}

#[derive(Clone, Debug)]
pub(super) enum Waiting<T> {
    /// From the monitor of another role.
    Message(Role, T, Known),
    /// The same, but wrong as its sender's monitor knows: it is not judged, and goes on as soon as there is room.
    Wrong(Role, T),
    /// A dependency from the monitor of another role: which of the engine's labels, or none of them.
    Dependency(Role, u32),
    /// From the component, before its monitor was told what it needs to judge it; and when, where times are judged.
    Held(Party, T, Option<ArrivalTimes>),
}

/// What is known of a message that waits to be judged.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    /// Its sender's monitor has found it wrong, and counted it as the step that it should have been.
    pub(super) misstep: bool,
    /// The component has it already.
    pub(super) given: bool,
}

impl<T> Waiting<T> {
    /// Whose it is; `None` for the component's own.
    pub(super) fn sender(&self) -> Option<Role> {
        match self {
            Self::Message(from, ..) | Self::Wrong(from, _) | Self::Dependency(from, _) => Some(*from),
            Self::Held(..) => None,
        }
    }

    pub(super) fn is_wrong(&self) -> bool {
        matches!(self, Self::Wrong(..))
    }
}

/// How a session stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Status {
    /// It goes on.
    #[default]
    Running,
    /// The component ended when it should: ✓.
    Finished,
    /// A violation ended it, here or elsewhere.
    Halted,
    /// A fault of the configuration was let through: everything is forwarded, and nothing judged any more.
    Lost,
}

impl<T> Run<T> {
    /// `session` at its start; the component's side can take `room` messages before it says more.
    pub(super) fn new(session: Session, room: u32) -> Self {
        Self {
            session,
            waiting: VecDeque::new(),
            room,
            status: Status::Running,
            gone: false,
            unsure: false,
            adrift: false,
            times: None,
        }
    }

    /// How it stands.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status
    }

    /// The state of its monitor's machine.
    #[must_use]
    pub fn state(&self) -> State {
        self.session.state()
    }

    /// How many messages the component's side can still take.
    #[must_use]
    pub fn room(&self) -> u32 {
        self.room
    }

    /// How many messages wait: of others for their turn, and of the component for its monitor to be told.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// How many of them came from the monitor of `sender`.
    #[must_use]
    pub fn waiting_from(&self, sender: Role) -> usize {
        self.waiting_of(Some(sender))
    }

    /// How many events its monitor has stepped over: messages and dependencies, wrong ones included.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.session.events()
    }

    /// How many violations were found in it.
    #[must_use]
    pub fn violations(&self) -> u16 {
        self.session.violations()
    }

    pub(super) fn waiting_of(&self, sender: Option<Role>) -> usize {
        if self.waiting.is_empty() {
            return 0;
        }
        self.waiting.iter().filter(|waiting| waiting.sender() == sender).count()
    }

    /// Takes out the first message of `sender` that is to be judged.
    pub(super) fn take(&mut self, sender: Option<Role>) -> Option<Waiting<T>> {
        let is_it = |waiting: &Waiting<T>| waiting.sender() == sender && !waiting.is_wrong();
        self.remove(self.waiting.iter().position(is_it)?)
    }

    /// Whether the component has the first message of `sender` that is to be judged already.
    pub(super) fn has_given(&self, sender: Role) -> bool {
        let first = self.waiting.iter().find(|other| other.sender() == Some(sender) && !other.is_wrong());
        matches!(first, Some(Waiting::Message(.., known)) if known.given)
    }

    /// Takes out the first of all that are to be judged.
    pub(super) fn take_first(&mut self) -> Option<Waiting<T>> {
        self.remove(self.waiting.iter().position(|waiting| !waiting.is_wrong())?)
    }

    /// A message that the component can take although its turn has not come, and of whose sender it has everything
    /// before: a wrong one, which never has a turn; and where nobody knows what the component waits for, any. This one
    /// stays, to be judged in its turn.
    pub(super) fn take_ahead(&mut self, sees_dependencies: bool) -> Option<(Role, T)>
    where
        T: Clone,
    {
        if self.room == 0 || self.waiting.is_empty() {
            return None;
        }
        let mut behind: SmallVec<[Role; 8]> = SmallVec::new();
        let adrift = self.adrift;
        let at = self.waiting.iter().position(|waiting| {
            let Some(from) = waiting.sender() else { return false };
            match waiting {
                Waiting::Message(.., known) if known.given => false,
                Waiting::Dependency(..) if !sees_dependencies => false,
                _ if behind.contains(&from) => false,
                Waiting::Wrong(..) => true,
                Waiting::Message(..) if adrift => true,
                _ => {
                    behind.push(from);
                    false
                }
            }
        })?;
        if let Some(Waiting::Message(from, message, known)) = self.waiting.get_mut(at) {
            known.given = true;
            return Some((*from, message.clone()));
        }
        match self.remove(at)? {
            Waiting::Wrong(from, message) => Some((from, message)),
            _ => None,
        }
    }

    /// Takes out the first of all for which there is room.
    pub(super) fn take_any(&mut self) -> Option<Waiting<T>> {
        let fits = |waiting: &Waiting<T>| self.room > 0 || matches!(waiting, Waiting::Held(..));
        self.remove(self.waiting.iter().position(fits)?)
    }

    fn remove(&mut self, at: usize) -> Option<Waiting<T>> {
        let taken = self.waiting.remove(at);
        // A session in which nothing waits holds no memory for it.
        if self.waiting.is_empty() && self.waiting.capacity() > 4 {
            self.waiting = VecDeque::new();
        }
        taken
    }
}

/// Whom a session waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Nobody: the component may end.
    End,
    /// The component, which is to send.
    Component,
    /// A message for the component from this role.
    Message(Role),
    /// A dependency from the monitor of this role.
    Dependency(Role),
}

/// What came from the monitor of another role.
#[derive(Clone, Copy, Debug)]
pub enum Arrival<'a, T> {
    /// A message for the component.
    Message(T),
    /// One that its sender's monitor found wrong, let through, and counted as the step that it should have been
    /// ([`Finding::Misstep`]): a monitor that observes counts it as well, and any other judges it.
    Misstep(T),
    /// One that its sender's monitor found wrong and let through ([`Finding::Wrong`]). The protocol knows nothing of it:
    /// a monitor that observes lets it through as well, one that drops leaves it out, and one that halts judges it.
    Wrong(T),
    /// The label that was chosen somewhere.
    Dependency(&'a str),
}

/// What a monitor found of a message that it sends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Finding {
    /// Nothing wrong.
    #[default]
    Right,
    /// Its label is one that is possible now, but what it carries is wrong. The session goes on as if it were right.
    Misstep,
    /// It is no step of the protocol now. The session stays where it is.
    Wrong,
}

/// What the owner of a session is asked to do.
#[derive(Clone, Debug)]
pub enum Effect<T> {
    /// Give the message to the component.
    Deliver {
        /// Who sent it.
        from: Role,
        /// The message.
        message: T,
    },
    /// Give the dependency to the component.
    DeliverDependency {
        /// Whose monitor told it.
        from: Role,
        /// What was chosen.
        label: Label,
    },
    /// Give the message to the monitor of `to`.
    Send {
        /// Whom it is for.
        to: Role,
        /// The message.
        message: T,
        /// What its monitor found.
        finding: Finding,
    },
    /// Tell the monitor of `to` what was chosen.
    Inform {
        /// Who depends on it.
        to: Role,
        /// What was chosen.
        label: Label,
    },
    /// A violation was found here: tell the component and the monitors of all other roles.
    Report(Box<Notice>),
    /// The component is not in time, which is reported and changes nothing; nobody is blamed where it is not certain.
    Untimely {
        /// What is reported.
        notice: Box<Notice>,
        /// Whether it is certain.
        certain: bool,
    },
    /// A violation was found elsewhere: tell the component.
    Tell(Box<Notice>),
    /// The component ended when it should.
    Finished,
}

/// There is no room for a message: it is handed back, to be offered again once something was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full<T>(pub T);
