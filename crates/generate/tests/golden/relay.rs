//! Roles `A`, `B`, `C` of the protocol `relay.kmc`.
//!
//! @generated from relay.kmc by `referee generate rust`: change the protocol, not this file.

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
    /// `task`.
    Task,
    /// `done`.
    Done,
    /// `lost`.
    Lost,
    /// `report`.
    Report,
}

impl referee_endpoint::Message for Message {
    const SIGNATURES: &'static [Signature] = &[
        Signature { label: "task", fields: &[] },
        Signature { label: "done", fields: &[] },
        Signature { label: "lost", fields: &[] },
        Signature { label: "report", fields: &[] },
    ];

    fn signature(&self) -> usize {
        match self {
            Self::Task { .. } => 0,
            Self::Done { .. } => 1,
            Self::Lost { .. } => 2,
            Self::Report { .. } => 3,
        }
    }

    fn to_values(&self) -> Vec<Value> {
        match self {
            Self::Task => Vec::new(),
            Self::Done => Vec::new(),
            Self::Lost => Vec::new(),
            Self::Report => Vec::new(),
        }
    }

    fn from_values(signature: usize, values: &mut dyn Iterator<Item = Value>) -> Result<Self, usize> {
        let mut next = || values.next().unwrap_or(Value::Unit);
        Ok(match signature {
            0 => Self::Task,
            1 => Self::Done,
            2 => Self::Lost,
            3 => Self::Report,
            _ => return Err(0),
        })
    }
}

/// The endpoint of `A`.
pub mod a {
    use super::*;

    /// What the protocol calls this role.
    pub const ROLE: &str = "A";

    /// The roles that this one talks to, in the order of the streams of a link.
    pub const PEERS: [&str; 2] = ["B", "C"];

    const B: Peer = Peer { index: 0, name: "B" };
    const C: Peer = Peer { index: 1, name: "C" };

    /// The beginning: `A` sends `task` to B.
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

        /// Sends `task` to B.
        pub fn task(self) -> L::Sent<AfterTask<L>> {
            let next = AfterTask { link: self.link };
            L::send(next, B, Message::Task)
        }
    }

    /// A state: `A` receives `done` from B or `lost` from C.
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub struct AfterTask<L> {
        link: L,
    }

    impl<L> Session<L> for AfterTask<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> AfterTask<L> {
        /// Awaits the next message.
        pub fn recv(self) -> L::Received<Self, AfterTaskEvent<L>> {
            L::receive(self, Self::EXPECTED, Self::judge)
        }

        const EXPECTED: &'static [Expect] = &[
            Expect { from: B, signature: 1, label: "done" },
            Expect { from: C, signature: 2, label: "lost" },
        ];

        fn judge(self, from: usize, message: Message) -> Result<AfterTaskEvent<L>, Error> {
            match (from, message) {
                (0, Message::Done) => {
                    let mut next = End { link: self.link };
                    next.link.end();
                    Ok(AfterTaskEvent::Done { next })
                }
                (1, Message::Lost) => {
                    let mut next = End { link: self.link };
                    next.link.end();
                    Ok(AfterTaskEvent::Lost { next })
                }
                (from, other) => {
                    let label = referee_endpoint::Message::label(&other);
                    Err(Error::unexpected(from, label, Self::EXPECTED))
                }
            }
        }
    }

    /// What may arrive in [`AfterTask`].
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub enum AfterTaskEvent<L> {
        /// `done` from B.
        Done {
            /// The session goes on here.
            next: End<L>,
        },
        /// `lost` from C.
        Lost {
            /// The session goes on here.
            next: End<L>,
        },
    }

    /// The end of the session for `A`.
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

/// The endpoint of `B`.
pub mod b {
    use super::*;

    /// What the protocol calls this role.
    pub const ROLE: &str = "B";

    /// The roles that this one talks to, in the order of the streams of a link.
    pub const PEERS: [&str; 2] = ["A", "C"];

    const A: Peer = Peer { index: 0, name: "A" };
    const C: Peer = Peer { index: 1, name: "C" };

    /// The beginning: `B` receives `task` from A.
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

        const EXPECTED: &'static [Expect] = &[Expect { from: A, signature: 0, label: "task" }];

        fn judge(self, from: usize, message: Message) -> Result<StartEvent<L>, Error> {
            match (from, message) {
                (0, Message::Task) => {
                    let next = AfterTask { link: self.link };
                    Ok(StartEvent::Task { next })
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
        /// `task` from A.
        Task {
            /// The session goes on here.
            next: AfterTask<L>,
        },
    }

    /// A state: `B` sends `report` to C.
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub struct AfterTask<L> {
        link: L,
    }

    impl<L> Session<L> for AfterTask<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> AfterTask<L> {
        /// Sends `report` to C.
        pub fn report(self) -> L::Sent<AfterReport<L>> {
            let next = AfterReport { link: self.link };
            L::send(next, C, Message::Report)
        }
    }

    /// A state: `B` sends `done` to A.
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub struct AfterReport<L> {
        link: L,
    }

    impl<L> Session<L> for AfterReport<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> AfterReport<L> {
        /// Sends `done` to A.
        pub fn done(self) -> L::Sent<End<L>> {
            let mut next = End { link: self.link };
            next.link.end();
            L::send(next, A, Message::Done)
        }
    }

    /// The end of the session for `B`.
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

/// The endpoint of `C`.
pub mod c {
    use super::*;

    /// What the protocol calls this role.
    pub const ROLE: &str = "C";

    /// The roles that this one talks to, in the order of the streams of a link.
    pub const PEERS: [&str; 1] = ["B"];

    const B: Peer = Peer { index: 0, name: "B" };

    /// The beginning: `C` receives `report` from B.
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

        const EXPECTED: &'static [Expect] = &[Expect { from: B, signature: 3, label: "report" }];

        fn judge(self, from: usize, message: Message) -> Result<StartEvent<L>, Error> {
            match (from, message) {
                (0, Message::Report) => {
                    let mut next = End { link: self.link };
                    next.link.end();
                    Ok(StartEvent::Report { next })
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
        /// `report` from B.
        Report {
            /// The session goes on here.
            next: End<L>,
        },
    }

    /// The end of the session for `C`.
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
