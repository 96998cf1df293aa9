//! What a monitor says about an event: small values, made on the hot path. Prose is made of them by
//! [`Monitor::explain`](crate::Monitor::explain).

use std::fmt;

/// What a monitor says about an event.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Fine so far: the message goes on.
    Forward,
    /// Only with several peers: the message of this peer can come, but another peer's comes first. Channels
    /// from different peers are independent, so one may overtake the other without anybody being wrong.
    /// Nothing has changed; keep the message and offer it again after the next one that is forwarded, before
    /// any other of the same peer ([`Early`](crate::Early) does that).
    Early,
    /// Somebody broke the protocol. The session has not moved.
    Violation(Violation),
    /// The monitor cannot tell, and nobody is to blame but its configuration. The session has not moved.
    Fault(Fault),
}

/// A side of the session, as the monitor sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// The monitored process, P.
    Process,
    /// Its environment, E.
    Environment,
}

impl Side {
    /// The side opposite.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Process => Self::Environment,
            Self::Environment => Self::Process,
        }
    }
}

/// In which way the protocol was broken.
///
/// Of a message exactly one applies, the first of: after-end, malformed (an undecodable label), label, order, malformed
/// (an undecodable payload), type, assertion. A message that is right otherwise may be untimely: deadline, early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A label that the monitored role neither sends nor receives anywhere in the protocol.
    Label,
    /// A payload that is not of its message's types, or has too few, too many or misnamed fields.
    Type,
    /// The assertion of the message does not hold, or has no value (overflow, an index out of range, …).
    Assertion,
    /// A label of the protocol at the wrong time: not possible in this state, or sent by the wrong side, or
    /// to or from the wrong peer.
    Order,
    /// A side ended although it had something left to do.
    PrematureEnd,
    /// A message although the session is over, or from a side that has ended.
    AfterEnd,
    /// A message that could not be decoded.
    Malformed,
    /// A message that came too late, or did not come in time: `within`.
    Deadline,
    /// A message that came too early: `after`.
    Early,
}

impl Kind {
    /// The word for it in events and reports: `premature-end`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Label => "label",
            Self::Type => "type",
            Self::Assertion => "assertion",
            Self::Order => "order",
            Self::PrematureEnd => "premature-end",
            Self::AfterEnd => "after-end",
            Self::Malformed => "malformed",
            Self::Deadline => "deadline",
            Self::Early => "early",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The paper's rejection verdicts (ECOOP'21, Figure 6 and Section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rejection {
    /// The process is to blame.
    NoP,
    /// The environment is to blame.
    NoE,
    /// The process broke an assertion.
    NoPA,
    /// The environment broke an assertion.
    NoEA,
}

impl Rejection {
    /// `noP`, `noE`, `noP^A` or `noE^A`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NoP => "noP",
            Self::NoE => "noE",
            Self::NoPA => "noP^A",
            Self::NoEA => "noE^A",
        }
    }

    pub(crate) fn new(side: Side, assertion: bool) -> Self {
        match (side, assertion) {
            (Side::Process, false) => Self::NoP,
            (Side::Environment, false) => Self::NoE,
            (Side::Process, true) => Self::NoPA,
            (Side::Environment, true) => Self::NoEA,
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A violation, in 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// In which way the protocol was broken.
    pub kind: Kind,
    /// Who broke it: the sender, or who ended.
    pub side: Side,
    /// The field that is wrong, for [`Kind::Type`] and [`Kind::Malformed`]: [`NO_FIELD`] if it is the number
    /// of fields, or no field.
    pub(crate) field: u16,
    /// The state in which it happened.
    pub(crate) state: u32,
    /// The transition that was tried, or [`NO_EDGE`].
    pub(crate) edge: u32,
}

pub(crate) const NO_FIELD: u16 = u16::MAX;
pub(crate) const NO_EDGE: u32 = u32::MAX;

impl Violation {
    /// The paper's name for it.
    #[must_use]
    pub fn rejection(&self) -> Rejection {
        Rejection::new(self.side, self.kind == Kind::Assertion)
    }
}

/// Why a monitor cannot tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What is missing.
    pub kind: FaultKind,
    pub(crate) state: u32,
    pub(crate) edge: u32,
}

/// What a monitor would need to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// An external predicate gave no answer, or one of the wrong type.
    Predicate,
    /// More early messages than may be kept ([`Early`](crate::Early)).
    TooManyEarly,
    /// The event names no peer ([`Party::Environment`](crate::Party)), and several peers' messages fit.
    UnnamedPeer,
}
