//! What monitors do, on the protocols of the paper and of the design.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test may say no")]

mod auth;
mod bytes;
mod corpus;
mod data;
mod multiparty;
mod peers;
mod policies;
mod predicates;
mod support;
mod values;
mod views;
