//! `.scr` text: the formatter, the printer and the parser's robustness.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, say when they skip, and read the corpus"
)]

mod alike;
mod calls;
mod constructs;
mod copies;
mod corpus;
mod format;
mod generate;
mod meaning;
mod par;
mod print;
mod qualified;
mod robust;
mod same;
mod times;
mod wording;
