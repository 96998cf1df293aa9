//! Hand-written cases: what the laws do not cover, because it is about text, errors or sheer size.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "all of this is test code")]

mod assertions;
mod deep;
mod global_errors;
mod linear;
mod projection_errors;
mod relative_text;
