//! What an engine does when something happens.

use referee_theory::Role;
use smallvec::SmallVec;

use super::notice::{Breach, Notice, Rule};
use super::ruling::Wrong;
use super::run::{Arrival, Effect, Finding, Full, Known, Run, Status, Waiting};
use super::{Confirms, Dependencies, Duty, Engine};
use crate::deadline::TimeVerdict;
use crate::early::Lend;
use crate::event::{Event, EventLabel, Party, Payload};
use crate::labels::LabelId;
use crate::policy::{Handling, Policy};
use crate::verdict::{Kind, Side, Verdict};

/// Where effects go.
pub(super) type Out<'a, T> = &'a mut dyn FnMut(Effect<T>);

impl Engine {
    /// A new session. The component's side can take `room` messages before [`component_takes`](Self::component_takes)
    /// says that it can take more.
    #[must_use]
    pub fn run<T>(&self, room: u32) -> Run<T> {
        Run::new(self.monitor.session(), room)
    }

    /// Whether `run` has room for one more message of `from`.
    #[must_use]
    pub fn has_room<T>(&self, run: &Run<T>, from: Role) -> bool {
        run.waiting_of(Some(from)) < self.settings.capacity
    }

    /// The component sends `message` to `to`.
    ///
    /// # Errors
    /// Where what the component sends has to wait, and there is no more room: offer it again later.
    pub fn component_sends<T: Clone>(
        &self,
        run: &mut Run<T>,
        to: Party,
        message: T,
        lend: &impl Lend<T>,
        out: Out<'_, T>,
    ) -> Result<(), Full<T>> {
        if run.status == Status::Halted {
            return Ok(());
        }
        let untold = matches!(self.duty(run.session.state), Duty::Learn { .. });
        let hides = self.settings.dependencies == Dependencies::Hide;
        let waits = hides && (untold || run.waiting_of(None) > 0) && run.status == Status::Running;
        if waits && !self.is_hopeless(&message, lend) {
            if run.waiting_of(None) >= self.settings.capacity {
                return Err(Full(message));
            }
            let arrived = run.times.as_mut().and_then(|times| times.offered.take());
            run.waiting.push_back(Waiting::Held(to, message, arrived));
            return Ok(());
        }
        self.output(run, to, message, lend, out);
        self.pump(run, lend, out);
        Ok(())
    }

    /// Whether `message` is wrong whatever its sender's monitor will be told.
    pub fn is_hopeless<T>(&self, message: &T, lend: &impl Lend<T>) -> bool {
        let mut hopeless = false;
        lend.lend(message, &mut |event| {
            hopeless = match event.label {
                EventLabel::Text(label) => self.monitor.label(label) == LabelId::UNKNOWN,
                EventLabel::Known(label) => label == LabelId::UNKNOWN,
                EventLabel::Malformed(_) => true,
            };
        });
        hopeless
    }

    /// Something arrives from the monitor of `from`.
    ///
    /// # Errors
    /// Where it has to wait and `from` has as many waiting as it may: offer it again later.
    pub fn arrives<'a, T: Clone>(
        &self,
        run: &mut Run<T>,
        from: Role,
        arrival: Arrival<'a, T>,
        lend: &impl Lend<T>,
        out: Out<'_, T>,
    ) -> Result<(), Full<Arrival<'a, T>>> {
        if run.status == Status::Halted {
            return Ok(());
        }
        if !run.waiting.is_empty() && !self.has_room(run, from) {
            return Err(Full(arrival));
        }
        let waiting = match (arrival, self.settings.policy) {
            (Arrival::Wrong(_), Policy::Drop) => return Ok(()),
            (Arrival::Wrong(message), Policy::Observe) => {
                run.session.taint();
                run.adrift = true;
                Waiting::Wrong(from, message)
            }
            (Arrival::Misstep(message), Policy::Observe) => {
                Waiting::Message(from, message, Known { misstep: true, given: false })
            }
            (Arrival::Message(message) | Arrival::Misstep(message) | Arrival::Wrong(message), _) => {
                Waiting::Message(from, message, Known::default())
            }
            (Arrival::Dependency(label), _) => Waiting::Dependency(from, self.told.find(label).0),
        };
        if run.waiting.is_empty() && self.is_ready(run, from) && !waiting.is_wrong() {
            self.input(run, waiting, lend, out);
        } else {
            run.waiting.push_back(waiting);
        }
        self.pump(run, lend, out);
        Ok(())
    }

    /// The component's side can take `more` messages more.
    pub fn component_takes<T: Clone>(
        &self,
        run: &mut Run<T>,
        more: u32,
        lend: &impl Lend<T>,
        out: Out<'_, T>,
    ) {
        run.room = run.room.saturating_add(more);
        if !run.waiting.is_empty() {
            self.pump(run, lend, out);
        }
    }

    /// The component ends, or is gone: its connection closed, its process exited. Nobody else is to blame for it.
    pub fn component_ends<T: Clone>(&self, run: &mut Run<T>, lend: &impl Lend<T>, out: Out<'_, T>) {
        match run.status {
            Status::Running => {}
            Status::Lost => {
                run.status = Status::Finished;
                return out(Effect::Finished);
            }
            Status::Finished | Status::Halted => return,
        }
        run.gone = true;
        let untold = matches!(self.duty(run.session.state), Duty::Learn { .. });
        // A component that is not told cannot know that it has to wait.
        if !(untold && self.settings.dependencies == Dependencies::Hide) {
            self.end(run, out);
        } else {
            self.pump(run, lend, out);
        }
    }

    /// The component sends what cannot be read, nor anything after it. Where it was to go is not known, so that it can
    /// be neither left out nor let through: whatever the policy, the session ends.
    pub fn component_garbles<T>(&self, run: &mut Run<T>, why: &str, out: Out<'_, T>) {
        if matches!(run.status, Status::Running | Status::Lost) {
            let violation = self.violation(run, Kind::Malformed, Side::Process);
            let (from, to, payload) = (self.role.into(), Party::Stranger, Payload::Positional(&[]));
            let event = Event { from, to, label: EventLabel::Malformed(why), payload };
            let explained = self.in_words(self.monitor.explain(&run.session, &violation, &event));
            self.break_off(run, Kind::Malformed, Rule::ErrorOut, &explained, out);
        }
    }

    /// The monitor of another role tells of a violation (PAR-ERROR).
    pub fn told<T: Clone>(&self, run: &mut Run<T>, notice: &Notice, out: Out<'_, T>) {
        if run.status == Status::Halted {
            return;
        }
        out(Effect::Tell(Box::new(notice.clone())));
        if run.status != Status::Running {
            return;
        }
        if notice.halted {
            return self.halt(run);
        }
        run.session.taint();
        if !matches!(notice.breach, Breach::Kind(Kind::Type | Kind::Assertion | Kind::Malformed)) {
            run.adrift = true;
            self.hand_out(run, out);
        }
    }

    /// Whether the monitor can take what `from` sends now.
    fn is_ready<T>(&self, run: &Run<T>, from: Role) -> bool {
        if run.status == Status::Lost {
            return run.room > 0;
        }
        match self.duty(run.session.state) {
            Duty::Receive { from: expected } => *expected == from && (run.room > 0 || run.has_given(from)),
            Duty::Learn { from: expected, .. } => *expected == from && (run.room > 0 || !self.delivers()),
            Duty::Send | Duty::Inform { .. } | Duty::End => false,
        }
    }

    fn delivers(&self) -> bool {
        self.settings.dependencies != Dependencies::Hide
    }

    /// Does everything that can be done without anything further from outside.
    fn pump<T: Clone>(&self, run: &mut Run<T>, lend: &impl Lend<T>, out: Out<'_, T>) {
        while run.status == Status::Running {
            self.hand_out(run, out);
            match self.duty(run.session.state) {
                Duty::Inform { to, label, edge } => {
                    out(Effect::Inform { to: *to, label: *label });
                    self.monitor.follow(&mut run.session, *edge);
                }
                _ if run.gone && !matches!(self.duty(run.session.state), Duty::Learn { .. }) => {
                    return self.end(run, out);
                }
                _ if run.waiting.is_empty() => return,
                Duty::Receive { from } | Duty::Learn { from, .. } => {
                    let from = *from;
                    if !self.is_ready(run, from) {
                        return;
                    }
                    let Some(waiting) = run.take(Some(from)) else { return };
                    self.input(run, waiting, lend, out);
                }
                Duty::Send => match run.take(None) {
                    Some(held @ Waiting::Held(..)) => self.input(run, held, lend, out),
                    _ => return,
                },
                Duty::End => match run.take_first() {
                    Some(waiting) => self.input(run, waiting, lend, out),
                    None => return,
                },
            }
        }
        while run.status == Status::Lost
            && let Some(waiting) = run.take_any()
        {
            self.input(run, waiting, lend, out);
        }
    }

    /// Where everything is let through, nothing of that waits for a turn that may never come.
    fn hand_out<T: Clone>(&self, run: &mut Run<T>, out: Out<'_, T>) {
        while self.settings.policy == Policy::Observe
            && let Some((from, message)) = run.take_ahead(self.delivers())
        {
            self.deliver(run, from, message, out);
        }
    }

    /// MON-OUT or ERROR-OUT.
    fn output<T>(&self, run: &mut Run<T>, to: Party, message: T, lend: &impl Lend<T>, out: Out<'_, T>) {
        let (mut handling, mut finding) = (Handling::Forward, Finding::Right);
        let mut notice: Option<Box<Notice>> = None;
        let mut untimely = None;
        lend.lend(&message, &mut |event| {
            if run.status == Status::Lost {
                return;
            }
            let event = Event { from: Party::Role(self.role), to, ..*event };
            let number = run.session.events();
            untimely = match self.time_verdict(run, &event) {
                TimeVerdict::InTime => None,
                TimeVerdict::NoTime => Some(self.no_time(run)),
                TimeVerdict::Untimely(untimely) => Some(self.untimely(run, &untimely)),
            };
            if run.status == Status::Halted {
                handling = Handling::Close;
                return;
            }
            let verdict = self.step(run, &event);
            if verdict == Verdict::Forward {
                self.note_sent(run, &event);
            } else {
                let blamed = SmallVec::from_slice(&[self.role]);
                let wrong = Wrong { verdict, rule: Rule::ErrorOut, blamed, dependency: false, event, number };
                (handling, notice) = self.rule(run, wrong);
                if handling == Handling::Forward {
                    finding = self.let_through(run, &event, verdict);
                }
            }
        });
        if let Some(untimely) = untimely {
            out(untimely);
        }
        if let (Handling::Forward, Party::Role(to)) = (handling, to) {
            out(Effect::Send { to, message, finding });
        }
        if let Some(notice) = notice {
            out(Effect::Report(notice));
        }
    }

    /// MON-IN, ERROR-IN or ERROR-MON.
    fn input<T>(&self, run: &mut Run<T>, waiting: Waiting<T>, lend: &impl Lend<T>, out: Out<'_, T>) {
        match waiting {
            Waiting::Message(from, message, known) => {
                let mut handling = Handling::Forward;
                let mut notice = None;
                if !known.given {
                    self.note_given(run);
                }
                lend.lend(&message, &mut |event| {
                    if run.status == Status::Lost {
                        return;
                    }
                    let event = Event { from: Party::Role(from), to: Party::Role(self.role), ..*event };
                    let number = run.session.events();
                    // A dependency is no message, whatever the message is called.
                    let verdict = match self.duty(run.session.state) {
                        Duty::Learn { .. } => {
                            Verdict::Violation(self.violation(run, Kind::Order, Side::Environment))
                        }
                        _ => self.step(run, &event),
                    };
                    if verdict == Verdict::Forward {
                        self.note_received_message(run, &event);
                    }
                    if known.misstep && matches!(verdict, Verdict::Forward | Verdict::Violation(_)) {
                        run.session.taint();
                        self.let_through(run, &event, verdict);
                    } else if verdict != Verdict::Forward {
                        let blamed = SmallVec::from_slice(&[from]);
                        let wrong =
                            Wrong { verdict, rule: Rule::ErrorIn, blamed, dependency: false, event, number };
                        (handling, notice) = self.rule(run, wrong);
                        if handling == Handling::Forward {
                            self.let_through(run, &event, verdict);
                        }
                    }
                });
                if handling == Handling::Forward && !known.given {
                    self.deliver(run, from, message, out);
                }
                if let Some(notice) = notice {
                    out(Effect::Report(notice));
                }
            }
            Waiting::Wrong(from, message) => self.deliver(run, from, message, out),
            Waiting::Dependency(from, index) => self.learn(run, from, index, out),
            Waiting::Held(to, message, arrived) => {
                run.times.iter_mut().for_each(|times| times.offered = arrived);
                self.output(run, to, message, lend, out);
            }
        }
    }

    /// Steps over `event`. What reads a value that nobody knows is taken to hold.
    fn step<T>(&self, run: &mut Run<T>, event: &Event<'_>) -> Verdict {
        let verdict = self.monitor.step(&mut run.session, event);
        if run.unsure
            && let Verdict::Violation(violation) = verdict
            && violation.kind == Kind::Assertion
            && self.monitor.looks_back(violation.edge)
        {
            self.monitor.follow_wrong(&mut run.session, violation.edge, &event.payload);
            return Verdict::Forward;
        }
        verdict
    }

    fn deliver<T>(&self, run: &mut Run<T>, from: Role, message: T, out: Out<'_, T>) {
        run.room = run.room.saturating_sub(1);
        out(Effect::Deliver { from, message });
    }

    fn learn<T>(&self, run: &mut Run<T>, from: Role, index: u32, out: Out<'_, T>) {
        let told = self.told_as.get(index as usize).copied();
        if let (Status::Lost, told) = (run.status, told) {
            if let (true, Some((label, _))) = (self.delivers(), told) {
                run.room = run.room.saturating_sub(1);
                out(Effect::DeliverDependency { from, label });
            }
            return;
        }
        let label = told.map_or(LabelId::UNKNOWN, |(_, label)| label);
        let channel = self.incoming.get(from.index()).copied().unwrap_or(crate::Channel::UNCONCERNED);
        let duty = self.duty(run.session.state);
        let again = matches!(duty, Duty::Learn { after: Confirms::These(_), .. });
        let mut blamed: SmallVec<[Role; 2]> = SmallVec::from_slice(&[from]);
        let mut rule = Rule::ErrorIn;
        if let (Duty::Learn { after: Confirms::These(before), .. }, true) = (duty, told.is_some()) {
            // Who of the two is wrong cannot be seen from here.
            blamed.extend(before.iter().copied());
            rule = Rule::ErrorMon;
        }
        let number = run.session.events();
        let expects = matches!(duty, Duty::Learn { .. });
        let verdict = if expects {
            self.monitor.step_interned(&mut run.session, channel, label, Payload::Positional(&[]))
        } else {
            Verdict::Violation(self.violation(run, Kind::Order, Side::Environment))
        };
        if verdict == Verdict::Forward {
            let delivered = match self.settings.dependencies {
                Dependencies::Deliver => true,
                Dependencies::DeliverOnce => !again,
                Dependencies::Hide => false,
            };
            let shown = told.filter(|_| delivered);
            if shown.is_some() {
                self.note_given(run);
            }
            // Of two that say the same, the first is what the component knows it by.
            if shown.is_some() || !again {
                self.note_received(run, channel, label, shown.is_none());
            }
            if let Some((label, _)) = shown {
                run.room = run.room.saturating_sub(1);
                out(Effect::DeliverDependency { from, label });
            }
            return;
        }
        let text = told.map(|(label, _)| self.vocabulary().label_name(label));
        let label = text.map_or(EventLabel::Malformed("an unknown dependency"), EventLabel::Text);
        let (from, to, payload) = (Party::Role(from), Party::Role(self.role), Payload::Positional(&[]));
        let event = Event { from, to, label, payload };
        let (_, notice) = self.rule(run, Wrong { verdict, rule, blamed, dependency: true, event, number });
        run.adrift = true;
        if let Some(notice) = notice {
            out(Effect::Report(notice));
        }
    }

    /// MON-END or ERROR-END.
    fn end<T>(&self, run: &mut Run<T>, out: Out<'_, T>) {
        if matches!(self.duty(run.session.state), Duty::End) && run.waiting.iter().all(Waiting::is_wrong) {
            run.status = Status::Finished;
            return out(Effect::Finished);
        }
        let violation = self.violation(run, Kind::PrematureEnd, Side::Process);
        let explained = self.in_words(self.monitor.explain_end(&run.session, &violation, Party::Process));
        self.break_off(run, Kind::PrematureEnd, Rule::ErrorEnd, &explained, out);
    }
}
