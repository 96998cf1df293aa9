//! Slow and obviously right: the papers' definitions transcribed literally. Never a dependency of the product.
//!
//! Nothing here is fast and nothing here is shared with the product: each function is meant to be read beside
//! the definition it cites. Terms are walked by recursion: keep them small.

pub mod stmonitor;
