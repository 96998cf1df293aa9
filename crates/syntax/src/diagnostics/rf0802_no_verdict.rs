//! RF0802: a property that can never give a verdict.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Property without a verdict.
pub static CODE: Code = Code {
    id: "RF0802",
    severity: Severity::Warning,
    title: "property without a verdict",
    explanation: r#"
Whatever happens, this property is never violated and never satisfied, so watching it is pointless.

What has been seen can refute `[event]φ` (the event happened, and `φ` is refuted by what followed) and can prove
`<event>φ`, but never the other way round: the system might have done otherwise, or might still. So a violation
needs a path of `[…]` to an `ff`, a satisfaction a path of `<…>` to a `tt`; through `and` and `or` a verdict must
come from all the parts that the connective asks for.
"#,
    example: Example {
        language: Language::Hml,
        wrong: r#"property hopeless {
  [a?request]<b!answer>tt
}
"#,
        right: r#"property sensible {
  [a?request][b!refusal]ff
}
"#,
    },
};

/// Nothing can be said about the property `name`, whose formula stands at `span`.
#[must_use]
pub fn no_verdict(span: Span, name: &str) -> Diagnostic {
    CODE.at(span, format!("`{name}` can be neither violated nor satisfied, whatever happens"))
        .label("no verdict can come from this")
        .help("a violation needs `[…]` up to `ff`, a satisfaction `<…>` up to `tt`")
}
