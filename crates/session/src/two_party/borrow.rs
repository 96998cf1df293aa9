//! Which session a connection carries at the moment, where messages say which they are of.

use std::task::Waker;

use referee_monitor::Session;
use referee_verdict::EndReason;
use referee_wire::{Message, Sender};

use super::SessionState;
use crate::engine::{Action, HoldUntil};
use crate::rules::TwoPartyRules;

/// Sessions that span connections, between two exchanges.
pub trait SessionStore: Send + Sync {
    /// Lends the session called `name`; if another connection has it, `waker` is woken when it comes back.
    fn lend(&self, name: &[u8], waker: &Waker) -> Loan;

    /// Takes back the session called `name`; `None` if its exchange broke off.
    fn give_back(&self, name: &[u8], session: Option<Session>);

    /// Forgets a name that was lent as a new one and is not used after all.
    fn forget(&self, name: &[u8]);
}

/// What became of a wish for a session.
#[derive(Debug)]
pub enum Loan {
    /// This is it.
    Session(Box<Session>),
    /// There was none of this name; it is now lent as a new one.
    New,
    /// Another connection has it.
    Busy,
    /// Nobody knows where it stands.
    Lost,
}

/// A session that a connection has for one exchange.
#[derive(Debug, Default)]
pub(super) struct Borrowed {
    /// `None` while it has no name yet.
    name: Option<Box<[u8]>>,
    exchange: Exchange,
}

/// The exchange that a session was borrowed for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Exchange {
    /// There is none.
    #[default]
    None,
    /// It is under way.
    Active,
    /// It is under way, and is not judged: nobody knows where the session stands.
    Lost,
}

impl Borrowed {
    /// Whether an exchange is under way.
    pub(super) fn is_active(&self) -> bool {
        self.exchange != Exchange::None
    }

    /// Whether nobody knows where the session stands.
    pub(super) fn is_lost(&self) -> bool {
        self.exchange == Exchange::Lost
    }
}

impl SessionState {
    /// Makes the session called `name` this connection's, for one exchange.
    pub(super) fn borrow(
        &mut self,
        rules: &TwoPartyRules,
        name: Option<&[u8]>,
        waker: &Waker,
    ) -> Result<(), Action> {
        let mut exchange = Exchange::Active;
        self.session = match (name, &self.store) {
            (Some(name), Some(store)) => match store.lend(name, waker) {
                Loan::Session(session) => *session,
                Loan::New => rules.monitor.session(),
                Loan::Busy => return Err(Action::Hold(HoldUntil::Woken)),
                Loan::Lost => {
                    exchange = Exchange::Lost;
                    rules.monitor.session()
                }
            },
            _ => rules.monitor.session(),
        };
        self.borrowed = Borrowed { name: name.map(Into::into), exchange };
        if self.session.is_halted() {
            // It broke the protocol before, on this connection or another.
            return Err(Action::Close(EndReason::Violation));
        }
        Ok(())
    }

    /// Whether `message` is of another session than the exchange that is under way.
    pub(super) fn is_of_another(&self, rules: &TwoPartyRules, sender: Sender, message: &Message<'_>) -> bool {
        rules.spans
            && sender == Sender::Client
            && !message.aside
            && (self.borrowed.is_lost() || message.session != self.borrowed.name.as_deref())
    }

    /// An answer was forwarded; it may give the session a name. If the exchange is over, others may have it.
    pub(super) fn note_answer(&mut self, rules: &TwoPartyRules, name: Option<&[u8]>) {
        if let Some(link) = &mut self.link {
            return link.note_name(name);
        }
        let Some(store) = &self.store else { return };
        if !self.borrowed.is_active() {
            return;
        }
        if let Some(name) = name.filter(|name| self.borrowed.name.as_deref() != Some(name))
            && let Some(old) = self.borrowed.name.replace(name.into())
        {
            store.forget(&old);
        }
        let is_lost = self.borrowed.is_lost();
        let side = rules.side(Sender::Client);
        let is_over = self.lead.is_empty() && rules.ahead.is_turn(&self.session, side);
        if is_over || is_lost {
            let borrowed = std::mem::take(&mut self.borrowed);
            if let Some(name) = borrowed.name.filter(|_| !is_lost) {
                store.give_back(&name, Some(self.session.clone()));
            }
        }
    }
}

impl Drop for SessionState {
    fn drop(&mut self) {
        self.leave_shared();
        if let (Some(store), Exchange::Active, Some(name)) =
            (&self.store, self.borrowed.exchange, self.borrowed.name.take())
        {
            // A violation is final; any other exchange that broke off leaves the session nobody knows where.
            store.give_back(&name, self.session.is_halted().then(|| self.session.clone()));
        }
    }
}
