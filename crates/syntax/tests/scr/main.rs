//! `.scr` text: the formatter, the printer and the parser's robustness.

mod corpus;
mod format;
mod generate;
mod print;
mod robust;
mod same;
