//! JSON-RPC 2.0: a request is labelled by its method, an answer by the request that has its id.

use std::collections::{BTreeMap, HashMap};

use super::document::{MISSING, Place};
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

/// Which message answers which.
#[derive(Debug)]
pub(crate) struct Rpc {
    /// For a request, the messages that answer it: with a result, with an error.
    answers: HashMap<MessageId, [Vec<MessageId>; 2]>,
}

/// The unanswered requests of a connection: for each side, the ids of its requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Open {
    requests: [BTreeMap<Box<[u8]>, MessageId>; 2],
    /// What taking the message that was looked at last does, for each side.
    pending: [Option<Pending>; 2],
}

/// The id of a request, with its message, or of an answer.
type Pending = (Box<[u8]>, Option<MessageId>);

impl Open {
    /// The message of `sender` that was looked at last goes on.
    pub(crate) fn commit(&mut self, sender: Sender) {
        let Some((id, request)) = self.pending.get_mut(sender.index()).and_then(Option::take) else { return };
        let [client, server] = &mut self.requests;
        let (own, others) = if sender == Sender::Client { (client, server) } else { (server, client) };
        match request {
            Some(request) => {
                own.insert(id, request);
            }
            None => {
                others.remove(&id);
            }
        }
    }
}

impl Rpc {
    /// What tells requests and answers apart.
    pub(crate) const HEAD: [&'static str; 4] = ["/method", "/id", "/result", "/error"];

    pub(crate) fn compile(table: &Table, signature: &Signature, errors: &mut Vec<TableError>) -> Self {
        let mut answers: HashMap<MessageId, [Vec<MessageId>; 2]> = HashMap::new();
        for (name, entry) in &table.messages {
            let Some(request) = &entry.answers else { continue };
            let found =
                (0..).map(MessageId).zip(&signature.messages).find(|(_, known)| *known.name == **name);
            let Some((answer, known)) = found else { continue };
            let asked = signature.of(known.sender.other()).find(|(_, known)| *known.name == **request);
            match asked {
                Some((request, _)) => {
                    let [results, failures] = answers.entry(request).or_default();
                    if entry.error.unwrap_or(false) { failures } else { results }.push(answer);
                }
                None => errors.push(TableError::new(
                    ["messages", name, "answers"],
                    format!("the other side has no message `{request}`"),
                )),
            }
        }
        Self { answers }
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
        text: &'b str,
        connection: &mut Connection,
        sender: Sender,
        reading: Reading<'_>,
    ) -> Result<(Label<'b>, After), &'static str> {
        let &[method, id, result, error] = head else { return Err("not a JSON-RPC message") };
        let raw = |place: Place| text.get(place.0..place.1).unwrap_or_default();
        if raw(id).len() > MAX_ID {
            return Err("an id of more than 256 bytes");
        }
        let key = |place: Place| Box::<[u8]>::from(raw(place).as_bytes());
        let open = connection.rpc.get_or_insert_default();
        let (label, pending) = match (method, result, error) {
            (method, MISSING, MISSING) if method != MISSING => {
                let name = raw(method).strip_prefix('"').and_then(|name| name.strip_suffix('"'));
                let name =
                    name.filter(|name| !name.contains('\\')).ok_or("a method that is no plain string")?;
                let found = pick(labels, sender, name, reading);
                let requests = open.requests.get(sender.index());
                if id != MISSING && requests.is_some_and(|open| open.contains_key(raw(id).as_bytes())) {
                    return Err("a request with the id of another one that is not answered yet");
                }
                if requests.is_some_and(|open| open.len() >= MAX_OPEN) {
                    return Err("more than 1024 requests without an answer");
                }
                let pending = found.filter(|_| id != MISSING).map(|found| (key(id), Some(found)));
                (found.map_or(Label::Unknown(excerpt(name.as_bytes())), Label::Known), pending)
            }
            (MISSING, result, error) if (result == MISSING) != (error == MISSING) && id != MISSING => {
                let request =
                    open.requests.get(sender.other().index()).and_then(|open| open.get(raw(id).as_bytes()));
                let Some(request) = request else {
                    return Ok((Label::Unknown("an answer to no request"), After::NOTHING));
                };
                let answers =
                    self.answers.get(request).and_then(|both| both.get(usize::from(error != MISSING)));
                let answers = answers.map_or(&[][..], |answers| answers);
                let found = answers.iter().find(|id| reading.takes(**id)).or(answers.first());
                let unknown = if error == MISSING { "a result" } else { "an error" };
                (found.map_or(Label::Unknown(unknown), |id| Label::Known(*id)), Some((key(id), None)))
            }
            _ => return Err("neither a request nor an answer"),
        };
        if let Some(slot) = open.pending.get_mut(sender.index()) {
            *slot = pending;
        }
        Ok((label, After { effect: Effect::Rpc, ..After::NOTHING }))
    }
}
