//! A link between tasks of one process: messages are moved, never encoded.

use alloc::vec::Vec;
use core::future::{Future, Ready, ready};
use core::pin::Pin;
use core::task::{Context, Poll};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::error::Error;
use crate::link::{Expect, Judge, Link, Message, Peer, Session};
use crate::local::{Item, Kept, theirs};

/// One role's link to the others in this process.
#[derive(Debug)]
pub struct LocalTask<M> {
    inbox: UnboundedReceiver<Item<M>>,
    /// To each peer that takes part, with the number that it knows this role by.
    outboxes: Vec<Option<(usize, UnboundedSender<Item<M>>)>>,
    kept: Kept<M>,
    over: bool,
}

/// The links of the roles of one session, as [`local`](crate::local) makes them for threads.
#[must_use]
pub fn local_tasks<M>(roles: &[(&str, &[&str])]) -> Vec<LocalTask<M>> {
    let (senders, receivers): (Vec<_>, Vec<_>) = roles.iter().map(|_| unbounded_channel()).unzip();
    let mut links = Vec::new();
    for ((role, peers), inbox) in roles.iter().zip(receivers) {
        let outbox = |peer: &&str| {
            let number = roles.iter().position(|(name, _)| name == peer)?;
            let sender = senders.get(number)?.clone();
            Some((theirs(roles, number, role), sender))
        };
        let outboxes: Vec<_> = peers.iter().map(outbox).collect();
        let kept = Kept::new(outboxes.len());
        links.push(LocalTask { inbox, outboxes, kept, over: false });
    }
    links
}

impl<M> Drop for LocalTask<M> {
    fn drop(&mut self) {
        if !self.over {
            for (own, outbox) in self.outboxes.iter().flatten() {
                // Whoever has gone needs no news.
                let _ = outbox.send((*own, None));
            }
        }
    }
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

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        // Polled again after it was ready.
        let Some(mut state) = this.state.take() else { return Poll::Pending };
        let link = state.link();
        if let Some((from, message)) = link.kept.take(this.expected) {
            return Poll::Ready((this.judge)(state, from, message));
        }
        loop {
            if let Some(error) = link.kept.aborted(this.expected) {
                return Poll::Ready(Err(error));
            }
            match link.inbox.poll_recv(context) {
                Poll::Ready(Some((from, Some(message)))) => {
                    if this.expected.iter().any(|expect| expect.from.index == from) {
                        return Poll::Ready((this.judge)(state, from, message));
                    }
                    link.kept.put(from, message);
                }
                Poll::Ready(Some((from, None))) => link.kept.abort(from),
                Poll::Ready(None) => {
                    let by = this.expected.first().map_or("", |expect| expect.from.name);
                    return Poll::Ready(Err(Error::Ended { by }));
                }
                Poll::Pending => {
                    this.state = Some(state);
                    return Poll::Pending;
                }
            }
        }
    }
}

impl<M: Message> Link<M> for LocalTask<M> {
    type Sent<S: Session<Self>> = Ready<Result<S, Error>>;
    type Received<S: Session<Self>, E> = LocalReceiving<S, M, E>;

    fn send<S: Session<Self>>(mut next: S, to: Peer, message: M) -> Self::Sent<S> {
        let link = next.link();
        ready(match link.outboxes.get(to.index) {
            Some(Some((own, outbox))) if outbox.send((*own, Some(message))).is_ok() => Ok(next),
            _ => Err(Error::Ended { by: to.name }),
        })
    }

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

    fn end(&mut self) {
        self.over = true;
    }
}
