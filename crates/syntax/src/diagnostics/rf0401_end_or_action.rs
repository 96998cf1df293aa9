//! RF0401: a role that is done in one branch and not in another.

use super::{Code, Example, Severity};
use crate::language::Language;

/// Role does not learn that it is done.
pub static CODE: Code = Code {
    id: "RF0401",
    severity: Severity::Error,
    title: "role does not learn that it is done",
    explanation: r#"
After a choice that it takes no part in, a role is done in one branch but still has something to do in
another. It would wait for ever in the first, or end too early in the second.

Tell the role about the outcome in every branch: send it a message in the branch in which it has nothing to
do.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Shop(role buyer, role shop, role bank, role tax) {
  choice at buyer {
    Buy() from buyer to shop;
    Pay() from bank to tax;
  } or {
    Leave() from buyer to shop;
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
  }
}
"#,
    },
};
