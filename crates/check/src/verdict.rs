//! What a check concludes, and what the conclusion rests on.
//!
//! *When is a violation within the bound a violation of the system?* Within k, fewer things are possible
//! than without a bound: a message that cannot be received within k may be received once a send that was
//! blocked by a full channel is made. So a k-bounded violation counts only with a [`Ground`]: the bound
//! independence and exhaustivity conditions (CAV'19, Lemma 21), or that no send is blocked in anything
//! that can follow, or that nothing that can follow under any bound helps. Otherwise it is a failure of the
//! bound, and the answer is unknown. See `docs/theory.md`.

use referee_theory::{Role, State, Transition};

use crate::csa::Defect;
use crate::explore::Stop;
use crate::growth::Growth;
use crate::properties::Property;
use crate::witness::{Step, Witness};

/// Why sending states are not constrained by the bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutputGround {
    /// Every sending state sends to one peer (Proposition 1).
    SendDirected,
    /// (Reduced) k-OBI.
    OutputIndependent,
}

/// Why receiving states are decided by their environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InputGround {
    /// Every receiving state receives from one peer (Proposition 1).
    ReceiveDirected,
    /// (Reduced) k-SIBI.
    StrongInputIndependent,
    /// (Reduced) k-CIBI.
    ChainedInputIndependent,
}

/// The premises of Theorem 5 that hold at a bound, k-exhaustivity being one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Premises {
    /// Why sends are independent of the bound.
    pub output: OutputGround,
    /// Why receptions are.
    pub input: InputGround,
}

/// Why a k-bounded violation is a violation whatever the bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ground {
    /// The premises of Theorem 5 but for k-safety hold: Lemma 21.
    Premises(Premises),
    /// In everything that can follow within the bound no send is blocked, so nothing else can follow
    /// without a bound.
    NothingBlocked,
    /// Nothing that can follow helps even if channels had room for everything.
    NothingHelps,
    /// Without fairness: the witness ends with a loop in which everybody who could ever send moves.
    Repeated,
}

impl Ground {
    /// The code scripts see.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Premises(_) => "premises",
            Self::NothingBlocked => "nothing-blocked",
            Self::NothingHelps => "nothing-helps",
            Self::Repeated => "repeated",
        }
    }
}

/// Why a system is safe for every bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SafeGround {
    /// It is k-multiparty compatible (Theorem 5).
    Compatible(Premises),
    /// Everything was explored: within the bound no send is ever blocked, so no bound adds anything.
    Complete,
    /// Each block of each `par` is safe, by itself and in its place, and there are two roles.
    Blocks,
    /// Only within the bound, where there may be faults: nothing is said of others.
    Bounded,
}

/// All of a system was explored: no reachable configuration has a role before a full channel on which it could
/// send, so that there are no others, whatever the bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Completeness {
    /// The least bound tried at which this is so.
    pub k: u32,
    /// The most messages that are ever in one channel or mailbox.
    pub largest_queue: u32,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The system is not made of communicating session automata, is not finite within the bounds tried, and no
    /// violation was found.
    NotSessionAutomata(Defect),
    /// Mailbox semantics: no theorem lifts what holds within a bound, and not all was explored.
    Mailbox,
    /// A premise of Theorem 5 fails at the largest bound tried; the witness shows where.
    Premise(Box<Witness>),
    /// k-CIBI was too much to decide; the witness shows where k-SIBI fails.
    ChainTooLong(Box<Witness>),
    /// k-safety fails, but only perhaps because of the bound.
    Bound(Box<Witness>),
    /// The exploration was stopped.
    Stopped {
        /// Why.
        stop: Stop,
        /// At which bound.
        k: u32,
    },
    /// Algorithm 1 as printed reports a violation that the unreduced system does not have.
    FalseAlarm {
        /// At which bound.
        k: u32,
    },
    /// No bound was tried.
    NoBound,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Safe for every bound.
    Safe {
        /// The least bound tried that shows it.
        k: u32,
        /// Why.
        ground: SafeGround,
    },
    /// A real execution reaches a configuration that violates safety whatever the bound.
    Unsafe {
        /// The bound within which the execution stays.
        k: u32,
        /// Why the bound does not matter.
        ground: Ground,
        /// The execution.
        witness: Box<Witness>,
        /// Executions to violations of other kinds and roles.
        others: Vec<Witness>,
    },
    /// No answer within the bounds given.
    Unknown {
        /// Why.
        reason: Reason,
        /// In words.
        explanation: String,
        /// What to change, in the protocol or in the call.
        advice: String,
        /// A loop that fills a channel for ever, where one was found.
        growth: Option<Box<Growth>>,
    },
}

impl Reason {
    /// The code scripts see.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotSessionAutomata(Defect::Mixed { .. }) => "mixed-state",
            Self::NotSessionAutomata(Defect::Nondeterministic { .. }) => "nondeterministic",
            Self::Mailbox => "mailbox",
            Self::Premise(witness) => match witness.property {
                Property::OutputIndependence => "obi",
                Property::StrongInputIndependence => "sibi",
                Property::ChainedInputIndependence => "cibi",
                _ => "exhaustive",
            },
            Self::ChainTooLong(_) => "cibi-undecided",
            Self::Bound(_) => "bound",
            Self::Stopped { .. } => "limit",
            Self::FalseAlarm { .. } => "paper-reduction",
            Self::NoBound => "no-bound",
        }
    }

    /// The actions it is about, where it is about actions.
    #[must_use]
    pub fn actions(&self) -> Vec<Step> {
        match self {
            Self::NotSessionAutomata(defect) => defect.steps().to_vec(),
            Self::Premise(witness) | Self::ChainTooLong(witness) | Self::Bound(witness) => {
                witness.failure.actions()
            }
            Self::Mailbox | Self::Stopped { .. } | Self::FalseAlarm { .. } | Self::NoBound => Vec::new(),
        }
    }
}

impl Verdict {
    /// `safe`, `unsafe` or `unknown`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Safe { .. } => "safe",
            Self::Unsafe { .. } => "unsafe",
            Self::Unknown { .. } => "unknown",
        }
    }

    /// The execution that shows why the answer is not "safe".
    #[must_use]
    pub fn witness(&self) -> Option<&Witness> {
        match self {
            Self::Safe { .. } => None,
            Self::Unsafe { witness, .. } => Some(witness),
            Self::Unknown { reason, .. } => match reason {
                Reason::Premise(witness) | Reason::ChainTooLong(witness) | Reason::Bound(witness) => {
                    Some(witness)
                }
                _ => None,
            },
        }
    }
}

/// The role and state a [`Defect`] is about.
impl Defect {
    /// Whose machine.
    #[must_use]
    pub fn role(&self) -> Role {
        match *self {
            Self::Mixed { role, .. } | Self::Nondeterministic { role, .. } => role,
        }
    }

    /// Which state.
    #[must_use]
    pub fn state(&self) -> State {
        match *self {
            Self::Mixed { state, .. } | Self::Nondeterministic { state, .. } => state,
        }
    }

    /// The two transitions that are the defect.
    fn steps(&self) -> [Step; 2] {
        let (Self::Mixed { send: first, receive: second, .. }
        | Self::Nondeterministic { transitions: [first, second], .. }) = *self;
        let (role, source) = (self.role(), self.state());
        [first, second].map(|Transition { action, peer, message, target, origin }| Step {
            role,
            action,
            peer,
            message,
            source,
            target,
            origin,
            fault: None,
        })
    }
}
