//! The engine of a connection between two parties: the binary monitor, with pipelining, behind a codec.

mod borrow;
mod end;
mod explain;
mod judge;
mod keyed;
mod link;
mod property_times;
mod refuse;
mod times;
mod view;

use std::sync::Arc;
use std::task::Waker;

use referee_monitor::{Lead, Moment, Policy, Session};
use referee_verdict::EndReason;
use referee_wire::{Connection, Fields, Leave, Limits, Reading, Scratch, Sender, Step};

use crate::deadline::{Arrival, Seen};
use crate::direction::{DirectionState, Fate, Held};
use crate::engine::{Action, Decision, Engine, HoldUntil, RecordedMessage, SessionVerdict};
use crate::property::{Observed, Properties};
use crate::recent::Recent;
use crate::rules::TwoPartyRules;
use crate::shared::SharedStore;
use borrow::Borrowed;
pub use borrow::{Loan, SessionStore};
use keyed::Calls;
use link::Link;
use property_times::PropertyTimes;
use times::SessionTimes;
pub use view::{DirectionView, SessionBrief, SessionView};

/// Why bytes are wrong that came between the question for something else, such as TLS, and its answer.
const BEFORE_THE_SWITCH: &str =
    "sent before the other side had answered whether something else is to be spoken from there on";

/// A session between two parties: what it goes by, and where it stands. Apart, so that judging need not touch the counter
/// of those who share the rules.
pub struct TwoParty {
    rules: Arc<TwoPartyRules>,
    state: SessionState,
}

/// Where a session stands.
pub(crate) struct SessionState {
    session: Session,
    /// Messages that were forwarded before their turn.
    lead: Lead,
    connection: Connection,
    directions: [DirectionState; 2],
    inspecting: bool,
    /// Which session it is, where messages say so.
    borrowed: Borrowed,
    store: Option<Arc<dyn SessionStore>>,
    /// Where what the session has seen is shared with its other connections.
    link: Option<Box<Link>>,
    observed: Observed,
    recent: Recent,
    progress: u64,
    judged: u64,
    violations: u64,
    reports: Vec<SessionVerdict>,
    recorded: Vec<RecordedMessage>,
    /// What is to be said to whom in place of a message that was refused.
    reply: Option<(Sender, Vec<u8>)>,
    note: Option<&'static str>,
    /// The server closed when it was its turn, and may.
    unanswered: bool,
    /// Where the protocol's times matter.
    times: Option<Box<SessionTimes>>,
    /// Where properties speak of time.
    property_times: Option<Box<PropertyTimes>>,
    /// Where the protocol opens sub-sessions.
    calls: Option<Box<Calls>>,
}

impl TwoParty {
    /// A session by `rules`, before its first byte. `store` keeps sessions that span connections.
    #[must_use]
    pub fn new(rules: &Arc<TwoPartyRules>, store: Option<Arc<dyn SessionStore>>) -> Self {
        let mut connection = rules.codec.connection(Limits { message: rules.options.max_message });
        if rules.calls.is_none() {
            connection.take_batches_apart();
        }
        let state = SessionState {
            session: rules.monitor.session(),
            lead: Lead::default(),
            connection,
            directions: [DirectionState::default(); 2],
            inspecting: true,
            borrowed: Borrowed::default(),
            store,
            link: None,
            observed: Observed::default(),
            recent: Recent::default(),
            progress: 0,
            judged: 0,
            violations: 0,
            reports: Vec::new(),
            recorded: Vec::new(),
            reply: None,
            note: None,
            unanswered: false,
            times: None,
            property_times: None,
            calls: rules.calls.as_deref().map(|monitor| Box::new(Calls::new(monitor))),
        };
        Self { rules: Arc::clone(rules), state }
    }

    /// The same, sharing what sessions have seen with other connections through `store`, where the rules [say](TwoPartyRules::shares_sessions) that
    /// sessions have several.
    #[must_use]
    pub fn sharing(mut self, store: Option<Arc<dyn SharedStore>>) -> Self {
        let store = store.filter(|_| self.rules.shares_sessions());
        self.state.link = store.map(|store| Box::new(Link::new(store)));
        self
    }

    /// It begins when `began` says: as if the session had been handed to both sides then. Without, its times are not judged. When
    /// the clock of deadlines is 0, nanoseconds since 1970 are `epoch`.
    pub fn begin(&mut self, began: Moment, epoch: i64) {
        if !self.state.inspecting {
            return;
        }
        if self.rules.is_timed() {
            self.state.times = Some(Box::new(SessionTimes::new(&self.rules, began)));
        }
        if self.rules.options.properties.as_ref().is_some_and(Properties::is_timed) {
            self.state.property_times = Some(Box::new(PropertyTimes::new(began, epoch)));
        }
    }

    /// Where properties speak of time: all messages that came before this, in nanoseconds since 1970, are known. When a message was judged,
    /// that is when it came.
    #[must_use]
    pub fn events_known_until(&self) -> Option<i64> {
        self.state.property_times.as_ref().map(|_| self.state.observed.reached())
    }

    /// Whether properties speak of time: whoever carries it says since when it is [at work](crate::Arrivals::note_awake).
    #[must_use]
    pub fn has_timed_properties(&self) -> bool {
        self.state.property_times.is_some()
    }

    /// What it goes by.
    #[must_use]
    pub fn rules(&self) -> &Arc<TwoPartyRules> {
        &self.rules
    }

    /// The monitor's session: its state, and what is bound in it.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.state.session
    }

    /// Whether a message of `sender` has begun and is not whole.
    #[must_use]
    pub fn is_within_message(&self, sender: Sender) -> bool {
        matches!(self.state.directions[sender.index()], DirectionState::WithinMessage(_))
    }

    /// How many violations there were.
    #[must_use]
    pub fn violations(&self) -> u64 {
        self.state.violations
    }

    /// Anything more there is to say about how the session went.
    #[must_use]
    pub fn note(&self) -> Option<&'static str> {
        self.state.note
    }
}

impl Engine for TwoParty {
    #[inline]
    fn receive(&mut self, sender: Sender, unread: &[u8], scratch: &mut Scratch, waker: &Waker) -> Decision {
        let decision = match self.state.link {
            Some(_) => self.state.receive_shared(&self.rules, sender, unread, scratch, waker),
            None => self.state.receive(&self.rules, sender, unread, scratch, waker),
        };
        self.state.note_partial(sender, decision.action);
        decision
    }

    fn end(&mut self, sender: Sender, unread: &[u8]) -> Result<(), EndReason> {
        self.state.end(&self.rules, sender, unread)
    }

    #[inline]
    fn released(&mut self, sender: Sender) -> Option<Vec<u8>> {
        self.state.calls.is_some().then(|| self.state.released(sender)).flatten()
    }

    #[inline]
    fn progress(&self) -> u64 {
        self.state.progress
    }

    fn judged(&self) -> u64 {
        self.state.judged
    }

    fn is_over(&self) -> bool {
        match (&self.state.calls, &self.rules.calls) {
            (Some(calls), Some(monitor)) => monitor.is_over(&calls.session) && calls.is_idle(monitor),
            _ => self.rules.monitor.is_over(&self.state.session),
        }
    }

    fn is_finished(&self) -> bool {
        let is_whole = |direction: &DirectionState| match direction {
            DirectionState::BetweenMessages | DirectionState::Ended { within: None, .. } => true,
            // Discarded, with all that follows it.
            DirectionState::Held(held) => !held.is_late,
            _ => false,
        };
        self.state.inspecting
            && !self.rules.spans
            && self.rules.options.policy != Policy::Observe
            && self.is_over()
            && self.state.directions.iter().all(is_whole)
    }

    fn is_idle(&self) -> bool {
        let state = &self.state;
        if let (Some(calls), Some(monitor)) = (&state.calls, &self.rules.calls) {
            let is_whole = |direction: &DirectionState| *direction == DirectionState::BetweenMessages;
            return state.inspecting && state.directions.iter().all(is_whole) && calls.is_idle(monitor);
        }
        state.inspecting
            && state.directions.iter().all(|direction| *direction == DirectionState::BetweenMessages)
            && state.lead.is_empty()
            && !state.borrowed.is_active()
            && self.rules.codec.is_idle(&state.connection)
            && (self.rules.spans || state.is_between_exchanges(&self.rules))
    }

    fn is_inspecting(&self) -> bool {
        self.state.inspecting
    }

    fn stop_inspecting(&mut self, note: &'static str) {
        self.state.stop_inspecting(note);
    }

    fn close_message(&self, receiver: Sender) -> &[u8] {
        let is_within = self.state.directions[receiver.other().index()].is_within_forwarded();
        let is_streaming =
            receiver == Sender::Client && self.rules.codec.is_streaming(&self.state.connection);
        if is_within || is_streaming {
            return &[];
        }
        if self.state.times.as_ref().is_some_and(|times| times.unanswered == Some(receiver)) {
            let answer = &self.rules.options.timeout_answers[receiver.index()];
            if !answer.is_empty() {
                return answer;
            }
        }
        &self.rules.options.close_messages[receiver.index()]
    }

    fn end_reason(&self) -> EndReason {
        match (self.is_inspecting() && self.is_over(), self.state.unanswered) {
            (true, _) => EndReason::Over,
            (false, true) => EndReason::Unanswered,
            (false, false) => EndReason::Closed,
        }
    }

    fn has_reports(&self) -> bool {
        !self.state.reports.is_empty() || !self.state.recorded.is_empty()
    }

    fn take_messages(&mut self) -> Vec<RecordedMessage> {
        std::mem::take(&mut self.state.recorded)
    }

    fn take_reports(&mut self) -> Vec<SessionVerdict> {
        std::mem::take(&mut self.state.reports)
    }

    fn take_reply(&mut self) -> (Sender, Vec<u8>) {
        debug_assert!(self.state.reply.is_some(), "nothing was refused");
        self.state.reply.take().unwrap_or((Sender::Client, Vec::new()))
    }

    #[inline]
    fn is_timed(&self) -> bool {
        self.state.times.is_some() || self.state.property_times.is_some()
    }

    fn note_arrival(&mut self, sender: Sender, arrival: Arrival) {
        if let Some(times) = &mut self.state.property_times {
            times.note_arrival(sender, arrival);
        }
        if let Some(times) = &mut self.state.times {
            times.note_arrival(sender, arrival);
        }
    }

    fn note_handed(&mut self, sender: Sender, end: u64, moment: Moment) {
        if let Some(times) = &mut self.state.times {
            times.note_handed(sender, self.rules.side(sender.other()), end, moment);
        }
    }

    fn note_writable(&mut self, sender: Sender, time: i64) {
        if let Some(times) = &mut self.state.times {
            times.note_writable(self.rules.side(sender), time);
        }
    }

    fn wake_at(&self) -> Option<i64> {
        self.state.wake_at(&self.rules)
    }

    fn wake(&mut self, now: i64, seen: [Seen; 2]) -> Result<(), EndReason> {
        self.state.wake(&self.rules, now, seen)
    }

    fn expire(&mut self, now: i64, seen: [Seen; 2]) {
        self.state.expire(&self.rules, now, seen);
    }
}

impl SessionState {
    fn stop_inspecting(&mut self, note: &'static str) {
        self.inspecting = false;
        self.note = Some(note);
        self.progress += 1;
        (self.times, self.property_times) = (None, None);
    }

    /// Whether it is the client's turn, and neither side has to say anything more.
    fn is_between_exchanges(&self, rules: &TwoPartyRules) -> bool {
        let owes = |sender| rules.owes(sender, self.session.state());
        let leaves = |sender| !owes(sender) || rules.codec.leave(sender) != Leave::Never;
        rules.ahead.is_turn(&self.session, rules.side(Sender::Client)) && Sender::BOTH.into_iter().all(leaves)
    }

    fn direction(&mut self, sender: Sender) -> &mut DirectionState {
        &mut self.directions[sender.index()]
    }

    fn receive(
        &mut self,
        rules: &TwoPartyRules,
        sender: Sender,
        unread: &[u8],
        scratch: &mut Scratch,
        waker: &Waker,
    ) -> Decision {
        if !self.inspecting {
            return Action::ForwardAll.into();
        }
        debug_assert!(!self.directions[sender.index()].is_ended(), "bytes of a side that has ended");
        loop {
            if let Some((fate, count)) = self.direction(sender).pass(unread.len()) {
                if self.times.is_some() {
                    self.note_part(rules, sender, fate, count);
                }
                // What the client says next may have waited for the end of an answer.
                self.progress += u64::from(self.link.is_some());
                return match fate {
                    Fate::Forward => Action::Forward(count).into(),
                    Fate::Discard => Action::Discard(count).into(),
                };
            }
            if let Some(action) = self.before_reading(rules, sender, unread) {
                return action.into();
            }
            let may_be_early = self.may_be_early(rules, sender);
            let is_unknown = rules.spans && sender == Sender::Client && !self.borrowed.is_active();
            let Some(reading) = self.reading(rules, sender, may_be_early, is_unknown) else {
                return self.hold(rules, sender).into();
            };
            let mut fields = Fields::new();
            let step =
                rules.codec.decode(&mut self.connection, sender, unread, reading, scratch, &mut fields);
            let decision = match step {
                Step::More { at_least } => {
                    Action::Hold(HoldUntil::Length(at_least.max(unread.len() + 1))).into()
                }
                Step::Wait => self.hold(rules, sender).into(),
                Step::Message(message) if is_unknown && !message.aside => {
                    match self.borrow(rules, message.session, waker) {
                        // Now it is known in which state it comes, and so how to read it.
                        Ok(()) => continue,
                        Err(action) => action.into(),
                    }
                }
                Step::Message(message) if self.is_unknown(rules, sender, &message) => {
                    self.refuse_session(rules, &message).into()
                }
                Step::Message(message) if self.is_of_another(rules, sender, &message) => {
                    self.hold(rules, sender).into()
                }
                Step::Message(message) => {
                    let decision = match self.calls {
                        Some(_) => self.keyed_message(rules, sender, unread, &message, &fields),
                        None => self.message(rules, sender, may_be_early, &message, &fields),
                    };
                    if sender == Sender::Server && matches!(decision.action, Action::Forward(_)) {
                        self.note_answer(rules, message.session);
                    }
                    decision
                }
                Step::Body { bytes, last } => {
                    self.direction(sender).part(bytes, last);
                    if self.times.is_some() {
                        self.note_part(rules, sender, Fate::Forward, 0);
                    }
                    continue;
                }
                Step::Malformed(malformed) if malformed.too_long => {
                    self.too_long(rules, malformed.reason).into()
                }
                Step::Malformed(malformed) => self.malformed(rules, sender, &malformed.reason).into(),
                Step::Transparent => {
                    self.stop_inspecting("the sides agreed on something that cannot be read");
                    Action::ForwardAll.into()
                }
            };
            drop(fields);
            scratch.clear();
            return decision;
        }
    }

    /// What is to be done with the beginning of a message before it is even read, if anything is.
    fn before_reading(&mut self, rules: &TwoPartyRules, sender: Sender, unread: &[u8]) -> Option<Action> {
        let state = self.directions[sender.index()];
        if let DirectionState::AwaitsSwitch { held } = state {
            if self.connection.is_transparent() && held.is_some() {
                // Said in this protocol, it would be taken for something said in the next.
                return Some(self.malformed(rules, sender, BEFORE_THE_SWITCH));
            }
            if !self.lead.is_empty() || !rules.ahead.is_turn(&self.session, rules.side(sender)) {
                return Some(self.hold(rules, sender));
            }
            self.direction(sender).answered();
        }
        let is_held = state.held().is_some_and(|held| !held.is_late);
        // The other side has ended the session. Sent before that could be known: neither wanted nor wrong.
        (is_held && rules.monitor.is_over(&self.session)).then_some(Action::Discard(unread.len()))
    }

    /// Whether what `sender` says may wait for its turn.
    fn may_be_early(&self, rules: &TwoPartyRules, sender: Sender) -> bool {
        let side = rules.side(sender);
        rules.options.pipelining[sender.index()]
            && (rules.ahead.is_turn(&self.session, side)
                || rules.can_end(self.session.state())
                // What can never have its turn is wrong now, for no end will show it.
                || rules.ahead.may_speak(&self.session, &self.lead, side))
    }

    /// How the next bytes of `sender` are read. `None`: that depends on what the other side says next.
    fn reading<'r>(
        &self,
        rules: &'r TwoPartyRules,
        sender: Sender,
        may_be_early: bool,
        is_unknown: bool,
    ) -> Option<Reading<'r>> {
        let side = rules.side(sender);
        // The rest of a message is read whoever is to speak next.
        let is_within = matches!(self.directions[sender.index()], DirectionState::WithinMessage(_));
        if is_unknown || self.session.is_tainted() || is_within {
            return Some(Reading::anything());
        }
        if !may_be_early && !rules.ahead.is_turn(&self.session, side) {
            return Some(rules.readings.out_of_turn(sender));
        }
        let position = rules.ahead.position(&self.session, &self.lead, side);
        let reading = position.and_then(|position| rules.readings.at(sender, position));
        reading.or_else(|| (!may_be_early).then(|| rules.readings.out_of_turn(sender)))
    }

    fn hold(&mut self, rules: &TwoPartyRules, sender: Sender) -> Action {
        if self.directions[sender.index()].held().is_none() {
            // Now, because what the other side says later its sender could not know.
            let may_speak = rules.ahead.may_speak(&self.session, &self.lead, rules.side(sender));
            self.direction(sender).hold(Held { is_late: !rules.spans && !may_speak });
        }
        Action::Hold(HoldUntil::Progress)
    }
}
