//! The laws of this crate: claims of the papers, checked on all small inputs and on random larger ones
//! against `referee-reference`. Each file is a row of `docs/theory.md`.
//!
//! `REFEREE_LAW_SIZE=1 cargo test --release -p referee-theory --test laws -- --nocapture` goes one size
//! further, with ten times as many random cases from a fresh seed (2: two sizes, a hundred times).

#![expect(clippy::unwrap_used, clippy::panic, reason = "all of this is test code")]

mod dual;
mod equality;
mod guards;
mod par;
mod projection;
mod relative;
