//! What tests share: enumerators of all small inputs and generators of larger ones. Never a dependency of
//! the product.
//!
//! [`choices`] makes one description of an input serve both: a description asks for choices, which are
//! either gone through exhaustively or drawn from a seed. [`global_types`], [`session_types`] and
//! [`machines`] are such descriptions.

pub mod choices;
pub mod global_types;
pub mod machines;
pub mod session_types;
