//! Protocols as text, one file per target. Reading what was printed gives the same protocol.
//!
//! What a language cannot say is left out where it does not change the exchanges (the names of payload
//! fields in `.gt`, `.kmc` and `.fsm`; assertions in `.kmc` and `.fsm`, which describe systems for the
//! compatibility check); everything else that cannot be said is refused with the reason.
//!
//! Printing is iterative, and its output is linear in the term. Parts that a type shares are printed once
//! per use, up to a limit.

use std::fmt;

mod binders;
mod fsm;
mod gt;
mod gt_json;
mod kmc;
mod local;
mod scala;
mod scr;
mod session;
mod st;

pub use fsm::fsm;
pub use gt::gt;
pub use gt_json::gt_json;
pub use kmc::{kmc, kmc_system};
pub use local::{local_nuscr, local_scr};
pub(crate) use scr::without_calls;
pub use scr::{nuscr, scr};
pub use session::session;
pub use st::st;

/// Why something cannot be written in a language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inexpressible {
    reason: String,
}

impl Inexpressible {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }

    pub(crate) fn par() -> Self {
        Self::new("it runs blocks side by side (`par`)")
    }

    pub(crate) fn calls() -> Self {
        Self::new("it has keyed sub-sessions")
    }

    pub(crate) fn too_large() -> Self {
        Self::new("its parts are shared so much that it would be too large written out")
    }
}

impl fmt::Display for Inexpressible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Inexpressible {}

/// More nodes than this are not written out.
pub(crate) const MOST_NODES: usize = 10_000_000;

/// How deep lines are indented at most: text stays linear in what it says.
const DEEPEST_INDENT: usize = 24;

/// A new line, indented `depth` levels.
fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    for _ in 0..depth.min(DEEPEST_INDENT) {
        out.push_str("  ");
    }
}

/// Whether `name` is a name to the lexers of the imported languages.
fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphanumeric() || first == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'\'')
}

/// `name`, if it is one.
fn checked<'a>(name: &'a str, what: &str) -> Result<&'a str, Inexpressible> {
    if is_name(name) {
        Ok(name)
    } else if name.is_empty() {
        Err(Inexpressible::new(format!("the empty {what} is not a name there")))
    } else {
        Err(Inexpressible::new(format!("the {what} `{name}` is not a name there")))
    }
}
