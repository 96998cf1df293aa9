//! Roles `client`, `server` of the protocol `AuthPlain`.
//!
//! @generated from auth-plain.scr by `referee generate rust`: change the protocol, not this file.

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
    /// `Auth`.
    Auth { uname: String, pwd: String },
    /// `Succ`.
    Succ { tok: String },
    /// `Fail`.
    Fail { code: i64 },
    /// `Get`.
    Get { resource: String, req_tok: String },
    /// `Rvk`.
    Rvk { rvk_tok: String },
    /// `Res`.
    Res { content: String },
    /// `Timeout`.
    Timeout,
}

impl referee_endpoint::Message for Message {
    const SIGNATURES: &'static [Signature] = &[
        Signature { label: "Auth", fields: &["uname", "pwd"] },
        Signature { label: "Succ", fields: &["tok"] },
        Signature { label: "Fail", fields: &["code"] },
        Signature { label: "Get", fields: &["resource", "reqTok"] },
        Signature { label: "Rvk", fields: &["rvkTok"] },
        Signature { label: "Res", fields: &["content"] },
        Signature { label: "Timeout", fields: &[] },
    ];

    fn signature(&self) -> usize {
        match self {
            Self::Auth { .. } => 0,
            Self::Succ { .. } => 1,
            Self::Fail { .. } => 2,
            Self::Get { .. } => 3,
            Self::Rvk { .. } => 4,
            Self::Res { .. } => 5,
            Self::Timeout { .. } => 6,
        }
    }

    fn to_values(&self) -> Vec<Value> {
        match self {
            Self::Auth { uname, pwd } => alloc::vec![uname.to_value(), pwd.to_value()],
            Self::Succ { tok } => alloc::vec![tok.to_value()],
            Self::Fail { code } => alloc::vec![code.to_value()],
            Self::Get { resource, req_tok } => alloc::vec![resource.to_value(), req_tok.to_value()],
            Self::Rvk { rvk_tok } => alloc::vec![rvk_tok.to_value()],
            Self::Res { content } => alloc::vec![content.to_value()],
            Self::Timeout => Vec::new(),
        }
    }

    fn from_values(signature: usize, values: &mut dyn Iterator<Item = Value>) -> Result<Self, usize> {
        let mut next = || values.next().unwrap_or(Value::Unit);
        Ok(match signature {
            0 => Self::Auth {
                uname: Field::from_value(next()).ok_or(0_usize)?,
                pwd: Field::from_value(next()).ok_or(1_usize)?,
            },
            1 => Self::Succ { tok: Field::from_value(next()).ok_or(0_usize)? },
            2 => Self::Fail { code: Field::from_value(next()).ok_or(0_usize)? },
            3 => Self::Get {
                resource: Field::from_value(next()).ok_or(0_usize)?,
                req_tok: Field::from_value(next()).ok_or(1_usize)?,
            },
            4 => Self::Rvk { rvk_tok: Field::from_value(next()).ok_or(0_usize)? },
            5 => Self::Res { content: Field::from_value(next()).ok_or(0_usize)? },
            6 => Self::Timeout,
            _ => return Err(0),
        })
    }
}

/// `[a-z]+` as a table.
static PATTERN_1: eval::Pattern = eval::Pattern {
    classes: &[
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ],
    width: 3,
    next: &[0, 1, 2, 3, 4, 3, 2, 2, 2, 3, 3, 3, 4, 4, 4],
    start: 0,
    accepts: &[false, false, false, true, true],
};

/// The endpoint of `client`.
pub mod client {
    use super::*;

    /// What the protocol calls this role.
    pub const ROLE: &str = "client";

    /// The roles that this one talks to, in the order of the streams of a link.
    pub const PEERS: [&str; 1] = ["server"];

    const SERVER: Peer = Peer { index: 0, name: "server" };

    /// The beginning: `client` sends `Auth` to server.
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

        /// Whether `Auth` with these fields is right now: `uname.matches("[a-z]+")`.
        pub fn admits_auth(&self, uname: &str, pwd: &str) -> Result<(), Error> {
            let admitted = || -> Result<(), Failure> {
                if !(PATTERN_1.is_match(uname)) {
                    return Err(Failure::Undefined);
                }
                Ok(())
            };
            admitted().map_err(|failure| failure.on_send("Auth", "uname.matches(\"[a-z]+\")"))
        }

        /// Sends `Auth` to server.
        ///
        /// Nothing is sent unless this holds: `uname.matches("[a-z]+")`.
        pub fn auth(self, uname: impl Into<String>, pwd: impl Into<String>) -> L::Sent<AfterAuth<L>> {
            let uname: String = uname.into();
            let pwd: String = pwd.into();
            if let Err(error) = self.admits_auth(&uname, &pwd) {
                return L::refuse(error);
            }
            let next = AfterAuth { link: self.link };
            L::send(next, SERVER, Message::Auth { uname, pwd })
        }
    }

    /// A state: `client` receives `Succ` from server or `Fail` from server.
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub struct AfterAuth<L> {
        link: L,
    }

    impl<L> Session<L> for AfterAuth<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> AfterAuth<L> {
        /// Awaits the next message.
        pub fn recv(self) -> L::Received<Self, AfterAuthEvent<L>> {
            L::receive(self, Self::EXPECTED, Self::judge)
        }

        const EXPECTED: &'static [Expect] = &[
            Expect { from: SERVER, signature: 1, label: "Succ" },
            Expect { from: SERVER, signature: 2, label: "Fail" },
        ];

        fn judge(self, from: usize, message: Message) -> Result<AfterAuthEvent<L>, Error> {
            match (from, message) {
                (0, Message::Succ { tok }) => {
                    let next = AfterSucc { link: self.link, tok: tok.clone() };
                    Ok(AfterAuthEvent::Succ { tok, next })
                }
                (0, Message::Fail { code }) => {
                    let next = Start { link: self.link };
                    Ok(AfterAuthEvent::Fail { code, next })
                }
                (from, other) => {
                    let label = referee_endpoint::Message::label(&other);
                    Err(Error::unexpected(from, label, Self::EXPECTED))
                }
            }
        }
    }

    /// What may arrive in [`AfterAuth`].
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub enum AfterAuthEvent<L> {
        /// `Succ` from server.
        Succ {
            /// `tok`.
            tok: String,
            /// The session goes on here.
            next: AfterSucc<L>,
        },
        /// `Fail` from server.
        Fail {
            /// `code`.
            code: i64,
            /// The session goes on here.
            next: Start<L>,
        },
    }

    /// A state: `client` sends `Get` to server or `Rvk` to server.
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub struct AfterSucc<L> {
        link: L,
        tok: String,
    }

    impl<L> Session<L> for AfterSucc<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> AfterSucc<L> {
        /// Whether `Get` with these fields is right now: `reqTok == tok`.
        pub fn admits_get(&self, resource: &str, req_tok: &str) -> Result<(), Error> {
            let admitted = || -> Result<(), Failure> {
                if !(*req_tok == *self.tok) {
                    return Err(Failure::Undefined);
                }
                Ok(())
            };
            admitted().map_err(|failure| failure.on_send("Get", "reqTok == tok"))
        }

        /// Sends `Get` to server.
        ///
        /// Nothing is sent unless this holds: `reqTok == tok`.
        pub fn get(self, resource: impl Into<String>, req_tok: impl Into<String>) -> L::Sent<AfterGet<L>> {
            let resource: String = resource.into();
            let req_tok: String = req_tok.into();
            if let Err(error) = self.admits_get(&resource, &req_tok) {
                return L::refuse(error);
            }
            let next = AfterGet { link: self.link, tok: self.tok };
            L::send(next, SERVER, Message::Get { resource, req_tok })
        }

        /// Whether `Rvk` with these fields is right now: `rvkTok == tok`.
        pub fn admits_rvk(&self, rvk_tok: &str) -> Result<(), Error> {
            let admitted = || -> Result<(), Failure> {
                if !(*rvk_tok == *self.tok) {
                    return Err(Failure::Undefined);
                }
                Ok(())
            };
            admitted().map_err(|failure| failure.on_send("Rvk", "rvkTok == tok"))
        }

        /// Sends `Rvk` to server.
        ///
        /// Nothing is sent unless this holds: `rvkTok == tok`.
        pub fn rvk(self, rvk_tok: impl Into<String>) -> L::Sent<End<L>> {
            let rvk_tok: String = rvk_tok.into();
            if let Err(error) = self.admits_rvk(&rvk_tok) {
                return L::refuse(error);
            }
            let mut next = End { link: self.link };
            next.link.end();
            L::send(next, SERVER, Message::Rvk { rvk_tok })
        }
    }

    /// A state: `client` receives `Res` from server or `Timeout` from server.
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub struct AfterGet<L> {
        link: L,
        tok: String,
    }

    impl<L> Session<L> for AfterGet<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> AfterGet<L> {
        /// Awaits the next message.
        pub fn recv(self) -> L::Received<Self, AfterGetEvent<L>> {
            L::receive(self, Self::EXPECTED, Self::judge)
        }

        const EXPECTED: &'static [Expect] = &[
            Expect { from: SERVER, signature: 5, label: "Res" },
            Expect { from: SERVER, signature: 6, label: "Timeout" },
        ];

        fn judge(self, from: usize, message: Message) -> Result<AfterGetEvent<L>, Error> {
            match (from, message) {
                (0, Message::Res { content }) => {
                    let next = AfterSucc { link: self.link, tok: self.tok };
                    Ok(AfterGetEvent::Res { content, next })
                }
                (0, Message::Timeout) => {
                    let next = Start { link: self.link };
                    Ok(AfterGetEvent::Timeout { next })
                }
                (from, other) => {
                    let label = referee_endpoint::Message::label(&other);
                    Err(Error::unexpected(from, label, Self::EXPECTED))
                }
            }
        }
    }

    /// What may arrive in [`AfterGet`].
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub enum AfterGetEvent<L> {
        /// `Res` from server.
        Res {
            /// `content`.
            content: String,
            /// The session goes on here.
            next: AfterSucc<L>,
        },
        /// `Timeout` from server.
        Timeout {
            /// The session goes on here.
            next: Start<L>,
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

    /// The beginning: `server` receives `Auth` from client.
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

        /// Whether `Auth` with these fields is right now: `uname.matches("[a-z]+")`.
        fn admits_auth(&self, from: Peer, uname: &str, pwd: &str) -> Result<(), Error> {
            let admitted = || -> Result<(), Failure> {
                if !(PATTERN_1.is_match(uname)) {
                    return Err(Failure::Undefined);
                }
                Ok(())
            };
            admitted().map_err(|failure| failure.on_receive(from, "Auth", "uname.matches(\"[a-z]+\")"))
        }

        /// Awaits the next message.
        pub fn recv(self) -> L::Received<Self, StartEvent<L>> {
            L::receive(self, Self::EXPECTED, Self::judge)
        }

        const EXPECTED: &'static [Expect] = &[Expect { from: CLIENT, signature: 0, label: "Auth" }];

        fn judge(self, from: usize, message: Message) -> Result<StartEvent<L>, Error> {
            match (from, message) {
                (0, Message::Auth { uname, pwd }) => {
                    self.admits_auth(CLIENT, &uname, &pwd)?;
                    let next = AfterAuth { link: self.link };
                    Ok(StartEvent::Auth { uname, pwd, next })
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
        /// `Auth` from client.
        ///
        /// This holds: `uname.matches("[a-z]+")`.
        Auth {
            /// `uname`.
            uname: String,
            /// `pwd`.
            pwd: String,
            /// The session goes on here.
            next: AfterAuth<L>,
        },
    }

    /// A state: `server` sends `Succ` to client or `Fail` to client.
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub struct AfterAuth<L> {
        link: L,
    }

    impl<L> Session<L> for AfterAuth<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> AfterAuth<L> {
        /// Sends `Succ` to client.
        pub fn succ(self, tok: impl Into<String>) -> L::Sent<AfterSucc<L>> {
            let tok: String = tok.into();
            let next = AfterSucc { link: self.link, tok: tok.clone() };
            L::send(next, CLIENT, Message::Succ { tok })
        }

        /// Sends `Fail` to client.
        pub fn fail(self, code: i64) -> L::Sent<Start<L>> {
            let next = Start { link: self.link };
            L::send(next, CLIENT, Message::Fail { code })
        }
    }

    /// A state: `server` receives `Get` from client or `Rvk` from client.
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub struct AfterSucc<L> {
        link: L,
        tok: String,
    }

    impl<L> Session<L> for AfterSucc<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> AfterSucc<L> {
        /// Whether `Get` with these fields is right now: `reqTok == tok`.
        fn admits_get(&self, from: Peer, resource: &str, req_tok: &str) -> Result<(), Error> {
            let admitted = || -> Result<(), Failure> {
                if !(*req_tok == *self.tok) {
                    return Err(Failure::Undefined);
                }
                Ok(())
            };
            admitted().map_err(|failure| failure.on_receive(from, "Get", "reqTok == tok"))
        }

        /// Whether `Rvk` with these fields is right now: `rvkTok == tok`.
        fn admits_rvk(&self, from: Peer, rvk_tok: &str) -> Result<(), Error> {
            let admitted = || -> Result<(), Failure> {
                if !(*rvk_tok == *self.tok) {
                    return Err(Failure::Undefined);
                }
                Ok(())
            };
            admitted().map_err(|failure| failure.on_receive(from, "Rvk", "rvkTok == tok"))
        }

        /// Awaits the next message.
        pub fn recv(self) -> L::Received<Self, AfterSuccEvent<L>> {
            L::receive(self, Self::EXPECTED, Self::judge)
        }

        const EXPECTED: &'static [Expect] = &[
            Expect { from: CLIENT, signature: 3, label: "Get" },
            Expect { from: CLIENT, signature: 4, label: "Rvk" },
        ];

        fn judge(self, from: usize, message: Message) -> Result<AfterSuccEvent<L>, Error> {
            match (from, message) {
                (0, Message::Get { resource, req_tok }) => {
                    self.admits_get(CLIENT, &resource, &req_tok)?;
                    let next = AfterGet { link: self.link, tok: self.tok };
                    Ok(AfterSuccEvent::Get { resource, req_tok, next })
                }
                (0, Message::Rvk { rvk_tok }) => {
                    self.admits_rvk(CLIENT, &rvk_tok)?;
                    let mut next = End { link: self.link };
                    next.link.end();
                    Ok(AfterSuccEvent::Rvk { rvk_tok, next })
                }
                (from, other) => {
                    let label = referee_endpoint::Message::label(&other);
                    Err(Error::unexpected(from, label, Self::EXPECTED))
                }
            }
        }
    }

    /// What may arrive in [`AfterSucc`].
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub enum AfterSuccEvent<L> {
        /// `Get` from client.
        ///
        /// This holds: `reqTok == tok`.
        Get {
            /// `resource`.
            resource: String,
            /// `reqTok`.
            req_tok: String,
            /// The session goes on here.
            next: AfterGet<L>,
        },
        /// `Rvk` from client.
        ///
        /// This holds: `rvkTok == tok`.
        Rvk {
            /// `rvkTok`.
            rvk_tok: String,
            /// The session goes on here.
            next: End<L>,
        },
    }

    /// A state: `server` sends `Res` to client or `Timeout` to client.
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub struct AfterGet<L> {
        link: L,
        tok: String,
    }

    impl<L> Session<L> for AfterGet<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> AfterGet<L> {
        /// Sends `Res` to client.
        pub fn res(self, content: impl Into<String>) -> L::Sent<AfterSucc<L>> {
            let content: String = content.into();
            let next = AfterSucc { link: self.link, tok: self.tok };
            L::send(next, CLIENT, Message::Res { content })
        }

        /// Sends `Timeout` to client.
        pub fn timeout(self) -> L::Sent<Start<L>> {
            let next = Start { link: self.link };
            L::send(next, CLIENT, Message::Timeout)
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
