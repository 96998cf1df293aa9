//! `json-http`: JSON documents in bodies and events of HTTP/1.1, as MCP's Streamable HTTP has them.
//!
//! A connection carries exchanges, one after the other: a request, which is a message or asks for a stream of events, and its response: a
//! message, a stream of which each event is one, or nothing that anybody reads as a message. What is which, and what is refused because
//! readers differ, is told in `docs/mcp-http.md`.

mod events;
mod exchange;
mod media;

use crate::connection::{Body, Connection, Effect};
use crate::error::TableError;
use crate::http::chunked::Chunked;
use crate::http::head::{Head, HeadRules};
use crate::http::route::{Route, Routes, Segment, split_target};
use crate::http::{Source, only, read_head, whole_body};
use crate::json::Documents;
use crate::json::document::{self, MISSING, Pointers};
use crate::json::rpc::Meant;
use crate::reading::Reading;
use crate::signature::{MessageId, Sender, Signature};
use crate::step::{After, Fields, Label, Malformed, Message, Refusal, Scratch, Step, excerpt};
use crate::table::{Leniency, Table};
use events::{BodyFraming, EventStream};
pub(crate) use exchange::{Asked, Done, Exchange};
use media::{Coding, Media};

/// The codec.
#[derive(Debug)]
pub(crate) struct JsonHttp {
    documents: Documents,
    /// Requests that carry no messages.
    asides: Routes,
    session: Option<Source>,
    /// Where JSON-RPC says that a document is one of it, and what makes it a message.
    signs: Pointers,
    rules: HeadRules,
    any_trailer: bool,
}

/// A message of HTTP that was read up to its body.
struct Found<'h, 'b> {
    head: &'h Head<'b>,
    unread: &'b [u8],
    body: Body,
}

impl JsonHttp {
    pub(crate) fn compile(
        table: &Table,
        signature: &Signature,
        errors: &mut Vec<TableError>,
    ) -> Option<Self> {
        let before = errors.len();
        let documents = Documents::compile(table, signature, errors)?;
        if !documents.correlates() {
            let message = "requests and answers have to be told apart";
            errors.push(TableError::new(["kind"], message).help("`rpc = true`, or `correlate`"));
        }
        let mut asides = Routes::new();
        for (name, entry) in table.messages.iter().filter(|(_, entry)| entry.aside) {
            let path = |reason: String| TableError::new(["messages", name, "pattern"], reason);
            match Route::parse(entry.pattern.as_deref().unwrap_or_default()) {
                // Where nothing is read no reader may take one path for another.
                Ok(route) if route.segments.iter().all(|part| matches!(part, Segment::Literal(_))) => {
                    if let Some((id, _)) =
                        signature.of(Sender::Client).find(|(_, known)| *known.name == **name)
                    {
                        asides.insert(&route, id);
                    }
                }
                Ok(_) => errors.push(path("what is passed on without being read has one path".to_owned())),
                Err(reason) => errors.push(path(reason)),
            }
        }
        let session = table.session.as_ref().and_then(|text| match Source::parse(text) {
            Ok(source @ (Source::Cookie(_) | Source::Header(_))) => Some(source),
            _ => {
                let message = "a session is told by a header or a cookie: `header:Mcp-Session-Id`";
                errors.push(TableError::new(["session"], message));
                None
            }
        });
        let is_lenient = |leniency| table.lenient.contains(&leniency);
        let rules = HeadRules { missing_host: is_lenient(Leniency::MissingHost), codings: false };
        let any_trailer = is_lenient(Leniency::Trailers);
        let signs = Pointers::new(["/jsonrpc", "/method", "/id", "/error"]).ok()?;
        (errors.len() == before).then_some(Self { documents, asides, session, signs, rules, any_trailer })
    }

    pub(crate) fn documents(&self) -> &Documents {
        &self.documents
    }

    pub(crate) fn decode<'b>(
        &self,
        connection: &mut Connection,
        sender: Sender,
        unread: &'b [u8],
        reading: Reading<'_>,
        scratch: &'b Scratch,
        fields: &mut Fields<'b>,
    ) -> Step<'b> {
        let step = match sender {
            Sender::Client => self.request(connection, unread, reading, scratch, fields),
            Sender::Server if Exchange::of(connection).is_streaming() => {
                self.event(connection, unread, reading, scratch, fields)
            }
            Sender::Server => self.response(connection, unread, reading, scratch, fields),
        };
        step.unwrap_or_else(|step| step)
    }

    /// The session of the request that `unread` begins with.
    pub(crate) fn session<'b>(
        &self,
        connection: &mut Connection,
        unread: &'b [u8],
    ) -> Option<Option<&'b [u8]>> {
        if !connection.unanswered.is_empty() {
            return None;
        }
        let head = read_head(connection.flow(Sender::Client), Sender::Client, unread, self.rules).ok()?;
        self.named(&head, Sender::Client).ok()
    }

    fn named<'b>(&self, head: &Head<'b>, sender: Sender) -> Result<Option<&'b [u8]>, Malformed> {
        const TWICE: &str = "what tells the session is there more than once";
        let named = match &self.session {
            Some(Source::Header(name)) => only(head.values(name)),
            Some(Source::Cookie(name)) => head.cookie(name, sender),
            _ => Ok(None),
        };
        let named = named.map_err(|_| Malformed::new(TWICE, 0))?;
        // A session without a name is none.
        Ok(named.filter(|name| !name.is_empty()))
    }

    fn request<'b>(
        &self,
        connection: &mut Connection,
        unread: &'b [u8],
        reading: Reading<'_>,
        scratch: &'b Scratch,
        fields: &mut Fields<'b>,
    ) -> Result<Step<'b>, Step<'b>> {
        if !connection.unanswered.is_empty() {
            return Ok(Step::Wait);
        }
        let head = read_head(connection.flow(Sender::Client), Sender::Client, unread, self.rules)?;
        let [method, target, _] = head.line;
        let body = self.body_of(&head, Body::None);
        let passed = |id: Option<MessageId>, asked: Asked, session| {
            let label = id.map_or(Label::Unknown(excerpt(method)), Label::Known);
            let effect = Effect::Exchange(Done::Asked(asked, method == b"HEAD"));
            aside(label, head.bytes, session, After { body, effect })
        };
        if method == b"CONNECT" {
            return Err(Malformed::new("CONNECT, after which nothing could be read", 0).into());
        }
        if let Some(id) = self.asides.find(method, split_target(target).0, reading, &scratch.bump) {
            return Ok(passed(Some(id), Asked::Other, None));
        }
        let session = self.named(&head, Sender::Client)?;
        if body == Body::None && method != b"POST" {
            let accepts = |value: &[u8]| media::contains(value, media::EVENTS);
            let is_stream = method == b"GET" && head.values("accept").any(accepts);
            let asked = if is_stream { Asked::Events } else { Asked::Nothing };
            Exchange::begin(connection, session.is_some());
            return Ok(passed(None, asked, session));
        }
        media::of(&head)?;
        let found = Found { head: &head, unread, body };
        let (bytes, content) = self.whole(connection, Sender::Client, &found, scratch)?;
        Exchange::begin(connection, session.is_some());
        let step = self.documents.message(connection, Sender::Client, content, reading, scratch, fields);
        Exchange::note_request(connection);
        let effect = Effect::Exchange(Done::Asked(Asked::Messages, false));
        Ok(carried(step, connection, (Sender::Client, bytes, head.bytes), session, effect))
    }

    fn response<'b>(
        &self,
        connection: &mut Connection,
        unread: &'b [u8],
        reading: Reading<'_>,
        scratch: &'b Scratch,
        fields: &mut Fields<'b>,
    ) -> Result<Step<'b>, Step<'b>> {
        let head = read_head(connection.flow(Sender::Server), Sender::Server, unread, self.rules)?;
        let [_, status, _] = head.line;
        let label = Label::Unknown(excerpt(status));
        let body = self.body_of(&head, Body::UntilEnd);
        if status == b"101" {
            return Err(Malformed::new("101, after which nothing could be read", 0).into());
        }
        if status.first() == Some(&b'1') {
            return Ok(aside(label, head.bytes, None, After::NOTHING));
        }
        if connection.unanswered.is_empty() {
            // A server that is about to close an idle connection may say so.
            if status == b"408" || head.close {
                return Ok(aside(label, head.bytes, None, After { body, effect: Effect::None }));
            }
            return Err(Malformed::new("a response to no request", 0).into());
        }
        let exchange = Exchange::of(connection);
        let (asked, has_request) = (exchange.asked, exchange.has_request);
        let body = if exchange.is_head || matches!(status, b"204" | b"304") { Body::None } else { body };
        let session = self.named(&head, Sender::Server)?;
        let passed = || {
            let after = After { body, effect: Effect::Exchange(Done::Passed) };
            aside(label, head.bytes, session, after)
        };
        if asked == Asked::Other || body == Body::None {
            return Ok(passed());
        }
        let is_success = status.first() == Some(&b'2');
        let media = match media::of(&head) {
            // Whoever asks so reads events at most.
            Err(_) if asked == Asked::Nothing => Media::Other,
            media => media?,
        };
        match media {
            Media::Events => {
                if media::coding(&head) != Coding::None {
                    let reason = "a stream of events that is compressed, which cannot be read";
                    return Err(Malformed::unreadable(reason, 0).into());
                }
                let framing = match body {
                    Body::Chunked(chunked) => BodyFraming::Chunked(chunked),
                    Body::Exactly(length) => BodyFraming::Length(length),
                    _ => BodyFraming::UntilEnd,
                };
                Exchange::of(connection).prepare(EventStream::new(framing));
                let after = After { body: Body::None, effect: Effect::Exchange(Done::Stream) };
                Ok(aside(label, head.bytes, session, after))
            }
            _ if asked == Asked::Events && is_success && status != b"202" => {
                Err(Malformed::new("an answer that is no stream of events, where one was asked for", 0)
                    .into())
            }
            Media::Json if asked == Asked::Messages && status != b"202" => {
                let found = Found { head: &head, unread, body };
                self.answer(
                    connection,
                    &found,
                    (is_success && has_request, session),
                    reading,
                    scratch,
                    fields,
                )
            }
            _ => Ok(passed()),
        }
    }

    /// A document that answers a message; it `must_be` one itself where one was asked for, and that succeeded.
    fn answer<'b>(
        &self,
        connection: &mut Connection,
        found: &Found<'_, 'b>,
        (must_be, session): (bool, Option<&'b [u8]>),
        reading: Reading<'_>,
        scratch: &'b Scratch,
        fields: &mut Fields<'b>,
    ) -> Result<Step<'b>, Step<'b>> {
        let (bytes, content) = self.whole(connection, Sender::Server, found, scratch)?;
        if !must_be && !self.is_of_protocol(content) {
            let label = Label::Unknown(excerpt(found.head.line[1]));
            let effect = Effect::Exchange(Done::Passed);
            return Ok(aside(label, bytes, session, After { body: Body::None, effect }));
        }
        let step = self.documents.message(connection, Sender::Server, content, reading, scratch, fields);
        let place = (Sender::Server, bytes, found.head.bytes);
        Ok(carried(step, connection, place, session, Effect::Exchange(Done::Answered)))
    }

    /// The next event of a stream.
    fn event<'b>(
        &self,
        connection: &mut Connection,
        unread: &'b [u8],
        reading: Reading<'_>,
        scratch: &'b Scratch,
        fields: &mut Fields<'b>,
    ) -> Result<Step<'b>, Step<'b>> {
        let more = Step::More { at_least: unread.len() + 1 };
        let Some(stream) = &mut Exchange::of(connection).stream else { return Err(more) };
        let Some(unit) = stream.next(unread)? else { return Err(more) };
        let event = stream.event()?;
        let done = |is_message| {
            Effect::Exchange(Done::Event { is_message, is_last: unit.is_last, has_id: event.has_id })
        };
        let content: &'b [u8] = scratch.bump.alloc_slice_copy(&event.data);
        if event.is_other && self.is_of_protocol(content) {
            let reason = "a message in an event of a type that some readers ignore";
            return Err(Malformed::new(reason, 0).into());
        }
        if content.is_empty() || event.is_other {
            let label = Label::Unknown("an event");
            return Ok(aside(label, unit.bytes, None, After { body: Body::None, effect: done(false) }));
        }
        let step = self.documents.message(connection, Sender::Server, content, reading, scratch, fields);
        Ok(carried(step, connection, (Sender::Server, unit.bytes, 0), None, done(true)))
    }

    fn body_of(&self, head: &Head<'_>, otherwise: Body) -> Body {
        match (head.chunked, head.length) {
            (true, _) => Body::Chunked(Chunked::new(self.any_trailer)),
            (false, Some(0)) => Body::None,
            (false, Some(length)) => Body::Exactly(length),
            (false, None) => otherwise,
        }
    }

    /// How many bytes the message has, and its content, once that is whole.
    fn whole<'b>(
        &self,
        connection: &mut Connection,
        sender: Sender,
        found: &Found<'_, 'b>,
        scratch: &'b Scratch,
    ) -> Result<(usize, &'b [u8]), Step<'b>> {
        let limit = connection.limit;
        let flow = connection.flow(sender);
        if flow.anchor > 0 && !flow.chunks(found.unread)? {
            return Err(Step::More { at_least: found.unread.len() + 1 });
        }
        let of = (found.head, found.body);
        let (bytes, content) = whole_body(flow, of, found.unread, self.any_trailer, scratch)?;
        Ok((bytes, media::decoded(media::coding(found.head), content, limit, scratch)?))
    }

    /// Whether `content` is a document that readers take for a message.
    fn is_of_protocol(&self, content: &[u8]) -> bool {
        let Ok(text) = std::str::from_utf8(content) else { return false };
        let start = document::skip_blanks(content, 0);
        if content.get(start) == Some(&b'[') {
            return true;
        }
        match self.signs.locate(text, start) {
            // `{"jsonrpc":"2.0","result":{}}`, which answers nothing, is what some servers say to a notification.
            Ok((places, _)) => {
                let has = |place: &document::Place| *place != MISSING;
                places.first().is_some_and(has) && places.iter().skip(1).any(has)
            }
            // What is not read for certain is read, and found malformed.
            Err(_) => memchr::memmem::find(content, b"\"jsonrpc\"").is_some(),
        }
    }

    /// How the message of `sender` that was looked at last can be refused.
    pub(crate) fn refusal(&self, connection: &Connection, sender: Sender) -> Option<Refusal<'_>> {
        let refusal = self.documents.refusal(connection, sender)?;
        let stream = connection.exchange.as_ref().and_then(|exchange| exchange.stream.as_ref());
        match (sender, refusal, stream) {
            (Sender::Client, Refusal::Answer(_), _) | (Sender::Server, Refusal::Request(_), _) => None,
            (Sender::Client, refusal, _) => Some(refusal),
            (Sender::Server, refusal, Some(stream)) => stream.is_replaceable().then_some(refusal),
            (Sender::Server, Refusal::Notification, None) => None,
            (Sender::Server, refusal, None) => Some(refusal),
        }
    }

    /// What stands in place of the message of `sender` that was looked at last: who is told, and the bytes.
    pub(crate) fn refuse(
        &self,
        connection: &Connection,
        sender: Sender,
        why: &str,
    ) -> Option<(Sender, Vec<u8>)> {
        let stream = connection.exchange.as_ref().and_then(|exchange| exchange.stream.as_ref());
        let bytes = match (meant(connection, sender)?, sender, stream) {
            (Meant::Request(id), Sender::Client, _) | (Meant::Answer(id), Sender::Server, None) => {
                answer("200 OK", &self.documents.error(id, why)?)
            }
            (Meant::Answer(id), Sender::Server, Some(stream)) => {
                stream.framed(&format!("event: message\r\ndata: {}\r\n\r\n", self.documents.error(id, why)?))
            }
            (Meant::Notification, Sender::Client, _) => {
                answer("400 Bad Request", &self.documents.error("null", why)?)
            }
            (Meant::Notification, Sender::Server, _) => Vec::new(),
            _ => return None,
        };
        Some((Sender::Client, bytes))
    }

    /// What a client is told whose session is not known: it begins a new one then.
    pub(crate) fn unknown_session(&self, connection: &Connection) -> Vec<u8> {
        let id = match meant(connection, Sender::Client) {
            Some(Meant::Request(id)) => id,
            _ => "null",
        };
        answer(
            "404 Not Found",
            &self.documents.error(id, "this session is not known: begin a new one").unwrap_or_default(),
        )
    }
}

/// How the message of `sender` was meant that was looked at last.
fn meant(connection: &Connection, sender: Sender) -> Option<Meant<'_>> {
    connection.rpc.as_ref().map(|open| open.meant(sender))
}

/// A response with `document`.
fn answer(status: &str, document: &str) -> Vec<u8> {
    let length = document.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{document}"
    )
    .into_bytes()
}

fn aside<'b>(label: Label<'b>, bytes: usize, session: Option<&'b [u8]>, after: After) -> Step<'b> {
    let has_body = after.body != Body::None;
    Step::Message(Message { label, bytes, has_body, aside: true, session, after })
}

/// The message that a document of `sender` was found to be, which is carried in so many bytes, its head among them. `effect` is that of the
/// document: of several messages in it, that of the last.
fn carried<'b>(
    step: Step<'b>,
    connection: &Connection,
    (sender, frame, head): (Sender, usize, usize),
    session: Option<&'b [u8]>,
    effect: Effect,
) -> Step<'b> {
    match step {
        Step::Message(message) => {
            let bytes = connection.bytes_of(sender, frame);
            let effect = if bytes > 0 { effect } else { Effect::Rpc };
            Step::Message(Message { bytes, session, after: After { body: Body::None, effect }, ..message })
        }
        Step::Malformed(malformed) => Step::Malformed(Malformed { at: malformed.at + head, ..malformed }),
        step => step,
    }
}
