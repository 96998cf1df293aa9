//! What a connection is about: the request that is being answered, and its stream of events.

use super::events::EventStream;
use crate::connection::Connection;
use crate::http::RequestKind;
use crate::signature::Sender;

/// What a request asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Asked {
    /// It is a message.
    Messages,
    /// A stream of events.
    Events,
    /// It does not say, and may be answered with a stream of events.
    Nothing,
    /// Nothing that is read.
    #[default]
    Other,
}

/// A request and its response, one at a time on a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exchange {
    pub(super) asked: Asked,
    /// Whether the message in it waits for an answer.
    pub(super) has_request: bool,
    /// Whether its response has no body in any case.
    pub(super) is_head: bool,
    /// Whether it names its session.
    is_named: bool,
    /// The ids of its requests: one, unless the message is an array.
    requests: Vec<Box<str>>,
    /// Whether its stream can be resumed, and the answer come there.
    is_resumable: bool,
    /// The events that answer it.
    pub(super) stream: Option<EventStream>,
    /// The same, before the head of the response is taken.
    prepared: Option<EventStream>,
}

/// A step in an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// The client has asked, perhaps for a head only.
    Asked(Asked, bool),
    /// It is answered with a stream of events.
    Stream,
    /// One of these.
    Event { is_message: bool, is_last: bool, has_id: bool },
    /// It is answered with a message.
    Answered,
    /// It is answered with nothing that is read.
    Passed,
}

impl Exchange {
    /// The exchange that the connection is about, or the next.
    pub(super) fn of(connection: &mut Connection) -> &mut Self {
        connection.exchange.get_or_insert_default()
    }

    /// A request is looked at. Outside a session, the client's answers may be to requests of other exchanges.
    pub(super) fn begin(connection: &mut Connection, is_named: bool) {
        Self::of(connection).is_named = is_named;
        if !is_named {
            connection.rpc.get_or_insert_default().note_unseen([true, false]);
        }
    }

    /// A message of the client was looked at.
    pub(super) fn note_request(connection: &mut Connection) {
        let request = connection.rpc.as_ref().and_then(|open| open.key(Sender::Client));
        let exchange = Self::of(connection);
        if let Some(request) = request.filter(|request| !exchange.requests.contains(request)) {
            exchange.has_request = true;
            exchange.requests.push(request);
        }
    }

    /// Nothing more comes in it. An answer may still come elsewhere if the session says where.
    pub(crate) fn end(connection: &mut Connection) {
        let Some(exchange) = connection.exchange.take() else { return };
        if let Some(open) = &mut connection.rpc
            && !(exchange.is_named && exchange.is_resumable)
        {
            exchange.requests.iter().for_each(|request| open.forget(request));
        }
    }

    pub(super) fn prepare(&mut self, stream: EventStream) {
        self.prepared = Some(stream);
    }

    /// Whether a stream of events is being read.
    pub(crate) fn is_streaming(&self) -> bool {
        self.stream.is_some()
    }
}

impl Done {
    /// `sender` has done this, and its message went on or did not.
    pub(crate) fn apply(self, connection: &mut Connection, sender: Sender, forwarded: bool) {
        let commit = |connection: &mut Connection| {
            if let Some(open) = connection.rpc.as_mut().filter(|_| forwarded) {
                open.commit(sender);
            }
        };
        match self {
            Self::Asked(asked, is_head) if forwarded => {
                connection.unanswered.push(RequestKind::Plain, asked == Asked::Other);
                let exchange = Exchange::of(connection);
                (exchange.asked, exchange.is_head) = (asked, is_head);
                match asked {
                    Asked::Messages => commit(connection),
                    // Whatever is resumed there.
                    Asked::Events | Asked::Nothing if !exchange.is_named => {
                        connection.rpc.get_or_insert_default().note_unseen([true; 2]);
                    }
                    _ => {}
                }
            }
            Self::Asked(..) => connection.exchange = None,
            Self::Stream => {
                let exchange = Exchange::of(connection);
                exchange.stream = exchange.prepared.take();
            }
            Self::Event { is_message, is_last, has_id } => {
                let exchange = Exchange::of(connection);
                exchange.is_resumable |= has_id;
                if let Some(stream) = &mut exchange.stream {
                    stream.advance();
                }
                if is_message {
                    commit(connection);
                }
                if is_last {
                    connection.unanswered.pop();
                    Exchange::end(connection);
                }
            }
            Self::Answered | Self::Passed => {
                if self == Self::Answered {
                    commit(connection);
                }
                connection.unanswered.pop();
                Exchange::end(connection);
            }
        }
    }
}
