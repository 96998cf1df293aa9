//! Referee takes a communication protocol, written once, and checks it before anything runs, guards it
//! while black-box components talk, and watches it in what has been recorded.
//!
//! This crate is the façade for Rust programs; the `referee` binary is made of it.
//!
//! # From text to monitor to verdict
//!
//! ```
//! use referee::monitor::{Event, FieldValue, Payload, Verdict};
//! use referee::{Language, Parsed};
//!
//! let text = "protocol Counter(role client, role server) {
//!     rec MORE { choice at client { Add(n: int) from client to server where n > 0; continue MORE; }
//!                or { Quit() from client to server; Sum(total: int) from server to client; } } }";
//! let protocol = Parsed::new(text, Language::Scr).well_formed()?.protocol(None)?;
//! let monitor = protocol.monitorable(protocol.role("client")?)?.monitor()?;
//! let mut session = monitor.session(); // one for each connection: 32 bytes
//! let event = |n: &'static [FieldValue<'static>]| {
//!     Event::new(monitor.party("client"), monitor.party("server"), "Add", Payload::Positional(n))
//! };
//! assert_eq!(monitor.step(&mut session, &event(&[FieldValue::Int(3)])), Verdict::Forward);
//! let wrong = event(&[FieldValue::Int(-1)]);
//! let Verdict::Violation(violation) = monitor.step(&mut session, &wrong) else { panic!("-1 is not above 0") };
//! let why = monitor.explain(&session, &violation, &wrong).to_string();
//! assert_eq!(why, "client sent `Add`, for which `n > 0` does not hold: `n` is -1");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Each stage is a type that can only be made of the one before it ([`pipeline`]): what has errors is never monitored,
//! and the errors are data ([`IllFormed`]):
//!
//! ```
//! use referee::{Language, Parsed};
//!
//! let text = "protocol Ping(role client, role server) {
//!     Ping() from client to sever;
//!     Pong() from server to client;
//! }";
//! let errors = Parsed::new(text, Language::Scr).well_formed().expect_err("there is no role `sever`");
//! assert_eq!(errors.analysed().diagnostics()[0].help.as_deref(), Some("did you mean `server`?"));
//! ```
//!
//! [`Monitor::supervise`](monitor::Monitor::supervise) adds a policy (halt, drop, observe),
//! [`Monitor::save`](monitor::Monitor::save) keeps a session across restarts,
//! [`Monitorable::registry_mut`] takes external predicates.
//!
//! # What is compiled
//!
//! With `default-features = false` the library is languages, projections, session and property monitors: no checker, no
//! thread pool, no network. The feature `view` adds `check`, `draw` and `view`: answers and pictures. The feature `command-line`, on by
//! default, adds that and the rest: `capture`, `extract`, `functions`, `generate`, `probe`, `watch`, `jetstream`, `wire`, `guard`, `ide`,
//! `lsp`, `session`, `studio`, which the `referee` binary is made of.

pub use referee_monitor as monitor;
pub use referee_pipeline as pipeline;
pub use referee_pipeline::*;
pub use referee_syntax as syntax;
pub use referee_syntax::parse;
pub use referee_theory as theory;

#[cfg(feature = "command-line")]
mod complete {
    pub use referee_capture as capture;
    pub use referee_extract as extract;
    pub use referee_functions as functions;
    pub use referee_generate as generate;
    pub use referee_guard as guard;
    pub use referee_ide as ide;
    pub use referee_jetstream as jetstream;
    pub use referee_lsp as lsp;
    pub use referee_probe as probe;
    pub use referee_session as session;
    pub use referee_studio as studio;
    pub use referee_verdict as verdict;
    pub use referee_watch as watch;
    pub use referee_wire as wire;
}
#[cfg(feature = "command-line")]
pub use complete::*;

#[cfg(feature = "view")]
pub use referee_check as check;
#[cfg(feature = "view")]
pub use referee_draw as draw;
#[cfg(feature = "view")]
pub mod view;
