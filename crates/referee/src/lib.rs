//! Referee takes a communication protocol, written once, and checks it before anything runs, guards it
//! while black-box components talk, and watches it in what has been recorded.
//!
//! This crate is the façade for Rust programs; the `referee` binary is made of it.
//!
//! # A monitor in your program
//!
//! ```
//! use referee::monitor::{Event, FieldValue, Monitor, Payload, Registry, Verdict};
//! use referee::{Analysis, Language};
//!
//! let text = "protocol Counter(role client, role server) {
//!     rec MORE { choice at client { Add(n: int) from client to server where n > 0; continue MORE; }
//!                or { Quit() from client to server; Sum(total: int) from server to client; } } }";
//! let analysis = Analysis::of(referee::parse(text, Language::Scr));
//! let global = &analysis.protocols[0].global;
//! let client = global.vocabulary().find_role("client").ok_or("no such role")?;
//! let machine = global.project(client).map_err(|_| "no projection onto the client")?;
//! let monitor = Monitor::synthesise(&machine, global.vocabulary(), &Registry::new())?;
//!
//! let mut session = monitor.session(); // one for each connection: 32 bytes
//! let (client, server) = (monitor.party("client"), monitor.party("server"));
//! for n in [3, -1] {
//!     let fields = [FieldValue::Int(n)];
//!     let event = Event::new(client, server, "Add", Payload::Positional(&fields));
//!     match monitor.step(&mut session, &event) {
//!         Verdict::Violation(violation) => {
//!             let why = monitor.explain(&session, &violation, &event).to_string();
//!             assert_eq!(why, "client sent `Add`, for which `n > 0` does not hold: `n` is -1");
//!         }
//!         verdict => assert_eq!(verdict, Verdict::Forward),
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Monitor::supervise`](monitor::Monitor::supervise) adds a policy (halt, drop, observe),
//! [`Monitor::save`](monitor::Monitor::save) keeps a session across restarts, [`functions`] takes external predicates
//! from WebAssembly, and [`watch`] runs a monitor over recorded events.
//!
//! # A protocol, checked
//!
//! ```
//! use referee::{Analysis, Language};
//!
//! let text = "protocol Ping(role client, role server) { Ping() from client to server; }";
//! let analysis = Analysis::of(referee::parse(text, Language::Scr));
//! assert!(analysis.is_well_formed());
//!
//! let system = analysis.protocols[0].local.as_ref().expect("both roles have a projection");
//! assert_eq!(system.machines().len(), 2);
//! ```

pub use referee_check as check;
pub use referee_draw as draw;
pub use referee_functions as functions;
pub use referee_guard as guard;
pub use referee_jetstream as jetstream;
pub use referee_monitor as monitor;
pub use referee_syntax as syntax;
pub use referee_syntax::{Analysis, Content, Diagnostic, Document, Language, Severity, parse};
pub use referee_theory as theory;
pub use referee_watch as watch;
pub use referee_wire as wire;

pub mod view;
