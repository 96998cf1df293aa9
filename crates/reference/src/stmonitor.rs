//! ECOOP'21: processes, session types, monitors and monitored systems, figure by figure.
//!
//! Payloads are single values, where the paper has tuples of them. Names are static strings, so that terms
//! are cheap to copy and to compare.
//!
//! [`value`] has values, base types and predicates; [`process`] Figure 2; [`session`] Figure 3; [`typing`]
//! Figure 4; [`monitor`] Figure 6; [`synthesis`] Definition 9 and Section 5.1; [`composite`] Figure 8.

pub mod composite;
pub mod monitor;
pub mod process;
pub mod session;
pub mod synthesis;
pub mod typing;
pub mod value;

/// A message label, `l`.
pub type Label = &'static str;
/// A value variable, `x`, or a process, monitor or recursion variable, `X`.
pub type Name = &'static str;
