//! Syntax errors: one message for one mistake, at the mistake, with a correction that holds.

#![expect(clippy::expect_used, reason = "tests fail by panicking, in helpers too")]

mod fix;
mod meaning;
mod mutation;
mod mutator;
mod slips;
mod texts;
