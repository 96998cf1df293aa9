//! Syntax errors: one message for one mistake, at the mistake, with a correction that holds.

#![expect(clippy::expect_used, reason = "tests fail by panicking, in helpers too")]

mod certain;
mod edits;
mod fix;
mod meaning;
mod mutation;
mod mutator;
mod slips;
mod texts;
