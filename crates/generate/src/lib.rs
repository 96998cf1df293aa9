//! From the machine of a role to a source file: one type for each state, a method for each message that it sends, `recv` where it
//! receives.
//!
//! ```text
//! machine ──▶ Plan (names, kept variables, assertions with their types) ──▶ rust, python, typescript
//! ```
//!
//! A [`Plan`] holds all decisions that do not depend on the target language: which messages there are, what the states are called, which
//! variables each of them keeps (what the monitor of the role keeps), how each assertion is typed. A target writes it down.
//!
//! Assertions become plain code with the meaning that the monitor gives them. Regular expressions become tables, so that
//! endpoints in every language match alike and need no library.
//!
//! There is no I/O here. Reading order: `plan`, `names`, `typing`, `pattern`, `rust`, `python`, `typescript`.

mod expr;
mod names;
mod pattern;
mod plan;
mod python;
mod rust;
#[cfg(test)]
mod tests;
mod typescript;
mod typing;
mod writer;

pub use plan::{Plan, Subject, Unsupported};
pub use python::python;
pub use rust::rust;
pub use typescript::typescript;

/// Whether two source files are the same code, though a formatter may have gone over one of them. Formatters move blanks,
/// commas, parentheses and braces (`x => f(a, b),` becomes `x => {` …); whatever else differs makes a file stale.
#[must_use]
pub fn same_code(left: &str, right: &str) -> bool {
    let kept =
        |character: &char| !character.is_whitespace() && !matches!(character, ',' | '(' | ')' | '{' | '}');
    left.chars().filter(kept).eq(right.chars().filter(kept))
}
