//! RF0801: a formula that turns round without an event.

use referee_theory::property::PropertyError;

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Origins;

/// Unguarded formula.
pub static CODE: Code = Code {
    id: "RF0801",
    severity: Severity::Error,
    title: "unguarded formula",
    explanation: r#"
A recursive formula must consume an event on every path from its definition back to itself, that is pass a `[…]`
or a `<…>`. Otherwise it means nothing: `max X.(X)` would be unfolded for ever. The places that are passed
on the way are marked.
"#,
    example: Example {
        language: Language::Hml,
        wrong: r#"property spin {
  max X.([a?hello]ff and X)
}
"#,
        right: r#"property spin {
  max X.([a?hello]ff and [a?other]X)
}
"#,
    },
};

/// The unguarded cycle `error`.
#[must_use]
pub fn unguarded_formula(error: &PropertyError, origins: &Origins) -> Diagnostic {
    let PropertyError::Unguarded { definition, path } = error;
    let definition = origins.span(*definition);
    let (call, between) = match &**path {
        [_, between @ .., call] => (origins.span(*call), between),
        _ => (definition, &[][..]),
    };
    let diagnostic = CODE
        .at(call, "this formula is called again before any event was consumed")
        .label("called again here")
        .related(definition, "defined here")
        .help("put a modality `[…]` between the definition and the call");
    between.iter().fold(diagnostic, |diagnostic, origin| diagnostic.related(origins.span(*origin), "passed on the way"))
}
