//! Roles `client`, `server` of the protocol `Timed`.
//!
//! A server answers in time, or says that it has none.
//!
//! @generated from timed.scr by `referee generate rust`: change the protocol, not this file.

#![allow(dead_code, unused_imports, unused_mut, unused_parens, unused_variables, clippy::all)]

use referee_endpoint::alloc::{
    self,
    borrow::ToOwned as _,
    string::{String, ToString as _},
    vec::Vec,
};
use referee_endpoint::value::Members;
use referee_endpoint::{Error, Expect, Failure, Field, Link, Opaque, Peer, Session, Signature, Value, eval};

/// The messages that travel.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// `Ask`.
    Ask { question: String },
    /// `Answer`.
    Answer { text: String },
    /// `Busy`.
    Busy,
}

impl referee_endpoint::Message for Message {
    const SIGNATURES: &'static [Signature] = &[
        Signature { label: "Ask", fields: &["question"] },
        Signature { label: "Answer", fields: &["text"] },
        Signature { label: "Busy", fields: &[] },
    ];

    fn signature(&self) -> usize {
        match self {
            Self::Ask { .. } => 0,
            Self::Answer { .. } => 1,
            Self::Busy { .. } => 2,
        }
    }

    fn to_values(&self) -> Vec<Value> {
        match self {
            Self::Ask { question } => alloc::vec![question.to_value()],
            Self::Answer { text } => alloc::vec![text.to_value()],
            Self::Busy => Vec::new(),
        }
    }

    fn from_values(signature: usize, values: &mut dyn Iterator<Item = Value>) -> Result<Self, usize> {
        let mut next = || values.next().unwrap_or(Value::Unit);
        Ok(match signature {
            0 => Self::Ask { question: Field::from_value(next()).ok_or(0_usize)? },
            1 => Self::Answer { text: Field::from_value(next()).ok_or(0_usize)? },
            2 => Self::Busy,
            _ => return Err(0),
        })
    }
}

/// The endpoint of `client`.
pub mod client {
    use super::*;

    /// What the protocol calls this role.
    pub const ROLE: &str = "client";

    /// The roles that this one talks to, in the order of the streams of a link.
    pub const PEERS: [&str; 1] = ["server"];

    const SERVER: Peer = Peer { index: 0, name: "server" };

    /// The beginning: `client` sends `Ask` to server.
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub struct Start<L> {
        link: L,
    }

    impl<L> Session<L> for Start<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> Start<L> {
        /// A new session over `link`.
        pub fn new(link: L) -> Self {
            Self { link }
        }

        /// Sends `Ask` to server.
        pub fn ask(self, question: impl Into<String>) -> L::Sent<AfterAsk<L>> {
            let question: String = question.into();
            let next = AfterAsk { link: self.link };
            L::send(next, SERVER, Message::Ask { question })
        }
    }

    /// A state: `client` receives `Answer` from server or `Busy` from server.
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub struct AfterAsk<L> {
        link: L,
    }

    impl<L> Session<L> for AfterAsk<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> AfterAsk<L> {
        /// Awaits the next message.
        ///
        /// It comes within 5s: over a link with a timer (`Asynchronous`), [`Error::Late`] otherwise.
        pub fn recv(self) -> L::Received<Self, AfterAskEvent<L>> {
            L::receive_within(self, Self::EXPECTED, core::time::Duration::new(5, 0), Self::judge)
        }

        const EXPECTED: &'static [Expect] = &[
            Expect { from: SERVER, signature: 1, label: "Answer" },
            Expect { from: SERVER, signature: 2, label: "Busy" },
        ];

        fn judge(self, from: usize, message: Message) -> Result<AfterAskEvent<L>, Error> {
            match (from, message) {
                (0, Message::Answer { text }) => {
                    let mut next = End { link: self.link };
                    next.link.end();
                    Ok(AfterAskEvent::Answer { text, next })
                }
                (0, Message::Busy) => {
                    let mut next = End { link: self.link };
                    next.link.end();
                    Ok(AfterAskEvent::Busy { next })
                }
                (from, other) => {
                    let label = referee_endpoint::Message::label(&other);
                    Err(Error::unexpected(from, label, Self::EXPECTED))
                }
            }
        }
    }

    /// What may arrive in [`AfterAsk`].
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub enum AfterAskEvent<L> {
        /// `Answer` from server.
        Answer {
            /// `text`.
            text: String,
            /// The session goes on here.
            next: End<L>,
        },
        /// `Busy` from server.
        Busy {
            /// The session goes on here.
            next: End<L>,
        },
    }

    /// The end of the session for `client`.
    #[derive(Debug)]
    #[must_use = "`close` says that the session is over"]
    pub struct End<L> {
        link: L,
    }

    impl<L> Session<L> for End<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> End<L> {
        /// The session is over; gives its link back.
        pub fn close(self) -> L {
            self.link
        }
    }
}

/// The endpoint of `server`.
pub mod server {
    use super::*;

    /// What the protocol calls this role.
    pub const ROLE: &str = "server";

    /// The roles that this one talks to, in the order of the streams of a link.
    pub const PEERS: [&str; 1] = ["client"];

    const CLIENT: Peer = Peer { index: 0, name: "client" };

    /// The beginning: `server` receives `Ask` from client.
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub struct Start<L> {
        link: L,
    }

    impl<L> Session<L> for Start<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> Start<L> {
        /// A new session over `link`.
        pub fn new(link: L) -> Self {
            Self { link }
        }

        /// Awaits the next message.
        pub fn recv(self) -> L::Received<Self, StartEvent<L>> {
            L::receive(self, Self::EXPECTED, Self::judge)
        }

        const EXPECTED: &'static [Expect] = &[Expect { from: CLIENT, signature: 0, label: "Ask" }];

        fn judge(self, from: usize, message: Message) -> Result<StartEvent<L>, Error> {
            match (from, message) {
                (0, Message::Ask { question }) => {
                    let next = AfterAsk { link: self.link };
                    Ok(StartEvent::Ask { question, next })
                }
                (from, other) => {
                    let label = referee_endpoint::Message::label(&other);
                    Err(Error::unexpected(from, label, Self::EXPECTED))
                }
            }
        }
    }

    /// What may arrive in [`Start`].
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub enum StartEvent<L> {
        /// `Ask` from client.
        Ask {
            /// `question`.
            question: String,
            /// The session goes on here.
            next: AfterAsk<L>,
        },
    }

    /// A state: `server` sends `Answer` to client or `Busy` to client.
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub struct AfterAsk<L> {
        link: L,
    }

    impl<L> Session<L> for AfterAsk<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> AfterAsk<L> {
        /// Sends `Answer` to client.
        pub fn answer(self, text: impl Into<String>) -> L::Sent<End<L>> {
            let text: String = text.into();
            let mut next = End { link: self.link };
            next.link.end();
            L::send(next, CLIENT, Message::Answer { text })
        }

        /// Sends `Busy` to client.
        pub fn busy(self) -> L::Sent<End<L>> {
            let mut next = End { link: self.link };
            next.link.end();
            L::send(next, CLIENT, Message::Busy)
        }
    }

    /// The end of the session for `server`.
    #[derive(Debug)]
    #[must_use = "`close` says that the session is over"]
    pub struct End<L> {
        link: L,
    }

    impl<L> Session<L> for End<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> End<L> {
        /// The session is over; gives its link back.
        pub fn close(self) -> L {
            self.link
        }
    }
}
