//! RF0403: a role that would have to wait for different senders.

use super::{Code, Example, Severity};
use crate::language::Language;

/// Role does not know whom to wait for.
pub static CODE: Code = Code {
    id: "RF0403",
    severity: Severity::Error,
    title: "role does not know whom to wait for",
    explanation: r#"
After a choice that it takes no part in, a role waits for a message from one role in one branch and from
another role in the other. Both may be on their way at the same time, so it could not tell which branch was
taken before both had arrived.

Let one and the same role tell it first.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Shop(role buyer, role shop, role bank, role audit, role tax) {
  choice at buyer {
    Buy() from buyer to shop;
    Pay() from bank to tax;
  } or {
    Leave() from buyer to shop;
    Close() from audit to tax;
  }
}
"#,
        right: r#"protocol Shop(role buyer, role shop, role bank, role audit, role tax) {
  choice at buyer {
    Buy() from buyer to shop;
    Buy() from shop to bank;
    Buy() from shop to audit;
    Pay() from bank to tax;
  } or {
    Leave() from buyer to shop;
    Leave() from shop to bank;
    Leave() from shop to audit;
    Close() from bank to tax;
  }
}
"#,
    },
};
