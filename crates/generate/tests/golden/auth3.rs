//! Roles `s`, `c`, `a` of the protocol `authorization.gt`.
//!
//! @generated from authorization.gt by `referee generate rust`: change the protocol, not this file.

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
    /// `login`.
    Login,
    /// `quit`.
    Quit,
    /// `auth`.
    Auth { field1: bool },
    /// `passwd`.
    Passwd { field1: String },
}

impl referee_endpoint::Message for Message {
    const SIGNATURES: &'static [Signature] = &[
        Signature { label: "login", fields: &[] },
        Signature { label: "quit", fields: &[] },
        Signature { label: "auth", fields: &["0"] },
        Signature { label: "passwd", fields: &["0"] },
    ];

    fn signature(&self) -> usize {
        match self {
            Self::Login { .. } => 0,
            Self::Quit { .. } => 1,
            Self::Auth { .. } => 2,
            Self::Passwd { .. } => 3,
        }
    }

    fn to_values(&self) -> Vec<Value> {
        match self {
            Self::Login => Vec::new(),
            Self::Quit => Vec::new(),
            Self::Auth { field1 } => alloc::vec![field1.to_value()],
            Self::Passwd { field1 } => alloc::vec![field1.to_value()],
        }
    }

    fn from_values(signature: usize, values: &mut dyn Iterator<Item = Value>) -> Result<Self, usize> {
        let mut next = || values.next().unwrap_or(Value::Unit);
        Ok(match signature {
            0 => Self::Login,
            1 => Self::Quit,
            2 => Self::Auth { field1: Field::from_value(next()).ok_or(0_usize)? },
            3 => Self::Passwd { field1: Field::from_value(next()).ok_or(0_usize)? },
            _ => return Err(0),
        })
    }
}

/// The endpoint of `s`.
pub mod s {
    use super::*;

    /// What the protocol calls this role.
    pub const ROLE: &str = "s";

    /// The roles that this one talks to, in the order of the streams of a link.
    pub const PEERS: [&str; 2] = ["c", "a"];

    const C: Peer = Peer { index: 0, name: "c" };
    const A: Peer = Peer { index: 1, name: "a" };

    /// The beginning: `s` sends `login` to c or `quit` to c.
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

        /// Sends `login` to c.
        pub fn login(self) -> L::Sent<AfterLogin<L>> {
            let next = AfterLogin { link: self.link };
            L::send(next, C, Message::Login)
        }

        /// Sends `quit` to c.
        pub fn quit(self) -> L::Sent<End<L>> {
            let mut next = End { link: self.link };
            next.link.end();
            L::send(next, C, Message::Quit)
        }
    }

    /// A state: `s` receives `auth` from a.
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub struct AfterLogin<L> {
        link: L,
    }

    impl<L> Session<L> for AfterLogin<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> AfterLogin<L> {
        /// Awaits the next message.
        pub fn recv(self) -> L::Received<Self, AfterLoginEvent<L>> {
            L::receive(self, Self::EXPECTED, Self::judge)
        }

        const EXPECTED: &'static [Expect] = &[Expect { from: A, signature: 2, label: "auth" }];

        fn judge(self, from: usize, message: Message) -> Result<AfterLoginEvent<L>, Error> {
            match (from, message) {
                (1, Message::Auth { field1 }) => {
                    let next = Start { link: self.link };
                    Ok(AfterLoginEvent::Auth { field1, next })
                }
                (from, other) => {
                    let label = referee_endpoint::Message::label(&other);
                    Err(Error::unexpected(from, label, Self::EXPECTED))
                }
            }
        }
    }

    /// What may arrive in [`AfterLogin`].
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub enum AfterLoginEvent<L> {
        /// `auth` from a.
        Auth {
            /// `0`.
            field1: bool,
            /// The session goes on here.
            next: Start<L>,
        },
    }

    /// The end of the session for `s`.
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

/// The endpoint of `c`.
pub mod c {
    use super::*;

    /// What the protocol calls this role.
    pub const ROLE: &str = "c";

    /// The roles that this one talks to, in the order of the streams of a link.
    pub const PEERS: [&str; 2] = ["s", "a"];

    const S: Peer = Peer { index: 0, name: "s" };
    const A: Peer = Peer { index: 1, name: "a" };

    /// The beginning: `c` receives `login` from s or `quit` from s.
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

        const EXPECTED: &'static [Expect] = &[
            Expect { from: S, signature: 0, label: "login" },
            Expect { from: S, signature: 1, label: "quit" },
        ];

        fn judge(self, from: usize, message: Message) -> Result<StartEvent<L>, Error> {
            match (from, message) {
                (0, Message::Login) => {
                    let next = AfterLogin { link: self.link };
                    Ok(StartEvent::Login { next })
                }
                (0, Message::Quit) => {
                    let next = AfterQuit { link: self.link };
                    Ok(StartEvent::Quit { next })
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
        /// `login` from s.
        Login {
            /// The session goes on here.
            next: AfterLogin<L>,
        },
        /// `quit` from s.
        Quit {
            /// The session goes on here.
            next: AfterQuit<L>,
        },
    }

    /// A state: `c` sends `passwd` to a.
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub struct AfterLogin<L> {
        link: L,
    }

    impl<L> Session<L> for AfterLogin<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> AfterLogin<L> {
        /// Sends `passwd` to a.
        pub fn passwd(self, field1: impl Into<String>) -> L::Sent<Start<L>> {
            let field1: String = field1.into();
            let next = Start { link: self.link };
            L::send(next, A, Message::Passwd { field1 })
        }
    }

    /// A state: `c` sends `quit` to a.
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub struct AfterQuit<L> {
        link: L,
    }

    impl<L> Session<L> for AfterQuit<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> AfterQuit<L> {
        /// Sends `quit` to a.
        pub fn quit(self) -> L::Sent<End<L>> {
            let mut next = End { link: self.link };
            next.link.end();
            L::send(next, A, Message::Quit)
        }
    }

    /// The end of the session for `c`.
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

/// The endpoint of `a`.
pub mod a {
    use super::*;

    /// What the protocol calls this role.
    pub const ROLE: &str = "a";

    /// The roles that this one talks to, in the order of the streams of a link.
    pub const PEERS: [&str; 2] = ["c", "s"];

    const C: Peer = Peer { index: 0, name: "c" };
    const S: Peer = Peer { index: 1, name: "s" };

    /// The beginning: `a` receives `passwd` from c or `quit` from c.
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

        const EXPECTED: &'static [Expect] = &[
            Expect { from: C, signature: 3, label: "passwd" },
            Expect { from: C, signature: 1, label: "quit" },
        ];

        fn judge(self, from: usize, message: Message) -> Result<StartEvent<L>, Error> {
            match (from, message) {
                (0, Message::Passwd { field1 }) => {
                    let next = AfterPasswd { link: self.link };
                    Ok(StartEvent::Passwd { field1, next })
                }
                (0, Message::Quit) => {
                    let mut next = End { link: self.link };
                    next.link.end();
                    Ok(StartEvent::Quit { next })
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
        /// `passwd` from c.
        Passwd {
            /// `0`.
            field1: String,
            /// The session goes on here.
            next: AfterPasswd<L>,
        },
        /// `quit` from c.
        Quit {
            /// The session goes on here.
            next: End<L>,
        },
    }

    /// A state: `a` sends `auth` to s.
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub struct AfterPasswd<L> {
        link: L,
    }

    impl<L> Session<L> for AfterPasswd<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> AfterPasswd<L> {
        /// Sends `auth` to s.
        pub fn auth(self, field1: bool) -> L::Sent<Start<L>> {
            let next = Start { link: self.link };
            L::send(next, S, Message::Auth { field1 })
        }
    }

    /// The end of the session for `a`.
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
