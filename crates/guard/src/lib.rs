//! Guards: monitors on real connections.
//!
//! A guard stands between a client and a server that nobody here wrote. It passes on what follows the protocol,
//! byte for byte, stops the first message that does not, and says who broke which rule. What a listener does is
//! [configuration](config): a protocol, a codec table, two addresses.
//!
//! This is the only asynchronous crate. It prints nothing: reports go to the `tracing` log, to a durable
//! [journal], and to whoever asks the admin listener.
//!
//! Reading order: [`config`], `plan` (what is made of it), `protocol`; then a connection's way: `listen`, `worker`,
//! `connection`, `driver`, and the engine in `crates/session`; then what is reported: [`report`], `live_session`, `report_sink`,
//! [`journal`], `metrics`, `admin`; and [`Guard`] and [`Service`], which hold it together. Protocols of more than two roles are [`multiparty`]'s.

mod admin;
mod clock;
pub mod config;
mod connection;
mod descriptors;
mod driver;
mod endpoint;
mod events;
mod files;
mod guard;
mod http_answer;
pub mod journal;
mod listen;
mod live_session;
pub mod log;
mod metrics;
pub mod multiparty;
mod otlp;
mod pages;
mod plan;
mod preset;
mod protocol;
mod proxy_header;
pub mod report;
mod report_sink;
mod serve;
mod session_store;
mod source_limits;
pub mod stdio;
mod stream;
mod takeover;
mod tls;
mod tls_records;
mod websocket;
mod worker;

pub use descriptors::raise_limit as raise_descriptor_limit;
pub use endpoint::Endpoint;
pub use files::read_module;
pub use guard::{Guard, Inherited};
pub use listen::Listener;
pub use pages::use_small_pages;
pub use plan::{ListenerSides, Plans, Refusal};
pub use report_sink::Observer;
pub use serve::{Ended, Service};
pub use stdio::StdioOutcome;
