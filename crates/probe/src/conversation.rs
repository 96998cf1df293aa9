//! A conversation: one connection of a player with its peer. What either sends is judged by the engine of `crates/session`.

use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use referee_monitor::Session;
use referee_session::{Action, Engine as _, TwoParty};
use referee_theory::{Origin, State};
use referee_verdict::{VerdictClass, VerdictRecord};
use referee_wire::{Scratch, Sender};

use crate::calls::{Calls, NothingAsked};
use crate::player::{Edge, Player};
use crate::values::Form;

/// One connection, as far as it has come.
pub struct Conversation {
    player: Arc<Player>,
    engine: TwoParty,
    scratch: Scratch,
    /// What the peer has sent and nobody has decided about.
    unread: Vec<u8>,
    calls: Calls,
    exchanges: Vec<Exchange>,
    asked: Duration,
    has_ended: bool,
    /// Whether the player has sent something since `unread` was looked at.
    is_stale: bool,
}

/// A message of a conversation.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The transition that it took, if it is known which.
    pub edge: Option<usize>,
    /// Whether the player sent it.
    pub is_own: bool,
    /// Its label.
    pub label: Arc<str>,
    /// Role, label and fields, shortened.
    pub shown: String,
    /// The state before it.
    pub before: State,
    /// The state after it.
    pub after: State,
    /// What the player sent.
    pub form: Option<Form>,
    /// How long the player had waited for it.
    pub waited: Duration,
}

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The player's.
    Own,
    /// The peer's, or its message is not whole.
    Peer,
    /// Either may speak.
    Either,
    /// Nobody's: the session is over.
    Over,
}

/// The peer broke the protocol.
#[derive(Clone, Debug)]
pub struct Deviation {
    /// The engine's verdict.
    pub record: VerdictRecord,
    /// Where the protocol says otherwise.
    pub origin: Origin,
}

/// Why a conversation cannot go on.
#[derive(Clone, Debug)]
pub enum Stop {
    /// The peer broke the protocol.
    Deviation(Box<Deviation>),
    /// What comes next cannot be judged, and why. Nobody is to blame.
    NotJudged(String),
}

impl Conversation {
    /// A conversation of `player`, before its first byte.
    #[must_use]
    pub fn new(player: &Arc<Player>, now: Duration) -> Self {
        Self {
            engine: TwoParty::new(player.rules(), None),
            player: Arc::clone(player),
            scratch: Scratch::new(),
            unread: Vec::new(),
            calls: Calls::default(),
            exchanges: Vec::new(),
            asked: now,
            has_ended: false,
            is_stale: false,
        }
    }

    /// The messages so far.
    #[must_use]
    pub fn exchanges(&self) -> &[Exchange] {
        &self.exchanges
    }

    /// The monitor's session.
    #[must_use]
    pub fn session(&self) -> &Session {
        self.engine.session()
    }

    /// The monitor's state, or the first with the same behaviour.
    #[must_use]
    pub fn state(&self) -> State {
        self.player.representative(self.session().state())
    }

    /// Whether the peer has ended its side.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Whether something that the peer sent before its turn may have it now: [`receive`](Self::receive) is to be called, with nothing new.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.is_stale && !self.unread.is_empty()
    }

    /// Takes what was exchanged before the first message, the client's part and the server's: the handshake of a WebSocket.
    ///
    /// # Errors
    /// It cannot be read as that.
    pub fn begin(&mut self, handshake: &[Vec<u8>; 2]) -> Result<(), Stop> {
        for (sender, part) in [Sender::Client, Sender::Server].into_iter().zip(handshake) {
            let decision = self.engine.receive(sender, part, &mut self.scratch, Waker::noop());
            if decision.action != Action::Forward(part.len()) {
                return Err(self.stop());
            }
        }
        Ok(())
    }

    /// The id that the message of `edge` has now, as JSON, if it has one.
    ///
    /// # Errors
    /// It answers what was not asked.
    pub(crate) fn call_id(&self, edge: &Edge) -> Result<Option<String>, NothingAsked> {
        self.player.calls().map_or(Ok(None), |rules| self.calls.id_for(rules, &edge.label))
    }

    /// Whose turn it is.
    #[must_use]
    pub fn turn(&self) -> Turn {
        let edges = self.player.edges_of(self.state());
        let own = edges.iter().any(|edge| edge.is_own);
        let peer = edges.iter().any(|edge| !edge.is_own);
        let is_whole = self.has_ended || !self.engine.is_within_message(self.player.own().other());
        match (own, peer) {
            _ if !is_whole => Turn::Peer,
            (true, false) => Turn::Own,
            (false, true) => Turn::Peer,
            (true, true) => Turn::Either,
            (false, false) => Turn::Over,
        }
    }

    /// Takes `form` of the message of `edge` as sent: it is to be written to the peer after this.
    ///
    /// # Errors
    /// The engine reads it as something else, or the protocol refuses it. Then the conversation cannot go on.
    pub fn send(&mut self, edge: &Edge, form: &Form, now: Duration) -> Result<(), String> {
        if form.bytes.is_empty() {
            return Err("it has no bytes".to_owned());
        }
        let before = self.state();
        let mut left: &[u8] = &form.bytes;
        let mut first = true;
        while first || !left.is_empty() {
            let own = self.player.own();
            let decision = self.engine.receive(own, left, &mut self.scratch, Waker::noop());
            match decision.action {
                Action::Forward(count) => left = left.get(count..).unwrap_or_default(),
                Action::Close(_) => return Err(self.own_mistake()),
                _ => return Err("its bytes are not one whole message here".to_owned()),
            }
            if first && decision.message != edge.id {
                return Err("its bytes are read as another message".to_owned());
            }
            first = false;
        }
        if self.engine.is_within_message(self.player.own()) {
            return Err("its bytes are not one whole message here".to_owned());
        }
        if let Some(rules) = self.player.calls() {
            self.calls.sent(rules, &edge.label);
        }
        self.record((Some(edge), true), &edge.label, before, Some(form.clone()), Duration::ZERO);
        self.asked = now;
        self.is_stale = true;
        Ok(())
    }

    /// Whether the protocol blames the player for `bytes`: a wrong message, all of it. The conversation cannot go on after that.
    #[must_use]
    pub fn is_wrong(&mut self, bytes: &[u8]) -> bool {
        let own = self.player.own();
        let mut left = bytes;
        while !left.is_empty() {
            match self.engine.receive(own, left, &mut self.scratch, Waker::noop()).action {
                Action::Forward(count) if count > 0 => left = left.get(count..).unwrap_or_default(),
                Action::Close(_) => {
                    let reports = self.engine.take_reports();
                    return reports.iter().any(|found| {
                        found.record.verdict == VerdictClass::Violation
                            && found.record.blame.as_deref() == Some(self.player.role())
                    });
                }
                _ => return false,
            }
        }
        false
    }

    fn own_mistake(&mut self) -> String {
        let reports = self.engine.take_reports();
        reports.into_iter().next().map_or_else(|| "it is too long".to_owned(), |found| found.record.message)
    }

    /// Takes what the peer has sent. How many messages have begun with it.
    ///
    /// # Errors
    /// The conversation cannot go on.
    pub fn receive(&mut self, bytes: &[u8], now: Duration) -> Result<usize, Stop> {
        self.unread.extend_from_slice(bytes);
        self.is_stale = false;
        let count = self.exchanges.len();
        while !self.unread.is_empty() {
            let before = self.state();
            let peer = self.player.own().other();
            let decision = self.engine.receive(peer, &self.unread, &mut self.scratch, Waker::noop());
            match decision.action {
                Action::Forward(taken) => {
                    let message: Vec<u8> = self.unread.drain(..taken.min(self.unread.len())).collect();
                    if let Some(known) =
                        decision.message.and_then(|id| self.player.codec().messages().get(id.index()))
                        && !known.aside
                    {
                        let label = Arc::clone(&known.name);
                        let waited = now.saturating_sub(self.asked);
                        let player = Arc::clone(&self.player);
                        if let Some(rules) = player.calls() {
                            self.calls.received(rules, &label, &message);
                        }
                        let edges = player.edges_of(before).iter();
                        let edge = edges.clone().find(|edge| !edge.is_own && *edge.label == *label);
                        self.record((edge, false), &label, before, None, waited);
                    }
                }
                Action::Discard(taken) => {
                    self.unread.drain(..taken.min(self.unread.len()));
                }
                Action::Hold(_) => break,
                Action::ForwardAll => return Err(self.unreadable()),
                Action::Close(_) => return Err(self.stop()),
                _ => return Err(self.unreadable()),
            }
        }
        Ok(self.exchanges.len() - count)
    }

    /// The peer has ended, or the connection broke.
    ///
    /// # Errors
    /// It should not have.
    pub fn end(&mut self) -> Result<(), Stop> {
        self.has_ended = true;
        let unread = std::mem::take(&mut self.unread);
        match self.engine.end(self.player.own().other(), &unread) {
            Ok(()) => Ok(()),
            Err(_) => Err(self.stop()),
        }
    }

    fn unreadable(&mut self) -> Stop {
        Stop::NotJudged(self.engine.note().unwrap_or("what follows cannot be read").to_owned())
    }

    /// What the engine says, having closed the session.
    fn stop(&mut self) -> Stop {
        let Some(found) = self.engine.take_reports().into_iter().next() else { return self.unreadable() };
        let record = found.record;
        let is_peers = record.blame.as_deref() == Some(self.player.peer_role());
        if record.verdict == VerdictClass::Violation && record.certain && is_peers {
            Stop::Deviation(Box::new(Deviation { record, origin: found.origin }))
        } else {
            Stop::NotJudged(record.message)
        }
    }

    fn record(
        &mut self,
        (edge, is_own): (Option<&Edge>, bool),
        label: &Arc<str>,
        before: State,
        form: Option<Form>,
        waited: Duration,
    ) {
        let shown = self.engine.view().recent.pop().unwrap_or_default();
        let (edge, label) = (edge.map(|edge| edge.number), Arc::clone(label));
        let after = self.state();
        self.exchanges.push(Exchange { edge, is_own, label, shown, before, after, form, waited });
    }
}

impl std::fmt::Debug for Conversation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conversation").field("exchanges", &self.exchanges).finish_non_exhaustive()
    }
}
