//! The judge of one session: which bytes go on, which wait, which do not, and what is said about it.
//!
//! No I/O here: bytes come in as slices, answers go out as [`Look`]s. The relay does what they say.

mod account;
mod loan;
mod recent;

use std::borrow::Cow;
use std::sync::Arc;
use std::task::Waker;

use referee_monitor::{
    Channel, Event, EventLabel, Handling, LabelId, Lead, Party, Payload, Policy, Report as Verdicts, Ruling,
    Session, Side, Verdict,
};
use referee_wire::{Connection, Fields, Label, Leave, Limits, Message, Reading, Scratch, Sender, Step};

use crate::config::AtLimit;
use crate::guard::Version;
use crate::keyed::Sessions;
use crate::metrics::{Counters, MessageCounters};
use crate::plan::Plan;
use crate::property::Observed;
use crate::report::{EndReason, Report};
use loan::Borrowed;
use recent::Recent;

/// Why bytes are wrong that came between the question for something else, such as TLS, and its answer.
const AHEAD_OF_THE_SWITCH: &str =
    "sent before the other side had answered whether something else is to be spoken from there on";
const ABORTED: &str = "a side broke off within a message, which its codec allows";
const UNANSWERED: &str = "the server closed instead of answering, which its codec allows";

/// What to do with the first bytes of one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// So many go on.
    Forward(usize),
    /// So many do not.
    Discard(usize),
    /// They say nothing before there are so many.
    More(usize),
    /// They wait until the other side has said something.
    Hold,
    /// They wait until the task is woken: another connection has their session.
    Wait,
    /// They and all that follow go on without being looked at.
    Everything,
    /// The session is to be closed, for this reason.
    Close(EndReason),
}

/// The judge of one session: what it goes by, and the case. Apart, so that judging need not touch the counter of those
/// who share the plan.
pub(crate) struct Judge {
    pub(crate) plan: Arc<Plan>,
    case: Case,
}

/// What has happened in a session.
pub(crate) struct Case {
    pub(crate) id: u64,
    pub(crate) source: String,
    pub(crate) counters: Arc<Counters>,
    messages: Arc<MessageCounters>,
    sessions: Option<Arc<Sessions>>,
    thread: usize,
    session: Session,
    lead: Lead,
    connection: Connection,
    /// Which session it is, where messages say so.
    borrowed: Borrowed,
    recent: Recent,
    observed: Observed,
    flows: [Flow; 2],
    inspecting: bool,
    /// Goes up with everything that is forwarded: what was held may then be looked at again.
    pub(crate) version: u64,
    pub(crate) judged: u64,
    pub(crate) violations: u64,
    /// What is to be told.
    pub(crate) reports: Vec<Report>,
    pub(crate) note: Option<&'static str>,
    /// The server closed when it was its turn, and may.
    pub(crate) unanswered: bool,
}

/// One direction.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    /// How much of the body of the last message is still to come, and whether it goes on.
    body: u64,
    discards: bool,
    /// More of the last message is to come.
    within: bool,
    /// The last message ends with what is left of its body.
    last: bool,
    /// The codec's number of the last message.
    message: Option<usize>,
    /// Something was held here while the session was not over.
    held: bool,
    /// What is held came after all that its sender may say: it can only be wrong.
    is_late: bool,
    /// The other side was asked for something that cannot be read, and has not answered.
    asked: bool,
    ended: bool,
    /// It says nothing more.
    left: bool,
}

impl Judge {
    pub(crate) fn new(
        version: &Version,
        id: u64,
        source: String,
        counters: &Arc<Counters>,
        thread: usize,
    ) -> Self {
        let plan = &version.plan;
        let case = Case {
            id,
            source,
            counters: Arc::clone(counters),
            messages: Arc::clone(&version.messages),
            sessions: version.sessions.clone(),
            thread,
            session: plan.protocol.monitor.session(),
            lead: Lead::default(),
            connection: plan.codec.connection(Limits { message: plan.limits.message.0 }),
            borrowed: Borrowed::default(),
            recent: Recent::default(),
            observed: Observed::default(),
            flows: [Flow::default(); 2],
            inspecting: true,
            version: 0,
            judged: 0,
            violations: 0,
            reports: Vec::new(),
            note: None,
            unanswered: false,
        };
        Self { plan: Arc::clone(plan), case }
    }

    /// What to do with `unread`, which is not empty: all that `sender` has sent and nobody has decided about.
    pub(crate) fn look(
        &mut self,
        sender: Sender,
        unread: &[u8],
        scratch: &mut Scratch,
        waker: &Waker,
    ) -> Look {
        self.case.look(&self.plan, sender, unread, scratch, waker)
    }

    /// `sender` will say nothing more, and `unread` is what it left unfinished. Whether the session may go on.
    pub(crate) fn end(&mut self, sender: Sender, unread: &[u8]) -> Result<(), EndReason> {
        self.case.end(&self.plan, sender, unread)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.plan.protocol.monitor.is_over(&self.case.session)
    }
}

impl std::ops::Deref for Judge {
    type Target = Case;

    fn deref(&self) -> &Case {
        &self.case
    }
}

impl std::ops::DerefMut for Judge {
    fn deref_mut(&mut self) -> &mut Case {
        &mut self.case
    }
}

impl Case {
    /// From now on everything goes on without being looked at.
    pub(crate) fn stop_inspecting(&mut self, note: &'static str) {
        self.counters.unchecked.add(u64::from(self.inspecting));
        self.inspecting = false;
        self.note = Some(note);
        self.version += 1;
    }

    /// Whether what `sender` says is in the middle of a message that goes on.
    pub(crate) fn is_within_message(&self, sender: Sender) -> bool {
        let flow = self.flows[sender.index()];
        flow.within && !flow.discards
    }

    pub(crate) fn is_inspecting(&self) -> bool {
        self.inspecting
    }

    fn look(
        &mut self,
        plan: &Plan,
        sender: Sender,
        unread: &[u8],
        scratch: &mut Scratch,
        waker: &Waker,
    ) -> Look {
        if !self.inspecting {
            return Look::Everything;
        }
        let side = plan.side(sender);
        loop {
            let flow = &mut self.flows[sender.index()];
            if flow.body > 0 {
                let now = unread.len().min(usize::try_from(flow.body).unwrap_or(usize::MAX));
                flow.body -= now as u64;
                flow.within &= !(flow.last && flow.body == 0);
                return if flow.discards { Look::Discard(now) } else { Look::Forward(now) };
            }
            if flow.asked {
                if self.connection.is_transparent() && flow.held {
                    // Said in this protocol, it would be taken for something said in the next.
                    return self.malformed(plan, sender, side, AHEAD_OF_THE_SWITCH);
                }
                if !self.lead.is_empty() || !plan.ahead.is_turn(&self.session, side) {
                    return self.hold(plan, sender);
                }
                flow.asked = false;
            }
            if flow.held && !flow.is_late && plan.protocol.monitor.is_over(&self.session) {
                // The other side has ended the session. Sent before that could be known: neither wanted nor wrong.
                return Look::Discard(unread.len());
            }
            let early = plan.may_be_early.get(sender.index()).copied().unwrap_or(false)
                && (plan.ahead.is_turn(&self.session, side)
                    || plan.protocol.can_end(self.session.state())
                    // What can never have its turn is wrong now, for no end will show it.
                    || plan.ahead.may_speak(&self.session, &self.lead, side));
            let unknown = plan.spans && sender == Sender::Client && !self.borrowed.is_active();
            // The rest of a message is read whoever is to speak next.
            let reading = if unknown || self.session.is_tainted() || self.flows[sender.index()].within {
                Some(Reading::anything())
            } else if !early && !plan.ahead.is_turn(&self.session, side) {
                Some(plan.readings.out_of_turn(sender))
            } else {
                let position = plan.ahead.position(&self.session, &self.lead, side);
                position.and_then(|position| plan.readings.at(sender, position))
            };
            let reading = match reading {
                Some(reading) => reading,
                None if early => return self.hold(plan, sender),
                None => plan.readings.out_of_turn(sender),
            };
            let mut fields = Fields::new();
            let step = plan.codec.decode(&mut self.connection, sender, unread, reading, scratch, &mut fields);
            let look = match step {
                Step::More { at_least } => Look::More(at_least.max(unread.len() + 1)),
                Step::Wait => self.hold(plan, sender),
                Step::Message(message) if unknown && !message.aside => {
                    match self.borrow(plan, message.session, waker) {
                        // Now it is known in which state it comes, and so how to read it.
                        Ok(()) => continue,
                        Err(look) => look,
                    }
                }
                Step::Message(message) if self.is_of_another(plan, sender, &message) => {
                    self.hold(plan, sender)
                }
                Step::Message(message) => {
                    let look = self.message(plan, sender, side, early, &message, &fields);
                    if sender == Sender::Server && matches!(look, Look::Forward(_)) {
                        self.answered(plan, message.session);
                    }
                    look
                }
                Step::Body { bytes, last } => {
                    let flow = &mut self.flows[sender.index()];
                    (flow.body, flow.last) = (bytes, last);
                    flow.within &= !(last && bytes == 0);
                    continue;
                }
                Step::Malformed(malformed) if malformed.too_long => self.too_long(plan),
                Step::Malformed(malformed) => self.malformed(plan, sender, side, &malformed.reason),
                Step::Transparent => {
                    self.stop_inspecting("the sides agreed on something that cannot be read");
                    Look::Everything
                }
            };
            drop(fields);
            scratch.clear();
            return look;
        }
    }

    fn hold(&mut self, plan: &Plan, sender: Sender) -> Look {
        let flow = &mut self.flows[sender.index()];
        if !flow.held {
            // Now, because what the other side says later its sender could not know.
            let may_speak = plan.ahead.may_speak(&self.session, &self.lead, plan.side(sender));
            (flow.held, flow.is_late) = (true, !plan.spans && !may_speak);
        }
        Look::Hold
    }

    #[inline]
    fn message(
        &mut self,
        plan: &Plan,
        sender: Sender,
        side: Side,
        early: bool,
        message: &Message<'_>,
        fields: &Fields<'_>,
    ) -> Look {
        let index = match message.label {
            Label::Known(id) => Some(id.index()),
            Label::Unknown(_) => None,
        };
        let payload = Payload::Positional(fields);
        // A message that only a property suppresses has not happened.
        let before = (plan.properties.is_some() && plan.policy == Policy::Drop)
            .then(|| (self.session.clone(), self.lead.clone()));
        let mut ruling = if message.aside || self.borrowed.is_lost() {
            Ruling { handling: Handling::Forward, report: None }
        } else {
            let label = index.and_then(|index| plan.labels.get(index)).copied().unwrap_or(LabelId::UNKNOWN);
            let verdict = self.verdict(plan, side, early, label, payload);
            plan.policy.rule(&mut self.session, verdict)
        };
        if ruling.handling == Handling::Keep {
            return self.hold(plan, sender);
        }
        self.judged += 1;
        if let Some(index) = index {
            self.messages.count(self.thread, index);
        }
        let is_fault = matches!(ruling.report, Some(Verdicts::Fault(_)));
        let misfits = ruling.report.is_some();
        if let Some(report) = ruling.report {
            let text = shown(plan, message);
            let event = event(side, EventLabel::Text(&text), payload);
            self.tell(plan, index, (report, ruling.handling), &event, None);
        }
        self.recent.push(sender, index, fields, &plan.redaction, misfits);
        if let (Some(properties), Handling::Forward) = (&plan.properties, ruling.handling)
            && self.is_violated_by(plan, properties, sender, message, fields)
        {
            ruling.handling = property_handling(plan.policy);
            if let (Some((session, lead)), Handling::Suppress) = (before, ruling.handling) {
                (self.session, self.lead) = (session, lead);
            }
        }
        let forwarded = ruling.handling == Handling::Forward;
        if ruling.handling == Handling::Close {
            return Look::Close(if is_fault { EndReason::Fault } else { EndReason::Violation });
        }
        plan.codec.take(&mut self.connection, sender, message.after, forwarded);
        let flow = &mut self.flows[sender.index()];
        (flow.discards, flow.held, flow.within) = (!forwarded, false, message.has_body);
        flow.message = index;
        flow.asked = forwarded && matches!(message.label, Label::Known(id) if plan.readings.asks(id));
        if is_fault {
            // Where the sides are now nobody knows: whatever is said of what follows could blame the innocent.
            self.stop_inspecting("a function gave no answer");
        }
        if forwarded {
            self.version += 1;
            Look::Forward(message.bytes)
        } else {
            Look::Discard(message.bytes)
        }
    }

    #[inline]
    fn verdict(
        &mut self,
        plan: &Plan,
        side: Side,
        early: bool,
        label: LabelId,
        payload: Payload<'_>,
    ) -> Verdict {
        let monitor = &plan.protocol.monitor;
        // What the protocol has nowhere is wrong whenever it comes.
        let waits = early && label != LabelId::UNKNOWN;
        if waits || plan.ahead.is_turn(&self.session, side) {
            return plan.ahead.judge(monitor, &mut self.session, &mut self.lead, side, label, payload);
        }
        let channel: Channel = plan.ahead.channel(side);
        monitor.step_interned(&mut self.session, channel, label, payload)
    }

    /// The guard's own limit is reached: nobody is to blame.
    #[cold]
    fn too_long(&mut self, plan: &Plan) -> Look {
        match (plan.at_limit, plan.policy) {
            (AtLimit::Open, _) | (_, Policy::Observe) => {
                self.stop_inspecting("a message was longer than the limit");
                Look::Everything
            }
            (AtLimit::Closed, _) => {
                self.note = Some("a message was longer than the limit");
                Look::Close(EndReason::MessageLimit)
            }
        }
    }

    #[cold]
    fn malformed(&mut self, plan: &Plan, sender: Sender, side: Side, reason: &str) -> Look {
        let event = event(side, EventLabel::Malformed(reason), Payload::Malformed(reason));
        let ruling = plan.protocol.monitor.supervise(plan.policy, &mut self.session, &event);
        self.judged += 1;
        if let Some(report) = ruling.report {
            self.tell(plan, None, (report, ruling.handling), &event, Some(reason));
        }
        match ruling.handling {
            // Where the next message begins cannot be told.
            Handling::Forward => {
                self.stop_inspecting("something could not be decoded");
                Look::Everything
            }
            Handling::Keep => self.hold(plan, sender),
            Handling::Suppress | Handling::Close => Look::Close(EndReason::Violation),
        }
    }

    fn end(&mut self, plan: &Plan, sender: Sender, unread: &[u8]) -> Result<(), EndReason> {
        let side = plan.side(sender);
        let monitor = &plan.protocol.monitor;
        let spans = plan.spans;
        self.flows[sender.index()].left = true;
        if !self.inspecting || spans || self.session.is_halted() || self.flows[sender.index()].ended {
            return Ok(());
        }
        // A body that goes on until the end has come to it, unless something of it is still to be passed on.
        let may_abandon = plan.codec.may_abandon(&self.connection, sender);
        let unsent = self.flows[sender.index()].body > 0 && !may_abandon;
        let broken = plan.codec.end(&mut self.connection, sender, unread).err();
        let cut = broken.is_some() || unsent;
        if !cut {
            let is_turn = plan.ahead.is_turn(&self.session, side);
            if !is_turn && !self.lead.is_empty() {
                // It has said more than the session has come to; look again later.
                return Ok(());
            }
            let probe = self.session.events() == 0;
            let leaves = self.connection.is_leaving(sender)
                || match plan.codec.leave(sender) {
                    Leave::Never => false,
                    // Nor does it owe anything to whom has left.
                    Leave::Idle => !is_turn || self.flows[sender.other().index()].left,
                    Leave::BetweenMessages | Leave::Anytime => true,
                };
            let owes = plan.protocol.owes(sender.index(), self.session.state());
            if probe || leaves || !owes {
                // Allowed, but perhaps not what the other side hoped for.
                let announced = self.connection.is_leaving(sender);
                if is_turn
                    && !probe
                    && !announced
                    && sender == Sender::Server
                    && !monitor.is_over(&self.session)
                {
                    self.unanswered = true;
                    self.note.get_or_insert(UNANSWERED);
                }
                if self.flows[sender.index()].within || !unread.is_empty() {
                    self.note.get_or_insert(ABORTED);
                }
                return Ok(());
            }
        }
        self.flows[sender.index()].ended = true;
        let ruling = monitor.supervise_end(plan.policy, &mut self.session, party(side));
        if let Some(report) = ruling.report {
            self.tell_end(plan, sender, (report, ruling.handling), cut);
        }
        if ruling.handling == Handling::Close { Err(EndReason::Violation) } else { Ok(()) }
    }
}

/// What `message` may be called in reports.
fn shown<'a>(plan: &'a Plan, message: &Message<'a>) -> Cow<'a, str> {
    let text = plan.codec.name(message.label);
    match message.label {
        Label::Known(_) => text.into(),
        Label::Unknown(_) => plan.redaction.show(text, message.bytes),
    }
}

/// What becomes of a message that violates a property.
fn property_handling(policy: Policy) -> Handling {
    match policy {
        Policy::Halt => Handling::Close,
        Policy::Drop => Handling::Suppress,
        Policy::Observe => Handling::Forward,
    }
}

fn party(side: Side) -> Party {
    match side {
        Side::Process => Party::Process,
        Side::Environment => Party::Environment,
    }
}

fn event<'a>(side: Side, label: EventLabel<'a>, payload: Payload<'a>) -> Event<'a> {
    Event { from: party(side), to: party(side.other()), label, payload }
}
