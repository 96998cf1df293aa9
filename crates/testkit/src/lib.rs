//! What tests share: readers of the corpora of other tools. Never a dependency of the product.
//!
//! [`corpus`] finds the corpus and reads KMC's two languages with a reader of its own, so that the tests of
//! the checker do not depend on the parsers.

pub mod corpus;
