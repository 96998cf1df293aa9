//! From a line of a log to an event: what a source file (`--source FILE.toml`) says, compiled.
//!
//! A record, mostly a line, is taken apart by its *format* into members with names; the first rule ([`EventRule`]) whose conditions hold
//! says what the event's parts are, as templates over the members. An event is written as one line of JSON, in the shape that
//! `crates/watch` reads. There is no I/O and no clock here: who calls says what year it is where a format does not.
//!
//! Reading order: [`source`], [`mod@stream`], [`mod@line`], `members`, `time`, [`shape`].

mod csv;
mod guess;
mod json;
pub mod line;
mod members;
mod names;
mod otlp;
mod pattern;
mod pcap;
pub mod shape;
pub mod source;
pub mod stream;
mod template;
pub mod time;

pub use guess::guess;
pub use line::{Extracted, Extractor};
pub use pcap::PcapSource;
pub use shape::{Shapes, fold};
pub use source::{Encoding, EventRule, Format, Signal, Source, SourceError};
pub use stream::{EventStream, Found};

/// The sources that come with Referee, by name.
pub const READY_MADE: &[(&str, &str)] = &[
    ("sshd", include_str!("../sources/sshd.toml")),
    ("nginx-combined", include_str!("../sources/nginx-combined.toml")),
    ("nginx-json", include_str!("../sources/nginx-json.toml")),
    ("redis-monitor", include_str!("../sources/redis-monitor.toml")),
    ("kubernetes-audit", include_str!("../sources/kubernetes-audit.toml")),
    ("journald", include_str!("../sources/journald.toml")),
    ("postfix", include_str!("../sources/postfix.toml")),
    ("postgresql", include_str!("../sources/postgresql.toml")),
    ("openstack", include_str!("../sources/openstack.toml")),
    ("cloudevents", include_str!("../sources/cloudevents.toml")),
    ("otlp-spans", include_str!("../sources/otlp-spans.toml")),
];

/// The text of the ready-made source called `name`.
#[must_use]
pub fn ready_made(name: &str) -> Option<&'static str> {
    READY_MADE.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
