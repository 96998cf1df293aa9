//! Referee takes a communication protocol, written once, and checks it before anything runs, guards it
//! while black-box components talk, and watches it in what has been recorded.
//!
//! This crate is the façade for Rust programs; the `referee` binary is made of it.
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
pub use referee_guard as guard;
pub use referee_monitor as monitor;
pub use referee_syntax as syntax;
pub use referee_syntax::{Analysis, Content, Diagnostic, Document, Language, Severity, parse};
pub use referee_theory as theory;
pub use referee_watch as watch;

pub mod view;
