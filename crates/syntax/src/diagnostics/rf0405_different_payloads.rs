//! RF0405: one label with different payloads in branches a role cannot tell apart.

use super::{Code, Example, Severity};
use crate::language::Language;

/// Same label, different payload.
pub static CODE: Code = Code {
    id: "RF0405",
    severity: Severity::Error,
    title: "same label, different payload",
    explanation: r#"
In two branches that a role cannot tell apart it receives the same label, but with different payload types or
a different assertion. It could not know what to check.

Use different labels, or the same payload and assertion in both branches.
"#,
    example: Example {
        language: Language::Scr,
        wrong: r#"protocol Shop(role buyer, role shop, role bank, role tax) {
  choice at buyer {
    Buy() from buyer to shop;
    Pay(x: int) from bank to tax;
  } or {
    Leave() from buyer to shop;
    Pay(x: string) from bank to tax;
  }
}
"#,
        right: r#"protocol Shop(role buyer, role shop, role bank, role tax) {
  choice at buyer {
    Buy() from buyer to shop;
    Buy() from shop to bank;
    Pay(x: int) from bank to tax;
  } or {
    Leave() from buyer to shop;
    Leave() from shop to bank;
    Refund(x: string) from bank to tax;
  }
}
"#,
    },
};
