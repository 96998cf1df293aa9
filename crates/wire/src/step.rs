//! What a codec says about the next bytes of one side: see [`Step`].

use std::borrow::Cow;
use std::fmt;

use bumpalo::Bump;
use referee_monitor::FieldValue;
use smallvec::SmallVec;

use crate::connection::{Body, Effect};
use crate::signature::MessageId;

/// The fields of a message, in the order of the protocol's declaration: for
/// [`Payload::Positional`](referee_monitor::Payload::Positional). Eight of them need no allocation.
pub type Fields<'b> = SmallVec<[FieldValue<'b>; 8]>;

/// Where values are built that do not lie in the bytes as they are. Empty until needed.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(crate) bump: Bump,
}

impl Scratch {
    /// An empty one. Allocates nothing.
    #[must_use]
    pub fn new() -> Self {
        Self { bump: Bump::new() }
    }

    /// Forgets everything that was built. Keeps a little memory for the next message, and never much.
    pub fn clear(&mut self) {
        if self.bump.allocated_bytes() > 64 * 1024 {
            self.bump = Bump::new();
        } else {
            self.bump.reset();
        }
    }
}

/// What the next bytes of one side are.
#[must_use]
#[derive(Clone, Debug, PartialEq)]
pub enum Step<'b> {
    /// Not a whole message yet: nothing changes before the slice has `at_least` bytes.
    More {
        /// How long the slice must be for another look to be worth it. Never beyond the limit.
        at_least: usize,
    },
    /// How to read this depends on what the other side says next.
    Wait,
    /// A message, not consumed yet.
    Message(Message<'b>),
    /// Part of the message that was taken last, already consumed.
    Body {
        /// How many bytes; they need not have arrived.
        bytes: u64,
        /// Whether the message ends with them.
        last: bool,
    },
    /// No message of this protocol. Final for this side.
    Malformed(Malformed),
    /// From here on nothing can be read, either way. Final for both sides.
    Transparent,
}

/// A message that was found at the beginning of the unread bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Message<'b> {
    /// What it is called.
    pub label: Label<'b>,
    /// How many bytes of the slice are judged with it. May be 0, where everything is in the body.
    pub bytes: usize,
    /// Whether more bytes follow that belong to it ([`Step::Body`]).
    pub has_body: bool,
    /// Whether it is none of the protocol's business: forwarded as it is, without a step of the monitor.
    pub aside: bool,
    /// The session that it belongs to, if the codec reads sessions from messages. On an answer: the name that the
    /// session has from now on.
    pub session: Option<&'b [u8]>,
    /// To be handed back with [`Codec::take`](crate::Codec::take).
    pub after: After,
}

/// The label of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label<'b> {
    /// One that the codec's table names.
    Known(MessageId),
    /// Another one, as far as it can be shown: a label that the protocol does not have.
    Unknown(&'b str),
}

/// What follows from a message once its fate is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct After {
    pub(crate) body: Body,
    pub(crate) effect: Effect,
}

impl After {
    /// Nothing: the next message comes next.
    pub(crate) const NOTHING: Self = Self { body: Body::None, effect: Effect::None };
}

/// How a message can be kept back so that nobody waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal<'c> {
    /// It asks for an answer, and its sender may be answered with one of these.
    Request(&'c [MessageId]),
    /// It answers, and one of these may answer instead.
    Answer(&'c [MessageId]),
    /// Nobody waits for anything.
    Notification,
}

/// Why bytes are no message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// What is wrong, in the users' words.
    pub reason: Cow<'static, str>,
    /// Where, from the beginning of the slice.
    pub at: usize,
    /// Whether it is merely more than can be read here: longer than the limit, for instance. Nobody is to blame.
    pub too_long: bool,
}

impl Malformed {
    #[cold]
    pub(crate) fn new(reason: impl Into<Cow<'static, str>>, at: usize) -> Self {
        Self { reason: reason.into(), at, too_long: false }
    }
}

impl Malformed {
    /// What cannot be read, though nobody is to blame.
    #[cold]
    pub(crate) fn unreadable(reason: &'static str, at: usize) -> Self {
        Self { reason: reason.into(), at, too_long: true }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl From<Malformed> for Step<'_> {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

/// As much of `bytes` as can be shown as a label: at most 64 bytes of whole characters, up to a line end.
pub(crate) fn excerpt(bytes: &[u8]) -> &str {
    let end = bytes.iter().take(64).position(|byte| *byte < 0x20).unwrap_or(bytes.len().min(64));
    let shown = bytes.get(..end).unwrap_or_default();
    match std::str::from_utf8(shown) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(shown.get(..error.valid_up_to()).unwrap_or_default()).unwrap_or(""),
    }
}
