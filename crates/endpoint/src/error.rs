//! What can go wrong in a session, and whose fault it is.

use alloc::string::String;
use core::fmt;
use core::time::Duration;

use crate::link::{Expect, Peer};

/// Why an expression of the protocol has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It is not defined for these values: an overflow, a division by zero, an index outside its list, a failed conversion.
    Undefined,
    /// A predicate of the program has no answer.
    Predicate {
        /// Its name.
        name: &'static str,
        /// Its reason.
        reason: String,
    },
}

/// Why a session cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// This program wants to send what the protocol forbids. Nothing has left.
    Refused {
        /// The label.
        label: &'static str,
        /// The assertion that does not hold.
        assertion: &'static str,
    },
    /// A peer has sent what the protocol forbids.
    Assertion {
        /// The peer.
        from: &'static str,
        /// The label.
        label: &'static str,
        /// The assertion that does not hold.
        assertion: &'static str,
    },
    /// A peer has sent a message that is not awaited.
    Unexpected {
        /// The peer.
        from: &'static str,
        /// The label it sent.
        label: String,
        /// What is awaited.
        expected: &'static [Expect],
    },
    /// A field of a peer's message has not its type.
    WrongType {
        /// The peer.
        from: &'static str,
        /// The label.
        label: &'static str,
        /// The field.
        field: &'static str,
    },
    /// A peer has sent something that is no message.
    Malformed {
        /// The peer.
        from: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A peer has ended the session before its end.
    Ended {
        /// The peer.
        by: &'static str,
    },
    /// No message has begun to arrive in its time. Nobody is blamed: how long what was sent is on its way is not known here.
    Late {
        /// The peer whose turn it is, or one of them.
        by: &'static str,
        /// How long was waited.
        within: Duration,
    },
    /// A predicate of this program has no answer: nobody is to blame.
    Predicate {
        /// Its name.
        name: &'static str,
        /// Its reason.
        reason: String,
    },
    /// The connection to a peer failed.
    Transport {
        /// The peer.
        peer: &'static str,
        /// What the system says.
        reason: String,
    },
    /// A blocking link cannot wait for several connections at once; those between threads and the asynchronous ones can.
    SeveralPeers {
        /// What is awaited.
        expected: &'static [Expect],
    },
}

impl Error {
    /// The peer that broke the protocol, if one did.
    #[must_use]
    pub fn blame(&self) -> Option<&'static str> {
        match self {
            Self::Assertion { from, .. }
            | Self::Unexpected { from, .. }
            | Self::WrongType { from, .. }
            | Self::Malformed { from, .. }
            | Self::Ended { by: from } => Some(from),
            Self::Refused { .. }
            | Self::Late { .. }
            | Self::Predicate { .. }
            | Self::Transport { .. }
            | Self::SeveralPeers { .. } => None,
        }
    }

    /// A message that is not awaited.
    #[must_use]
    pub fn unexpected(from: usize, label: &str, expected: &'static [Expect]) -> Self {
        let known = expected.iter().find(|expect| expect.from.index == from);
        Self::Unexpected { from: known.map_or("", |expect| expect.from.name), label: label.into(), expected }
    }
}

impl Failure {
    /// What it means for a message that this program wants to send.
    #[must_use]
    pub fn on_send(self, label: &'static str, assertion: &'static str) -> Error {
        match self {
            Self::Undefined => Error::Refused { label, assertion },
            Self::Predicate { name, reason } => Error::Predicate { name, reason },
        }
    }

    /// What it means for a message that `from` has sent.
    #[must_use]
    pub fn on_receive(self, from: Peer, label: &'static str, assertion: &'static str) -> Error {
        match self {
            Self::Undefined => Error::Assertion { from: from.name, label, assertion },
            Self::Predicate { name, reason } => Error::Predicate { name, reason },
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { label, assertion } => {
                write!(f, "`{label}` was not sent: `{assertion}` does not hold")
            }
            Self::Assertion { from, label, assertion } => {
                write!(f, "{from} sent `{label}` although `{assertion}` does not hold")
            }
            Self::Unexpected { from, label, expected } => {
                write!(f, "{from} sent `{label}`; expected ")?;
                list(f, expected)
            }
            Self::WrongType { from, label, field } => {
                write!(f, "{from} sent `{label}` with a `{field}` of the wrong type")
            }
            Self::Malformed { from, reason } => write!(f, "{from} sent what is no message: {reason}"),
            Self::Ended { by } => write!(f, "{by} ended the session before its end"),
            Self::Late { by, within } => write!(f, "{by} sent nothing within {within:?}"),
            Self::Predicate { name, reason } => write!(f, "`{name}` has no answer: {reason}"),
            Self::Transport { peer, reason } => write!(f, "the connection to {peer} failed: {reason}"),
            Self::SeveralPeers { expected } => {
                f.write_str("a blocking link cannot wait for several connections at once; awaited are ")?;
                list(f, expected)
            }
        }
    }
}

fn list(f: &mut fmt::Formatter<'_>, expected: &[Expect]) -> fmt::Result {
    for (i, expect) in expected.iter().enumerate() {
        let comma = if i == 0 { "" } else { ", " };
        write!(f, "{comma}`{}` from {}", expect.label, expect.from.name)?;
    }
    Ok(())
}

impl core::error::Error for Error {}
