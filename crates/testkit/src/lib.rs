//! What tests share: enumerators of all small inputs, generators of larger ones, readers of the corpora of
//! other tools. Never a dependency of the product.
//!
//! [`choices`] makes one description of an input serve both: a description asks for choices, which are
//! either gone through exhaustively or drawn from a seed. [`global_types`], [`session_types`] and
//! [`machines`] are such descriptions. [`formulas`] has formulas and traces, [`plain`] reads them. [`systems`] enumerates
//! all small systems. [`ports`] finds ports that nobody else will take. [`corpus`] finds the corpus
//! and reads KMC's two languages with a reader of its own, so that the tests of the checker do not depend on
//! the parsers.

pub mod choices;
pub mod corpus;
pub mod formulas;
pub mod global_types;
pub mod machines;
pub mod plain;
pub mod ports;
pub mod session_types;
pub mod systems;

/// Whether `REFEREE_LAWS=full` asks for everything, which takes minutes, instead of what fits a test run.
#[must_use]
pub fn everything() -> bool {
    std::env::var_os("REFEREE_LAWS").is_some_and(|effort| effort == "full")
}
