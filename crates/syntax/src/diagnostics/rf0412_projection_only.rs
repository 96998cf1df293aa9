//! RF0412: a protocol without relative types.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// No relative types.
pub static CODE: Code = Code {
    id: "RF0412",
    severity: Severity::Note,
    title: "no relative types",
    explanation: r#"
Every role has a projection: the components can follow the protocol by themselves, and it can be monitored
role by role. But the exchanges of two roles depend on a choice neither of them takes part in, so the protocol
has no relative types and cannot be guarded by monitors that coordinate through dependency messages.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Gossip(role a, role b, role c, role d) {
  choice at a {
    Yes() from a to b;
    Yes() from b to c;
    Yes() from c to d;
  } or {
    No() from a to b;
    No() from b to c;
    No() from c to d;
  }
}
"#,
        right: r#"protocol Gossip(role a, role b, role c) {
  choice at a {
    Yes() from a to b;
    Yes() from b to c;
  } or {
    No() from a to b;
    No() from b to c;
  }
}
"#,
    },
};

/// `why` some pair has no relative type.
#[must_use]
pub fn projection_only(span: Span, why: &str) -> Diagnostic {
    CODE.at(span, format!("no relative types: {why}"))
}
