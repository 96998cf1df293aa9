//! A codec: a table, compiled. What it is for and how it is used is told at the [crate's](crate) beginning.

use referee_monitor::Monitor;
use referee_theory::{Machine, Role, Vocabulary};

use crate::body;
use crate::connection::{Batch, Body, Connection, Effect, Flow};
use crate::error::TableError;
use crate::frames::Frames;
use crate::http::Http;
use crate::json::{Documents, Json};
use crate::json_http::{Asked, Done, JsonHttp};
use crate::reading::{Mode, Reading};
use crate::resp::Resp;
use crate::signature::{Known, MessageId, Sender, Signature};
use crate::step::{After, Fields, Label, Malformed, Message, Refusal, Scratch, Step};
use crate::table::{Kind, Leave, Table};
use crate::text::Text;
use crate::websocket::WebSocket;

/// How bytes become messages, for one protocol. Immutable and shared by all connections.
#[derive(Debug)]
pub struct Codec {
    signature: Signature,
    reader: Reader,
    leave: [Leave; 2],
    /// Who is the process in the monitor's sense.
    process: Sender,
}

/// One kind of codec.
#[derive(Debug)]
enum Reader {
    Text(Text),
    Json(Json),
    Http(Http),
    JsonHttp(JsonHttp),
    Frames(Frames),
    Resp(Resp),
    WebSocket(WebSocket),
}

/// What a connection may cost.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many bytes a message may have, not counting a body that is passed on without being kept.
    pub message: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { message: 64 * 1024 }
    }
}

impl Codec {
    /// Compiles `table` for the messages of `monitor`'s machine, `client` being the role that connects.
    ///
    /// # Errors
    /// Everything that is wrong with the table, or missing from it.
    pub fn compile(table: &Table, monitor: &Monitor, client: Role) -> Result<Self, Vec<TableError>> {
        Self::for_machine(table, monitor.machine(), monitor.vocabulary(), client)
    }

    /// Like [`compile`](Self::compile), where there is no monitor of exactly these messages: `machine` is only asked
    /// which they are.
    ///
    /// # Errors
    /// As [`compile`](Self::compile).
    pub fn for_machine(
        table: &Table,
        machine: &Machine,
        vocabulary: &Vocabulary,
        client: Role,
    ) -> Result<Self, Vec<TableError>> {
        let signature = Signature::new(table, machine, vocabulary, client)?;
        let mut errors = table.foreign_keys();
        for (name, _) in &table.messages {
            if !signature.messages.iter().any(|known| *known.name == **name) {
                errors.push(
                    TableError::new(["messages", name], "the protocol has no such message")
                        .help("`aside = true` lets it pass without being part of the protocol"),
                );
            }
        }
        for (name, interrupted) in table.interruptions() {
            if !signature.messages.iter().any(|known| *known.name == *interrupted) {
                let message = format!("the protocol has no message `{interrupted}`");
                errors.push(TableError::new(["messages", name, "interrupts"], message));
            }
        }
        let reader = match table.kind {
            Kind::Text => Text::compile(table, &signature, &mut errors).map(Reader::Text),
            Kind::Json => Json::compile(table, &signature, &mut errors).map(Reader::Json),
            Kind::Http => Http::compile(table, &signature, &mut errors).map(Reader::Http),
            Kind::JsonHttp => JsonHttp::compile(table, &signature, &mut errors).map(Reader::JsonHttp),
            Kind::Frames => Frames::compile(table, &signature, &mut errors).map(Reader::Frames),
            Kind::Resp => Resp::compile(table, &signature, &mut errors).map(Reader::Resp),
            Kind::WebSocket => WebSocket::compile(table, &signature, &mut errors).map(Reader::WebSocket),
        };
        let process = if machine.role() == client { Sender::Client } else { Sender::Server };
        match reader {
            Some(reader) if errors.is_empty() => {
                let leave = [table.leave.client, table.leave.server];
                Ok(Self { signature, reader, leave, process })
            }
            _ => Err(errors),
        }
    }

    /// A connection, before its first byte.
    #[must_use]
    pub fn connection(&self, limits: Limits) -> Connection {
        Connection::new(limits.message)
    }

    /// A connection of a WebSocket whose handshake is over; of other codecs, one before its first byte.
    #[must_use]
    pub fn upgraded(&self, limits: Limits) -> Connection {
        let is_socket = matches!(self.reader, Reader::WebSocket(_));
        Connection { upgraded: is_socket, ..Connection::new(limits.message) }
    }

    /// A connection whose owner does not relay it but is one of its ends, and speaks WebSocket itself where the codec is of
    /// that kind: each message is one frame without a mask, and neither handshake nor control frames are there.
    #[must_use]
    pub fn endpoint(&self, limits: Limits) -> Connection {
        let is_socket = matches!(self.reader, Reader::WebSocket(_));
        Connection { upgraded: is_socket, unmasked: is_socket, ..Connection::new(limits.message) }
    }

    /// What `unread`, all that `sender` has sent and nobody has consumed, begins with. `fields` are those of a
    /// [`Step::Message`], and empty otherwise.
    #[inline]
    pub fn decode<'b>(
        &self,
        connection: &mut Connection,
        sender: Sender,
        unread: &'b [u8],
        reading: Reading<'_>,
        scratch: &'b Scratch,
        fields: &mut Fields<'b>,
    ) -> Step<'b> {
        fields.clear();
        if connection.transparent {
            return Step::Transparent;
        }
        let limit = connection.limit;
        let body = connection.flow(sender).body;
        if unread.is_empty() && !matches!(body, Body::Exactly(_)) {
            return Step::More { at_least: 1 };
        }
        let step = if body != Body::None {
            body::step(connection.flow(sender), unread)
        } else {
            match &self.reader {
                Reader::Text(text) => text.decode(connection, sender, unread, reading, fields),
                Reader::Json(json) => json.decode(connection, sender, unread, reading, scratch, fields),
                Reader::Http(http) => http.decode(connection, sender, unread, reading, scratch, fields),
                Reader::JsonHttp(http) => http.decode(connection, sender, unread, reading, scratch, fields),
                Reader::Frames(frames) => frames.decode(limit, sender, unread, reading, scratch, fields),
                Reader::Resp(resp) => resp.decode(limit, sender, unread, reading, scratch, fields),
                Reader::WebSocket(socket) => {
                    socket.decode(connection, sender, unread, reading, scratch, fields)
                }
            }
        };
        match step {
            // However much has arrived at once.
            Step::More { at_least: bytes } | Step::Message(Message { bytes, .. }) if bytes > limit => {
                fields.clear();
                let reason = format!("a message of more than {limit} bytes").into();
                Step::Malformed(Malformed { reason, at: limit, too_long: true })
            }
            step => step,
        }
    }

    /// Consumes a message that [`decode`](Self::decode) has found: `forwarded` says whether it goes on to the
    /// other side. Its body, if any, shares its fate.
    #[inline]
    pub fn take(&self, connection: &mut Connection, sender: Sender, after: After, forwarded: bool) {
        if let Some(deflate) = &mut connection.deflate {
            deflate.take(sender);
        }
        if let Some(batch) = connection.batch_mut(sender) {
            let is_over = batch.next == 0;
            *batch = Batch {
                at: batch.next,
                next: 0,
                count: if is_over { 0 } else { batch.count },
                is_member: false,
            };
        }
        let flow = connection.flow(sender);
        *flow = Flow { body: after.body, ..Flow::default() };
        if let Effect::Exchange(done) = after.effect {
            done.apply(connection, sender, forwarded);
        }
        if forwarded {
            match after.effect {
                Effect::None | Effect::Exchange(_) => {}
                Effect::Transparent => connection.transparent = true,
                Effect::Leave => {
                    connection.leaving.get_mut(sender.index()).into_iter().for_each(|l| *l = true)
                }
                Effect::HangUp => connection.leaving = [true; 2],
                Effect::Request(kind, aside) => connection.unanswered.push(kind, aside),
                Effect::Response => connection.unanswered.pop(),
                Effect::Switch => {
                    connection.unanswered.pop();
                    connection.upgraded = true;
                    connection.transparent = !matches!(self.reader, Reader::WebSocket(_));
                }
                Effect::Rpc => {
                    if let Some(open) = &mut connection.rpc {
                        open.commit(sender);
                    }
                }
            }
        }
    }

    /// The messages that refuse the request `message`: with one of them its sender need not wait for more.
    #[must_use]
    pub fn refusals(&self, message: MessageId) -> &[MessageId] {
        self.documents().map_or(&[], |documents| documents.refusals(message))
    }

    fn documents(&self) -> Option<&Documents> {
        match &self.reader {
            Reader::Json(json) => Some(json.documents()),
            Reader::JsonHttp(http) => Some(http.documents()),
            _ => None,
        }
    }

    /// How the message of `sender` that was [decoded](Self::decode) last, and not taken, can be refused. `None` if the codec does not say.
    #[must_use]
    pub fn refusal(&self, connection: &Connection, sender: Sender) -> Option<Refusal<'_>> {
        match &self.reader {
            Reader::Json(json) => json.documents().refusal(connection, sender),
            Reader::JsonHttp(http) => http.refusal(connection, sender),
            _ => None,
        }
    }

    /// In place of the message of `sender` that was [decoded](Self::decode) last and does not go on, whoever waits for an answer is told
    /// why there is none: who, and in which bytes, none where nobody waits. `None` if that cannot be said.
    #[must_use]
    pub fn refuse(&self, connection: &Connection, sender: Sender, why: &str) -> Option<(Sender, Vec<u8>)> {
        match &self.reader {
            Reader::Json(json) => json.refuse(connection, sender, why),
            Reader::JsonHttp(http) => http.refuse(connection, sender, why),
            _ => None,
        }
    }

    /// Whether messages of one session come on several connections, and say which it is.
    #[must_use]
    pub fn has_exchanges(&self) -> bool {
        matches!(self.reader, Reader::JsonHttp(_))
    }

    /// The session of the request that the client's `unread` begins with, where there are [exchanges](Self::has_exchanges): none if it names
    /// none. `None` if that is not known yet, or the request is malformed.
    pub fn session<'b>(&self, connection: &mut Connection, unread: &'b [u8]) -> Option<Option<&'b [u8]>> {
        match &self.reader {
            Reader::JsonHttp(http) => http.session(connection, unread),
            _ => None,
        }
    }

    /// Whether the message goes to a session, and is not beside it; where there are [exchanges](Self::has_exchanges).
    #[must_use]
    pub fn is_in_session(&self, message: &Message<'_>) -> bool {
        matches!(message.after.effect, Effect::Exchange(Done::Asked(Asked::Messages | Asked::Events, _)))
    }

    /// What a client is told whose session is not known.
    #[must_use]
    pub fn unknown_session(&self, connection: &Connection) -> Vec<u8> {
        match &self.reader {
            Reader::JsonHttp(http) => http.unknown_session(connection),
            _ => Vec::new(),
        }
    }

    /// Whether the client has the beginning of an answer whose rest consists of messages.
    #[must_use]
    pub fn is_streaming(&self, connection: &Connection) -> bool {
        connection.exchange.as_ref().is_some_and(|exchange| exchange.is_streaming())
    }

    /// `sender`'s stream has ended, with `unread` left over.
    ///
    /// # Errors
    /// If a message was under way, and its sender must not leave within one ([`Leave::Anytime`]).
    pub fn end(&self, connection: &mut Connection, sender: Sender, unread: &[u8]) -> Result<(), Malformed> {
        let whole = match connection.flow(sender).body {
            Body::UntilEnd => true,
            Body::None => match &self.reader {
                Reader::Json(json) => json.is_blank(unread),
                _ => unread.is_empty(),
            },
            _ => self.may_abandon(connection, sender),
        };
        if connection.transparent || whole || self.leave(sender) == Leave::Anytime {
            return Ok(());
        }
        Err(Malformed::new("the connection ended within a message", unread.len()))
    }

    /// Whether `sender` may end within the body of the message that was taken last: one that may leave at any time may break
    /// off, and nobody is interested any more in a request that has its final response already (RFC 9110, 10.1.1; RFC 9112, 9.6).
    #[must_use]
    pub fn may_abandon(&self, connection: &Connection, sender: Sender) -> bool {
        if self.leave(sender) == Leave::Anytime {
            return true;
        }
        let is_http = self.has_requests();
        is_http && sender == Sender::Client && connection.unanswered.is_empty()
    }

    /// Whether a server may close the connection whenever it owes no response (RFC 9112, 9.5), and be asked on another.
    #[must_use]
    pub fn has_requests(&self) -> bool {
        matches!(self.reader, Reader::Http(_) | Reader::JsonHttp(_))
    }

    /// Whether every request has its response.
    #[must_use]
    pub fn is_idle(&self, connection: &Connection) -> bool {
        connection.unanswered.is_empty()
    }

    /// When `sender` may end its side of the connection although the session is not over.
    #[must_use]
    pub fn leave(&self, sender: Sender) -> Leave {
        match sender {
            Sender::Client => self.leave[0],
            Sender::Server => self.leave[1],
        }
    }

    /// Every message, by [`MessageId::index`].
    #[must_use]
    pub fn messages(&self) -> &[Known] {
        &self.signature.messages
    }

    /// What `label` is called.
    #[must_use]
    pub fn name<'a>(&'a self, label: Label<'a>) -> &'a str {
        match label {
            Label::Known(id) => self.messages().get(id.index()).map_or("", |known| &known.name),
            Label::Unknown(text) => text,
        }
    }

    /// The message called `name` that `sender` sends.
    #[must_use]
    pub fn find(&self, sender: Sender, name: &str) -> Option<MessageId> {
        self.signature.of(sender).find(|(_, known)| *known.name == *name).map(|(id, _)| id)
    }

    /// The messages of `sender` that the monitor is not asked about.
    pub(crate) fn asides(&self, sender: Sender) -> impl Iterator<Item = MessageId> {
        self.signature.of(sender).filter(|(_, known)| known.aside).map(|(id, _)| id)
    }

    /// Whether `sender` is the process of the monitor that this was compiled for.
    #[must_use]
    pub fn is_process(&self, sender: Sender) -> bool {
        sender == self.process
    }

    /// How to read where exactly `possible` may come.
    pub(crate) fn mode(&self, possible: &[MessageId]) -> Result<Mode, TableError> {
        match &self.reader {
            Reader::Text(text) => text.mode(possible, &self.signature),
            Reader::Frames(frames) => frames.mode(possible, &self.signature),
            _ => Ok(Mode::Usual),
        }
    }
}
