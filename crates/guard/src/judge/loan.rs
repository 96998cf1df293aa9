//! Which session a connection carries at the moment, where messages say which they are of.

use std::task::Waker;

use referee_wire::{Message, Sender};

use super::{Case, Look};
use crate::keyed::Loan;
use crate::plan::Plan;
use crate::report::EndReason;

/// A session that a connection has for one exchange.
#[derive(Debug, Default)]
pub(super) struct Borrowed {
    /// `None` while it has no name yet.
    name: Option<Box<[u8]>>,
    active: bool,
    lost: bool,
}

impl Borrowed {
    /// Whether an exchange is under way.
    pub(super) fn is_active(&self) -> bool {
        self.active
    }

    /// Whether nobody knows where the session stands.
    pub(super) fn is_lost(&self) -> bool {
        self.lost
    }
}

impl Case {
    /// Makes the session called `name` this connection's, for one exchange.
    pub(super) fn borrow(&mut self, plan: &Plan, name: Option<&[u8]>, waker: &Waker) -> Result<(), Look> {
        let monitor = &plan.protocol.monitor;
        self.borrowed.lost = false;
        self.session = match (name, &self.sessions) {
            (Some(name), Some(sessions)) => match sessions.lend(name, waker) {
                Loan::Session(session) => *session,
                Loan::New => monitor.session(),
                Loan::Busy => return Err(Look::Wait),
                Loan::Lost => {
                    self.borrowed.lost = true;
                    monitor.session()
                }
            },
            _ => monitor.session(),
        };
        self.borrowed.name = name.map(Into::into);
        self.borrowed.active = true;
        if self.session.is_halted() {
            // It broke the protocol before, on this connection or another.
            return Err(Look::Close(EndReason::Violation));
        }
        Ok(())
    }

    /// Whether `message` is of another session than the exchange that is under way.
    pub(super) fn is_of_another(&self, plan: &Plan, sender: Sender, message: &Message<'_>) -> bool {
        plan.spans
            && sender == Sender::Client
            && !message.aside
            && (self.borrowed.lost || message.session != self.borrowed.name.as_deref())
    }

    /// An answer was forwarded; it may give the session a name. If the exchange is over, others may have it.
    pub(super) fn answered(&mut self, plan: &Plan, name: Option<&[u8]>) {
        let Some(sessions) = &self.sessions else { return };
        if !self.borrowed.active {
            return;
        }
        if let Some(name) = name.filter(|name| self.borrowed.name.as_deref() != Some(name))
            && let Some(old) = self.borrowed.name.replace(name.into())
        {
            sessions.forget(&old);
        }
        let side = plan.side(Sender::Client);
        let over = self.lead.is_empty() && plan.ahead.is_turn(&self.session, side);
        if over || self.borrowed.lost {
            self.borrowed.active = false;
            if let Some(name) = self.borrowed.name.take().filter(|_| !self.borrowed.lost) {
                sessions.give_back(&name, Some(self.session.clone()));
            }
            self.borrowed.lost = false;
        }
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        if let (Some(sessions), true, Some(name)) =
            (&self.sessions, self.borrowed.active, self.borrowed.name.take())
        {
            // A violation is final; any other exchange that broke off leaves the session nobody knows where.
            let session = self.session.is_halted().then(|| self.session.clone());
            if !self.borrowed.lost {
                sessions.give_back(&name, session);
            }
        }
    }
}
