//! A connection of a session that has several: what the session has seen on all of them ([`SharedSessions`]).

use std::sync::Arc;
use std::task::Waker;

use referee_monitor::Policy;
use referee_verdict::EndReason;
use referee_wire::{Message, Scratch, Sender};

use super::SessionState;
use crate::direction::DirectionState;
use crate::engine::{Action, Decision};
use crate::rules::TwoPartyRules;
use crate::shared::{SharedSessions, SharedStore};

const UNKNOWN: &str = "a session that is not known: its client was told to begin a new one";

/// Which session the exchange of a connection is of.
pub(super) struct Link {
    store: Arc<dyn SharedStore>,
    name: Option<Box<[u8]>>,
    /// `None` if it is not known.
    number: Option<u64>,
    /// The name of a session that has begun with the message that was judged.
    begins: Option<Box<[u8]>>,
}

impl Link {
    pub(super) fn new(store: Arc<dyn SharedStore>) -> Self {
        Self { store, name: None, number: Some(0), begins: None }
    }

    pub(super) fn number(&self) -> u64 {
        self.number.unwrap_or(0)
    }

    /// An answer was forwarded that names its session so.
    pub(super) fn note_name(&mut self, name: Option<&[u8]>) {
        if let Some(name) = name.filter(|name| self.name.as_deref() != Some(name)) {
            self.begins = Some(name.into());
        }
    }
}

impl SessionState {
    /// As [`receive`](Self::receive), with what the session has seen.
    pub(super) fn receive_shared(
        &mut self,
        rules: &TwoPartyRules,
        sender: Sender,
        unread: &[u8],
        scratch: &mut Scratch,
        waker: &Waker,
    ) -> Decision {
        if sender == Sender::Client && self.inspecting {
            let is_within =
                |direction: &DirectionState| matches!(direction, DirectionState::WithinMessage(_));
            let [client, server] = &self.directions;
            if !is_within(client) && is_within(server) {
                // A refusal would stand within the answer that is under way.
                return self.hold(rules, sender).into();
            }
            if !is_within(client)
                && let Some(name) = rules.codec.session(&mut self.connection, unread)
                && let Some(link) = &mut self.link
            {
                link.name = name.map(Into::into);
            }
        }
        let mut decision = None;
        let Some(store) = self.link.as_ref().map(|link| Arc::clone(&link.store)) else {
            return Action::Close(EndReason::Fault).into();
        };
        store.with(&mut |sessions| {
            decision = Some(
                self.within(rules, sessions, |state| state.receive(rules, sender, unread, scratch, waker)),
            );
        });
        decision.unwrap_or(Action::Close(EndReason::Fault).into())
    }

    /// Does `work` with what the session has seen.
    fn within<T>(
        &mut self,
        rules: &TwoPartyRules,
        sessions: &mut SharedSessions,
        work: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let properties = rules.options.properties.as_ref();
        let name = self.link.as_ref().and_then(|link| link.name.clone());
        let (connection, observed) = (&mut self.connection, &mut self.observed);
        let mut number = sessions.enter(name.as_deref(), connection, observed, properties);
        if number.is_none() {
            connection.note_unseen();
            if let (Some(name), Policy::Observe) = (&name, rules.options.policy) {
                sessions.begin(name, connection, false);
                number = sessions.enter(Some(name), connection, observed, properties);
            }
        }
        if let Some(link) = &mut self.link {
            link.number = number;
        }
        let done = work(self);
        let (connection, observed) = (&mut self.connection, &mut self.observed);
        if number.is_some() {
            sessions.leave(name.as_deref(), connection, observed, properties);
        }
        if let Some(link) = &mut self.link
            && let Some(begins) = link.begins.take()
        {
            sessions.begin(&begins, connection, true);
            // The rest of this exchange is its, if it was of none.
            link.name.get_or_insert(begins);
        }
        done
    }

    /// Whether `message` is of a session of which nothing is known.
    pub(super) fn is_unknown(&self, rules: &TwoPartyRules, sender: Sender, message: &Message<'_>) -> bool {
        let is_unknown = self.link.as_ref().is_some_and(|link| link.number.is_none());
        is_unknown && sender == Sender::Client && rules.codec.is_in_session(message)
    }

    /// Its client is told to begin a new session.
    #[cold]
    pub(super) fn refuse_session(&mut self, rules: &TwoPartyRules, message: &Message<'_>) -> Action {
        self.note = Some(UNKNOWN);
        self.reply = Some((Sender::Client, rules.codec.unknown_session(&self.connection)));
        rules.codec.take(&mut self.connection, Sender::Client, message.after, false);
        self.direction(Sender::Client).decided(None, false);
        Action::Refuse(message.bytes)
    }

    /// The connection has ended: no answer comes on it.
    pub(super) fn leave_shared(&mut self) {
        let Some(link) = self.link.take() else { return };
        link.store.with(&mut |sessions| sessions.abandon(link.name.as_deref(), &mut self.connection));
    }
}
