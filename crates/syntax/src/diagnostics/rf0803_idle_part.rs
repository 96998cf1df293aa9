//! RF0803: a part of a property that contributes nothing.

use referee_theory::property::Polarity;

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Idle part of a property.
pub static CODE: Code = Code {
    id: "RF0803",
    severity: Severity::Warning,
    title: "idle part of a property",
    explanation: r#"
A property gives either violations or satisfactions. This part of it can never lead to the kind of verdict that the
whole gives, so it might as well not be there. Usually `<…>` was mixed into a property that is violated, or `[…]`
into one that is satisfied; or a path ends in the wrong constant.
"#,
    example: Example {
        language: Language::Hml,
        wrong: r#"property mixed {
  [a?bad]ff and <a?good>tt
}
"#,
        right: r#"property pure {
  [a?bad]ff and [a?worse]ff
}
"#,
    },
};

/// The part at `span` never leads to a verdict `polarity`.
#[must_use]
pub fn idle_part(span: Span, polarity: Polarity) -> Diagnostic {
    let (verdict, path) = match polarity {
        Polarity::Violation => ("violation", "`[…]` up to `ff`"),
        Polarity::Satisfaction => ("satisfaction", "`<…>` up to `tt`"),
    };
    CODE.at(span, format!("this part never leads to a {verdict}"))
        .label("has no effect")
        .help(format!("leave it out, or write a path of {path}; split properties of two kinds in two"))
}
