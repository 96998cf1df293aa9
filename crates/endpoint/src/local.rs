//! A link between threads of one process: messages are moved, never encoded.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::error::Error;
use crate::link::{Expect, Judge, Link, Message, Peer, Session, peers};

/// A message, or the news that its sender has aborted the session.
pub(crate) type Item<M> = (usize, Option<M>);

/// What has arrived from each peer and was not awaited yet.
#[derive(Debug)]
pub(crate) struct Kept<M> {
    messages: Vec<VecDeque<M>>,
    /// Whether nothing at all is kept.
    empty: bool,
    aborted: Vec<bool>,
}

impl<M> Kept<M> {
    pub(crate) fn new(peers: usize) -> Self {
        Self { messages: (0..peers).map(|_| VecDeque::new()).collect(), empty: true, aborted: Vec::new() }
    }

    pub(crate) fn take(&mut self, expected: &'static [Expect]) -> Option<(usize, M)> {
        if self.empty {
            return None;
        }
        let found = peers(expected)
            .find_map(|peer| Some((peer.index, self.messages.get_mut(peer.index)?.pop_front()?)));
        self.empty = self.messages.iter().all(VecDeque::is_empty);
        found
    }

    pub(crate) fn put(&mut self, from: usize, message: M) {
        if let Some(kept) = self.messages.get_mut(from) {
            kept.push_back(message);
            self.empty = false;
        }
    }

    pub(crate) fn abort(&mut self, from: usize) {
        self.aborted.resize(self.messages.len(), false);
        if let Some(aborted) = self.aborted.get_mut(from) {
            *aborted = true;
        }
    }

    /// The peer whose abort leaves nothing to wait for.
    pub(crate) fn aborted(&self, expected: &'static [Expect]) -> Option<Error> {
        let gone = |peer: &Peer| self.aborted.get(peer.index).copied().unwrap_or(false);
        if self.aborted.is_empty() || !peers(expected).all(|peer| gone(&peer)) {
            return None;
        }
        peers(expected).next().map(|peer| Error::Ended { by: peer.name })
    }
}

/// One role's link to the others in this process.
#[derive(Debug)]
pub struct Local<M>(Box<Shared<M>>);

/// Behind a pointer: every step moves the link with its state.
#[derive(Debug)]
struct Shared<M> {
    inbox: Receiver<Item<M>>,
    /// To each peer that takes part, with the number that it knows this role by.
    outboxes: Vec<Option<(usize, Sender<Item<M>>)>>,
    kept: Kept<M>,
    over: bool,
}

/// The links of the roles of one session.
///
/// Each role has its name and the names of its peers: the `ROLE` and the `PEERS` of its generated module.
#[must_use]
pub fn local<M>(roles: &[(&str, &[&str])]) -> Vec<Local<M>> {
    let (senders, receivers): (Vec<_>, Vec<_>) = roles.iter().map(|_| channel()).unzip();
    let mut links = Vec::new();
    for ((role, peers), inbox) in roles.iter().zip(receivers) {
        let outbox = |peer: &&str| {
            let number = roles.iter().position(|(name, _)| name == peer)?;
            let sender = senders.get(number)?.clone();
            Some((theirs(roles, number, role), sender))
        };
        let outboxes: Vec<_> = peers.iter().map(outbox).collect();
        let kept = Kept::new(outboxes.len());
        links.push(Local(Box::new(Shared { inbox, outboxes, kept, over: false })));
    }
    links
}

/// The number that the role at `number` knows `role` by; none that it looks at if it does not know it.
pub(crate) fn theirs(roles: &[(&str, &[&str])], number: usize, role: &str) -> usize {
    let peers = roles.get(number).map_or(&[][..], |(_, peers)| peers);
    peers.iter().position(|peer| *peer == role).unwrap_or(usize::MAX)
}

impl<M> Drop for Local<M> {
    fn drop(&mut self) {
        if !self.0.over {
            for (own, outbox) in self.0.outboxes.iter().flatten() {
                // Whoever has gone needs no news.
                let _ = outbox.send((*own, None));
            }
        }
    }
}

impl<M: Message> Link<M> for Local<M> {
    type Sent<S: Session<Self>> = Result<S, Error>;
    type Received<S: Session<Self>, E> = Result<E, Error>;

    #[inline]
    fn send<S: Session<Self>>(mut next: S, to: Peer, message: M) -> Self::Sent<S> {
        let link = &mut *next.link().0;
        match link.outboxes.get(to.index) {
            Some(Some((own, outbox))) if outbox.send((*own, Some(message))).is_ok() => Ok(next),
            _ => Err(Error::Ended { by: to.name }),
        }
    }

    #[inline]
    fn receive<S: Session<Self>, E>(
        mut state: S,
        expected: &'static [Expect],
        judge: Judge<S, M, E>,
    ) -> Self::Received<S, E> {
        let link = &mut *state.link().0;
        if let Some((from, message)) = link.kept.take(expected) {
            return judge(state, from, message);
        }
        loop {
            if let Some(error) = link.kept.aborted(expected) {
                return Err(error);
            }
            match link.inbox.recv() {
                Ok((from, Some(message))) if expected.iter().any(|expect| expect.from.index == from) => {
                    return judge(state, from, message);
                }
                Ok((from, Some(message))) => link.kept.put(from, message),
                Ok((from, None)) => link.kept.abort(from),
                Err(_) => {
                    return Err(Error::Ended { by: expected.first().map_or("", |expect| expect.from.name) });
                }
            }
        }
    }

    fn refuse<S: Session<Self>>(error: Error) -> Self::Sent<S> {
        Err(error)
    }

    fn end(&mut self) {
        self.0.over = true;
    }
}
