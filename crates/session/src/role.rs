//! The engine of a component's connection: one role of a network, behind a codec.
//!
//! One side of the connection is the component. The other side is the network: the monitors of the other roles, which take
//! the component's messages and give it theirs. What judges is the role's monitor, which has one run for each session whatever
//! happens to connections; an engine reaches it through [`RoleHost`], as an engine of two parties reaches sessions that span
//! connections.
//!
//! ```text
//!                    ┌────────────── the monitor has taken it ──────────────────┐
//!                    ▼                                                          │
//!   start ──▶ BetweenMessages ── a message is whole ──▶ offered ── Later ──▶ Waiting
//!                │   ▲    │                              ▲   │                  │ Over
//!                │   │    └── its body follows ──▶ WithinBody│                  ▼
//!                │   └───────────── Taken ──────────────────┘                 Stuck ◀── undecodable, or too long
//!                └── the component ends ──▶ Ended
//! ```

mod open_requests;
pub mod payload;

use std::sync::Arc;
use std::task::Waker;

use bytes::Bytes;
use referee_monitor::Moment;
use referee_verdict::EndReason;
use referee_wire::{Codec, Connection, Fields, Label, Limits, MessageId, Reading, Scratch, Sender, Step};

use crate::deadline::{Arrival, Seen};
use crate::engine::{Action, Decision, Engine, HoldUntil, SessionVerdict, Unreadable};
use open_requests::OpenRequests;
pub use open_requests::ServiceClose;
use payload::{Payload, write_fields};

/// Bytes that are read ahead from a component whose message has to wait, where they may hold pings.
const MAX_READ_AHEAD: usize = 64 << 10;

/// The answer to an offered message.
#[derive(Debug)]
pub enum Offer {
    /// The monitor has taken it.
    Taken,
    /// It has to wait: for its turn, or for credit.
    Later(Payload),
    /// The session is over.
    Over,
}

/// The session of a component's connection, at the monitor of its role.
pub trait RoleHost: Send + Sync {
    /// The component sends `payload`.
    fn offer(&self, payload: Payload) -> Offer;

    /// Whether a message that had to wait is worth another offer since this was last asked.
    fn take_wake(&self) -> bool;

    /// Whether more reports wait than anybody takes: nothing is to be judged meanwhile.
    fn is_congested(&self) -> bool;

    /// The component half-closed: whether it may still be sent something.
    fn half_close(&self) -> bool;

    /// The component half-closed after `last`, which has to wait.
    fn half_close_after(&self, last: &Payload);

    /// The session cannot go on, and nobody is to blame.
    fn fault(&self, sentence: String);

    /// The messages that go to the component since this was last asked, each of them whole.
    fn take_outgoing(&self) -> Vec<Bytes>;

    /// The component's connection is over: what is still to be sent waits for another one.
    fn pause(&self);

    /// Whether the component's times are judged. If not, nothing of what follows is called.
    fn is_timed(&self) -> bool {
        false
    }

    /// The message that is offered next arrived then.
    fn note_arrival(&self, _arrival: Arrival) {}

    /// The first `end` bytes that went to the component on this connection were handed to it, and those that had not been before, when
    /// `moment` says.
    fn note_handed(&self, _end: u64, _moment: Moment) {}

    /// The component was not read from for a while; by `time` all that it had written was read.
    fn note_writable(&self, _time: i64) {}

    /// Until when the component has to speak, as things stand.
    fn next_deadline(&self) -> Option<i64> {
        None
    }

    /// When it matters next, later than `looked`, whether the component has said something: it would be too early before.
    fn next_release(&self, _looked: i64) -> Option<i64> {
        None
    }

    /// All that the component had sent before `now` was offered, and nothing that goes to it is unsent.
    fn overdue(&self, _now: i64) {}

    /// The connection ends, and it is `now`.
    fn expire(&self, _now: i64) {}

    /// Why the session is over, and the component's close message.
    fn close(&self) -> (EndReason, Bytes);
}

/// What the connections of a role's components have in common.
#[derive(Debug)]
pub struct RoleRules {
    /// The role's name.
    pub name: String,
    /// How its bytes become messages.
    pub codec: Codec,
    /// Which side of the codec the component is: the client if it connects.
    pub side: Sender,
    /// How many bytes a message may have.
    pub max_message: usize,
    /// Whether the component sends pings, which must be answered while its messages wait. It has no half-close then.
    pub has_pings: bool,
}

impl RoleRules {
    /// Whether the component is a service that may close its connection between exchanges.
    #[must_use]
    pub fn is_service(&self) -> bool {
        self.side == Sender::Server && self.codec.has_requests()
    }

    fn codec_state(&self) -> Connection {
        self.codec.endpoint(Limits { message: self.max_message })
    }
}

/// What is next of the component.
#[derive(Debug)]
enum ComponentState {
    BetweenMessages,
    /// The head of `payload` has come; `length` bytes are known to be the message's, and with `is_last` they are all.
    WithinBody {
        payload: Payload,
        known: Option<MessageId>,
        length: usize,
        is_last: bool,
    },
    /// A whole message of `length` bytes waits; with `is_last`, its sender has ended after it.
    Waiting {
        payload: Payload,
        known: Option<MessageId>,
        length: usize,
        is_last: bool,
    },
    /// Nothing more can be read of it.
    Stuck,
    /// It has ended; what it left undecodable is still to be judged.
    Ended {
        malformed: Option<Payload>,
    },
}

/// A component's connection.
pub struct RoleEngine {
    rules: Arc<RoleRules>,
    host: Arc<dyn RoleHost>,
    codec_state: Connection,
    state: ComponentState,
    requests: OpenRequests,
    /// The component was told that nothing more comes.
    is_half_closed: bool,
    close_message: Bytes,
    progress: u64,
    judged: u64,
    /// When the bytes arrived that are shown, where times are judged.
    arrival: Option<Arrival>,
    /// When it was last looked whether something had come.
    looked: i64,
}

impl RoleEngine {
    /// A connection by `rules`, before its first byte.
    #[must_use]
    pub fn new(rules: &Arc<RoleRules>, host: Arc<dyn RoleHost>) -> Self {
        Self {
            rules: Arc::clone(rules),
            host,
            codec_state: rules.codec_state(),
            state: ComponentState::BetweenMessages,
            requests: OpenRequests::default(),
            is_half_closed: false,
            close_message: Bytes::new(),
            progress: 0,
            judged: 0,
            arrival: None,
            looked: i64::MIN,
        }
    }

    /// What it means that the component, a service, closed its connection. `None` where nothing more was to be sent to it.
    #[must_use]
    pub fn service_close(&self) -> Option<ServiceClose> {
        let is_idle = self.rules.codec.is_idle(&self.codec_state);
        (self.rules.is_service() && !self.is_half_closed).then(|| self.requests.on_close(is_idle))
    }

    /// A new connection to a service: the requests to repeat on it.
    pub fn reconnect(&mut self) -> Vec<Bytes> {
        self.codec_state = self.rules.codec_state();
        self.state = ComponentState::BetweenMessages;
        self.requests.reset()
    }

    fn receive_from_component(&mut self, unread: &[u8]) -> Decision {
        const HOLD: Action = Action::Hold(HoldUntil::Woken);
        if self.host.is_congested() {
            return HOLD.into();
        }
        match std::mem::replace(&mut self.state, ComponentState::BetweenMessages) {
            ComponentState::BetweenMessages => self.decode(unread),
            ComponentState::WithinBody { payload, known, length, is_last } => {
                self.body(payload, known, (length, is_last), unread)
            }
            ComponentState::Waiting { payload, known, length, .. } if self.host.take_wake() => {
                self.offer(payload, known, length)
            }
            other => {
                self.state = other;
                HOLD.into()
            }
        }
    }

    fn decode(&mut self, unread: &[u8]) -> Decision {
        let rules = Arc::clone(&self.rules);
        let (scratch, mut fields) = (Scratch::new(), Fields::new());
        let (codec, state) = (&rules.codec, &mut self.codec_state);
        match codec.decode(state, rules.side, unread, Reading::anything(), &scratch, &mut fields) {
            Step::More { at_least } => hold_until(at_least, unread),
            Step::Wait => Action::Hold(HoldUntil::Progress).into(),
            Step::Message(message) => {
                let known = match message.label {
                    Label::Known(id) => Some(id),
                    Label::Unknown(_) => None,
                };
                let payload = Payload {
                    label: Ok(codec.name(message.label).into()),
                    fields: write_fields(&fields),
                    bytes: Bytes::copy_from_slice(unread.get(..message.bytes).unwrap_or_default()),
                };
                codec.take(state, rules.side, message.after, true);
                self.requests.note_answer(codec.is_idle(state));
                if payload.is_unwieldy(rules.max_message) {
                    self.too_long()
                } else if message.has_body {
                    self.body(payload, known, (message.bytes, false), unread)
                } else {
                    self.offer(payload, known, message.bytes)
                }
            }
            Step::Malformed(malformed) if malformed.too_long => self.too_long(),
            Step::Malformed(malformed) => self.malformed(&malformed.to_string(), unread),
            Step::Body { .. } | Step::Transparent => self.malformed("something that cannot be read", unread),
        }
    }

    /// Reads on in a message of which `length` bytes are known, and with `is_last` no more are to come.
    fn body(
        &mut self,
        mut payload: Payload,
        known: Option<MessageId>,
        (mut length, mut is_last): (usize, bool),
        unread: &[u8],
    ) -> Decision {
        let rules = Arc::clone(&self.rules);
        while let Some(rest) = unread.get(length..) {
            if is_last {
                payload.bytes = Bytes::copy_from_slice(unread.get(..length).unwrap_or_default());
                return self.offer(payload, known, length);
            }
            let (scratch, mut fields) = (Scratch::new(), Fields::new());
            let state = &mut self.codec_state;
            let wanted =
                match rules.codec.decode(state, rules.side, rest, Reading::anything(), &scratch, &mut fields)
                {
                    Step::Body { bytes, last } => {
                        is_last = last;
                        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
                        length = length.saturating_add(bytes);
                        length
                    }
                    Step::More { at_least } => length.saturating_add(at_least.max(rest.len() + 1)),
                    _ => return self.malformed("a body that cannot be read", unread),
                };
            if wanted > rules.max_message {
                return self.too_long();
            }
            if wanted > unread.len() {
                self.state = ComponentState::WithinBody { payload, known, length, is_last };
                return hold_until(wanted, unread);
            }
        }
        let wanted = length;
        self.state = ComponentState::WithinBody { payload, known, length, is_last };
        hold_until(wanted, unread)
    }

    /// Offers a message of `length` bytes to the role's monitor.
    fn offer(&mut self, payload: Payload, known: Option<MessageId>, length: usize) -> Decision {
        let is_malformed = payload.label.is_err();
        if let Some(arrival) = self.arrival {
            self.host.note_arrival(arrival);
        }
        let action = match self.host.offer(payload) {
            Offer::Taken => {
                self.judged += 1;
                let next = if is_malformed { ComponentState::Stuck } else { ComponentState::BetweenMessages };
                self.state = next;
                return Decision { action: Action::Forward(length), message: known };
            }
            Offer::Later(payload) => {
                self.state = ComponentState::Waiting { payload, known, length, is_last: false };
                Action::Hold(HoldUntil::Woken)
            }
            Offer::Over => {
                self.state = ComponentState::Stuck;
                Action::Hold(HoldUntil::Woken)
            }
        };
        action.into()
    }

    /// Nothing after undecodable bytes can be decoded.
    #[cold]
    fn malformed(&mut self, why: &str, unread: &[u8]) -> Decision {
        self.offer(Payload::malformed(why), None, unread.len())
    }

    #[cold]
    fn too_long(&mut self) -> Decision {
        let RoleRules { name, max_message, .. } = &*self.rules;
        self.host.fault(format!("a message of `{name}` has more than {max_message} bytes"));
        self.state = ComponentState::Stuck;
        Action::Hold(HoldUntil::Woken).into()
    }

    /// Lets the codec see what the component is sent: it may need the request to decode the answer.
    fn note_outgoing(&mut self) {
        let outgoing = self.host.take_outgoing();
        for message in &outgoing {
            self.observe(message);
            self.progress += 1;
        }
        if self.rules.is_service() {
            self.requests.sent(outgoing);
        }
    }

    fn observe(&mut self, bytes: &[u8]) {
        let (codec, side) = (&self.rules.codec, self.rules.side.other());
        let (scratch, mut fields) = (Scratch::new(), Fields::new());
        let mut rest = bytes;
        loop {
            let state = &mut self.codec_state;
            let step = codec.decode(state, side, rest, Reading::anything(), &scratch, &mut fields);
            let (count, after) = match step {
                Step::Message(message) => (message.bytes, Some((message.after, message.has_body))),
                Step::Body { bytes, last } if !last => (usize::try_from(bytes).unwrap_or(usize::MAX), None),
                _ => return,
            };
            rest = rest.get(count..).unwrap_or_default();
            if let Some((after, has_body)) = after {
                codec.take(state, side, after, true);
                if !has_body {
                    return;
                }
            }
        }
    }

    /// The component has ended, and left `unread`.
    fn end_of_component(&mut self, unread: &[u8], is_reset: bool) -> Result<(), EndReason> {
        let begun = match &mut self.state {
            ComponentState::BetweenMessages => 0,
            ComponentState::WithinBody { length, .. } => *length,
            ComponentState::Waiting { .. } | ComponentState::Stuck => return Ok(()),
            ComponentState::Ended { malformed } => {
                if self.host.take_wake()
                    && let Some(payload) = malformed.take()
                    && let Offer::Later(payload) = self.host.offer(payload)
                {
                    *malformed = Some(payload);
                }
                return Ok(());
            }
        };
        let rest = unread.get(begun..).unwrap_or_default();
        if let Err(wrong) = self.rules.codec.end(&mut self.codec_state, self.rules.side, rest) {
            self.end_malformed(&wrong.to_string());
            return Ok(());
        }
        self.state = ComponentState::Ended { malformed: None };
        // A WebSocket has no half-close, and a service is connected to again.
        let stays = !is_reset && !self.rules.is_service() && !self.rules.has_pings && self.host.half_close();
        if stays {
            return Ok(());
        }
        self.host.pause();
        Err(EndReason::Closed)
    }

    /// The component has ended with what cannot be decoded.
    fn end_malformed(&mut self, why: &str) {
        let malformed = match self.host.offer(Payload::malformed(why)) {
            Offer::Later(payload) => Some(payload),
            Offer::Taken | Offer::Over => None,
        };
        self.state = ComponentState::Ended { malformed };
    }
}

fn hold_until(at_least: usize, unread: &[u8]) -> Decision {
    Action::Hold(HoldUntil::Length(at_least.max(unread.len() + 1))).into()
}

impl Engine for RoleEngine {
    fn receive(&mut self, sender: Sender, unread: &[u8], _: &mut Scratch, _: &Waker) -> Decision {
        if sender == self.rules.side {
            return self.receive_from_component(unread);
        }
        self.note_outgoing();
        Action::Forward(unread.len()).into()
    }

    fn end(&mut self, sender: Sender, unread: &[u8]) -> Result<(), EndReason> {
        if sender == self.rules.side {
            return self.end_of_component(unread, false);
        }
        self.is_half_closed = true;
        Ok(())
    }

    fn broken(&mut self, sender: Sender, unread: &[u8]) -> Result<(), EndReason> {
        if sender != self.rules.side {
            // The network breaks when the session is over.
            let (why, close_message) = self.host.close();
            self.close_message = close_message;
            return Err(why);
        }
        self.host.pause();
        self.end_of_component(unread, true)
    }

    fn unreadable(&mut self, sender: Sender, what: &Unreadable) -> bool {
        debug_assert_eq!(sender, self.rules.side, "the network is always readable");
        match what {
            Unreadable::Malformed(why) => self.end_malformed(why),
            Unreadable::TooLong => drop(self.too_long()),
        }
        true
    }

    fn end_while_held(&mut self, sender: Sender, unread: &[u8]) {
        let may_stay = !self.rules.has_pings && !self.rules.is_service();
        if let ComponentState::Waiting { payload, length, is_last, .. } = &mut self.state
            && sender == self.rules.side
            && may_stay
            && *length >= unread.len()
            && !std::mem::replace(is_last, true)
        {
            self.host.half_close_after(payload);
        }
    }

    fn read_ahead(&self, sender: Sender) -> usize {
        match &self.state {
            ComponentState::Waiting { length, .. } if sender == self.rules.side => {
                length + if self.rules.has_pings { MAX_READ_AHEAD } else { 1 }
            }
            _ => 0,
        }
    }

    fn progress(&self) -> u64 {
        self.progress
    }

    fn judged(&self) -> u64 {
        self.judged
    }

    fn is_over(&self) -> bool {
        false
    }

    fn is_finished(&self) -> bool {
        false
    }

    fn is_idle(&self) -> bool {
        false
    }

    fn is_inspecting(&self) -> bool {
        true
    }

    fn stop_inspecting(&mut self, _: &'static str) {
        debug_assert!(false, "a role is always monitored");
    }

    fn close_message(&self, receiver: Sender) -> &[u8] {
        if receiver == self.rules.side { &self.close_message } else { &[] }
    }

    fn end_reason(&self) -> EndReason {
        EndReason::Over
    }

    fn has_reports(&self) -> bool {
        self.host.is_congested()
    }

    fn take_reports(&mut self) -> Vec<SessionVerdict> {
        Vec::new()
    }

    fn is_timed(&self) -> bool {
        self.host.is_timed()
    }

    fn note_arrival(&mut self, sender: Sender, arrival: Arrival) {
        if sender == self.rules.side {
            self.arrival = Some(arrival);
        }
    }

    fn note_handed(&mut self, sender: Sender, end: u64, moment: Moment) {
        if sender != self.rules.side {
            self.host.note_handed(end, moment);
        }
    }

    fn note_writable(&mut self, sender: Sender, time: i64) {
        if sender == self.rules.side {
            self.host.note_writable(time);
        }
    }

    fn wake_at(&self) -> Option<i64> {
        // What has begun to arrive is decided when it is whole.
        let waits = matches!(self.state, ComponentState::BetweenMessages);
        let due = self.host.next_deadline().map(|limit| limit.saturating_add(1));
        due.into_iter().chain(self.host.next_release(self.looked)).min().filter(|_| waits)
    }

    fn wake(&mut self, now: i64, seen: [Seen; 2]) -> Result<(), EndReason> {
        let Seen { decided, read, .. } = seen[self.rules.side.index()];
        self.looked = read.unwrap_or(now);
        if let Some(time) = decided
            && matches!(self.state, ComponentState::BetweenMessages)
            && self.host.next_deadline().is_some_and(|limit| limit < time)
        {
            self.host.overdue(time);
        }
        Ok(())
    }

    fn expire(&mut self, now: i64, _seen: [Seen; 2]) {
        self.host.expire(now);
    }
}
