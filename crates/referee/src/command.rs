//! One file per command, each with its `Arguments` and a `run`.

pub(crate) mod check;
pub(crate) mod completions;
mod component;
pub(crate) mod conform;
pub(crate) mod convert;
pub(crate) mod demo;
mod dependencies;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod extract;
pub(crate) mod fix;
pub(crate) mod fmt;
pub(crate) mod generate;
pub(crate) mod guard;
pub(crate) mod journal;
pub(crate) mod lsp;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod mock;
pub(crate) mod new;
mod play;
pub(crate) mod preset;
pub(crate) mod probe;
pub(crate) mod show;
pub(crate) mod studio;
pub(crate) mod verify_verdict;
pub(crate) mod watch;
