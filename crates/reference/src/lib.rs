//! Slow and obviously right: the papers' definitions transcribed literally.
//!
//! Nothing here is fast and nothing here is shared with the product: each function is meant to be read
//! beside the definition it cites. Tests compare the product with it. Never a dependency of the product.

pub mod kmc;
