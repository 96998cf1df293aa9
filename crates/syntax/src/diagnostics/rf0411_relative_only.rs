//! RF0411: a protocol that only monitors can follow.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Usable with monitors only.
pub static CODE: Code = Code {
    id: "RF0411",
    severity: Severity::Note,
    title: "usable with monitors only",
    explanation: r#"
Some role cannot know what to do from the messages it receives alone, so the protocol has no projection onto
that role. But every two roles' exchanges depend only on choices that one of the two takes part in: with a
monitor beside each role that passes on such outcomes (dependency messages), the protocol can be followed.
`referee show --view relative` shows the dependencies.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Shop(role buyer, role shop, role bank) {
  choice at buyer {
    Buy() from buyer to shop;
    Pay() from shop to bank;
  } or {
    Leave() from buyer to shop;
    
  }
}
"#,
        right: r#"protocol Shop(role buyer, role shop, role bank) {
  choice at buyer {
    Buy() from buyer to shop;
    Pay() from shop to bank;
  } or {
    Leave() from buyer to shop;
    Cancel() from shop to bank;
  }
}
"#,
    },
};

/// `role` has no projection, but all relative projections are defined.
#[must_use]
pub fn relative_only(span: Span, why: &str) -> Diagnostic {
    CODE.at(span, format!("this protocol needs monitors that pass on outcomes: {why}"))
}
