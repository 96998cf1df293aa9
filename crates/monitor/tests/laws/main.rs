//! The theorems of ECOOP'21, RV'23 and FMSD'15, and that compiled monitors are their monitors. Rows in `docs/theory.md`.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test may say no")]

mod ahead;
mod assertions;
mod blame;
mod calculus;
mod compiled_assertions;
mod completeness;
mod deadlines;
mod impossibility;
mod induced_property;
mod keyed;
mod multiparty_conformance;
mod multiparty_engine;
mod multiparty_soundness;
mod multiparty_synthesis;
mod multiparty_transparency;
mod network_deadlines;
mod no_innocent;
mod par;
mod possible;
mod properties;
mod property_meaning;
mod property_product;
mod property_theorems;
mod recursion_data;
mod rules;
mod soundness;
mod timed;

#[path = "support/expressions.rs"]
mod expressions;
#[path = "support/networks.rs"]
mod networks;
#[path = "support/random.rs"]
mod random;
#[path = "support/terms.rs"]
mod terms;
