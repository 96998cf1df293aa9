//! Tests of the imported languages: `.st`, `.gt`, `.gt.json`, `.kmc`, `.fsm`.

mod corpus;
mod examples;
mod generate;
mod probes;
mod relative;
mod robust;
mod round_trip;
mod same;
mod support;
