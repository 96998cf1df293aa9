//! Where the messages for a role of this process arrive, and how the links between threads and between tasks reach it.
//!
//! One lock for each role. A role takes all that has arrived from a peer at once, so that it takes the lock once for a burst; and
//! whoever sends wakes it only if it waits.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Poll, Waker};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::Error;
use crate::link::{Expect, Peer};

/// How often a thread looks whether something has arrived before it sleeps, each time twice as long.
const SPINS: u32 = 6;

/// What has arrived for one role.
#[derive(Debug)]
struct Mailbox<M> {
    arrivals: Mutex<Arrivals<M>>,
    arrived: Condvar,
    /// Changes whenever something arrives: looked at without the lock.
    version: AtomicUsize,
}

#[derive(Debug)]
struct Arrivals<M> {
    /// By the peer's number.
    queues: Vec<Queue<M>>,
    waiting: Waiting,
    /// The role has gone.
    closed: bool,
}

#[derive(Debug)]
struct Queue<M> {
    messages: VecDeque<M>,
    /// Nothing comes after these.
    ended: bool,
}

/// Who is to be woken up.
#[derive(Debug)]
enum Waiting {
    Nobody,
    Thread,
    Task(Waker),
}

impl<M> Mailbox<M> {
    #[inline]
    fn lock(&self) -> MutexGuard<'_, Arrivals<M>> {
        // Nothing that holds the lock leaves it half done.
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets `change` happen to the arrivals, and wakes whoever waits for it.
    #[inline]
    fn put<T>(&self, change: impl FnOnce(&mut Arrivals<M>) -> T) -> T {
        let mut arrivals = self.lock();
        let result = change(&mut arrivals);
        self.version.store(self.version.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
        if matches!(arrivals.waiting, Waiting::Nobody) {
            return result;
        }
        let waiting = core::mem::replace(&mut arrivals.waiting, Waiting::Nobody);
        drop(arrivals);
        match waiting {
            Waiting::Nobody => {}
            Waiting::Thread => self.arrived.notify_one(),
            Waiting::Task(waker) => waker.wake(),
        }
        result
    }
}

/// The way to a peer that takes part.
#[derive(Debug)]
struct Outbox<M> {
    mailbox: Arc<Mailbox<M>>,
    /// The number that it knows this role by, if it does.
    own: Option<usize>,
}

/// One role's way to the others in this process. Behind a pointer: every step moves it with its state.
#[derive(Debug)]
pub(crate) struct Post<M>(Box<Inner<M>>);

#[derive(Debug)]
struct Inner<M> {
    mailbox: Arc<Mailbox<M>>,
    taken: Taken<M>,
    outboxes: Vec<Option<Outbox<M>>>,
}

/// What was taken from the mailbox and not awaited yet.
#[derive(Debug)]
struct Taken<M> {
    /// By the peer's number.
    queues: Vec<VecDeque<M>>,
    /// The peer whose message came last: where several are awaited, the others are looked at first.
    last: usize,
}

/// The posts of the roles of one session, each with its name and the names of its peers.
pub(crate) fn posts<M>(roles: &[(&str, &[&str])]) -> Vec<Post<M>> {
    let number = |name: &str| roles.iter().position(|(role, _)| *role == name);
    let mailbox = |(_, peers): &(&str, &[&str])| {
        let queue = |peer: &&str| Queue { messages: VecDeque::new(), ended: number(peer).is_none() };
        let queues = peers.iter().map(queue).collect();
        let arrivals = Arrivals { queues, waiting: Waiting::Nobody, closed: false };
        Arc::new(Mailbox {
            arrivals: Mutex::new(arrivals),
            arrived: Condvar::new(),
            version: AtomicUsize::new(0),
        })
    };
    let mailboxes: Vec<_> = roles.iter().map(mailbox).collect();
    let post = |((role, peers), mailbox): (&(&str, &[&str]), &Arc<Mailbox<M>>)| {
        let outbox = |peer: &&str| {
            let number = number(peer)?;
            let (_, theirs) = roles.get(number)?;
            let own = theirs.iter().position(|name| name == role);
            Some(Outbox { mailbox: Arc::clone(mailboxes.get(number)?), own })
        };
        Post(Box::new(Inner {
            mailbox: Arc::clone(mailbox),
            taken: Taken { queues: peers.iter().map(|_| VecDeque::new()).collect(), last: 0 },
            outboxes: peers.iter().map(outbox).collect(),
        }))
    };
    roles.iter().zip(&mailboxes).map(post).collect()
}

/// The numbers of the peers in `expected`, those after `last` first; some of them more than once.
#[inline]
fn in_turn(expected: &'static [Expect], last: usize) -> impl Iterator<Item = usize> {
    let numbers = || expected.iter().map(|expect| expect.from.index);
    numbers().filter(move |number| *number > last).chain(numbers())
}

impl<M> Post<M> {
    /// Hands `message` over to `to`.
    #[inline]
    pub(crate) fn send(&self, to: Peer, message: M) -> Result<(), Error> {
        let Some(Some(outbox)) = self.0.outboxes.get(to.index) else {
            return Err(Error::Ended { by: to.name });
        };
        let closed = outbox.mailbox.put(|arrivals| {
            let queue = outbox.own.and_then(|own| arrivals.queues.get_mut(own));
            if let (false, Some(queue)) = (arrivals.closed, queue) {
                queue.messages.push_back(message);
            }
            arrivals.closed
        });
        if closed { Err(Error::Ended { by: to.name }) } else { Ok(()) }
    }

    /// Awaits a message from one of the peers in `expected`, and gives it with the peer's number.
    #[inline]
    pub(crate) fn receive(&mut self, expected: &'static [Expect]) -> Result<(usize, M), Error> {
        let Inner { mailbox, taken, .. } = &mut *self.0;
        if let Some(found) = taken.next(expected) {
            return Ok(found);
        }
        let mut seen = mailbox.version.load(Ordering::Acquire);
        let mut arrivals = mailbox.lock();
        let mut spins = 0;
        loop {
            if let Some(found) = taken.collect(&mut arrivals, expected) {
                return found;
            }
            if spins < SPINS {
                drop(arrivals);
                while spins < SPINS && mailbox.version.load(Ordering::Acquire) == seen {
                    (0..1 << spins).for_each(|_| core::hint::spin_loop());
                    spins += 1;
                }
                seen = mailbox.version.load(Ordering::Acquire);
                arrivals = mailbox.lock();
                continue;
            }
            arrivals.waiting = Waiting::Thread;
            arrivals = mailbox.arrived.wait(arrivals).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The same for a task.
    #[inline]
    pub(crate) fn poll(
        &mut self,
        expected: &'static [Expect],
        context: &Context<'_>,
    ) -> Poll<Result<(usize, M), Error>> {
        let Inner { mailbox, taken, .. } = &mut *self.0;
        if let Some(found) = taken.next(expected) {
            return Poll::Ready(Ok(found));
        }
        let mut arrivals = mailbox.lock();
        if let Some(found) = taken.collect(&mut arrivals, expected) {
            return Poll::Ready(found);
        }
        arrivals.waiting = Waiting::Task(context.waker().clone());
        Poll::Pending
    }
}

impl<M> Taken<M> {
    /// A message that was taken from the mailbox before.
    #[inline]
    fn next(&mut self, expected: &'static [Expect]) -> Option<(usize, M)> {
        let (number, message) = in_turn(expected, self.last)
            .find_map(|number| Some((number, self.queues.get_mut(number)?.pop_front()?)))?;
        self.last = number;
        Some((number, message))
    }

    /// Takes what has arrived from one of the peers in `expected`.
    #[inline]
    fn collect(
        &mut self,
        arrivals: &mut Arrivals<M>,
        expected: &'static [Expect],
    ) -> Option<Result<(usize, M), Error>> {
        for number in in_turn(expected, self.last) {
            let (Some(queue), Some(taken)) = (arrivals.queues.get_mut(number), self.queues.get_mut(number))
            else {
                continue;
            };
            // Whatever was taken from this peer before is used up, or it would have been found. One message alone needs no second queue.
            let first = if queue.messages.len() > 1 {
                core::mem::swap(&mut queue.messages, taken);
                taken.pop_front()
            } else {
                queue.messages.pop_front()
            };
            if let Some(message) = first {
                self.last = number;
                return Some(Ok((number, message)));
            }
        }
        // The end of one peer is final only if no other can go on.
        let ended = |expect: &Expect| arrivals.queues.get(expect.from.index).is_none_or(|queue| queue.ended);
        let by = expected.first().map_or("", |expect| expect.from.name);
        expected.iter().all(ended).then_some(Err(Error::Ended { by }))
    }
}

/// Whoever waits for this role learns that nothing more comes.
impl<M> Drop for Inner<M> {
    fn drop(&mut self) {
        for outbox in self.outboxes.iter().flatten() {
            outbox.mailbox.put(|arrivals| {
                if let Some(queue) = outbox.own.and_then(|own| arrivals.queues.get_mut(own)) {
                    queue.ended = true;
                }
            });
        }
        let mut arrivals = self.mailbox.lock();
        arrivals.closed = true;
        let left = arrivals.queues.iter_mut().map(|queue| core::mem::take(&mut queue.messages));
        let left: Vec<_> = left.filter(|messages| !messages.is_empty()).collect();
        drop(arrivals);
        // Messages may do anything when they are dropped, with the lock free.
        drop(left);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests;
