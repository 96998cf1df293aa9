//! Names of variables. The data of a recursion are known in its body only: elsewhere their name may mean a field, or nothing. Where one
//! name has both meanings in a protocol, one of them gets a name that no text can write, and is shown by the one it has.

use std::sync::Arc;

/// Ends a name that has another meaning beside it. No language has it in names of variables.
const APART: char = '#';

/// The variable that the text calls `name` too, but which is another one.
#[must_use]
pub fn set_apart(name: &str) -> Arc<str> {
    format!("{name}{APART}").into()
}

/// What the text calls the variable `name`.
#[must_use]
pub fn written_name(name: &str) -> &str {
    name.strip_suffix(APART).unwrap_or(name)
}
