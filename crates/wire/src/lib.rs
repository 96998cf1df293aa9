//! Codecs: which bytes of a connection are which message, without I/O.
//!
//! A codec is data: a [`Table`], usually TOML, compiled against the messages of a protocol ([`Codec::compile`]).
//! It then looks at the unread bytes of each direction of a connection and says what they are. It never copies
//! what is to be forwarded, it never asks for bytes that it has no use for, and it never guesses: where the same
//! bytes can mean different things, the state of the session decides ([`Readings`]).
//!
//! # How a proxy uses it
//!
//! Once for each listener, from a protocol's [`Monitor`](referee_monitor::Monitor) and a table:
//!
//! ```
//! # use std::sync::Arc;
//! # use referee_monitor::{Ahead, Monitor, Registry};
//! # use referee_theory::{Action, MachineBuilder, Origin, Transition, Vocabulary};
//! use referee_wire::{Codec, Fields, Limits, Readings, Scratch, Sender, Step, Table};
//! # let mut vocabulary = Vocabulary::new();
//! # let (client, server) = (vocabulary.add_role("client"), vocabulary.add_role("server"));
//! # let ping = vocabulary.add_plain_message("Ping");
//! # let mut machine = MachineBuilder::new(client);
//! # let (start, end) = (machine.add_state(), machine.add_state());
//! # let send = Transition { action: Action::Send, peer: server, message: ping, target: end, origin: Origin::NONE };
//! # machine.add_transition(start, send);
//! # let monitor = Monitor::synthesise(&machine.finish(), &Arc::new(vocabulary), &Registry::new()).unwrap();
//!
//! let table = Table::parse("kind = 'text'\nmessages.Ping = 'PING'").unwrap();
//! let codec = Codec::compile(&table, &monitor, client).unwrap();
//! let ahead = Ahead::new(&monitor);
//! let readings = Readings::new(&codec, &monitor, &ahead).unwrap();
//!
//! // For each connection:
//! let mut connection = codec.connection(Limits::default());
//! let (scratch, mut fields) = (Scratch::new(), Fields::new());
//! let reading = readings.start(Sender::Client);
//!
//! // For each look at what one side has sent and nobody has consumed:
//! let unread = b"PI";
//! let step = codec.decode(&mut connection, Sender::Client, unread, reading, &scratch, &mut fields);
//! assert!(matches!(step, Step::More { at_least: 3 }));
//! let unread = b"PING\r\nPING\r\n";
//! let step = codec.decode(&mut connection, Sender::Client, unread, reading, &scratch, &mut fields);
//! let Step::Message(message) = step else { panic!("{step:?}") };
//! assert_eq!((codec.name(message.label), message.bytes), ("Ping", 6));
//! // Judge it, forward or drop `unread[..6]`, and say so:
//! codec.take(&mut connection, Sender::Client, message.after, true);
//! ```
//!
//! The loop for one side, in words:
//!
//! 1. [`Ahead::position`](referee_monitor::Ahead::position) gives where this side's next message is to be read, and
//!    [`Readings::at`] the reading there. No position, or no reading: hold this side's bytes until a message of the
//!    other side was forwarded.
//! 2. [`Codec::decode`] with the *whole* unread slice. It must begin with the first byte not yet consumed and only
//!    ever grow between calls; how the stream was cut makes no difference. Work already done is remembered in the
//!    [`Connection`], so that decoding is linear even if bytes come one by one.
//! 3. What it says is a [`Step`]:
//!    - [`More`](Step::More): read on, at least until the slice has so many bytes; then again from 1.
//!    - [`Wait`](Step::Wait): hold this side's bytes until a message of the other side was forwarded.
//!    - [`Message`](Step::Message): the first [`bytes`](Message::bytes) are its beginning. Nothing is consumed yet:
//!      asking again gives the same answer. An [`aside`](Message::aside) message is forwarded without asking the
//!      monitor. Any other goes to [`Ahead::judge`](referee_monitor::Ahead::judge); on `Early` hold it as it is.
//!      When it is decided, call [`Codec::take`] once, with whether it goes on, and consume its bytes.
//!    - [`Body`](Step::Body): the next `bytes` bytes, buffered or not, belong to the message taken last and share its
//!      fate. They may be many more than the slice has: pass them on as they come. This is consumed already:
//!      [`decode`](Codec::decode) is next called after them.
//!    - [`Malformed`](Step::Malformed): not bytes of this protocol. Whoever sent them is to blame; nothing after this
//!      point can be read.
//!    - [`Transparent`](Step::Transparent): the sides have agreed to something that cannot be read (TLS, another
//!      protocol). Everything from here on, both ways, is passed on as it is.
//! 4. When the side's stream ends: [`Codec::end`], then the monitor's end unless [`Codec::leave`] allows it.
//!
//! Nothing is allocated for a message, except where a value has to be built: escapes in JSON strings, and lists or
//! records. These go to the [`Scratch`], which is emptied by its owner after the message was judged.
//!
//! Reading order: [`table`], [`codec`], [`step`], [`reading`], [`signature`], [`preset`]; then one module for each kind.

mod body;
pub mod codec;
mod connection;
pub mod encode;
pub mod error;
mod frames;
mod http;
mod interruption;
mod json;
mod json_http;
pub mod preset;
pub mod reading;
mod resp;
pub mod signature;
pub mod step;
pub mod table;
mod text;
mod value;
mod websocket;

pub use codec::{Codec, Limits};
pub use connection::{Connection, OpenRequests};
pub use encode::{EncodeError, Encoder, Parts};
pub use error::{TableError, locate};
pub use preset::Preset;
pub use reading::{Expected, Reading, Readings};
pub use signature::{Known, MessageId, Sender};
pub use step::{After, Fields, Label, Malformed, Message, Refusal, Scratch, Step};
pub use table::{
    Carries, CorrelateTable, Framing, Kind, KindTable, Leave, LengthForm, Leniency, LineEnd, MessageTable,
    Table,
};
