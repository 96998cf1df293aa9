//! Session monitors: from a machine to a value that steps over events and names the offender.
//!
//! The machine's own role is the *process* P, the side under scrutiny; everyone it talks to is the
//! *environment* E. [`Monitor::synthesise`] is Definition 9 of ECOOP'21 with the assertions of its Section
//! 5.1: in a state that sends, the monitor takes from P exactly the messages listed there (else `noP`), with
//! payloads of the declared types (else `noP`) for which the assertion holds (else `noP^A`); in a state that
//! receives, likewise from E with `noE` and `noE^A`. A message that passes goes on unchanged.
//!
//! What a network tells a monitor beyond the paper's model (its Remark 20) is used, and nothing else: a side
//! that ends while the session is not over ([`Monitor::end`]) and a message after the end are violations;
//! waiting never is.
//!
//! There is no I/O here, no clock and no thread. [`Monitor::step`] does not allocate, except to store
//! strings, bytes or containers that a later assertion reads, and where an assertion itself builds text or
//! compares containers. Everything a peer can choose (labels, values, order) is data: no panic, no growth.
//!
//! ```
//! use std::sync::Arc;
//! use referee_monitor::{Event, FieldValue, Monitor, Payload, Registry, Verdict};
//! use referee_theory::{Action, MachineBuilder, Origin, Transition, Vocabulary};
//!
//! let mut vocabulary = Vocabulary::new();
//! let (client, server) = (vocabulary.add_role("client"), vocabulary.add_role("server"));
//! let ping = vocabulary.add_plain_message("Ping");
//! let mut machine = MachineBuilder::new(client);
//! let (start, end) = (machine.add_state(), machine.add_state());
//! let send = Transition { action: Action::Send, peer: server, message: ping, target: end, origin: Origin::NONE };
//! machine.add_transition(start, send);
//!
//! let monitor = Monitor::synthesise(&machine.finish(), &Arc::new(vocabulary), &Registry::new())?;
//! let mut session = monitor.session();
//! let event = |label| Event::new(client, server, label, Payload::Positional(&[]));
//! let Verdict::Violation(violation) = monitor.step(&mut session, &event("Pong")) else { panic!() };
//! let explanation = monitor.explain(&session, &violation, &event("Pong"));
//! assert_eq!(explanation.to_string(), "client sent `Pong`, which it never sends; expected `Ping()` from client");
//! assert_eq!(monitor.step(&mut session, &event("Ping")), Verdict::Forward);
//! # Ok::<(), referee_monitor::SynthesisError>(())
//! ```
//!
//! Reading order: [`event`], [`verdict`], [`monitor`], [`session`], [`policy`], [`early`], [`ahead`], [`keyed`], [`possible`], [`explain`], [`registry`],
//! [`view`]; then `synthesis` and `code`, how monitors are made, and `table` and `labels`, what of.

pub mod ahead;
mod code;
mod dataflow;
pub mod deadline;
pub mod early;
pub mod event;
pub mod explain;
pub mod keyed;
mod labels;
mod layout;
pub mod monitor;
#[cfg(feature = "network")]
pub mod multiparty;
mod outlook;
pub mod policy;
pub mod possible;
pub mod property;
pub mod registry;
pub mod session;
mod synthesis;
mod table;
pub mod verdict;
pub mod view;

pub use ahead::{Ahead, Lead, Position};
pub use deadline::{Moment, NOT_WHOLE, Passed, TimeVerdict, Timer, Untimely};
pub use early::{Early, Lend};
pub use event::{Channel, Event, EventLabel, FieldValue, Party, Payload};
pub use explain::{AssertionFailure, Expected, Explanation, FaultExplanation, FieldFailure};
pub use keyed::{
    Key, KeyLimits, KeyedMonitor, KeyedSession, KeyedVerdict, Lane, Stage, SubProtocol, Waiting, Wrong,
};
pub use labels::LabelId;
pub use monitor::Monitor;
pub use policy::{Handling, Policy, Report, Ruling};
pub use possible::{Possible, PossibleVerdict};
pub use registry::{Argument, Predicate, Registry};
pub use session::{BadSession, Session};
pub use synthesis::{SynthesisError, SynthesisProblem};
pub use verdict::{Fault, FaultKind, Kind, Rejection, Side, Verdict, Violation};
pub use view::{BranchView, MonitorView, StateView};
