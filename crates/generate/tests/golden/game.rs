//! Roles `player`, `server` of the protocol `Game`.
//!
//! A number is to be guessed (paper ECOOP'21, Section 6: S_game, the server's view).
//!
//! @generated from game.scr by `referee generate rust`: change the protocol, not this file.

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
    /// `Guess`.
    Guess { num: i64 },
    /// `Quit`.
    Quit,
    /// `Correct`.
    Correct { ans: i64 },
    /// `Incorrect`.
    Incorrect,
}

impl referee_endpoint::Message for Message {
    const SIGNATURES: &'static [Signature] = &[
        Signature { label: "Guess", fields: &["num"] },
        Signature { label: "Quit", fields: &[] },
        Signature { label: "Correct", fields: &["ans"] },
        Signature { label: "Incorrect", fields: &[] },
    ];

    fn signature(&self) -> usize {
        match self {
            Self::Guess { .. } => 0,
            Self::Quit { .. } => 1,
            Self::Correct { .. } => 2,
            Self::Incorrect { .. } => 3,
        }
    }

    fn to_values(&self) -> Vec<Value> {
        match self {
            Self::Guess { num } => alloc::vec![num.to_value()],
            Self::Quit => Vec::new(),
            Self::Correct { ans } => alloc::vec![ans.to_value()],
            Self::Incorrect => Vec::new(),
        }
    }

    fn from_values(signature: usize, values: &mut dyn Iterator<Item = Value>) -> Result<Self, usize> {
        let mut next = || values.next().unwrap_or(Value::Unit);
        Ok(match signature {
            0 => Self::Guess { num: Field::from_value(next()).ok_or(0_usize)? },
            1 => Self::Quit,
            2 => Self::Correct { ans: Field::from_value(next()).ok_or(0_usize)? },
            3 => Self::Incorrect,
            _ => return Err(0),
        })
    }
}

/// The endpoint of `player`.
pub mod player {
    use super::*;

    /// What the protocol calls this role.
    pub const ROLE: &str = "player";

    /// The roles that this one talks to, in the order of the streams of a link.
    pub const PEERS: [&str; 1] = ["server"];

    const SERVER: Peer = Peer { index: 0, name: "server" };

    /// The beginning: `player` sends `Guess` to server or `Quit` to server.
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

        /// Whether `Guess` with these fields is right now: `num > 1 && num < 100`.
        pub fn admits_guess(&self, num: i64) -> Result<(), Error> {
            let admitted = || -> Result<(), Failure> {
                if !((num > 1_i64) && (num < 100_i64)) {
                    return Err(Failure::Undefined);
                }
                Ok(())
            };
            admitted().map_err(|failure| failure.on_send("Guess", "num > 1 && num < 100"))
        }

        /// Sends `Guess` to server.
        ///
        /// Nothing is sent unless this holds: `num > 1 && num < 100`.
        pub fn guess(self, num: i64) -> L::Sent<AfterGuess<L>> {
            if let Err(error) = self.admits_guess(num) {
                return L::refuse(error);
            }
            let next = AfterGuess { link: self.link, num };
            L::send(next, SERVER, Message::Guess { num })
        }

        /// Sends `Quit` to server.
        pub fn quit(self) -> L::Sent<End<L>> {
            let mut next = End { link: self.link };
            next.link.end();
            L::send(next, SERVER, Message::Quit)
        }
    }

    /// A state: `player` receives `Correct` from server or `Incorrect` from server.
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub struct AfterGuess<L> {
        link: L,
        num: i64,
    }

    impl<L> Session<L> for AfterGuess<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> AfterGuess<L> {
        /// Whether `Correct` with these fields is right now: `ans == num`.
        fn admits_correct(&self, from: Peer, ans: i64) -> Result<(), Error> {
            let admitted = || -> Result<(), Failure> {
                if !(ans == self.num) {
                    return Err(Failure::Undefined);
                }
                Ok(())
            };
            admitted().map_err(|failure| failure.on_receive(from, "Correct", "ans == num"))
        }

        /// Awaits the next message.
        pub fn recv(self) -> L::Received<Self, AfterGuessEvent<L>> {
            L::receive(self, Self::EXPECTED, Self::judge)
        }

        const EXPECTED: &'static [Expect] = &[
            Expect { from: SERVER, signature: 2, label: "Correct" },
            Expect { from: SERVER, signature: 3, label: "Incorrect" },
        ];

        fn judge(self, from: usize, message: Message) -> Result<AfterGuessEvent<L>, Error> {
            match (from, message) {
                (0, Message::Correct { ans }) => {
                    self.admits_correct(SERVER, ans)?;
                    let mut next = End { link: self.link };
                    next.link.end();
                    Ok(AfterGuessEvent::Correct { ans, next })
                }
                (0, Message::Incorrect) => {
                    let next = Start { link: self.link };
                    Ok(AfterGuessEvent::Incorrect { next })
                }
                (from, other) => {
                    let label = referee_endpoint::Message::label(&other);
                    Err(Error::unexpected(from, label, Self::EXPECTED))
                }
            }
        }
    }

    /// What may arrive in [`AfterGuess`].
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub enum AfterGuessEvent<L> {
        /// `Correct` from server.
        ///
        /// This holds: `ans == num`.
        Correct {
            /// `ans`.
            ans: i64,
            /// The session goes on here.
            next: End<L>,
        },
        /// `Incorrect` from server.
        Incorrect {
            /// The session goes on here.
            next: Start<L>,
        },
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

/// The endpoint of `server`.
pub mod server {
    use super::*;

    /// What the protocol calls this role.
    pub const ROLE: &str = "server";

    /// The roles that this one talks to, in the order of the streams of a link.
    pub const PEERS: [&str; 1] = ["player"];

    const PLAYER: Peer = Peer { index: 0, name: "player" };

    /// The beginning: `server` receives `Guess` from player or `Quit` from player.
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

        /// Whether `Guess` with these fields is right now: `num > 1 && num < 100`.
        fn admits_guess(&self, from: Peer, num: i64) -> Result<(), Error> {
            let admitted = || -> Result<(), Failure> {
                if !((num > 1_i64) && (num < 100_i64)) {
                    return Err(Failure::Undefined);
                }
                Ok(())
            };
            admitted().map_err(|failure| failure.on_receive(from, "Guess", "num > 1 && num < 100"))
        }

        /// Awaits the next message.
        pub fn recv(self) -> L::Received<Self, StartEvent<L>> {
            L::receive(self, Self::EXPECTED, Self::judge)
        }

        const EXPECTED: &'static [Expect] = &[
            Expect { from: PLAYER, signature: 0, label: "Guess" },
            Expect { from: PLAYER, signature: 1, label: "Quit" },
        ];

        fn judge(self, from: usize, message: Message) -> Result<StartEvent<L>, Error> {
            match (from, message) {
                (0, Message::Guess { num }) => {
                    self.admits_guess(PLAYER, num)?;
                    let next = AfterGuess { link: self.link, num };
                    Ok(StartEvent::Guess { num, next })
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
        /// `Guess` from player.
        ///
        /// This holds: `num > 1 && num < 100`.
        Guess {
            /// `num`.
            num: i64,
            /// The session goes on here.
            next: AfterGuess<L>,
        },
        /// `Quit` from player.
        Quit {
            /// The session goes on here.
            next: End<L>,
        },
    }

    /// A state: `server` sends `Correct` to player or `Incorrect` to player.
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub struct AfterGuess<L> {
        link: L,
        num: i64,
    }

    impl<L> Session<L> for AfterGuess<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> AfterGuess<L> {
        /// Whether `Correct` with these fields is right now: `ans == num`.
        pub fn admits_correct(&self, ans: i64) -> Result<(), Error> {
            let admitted = || -> Result<(), Failure> {
                if !(ans == self.num) {
                    return Err(Failure::Undefined);
                }
                Ok(())
            };
            admitted().map_err(|failure| failure.on_send("Correct", "ans == num"))
        }

        /// Sends `Correct` to player.
        ///
        /// Nothing is sent unless this holds: `ans == num`.
        pub fn correct(self, ans: i64) -> L::Sent<End<L>> {
            if let Err(error) = self.admits_correct(ans) {
                return L::refuse(error);
            }
            let mut next = End { link: self.link };
            next.link.end();
            L::send(next, PLAYER, Message::Correct { ans })
        }

        /// Sends `Incorrect` to player.
        pub fn incorrect(self) -> L::Sent<Start<L>> {
            let next = Start { link: self.link };
            L::send(next, PLAYER, Message::Incorrect)
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
