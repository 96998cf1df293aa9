//! A link without I/O: bytes are put in and taken out by whoever drives it.

use alloc::vec::Vec;

use crate::codec::{Codec, JsonLines};
use crate::error::Error;
use crate::link::{Expect, Judge, Link, Message, Peer, Session, peers};

/// What one peer has sent and is to be sent.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    pub(crate) input: Vec<u8>,
    /// How much of the input was read.
    pub(crate) read: usize,
    /// How much of the unread input is known to hold no whole message.
    seen: usize,
    pub(crate) output: Vec<u8>,
    pub(crate) ended: bool,
}

impl Buffers {
    /// The unread input.
    pub(crate) fn unread(&self) -> &[u8] {
        self.input.get(self.read..).unwrap_or_default()
    }

    pub(crate) fn consume(&mut self, count: usize) {
        self.read += count;
        self.seen = 0;
        if self.read >= self.input.len() {
            self.input.clear();
            self.read = 0;
        }
    }

    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        if self.read > 0 {
            self.input.drain(..self.read);
            self.read = 0;
        }
        self.input.extend_from_slice(bytes);
    }
}

/// A message that is there already from one of the peers in `expected`.
pub(crate) fn decode<M: Message>(
    buffers: &mut [Buffers],
    codec: &mut impl Codec<M>,
    expected: &'static [Expect],
) -> Result<Option<(usize, M)>, Error> {
    for peer in peers(expected) {
        let Some(buffer) = buffers.get_mut(peer.index) else { return Err(no_stream(peer)) };
        let whole = if codec.may_be_whole(buffer.unread(), buffer.seen) {
            codec.decode(buffer.unread(), peer, expected)?
        } else {
            None
        };
        if let Some((message, length)) = whole {
            buffer.consume(length);
            return Ok(Some((peer.index, message)));
        }
        buffer.seen = buffer.unread().len();
    }
    // The end of one peer is final only if no other can go on.
    let ended = |peer: &Peer| buffers.get(peer.index).is_some_and(|buffer| buffer.ended);
    match peers(expected).find(|peer| !ended(peer)) {
        Some(_) => Ok(None),
        None => Err(Error::Ended { by: expected.first().map_or("", |expect| expect.from.name) }),
    }
}

pub(crate) fn no_stream(peer: Peer) -> Error {
    Error::Transport { peer: peer.name, reason: "there is no stream for it".into() }
}

/// A link without I/O.
///
/// Its owner puts in what each peer has sent ([`feed`](Self::feed)) and takes out what is to be sent ([`take`](Self::take)). A
/// receive gives the event, or the state back if the message is not yet whole.
#[derive(Debug)]
pub struct Buffered<C = JsonLines> {
    buffers: Vec<Buffers>,
    codec: C,
    over: bool,
}

impl Buffered<JsonLines> {
    /// For a role with this many peers.
    #[must_use]
    pub fn new(peers: usize) -> Self {
        Self::with_codec(peers, JsonLines::default())
    }
}

impl<C> Buffered<C> {
    /// For a role with this many peers.
    #[must_use]
    pub fn with_codec(peers: usize, codec: C) -> Self {
        Self { buffers: (0..peers).map(|_| Buffers::default()).collect(), codec, over: false }
    }

    /// `peer` has sent `bytes`.
    pub fn feed(&mut self, peer: usize, bytes: &[u8]) {
        if let Some(buffer) = self.buffers.get_mut(peer) {
            buffer.feed(bytes);
        }
    }

    /// `peer` will send no more.
    pub fn ended(&mut self, peer: usize) {
        if let Some(buffer) = self.buffers.get_mut(peer) {
            buffer.ended = true;
        }
    }

    /// What is to be sent to `peer`.
    pub fn take(&mut self, peer: usize) -> Vec<u8> {
        self.buffers.get_mut(peer).map(|buffer| core::mem::take(&mut buffer.output)).unwrap_or_default()
    }

    /// How its messages are read and written.
    #[must_use]
    pub fn codec(&self) -> &C {
        &self.codec
    }

    /// Whether the session has come to its end.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over
    }
}

/// What a receive gives where nothing can be waited for.
#[derive(Debug)]
pub enum Polled<S, E> {
    /// A message was there.
    Event(E),
    /// The message is not yet whole: the state is as it was.
    Waiting(S),
}

impl<M: Message, C: Codec<M>> Link<M> for Buffered<C> {
    type Sent<S: Session<Self>> = Result<S, Error>;
    type Received<S: Session<Self>, E> = Result<Polled<S, E>, Error>;

    fn send<S: Session<Self>>(mut next: S, to: Peer, message: M) -> Self::Sent<S> {
        let link = next.link();
        let buffer = link.buffers.get_mut(to.index).ok_or_else(|| no_stream(to))?;
        let encoded = link.codec.encode(&message, &mut buffer.output);
        encoded.map_err(|reason| Error::Transport { peer: to.name, reason })?;
        Ok(next)
    }

    fn receive<S: Session<Self>, E>(
        mut state: S,
        expected: &'static [Expect],
        judge: Judge<S, M, E>,
    ) -> Self::Received<S, E> {
        let link = state.link();
        match decode(&mut link.buffers, &mut link.codec, expected)? {
            Some((from, message)) => judge(state, from, message).map(Polled::Event),
            None => Ok(Polled::Waiting(state)),
        }
    }

    fn refuse<S: Session<Self>>(error: Error) -> Self::Sent<S> {
        Err(error)
    }

    fn end(&mut self) {
        self.over = true;
    }
}
