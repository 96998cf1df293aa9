//! RF0404: a role that would have to send different messages.

use super::{Code, Example, Severity};
use crate::language::Language;

/// Role does not know what to send.
pub static CODE: Code = Code {
    id: "RF0404",
    severity: Severity::Error,
    title: "role does not know what to send",
    explanation: r#"
After a choice that it does not learn about, a role would have to send one message in one branch and another
in the other. It decides nothing here, so it cannot know which.

Tell the role the outcome first, or let it send the same message in both branches.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Shop(role buyer, role shop, role bank, role tax) {
  choice at buyer {
    Buy() from buyer to shop;
    Credit() from bank to tax;
  } or {
    Leave() from buyer to shop;
    Debit() from bank to tax;
  }
}
"#,
        right: r#"protocol Shop(role buyer, role shop, role bank, role tax) {
  choice at buyer {
    Buy() from buyer to shop;
    Buy() from shop to bank;
    Credit() from bank to tax;
  } or {
    Leave() from buyer to shop;
    Leave() from shop to bank;
    Debit() from bank to tax;
  }
}
"#,
    },
};
