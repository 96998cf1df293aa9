//! Role `client` of the protocol `Smtp`.
//!
//! The heart of SMTP, seen from above (paper ECOOP'21, Section 6: S_smtp).
//!
//! @generated from smtp.scr by `referee generate rust`: change the protocol, not this file.

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
    /// `220`.
    M220 { greeting: String },
    /// `Helo`.
    Helo { hostname: String },
    /// `Quit`.
    Quit,
    /// `250`.
    M250 { text: String },
    /// `221`.
    M221 { text: String },
    /// `MailFrom`.
    MailFrom { sender: String },
    /// `RcptTo`.
    RcptTo { recipient: String },
    /// `Data`.
    Data,
    /// `354`.
    M354 { text: String },
    /// `Content`.
    Content { text: String },
}

impl referee_endpoint::Message for Message {
    const SIGNATURES: &'static [Signature] = &[
        Signature { label: "220", fields: &["greeting"] },
        Signature { label: "Helo", fields: &["hostname"] },
        Signature { label: "Quit", fields: &[] },
        Signature { label: "250", fields: &["text"] },
        Signature { label: "221", fields: &["text"] },
        Signature { label: "MailFrom", fields: &["sender"] },
        Signature { label: "RcptTo", fields: &["recipient"] },
        Signature { label: "Data", fields: &[] },
        Signature { label: "354", fields: &["text"] },
        Signature { label: "Content", fields: &["text"] },
    ];

    fn signature(&self) -> usize {
        match self {
            Self::M220 { .. } => 0,
            Self::Helo { .. } => 1,
            Self::Quit { .. } => 2,
            Self::M250 { .. } => 3,
            Self::M221 { .. } => 4,
            Self::MailFrom { .. } => 5,
            Self::RcptTo { .. } => 6,
            Self::Data { .. } => 7,
            Self::M354 { .. } => 8,
            Self::Content { .. } => 9,
        }
    }

    fn to_values(&self) -> Vec<Value> {
        match self {
            Self::M220 { greeting } => alloc::vec![greeting.to_value()],
            Self::Helo { hostname } => alloc::vec![hostname.to_value()],
            Self::Quit => Vec::new(),
            Self::M250 { text } => alloc::vec![text.to_value()],
            Self::M221 { text } => alloc::vec![text.to_value()],
            Self::MailFrom { sender } => alloc::vec![sender.to_value()],
            Self::RcptTo { recipient } => alloc::vec![recipient.to_value()],
            Self::Data => Vec::new(),
            Self::M354 { text } => alloc::vec![text.to_value()],
            Self::Content { text } => alloc::vec![text.to_value()],
        }
    }

    fn from_values(signature: usize, values: &mut dyn Iterator<Item = Value>) -> Result<Self, usize> {
        let mut next = || values.next().unwrap_or(Value::Unit);
        Ok(match signature {
            0 => Self::M220 { greeting: Field::from_value(next()).ok_or(0_usize)? },
            1 => Self::Helo { hostname: Field::from_value(next()).ok_or(0_usize)? },
            2 => Self::Quit,
            3 => Self::M250 { text: Field::from_value(next()).ok_or(0_usize)? },
            4 => Self::M221 { text: Field::from_value(next()).ok_or(0_usize)? },
            5 => Self::MailFrom { sender: Field::from_value(next()).ok_or(0_usize)? },
            6 => Self::RcptTo { recipient: Field::from_value(next()).ok_or(0_usize)? },
            7 => Self::Data,
            8 => Self::M354 { text: Field::from_value(next()).ok_or(0_usize)? },
            9 => Self::Content { text: Field::from_value(next()).ok_or(0_usize)? },
            _ => return Err(0),
        })
    }
}

/// What the protocol calls this role.
pub const ROLE: &str = "client";

/// The roles that this one talks to, in the order of the streams of a link.
pub const PEERS: [&str; 1] = ["server"];

const SERVER: Peer = Peer { index: 0, name: "server" };

/// The beginning: `client` receives `220` from server.
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

    const EXPECTED: &'static [Expect] = &[Expect { from: SERVER, signature: 0, label: "220" }];

    fn judge(self, from: usize, message: Message) -> Result<StartEvent<L>, Error> {
        match (from, message) {
            (0, Message::M220 { greeting }) => {
                let next = After220 { link: self.link };
                Ok(StartEvent::M220 { greeting, next })
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
    /// `220` from server.
    M220 {
        /// `greeting`.
        greeting: String,
        /// The session goes on here.
        next: After220<L>,
    },
}

/// A state: `client` sends `Helo` to server or `Quit` to server.
#[derive(Debug)]
#[must_use = "dropping a session before its end aborts it"]
pub struct After220<L> {
    link: L,
}

impl<L> Session<L> for After220<L> {
    fn link(&mut self) -> &mut L {
        &mut self.link
    }
}

impl<L: Link<Message>> After220<L> {
    /// Sends `Helo` to server.
    pub fn helo(self, hostname: impl Into<String>) -> L::Sent<AfterHelo<L>> {
        let hostname: String = hostname.into();
        let next = AfterHelo { link: self.link };
        L::send(next, SERVER, Message::Helo { hostname })
    }

    /// Sends `Quit` to server.
    pub fn quit(self) -> L::Sent<After220Quit<L>> {
        let next = After220Quit { link: self.link };
        L::send(next, SERVER, Message::Quit)
    }
}

/// A state: `client` receives `250` from server.
#[derive(Debug)]
#[must_use = "dropping a session before its end aborts it"]
pub struct AfterHelo<L> {
    link: L,
}

impl<L> Session<L> for AfterHelo<L> {
    fn link(&mut self) -> &mut L {
        &mut self.link
    }
}

impl<L: Link<Message>> AfterHelo<L> {
    /// Awaits the next message.
    pub fn recv(self) -> L::Received<Self, AfterHeloEvent<L>> {
        L::receive(self, Self::EXPECTED, Self::judge)
    }

    const EXPECTED: &'static [Expect] = &[Expect { from: SERVER, signature: 3, label: "250" }];

    fn judge(self, from: usize, message: Message) -> Result<AfterHeloEvent<L>, Error> {
        match (from, message) {
            (0, Message::M250 { text }) => {
                let next = AfterHelo250 { link: self.link };
                Ok(AfterHeloEvent::M250 { text, next })
            }
            (from, other) => {
                let label = referee_endpoint::Message::label(&other);
                Err(Error::unexpected(from, label, Self::EXPECTED))
            }
        }
    }
}

/// What may arrive in [`AfterHelo`].
#[derive(Debug)]
#[must_use = "dropping a session before its end aborts it"]
pub enum AfterHeloEvent<L> {
    /// `250` from server.
    M250 {
        /// `text`.
        text: String,
        /// The session goes on here.
        next: AfterHelo250<L>,
    },
}

/// A state: `client` receives `221` from server.
#[derive(Debug)]
#[must_use = "dropping a session before its end aborts it"]
pub struct After220Quit<L> {
    link: L,
}

impl<L> Session<L> for After220Quit<L> {
    fn link(&mut self) -> &mut L {
        &mut self.link
    }
}

impl<L: Link<Message>> After220Quit<L> {
    /// Awaits the next message.
    pub fn recv(self) -> L::Received<Self, After220QuitEvent<L>> {
        L::receive(self, Self::EXPECTED, Self::judge)
    }

    const EXPECTED: &'static [Expect] = &[Expect { from: SERVER, signature: 4, label: "221" }];

    fn judge(self, from: usize, message: Message) -> Result<After220QuitEvent<L>, Error> {
        match (from, message) {
            (0, Message::M221 { text }) => {
                let mut next = End { link: self.link };
                next.link.end();
                Ok(After220QuitEvent::M221 { text, next })
            }
            (from, other) => {
                let label = referee_endpoint::Message::label(&other);
                Err(Error::unexpected(from, label, Self::EXPECTED))
            }
        }
    }
}

/// What may arrive in [`After220Quit`].
#[derive(Debug)]
#[must_use = "dropping a session before its end aborts it"]
pub enum After220QuitEvent<L> {
    /// `221` from server.
    M221 {
        /// `text`.
        text: String,
        /// The session goes on here.
        next: End<L>,
    },
}

/// A state: `client` sends `MailFrom` to server or `Quit` to server.
#[derive(Debug)]
#[must_use = "dropping a session before its end aborts it"]
pub struct AfterHelo250<L> {
    link: L,
}

impl<L> Session<L> for AfterHelo250<L> {
    fn link(&mut self) -> &mut L {
        &mut self.link
    }
}

impl<L: Link<Message>> AfterHelo250<L> {
    /// Sends `MailFrom` to server.
    pub fn mail_from(self, sender: impl Into<String>) -> L::Sent<AfterMailFrom<L>> {
        let sender: String = sender.into();
        let next = AfterMailFrom { link: self.link };
        L::send(next, SERVER, Message::MailFrom { sender })
    }

    /// Sends `Quit` to server.
    pub fn quit(self) -> L::Sent<AfterHelo250Quit<L>> {
        let next = AfterHelo250Quit { link: self.link };
        L::send(next, SERVER, Message::Quit)
    }
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

/// A state: `client` receives `250` from server.
#[derive(Debug)]
#[must_use = "dropping a session before its end aborts it"]
pub struct AfterMailFrom<L> {
    link: L,
}

impl<L> Session<L> for AfterMailFrom<L> {
    fn link(&mut self) -> &mut L {
        &mut self.link
    }
}

impl<L: Link<Message>> AfterMailFrom<L> {
    /// Awaits the next message.
    pub fn recv(self) -> L::Received<Self, AfterMailFromEvent<L>> {
        L::receive(self, Self::EXPECTED, Self::judge)
    }

    const EXPECTED: &'static [Expect] = &[Expect { from: SERVER, signature: 3, label: "250" }];

    fn judge(self, from: usize, message: Message) -> Result<AfterMailFromEvent<L>, Error> {
        match (from, message) {
            (0, Message::M250 { text }) => {
                let next = AfterMailFrom250 { link: self.link };
                Ok(AfterMailFromEvent::M250 { text, next })
            }
            (from, other) => {
                let label = referee_endpoint::Message::label(&other);
                Err(Error::unexpected(from, label, Self::EXPECTED))
            }
        }
    }
}

/// What may arrive in [`AfterMailFrom`].
#[derive(Debug)]
#[must_use = "dropping a session before its end aborts it"]
pub enum AfterMailFromEvent<L> {
    /// `250` from server.
    M250 {
        /// `text`.
        text: String,
        /// The session goes on here.
        next: AfterMailFrom250<L>,
    },
}

/// A state: `client` receives `221` from server.
#[derive(Debug)]
#[must_use = "dropping a session before its end aborts it"]
pub struct AfterHelo250Quit<L> {
    link: L,
}

impl<L> Session<L> for AfterHelo250Quit<L> {
    fn link(&mut self) -> &mut L {
        &mut self.link
    }
}

impl<L: Link<Message>> AfterHelo250Quit<L> {
    /// Awaits the next message.
    pub fn recv(self) -> L::Received<Self, AfterHelo250QuitEvent<L>> {
        L::receive(self, Self::EXPECTED, Self::judge)
    }

    const EXPECTED: &'static [Expect] = &[Expect { from: SERVER, signature: 4, label: "221" }];

    fn judge(self, from: usize, message: Message) -> Result<AfterHelo250QuitEvent<L>, Error> {
        match (from, message) {
            (0, Message::M221 { text }) => {
                let mut next = End { link: self.link };
                next.link.end();
                Ok(AfterHelo250QuitEvent::M221 { text, next })
            }
            (from, other) => {
                let label = referee_endpoint::Message::label(&other);
                Err(Error::unexpected(from, label, Self::EXPECTED))
            }
        }
    }
}

/// What may arrive in [`AfterHelo250Quit`].
#[derive(Debug)]
#[must_use = "dropping a session before its end aborts it"]
pub enum AfterHelo250QuitEvent<L> {
    /// `221` from server.
    M221 {
        /// `text`.
        text: String,
        /// The session goes on here.
        next: End<L>,
    },
}

/// A state: `client` sends `RcptTo` to server or `Data` to server or `Quit` to server.
#[derive(Debug)]
#[must_use = "dropping a session before its end aborts it"]
pub struct AfterMailFrom250<L> {
    link: L,
}

impl<L> Session<L> for AfterMailFrom250<L> {
    fn link(&mut self) -> &mut L {
        &mut self.link
    }
}

impl<L: Link<Message>> AfterMailFrom250<L> {
    /// Sends `RcptTo` to server.
    pub fn rcpt_to(self, recipient: impl Into<String>) -> L::Sent<AfterRcptTo<L>> {
        let recipient: String = recipient.into();
        let next = AfterRcptTo { link: self.link };
        L::send(next, SERVER, Message::RcptTo { recipient })
    }

    /// Sends `Data` to server.
    pub fn data(self) -> L::Sent<AfterData<L>> {
        let next = AfterData { link: self.link };
        L::send(next, SERVER, Message::Data)
    }

    /// Sends `Quit` to server.
    pub fn quit(self) -> L::Sent<AfterMailFrom250Quit<L>> {
        let next = AfterMailFrom250Quit { link: self.link };
        L::send(next, SERVER, Message::Quit)
    }
}

/// A state: `client` receives `250` from server.
#[derive(Debug)]
#[must_use = "dropping a session before its end aborts it"]
pub struct AfterRcptTo<L> {
    link: L,
}

impl<L> Session<L> for AfterRcptTo<L> {
    fn link(&mut self) -> &mut L {
        &mut self.link
    }
}

impl<L: Link<Message>> AfterRcptTo<L> {
    /// Awaits the next message.
    pub fn recv(self) -> L::Received<Self, AfterRcptToEvent<L>> {
        L::receive(self, Self::EXPECTED, Self::judge)
    }

    const EXPECTED: &'static [Expect] = &[Expect { from: SERVER, signature: 3, label: "250" }];

    fn judge(self, from: usize, message: Message) -> Result<AfterRcptToEvent<L>, Error> {
        match (from, message) {
            (0, Message::M250 { text }) => {
                let next = AfterMailFrom250 { link: self.link };
                Ok(AfterRcptToEvent::M250 { text, next })
            }
            (from, other) => {
                let label = referee_endpoint::Message::label(&other);
                Err(Error::unexpected(from, label, Self::EXPECTED))
            }
        }
    }
}

/// What may arrive in [`AfterRcptTo`].
#[derive(Debug)]
#[must_use = "dropping a session before its end aborts it"]
pub enum AfterRcptToEvent<L> {
    /// `250` from server.
    M250 {
        /// `text`.
        text: String,
        /// The session goes on here.
        next: AfterMailFrom250<L>,
    },
}

/// A state: `client` receives `354` from server.
#[derive(Debug)]
#[must_use = "dropping a session before its end aborts it"]
pub struct AfterData<L> {
    link: L,
}

impl<L> Session<L> for AfterData<L> {
    fn link(&mut self) -> &mut L {
        &mut self.link
    }
}

impl<L: Link<Message>> AfterData<L> {
    /// Awaits the next message.
    pub fn recv(self) -> L::Received<Self, AfterDataEvent<L>> {
        L::receive(self, Self::EXPECTED, Self::judge)
    }

    const EXPECTED: &'static [Expect] = &[Expect { from: SERVER, signature: 8, label: "354" }];

    fn judge(self, from: usize, message: Message) -> Result<AfterDataEvent<L>, Error> {
        match (from, message) {
            (0, Message::M354 { text }) => {
                let next = After354 { link: self.link };
                Ok(AfterDataEvent::M354 { text, next })
            }
            (from, other) => {
                let label = referee_endpoint::Message::label(&other);
                Err(Error::unexpected(from, label, Self::EXPECTED))
            }
        }
    }
}

/// What may arrive in [`AfterData`].
#[derive(Debug)]
#[must_use = "dropping a session before its end aborts it"]
pub enum AfterDataEvent<L> {
    /// `354` from server.
    M354 {
        /// `text`.
        text: String,
        /// The session goes on here.
        next: After354<L>,
    },
}

/// A state: `client` receives `221` from server.
#[derive(Debug)]
#[must_use = "dropping a session before its end aborts it"]
pub struct AfterMailFrom250Quit<L> {
    link: L,
}

impl<L> Session<L> for AfterMailFrom250Quit<L> {
    fn link(&mut self) -> &mut L {
        &mut self.link
    }
}

impl<L: Link<Message>> AfterMailFrom250Quit<L> {
    /// Awaits the next message.
    pub fn recv(self) -> L::Received<Self, AfterMailFrom250QuitEvent<L>> {
        L::receive(self, Self::EXPECTED, Self::judge)
    }

    const EXPECTED: &'static [Expect] = &[Expect { from: SERVER, signature: 4, label: "221" }];

    fn judge(self, from: usize, message: Message) -> Result<AfterMailFrom250QuitEvent<L>, Error> {
        match (from, message) {
            (0, Message::M221 { text }) => {
                let mut next = End { link: self.link };
                next.link.end();
                Ok(AfterMailFrom250QuitEvent::M221 { text, next })
            }
            (from, other) => {
                let label = referee_endpoint::Message::label(&other);
                Err(Error::unexpected(from, label, Self::EXPECTED))
            }
        }
    }
}

/// What may arrive in [`AfterMailFrom250Quit`].
#[derive(Debug)]
#[must_use = "dropping a session before its end aborts it"]
pub enum AfterMailFrom250QuitEvent<L> {
    /// `221` from server.
    M221 {
        /// `text`.
        text: String,
        /// The session goes on here.
        next: End<L>,
    },
}

/// A state: `client` sends `Content` to server.
#[derive(Debug)]
#[must_use = "dropping a session before its end aborts it"]
pub struct After354<L> {
    link: L,
}

impl<L> Session<L> for After354<L> {
    fn link(&mut self) -> &mut L {
        &mut self.link
    }
}

impl<L: Link<Message>> After354<L> {
    /// Sends `Content` to server.
    pub fn content(self, text: impl Into<String>) -> L::Sent<AfterContent<L>> {
        let text: String = text.into();
        let next = AfterContent { link: self.link };
        L::send(next, SERVER, Message::Content { text })
    }
}

/// A state: `client` receives `250` from server.
#[derive(Debug)]
#[must_use = "dropping a session before its end aborts it"]
pub struct AfterContent<L> {
    link: L,
}

impl<L> Session<L> for AfterContent<L> {
    fn link(&mut self) -> &mut L {
        &mut self.link
    }
}

impl<L: Link<Message>> AfterContent<L> {
    /// Awaits the next message.
    pub fn recv(self) -> L::Received<Self, AfterContentEvent<L>> {
        L::receive(self, Self::EXPECTED, Self::judge)
    }

    const EXPECTED: &'static [Expect] = &[Expect { from: SERVER, signature: 3, label: "250" }];

    fn judge(self, from: usize, message: Message) -> Result<AfterContentEvent<L>, Error> {
        match (from, message) {
            (0, Message::M250 { text }) => {
                let next = AfterHelo250 { link: self.link };
                Ok(AfterContentEvent::M250 { text, next })
            }
            (from, other) => {
                let label = referee_endpoint::Message::label(&other);
                Err(Error::unexpected(from, label, Self::EXPECTED))
            }
        }
    }
}

/// What may arrive in [`AfterContent`].
#[derive(Debug)]
#[must_use = "dropping a session before its end aborts it"]
pub enum AfterContentEvent<L> {
    /// `250` from server.
    M250 {
        /// `text`.
        text: String,
        /// The session goes on here.
        next: AfterHelo250<L>,
    },
}
