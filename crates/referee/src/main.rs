//! The `referee` binary.
fn main() {}
