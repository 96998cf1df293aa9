//! Answers that are matched with requests by an id, JSON-RPC 2.0 and others: a request is labelled by what it says, an answer by the request
//! that has its id. The table ([`CorrelateTable`]) says what tells a request and where its id is.
//!
//! Fields of an answer may be those of its request (`request:/params/name`): what they are read from is kept until it is answered.

use std::collections::{BTreeMap, HashMap};

use bumpalo::Bump;
use referee_monitor::FieldValue;
use referee_theory::Field;
use serde_json::Value;

use super::document::{self, MISSING, Place, Pointers};
use super::pick;
use crate::connection::{Connection, Effect};
use crate::error::TableError;
use crate::reading::Reading;
use crate::signature::{MessageId, Sender, Signature};
use crate::step::{After, Label, excerpt};
use crate::table::{CorrelateTable, KindTable, MessageTable, Table};

/// How many requests of one side may be unanswered.
const MAX_OPEN: usize = 1024;
/// How long an id may be.
const MAX_ID: usize = 256;
/// What is too much to keep: limits of ours, that nobody is to blame for.
pub(crate) const LIMITS: [&str; 4] = [LONG_ID, MANY_OPEN, MUCH_KEPT, UNSEEN];
const LONG_ID: &str = "an id of more than 256 bytes";
const MANY_OPEN: &str = "more than 1024 requests without an answer";
const UNSEEN: &str = "an answer outside a session, to a request that cannot be known";
const MUCH_KEPT: &str = "more than 64 KiB that fields of the answer are read from";
/// How many bytes of a request may be kept for the fields of its answer.
const MAX_KEPT: usize = 64 << 10;
/// The label of a message that stands for any method that no other message has.
pub(crate) const ANY_METHOD: &str = "*";
/// What begins the pointer to a field that may be missing, and is null then.
pub(crate) const OPTIONAL: &str = "optional:";
/// What begins the pointer to a field of an answer that its request has.
pub(crate) const OF_REQUEST: &str = "request:";

/// What a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DocumentKind {
    Request,
    Notification,
    Result,
    Error,
}

/// What must be at a place of the head.
#[derive(Debug)]
enum Condition {
    Is(Box<str>, Value),
    Has,
    Lacks,
}

/// What tells the kind of a document, and where in the head its id and label are.
#[derive(Debug)]
struct Head {
    pointers: Vec<String>,
    kinds: Vec<(DocumentKind, Vec<(usize, Condition)>)>,
    id: usize,
    answer_id: usize,
    label: usize,
    notification_label: usize,
    no_id: Value,
}

impl Head {
    fn new(table: &CorrelateTable) -> Self {
        let mut head = Self {
            pointers: Vec::new(),
            kinds: Vec::new(),
            id: 0,
            answer_id: 0,
            label: 0,
            notification_label: 0,
            no_id: table.no_id.clone().unwrap_or_default(),
        };
        head.id = head.place(&table.id);
        head.answer_id = head.place(table.answer_id.as_ref().unwrap_or(&table.id));
        head.label = head.place(&table.label);
        head.notification_label = head.place(table.notification_label.as_ref().unwrap_or(&table.label));
        let kinds = [
            (DocumentKind::Request, Some(&table.request)),
            (DocumentKind::Notification, table.notification.as_ref()),
            (DocumentKind::Result, Some(&table.result)),
            (DocumentKind::Error, table.error.as_ref()),
        ];
        for (kind, told) in kinds {
            let Some(told) = told else { continue };
            let conditions = head.conditions(told);
            head.kinds.push((kind, conditions));
        }
        head
    }

    fn place(&mut self, pointer: &String) -> usize {
        let known = self.pointers.iter().position(|known| known == pointer);
        known.unwrap_or_else(|| {
            self.pointers.push(pointer.clone());
            self.pointers.len() - 1
        })
    }

    fn conditions(&mut self, told: &KindTable) -> Vec<(usize, Condition)> {
        let mut conditions = Vec::new();
        for (pointer, value) in &told.when {
            conditions.push((self.place(pointer), Condition::Is(value.to_string().into(), value.clone())));
        }
        conditions.extend(told.has.iter().map(|pointer| (self.place(pointer), Condition::Has)));
        conditions.extend(told.lacks.iter().map(|pointer| (self.place(pointer), Condition::Lacks)));
        conditions
    }

    /// What a document is with these places in `text`.
    fn kind(&self, places: &[Place], text: &str) -> Option<DocumentKind> {
        let holds = |(slot, condition): &(usize, Condition)| {
            let place = places.get(*slot).copied().unwrap_or(MISSING);
            match condition {
                Condition::Has => place != MISSING,
                Condition::Lacks => place == MISSING,
                Condition::Is(canonical, value) => {
                    let raw = text.get(place.0..place.1).filter(|_| place != MISSING);
                    raw.is_some_and(|raw| {
                        *raw == **canonical || serde_json::from_str::<Value>(raw).ok().as_ref() == Some(value)
                    })
                }
            }
        };
        self.kinds.iter().find(|(_, conditions)| conditions.iter().all(holds)).map(|(kind, _)| *kind)
    }
}

/// Which message answers which.
#[derive(Debug)]
pub(crate) struct Rpc {
    head: Head,
    /// How a guard refuses a request.
    refusal: Option<String>,
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
    /// Whether the client, and the server, may answer requests that were made elsewhere.
    unseen: [bool; 2],
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
    let value = serde_json::from_str::<Value>(id);
    match value {
        Ok(Value::Number(number)) => match (number.as_i64(), number.as_f64()) {
            (None, Some(float)) => format!("{float:e}").into(),
            // As large as that, a reader that takes it for a float may write it otherwise.
            (Some(integer), _) => format!("{:e}", integer as f64).into(),
            (None, None) => id.into(),
        },
        Ok(Value::String(text)) => format!("\"{text}").into(),
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
    /// Whether the client, and the server, may answer requests that were made elsewhere.
    pub(crate) fn note_unseen(&mut self, unseen: [bool; 2]) {
        self.unseen = unseen;
    }

    /// The id of the request that the message of `sender` that was looked at last is.
    pub(crate) fn key(&self, sender: Sender) -> Option<Box<str>> {
        let pending = self.pending.get(sender.index())?.as_ref()?;
        pending.request.is_some().then(|| pending.key.clone())
    }

    /// The request of the client with this id will not be answered any more.
    pub(crate) fn forget(&mut self, key: &str) {
        let [client, _] = &mut self.requests;
        client.remove(key);
    }

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
    pub(crate) fn head(&self) -> &[String] {
        &self.head.pointers
    }

    pub(crate) fn compile(
        table: &Table,
        correlation: &CorrelateTable,
        signature: &Signature,
        errors: &mut Vec<TableError>,
    ) -> Self {
        if table.correlate.is_some() && table.rpc.is_some() {
            errors.push(TableError::new(
                ["rpc"],
                "`rpc` is a `correlate` of its own: leave out one of the two",
            ));
        }
        if correlation.refusal.as_ref().is_some_and(|text| !text.contains("{id}")) {
            let message = "a refusal has `{id}` in it, where the id of the request goes";
            errors.push(TableError::new(["correlate", "refusal"], message));
        }
        let mut rpc = Self {
            head: Head::new(correlation),
            refusal: correlation.refusal.clone(),
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

    /// What answers `request` with an error; nothing where a guard cannot say one.
    pub(crate) fn errors_for(&self, request: MessageId) -> &[MessageId] {
        let errors = self.answers.get(&request).filter(|_| self.refusal.is_some());
        errors.map_or(&[], |[_, errors]| errors)
    }

    /// The document that refuses the request with `id`, saying `why`.
    pub(crate) fn refusal(&self, id: &str, why: &str) -> Option<String> {
        let why = Value::from(why).to_string();
        // One after the other: what was put in is not looked at again.
        let mut text = String::new();
        let mut rest = self.refusal.as_deref()?;
        while let Some(at) = rest.find('{') {
            let (before, tail) = rest.split_at(at);
            text += before;
            let known = [("{id}", id), ("{why}", &why)].into_iter().find(|(name, _)| tail.starts_with(name));
            let (value, length) = known.map_or(("{", 1), |(name, value)| (value, name.len()));
            text += value;
            rest = tail.get(length..).unwrap_or_default();
        }
        Some(text + rest)
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
    pub(crate) fn prefix<'t>(correlation: &'t CorrelateTable, entry: Option<&MessageTable>) -> &'t str {
        let of = |kind: Option<&'t KindTable>| kind.map_or("", |kind| kind.fields.as_str());
        match entry {
            Some(entry) if entry.answers.is_some() && entry.error.unwrap_or(false) => {
                of(correlation.error.as_ref())
            }
            Some(entry) if entry.answers.is_some() => of(Some(&correlation.result)),
            Some(entry) if entry.notification == Some(true) => of(correlation.notification.as_ref()),
            _ => of(Some(&correlation.request)),
        }
    }

    /// What a document with `places` at its [`head`](Self::head) is.
    pub(crate) fn find<'b>(
        &self,
        labels: &[HashMap<Box<str>, Vec<MessageId>>; 2],
        places: &[Place],
        (text, start, bump): (&'b str, usize, &'b Bump),
        connection: &mut Connection,
        sender: Sender,
        reading: Reading<'_>,
    ) -> Result<(Label<'b>, After), &'static str> {
        let raw = |place: Place| text.get(place.0..place.1).unwrap_or_default();
        let place = |slot: usize| places.get(slot).copied().unwrap_or(MISSING);
        let kind = self.head.kind(places, text).ok_or("neither a request nor an answer")?;
        let id = match kind {
            DocumentKind::Request => place(self.head.id),
            DocumentKind::Notification => MISSING,
            DocumentKind::Result | DocumentKind::Error => place(self.head.answer_id),
        };
        if raw(id).len() > MAX_ID {
            return Err(LONG_ID);
        }
        let open = connection.rpc.get_or_insert_default();
        let (label, pending) = match kind {
            DocumentKind::Request | DocumentKind::Notification => {
                let is_request = kind == DocumentKind::Request;
                if is_request && id == MISSING {
                    return Err("a request without an id");
                }
                let at = if is_request { self.head.label } else { self.head.notification_label };
                let at = place(at);
                let name = raw(at).starts_with('"').then(|| document::string(text, at.0, bump).0);
                let name = name.flatten().ok_or("a method that is no string")?;
                let may_be = |message| self.may_be(message, is_request);
                let found = pick(labels, sender, name, reading, may_be)
                    .or_else(|| pick(labels, sender, ANY_METHOD, reading, may_be));
                let pending = match found.filter(|_| is_request) {
                    Some(message) => Some(self.request(open, (sender, message), raw(id), (text, start))?),
                    None => {
                        self.check_request(open, sender, is_request.then(|| normalised(raw(id))))?;
                        None
                    }
                };
                (found.map_or(Label::Unknown(excerpt(name.as_bytes())), Label::Known), pending)
            }
            // The server could not even read the id of what it answers.
            DocumentKind::Error if id == MISSING || self.is_no_id(raw(id)) => {
                let errors =
                    self.errors.iter().copied().filter(|(_, from)| *from == sender).map(|(id, _)| id);
                let found = errors.clone().find(|id| reading.takes(*id)).or_else(|| errors.clone().next());
                (found.map_or(Label::Unknown("an error"), Label::Known), None)
            }
            DocumentKind::Result | DocumentKind::Error => {
                if id == MISSING {
                    return Err("an answer without the id of its request");
                }
                let key = normalised(raw(id));
                let request = open.requests.get(sender.other().index()).and_then(|open| open.get(&key));
                let Some(request) = request else {
                    if open.unseen.get(sender.index()) == Some(&true) {
                        return Err(UNSEEN);
                    }
                    return Ok((Label::Unknown("an answer to no request"), After::NOTHING));
                };
                let is_error = kind == DocumentKind::Error;
                let answers =
                    self.answers.get(&request.message).and_then(|both| both.get(usize::from(is_error)));
                let answers = answers.map_or(&[][..], |answers| answers);
                let found = answers.iter().find(|id| reading.takes(**id)).or(answers.first());
                let unknown = if is_error { "an error" } else { "a result" };
                let pending = Pending { key, written: raw(id).into(), request: None };
                (found.map_or(Label::Unknown(unknown), |id| Label::Known(*id)), Some(pending))
            }
        };
        if let Some(slot) = open.pending.get_mut(sender.index()) {
            *slot = pending;
        }
        Ok((label, After { effect: Effect::Rpc, ..After::NOTHING }))
    }

    fn is_no_id(&self, raw: &str) -> bool {
        raw == "null" || serde_json::from_str::<Value>(raw).is_ok_and(|id| id == self.head.no_id)
    }

    /// That a request with the id `key` may be made, or a notification.
    fn check_request(&self, open: &Open, sender: Sender, key: Option<Box<str>>) -> Result<(), &'static str> {
        let requests = open.requests.get(sender.index());
        if key.is_some_and(|key| requests.is_some_and(|open| open.contains_key(&key))) {
            return Err("a request with the id of another one that is not answered yet");
        }
        if requests.is_some_and(|open| open.len() >= MAX_OPEN) {
            return Err(MANY_OPEN);
        }
        Ok(())
    }

    /// The request `message` with this `id`, which is not answered yet.
    fn request(
        &self,
        open: &Open,
        (sender, message): (Sender, MessageId),
        id: &str,
        (text, start): (&str, usize),
    ) -> Result<Pending, &'static str> {
        let key = normalised(id);
        self.check_request(open, sender, Some(key.clone()))?;
        let request = Request { message, kept: self.keep(message, text, start)? };
        Ok(Pending { key, written: id.into(), request: Some(request) })
    }
}
