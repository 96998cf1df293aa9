//! RF0218: something after a choice or a recursion, with nested protocols.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Statement after a choice or a recursion.
pub static CODE: Code = Code {
    id: "RF0218",
    severity: Severity::Error,
    title: "statement after a choice or a recursion",
    explanation: r#"
In a file with nested protocols (`(*# NestedProtocols #*)`) a choice or a recursion must be the last statement
of its block. This is nuScr's rule there, because every call starts a session of its own.

Without that pragma, Referee lets a protocol go on after a choice or a recursion.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"(*# NestedProtocols #*)
protocol Main(role a, role b) {
  choice at a {
    Yes() from a to b;
  } or {
    No() from a to b;
  }
  Bye() from a to b;
}
"#,
        right: r#"(*# NestedProtocols #*)
protocol Main(role a, role b) {
  choice at a {
    Yes() from a to b;
    Bye() from a to b;
  } or {
    No() from a to b;
    Bye() from a to b;
  }
}
"#,
    },
};

/// The statement at `span` follows the choice or recursion at `block`.
#[must_use]
pub fn statement_after_block(span: Span, block: Span) -> Diagnostic {
    CODE.at(span, "with nested protocols, nothing may follow a choice or a recursion")
        .related(block, "this must be the last statement")
        .help("move it into the branches")
}
