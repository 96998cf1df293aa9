//! Global types, `.gt` and their JSON: RF07xx.

use super::{Diagnostic, RF0701, RF0702, RF0710, RF0711, RF0712, RF0713, RF0714, RF0715, RF0716, suggest};
use crate::source::Span;

/// How the protocol goes on should stand at `span`.
#[must_use]
pub fn missing_continuation(span: Span) -> Diagnostic {
    RF0701
        .at(span, "what happens next is missing")
        .label("expected before this")
        .help("write `. end` if the protocol is over here")
}

/// The value exchanged at `span` does not belong to `label` of the exchange at `exchange`.
#[must_use]
pub fn value_of_other_roles(span: Span, exchange: Span, label: &str) -> Diagnostic {
    RF0702
        .at(span, format!("this value is a message of its own, not the value of `{label}`"))
        .related(exchange, format!("`{label}` is exchanged here"))
        .help("RelaMon takes it for the value of the label; with a label of its own it is clear to both")
}

/// `found` stands at `span` where JSON allows one of `expected`.
#[must_use]
pub fn malformed_json(span: Span, found: &str, expected: &[&str]) -> Diagnostic {
    let expected = expected.join(" or ");
    let found: String = found.chars().take(40).collect();
    RF0710
        .at(span, format!("this is not JSON: expected {expected}, found {found}"))
        .label(format!("expected {expected}"))
}

/// The object at `span`, reached by `pointer`, has no `key`; it has `present`.
#[must_use]
pub fn missing_key<'a>(
    span: Span,
    pointer: &str,
    key: &str,
    present: impl IntoIterator<Item = &'a str>,
) -> Diagnostic {
    let place = if pointer.is_empty() { String::from("at the top") } else { format!("at `{pointer}`") };
    let diagnostic = RF0711.at(span, format!("the object {place} has no `{key}`"));
    match suggest::closest(key, present) {
        Some(similar) => diagnostic.help(format!("is `{similar}` a misspelling of `{key}`?")),
        None => diagnostic.help(format!("add `\"{key}\"`")),
    }
}

/// The value at `span`, reached by `pointer`, should be `expected` but is `found`.
#[must_use]
pub fn wrong_value(span: Span, pointer: &str, expected: &str, found: &str) -> Diagnostic {
    let place = if pointer.is_empty() { String::from("the top") } else { format!("`{pointer}`") };
    RF0712
        .at(span, format!("expected {expected} at {place}, found {found}"))
        .label(format!("expected {expected}"))
}

/// The `type` at `span`, reached by `pointer`, is `name`.
#[must_use]
pub fn unknown_node_type(span: Span, pointer: &str, name: &str) -> Diagnostic {
    const KNOWN: [&str; 4] = ["EXCHANGE", "RECURSIVE_DEFINITION", "RECURSIVE_CALL", "END"];
    RF0713
        .at(span, format!("there is no type `{name}` of global types, at `{pointer}`"))
        .help("the types are `EXCHANGE`, `RECURSIVE_DEFINITION`, `RECURSIVE_CALL` and `END`")
        .suggest(name, KNOWN)
}

/// `key` at `span` was given at `first` already.
#[must_use]
pub fn duplicate_key(span: Span, first: Span, key: &str) -> Diagnostic {
    RF0714
        .at(span, format!("the key `{key}` occurs twice in this object"))
        .label("and here again")
        .related(first, "first here")
        .help("remove one of the two")
}

/// The branches at `span`, reached by `pointer`, are none.
#[must_use]
pub fn no_branches(span: Span, pointer: &str) -> Diagnostic {
    RF0715
        .at(span, format!("the exchange has no messages, at `{pointer}`"))
        .help("add a branch, or write `{\"type\": \"END\"}` instead")
}

/// The party `name` at `span` is not one of `roles`.
#[must_use]
pub fn unknown_party<'a>(span: Span, name: &str, roles: impl IntoIterator<Item = &'a str>) -> Diagnostic {
    RF0716
        .at(span, format!("`{name}` takes no part in the global type"))
        .help("name a role of the global type")
        .suggest(name, roles)
}
