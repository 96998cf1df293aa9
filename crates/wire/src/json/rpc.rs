//! JSON-RPC 2.0: a request is labelled by its method, an answer by the request that has its id.
//!
//! Fields of an answer may be those of its request (`request:/params/name`): what they are read from is kept until it is answered.

use std::collections::{BTreeMap, HashMap};

use bumpalo::Bump;
use referee_monitor::FieldValue;
use referee_theory::Field;

use super::document::{self, MISSING, Place, Pointers};
use super::pick;
use crate::connection::{Connection, Effect};
use crate::error::TableError;
use crate::reading::Reading;
use crate::signature::{MessageId, Sender, Signature};
use crate::step::{After, Label, excerpt};
use crate::table::{MessageTable, Table};

/// How many requests of one side may be unanswered.
const MAX_OPEN: usize = 1024;
/// How long an id may be.
const MAX_ID: usize = 256;
/// What is too much to keep: limits of ours, that nobody is to blame for.
pub(crate) const LIMITS: [&str; 3] = [LONG_ID, MANY_OPEN, MUCH_KEPT];
const LONG_ID: &str = "an id of more than 256 bytes";
const MANY_OPEN: &str = "more than 1024 requests without an answer";
const MUCH_KEPT: &str = "more than 64 KiB that fields of the answer are read from";
/// How many bytes of a request may be kept for the fields of its answer.
const MAX_KEPT: usize = 64 << 10;
/// The label of a message that stands for any method that no other message has.
pub(crate) const ANY_METHOD: &str = "*";
/// What begins the pointer to a field that may be missing, and is null then.
pub(crate) const OPTIONAL: &str = "optional:";
/// What begins the pointer to a field of an answer that its request has.
pub(crate) const OF_REQUEST: &str = "request:";

/// Which message answers which.
#[derive(Debug)]
pub(crate) struct Rpc {
    /// For a request, the messages that answer it: with a result, with an error.
    answers: HashMap<MessageId, [Vec<MessageId>; 2]>,
    /// The messages that answer with an error, and who sends them.
    errors: Vec<(MessageId, Sender)>,
    /// For a request, what its answers read of it, in the order of [`Kept`].
    kept: HashMap<MessageId, Pointers>,
    /// For an answer, by its fields: which of these, if it is of the request.
    of_request: HashMap<MessageId, Box<[Option<usize>]>>,
    /// By [`MessageId::index`]: whether it is a notification, and whether it is not.
    notifications: Box<[Option<bool>]>,
}

/// What answers read of a request: JSON, or empty where the member was missing.
type Kept = Box<[Box<str>]>;

/// A request without an answer yet.
#[derive(Clone, Debug)]
struct Request {
    message: MessageId,
    kept: Kept,
}

/// The unanswered requests of a connection: for each side, the ids of its requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Open {
    requests: [BTreeMap<Box<str>, Request>; 2],
    /// What taking the message that was looked at last does, for each side.
    pending: [Option<Pending>; 2],
}

/// A message that was looked at and has an id.
#[derive(Clone, Debug)]
struct Pending {
    /// Its id, [normalised].
    key: Box<str>,
    /// As it was written.
    written: Box<str>,
    /// What is kept of it, if it is a request.
    request: Option<Request>,
}

/// The one form of an id that others may write in another: `1`, `1.0` and `1e0` are one number, `"a"` and `"\u0061"` one text; `1` and `"1"`
/// differ.
fn normalised(id: &str) -> Box<str> {
    let value = serde_json::from_str::<serde_json::Value>(id);
    match value {
        Ok(serde_json::Value::Number(number)) => match (number.as_i64(), number.as_f64()) {
            (None, Some(float)) => format!("{float:e}").into(),
            // As large as that, a reader that takes it for a float may write it otherwise.
            (Some(integer), _) => format!("{:e}", integer as f64).into(),
            (None, None) => id.into(),
        },
        Ok(serde_json::Value::String(text)) => format!("\"{text}").into(),
        _ => id.into(),
    }
}

/// How a message was meant that was looked at last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meant<'a> {
    /// To be answered, under this id.
    Request(&'a str),
    /// As an answer to the request with this id.
    Answer(&'a str),
    /// Not to be answered.
    Notification,
}

impl Open {
    /// How the message of `sender` that was looked at last was meant.
    pub(crate) fn meant(&self, sender: Sender) -> Meant<'_> {
        match self.pending.get(sender.index()).and_then(Option::as_ref) {
            None => Meant::Notification,
            Some(pending) if pending.request.is_some() => Meant::Request(&pending.written),
            Some(pending) => Meant::Answer(&pending.written),
        }
    }

    /// The request that the message of `sender` that was looked at last is, or answers.
    pub(crate) fn request(&self, sender: Sender) -> Option<MessageId> {
        let pending = self.pending.get(sender.index())?.as_ref()?;
        let asked = || self.requests.get(sender.other().index())?.get(&pending.key);
        pending.request.as_ref().or_else(asked).map(|request| request.message)
    }

    /// What is kept of the request that the message of `sender` that was looked at last answers.
    fn kept(&self, sender: Sender) -> Option<&Kept> {
        let pending = self.pending.get(sender.index())?.as_ref()?;
        Some(&self.requests.get(sender.other().index())?.get(&pending.key)?.kept)
    }

    /// The message of `sender` that was looked at last goes on.
    pub(crate) fn commit(&mut self, sender: Sender) {
        let Some(pending) = self.pending.get_mut(sender.index()).and_then(Option::take) else { return };
        let [client, server] = &mut self.requests;
        let (own, others) = if sender == Sender::Client { (client, server) } else { (server, client) };
        match pending.request {
            Some(request) => drop(own.insert(pending.key, request)),
            None => drop(others.remove(&pending.key)),
        }
    }
}

/// `pointer` without the word that says that it may lead nowhere.
pub(crate) fn without_optional(pointer: &str) -> &str {
    pointer.strip_prefix(OPTIONAL).unwrap_or(pointer)
}

impl Rpc {
    /// What tells requests and answers apart.
    pub(crate) const HEAD: [&'static str; 4] = ["/method", "/id", "/result", "/error"];

    pub(crate) fn compile(table: &Table, signature: &Signature, errors: &mut Vec<TableError>) -> Self {
        let mut rpc = Self {
            answers: HashMap::new(),
            errors: Vec::new(),
            kept: HashMap::new(),
            of_request: HashMap::new(),
            notifications: vec![None; signature.messages.len()].into(),
        };
        let mut kept: HashMap<MessageId, Vec<&str>> = HashMap::new();
        for (name, entry) in &table.messages {
            let found =
                (0..).map(MessageId).zip(&signature.messages).find(|(_, known)| *known.name == **name);
            let Some((message, known)) = found else { continue };
            if let Some(slot) = rpc.notifications.get_mut(message.index()) {
                *slot = entry.notification;
            }
            let Some(request) = &entry.answers else { continue };
            let asked = signature.of(known.sender.other()).find(|(_, known)| *known.name == **request);
            let Some((request, _)) = asked else {
                errors.push(TableError::new(
                    ["messages", name, "answers"],
                    format!("the other side has no message `{request}`"),
                ));
                continue;
            };
            if entry.error.unwrap_or(false) {
                rpc.errors.push((message, known.sender));
            }
            let [results, failures] = rpc.answers.entry(request).or_default();
            if entry.error.unwrap_or(false) { failures } else { results }.push(message);
            let pointers = kept.entry(request).or_default();
            let place = |field: &Field| {
                let of_field = |(name, _): &&(String, String)| Some(&**name) == field.name.as_deref();
                let (_, pointer) = entry.fields.iter().find(of_field)?;
                pointers.push(without_optional(pointer).strip_prefix(OF_REQUEST)?);
                Some(pointers.len() - 1)
            };
            let places: Box<[_]> = known.fields.iter().map(place).collect();
            if places.iter().any(Option::is_some) {
                rpc.of_request.insert(message, places);
            }
        }
        for (request, pointers) in kept {
            match Pointers::new(pointers) {
                Ok(pointers) => drop(rpc.kept.insert(request, pointers)),
                Err(reason) => errors.push(TableError::new(["messages"], format!("{OF_REQUEST} {reason}"))),
            }
        }
        rpc
    }

    /// Which fields of `message`, by number, are of the request that it answers: what is kept of that, by number.
    pub(crate) fn of_request(&self, message: MessageId) -> Option<&[Option<usize>]> {
        self.of_request.get(&message).map(|places| &**places)
    }

    /// What answers `request` with an error.
    pub(crate) fn errors_for(&self, request: MessageId) -> &[MessageId] {
        self.answers.get(&request).map_or(&[], |[_, errors]| errors)
    }

    /// The value of a field that the request had, at `place` of what is kept of it.
    pub(crate) fn value_of_request<'b>(
        connection: &Connection,
        sender: Sender,
        place: usize,
        is_unit: bool,
        bump: &'b Bump,
    ) -> FieldValue<'b> {
        let kept =
            connection.rpc.as_ref().and_then(|open| open.kept(sender)).and_then(|kept| kept.get(place));
        let text = bump.alloc_str(kept.map_or("", |text| text));
        document::value(text, (0, text.len()), is_unit, bump)
    }

    /// What is kept of the request in the document at `start` of `text`.
    fn keep(&self, request: MessageId, text: &str, start: usize) -> Result<Kept, &'static str> {
        let Some(pointers) = self.kept.get(&request) else { return Ok(Box::default()) };
        let (places, _) = pointers.locate(text, start).map_err(|flaw| flaw.what)?;
        let kept: Kept =
            places.iter().map(|place| text.get(place.0..place.1).unwrap_or_default().into()).collect();
        if kept.iter().map(|text| text.len()).sum::<usize>() > MAX_KEPT {
            return Err(MUCH_KEPT);
        }
        Ok(kept)
    }

    /// Whether `message` may have an id, or none.
    fn may_be(&self, message: MessageId, has_id: bool) -> bool {
        self.notifications.get(message.index()).is_none_or(|notification| *notification != Some(has_id))
    }

    /// Where the fields of a message are, unless the table says otherwise.
    pub(crate) fn prefix(entry: Option<&MessageTable>) -> &'static str {
        match entry {
            Some(entry) if entry.answers.is_some() && entry.error.unwrap_or(false) => "/error",
            Some(entry) if entry.answers.is_some() => "/result",
            _ => "/params",
        }
    }

    /// What a document with `head` at [`HEAD`](Self::HEAD) is.
    pub(crate) fn find<'b>(
        &self,
        labels: &[HashMap<Box<str>, Vec<MessageId>>; 2],
        head: &[Place],
        (text, start): (&'b str, usize),
        connection: &mut Connection,
        sender: Sender,
        reading: Reading<'_>,
    ) -> Result<(Label<'b>, After), &'static str> {
        let &[method, id, result, error] = head else { return Err("not a JSON-RPC message") };
        let raw = |place: Place| text.get(place.0..place.1).unwrap_or_default();
        if raw(id).len() > MAX_ID {
            return Err(LONG_ID);
        }
        let key = |place: Place| normalised(raw(place));
        let open = connection.rpc.get_or_insert_default();
        let (label, pending) = match (method, result, error) {
            (method, MISSING, MISSING) if method != MISSING => {
                let name = raw(method).strip_prefix('"').and_then(|name| name.strip_suffix('"'));
                let name =
                    name.filter(|name| !name.contains('\\')).ok_or("a method that is no plain string")?;
                let may_be = |message| self.may_be(message, id != MISSING);
                let found = pick(labels, sender, name, reading, may_be)
                    .or_else(|| pick(labels, sender, ANY_METHOD, reading, may_be));
                let requests = open.requests.get(sender.index());
                if id != MISSING && requests.is_some_and(|open| open.contains_key(&key(id))) {
                    return Err("a request with the id of another one that is not answered yet");
                }
                if requests.is_some_and(|open| open.len() >= MAX_OPEN) {
                    return Err(MANY_OPEN);
                }
                let pending = match found.filter(|_| id != MISSING) {
                    Some(message) => {
                        let request = Request { message, kept: self.keep(message, text, start)? };
                        Some(Pending { key: key(id), written: raw(id).into(), request: Some(request) })
                    }
                    None => None,
                };
                (found.map_or(Label::Unknown(excerpt(name.as_bytes())), Label::Known), pending)
            }
            // The server could not even read the id of what it answers.
            (MISSING, MISSING, error) if error != MISSING && (id == MISSING || raw(id) == "null") => {
                let errors =
                    self.errors.iter().copied().filter(|(_, from)| *from == sender).map(|(id, _)| id);
                let found = errors.clone().find(|id| reading.takes(*id)).or_else(|| errors.clone().next());
                (found.map_or(Label::Unknown("an error"), Label::Known), None)
            }
            (MISSING, result, error) if (result == MISSING) != (error == MISSING) && id != MISSING => {
                let request = open.requests.get(sender.other().index()).and_then(|open| open.get(&key(id)));
                let Some(request) = request else {
                    return Ok((Label::Unknown("an answer to no request"), After::NOTHING));
                };
                let answers = self
                    .answers
                    .get(&request.message)
                    .and_then(|both| both.get(usize::from(error != MISSING)));
                let answers = answers.map_or(&[][..], |answers| answers);
                let found = answers.iter().find(|id| reading.takes(**id)).or(answers.first());
                let unknown = if error == MISSING { "a result" } else { "an error" };
                let pending = Pending { key: key(id), written: raw(id).into(), request: None };
                (found.map_or(Label::Unknown(unknown), |id| Label::Known(*id)), Some(pending))
            }
            _ => return Err("neither a request nor an answer"),
        };
        if let Some(slot) = open.pending.get_mut(sender.index()) {
            *slot = pending;
        }
        Ok((label, After { effect: Effect::Rpc, ..After::NOTHING }))
    }
}
