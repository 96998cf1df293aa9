//! Slow and obviously right: the papers' definitions transcribed literally.
//!
//! Nothing here is fast and nothing here is shared with the product: each function is meant to be read
//! beside the definition it cites. Tests compare the product with it. Never a dependency of the product.
//!
//! Types are boxed trees with names, as in the papers, where `referee-theory` has arenas of numbers:
//! [`global`], [`relative`] (Algorithms 1 and 3), [`session`], [`local`] (projection with merging) and
//! [`automaton`] (bisimulation). Trees are walked by recursion: keep them small. [`kmc`] has systems of
//! machines, explored naively; [`stmonitor`] the calculi of processes and monitors, [`relamon`] networks of
//! monitored components; [`data`] protocols whose recursions carry data; [`par`] blocks side by side, [`keyed`] calls beside a parent; [`shml`] has formulas and the actors that monitor them, [`property`] and
//! [`guard`] what the product's properties and their guards mean, [`timed`] what they mean with times, [`deadline`] the limits of messages with times.

pub mod automaton;
pub mod data;
pub mod deadline;
pub mod global;
pub mod guard;
pub mod keyed;
pub mod kmc;
pub mod local;
pub mod par;
pub mod property;
pub mod relamon;
pub mod relative;
pub mod session;
pub mod shml;
pub mod stmonitor;
pub mod timed;
pub mod unseen;
