//! The messages of a protocol as a codec sees them: who sends them, and what fields they have.

use std::sync::Arc;

use referee_theory::{Action, Field, Machine, Role, Vocabulary};

use crate::error::TableError;
use crate::table::{Table, Then};

/// Who sends: the side that connects, or the side that is connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sender {
    /// The side that opened the connection.
    Client,
    /// The side that accepted it.
    Server,
}

impl Sender {
    /// Both, the client first.
    pub const BOTH: [Self; 2] = [Self::Client, Self::Server];

    /// 0 for the client, 1 for the server.
    #[must_use]
    pub fn index(self) -> usize {
        match self {
            Self::Client => 0,
            Self::Server => 1,
        }
    }

    /// The other side.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// A message of a codec: an index into [`Codec::messages`](crate::Codec::messages).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId(pub(crate) u16);

impl MessageId {
    /// This message as a table index.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A message that a codec knows.
#[derive(Clone, Debug)]
pub struct Known {
    /// Its label in the protocol.
    pub name: Arc<str>,
    /// Who sends it.
    pub sender: Sender,
    /// What it carries, in the order in which it is decoded.
    pub fields: Arc<[Field]>,
    /// Whether the monitor is not asked about it.
    pub aside: bool,
    /// Whether both sides speak something else after it.
    pub(crate) switches: bool,
}

/// Every message of the protocol and of the table. A label that both sides send is there twice.
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    pub(crate) messages: Vec<Known>,
}

impl Signature {
    /// The messages that `machine` sends and receives, `client` being the side that connects, and those that
    /// `table` takes aside.
    pub(crate) fn new(
        table: &Table,
        machine: &Machine,
        vocabulary: &Vocabulary,
        client: Role,
    ) -> Result<Self, Vec<TableError>> {
        let mut messages: Vec<Known> = Vec::new();
        let mut errors = Vec::new();
        let switches = |name: &str| {
            let entry = table.messages.iter().find(|(other, _)| other == name);
            entry.is_some_and(|(_, entry)| entry.then == Some(Then::Switch))
        };
        for transition in machine.all_transitions() {
            let own = transition.action == Action::Send;
            let sender = if own == (machine.role() == client) { Sender::Client } else { Sender::Server };
            let spec = vocabulary.spec(transition.message);
            let name = vocabulary.label_of(transition.message);
            match messages.iter().find(|known| known.sender == sender && *known.name == *name) {
                None => {
                    messages.push(Known {
                        name: name.into(),
                        sender,
                        fields: Arc::clone(&spec.fields),
                        aside: false,
                        switches: switches(name),
                    });
                }
                Some(known) if same_fields(&known.fields, &spec.fields) => {}
                Some(_) => errors.push(
                    TableError::new(
                        ["messages", name],
                        "the protocol has this message with different payloads",
                    )
                    .help("give one of them another label in the protocol"),
                ),
            }
        }
        for (name, message) in &table.messages {
            let known = messages.iter().any(|known| *known.name == **name);
            if !message.aside {
                continue;
            }
            if known {
                errors.push(TableError::new(
                    ["messages", name, "aside"],
                    "the protocol has this message, so the monitor must be asked about it",
                ));
            }
            for sender in Sender::BOTH {
                if message.from.is_none_or(|from| from.includes(sender)) {
                    let fields = Arc::from([]);
                    let switches = switches(name);
                    let name = name.as_str().into();
                    messages.push(Known { name, sender, fields, aside: true, switches });
                }
            }
        }
        if messages.len() > usize::from(u16::MAX) {
            errors.push(TableError::new(["messages"], "more than 65,535 messages"));
        }
        if errors.is_empty() { Ok(Self { messages }) } else { Err(errors) }
    }

    /// The messages that `sender` sends, with their numbers.
    pub(crate) fn of(&self, sender: Sender) -> impl Iterator<Item = (MessageId, &Known)> {
        (0..).map(MessageId).zip(&self.messages).filter(move |(_, known)| known.sender == sender)
    }
}

fn same_fields(left: &[Field], right: &[Field]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(a, b)| a.name == b.name && a.ty == b.ty)
}
