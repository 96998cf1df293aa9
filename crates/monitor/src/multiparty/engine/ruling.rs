//! What becomes of what is wrong: what the policy makes of it, who is told what, and where the session goes on.

use referee_theory::Role;
use smallvec::SmallVec;

use super::Engine;
use super::notice::{Breach, Notice, Rule};
use super::run::{Effect, Finding, Run, Status};
use super::step::Out;
use crate::event::{Event, Party};
use crate::explain::Explanation;
use crate::policy::{Handling, Policy, Report};
use crate::verdict::{Kind, NO_EDGE, NO_FIELD, Side, Verdict, Violation};

/// What is wrong, before it is ruled on.
pub(super) struct Wrong<'a> {
    pub(super) verdict: Verdict,
    pub(super) rule: Rule,
    pub(super) blamed: SmallVec<[Role; 2]>,
    /// Whether it is a dependency that is wrong.
    pub(super) dependency: bool,
    pub(super) event: Event<'a>,
    /// Which event of the session it is, from 0.
    pub(super) number: u64,
}

/// The sender and the receiver of `event`.
fn parties(event: &Event<'_>) -> SmallVec<[Role; 2]> {
    let role = |party: Party| match party {
        Party::Role(role) => Some(role),
        _ => None,
    };
    [event.from, event.to].into_iter().filter_map(role).collect()
}

impl Engine {
    /// What is wrong with `event` was let through. Where its label is one that is possible, that was the step, and
    /// everyone who sees it goes on from there; else nobody knows where the components go on from.
    pub(super) fn let_through<T>(&self, run: &mut Run<T>, event: &Event<'_>, verdict: Verdict) -> Finding {
        match verdict {
            Verdict::Violation(Violation {
                kind: Kind::Type | Kind::Assertion | Kind::Malformed,
                edge,
                ..
            }) if edge != NO_EDGE => {
                run.unsure |= !self.monitor.follow_wrong(&mut run.session, edge, &event.payload);
                Finding::Misstep
            }
            Verdict::Violation(_) => {
                run.adrift = true;
                Finding::Wrong
            }
            Verdict::Forward | Verdict::Early | Verdict::Fault(_) => Finding::Right,
        }
    }

    /// The component did what ends the session whatever the policy.
    pub(super) fn break_off<T>(
        &self,
        run: &mut Run<T>,
        kind: Kind,
        rule: Rule,
        explained: &Explanation,
        out: Out<'_, T>,
    ) {
        let notice = Notice {
            reporter: self.role,
            blamed: SmallVec::from_slice(&[self.role]),
            breach: Breach::Kind(kind),
            rule: Some(rule),
            state: Some(explained.state.clone()),
            origin: explained.origin,
            expected: explained.expected.iter().map(|expected| expected.signature.clone()).collect(),
            got: explained.got.clone(),
            assertion: None,
            values: Vec::new(),
            property: None,
            sentence: explained.to_string(),
            outline: self.outline(explained),
            parties: SmallVec::from_slice(&[self.role]),
            event: run.session.events(),
            consequence: run.session.is_tainted(),
            halted: true,
        };
        run.session.violations = run.session.violations.saturating_add(1);
        self.halt(run);
        out(Effect::Report(Box::new(notice)));
    }

    /// A violation where `run` stands that is not one of a field.
    pub(super) fn violation<T>(&self, run: &Run<T>, kind: Kind, side: Side) -> Violation {
        Violation { kind, side, field: NO_FIELD, state: run.session.state, edge: NO_EDGE }
    }

    /// What the policy makes of what is wrong, and what everyone is told.
    #[cold]
    pub(super) fn rule<T>(&self, run: &mut Run<T>, wrong: Wrong<'_>) -> (Handling, Option<Box<Notice>>) {
        let policy = match (self.settings.policy, wrong.rule) {
            // What has arrived cannot be left out any more: its sender's monitor has moved on.
            (Policy::Drop, Rule::ErrorIn | Rule::ErrorMon) => Policy::Halt,
            (policy, _) => policy,
        };
        let ruling = policy.rule(&mut run.session, wrong.verdict);
        let halted = ruling.handling == Handling::Close;
        let notice = ruling.report.map(|report| {
            Box::new(match report {
                Report::Violation { violation, consequence } => {
                    let explained =
                        self.in_words(self.monitor.explain(&run.session, &violation, &wrong.event));
                    let failure = explained.assertion.as_ref();
                    Notice {
                        reporter: self.role,
                        blamed: wrong.blamed,
                        breach: if wrong.dependency {
                            Breach::Dependency
                        } else {
                            Breach::Kind(violation.kind)
                        },
                        rule: Some(wrong.rule),
                        state: Some(explained.state.clone()),
                        origin: explained.origin,
                        expected: explained.expected.iter().map(|e| e.signature.clone()).collect(),
                        got: explained.got.clone(),
                        assertion: failure.map(|failure| failure.assertion.clone()),
                        values: failure.map(|failure| failure.values.clone()).unwrap_or_default(),
                        property: None,
                        sentence: explained.to_string(),
                        outline: self.outline(&explained),
                        parties: parties(&wrong.event),
                        event: wrong.number,
                        consequence,
                        halted,
                    }
                }
                Report::Fault(fault) => {
                    let explained = self.monitor.explain_fault(&run.session, &fault, &wrong.event);
                    let sentence = format!("nobody is to blame: {explained}");
                    Notice {
                        state: Some(explained.state),
                        origin: explained.origin,
                        outline: match &explained.assertion {
                            Some(failure) => {
                                format!("nobody is to blame: `{}` has no value", failure.failing)
                            }
                            None => sentence.clone(),
                        },
                        parties: parties(&wrong.event),
                        assertion: explained.assertion.map(|failure| failure.assertion),
                        ..Notice::fault(self.role, sentence, wrong.number, halted)
                    }
                }
            })
        });
        if ruling.handling == Handling::Close {
            self.halt(run);
        } else if run.session.is_lost() {
            run.status = Status::Lost;
        }
        (ruling.handling, notice)
    }

    pub(super) fn halt<T>(&self, run: &mut Run<T>) {
        run.status = Status::Halted;
        run.waiting = std::collections::VecDeque::new();
        run.session.forget();
    }
}
