//! RF0402: a role that would have to send in one branch and receive in another.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Role does not know whether to send or to receive.
pub static CODE: Code = Code {
    id: "RF0402",
    severity: Severity::Error,
    title: "role does not know whether to send or to receive",
    explanation: r#"
After a choice that it does not learn about, a role would have to send in one branch and to receive in
another.

Let the role receive a different message in each branch before it has to act.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Shop(role buyer, role shop, role bank, role tax) {
  choice at buyer {
    Buy() from buyer to shop;
    Pay() from bank to tax;
  } or {
    Leave() from buyer to shop;
    Refund() from tax to bank;
  }
}
"#,
        right: r#"protocol Shop(role buyer, role shop, role bank, role tax) {
  choice at buyer {
    Buy() from buyer to shop;
    Buy() from shop to bank;
    Buy() from shop to tax;
    Pay() from bank to tax;
  } or {
    Leave() from buyer to shop;
    Leave() from shop to bank;
    Leave() from shop to tax;
    Refund() from tax to bank;
  }
}
"#,
    },
};

/// A choice that a role does not see: its place, who decides, and what leads to either branch.
pub(crate) struct UnseenChoice {
    pub(crate) chooser: String,
    pub(crate) left: Span,
    pub(crate) right: Span,
}

/// A role behaves differently after branches it cannot tell apart: `role` does `left` in one and `right` in
/// the other, each with its place where it has one.
pub(crate) fn undecided(
    code: &'static Code,
    span: Span,
    role: &str,
    left: (Option<Span>, String),
    right: (Option<Span>, String),
    choice: Option<UnseenChoice>,
) -> Diagnostic {
    let message = format!("`{role}` cannot know what to do: {} in one branch, {} in another", left.1, right.1);
    let mut diagnostic = code.at(span, message);
    let informer = match choice {
        Some(UnseenChoice { chooser, left: first, right: second }) => {
            diagnostic = diagnostic
                .label(format!("`{role}` does not see this choice of `{chooser}`"))
                .related(first, format!("in this branch `{role}` {}", left.1))
                .related(second, format!("in this branch `{role}` {}", right.1));
            format!("`{chooser}`")
        }
        None => {
            for (place, what) in [left, right] {
                if let Some(place) = place {
                    diagnostic = diagnostic.related(place, what);
                }
            }
            "the role that decides".to_owned()
        }
    };
    diagnostic.help(format!(
        "let `{role}` receive a different message in each branch, from {informer} or from a role that knows the \
         outcome"
    ))
}
