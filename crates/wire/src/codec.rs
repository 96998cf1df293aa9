//! A codec: a table, compiled. What it is for and how it is used is told at the [crate's](crate) beginning.

use referee_monitor::Monitor;
use referee_theory::Role;

use crate::body;
use crate::connection::{Body, Connection, Effect, Flow};
use crate::error::TableError;
use crate::reading::{Mode, Reading};
use crate::signature::{Known, MessageId, Sender, Signature};
use crate::step::{After, Fields, Label, Malformed, Scratch, Step};
use crate::table::{Kind, Leave, Table};
use crate::text::Text;

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
        let signature = Signature::new(table, monitor, client)?;
        let mut errors = table.foreign_keys();
        for (name, _) in &table.messages {
            if !signature.messages.iter().any(|known| *known.name == **name) {
                errors.push(
                    TableError::new(["messages", name], "the protocol has no such message")
                        .help("`aside = true` lets it pass without being part of the protocol"),
                );
            }
        }
        let reader = match table.kind {
            Kind::Text => Text::compile(table, &signature, &mut errors).map(Reader::Text),
        };
        let process = if monitor.machine().role() == client { Sender::Client } else { Sender::Server };
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
        if unread.is_empty() {
            return Step::More { at_least: 1 };
        }
        let limit = connection.limit;
        if connection.flow(sender).body != Body::None {
            return body::step(connection.flow(sender), unread);
        }
        let _ = scratch;
        let step = match &self.reader {
            Reader::Text(text) => text.decode(connection, sender, unread, reading, fields),
        };
        match step {
            Step::More { at_least } if at_least > limit => Step::Malformed(Malformed {
                reason: format!("a message of more than {limit} bytes").into(),
                at: limit,
                too_long: true,
            }),
            step => step,
        }
    }

    /// Consumes a message that [`decode`](Self::decode) has found: `forwarded` says whether it goes on to the
    /// other side. Its body, if any, shares its fate.
    #[inline]
    pub fn take(&self, connection: &mut Connection, sender: Sender, after: After, forwarded: bool) {
        let flow = connection.flow(sender);
        *flow = Flow { body: after.body, ..Flow::default() };
        if forwarded {
            match after.effect {
                Effect::None => {}
                Effect::Transparent => connection.transparent = true,
            }
        }
    }

    /// `sender`'s stream has ended, with `unread` left over.
    ///
    /// # Errors
    /// If a message was under way.
    pub fn end(&self, connection: &mut Connection, sender: Sender, unread: &[u8]) -> Result<(), Malformed> {
        if connection.transparent || (unread.is_empty() && connection.flow(sender).body == Body::None) {
            return Ok(());
        }
        Err(Malformed::new("the connection ended within a message", unread.len()))
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

    /// Whether `sender` is the process of the monitor that this was compiled for.
    #[must_use]
    pub fn is_process(&self, sender: Sender) -> bool {
        sender == self.process
    }

    /// How to read where exactly `possible` may come.
    pub(crate) fn mode(&self, possible: &[MessageId]) -> Result<Mode, TableError> {
        match &self.reader {
            Reader::Text(text) => text.mode(possible, &self.signature),
        }
    }
}
