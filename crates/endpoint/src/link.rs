//! How a generated endpoint moves its messages.
//!
//! A state of an endpoint owns its [`Link`]. A send builds the next state and hands it over with the message; a receive hands over
//! the present state with a function that makes an event of the message. What these steps return is the link's decision
//! ([`Link::Sent`], [`Link::Received`]): a `Result` where they block, a future where they do not. So one generated file serves
//! blocking and asynchronous programs.

use alloc::vec::Vec;
use core::time::Duration;

use crate::error::Error;
use crate::value::Value;

/// Another role, as one role's endpoint counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Peer {
    /// Its number: where its stream is in a link with several.
    pub index: usize,
    /// What the protocol calls it.
    pub name: &'static str,
}

/// What a message looks like on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Its label.
    pub label: &'static str,
    /// The names of its fields, in order; those without a name are called by their position.
    pub fields: &'static [&'static str],
}

/// The messages of a protocol: implemented by the `Message` of a generated file.
pub trait Message: Sized {
    /// What they look like on the wire.
    const SIGNATURES: &'static [Signature];

    /// Which of [`SIGNATURES`](Self::SIGNATURES) this one has.
    fn signature(&self) -> usize;

    /// The values of its fields, in order.
    fn to_values(&self) -> Vec<Value>;

    /// The message with this signature and these fields.
    ///
    /// # Errors
    /// The position of the first field whose value has not its type.
    fn from_values(signature: usize, values: &mut dyn Iterator<Item = Value>) -> Result<Self, usize>;

    /// Its label.
    fn label(&self) -> &'static str {
        Self::SIGNATURES.get(self.signature()).map_or("", |signature| signature.label)
    }
}

/// A message that a state awaits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expect {
    /// From whom.
    pub from: Peer,
    /// Which: an index of [`Message::SIGNATURES`].
    pub signature: usize,
    /// Its label.
    pub label: &'static str,
}

/// A state of an endpoint.
pub trait Session<L> {
    /// What it moves its messages through.
    fn link(&mut self) -> &mut L;
}

/// Makes an event of a message that has arrived from the peer with this number.
pub type Judge<S, M, E> = fn(S, usize, M) -> Result<E, Error>;

/// A way for the messages `M` of one role to and from its peers.
///
/// Dropping a link before [`end`](Self::end) is an abort: every peer learns of it, as an end of the connection where there
/// are connections.
pub trait Link<M: Message>: Sized {
    /// What sending gives, when it leads to the state `S`.
    type Sent<S: Session<Self>>;
    /// What receiving in the state `S` gives, when it leads to the event `E`.
    type Received<S: Session<Self>, E>;

    /// Sends `message` to `to`; afterwards the session is in `next`.
    fn send<S: Session<Self>>(next: S, to: Peer, message: M) -> Self::Sent<S>;

    /// Awaits one of `expected` in `state`.
    fn receive<S: Session<Self>, E>(
        state: S,
        expected: &'static [Expect],
        judge: Judge<S, M, E>,
    ) -> Self::Received<S, E>;

    /// The same where the protocol says that one of them comes `within` a time. A link without a timer waits as long as it takes.
    fn receive_within<S: Session<Self>, E>(
        state: S,
        expected: &'static [Expect],
        within: Duration,
        judge: Judge<S, M, E>,
    ) -> Self::Received<S, E> {
        let _ = within;
        Self::receive(state, expected, judge)
    }

    /// The answer to a send that was refused: nothing has left.
    fn refuse<S: Session<Self>>(error: Error) -> Self::Sent<S>;

    /// The session is over: dropping the link is no abort any more.
    fn end(&mut self);
}

/// The peers among `expected`, each once.
pub(crate) fn peers(expected: &'static [Expect]) -> impl Iterator<Item = Peer> + Clone {
    let first = move |(at, expect): &(usize, &'static Expect)| {
        expected.iter().position(|other| other.from == expect.from) == Some(*at)
    };
    expected.iter().enumerate().filter(first).map(|(_, expect)| expect.from)
}
