//! What a property observes: one event, borrowed from whoever read it.
//!
//! | kind | written | subject | object | payload |
//! |---|---|---|---|---|
//! | `Exchange` | `{"from":"a","to":"b","label":"L","payload":…}` | `from` | `to` | the payload |
//! | `Send` | `send(P,Q,T)`; the plain `q!t` | the sender `P`; absent | the receiver `Q`, `q` | `T` |
//! | `Receive` | `recv(P,T)`; the plain `p?t` | the receiver | absent | `T` |
//! | `Fork` | `fork(P,C,{m,f,[a]})` | the parent `P` | the child `C` | the tuple `{m, f, [a]}` |
//! | `Init` | `init(C,P,{m,f,[a]})` | the child `C` | the parent `P` | the tuple `{m, f, [a]}` |
//! | `Exit` | `exit(P,R)` | the process `P` | absent | the reason `R` |
//!
//! Only exchanges have a label, and their roles and label are [`Term::Text`]. A line of a foreign log that has no
//! sender or label is an exchange in which these are absent; what it does have is among its keys.

use std::sync::Arc;

use crate::value::{Fields, Term};

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EventKind {
    /// A message of a protocol from one role to another.
    Exchange,
    /// A process sent a message.
    Send,
    /// A process received a message.
    Receive,
    /// A process started another one.
    Fork,
    /// A process was started by another one.
    Init,
    /// A process ended.
    Exit,
}

impl EventKind {
    /// The word for it in logs and messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Exchange => "exchange",
            Self::Send => "send",
            Self::Receive => "recv",
            Self::Fork => "fork",
            Self::Init => "init",
            Self::Exit => "exit",
        }
    }
}

/// One event.
#[derive(Clone, Copy, Debug)]
pub struct EventView<'a> {
    /// What happened.
    pub kind: EventKind,
    /// Who did it.
    pub subject: Term<'a>,
    /// To whom.
    pub object: Term<'a>,
    /// What the message is called.
    pub label: Term<'a>,
    /// What it carries.
    pub payload: Term<'a>,
    /// The members of the line the event was read from, the parts above included if it has them; a reader may leave
    /// out those that no property asks for.
    pub keys: Fields<'a>,
    /// When it happened, in nanoseconds since 1970, if that is known.
    pub time: Option<i64>,
}

impl<'a> EventView<'a> {
    /// An event of this kind with nothing known about it.
    #[must_use]
    pub fn new(kind: EventKind) -> Self {
        let absent = Term::Absent;
        Self {
            kind,
            subject: absent,
            object: absent,
            label: absent,
            payload: absent,
            keys: Fields::default(),
            time: None,
        }
    }

    /// The value at `key`, if the event has one. The first step is a member of the line; if it has none of this
    /// name, `kind`, `subject`, `object`, `label`, `payload`, and `from` and `to` of an exchange, are the parts
    /// of the event. Later steps go into records by name and into lists and tuples by index, as in a JSON pointer.
    #[must_use]
    pub fn key(&self, key: &Key) -> Option<Term<'a>> {
        let (first, rest) = key.steps.split_first()?;
        let start = self.keys.get(first).or_else(|| self.part(first))?;
        rest.iter().try_fold(start, |term, step| match term {
            Term::Record(members) => members.get(step),
            Term::List(items) | Term::Tuple(items) => items.get(index(step)?),
            _ => None,
        })
    }

    fn part(&self, name: &str) -> Option<Term<'a>> {
        let exchange = self.kind == EventKind::Exchange;
        let part = match name {
            "kind" => Term::Text(self.kind.name()),
            "subject" => self.subject,
            "from" if exchange => self.subject,
            "object" => self.object,
            "to" if exchange => self.object,
            "label" => self.label,
            "payload" => self.payload,
            _ => Term::Absent,
        };
        (!matches!(part, Term::Absent)).then_some(part)
    }
}

/// An array index of a JSON pointer: decimal without leading zeros.
fn index(step: &str) -> Option<usize> {
    let plain = step.bytes().all(|b| b.is_ascii_digit()) && (step == "0" || !step.starts_with('0'));
    if plain { step.parse().ok() } else { None }
}

/// Where in an event a value stands: `status`, `/payload/user/id`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    // INVARIANT: at least one.
    steps: Box<[Arc<str>]>,
}

impl Key {
    /// The top-level member `name`.
    #[must_use]
    pub fn name(name: &str) -> Self {
        Self { steps: [name.into()].into() }
    }

    /// The place that a JSON pointer (RFC 6901) names; `None` if it is none, or names the whole event.
    #[must_use]
    pub fn pointer(pointer: &str) -> Option<Self> {
        let steps: Option<Box<[Arc<str>]>> = pointer.strip_prefix('/')?.split('/').map(unescape).collect();
        steps.map(|steps| Self { steps })
    }

    /// The steps from the outside in.
    #[must_use]
    pub fn steps(&self) -> &[Arc<str>] {
        &self.steps
    }
}

/// `~1` is a slash and `~0` a tilde; any other tilde is a mistake.
fn unescape(step: &str) -> Option<Arc<str>> {
    let mut parts = step.split('~');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (replacement, rest) = match part.as_bytes().first() {
            Some(b'0') => ('~', &part[1..]),
            Some(b'1') => ('/', &part[1..]),
            _ => return None,
        };
        text.push(replacement);
        text.push_str(rest);
    }
    Some(text.into())
}

impl std::fmt::Display for Key {
    /// A name where one is enough, else a pointer.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let [name] = &*self.steps {
            return f.write_str(name);
        }
        self.steps.iter().try_for_each(|step| write!(f, "/{}", step.replace('~', "~0").replace('/', "~1")))
    }
}
