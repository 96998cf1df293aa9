//! `http`: HTTP/1.1 requests and responses.
//!
//! A message is judged by its head, and its body is passed on as it comes, unless a field is read from the body.
//! Which response belongs to which request decides whether it has a body at all, so the kinds of the requests that
//! are not answered yet are remembered.

pub(crate) mod chunked;
pub(crate) mod head;
pub(crate) mod route;
mod source;

use smallvec::SmallVec;

use crate::connection::{Body, Connection, Effect, Flow};
use crate::error::TableError;
use crate::reading::Reading;
use crate::signature::{MessageId, Sender, Signature};
use crate::step::{After, Fields, Label, Malformed, Message, Scratch, Step, excerpt};
use crate::table::{Leniency, Table};
use chunked::Chunked;
use head::{Head, HeadRules};
use route::Routes;
use source::{Exchange, Shape};

pub(crate) use route::{Route, Segment};
pub(crate) use source::{Source, only};

/// The codec.
#[derive(Debug)]
pub(crate) struct Http {
    routes: Routes,
    /// For each status from 100 on, the messages that it may be, the most exact first.
    statuses: Vec<SmallVec<[MessageId; 2]>>,
    /// By [`MessageId::index`].
    shapes: Vec<Shape>,
    session: Option<Source>,
    rules: HeadRules,
    any_trailer: bool,
}

/// What there is to look at.
#[derive(Clone, Copy)]
struct Look<'r, 'b> {
    sender: Sender,
    unread: &'b [u8],
    reading: Reading<'r>,
    scratch: &'b Scratch,
}

/// The requests of a connection that are not answered yet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unanswered {
    /// Two bits each, the oldest lowest.
    kinds: u64,
    /// One bit each: those that are no part of the protocol.
    asides: u64,
    count: u32,
}

/// What a request makes of its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    Plain,
    /// It has no body.
    Head,
    /// After a success, this is no HTTP any more.
    Connect,
    /// After 101, likewise.
    Upgrade,
}

impl Unanswered {
    const MOST: u32 = 32;

    pub(crate) fn push(&mut self, kind: RequestKind, aside: bool) {
        self.kinds |= (kind as u64).wrapping_shl(2 * self.count);
        self.asides |= u64::from(aside).wrapping_shl(self.count);
        self.count = (self.count + 1).min(Self::MOST);
    }

    pub(crate) fn pop(&mut self) {
        self.kinds >>= 2;
        self.asides >>= 1;
        self.count = self.count.saturating_sub(1);
    }

    pub(crate) fn is_empty(self) -> bool {
        self.count == 0
    }

    fn oldest(self) -> RequestKind {
        match self.kinds & 3 {
            0 => RequestKind::Plain,
            1 => RequestKind::Head,
            2 => RequestKind::Connect,
            _ => RequestKind::Upgrade,
        }
    }

    /// Whether another request can be read: none that may end HTTP is unanswered, and there is room.
    pub(crate) fn is_open(self) -> bool {
        // `Connect` and `Upgrade` have the upper bit.
        self.count < Self::MOST && self.kinds & 0xAAAA_AAAA_AAAA_AAAA == 0
    }
}

impl Http {
    pub(crate) fn compile(
        table: &Table,
        signature: &Signature,
        errors: &mut Vec<TableError>,
    ) -> Option<Self> {
        let before = errors.len();
        let mut routes = Routes::new();
        let mut statuses: Vec<SmallVec<[(u8, MessageId); 2]>> = vec![SmallVec::new(); 500];
        let mut shapes = vec![Shape::default(); signature.messages.len()];
        // In the order of the table, in which the first match counts.
        for (name, entry) in &table.messages {
            for (id, known) in
                (0..).map(MessageId).zip(&signature.messages).filter(|(_, known)| *known.name == **name)
            {
                let Some(pattern) = &entry.pattern else {
                    errors.push(TableError::new(
                        ["messages", name],
                        "say which: `pattern = \"GET /path\"` or `\"2xx\"`",
                    ));
                    continue;
                };
                let route = match status_range(pattern) {
                    Some((rank, range)) => {
                        if known.sender == Sender::Client {
                            let message = "this message comes from the client: a status is the server's";
                            errors.push(TableError::new(["messages", name, "pattern"], message));
                        }
                        for status in range {
                            if let Some(list) = statuses.get_mut(status - 100) {
                                list.push((rank, id));
                            }
                        }
                        None
                    }
                    None => match Route::parse(pattern) {
                        Ok(_) if known.sender == Sender::Server => {
                            let message = "this message comes from the server: write a status";
                            errors.push(TableError::new(["messages", name, "pattern"], message));
                            None
                        }
                        Ok(route) => {
                            routes.insert(&route, id);
                            Some(route)
                        }
                        Err(reason) => {
                            errors.push(TableError::new(["messages", name, "pattern"], reason));
                            None
                        }
                    },
                };
                if let (Some(shape), Some(slot)) =
                    (Shape::compile(entry, known, route.as_ref(), errors), shapes.get_mut(id.index()))
                {
                    *slot = shape;
                }
            }
        }
        for known in &signature.messages {
            if !table.messages.iter().any(|(name, _)| **name == *known.name) {
                let message = format!(
                    "nothing says which {} is `{}`",
                    if known.sender == Sender::Client { "request" } else { "response" },
                    known.name
                );
                errors.push(TableError::new(["messages"], message));
            }
        }
        let session = table.session.as_ref().and_then(|text| match Source::parse(text) {
            Ok(source @ (Source::Cookie(_) | Source::Header(_) | Source::Query(_) | Source::Path(_))) => {
                Some(source)
            }
            Ok(_) => {
                errors.push(TableError::new(
                    ["session"],
                    "a session is told by a cookie, a header, a query or a path",
                ));
                None
            }
            Err(reason) => {
                errors.push(TableError::new(["session"], reason));
                None
            }
        });
        let statuses = statuses.into_iter().map(|mut list| {
            list.sort_by_key(|(rank, _)| *rank);
            list.into_iter().map(|(_, id)| id).collect()
        });
        let is_lenient = |leniency| table.lenient.contains(&leniency);
        let rules = HeadRules {
            missing_host: is_lenient(Leniency::MissingHost),
            codings: is_lenient(Leniency::TransferCodings),
        };
        let any_trailer = is_lenient(Leniency::Trailers);
        let statuses = statuses.collect();
        (errors.len() == before).then(|| Self { routes, statuses, shapes, session, rules, any_trailer })
    }

    #[inline]
    pub(crate) fn decode<'b>(
        &self,
        connection: &mut Connection,
        sender: Sender,
        unread: &'b [u8],
        reading: Reading<'_>,
        scratch: &'b Scratch,
        fields: &mut Fields<'b>,
    ) -> Step<'b> {
        let unanswered = connection.unanswered;
        if sender == Sender::Client && !unanswered.is_open() {
            return Step::Wait;
        }
        let flow = connection.flow(sender);
        let more = Step::More { at_least: unread.len() + 1 };
        if flow.anchor > 0 {
            // The head was read before, and its body is wanted.
            match flow.chunks(unread) {
                Ok(true) => {}
                Ok(false) => return more,
                Err(malformed) => return malformed.into(),
            }
        }
        let head = match read_head(flow, sender, unread, self.rules) {
            Ok(head) => head,
            Err(step) => return step,
        };
        let look = Look { sender, unread, reading, scratch };
        match sender {
            Sender::Client => self.request(connection, &head, look, fields),
            Sender::Server => self.response(connection, &head, look, fields),
        }
    }

    fn request<'b>(
        &self,
        connection: &mut Connection,
        head: &Head<'b>,
        look: Look<'_, 'b>,
        fields: &mut Fields<'b>,
    ) -> Step<'b> {
        let [method, target, _] = head.line;
        let kind = match method {
            b"HEAD" => RequestKind::Head,
            b"CONNECT" => RequestKind::Connect,
            _ if head.upgrade => RequestKind::Upgrade,
            _ => RequestKind::Plain,
        };
        let (path, _) = route::split_target(target);
        let id = self.routes.find(method, path, look.reading, &look.scratch.bump);
        let body = match (head.chunked, head.length) {
            (true, _) => Body::Chunked(Chunked::new(self.any_trailer)),
            (false, None | Some(0)) => Body::None,
            (false, Some(length)) => Body::Exactly(length),
        };
        let is_aside = id.and_then(|id| self.shapes.get(id.index())).is_some_and(|shape| shape.aside);
        let effect = Effect::Request(kind, is_aside);
        self.message(connection, head, look, (id, body, effect), fields)
    }

    fn response<'b>(
        &self,
        connection: &mut Connection,
        head: &Head<'b>,
        look: Look<'_, 'b>,
        fields: &mut Fields<'b>,
    ) -> Step<'b> {
        let unanswered = connection.unanswered;
        let [_, digits, _] = head.line;
        let status = digits.iter().fold(0, |status, digit| status * 10 + usize::from(digit - b'0'));
        let list = self.statuses.get(status - 100).map_or(&[][..], |list| list);
        let id = list.iter().find(|id| look.reading.takes(**id)).or(list.first()).copied();
        let kind = unanswered.oldest();
        let aside = |after: After| {
            let label = Label::Unknown(excerpt(head.line[1]));
            let has_body = after.body != Body::None;
            Step::Message(Message { label, bytes: head.bytes, has_body, aside: true, session: None, after })
        };
        let switches = match status {
            101 if kind != RequestKind::Upgrade => {
                return Malformed::new("101 to a request that asked for no other protocol", 0).into();
            }
            101 => true,
            // Interim responses are nobody's turn.
            100..200 => return aside(After::NOTHING),
            200..300 => kind == RequestKind::Connect,
            _ => false,
        };
        let body = match (head.chunked, head.length) {
            _ if kind == RequestKind::Head || switches || matches!(status, 204 | 304) => Body::None,
            (true, _) => Body::Chunked(Chunked::new(self.any_trailer)),
            (false, Some(0)) => Body::None,
            (false, Some(length)) => Body::Exactly(length),
            (false, None) => Body::UntilEnd,
        };
        if unanswered.count == 0 {
            // A server that is about to close an idle connection may say so.
            if status == 408 || head.close {
                return aside(After { body, effect: Effect::None });
            }
            return Malformed::new("a response to no request", 0).into();
        }
        let effect = if switches { Effect::Switch } else { Effect::Response };
        if unanswered.asides & 1 == 1 {
            // So was the request.
            return aside(After { body, effect });
        }
        self.message(connection, head, look, (id, body, effect), fields)
    }

    /// The message `id` with this head: at once if nothing is wanted of its body, else when that is whole.
    fn message<'b>(
        &self,
        connection: &mut Connection,
        head: &Head<'b>,
        Look { sender, unread, scratch, .. }: Look<'_, 'b>,
        (id, body, effect): (Option<MessageId>, Body, Effect),
        fields: &mut Fields<'b>,
    ) -> Step<'b> {
        let shape = id.and_then(|id| self.shapes.get(id.index()));
        let (mut bytes, mut body) = (head.bytes, body);
        let mut content: &[u8] = &[];
        if shape.is_some_and(|shape| shape.wants_body) {
            let flow = connection.flow(sender);
            (bytes, content) = match whole_body(flow, (head, body), unread, self.any_trailer, scratch) {
                Ok(whole) => whole,
                Err(step) => return step,
            };
            body = Body::None;
        }
        let exchange = Exchange { sender, head, content, bump: &scratch.bump };
        let session = match self.session.as_ref().map(|source| exchange.session(source, shape)) {
            Some(Ok(session)) => session,
            Some(Err(source::Twice)) => {
                return Malformed::new("what tells the session is there more than once", 0).into();
            }
            None => None,
        };
        if let Some(shape) = shape {
            exchange.read(shape, fields);
        }
        let label = match id {
            Some(id) => Label::Known(id),
            // The method and the target, or the status and the reason.
            None => Label::Unknown(excerpt(match sender {
                Sender::Client => {
                    unread.get(..head.line[0].len() + 1 + head.line[1].len()).unwrap_or_default()
                }
                Sender::Server => head.line[1],
            })),
        };
        let aside = shape.is_some_and(|shape| shape.aside);
        Step::Message(Message {
            label,
            bytes,
            has_body: body != Body::None,
            aside,
            session,
            after: After { body, effect },
        })
    }
}

/// How many bytes the message in `unread` has, and the content of its `body`, once that is whole.
pub(crate) fn whole_body<'b>(
    flow: &mut Flow,
    (head, body): (&Head<'b>, Body),
    unread: &'b [u8],
    any_trailer: bool,
    scratch: &'b Scratch,
) -> Result<(usize, &'b [u8]), Step<'b>> {
    match body {
        Body::Exactly(length) => {
            let end = usize::try_from(length).unwrap_or(usize::MAX).saturating_add(head.bytes);
            if unread.len() < end {
                return Err(Step::More { at_least: end });
            }
            Ok((end, unread.get(head.bytes..end).unwrap_or_default()))
        }
        Body::Chunked(_) => {
            if flow.anchor == 0 {
                (flow.anchor, flow.scanned) = (head.bytes, head.bytes);
                flow.chunked = Chunked::new(any_trailer);
            }
            if !flow.chunks(unread)? {
                return Err(Step::More { at_least: unread.len() + 1 });
            }
            let rest = unread.get(head.bytes..).unwrap_or_default();
            let mut pieces = bumpalo::collections::Vec::new_in(&scratch.bump);
            let (length, _) =
                Chunked::new(any_trailer).scan(rest, |piece| pieces.extend_from_slice(piece))?;
            let end = head.bytes.saturating_add(usize::try_from(length).unwrap_or(usize::MAX));
            Ok((end, pieces.into_bump_slice()))
        }
        Body::UntilEnd => {
            Err(Malformed::new("a body without a length, of which a field is wanted", 0).into())
        }
        Body::None | Body::Dotted(_) | Body::Resp(_) => Ok((head.bytes, &[])),
    }
}

/// The head that `unread` begins with.
#[inline]
pub(crate) fn read_head<'b>(
    flow: &mut Flow,
    sender: Sender,
    unread: &'b [u8],
    rules: HeadRules,
) -> Result<Head<'b>, Step<'b>> {
    let request = sender == Sender::Client;
    if flow.anchor > 0 || !flow.head.has_begun() || flow.head.is_whole(unread, request)? {
        if let Some(head) = head::parse(unread, request, rules)? {
            return Ok(head);
        }
        flow.head.is_whole(unread, request)?;
    }
    Err(Step::More { at_least: unread.len() + 1 })
}

/// The statuses that `200`, `2xx` or `*` stands for, and how exact that is.
fn status_range(pattern: &str) -> Option<(u8, std::ops::Range<usize>)> {
    match pattern.as_bytes() {
        b"*" => Some((2, 100..600)),
        [class @ b'1'..=b'5', b'x', b'x'] => {
            let first = usize::from(class - b'0') * 100;
            Some((1, first..first + 100))
        }
        [b'1'..=b'5', b'0'..=b'9', b'0'..=b'9'] => {
            let status: usize = pattern.parse().ok()?;
            Some((0, status..status + 1))
        }
        _ => None,
    }
}
