//! Rules about calls, in `.hml`: RF0812 to RF0815.

use super::{Diagnostic, RF0812, RF0813, RF0814, RF0815};
use crate::source::Span;

/// The variable `name` stands at `first`, and at `span` not in the same argument, or not at all.
#[must_use]
pub fn places_differ(span: Span, first: Span, name: &str, is_there: bool) -> Diagnostic {
    let what = match is_there {
        true => format!("`{name}` is another argument here"),
        false => format!("`{name}` is compared in this rule, and is not here"),
    };
    RF0812
        .at(span, what)
        .related(first, "compared with this one")
        .help("a rule compares the same argument of each message it names: write two rules, or a property")
}

/// Nothing is compared with the variable `name`.
#[must_use]
pub fn used_once(span: Span, name: &str, is_counted: bool) -> Diagnostic {
    let help = match is_counted {
        true => format!(
            "to count each value apart, write `for each {name}` at the end; `_` if the argument only has to be there"
        ),
        false => "write `_` if the argument only has to be there".to_owned(),
    };
    RF0813.at(span, format!("nothing is compared with `{name}`")).label("stands only here").help(help)
}

/// `text` is no number of times.
#[must_use]
pub fn bad_count(span: Span, text: &str, most: u64) -> Diagnostic {
    RF0814
        .at(span, format!("`at most {text}`: the number is from 1 to {most}"))
        .help("in a duration it may be larger: `at most 1000 times in 1h`; for none at all write `never`")
}

/// A rule with so many alternatives that its property would be too large.
#[must_use]
pub fn too_many_alternatives(span: Span) -> Diagnostic {
    RF0814
        .at(span, "a rule that counts several kinds of messages so often is too large")
        .help("count `any call`, or give a duration: `at most 1000 times in 1h`")
}

/// `text` is no duration.
#[must_use]
pub fn no_duration(span: Span, text: &str) -> Diagnostic {
    RF0815.at(span, format!("`{text}` is no duration")).help("write a number and a unit: `30s`, `1m`, `24h`")
}
