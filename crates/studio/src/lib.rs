//! The page that `referee studio` serves: traces and protocols to look at and to step through.
//!
//! [`trace`] has what the page shows of an execution, as data. [`export()`] makes one self-contained file of it, for a bug report.
//! [`api`] answers requests as pure functions of a [`api::Backend`], which the command implements; [`server`] puts it behind
//! HTTP on loopback, and [`live`] adds the events of running guards. The page itself is in `ui/`: plain ES modules and CSS, served as they are.

pub mod api;
mod export;
pub mod live;
pub mod server;
pub mod trace;

pub use export::{ExportedProtocol, export};
pub use live::{GuardPlace, GuardSource};
pub use server::{Studio, StudioError};
pub use trace::{EdgeView, MachineView, SourceView, StepAction, StepView, Trace, TraceKind};
