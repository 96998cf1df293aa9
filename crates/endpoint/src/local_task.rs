//! A link between tasks of one process, whatever runs them: messages are moved, never encoded.

use alloc::vec::Vec;

use core::future::{Future, Ready, ready};
use core::pin::Pin;
use core::task::{Context, Poll};

use crate::error::Error;
use crate::link::{Expect, Judge, Link, Message, Peer, Session};
use crate::mailbox::{Post, posts};

/// One role's link to the others in this process.
#[derive(Debug)]
pub struct LocalTask<M>(Post<M>);

/// The links of the roles of one session, as [`local`](crate::local) makes them for threads.
#[must_use]
pub fn local_tasks<M>(roles: &[(&str, &[&str])]) -> Vec<LocalTask<M>> {
    posts(roles).into_iter().map(LocalTask).collect()
}

/// A receive that is under way.
#[must_use = "nothing is received before it is awaited"]
pub struct LocalReceiving<S, M, E> {
    state: Option<S>,
    expected: &'static [Expect],
    judge: Judge<S, M, E>,
}

impl<S: Session<LocalTask<M>> + Unpin, M, E> Future for LocalReceiving<S, M, E> {
    type Output = Result<E, Error>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        // Polled again after it was ready.
        let Some(state) = &mut this.state else { return Poll::Pending };
        let Poll::Ready(received) = state.link().0.poll(this.expected, context) else { return Poll::Pending };
        let Some(state) = this.state.take() else { return Poll::Pending };
        Poll::Ready(received.and_then(|(from, message)| (this.judge)(state, from, message)))
    }
}

impl<M: Message> Link<M> for LocalTask<M> {
    type Sent<S: Session<Self>> = Ready<Result<S, Error>>;
    type Received<S: Session<Self>, E> = LocalReceiving<S, M, E>;

    #[inline]
    fn send<S: Session<Self>>(mut next: S, to: Peer, message: M) -> Self::Sent<S> {
        ready(next.link().0.send(to, message).map(|()| next))
    }

    #[inline]
    fn receive<S: Session<Self>, E>(
        state: S,
        expected: &'static [Expect],
        judge: Judge<S, M, E>,
    ) -> Self::Received<S, E> {
        LocalReceiving { state: Some(state), expected, judge }
    }

    fn refuse<S: Session<Self>>(error: Error) -> Self::Sent<S> {
        ready(Err(error))
    }

    // Dropping the link tells the others, before and after the end.
    fn end(&mut self) {}
}
