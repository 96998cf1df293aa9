//! From text to monitor, in stages that are types: each can only be made of the one before it.
//!
//! ```text
//! Source ──▶ Parsed ──▶ WellFormed ──▶ Projected ──▶ Monitorable ──▶ referee_monitor::Monitor
//!                  └──▶ IllFormed          └──▶ referee_monitor::multiparty::Network
//! ```
//!
//! | stage | what is known |
//! |---|---|
//! | [`Parsed`] | what could be understood of a text, and what is wrong with its syntax, names and types |
//! | [`WellFormed`] | there are no errors: the projections that the language demands are defined, too |
//! | [`Projected`] | one protocol of the text, whatever its language, with a machine for each role that has one |
//! | [`Monitorable`] | one machine, and the predicates that its assertions call |
//!
//! ```
//! use referee_monitor::{Event, FieldValue, Payload, Verdict};
//! use referee_pipeline::{Language, Parsed};
//!
//! let text = "protocol Add(role client, role server) { Add(n: int) from client to server where n > 0; }";
//! let protocol = Parsed::new(text, Language::Scr).well_formed()?.protocol(None)?;
//! let monitor = protocol.monitorable(protocol.role("client")?)?.monitor()?;
//! let mut session = monitor.session(); // one for each connection
//! let (client, server) = (monitor.party("client"), monitor.party("server"));
//! let event = Event::new(client, server, "Add", Payload::Positional(&[FieldValue::Int(-1)]));
//! assert!(matches!(monitor.step(&mut session, &event), Verdict::Violation(_)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Without the feature `network` there is no checker in it, and no thread pool: a program that has a monitor inside
//! needs neither. This crate reads no files and prints nothing.

mod monitorable;
#[cfg(feature = "network")]
mod network;
mod packages;
mod parsed;
mod projected;
mod source;

pub use monitorable::Monitorable;
#[cfg(feature = "network")]
pub use network::NoNetwork;
pub use packages::{FileText, MAX_MODULE, Packages, ReadOnce};
pub use parsed::{Analysed, IllFormed, Parsed, UnknownLanguage, WellFormed};
pub use projected::{NoDefaultRole, NoProjection, NoProtocol, Projected, SubjectKind, UnknownRole};
pub use referee_syntax::scr::{Loader, ModuleFile};
pub use referee_syntax::{Analysis, Content, Diagnostic, Document, Followers, Language, Severity};
pub use source::{Extent, FilePart, Source, decoded};
