//! A link between threads of one process: messages are moved, never encoded.

use alloc::vec::Vec;

use crate::error::Error;
use crate::link::{Expect, Judge, Link, Message, Peer, Session};
use crate::mailbox::{Post, posts};

/// One role's link to the others in this process.
#[derive(Debug)]
pub struct Local<M>(Post<M>);

/// The links of the roles of one session.
///
/// Each role has its name and the names of its peers: the `ROLE` and the `PEERS` of its generated module.
#[must_use]
pub fn local<M>(roles: &[(&str, &[&str])]) -> Vec<Local<M>> {
    posts(roles).into_iter().map(Local).collect()
}

impl<M: Message> Link<M> for Local<M> {
    type Sent<S: Session<Self>> = Result<S, Error>;
    type Received<S: Session<Self>, E> = Result<E, Error>;

    #[inline]
    fn send<S: Session<Self>>(mut next: S, to: Peer, message: M) -> Self::Sent<S> {
        next.link().0.send(to, message).map(|()| next)
    }

    #[inline]
    fn receive<S: Session<Self>, E>(
        mut state: S,
        expected: &'static [Expect],
        judge: Judge<S, M, E>,
    ) -> Self::Received<S, E> {
        let (from, message) = state.link().0.receive(expected)?;
        judge(state, from, message)
    }

    fn refuse<S: Session<Self>>(error: Error) -> Self::Sent<S> {
        Err(error)
    }

    // Dropping the link tells the others, before and after the end.
    fn end(&mut self) {}
}
