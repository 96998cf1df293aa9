//! A link over asynchronous streams of tokio, one for each peer.

use alloc::boxed::Box;
use alloc::string::ToString as _;
use alloc::vec::Vec;
use core::future::Future;
use core::marker::PhantomData;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::buffered::{Buffers, decode, no_stream};
use crate::codec::{Codec, JsonLines};
use crate::error::Error;
use crate::link::{Expect, Judge, Link, Message, Peer, Session, peers};

/// A link over asynchronous streams. Its steps are futures; one that is dropped before it is ready drops the session, which is an
/// abort.
#[derive(Debug)]
pub struct Asynchronous<T, C = JsonLines> {
    streams: Vec<T>,
    buffers: Vec<Buffers>,
    codec: C,
    tolerance: Duration,
}

impl<T> Asynchronous<T> {
    /// For a role with one peer.
    pub fn new(stream: T) -> Self {
        Self::with_codec([stream], JsonLines::default())
    }

    /// For a role with several peers, in the order of its `PEERS`.
    pub fn with_peers(streams: impl IntoIterator<Item = T>) -> Self {
        Self::with_codec(streams, JsonLines::default())
    }
}

impl<T, C> Asynchronous<T, C> {
    /// With another codec.
    pub fn with_codec(streams: impl IntoIterator<Item = T>, codec: C) -> Self {
        let streams: Vec<T> = streams.into_iter().collect();
        let buffers = streams.iter().map(|_| Buffers::default()).collect();
        Self { streams, buffers, codec, tolerance: Duration::ZERO }
    }

    /// Waits so much longer than a protocol's `within` says: for what is on its way, there and back.
    #[must_use]
    pub fn with_tolerance(self, tolerance: Duration) -> Self {
        Self { tolerance, ..self }
    }
}

fn failed(peer: Peer, error: &std::io::Error) -> Error {
    Error::Transport { peer: peer.name, reason: error.to_string() }
}

/// A send that is under way.
#[derive(Debug)]
#[must_use = "nothing is sent before it is awaited"]
pub struct Sending<S, T, C> {
    /// What the session is in afterwards, or why it cannot be; nothing once that was given away.
    next: Option<Result<S, Error>>,
    to: Peer,
    written: usize,
    link: PhantomData<fn() -> (T, C)>,
}

impl<S, T, C> Future for Sending<S, T, C>
where
    S: Session<Asynchronous<T, C>> + Unpin,
    T: AsyncWrite + Unpin,
{
    type Output = Result<S, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let polled = match &mut this.next {
            Some(Ok(next)) => ready!(write(next.link(), this.to, &mut this.written, context)),
            Some(Err(_)) => Ok(()),
            // Polled again after it was ready.
            None => return Poll::Pending,
        };
        match (this.next.take(), polled) {
            (Some(Ok(next)), Ok(())) => Poll::Ready(Ok(next)),
            (Some(Err(error)), _) | (_, Err(error)) => Poll::Ready(Err(error)),
            (None, Ok(())) => Poll::Pending,
        }
    }
}

/// Writes what is left of the output for `to`, and flushes it.
fn write<T: AsyncWrite + Unpin, C>(
    link: &mut Asynchronous<T, C>,
    to: Peer,
    written: &mut usize,
    context: &mut Context<'_>,
) -> Poll<Result<(), Error>> {
    let (Some(stream), Some(buffer)) = (link.streams.get_mut(to.index), link.buffers.get_mut(to.index))
    else {
        return Poll::Ready(Err(no_stream(to)));
    };
    while let Some(rest) = buffer.output.get(*written..).filter(|rest| !rest.is_empty()) {
        match ready!(Pin::new(&mut *stream).poll_write(context, rest)) {
            Ok(0) => return Poll::Ready(Err(Error::Ended { by: to.name })),
            Ok(count) => *written += count,
            Err(error) => return Poll::Ready(Err(failed(to, &error))),
        }
    }
    Pin::new(stream).poll_flush(context).map_err(|error| failed(to, &error))
}

/// A receive that is under way.
#[must_use = "nothing is received before it is awaited"]
pub struct Receiving<S, M, E, T, C> {
    state: Option<S>,
    expected: &'static [Expect],
    judge: Judge<S, M, E>,
    deadline: Option<Deadline>,
    link: PhantomData<fn() -> (T, C)>,
}

/// How long a message is waited for, once nothing of it is there.
struct Deadline {
    within: Duration,
    /// Set when it is waited for first.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<S, M, E, T, C> Receiving<S, M, E, T, C>
where
    S: Session<Asynchronous<T, C>>,
{
    /// Whether the time is over, and nothing has begun to arrive.
    fn late(&mut self, context: &mut Context<'_>) -> Poll<Error> {
        let (Some(state), Some(deadline)) = (&mut self.state, &mut self.deadline) else {
            return Poll::Pending;
        };
        let link = state.link();
        let has_begun =
            |peer: Peer| link.buffers.get(peer.index).is_some_and(|buffer| !buffer.unread().is_empty());
        if peers(self.expected).any(has_begun) {
            self.deadline = None;
            return Poll::Pending;
        }
        let within = deadline.within;
        let timer =
            deadline.timer.get_or_insert_with(|| Box::pin(sleep(within.saturating_add(link.tolerance))));
        ready!(timer.as_mut().poll(context));
        self.state = None;
        Poll::Ready(Error::Late { by: self.expected.first().map_or("", |expect| expect.from.name), within })
    }
}

impl<S, M, E, T, C> Future for Receiving<S, M, E, T, C>
where
    M: Message,
    S: Session<Asynchronous<T, C>> + Unpin,
    T: AsyncRead + Unpin,
    C: Codec<M>,
{
    type Output = Result<E, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        loop {
            // Polled again after it was ready.
            let Some(state) = &mut this.state else { return Poll::Pending };
            let link = state.link();
            match decode(&mut link.buffers, &mut link.codec, this.expected) {
                Ok(None) => {}
                Ok(Some((from, message))) => {
                    let Some(state) = this.state.take() else { return Poll::Pending };
                    return Poll::Ready((this.judge)(state, from, message));
                }
                Err(error) => {
                    this.state = None;
                    return Poll::Ready(Err(error));
                }
            }
            let mut progress = false;
            for peer in peers(this.expected) {
                match fill(link, peer, context) {
                    Poll::Ready(Ok(())) => progress = true,
                    Poll::Ready(Err(error)) => {
                        this.state = None;
                        return Poll::Ready(Err(error));
                    }
                    Poll::Pending => {}
                }
            }
            if !progress {
                return this.late(context).map(Err);
            }
        }
    }
}

fn fill<T: AsyncRead + Unpin, C>(
    link: &mut Asynchronous<T, C>,
    peer: Peer,
    context: &mut Context<'_>,
) -> Poll<Result<(), Error>> {
    let (Some(stream), Some(buffer)) = (link.streams.get_mut(peer.index), link.buffers.get_mut(peer.index))
    else {
        return Poll::Ready(Err(no_stream(peer)));
    };
    if buffer.ended {
        return Poll::Pending;
    }
    let mut chunk = [0; 8 << 10];
    let mut read = ReadBuf::new(&mut chunk);
    if let Err(error) = ready!(Pin::new(stream).poll_read(context, &mut read)) {
        return Poll::Ready(Err(failed(peer, &error)));
    }
    if read.filled().is_empty() {
        buffer.ended = true;
    }
    buffer.feed(read.filled());
    Poll::Ready(Ok(()))
}

impl<M, T, C> Link<M> for Asynchronous<T, C>
where
    M: Message,
    T: AsyncRead + AsyncWrite + Unpin,
    C: Codec<M>,
{
    type Sent<S: Session<Self>> = Sending<S, T, C>;
    type Received<S: Session<Self>, E> = Receiving<S, M, E, T, C>;

    fn send<S: Session<Self>>(mut next: S, to: Peer, message: M) -> Self::Sent<S> {
        let link = next.link();
        let encoded = match link.buffers.get_mut(to.index) {
            Some(buffer) => {
                buffer.output.clear();
                let encoded = link.codec.encode(&message, &mut buffer.output);
                encoded.map_err(|reason| Error::Transport { peer: to.name, reason })
            }
            None => Err(no_stream(to)),
        };
        Sending { next: Some(encoded.map(|()| next)), to, written: 0, link: PhantomData }
    }

    fn receive<S: Session<Self>, E>(
        state: S,
        expected: &'static [Expect],
        judge: Judge<S, M, E>,
    ) -> Self::Received<S, E> {
        Receiving { state: Some(state), expected, judge, deadline: None, link: PhantomData }
    }

    fn receive_within<S: Session<Self>, E>(
        state: S,
        expected: &'static [Expect],
        within: Duration,
        judge: Judge<S, M, E>,
    ) -> Self::Received<S, E> {
        let deadline = Some(Deadline { within, timer: None });
        Receiving { state: Some(state), expected, judge, deadline, link: PhantomData }
    }

    fn refuse<S: Session<Self>>(error: Error) -> Self::Sent<S> {
        Sending { next: Some(Err(error)), to: Peer { index: 0, name: "" }, written: 0, link: PhantomData }
    }

    // Dropping the streams closes them, before and after the end.
    fn end(&mut self) {}
}
