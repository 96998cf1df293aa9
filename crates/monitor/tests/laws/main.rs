//! The theorems of ECOOP'21, and that compiled monitors are its monitors. Rows in `docs/theory.md`.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test may say no")]

mod assertions;
mod blame;
mod calculus;
mod compiled_assertions;
mod completeness;
mod impossibility;
mod soundness;

#[path = "support/expressions.rs"]
mod expressions;
#[path = "support/random.rs"]
mod random;
#[path = "support/terms.rs"]
mod terms;
