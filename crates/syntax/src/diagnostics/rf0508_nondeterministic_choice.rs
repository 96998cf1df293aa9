//! RF0508: two branches with the same action.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Nondeterministic choice.
pub static CODE: Code = Code {
    id: "RF0508",
    severity: Severity::Warning,
    title: "nondeterministic choice",
    explanation: r#"
Two branches of one choice have the same action: the same direction, peer and label. Which one is taken
cannot be seen from outside, so a monitor could not tell afterwards what to expect, and the theory behind
the compatibility check assumes that it never happens. (KMC does not notice: it reports such systems as
communicating session automata, and even as safe when they are not.)

Put the choice behind the common action: `{B!a; B!b; end, B!a; B!c; end}` is `B!a; {B!b; end, B!c; end}`.
"#,
    example: Example {
        language: Language::Kmc,
        wrong: r#"A: {B!a; B!b; end, B!a; B!c; end}
B: A?a; {A?b; end, A?c; end}
"#,
        right: r#"A: B!a; {B!b; end, B!c; end}
B: A?a; {A?b; end, A?c; end}
"#,
    },
};

/// Role `role` has the action `action` twice in one state, at `first` and at `span`.
#[must_use]
pub fn nondeterministic_choice(span: Span, first: Span, role: &str, action: &str) -> Diagnostic {
    CODE.at(span, format!("role `{role}` has the action `{action}` twice in one state"))
        .label("and here again")
        .related(first, "first here")
        .help("put the choice behind the common action, or use different labels")
}
