//! Tests of the imported languages: `.st`, `.gt`, `.gt.json`, `.kmc`, `.fsm`.

mod corpus;
mod examples;
mod probes;
mod relative;
mod support;
