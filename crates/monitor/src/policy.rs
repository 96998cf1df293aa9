//! Policies: what happens to a message that is wrong, and to its session afterwards.
//!
//! | | the wrong message | the session | later messages |
//! |---|---|---|---|
//! | halt | is not forwarded | is over: both sides are to be closed | are not forwarded, not judged, not counted |
//! | drop | is not forwarded | stays in its state, as if nothing had come | are judged on their own |
//! | observe | is forwarded | stays in its state and is *tainted* | are judged; what is wrong is a *consequence* |
//!
//! *Halt* is the paper's fail-fast. Under *drop* what gets through conforms to the protocol, so each violation
//! stands for itself. Under *observe* the sides may have gone on from the wrong message while the monitor has
//! not, so from the second violation on the first may be the cause of all; they are counted and flagged.
//!
//! A fault blames nobody and is not counted. But from then on the monitor does not know where the sides are, and
//! to judge what follows would blame the innocent: *halt* and *drop* close the session, *observe* forwards the
//! message and all that follow without judging them; the session is *lost*. An early message
//! ([`Verdict::Early`]) is to be kept and offered again.

use crate::event::{Event, Party};
use crate::monitor::Monitor;
use crate::session::{Mark, Session};
use crate::verdict::{Fault, Verdict, Violation};

/// What to do about violations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Stop the session.
    #[default]
    Halt,
    /// Suppress the wrong message and go on.
    Drop,
    /// Forward everything and report.
    Observe,
}

/// What to do with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Handling {
    /// Pass it on unchanged.
    Forward,
    /// Do not pass it on.
    Suppress,
    /// Do not pass it on, and close both sides.
    Close,
    /// Offer it again after the next message that is forwarded.
    Keep,
}

/// What to say about a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// Somebody broke the protocol.
    Violation {
        /// How.
        violation: Violation,
        /// Whether an earlier violation that was let through may be the cause.
        consequence: bool,
    },
    /// The monitor could not tell.
    Fault(Fault),
}

/// What a policy makes of a verdict.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// What to do with the message.
    pub handling: Handling,
    /// What to say about it.
    pub report: Option<Report>,
}

impl Monitor {
    /// Steps over `event` and applies `policy` to the verdict.
    #[inline]
    pub fn supervise(&self, policy: Policy, session: &mut Session, event: &Event<'_>) -> Ruling {
        if let Some(ruling) = settled(session) {
            return ruling;
        }
        let verdict = self.step(session, event);
        policy.rule(session, verdict)
    }

    /// Takes note of the end of `who` and applies `policy` to the verdict.
    pub fn supervise_end(&self, policy: Policy, session: &mut Session, who: Party) -> Ruling {
        if let Some(ruling) = settled(session) {
            return ruling;
        }
        let verdict = self.end(session, who);
        policy.rule(session, verdict)
    }
}

/// What to do with whatever comes in a session that is no longer judged.
#[inline]
fn settled(session: &Session) -> Option<Ruling> {
    match session.mark {
        Mark::Clean | Mark::Tainted => None,
        Mark::Halted => Some(Ruling { handling: Handling::Close, report: None }),
        Mark::Lost => Some(Ruling { handling: Handling::Forward, report: None }),
    }
}

impl Policy {
    /// The word for it in configurations and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Halt => "halt",
            Self::Drop => "drop",
            Self::Observe => "observe",
        }
    }

    /// What to do about `verdict`, which a step has just given for `session`.
    #[inline]
    pub fn rule(self, session: &mut Session, verdict: Verdict) -> Ruling {
        match verdict {
            Verdict::Forward => Ruling { handling: Handling::Forward, report: None },
            Verdict::Early => Ruling { handling: Handling::Keep, report: None },
            Verdict::Violation(violation) => self.rule_on(session, violation),
            Verdict::Fault(fault) => self.rule_on_fault(session, fault),
        }
    }

    #[cold]
    fn rule_on(self, session: &mut Session, violation: Violation) -> Ruling {
        let consequence = session.is_tainted();
        session.violations = session.violations.saturating_add(1);
        match self {
            Self::Halt => session.mark = Mark::Halted,
            Self::Drop => {}
            Self::Observe => session.mark = Mark::Tainted,
        }
        let report = Some(Report::Violation { violation, consequence });
        Ruling { handling: self.handling(), report }
    }

    #[cold]
    fn rule_on_fault(self, session: &mut Session, fault: Fault) -> Ruling {
        let (mark, handling) = match self {
            Self::Halt | Self::Drop => (Mark::Halted, Handling::Close),
            Self::Observe => (Mark::Lost, Handling::Forward),
        };
        session.mark = mark;
        Ruling { handling, report: Some(Report::Fault(fault)) }
    }

    fn handling(self) -> Handling {
        match self {
            Self::Halt => Handling::Close,
            Self::Drop => Handling::Suppress,
            Self::Observe => Handling::Forward,
        }
    }
}
