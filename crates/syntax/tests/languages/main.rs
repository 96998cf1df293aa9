//! Tests of the imported languages: `.st`, `.gt`, `.gt.json`, `.kmc`, `.fsm`.

#![expect(clippy::expect_used, clippy::panic, reason = "tests fail by panicking, in helpers too")]

mod automata;
mod convert;
mod corpus;
mod documentation;
mod examples;
mod generate;
mod local;
mod probes;
mod relative;
mod robust;
mod round_trip;
mod same;
mod support;
