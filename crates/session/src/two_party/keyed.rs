//! Sessions with sub-sessions between two parties: each message belongs to the parent, or to the call that its key names.
//!
//! Both sides are always read. What must not go on yet is kept here, each message by itself, and goes on when its turn comes, before whatever its side
//! says later: [`SessionState::released`].

use referee_monitor::{
    Event, EventLabel, Explanation, Fault, FieldValue, Handling, Key, KeyedMonitor, KeyedSession,
    KeyedVerdict, Lane, Payload, Policy, Violation, Waiting, Wrong,
};
use referee_verdict::{EndReason, VerdictAction, VerdictRecord};
use referee_wire::{Fields, Label, Leave, Limits, Message, MessageId, Scratch, Sender, Step};

use super::SessionState;
use super::judge::{property_handling, shown};
use crate::direction::DirectionState;
use crate::engine::{Action, Decision};
use crate::redact::HIDDEN;
use crate::rules::{TwoPartyRules, party};

const FULL: &str = "more waited for its turn than `limits.buffer` allows";
const BODY: &str = "a message that does not fit into one piece had to wait for a call";
const ABANDONED: &str = "calls were in flight at the end, and are abandoned";

/// The parent, its calls, and what waits.
pub(super) struct Calls {
    pub(super) session: KeyedSession,
    waiting: Waiting<Kept>,
    /// How many bytes wait.
    bytes: usize,
    /// What may go on, of each side.
    released: [Vec<u8>; 2],
}

/// A message that waits.
struct Kept {
    bytes: Vec<u8>,
    message: MessageId,
}

/// A message that is judged.
#[derive(Clone, Copy)]
struct Said<'a> {
    sender: Sender,
    message: Option<MessageId>,
    label: &'a str,
    /// What it may be called in reports.
    shown: &'a str,
    key: Option<&'a Key>,
    payload: Payload<'a>,
}

/// What becomes of a message.
enum Fate {
    Forward,
    Discard,
    Wait,
    Close(EndReason),
}

impl Calls {
    pub(super) fn new(monitor: &KeyedMonitor) -> Self {
        let (session, waiting) = (monitor.session(), Waiting::default());
        Self { session, waiting, bytes: 0, released: [Vec::new(), Vec::new()] }
    }

    /// Whether nothing waits, and no call is in flight.
    pub(super) fn is_idle(&self, monitor: &KeyedMonitor) -> bool {
        self.waiting.is_empty()
            && self.released.iter().all(Vec::is_empty)
            && monitor.running(&self.session) == 0
    }
}

/// The key of a message, if it has one.
fn key(
    rules: &TwoPartyRules,
    monitor: &KeyedMonitor,
    (sender, label, message): (Sender, &str, Option<MessageId>),
    fields: &[FieldValue<'_>],
) -> Option<Key> {
    let name = monitor.key_field(rules.side(sender), label)?;
    let known = rules.codec.messages().get(message?.index())?;
    let position = known.fields.iter().position(|field| field.name.as_ref() == Some(name))?;
    Key::of(fields.get(position)?)
}

impl SessionState {
    /// What is to be done with a message of a session with sub-sessions.
    pub(super) fn keyed_message(
        &mut self,
        rules: &TwoPartyRules,
        sender: Sender,
        unread: &[u8],
        message: &Message<'_>,
        fields: &[FieldValue<'_>],
    ) -> Decision {
        let Some(monitor) = rules.calls.as_deref() else { return Action::ForwardAll.into() };
        let known = match message.label {
            Label::Known(id) => Some(id),
            Label::Unknown(_) => None,
        };
        let label = rules.codec.name(message.label);
        let key = key(rules, monitor, (sender, label, known), fields);
        let shown = shown(rules, message);
        let payload = Payload::Positional(fields);
        let said = Said { sender, message: known, label, shown: &shown, key: key.as_ref(), payload };
        let lane = monitor.lane(rules.side(sender), label, key.as_ref());
        let is_behind =
            self.calls.as_ref().is_some_and(|calls| calls.waiting.is_behind(rules.side(sender), &lane));
        let fate = if message.aside {
            Fate::Forward
        } else if is_behind {
            Fate::Wait
        } else {
            let fate = self.keyed_verdict(rules, monitor, &said);
            self.with_properties(rules, fate, (sender, message, fields))
        };
        if let Fate::Wait = fate {
            return Decision {
                action: self.keep(rules, sender, unread, message, (known, lane)),
                message: known,
            };
        }
        self.judged += u64::from(!message.aside);
        self.recent.push(rules, sender, known, fields, false);
        let action = match fate {
            Fate::Close(why) => Action::Close(why),
            fate => {
                let action = self.take(rules, sender, message, matches!(fate, Fate::Forward));
                match self.settle(rules, monitor, &lane) {
                    Some(why) => Action::Close(why),
                    None => action,
                }
            }
        };
        Decision { action, message: known }
    }

    /// Keeps a message until its turn comes.
    fn keep(
        &mut self,
        rules: &TwoPartyRules,
        sender: Sender,
        unread: &[u8],
        message: &Message<'_>,
        (known, lane): (Option<MessageId>, Lane),
    ) -> Action {
        let observes = rules.options.policy == Policy::Observe;
        let (Some(calls), Some(known)) = (self.calls.as_mut(), known) else { return Action::ForwardAll };
        let bytes = unread.get(..message.bytes).unwrap_or_default();
        let problem = if message.has_body {
            Some(BODY)
        } else {
            (calls.bytes + bytes.len() > rules.options.max_waiting).then_some(FULL)
        };
        if let Some(problem) = problem {
            self.note = Some(problem);
            if observes {
                self.stop_inspecting(problem);
                return Action::ForwardAll;
            }
            return Action::Close(EndReason::Fault);
        }
        calls.bytes += bytes.len();
        calls.waiting.push(rules.side(sender), lane, Kept { bytes: bytes.to_vec(), message: known });
        rules.codec.take(&mut self.connection, sender, message.after, true);
        // Where everything goes on at once, only the judging waits.
        if observes { Action::Forward(message.bytes) } else { Action::Keep(message.bytes) }
    }

    /// Judges a message: what becomes of it, and what is reported.
    fn keyed_verdict(&mut self, rules: &TwoPartyRules, monitor: &KeyedMonitor, said: &Said<'_>) -> Fate {
        let Some(calls) = self.calls.as_mut() else { return Fate::Forward };
        let side = rules.side(said.sender);
        let verdict = monitor.judge(&mut calls.session, side, said.label, said.key, said.payload);
        let policy = rules.options.policy;
        match verdict {
            KeyedVerdict::Forward | KeyedVerdict::Uncertain => Fate::Forward,
            KeyedVerdict::Early
                if policy == Policy::Observe && monitor.is_full(&calls.session, side, said.label) =>
            {
                // Beyond the bound a call is not judged.
                monitor.taint(&mut calls.session, side, said.label, said.key);
                Fate::Forward
            }
            KeyedVerdict::Early => Fate::Wait,
            KeyedVerdict::Violation(violation, wrong) => {
                let event = self.event(rules, said);
                let explained = match &self.calls {
                    Some(calls) => monitor.explain(&calls.session, (&violation, wrong), &event, said.key),
                    None => return Fate::Forward,
                };
                let consequence =
                    policy == Policy::Observe && self.let_through(rules, monitor, said, (violation, wrong));
                let action = match policy {
                    Policy::Halt => VerdictAction::Closed,
                    Policy::Drop => VerdictAction::Discarded,
                    Policy::Observe => VerdictAction::Forwarded,
                };
                self.report_call(rules, explained, said, (consequence, Some(action)));
                match policy {
                    Policy::Halt => Fate::Close(EndReason::Violation),
                    Policy::Drop => Fate::Discard,
                    Policy::Observe => Fate::Forward,
                }
            }
            KeyedVerdict::Fault(fault) => self.keyed_fault(rules, monitor, said, &fault),
        }
    }

    /// What becomes of a message that goes on, once the properties have seen it. Under *drop* there are none: see `plan`.
    fn with_properties(
        &mut self,
        rules: &TwoPartyRules,
        fate: Fate,
        (sender, message, fields): (Sender, &Message<'_>, &[FieldValue<'_>]),
    ) -> Fate {
        let fate = match (&fate, &rules.options.properties) {
            (Fate::Forward, Some(properties))
                if self.is_violated_by(
                    rules,
                    properties,
                    (sender, rules.options.policy),
                    message,
                    fields,
                ) && property_handling(rules.options.policy) == Handling::Close =>
            {
                Fate::Close(EndReason::Violation)
            }
            _ => fate,
        };
        if rules.options.record && !matches!(fate, Fate::Wait) {
            self.record(rules, (sender, matches!(fate, Fate::Forward)), message, fields);
        }
        fate
    }

    fn event<'a>(&self, rules: &TwoPartyRules, said: &Said<'a>) -> Event<'a> {
        let [from, to] = [said.sender, said.sender.other()].map(|sender| party(rules.side(sender)));
        Event { from, to, label: EventLabel::Text(said.shown), payload: said.payload }
    }

    /// What was wrong went on all the same. Whether something before it may be the cause.
    fn let_through(
        &mut self,
        rules: &TwoPartyRules,
        monitor: &KeyedMonitor,
        said: &Said<'_>,
        (violation, wrong): (Violation, Wrong),
    ) -> bool {
        let Some(calls) = self.calls.as_mut() else { return false };
        if !wrong.is_of_call() && !matches!(wrong, Wrong::NotOpen(_)) {
            return monitor.taint_parent(&mut calls.session, violation);
        }
        monitor.taint(&mut calls.session, rules.side(said.sender), said.label, said.key);
        !wrong.is_of_call() && monitor.parent(&calls.session).is_tainted()
    }

    fn keyed_fault(
        &mut self,
        rules: &TwoPartyRules,
        monitor: &KeyedMonitor,
        said: &Said<'_>,
        fault: &Fault,
    ) -> Fate {
        let event = self.event(rules, said);
        let parent = monitor.parent_monitor();
        if let Some(calls) = &self.calls {
            let explanation = parent.explain_fault(monitor.parent(&calls.session), fault, &event);
            let record = VerdictRecord { event: self.number(), ..VerdictRecord::from(&explanation) };
            self.report(rules, record, explanation.origin);
        }
        if rules.options.policy == Policy::Observe {
            self.stop_inspecting("a function gave no answer");
            return Fate::Forward;
        }
        Fate::Close(EndReason::Fault)
    }

    fn report_call(
        &mut self,
        rules: &TwoPartyRules,
        (mut explanation, sentence): (Explanation, String),
        said: &Said<'_>,
        (consequence, action): (bool, Option<VerdictAction>),
    ) {
        self.violations += 1;
        let redaction = &rules.options.redaction;
        let hides = !redaction.is_empty();
        redaction.apply(said.message, &mut explanation);
        let mut record = VerdictRecord::from(&explanation);
        // A sentence about a call names its key.
        if !hides {
            record.message = sentence;
        }
        record.key = said.key.map(|key| if hides { HIDDEN.to_owned() } else { key.shown() });
        (record.consequence, record.action, record.event) = (consequence, action, self.number());
        self.report(rules, record, explanation.origin);
    }

    /// The number of the message that is being judged, from 0.
    fn number(&self) -> i64 {
        i64::try_from(self.judged).unwrap_or(i64::MAX)
    }

    /// Something of `lane` went on: what waited for it goes on, too. Why the session is to be closed, if it is.
    fn settle(&mut self, rules: &TwoPartyRules, monitor: &KeyedMonitor, lane: &Lane) -> Option<EndReason> {
        let calls = self.calls.as_mut().filter(|calls| !calls.waiting.is_empty())?;
        let mut waiting = std::mem::take(&mut calls.waiting);
        let mut scratch = Scratch::default();
        let mut close = None;
        waiting.settle(lane.call(), |side, _, kept: &Kept| {
            if close.is_some() {
                return false;
            }
            let sender = Sender::BOTH.into_iter().find(|sender| rules.side(*sender) == side);
            let sender = sender.unwrap_or(Sender::Client);
            match self.offer(rules, monitor, sender, kept, &mut scratch) {
                Fate::Wait => return false,
                Fate::Close(why) => close = Some(why),
                Fate::Discard => {}
                Fate::Forward => {
                    self.progress += 1;
                    if let Some(calls) =
                        self.calls.as_mut().filter(|_| rules.options.policy != Policy::Observe)
                    {
                        calls.released[sender.index()].extend_from_slice(&kept.bytes);
                    }
                }
            }
            self.judged += 1;
            if let Some(calls) = &mut self.calls {
                calls.bytes -= kept.bytes.len();
            }
            true
        });
        if let Some(calls) = &mut self.calls {
            calls.waiting = waiting;
        }
        close
    }

    /// Judges a message that has waited.
    fn offer(
        &mut self,
        rules: &TwoPartyRules,
        monitor: &KeyedMonitor,
        sender: Sender,
        kept: &Kept,
        scratch: &mut Scratch,
    ) -> Fate {
        // What it says is read again: as when it came, but for what it is called.
        let mut connection = rules.codec.connection(Limits { message: rules.options.max_message });
        let side = rules.side(sender);
        let position = rules.ahead.position(&self.session, &self.lead, side);
        let reading = position.and_then(|position| rules.readings.at(sender, position));
        let reading = reading.unwrap_or_else(|| rules.readings.out_of_turn(sender));
        let mut fields = Fields::new();
        let step = rules.codec.decode(&mut connection, sender, &kept.bytes, reading, scratch, &mut fields);
        let label = rules.codec.name(Label::Known(kept.message));
        let fate = match step {
            Step::Message(message) => {
                let key = key(rules, monitor, (sender, label, Some(kept.message)), &fields);
                let payload = Payload::Positional(&fields);
                let known = Some(kept.message);
                let said = Said { sender, message: known, label, shown: label, key: key.as_ref(), payload };
                let fate = self.keyed_verdict(rules, monitor, &said);
                self.with_properties(rules, fate, (sender, &message, &fields))
            }
            _ => Fate::Close(EndReason::Fault),
        };
        drop(fields);
        scratch.clear();
        fate
    }

    /// What `sender` has sent before and may go on now, ahead of all that it says later.
    pub(super) fn released(&mut self, sender: Sender) -> Option<Vec<u8>> {
        let is_within = self.directions[sender.index()].is_within_forwarded();
        let released = &mut self.calls.as_mut()?.released[sender.index()];
        (!is_within && !released.is_empty()).then(|| std::mem::take(released))
    }

    /// `sender` has ended in a session with sub-sessions.
    pub(super) fn keyed_end(
        &mut self,
        rules: &TwoPartyRules,
        sender: Sender,
        unread: &[u8],
    ) -> Result<(), EndReason> {
        let (Some(monitor), Some(calls)) = (rules.calls.as_deref(), self.calls.as_mut()) else {
            return Ok(());
        };
        let DirectionState::Ended { within, reported: false } = self.directions[sender.index()] else {
            return Ok(());
        };
        let side = rules.side(sender);
        let leaves = self.connection.is_leaving(sender)
            || matches!(rules.codec.leave(sender), Leave::BetweenMessages | Leave::Anytime);
        let is_cut = within.is_some() || rules.codec.end(&mut self.connection, sender, unread).is_err();
        let is_first = calls.session.note_end(side);
        let owes = |sub: Option<usize>, state| {
            !leaves && (sub.is_none() || is_first) && rules.owes_in(sub, sender, state)
        };
        let mut found = monitor.end(&calls.session, side, owes);
        if is_cut && found.is_none() {
            found = monitor.end(&calls.session, side, |sub, _| sub.is_none());
        }
        let Some((violation, wrong)) = found else {
            if monitor.running(&calls.session) > 0 {
                self.note.get_or_insert(ABANDONED);
            }
            return Ok(());
        };
        let explanation = monitor.explain_end(&calls.session, (&violation, wrong), party(side));
        self.direction(sender).report_end();
        let sentence = explanation.to_string();
        let said = Said {
            sender,
            message: None,
            label: "",
            shown: "",
            key: None,
            payload: Payload::Positional(&[]),
        };
        let halts = rules.options.policy != Policy::Observe;
        self.report_call(
            rules,
            (explanation, sentence),
            &said,
            (false, halts.then_some(VerdictAction::Closed)),
        );
        if halts { Err(EndReason::Violation) } else { Ok(()) }
    }
}
