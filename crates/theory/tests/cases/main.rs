//! Hand-written cases: what the laws do not cover, because it is about text, errors or sheer size.

mod assertions;
mod deep;
mod global_errors;
mod projection_errors;
mod relative_text;
