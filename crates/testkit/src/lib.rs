//! What tests share: readers of the corpora of other tools, enumerators of all small inputs. Never a
//! dependency of the product.
//!
//! [`corpus`] finds the corpus and reads KMC's two languages with a reader of its own, so that the tests of
//! the checker do not depend on the parsers; [`systems`] enumerates all small systems.

pub mod corpus;
pub mod systems;

/// Whether `REFEREE_LAWS=full` asks for everything, which takes minutes, instead of what fits a test run.
#[must_use]
pub fn everything() -> bool {
    std::env::var_os("REFEREE_LAWS").is_some_and(|effort| effort == "full")
}
