//! Roles `host`, `player` of the protocol `Rounds`.
//!
//! A host sets a number of rounds; both sides count them. Recursion data as in nuScr: `left` begins with what the
//! host said, and each round leaves one less.
//!
//! @generated from rounds.scr by `referee generate rust`: change the protocol, not this file.

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
    /// `Begin`.
    Begin { rounds: i64 },
    /// `Ask`.
    Ask { number: i64 },
    /// `End`.
    End,
    /// `Answer`.
    Answer { text: String },
}

impl referee_endpoint::Message for Message {
    const SIGNATURES: &'static [Signature] = &[
        Signature { label: "Begin", fields: &["rounds"] },
        Signature { label: "Ask", fields: &["number"] },
        Signature { label: "End", fields: &[] },
        Signature { label: "Answer", fields: &["text"] },
    ];

    fn signature(&self) -> usize {
        match self {
            Self::Begin { .. } => 0,
            Self::Ask { .. } => 1,
            Self::End { .. } => 2,
            Self::Answer { .. } => 3,
        }
    }

    fn to_values(&self) -> Vec<Value> {
        match self {
            Self::Begin { rounds } => alloc::vec![rounds.to_value()],
            Self::Ask { number } => alloc::vec![number.to_value()],
            Self::End => Vec::new(),
            Self::Answer { text } => alloc::vec![text.to_value()],
        }
    }

    fn from_values(signature: usize, values: &mut dyn Iterator<Item = Value>) -> Result<Self, usize> {
        let mut next = || values.next().unwrap_or(Value::Unit);
        Ok(match signature {
            0 => Self::Begin { rounds: Field::from_value(next()).ok_or(0_usize)? },
            1 => Self::Ask { number: Field::from_value(next()).ok_or(0_usize)? },
            2 => Self::End,
            3 => Self::Answer { text: Field::from_value(next()).ok_or(0_usize)? },
            _ => return Err(0),
        })
    }
}

/// The endpoint of `host`.
pub mod host {
    use super::*;

    /// What the protocol calls this role.
    pub const ROLE: &str = "host";

    /// The roles that this one talks to, in the order of the streams of a link.
    pub const PEERS: [&str; 1] = ["player"];

    const PLAYER: Peer = Peer { index: 0, name: "player" };

    /// The beginning: `host` sends `Begin` to player.
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

        /// Whether `Begin` with these fields is right now: `rounds > 0 && rounds >= 0; left := rounds`.
        pub fn admits_begin(&self, rounds: i64) -> Result<(), Error> {
            self.computes_begin(rounds).map(|_| ())
        }

        /// What follows from `Begin`, if it is right now: `rounds > 0 && rounds >= 0; left := rounds`.
        fn computes_begin(&self, rounds: i64) -> Result<i64, Error> {
            let admitted = || -> Result<i64, Failure> {
                if !((rounds > 0_i64) && (rounds >= 0_i64)) {
                    return Err(Failure::Undefined);
                }
                let new_left = rounds;
                Ok(new_left)
            };
            admitted()
                .map_err(|failure| failure.on_send("Begin", "rounds > 0 && rounds >= 0; left := rounds"))
        }

        /// Sends `Begin` to player.
        ///
        /// Nothing is sent unless this holds: `rounds > 0 && rounds >= 0; left := rounds`.
        pub fn begin(self, rounds: i64) -> L::Sent<AfterBegin<L>> {
            let new_left = match self.computes_begin(rounds) {
                Ok(new_left) => new_left,
                Err(error) => return L::refuse(error),
            };
            let next = AfterBegin { link: self.link, left: new_left };
            L::send(next, PLAYER, Message::Begin { rounds })
        }
    }

    /// A state: `host` sends `Ask` to player or `End` to player.
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub struct AfterBegin<L> {
        link: L,
        left: i64,
    }

    impl<L> Session<L> for AfterBegin<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> AfterBegin<L> {
        /// Whether `Ask` with these fields is right now: `number == left && left > 0`.
        pub fn admits_ask(&self, number: i64) -> Result<(), Error> {
            let admitted = || -> Result<(), Failure> {
                if !((number == self.left) && (self.left > 0_i64)) {
                    return Err(Failure::Undefined);
                }
                Ok(())
            };
            admitted().map_err(|failure| failure.on_send("Ask", "number == left && left > 0"))
        }

        /// Sends `Ask` to player.
        ///
        /// Nothing is sent unless this holds: `number == left && left > 0`.
        pub fn ask(self, number: i64) -> L::Sent<AfterAsk<L>> {
            if let Err(error) = self.admits_ask(number) {
                return L::refuse(error);
            }
            let next = AfterAsk { link: self.link, left: self.left };
            L::send(next, PLAYER, Message::Ask { number })
        }

        /// Whether `End` with these fields is right now: `left == 0`.
        pub fn admits_end(&self) -> Result<(), Error> {
            let admitted = || -> Result<(), Failure> {
                if !(self.left == 0_i64) {
                    return Err(Failure::Undefined);
                }
                Ok(())
            };
            admitted().map_err(|failure| failure.on_send("End", "left == 0"))
        }

        /// Sends `End` to player.
        ///
        /// Nothing is sent unless this holds: `left == 0`.
        pub fn end(self) -> L::Sent<End<L>> {
            if let Err(error) = self.admits_end() {
                return L::refuse(error);
            }
            let mut next = End { link: self.link };
            next.link.end();
            L::send(next, PLAYER, Message::End)
        }
    }

    /// A state: `host` receives `Answer` from player.
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub struct AfterAsk<L> {
        link: L,
        left: i64,
    }

    impl<L> Session<L> for AfterAsk<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> AfterAsk<L> {
        /// What follows from `Answer`, if it is right now: `left - 1 >= 0; left := left - 1`.
        fn computes_answer(&self, from: Peer, text: &str) -> Result<i64, Error> {
            let admitted = || -> Result<i64, Failure> {
                if !(eval::subtract(self.left, 1_i64)? >= 0_i64) {
                    return Err(Failure::Undefined);
                }
                let new_left = eval::subtract(self.left, 1_i64)?;
                Ok(new_left)
            };
            admitted()
                .map_err(|failure| failure.on_receive(from, "Answer", "left - 1 >= 0; left := left - 1"))
        }

        /// Awaits the next message.
        pub fn recv(self) -> L::Received<Self, AfterAskEvent<L>> {
            L::receive(self, Self::EXPECTED, Self::judge)
        }

        const EXPECTED: &'static [Expect] = &[Expect { from: PLAYER, signature: 3, label: "Answer" }];

        fn judge(self, from: usize, message: Message) -> Result<AfterAskEvent<L>, Error> {
            match (from, message) {
                (0, Message::Answer { text }) => {
                    let new_left = self.computes_answer(PLAYER, &text)?;
                    let next = AfterBegin { link: self.link, left: new_left };
                    Ok(AfterAskEvent::Answer { text, next })
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
        /// `Answer` from player.
        ///
        /// This holds: `left - 1 >= 0; left := left - 1`.
        Answer {
            /// `text`.
            text: String,
            /// The session goes on here.
            next: AfterBegin<L>,
        },
    }

    /// The end of the session for `host`.
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

/// The endpoint of `player`.
pub mod player {
    use super::*;

    /// What the protocol calls this role.
    pub const ROLE: &str = "player";

    /// The roles that this one talks to, in the order of the streams of a link.
    pub const PEERS: [&str; 1] = ["host"];

    const HOST: Peer = Peer { index: 0, name: "host" };

    /// The beginning: `player` receives `Begin` from host.
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

        /// What follows from `Begin`, if it is right now: `rounds > 0 && rounds >= 0; left := rounds`.
        fn computes_begin(&self, from: Peer, rounds: i64) -> Result<i64, Error> {
            let admitted = || -> Result<i64, Failure> {
                if !((rounds > 0_i64) && (rounds >= 0_i64)) {
                    return Err(Failure::Undefined);
                }
                let new_left = rounds;
                Ok(new_left)
            };
            admitted().map_err(|failure| {
                failure.on_receive(from, "Begin", "rounds > 0 && rounds >= 0; left := rounds")
            })
        }

        /// Awaits the next message.
        pub fn recv(self) -> L::Received<Self, StartEvent<L>> {
            L::receive(self, Self::EXPECTED, Self::judge)
        }

        const EXPECTED: &'static [Expect] = &[Expect { from: HOST, signature: 0, label: "Begin" }];

        fn judge(self, from: usize, message: Message) -> Result<StartEvent<L>, Error> {
            match (from, message) {
                (0, Message::Begin { rounds }) => {
                    let new_left = self.computes_begin(HOST, rounds)?;
                    let next = AfterBegin { link: self.link, left: new_left };
                    Ok(StartEvent::Begin { rounds, next })
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
        /// `Begin` from host.
        ///
        /// This holds: `rounds > 0 && rounds >= 0; left := rounds`.
        Begin {
            /// `rounds`.
            rounds: i64,
            /// The session goes on here.
            next: AfterBegin<L>,
        },
    }

    /// A state: `player` receives `Ask` from host or `End` from host.
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub struct AfterBegin<L> {
        link: L,
        left: i64,
    }

    impl<L> Session<L> for AfterBegin<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> AfterBegin<L> {
        /// Whether `Ask` with these fields is right now: `number == left && left > 0`.
        fn admits_ask(&self, from: Peer, number: i64) -> Result<(), Error> {
            let admitted = || -> Result<(), Failure> {
                if !((number == self.left) && (self.left > 0_i64)) {
                    return Err(Failure::Undefined);
                }
                Ok(())
            };
            admitted().map_err(|failure| failure.on_receive(from, "Ask", "number == left && left > 0"))
        }

        /// Whether `End` with these fields is right now: `left == 0`.
        fn admits_end(&self, from: Peer) -> Result<(), Error> {
            let admitted = || -> Result<(), Failure> {
                if !(self.left == 0_i64) {
                    return Err(Failure::Undefined);
                }
                Ok(())
            };
            admitted().map_err(|failure| failure.on_receive(from, "End", "left == 0"))
        }

        /// Awaits the next message.
        pub fn recv(self) -> L::Received<Self, AfterBeginEvent<L>> {
            L::receive(self, Self::EXPECTED, Self::judge)
        }

        const EXPECTED: &'static [Expect] = &[
            Expect { from: HOST, signature: 1, label: "Ask" },
            Expect { from: HOST, signature: 2, label: "End" },
        ];

        fn judge(self, from: usize, message: Message) -> Result<AfterBeginEvent<L>, Error> {
            match (from, message) {
                (0, Message::Ask { number }) => {
                    self.admits_ask(HOST, number)?;
                    let next = AfterAsk { link: self.link, left: self.left };
                    Ok(AfterBeginEvent::Ask { number, next })
                }
                (0, Message::End) => {
                    self.admits_end(HOST)?;
                    let mut next = End { link: self.link };
                    next.link.end();
                    Ok(AfterBeginEvent::End { next })
                }
                (from, other) => {
                    let label = referee_endpoint::Message::label(&other);
                    Err(Error::unexpected(from, label, Self::EXPECTED))
                }
            }
        }
    }

    /// What may arrive in [`AfterBegin`].
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub enum AfterBeginEvent<L> {
        /// `Ask` from host.
        ///
        /// This holds: `number == left && left > 0`.
        Ask {
            /// `number`.
            number: i64,
            /// The session goes on here.
            next: AfterAsk<L>,
        },
        /// `End` from host.
        ///
        /// This holds: `left == 0`.
        End {
            /// The session goes on here.
            next: End<L>,
        },
    }

    /// A state: `player` sends `Answer` to host.
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub struct AfterAsk<L> {
        link: L,
        left: i64,
    }

    impl<L> Session<L> for AfterAsk<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> AfterAsk<L> {
        /// Whether `Answer` with these fields is right now: `left - 1 >= 0; left := left - 1`.
        pub fn admits_answer(&self, text: &str) -> Result<(), Error> {
            self.computes_answer(text).map(|_| ())
        }

        /// What follows from `Answer`, if it is right now: `left - 1 >= 0; left := left - 1`.
        fn computes_answer(&self, text: &str) -> Result<i64, Error> {
            let admitted = || -> Result<i64, Failure> {
                if !(eval::subtract(self.left, 1_i64)? >= 0_i64) {
                    return Err(Failure::Undefined);
                }
                let new_left = eval::subtract(self.left, 1_i64)?;
                Ok(new_left)
            };
            admitted().map_err(|failure| failure.on_send("Answer", "left - 1 >= 0; left := left - 1"))
        }

        /// Sends `Answer` to host.
        ///
        /// Nothing is sent unless this holds: `left - 1 >= 0; left := left - 1`.
        pub fn answer(self, text: impl Into<String>) -> L::Sent<AfterBegin<L>> {
            let text: String = text.into();
            let new_left = match self.computes_answer(&text) {
                Ok(new_left) => new_left,
                Err(error) => return L::refuse(error),
            };
            let next = AfterBegin { link: self.link, left: new_left };
            L::send(next, HOST, Message::Answer { text })
        }
    }

    /// The end of the session for `player`.
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
