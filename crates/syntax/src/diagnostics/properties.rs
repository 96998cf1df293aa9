//! Properties, `.hml`: RF08xx.

use referee_theory::property::Polarity;
use referee_theory::property::PropertyError;
use referee_theory::property::guard::Mistake;

use super::{
    Diagnostic, RF0801, RF0802, RF0803, RF0804, RF0805, RF0806, RF0807, RF0808, RF0809, RF0810, RF0811,
};
use crate::source::Origins;
use crate::source::Span;

/// The unguarded cycle `error`.
#[must_use]
pub fn unguarded_formula(error: &PropertyError, origins: &Origins) -> Diagnostic {
    let PropertyError::Unguarded { definition, path } = error;
    let definition = origins.span(*definition);
    let (call, between) = match &**path {
        [_, between @ .., call] => (origins.span(*call), between),
        _ => (definition, &[][..]),
    };
    let diagnostic = RF0801
        .at(call, "this formula is called again before any event was consumed")
        .label("called again here")
        .related(definition, "defined here")
        .help("put a modality `[…]` between the definition and the call");
    between
        .iter()
        .fold(diagnostic, |diagnostic, origin| diagnostic.related(origins.span(*origin), "passed on the way"))
}

/// Nothing can be said about the property `name`, whose formula stands at `span`.
#[must_use]
pub fn no_verdict(span: Span, name: &str) -> Diagnostic {
    RF0802
        .at(span, format!("`{name}` can be neither violated nor satisfied, whatever happens"))
        .label("no verdict can come from this")
        .help("a violation needs `[…]` up to `ff`, a satisfaction `<…>` up to `tt`")
}

/// The part at `span` never leads to a verdict `polarity`.
#[must_use]
pub fn idle_part(span: Span, polarity: Polarity) -> Diagnostic {
    let (verdict, path) = match polarity {
        Polarity::Violation => ("violation", "`[…]` up to `ff`"),
        Polarity::Satisfaction => ("satisfaction", "`<…>` up to `tt`"),
    };
    RF0803
        .at(span, format!("this part never leads to a {verdict}"))
        .label("has no effect")
        .help(format!("leave it out, or write a path of {path}; split properties of two kinds in two"))
}

/// The part at `kept` keeps the values of `name`, which the place `binder` binds again and again.
#[must_use]
pub fn may_grow(kept: Span, binder: Span, name: &str) -> Diagnostic {
    RF0804
        .at(kept, format!("this may wait with more and more values of `{name}`"))
        .label("keeps waiting with each value")
        .related(binder, "bound anew, again and again")
        .help("let it end, or write `for each` the key that the values belong to")
}

/// `name` at `span` hides the one at `first`.
#[must_use]
pub fn hidden_variable(span: Span, first: Span, name: &str) -> Diagnostic {
    RF0805
        .at(span, format!("this binds a new `{name}` and hides the outer one"))
        .label("a new variable")
        .related(first, "not compared with this one")
        .help(format!("to compare them, write another name and `when … =:= {name}`"))
}

/// `name` is not bound; `bound` are.
#[must_use]
pub fn unbound_variable(span: Span, name: &str, bound: &[&str]) -> Diagnostic {
    RF0806
        .at(span, format!("no pattern up to here binds `{name}`"))
        .help("use a variable of this pattern or of an enclosing one")
        .suggest(name, bound.iter().copied())
}

/// What is excepted at `span` asks a window.
#[must_use]
pub fn window_in_exception(span: Span) -> Diagnostic {
    RF0806.at(span, "an exception asks no window").help("ask it in the guard of the pattern, before `except`")
}

/// The operation `mistake`.
#[must_use]
pub fn guard_without_value(mistake: &Mistake) -> Diagnostic {
    let Mistake { place, operation, expected, found } = mistake;
    RF0807
        .at((*place).into(), format!("`{operation}` needs {expected}, and this is of kind {found}"))
        .label(format!("needs {expected}"))
}

/// `name` at `span` has been used at `first`.
#[must_use]
pub fn duplicate_property(span: Span, first: Span, name: &str) -> Diagnostic {
    RF0808
        .at(span, format!("there are two properties called `{name}`"))
        .related(first, "first here")
        .help("rename one of them")
}

/// `text` at `span` is no key.
#[must_use]
pub fn bad_key(span: Span, text: &str) -> Diagnostic {
    RF0809
        .at(span, format!("`{text}` is no JSON pointer"))
        .help("write `~0` for a tilde and `~1` for a slash")
}

/// `text` at `span` stands for nothing.
#[must_use]
pub fn not_a_term(span: Span, text: &str) -> Diagnostic {
    RF0810
        .at(span, format!("`{}` stands for no value", text.chars().take(40).collect::<String>()))
        .help("write an atom, a number, a string, a tuple or a list of these")
}

/// `label` at `span` has `count` fields, at `first` it has `other`.
#[must_use]
pub fn different_field_counts(
    span: Span,
    first: Span,
    label: &str,
    count: usize,
    other: usize,
) -> Diagnostic {
    RF0811
        .at(span, format!("`{label}` has {count} fields here and {other} elsewhere"))
        .related(first, format!("{other} fields here"))
        .help("a pattern by position matches exactly as many fields; write `...` to allow more")
}
